-- SPDX-License-Identifier: Apache-2.0
-- The one place that says by which backend a policy is enforced.
--
-- "auto" is the strongest that works. Whether namespaces work shows in making them, so that is tried; what is weaker is
-- only taken where the policy agrees to it (enableWeakerNestedSandbox), since whoever wrote it may rely on what only
-- namespaces hold. Which one was taken instead, and what it does not hold, is told on standard error. bwrap is taken
-- where it is named: where namespaces are refused to us they are to an ordinary bwrap, or to our PID 1 inside.
local backend = {}

local sys = require "srt.c.sys"

local ON_MAC = sys.system == "macos"

local LINUX = { "namespaces", "bwrap", "landlock" }

-- What runs here, the strongest first.
backend.NAMES = ON_MAC and { "seatbelt" } or LINUX

local function have(name)
  for _, known in ipairs(backend.NAMES) do
    if known == name then return true end
  end
end

-- Compiled anywhere, run only on their own systems.
backend.ELSEWHERE = { seatbelt = not ON_MAC or nil, windows = true }

--- The compiler of a backend.
---@param name string
---@return table? compiler with compile()
---@return string? message
function backend.get(name)
  if name == "auto" then name = backend.NAMES[1] end
  if have(name) then return (require("backends." .. name)) end
  if backend.ELSEWHERE[name] then
    return nil, ("the backend %q is compiled only (srt-lua compile), and not run here"):format(name)
  end
  for _, known in ipairs(LINUX) do
    if name == known then return nil, ("the backend %q is Linux's; on macOS there is seatbelt"):format(name) end
  end
  return nil, ("there is no backend %q; this version has %s"):format(name, table.concat(backend.NAMES, ", "))
end

--- This program, as a backend is told of it.
---@return string|nil path nil where it is gone, as after an upgrade
function backend.binary()
  local path = sys.readlink("/proc/self/exe") -- the kernel says it without links
  return path and sys.stat(path) and path
end

-- Where a filter knows the calls that make Unix sockets by their arguments.
local FILTERED = { x86_64 = true, aarch64 = true }

--- By which backends a run may be tried, in this order.
---@param profile table
---@param features table of srt.c.sys
---@return string[]? names
---@return string? message
function backend.candidates(profile, features)
  if not ON_MAC and not FILTERED[features.machine] and not profile.unix.all then
    return nil, ("on this processor (%s) no filter can tell Unix sockets from others: nothing is run without "
      .. "network.allowAllUnixSockets = true"):format(features.machine)
  end
  local wanted = profile.backend
  if wanted ~= "auto" or ON_MAC then
    local _, message = backend.get(wanted)
    return not message and { ON_MAC and "seatbelt" or wanted } or nil, message
  end
  return profile.weaker and { "namespaces", "landlock" } or { "namespaces" }
end

--- What to say where namespaces are refused and the policy does not agree to less.
---@param profile table
---@param features table
---@param message string why they are refused
---@return string
function backend.refused(profile, features, message)
  if profile.backend ~= "auto" or profile.weaker or features.landlock < 1 then return message end
  return message .. "; or let the policy agree to what Landlock holds by itself, with enableWeakerNestedSandbox = true "
    .. "(srt-lua compile --backend landlock POLICY tells what that is)"
end

--- What a plan does not hold of what namespaces do.
---@param plan table
---@return string[]
function backend.lacks(plan)
  return plan.backend ~= "namespaces" and require("backends." .. plan.backend).lacks(plan) or {}
end

--- What a run of a policy here will say of its backend, where that is not namespaces, or may not be.
---@param loaded table of srt.session, with the decisions
---@param facts table of srt.session
---@return string[] lines
---@return string? problem why nothing will be run
function backend.foretold(loaded, facts)
  local profile = loaded.profile
  local perhaps = profile.backend == "auto" and profile.weaker
  local name = perhaps and "landlock" or profile.backend
  if ON_MAC then return backend.foretold_on_mac(profile) end
  if name ~= "landlock" and name ~= "bwrap" then return {} end
  local plan, problem = backend.get(name).compile(profile, loaded.rules, { cwd = facts.cwd, env = facts.env,
    features = facts.features, identity = require("srt.c.sandbox").identity(),
    binary = backend.binary,
    files = profile.network.tls and require("srt.trust").planned() or nil })
  if not plan then return perhaps and { "where namespaces can't be had nothing is run: " .. problem } or {}, problem end
  return backend.told(plan, perhaps and "where namespaces can't be had")
end

--- The same on macOS.
---@param profile table
---@return string[] lines
---@return string? problem
function backend.foretold_on_mac(profile)
  local compiler, problem = backend.get(profile.backend)
  return compiler and backend.told({ backend = "seatbelt", notHeld = compiler.not_held(profile) }) or {}, problem
end

--- What a user has to know of a plan that is not namespaces.
---@param plan table
---@param why string? why it was not namespaces
---@return string[] lines
function backend.told(plan, why)
  local lacks = backend.lacks(plan)
  if not lacks[1] then return {} end
  local lines = { ("the backend is %s%s"):format(plan.backend, why and " (" .. why .. ")" or "")
    .. (ON_MAC and "; not held:" or "; not held as with namespaces:") }
  for _, text in ipairs(lacks) do
    lines[#lines + 1] = "  " .. text
  end
  return lines
end

return backend
