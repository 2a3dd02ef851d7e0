-- SPDX-License-Identifier: Apache-2.0
-- The one place that says by which backend a policy is enforced.
local backend = {}

-- Strongest first.
backend.NAMES = { "namespaces", "bwrap" }

--- The compiler of a backend.
---@param name string
---@return table? compiler with compile()
---@return string? message
function backend.get(name)
  if name == "auto" then name = backend.NAMES[1] end
  for _, known in ipairs(backend.NAMES) do
    if known == name then return (require("backends." .. name)) end
  end
  return nil, ("the backend %q is not there yet; this version has: %s"):format(name, table.concat(backend.NAMES, ", "))
end

return backend
