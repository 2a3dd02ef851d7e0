-- SPDX-License-Identifier: Apache-2.0
-- Decides a response: who observes it is told, then the filterResponse chain.

local spelled = require("srt.net_text")

local decide_response = {}

local shown, where = spelled.shown, spelled.where

---An observer's answer is ignored, and so is its failure, but for the log.
---@return string|nil details of those that failed
local function observe(review, question, call)
  local failed = {}
  for _, fn in ipairs(review.observers) do
    local ok, message = call(fn, "observe", question.status, question.headers)
    if not ok then failed[#failed + 1] = "onResponse failed: " .. tostring(message) end
  end
  return failed[1] and table.concat(failed, "\n")
end

local function by_filter(self, subject, answer)
  local origin = self:origin(answer.by, "filterResponse")
  local decision = { action = answer.verdict, rule = "network.filterResponse", origin = origin, host = subject.host,
    port = subject.port, status = answer.status, fault = answer.fault, detail = answer.detail, body = answer.body }
  if answer.verdict == "allow" then
    decision.set, decision.remove = answer.set, answer.remove
  elseif answer.verdict == "respond" then
    decision.headers, decision.status = answer.headers or {}, answer.status or 200
  else
    decision.action, decision.headers = "deny", answer.headers
    decision.reason = ("the response to %s %s was denied by network.filterResponse%s%s"):format(
      shown(subject.method), spelled.url(subject.url), where(origin), spelled.because(answer))
  end
  return decision
end

---@param self table of srt.decide_net
---@param question table {status, headers, body, review = of the request's decision}
---@param call fun(fn: any, kind: string, subject: any, other: any): boolean, any, any
---@return table decision action "allow", "deny" or "respond"; status, set, remove, headers, body
function decide_response.decide(self, question, call)
  local review = question.review
  local subject = review.subject
  local detail = observe(review, question, call)
  local pass = { action = "allow", rule = "network.filterRequest", host = subject.host, port = subject.port,
    detail = detail }
  if #self.filterResponse == 0 then return pass end
  subject.process = question.process
  local answer = require("srt.verdict").chain("filterResponse", self.filterResponse, call,
    { status = question.status, headers = question.headers, body = question.body }, subject)
  subject.process = nil -- it ends with this answer
  if answer.verdict == "pass" then return pass end
  local decision = by_filter(self, subject, answer)
  decision.detail = decision.detail or detail
  return decision
end

return decide_response
