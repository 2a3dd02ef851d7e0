-- SPDX-License-Identifier: Apache-2.0
-- What the agent inside observes, judged: only what the policy denies becomes a violation. What it asks, answered.
--
-- The agent tells of what is likely denied (core/watch_calls.c), by paths that a command can change at any time. To
-- tell decides nothing: mounts and filters hold the policy, this says why. A file that is granted is opened by the host
-- process, by the path that was judged, and given to the caller as it is.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local observe = {}

local FAMILIES = { [0] = "AF_UNSPEC", [1] = "AF_UNIX", [2] = "AF_INET", [10] = "AF_INET6", [16] = "AF_NETLINK",
  [17] = "AF_PACKET", [29] = "AF_CAN", [31] = "AF_BLUETOOTH", [38] = "AF_ALG", [40] = "AF_VSOCK", [44] = "AF_XDP" }
local NAMESPACES = { { 0x20000, "NEWNS" }, { 0x2000000, "NEWCGROUP" }, { 0x4000000, "NEWUTS" },
  { 0x8000000, "NEWIPC" }, { 0x10000000, "NEWUSER" }, { 0x20000000, "NEWPID" }, { 0x40000000, "NEWNET" },
  { 0x80, "NEWTIME" } }

local function socket_text(message)
  local family = message.args[1] & 0xffffffff
  return ("%s(%s)"):format(message.text, FAMILIES[family] or ("family %d"):format(family))
end

local function namespace_text(message)
  local names = {}
  for _, row in ipairs(NAMESPACES) do
    local counts = row[1] ~= 0x80 or message.text == "unshare" -- in clone(2) it is part of a signal
    if counts and message.args[1] & row[1] ~= 0 then names[#names + 1] = "CLONE_" .. row[2] end
  end
  return ("%s(%s)"):format(message.text, table.concat(names, "|"))
end

-- The calls that are refused by their name or registers: kind, target, reason. All others concern mounts.
local CALLS = {
  socket = { "socket", socket_text, "only IPv4, IPv6 and route netlink sockets can be made" },
  socketpair = { "socket", socket_text, "only pairs of stream sockets can be made" },
  clone = { "namespace", namespace_text, "no namespaces can be made without allowNestedUserNamespaces" },
  unshare = { "namespace", namespace_text, "no namespaces can be made without allowNestedUserNamespaces" },
  setns = { "namespace", nil, "no namespace can be entered" },
}
local MOUNT = { "mount", nil, "nothing can be mounted without allowNestedUserNamespaces" }

local TYPES = { [2] = "datagram sockets", [3] = "raw sockets", [5] = "sockets of packets (SOCK_SEQPACKET)" }

-- unix: may the command reach Unix sockets by their paths?
local function call_event(message, unix)
  local kind, target, reason = table.unpack(CALLS[message.text] or MOUNT, 1, 3)
  local event = { kind = kind, target = target and target(message) or message.text, reason = reason }
  if event.target == "socket(AF_UNIX)" then
    local what = unix and TYPES[message.args[2] & 0xf]
    event.reason = what and ("no Unix %s can be made, only stream sockets"):format(what)
      or unix and "no Unix socket of this type can be made"
      or "no Unix socket can be made without network.allowUnixSockets"
  elseif event.target:find("(AF_INET", 1, true) then
    event.reason = "sockets of this type can't be made"
  end
  return event
end

-- Would the caller's own permissions allow it? What they don't, no policy can give.
local function permitted(action, answer, placeholders)
  if action == "read" then return true end
  -- Of a name that is held nothing is there outside.
  if placeholders[answer.real] then return sys.writable(paths.parent(answer.real)) end
  local st = sys.lstat(answer.real)
  if action == "chmod" then return st ~= nil and (st.uid == sys.ids() or sys.writable(answer.real)) end
  if action == "write" and st then return sys.writable(answer.real) end
  return sys.writable(paths.parent(answer.real))
end

local function rule_text(rule)
  if rule.builtin then return rule.builtin end
  return rule.origin and rule.origin.key and ("%s: %s"):format(rule.origin.key, rule.given) or rule.given
end

local function path_event(self, message, answer, denied)
  local rule, reading = answer.rule, message.action == "read"
  local event = denied
  if not event then
    local advice, why = require("srt.advice").of(message.action, answer,
      self.loaded.profile.filesystem)
    event = { rule = rule_text(rule), advice = advice, reason = ("%s is denied%s%s"):format(
      reading and "reading" or message.action, answer.errno and " (" .. answer.errno .. ")" or "",
      why and "; " .. why or ""),
      origin = not rule.builtin and rule.origin and require("srt.source").where(rule.origin) or nil }
  end
  event.kind, event.target = reading and "read" or "write", answer.real
  return event
end

-- What the agent did not make. Beyond names it looks at what a folder would bring along, which no path alone says.
local function name_event(self, message, answer)
  if answer.decision == "deny" then return path_event(self, message, answer) end
  return { kind = "write", target = message.text, rule = "filesystem.createGuard",
    reason = "it would be, or bring along, a name that may not be made there" }
end

local function unix_event(message, answer)
  local event = { kind = "connect", target = "unix:" .. message.text, rule = "network.allowUnixSockets" }
  if not answer then
    event.reason = "only stream sockets, and of abstract names those of the sandbox, can be connected to"
  elseif answer.decision == "deny" and answer.rule.builtin then
    event.reason, event.advice = answer.rule.builtin, ("add %q to network.allowUnixSockets"):format(message.text)
  elseif answer.decision == "deny" then
    event.reason, event.origin = answer.why, answer.rule.origin and require("srt.source").where(answer.rule.origin)
  end
  event.reason = event.reason or "it is not the socket that was there when the run began"
  return event
end

-- What did not go to a proxy, which would have asked.
local function inet_event(self, message)
  if self.loaded.profile.network.enabled then
    return { kind = "connect", target = message.text, rule = "network.transparent",
      reason = "it did not go to the proxy, and " .. (self.plan.backend == "landlock" and "the backend landlock"
        or "network.transparent = false") .. " leads nothing there" }
  end
  local host, port = message.text:match("^%[?(.-)%]?:(%d+)$")
  self.net = self.net or require("srt.decide_net").compile(self.loaded.profile, {})
  port = math.tointeger(tonumber(port))
  local event = require("srt.denials").decided({ kind = "connect", host = host, port = port },
    self.net:connect(host, port, "transparent"))
  if port == 53 then
    event.reason = "the policy allows no network, so no name is resolved"
    event.advice = "add the host that was asked for to network.allowedDomains: the policy allows no network"
  end
  return event
end

-- So often, at most, was tried what the agent told together (core/watch.c).
local EXACT = 8

-- What the kernel counted, and nobody told: it knows no destinations.
local function unreached_event(self, count)
  for _, told in pairs(self.inet) do count = count - (told < EXACT and told or 2 * told) end
  count = count - self.lost
  if count <= 0 then return nil end
  local how = self.loaded.profile.network.transparent
  return { kind = "connect", target = "(addresses outside)", rule = "network", count = count,
    reason = how and not how.eager
      and "datagrams, or connections to addresses that no name led to: the kernel does not tell which; "
        .. "network.transparent = true leads such connections to the proxy, which tells"
      or "datagrams, which can't leave: the kernel does not tell where they were to go" }
end

local Watcher = {}
observe.methods = Watcher

function Watcher:tell(message, event)
  event.pid, event.exe, event.count = message.pid, message.exe, message.count
  if self.say then
    self.say(("observed: %s %s: %s, by %s (pid %d)"):format(event.kind, event.target, event.rule or event.reason,
      event.exe or "?", event.pid))
    if event.detail then self.say(event.detail) end
  end
  event.detail = nil
  self.add(event)
end

function Watcher:judged(message, action)
  self.judge = self.judge or require("srt.judge").new(self.loaded.rules, self.plan)
  return self.judge:ask(action or message.action, message.text)
end

-- A denial that the policy is asked to report, and that a policy could lift.
function Watcher:denied(message, answer, denied)
  local mode = self.loaded.profile.observe.mode
  if denied or mode == "all" or mode == "writes" and message.action ~= "read" then
    if answer.decision == "deny" and permitted(message.action, answer, self.loaded.rules.placeholders) then
      self:tell(message, path_event(self, message, answer, denied))
    end
  end
end

-- The call waits for it: whatever goes wrong, it is answered, and then by the lists.
function Watcher:asked(message)
  local handle, decider, box = self.handle, self.decider, self.loaded.box
  local mode = message.action
  require("srt.c.task").start(function()
    local worked, answer, granted, why = pcall(function()
      local answer = self:judged(message)
      if not decider:asks(answer, mode) then return answer, false end
      return answer, decider:decide(answer, mode, { pid = message.pid, exe = message.exe }, function(fn, kind, ...)
        return box:call(fn, kind, ...)
      end)
    end)
    local reason
    if worked and granted then
      granted, reason = handle:grant(message.id, answer.real, message.args[1])
      if granted then
        if self.say then self.say(("granted: %s %s"):format(mode, answer.real)) end
        return
      end
      why = { rule = "filesystem.decideOpen", reason = "granted, but it can't be opened: " .. reason }
    end
    handle:leave(message.id)
    if worked then
      self:denied(message, answer, why)
    elseif self.say then
      self.say("decideOpen: " .. tostring(answer))
    end
  end)
end

-- What the agent, or a network without exit, has refused.
function Watcher:refused(message)
  if self.loaded.profile.observe.mode == "none" then return end
  if message.kind == "inet" then
    if not message.text:find("^127%.") then
      self.inet[message.text] = (self.inet[message.text] or 0) + message.count
    end
    return self:tell(message, inet_event(self, message))
  end
  if message.kind == "name" then return self:tell(message, name_event(self, message, self:judged(message))) end
  self:tell(message, unix_event(message, message.action == "read" and self:judged(message, "connect") or nil))
end

function Watcher:take(message)
  if message.kind == "lost" then
    self.lost = math.max(self.lost, message.args[1])
  elseif message.kind == "ask" then
    self:asked(message)
  elseif message.kind == "name" or message.kind == "unix" or message.kind == "inet" then
    self:refused(message)
  elseif message.kind == "call" then
    self:tell(message, call_event(message, self.loaded.profile.unix.allowed[1] ~= nil))
  else
    local learner = self.loaded.learner
    if learner and message.action == "read" then return learner:looked(message.text, message.exe) end
    local answer = self:judged(message)
    if learner and answer.decision == "allow" then return learner:path(message.action, answer.real, message.exe) end
    self:denied(message, answer)
  end
end

---What is left to tell, as Watcher:close of srt.watching.
---@param unreached integer
function Watcher:rest(unreached)
  local event = unreached > 0 and self.loaded.profile.observe.mode ~= "none" and unreached_event(self, unreached)
  if event then self.add(event) end
  if self.say and self.lost > 0 then self.say(("observed: %d more, too many to be told of"):format(self.lost)) end
end

return observe
