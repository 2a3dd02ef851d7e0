-- SPDX-License-Identifier: Apache-2.0
-- srt-lua exec: a command in a session. The sandbox is made here; the session says what it is to be, and serves the
-- network that leads out of it.
local channel = require "srt.c.channel"
local joining = require "srt.joining"
local run_options = require "srt.run_options"
local sys = require "srt.c.sys"

local exec = {}

exec.USAGE = [[
usage: srt-lua exec --session SESSION [OPTION…] [-c STRING | [--] COMMAND ARG…]

Runs COMMAND under the policy of a session that srt-lua session keeps up.

  --session SESSION
                 its name, or the path of its socket
  --id ID        what violations of this command are found by
  --lists        refuse to run where the session has forgotten the command's own lists of hosts
  --command-text TEXT
                 what they are reported under
  -c STRING      run STRING with /bin/sh -c
  -p [ADDR:][HOST_PORT:]PORT
                 lead a port of the host to PORT inside, besides the policy's publishPorts
  --keep-fd N    let the command have descriptor N as well (may be repeated)
  --report HOW   tell on standard error at the end what was denied: text (the default), json, none
  --annotate     at the end, print what was denied in a <sandbox_violations> block

The exit status is the command's; 128+N when signal N ended it; 125 for a failure of srt-lua
itself, 126 for a command that can't be executed, 127 for one that is not found.
]]

local FAILED = 125

local KNOWN = {
  valued = {
    ["--session"] = function(options, value) options.session = value end,
    ["--id"] = function(options, value) options.commandId = value end,
  },
  flags = { ["--annotate"] = "annotate", ["--lists"] = "lists" },
}
for _, name in ipairs { "-c", "-p", "--keep-fd", "--report", "--command-text" } do
  KNOWN.valued[name] = run_options.valued[name]
end

local function parse(args)
  local options, message = run_options.read(args, { keep = {}, publish = {} }, KNOWN)
  if not options or options.help then return options, message end
  if not options.session then return nil, "no session given (--session)" end
  if not options.command or not options.command[1] then return nil, "no command given" end
  return options
end

local function fail(ctx, message)
  ctx.err(require("srt.report").ours(message))
  return FAILED
end

-- What the policy wants to know of the user.
local function asker(sandbox, send)
  local question = require "srt.c.question"
  return question.asker(sandbox, function(number, how, choice)
    send { op = "answer", n = number, how = question.HOW[how], choice = choice }
  end)
end

-- A proxy that has no way out.
local function closed_proxy(why)
  return require("srt.c.proxy").new {
    decide = function() return { allow = false, reason = why } end,
    checkAddress = function() return why end,
  }
end

-- Does what the session asks for while the command runs. kept: listeners that are served here when it has died
local function serve(fd, sandbox, plan, kept)
  local json = require "srt.json"
  local talk, message, asks
  local function send(fields) talk:send(json.encode(fields, true) .. "\n") end
  local on = {
    lead = function()
      require("srt.c.redirect").lead(sandbox, function(error) send { op = "led", error = error } end)
    end,
    question = function(q)
      asks = asks or asker(sandbox, send)
      asks:ask(q.n, q.text, q.ms, q.yes, q.choices)
    end,
  }
  local lines = require("srt.lines").new(joining.MOST_LINE, function(line)
    local said = line and json.decode(line)
    local act = said and on[said.event]
    if act then act(said) end
  end)
  talk, message = channel.open(fd, function(text)
    if text then return lines:add(text) end
    local proxy = kept[1] and closed_proxy "the session has ended"
    for _, listener in ipairs(proxy and kept or {}) do proxy:listen(listener) end
  end)
  if not talk then return nil, message end
  if plan.watch then
    require("srt.c.watch").relay(sandbox, function(socket, view)
      local tidy, fds = require("srt.c.tidy"), { socket, view >= 0 and view or nil }
      talk:send(('{"op":"watch","view":%s}\n'):format(tostring(view >= 0)), fds)
      for _, one in ipairs(fds) do tidy.close(one) end
    end)
  end
  return talk
end

-- When nothing of the run lives any more; what the session has to tell of it.
local function finish(ctx, fd, handle, folders, unreached)
  require("srt.c.tidy").close(handle.fd)
  -- Of what the command has left the session is told, as nobody else.
  local record = require("srt.state_files").read(handle.path)
  record.path = handle.path
  local lines, denied = require("srt.aftermath").close(handle.path, record)
  for _, line in ipairs(lines) do ctx.err(require("srt.report").ours(line)) end
  require("srt.state").leave(folders, handle.folder)
  local json = require("srt.json")
  local ok = fd and channel.say(fd, json.encode({ op = "ended", tty = ctx.tty, unreached = unreached,
    denied = setmetatable(denied or {}, { __jsontype = "array" }) }, true) .. "\n")
  local answer = ok and joining.hear(fd)
  if answer and answer.ok then return ctx.err(answer.text) end
  ctx.err(require("srt.report").ours("the session has ended before the command: what was denied is not known here"))
end

-- Leads ports of the host to servers inside: the way in is this process's, by a proxy that has no way out.
local function publish(plan, published, sandbox)
  local proxy, why = closed_proxy "no way out"
  return not proxy and why or require("srt.publish").start(plan.publish, published, sandbox, proxy)
end

-- The status, what was unreached, and the connection; or nil and why namespaces can't be had.
local function execute(ctx, options, fd, sandbox, joined)
  local plan = joined.plan
  local published, ok, why, unavailable, kept
  local bare = plan.backend == "landlock"
  -- Without namespaces a server inside has the host's port itself.
  if plan.publish[1] and not bare then
    published, why = require("srt.publish").listen(plan.publish)
    if not published then return fail(ctx, why), nil, fd end
  end
  plan.waits = published ~= nil
  ok, why, unavailable = sandbox:start(plan)
  if ok and not plan.waits then sandbox:release() end
  if ok then ok, why, unavailable = sandbox:await() end
  if unavailable and joined.weaker and not bare then
    require("srt.publish").close(published)
    return nil, why, fd
  end
  if not ok then return fail(ctx, unavailable and why .. joined.cure or why), nil, fd end
  why = published and publish(plan, published, sandbox)
  if why then return fail(ctx, why), nil, fd end
  ok, why, kept = joining.hand_over(fd, sandbox, bare)
  if not ok then return fail(ctx, "the session is lost: " .. why) end
  local talk
  talk, why = serve(fd, sandbox, plan, kept)
  if not talk then return fail(ctx, "the session is lost: " .. why) end
  local kind, value, notices, unreached = sandbox:run()
  for _, line in ipairs((notices[1] or notices.more) and require("srt.report").replaced(notices) or {}) do
    ctx.err(require("srt.report").ours("warning: " .. line))
  end
  return require("srt.run_status").of(ctx, options.command[1], kind, value), unreached, talk:release()
end

-- With one sandbox: the status; or nil and why namespaces can't be had, where the policy agrees to do without.
local function attempt(ctx, options, cwd, sandbox, bare)
  local fd, why, env = joining.connect(options.session, cwd)
  if not fd then return fail(ctx, why) end
  local identity, joined, weaker
  identity, why = sandbox:identity()
  if not identity then
    require("srt.c.tidy").close(fd)
    return fail(ctx, why)
  end
  joined, why, weaker = joining.join(fd, joining.request(options, cwd, env, identity, ctx.program.version, bare))
  if not joined then
    require("srt.c.tidy").close(fd)
    if weaker and not bare then return nil, true end
    return fail(ctx, "the session refuses the command: " .. why)
  end
  for _, line in ipairs(joined.told) do ctx.err(require("srt.report").ours("warning: " .. line)) end
  local handle
  handle, why = require("srt.state").create(joined.folders, joined.state)
  if not handle then return fail(ctx, why) end
  joined.plan.state = handle.path
  local status, unreached, still = execute(ctx, options, fd, sandbox, joined)
  sandbox:close()
  finish(ctx, still, handle, joined.folders, status and unreached or nil)
  if not status then require("srt.c.tidy").close(fd) end
  return status, unreached
end

local function start(ctx, options)
  local begin = require("srt.c.sandbox").begin
  local sandbox, why = begin()
  if not sandbox then return fail(ctx, why) end
  local cwd
  cwd, why = sys.cwd()
  if not cwd then return fail(ctx, "the working directory can't be found: " .. why) end
  why = options.keep[1] and require("srt.descriptors").absent(options.keep) or nil
  if why then return fail(ctx, why) end
  local status
  status, why = attempt(ctx, options, cwd, sandbox)
  sandbox:close()
  if status then return status end
  local bare = why
  sandbox, why = begin(true)
  if not sandbox then return fail(ctx, why) end
  status = attempt(ctx, options, cwd, sandbox, bare)
  sandbox:close()
  return status
end

--- Runs a command in a session.
---@param args string[] what follows "exec"
---@param ctx table {program, out, err, tty}
---@return integer exit status
function exec.main(args, ctx)
  local options, message = parse(args)
  return require("srt.report").answered(ctx, "srt-lua exec", exec.USAGE, options, message)
    or start(ctx, options)
end

return exec
