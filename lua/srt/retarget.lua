-- SPDX-License-Identifier: Apache-2.0
-- Reads a setTarget: a path with a query, or a URL of the same scheme.

local retarget = {}

local STANDARD = { http = 80, https = 443 }

---Splits host[:port]; nil where it is neither.
---@param text string
---@param standard integer? the port where none is named
---@return string|nil host canonical
---@return integer|string port or why there is none
function retarget.authority(text, standard)
  local host, rest = text:match("^%[([%x:.]+)%](.*)$")
  if not host then
    host, rest = text:match("^([^:%[%]@/]+)(.*)$")
  end
  local port = rest == "" and standard or rest and tonumber(rest:match("^:(%d+)$"))
  if not host or not port or port < 1 or port > 65535 then return nil, "its host or port can't be read" end
  local canonical, why = require("srt.domain").canonical(host)
  if not canonical or canonical == "" then return nil, why or "its host is empty" end
  return canonical, math.tointeger(port)
end

---@param text string without blanks, control bytes or "#"
---@param subject {scheme: string, host: string, port: integer} where the request goes without it
---@return {host: string, port: integer, target: string}|nil
---@return string|nil why it can't be used
function retarget.read(text, subject)
  if text:sub(1, 1) == "/" then
    return { host = subject.host, port = subject.port, target = text }
  end
  local scheme, authority, target = text:match("^(%a+)://([^/?]+)(.*)$")
  if not scheme then return nil, "is neither a path nor a URL" end
  if scheme:lower() ~= subject.scheme then
    return nil, ("can't change the scheme from %s to %s"):format(subject.scheme, scheme:lower())
  end
  local host, port = retarget.authority(authority, STANDARD[subject.scheme])
  if not host then return nil, "can't be used: " .. port end
  return { host = host, port = port, target = target:sub(1, 1) == "/" and target or "/" .. target }
end

return retarget
