-- SPDX-License-Identifier: Apache-2.0
-- srt-lua explain: what a policy allows on a path, and which rule decides. Runs nothing.
local judge = require "srt.judge"
local report = require "srt.report"

local explain = {}

local ALLOWED, DENIED, FAILED = 0, 1, 125

explain.USAGE = [[
usage: srt-lua explain POLICY ACTION PATH… [--json]
       srt-lua explain POLICY --stdin

Says what a command under POLICY is answered when it does ACTION to PATH, as named from here: the decision, the rule
that made it, the real path after links. Runs nothing: where filesystem.decideOpen would be asked, it says so.

  ACTION     read list stat; write append mmap truncate chmod chown utime setxattr; create mkdir mknod symlink
             tmpfile; delete unlink rmdir; rename exchange link, which take their paths in pairs; connect, to a
             Unix socket: unix:PATH
  --json     one JSON object a line, one for each path or pair
  --stdin    read actions and their paths from standard input, each ended by a NUL byte; answers as --json

The exit status is 0 where all is allowed, 1 where something is denied, 125 for a failure of srt-lua itself.
]]

---@return table|nil options {policy=, action=, paths=, json=, stdin=} or {help = true}
---@return string|nil message
local function parse(args)
  local options, words, plain = {}, {}, false
  for _, arg in ipairs(args) do
    if plain or arg:sub(1, 1) ~= "-" then
      words[#words + 1] = arg
    elseif arg == "--" then
      plain = true
    elseif arg == "--help" or arg == "-h" then
      return { help = true }
    elseif arg == "--json" or arg == "--stdin" then
      options[arg:sub(3)] = true
    else
      return nil, "unknown option " .. arg
    end
  end
  options.policy, options.action = words[1], words[2]
  options.paths = table.move(words, 3, #words, 1, {})
  if not options.policy then return nil, "no policy given" end
  if options.stdin then
    if options.action then return nil, "with --stdin, actions and paths come from standard input" end
    return options
  end
  if not options.action then return nil, "no action given" end
  return options
end

local function unknown(action)
  local near = require("srt.suggest").nearest(action, judge.actions())
  return ("%q is no action%s"):format(action, near and "; did you mean " .. near .. "?" or "")
end

---@return table[]|nil questions {action=, path=, to=}
---@return string|nil message
local function questions_of(words)
  local list, i = {}, 1
  while words[i] do
    local action = words[i]
    local takes = judge.takes(action)
    if not takes then return nil, unknown(action) end
    local one = { action = action, path = words[i + 1], to = takes == 2 and words[i + 2] or nil }
    if not words[i + takes] then return nil, ("%s takes %d path%s"):format(action, takes, takes == 1 and "" or "s") end
    if action == "connect" then
      one.socket = one.path:match("^unix:(.+)$")
      if not one.socket then return nil, "connect takes unix:PATH" end
    end
    if one.path == "" or one.to == "" then return nil, "a path can't be empty" end
    list[#list + 1] = one
    i = i + 1 + takes
  end
  return list
end

local function read_questions()
  local words = {}
  for word in (io.stdin:read("a") or ""):gmatch("([^\0]*)\0") do words[#words + 1] = word end
  return questions_of(words)
end

local function given_questions(options)
  local takes = judge.takes(options.action)
  if not takes then return nil, unknown(options.action) end
  if #options.paths == 0 or #options.paths % takes ~= 0 then
    return nil, takes == 2 and options.action .. " takes paths in pairs: FROM TO" or "no path given"
  end
  local words = {}
  for i = 1, #options.paths, takes do
    words[#words + 1] = options.action
    table.move(options.paths, i, i + takes - 1, #words + 1, words)
  end
  return questions_of(words)
end

local OPENS = { read = "read", write = "write", append = "write" }

-- Judges, and says which callback a command's open would be decided by.
local function asker_of(loaded, deciding)
  local chain = loaded.profile.callbacks.decideOpen
  local decider = chain[1] and require("srt.decide_open").new(loaded.profile, loaded.rules, "")
  return function(question, ...)
    local answer = deciding:ask(question.action, ...)
    local mode = OPENS[question.action]
    if decider and mode and decider:asks(answer, mode) then
      answer.asks = loaded.profile.callbacks.origins[chain[1]] or { key = "filesystem.decideOpen" }
    end
    return answer
  end
end

---@return fun(question: table, path: string, to: string?): srt.answer|nil asks
---@return string|nil text what is wrong, ready to be printed
local function judge_of(ctx, facts, file)
  local session = require("srt.session")
  local temp, message = session.tempDir(facts)
  if not temp then return nil, "srt-lua: " .. message .. "\n" end
  local loaded, problems = session.load(facts, file, { lint = true, tempDir = temp })
  if not loaded then return nil, report.text(problems, ctx.tty) end
  local plan
  local backend = require("srt.backend").get(loaded.profile.backend)
  plan, message = backend.compile(loaded.profile, loaded.rules, { cwd = facts.cwd,
    env = facts.env, tempDir = temp, features = facts.features, identity = require("srt.c.sandbox").identity() })
  if not plan then return nil, "srt-lua: " .. message .. "\n" end
  return asker_of(loaded, judge.new(loaded.rules, plan)), report.text(loaded.profile.unenforced, ctx.tty)
end

local function absolute(path, cwd)
  return path:sub(1, 1) == "/" and path or (cwd == "/" and "" or cwd) .. "/" .. path
end

local function data_of(question, answer)
  local rule = answer.rule
  local origin, asks = not rule.builtin and rule.origin or {}, answer.asks
  return { action = question.action, path = question.path, to = question.to, decision = answer.decision,
    errno = answer.errno, real = answer.real, type = answer.type, why = answer.why, unheld = answer.unheld,
    links = #answer.links > 0 and answer.links or nil,
    asks = asks and { key = asks.key, file = asks.file, line = asks.line or nil },
    rule = { given = rule.given, path = rule.path, builtin = rule.builtin, key = origin.key, file = origin.file,
      line = origin.line or nil } }
end

local function rule_text(rule)
  if rule.builtin then
    return rule.path and rule.path ~= "/" and ("%s (%s)"):format(rule.builtin, rule.path) or rule.builtin
  end
  local where = require("srt.source").where(rule.origin)
  local key = rule.origin.line and rule.origin.key .. ": " or ""
  return ("%s: %s%q"):format(where, key, rule.given)
end

--- An answer for people.
---@param question {action: string, path: string, to: string?}
---@param answer table from srt.judge
---@return string
function explain.text(question, answer)
  local lines = {}
  local function say(form, ...) lines[#lines + 1] = report.plain(form:format(...)) end
  say("%s: %s %s%s%s", answer.decision == "allow" and "allowed" or "denied", question.action, question.path,
    question.to and " to " .. question.to or "", answer.errno and " (" .. answer.errno .. ")" or "")
  say("  by:   %s", rule_text(answer.rule))
  for _, link in ipairs(answer.links) do say("  link: %s -> %s", link.path, link.target) end
  if answer.real ~= (question.socket or question.path) then say("  path: %s", answer.real) end
  if answer.why then say("  note: %s", answer.why) end
  if answer.asks then
    say("  asks: filesystem.decideOpen (%s), which is not run here and may allow it",
      require("srt.source").where(answer.asks))
  end
  return table.concat(lines, "\n") .. "\n"
end

local function tell(ctx, options, facts, deciding, questions)
  local status, json = ALLOWED, require("srt.json")
  for _, question in ipairs(questions) do
    local answer = deciding(question, absolute(question.socket or question.path, facts.cwd),
      question.to and absolute(question.to, facts.cwd))
    if answer.decision ~= "allow" then status = DENIED end
    ctx.out((options.json or options.stdin) and json.encode(data_of(question, answer), true) .. "\n"
      or explain.text(question, answer))
  end
  return status
end

--- Runs the command.
---@param args string[] what follows "explain"
---@param ctx table {program, out, err, tty}
---@return integer exit status: 0 all is allowed, 1 something is denied, 125 failure
function explain.main(args, ctx)
  local options, message = parse(args)
  local questions
  if options and options.help then
    ctx.out(explain.USAGE)
    return 0
  end
  if options then
    if options.stdin then
      questions, message = read_questions()
    else
      questions, message = given_questions(options)
    end
  end
  if not questions then
    ctx.err("srt-lua: explain: " .. report.plain(message) .. "\n" .. explain.USAGE)
    return FAILED
  end
  local facts
  facts, message = require("srt.session").facts(ctx.program)
  if not facts then
    ctx.err("srt-lua: " .. message .. "\n")
    return FAILED
  end
  local deciding, text = judge_of(ctx, facts, options.policy)
  ctx.err(text)
  return deciding and tell(ctx, options, facts, deciding, questions) or FAILED
end

return explain
