-- SPDX-License-Identifier: Apache-2.0
-- What the agent inside observes, judged: only what the policy denies becomes a violation.
--
-- The agent tells of what is likely denied (core/watch_calls.c), by paths that a command can change at any time. Nothing
-- is decided here: mounts and filters hold the policy, this says why.
local answers = require "srt.answers"
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local observe = {}

local READ, WRITE = "filesystem.allowRead", "filesystem.allowWrite"

---What is observed in a run: observe, as the policy has it.
---@param profile table
---@return {reads: boolean, needed: boolean}|nil watch as a plan has it
---@return string|nil message why what the policy asks for can't be held
function observe.of(profile)
  local mode, given = profile.observe.mode, profile.observe.given
  if mode == "none" then return nil end
  if profile.nested then
    -- One program in a tree of processes can be notified; a container's may want to.
    return nil, given and ("observe = %q can't be held with allowNestedUserNamespaces: in a namespace of its own a "
      .. "command can give a folder another path; leave out one of them"):format(mode) or nil
  end
  return { reads = mode == "all", needed = given }
end

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

local function call_event(message)
  local kind, target, reason = table.unpack(CALLS[message.text] or MOUNT, 1, 3)
  local event = { kind = kind, target = target and target(message) or message.text, reason = reason }
  if event.target == "socket(AF_UNIX)" then
    event.reason = "no Unix socket can be made without network.allowUnixSockets"
  elseif event.target:find("(AF_INET", 1, true) or event.target == "socket(AF_UNIX)" then
    event.reason = "sockets of this type can't be made"
  end
  return event
end

-- Would the caller's own permissions allow it? What they don't, no policy can give.
local function permitted(action, answer)
  if action == "read" then return true end
  local st = sys.lstat(answer.real)
  if action == "chmod" then return st ~= nil and (st.uid == sys.ids() or sys.writable(answer.real)) end
  if action == "write" and st then return sys.writable(answer.real) end
  return sys.writable(paths.parent(answer.real))
end

local function rule_text(rule)
  if rule.builtin then return rule.builtin end
  return rule.origin and rule.origin.key and ("%s: %s"):format(rule.origin.key, rule.given) or rule.given
end

-- What would allow it: what is not there can't be named, and folders that hold everything should not be.
local function opener(answer)
  if sys.lstat(answer.real) then return answer.real end
  local folder = paths.parent(answer.real)
  return folder:find("^/[^/]+/") and folder ~= sys.homeof() and sys.lstat(folder) and folder or nil
end

local function advice(action, answer)
  if answer.rule == answers.UNWRITABLE then
    local path = opener(answer)
    return path and ("add %q to %s"):format(path, WRITE)
  end
  if action == "read" and not answer.rule.builtin and answer.rule.origin and answer.rule.origin.key then
    return ("add %q to %s"):format(answer.real, READ)
  end
end

local function path_event(judge, message)
  local answer = judge:ask(message.action, message.text)
  if answer.decision ~= "deny" or not permitted(message.action, answer) then return nil end
  local rule = answer.rule
  local reading = message.action == "read"
  return { kind = reading and "read" or "write", target = answer.real, rule = rule_text(rule),
    reason = ("%s%s"):format(reading and "reading is denied" or message.action .. " is denied",
      answer.errno and " (" .. answer.errno .. ")" or ""),
    origin = not rule.builtin and rule.origin and require("srt.source").where(rule.origin) or nil,
    advice = advice(message.action, answer) }
end

---Begins to listen to the agent of a plan with a watch; before sandbox:run().
---@param loaded srt.session
---@param plan table
---@param sandbox userdata
---@param add fun(event: table) told each violation, as of violations.lua
---@param say nil|fun(line: string)
---@return table watcher with :close(), and `lost`: how many were too many to be told of
function observe.start(loaded, plan, sandbox, add, say)
  local self, judge = { lost = 0 }, nil
  local handle = require("srt.c.watch").start(sandbox, function(message)
    if message.kind == "lost" then
      self.lost = self.lost + message.args[1]
      return
    end
    judge = judge or message.kind == "path" and require("srt.judge").new(loaded.rules, plan)
    local event = message.kind == "path" and path_event(judge, message)
      or message.kind == "call" and call_event(message) or nil
    if not event then return end
    event.pid, event.exe = message.pid, message.exe
    if say then say(("observed: %s %s: %s, by %s (pid %d)"):format(event.kind, event.target, event.rule
      or event.reason, event.exe or "?", event.pid)) end
    add(event)
  end)
  function self.close()
    handle:close()
    if say and self.lost > 0 then say(("observed: %d more, too many to be told of"):format(self.lost)) end
  end
  return self
end

return observe
