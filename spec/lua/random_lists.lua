-- SPDX-License-Identifier: Apache-2.0
-- Random policies over a tree of folders three deep, for what must say the same as the decision module.

local tree = require("spec.lua.tree")

local random_lists = {}

local NAMES = { "a", "b", "a-b" }
local LISTS = { "denyRead", "allowRead", "allowWrite", "denyWrite", "masked" }

--- All folders three deep, with a file in each, made in a fresh folder.
---@return string top for tree.remove
---@return string[] everything relative paths; folders end in "/"
function random_lists.tree()
  local list = {}
  local function add(prefix, depth)
    for _, name in ipairs(NAMES) do
      list[#list + 1] = prefix .. name .. "/"
      list[#list + 1] = prefix .. name .. "/f"
      if depth > 1 then add(prefix .. name .. "/", depth - 1) end
    end
  end
  add("", 3)
  return tree.make(list), list
end

--- Rounds of a test by math.random, seeded by SRT_SEED or the clock.
---@param short integer how many
---@param long integer how many with SRT_LONG=1
---@return fun(): string|nil where which seed and round it is, for messages
function random_lists.rounds(short, long)
  local seed = tonumber(os.getenv("SRT_SEED")) or os.time()
  math.randomseed(seed)
  local round, last = 0, os.getenv("SRT_LONG") == "1" and long or short
  return function()
    round = round + 1
    return round <= last and ("SRT_SEED=%d, round %d"):format(seed, round) or nil
  end
end

--- Lists of a policy, by math.random.
---@param everything string[] of random_lists.tree()
---@param more table? { top = what denyRead may begin at instead of "/", masked = false for none }
---@return table<string, string[]>
function random_lists.make(everything, more)
  local random, lists = math.random, {}
  more = more or {}
  for _, name in ipairs(LISTS) do
    lists[name] = {}
    for i = 1, random(0, 4) do lists[name][i] = everything[random(#everything)] end
  end
  if more.masked == false then lists.masked = nil end
  if random(8) == 1 then table.insert(lists.denyRead, more.top or "/") end
  if random(8) == 1 then table.insert(lists.allowWrite, ".") end
  return lists
end

return random_lists
