-- SPDX-License-Identifier: Apache-2.0
-- Lints that speak at every run: entries that have no effect, and what takes effect elsewhere.
local domain = require "srt.domain"
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local covering, index, covered = paths.covering, paths.index, domain.covers

local function write_denied(self, profile)
  local deny_write = index(profile.filesystem.denyWrite)
  for _, entry in ipairs(profile.filesystem.allowWrite) do
    local deny = covering(deny_write, entry.path)
    if deny and not entry.glob then
      self:warn(entry.origin, ("%q has no effect: denyWrite %q covers it, and a denial wins"):format(entry.given,
        deny.given))
    end
  end
end

local function hide_undone(self, profile)
  local allow_read = index(profile.filesystem.allowRead)
  for _, entry in ipairs(profile.filesystem.denyRead) do
    if allow_read[entry.path] and not entry.glob then
      self:warn(entry.origin, ("%q has no effect: allowRead lists the same path, and allowRead wins")
        :format(entry.given))
    end
  end
end

local SHADOW = { "/etc/shadow", "/etc", "/" }

-- Root reads what its files' modes keep from others.
local function system_secrets(self, profile, _, ctx)
  local uid = ctx.uid or (sys.ids and sys.ids())
  if uid ~= 0 then return end
  local hidden = index(profile.filesystem.denyRead)
  for _, path in ipairs(SHADOW) do
    if hidden[path] then return end
  end
  self:remark("run as root: /etc/shadow and other root-only files stay readable; extend the "
    .. "\"no-system-secrets\" policy to hide them")
end

local function allow_denied(self, profile)
  local net = profile.network
  local denied = domain.compile(net.denied)
  for _, rule in ipairs(net.allowed) do
    local by = covered(denied, rule)
    if by and by.kind == "all" then
      self:warn(rule.origin, ("%q can never be reached: deniedDomains %q denies everything, and a denial wins; without "
        .. "it, what is not allowed is denied anyway"):format(rule.text, by.text))
    elseif by then
      self:warn(rule.origin, ("%q can never be reached: deniedDomains %q covers it, and a denial wins")
        :format(rule.text, by.text))
    end
  end
end

local function unknown_reason(self, profile, policy)
  local map = policy.values["network.deniedDomainReasons"]
  if not map then return end
  local known, names = {}, {}
  for _, rule in ipairs(profile.network.denied) do
    known[rule.text], names[#names + 1] = true, rule.text
  end
  for text, entry in pairs(map.map) do
    if not known[text] then
      local near = require("srt.suggest").nearest(text, names)
      self:warn(entry.origin, ("no deniedDomains entry is spelled %q%s"):format(text,
        near and ("; did you mean %q?"):format(near) or ""))
    end
  end
end

local function ways(self, profile, policy) require("srt.ways").lint(self, profile.network, policy.values) end

local function secrets(self, profile, _, ctx)
  if profile.credentials.active then require("srt.tls_lint").values(self, profile, ctx.env or {}) end
end

local function unread(self, profile)
  local chains = profile.callbacks
  if profile.network.tls or #chains.filterRequest + #chains.filterResponse > 0 then
    require("srt.tls_lint").unread(self, profile)
  end
end

local function sockets(self, profile, _, ctx)
  if profile.unix.allowed[1] then require("srt.unix_sockets").lint(self, profile.unix, ctx.env or {}) end
end

-- A listener inside leads there without the proxy.
local function past_proxy(profile)
  local point = require("srt.loopback").points(profile)[1]
  if not point then return "" end
  local where = require("srt.loopback").text(point)
  return ("; nor does it see what a program sends to %s without the proxy"):format(where)
end

local function never_asked(self, profile, policy)
  local net, chains, values = profile.network, profile.callbacks, policy.values
  if net.strict and #chains.decideConnect > 0 then
    self:warn(values["network.decideConnect"].origin, "it is never asked: network.strictAllowlist is set")
  end
  if profile.filesystem.disabled and #chains.decideOpen > 0 then
    self:warn(values["filesystem.decideOpen"].origin, "it is never asked: filesystem.disabled is set")
  end
  for _, name in ipairs { "filterRequest", "filterResponse" } do
    if #chains[name] > 0 and not net.enabled then
      self:warn(values["network." .. name].origin, "it is never asked: no network is allowed")
    end
  end
end

local function plain_only(self, profile, policy)
  local net = profile.network
  for _, name in ipairs { "filterRequest", "filterResponse" } do
    if #profile.callbacks[name] > 0 and net.enabled and not net.refuseOpaqueTunnels and not net.tls then
      self:warn(policy.values["network." .. name].origin, "it sees plain HTTP only: HTTPS passes as a tunnel to what "
        .. "the lists allow; network.tlsTerminate = {} shows it HTTPS too, network.refuseOpaqueTunnels = true refuses "
        .. "such tunnels" .. past_proxy(profile))
    end
  end
end

local function nested(self, profile, policy)
  local v, fs = policy.values.allowNestedUserNamespaces, profile.filesystem
  if v and profile.nested and #fs.denyWrite > 0 and #fs.allowWrite > 0 then
    self:warn(v.origin, "a command can take a denyWrite mount away inside a namespace of its own, so names inside "
      .. "allowWrite can be replaced there")
  end
end

return {
  { id = "write-denied", severity = "warning", run = write_denied,
    doc = "An `allowWrite` entry lies in a `denyWrite` one. A denial wins, so it allows nothing: take one of the two "
      .. "out." },
  { id = "hide-undone", severity = "warning", run = hide_undone,
    doc = "`denyRead` and `allowRead` list the same path. `allowRead` wins, so nothing is hidden: take one of the two "
      .. "out." },
  { id = "system-secrets", severity = "note", run = system_secrets,
    doc = "Run as root, a command can read `/etc/shadow` and the like. Extend `no-system-secrets`." },
  { id = "allow-denied", severity = "warning", run = allow_denied,
    doc = "`deniedDomains` covers an entry of `allowedDomains`. A denial wins, so it is never reached: take one of the "
      .. "two out." },
  { id = "unknown-reason", severity = "warning", run = unknown_reason,
    doc = "`deniedDomainReasons` has a reason for what `deniedDomains` does not list in that spelling, so nobody is "
      .. "told it." },
  { id = "ways-out", severity = "warning", run = ways,
    doc = "A parent proxy, or a proxy of yours, decides or resolves what the policy's lists no longer do." },
  { id = "unread-secret", severity = "warning", run = secrets,
    doc = "A secret or masked value never reaches the hosts it is for. A note where its variable is not set." },
  { id = "unread-tls", severity = "warning", run = unread,
    doc = "Termination does not read what it is asked to, or there is no network to read. A note of programs that pass "
      .. "the proxy by." },
  { id = "powerful-socket", severity = "warning", run = sockets,
    doc = "`allowUnixSockets` names the socket of a container engine, an SSH or GPG agent, D-Bus, X11 or watchman: "
      .. "what its server does for the command it does outside of the sandbox." },
  { id = "never-asked", severity = "warning", run = never_asked,
    doc = "A callback can never be asked: `strictAllowlist`, `filesystem.disabled` or a policy without a network "
      .. "decides before it." },
  { id = "plain-http-only", severity = "warning", run = plain_only,
    doc = "A filter reads plain HTTP alone, while HTTPS passes it by. `tlsTerminate = {}` shows it HTTPS too, "
      .. "`refuseOpaqueTunnels = true` refuses what it can't read." },
  { id = "nested-namespaces", severity = "warning", run = nested,
    doc = "`allowNestedUserNamespaces` lets a command undo `denyWrite`. Take it out where no browser or container "
      .. "needs it." },
  { id = "pattern", severity = "note",
    doc = "What a pattern with `*`, `?` or `[` came to: it holds for what is there when the run starts, or some of "
      .. "that can't be read. Name paths where that is not enough." },
  { id = "as-found-here", severity = "note",
    doc = "What the files of this machine make of an entry: it does not exist, is reached through a link, has other "
      .. "names. A warning where it allows nothing or denies less." },
  { id = "without-effect", severity = "warning",
    doc = "A key that does nothing here, or `srt.remove` of what no policy has. A note where it is there for other "
      .. "programs. Take it out." },
  { id = "unknown-lint", severity = "note",
    doc = "A comment `-- lint: ok NAME` names no lint of this list." },
}
