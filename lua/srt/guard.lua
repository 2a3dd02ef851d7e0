-- SPDX-License-Identifier: Apache-2.0
-- Decides whether a name that the lists allow may lead to the address it resolved to.
--
-- Who controls a name's DNS controls where it leads, so loopback, link-local, cloud metadata and this host's own
-- addresses are refused unless an allowedDomains entry names that very address.

local address = require("srt.address")
local domain = require("srt.domain")

local guard = {}

---The classes of refused addresses, in the order in which reports name them.
guard.CLASSES = { "loopback", "link-local", "metadata", "this-host", "multicast", "broadcast", "unspecified",
  "reserved", "deny-listed", "listed", "non-loopback", "unparsable" }

local SPECIAL = {
  loopback = { "127.0.0.0/8", "::1" },
  unspecified = { "0.0.0.0/8", "::" },
  ["link-local"] = { "169.254.0.0/16", "fe80::/10" },
  multicast = { "224.0.0.0/4", "ff00::/8" },
  broadcast = { "255.255.255.255" },
  -- 198.18.0.0/15 serves as synthetic addresses inside. Of site-local space (RFC 3513) the form that was ever
  -- assigned has zero bits behind fec0.
  reserved = { "240.0.0.0/4", "198.18.0.0/15", "fec0::/16" },
  -- Endpoints of cloud providers that lie outside link-local space.
  metadata = { "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::/32", "fd20:ce::254",
    "fd00:c1::a9fe:a9fe", "fd00:42::42", "fd00:a9fe:a9fe::1" },
}

local WORDS = {
  loopback = "a loopback address", ["link-local"] = "a link-local address",
  metadata = "a cloud metadata address", ["this-host"] = "an address of this host",
  multicast = "a multicast address", broadcast = "a broadcast address", unspecified = "an unspecified address",
  reserved = "a reserved address", ["deny-listed"] = "an address that network.deniedDomains lists",
  listed = "an address that network.deniedResolvedAddresses lists",
  ["non-loopback"] = "an address that is not loopback", unparsable = "something that is not an address",
}

local class_of

local function classify(bytes)
  if not class_of then
    local ranges = {}
    for class, list in pairs(SPECIAL) do
      for _, text in ipairs(list) do
        local range = assert(address.range(text))
        range.value = class
        ranges[#ranges + 1] = range
      end
    end
    class_of = address.set(ranges)
  end
  return class_of(bytes)
end

---Address literals of a domain list: {[bytes] = {any=bool, ports={}}}.
local function literals(rules)
  local map = {}
  for _, rule in ipairs(rules) do
    if rule.address then
      local bytes = address.parse(rule.host)
      local slot = map[bytes] or { ports = {} }
      map[bytes] = slot
      if rule.port then
        slot.ports[rule.port] = true
      else
        slot.any = true
      end
    end
  end
  return map
end

local function names(map, bytes, port)
  local slot = bytes and map[bytes]
  return slot ~= nil and slot ~= false and (slot.any or slot.ports[port] or false)
end

---Is this one of the host's own addresses? Nil where they can't be listed.
local function own(list_addresses, bytes, carried)
  local list = list_addresses and list_addresses()
  if not list then
    return nil
  end
  for _, text in ipairs(list) do
    local mine = address.parse(text)
    if mine and (mine == bytes or mine == carried) then
      return true
    end
  end
  return false
end

local Guard = {}
Guard.__index = Guard

---The class that refuses an address, or nil where it may be dialled.
---@param host string canonical
---@param port integer
---@param text string the resolved address
---@return string|nil class one of guard.CLASSES, or "unknown-host" where this host's addresses can't be listed
function Guard:class(host, port, text)
  if domain.is_address(host) then
    return nil
  end
  local bytes = address.parse(text)
  if not bytes then
    return "unparsable"
  end
  local carried = address.carried(bytes)
  if names(self.denied, bytes, port) or names(self.denied, carried, port) then
    return "deny-listed"
  elseif names(self.allowed, bytes, port) then
    return nil
  elseif self.listed(bytes) or (carried and self.listed(carried)) then
    return "listed"
  end
  local class = classify(bytes)
  if domain.is_localhost(host) then
    return class ~= "loopback" and "non-loopback" or nil
  end
  class = class or (carried and classify(carried))
  if class then
    return class
  end
  local mine = own(self.addresses, bytes, carried)
  if mine == nil then
    return "unknown-host"
  end
  return mine and "this-host" or nil
end

---May the host be reached at this address?
---@param host string canonical
---@param port integer
---@param text string the resolved address
---@return string|nil reason nil where it may
---@return string|nil class
function Guard:check(host, port, text)
  local class = self:class(host, port, text)
  if not class then
    return nil
  elseif class == "unknown-host" then
    return ("%s can't be reached: the addresses of this host can't be listed to compare with"):format(host), class
  end
  local reason = ("%s resolved to %s"):format(host, WORDS[class])
  local bytes = class ~= "deny-listed" and address.parse(text)
  if bytes then
    local literal = address.text(bytes)
    literal = literal:find(":", 1, true) and ("[%s]"):format(literal) or literal
    reason = ("%s; to allow it, add \"%s:%d\" to network.allowedDomains%s"):format(reason, literal, port,
      require("srt.metadata").warning(address.text(bytes)))
  end
  return reason, class
end

---Compiles the guard of a profile's network.
---@param network table {allowed, denied = rules, deniedAddresses = ranges}
---@param addresses nil|fun(): string[]|nil lists this host's own addresses; sys.addresses by default
---@return table guard with :class and :check
function guard.compile(network, addresses)
  return setmetatable({
    allowed = literals(network.allowed or {}),
    denied = literals(network.denied or {}),
    listed = address.set(network.deniedAddresses or {}),
    addresses = addresses or require("srt.c.sys").addresses,
  }, Guard)
end

local compiled = setmetatable({}, { __mode = "k" })

---May the host be reached at this address under a profile?
---@param profile table
---@param host string canonical
---@param port integer
---@param text string the resolved address
---@return string|nil reason nil where it may
---@return string|nil class
function guard.check(profile, host, port, text)
  local one = compiled[profile]
  if not one then
    one = guard.compile(profile.network)
    compiled[profile] = one
  end
  return one:check(host, port, text)
end

return guard
