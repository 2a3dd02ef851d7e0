-- SPDX-License-Identifier: Apache-2.0
-- The keys of a policy that only backends/seatbelt.lua reads.

local seatbelt_keys = {}

local FLAGS = { localBinding = "network.allowLocalBinding", pty = "allowPty", appleEvents = "allowAppleEvents",
  weakerNetwork = "enableWeakerNetworkIsolation" }

---@param values table<string, table> of the policy
---@return table macos {localBinding, pty, appleEvents, weakerNetwork = flags, machLookup = names of services}
function seatbelt_keys.resolve(values)
  local out = { machLookup = {} }
  for name, key in pairs(FLAGS) do out[name] = values[key] ~= nil and values[key].value or false end
  local services = values["network.allowMachLookup"]
  for i, entry in ipairs(services and services.list or {}) do out.machLookup[i] = entry.value end
  return out
end

return seatbelt_keys
