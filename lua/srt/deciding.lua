-- SPDX-License-Identifier: Apache-2.0
-- What the proxy asks, answered: the network decisions, with callbacks in the box, and who is told of them.
local net = require "srt.decide_net"

local deciding = {}

-- A line of what was decided, with its cause. Queries may hold secrets.
local function line_of(question, decision)
  local spelled = require("srt.net_text")
  local answered = question.kind == "response" and (", answered %d"):format(question.status) or ""
  local path = question.kind ~= "connect" and question.path or ""
  return ("%s%s %s%s: %s%s"):format(question.method or question.kind:upper(), answered,
    spelled.target(question.host, question.port), spelled.shown(path), decision.action,
    decision.reason and ": " .. decision.reason or "")
end

-- What a client showed to be let in is no business of the policy's.
local function hide_login(headers)
  for i = #headers, 1, -1 do
    if headers[i].name:lower() == "proxy-authorization" then table.remove(headers, i) end
  end
end

local Deciding = {}
Deciding.__index = Deciding

-- held: what becomes of the decision where not all of it can be held
local function judge(self, question, held)
  local decision, learner, reporter, say = self.live:decide(question), self.learner, self.reporter, self.say
  if held then decision = held(decision) end
  if learner then learner:decided(question, decision) end
  if decision.action == "deny" or decision.detail then
    reporter:decided(question, decision)
  elseif reporter:listened() then
    reporter:allowed(question, decision)
  end
  if say then
    say(line_of(question, decision))
    if decision.detail then say(decision.detail) end
  end
  return decision
end

---@param question table of srt.c.proxy
---@return table verdict for it
function Deciding:decide(question)
  if self.login and not question.inside then hide_login(question.headers) end
  if question.kind == "authz" then
    return require("srt.authz").answer(question, self.live, function(...) return judge(self, ...) end)
  end
  return net.answer(judge(self, question))
end

---Where a name has led.
---@return string|nil reason as Decider:address of srt.decide_net
function Deciding:address(host, port, address)
  local refused = self.live:address(host, port, address)
  if self.learner and not refused then self.learner:dialled(host, port, address) end
  return refused
end

---As serve.open, whose proxy it is for.
---@return table deciding with live, of srt.live
function deciding.new(loaded, sandbox, say, asSrt, reporter, login, proxy)
  local live = require("srt.live").new(loaded, { command = reporter.command, commandId = reporter.commandId,
    vault = loaded.vault, asSrt = asSrt, more = reporter.more, ask = reporter.ask }, sandbox, reporter)
  live.proxy = proxy
  local self = { live = live, learner = loaded.learner, reporter = reporter, say = say, login = login }
  return setmetatable(self, Deciding)
end

return deciding
