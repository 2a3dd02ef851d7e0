-- SPDX-License-Identifier: Apache-2.0
-- What several modules ask of a table.

local tables = {}

---@param map table its keys are all strings
---@return string[] keys sorted
function tables.keys(map)
  local list = {}
  for key in pairs(map) do list[#list + 1] = key end
  table.sort(list)
  return list
end

return tables
