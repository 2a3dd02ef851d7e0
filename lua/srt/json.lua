-- SPDX-License-Identifier: Apache-2.0
-- Reads JSON settings strictly, with the line of each value; writes JSON with sorted keys.
--
-- The reader is ours because dkjson's takes what two readers could read in two ways (repeated keys, missing commas,
-- comments, unknown escapes) and does not tell where a value stood. The writer is dkjson's.

local json = {}

---Stands for a JSON null; no key of a policy accepts it.
json.null = require("srt.null")

local MAX_DEPTH = 64
local ESCAPES = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }
local WORDS = { ["true"] = true, ["false"] = false, ["null"] = json.null }

local value

---Line of a position; callers ask in rising order, so each newline is looked for once.
local function line_at(st, pos)
  while st.newline < pos do
    st.line = st.line + 1
    st.newline = st.text:find("\n", st.newline + 1, true) or math.huge
  end
  return st.line
end

local function fail(st, pos, message)
  error({ json = true, line = line_at(st, pos), message = message }, 0)
end

local function skip(st, pos)
  return st.text:find("[^ \t\r\n]", pos) or #st.text + 1
end

local function found(st, pos)
  local c = st.text:sub(pos, pos)
  if c == "" then
    return "the end of the file"
  end
  return c:find("[%g]") and ("%q"):format(c) or ("byte 0x%02x"):format(c:byte())
end

---Reads the four hex digits of a \u escape.
local function hex4(st, pos)
  local digits = st.text:match("^%x%x%x%x", pos)
  if not digits then
    fail(st, pos, "a \\u escape needs four hex digits")
  end
  return tonumber(digits, 16), pos + 4
end

local function unicode(st, pos)
  local unit, next_pos = hex4(st, pos)
  if unit >= 0xDC00 and unit <= 0xDFFF then
    fail(st, pos, "a \\u escape holds half of a surrogate pair")
  end
  if unit >= 0xD800 and unit <= 0xDBFF then
    if st.text:sub(next_pos, next_pos + 1) ~= "\\u" then
      fail(st, pos, "a \\u escape holds half of a surrogate pair")
    end
    local low
    low, next_pos = hex4(st, next_pos + 2)
    if low < 0xDC00 or low > 0xDFFF then
      fail(st, pos, "a \\u escape holds half of a surrogate pair")
    end
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
  end
  return utf8.char(unit), next_pos
end

local function string_at(st, pos)
  local plain, behind = st.text:match('^"([^"\\%c]*)"()', pos)
  if plain then
    return plain, behind
  end
  local start, parts = pos, {}
  pos = pos + 1
  while true do
    local stop = st.text:find('["\\%c]', pos)
    if not stop then
      fail(st, start, "a string is not closed")
    end
    parts[#parts + 1] = st.text:sub(pos, stop - 1)
    local c = st.text:sub(stop, stop)
    if c == '"' then
      return table.concat(parts), stop + 1
    elseif c == "\\" then
      local e = st.text:sub(stop + 1, stop + 1)
      if e == "u" then
        parts[#parts + 1], pos = unicode(st, stop + 2)
      elseif ESCAPES[e] then
        parts[#parts + 1], pos = ESCAPES[e], stop + 2
      else
        fail(st, stop, "unknown escape in a string: \\" .. e)
      end
    elseif c == "\127" then
      parts[#parts + 1], pos = c, stop + 1
    else
      fail(st, stop, "a string holds a bare control byte; write it as an escape")
    end
  end
end

local function number_at(st, pos)
  local text = st.text
  local stop = text:match("^-?0()", pos) or text:match("^-?[1-9]%d*()", pos)
  if not stop then
    fail(st, pos, "not a JSON value: found " .. found(st, pos))
  end
  stop = text:match("^%.%d+()", stop) or stop
  stop = text:match("^[eE][+-]?%d+()", stop) or stop
  return tonumber(text:sub(pos, stop - 1)), stop
end

local function begin(st, kind, pos, depth)
  if depth > MAX_DEPTH then
    fail(st, pos, ("nested deeper than %d levels"):format(MAX_DEPTH))
  end
  local t = {}
  st.kinds[t], st.lines[t] = kind, {}
  return t, st.lines[t]
end

local function array_at(st, pos, depth)
  local list, lines = begin(st, "list", pos, depth)
  pos = skip(st, pos + 1)
  if st.text:sub(pos, pos) == "]" then
    return list, pos + 1
  end
  while true do
    lines[#list + 1] = line_at(st, pos)
    list[#list + 1], pos = value(st, pos, depth)
    pos = skip(st, pos)
    local c = st.text:sub(pos, pos)
    if c == "]" then
      return list, pos + 1
    elseif c ~= "," then
      fail(st, pos, 'expected "," or "]" in a list, found ' .. found(st, pos))
    end
    pos = skip(st, pos + 1)
  end
end

local function member(st, map, lines, pos, depth)
  if st.text:sub(pos, pos) ~= '"' then
    fail(st, pos, "expected a key in double quotes, found " .. found(st, pos))
  end
  local line = line_at(st, pos)
  local key, after = string_at(st, pos)
  if map[key] ~= nil then
    fail(st, pos, ("the key %q is there twice, first in line %d"):format(key, lines[key]))
  end
  pos = skip(st, after)
  if st.text:sub(pos, pos) ~= ":" then
    fail(st, pos, ('expected ":" after the key %q, found %s'):format(key, found(st, pos)))
  end
  map[key], pos = value(st, skip(st, pos + 1), depth)
  lines[key] = line
  return skip(st, pos)
end

local function object_at(st, pos, depth)
  local map, lines = begin(st, "table", pos, depth)
  pos = skip(st, pos + 1)
  if st.text:sub(pos, pos) == "}" then
    return map, pos + 1
  end
  while true do
    pos = member(st, map, lines, pos, depth)
    local c = st.text:sub(pos, pos)
    if c == "}" then
      return map, pos + 1
    elseif c ~= "," then
      fail(st, pos, 'expected "," or "}" in an object, found ' .. found(st, pos))
    end
    pos = skip(st, pos + 1)
  end
end

function value(st, pos, depth)
  local c = st.text:sub(pos, pos)
  if c == "{" then
    return object_at(st, pos, depth + 1)
  elseif c == "[" then
    return array_at(st, pos, depth + 1)
  elseif c == '"' then
    return string_at(st, pos)
  elseif c:find("[%d-]") then
    return number_at(st, pos)
  end
  local word = st.text:match("^%a+", pos)
  if word == nil or WORDS[word] == nil then
    fail(st, pos, "not a JSON value: found " .. (word and ("%q"):format(word) or found(st, pos)))
  end
  return WORDS[word], pos + #word
end

---Reads one JSON text.
---@param text string
---@return any value json.null stands for null
---@return table places on success {lines = {[table] = {[key] = line}}, kinds = {[table] = "list"|"table"}};
--- else {line=, message=}
function json.decode(text)
  if not utf8.len(text) then
    local _, bad = utf8.len(text)
    local _, newlines = text:sub(1, bad):gsub("\n", "")
    return nil, { line = newlines + 1, message = "not valid UTF-8" }
  end
  local st = { text = text, line = 1, newline = text:find("\n", 1, true) or math.huge, kinds = {}, lines = {} }
  local ok, result = pcall(function()
    local pos = skip(st, 1)
    if pos > #text then
      fail(st, 1, "the file is empty")
    end
    local v, after = value(st, pos, 0)
    after = skip(st, after)
    if after <= #text then
      fail(st, after, "something follows the value: " .. found(st, after))
    end
    return v
  end)
  if ok then
    return result, { lines = st.lines, kinds = st.kinds }
  elseif type(result) == "table" and result.json then
    return nil, { line = result.line, message = result.message }
  end
  return nil, { message = tostring(result) }
end

---Marks a table so that it is written as an object even when empty.
---@param t table
---@return table t
function json.object(t)
  return setmetatable(t, { __jsontype = "object" })
end

---Bytes that are not UTF-8 are written as \xNN text, so the output always is JSON.
local function clean_text(s)
  if utf8.len(s) then
    return s
  end
  return (s:gsub("[\128-\255]", function(c) return ("\\x%02x"):format(c:byte()) end))
end

local function clean(v, keys)
  if type(v) == "string" then
    return clean_text(v)
  elseif type(v) ~= "table" then
    return v
  end
  local copy = setmetatable({}, getmetatable(v))
  for k, item in pairs(v) do
    if type(k) == "string" then
      k = clean_text(k)
      keys[k] = true
    end
    copy[k] = clean(item, keys)
  end
  return copy
end

---Writes a value as JSON, keys sorted.
---@param v any plain data
---@param line boolean|nil on one line, not indented
---@return string
function json.encode(v, line)
  local keys, order = {}, {}
  local copy = clean(v, keys)
  for k in pairs(keys) do
    order[#order + 1] = k
  end
  table.sort(order)
  return require("dkjson").encode(copy, { indent = not line, keyorder = order })
end

return json
