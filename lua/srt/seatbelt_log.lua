-- SPDX-License-Identifier: Apache-2.0
-- Reads the lines of macOS's `log stream` into the violations of a run, which are told by the tag of its profile.
--
-- What a line says of names was chosen inside, so it is hostile: a record is read from its two ends, where the system
-- writes, and the store cleans the rest. In the compact style a name with a newline can end a record early, and what
-- follows is no record of its own without the tag; --style ndjson has no such doubt, a line is a record.
local json = require("srt.json")

local seatbelt_log = {}

local Reader = {}
Reader.__index = Reader

local MOST = 65536 -- bytes of a line: what is longer is dropped

-- What an operation is an attempt at; else the system's.
local KINDS = {
  { "^file%-write", "write" }, { "^file%-link$", "write" },
  { "^file%-read", "read" }, { "^file%-map", "read" }, { "^file%-clone$", "read" }, { "^process%-exec", "read" },
  { "^network%-outbound$", "connect" }, { "^network%-", "socket" },
}

local function kind_of(operation, target)
  for _, row in ipairs(KINDS) do
    if operation:find(row[1]) then
      -- Of a Unix socket the log shows the path.
      return row[2] == "connect" and target:sub(1, 1) == "/" and "socket" or row[2]
    end
  end
  return "system"
end

--- The denial that a message tells of.
---@param message string
---@param tag string
---@return table|nil event for the store of violations; nil where it is another's, or no denial
function seatbelt_log.event(message, tag)
  if message:sub(-#tag) ~= tag then return nil end
  local text = message:sub(1, -#tag - 1):gsub("%s+$", "")
  local count, rest = text:match("^(%d+) duplicate reports? for (.*)$")
  local name, pid, operation, target = (rest or text):match("^Sandbox: (.-)%((%d+)%) deny%(%d+%) (%S+) ?(.*)$")
  if not operation then return nil end
  local kind = kind_of(operation, target)
  return { kind = kind, target = kind == "system" and operation .. " " .. target or target, rule = operation,
    reason = "macOS denied " .. operation, pid = math.tointeger(tonumber(pid)), exe = name,
    count = math.tointeger(tonumber(count)) }
end

-- A record of the compact style begins with a time; the system's part of it ends before the message.
local function begins(line)
  local message = line:match("^%d%d%d%d%-%d%d%-%d%d %d%d:%d%d:%d%d[%d.+-]* .-%(Sandbox%) (.*)$")
  return message and message:gsub("^%[[%w.:_-]+%] ", "")
end

local function tell(self, message)
  local event = seatbelt_log.event(message, self.tag)
  if event then self.add(event) end
  return event ~= nil
end

local function line_of(self, line)
  if line:sub(1, 1) == "{" then
    local record = json.decode(line)
    local message = type(record) == "table" and record.eventMessage
    return type(message) == "string" and tell(self, message)
  end
  local message = begins(line)
  if message then
    self.open = message
  elseif self.open and #self.open + #line < MOST then
    self.open = self.open .. "\n" .. line
  else
    self.open = nil
  end
  if self.open and tell(self, self.open) then self.open = nil end
end

--- Takes what `log stream` has written.
---@param bytes string any part of its output
function Reader:feed(bytes)
  local from = 1
  while true do
    local to = bytes:find("\n", from, true)
    self.rest = self.rest .. bytes:sub(from, (to or 0) - 1)
    if #self.rest > MOST then
      self.rest, self.long = "", true
    end
    if not to then return end
    if not self.long then line_of(self, self.rest) end
    self.rest, self.long, from = "", false, to + 1
  end
end

--- A reader of what `log stream` writes.
---@param tag string of the run's profile
---@param add fun(event: table) of the store of violations, or of the reporter that tells it
---@return table reader with feed(bytes)
function seatbelt_log.new(tag, add)
  return setmetatable({ tag = tag, add = add, rest = "" }, Reader)
end

return seatbelt_log
