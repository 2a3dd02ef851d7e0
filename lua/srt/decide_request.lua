-- SPDX-License-Identifier: Apache-2.0
-- Decides a request: its connection, what it says of its host, then the filterRequest chain and what it edits.

local spelled = require("srt.net_text")
local target = require("srt.target")
local verdict = require("srt.verdict")

local decide_request = {}

local shown, where = spelled.shown, spelled.where
local STANDARD = { http = 80, https = 443 }

local function deny(fields)
  fields.action, fields.of = "deny", "request"
  return fields
end

local function subject_of(self, question, host, port, protocol, path)
  local scheme = question.scheme or "http"
  local at = host:find(":", 1, true) and "[" .. host .. "]" or host
  if STANDARD[scheme] ~= port then
    at = at .. ":" .. port
  end
  return {
    method = question.method, scheme = scheme, host = host, port = port, path = path, sni = question.sni,
    query = question.query, target = question.target, headers = question.headers or {}, body = question.body,
    process = question.process,
    url = scheme .. "://" .. at .. path .. (question.query and "?" .. question.query or ""),
    conn = { host = host, port = port, protocol = protocol, command = self.command,
      commandId = self.commandId },
  }
end

-- A filter that judges one reading while the server serves another would be no filter.
local function ambiguous(question, connection, why)
  return deny({
    reason = ("%s %s has %s, so servers differ on what it names"):format(shown(question.method),
      shown(question.path), why),
    rule = "network.ambiguousRequestTarget", code = "ambiguous-request-target", status = 400,
    advice = "ask for the path in its plain form", host = connection.host, port = connection.port,
  })
end

---What names another host than the one that the request goes to.
local function other_host(question, connection)
  local sni = question.sni
  if sni and require("srt.domain").canonical(sni) ~= connection.host then
    return ("the TLS server name \"%s\""):format(shown(sni))
  end
  local text = require("srt.header").first(question.headers or {}, "host")
  if not text then return nil end
  local host, port = require("srt.retarget").authority(text, STANDARD[question.scheme or "http"])
  if host ~= connection.host or port ~= connection.port then
    return ("the Host header \"%s\""):format(shown(text))
  end
end

local function misdirected(connection, what)
  return deny({
    reason = ("%s is not the target of the request, %s"):format(what, spelled.target(connection.host, connection.port)),
    rule = "network.requireHostMatch", status = 421, host = connection.host, port = connection.port,
  })
end

local CREDENTIALS = { "auth", "cookie", "token", "secret", "key", "password", "credential", "session" }

---The first header by whose name its value is a credential.
---@param headers {name: string}[]
---@return string?
local function credential_of(headers)
  for _, header in ipairs(headers) do
    for _, word in ipairs(CREDENTIALS) do
      if header.name:lower():find(word, 1, true) then return header.name end
    end
  end
end

local function refuse(decision, subject, origin, why)
  decision.reason = ("%s %s was denied: network.filterRequest%s %s"):format(shown(subject.method),
    spelled.url(subject.url), where(origin), why)
  return deny(decision)
end

---Where the request goes instead. A new host is decided as any other.
local function retarget(self, decision, subject, text, call)
  local to, why = require("srt.retarget").read(text, subject)
  if not to then
    decision.fault = true
    return refuse(decision, subject, decision.origin, "has a setTarget that " .. why)
  end
  decision.target = to.target
  if to.host == subject.host and to.port == subject.port then return decision end
  local connection = self:connect(to.host, to.port, subject.conn.protocol, call, subject.process)
  if connection.action ~= "allow" then
    return refuse(decision, subject, decision.origin, "has a setTarget where it may not go: " .. connection.reason)
  end
  decision.host, decision.port, decision.via = connection.host, connection.port, connection.via
  return decision
end

local function allow(self, decision, subject, answer, call)
  if not answer.set then
    decision.action = "allow"
    return decision
  end
  local credential = not self.network.allowPlaintextHeaderSet and subject.scheme == "http" and credential_of(answer.set)
  if credential then
    decision.rule = "network.allowPlaintextHeaderSet"
    return refuse(decision, subject, decision.origin, ("sets %s on plain HTTP, where it travels in clear text; "
      .. "network.allowPlaintextHeaderSet = true allows that"):format(credential))
  end
  decision.action, decision.set, decision.remove, decision.body = "allow", answer.set, answer.remove, answer.body
  local edits = require("srt.secret_edits")
  local to, marks = edits.marked(answer.target)
  local problem = type(marks) == "string" and "setTarget: " .. marks
  if to and not problem then decision = retarget(self, decision, subject, to, call) end
  if decision.action ~= "allow" then return decision end
  problem = problem or edits.fill(self.vault, decision, subject, marks)
  if not problem then return decision end
  decision.fault, decision.set, decision.body, decision.target = true, nil, nil, nil
  return refuse(decision, subject, decision.origin, "can't be followed: " .. problem)
end

---Turns a chain's answer to a request into the decision.
local function by_filter(self, connection, subject, answer, call)
  local origin = self:origin(answer.by, "filterRequest")
  local decision = { rule = "network.filterRequest", origin = origin, host = subject.host, port = subject.port,
    status = answer.status, fault = answer.fault, detail = answer.detail, via = connection.via }
  if answer.verdict == "pass" then
    return connection
  elseif answer.verdict == "allow" then
    return allow(self, decision, subject, answer, call)
  end
  decision.headers, decision.body = answer.headers, answer.body
  if answer.verdict == "respond" then
    decision.action, decision.headers, decision.status = "respond", answer.headers or {}, answer.status or 200
    return decision
  end
  decision.reason = ("%s %s was denied by network.filterRequest%s%s"):format(shown(subject.method),
    spelled.url(subject.url), where(origin), spelled.because(answer))
  return deny(decision)
end

local NONE = {}

---Asks the chain, where there is one.
local function filter(self, connection, subject, call)
  if #self.filterRequest == 0 then return connection, NONE end
  local answer = verdict.chain("filterRequest", self.filterRequest, call, subject)
  return by_filter(self, connection, subject, answer, call), answer.observers or NONE
end

---Decides a request: its connection first, then the filterRequest chain.
---@param self table of srt.decide_net
---@param question table
---@param call fun(fn: any, kind: string, subject: table): boolean, any, any
---@return table decision
function decide_request.decide(self, question, call)
  local protocol = question.protocol or "http"
  local connection = question.inside and require("srt.tunnel").inside(self, question)
    or self:connect(question.host, question.port, protocol, call, question.process)
  if connection.action ~= "allow" then return connection end
  local other = self.network.requireHostMatch and other_host(question, connection)
  if other then return misdirected(connection, other) end
  if #self.filterRequest == 0 and #self.filterResponse == 0 then return connection end
  local path, why = target.read(question.path, self.network.ambiguousRequestTarget or "refuse")
  if not path then return ambiguous(question, connection, why) end
  local subject = subject_of(self, question, connection.host, connection.port, protocol, path)
  local decision, observers = filter(self, connection, subject, call)
  if decision.action ~= "allow" then return decision end
  subject.body, subject.process = nil, nil -- they end with this answer
  local review = (#self.filterResponse > 0 or #observers > 0) and { subject = subject, observers = observers } or nil
  -- What was judged is what is asked for. A remembered decision is not ours to change.
  local judged = path ~= question.path and path or nil
  if not judged and not review then return decision end
  return setmetatable({ path = judged, review = review }, { __index = decision })
end

return decide_request
