-- SPDX-License-Identifier: Apache-2.0
-- Says on which lines the rows of a test stand: Lua keeps no lines of tables, so they are looked for in the text.
local source = require "srt.source"

local test_lines = {}

-- The next word or sign at or behind pos that is code.
local function token(text, pos)
  while true do
    pos = text:find("%S", pos)
    if not pos then return nil end
    local after = source.skip(text, pos)
    if not after then break end
    -- A string is an item as well as any word.
    if not text:find("^%-%-", pos) then return "string", pos, after end
    pos = after
  end
  local word = text:match("^[%w_]+", pos)
  return word or text:sub(pos, pos), pos, pos + (word and #word or 1)
end

-- The position behind "NAME = {", or nil.
local function opening(text, name)
  local pos, last, before = 1, nil, nil
  while true do
    local word, _, after = token(text, pos)
    if not word then return nil end
    if word == "{" and last == "=" and before == name then return after end
    before, last, pos = last, word, after
  end
end

local DEPTH = { ["{"] = 1, ["("] = 1, ["["] = 1, ["}"] = -1, [")"] = -1, ["]"] = -1,
  ["function"] = 1, ["do"] = 1, ["then"] = 1, ["repeat"] = 1, ["end"] = -1, ["until"] = -1, ["elseif"] = -1 }

---The lines on which the items of a table begin that the text writes as NAME = { … }.
---@param text string
---@param name string
---@param count integer how many there are
---@return integer[]|nil lines nil where the text has another count, as when a loop makes them
function test_lines.of(text, name, count)
  local pos = opening(text, name)
  local lines, depth, begins, line, counted = {}, 1, true, 1, 1
  while pos do
    local word, at, after = token(text, pos)
    if not word then return nil end
    depth = depth + (DEPTH[word] or 0)
    if depth == 0 then break end
    if depth == 1 and (word == "," or word == ";") then
      begins = true
    elseif begins then
      for _ in text:sub(counted, at - 1):gmatch("\n") do line = line + 1 end
      lines[#lines + 1], counted, begins = line, at, false
    end
    pos = after
  end
  return pos and #lines == count and lines or nil
end

return test_lines
