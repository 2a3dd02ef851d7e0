-- SPDX-License-Identifier: Apache-2.0
-- What srt.rehearse found out, as plain data for tests and programs, and as text for people.
local report = require "srt.report"

local rehearse_answer = {}

local function where_of(origin)
  if not origin or not origin.file then return nil end
  return origin.line and ("%s:%d"):format(origin.file, origin.line) or origin.file
end

---@class srt.rehearsed
---@field is "allow"|"deny"|"respond"
---@field rule string the key that decided and its entry, or what did besides
---@field where string? file and line of it
---@field origin table? of srt.source, for who counts
---@field reason string?
---@field note string?
---@field log string[] what the policy wrote

---@param answer srt.answer of srt.rehearse
---@return srt.rehearsed
function rehearse_answer.path(answer)
  local rule, asked = answer.rule, answer.asked
  if asked and (asked.granted or asked.reason) then
    return { is = answer.decision, rule = "filesystem.decideOpen", where = where_of(answer.asks), origin = answer.asks,
      reason = asked.reason, real = answer.real, errno = answer.errno, fault = asked.fault, detail = asked.detail }
  end
  local origin = not rule.builtin and rule.origin or nil
  local text = origin and ("%s %q"):format(origin.key:gsub("%[%d+%]$", ""), rule.given) or rule.builtin
  return { is = answer.decision, rule = text, where = where_of(origin), origin = origin, reason = answer.why,
    errno = answer.errno, real = answer.real, advice = answer.advice }
end

local function map_of(headers)
  if not headers or #headers == 0 then return nil end
  local map = {}
  for _, header in ipairs(headers) do map[header.name] = header.value end
  return map
end

---@param decision table of srt.decide_net
---@return srt.rehearsed
function rehearse_answer.net(decision)
  return { is = decision.action, rule = decision.rule, where = where_of(decision.origin), origin = decision.origin,
    reason = decision.reason, host = decision.host, port = decision.port, status = decision.status,
    headers = map_of(decision.headers), set = map_of(decision.set), remove = decision.remove and decision.remove[1]
    and decision.remove or nil, body = decision.body, target = decision.target, path = decision.path,
    note = decision.unread, fault = (decision.fault or decision.detail) and true or nil, detail = decision.detail,
    advice = decision.advice, via = decision.action == "allow" and decision.via and decision.via.text or nil }
end

---The same, of a request or the response to it, with the status that the client is sent: a denial has one
---(decision_deny in proxy/decision.c).
---@param decision table of srt.decide_net
---@param reviewed boolean|nil is it about a response?
---@return srt.rehearsed
function rehearse_answer.sent(decision, reviewed)
  local answer = rehearse_answer.net(decision)
  local status = answer.status or 0
  if answer.is == "deny" and (status < 400 or status > 599) then answer.status = reviewed and 502 or 403 end
  return answer
end

local WORDS = { allow = "allowed", deny = "denied", respond = "answered by the policy" }

local function headers_into(say, word, headers)
  for _, name in ipairs(require("srt.tables").keys(headers or {})) do
    say("  %s %s: %s", word, name, tostring(headers[name]))
  end
end

local function edits(say, answer)
  local allowed = answer.is == "allow"
  headers_into(say, allowed and "sets: " or "sends:", allowed and answer.set or answer.headers)
  for _, name in ipairs(answer.remove or {}) do say("  takes out: %s", name) end
  if answer.target then say("  asks for: %s", answer.target) end
  if answer.body then say("  body:  %s", #answer.body > 500 and answer.body:sub(1, 500) .. "…" or answer.body) end
  for _, name in ipairs(answer.puts or {}) do say("  puts in: the masked value of %s, where its stand-in is", name) end
end

---An answer in lines.
---@param what string "connect example.org:443"
---@param answer srt.rehearsed
---@return string
function rehearse_answer.text(what, answer)
  local lines = {}
  local function say(form, ...) lines[#lines + 1] = report.plain(form:format(...)) end
  local extra = answer.errno or answer.is ~= "allow" and answer.status
  say("%s: %s%s", WORDS[answer.is], what, extra and (" (%s)"):format(extra) or "")
  say("  by:    %s%s", answer.rule, answer.where and (" (%s)"):format(answer.where) or "")
  if answer.reason then say("  why:   %s", answer.reason) end
  if answer.advice then say("  cure:  %s", answer.advice) end
  if answer.is == "allow" and answer.status then say("  status: %d", answer.status) end
  edits(say, answer)
  for _, text in ipairs(answer.asked or {}) do say("  asked: %s", text) end
  if answer.via then say("  leaves: by %s", answer.via) end
  if answer.path then say("  path:  %s", answer.path) end
  if answer.note then say("  note:  %s", answer.note) end
  for _, line in ipairs(answer.log or {}) do say("  log:   %s", report.printed(line)) end
  for line in (answer.detail or ""):gmatch("[^\n]+") do say("  trace: %s", (line:gsub("\t", "  "))) end
  return table.concat(lines, "\n") .. "\n"
end

return rehearse_answer
