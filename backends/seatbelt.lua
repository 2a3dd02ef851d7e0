-- SPDX-License-Identifier: Apache-2.0
-- Profile → SBPL for macOS's sandbox-exec: the last rule that matches decides, and what none matches is denied.
--
-- The points of the decisions (srt.decide_path) come parents first, so the last one that matches is the deepest, as
-- there. Rules of a narrower operation than the others' come behind all of these, so that it makes no difference
-- whether a system takes the last rule in the text or the narrowest operation.
local base = require "backends.seatbelt_base"
local names = require "backends.seatbelt_names"
local paths = require "srt.paths"
local sbpl = require "backends.sbpl"

local seatbelt = {}

local PROXY_PORT, SOCKS_PORT = 3128, 1080

-- What reading and writing are. Running a program and linking to a file give as much as these.
local READ = "file-read* file-map-executable file-clone process-exec*"
local WRITE = "file-write* file-link"

--- Why nothing is run.
seatbelt.ELSEWHERE = "backend = \"seatbelt\": sandbox-exec is a part of macOS; nothing was run. "
  .. "srt-lua compile --backend seatbelt prints the profile"

--- What a path is called there.
---@param path string
---@return string
function seatbelt.real(path)
  local top, rest = path:match("^(/[^/]+)(.*)$")
  return base.LINKS[top] and base.LINKS[top] .. rest or path
end

local real = seatbelt.real
local Text = {}
Text.__index = Text

function Text:say(line) self.lines[#self.lines + 1] = line end

function Text:section(title) self:say("\n; " .. title) end

function Text:allow(operations, ...) self:say(sbpl.allow(operations, ...)) end

function Text:deny(operations, ...) self:say(sbpl.deny(self.tag, operations, ...)) end

--- Allows or denies.
function Text:rule(allowed, operations, ...)
  self[allowed and "allow" or "deny"](self, operations, ...)
end

-- A masked credential has another content on Linux, which can't be had here: it is hidden.
local function hidden(rules, path)
  local masked = rules.masked[path]
  return masked and masked.entry.credential and true or false
end

local function state_of(rules, path)
  local read, write = rules:holds(path)
  if hidden(rules, path) then return false, false end
  return read, write
end

-- All points by what they are called there, parents first.
local function points_of(rules)
  local more, by = {}, {}
  for path in pairs(rules.masked) do
    if hidden(rules, path) then more[path] = true end
  end
  local renamed = {}
  for _, path in ipairs(rules:points(more)) do
    by[real(path)] = path
    renamed[#renamed + 1] = real(path)
  end
  local list = require("srt.c.sys").treesort(renamed)
  for i, path in ipairs(list) do
    local read, write = state_of(rules, by[path])
    list[i] = { path = path, from = by[path], read = read, write = write }
  end
  return list
end

-- Says what holds from a point on, where that is not what holds above.
local function emit_point(text, point, above)
  local filter = sbpl.filter("subpath", point.path)
  if point.read ~= above.read then text:rule(point.read, READ, filter) end
  if point.write ~= above.write then text:rule(point.write, WRITE, filter) end
end

local UNKNOWN = {}

-- Behind a pattern of allowWrite all points say whether they may be written: it may match above or below them.
local function emit_points(text, points, all)
  local depth, stack = 0, {}
  for _, point in ipairs(points) do
    while depth > 0 and not paths.below(point.path, stack[depth].path) do depth = depth - 1 end
    local above = stack[depth] or { read = true, write = false }
    emit_point(text, point, all and { read = above.read } or above)
    depth = depth + 1
    stack[depth] = point
  end
end

-- What a pattern of denyRead matches stays denied but for what the policy opens again in it.
local function emit_patterns(text, patterns, points)
  if patterns.read[1] then text:deny(READ .. " " .. WRITE, sbpl.filters("regex", patterns.read)) end
  for _, point in ipairs(patterns.read[1] and points or {}) do
    if patterns.covers(point.from) then emit_point(text, point, UNKNOWN) end
  end
  if patterns.write[1] then text:deny(WRITE, sbpl.filters("regex", patterns.write)) end
  if patterns.anywhere[1] then
    -- Where packages hold such names by the thousand they are left alone.
    text:deny(WRITE, ("(require-all (require-any %s) (require-not (require-any %s)))"):format(
      sbpl.filters("regex", patterns.anywhere), sbpl.filters("regex", patterns.skip)))
  end
end

-- Folders above something denied stay where they are, or it would be found under another name.
local function emit_pins(text, rules, later)
  local pins = require("backends.namespaces").pins(rules, rules:points(later))
  local list = {}
  for path in pairs(pins) do list[#list + 1] = real(path) end
  table.sort(list)
  for _, path in ipairs(list) do text:deny("file-write-unlink", sbpl.filter("literal", path)) end
end

-- Where the way to something readable leads through what is not, its folders and links can be looked at, not listed.
local function emit_ways(text, points, rules)
  local ways = {}
  for _, point in ipairs(points) do
    local at = point.from
    while point.read and at ~= "/" do
      at = paths.parent(at)
      if not state_of(rules, at) then
        ways[real(at)] = true
        ways[paths.parent(real(at))] = true
      end
    end
  end
  for link in pairs(rules.links) do
    if not state_of(rules, paths.parent(link)) then ways[real(link)] = true end
  end
  local list = require("srt.tables").keys(ways)
  if list[1] then text:allow("file-read-metadata", sbpl.filters("literal", list)) end
end

local function files(text, profile, rules)
  local points = points_of(rules)
  local patterns = names.of(profile, rules, real)
  text:section("Files: everything may be read and nothing written, but for what follows")
  text:allow(READ)
  if patterns.allow[1] then text:allow(WRITE, sbpl.filters("regex", patterns.allow)) end
  emit_points(text, points, patterns.allow[1] ~= nil)
  text:section("Files: patterns and protected names, for what is made later as well")
  emit_patterns(text, patterns, points)
  text:section("Files: devices, and the folder for temporary files")
  text:deny(WRITE, sbpl.filter("subpath", "/dev"))
  text:allow("file-read* file-ioctl", sbpl.filters("literal", base.DEVICES), sbpl.filter("subpath", "/dev/fd"))
  if rules.tempDir then text:allow(READ .. " " .. WRITE, sbpl.filter("subpath", real(rules.tempDir))) end
  text:allow("file-write-data", sbpl.filters("literal", base.DEVICES), sbpl.filter("subpath", "/dev/fd"))
  text:section("Files: names that stay, and ways to what may be read")
  emit_pins(text, rules, patterns.later)
  emit_ways(text, points, rules)
end

local function sockets(text, profile, rules)
  if profile.unix.all then
    text:allow("system-socket", "(socket-domain AF_UNIX)")
    text:allow("network-bind", "(local unix-socket)")
    return text:allow("network-outbound", "(remote unix-socket)")
  end
  if not rules.sockets then return end
  text:allow("system-socket", "(socket-domain AF_UNIX)")
  local function remote(filter) return "(remote unix-socket " .. filter .. ")" end
  for _, glob in ipairs(rules.sockets.globs) do
    text:allow("network-outbound", remote(sbpl.filter("path-regex", "^" .. sbpl.plain(real(glob.top))
      .. sbpl.glob(glob.pattern, false) .. "$")))
  end
  -- Where a command can put sockets itself, or can't look, a pattern opens none.
  for _, point in ipairs(rules.sockets.globs[1] and points_of(rules) or {}) do
    if point.write or not point.read then text:deny("network-outbound", remote(sbpl.filter("subpath", point.path))) end
  end
  for _, path in ipairs(require("srt.tables").keys(rules.sockets.paths)) do
    if state_of(rules, path) then text:allow("network-outbound", remote(sbpl.filter("path-literal", real(path)))) end
  end
end

-- Ports of the host's loopback that the policy names. "localhost" is both addresses here, so both have to be allowed.
local function loopback_ports(profile)
  local found, list = {}, {}
  for _, point in ipairs(profile.network.enabled and require("srt.loopback").points(profile) or {}) do
    if point.address == "127.0.0.1" or point.address == "::1" then
      local have = found[point.port] or {}
      found[point.port], have[point.address] = have, true
      if have["127.0.0.1"] and have["::1"] then list[#list + 1] = point.port end
    end
  end
  table.sort(list)
  return list
end

local function network(text, profile, listen)
  local function port(number) return sbpl.filter("remote tcp", "localhost:" .. number) end
  if profile.macos.localBinding then
    text:allow("network-bind network-inbound", sbpl.filter("local ip", "localhost:*"))
    text:allow("network-outbound", sbpl.filter("remote ip", "localhost:*"))
    for _, rule in ipairs(profile.network.denied) do
      local here = rule.kind == "all" or rule.kind == "exact" and require("srt.loopback").addresses(rule.host)
      if here then text:deny("network-outbound", sbpl.filter("remote ip", "localhost:" .. (rule.port or "*"))) end
    end
  end
  for _, number in ipairs(loopback_ports(profile)) do text:allow("network-outbound", port(number)) end
  for _, point in ipairs(listen) do text:allow("network-outbound", port(point.port)) end
end

--- What the policy asks for, and SBPL has no words for.
---@param profile table
---@return string[]
function seatbelt.not_held(profile)
  local network_, callbacks, list = profile.network, profile.callbacks or {}, {}
  local led = network_.transparent and network_.transparent.needed
  for _, row in ipairs {
    { #(callbacks.decideOpen or {}) > 0, "filesystem.decideOpen is not asked: what the lists deny stays denied" },
    { led, "network.transparent: programs that ignore proxies reach nothing" },
    { #(network_.publish or {}) > 0, "network.publishPorts: there is one network; use allowLocalBinding" },
    { network_.tls, "network.tlsTerminate: programs that no variable leads to its CA must be told to trust it" },
    { profile.nested, "allowNestedUserNamespaces: there are none" },
  } do
    if row[1] then list[#list + 1] = row[2] end
  end
  return list
end

--- Of a plan.
---@param plan table
---@return string[]
function seatbelt.lacks(plan) return plan.notHeld end

local function listen_of(profile, ports)
  if not profile.network.enabled then return {} end
  return { { address = "127.0.0.1", port = ports and ports.http or PROXY_PORT, purpose = "http" },
    { address = "127.0.0.1", port = ports and ports.socks or SOCKS_PORT, purpose = "socks" } }
end

-- Files of ours, in the one folder of the run that is its own: nobody writes there but us.
local function files_of(ctx)
  return ctx.bundles and table.move(ctx.bundles, 1, #ctx.bundles, 1, { folder = ctx.tempDir .. "/.srt-lua" }) or nil
end

--- Compiles a profile. Mechanical: every question is asked of rules.
---@param profile table from srt.profile
---@param rules table from srt.decide_path
---@param ctx {env: table, tag: string, token: string?, ports: {http: integer, socks: integer}?, tempDir: string?,
--- bundles: table[]?, binary: (fun(): string?)?} bundles: of srt.trust, which go to a folder in tempDir; binary: this
--- program
--- tag: what the system's log shows of each denial of this run (srt.seatbelt_log); token: what the proxy asks for,
--- since all users of the host reach its ports; ports: that it listens on
---@return table plan {backend, text, tag, listen, login, env, argv = what the command goes behind}
function seatbelt.compile(profile, rules, ctx)
  local text = setmetatable({ lines = {}, tag = ctx.tag }, Text)
  local plan = { backend = "seatbelt", tag = ctx.tag, listen = listen_of(profile, ctx.ports),
    notHeld = seatbelt.not_held(profile), files = files_of(ctx) }
  text:say("(version 1)")
  text:deny("default")
  for _, line in ipairs(plan.notHeld) do text:say("; not held here: " .. line) end
  base.system(text, profile)
  text:section("Network")
  sockets(text, profile, rules)
  network(text, profile, plan.listen)
  files(text, profile, rules)
  if profile.macos.pty then base.terminals(text) end
  if plan.files then
    text:section("Files of ours")
    text:deny(WRITE, sbpl.filter("subpath", real(plan.files.folder)))
  end
  local user = require("srt.environment").USER
  plan.login = ctx.token and { user = user, password = ctx.token,
    authorization = require("srt.proxy_url").basic({ user = user, password = ctx.token }) } or nil
  plan.text = table.concat(text.lines, "\n") .. "\n"
  plan.argv = { "/usr/bin/sandbox-exec", "-p", plan.text }
  plan.env = require("srt.environment").of(profile, { env = ctx.env, tempDir = ctx.tempDir, token = ctx.token,
    fenced = true, near = profile.macos.localBinding, files = plan.files and plan.files.folder,
    binary = ctx.binary and ctx.binary() },
    plan.listen)
  return plan
end

return seatbelt
