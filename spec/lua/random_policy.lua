-- SPDX-License-Identifier: Apache-2.0
-- Random policies over a small tree, for what compares a backend's plan with the decisions.
local random_policy = {}

local NAMES = { "a", "b", "a-b" }
local LISTS = { "denyRead", "allowRead", "allowWrite", "denyWrite", "masked" }

--- All folders three deep, with a file in each.
---@return string[] paths relative to the tree's top; folders end in a slash
function random_policy.paths()
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

---@param random fun(from: integer, to: integer?): integer
---@param everything string[]
---@return table<string, string[]> lists of a policy
function random_policy.lists(random, everything)
  local lists = {}
  for _, name in ipairs(LISTS) do
    lists[name] = {}
    for i = 1, random(0, 4) do lists[name][i] = everything[random(#everything)] end
  end
  if random(10) == 1 then lists.denyRead[#lists.denyRead + 1] = "/" end
  if random(10) == 1 then lists.allowWrite[#lists.allowWrite + 1] = "." end
  return lists
end

return random_policy
