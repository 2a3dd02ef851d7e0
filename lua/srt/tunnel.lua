-- SPDX-License-Identifier: Apache-2.0
-- What is read of an allowed tunnel: TLS that is terminated, plain HTTP, or nothing.

local tunnel = {}

local OPEN = {}

---@param network table of a profile: tls = {exclude = rules} | false | nil, refuseOpaqueTunnels
---@param filters integer how many callbacks want to see requests
---@return fun(host: string, port: integer, protocol: string): table|nil how of "host:port" that is allowed:
--- {terminate=, inspect=, refuseOpaque=}, or nil and the refusal
function tunnel.compile(network, filters)
  local tls, refuse = network.tls, network.refuseOpaqueTunnels or false
  local excluded = tls and require("srt.domain").compile(tls.exclude)
  -- Whoever refuses what nobody reads wants plain HTTP read as well.
  local reads = { terminate = tls and true or false, inspect = filters > 0 or refuse, refuseOpaque = refuse }
  return function(host, port, protocol)
    if protocol == "http" then return OPEN end
    local rule = excluded and excluded(host, port)
    if refuse and (not tls or rule or protocol == "loopback") then
      return nil, rule and ("network.refuseOpaqueTunnels refuses tunnels that can't be inspected, and "
        .. "network.tlsTerminate.excludeDomains %q has this one unread"):format(rule.text)
        or "network.refuseOpaqueTunnels refuses tunnels that can't be inspected"
    end
    if rule or protocol == "loopback" then return OPEN end
    return reads
  end
end

---The decision of a request in a tunnel that was allowed: the tunnel's holds.
---@param decider table of srt.decide_net
---@param question table of a request
---@return table decision
function tunnel.inside(decider, question)
  local host, port = question.host, question.port
  local ports = decider.known[host]
  local known = ports and ports[port] or { action = "allow", rule = "its tunnel was allowed", host = host, port = port }
  local via = decider.route and decider.route(host, port, question.protocol)
  return via and setmetatable({ via = via }, { __index = known }) or known
end

return tunnel
