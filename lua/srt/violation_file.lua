-- SPDX-License-Identifier: Apache-2.0
-- The file of violations: a line of JSON for each, of all runs of a user. What can't be written never fails a run.
local violation_file = {}

local FOLDER, NAME = "/violations", "/violations.jsonl"
local LONG = 8 << 20 -- then a new file begins; the one before is kept
local MOST = 4 << 20 -- of one run: a command that is denied for ever must not push out what others have met

---Where the file is, in a folder of the state of runs.
---@param folder string
---@return string path
---@return string folder of its own, that nobody inside may read
function violation_file.path(folder)
  return folder .. FOLDER .. NAME, folder .. FOLDER
end

---A violation as a line.
---@param v table
---@param policy string?
---@return string
function violation_file.line(v, policy)
  local seconds = math.floor(v.time)
  local record = { policy = policy }
  for key, value in pairs(v) do record[key] = value end
  record.time = os.date("!%Y-%m-%dT%H:%M:%S", seconds) .. (".%03dZ"):format((v.time - seconds) * 1000 // 1)
  return require("srt.json").encode(record, true) .. "\n"
end

local File = {}
File.__index = File

local function open(self)
  local journal = require("srt.c.journal")
  if not self.own then return journal.open(self.path, false) end
  local _, folder = violation_file.path(self.folder)
  require("srt.c.tidy").mkdir(folder)
  if not require("srt.state").isOurs(folder) then
    return nil, folder .. " is not a folder that only this user can write to"
  end
  return journal.open(self.path, true)
end

-- Where the file is long, or another run has renamed it, the next one.
local function fresh(self)
  local journal = require("srt.c.journal")
  for _ = 1, 3 do
    local message
    if not self.fd then self.fd, message = open(self) end
    if not self.fd then return nil, message end
    if not self.own or not journal.turn(self.path, self.fd, LONG) then break end
    require("srt.c.tidy").close(self.fd)
    self.fd = nil
  end
  return self.fd, "others rename it all the time"
end

---Writes a violation. What is wrong is said once; then the file is left alone.
---@param v table
function File:write(v)
  if self.over then return end
  local line = violation_file.line(v, self.policy)
  self.written = self.written + #line
  local ok, message = self.written <= self.most,
    ("this run has filled %d MiB of it"):format(self.most // (1 << 20))
  if ok then ok, message = fresh(self) end
  if ok then ok, message = require("srt.c.journal").append(self.fd, line) end
  if ok then return end
  self.over = true
  self.say(("warning: %s takes no more lines: %s"):format(self.path, message))
end

---Nothing more is written for now.
function File:close()
  if self.fd then require("srt.c.tidy").close(self.fd) end
  self.fd = nil
end

-- Its real path, and whether it is a file that can be protected; or nil and why it can't be used.
local function make(option, path, cwd)
  local journal, sys = require("srt.c.journal"), require("srt.c.sys")
  path = require("srt.paths").absolute(path, cwd)
  local fd, message, code = journal.open(path, false)
  if not fd then
    local why = { EPERM = "it is no plain file with one name", ELOOP = "it is a symbolic link; name what it leads to" }
    return nil, ("%s %s: %s"):format(option, path, why[code] or message)
  end
  local kind = sys.fdinfo(fd).type
  require("srt.c.tidy").close(fd)
  return sys.realpath(path) or path, kind == "file"
end

---Makes the files that the user named on the command line; in options there are their real paths then, or "none".
---@param options table {violations, log}
---@param cwd string
---@return string[]|nil plain those that can be protected
---@return string|nil message of one that can't be used
function violation_file.named(options, cwd)
  local plain = {}
  for _, name in ipairs { "violations", "log" } do
    local given = options[name]
    if given and given ~= "none" then
      local file, answer = make("--" .. name, given, cwd)
      if not file then return nil, answer end
      options[name] = file
      if answer then plain[#plain + 1] = file end
    end
  end
  return plain
end

---@param options {folder: string?, path: string?, name: string?, policy: string?, most: number?,
--- say: fun(line: string)} folder: of the state of runs; path: instead of that, the file that the user named; name: of
--- another file of ours in that folder; most: bytes of this run
---@return table file
function violation_file.new(options)
  local path = options.path or options.name or violation_file.path(options.folder)
  return setmetatable({ folder = options.folder, path = path, own = not options.path, policy = options.policy,
    say = options.say, written = 0, most = options.most or MOST }, File)
end

return violation_file
