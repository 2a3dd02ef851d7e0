-- SPDX-License-Identifier: Apache-2.0
-- Rules of NO_PROXY: which destinations are reached directly although there is a proxy.
--
-- Entries are separated by commas or blanks: "*" is everything; "a.test", ".a.test" and "*.a.test" are that name and
-- all below it; an address, or a range as 10.0.0.0/8, means destinations that are given as addresses, since no name is
-- looked up for it; each but "*" and a range may have a port. An entry that is none of these matches nothing.

local address = require("srt.address")
local domain = require("srt.domain")

local no_proxy = {}

local Rules = {}
Rules.__index = Rules

local function split_port(entry)
  local host, port = entry:match("^%[([^%]]*)%]:(%d+)$")
  if not host and not entry:find("^%[") and not entry:find(":.*:") then
    host, port = entry:match("^(.*):(%d+)$")
  end
  if not host then return entry:match("^%[(.*)%]$") or entry end
  port = tonumber(port)
  return host, port >= 1 and port <= 65535 and port or nil, true
end

local function add(self, entry)
  if entry == "*" then
    self.all = true
    return true
  elseif entry:find("/", 1, true) then
    local range = address.range((entry:gsub("[%[%]]", "")))
    self.ranges[#self.ranges + 1] = range
    return range ~= nil
  end
  local host, port, has_port = split_port(entry)
  if has_port and not port then return false end
  local canonical = domain.canonical((host:gsub("^%*?%.", "")))
  if not canonical or canonical == "" then return false end
  self.hosts[#self.hosts + 1] = { host = canonical, port = port, exact = domain.is_address(canonical) }
  return true
end

---Reads the value of NO_PROXY.
---@param text string
---@return table rules with :match
---@return string[] ignored entries that mean nothing
function no_proxy.parse(text)
  local self = setmetatable({ all = false, ranges = {}, hosts = {} }, Rules)
  local ignored = {}
  for entry in text:gmatch("[^%s,]+") do
    if not add(self, entry) then ignored[#ignored + 1] = entry end
  end
  self.inside = address.set(self.ranges)
  return self, ignored
end

---Is a destination reached directly?
---@param host string canonical
---@param port integer
---@return boolean
function Rules:match(host, port)
  if self.all then return true end
  for _, rule in ipairs(self.hosts) do
    if (not rule.port or rule.port == port)
      and (host == rule.host or (not rule.exact and host:sub(-#rule.host - 1) == "." .. rule.host)) then
      return true
    end
  end
  local bytes = #self.ranges > 0 and domain.is_address(host) and address.parse(host)
  return bytes and self.inside(bytes) ~= nil or false
end

return no_proxy
