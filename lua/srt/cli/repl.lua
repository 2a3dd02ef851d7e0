-- SPDX-License-Identifier: Apache-2.0
-- srt-lua repl: asks a policy and evaluates Lua in its box, line by line, from a terminal or a pipe.
local judge = require "srt.judge"
local net = require "srt.explain_net"
local rehearse = require "srt.rehearse"
local rehearse_answer = require "srt.rehearse_answer"
local report = require "srt.report"

local repl = {}
local Session = {}
Session.__index = Session

local FAILED, EINTR = 125, 4

repl.USAGE = [[
usage: srt-lua repl POLICY

Loads a policy in its box and answers what is typed, from a terminal or a pipe; no command runs, nothing is connected
to. State lasts as in a run: srt.state, srt.rate, what decideOpen granted.

  read PATH, write PATH, …      any action of srt-lua explain; ~ is the home
  connect HOST:PORT [--protocol NAME]
  request METHOD URL [-H 'NAME: VALUE'] [--data TEXT|@FILE] [--response STATUS] …
  = EXPRESSION                  evaluates it in the box and shows it
  anything else                 is Lua and runs there; globals last
  reload, help, quit

Each input has the budget of loading a policy; Ctrl-C ends what goes on, Ctrl-D ends the session. For line editing, run
it under rlwrap.

Exit status: 0, 125 for wrong usage or a policy that can't be loaded.
]]

local HELP = repl.USAGE:match("\n\n(  read.-\n)\n")

---Splits a line as a shell does: blanks part words, quotes hold them together.
---@param line string
---@return string[]|nil words
---@return string|nil problem
function repl.words(line)
  local words, at = {}, 1
  while true do
    at = line:find("%S", at)
    if not at then return words end
    local word = ""
    while at <= #line and not line:find("^%s", at) do
      local quote = line:match("^[\"']", at)
      local stop = quote and line:find(quote, at + 1, true)
      if quote and not stop then return nil, "a quote is not closed" end
      local part = quote and line:sub(at + 1, stop - 1) or line:match("^[^%s\"']+", at)
      word, at = word .. part, quote and stop + 1 or at + #part
    end
    words[#words + 1] = word
  end
end

function Session:say(text) self.ctx.out(text) end
function Session:fail(message) self.ctx.out("error: " .. report.plain(message) .. "\n") end

local function path_command(self, action, words)
  local takes = judge.takes(action)
  if #words ~= takes then return self:fail(("%s takes %d path%s"):format(action, takes, takes == 1 and "" or "s")) end
  local path = action == "connect" and words[1]:match("^unix:(.+)$") or words[1]
  local answer = rehearse_answer.path(self.rehearsal:path(action, path, words[2]))
  answer.real = nil
  self:say(rehearse_answer.text(action .. " " .. table.concat(words, " to "),
    net.told(self.rehearsal, nil, answer)))
end

local function net_command(self, action, words)
  local plain, options, i = {}, {}, 0
  while i < #words do
    i = i + 1
    local field = net.option(words[i])
    local problem
    if field then
      i = i + 1
      problem = net.take(options, field, words[i])
    elseif words[i]:sub(1, 1) == "-" then
      problem = "unknown option " .. words[i]
    else
      plain[#plain + 1] = words[i]
    end
    if problem then return self:fail(problem) end
  end
  local question, problem = net.read(action, plain, options)
  if not question then return self:fail(problem) end
  self:say(net.text(question, net.ask(self.rehearsal, question)))
end

local function command(self, name, rest)
  local words, problem = repl.words(rest)
  if not words then return self:fail(problem) end
  if name == "request" or name == "connect" and not (words[1] or ""):find("^unix:") then
    return net_command(self, name, words)
  end
  path_command(self, name, words)
end

-- What is no Lua was perhaps meant to be an action.
local function meant(word)
  local known = judge.actions()
  known[#known + 1] = "request"
  local near = word and require("srt.suggest").nearest(word, known)
  return near and ("; did you mean %s?"):format(near) or ""
end

-- What the box made of a chunk.
local function run_chunk(self, text, name)
  local value, fault = self.rehearsal.loaded.box:chunk(text, name)
  if value == nil and fault then
    self:fail(fault.message .. meant(fault.message:match("a nil value %(global '(%l+)'")))
  else
    return value
  end
end

-- Compiles only, as the box will: what is wrong with a text has the line that was typed.
local function compiles(text)
  local ok, message = load(text, "=input", "t")
  return ok ~= nil, message
end

local function evaluate(self, text)
  local ok, message = compiles("return " .. text)
  if not ok then return self:fail(message) end
  -- A comment at its end would hide what follows; else there is no second line that nobody typed.
  local shown = run_chunk(self, "return show(" .. text .. (text:find("--", 1, true) and "\n)" or ")"), "input")
  if type(shown) == "string" and shown ~= "" then self:say(shown:gsub("[^\n]+", report.plain) .. "\n") end
end

---@return boolean? more is to come
local function run_lua(self, text)
  if compiles("return " .. text) then return evaluate(self, text) end
  local ok, message = compiles(text)
  if ok then
    run_chunk(self, text, "input")
  elseif message:find("near <eof>$") and not self.ended then
    return true
  else
    self:fail(message .. meant(text:match("^%s*(%l+)%s")) .. " (help tells what can be typed)")
  end
end

---Loads the policy, or loads it again.
---@return boolean ok
function Session:load()
  local rehearsal, problems = rehearse.open(self.facts, self.policy)
  if not rehearsal then
    self.ctx.err(type(problems) == "string" and report.ours(problems) or report.text(problems, self.ctx.tty))
    return false
  end
  self.rehearsal = rehearsal
  self.ctx.err(report.text(rehearsal.profile.unenforced, self.ctx.tty))
  run_chunk(self, "show = (function() " .. self.ctx.program.embedded("box.show") .. "\nend)()", "show")
  return true
end

local WORDS = {
  help = function(self) self:say(HELP) end,
  quit = function(self) self.ended = true end,
  reload = function(self)
    if self:load() then self:say("loaded again\n") end
  end,
}
WORDS.exit, WORDS["?"] = WORDS.quit, WORDS.help

---Answers an input.
---@param text string of one line or more
---@return boolean? more it is the beginning of what has more lines
function Session:answer(text)
  local line = text:match("^%s*(.-)%s*$")
  local name, rest = line:match("^(%l+)%s+([^=%s(].*)$")
  name = name or line:match("^%l+$")
  if line == "" then return end
  if name == "explain" then return self:answer(rest or "help") end
  if WORDS[line] then return WORDS[line](self) end
  if name and (judge.takes(name) or name == "request") then return command(self, name, rest or "") end
  if line:sub(1, 1) == "=" then return evaluate(self, line:sub(2)) end
  return run_lua(self, text)
end

-- One input with all that can go wrong in it.
local function attempt(self, text)
  local ok, more = pcall(self.answer, self, text)
  if ok then return more end
  self:fail(tostring(more))
end

---Reads until the input ends.
function Session:run()
  local text = ""
  while not self.ended do
    if self.tty then self:say(text == "" and "> " or ">> ") end
    local ready, line, _, code = self.wait(), nil, nil, nil
    if ready then line, _, code = io.read("L") end
    if not ready or code == EINTR then
      self.taken()
      text = ""
      self:say("\n")
    elseif line then
      text = text .. line
      if not attempt(self, text) then text = "" end
      self.taken() -- it was for what has ended
    else
      self.ended = true
      if text ~= "" then attempt(self, text) end
      if self.tty then self:say("\n") end
    end
  end
end

local function start(ctx, options, facts)
  local interrupt, sys = require "srt.c.interrupt", require "srt.c.sys"
  local self = setmetatable({ ctx = ctx, facts = facts, policy = options.file, tty = sys.isatty(0),
    taken = function() return false end, wait = function() return true end }, Session)
  facts.log = function(level, text)
    ctx.out(("log: %s\n"):format(report.plain(report.logged(level, text))))
  end
  if not self:load() then return FAILED end
  if self.tty then
    local ok, message = interrupt.watch()
    if not ok then
      ctx.err(report.ours("Ctrl-C can't be watched: " .. message))
      return FAILED
    end
    self.taken, self.wait, rehearse.interrupted = interrupt.taken, interrupt.wait, interrupt.taken
    self:say("srt-lua " .. ctx.program.version .. "; help tells what can be typed\n")
  end
  self:run()
  return 0
end

--- Runs the command.
---@param args string[] what follows "repl"
---@param ctx table {program, out, err, tty}
---@return integer exit status
function repl.main(args, ctx)
  local options, message = require("srt.run_options").one(args, {}, "policy")
  local status = report.answered(ctx, "srt-lua repl", repl.USAGE, options, message)
  if status then return status end
  local facts
  facts, message = require("srt.session").facts(ctx.program)
  if facts then return start(ctx, options, facts) end
  ctx.err(report.ours(message))
  return FAILED
end

return repl
