-- SPDX-License-Identifier: Apache-2.0
-- Profile → plan for Linux namespaces: mounts, ids, Landlock, seccomp, environment.
local decide = require "srt.decide_path"
local filter_key = require "backends.filter_key"
local paths = require "srt.paths"

local namespaces = {}

local PROXY_PORT, SOCKS_PORT = 3128, 1080
local FILE_MODE = tonumber("444", 8)

--- Where a plan's own files are inside (PLAN_FILES in core/plan.h).
namespaces.FILES = "/dev/srt-lua"

-- A path that is denied but leads to allowed ones: an unlistable directory with
-- a slot for each of them, and the links that the allowed ones were named by.
local function slots(points, index, rules, path)
  local list = {}
  local prefix = path == "/" and 1 or #path + 1
  local i = index + 1
  while points[i] and paths.below(points[i], path) do
    local point = points[i]
    i = i + 1
    if rules:at(point).read then
      list[#list + 1] = { path = point:sub(prefix + 1), directory = rules.types[point] == "dir" }
      while points[i] and paths.below(points[i], point) do i = i + 1 end
    end
  end
  for link, target in pairs(rules.links) do
    if link ~= path and paths.below(link, path) and not rules:at(paths.parent(link)).read then
      list[#list + 1] = { path = link:sub(prefix + 1), link = target }
    end
  end
  table.sort(list, function(a, b) return a.path < b.path end)
  return list
end

local function own_slots(list)
  for _, name in ipairs { "dev", "proc" } do
    list[#list + 1] = { path = name, directory = true }
  end
  return list
end

-- There may be thousands of files: what is brief is a string for each, its path.
local function cover(mounts, points, index, rules, path, brief)
  if rules.types[path] ~= "dir" then
    mounts[#mounts + 1] = brief and path or { op = "mask", target = path }
    return
  end
  local list = slots(points, index, rules, path)
  if path == "/" then own_slots(list) end
  mounts[#mounts + 1] = { op = #list > 0 and "scaffold" or "mask", target = path, directory = true,
    slots = #list > 0 and list or nil }
end

local function content(path, masked)
  return { op = "content", target = path, content = masked.entry.content or "", mode = masked.mode, uid = masked.uid,
    gid = masked.gid }
end

-- The folders between a protected path and the top of the writable region that
-- holds it: one that could be renamed would take the protection with it. Each is
-- mounted over itself, and a mount point can't be renamed.
local function pins_of(rules, points)
  local pins, still = {}, {}
  for path in pairs(rules.pinned) do pins[path] = true end
  -- Then there is no such region but the temporary directory, which has nothing beneath it.
  if not next(rules.allowWrite) then return pins end
  for _, path in ipairs(points) do
    local above = paths.parent(path)
    -- Of thousands in one folder the first one settles it.
    if not still[above] and path ~= "/"
      and (path == rules.tempDir or rules.pinned[path] or not select(2, rules:holds(path))) then
      while not pins[above] and not decide.own(above) and select(2, rules:holds(above)) do
        pins[above] = true
        rules.types[above] = "dir"
        above = paths.parent(above)
      end
      still[above] = true
    end
  end
  return pins
end

namespaces.pins = pins_of

-- Walks the points, parents first, and mounts where the state changes. Stacks
-- hold what is mounted above the point at hand.
local function mounts_of(rules, plan, brief)
  local mounts, writable = {}, {}
  local points = rules:points()
  local pins = pins_of(rules, points)
  if next(pins) then points = rules:points(pins) end
  local root_read, root_write = rules:holds("/")
  local depth, tops, reads, writes = 1, { "/" }, { true }, { false }
  plan.rootReadOnly = true
  if rules.tempDir then rules.types[rules.tempDir] = "dir" end
  if points[1] == "/" then
    rules.types["/"] = "dir"
    if not root_read then
      cover(mounts, points, 1, rules, "/")
    elseif root_write then
      plan.rootReadOnly = false
      writable[1] = "/"
    end
    reads[1], writes[1] = root_read, root_write
  end
  for index, path in ipairs(points) do
    while not paths.below(path, tops[depth]) do depth = depth - 1 end
    local read, write = rules:holds(path)
    local changes = read ~= reads[depth] or write ~= writes[depth]
    local masked = read and rules.masked[path]
    -- Pinned even where nothing changes, so that nobody inside moves it; where it can't be seen, nobody can.
    if path ~= "/" and (changes or masked or pins[path] and reads[depth] or path == rules.tempDir) then
      if not read then
        cover(mounts, points, index, rules, path, brief)
      elseif masked then
        mounts[#mounts + 1] = content(path, masked)
      else
        mounts[#mounts + 1] = { op = "bind", source = path, target = path, readOnly = not write,
          directory = rules.types[path] == "dir" }
        if write and not writes[depth] then writable[#writable + 1] = path end
      end
      local kind = rules.types[path]
      if kind == "dir" or not kind then -- beneath anything else there is nothing
        depth = depth + 1
        tops[depth], reads[depth], writes[depth] = path, read, write
      end
    end
  end
  plan.mounts, plan.writable = mounts, writable
end

-- A port for us that no destination of the policy has on loopback.
local function free_port(port, points)
  for _, point in ipairs(points) do
    if point.port == port then return free_port(port + 1, points) end
  end
  return port
end

-- Where PID 1 listens, in the order of the sandbox's listeners.
local function listen_of(profile)
  if not profile.network.enabled then return {} end
  local points, too_many = require("srt.loopback").points(profile)
  if too_many then
    return nil, ("network.allowedDomains names too many ports of the host's loopback, from %q on: there is room for %d")
      :format(too_many.text, require("srt.loopback").MOST)
  end
  local http = { address = "127.0.0.1", port = free_port(PROXY_PORT, points), purpose = "http" }
  local taken = table.move(points, 1, #points, 2, { http })
  local listen = { http, { address = "127.0.0.1", port = free_port(SOCKS_PORT, taken), purpose = "socks" } }
  for _, point in ipairs(points) do
    listen[#listen + 1] = { address = point.address, port = point.port, purpose = "loopback", host = point.host }
  end
  return listen
end

namespaces.listen = listen_of

---How a plan redirects, before there are decisions on paths.
---@param profile table
---@param listen table[]|nil of namespaces.listen, where it is known already
---@return table|nil redirect of the plan
function namespaces.redirect(profile, listen)
  local how, transparent = profile.network.transparent, require "srt.transparent"
  listen = how and (listen or listen_of(profile))
  return listen and transparent.redirect(how, free_port(transparent.PORT, listen)) or nil
end

-- What is made inside for the network.
local function network_of(profile, rules, plan)
  local message
  plan.listen, message = listen_of(profile)
  if not plan.listen then return message end
  plan.redirect = namespaces.redirect(profile, plan.listen)
  if plan.redirect then require("srt.transparent").extend(plan, rules) end
  -- By it the host process asks whose connection it is (srt.c.process).
  if plan.listen[1] then
    plan.listen[#plan.listen + 1] = { address = "", port = 0, purpose = "owners", owners = true }
  end
end

-- Where this program can be read inside, its path is told as well.
function namespaces.environment(profile, rules, ctx, plan)
  local binary = ctx.binary and ctx.binary()
  binary = binary and rules:holds(binary) and binary or nil
  return require("srt.environment").of(profile, { env = ctx.env, tempDir = plan.tempDir, binary = binary,
    files = plan.filesIn },
    plan.listen)
end

-- What the agent is told of: a program that is built in, or rules.
local function tell(out, options, ready)
  out.notifyFilter = filter_key.ready(filter_key.notified(options), ready)
  if not out.notifyFilter then out.notify = require("backends.seccomp").notified(options) end
end

--- Compiles a profile to a plan. Mechanical: every question is asked of rules.
---@param profile table from srt.profile
---@param rules table from srt.decide_path
---@param ctx {cwd: string, env: table, tempDir: string?, features: table, identity: table, keepFds: integer[]?,
--- brief: boolean? masks of files as strings, binary: (fun(): string?)? this program,
--- early: {network: fun(plan: table), build: fun(plan: table): string?}? told as soon as parts of the plan are there,
--- as srt.c.sandbox wants them; a message ends it all, waits: boolean? of the plan,
--- ready: (fun(key: string): boolean)? is a seccomp program built in?,
--- files: {name: string, content: string}[]? ours, at namespaces.FILES .. "/" .. name}
---@return table? plan
---@return string? reason
---@return table? options of the command's filter (backends.seccomp)
function namespaces.compile(profile, rules, ctx)
  local plan = { backend = "namespaces", cwd = ctx.cwd, tempDir = rules.tempDir, keepFds = ctx.keepFds or {} }
  for name, value in pairs(ctx.identity) do plan[name] = value end
  if profile.nested and plan.closeProc then
    return nil, "allowNestedUserNamespaces can't be held for root: parts of /proc must be read-only for uid 0, and "
      .. "the kernel then refuses a nested /proc; run as an ordinary user, or leave it out"
  end
  local guard = rules.guard and true or false
  if profile.nested and guard then
    return nil, "filesystem.createGuard = \"supervisor\" can't be held with allowNestedUserNamespaces: in a namespace "
      .. "of its own a command can give a folder another path; leave out one of them"
  end
  local sockets = rules.sockets and not profile.unix.all or false
  if profile.nested and sockets then
    return nil, "network.allowUnixSockets can't be held with allowNestedUserNamespaces: in a namespace of its own a "
      .. "command can give a socket another path; leave out one of them"
  end
  local watch, unwatched = require("srt.watching").of(profile)
  plan.watch = watch
  if unwatched then return nil, unwatched end
  local message = network_of(profile, rules, plan)
  if message then return nil, message end
  local early = ctx.early
  if early then early.network(plan) end
  mounts_of(rules, plan, ctx.brief)
  plan.files = {}
  for i, file in ipairs(ctx.files or {}) do
    plan.files[i] = { name = file.name, content = file.content, mode = FILE_MODE }
  end
  plan.placeholders = {}
  for path in pairs(rules.placeholders) do plan.placeholders[#plan.placeholders + 1] = path end
  table.sort(plan.placeholders)
  plan.writable[#plan.writable + 1] = "/dev"
  plan.writable[#plan.writable + 1] = "/proc"
  -- Landlock before ABI 2 breaks renames, and under it nothing can be mounted.
  plan.landlock = ctx.features.landlock >= 2 and not profile.nested
  plan.scopeSignals = ctx.features.landlock >= 6
  local options = { unix = profile.unix.all, nested = profile.nested, root = plan.closeProc,
    groupSignals = plan.scopeSignals, guard = guard, sockets = sockets, observe = watch and watch.tells or false,
    learns = watch and watch.learns or nil }
  plan.filter = filter_key.ready(filter_key.of(options), ctx.ready)
  if not plan.filter then plan.seccomp = require("backends.seccomp").rules(options) end
  plan.guard = guard and require("srt.create_guard").table(rules.guard) or nil
  plan.sockets = sockets and require("srt.unix_sockets").table(rules.sockets) or nil
  plan.allSockets = profile.unix.all
  if guard or sockets or watch then
    -- For learning nothing that writes may be left out, and registers don't tell all of it.
    options.reads = watch and (watch.reads or watch.learns)
    options.lead = watch and watch.connects or nil
    options.exclusive = watch and watch.tells and not profile.filesystem.allowWrite[1] or nil
    tell(plan, options, ctx.ready)
  end
  -- For a kernel without nf_tables, which shows only inside.
  if plan.redirect then
    options.lead = true
    tell(plan.redirect, options, ctx.ready)
  end
  plan.waits = ctx.waits
  message = early and early.build(plan)
  if message then return nil, message end
  plan.env = namespaces.environment(profile, rules, ctx, plan)
  return plan, nil, options
end

return namespaces
