-- SPDX-License-Identifier: Apache-2.0
-- What the bwrap backend has to know of this machine: the program, the terminal, where masks may be made.
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

--- Completes what a plan is compiled with.
---@param profile table
---@param rules table
---@param ctx table of backends.namespaces, where stateFolders makes it one to be run; terminal: of the command, false
--- for none; nil: this process's
---@return {program: string, masks: string, terminal: string?, identity: table}? facts
---@return string? reason
function bubblewrap.facts(profile, rules, ctx)
  local runs = ctx.stateFolders
  local program, message = bwrap_program(profile, rules, ctx.env)
  -- To print a plan it need not be there.
  if not program and runs then return nil, message end
  local library = runs and unreadable_library(rules)
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
