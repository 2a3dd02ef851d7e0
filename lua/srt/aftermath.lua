-- SPDX-License-Identifier: Apache-2.0
-- When a run has ended: removes what is left of it on the host, looks again for protected names and for repositories,
-- and puts aside what would make the host run code and was not there at the start. It never deletes what it has not
-- made, and never overwrites: a name gets a suffix that nothing looks for.
local paths = require "srt.paths"
local places = require "srt.places"
local sys = require "srt.c.sys"
local tidy = require "srt.c.tidy"

local aftermath = {}

aftermath.SUFFIX = ".quarantined-by-srt-lua"

local PATIENCE = 10000 -- milliseconds for the last process of a run to end
local MOST_CLOSED = 1000

local Found = { suffix = aftermath.SUFFIX }
Found.__index = Found

function Found:say(line) self.lines[#self.lines + 1] = line end

-- The folder by which a path was looked at, if it was shared when the run began: everybody makes files there (/tmp).
local function shared(self, path)
  local top
  for _, base in ipairs(self.record.bases) do
    if paths.below(path, base.path) and (not top or #base.path > #top.path) then top = base end
  end
  return top and top.shared and top.path or nil
end

-- Renames; false where it is only to be told. What is new in a shared folder is mostly somebody else's.
function Found:aside(path, why)
  local top = shared(self, path)
  if top then
    local others = self.others[top] or { count = 0, path = path, why = why }
    self.others[top], others.count = others, others.count + 1
    return false
  end
  if self.telling then
    self:say(("%s was made while the command ran: %s"):format(path, why))
    return false
  end
  local name, message = tidy.aside(path, aftermath.SUFFIX)
  if name then
    self:say(("%s was made while the command ran: %s; it is called %s now"):format(path, why, name))
    self.denied[#self.denied + 1] = { kind = "write", target = path, rule = "filesystem.protect",
      reason = ("made while the command ran: %s; it is called %s now"):format(why, name), told = true }
    return true
  end
  self:say(("%s was made while the command ran: %s; it can't be renamed: %s"):format(path, why, message))
  return false
end

-- A repository that the command could not change, or that is looked at as well.
function Found:judged(dir)
  return self.record.gits[dir] or (self.look.gits[dir] ~= nil and self.rules:at(dir).write)
end

local function writable(self, path) return self.rules:at(paths.parent(path)).write end

-- Places: what is in one that is still ours came from outside. Another directory may have come from inside, when
-- somebody outside took ours away.
local function replaced(self)
  local record = self.record
  for _, place in ipairs(record.places) do
    local st = sys.lstat(place)
    if st and places.is(place) then
      tidy.place(place)
    elseif st then
      if not next(record.ids) and record.path then record.ids = require("srt.state_files").read(record.path).ids end
      local id = record.ids[place]
      if id and id ~= st.dev .. ":" .. st.ino and writable(self, place) then
        self:aside(place, "it is a protected name, whose place somebody cleared")
      end
    end
  end
end

local function names(self)
  local record, look = self.record, self.look
  for _, entry in ipairs(record.home and look.list or {}) do
    local path = entry.where == "home" and paths.join(record.home, entry.name)
    local st = path and sys.lstat(path)
    if st then look.found[#look.found + 1] = { path = path, type = st.type, entry = entry } end
  end
  local held = {}
  for _, place in ipairs(record.places) do held[place] = true end
  for _, item in ipairs(look.found) do
    local path, dir = item.path, paths.parent(item.path)
    local known = record.seen[path] or held[path]
      or (item.entry.where == "git" and look.gits[dir] and not record.gits[dir])
    if not known and writable(self, path) and not places.is(path) then
      if item.entry.name == ".git" then
        self.pointers[#self.pointers + 1] = item
      else
        self:aside(path, "it is a protected name (" .. item.entry.why .. ")")
      end
    end
  end
end

local function repositories(self)
  local mode = self.record.settings.newRepositories
  if mode == "allow" then return end
  self.telling = mode == "report"
  local list = {}
  for dir in pairs(self.look.gits) do
    if not self.record.gits[dir] and self.rules:at(dir).write then list[#list + 1] = dir end
  end
  table.sort(list)
  for _, dir in ipairs(list) do require("srt.repositories").examine(self, dir, self.look.gits[dir]) end
  for _, item in ipairs(self.pointers) do require("srt.repositories").pointer(self, item.path, item.type) end
  self.telling = false
end

-- A folder that the command has closed to reading hides what is in it from us, not from a program that knows the name.
local function open_closed(self, depth)
  local opened, at = {}, 1
  while self.look.closed[at] and at <= MOST_CLOSED do
    local path = self.look.closed[at]
    at = at + 1
    local mode = self.rules:at(path).write and tidy.open(path)
    if mode then
      opened[#opened + 1] = { path = path, mode = mode }
      if path:match("[^/]*$") == ".git" then require("srt.scan").git(self.look, path, "git") end
      local ok, message = require("srt.scan").search(self.look, { { path = path, depth = depth } })
      if not ok then self:say(message) end
    end
  end
  return opened
end

local function inspect(self)
  local record, depth = self.record, 1
  self.look = require("srt.scan").new(require("srt.protected").list(record.settings))
  for _, base in ipairs(record.bases) do depth = math.max(depth, base.depth) end
  local ok, message = require("srt.scan").search(self.look, record.bases)
  if not ok then self:say(message) end
  local opened = open_closed(self, depth)
  replaced(self)
  names(self)
  repositories(self)
  for i = #opened, 1, -1 do tidy.open(opened[i].path, opened[i].mode) end
  for top, others in pairs(self.others) do
    self:say(("names that make the host run code are new in %s, %d of them, one is %s: %s; they are left: everybody "
      .. "makes files there"):format(top, others.count, others.path, others.why))
  end
end

---Cleans up after a run whose state file has been claimed.
---@param record table
---@param rules table|nil the run's decisions; else they are restored
---@return string[] lines what there is to tell
---@return table[] denied what was put aside, for the store of violations
function aftermath.finish(record, rules)
  local self = setmetatable({ record = record, lines = {}, denied = {}, pointers = {}, others = {} }, Found)
  for i = #record.places, 1, -1 do
    if places.is(record.places[i]) then tidy.place(record.places[i]) end
  end
  if record.temp and record.temp:find("/srt%-lua%-%x+$") and sys.lstat(record.temp) then
    local ok, message = tidy.tree(record.temp)
    if not ok then self:say(("the temporary directory %s can't be removed: %s"):format(record.temp, message)) end
  end
  if record.masks and record.masks:find("/srt%-lua%-%x+%.masks$") then tidy.tree(record.masks) end
  if record.bases[1] then
    self.rules = rules or require("srt.decide_path").restore(record.lists)
    -- Without rules nobody waits for it.
    local ok, message
    if rules then
      ok, message = pcall(require("srt.patience").with, "looking at what the command has left", inspect, self)
    else
      ok, message = pcall(inspect, self)
    end
    if not ok then self:say("what the command has left can't be looked at: " .. tostring(message)) end
  end
  return self.lines, self.denied
end

-- In the file of violations, as the run itself would have: whoever looks there need not know that it was killed. Only
-- onViolation is not asked, since nobody has the policy.
local function record_violations(path, record, denied, lines)
  local report = record.report
  if not denied[1] or not report.command or report.path == "none" then return end
  local file = require("srt.violation_file").new { folder = paths.parent(path), path = report.path,
    policy = report.policy, say = function(line) lines[#lines + 1] = line end }
  local store = require("srt.violations").new { command = report.command, commandId = report.commandId,
    ignore = report.ignore, now = sys.time, write = function(v) file:write(v) end }
  for _, event in ipairs(denied) do store:add(event) end
  store:finish()
end

-- Of a run whose host process was killed.
local function finish_for(path, record)
  local lines, denied = aftermath.finish(record)
  record_violations(path, record, denied, lines)
  return lines
end

---Ends a run: called in the host process, or by what stands in for it.
---@param path string state file
---@param record table|nil what is known of it; without it the violations are in their file afterwards
---@param rules table|nil
---@return string[] lines
---@return table[]|nil denied as of finish, where there was a record
function aftermath.close(path, record, rules)
  local fd, message, code = tidy.claim(path, PATIENCE)
  if not fd then
    -- Another run has swept it, and told.
    return code == "ENOENT" and {} or { ("the state file %s can't be taken over: %s"):format(path, message) }
  end
  local lines, denied
  if record then
    lines, denied = aftermath.finish(record, rules)
  else
    lines = finish_for(path, require("srt.state_files").read(path))
  end
  tidy.unlink(path)
  tidy.close(fd)
  return lines, denied
end

---Cleans up after runs that were killed.
---@param folder string of state files
---@return string[] lines
---@return integer count of runs
function aftermath.sweep(folder)
  local lines, count = {}, 0
  require("srt.state_files").each(folder, function(path)
    local record = require("srt.state_files").read(path)
    record.path = path
    local said = record.said[1] and record.said or finish_for(path, record)
    table.move(said, 1, #said, #lines + 1, lines)
    tidy.unlink(path)
    count = count + 1
  end)
  return lines, count
end

return aftermath
