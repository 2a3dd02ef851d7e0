-- SPDX-License-Identifier: Apache-2.0
-- Where new policies come from while a command runs: lines on a descriptor, and files that change.
local feed = require "srt.c.feed"
local paths = require "srt.paths"
local report = require "srt.report"
local sys = require "srt.c.sys"

local updates = {}

local MAX_LINE = 16 << 20
local TERM = 15

local Updates = {}
Updates.__index = Updates

---@param what string where it comes from
---@param loaded srt.session
local function enter(self, what, loaded)
  local held, cut = self.live:update(loaded)
  if held[1] then
    self.tell(("%s: the network rules are in force now; these hold as they were when %s started: %s")
      :format(what, self.sandbox and "the command" or "the proxy", table.concat(held, ", ")))
  end
  if self.say then self.say(("%s: a new policy is in force; %d connections were cut"):format(what, cut)) end
end

-- A policy that can't be used changes nothing, whatever is wrong with it.
local function refuse(self, what, problems)
  self.tell(what .. ": ignored, the policy before it is still in force")
  for _, problem in ipairs(problems) do
    self.tell(type(problem) == "string" and problem or report.line(problem):gsub("^srt%-lua: ", ""))
  end
end

local function take_line(self, line)
  if not line:find("%S") then return end
  local what = ("control fd %d"):format(self.fd)
  local settings = require "srt.settings"
  local given, why = settings.decode(line)
  if given then
    if self.defaults then given.base = settings.defaults(self.facts, given.value) end
    local loaded, problems = require("srt.session").resolve(self.facts, what, { given = given, live = "update" })
    local unheld = loaded and self.unheld(loaded.profile)
    if loaded and not unheld then
      self.updated = true
      return enter(self, what, loaded)
    end
    return refuse(self, what .. ": invalid config", unheld and { unheld } or problems)
  end
  refuse(self, what .. ": invalid config", { "the line " .. why })
end

-- Nobody else knows of an error here: it may not end a run, nor go unseen.
local function careful(self, what, fn, ...)
  local ok, message = pcall(fn, self, ...)
  if not ok then
    refuse(self, what, { tostring(message):match("^[^\n]*") })
    if self.say then self.say(tostring(message)) end
  end
end

local function take(self, line)
  local what = ("control fd %d"):format(self.fd)
  if line then return careful(self, what, take_line, line) end
  refuse(self, what .. ": invalid config", { ("a line is longer than %d bytes"):format(MAX_LINE) })
end

local function ended(self, message)
  self.lines:close()
  if not message then return end
  local dead = ("control fd %d: %s"):format(self.fd, message)
  if self.updated then return self.tell(dead .. "; the command goes on under the settings applied last") end
  if not self.sandbox then return self.tell(dead .. "; the policy of the start stays in force") end
  self.tell(dead .. " before there was an update; the command is ended")
  self.sandbox:signal(TERM)
end

---Why a descriptor can't be the control channel, or nil.
---@param options table of the command line
---@return string|nil
function updates.check(options)
  local fd = options.controlFd
  if not fd then return nil end
  local info = sys.fdinfo(fd)
  local why = not info and "it is not open" or info.opath and "it was opened with O_PATH"
    or info.type == "dir" and "it is a directory" or info.access == "w" and "it can't be read" or nil
  for _, kept in ipairs(options.keep or {}) do
    if kept == fd then why = "the command would have it too, by --keep-fd" end
  end
  return why and ("--control-fd %d can't be used: %s"):format(fd, why)
end

---Why changes of a policy can't be followed, or nil. When an editor replaces a file that is protected by a mount, the
---mount goes for a moment, until PID 1 puts it back. So its folder may not be writable either.
---@param files string[] real paths
---@param rules table|nil of srt.decide_path, where there is a command
---@return string|nil
function updates.exposed(files, rules)
  for _, file in ipairs(rules and files or {}) do
    local folder = paths.parent(file)
    if rules:at(folder).write then
      return ("%s can't be followed: the command may write in %s, and could replace it when an editor does; keep it in "
        .. "another folder"):format(file, folder)
    end
  end
end

local function follow(self, files)
  local fresh = {}
  for _, file in ipairs(files) do
    if not self.followed[file] then
      self.followed[file], fresh[#fresh + 1] = true, file
    end
  end
  if not fresh[1] then return end
  -- One more for what is new: none can be closed while it tells of a change.
  local made, why = feed.changes(fresh, function() careful(self, self.policy, updates.reload) end)
  if not made then return ("changes of %s can't be followed: %s"):format(fresh[1], why) end
  self.feeds[#self.feeds + 1] = made
end

---Loads the policy again, and lets it take effect where nothing is wrong with it.
function updates.reload(self)
  local loaded, problems, files = require("srt.session").resolve(self.facts, self.policy, { live = "update" })
  local exposed = updates.exposed(loaded and loaded.files or files or {}, self.rules)
  -- A broken policy may be mended in a file that it had not read before.
  local lost = not exposed and follow(self, loaded and loaded.files or files or {})
  local wrong = exposed or lost or loaded and self.unheld(loaded.profile)
  if wrong or not loaded then return refuse(self, self.policy, wrong and { wrong } or problems) end
  enter(self, self.policy, loaded)
end

function Updates:close()
  for _, one in ipairs(self.feeds) do one:close() end
end

---Begins to wait for new policies; before sandbox:run(), or whatever else runs the loop.
---@param options table {controlFd, watch, policy, given, unheld = nil|fun(profile): string|nil, why it can't be taken}
---@param loaded srt.session of the run
---@param facts table of srt.session
---@param live table of srt.live
---@param sandbox userdata|nil where a command runs
---@param tell fun(line: string)
---@param say nil|fun(line: string)
---@return table|nil updates with :close()
---@return string|nil message
function updates.start(options, loaded, facts, live, sandbox, tell, say)
  local self = setmetatable({ live = live, facts = facts, rules = loaded.rules, sandbox = sandbox, tell = tell,
    say = say, policy = options.policy, fd = options.controlFd, followed = {}, feeds = {},
    unheld = options.unheld or function() end,
    defaults = options.given ~= nil and options.given.base ~= nil }, Updates)
  if options.watch then
    local message = updates.exposed(loaded.files, loaded.rules) or follow(self, loaded.files)
    if message then return nil, "--watch: " .. message end
  end
  if self.fd then
    self.lines = require("srt.lines").new(MAX_LINE, function(line) take(self, line) end)
    local made, why = feed.read(self.fd, function(data, message)
      if data then self.lines:add(data) else ended(self, message) end
    end)
    if not made then return nil, ("--control-fd %d can't be used: %s"):format(self.fd, why) end
    self.feeds[#self.feeds + 1] = made
  end
  return self
end

return updates
