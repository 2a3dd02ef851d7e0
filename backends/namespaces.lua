-- SPDX-License-Identifier: Apache-2.0
-- Profile → plan for Linux namespaces: mounts, ids, Landlock, seccomp, environment.
local seccomp = require "backends.seccomp"
local decide = require "srt.decide_path"
local paths = require "srt.paths"

local namespaces = {}

local PROXY_PORT, SOCKS_PORT = 3128, 1080
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

local function cover(mounts, points, index, rules, path)
  local list = rules.types[path] == "dir" and slots(points, index, rules, path) or {}
  if path == "/" then own_slots(list) end
  local step = { op = #list > 0 and "scaffold" or "mask", target = path, directory = rules.types[path] == "dir" }
  if #list > 0 then step.slots = list end
  mounts[#mounts + 1] = step
end

-- The folders between a protected path and the top of the writable region that
-- holds it: one that could be renamed would take the protection with it. Each is
-- mounted over itself, and a mount point can't be renamed.
local function pins_of(rules, points)
  local pins = {}
  for path in pairs(rules.pinned) do pins[path] = true end
  for _, path in ipairs(points) do
    local above = paths.parent(path)
    if path ~= "/" and (path == rules.tempDir or rules.pinned[path] or not rules:at(path).write) then
      while not pins[above] and not decide.own(above) and rules:at(above).write do
        pins[above] = true
        rules.types[above] = "dir"
        above = paths.parent(above)
      end
    end
  end
  return pins
end

-- Walks the points, parents first, and mounts where the state changes. A stack
-- holds what is mounted above the point at hand.
local function mounts_of(rules, plan)
  local mounts, writable = {}, {}
  local pins = pins_of(rules, rules:points())
  local points = rules:points(pins)
  local root = rules:at("/")
  local stack = { { path = "/", read = true, write = false } }
  plan.rootReadOnly = true
  if rules.tempDir then rules.types[rules.tempDir] = "dir" end
  if points[1] == "/" then
    rules.types["/"] = "dir"
    if not root.read then
      cover(mounts, points, 1, rules, "/")
    elseif root.write then
      plan.rootReadOnly = false
      writable[1] = "/"
    end
    stack[1] = { path = "/", read = root.read, write = root.write }
  end
  for index, path in ipairs(points) do
    while not paths.below(path, stack[#stack].path) do stack[#stack] = nil end
    local above, state = stack[#stack], rules:at(path)
    local changes = state.read ~= above.read or state.write ~= above.write
    -- Pinned even where nothing changes, so that nobody inside moves it.
    if path ~= "/" and (changes or pins[path] or path == rules.tempDir) then
      if not state.read then
        cover(mounts, points, index, rules, path)
      else
        mounts[#mounts + 1] = { op = "bind", source = path, target = path, readOnly = not state.write,
          directory = rules.types[path] == "dir" }
        if state.write and not above.write then writable[#writable + 1] = path end
      end
      stack[#stack + 1] = { path = path, read = state.read, write = state.write }
    end
  end
  plan.mounts, plan.writable = mounts, writable
end

local function proxy_environment(env, profile)
  local url = "http://127.0.0.1:" .. PROXY_PORT
  for _, name in ipairs { "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "GRPC_PROXY" } do
    env[name], env[name:lower()] = url, url
  end
  local direct = {}
  for _, host in ipairs { "localhost", "127.0.0.1", "::1" } do
    -- A destination that the policy names is the host's: by the proxy.
    if not profile.network.namesHost(host) then direct[#direct + 1] = host end
  end
  local list = table.concat(direct, ",")
  env.NO_PROXY, env.no_proxy = list, list
  env.NODE_USE_ENV_PROXY = "1"
end

local PROXY_NAMES = { "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "GRPC_PROXY", "FTP_PROXY", "NO_PROXY" }

-- The caller's environment, then what the sandbox needs, then the policy's.
local function environment(profile, ctx)
  local env, wanted = {}, profile.env
  local pass
  if wanted.pass then
    pass = {}
    for _, name in ipairs(wanted.pass) do pass[name] = true end
  end
  for name, value in pairs(ctx.env) do
    if not pass or pass[name] then env[name] = value end
  end
  -- The host's own proxy can't be reached from inside.
  for _, name in ipairs(PROXY_NAMES) do env[name], env[name:lower()] = nil, nil end
  env.SANDBOX_RUNTIME = "1"
  if ctx.tempDir then
    env.TMPDIR, env.TMPPREFIX = ctx.tempDir, ctx.tempDir .. "/zsh"
  end
  if profile.network.enabled then proxy_environment(env, profile) end
  for _, name in ipairs(wanted.unset or {}) do env[name] = nil end
  for name, value in pairs(wanted.set or {}) do env[name] = value end
  local list = {}
  for name, value in pairs(env) do list[#list + 1] = name .. "=" .. value end
  table.sort(list)
  return list
end

--- Compiles a profile to a plan. Mechanical: every question is asked of rules.
---@param profile table from srt.profile
---@param rules table from srt.decide_path
---@param ctx {cwd: string, env: table, tempDir: string?, features: table, identity: table, keepFds: integer[]?}
---@return table? plan
---@return string? reason
function namespaces.compile(profile, rules, ctx)
  local plan = { backend = "namespaces", cwd = ctx.cwd, tempDir = ctx.tempDir, keepFds = ctx.keepFds or {} }
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
  mounts_of(rules, plan)
  plan.placeholders = {}
  for path in pairs(rules.placeholders) do plan.placeholders[#plan.placeholders + 1] = path end
  table.sort(plan.placeholders)
  plan.writable[#plan.writable + 1] = "/dev"
  plan.writable[#plan.writable + 1] = "/proc"
  -- Landlock before ABI 2 breaks renames, and under it nothing can be mounted.
  plan.landlock = ctx.features.landlock >= 2 and not profile.nested
  plan.scopeSignals = ctx.features.landlock >= 6
  plan.listen = profile.network.enabled and { PROXY_PORT, SOCKS_PORT } or {}
  plan.seccomp = seccomp.rules { unix = profile.unix.all, nested = profile.nested, root = plan.rootCaller,
    groupSignals = plan.scopeSignals, guard = guard }
  if guard then
    plan.guard = require("srt.create_guard").table(rules.guard)
    plan.guard.notify = seccomp.notified()
  end
  plan.env = environment(profile, ctx)
  return plan
end

return namespaces
