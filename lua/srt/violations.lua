-- SPDX-License-Identifier: Apache-2.0
-- What was denied in a run: one store that all who deny tell, and all who report ask.

local text = require("srt.violation_text")

local violations = {}

local Store = {}
Store.__index = Store

local CAPACITY = 1000 -- the last ones, in memory
local GROUPS = 500 -- of the same kind, target and rule; more are only counted
local OF_KIND = 20 -- so many of a kind are grouped whatever else was denied
-- The same again is told each time at first, then with the last of twice as many, and once in a while: so the ring and
-- the file have room for what else is denied. What is not grouped may be so many in a burst, then so many a second.
local EACH, AGAIN, BURST, PER_SECOND = 8, 1, 1000, 100

-- What an event may say.
local KINDS = { connect = true, request = true, response = true, address = true, name = true, socket = true,
  namespace = true, mount = true, write = true, read = true, callback = true, system = true }
local MAX_TARGET, MAX_COMMAND = 1000, 1000

---Is a violation one that the policy's author does not want to hear of?
---@param v table
---@param ignore table<string, string[]>|nil as of the policy: part of a command, or "*" → parts of what was tried
---@return boolean
function violations.ignored(v, ignore)
  local subject = ignore and text.subject(v)
  for pattern, parts in pairs(ignore or {}) do
    if pattern == "*" or v.command:find(pattern, 1, true) then
      for _, part in ipairs(parts) do
        if subject:find(part, 1, true) then return true end
      end
    end
  end
  return false
end

-- Whatever an event's source has read inside is hostile: it is bounded and cleaned here, once.
local function violation_of(self, event)
  local clean = text.clean
  local process = event.process or (event.pid or event.exe) and event or nil
  return {
    time = self.now(), kind = KINDS[event.kind] and event.kind or "callback",
    target = clean(tostring(event.target or "?"), MAX_TARGET), rule = event.rule and clean(event.rule),
    reason = event.reason and clean(event.reason), origin = event.origin and clean(event.origin),
    advice = event.advice and clean(event.advice), count = (event.count or 1) > 1 and event.count or nil,
    command = self.command, commandId = self.commandId,
    process = process and { pid = process.pid, exe = process.exe and clean(process.exe, MAX_TARGET) },
  }
end

-- The same again and again is one thing to tell.
local function group(self, v, count, told)
  -- To remove a file takes another entry than to write it.
  local key = ("%s\0%s\0%s\0%s"):format(v.kind, v.target, v.rule or v.reason or "", v.advice or "")
  local found = self.groups[key]
  if found then
    found.count = found.count + count
  elseif #self.groups < GROUPS or (self.kinds[v.kind] or 0) < OF_KIND then
    found = { count = count, violation = v, told = told, met = 0, merged = 0, at = v.time }
    self.kinds[v.kind] = (self.kinds[v.kind] or 0) + 1
    self.groups[key], self.groups[#self.groups + 1] = found, found
  else
    self.ungrouped = self.ungrouped + count
  end
  -- Whoever counts attempts together may have met more by the end.
  if v.count and found then found.more = true end
  if v.count then self.more = true end
  return found
end

-- For ring and file.
local function record(self, v)
  self.kept = self.kept + 1
  self.ring[(self.kept - 1) % self.capacity + 1] = v
  if self.write then self.write(v) end
end

local function flush(self, found, v)
  if found.merged > 1 then v.count = found.merged end
  found.merged, found.at, found.last = 0, v.time, nil
  record(self, v)
end

local function take_token(self, now)
  self.tokens = math.min(BURST, self.tokens + math.max(0, now - self.refilled) * PER_SECOND)
  self.refilled = now
  if self.tokens < 1 then return false end
  self.tokens = self.tokens - 1
  return true
end

local function keep(self, v, told)
  local count = v.count or 1
  self.total = self.total + count
  local found = group(self, v, count, told)
  if not found then
    if take_token(self, v.time) then record(self, v) end
    return
  end
  found.met, found.merged, found.last = found.met + 1, found.merged + count, v
  if found.met <= EACH or found.met & (found.met - 1) == 0 or v.time - found.at >= AGAIN then flush(self, found, v) end
end

---Adds what was denied. It may be called from wherever something is decided: it never throws, and never waits.
---@param event {kind: string, target: string, rule: string?, reason: string?, origin: string?, advice: string?,
--- count: integer?, pid: integer?, exe: string?, process: table?, told: boolean?} origin: file and line of the rule;
--- advice: what to add to the policy; count: so many attempts, and maybe more; told: the user has been told already
---@return table|nil violation nil where it is ignored
function Store:add(event)
  local v = violation_of(self, event)
  if violations.ignored(v, self.ignore) then return nil end
  if not self.ask then
    keep(self, v, event.told)
    return v
  end
  self.pending[v] = event.told or false
  self.ask(v, function(drop)
    -- After finish() it is kept already.
    if self.pending[v] == nil then return end
    self.pending[v] = nil
    if not drop then keep(self, v, event.told) end
  end)
  return v
end

---An event of what was not denied, as a violation is: for the log of decisions. It is not kept.
---@param event table as of add; decision: "allow" or "respond"
---@return table
function Store:described(event)
  local v = violation_of(self, event)
  v.decision, v.status = event.decision, event.status
  return v
end

---Adds what nobody is asked about: that somebody who was asked failed.
---@param event table as of add
function Store:note(event)
  keep(self, violation_of(self, event))
end

---The run is over. Whoever is still asked has dropped nothing, and what was not told again is told.
function Store:finish()
  local left = {}
  for v in pairs(self.pending) do left[#left + 1] = v end
  table.sort(left, function(a, b) return a.time < b.time end)
  for _, v in ipairs(left) do keep(self, v, self.pending[v]) end
  self.pending = {}
  for _, found in ipairs(self.groups) do
    if found.last then flush(self, found, found.last) end
  end
end

---The last violations, the oldest first.
---@return table[]
function Store:list()
  local list, first = {}, math.max(1, self.kept - self.capacity + 1)
  for i = first, self.kept do list[#list + 1] = self.ring[(i - 1) % self.capacity + 1] end
  return list
end

---Appends what was denied to a command's error output, for models to read: each different line once.
---@param stderr string
---@param list table[] violations
---@return string
function violations.annotated(stderr, list)
  local lines, seen = {}, {}
  for _, v in ipairs(list) do
    local line = text.line(v) .. "\n"
    if not seen[line] then lines[#lines + 1], seen[line] = line, true end
  end
  if not lines[1] then return stderr end
  return ("%s\n<sandbox_violations>\n%s</sandbox_violations>"):format(stderr, table.concat(lines))
end

---The same for one command.
---@param stderr string
---@param commandId string compared by its first 100 characters
---@return string
function Store:annotate(stderr, commandId)
  local list, key = {}, text.key(commandId)
  for _, v in ipairs(self:list()) do
    if text.key(v.commandId) == key then list[#list + 1] = v end
  end
  return violations.annotated(stderr, list)
end

---Makes a store.
---@param options {command: string, commandId: string?, ignore: table?, capacity: integer?, now: (fun(): number)?,
--- ask: (fun(v: table, done: fun(drop: boolean)))?, write: fun(v: table)?} command: what violations are reported under;
--- commandId: what they are found by (the command, where there is none); ask: asks the policy's onViolation, and calls
--- back once, at once or later; write: to the file
---@return table store
function violations.new(options)
  local id = options.commandId
  return setmetatable({
    command = text.clean(options.command, MAX_COMMAND),
    commandId = text.clean(id and id ~= "" and id or options.command, MAX_COMMAND),
    ignore = options.ignore and next(options.ignore) and options.ignore or nil,
    capacity = options.capacity or CAPACITY, now = options.now or os.time, ask = options.ask, write = options.write,
    ring = {}, groups = {}, kinds = {}, pending = {}, total = 0, kept = 0, ungrouped = 0, lost = 0,
    tokens = BURST, refilled = 0,
  }, Store)
end

return violations
