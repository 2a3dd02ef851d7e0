-- SPDX-License-Identifier: Apache-2.0
-- The reports of one run: its store of violations, which is made with the first one, and who is told of them, when.
-- srt.reporting makes it.
local reporter = {}

local Reporter = {}
reporter.methods = Reporter

local EVERYWHERE = "srt-lua violations"

---What a policy says about reports, for check.
---@param reports table of srt.reporting
---@return {what: string, where: string}[]
function reporter.rows(reports)
  local rows, patterns = {}, {}
  for pattern in pairs(reports.ignore or {}) do patterns[#patterns + 1] = pattern end
  table.sort(patterns)
  for _, pattern in ipairs(patterns) do
    local what = ("none with %s%s"):format(table.concat(reports.ignore[pattern], ", "),
      pattern ~= "*" and (" of a command with %q"):format(pattern) or "")
    rows[#rows + 1] = { what = what, where = "ignoreViolations" }
  end
  for _, fn in ipairs(reports.chain) do
    rows[#rows + 1] = { what = "onViolation is asked", where = require("srt.source").where(reports.origins[fn]) }
  end
  return rows
end

-- One that fails drops nothing; that it fails is told once.
local function failed(self, fn, message)
  if self.failed[fn] then return end
  self.failed[fn] = true
  self.store:note { kind = "callback", target = "onViolation", rule = "onViolation",
    origin = require("srt.source").where(self.reports.origins[fn] or { key = "onViolation" }),
    reason = "failed: " .. tostring(message):match("^[^\n]*") }
  if self.debug then self.debug(tostring(message)) end
end

local function copy(v)
  local out = {}
  for key, value in pairs(v) do out[key] = type(value) == "table" and copy(value) or value end
  return out
end

-- Base policies first; each violation by itself, so whoever denied goes on meanwhile.
local function ask(self, v, done)
  local chain, box = self.reports.chain, self.box
  if not chain[1] then return done(false) end
  require("srt.c.task").start(function()
    local drop = false
    for _, fn in ipairs(chain) do
      local worked, ok, answer = pcall(box.call, box, fn, "violation", copy(v))
      if worked and ok then
        drop = drop or answer == false
      else
        failed(self, fn, worked and answer or ok)
      end
    end
    done(drop)
  end)
end

local function log_of(self)
  self.log = self.log or require("srt.decision_log").new { path = self.logPath, folder = self.folder, run = self.run,
    policy = self.policy, say = self.say }
  return self.log
end

local function open(self)
  local path, folder = self.path, self.folder
  local file = path ~= "none" and (path or folder) and require("srt.violation_file").new {
    folder = folder, path = path, policy = self.policy, say = self.say }
  self.store = require("srt.violations").new {
    command = self.command, commandId = self.commandId, ignore = self.reports.ignore,
    now = require("srt.c.sys").time,
    ask = function(v, done) ask(self, v, done) end,
    write = function(v)
      if file then file:write(v) end
      if self.also then self.also(v) end
      log_of(self):write(v)
    end,
  }
  return self.store
end

---Adds what was denied, as the store's add.
---@param event table
function Reporter:add(event)
  return (self.store or open(self)):add(event)
end

---Is there anybody who is told of what is allowed, too?
---@return boolean
function Reporter:listened()
  return log_of(self):wanted()
end

---Tells whoever is listening of what is not denied; their number is asked first.
---@param question table of srt.c.proxy
---@param decision table
function Reporter:allowed(question, decision)
  self.log:write((self.store or open(self)):described(require("srt.denials").allowed(question, decision)))
end

---Another policy says what is reported from now on.
---@param loaded srt.session
function Reporter:replace(loaded)
  self.reports, self.box = loaded.profile.reports, loaded.box
  if self.store then self.store.ignore = self.reports.ignore end
end

---What nothing is known of, besides: it was too much in too short a time.
---@param count integer attempts, at least; not 0
function Reporter:missed(count)
  (self.store or open(self)).lost = count
end

---Reports a decision of the network that denied, or in which a callback failed.
---@param question table of srt.c.proxy
---@param decision table
function Reporter:decided(question, decision)
  self:add(require("srt.denials").decided(question, decision))
end

local function annotated(self)
  local block = self.store and self.store:annotate("", self.commandId or self.command) or ""
  return block ~= "" and block .. "\n" or ""
end

local function summary(self, tty)
  local lines = self.store and require("srt.violation_report").lines(self.store,
    self.path ~= "none" and (self.path and EVERYWHERE .. " " .. self.path or EVERYWHERE) or nil) or {}
  local bold, red, off = require("srt.report").colours(tty)
  for i, line in ipairs(lines) do
    lines[i] = ("%ssrt-lua:%s %s%s%s\n"):format(bold, off, i == 1 and red or "", line, i == 1 and off or "")
  end
  return lines[1] and (tty and off or "") .. "\n" .. table.concat(lines) or ""
end

---The run is over: what is to be told at its end, for standard error. It begins with the end of a line: the command may
---have left its last one open, and on a terminal colours on.
---@param tty boolean is that a terminal?
---@return string
function Reporter:close(tty)
  if self.store then
    -- In a session others may be waiting as well.
    if next(self.store.pending) and not self.shared then require("srt.c.task").stop() end
    self.store:finish()
  end
  local how = self.how or (self.annotate and "none" or "text")
  local text = self.annotate and annotated(self) or ""
  if how == "json" then return text .. "\n" .. require("srt.violation_report").json(self.store) .. "\n" end
  return how == "text" and text .. summary(self, tty) or text
end

return reporter
