-- SPDX-License-Identifier: Apache-2.0
-- What is told about termination: rows and data for check, and warnings of filters, secrets and stand-ins that what is
-- asked for never comes to.

local domain = require "srt.domain"
local source = require "srt.source"

local tls_lint = {}

---@param net table the network of a profile
---@return {what: string, where: string}[]
function tls_lint.rows(net)
  local rows, tls = {}, net.tls
  local function add(origin, form, ...) rows[#rows + 1] = { what = form:format(...), where = source.where(origin) } end
  if not tls then return rows end
  add(tls.origin, "by %s", tls.caCert and "the CA of " .. tls.caCert.path or "a CA of the run")
  for _, extra in ipairs(tls.extra) do add(extra.origin, "trusted besides the host's roots: %s", extra.path) end
  for _, rule in ipairs(tls.exclude) do add(rule.origin, "stays unread: %s", rule.text) end
  return rows
end

---@param net table
---@return table|nil for JSON
function tls_lint.data(net)
  local tls = net.tls
  if not tls then return nil end
  local out = { caCertPath = tls.caCert and tls.caCert.path, caKeyPath = tls.caKey and tls.caKey.path,
    extraCaCertPaths = {}, excludeDomains = {}, maxTunnels = tls.tunnels, handshakeTimeoutMs = tls.handshakeMs }
  for i, extra in ipairs(tls.extra) do out.extraCaCertPaths[i] = extra.path end
  for i, rule in ipairs(tls.exclude) do out.excludeDomains[i] = rule.text end
  return out
end

local function probe(rule) return rule.kind == "wildcard" and "*." .. rule.host or rule.host or "" end

-- Is there a host and port that both rules name?
local function overlap(a, b)
  if a.port and b.port and a.port ~= b.port then return false end
  local port = a.port or b.port or 0
  return domain.compile({ a })(probe(b), port) ~= nil or domain.compile({ b })(probe(a), port) ~= nil
end

local function among(rules, rule)
  for _, other in ipairs(rules) do
    if overlap(rule, other) then return true end
  end
  return false
end

-- Where a value goes: hosts that nobody may reach, or that nobody reads, are probably not meant.
local function hosts(linter, profile, one, what)
  local net = profile.network
  local excluded = net.tls and domain.compile(net.tls.exclude)
  for _, rule in ipairs(one.hosts or {}) do
    local by = excluded and excluded(probe(rule), rule.port or 0)
    if by then
      linter:warn(one.origin, ("%s never goes to %s: network.tlsTerminate.excludeDomains %q leaves that unread")
        :format(what, rule.text, by.text))
    elseif #profile.callbacks.decideConnect == 0 and not among(net.allowed, rule) then
      linter:warn(one.origin, ("%s never goes to %s: network.allowedDomains does not allow it"):format(what, rule.text))
    end
  end
end

local function values(linter, profile)
  local net, found = profile.network, profile.credentials
  local function look(one, what, plain, name)
    if net.tls or plain then return hosts(linter, profile, one, what) end
    linter:warn(one.origin, ("%s goes nowhere: that takes network.tlsTerminate = {}, or %s = true over plain HTTP")
      :format(what, name))
  end
  for _, one in ipairs(found.secrets) do
    look(one, "the secret " .. one.name, net.allowPlaintextHeaderSet, "network.allowPlaintextHeaderSet")
  end
  for _, list in ipairs({ net.enabled and found.variables or {}, net.enabled and found.files or {} }) do
    for _, one in ipairs(list) do
      if one.mode == "mask" then
        look(one, "the value of " .. (one.name or one.given), found.plaintext, "credentials.allowPlaintextInject")
      end
    end
  end
end

-- For check alone: a run says so itself, or has nothing to mask.
local function variables(linter, found, env)
  for _, one in ipairs(found.secrets) do
    if one.env and not env[one.env] then
      linter:note(one.origin, ("the variable %s is not set here; a run does not start without it"):format(one.env))
    end
  end
  for _, one in ipairs(found.variables) do
    if one.mode == "mask" and (env[one.name] or "") == "" then
      linter:note(one.origin, ("the variable %s is not set here, so there is nothing to mask"):format(one.name))
    end
  end
end

-- Who does not ask the proxy is not read; clients that do are.
local function listeners(linter, profile)
  local net, calls, told = profile.network, profile.callbacks, {}
  if net.refuseOpaqueTunnels or not (net.tls or #calls.filterRequest + #calls.filterResponse > 0) then return end
  for _, point in ipairs(require("srt.loopback").points(profile)) do
    if not told[point.origin] then
      told[point.origin] = true
      linter:note(point.origin, ("a program that connects to port %d inside and not to the proxy is not read: no "
        .. "filter sees it, no secret goes there; without the port, or with refuseOpaqueTunnels, only the proxy "
        .. "leads there"):format(point.port))
    end
  end
end

local function excluded(linter, profile)
  local net = profile.network
  for _, rule in ipairs(net.tls.exclude) do
    if net.refuseOpaqueTunnels then
      linter:warn(rule.origin, ("%q can't be reached by TLS: its tunnels stay unread, and network.refuseOpaqueTunnels "
        .. "refuses such"):format(rule.text))
    elseif #profile.callbacks.decideConnect == 0 and not among(net.allowed, rule) then
      linter:note(rule.origin, ("%q changes nothing: network.allowedDomains does not allow it"):format(rule.text))
    end
  end
end

---Warns of what termination does not read.
---@param linter table with :warn(origin, message) and :note(origin, message)
---@param profile table
function tls_lint.unread(linter, profile)
  local net = profile.network
  if net.tls and not net.enabled then linter:warn(net.tls.origin, "it does nothing: no network is allowed") end
  if net.tls then excluded(linter, profile) end
  listeners(linter, profile)
end

---Warns of values that never get to where they are for.
---@param linter table with :warn(origin, message) and :note(origin, message)
---@param profile table
---@param env table<string, string> of srt-lua
function tls_lint.values(linter, profile, env)
  values(linter, profile)
  variables(linter, profile.credentials, env)
end

return tls_lint
