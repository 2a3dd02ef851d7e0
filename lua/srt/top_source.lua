-- SPDX-License-Identifier: Apache-2.0
-- What srt-lua top looks at: the runs of this user that go on, and what they decide.
local sys = require("srt.c.sys")
local tidy = require("srt.c.tidy")

local top_source = {}

local TRIES = 20

local Source = {}
Source.__index = Source

-- Who hold files by flock(2): inode → pids.
local function holders()
  local by, locks = {}, sys.readfile("/proc/locks", 16 << 20) or ""
  for pid, inode in locks:gmatch("FLOCK%s+ADVISORY%s+%u+%s+(%d+)%s+%x+:%x+:(%d+)") do
    inode = math.tointeger(tonumber(inode))
    by[inode] = by[inode] or {}
    table.insert(by[inode], math.tointeger(tonumber(pid)))
  end
  return by
end

-- The one that the others of a run come from.
local function first(pids)
  local found, began
  for _, pid in ipairs(pids) do
    local stat = sys.readfile(("/proc/%d/stat"):format(pid), 65536)
    -- Field 22, counted from behind the name, which may be anything.
    local time = stat and tonumber(stat:match("^.*%)" .. (" %S+"):rep(19) .. " (%d+)"))
    if time and (not found or time < began or time == began and pid < found) then found, began = pid, time end
  end
  return found
end

local function command_of(pid)
  local words = {}
  for word in (sys.readfile(("/proc/%d/cmdline"):format(pid), 1 << 20) or ""):gmatch("(%Z+)") do
    words[#words + 1] = word
  end
  words[1] = words[1] and words[1]:match("[^/]*$")
  return table.concat(words, " ")
end

---The runs that go on, by their ids.
---@return table<string, {id: string, pid: integer, command: string}>
function Source:runs()
  local runs, by = {}, nil
  for _, name in ipairs(sys.readdir(self.folder) or {}) do
    local id = name:match("^(%x+)%.run$")
    local st = id and sys.lstat(self.folder .. "/" .. name)
    if st then
      by = by or holders()
      -- One that was killed has a state file until the next run.
      local pid = first(by[st.ino] or {})
      if pid then
        id = id:sub(1, 8)
        runs[id] = { id = id, pid = pid, command = command_of(pid) }
      end
    end
  end
  return runs
end

---What was decided since the last time.
---@param take fun(v: table) an event, as a line of the log has it
function Source:events(take)
  local log = self.tail
  if not log.handle and not log:open(self.live) then return end
  log:follow(function(lines)
    for _, line in ipairs(lines) do
      local v = require("srt.json").decode(line)
      if type(v) == "table" and type(v.kind) == "string" and type(v.target) == "string" then take(v) end
    end
  end)
end

---Nothing is decided for us from now on.
function Source:close()
  tidy.close(self.fd)
  require("srt.decision_log").forget(self.folder)
end

-- A run that finds the file without a holder takes it away, so the first try may fail.
local function hold(path)
  local fd, message, code
  for _ = 1, TRIES do
    fd, message, code = tidy.create(path, "")
    if not fd and code == "EEXIST" then fd, message = tidy.hold(path) end
    if fd then return fd end
    sys.sleep(0.01)
  end
  return nil, message
end

---Begins to look.
---@param facts table of srt.session
---@return table|nil source
---@return string|nil message
function top_source.open(facts)
  local state = require("srt.state")
  local temp = require("srt.session").tempDir(facts)
  local folders = state.folders(facts, temp and require("srt.paths").parent(temp))
  local folder = state.prepare(folders)
  if not folder then return nil, "there is no folder for the state of runs: " .. table.concat(folders, ", ") end
  local _, told = require("srt.violation_file").path(folder)
  require("srt.c.tidy").mkdir(told)
  local looker, live = require("srt.decision_log").places(folder)
  require("srt.decision_log").forget(folder)
  local fd, message = hold(looker)
  if not fd then return nil, looker .. " can't be held: " .. message end
  return setmetatable({ folder = folder, live = live, fd = fd, tail = require("srt.tail").new() }, Source)
end

return top_source
