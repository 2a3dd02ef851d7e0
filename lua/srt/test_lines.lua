-- SPDX-License-Identifier: Apache-2.0
-- Says on which lines the rows of a test stand: Lua keeps no lines of tables, so they are looked for in the text.
local tokens = require "srt.tokens"

local test_lines = {}

-- The index behind "NAME = {", or nil.
local function opening(list, name)
  for i = 3, #list do
    if list[i].text == "{" and list[i - 1].text == "=" and list[i - 2].text == name then return i + 1 end
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
  local list = tokens.of(text)
  local lines, depth, begins = {}, 1, true
  for i = opening(list, name) or #list + 1, #list do
    local word = list[i].text
    depth = depth + (DEPTH[word] or 0)
    if depth == 0 then return #lines == count and lines or nil end
    if depth == 1 and (word == "," or word == ";") then
      begins = true
    elseif begins then
      lines[#lines + 1], begins = list[i].line, false
    end
  end
  return nil
end

return test_lines
