-- SPDX-License-Identifier: Apache-2.0
-- srt-lua run: a command under a policy, from the first check to its exit status.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local run = {}

-- Failures of our own; a command that is not there, or can't be executed.
local FAILED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127

run.USAGE = [[
usage: srt-lua run POLICY [-p PORT] [--keep-fd N] [--debug] [-c STRING | [--] COMMAND ARG…]

Runs COMMAND under POLICY, a Lua file that returns a table, or a JSON settings file.

  -c STRING      run STRING with /bin/sh -c
  -p PORT        let the host reach PORT inside; [ADDRESS:]HOST_PORT:PORT for another port outside
                 (may be repeated). All users of the host can then reach it
  --keep-fd N    let the command have descriptor N as well (may be repeated)
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
    elseif name == "--debug" then
      options.debug = true
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

-- Names that somebody outside replaced or removed, which takes a mount away.
local function tell_replaced(ctx, notices)
  for _, notice in ipairs(notices) do
    local text = "removed from outside while the command ran; the name was not protected from then on"
    if notice.missing == 0 then
      text = ("%s from outside while the command ran; its protection was put back within %.1f ms"):format(
        notice.wasMissing and "removed and made again" or "replaced", notice.longest / 1000)
    elseif select(2, sys.strerror(notice.missing)) ~= "ENOENT" then
      text = "replaced from outside while the command ran; it could not be protected again: "
        .. (sys.strerror(notice.missing))
    end
    ctx.err(("srt-lua: warning: %s was %s\n"):format(require("srt.report").plain(notice.path), text))
  end
  if notices.more then ctx.err("srt-lua: warning: more protected names were replaced from outside\n") end
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
  -- Nothing to load where nothing is left.
  if #(sys.readdir(folder) or {}) > 0 then
    tell(ctx, (require("srt.aftermath").sweep(folder)), "after an earlier run that was killed: ")
  end
end

local function execute(ctx, options, sandbox, loaded, plan, say)
  local published, ok, proxy, message
  if #options.publish > 0 then
    published, message = require("srt.publish").listen(options.publish)
    if not published then return fail(ctx, message) end
  end
  ok, message = sandbox:start(plan)
  if not ok then return fail(ctx, message) end
  if #plan.listen > 0 or published then
    proxy, message = require("srt.serve").start(loaded, plan, sandbox, say, ctx.program.asSrt)
    if not proxy then return fail(ctx, message) end
    message = published and require("srt.publish").start(options.publish, published, sandbox, proxy)
    if message then return fail(ctx, message) end
  end
  local kind, value, notices = sandbox:run()
  if proxy then proxy:close() end
  tell_replaced(ctx, notices)
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
  sweep(ctx, folders[1])
  local begun = sys.clock()
  local loaded, problems = require("srt.session").load(facts, options.policy, { tempDir = temp })
  if not loaded then return nil, require("srt.report").text(problems, ctx.tty) end
  tell(ctx, loaded.profile.warnings, "warning: ")
  if loaded.profile.strict and #loaded.profile.warnings > 0 then
    return nil, ours("strict = true: nothing was run, since not all of the policy is held, see the warnings above")
  end
  loaded.vault, message = require("srt.secrets").open(loaded.profile, facts.env)
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
  local status = state and execute(ctx, options, sandbox, loaded, plan, say) or fail(ctx, message)
  sandbox:close()
  if state then close_state(ctx, state) end
  return status
end

return run
