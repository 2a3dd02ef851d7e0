-- SPDX-License-Identifier: Apache-2.0
-- What srt-lua exec and a session say to each other before the command runs; the other side is srt.session_ops.
local channel = require "srt.c.channel"
local pack = require "srt.pack"
local sys = require "srt.c.sys"

local joining = {}

local PATIENCE = 30 -- seconds for the session to answer
local MOST_FDS = 16 -- in a message
local HUNG_UP = "it hangs up: it hears nobody who is in a sandbox, or under more filters of system calls (seccomp) "
  .. "than itself; start both from the same place"

joining.MOST_LINE = 16 << 20

---Finds a session and connects to it.
---@param session string its name or path, as the user gave it
---@param cwd string
---@return integer|nil fd
---@return string|nil message
---@return table|nil env
function joining.connect(session, cwd)
  local env = sys.environ()
  local home = env.HOME
  if not home or home:sub(1, 1) ~= "/" then home = sys.homeof() end
  local path, why = require("srt.session_place").find({ env = env, home = home, cwd = cwd }, session)
  if not path then return nil, why end
  -- Of a failure: its message and name.
  local fd, uid, pid = channel.connect(path, PATIENCE)
  if not fd then
    local lost = pid == "ECONNREFUSED" and "nobody listens there any more" or uid
    return nil, ("the session %s can't be reached: %s"):format(session, lost)
  elseif uid ~= sys.ids() then
    return nil, ("the session at %s is another user's"):format(path)
  elseif not require("srt.peer").outside(fd, pid, uid) then
    -- It would be told our environment, and say what the sandbox is to be.
    return nil, ("whoever listens at %s is in a sandbox, or can't be told from one that is"):format(path)
  end
  return fd, nil, env
end

---One answer: a line.
---@param fd integer
---@return table|nil answer
---@return integer[]|string fds that came with it; or why there is none
function joining.hear(fd)
  local fds, answer = {}, nil
  local lines = require("srt.lines").new(joining.MOST_LINE, function(line)
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

---What a session is asked to make a plan of.
---@param options table of the command line
---@param cwd string
---@param env table
---@param identity table of srt.c.sandbox
---@param version string ours
---@param bare string|true|nil the sandbox has no namespaces; or why they can't be had
---@return table
function joining.request(options, cwd, env, identity, version, bare)
  local infos, ns = {}, {}
  for _, fd in ipairs(table.move(options.keep, 1, #options.keep, 4, { 0, 1, 2 })) do infos[fd] = sys.fdinfo(fd) end
  for _, kind in ipairs { "mnt", "user" } do ns[kind] = sys.readlink("/proc/self/ns/" .. kind) end
  return { version = version, cwd = cwd, env = env, argv = options.command, id = options.commandId,
    text = options.commandText, keep = options.keep, publish = options.publish,
    terminal = require("srt.bubblewrap").terminal(), infos = infos, ns = ns, identity = identity,
    report = options.report, annotate = options.annotate, lists = options.lists,
    bare = bare ~= nil, why = type(bare) == "string" and bare or nil }
end

---What the session has the command run with.
---@param fd integer
---@param request table
---@return table|nil joined
---@return string? message
---@return boolean? bare it may be asked for a plan without namespaces
function joining.join(fd, request)
  local tidy = require("srt.c.tidy")
  local memory, why = channel.memory(pack.encode(request))
  if not memory then return nil, why end
  local ok
  ok, why = channel.say(fd, '{"op":"join"}\n', { memory })
  tidy.close(memory)
  if not ok then return nil, HUNG_UP .. ": " .. why end
  local answer, fds = joining.hear(fd)
  if not answer then return nil, HUNG_UP end
  if not answer.ok then return nil, tostring(answer.error), answer.bare == true end
  local bytes
  if fds[1] then bytes, why = channel.bytes(fds[1]) end
  for _, one in ipairs(fds) do tidy.close(one) end
  if not bytes then return nil, why or "it handed over no plan" end
  return pack.decode(bytes)
end

---Hands the listeners over: they are the session's alone from then on. But those on the host's loopback are kept: or
---else, when the session dies, the command's agent would lead it to whoever takes the port.
---@param fd integer
---@param sandbox userdata
---@param bare boolean
---@return boolean? ok
---@return string? message
---@return integer[] kept
function joining.hand_over(fd, sandbox, bare)
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

return joining
