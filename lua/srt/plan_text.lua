-- SPDX-License-Identifier: Apache-2.0
-- A plan in lines that a person can read.
local plan_text = {}

-- It is made when a run starts: a plan that is only looked at has none.
local function size_of(content)
  return #content > 0 and (" (%d bytes)"):format(#content) or ""
end

local function mount_line(step)
  if step.op == "bind" then
    return ("%s %s"):format(step.readOnly and "read-only" or "writable ", step.target)
  elseif step.op == "mask" then
    return ("unreadable %s %s"):format(step.directory and "folder" or "file", step.target)
  elseif step.op == "scaffold" then
    return ("unreadable folder %s, with %d way%s through"):format(step.target, #step.slots,
      #step.slots == 1 and "" or "s")
  elseif step.op == "content" then
    return ("read-only %s, with content of ours%s"):format(step.target, size_of(step.content))
  end
  error("unknown step " .. step.op)
end

local function argument_text(arg)
  if arg.above then return ("arg%d >= 0x%x"):format(arg.index, arg.value) end
  if arg.differs then return ("arg%d != 0x%x"):format(arg.index, arg.value) end
  return ("arg%d & 0x%x == 0x%x"):format(arg.index, arg.mask, arg.value)
end

local function guard_lines(guard, say)
  for _, path in ipairs(guard.paths) do say("never made: " .. path) end
  for _, rule in ipairs(guard.globs) do say("never made: " .. (rule.top == "/" and "" or rule.top) .. rule.pattern) end
  for _, rule in ipairs(guard.names) do
    say(("never made: %s in %s, %s"):format(rule.name, rule.top or "/", rule.depth > 0 and "up to " .. rule.depth
      .. " components down" or "however deep"))
  end
end

local MEANING = { x = "execute", r = "read files", l = "list folders", w = "write files", m = "make and remove",
  i = "use devices" }

local function listen_line(point)
  if point.purpose == "loopback" then
    return ("loopback: %s inside leads to %s"):format(require("srt.loopback").text(point))
  elseif point.purpose == "dns" then
    return ("resolver: %s:%d inside (%s)"):format(point.address, point.port, point.datagrams and "UDP" or "TCP")
  elseif not point.owners then
    return ("proxy: %s:%d inside (%s)"):format(point.address, point.port, point.purpose)
  end
end

local function listen_lines(plan, say)
  for _, point in ipairs(plan.listen) do
    local line = listen_line(point)
    if line then say(line) end
  end
end

local function socket_lines(sockets, say)
  for _, path in ipairs(sockets.paths) do say("unix socket: " .. path) end
  for _, rule in ipairs(sockets.globs) do
    say("unix socket: " .. (rule.top == "/" and "" or rule.top) .. rule.pattern .. ", where it is read-only")
  end
  if not sockets.hidden then say("unix socket: those that a process inside listens on") end
end

local function landlock_lines(plan, say)
  if plan.tempDir then say("temporary directory: " .. plan.tempDir) end
  for _, rule in ipairs(plan.paths) do
    local words = rule.access:gsub(".", function(letter) return ", " .. MEANING[letter] end)
    say(("landlock: %s and all below: %s"):format(rule.path, words:sub(3)))
  end
  say(("landlock: ABI %d; TCP: %s; signals: %s"):format(plan.abi, plan.abi >= 4 and "none" or "by the filter alone",
    plan.scopeSignals and "none leaves the sandbox" or "not held"))
  say(("capabilities: 0x%x"):format(plan.caps))
  if plan.sockets then socket_lines(plan.sockets, say) end
  listen_lines(plan, say)
  if #plan.listen == 0 then say("network: none") end
  for _, text in ipairs(require("srt.backend").lacks(plan)) do say("not held: " .. text) end
end

-- An option a line, with what belongs to it.
local function bwrap_lines(bwrap, say)
  local line
  for _, argument in ipairs(bwrap.argv) do
    if line and argument:sub(1, 2) == "--" then
      say("bwrap: " .. line)
      line = nil
    end
    line = line and line .. " " .. argument or argument
  end
  say("bwrap: " .. line)
end

--- Calls say with each line.
---@param plan table
---@param say fun(line: string)
function plan_text.each(plan, say)
  say("backend: " .. plan.backend)
  if plan.bwrap then bwrap_lines(plan.bwrap, say) end
  say("working directory: " .. plan.cwd)
  if plan.paths then return landlock_lines(plan, say) end
  say(("mount: %s / with all below it, nosuid, nodev"):format(plan.rootReadOnly and "read-only" or "writable "))
  say("mount: the sandbox's own /proc and /dev")
  for _, step in ipairs(plan.mounts) do
    say("mount: " .. mount_line(type(step) == "string" and { op = "mask", target = step } or step))
  end
  for _, file in ipairs(plan.files) do
    say(("file: %s/%s%s"):format(require("backends.namespaces").FILES, file.name, size_of(file.content)))
  end
  for _, path in ipairs(plan.placeholders) do say("placeholder: " .. path) end
  if plan.guard then guard_lines(plan.guard, say) end
  if plan.sockets then socket_lines(plan.sockets, say) end
  if plan.tempDir then say("temporary directory: " .. plan.tempDir) end
  say(plan.landlock and "landlock: writes only beneath " .. table.concat(plan.writable, " ")
    or "landlock: no write layer")
  say("signals: " .. (plan.scopeSignals and "none leaves the sandbox" or "none to the caller's process group"))
  say(("capabilities: 0x%x"):format(plan.caps))
  listen_lines(plan, say)
  if plan.redirect then
    say(("redirect: TCP to anywhere else leads to port %d, %s"):format(plan.redirect.port, plan.redirect.eager
      and "from the start" or "once a name is asked for"))
  end
  if #plan.listen == 0 then say("network: loopback only") end
end

-- By arguments there are very many: a call is one line.
local function agent_lines(notify, say)
  local always, seen = {}, {}
  for _, rule in ipairs(notify) do always[rule.call] = always[rule.call] or #rule.args == 0 end
  for _, rule in ipairs(notify) do
    local call = rule.call
    if not seen[call] then say(("seccomp: %s → the agent%s"):format(call, always[call] and "" or " by arguments")) end
    seen[call] = true
  end
end

--- The seccomp rules, one line each.
function plan_text.seccomp(plan, say)
  agent_lines(plan.notify or {}, say)
  for _, rule in ipairs(plan.seccomp) do
    local args = {}
    for i, arg in ipairs(rule.args) do args[i] = argument_text(arg) end
    say(("seccomp: %s%s → errno %d"):format(rule.call, #args > 0 and "(" .. table.concat(args, ", ") .. ")" or "",
      rule.errno))
  end
end

return plan_text
