-- SPDX-License-Identifier: Apache-2.0
-- What decides while a command runs, and how another policy takes its place between two decisions.
local net = require "srt.decide_net"
local same = require "srt.same"

local live = {}

local Live = {}
Live.__index = Live

local function paths_of(profile)
  local fs = profile.filesystem
  return { profile.protection, fs.written, fs.disabled, fs.createGuard }
end

-- Of termination what has to do with certificates can't change: they are in the sandbox already.
local function ca_of(profile)
  local tls = profile.network.tls
  return tls and tls.caCert and { tls.caCert.path, tls.caKey.path } or false
end

local function roots_of(profile)
  local out = {}
  for i, extra in ipairs(profile.network.tls and profile.network.tls.extra or {}) do out[i] = extra.path end
  return out
end

local function points_of(profile)
  local out = {}
  for i, point in ipairs(require("srt.loopback").points(profile)) do out[i] = { point.address, point.port } end
  return out
end

-- What is part of the sandbox or was taken by its proxy at the start, by the keys of a policy. The proxy alone has
-- but what says so.
local HELD = {
  { "filesystem", paths_of },
  { "whether there is a network.tlsTerminate", function(profile) return not profile.network.tls end, proxy = true },
  { "network.tlsTerminate.caCertPath and caKeyPath", ca_of, proxy = true },
  { "network.tlsTerminate.extraCaCertPaths", roots_of, proxy = true },
  { "network.publishPorts", function(profile) return profile.network.publish end },
  { "network.httpProxyPort and socksProxyPort", function(profile) return profile.network.ports end, proxy = true },
  { "network.stripResponseHeaders", function(profile) return profile.network.stripResponseHeaders end, proxy = true },
  { "network.transparent", function(profile) return profile.network.transparent or false end },
  { "ports of the host's loopback in network.allowedDomains", points_of },
  { "network.allowUnixSockets", function(profile) return profile.unix end },
  { "secrets and credentials", function(profile) return profile.credentials end, proxy = true },
  { "env", function(profile) return profile.env end },
  { "limits", function(profile) return profile.limits end, proxy = true },
  { "git.safeDirectories", function(profile) return profile.safeDirectories end },
  { "allowNestedUserNamespaces", function(profile) return profile.nested end },
  { "observe", function(profile) return profile.observe end },
}

local function held_of(profile)
  local out = {}
  for i, part in ipairs(HELD) do out[i] = same.text(part[2](profile)) end
  return out
end

-- A profile with the parts of the network that stay as the run began with them.
local function merged(began, profile)
  local network = setmetatable({}, { __index = profile.network })
  -- A key that is there hides what is below it, false as well.
  network.tls = began.network.tls and (profile.network.tls or began.network.tls) or false
  return setmetatable({ network = network }, { __index = profile })
end

local function enter(self, loaded, profile)
  local box = loaded.box
  local decider = net.compile(profile, self.facts)
  decider.prompt = self.prompt and self.prompt:bind(box)
  self.part = { decider = decider,
    -- Where a callback waits, whoever calls this waits too: in a coroutine of its own.
    call = function(fn, kind, ...) return box:call(fn, kind, ...) end }
end

local function ask(part, question)
  local decider = part.decider
  if question.kind == "response" then
    return decider:response(question, part.call)
  elseif question.kind == "request" then
    question.scheme = question.tls and "https" or "http"
    return decider:request(question, part.call)
  end
  return decider:connect(question.host, question.port, question.protocol, part.call, question.process)
end

---Decides a question of srt.c.proxy. One that waits ends by the policy it began with, but what the lists in force then
---deny stays denied.
---@param question table
---@return table decision of srt.decide_net
function Live:decide(question)
  local review = question.review
  -- A response is judged by whoever judged its request.
  local part = review and review.part or self.part
  local decision = ask(part, question)
  if question.kind == "response" or decision.action ~= "allow" then return decision end
  if part ~= self.part then decision = self.part.decider:refuses(decision.host, decision.port) or decision end
  if decision.review then decision.review.part = part end
  return decision
end

---@return string|nil reason as Decider:address of srt.decide_net
---@return string|nil class
function Live:address(host, port, text)
  return self.part.decider:address(host, port, text)
end

---@return table decision as Decider:name of srt.decide_net
function Live:name(host)
  return self.part.decider:name(host)
end

---Puts another policy in the place of the one in force: the one way in which a running policy changes, be it by
---`--control-fd`, `--watch` or a session.
---
---In force at once, for all that is decided from then on: the network lists and callbacks, the resolved-address
---check, the parent and mitm proxy, tlsTerminate but for its certificates, ignoreViolations and onViolation. What was
---asked before ends by the old policy, in its own box, but a host that the new lists deny is not reached any more: open
---connections to it are reset, those to others stay. All else of a policy is in the sandbox already, and holds as it
---was when the run began.
---@param fresh srt.session of session.resolve with options.live; not used again
---@return string[] held keys of what differs from the run's beginning, and is not in force
---@return integer cut how many connections were reset
function Live:update(fresh)
  local held, now = {}, held_of(fresh.profile)
  self.held = self.held or held_of(self.began)
  for i, part in ipairs(HELD) do
    if now[i] ~= self.held[i] and (part.proxy or not self.alone) then held[#held + 1] = part[1] end
  end
  if not self.alone and (self.began.callbacks.decideOpen[1] or fresh.profile.callbacks.decideOpen[1]) then
    held[#held + 1] = "filesystem.decideOpen"
  end
  local profile = merged(self.began, fresh.profile)
  if self.sandbox then fresh.box:asker(self.sandbox) end
  enter(self, fresh, profile)
  if profile.network.tls then require("srt.termination").limit(self.proxy, profile.network.tls) end
  self.reporter:replace(fresh)
  local decider = self.part.decider
  local cut = self.proxy:revise(function(host, port) return decider:refuses(host, port) ~= nil end)
  -- The box of the old policy has memory that Lua knows nothing of.
  collectgarbage()
  return held, cut
end

---@param loaded srt.session that the run begins with; alone = true where there is no command of ours
---@param facts table of srt.decide_net.compile
---@param sandbox userdata|nil where srt.ask asks
---@param reporter table of srt.reporting
---@return table live; its proxy is set when there is one
function live.new(loaded, facts, sandbox, reporter)
  local self = setmetatable({ began = loaded.profile, facts = facts, sandbox = sandbox, alone = loaded.alone,
    reporter = reporter, prompt = loaded.prompt }, Live)
  enter(self, loaded, loaded.profile)
  return self
end

return live
