-- SPDX-License-Identifier: Apache-2.0
-- srt-lua exec: a command in a session. The sandbox is made here; the session says what it is to be, and serves the
-- network that leads out of it.
local channel = require "srt.c.channel"
local pack = require "srt.pack"
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
local PATIENCE = 30 -- seconds for the session to answer
local MOST_FDS, MOST_LINE = 16, 16 << 20 -- in a message
local HUNG_UP = "it hangs up: it hears nobody who is in a sandbox, or under more filters of system calls (seccomp) "
  .. "than itself; start both from the same place"

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

local function connect(options, cwd)
  local env = sys.environ()
  local home = env.HOME
  if not home or home:sub(1, 1) ~= "/" then home = sys.homeof() end
  local path, why = require("srt.session_place").find({ env = env, home = home, cwd = cwd }, options.session)
  if not path then return nil, why end
  -- Of a failure: its message and name.
  local fd, uid, pid = channel.connect(path, PATIENCE)
  if not fd then
    local lost = pid == "ECONNREFUSED" and "nobody listens there any more" or uid
    return nil, ("the session %s can't be reached: %s"):format(options.session, lost)
  elseif uid ~= sys.ids() then
    return nil, ("the session at %s is another user's"):format(path)
  elseif not require("srt.peer").outside(fd, pid, uid) then
    -- It would be told our environment, and say what the sandbox is to be.
    return nil, ("whoever listens at %s is in a sandbox, or can't be told from one that is"):format(path)
  end
  return fd, nil, env
end

-- One answer: a line, and the descriptors that came with it; or nil and why there is none.
local function hear(fd)
  local fds, answer = {}, nil
  local lines = require("srt.lines").new(MOST_LINE, function(line)
    local said = line and require("srt.json").decode(line) or false
    -- What it asked for meanwhile is no use any more.
    if not (said and said.event) then answer = said end
  end)
  while answer == nil do
    local data, more = channel.hear(fd)
    if not data or data == "" then return nil, data and "it has ended" or more end
    lines:add(data)
    table.move(more, 1, #more, #fds + 1, fds)
  end
  if type(answer) ~= "table" then return { error = "it answered something else" }, fds end
  return answer, fds
end

-- bare: the sandbox has no namespaces; true, or why they can't be had
local function request_of(options, cwd, env, sandbox, version, bare)
  local infos, ns = {}, {}
  for _, fd in ipairs(table.move(options.keep, 1, #options.keep, 4, { 0, 1, 2 })) do infos[fd] = sys.fdinfo(fd) end
  for _, kind in ipairs { "mnt", "user" } do ns[kind] = sys.readlink("/proc/self/ns/" .. kind) end
  return { version = version, cwd = cwd, env = env, argv = options.command, id = options.commandId,
    text = options.commandText, keep = options.keep, publish = options.publish,
    terminal = require("srt.bubblewrap").terminal(), infos = infos, ns = ns, identity = sandbox:identity(),
    report = options.report, annotate = options.annotate, lists = options.lists,
    bare = bare ~= nil, why = type(bare) == "string" and bare or nil }
end

-- What the session has the command run with; or nil, why not, and whether it may be asked for one without namespaces.
local function join(fd, request)
  local tidy = require("srt.c.tidy")
  local memory, why = channel.memory(pack.encode(request))
  if not memory then return nil, why end
  local ok
  ok, why = channel.say(fd, '{"op":"join"}\n', { memory })
  tidy.close(memory)
  if not ok then return nil, HUNG_UP .. ": " .. why end
  local answer, fds = hear(fd)
  if not answer then return nil, HUNG_UP end
  if not answer.ok then return nil, tostring(answer.error), answer.bare == true end
  local bytes
  if fds[1] then bytes, why = channel.bytes(fds[1]) end
  for _, one in ipairs(fds) do tidy.close(one) end
  if not bytes then return nil, why or "it handed over no plan" end
  return pack.decode(bytes)
end

-- Hands the listeners over: they are the session's alone from then on. But those on the host's loopback are kept: or
-- else, when the session dies, the command's agent would lead it to whoever takes the port.
local function hand_over(fd, sandbox, bare)
  local listeners, which, fds = sandbox:listeners(), {}, {}
  local pid = sandbox:pid()
  local function send(last)
    return channel.say(fd, ('{"op":"listeners","which":[%s],"pid":%d,"last":%s}\n'):format(table.concat(which, ","),
      pid, tostring(last)), fds)
  end
  local ok, why, kept = true, nil, {}
  if bare then ok, why = channel.say(fd, '{"op":"origins"}\n', { sandbox:origins() }) end
  for i, listener in ipairs(listeners) do
    if ok and listener >= 0 then
      which[#which + 1], fds[#fds + 1] = i, listener
      if #fds == MOST_FDS then
        ok, why = send(false)
        which, fds = {}, {}
      end
    end
  end
  if ok then ok, why = send(true) end
  for _, listener in ipairs(listeners) do
    if listener >= 0 and bare then kept[#kept + 1] = listener end
    if listener >= 0 and not bare then require("srt.c.tidy").close(listener) end
  end
  return ok, why, kept
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
  local lines = require("srt.lines").new(MOST_LINE, function(line)
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
  local record = require("srt.state").read(handle.path)
  record.path = handle.path
  local lines, denied = require("srt.aftermath").close(handle.path, record)
  for _, line in ipairs(lines) do ctx.err(require("srt.report").ours(line)) end
  require("srt.state").leave(folders, handle.folder)
  local json = require("srt.json")
  local ok = fd and channel.say(fd, json.encode({ op = "ended", tty = ctx.tty, unreached = unreached,
    denied = setmetatable(denied or {}, { __jsontype = "array" }) }, true) .. "\n")
  local answer = ok and hear(fd)
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
    if not published then return fail(ctx, why) end
  end
  ok, why, unavailable = sandbox:start(plan)
  if unavailable and joined.weaker and not bare then return nil, why, fd end
  if not ok then return fail(ctx, why) end
  why = published and publish(plan, published, sandbox)
  if why then return fail(ctx, why) end
  ok, why, kept = hand_over(fd, sandbox, bare)
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
  local fd, why, env = connect(options, cwd)
  if not fd then return fail(ctx, why) end
  local joined, weaker
  joined, why, weaker = join(fd, request_of(options, cwd, env, sandbox, ctx.program.version, bare))
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
