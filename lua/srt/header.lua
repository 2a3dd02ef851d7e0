-- SPDX-License-Identifier: Apache-2.0
-- Which header fields a policy may name, and with what values.

local header = {}

local TOKEN = "^[%w!#$%%&'*+.^_`|~-]+$"

-- Headers that say where a message ends or which connection it is for: the proxy's own business.
local FRAMING = {}
for name in ([[connection content-length host keep-alive proxy-authenticate proxy-authorization proxy-connection te
  trailer transfer-encoding upgrade expect]]):gmatch("%S+") do
  FRAMING[name] = true
end

---Why a header can't be named, or given that value.
---@param name any
---@param value any nil where it is only named
---@param describe fun(v: any): string
---@return string|nil problem
function header.problem(name, value, describe)
  if type(name) ~= "string" or not name:find(TOKEN) then
    return ("%s is not a header name"):format(describe(name))
  elseif FRAMING[name:lower()] then
    return ("the header %s belongs to the proxy and can't be changed"):format(name)
  elseif value ~= nil and type(value) ~= "string" then
    return ("the value of the header %s must be a string, not %s"):format(name, describe(value))
  elseif value and value:find("[%z\1-\8\10-\31\127]") then
    return ("the value of the header %s holds control bytes"):format(name)
  end
  return nil
end

---The first value of a header.
---@param list {name: string, value: string}[]
---@param name string in lower case
---@return string|nil
function header.first(list, name)
  for _, field in ipairs(list) do
    if field.name:lower() == name then return field.value end
  end
end

return header
