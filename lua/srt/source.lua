-- SPDX-License-Identifier: Apache-2.0
-- Says where in a policy's source an entry or a key stands, when that can be known.
--
-- Only asked for reports, so nothing is read or searched until an origin's line is looked at (srt.source_index).

local source = {}

---A document: one file whose values end up in a policy.
---@param file string as shown in reports
---@param places table|nil json.decode's, for JSON files
---@param read fun(file: string): string|nil gives the source text
---@param others nil|fun(): string[] further files the policy pulled in
---@return table document
function source.document(file, places, read, others)
  return { file = file, places = places, read = read, others = others, indexes = {} }
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
    local line, file = require("srt.source_index").find(search, origin.key)
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
