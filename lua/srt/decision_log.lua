-- SPDX-License-Identifier: Apache-2.0
-- Who is told of all that is decided in a run, also of what is allowed: the file of `run --log`, and whoever looks on
-- with `srt-lua top`. Both have the lines of the file of violations, with a decision.
--
-- Whoever looks on holds a file by a lock, in the folder that nobody inside may read. While it is there, all runs
-- append to another file beside it. Where nobody looks, that is one look at the clock for a decision, and one for the
-- file in a quarter of a second.
local violation_file = require("srt.violation_file")

local decision_log = {}

local LOOKER, LIVE = "/looking", "/live.jsonl"
local AGAIN = 0.25
local MOST = 256 << 20 -- of one run, in the file that the user named

---Where runs and those who look on meet, in a folder of the state of runs.
---@param folder string
---@return string looker file that is held
---@return string live file of what is decided
function decision_log.places(folder)
  local _, own = violation_file.path(folder)
  return own .. LOOKER, own .. LIVE
end

---Takes both files away, where nobody looks any more.
---@param folder string
---@return boolean gone
function decision_log.forget(folder)
  local tidy = require("srt.c.tidy")
  local looker, live = decision_log.places(folder)
  local fd, _, code = tidy.claim(looker)
  -- One number, which has two names.
  if not fd then return code ~= "EAGAIN" and code ~= "EWOULDBLOCK" end
  tidy.unlink(live)
  tidy.unlink(live .. ".1")
  tidy.unlink(looker)
  tidy.close(fd)
  return true
end

local Log = {}
Log.__index = Log

local function looked_at(self)
  local now = require("srt.c.sys").clock()
  if now < self.next then return self.looker end
  self.next = now + AGAIN
  local there = require("srt.c.sys").lstat((decision_log.places(self.folder)))
  if not there or decision_log.forget(self.folder) then
    if self.looker then self.looker:close() end
    self.looker = nil
  elseif not self.looker then
    local _, live = decision_log.places(self.folder)
    self.looker = violation_file.new { folder = self.folder, name = live, policy = self.policy, most = math.maxinteger,
      say = function() end }
  end
  return self.looker
end

---Is there anybody to tell of what is allowed?
---@return boolean
function Log:wanted()
  return self.file ~= nil or self.folder ~= nil and looked_at(self) ~= nil
end

---@param v table as of srt.violations; one without a decision was denied
function Log:write(v)
  local looker = self.folder and looked_at(self)
  if not self.file and not looker then return end
  local line = {}
  for key, value in pairs(v) do line[key] = value end
  line.decision, line.run = v.decision or "deny", self.run
  if self.file then self.file:write(line) end
  if looker then looker:write(line) end
end

---@param options {path: string?, folder: string?, run: string?, policy: string?, say: fun(line: string)} path: of the
--- file of --log; folder: of the state of runs; run: by what the run is known
---@return table log
function decision_log.new(options)
  local file = options.path and violation_file.new { path = options.path, policy = options.policy, say = options.say,
    most = MOST }
  return setmetatable({ file = file or nil, folder = options.folder, run = options.run, policy = options.policy,
    next = 0 }, Log)
end

return decision_log
