-- SPDX-License-Identifier: Apache-2.0
-- A run on macOS: what has to be there before the profile is (ports, token, folder), and what the system's log tells.
local sys = require "srt.c.sys"

local seatbelt_run = {}

local LISTENS = { "http", "socks" }

-- Listeners on the host's loopback, for what no proxy of the user's own serves; descriptors and ports by purpose.
local function listen(profile)
  local ports, listeners = {}, {}
  for _, purpose in ipairs(profile.network.enabled and LISTENS or {}) do
    ports[purpose] = profile.network.ports[purpose]
    if not ports[purpose] then
      local fd, port = require("srt.c.publish").listen("127.0.0.1", 0)
      if not fd then return nil, "the proxy can't listen on 127.0.0.1: " .. port end
      ports[purpose], listeners[purpose] = port, fd
    end
  end
  return ports, listeners
end

-- The proxy serves what is listened on here; the rest is the user's.
local function served(plan, listeners)
  local points, fds = {}, {}
  for _, point in ipairs(plan.listen) do
    if listeners[point.purpose] then
      points[#points + 1], fds[#fds + 1] = point, listeners[point.purpose]
    end
  end
  plan.listen, plan.listeners = points, fds
end

---The plan of a run.
---@param options table of srt.planning
---@param loaded srt.session with facts, temp
---@return table|nil plan
---@return string|nil message
function seatbelt_run.plan(options, loaded)
  local facts, profile, sandbox = loaded.facts, loaded.profile, require "srt.c.sandbox"
  if options.publish[1] then
    return nil, "-p publishes nothing on macOS, where there is one network: network.allowLocalBinding lets "
      .. "servers listen"
  end
  local ports, listeners = listen(profile)
  if not ports then return nil, listeners end
  local plan = require("backends.seatbelt").compile(profile, loaded.rules, { env = facts.env, ports = ports,
    tag = "srt-lua-" .. assert(sys.random(8)), tempDir = loaded.temp, bundles = loaded.bundles,
    binary = function() return sys.realpath(sandbox.program() or "") end,
    token = next(listeners) and assert(sys.random(32)) or nil })
  if profile.strict and plan.notHeld[1] then
    return nil, "strict = true: nothing was run, since macOS does not hold all of the policy: "
      .. table.concat(plan.notHeld, "; ")
  end
  served(plan, listeners)
  plan.exec = table.move(plan.argv, 2, #plan.argv, 2, { sandbox.EXEC })
  plan.exec[#plan.exec + 1] = "--"
  table.move(options.command, 1, #options.command, #plan.exec + 1, plan.exec)
  plan.argv, plan.keepFds, plan.tempDir = options.command, options.keep, loaded.temp
  plan.publish, plan.placeholders = {}, {}
  return plan
end

local function write_files(plan)
  local tidy = require "srt.c.tidy"
  local ok, message = tidy.mkdir(plan.files.folder)
  for _, file in ipairs(plan.files) do
    if ok then ok, message = tidy.put(plan.files.folder .. "/" .. file.name, file.content, 292) end -- 0444: read-only
  end
  return ok, message
end

---Makes what the command finds on the host; the state file names it.
---@param plan table
---@return string|nil message
function seatbelt_run.make(plan)
  local ok, message = require("srt.c.tidy").mkdir(plan.tempDir)
  if ok and plan.files then ok, message = write_files(plan) end
  return not ok and ("the temporary directory %s can't be made: %s"):format(plan.tempDir, message) or nil
end

---Is the command missing? sandbox-exec would tell only by a status of its own.
---@param plan table
---@return boolean
function seatbelt_run.missing(plan)
  local command = plan.argv[1]
  if command:find("/", 1, true) then return sys.stat(command) == nil end
  local path
  for _, variable in ipairs(plan.env) do path = path or variable:match("^PATH=(.*)") end
  for folder in (path or "/usr/bin:/bin:/usr/sbin:/sbin"):gmatch("[^:]*") do
    if sys.stat((folder == "" and "." or folder) .. "/" .. command) then return false end
  end
  return true
end

---Reads the system's log while the command runs.
---@param plan table
---@param add fun(event: table)
---@param say fun(line: string) for warnings
---@return table|nil log with close(); nil where it can't be read, which is told
function seatbelt_run.log(plan, add, say)
  local sandbox = require "srt.c.sandbox"
  local fd, pid = sandbox.reader { sandbox.LOG, "stream", "--style", "ndjson", "--predicate",
    ('eventMessage ENDSWITH "%s"'):format(plan.tag) }
  if not fd then
    say("what macOS denies is not told: its log can't be read: " .. pid)
    return nil
  end
  local reader = require("srt.seatbelt_log").new(plan.tag, add)
  local feed = require("srt.c.feed").read(fd, function(data)
    if data then reader:feed(data) end
  end)
  return { close = function()
    -- The log is a little behind.
    sandbox.finish(pid, 250)
    if feed then feed:close() end
  end }
end

return seatbelt_run
