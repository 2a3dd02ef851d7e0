-- SPDX-License-Identifier: Apache-2.0
-- Where the string literals and names of a Lua source stand.

local index = {}

local MAX_BYTES = 16 << 20
local ESCAPES = { n = "\n", t = "\t", r = "\r", ["\\"] = "\\", ['"'] = '"', ["'"] = "'" }

local function note(map, text, line)
  if map[text] == nil then
    map[text] = line
  elseif map[text] ~= line then
    map[text] = false
  end
end

---The text of a quoted string that starts at pos, and the position behind it; nil text for escapes we don't read.
local function quoted(text, pos)
  local quote, parts = text:sub(pos, pos), {}
  local from, plain = pos + 1, true
  while true do
    local stop = text:find('["\'\\\n]', from)
    if not stop then
      return nil, #text + 1
    end
    local c = text:sub(stop, stop)
    parts[#parts + 1] = text:sub(from, stop - 1)
    if c == quote or c == "\n" then
      return plain and table.concat(parts) or nil, stop + 1
    elseif c == "\\" then
      local e = text:sub(stop + 1, stop + 1)
      plain = plain and (e == "z" or ESCAPES[e] ~= nil)
      parts[#parts + 1], from = ESCAPES[e] or "", stop + 2
      -- What follows is passed over, or is one end of a line with it.
      if e == "z" then from = text:find("%S", from) or #text + 1 end
      if e == "\r" and text:sub(from, from) == "\n" then from = from + 1 end
    else
      parts[#parts + 1], from = c, stop + 1
    end
  end
end

---The position behind a long bracket that opens at pos, and its text; nil when none opens there.
local function long_bracket(text, pos)
  local level = text:match("^%[(=*)%[", pos)
  if not level then
    return nil
  end
  local start = pos + #level + 2
  local from, to = text:find("]" .. level .. "]", start, true)
  return (to or #text) + 1, text:sub(start, (from or #text + 1) - 1)
end

---Position behind the comment whose two dashes stand at pos.
local function comment(text, pos)
  return long_bracket(text, pos + 2) or (text:find("\n", pos, true) or #text + 1)
end

index.quoted, index.long_bracket, index.comment = quoted, long_bracket, comment

---Lists the string literals and assigned names of a Lua source.
---@param text string
---@return table {strings = {[text] = line}, names = {[name] = line}}; false where one stands in several lines
function index.of(text)
  local found, line, pos = { strings = {}, names = {} }, 1, 1
  local nl = text:find("\n", 1, true)
  while true do
    pos = text:find("[%a_\"'%[%-]", pos)
    if not pos then
      return found
    end
    while nl and nl < pos do
      line, nl = line + 1, text:find("\n", nl + 1, true)
    end
    local c = text:sub(pos, pos)
    if c == '"' or c == "'" then
      local literal, after = quoted(text, pos)
      if literal then
        local is_name = text:find("^%s*%]%s*=[^=]", after)
        note(is_name and found.names or found.strings, literal, line)
      end
      pos = after
    elseif c == "[" then
      local after, literal = long_bracket(text, pos)
      if after then
        note(found.strings, literal, line)
      end
      pos = after or pos + 1
    elseif c == "-" then
      pos = text:find("^%-%-", pos) and comment(text, pos) or pos + 1
    else
      local name, after = text:match("^([%w_]+)()", pos)
      if text:find("^%s*=[^=]", after) then
        note(found.names, name, line)
      end
      pos = after
    end
  end
end

local function index_of(doc, file)
  local found = doc.indexes[file]
  if found == nil then
    local text = doc.read(file)
    found = text and #text <= MAX_BYTES and index.of(text) or false
    doc.indexes[file] = found
  end
  return found
end

-- The line of a text where it alone does not tell.
local function line_by_key(doc, file, kind, text, key)
  local found, nesting = index_of(doc, file), require "srt.nesting"
  if not found then return nil end
  found.held = found.held or nesting.of(doc.read(file))
  return nesting.line(found.held, kind, text, key)
end

---Looks a text up in the main file first, then in those it pulled in.
local function locate(doc, kind, text, key)
  local main = index_of(doc, doc.file)
  local line = main and main[kind][text]
  if line ~= nil and main then
    return line or line_by_key(doc, doc.file, kind, text, key), doc.file
  end
  local hit, where
  for _, file in ipairs(doc.others and doc.others() or {}) do
    local found = type(file) == "string" and file ~= doc.file and file:find("%.lua$") and index_of(doc, file) or nil
    local at = found and found[kind][text]
    if at == false then at = line_by_key(doc, file, kind, text, key) or false end
    if at == false or (at and hit) then
      return nil
    elseif at then
      hit, where = at, file
    end
  end
  return hit, where
end

---Where the search behind an origin leads (srt.source).
---@param search {doc: table, kind: string, text: string, list: string?}
---@param key string of the origin
---@return integer|nil line
---@return string|nil file
function index.find(search, key)
  local line, file = locate(search.doc, search.kind, search.text, key)
  if not file and search.list then
    line, file = line_by_key(search.doc, search.doc.file, "strings", search.text, key), search.doc.file
  end
  -- One of many, or not to be found: where its list is.
  if not line and search.list then line, file = locate(search.doc, "names", search.list, key) end
  return line, file
end

return index
