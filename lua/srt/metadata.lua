-- SPDX-License-Identifier: Apache-2.0
-- Where clouds answer a machine's questions about itself, among them what its credentials are.
local metadata = {}

-- As allowedDomains has them.
metadata.ENTRIES = { "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16",
  "192.0.0.192", "[fd00:ec2::254]", "[fd20:ce::254]", "metadata.google.internal", "metadata.goog",
  "instance-data.ec2.internal", "metadata:80" }

metadata.RISK = "in a cloud it hands out this machine's credentials (instance metadata)"

---The same, as hosts are compared.
---@type string[]
metadata.HOSTS = {}

local known = {}
for i, entry in ipairs(metadata.ENTRIES) do
  local host = entry:match("^%[(.*)%]$") or entry:match("^[^:]+")
  metadata.HOSTS[i], known[host] = host, true
end

---What is to be said with the advice to allow a host.
---@param host string canonical
---@return string "", or the risk
function metadata.warning(host) return known[host] and ", if you take the risk: " .. metadata.RISK or "" end

return metadata
