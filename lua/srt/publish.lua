-- SPDX-License-Identifier: Apache-2.0
-- Published ports: [ADDRESS:][HOST_PORT:]PORT, and what they may not be.

local publish = {}

local FORM = "a published port is PORT, HOST_PORT:PORT or ADDRESS:HOST_PORT:PORT, as in 3000, 8080:3000 or "
  .. "127.0.0.1:8080:3000"

local function port_of(text)
  local port = text:find("^[1-9]%d?%d?%d?%d?$") and math.tointeger(tonumber(text))
  return port and port <= 65535 and port or nil
end

---@param text string|integer
---@return table|nil {address=, hostPort=, port=}
---@return string|nil reason
function publish.parse(text)
  text = math.type(text) == "float" and ("%d"):format(text) or tostring(text)
  local address, rest = text:match("^%[([%x:.]+)%]:(.*)$")
  if not address then
    address, rest = text:match("^(%d+%.%d+%.%d+%.%d+):(.*)$")
  end
  local outer, inner = (rest or text):match("^(%d+):(%d+)$")
  if not outer and not address then
    outer, inner = text, text
  end
  local host_port, port = port_of(outer or ""), port_of(inner or "")
  if not host_port or not port then
    return nil, FORM
  elseif address and not require("srt.c.sys").pton(address) then
    return nil, ("%s is no address; %s"):format(address, FORM)
  end
  return { address = address or "127.0.0.1", hostPort = host_port, port = port }
end

---How an entry is shown.
---@param entry table
---@return string
function publish.text(entry)
  local address = entry.address:find(":", 1, true) and "[" .. entry.address .. "]" or entry.address
  return ("%s:%d → port %d inside"):format(address, entry.hostPort, entry.port)
end

-- Without namespaces a server inside has the host's port itself, by the rights that it has.
local function check_bare(entries)
  local seen = {}
  for _, entry in ipairs(entries) do
    if seen[entry.port] then
      return ("port %d inside can be published once only with the backend landlock"):format(entry.port)
    elseif entry.hostPort < 1024 then
      return ("port %d of the host can't be published with the backend landlock, publish another, as in -p %d:%d")
        :format(entry.hostPort, entry.hostPort + 8000, entry.port)
    end
    seen[entry.port] = true
  end
end

---Why entries can't be published under a plan, or nil.
---@param entries table[]
---@param plan table
---@return string|nil
function publish.check(entries, plan)
  local seen = {}
  for _, entry in ipairs(entries) do
    local key = entry.address .. " " .. entry.hostPort
    if seen[key] then
      return ("port %d of %s is published twice"):format(entry.hostPort, entry.address)
    end
    seen[key] = true
    for _, point in ipairs(plan.listen) do
      if point.port == entry.port then
        return point.purpose == "loopback"
          and ("port %d inside can't be published: network.allowedDomains names %s:%d, so inside it is the host's own")
          :format(entry.port, point.host, point.port)
          or ("port %d inside can't be published: the proxy has it"):format(entry.port)
      end
    end
  end
  return plan.backend == "landlock" and check_bare(entries) or nil
end

---Listens on the host.
---@param entries table[]
---@return integer[]|nil descriptors
---@return string|nil message
function publish.listen(entries)
  local descriptors = {}
  for i, entry in ipairs(entries) do
    local fd, message, name = require("srt.c.publish").listen(entry.address, entry.hostPort)
    if not fd then
      return nil, ("port %d of %s can't be published: %s"):format(entry.hostPort, entry.address,
        name == "EADDRINUSE" and "it is in use on the host; publish another, as in -p "
          .. ("%d:%d"):format(entry.hostPort < 65535 and entry.hostPort + 1 or 65534, entry.port)
        or name == "EACCES" and "ports below 1024 are root's; publish another, as in -p "
          .. ("%d:%d"):format(entry.hostPort + 8000, entry.port)
        or name == "EADDRNOTAVAIL" and "this host has no such address" or message)
    end
    descriptors[i] = fd
  end
  return descriptors
end

---Serves what was listened on.
---@param entries table[]
---@param descriptors integer[]
---@param sandbox userdata
---@param proxy userdata
---@return string|nil message
function publish.start(entries, descriptors, sandbox, proxy)
  for i, entry in ipairs(entries) do
    local ok, message = require("srt.c.publish").start(sandbox, proxy, descriptors[i], entry.port)
    if not ok then return ("port %d can't be published: %s"):format(entry.hostPort, message) end
  end
  return nil
end

---Gives up listeners that nothing was started on.
---@param descriptors integer[]|nil of listen()
function publish.close(descriptors)
  for _, fd in ipairs(descriptors or {}) do require("srt.c.tidy").close(fd) end
end

return publish
