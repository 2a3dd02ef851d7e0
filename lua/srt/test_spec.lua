-- SPDX-License-Identifier: Apache-2.0
-- Loads the file with a policy's tests, in a box as a policy's, and reads what it returns.
local paths = require "srt.paths"
local row_of = require "srt.test_row"

local test_spec = {}

local LOAD_MEMORY, CALL_INSTRUCTIONS, CALL_MS = 64 << 20, 50000000, 10000

local function is_map(v, ...)
  if type(v) ~= "table" then return false end
  local kinds = table.concat({ ... }, " ")
  for key, value in pairs(v) do
    if type(key) ~= "string" or not kinds:find(type(value), 1, true) then return false end
  end
  return true
end

-- No path and no variable can have a byte of zero.
local function is_text(v) return type(v) == "string" and not v:find("\0", 1, true) end

local function is_env(v)
  if not is_map(v, "string") then return false end
  for name, value in pairs(v) do
    if not (is_text(name) and is_text(value)) then return false end
  end
  return true
end

-- A list has the paths as values, which are then no contents.
local function is_files(v)
  if type(v) ~= "table" then return false end
  for key, value in pairs(v) do
    if type(value) ~= "string" or not is_text(math.type(key) == "integer" and value or key) then return false end
  end
  return true
end

-- Seconds since 1970, or a time as "2026-11-30T12:00:00Z".
---@param v number|string
---@return number|nil
function test_spec.time_of(v)
  if type(v) == "number" then return v end
  local year, month, day, hour, minute, second = tostring(v):match("^(%d%d%d%d)%-(%d%d)%-(%d%d)T(%d%d):(%d%d):(%d%d)Z$")
  if not year then return nil end
  -- Days since 1970 of the civil calendar, whose years begin in March.
  local y, m = tonumber(year) - (tonumber(month) <= 2 and 1 or 0), (tonumber(month) + 9) % 12
  local days = 365 * y + y // 4 - y // 100 + y // 400 + (153 * m + 2) // 5 + tonumber(day) - 1 - 719468
  return ((days * 24 + tonumber(hour)) * 60 + tonumber(minute)) * 60 + tonumber(second)
end

local KEYS = {
  policy = function(v) return is_text(v), "the name of a file beside this one" end,
  env = function(v) return is_env(v), "a table of names and values" end,
  cwd = function(v) return is_text(v), "a path" end,
  user = function(v) return is_text(v), "a name" end,
  command = function(v) return type(v) == "string", "the text of a command" end,
  now = function(v) return test_spec.time_of(v), "seconds since 1970, or a time like \"2026-11-30T12:00:00Z\"" end,
  files = function(v) return is_files(v), "a list of paths, or a table of paths and contents" end,
  resolve = function(v) return is_map(v, "string", "table"), "a table of names and their addresses" end,
  query = function(v) return is_map(v, "string", "table"), "a table of targets and their answers" end,
  ask = function(v) return type(v) == "boolean" or is_map(v, "boolean"), "true, false, or a table of parts of "
    .. "questions and these" end,
  rows = function(v) return type(v) == "table", "a list of rows" end,
}

local Spec = {}
Spec.__index = Spec

-- The line on which a key is assigned, where that is one.
function Spec:line_of(key)
  self.text = self.text or require("srt.c.sys").readfile(self.file, 1 << 20) or ""
  self.index = self.index or require("srt.source_index").of(self.text)
  return self.index.names[key] or nil
end

local function problem(self, message, line)
  self.problems[#self.problems + 1] = { file = self.file, line = line, message = message }
end

local function unknown(self, key)
  local near = type(key) == "string" and require("srt.suggest").nearest(key, require("srt.tables").keys(KEYS))
  problem(self, ("there is no key %q%s; functions are tests, by any other name"):format(tostring(key),
    near and ("; did you mean %q?"):format(near) or ""), self:line_of(key))
end

local function add_rows(self, rows)
  self:line_of("rows")
  local lines = require("srt.test_lines").of(self.text, "rows", #rows) or {}
  for i, row in ipairs(rows) do
    local read, wrong = row_of.read(row)
    wrong = wrong or row_of.complete(read)
    if wrong then
      problem(self, ("rows[%d]: %s"):format(i, wrong), lines[i])
    else
      read.line, read.title = lines[i], row_of.title(read)
      self.rows[#self.rows + 1] = read
    end
  end
  for key in pairs(rows) do
    if math.type(key) ~= "integer" or key < 1 or key > #rows then problem(self, "rows must be a list without gaps") end
  end
end

-- What it returns: known keys, and functions.
local function take(self, value)
  if type(value) ~= "table" then return problem(self, "the tests must return a table") end
  local isfn = require("srt.c.box").isfn
  for key, v in pairs(value) do
    local known = KEYS[key]
    if type(key) == "string" and not known and isfn(v) then
      local _, line = self.box:where(v)
      self.tests[#self.tests + 1] = { fn = v, title = key, line = line }
    elseif not known then
      unknown(self, key)
    else
      local ok, expected = known(v)
      if not ok then problem(self, ("%s must be %s"):format(key, expected), self:line_of(key)) else self[key] = v end
    end
  end
  local rows = self.rows or {}
  self.rows, self.now = {}, self.now and test_spec.time_of(self.now)
  add_rows(self, rows)
  table.sort(self.tests, function(a, b) return a.line < b.line or a.line == b.line and a.title < b.title end)
  if #self.rows + #self.tests == 0 and not self.problems[1] then
    problem(self, "there is no test in it: it has neither rows nor a function")
  end
end

---Where Lua says that it happened, if that is in a file: it cuts the names of those that are long.
---@param message string
---@param file string
---@return string message without the place
---@return integer? line
function test_spec.placed(message, file)
  local name, line, text = message:match("^(.-):(%d+): (.*)$")
  local short = name and name:match("^%.%.%.(.+)$")
  if name == file or short and file:sub(-#short) == short then return text, tonumber(line) end
  return message
end

---@param file string its real path
---@param facts table as of srt.session, that its srt shows
---@param hooks {ask: function, log: function}
---@return table? spec policy, env, cwd, user, now, files, resolve, query, ask, command; rows, tests, box, file
---@return table[]? problems
function test_spec.load(file, facts, hooks)
  local program = facts.program
  local box, reason = require("srt.c.box").new {
    root = paths.parent(file), ask = hooks.ask, log = hooks.log,
    facts = { platform = "linux", cwd = facts.cwd, home = facts.home, user = facts.user, env = facts.env },
    preset = function(name)
      if name == "srt.test" then return program.embedded("box.test"), "=srt.test" end
    end,
    limits = { memory = LOAD_MEMORY, callInstructions = CALL_INSTRUCTIONS, callCpuMs = CALL_MS },
  }
  if not box then return nil, { { file = file, message = reason } } end
  local value, fault = box:load(file)
  if value == nil and fault then
    local message, line = test_spec.placed(fault.message, file)
    return nil, { { file = line and file or fault.file or file, line = line or fault.line, message = message } }
  end
  local self = setmetatable({ file = file, box = box, tests = {}, problems = {} }, Spec)
  take(self, value)
  table.sort(self.problems, function(a, b) return (a.line or 0) < (b.line or 0) end)
  if self.problems[1] then return nil, self.problems end
  return self
end

return test_spec
