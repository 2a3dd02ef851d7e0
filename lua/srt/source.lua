-- SPDX-License-Identifier: Apache-2.0
-- Says where in a policy's source an entry or a key stands, when that can be known.
--
-- Only asked for reports, so nothing is read or searched until an origin's line is looked at.

local source = {}

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

source.quoted, source.long_bracket, source.comment = quoted, long_bracket, comment

---Lists the string literals and assigned names of a Lua source.
---@param text string
---@return table index {strings = {[text] = line}, names = {[name] = line}}; false where one stands in several lines
function source.index(text)
  local index, line, pos = { strings = {}, names = {} }, 1, 1
  local nl = text:find("\n", 1, true)
  while true do
    pos = text:find("[%a_\"'%[%-]", pos)
    if not pos then
      return index
    end
    while nl and nl < pos do
      line, nl = line + 1, text:find("\n", nl + 1, true)
    end
    local c = text:sub(pos, pos)
    if c == '"' or c == "'" then
      local literal, after = quoted(text, pos)
      if literal then
        local is_name = text:find("^%s*%]%s*=[^=]", after)
        note(is_name and index.names or index.strings, literal, line)
      end
      pos = after
    elseif c == "[" then
      local after, literal = long_bracket(text, pos)
      if after then
        note(index.strings, literal, line)
      end
      pos = after or pos + 1
    elseif c == "-" then
      pos = text:find("^%-%-", pos) and comment(text, pos) or pos + 1
    else
      local name, after = text:match("^([%w_]+)()", pos)
      if text:find("^%s*=[^=]", after) then
        note(index.names, name, line)
      end
      pos = after
    end
  end
end

---A document: one file whose values end up in a policy.
---@param file string as shown in reports
---@param places table|nil json.decode's, for JSON files
---@param read fun(file: string): string|nil gives the source text
---@param others nil|fun(): string[] further files the policy pulled in
---@return table document
function source.document(file, places, read, others)
  return { file = file, places = places, read = read, others = others, indexes = {} }
end

local function index_of(doc, file)
  local index = doc.indexes[file]
  if index == nil then
    local text = doc.read(file)
    index = text and #text <= MAX_BYTES and source.index(text) or false
    doc.indexes[file] = index
  end
  return index
end

-- The line of a text where it alone does not tell.
local function line_by_key(doc, file, kind, text, key)
  local index, nesting = index_of(doc, file), require "srt.nesting"
  if not index then return nil end
  index.held = index.held or nesting.of(doc.read(file))
  return nesting.line(index.held, kind, text, key)
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
    local index = type(file) == "string" and file ~= doc.file and file:find("%.lua$") and index_of(doc, file) or nil
    local at = index and index[kind][text]
    if at == false then at = line_by_key(doc, file, kind, text, key) or false end
    if at == false or (at and hit) then
      return nil
    elseif at then
      hit, where = at, file
    end
  end
  return hit, where
end

-- The search behind an origin stays out of the origin itself, which is plain data to everyone else.
local searches = setmetatable({}, { __mode = "k" })

local lazy = {
  __index = function(origin, field)
    local search = field == "line" and searches[origin]
    if not search then
      return nil
    end
    searches[origin] = nil
    local key = origin.key
    local line, file = locate(search.doc, search.kind, search.text, key)
    if not file and search.list then
      line, file = line_by_key(search.doc, search.doc.file, "strings", search.text, key), search.doc.file
    end
    -- One of many, or not to be found: where its list is.
    if not line and search.list then line, file = locate(search.doc, "names", search.list, key) end
    if line then
      origin.line, origin.file = line, file
    end
    return line
  end,
}

---Where an entry came from: {file=, line=, key=}. `line` is looked up when first read, nil where it can't be known.
---@param doc table a document
---@param key string for example "network.allowedDomains[3]"
---@param holder table|nil the table that holds the entry
---@param field any its key in there
---@param literal any the entry itself when it is a string of a list; else the key's name is searched
---@return table origin
function source.origin(doc, key, holder, field, literal)
  if doc.places then
    local lines = holder and doc.places.lines[holder]
    return { file = doc.file, key = key, line = lines and lines[field] or nil }
  end
  local origin = setmetatable({ file = doc.file, key = key, preset = doc.preset }, lazy)
  if type(literal) == "string" then
    searches[origin] = { doc = doc, kind = "strings", text = literal, list = key:match("([%a_][%w_]*)%[%d+%]$") }
  else
    local name = type(field) == "string" and field or key:match("([%a_][%w_]*)[^%a_]*$")
    searches[origin] = name and { doc = doc, kind = "names", text = name } or nil
  end
  return origin
end

---The entries of a list, {value=, origin=}. There may be thousands, and few are ever asked where they came from: until
---then an entry knows its place in the list only.
---@param doc table
---@param key string the list's
---@param list table
---@param literal_of fun(item: any): any
---@return fun(i: integer): table makes an entry of list[i]
function source.entries(doc, key, list, literal_of)
  local meta = {}
  function meta.__index(entry, name)
    if name == "literal" then
      return false -- of a path; the few others say so themselves
    elseif name ~= "origin" then
      return nil
    end
    local i = entry.place
    entry.origin = source.origin(doc, ("%s[%d]"):format(key, i), list, i, literal_of(list[i]))
    return entry.origin
  end
  return function(i)
    -- With room for what becomes of it in a profile.
    return setmetatable({ value = list[i], place = i, given = nil, path = nil }, meta)
  end
end

---An origin as plain data for JSON.
---@param origin table|nil
---@return table|nil
function source.data(origin)
  return origin and { file = origin.file, line = origin.line or nil, key = origin.key }
end

---Text of an origin for people: file:line, or file and key.
---@param origin table
---@return string
function source.where(origin)
  if origin.line then
    return ("%s:%d"):format(origin.file, origin.line)
  end
  return origin.file and ("%s, %s"):format(origin.file, origin.key) or origin.key
end

return source
