-- SPDX-License-Identifier: Apache-2.0
-- srt-lua compile: prints the native plan of a policy, and runs nothing.
local compile = {}

compile.USAGE = [[
usage: srt-lua compile POLICY [--backend NAME] [--json]

Prints what `srt-lua run POLICY` would do here: mounts, Landlock, seccomp, environment; for bwrap its arguments as well.
NAME is namespaces, bwrap or landlock; without it the policy's own counts. For seatbelt and windows, the profile for
macOS's sandbox-exec, or the plan for srt-win.exe as JSON.
]]

local KNOWN = { flags = { ["--json"] = "json" }, valued = { ["--backend"] = function(options, name)
  local backend = require "srt.backend"
  options.backend = name
  if backend.ELSEWHERE[name] then return nil end
  local known, message = backend.get(name)
  return not known and message .. ", seatbelt, windows" or nil
end } }

local function for_seatbelt(loaded, facts)
  return require("backends.seatbelt").compile(loaded.profile, loaded.rules, { env = facts.env,
    tag = "srt-lua-" .. assert(require("srt.c.sys").random(8)), ports = loaded.profile.network.ports })
end

local function text_of(plan)
  if plan.text then return plan.text end
  local lines = {}
  local function say(line) lines[#lines + 1] = require("srt.report").plain(line) end
  local plan_text = require("srt.plan_text")
  plan_text.each(plan, say)
  plan_text.seccomp(plan, say)
  for _, variable in ipairs(plan.env) do say("env: " .. variable) end
  return table.concat(lines, "\n") .. "\n"
end

-- The plan that a run would have; or nil and what to say.
local function plan_of(kind, facts, loaded)
  local backend, message = require("srt.backend").get(kind)
  if not backend then return nil, message end
  return backend.compile(loaded.profile, loaded.rules, { cwd = facts.cwd, env = facts.env, features = facts.features,
    prints = true, identity = require("srt.c.sandbox").identity(),
    binary = require("srt.backend").binary,
    files = loaded.profile.network.tls and require("srt.trust").planned() or nil })
end

local function for_windows(facts)
  local paths = require("srt.paths")
  paths.drives = true
  local home = require("srt.drives").ours(facts.env.USERPROFILE or "")
  if home then facts.home = paths.normalize(home) end
end

local function load(facts, options)
  local session = require("srt.session")
  if options.backend == "windows" then for_windows(facts) end
  local loaded, problems = session.load(facts, options.file, {})
  if not options.backend and loaded and loaded.profile.backend == "windows" then
    for_windows(facts)
    return session.load(facts, options.file, {})
  end
  return loaded, problems
end

--- Runs the command.
---@param args string[] what follows "compile"
---@param ctx table {program, out, err, tty}
---@return integer exit status: 0, 1 for a policy with problems, 125 for wrong usage
function compile.main(args, ctx)
  local options, message = require("srt.run_options").one(args, KNOWN, "policy")
  local status = require("srt.report").answered(ctx, "srt-lua compile", compile.USAGE, options, message)
  if status then return status end
  local session = require("srt.session")
  local facts
  facts, message = session.facts(ctx.program)
  if not facts then
    ctx.err("srt-lua: " .. message .. "\n")
    return 1
  end
  -- A policy that says where it is for may hold paths as they are spelled there.
  local loaded, problems = load(facts, options)
  local plan
  local kind = loaded and (options.backend or loaded.profile.backend)
  if kind == "auto" then kind = require("srt.backend").NAMES[1] end
  if kind == "windows" then
    plan, problems = require("backends.windows").compile(loaded.profile, loaded.rules, { cwd = facts.cwd,
      wsl = facts.env.WSL_DISTRO_NAME ~= nil })
    if plan then
      ctx.out(require("srt.json").encode(plan) .. "\n")
      return 0
    end
  elseif kind == "seatbelt" then
    plan = for_seatbelt(loaded, facts)
  elseif loaded then
    plan, message = plan_of(kind, facts, loaded)
  end
  if plan then plan.env = require("srt.secrets").without(loaded.profile, facts.env, plan.env) end
  if not plan then
    local report = require "srt.report"
    ctx.err(problems and report.text(problems, ctx.tty) or "srt-lua: " .. report.plain(message) .. "\n")
    return 1
  end
  ctx.out(options.json and require("srt.json").encode(plan) .. "\n" or text_of(plan))
  return 0
end

return compile
