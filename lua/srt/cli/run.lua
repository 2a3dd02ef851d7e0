-- SPDX-License-Identifier: Apache-2.0
-- srt-lua run: a command under a policy, from the first check to its exit status.
local sys = require "srt.c.sys"

local run = {}

-- Failures of our own; a command that is not there, or can't be executed.
local FAILED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127

run.USAGE = [[
usage: srt-lua run POLICY [--keep-fd N] [--debug] [-c STRING | [--] COMMAND ARG…]

Runs COMMAND under POLICY, a Lua file that returns a table, or a JSON settings file.

  -c STRING      run STRING with /bin/sh -c
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
  ["-p"] = function() return "-p (published ports) can't be held yet by this version; leave it out" end,
}

local function split_equals(arg)
  local name, value = arg:match("^(%-%-[%w-]+)=(.*)$")
  if name then return name, value end
  return arg
end

--- Reads the arguments of `run`.
---@return table? options {policy, command, keep, debug} or {help = true}
---@return string? message
function run.parse(args)
  local options = { keep = {} }
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

local function fail(ctx, message)
  ctx.err("srt-lua: " .. message .. "\n")
  return FAILED
end

local function debug_plan(say, plan, loaded)
  for _, note in ipairs(loaded.profile.notes) do say("note: " .. note) end
  require("srt.plan_text").each(plan, say)
end

-- What the proxy asks: the network decisions, with callbacks in the box.
local function start_proxy(loaded, listeners, say)
  local net = require("srt.decide_net")
  local decider = net.compile(loaded.profile)
  local box = loaded.box
  local function call(fn, kind, subject) return box:call(fn, kind, subject) end
  local proxy, message = require("srt.c.proxy").new {
    decide = function(question)
      local decision
      if question.kind == "connect" then
        decision = decider:connect(question.host, question.port, "connect", call)
      else
        question.scheme, question.protocol = "http", "http"
        decision = decider:request(question, call)
      end
      if say then
        say(("%s %s:%d: %s%s"):format(question.method or "CONNECT", question.host, question.port, decision.action,
          decision.reason and ": " .. decision.reason or ""))
        if decision.detail then say(decision.detail) end
      end
      return net.wire(decision)
    end,
    checkAddress = function(host, port, address) return (decider:address(host, port, address)) end,
    log = say,
    limits = loaded.profile.limits,
  }
  if not proxy then return nil, "the proxy can't start: " .. message end
  for _, fd in ipairs(listeners) do
    local ok, why = proxy:listen(fd)
    if not ok then return nil, "the proxy can't listen: " .. why end
  end
  return proxy
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

-- Everything that must be known before the sandbox is built.
local function plan_of(ctx, options, facts, temp, plan)
  local loaded, problems = require("srt.session").load(facts, options.policy, { tempDir = temp })
  if not loaded then return nil, require("srt.report").text(problems, ctx.tty) end
  for _, warning in ipairs(loaded.profile.warnings) do
    ctx.err("srt-lua: warning: " .. require("srt.report").plain(warning) .. "\n")
  end
  local ok, message = require("backends.namespaces").compile(loaded.profile, loaded.rules, {
    cwd = facts.cwd, env = facts.env, tempDir = temp, features = facts.features, keepFds = options.keep }, plan)
  message = not ok and message or require("srt.descriptors").check(options.keep, loaded.rules, plan)
  if message then return nil, "srt-lua: " .. message .. "\n" end
  plan.argv = options.command
  return loaded
end

local function execute(ctx, options, sandbox, loaded, plan, say)
  local ok, message = sandbox:start(plan)
  if not ok then return fail(ctx, message) end
  local proxy
  local listeners = sandbox:listeners()
  if #listeners > 0 then
    proxy, message = start_proxy(loaded, listeners, say)
    if not proxy then return fail(ctx, message) end
  end
  collectgarbage("restart")
  local kind, value = sandbox:run()
  if proxy then proxy:close() end
  return status_of(ctx, options.command[1], kind, value)
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
  message = require("srt.descriptors").absent(options.keep)
  if message then return fail(ctx, message) end
  local plan = {}
  local sandbox, facts, temp
  facts, message = require("srt.session").facts(ctx.program)
  if not facts then return fail(ctx, message) end
  temp, message = require("srt.session").tempDir(facts)
  if not temp then return fail(ctx, message) end
  require("backends.namespaces").ids(plan)
  sandbox, message = require("srt.c.sandbox").prepare(plan)
  if not sandbox then return fail(ctx, message) end
  local loaded, text = plan_of(ctx, options, facts, temp, plan)
  if not loaded then
    sandbox:close()
    ctx.err(text)
    return FAILED
  end
  local say
  if options.debug then
    say = function(line) ctx.err("srt-lua: debug: " .. require("srt.report").plain(line) .. "\n") end
    debug_plan(say, plan, loaded)
  end
  local status = execute(ctx, options, sandbox, loaded, plan, say)
  sandbox:close()
  return status
end

return run
