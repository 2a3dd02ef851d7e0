-- SPDX-License-Identifier: Apache-2.0
-- Takes a Lua source apart into words, for those who look at a policy's text or change it. Comments are left out.
local index = require "srt.source_index"

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
    local value, after = index.quoted(text, pos)
    return after, value
  elseif c == "[" then
    return index.long_bracket(text, pos)
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
      pos = index.comment(text, pos)
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

return tokens
