-- SPDX-License-Identifier: Apache-2.0
-- Takes a Lua source apart into words, for those who look at a policy's text or change it. Comments are left out.
local source = require "srt.source"

local tokens = {}

---@class srt.token
---@field kind "name"|"string"|"number"|"symbol"
---@field text string as it stands there
---@field value string|nil of a string, where it has only plain escapes
---@field from integer
---@field to integer
---@field line integer

local function string_at(text, pos)
  local c = text:sub(pos, pos)
  if c == '"' or c == "'" then
    local value, after = source.quoted(text, pos)
    return after, value
  elseif c == "[" then
    return source.long_bracket(text, pos)
  end
end

local function word_at(text, pos)
  local to = select(2, text:find("^[%a_][%w_]*", pos))
  if to then return to, "name" end
  to = select(2, text:find("^%.?%d[%w_.]*", pos))
  if to then return to, "number" end
  return select(2, text:find("^%.%.%.?", pos)) or select(2, text:find("^[=~<>]=", pos)) or pos, "symbol"
end

---@param text string
---@return srt.token[]
function tokens.of(text)
  local list, line, pos, counted = {}, 1, 1, 1
  while true do
    pos = text:find("%S", pos)
    if not pos then return list end
    if text:find("^%-%-", pos) then
      pos = source.comment(text, pos)
    else
      line = line + select(2, text:sub(counted, pos - 1):gsub("\n", ""))
      counted = pos
      local after, value = string_at(text, pos)
      local to, kind = nil, "string"
      if not after then to, kind = word_at(text, pos) end
      to = to or after - 1
      list[#list + 1] = { kind = kind, text = text:sub(pos, to), value = value, from = pos, to = to, line = line }
      pos = to + 1
    end
  end
end

local OPENS = { ["function"] = true, ["if"] = true, ["do"] = true, ["repeat"] = true }
local CLOSES = { ["end"] = true, ["until"] = true }

---The end of the function whose word `function` is at an index: the index of its `end`.
---@param list srt.token[]
---@param at integer
---@return integer|nil
function tokens.end_of_function(list, at)
  local depth = 0
  for i = at, #list do
    local token = list[i]
    if token.kind == "name" and OPENS[token.text] then
      depth = depth + 1
    elseif token.kind == "name" and CLOSES[token.text] then
      depth = depth - 1
      if depth == 0 then return i end
    end
  end
end

local BRACKETS = { ["{"] = "}", ["("] = ")", ["["] = "]" }

---The index of the bracket that closes the one at an index.
---@param list srt.token[]
---@param at integer
---@return integer|nil
function tokens.closing(list, at)
  local open, close, depth = list[at].text, BRACKETS[list[at].text], 0
  for i = at, #list do
    local token = list[i]
    if token.kind == "symbol" then
      if token.text == open then depth = depth + 1 end
      if token.text == close then
        depth = depth - 1
        if depth == 0 then return i end
      end
    end
  end
end

-- The name that a word gives a value, as in `name =` or `["name"] =`; and the index of its `=`.
local function named(list, i)
  local one, after = list[i], list[i + 1]
  if one.kind == "name" and after and after.text == "=" then return one.text, i + 1 end
  local close, equals = list[i + 2], list[i + 3]
  if one.text == "[" and after and after.value and close and close.text == "]" and equals and equals.text == "=" then
    return after.value, i + 3
  end
end

local function path_of(frame, last)
  local path = table.move(frame.path, 1, #frame.path, 1, {})
  path[#path + 1] = last
  return path
end

-- One word in or outside of a table; the table that the words behind it stand in.
local function enter(frame, token)
  local c = token.kind == "symbol" and token.text
  if c == "{" then
    return { path = path_of(frame, frame.name or frame.up and frame.place), place = 1, depth = 0, up = frame }
  elseif c == "}" and frame.up then
    frame = frame.up
    if not frame.up then frame.name = nil end
  elseif c == "(" or c == ")" then
    frame.depth = frame.depth + (c == "(" and 1 or -1)
  elseif (c == "," or c == ";") and frame.depth == 0 then
    if not frame.name then frame.place = frame.place + 1 end
    frame.name, frame.begun = nil, nil
  elseif token.text == "return" then
    frame.name = nil
  end
  return frame
end

-- Does an entry of a list begin here that is worked out, not written down?
local function computed(list, i, frame)
  local token, after = list[i], list[i + 1]
  if not frame.up or frame.begun or frame.name or token.text == "}" then return false end
  frame.begun = true
  return token.text ~= "{" and (not token.value or after and after.text == "..")
end

---Where in the tables of a source its strings and names stand: the names around each, a number for a place in a list.
---What functions in tables do is left out.
---@param text string
---@return table<string, {path: (string|integer)[], line: integer}[]> strings
---@return table<string, {path: (string|integer)[], line: integer}[]> names
---@return {path: (string|integer)[], line: integer}[] computed entries of lists
function tokens.held(text)
  local list, strings, names, others, i = tokens.of(text), {}, {}, {}, 1
  local frame = { path = {}, place = 1, depth = 0 }
  local function add(to, value, line, last)
    to[value] = to[value] or {}
    table.insert(to[value], { path = path_of(frame, last), line = line })
  end
  while list[i] do
    local token = list[i]
    local name, equals = named(list, i)
    if not name and computed(list, i, frame) then
      others[#others + 1] = { path = path_of(frame, frame.place), line = token.line }
    end
    if name then
      if frame.depth == 0 then frame.name = name end
      add(names, name, token.line, name)
      i = equals
    elseif frame.up and token.kind == "name" and token.text == "function" then
      i = tokens.end_of_function(list, i) or i
    elseif token.value then
      add(strings, token.value, token.line, frame.name or frame.place)
    else
      frame = enter(frame, token)
    end
    i = i + 1
  end
  return strings, names, others
end

return tokens
