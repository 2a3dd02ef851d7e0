-- SPDX-License-Identifier: Apache-2.0
-- What a denial of the network's decisions is to the store of violations. Loaded with the first one.
local spelled = require("srt.net_text")

local denials = {}

-- Rules that an entry of allowedDomains would have kept from denying.
local UNLISTED = { ["network.allowedDomains"] = true, ["network.strictAllowlist"] = true, network = true }

---The entry that would have kept a decision from denying.
---@param decision table
---@return string|nil
function denials.advice(decision)
  if not UNLISTED[decision.rule] or not decision.host then return nil end
  return ("add \"%s\" to network.allowedDomains%s"):format(spelled.target(decision.host, decision.port or 0),
    require("srt.metadata").warning(decision.host))
end

local function event_of(kind, target, decision, process)
  return { kind = kind, target = target, rule = decision.rule, reason = decision.reason,
    advice = denials.advice(decision), origin = decision.origin and require("srt.source").where(decision.origin),
    process = process }
end

-- Queries may hold secrets.
local function request_text(question, decision)
  local subject = question.review and question.review.subject or question
  local host, port = decision.host or question.host, decision.port or question.port
  return ("%s %s://%s%s%s"):format(question.method, subject.scheme or "http", spelled.target(host, port),
    spelled.shown(subject.path or ""), subject.query and "?…" or "")
end

---Of a connection, a request or a response.
---@param question table of srt.c.proxy
---@param decision table a denial, or one with the detail of a callback that failed
---@return table event for the store
function denials.decided(question, decision)
  local process = question.process and require("srt.c.process").of(question.process)
  local of = question.kind == "response" and "response" or decision.of or "connect"
  local target = of == "connect" and spelled.target(decision.host or question.host, decision.port or question.port)
    or request_text(question, decision)
  if decision.action ~= "deny" then
    -- An observer's failure changes nothing but what is told.
    return { kind = "callback", target = target, rule = "network.filterRequest",
      reason = decision.detail:match("^[^\n]*"), process = process }
  end
  return event_of(decision.fault and "callback" or of, target, decision, process)
end

---Of what was let through, or answered by the policy: for the log of decisions.
---@param question table of srt.c.proxy
---@param decision table
---@return table event
function denials.allowed(question, decision)
  local kind = question.kind
  local process = question.process and require("srt.c.process").of(question.process)
  local event = event_of(kind, kind == "connect" and spelled.target(decision.host, decision.port)
    or request_text(question, decision), decision, process)
  event.decision, event.advice, event.status = decision.action, nil, question.status or decision.status
  return event
end

---Of a name that the resolver inside was asked for.
---@param name string
---@param decision table
---@param process {pid: integer, exe: string?}|nil who asked
---@return table event
function denials.name(name, decision, process)
  return event_of("name", spelled.shown(name), decision, process)
end

local TLS = { ["tls-client"] = "the program", ["tls-server"] = "the server" }

---Of what the proxy refused without a question.
---@param what "address"|"tunnel"|"tls-client"|"tls-server"
---@param host string
---@param port integer
---@param reason string
---@return table event
function denials.refused(what, host, port, reason)
  local target = spelled.target(host, port)
  if what == "tunnel" then
    return { kind = "connect", target = target, reason = reason, rule = "network.refuseOpaqueTunnels" }
  end
  if TLS[what] then
    return { kind = "connect", target = target, reason = ("%s %s"):format(TLS[what], reason),
      rule = "network.tlsTerminate", advice = what == "tls-client"
        and ("add %q to network.tlsTerminate.excludeDomains"):format(target) or nil }
  end
  local advice = reason:match("add \"[^\"]+\" to network%.allowedDomains")
  return { kind = "address", target = target, reason = reason,
    rule = reason:find("network.deniedDomains", 1, true) and "network.deniedDomains"
      or "network.deniedResolvedAddresses",
    advice = advice }
end

return denials
