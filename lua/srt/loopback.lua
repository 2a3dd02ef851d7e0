-- SPDX-License-Identifier: Apache-2.0
-- Destinations on the host's loopback that the policy names with a port: each is there inside, on the same address and
-- port. Their connections are decided like all others, so nothing is allowed here.

local domain = require("srt.domain")

local loopback = {}

loopback.MOST = 60

local LOCALHOST = { "127.0.0.1", "::1" }

---The addresses inside that a loopback host stands for; nil for any other host.
---@param host string canonical
---@return string[]|nil
function loopback.addresses(host)
  if domain.is_localhost(host) then
    return LOCALHOST
  elseif host == "::1" or host:find("^127%.%d+%.%d+%.%d+$") then
    return { host }
  end
  return nil
end

---How a point is shown: what it is inside, and where it leads.
---@param point table
---@return string, string
function loopback.text(point)
  return (point.address:find(":", 1, true) and "[%s]:%d" or "%s:%d"):format(point.address, point.port),
    ("the host's %s:%d"):format(point.host:find(":", 1, true) and "[" .. point.host .. "]" or point.host, point.port)
end

-- Denied under any name that a client may call it by: a listener does not hear names.
local function denied(decider, host, address, port)
  return decider.denied(host, port) or decider.denied(address, port)
    or (address == "127.0.0.1" or address == "::1") and decider.denied("localhost", port)
end

---What is to be there inside: 2 * loopback.MOST points at most.
---@param profile table network, callbacks
---@return table[] points {address=, port=, host= as allowed, origin=}
---@return table|nil rule the first one for which there is no room
function loopback.points(profile)
  local points, taken = {}, {}
  local decider -- most policies have nothing to ask it here
  for _, rule in ipairs(profile.network.allowed) do
    local addresses = rule.kind == "exact" and rule.port and loopback.addresses(rule.host)
    decider = decider or addresses and require("srt.decide_net").compile(profile)
    if addresses and decider:connect(rule.host, rule.port, "loopback").action == "allow" then
      for _, address in ipairs(addresses) do
        local key = address .. " " .. rule.port
        if not taken[key] and not denied(decider, rule.host, address, rule.port) then
          taken[key] = true
          if #points == 2 * loopback.MOST then return points, rule end
          points[#points + 1] = { address = address, port = rule.port, host = rule.host, origin = rule.origin }
        end
      end
    end
  end
  return points
end

---Is what a host inside would reach directly meant to be the host's, and only by the proxy? A rule without a port gives
---no listeners; requests that a filter has to see, or that values are put into, must not take one.
local function by_proxy(profile, covers)
  local network, callbacks = profile.network, profile.callbacks or {}
  local seen = network.refuseOpaqueTunnels or network.tls
    or #(callbacks.filterRequest or {}) + #(callbacks.filterResponse or {}) > 0
  for _, rule in ipairs(network.allowed) do
    if rule.kind == "exact" and covers(rule.host) and (seen or not rule.port) then return true end
  end
  return false
end

---The hosts that clients inside reach without the proxy: servers of the command's own, and the points.
---@param profile table
---@return string[] hosts for NO_PROXY, which takes names below one, too
function loopback.direct(profile)
  local direct = {}
  for _, host in ipairs({ "localhost", "127.0.0.1", "::1" }) do
    local function covers(named)
      return named == host or (host == "localhost" and domain.is_localhost(named))
    end
    if not by_proxy(profile, covers) then direct[#direct + 1] = host end
  end
  return direct
end

---Is all of loopback reached without the proxy? Some clients can't tell its hosts apart.
---@param profile table
---@return boolean
function loopback.all_direct(profile)
  return not by_proxy(profile, function(named) return loopback.addresses(named) ~= nil end)
end

return loopback
