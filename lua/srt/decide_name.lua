-- SPDX-License-Identifier: Apache-2.0
-- The part of the network decisions that lookups of names need: may a host be reached on any port at all?

local domain = require("srt.domain")
local spelled = require("srt.net_text")

---@param decider table from srt.decide_net
---@param host string as it was asked for
---@return table decision without a port
return function(decider, host)
  local name, wrong = domain.canonical(host)
  if not name or name == "" then
    host = spelled.shown(host)
    return spelled.deny({ reason = ("the name %q can't be used: %s"):format(host, wrong or "it is empty"),
      rule = "host syntax", host = host })
  end
  local network, own = decider.network, decider.more
  -- No rule is for port 0, so one that matches there is for all.
  local rule = decider.denied(name, 0)
  if rule then return spelled.by_deny_list(name, 0, rule) end
  rule = own and own.denied(name, 0)
  if rule then return spelled.by_command(name, 0, rule, "deny") end
  local function denied(port) return decider.denied(name, port) or own and own.denied(name, port) end
  for _, allowed in ipairs(network.allowed) do
    local port = allowed.port or 0
    if domain.match(allowed, name, port) and not denied(port) then
      return { action = "allow", rule = ("network.allowedDomains %q"):format(allowed.text), origin = allowed.origin,
        host = name }
    end
  end
  for _, allowed in ipairs(own and not network.strict and own.rules or {}) do
    local port = allowed.port or 0
    if domain.match(allowed, name, port) and not denied(port) then
      return spelled.by_command(name, port, allowed, "allow")
    end
  end
  if not network.strict and (#decider.decideConnect > 0 or decider.prompt or decider.ask) then
    return { action = "allow", rule = decider.prompt and "run --prompt" or "network.decideConnect", host = name }
  end
  return spelled.not_listed(name, 0, network.strict)
end
