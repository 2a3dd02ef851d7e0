-- SPDX-License-Identifier: Apache-2.0
-- Random policies over a tree of folders three deep, for what must say the same as the decision module.

local random_lists = {}

local NAMES = { "a", "b", "a-b" }
random_lists.LISTS = { "denyRead", "allowRead", "allowWrite", "denyWrite", "masked" }

--- All folders three deep, with a file in each: the entries of spec.lua.tree.
---@return string[]
function random_lists.paths()
  local list = {}
  local function add(prefix, depth)
    for _, name in ipairs(NAMES) do
      list[#list + 1] = prefix .. name .. "/"
      list[#list + 1] = prefix .. name .. "/f"
      if depth > 1 then add(prefix .. name .. "/", depth - 1) end
    end
  end
  add("", 3)
  return list
end

--- Lists of a policy, by math.random.
---@param everything string[] of paths()
---@return table<string, string[]>
function random_lists.make(everything)
  local random, lists = math.random, {}
  for _, name in ipairs(random_lists.LISTS) do
    lists[name] = {}
    for i = 1, random(0, 4) do lists[name][i] = everything[random(#everything)] end
  end
  if random(10) == 1 then lists.denyRead[#lists.denyRead + 1] = "/" end
  if random(10) == 1 then lists.allowWrite[#lists.allowWrite + 1] = "." end
  return lists
end

return random_lists
