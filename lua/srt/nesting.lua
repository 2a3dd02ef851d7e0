-- SPDX-License-Identifier: Apache-2.0
-- Where in a policy's source an entry stands whose text alone does not tell: by the names of the tables around it, and
-- its place in the list.
local tokens = require "srt.tokens"

local nesting = {}

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

---@alias srt.held {path: (string|integer)[], line: integer}

---Where in the tables of a source its strings and names stand: the names around each, a number for a place in a list.
---What functions in tables do is left out.
---@param text string
---@return {strings: table<string, srt.held[]>, names: table<string, srt.held[]>, computed: srt.held[]} held computed:
--- entries of lists that are worked out, not written down
function nesting.of(text)
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
  return { strings = strings, names = names, computed = others }
end

-- A key's names and places: "network.allowedDomains[3]" is {"network", "allowedDomains", 3}.
local function steps_of(key)
  local steps, pos = {}, 1
  while true do
    local inner, after = key:match("^%[(.-)%]()", pos)
    local name, behind = key:match("^%.?([^.%[]+)()", pos)
    if not (inner or name) then return steps end
    steps[#steps + 1] = inner and (math.tointeger(inner) or inner:match('^"(.*)"$') or inner) or name
    pos = after or behind
  end
end

-- How well a place in the source fits a key: by its names, then by the places in lists. nil for another key's.
local function fit(path, last, steps)
  local i, j, score = last, #steps, last == #steps and 1 or 0
  while i > 0 and j > 0 do
    local is, wanted = path[i], steps[j]
    if is == wanted then
      score = score + (math.type(is) and 1 or 16)
    elseif i == 1 and not math.type(is) then
      -- The outermost may be a variable's name, as of a policy that is extended.
      return score + (steps[1] == "extends" and 1 or 0)
    elseif not (math.type(is) and math.type(wanted)) then
      return nil
    end
    i, j = i - 1, j - 1
  end
  return score
end

-- The one line whose place fits a key best, by one name at least.
local function best_line(places, steps)
  local best, line = 15, nil
  for _, one in ipairs(places or {}) do
    local last = #one.path
    -- An entry that is a table has its text in a field.
    if math.type(steps[#steps]) and not math.type(one.path[last]) then last = last - 1 end
    local score = fit(one.path, last, steps) or 0
    if score > best then
      best, line = score, one.line
    elseif score == best and line ~= one.line then
      line = nil
    end
  end
  return line
end

---The line of a text that stands in several, or of an entry that is no literal, as `srt.here .. "/x"`: where the names
---around it, and its place in the list, are those of the key.
---@param held table of nesting.of
---@param kind "strings"|"names"
---@param text string
---@param key string "network.allowedDomains[3]"
---@return integer|nil line
function nesting.line(held, kind, text, key)
  if kind == "names" then return best_line(held.names[text], steps_of((key:gsub("%[%d+%]$", "")))) end
  local steps, found = steps_of(key), held.strings[text] or {}
  found = table.move(found, 1, #found, 1, {})
  for _, one in ipairs(held.computed) do
    local elsewhere = steps[1] == "extends" and #one.path ~= #steps
    if one.path[#one.path] == steps[#steps] and not elsewhere then found[#found + 1] = one end
  end
  return best_line(found, steps)
end

return nesting
