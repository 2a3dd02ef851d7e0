-- SPDX-License-Identifier: Apache-2.0
-- Points out what a valid policy probably does not mean: rules without effect, entries that can't take effect.

local domain = require("srt.domain")

local lint = {}

---Calls visit for a path and each of its parents, nearest first, until visit answers.
local function upwards(path, visit)
  while true do
    local hit = visit(path)
    if hit or path == "/" then
      return hit
    end
    path = path:match("^(.+)/[^/]*$") or "/"
  end
end

local function index(entries)
  local map = {}
  for _, entry in ipairs(entries) do
    if not map[entry.path] then
      map[entry.path] = entry
    end
  end
  return map
end

local function covering(map, path)
  return upwards(path, function(p) return map[p] end)
end

local function duplicates(self, entries, text_of)
  if not self.full then return end
  local seen = {}
  for _, entry in ipairs(entries) do
    local text = text_of(entry)
    -- Ready-made policies list what they need, whatever goes with them.
    if seen[text] and not (entry.builtin or entry.glob or entry.origin.preset) then
      self:note(entry.origin, ("%q is listed twice"):format(entry.given or entry.text))
    end
    seen[text] = true
  end
end

local function paths(self, fs)
  local allow_read, deny_write = index(fs.allowRead), index(fs.denyWrite)
  for _, entry in ipairs(fs.allowWrite) do
    local deny = covering(deny_write, entry.path)
    if deny and not entry.glob then
      self:warn(entry.origin, ("%q has no effect: denyWrite %q covers it, and a denial wins"):format(entry.given,
        deny.given))
    end
  end
  for _, entry in ipairs(fs.denyRead) do
    if allow_read[entry.path] and not entry.glob then
      self:warn(entry.origin, ("%q has no effect: allowRead lists the same path, and allowRead wins")
        :format(entry.given))
    end
  end
  if not self.full then return end
  local allow_write, deny_read = index(fs.allowWrite), index(fs.denyRead)
  for _, entry in ipairs(fs.denyWrite) do
    if not entry.builtin and not entry.glob and not covering(allow_write, entry.path) then
      self:note(entry.origin, ("%q changes nothing: no allowWrite entry covers it"):format(entry.given))
    end
  end
  for _, entry in ipairs(fs.allowRead) do
    if not entry.glob and not covering(deny_read, entry.path) then
      self:note(entry.origin, ("%q changes nothing: no denyRead entry covers it"):format(entry.given))
    end
  end
  for _, name in ipairs({ "denyRead", "allowRead", "allowWrite", "denyWrite" }) do
    duplicates(self, fs[name], function(entry) return entry.path end)
  end
end

---Does a deny rule take all that an allow rule gives?
local function swallowed(denied, rule)
  local probe = rule.kind == "wildcard" and "*." .. rule.host or rule.host
  -- A wildcard is swallowed by the same wildcard or a wider one: a name below it meets the same suffixes.
  return denied(probe, rule.port or 0)
end

local function allows(self, net)
  local denied = domain.compile(net.denied)
  for _, rule in ipairs(net.allowed) do
    local by = swallowed(denied, rule)
    if by and by.kind == "all" then
      self:warn(rule.origin, ("%q can never be reached: deniedDomains %q denies everything, and a denial wins; without "
        .. "it, what is not allowed is denied anyway"):format(rule.text, by.text))
    elseif by then
      self:warn(rule.origin, ("%q can never be reached: deniedDomains %q covers it, and a denial wins")
        :format(rule.text, by.text))
    end
  end
end

local function reasons(self, net, values)
  local map = values["network.deniedDomainReasons"]
  if not map or not next(map.map) then
    return
  end
  local known, names = {}, {}
  for _, rule in ipairs(net.denied) do
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

---Loopback without a port is reached by the proxy alone.
local function loopback(self, net)
  for _, rule in ipairs(net.allowed) do
    if rule.kind == "exact" and not rule.port and require("srt.loopback").addresses(rule.host) then
      self:note(rule.origin, ("%q is the host's by the proxy, and so no server inside for the proxy's clients; with a "
        .. "port, as in \"localhost:5432\", it is there inside for all programs"):format(rule.text))
    end
  end
end

-- A listener inside leads there without the proxy.
local function past_proxy(profile)
  local point = require("srt.loopback").points(profile)[1]
  if not point then return "" end
  return ("; and nothing of what a program sends to %s without the proxy"):format((require("srt.loopback").text(point)))
end

local function network(self, profile, values)
  local net = profile.network
  if #net.denied > 0 then
    allows(self, net)
  end
  reasons(self, net, values)
  loopback(self, net)
  require("srt.ways").lint(self, net, values)
  duplicates(self, net.allowed, function(rule) return rule.text:lower() end)
  duplicates(self, net.denied, function(rule) return rule.text:lower() end)
  if net.strict and #profile.callbacks.decideConnect > 0 then
    self:warn(values["network.decideConnect"].origin, "it is never asked: network.strictAllowlist is set")
  end
  for _, name in ipairs({ "filterRequest", "filterResponse" }) do
    local origin = #profile.callbacks[name] > 0 and values["network." .. name].origin
    if origin and not net.enabled then
      self:warn(origin, "it is never asked: no network is allowed")
    elseif origin and not net.refuseOpaqueTunnels and not net.tls then
      self:warn(origin, "it sees plain HTTP only: HTTPS passes as a tunnel to what the lists allow; "
        .. "network.tlsTerminate = {} shows it HTTPS too, network.refuseOpaqueTunnels = true refuses such tunnels"
        .. past_proxy(profile))
    end
  end
end

---Keys that are accepted and do nothing here.
local function without_effect(self, policy)
  for key, v in pairs(policy.values) do
    if v.node.warn and v.value == true then
      self:warn(v.origin, v.node.warn, key)
    end
  end
  for _, item in ipairs(policy.named) do
    self:note(item.origin, item.message, item.key)
  end
end

local SHADOW = { ["/etc/shadow"] = true, ["/etc"] = true, ["/"] = true }

---Root reads what its files' modes keep from others.
local function root(self, fs, ctx)
  local uid = ctx.uid or (require("srt.c.sys").ids and require("srt.c.sys").ids())
  if uid ~= 0 then return end
  for _, entry in ipairs(fs.denyRead) do
    if SHADOW[entry.path] then return end
  end
  self.notes[#self.notes + 1] = "run as root: /etc/shadow and other root-only files stay readable; extend the "
    .. "\"no-system-secrets\" policy to hide them"
end

local Linter = {}
Linter.__index = Linter

local function text(origin, message, key)
  local where = origin.line and ("%s:%d: "):format(origin.file, origin.line) or ""
  return ("%s%s: %s"):format(where, key or origin.key, message)
end

function Linter:warn(origin, message, key)
  self.warnings[#self.warnings + 1] = text(origin, message, key)
end

function Linter:note(origin, message, key)
  if self.full then
    self.notes[#self.notes + 1] = text(origin, message, key)
  end
end

---Lints a resolved profile. Notes are complete only when ctx.lint is set; warnings always are.
---@param profile table
---@param policy table
---@param ctx table
---@param more table[] warnings found before: {origin=, message=}
---@param notes table[] and notes
---@return string[] warnings
---@return string[] notes
function lint.run(profile, policy, ctx, more, notes)
  local self = setmetatable({ warnings = {}, notes = {}, full = ctx.lint }, Linter)
  for _, list in ipairs({ policy.warnings, more }) do
    for _, item in ipairs(list) do
      self:warn(item.origin, item.message, item.key)
    end
  end
  for _, item in ipairs(notes) do
    self:note(item.origin, item.message)
  end
  paths(self, profile.filesystem)
  network(self, profile, policy.values)
  require("srt.tls_lint").run(self, profile, ctx.env or {})
  if profile.unix.allowed[1] then require("srt.unix_sockets").lint(self, profile.unix, ctx.env or {}) end
  without_effect(self, policy)
  root(self, profile.filesystem, ctx)
  table.sort(self.warnings)
  table.sort(self.notes)
  return self.warnings, self.notes
end

return lint
