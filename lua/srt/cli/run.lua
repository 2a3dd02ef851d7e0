-- SPDX-License-Identifier: Apache-2.0
-- srt-lua run: a command under a policy, from the first check to its exit status.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local run = {}

-- Failures of our own; a command that is not there, or can't be executed.
local FAILED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127

run.USAGE = [[
usage: srt-lua run POLICY [OPTION…] [-c STRING | [--] COMMAND ARG…]

Runs COMMAND under POLICY, a Lua file that returns a table, or a JSON settings file.

  -c STRING      run STRING with /bin/sh -c
  -p PORT        let the host reach PORT inside; [ADDRESS:]HOST_PORT:PORT for another port outside
                 (may be repeated). All users of the host can then reach it
  --keep-fd N    let the command have descriptor N as well (may be repeated)
  --report HOW   tell on standard error at the end what was denied: text (the default), json, none
  --violations FILE
                 append what was denied to FILE, or nowhere (none); else to the file that
                 srt-lua violations shows
  --annotate     at the end, print what was denied in a <sandbox_violations> block
  --command-id ID, --command-text TEXT
                 what violations of this command are found by, and reported under
  --debug        tell on standard error what is resolved, mounted and decided

The exit status is the command's; 128+N when signal N ended it; 125 for a failure of
srt-lua itself, 126 for a command that can't be executed, 127 for one that is not found.
]]

local function descriptor(text)
  local fd = math.tointeger(tonumber(text))
  if not fd or fd < 3 or fd > 1000000 then
    return nil, ("--keep-fd takes a number from 3 up, not %q"):format(text or "")
  end
  return fd
end

local REPORTS = { text = true, json = true, none = true }

-- Options that take a value: name → function(options, value) → error message
local VALUED = {
  ["-c"] = function(options, value) options.command = { "/bin/sh", "-c", value } end,
  ["--keep-fd"] = function(options, value)
    local fd, message = descriptor(value)
    if not fd then return message end
    options.keep[#options.keep + 1] = fd
  end,
  ["-p"] = function(options, value)
    local entry, message = require("srt.publish").parse(value)
    if not entry then return ("-p %s: %s"):format(value, message) end
    options.publish[#options.publish + 1] = entry
  end,
  ["--report"] = function(options, value)
    if not REPORTS[value] then return ("--report takes text, json or none, not %q"):format(value) end
    options.report = value
  end,
  ["--violations"] = function(options, value) options.violations = value end,
  ["--command-id"] = function(options, value) options.commandId = value end,
  ["--command-text"] = function(options, value) options.commandText = value end,
}

local function split_equals(arg)
  local name, value = arg:match("^(%-%-[%w-]+)=(.*)$")
  if name then return name, value end
  return arg
end

--- Reads the arguments of `run`.
---@return table? options {policy, command, keep, publish, debug} or {help = true}
---@return string? message
function run.parse(args)
  local options = { keep = {}, publish = {} }
  local i = 1
  while args[i] do
    local name, value = split_equals(args[i])
    if name == "--help" or name == "-h" then return { help = true } end
    if VALUED[name] then
      if not value then
        i = i + 1
        value = args[i]
      end
      if not value then return nil, name .. " needs a value" end
      local message = VALUED[name](options, value)
      if message then return nil, message end
    elseif name == "--debug" or name == "--annotate" then
      options[name:sub(3)] = true
    elseif name == "--" or (options.policy and name:sub(1, 1) ~= "-") then
      if name == "--" then i = i + 1 end
      if options.command and args[i] then return nil, "both -c and a command were given" end
      if not options.command then options.command = table.move(args, i, #args, 1, {}) end
      break
    elseif name:sub(1, 1) == "-" and name ~= "-" then
      return nil, "unknown option " .. name
    else
      options.policy = name
    end
    i = i + 1
  end
  if not options.policy then return nil, "no policy given" end
  if not options.command or not options.command[1] then return nil, "no command given" end
  return options
end

---@param message string|table a problem as srt.report has them
local function ours(message)
  return type(message) == "table" and require("srt.report").line(message) .. "\n" or "srt-lua: " .. message .. "\n"
end

local function fail(ctx, message)
  ctx.err(ours(message))
  return FAILED
end

local function debug_plan(say, plan, loaded)
  for _, note in ipairs(loaded.profile.notes) do say("note: " .. note) end
  require("srt.plan_text").each(plan, say)
  say(("loading the policy, resolving and compiling it took %.2f ms"):format(loaded.took * 1000))
end

local function status_of(ctx, command, kind, value)
  if kind == "exit" then return value end
  if kind == "signal" then return 128 + value end
  if kind == "failed" then return fail(ctx, value) end
  local text, name = sys.strerror(value)
  if name == "ENOENT" and not command:find("/", 1, true) then
    ctx.err(("srt-lua: %s: command not found\n"):format(command))
  else
    ctx.err(("srt-lua: %s: can't be executed: %s\n"):format(command, text))
  end
  return name == "ENOENT" and NOT_FOUND or NOT_EXECUTABLE
end

-- The plan of a policy that was loaded; or nil and what to say.
local function plan_of(options, facts, temp, identity, loaded)
  local tls = loaded.profile.network.tls
  local files, why
  if tls then
    loaded.tls, why = require("srt.termination").make(tls, facts.env)
    if not loaded.tls then return nil, why end
    files, why = require("srt.trust").files(loaded.profile.filesystem.masked, loaded.tls)
    if not files then return nil, "network.tlsTerminate: " .. why end
  end
  local plan, message = require("backends.namespaces").compile(loaded.profile, loaded.rules, { cwd = facts.cwd,
    env = facts.env, tempDir = temp, features = facts.features, identity = identity, keepFds = options.keep,
    binary = sys.realpath("/proc/self/exe"), ready = require("srt.c.sandbox").ready, files = files })
  message = not plan and message or require("srt.descriptors").check(options.keep, loaded.rules, plan)
  if message then return nil, message end
  table.move(loaded.profile.network.publish, 1, #loaded.profile.network.publish, #options.publish + 1, options.publish)
  message = #options.publish > 0 and require("srt.publish").check(options.publish, plan)
  if message then return nil, message end
  plan.argv = options.command
  if loaded.vault then plan.env = loaded.vault:environment(plan.env) end
  return plan
end

-- The state file, before anything is made that it lists.
local function open_state(folders, loaded, plan)
  local found = loaded.rules.found or { settings = loaded.profile.protection, bases = {}, seen = {}, gits = {} }
  local record = { temp = plan.tempDir, places = plan.placeholders, home = found.home, bases = found.bases,
    settings = found.settings, seen = found.seen, gits = found.gits, ids = {},
    lists = found.bases[1] and require("srt.state").kept(loaded.rules) or {} }
  local handle, message = require("srt.state").create(folders, record)
  if not handle then return nil, message end
  record.path, plan.state = handle.path, handle.path
  return { record = record, rules = loaded.rules, handle = handle, folders = folders }
end

local function tell(ctx, lines, prefix)
  for _, line in ipairs(lines) do
    ctx.err("srt-lua: " .. (prefix or "") .. require("srt.report").plain(line) .. "\n")
  end
end

-- When nothing of the run lives any more.
local function close_state(ctx, state)
  require("srt.c.tidy").close(state.handle.fd)
  tell(ctx, require("srt.aftermath").close(state.handle.path, state.record, state.rules))
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

local function execute(ctx, options, sandbox, loaded, plan, say, reporter)
  local published, ok, proxy, message
  if #options.publish > 0 then
    published, message = require("srt.publish").listen(options.publish)
    if not published then return fail(ctx, message) end
  end
  ok, message = sandbox:start(plan)
  if not ok then return fail(ctx, message) end
  if #plan.listen > 0 or published then
    proxy, message = require("srt.serve").start(loaded, plan, sandbox, say, ctx.program.asSrt, reporter)
    if not proxy then return fail(ctx, message) end
    message = published and require("srt.publish").start(options.publish, published, sandbox, proxy)
    if message then return fail(ctx, message) end
  end
  local watcher = plan.watch and require("srt.observe").start(loaded, plan, sandbox, function(event)
    reporter:add(event)
  end, say)
  local kind, value, notices = sandbox:run()
  if watcher then watcher:close() end
  if proxy then proxy:close() end
  if notices[1] or notices.more then tell(ctx, require("srt.report").replaced(notices), "warning: ") end
  return status_of(ctx, options.command[1], kind, value)
end

-- Everything that must be known before the sandbox is built: plan, loaded policy
-- and state folders; or nil and what to say.
local function prepare(ctx, options, sandbox)
  local message = require("srt.descriptors").absent(options.keep)
  if message then return nil, ours(message) end
  local facts, temp
  facts, message = require("srt.session").facts(ctx.program)
  if not facts then return nil, ours(message) end
  temp, message = require("srt.session").tempDir(facts)
  if not temp then return nil, ours(message) end
  local folders = require("srt.state").folders(facts, paths.parent(temp))
  facts.state = folders
  require("srt.state").prepare(folders)
  sweep(ctx, folders[1])
  local file, plain
  if options.violations and options.violations ~= "none" then
    file, plain = require("srt.violation_file").make(options.violations, facts.cwd)
    if not file then tell(ctx, { plain }, "warning: ") end
    options.violations = file or "none"
  end
  local begun = sys.clock()
  local loaded, problems = require("srt.session").load(facts, options.policy, { tempDir = temp,
    reportFile = plain == true and file or nil })
  if not loaded then return nil, require("srt.report").text(problems, ctx.tty) end
  tell(ctx, loaded.profile.warnings, "warning: ")
  if loaded.profile.strict and #loaded.profile.warnings > 0 then
    return nil, ours("strict = true: nothing was run, since not all of the policy is held, see the warnings above")
  end
  if loaded.profile.credentials.active then
    loaded.vault, message = require("srt.secrets").open(loaded.profile, facts.env)
  end
  if message then return nil, ours(message) end
  local plan
  plan, message = plan_of(options, facts, temp, sandbox:identity(), loaded)
  if not plan then return nil, ours(message) end
  if loaded.profile.strict and not (plan.landlock and plan.scopeSignals) then
    return nil, ours("strict = true: nothing was run, since Landlock can't hold all of it here (Linux 6.12 is needed, "
      .. "and no allowNestedUserNamespaces)")
  end
  loaded.took = sys.clock() - begun
  return plan, loaded, folders
end

--- Runs the command.
---@param args string[] what follows "run"
---@param ctx table {program, out, err, tty}
---@return integer exit status
function run.main(args, ctx)
  local options, message = run.parse(args)
  if not options then
    ctx.err("srt-lua: run: " .. message .. "\n" .. run.USAGE)
    return FAILED
  end
  if options.help then
    ctx.out(run.USAGE)
    return 0
  end
  local sandbox
  sandbox, message = require("srt.c.sandbox").begin()
  if not sandbox then return fail(ctx, message) end
  local plan, loaded, folders = prepare(ctx, options, sandbox)
  if not plan then
    sandbox:close()
    ctx.err(loaded)
    return FAILED
  end
  local say
  if options.debug then
    say = function(line) ctx.err("srt-lua: debug: " .. require("srt.report").plain(line) .. "\n") end
    debug_plan(say, plan, loaded)
  end
  local state
  state, message = open_state(folders, loaded, plan)
  local reporter = require("srt.reporting").new(options, loaded, function(line) tell(ctx, { line }) end)
  reporter.folder, reporter.debug = state and state.handle.folder, say
  local status = state and execute(ctx, options, sandbox, loaded, plan, say, reporter) or fail(ctx, message)
  sandbox:close()
  if state then close_state(ctx, state) end
  ctx.err(reporter:close(ctx.tty))
  return status
end

return run
