-- SPDX-License-Identifier: Apache-2.0
-- Do parts of two profiles say the same, wherever they stand in their files?
local same = {}

-- Where something came from, and what it came to in the tree at that time.
local LEFT_OUT = { origin = true, origins = true, place = true, globs = true }

local function add(out, value, seen)
  if type(value) ~= "table" then
    -- Handles of a policy's functions are never equal. A function of ours makes something of what is beside it.
    out[#out + 1] = type(value) == "string" and ("%q"):format(value) or type(value) == "function" and "function"
      or tostring(value)
    return
  end
  if seen[value] then error("a loop in a profile") end
  seen[value] = true
  local keys = {}
  for key in pairs(value) do
    if not LEFT_OUT[key] then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b)
    if type(a) ~= type(b) then return type(a) < type(b) end
    return a < b
  end)
  out[#out + 1] = "{"
  for _, key in ipairs(keys) do
    out[#out + 1] = ("%s=%q:"):format(type(key), key)
    add(out, value[key], seen)
    out[#out + 1] = ","
  end
  out[#out + 1] = "}"
  seen[value] = nil
end

---A text that is equal for what is equal.
---@param value any plain data
---@return string
function same.text(value)
  local out = {}
  add(out, value, {})
  return table.concat(out)
end

return same
