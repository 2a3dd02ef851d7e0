-- SPDX-License-Identifier: Apache-2.0
-- srt-lua run: a command under a policy, from the first check to its exit status.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local run = {}

local FAILED = 125

local function ours(message) return require("srt.report").ours(message) end

local function tell(ctx, lines, prefix)
  for _, line in ipairs(lines) do
    ctx.err("srt-lua: " .. (prefix or "") .. require("srt.report").plain(line) .. "\n")
  end
end

-- As the command begins, which takes it longer than to find these; or before what went wrong is told.
local function warn(ctx, loaded)
  if loaded.lint then loaded.lint() end
  if not loaded.warned then tell(ctx, loaded.profile.warnings, "warning: ") end
  loaded.warned = true
end

local function fail(ctx, message, loaded)
  if loaded then warn(ctx, loaded) end
  ctx.err(ours(message))
  return ctx.failed or FAILED
end

local function debug_plan(say, plan, loaded)
  for _, note in ipairs(loaded.profile.notes) do say("note: " .. note) end
  if plan.text then
    for line in plan.text:gmatch("[^\n]+") do say(line) end
  else
    require("srt.plan_text").each(plan, say)
  end
  say(("loading the policy, resolving and compiling it took %.2f ms"):format(loaded.took * 1000))
end

-- Ends the sandbox, and what its run has left.
local function close_state(ctx, state, reporter, sandbox)
  local let_go = require("srt.c.tidy").close
  -- Who lets go of it last, once it is removed, waits for the disk: that is the janitor.
  if state.transient then let_go(state.handle.fd) end
  local forgotten = sandbox:close()
  if not state.transient then let_go(state.handle.fd) end
  if not forgotten then
    local lines, denied = require("srt.aftermath").close(state.handle.path, state.record, state.rules)
    tell(ctx, lines)
    for _, event in ipairs(denied or {}) do reporter:add(event) end
  end
  require("srt.state").leave(state.folders, state.handle.folder)
end

local function sweep(ctx, folder)
  for _, name in ipairs(sys.readdir(folder) or {}) do
    -- Nothing to load where nothing is left.
    if name:find(".", 1, true) then
      return tell(ctx, (require("srt.aftermath").sweep(folder)), "after an earlier run that was killed: ")
    end
  end
end

-- The status; or nil and why namespaces can't be had.
local function execute(ctx, options, sandbox, loaded, plan, say, reporter)
  local published, ok, proxy, live, message, unavailable
  local mac = plan.backend == "seatbelt" and require "srt.seatbelt_run"
  if mac then
    message = mac.make(plan)
    if message then return fail(ctx, message, loaded) end
    if mac.missing(plan) then return require("srt.run_status").missing(ctx, options.command[1]) end
  end
  -- Without namespaces a server inside has the host's port itself.
  if #plan.publish > 0 and plan.backend ~= "landlock" then
    published, message = require("srt.publish").listen(plan.publish)
    if not published then return fail(ctx, message, loaded) end
  end
  ok, message, unavailable = sandbox:start(plan)
  if ok and not plan.waits then sandbox:release() end
  if ok then ok, message, unavailable = sandbox:await() end
  if unavailable then
    require("srt.publish").close(published)
    return nil, message
  end
  if not ok then return fail(ctx, message, loaded) end
  warn(ctx, loaded)
  if #plan.listen > 0 or published then
    proxy, live = require("srt.serve").start(loaded, plan, sandbox, say, ctx.program.asSrt, reporter)
    if not proxy then return fail(ctx, live, loaded) end
    message = published and require("srt.publish").start(plan.publish, published, sandbox, proxy)
    if message then return fail(ctx, message, loaded) end
  end
  local updates
  if proxy and (options.controlFd or options.watch) then
    updates, message = require("srt.updates").start(options, loaded, loaded.facts, live(), sandbox,
      function(line) tell(ctx, { line }) end, say)
    if not updates then return fail(ctx, message, loaded) end
  end
  local watcher = plan.watch and require("srt.watching").start(loaded, plan, sandbox, function(event)
    reporter:add(event)
  end, say)
  local log = mac and mac.log(plan, function(event) reporter:add(event) end, function(line)
    tell(ctx, { line }, "warning: ")
  end)
  -- What each end takes, while the command runs.
  if not plan.transient then require "srt.aftermath" end
  require "srt.run_status"
  local kind, value, notices, unreached = sandbox:run()
  if log then log.close() end
  if watcher then
    watcher:close(unreached)
    reporter:missed(watcher.lost)
  end
  if updates then updates:close() end
  if proxy then proxy:close() end
  if notices[1] or notices.more then tell(ctx, require("srt.report").replaced(notices), "warning: ") end
  if options.learner then options.learner.ran = kind == "exit" or kind == "signal" end
  return require("srt.run_status").of(ctx, options.command[1], kind, value)
end

-- Everything that must be known before a plan is made: the loaded policy with facts, temp (the run's temporary
-- directory) and folders (for its state); or nil and what to say.
local function prepare(ctx, options, sandbox)
  local message = options.keep[1] and require("srt.descriptors").absent(options.keep)
    or options.controlFd and require("srt.updates").check(options) or nil
  if message then return nil, ours(message) end
  local facts, temp
  facts, message = require("srt.session").facts(ctx.program)
  if not facts then return nil, ours(message) end
  temp, message = require("srt.session").tempDir(facts)
  if not temp then return nil, ours(message) end
  local folders = require("srt.state").folders(facts, paths.parent(temp))
  facts.state, facts.mounts = folders, sandbox.mounts and function() return sandbox:mounts() end
  require("srt.state").prepare(folders)
  sweep(ctx, folders[1])
  local told = {}
  if options.violations or options.log then
    told, message = require("srt.violation_file").named(options, facts.cwd)
    if not told then return nil, ours(message) end
  end
  if options.log == "none" then options.log = nil end
  local loaded, problems = require("srt.session").load(facts, options.policy, { tempDir = temp,
    reportFiles = told, learner = options.learner, given = options.given, lintLater = not options.learner,
    live = (options.controlFd ~= nil or options.watch) and true or nil, prompt = options.prompt,
    resolved = sandbox.redirect and function(profile)
      local name = options.backend or profile.backend
      local redirect = (name == "auto" or name == "namespaces") and require("backends.namespaces").redirect(profile)
      if redirect then sandbox:redirect(redirect) end
    end })
  facts.mounts = nil
  if not loaded then return nil, require("srt.report").text(problems, ctx.tty) end
  loaded.profile.backend = options.backend or loaded.profile.backend
  local elsewhere = loaded.profile.backend
  if require("srt.backend").ELSEWHERE[elsewhere] then
    return nil, ours(require("backends." .. elsewhere).ELSEWHERE)
  end
  if loaded.profile.strict or options.debug then warn(ctx, loaded) end
  if loaded.profile.strict and #loaded.profile.warnings > 0 then
    return nil, ours("strict = true: nothing was run, since not all of the policy is held, see the warnings above")
  end
  message = require("srt.planning").equip(facts, loaded)
  if message then
    warn(ctx, loaded)
    return nil, ours(message)
  end
  loaded.facts, loaded.temp, loaded.folders = facts, temp, folders
  if options.prompt then
    if loaded.profile.network.strict then
      tell(ctx, { "network.strictAllowlist is set, so --prompt asks nothing" }, "warning: ")
    end
    loaded.prompt = require("srt.prompt").new(function(line) tell(ctx, { line }) end)
  end
  return loaded
end

--- Runs the command.
---@param args string[] what follows "run"
---@param ctx table {program, out, err, tty}
---@return integer exit status
function run.main(args, ctx)
  local given = require "srt.run_options"
  local options, message = given.parse(args)
  if options and not options.help then return run.start(options, ctx) end
  return require("srt.report").answered(ctx, "srt-lua run", given.USAGE, options, message)
end

-- By one backend: the status; or nil and why namespaces can't be had.
local function attempt(ctx, options, sandbox, loaded, name, why)
  local planning, made, state, message = require "srt.planning", nil, nil, nil
  local function report()
    made = made or require("srt.reporting").new(options, loaded, function(line) tell(ctx, { line }) end)
    return made
  end
  local function begin(plan, told)
    state, message = planning.state(loaded, plan, report, told)
    return message
  end
  local function finish()
    close_state(ctx, state, report(), sandbox)
  end
  local identity, plan
  identity, message = sandbox:identity()
  if not identity then return fail(ctx, message, loaded) end
  plan, message = planning.plan(options, loaded, name, identity, {
    network = function(part) sandbox:network(part) end,
    build = function(part)
      part.transient = planning.transient(loaded, part)
      local ok, problem = pcall(sandbox.build, sandbox, part)
      if not ok then return "the sandbox can't be had as the policy wants it: " .. tostring(problem) end
      -- While it builds itself: this may have to wait for the disk.
      return begin(part, function(path) sandbox:state(path) end) or sandbox:make()
    end,
  })
  if not plan then
    if state then finish() end
    return fail(ctx, message, loaded)
  end
  loaded.took = sys.clock() - loaded.begun
  tell(ctx, require("srt.backend").told(plan, why), "warning: ")
  local say
  if options.debug then
    say = function(line) ctx.err("srt-lua: debug: " .. require("srt.report").plain(line) .. "\n") end
    debug_plan(say, plan, loaded)
  end
  if not state then
    plan.transient = planning.transient(loaded, plan)
    message = begin(plan)
  end
  if message then return fail(ctx, message, loaded) end
  local reporter = report()
  reporter.folder, reporter.debug = state.handle.folder, say
  reporter.run = state.handle.path:match("(%x+)%.run$"):sub(1, 8)
  if options.learner then options.learner:listen(reporter) end
  local status, unavailable = execute(ctx, options, sandbox, loaded, plan, say, reporter)
  finish()
  ctx.err(reporter:close(ctx.tty))
  if loaded.prompt then loaded.prompt:close(loaded.facts, loaded.policy, options.policy) end
  return status, unavailable
end

--- A run, from what options ask for.
---@param options table as srt.run_options reads them; learner = of srt.learner, which has the policy; given = of
--- session.resolve
---@param ctx table failed = the exit status of failures of our own, where it isn't the usual one
---@return integer exit status
function run.start(options, ctx)
  local begin, backend = require("srt.c.sandbox").begin, require "srt.backend"
  local sandbox, message = begin()
  if not sandbox then return fail(ctx, message) end
  local begun = sys.clock()
  local loaded, text = prepare(ctx, options, sandbox)
  local names
  if loaded then
    loaded.begun = begun
    names, message = backend.candidates(loaded.profile, loaded.facts.features)
  end
  if not names then
    sandbox:close()
    if loaded then warn(ctx, loaded) end
    ctx.err(text or ours(message))
    return ctx.failed or FAILED
  end
  local status, why
  for _, name in ipairs(names) do
    if name == "landlock" then
      sandbox:close()
      sandbox, message = begin(true)
      if not sandbox then return fail(ctx, message) end
    end
    status, why = attempt(ctx, options, sandbox, loaded, name, why)
    sandbox:close()
    if status then return status end
  end
  return fail(ctx, backend.refused(loaded.profile, loaded.facts.features, why), loaded)
end

return run
