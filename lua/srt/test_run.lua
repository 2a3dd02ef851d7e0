-- SPDX-License-Identifier: Apache-2.0
-- Runs a policy's tests: its rows one after the other, then each function with the policy loaded anew.
local rehearse = require "srt.rehearse"
local row_of = require "srt.test_row"

local test_run = {}
local Run = {}
Run.__index = Run

-- Actions whose path is not there before: only its folder is made.
local MAKES = { create = true, mkdir = true, mknod = true, symlink = true, tmpfile = true }

local function headers_of(map)
  local list = {}
  for _, name in ipairs(require("srt.tables").keys(map or {})) do
    local value = map[name]
    for _, one in ipairs(type(value) == "table" and value or { value }) do
      list[#list + 1] = { name = name, value = one }
    end
  end
  return list
end

-- A failure of what a test asked, which it is told.
local function refuse(form, ...) error({ refused = form:format(...) }, 0) end

local function fresh(self)
  self.lines = {}
  self.facts.now = self.now
  local rehearsal, problems = rehearse.open(self.facts, self.policy, { command = self.spec.command })
  if not rehearsal then
    self.problems = type(problems) == "string" and { { file = self.policy, message = problems } } or problems
    return nil
  end
  self.rehearsal = rehearsal
  self.cover:watch(rehearsal)
  return rehearsal
end

local function ask_connect(self, read)
  local host, port = rehearse.place(read.subject)
  if not host then refuse("%s", port) end
  local decision = self.rehearsal:connect(host, port, read.row.protocol)
  local address = read.row.address
  local why = address and decision.action == "allow" and self.rehearsal:address(decision, address)
  if why then
    decision = { action = "deny", rule = "network.deniedResolvedAddresses", reason = why, host = host, port = port }
  end
  return require("srt.rehearse_answer").net(decision)
end

local function ask_request(self, read)
  local method, url = read.subject:match("^(%S+)%s+(%S+)$")
  if not method then refuse("%q is no request like \"GET https://example.org/\"", read.subject) end
  local row = read.row
  local decision, parts = self.rehearsal:request { method = method, url = url, headers = headers_of(row.headers),
    body = row.body }
  if not decision then refuse("%s", parts) end
  local sent = require("srt.rehearse_answer").sent
  local answer = sent(decision)
  self.cover:hit { origin = self.rehearsal:opener_of(parts.host, parts.port) }
  if not row.response or decision.action ~= "allow" then return answer end
  self.cover:hit(answer)
  return sent(self.rehearsal:response(decision, { status = row.response.status,
    headers = headers_of(row.response.headers), body = row.response.body }), true)
end

---The answer to what a row asks.
---@return srt.rehearsed
function Run:answer(read)
  local first = #self.lines + 1
  local answer
  if read.network == "connect" then
    answer = ask_connect(self, read)
  elseif read.network == "request" then
    answer = ask_request(self, read)
  else
    local path = read.action == "connect" and read.subject:match("^unix:(.+)$") or read.subject
    local judged = self.rehearsal:path(read.action, path, read.to)
    answer = require("srt.rehearse_answer").path(judged)
    -- Where decideOpen was asked, an entry had denied.
    self.cover:hit { origin = judged.rule.origin }
  end
  answer.log = table.move(self.lines, first, #self.lines, 1, {})
  self.cover:hit(answer)
  return answer
end

local function check(self, read)
  local answer = self:answer(read)
  local problems = row_of.compare(read.row, answer)
  if not problems[1] then return nil end
  return problems, answer
end

local function read_or_refuse(row)
  local read, wrong = row_of.read(row)
  if not read then refuse("%s", wrong) end
  return read
end

local QUESTIONS = {}

-- What an answer is made of that goes into the box.
local function plain(answer)
  answer.origin = nil
  return answer
end

function QUESTIONS.path(self, action, path, to)
  return plain(self:answer(read_or_refuse { [action] = path, to = to }))
end

local function with(key, subject, options)
  local row = { [key] = subject }
  for name, value in pairs(options) do row[name] = value end
  return read_or_refuse(row)
end

function QUESTIONS.connect(self, place, options) return plain(self:answer(with("connect", place, options))) end
function QUESTIONS.request(self, request, options) return plain(self:answer(with("request", request, options))) end

function QUESTIONS.check(self, row)
  local read = read_or_refuse(row)
  if not read.expects then refuse("a row to check has to expect something, as is = \"deny\"") end
  local problems, answer = check(self, read)
  if not problems then return true end
  self.failed = { answer = answer, what = ("%s %s"):format(read.action, read.subject) }
  refuse("%s: %s", row_of.title(read), table.concat(problems, "; "))
end

local function set_clock(self, now)
  self.now = now
  self.spec.box:clock(now)
  if self.rehearsal then self.rehearsal.loaded.box:clock(now) end
  return true
end

function QUESTIONS.clock(self, now)
  local seconds = require("srt.test_spec").time_of(now)
  if not seconds then refuse("a time is seconds since 1970, or like \"2026-11-30T12:00:00Z\"") end
  return set_clock(self, seconds)
end

function QUESTIONS.pass(self, seconds)
  if type(seconds) ~= "number" then refuse("how many seconds pass must be a number") end
  return set_clock(self, self.now + seconds)
end

---What the box of the tests asks.
function Run:question(what, ...)
  local known = QUESTIONS[what]
  if not known then return self.fakes(what, ...) end
  if not self.rehearsal then
    return nil, "a policy can be asked in the functions of the tests, not while they are loaded"
  end
  local ok, answer = pcall(known, self, ...)
  if ok then return answer end
  if type(answer) == "table" and answer.refused then return nil, answer.refused end
  error(answer, 0)
end

-- What run:all throws when Ctrl-C came.
test_run.INTERRUPTED = "interrupted"

local function add(self, result)
  if require("srt.c.interrupt").taken() then error(test_run.INTERRUPTED, 0) end
  self.results[#self.results + 1] = result
end

local function run_rows(self)
  for _, read in ipairs(self.spec.rows) do
    local result = { title = read.title, line = read.line }
    local ok, problems, answer = pcall(check, self, read)
    if not ok then
      if type(problems) ~= "table" then error(problems, 0) end
      problems = { problems.refused }
    end
    result.problems, result.answer = problems, answer
    result.what = ("%s %s"):format(read.action, read.subject)
    add(self, result)
  end
end

local function run_function(self, test)
  local box, result = self.spec.box, { title = test.title, line = test.line }
  self.failed, self.said = nil, {}
  local ok, message = rehearse.settle(box.call, box, test.fn, "violation")
  if not ok then
    local text, line = require("srt.test_spec").placed(message:match("^[^\n]*"), self.spec.file)
    local failed = self.failed or {}
    result.line, result.problems, result.answer, result.what = line or test.line, { text }, failed.answer, failed.what
  end
  result.said = self.said
  add(self, result)
end

-- The paths that rows are about: files, and folders where something is to be made.
local function wanted_by(rows)
  local wanted = {}
  for _, read in ipairs(rows) do
    if not read.network and read.action ~= "connect" then
      local folder = read.subject:match("^(.*/)[^/]*$")
      wanted[#wanted + 1] = MAKES[read.action] and folder or not MAKES[read.action] and read.subject or nil
      wanted[#wanted + 1] = read.to and read.to:match("^(.*/)[^/]*$")
    end
  end
  -- Deeper ones first: what another row finds beneath a path makes that a folder.
  table.sort(wanted, function(a, b) return #a > #b or #a == #b and a < b end)
  return wanted
end

local function make_files(self)
  for key, text in pairs(self.spec.files or {}) do
    local path = type(key) == "string" and key or text
    local ok, message = self.world:file(self.facts.moved(path), type(key) == "string" and text or "")
    if not ok then return ("files: %s: %s"):format(path, message) end
  end
  for _, path in ipairs(wanted_by(self.spec.rows)) do
    local ok, message = self.world:file(self.facts.moved(path))
    if not ok then return ("the file %s can't be made: %s"):format(path, message) end
  end
end

---Runs them.
---@param spec table of srt.test_spec, loaded with hooks that call run:question and run:say
---@param policy string real path
function Run:all(spec, policy)
  self.spec, self.policy = spec, policy
  self.facts = self.world:facts(self.real, spec)
  spec.pass = function(seconds) set_clock(self, self.now + seconds) end
  self.fakes = require("srt.test_fakes").of(spec)
  self.facts.ask = self.fakes
  local folder = require("srt.paths").parent(policy)
  self.facts.owned = function(files) return self.world:owned(files, folder) end
  self.facts.moved = function(path) return self.world:moved(path, folder) end
  self.facts.log = function(level, text)
    self.lines[#self.lines + 1] = require("srt.report").logged(level, text)
  end
  local message = make_files(self)
  if message then
    self.problems = { { file = spec.file, message = message } }
    return
  end
  local began = spec.now or os.time()
  set_clock(self, began)
  if #spec.rows > 0 then
    if not fresh(self) then return end
    run_rows(self)
  end
  for _, test in ipairs(spec.tests) do
    set_clock(self, began)
    if not fresh(self) then return end
    set_clock(self, began)
    run_function(self, test)
  end
  self.covered = self.cover:done()
end

---@param real table facts of the caller
---@param world table of srt.test_world
---@return table run results = list of {title=, line=, problems = list|nil, answer=, said=}, problems, covered
function test_run.new(real, world)
  return setmetatable({ real = real, world = world, results = {}, said = {}, lines = {},
    cover = require("srt.test_cover").new() }, Run)
end

return test_run
