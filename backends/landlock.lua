-- SPDX-License-Identifier: Apache-2.0
-- Profile → plan without namespaces: paths by Landlock, the rest by seccomp and an agent.
--
-- Landlock only allows: what is allowed at a folder holds for all below it. So a denial inside of something allowed
-- is told by allowing its siblings one by one, as they are when the run starts, and all the way up. What is made in
-- such a folder later is allowed nothing, and where nothing may be written below, nothing may be made beside it. Where
-- an agent can be asked it makes the names, and opens what is new (backends.landlock_area).
local area = require "backends.landlock_area"
local decide = require "srt.decide_path"
local namespaces = require "backends.namespaces"
local sys = require "srt.c.sys"

local landlock = {}

-- The letters of struct landlock_path (core/plan.h), as bits.
local X, R, L, W, M, I = 1, 2, 4, 8, 16, 32
local LETTERS = { [X] = "x", [R] = "r", [L] = "l", [W] = "w", [M] = "m", [I] = "i" }
local READ, WRITE = X | R | L, X | R | L | W | M
local MOST = 50000

-- Of the host's /dev a command has these. Not /dev/pts and /dev/shm: they are those of all the user's programs.
local DEVICES = { "null", "zero", "full", "random", "urandom", "tty" }

-- What is not as elsewhere without an ABI of Landlock. Without 4 and 5 the filter and the agent hold what these would:
-- TCP, of which nothing can be bound then, and ioctl(2) on devices.
local ABI = {
  { abi = 2, lacks = "renaming and linking between two folders always fails (EXDEV)" },
  { abi = 3, lacks = "truncate(2) always fails, and so does opening a file for reading with O_TRUNC" },
  { abi = 6, lacks = "signals: a command can end the user's other programs, srt-lua included" },
}

-- What no ABI holds, and a user should know.
local OPEN = {
  "processes: they see the host's in /proc; what a daemon outside starts for them goes on when the run ends",
  "names: modes, times, owners and extended attributes of files can be read everywhere",
}

-- Where no agent can be asked.
local ALONE = "no agent can be asked here (srt-lua doctor: notify), so nothing can be connected to, and no modes, "
  .. "owners, times and extended attributes can be changed"

local function letters(mask)
  local text = ""
  for _, bit in ipairs { X, R, L, W, M, I } do
    if mask & bit ~= 0 then text = text .. LETTERS[bit] end
  end
  return text
end

-- The tree of all paths at which something changes. Each node: own = what is allowed there, up = what may be allowed
-- above it, kids by name.
local function new_node() return { kids = {} } end

local function node_at(root, path)
  local node = root
  for part in path:gmatch("[^/]+") do
    node.kids[part] = node.kids[part] or new_node()
    node = node.kids[part]
  end
  return node
end

local function put(root, path, own, up)
  local node = node_at(root, path)
  node.own = node.own and node.own & own or own
  node.up = (node.up or ~0) & (up or own)
end

-- A protected name that is missing is looked for when the run has ended, as where no placeholder can stand.
local function left_to_scan(rules, path)
  local entry = rules.placeholders[path]
  return entry ~= nil and entry.builtin ~= nil
end

local function add_point(root, rules, path)
  local read, write = rules:holds(path)
  local own = write and WRITE or read and READ or 0
  local masked = rules.masked[path]
  if masked and masked.entry.credential then own = 0 end
  local up = own
  -- The name of a file is no secret, and in a file nothing is made; but it is to stay. Nor are the names in our own
  -- folder of violations: or else no run could list the home directory, once there is one.
  local final = rules.finalRead[path]
  local ours = final and final.builtin
  if rules.types[path] ~= "dir" or rules.placeholders[path] or ours then up = up | L end
  if rules.pinned[path] or path == rules.tempDir then up = up & ~M end
  if rules.types[path] == "file" then area.note(root.twins, path, own) end
  put(root, path, own, up)
end

local function tree_of(rules, served)
  local root = new_node()
  root.twins = {}
  for _, path in ipairs(rules:points()) do
    local left = not served and left_to_scan(rules, path)
    if not (decide.own(path) or left) then add_point(root, rules, path) end
  end
  for path, masked in pairs(rules.masked) do
    if masked.entry.credential and not decide.own(path) then add_point(root, rules, path) end
  end
  local top = rules:at("/")
  root.own = root.own or top.write and WRITE or top.read and READ or 0
  root.up = root.own
  put(root, "/proc", READ)
  put(root, "/dev", L)
  for _, name in ipairs(DEVICES) do put(root, "/dev/" .. name, L | R | W | I) end
  return root
end

-- What may be said of all that is at a node and below; answers what may be said above it.
local function common(node, above)
  local own = node.own or above
  local kids = ~0
  for _, kid in pairs(node.kids) do kids = kids & common(kid, own) end
  node.all = own & kids
  return (node.up or own) & kids
end

local Compiler = {}
Compiler.__index = Compiler

function Compiler:allow(path, mask, closed)
  -- Within what is denied the agent makes nothing.
  if self.served and not closed then mask = mask & ~M end
  mask = area.among(self.root.twins, path, mask)
  if mask == 0 then return end
  if closed and mask & W ~= 0 and not decide.own(path) then self.again[#self.again + 1] = path end
  if #self.paths == MOST then
    error({ reason = ("too many paths to be told to Landlock, over %d: deny fewer, or whole folders"):format(MOST) })
  end
  self.paths[#self.paths + 1] = { path = path, access = letters(mask) }
end

local function child_of(path, name) return path == "/" and "/" .. name or path .. "/" .. name end

-- given: what is allowed above already, and so here.
function Compiler:emit(path, node, above, given, closed)
  local own = node.own or above
  closed = closed or above & W ~= 0 and own & W == 0
  self:allow(path, node.all & ~given, closed)
  given = given | node.all
  if next(node.kids) == nil then return end
  local names = {}
  -- Only where something is left to give is it asked who is there.
  for _, name in ipairs(own & ~given ~= 0 and sys.readdir(path) or {}) do
    if not node.kids[name] then names[#names + 1] = name end
  end
  for name in pairs(node.kids) do names[#names + 1] = name end
  table.sort(names)
  local lost = own & ~given
  if lost & M ~= 0 and (closed or not self.served) then self.fixed[#self.fixed + 1] = path end
  if lost & R ~= 0 and own & W ~= 0 and self.served and not closed then self.unread[#self.unread + 1] = path end
  for _, name in ipairs(names) do
    local kid = node.kids[name]
    if kid then
      self:emit(child_of(path, name), kid, own, given, closed)
    else
      self:allow(child_of(path, name), lost, closed)
    end
  end
end

--- What Landlock is told.
---@param rules table from srt.decide_path
---@param served boolean? an agent makes the names
---@return {path: string, access: string}[]? paths
---@return table|string compiler with fixed = folders that may be written and in which nothing can be made, unread =
--- those where what is new can be opened by the agent only, again = what may be written within something denied, and
--- root = of backends.landlock_area; or why not
function landlock.paths(rules, served)
  local self = setmetatable({ paths = {}, fixed = {}, unread = {}, again = {}, served = served,
    root = tree_of(rules, served) }, Compiler)
  common(self.root, 0)
  local ok, problem = pcall(self.emit, self, "/", self.root, 0, 0, false)
  if ok then return self.paths, self end
  if type(problem) == "table" then return nil, problem.reason end
  error(problem, 0)
end

local function is_published(profile, ctx) return profile.network.publish[1] ~= nil or ctx.published or false end

-- What can't be had without namespaces, and is more than a denial.
local function refusals(profile, ctx, served)
  local abi, unix = ctx.features.landlock, profile.unix.all
  if abi < 1 then return "the kernel has no Landlock, or it is not switched on (the kernel's parameter lsm=)" end
  if is_published(profile, ctx) and not area.possible(ctx.features) then
    return "network.publishPorts and -p need a filter that can ask an agent (srt-lua doctor: notify)"
  end
  if profile.network.tls and profile.filesystem.disabled then
    return "network.tlsTerminate needs a temporary folder for its files, and filesystem.disabled makes none"
  end
  if profile.filesystem.createGuard == "supervisor" and not served then
    return "filesystem.createGuard \"supervisor\" needs a filter that can ask an agent (srt-lua doctor: notify)"
  end
  if profile.callbacks.decideOpen[1] then return "filesystem.decideOpen is not there" end
  if profile.nested then return "allowNestedUserNamespaces is not there" end
  if unix and abi < 4 then
    return "allowAllUnixSockets needs Landlock ABI 4 (Linux 6.7), or a socket could be made one of TCP"
  end
end

--- What a run does not hold, and what it holds otherwise than elsewhere.
---@param plan table
---@return string[]
function landlock.lacks(plan)
  local list = {}
  for _, row in ipairs(ABI) do
    if row.abi > plan.abi then list[#list + 1] = row.lacks end
  end
  table.move(OPEN, 1, #OPEN, #list + 1, list)
  for _, text in ipairs(plan.notes or {}) do list[#list + 1] = text end
  return list
end

local function notes_of(profile, rules, compiled, ctx, agent)
  local list, missing = { not agent and ALONE or nil }, false
  for path in pairs(rules.placeholders) do missing = missing or left_to_scan(rules, path) end
  area.notes(list, compiled, missing)
  for path, masked in pairs(rules.masked) do
    if masked.entry.credential then list[#list + 1] = path .. " is unreadable, in the place of masked" end
  end
  if profile.network.transparent then
    list[#list + 1] = "programs that ignore the proxy's variables reach nothing"
  end
  if profile.network.tls then
    list[#list + 1] = "network.tlsTerminate: who heeds no variables of the environment does not trust the run's CA; "
      .. "whom the command trusts, it can change itself"
  end
  area.notes_of_agent(list, profile, is_published(profile, ctx), agent)
  return list
end

-- What the agent makes and changes, and what of it the filter has to ask for.
local function add_area(plan, profile, rules, compiled)
  plan.area, plan.guard = area.of(compiled.root, rules)
  plan.area.again = compiled.again
  plan.area.reads = compiled.unread[1] ~= nil or plan.watch ~= nil and plan.watch.reads
  -- Sockets are bound by the command itself.
  for _, top in ipairs(profile.unix.all and plan.area.tops or {}) do
    plan.paths[#plan.paths + 1] = { path = top, access = "s" }
  end
end

-- The filter, and what it asks the agent.
local function add_filter(plan, profile, ctx, served)
  local unix, agent, publish = profile.unix.all, plan.area ~= nil, is_published(profile, ctx)
  local tells = plan.watch ~= nil
  local seccomp = require "backends.seccomp"
  plan.seccomp = seccomp.rules { unix = unix, root = ctx.identity.closeProc, groupSignals = plan.scopeSignals,
    bare = plan.abi, agent = agent, guard = served, sockets = plan.sockets ~= nil, publish = publish, observe = tells }
  if not agent then return end
  plan.notify = seccomp.notified { lead = true, makes = true, area = served and plan.area or nil,
    sockets = plan.sockets ~= nil, unix = unix, publish = publish, tells = tells }
end

--- Compiles a profile to a plan.
---@param profile table from srt.profile
---@param rules table from srt.decide_path
---@param ctx table as for backends.namespaces
---@return table? plan
---@return string? reason
function landlock.compile(profile, rules, ctx)
  local agent = area.possible(ctx.features)
  local watch = agent and area.watch(profile) or nil
  local served = agent and (area.wanted(rules) or watch ~= nil)
  local refused = refusals(profile, ctx, served)
  if refused then return nil, "backend \"landlock\": " .. refused end
  local abi = ctx.features.landlock
  local plan = { backend = "landlock", cwd = ctx.cwd, tempDir = rules.tempDir, keepFds = ctx.keepFds or {}, abi = abi,
    mounts = {}, files = {}, placeholders = {}, writable = {}, landlock = true, scopeSignals = abi >= 6,
    allSockets = profile.unix.all }
  for name, value in pairs(ctx.identity) do plan[name] = value end
  local compiled, message
  plan.paths, compiled = landlock.paths(rules, served)
  if not plan.paths then return nil, "backend \"landlock\": " .. compiled end
  for _, rule in ipairs(plan.paths) do
    if rule.access:find("w", 1, true) then plan.writable[#plan.writable + 1] = rule.path end
  end
  plan.listen, message = namespaces.listen(profile)
  if not plan.listen then return nil, message end
  plan.watch = watch
  if agent then add_area(plan, profile, rules, compiled) end
  plan.sockets = agent and rules.sockets and not profile.unix.all and area.sockets(rules) or nil
  add_filter(plan, profile, ctx, served)
  area.files(plan, ctx.files)
  plan.env = namespaces.environment(profile, rules, ctx, plan)
  plan.notes = notes_of(profile, rules, compiled, ctx, agent)
  return plan
end

return landlock
