-- SPDX-License-Identifier: Apache-2.0
-- Which backend holds a policy, and what only that one needs to know.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local backend = {}

local MODULES = { auto = "backends.namespaces", namespaces = "backends.namespaces", bwrap = "backends.bwrap" }
backend.NAMES = "namespaces, bwrap"

---@param name string
---@return boolean is there one of this name on this system?
function backend.known(name) return MODULES[name] ~= nil end

local function executable(path)
  local real = sys.realpath(path)
  local st = real and sys.stat(real)
  return st and st.type == "file" and st.mode & tonumber("111", 8) ~= 0 and real or nil
end

local function on_path(search)
  for folder in (search or "/usr/bin:/bin"):gmatch("[^:]+") do
    local real = folder:sub(1, 1) == "/" and executable(folder .. "/bwrap")
    if real then return real end
  end
end

-- What a command could write, it could have written.
local function bwrap_program(profile, rules, env)
  local given = profile.bwrapPath
  if given and given:sub(1, 1) ~= "/" then return nil, "bwrapPath: an absolute path is expected, not " .. given end
  local real = given and executable(given) or not given and on_path(env.PATH)
  if not real then
    return nil, ("backend = \"bwrap\": %s; install bubblewrap (apt-get install bubblewrap), set bwrapPath, or choose "
      .. "backend = \"namespaces\""):format(given and given .. " is no program" or "there is no bwrap on PATH")
  end
  if rules:at(real).write then
    return nil, ("backend = \"bwrap\": the command could replace %s; deny writing there, or set bwrapPath"):format(real)
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

local function terminal()
  for fd = 0, 1 do
    local path = sys.isatty(fd) and sys.readlink("/proc/self/fd/" .. fd)
    if path and path:find("^/dev/pts/%d+$") or path and path:find("^/dev/tty%d+$") then return path end
  end
end

local function for_bwrap(loaded, ctx)
  local program, message = bwrap_program(loaded.profile, loaded.rules, ctx.env)
  -- To print a plan it need not be there.
  if not program and ctx.masks then return nil, message end
  local library = ctx.masks and unreadable_library(loaded.rules)
  if library then
    return nil, ("backend = \"bwrap\": %s must be readable inside, since srt-lua is built with it; allow reading it, or "
      .. "choose backend = \"namespaces\""):format(library)
  end
  ctx.program, ctx.masks, ctx.terminal = program or "bwrap", ctx.masks or "MASKS", terminal()
  -- One id is mapped, and no capability kept, whoever calls.
  ctx.identity = require("srt.c.sandbox").identity(true)
  return true
end

--- Where a run's masks are made on the host, if the backend needs that: beside its state.
---@param name string backend
---@param folders string[] of srt.state
---@param temp string the run's temporary directory
---@return string?
function backend.masks(name, folders, temp)
  for _, folder in ipairs(name == "bwrap" and folders or {}) do
    if require("srt.state").isOurs(folder) then return paths.join(folder, temp:match("[^/]*$") .. ".masks") end
  end
end

--- Compiles the plan of a policy for a backend.
---@param name string
---@param loaded srt.session
---@param ctx table of backends.namespaces; for bwrap masks as well, where it is to be run
---@return table? plan
---@return string? reason
function backend.compile(name, loaded, ctx)
  if name == "bwrap" then
    local ok, message = for_bwrap(loaded, ctx)
    if not ok then return nil, message end
  end
  local plan, message = require(MODULES[name]).compile(loaded.profile, loaded.rules, ctx)
  return plan, message
end

return backend
