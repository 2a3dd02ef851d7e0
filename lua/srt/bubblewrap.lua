-- SPDX-License-Identifier: Apache-2.0
-- What the bwrap backend has to know of this machine: the program, the terminal, where masks may be made, what root
-- without capabilities can't reach.
local paths = require "srt.paths"
local programs = require "srt.programs"
local sys = require "srt.c.sys"

local bubblewrap = {}

-- What a command could write, it could have written.
local function bwrap_program(profile, rules, env)
  local given = profile.bwrapPath
  if given and given:sub(1, 1) ~= "/" then return nil, "bwrapPath: an absolute path is expected, not " .. given end
  local path = given or programs.find("bwrap", env.PATH or "/usr/bin:/bin")
  local real = path and programs.is(path) and sys.realpath(path)
  if not path or not real then
    return nil, ("backend = \"bwrap\": %s; install bubblewrap (apt-get install bubblewrap), set bwrapPath, or choose "
      .. "backend = \"namespaces\""):format(given and given .. " is no program" or "there is no bwrap on PATH")
  end
  if rules:at(real).write then
    return nil, ("backend = \"bwrap\": the command could replace %s; deny writing there, or set bwrapPath"):format(real)
  end
  local link = paths.movable(path, rules)
  if link then
    return nil, ("backend = \"bwrap\": %s is reached through the symbolic link %s, which the command could replace; "
      .. "set bwrapPath = %q"):format(path, link, real)
  end
  return real
end

-- The program's libraries must be there inside: PID 1 is executed there.
local function unreadable_library(rules)
  for line in (sys.readfile("/proc/self/maps", 1 << 20) or ""):gmatch("[^\n]+") do
    local path = line:match(" r%-xp .- (/.*)$")
    if path and not rules:at(path).read and path ~= sys.realpath("/proc/self/exe") then return path end
  end
end

---The caller's terminal, if it has one.
---@return string? path
function bubblewrap.terminal()
  for fd = 0, 1 do
    local path = sys.isatty(fd) and sys.readlink("/proc/self/fd/" .. fd)
    if path and path:find("^/dev/pts/%d+$") or path and path:find("^/dev/tty%d+$") then return path end
  end
end

-- Where a run's masks are made on the host: beside its state.
local function masks_of(folders, temp)
  for _, folder in ipairs(folders) do
    if require("srt.state").isOurs(folder) then return paths.join(folder, temp:match("[^/]*$") .. ".masks") end
  end
end

-- The folders from top down to path, path not among them.
local function each_above(path, top, see)
  local at = top
  for part in path:sub(#top + 1):gmatch("[^/]+") do
    local problem = see(at)
    if problem then return problem end
    at = paths.join(at, part)
  end
end

-- Remembers what it has seen of a folder.
local function remembered(see)
  local known = {}
  return function(path)
    if known[path] == nil then known[path] = see(path) end
    return known[path]
  end
end

--- What processes that have no capability inside can't get to, of what the plan mounts or starts in. Bubblewrap may
--- pass folders of its user's (user_namespaces(7)); PID 1, which looks whether all is in its place, not.
---@param plan table
---@return string? reason
function bubblewrap.unreachable(plan)
  local uid, gid = sys.ids()
  local view = require("srt.view").new(plan)
  local closed = remembered(function(path)
    return not view.made[path] and not require("srt.c.guard").searchable(path, 0) and path
  end)
  local shut = remembered(function(path)
    local st = closed(path) and sys.lstat(path)
    return st and (st.uid ~= uid or st.gid ~= gid) and path or false
  end)
  local function barred(path, source)
    local over, top = view:step(paths.parent(path))
    -- What a scaffold shows can be searched.
    return not (over and over.op ~= "bind") and each_above(path, top or "/", closed)
      or source and each_above(source, "/", shut)
  end
  local path, folder = plan.cwd, barred(plan.cwd .. "/.")
  for i = 1, folder and 0 or #plan.mounts do
    local step = plan.mounts[i]
    path = type(step) == "string" and step or step.target
    folder = barred(path, view.steps[path].source)
    if folder then break end
  end
  return folder and ("backend = \"bwrap\": nobody has a capability inside, so %s can't be reached: %s can't be searched"
    .. "; allow that by its mode (chmod a+x), or choose backend = \"namespaces\""):format(path, folder) or nil
end

--- Completes what a plan is compiled with.
---@param profile table
---@param rules table
---@param ctx table of backends.namespaces, where stateFolders makes it one to be run; prints: nothing has to be
--- there for it; terminal: of the command, false for none; nil: this process's
---@return {program: string, masks: string, terminal: string?, identity: table}? facts
---@return string? reason
function bubblewrap.facts(profile, rules, ctx)
  local runs = ctx.stateFolders
  local program, message = bwrap_program(profile, rules, ctx.env)
  if not program and not ctx.prints then return nil, message end
  local library = not ctx.prints and unreadable_library(rules)
  if library then
    return nil, ("backend = \"bwrap\": %s must be readable inside, since srt-lua is built with it; allow reading it, "
      .. "or choose backend = \"namespaces\""):format(library)
  end
  local masks = runs and masks_of(runs, ctx.tempDir) or "MASKS"
  -- One id is mapped, and no capability kept, whoever calls.
  local terminal = ctx.terminal
  if terminal == nil then terminal = bubblewrap.terminal() end
  return { program = program or "bwrap", masks = masks, terminal = terminal or nil,
    identity = require("srt.c.sandbox").identity(true) }
end

return bubblewrap
