-- SPDX-License-Identifier: Apache-2.0
-- srt-lua explain: what a policy answers to something, and which rule decides. Runs no command.
local judge = require "srt.judge"
local net = require "srt.explain_net"
local report = require "srt.report"

local explain = {}

local ALLOWED, DENIED, FAILED = 0, 1, 125

explain.USAGE = [[
usage: srt-lua explain POLICY ACTION PATH… [--json]
       srt-lua explain POLICY connect HOST:PORT [--protocol NAME] [--json]
       srt-lua explain POLICY request METHOD URL [option…] [--json]
       srt-lua explain POLICY --stdin

Says what a command under POLICY is answered: the decision, and the rule that made it with file and line. No command
runs and nothing is connected to. Of a PATH, named from here, it tells the real path after links and the errno; where
filesystem.decideOpen would be asked, it says so. For connections and requests the policy's callbacks run, as in a run:
which were asked, what they logged, and what they change of a request; secrets show as <secret.NAME>.

  ACTION     read list stat; write append mmap truncate chmod chown utime setxattr; create mkdir mknod symlink
             tmpfile; delete unlink rmdir; rename exchange link, which take their paths in pairs; connect, also to a
             Unix socket: unix:PATH
  -H 'NAME: VALUE', --header 'NAME: VALUE'
                                     a header field of the request
  --data TEXT | @FILE                its body
  --response STATUS                  ask about this response to it as well, with
  --response-header 'NAME: VALUE'    its header fields, and
  --response-data TEXT | @FILE       its body
  --protocol NAME                    how the client connects: connect (default), http, socks5, socks4a, transparent
  --command-text TEXT                conn.command of callbacks
  --json                             one JSON object a line, one for each path, pair or other question
  --stdin                            read actions and their paths from standard input, each ended by a NUL byte;
                                     answers as --json

The exit status is 0 where all is allowed, 1 where something is denied or answered by the policy, 125 for a failure of
srt-lua itself.
]]

---@return table|nil options {policy=, action=, paths=, json=, stdin=, net = of explain_net.take} or {help = true}
---@return string|nil message
local function parse(args)
  local options, words, plain, i = { net = {} }, {}, false, 0
  while i < #args do
    i = i + 1
    local arg = args[i]
    local field = not plain and net.option(arg)
    if plain or arg:sub(1, 1) ~= "-" then
      words[#words + 1] = arg
    elseif arg == "--" then
      plain = true
    elseif arg == "--help" or arg == "-h" then
      return { help = true }
    elseif arg == "--json" or arg == "--stdin" then
      options[arg:sub(3)] = true
    elseif field then
      i = i + 1
      local problem = net.take(options.net, field, args[i])
      if problem then return nil, problem end
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

local function unknown(action, policy)
  if policy and (judge.takes(policy) or policy == "request") then
    return ("the policy's file comes before %q"):format(policy)
  end
  if action:find("^%u+$") then
    return ("%q is no action; a request is asked about by request %s URL"):format(action, action)
  end
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
      if not one.socket then return nil, "connect takes unix:PATH here, or one HOST:PORT without --stdin" end
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
  if not takes then return nil, unknown(options.action, options.policy) end
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

-- Connections and requests, of which there is one: everything else is about paths.
local function is_net(options)
  if options.action == "request" then return true end
  local first = options.paths and options.paths[1]
  return options.action == "connect" and first ~= nil and not first:find("^unix:")
end

---@param lines string[] where the policy's log goes
---@return table|nil rehearsal
local function rehearse(ctx, facts, options, lines)
  facts.log = function(level, text) lines[#lines + 1] = report.logged(level, text) end
  local rehearsal, problems = require("srt.rehearse").open(facts, options.policy,
    { command = options.net.command, onlyPaths = not is_net(options) })
  for i, line in ipairs(lines) do
    ctx.err("srt-lua: policy: " .. report.printed(line) .. "\n")
    lines[i] = nil
  end
  ctx.err(rehearsal and report.text(rehearsal.profile.unenforced, ctx.tty)
    or type(problems) == "string" and report.ours(problems) or report.text(problems, ctx.tty))
  return rehearsal
end

local function data_of(question, answer)
  local rule = answer.rule
  local origin, asks = not rule.builtin and rule.origin or {}, answer.asks
  return { action = question.action, path = question.path, to = question.to, decision = answer.decision,
    errno = answer.errno, real = answer.real, type = answer.type, why = answer.why, advice = answer.advice,
    unheld = answer.unheld, links = #answer.links > 0 and answer.links or nil,
    asks = require("srt.source").data(asks),
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
  say("  by:    %s", rule_text(answer.rule))
  for _, link in ipairs(answer.links) do say("  link:  %s -> %s", link.path, link.target) end
  if answer.real ~= (question.socket or question.path) then say("  path:  %s", answer.real) end
  if answer.why then say("  note:  %s", answer.why) end
  if answer.advice then say("  cure:  %s", answer.advice) end
  if answer.asks then
    say("  asks:  filesystem.decideOpen (%s), which is not run here and may allow it",
      require("srt.source").where(answer.asks))
  end
  return table.concat(lines, "\n") .. "\n"
end

local function tell(ctx, options, rehearsal, questions)
  local status, json, cwd = ALLOWED, require("srt.json"), rehearsal.facts.cwd
  -- "~" is a name here: shells have put the home in its place.
  local absolute = require("srt.paths").absolute
  for _, question in ipairs(questions) do
    local answer = rehearsal:judged(question.action, absolute(question.socket or question.path, cwd),
      question.to and absolute(question.to, cwd))
    if answer.decision ~= "allow" then status = DENIED end
    ctx.out((options.json or options.stdin) and json.encode(data_of(question, answer), true) .. "\n"
      or explain.text(question, answer))
  end
  return status
end

local function tell_net(ctx, options, rehearsal, question, lines)
  local answer = net.ask(rehearsal, question, lines)
  ctx.out(options.json and require("srt.json").encode(net.data(question, answer), true) .. "\n"
    or net.text(question, answer))
  return net.allows(answer) and ALLOWED or DENIED
end

---@return table|nil questions of paths, or one of the network
---@return string|nil message
local function asked(options)
  if options.stdin then return read_questions() end
  if is_net(options) then return net.read(options.action, options.paths, options.net) end
  if next(options.net) then return nil, "headers, bodies and the like are for connections and requests" end
  return given_questions(options)
end

--- Runs the command.
---@param args string[] what follows "explain"
---@param ctx table {program, out, err, tty}
---@return integer exit status: 0 all is allowed, 1 something is denied, 125 failure
function explain.main(args, ctx)
  local options, message = parse(args)
  local questions
  if options and not options.help then questions, message = asked(options) end
  local status = report.answered(ctx, "srt-lua explain", explain.USAGE,
    options and (options.help or questions) and options, message)
  if status then return status end
  local facts
  facts, message = require("srt.session").facts(ctx.program)
  if not facts then
    ctx.err(report.ours(message))
    return FAILED
  end
  local lines = {}
  local rehearsal = rehearse(ctx, facts, options, lines)
  if not rehearsal then return FAILED end
  if is_net(options) then return tell_net(ctx, options, rehearsal, questions, lines) end
  return tell(ctx, options, rehearsal, questions)
end

return explain
