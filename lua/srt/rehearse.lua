-- SPDX-License-Identifier: Apache-2.0
-- Asks a policy what a run would ask it, of the modules that runs ask, with no sandbox and no proxy. For explain, test
-- and repl. No value of a secret is read: stand-ins like "<secret.NAME>" take their place.
local judge = require "srt.judge"
local paths = require "srt.paths"

local rehearse = {}
local Rehearsal = {}
Rehearsal.__index = Rehearsal

-- What settle throws where rehearse.interrupted, set by whoever hears of Ctrl-C, says so.
rehearse.INTERRUPTED = "interrupted"

-- How a client can connect.
rehearse.PROTOCOLS = { "connect", "http", "socks5", "socks4a", "transparent" }

local STANDARD = { http = 80, https = 443 }
local OPENS = { read = "read", write = "write", append = "write" }

---Calls a function that may wait, and turns the loop until it is over.
---@param fn function
---@return any what it returns; its errors are thrown on
function rehearse.settle(fn, ...)
  local task = require "srt.c.task"
  local result
  task.start(function(...) result = table.pack(pcall(fn, ...)) end, ...)
  while not result do
    if not task.turn() then error("a callback waits for what can't come", 0) end
    if rehearse.interrupted and rehearse.interrupted() and not result then
      task.stop()
      error(rehearse.INTERRUPTED, 0)
    end
  end
  if not result[1] then error(result[2], 0) end
  return table.unpack(result, 2, result.n)
end

local function stand_in(one) return ("<secret.%s>"):format(one.name) end
local READ = { env = stand_in, file = stand_in, command = stand_in }

-- The environment with stand-ins for what is masked in it; what is not there stays so.
local function masked(profile, env)
  local out = setmetatable({}, { __index = env })
  for _, one in ipairs(profile.credentials.variables) do
    if env[one.name] and env[one.name] ~= "" then out[one.name] = ("<masked %s>"):format(one.name) end
  end
  return out
end

-- Judges paths by what the backend makes of the policy.
local function judge_of(loaded, facts, temp)
  local compiler, message = require("srt.backend").get(loaded.profile.backend)
  local plan
  if compiler then
    plan, message = compiler.compile(loaded.profile, loaded.rules, { cwd = facts.cwd, env = facts.env, tempDir = temp,
      features = facts.features, identity = require("srt.c.sandbox").identity() })
  end
  if not plan then return nil, message end
  return judge.new(loaded.rules, plan)
end

-- Notes which callbacks are asked, in their order.
local function note_calls(self)
  local part, origins = self.live.part, self.profile.callbacks.origins
  local call = part.call
  part.call = function(fn, kind, ...)
    self.asked[#self.asked + 1] = origins[fn] or { key = kind == "observe" and "onResponse" or kind }
    return call(fn, kind, ...)
  end
end

---@param facts table of srt.session, log = fun(level, text): lines of the policy, ask = of srt.c.box
---@param file string the policy
---@param options {command: string?, onlyPaths: boolean?}? onlyPaths: nothing of the network is asked
---@return table? rehearsal loaded = of srt.session, asked = origins of callbacks; :path, :connect, :request
---@return table[]|string|nil problems
function rehearse.open(facts, file, options)
  local session = require "srt.session"
  local temp, message = session.tempDir(facts)
  if not temp then return nil, message end
  local loaded, problems = session.load(facts, file, { lint = true, tempDir = temp })
  if not loaded then return nil, problems end
  local profile = loaded.profile
  local self = setmetatable({ loaded = loaded, profile = profile, facts = facts,
    command = options and options.command or "", asked = {} }, Rehearsal)
  self.judge, message = judge_of(loaded, facts, temp)
  if not self.judge then return nil, message end
  if profile.callbacks.decideOpen[1] then
    self.opener = require("srt.decide_open").new(profile, loaded.rules, self.command)
  end
  if options and options.onlyPaths then return self end
  if profile.credentials.active then
    self.vault, message = require("srt.secrets").open(profile, masked(profile, facts.env), READ)
    if not self.vault then return nil, message end
  end
  self.live = require("srt.live").new(loaded, { command = self.command, commandId = self.command, vault = self.vault },
    nil, {})
  note_calls(self)
  return self
end

---@param path string as it was named
---@return string absolute; "~" is the home
function Rehearsal:absolute(path)
  if path == "~" or path:sub(1, 2) == "~/" then return (self.facts.home or "~") .. path:sub(2) end
  return paths.absolute(path, self.facts.cwd)
end

---What an action on a path is answered, without any callback.
---@param action string of srt.judge
---@param path string
---@param to string?
---@return srt.answer answer asks = the origin of the decideOpen that a run would ask, advice = of srt.advice
function Rehearsal:judged(action, path, to)
  local answer = self.judge:ask(action, self:absolute(path), to and self:absolute(to))
  local mode = OPENS[action]
  if self.opener and mode and self.opener:asks(answer, mode) then
    local callbacks = self.profile.callbacks
    answer.asks = callbacks.origins[callbacks.decideOpen[1]] or { key = "filesystem.decideOpen" }
  elseif answer.decision == "deny" and action == "connect" then
    answer.advice = require("srt.advice").socket(answer, self.facts.env)
  elseif answer.decision == "deny" then
    local why
    answer.advice, why = require("srt.advice").of(action, answer, self.profile.filesystem)
    answer.why = answer.why or why
  end
  return answer
end

---The same, and decideOpen is asked.
---@return srt.answer answer asked = {granted=, reason=, detail=, fault=} where it was
function Rehearsal:path(action, path, to)
  local answer = self:judged(action, path, to)
  if not answer.asks then return answer end
  self.asked[#self.asked + 1] = answer.asks
  local box = self.loaded.box
  local granted, refusal = rehearse.settle(self.opener.decide, self.opener, answer, OPENS[action],
    { pid = 2, hostPid = 2 }, function(fn, kind, ...) return box:call(fn, kind, ...) end)
  if granted then answer.decision, answer.errno, answer.why = "allow", nil, nil end
  answer.asked = { granted = granted, reason = refusal and refusal.reason, detail = refusal and refusal.detail,
    fault = refusal and refusal.fault }
  return answer
end

local function decide(self, question)
  return rehearse.settle(self.live.decide, self.live, question)
end

---@param host string
---@param port integer
---@param protocol string? "connect" unless told
---@return table decision of srt.decide_net
function Rehearsal:connect(host, port, protocol)
  return decide(self, { kind = "connect", host = host, port = port, protocol = protocol or "connect" })
end

---The entry of allowedDomains by which a host is open, whatever callbacks say of it then.
---@return table? origin
function Rehearsal:opener_of(host, port)
  local decider = self.live.part.decider
  local rule = not decider.denied(host, port) and decider.allowed(host, port)
  return rule and rule.origin or nil
end

---May a connection that was allowed go to an address?
---@return string? reason why not
function Rehearsal:address(decision, address)
  return (self.live:address(decision.host, decision.port, address))
end

---@param text string "host:port"
---@return string? host
---@return integer|string port, or what is wrong
function rehearse.place(text)
  if text:find("^%a[%w+.-]*://") then
    return nil, ("%q is a URL: connect takes HOST:PORT, and request METHOD URL"):format(text)
  end
  if not text:find("[^:]:%d+$") then return nil, ("%q has no port, as in example.org:443"):format(text) end
  local host, port = require("srt.retarget").authority(text)
  if not host then return nil, ("%q: %s"):format(text, port) end
  return host, port
end

---@param url string
---@return table? parts {scheme=, host=, port=, path=, query=, target=, authority=}
---@return string? message
function rehearse.url(url)
  local scheme, authority, rest = url:match("^(%a+)://([^/?#]+)([^#%s%c]*)$")
  local standard = scheme and STANDARD[scheme:lower()]
  if not standard then return nil, ("%q is no URL like https://example.org/path"):format(url) end
  local host, port = require("srt.retarget").authority(authority, standard)
  if not host then return nil, ("%q: %s"):format(url, port) end
  if rest:sub(1, 1) ~= "/" then rest = "/" .. rest end
  local path, query = rest:match("^([^?]*)%??(.*)$")
  return { scheme = scheme:lower(), host = host, port = port, path = path, target = rest, authority = authority,
    query = rest:find("?", 1, true) and query or nil }
end

-- The body as a callback reads it, which lasts as long as keep.
local function body_of(self, text)
  return require("srt.c.box").body(text or "", self.profile.limits.bodyBytes)
end

local function fields_of(parts, message)
  local header, list = require("srt.header"), {}
  for i, field in ipairs(message.headers or {}) do list[i] = field end
  if not header.first(list, "host") then table.insert(list, 1, { name = "Host", value = parts.authority }) end
  if message.body and not header.first(list, "content-length") then
    list[#list + 1] = { name = "Content-Length", value = tostring(#message.body) }
  end
  return list
end

-- What nobody reads no filter is asked about.
local UNREAD = "TLS is not terminated there (network.tlsTerminate), so the request passes unread and filterRequest is "
  .. "not asked"

---@param message {method: string, url: string, headers: {name: string, value: string}[]?, body: string?}
---@return table? decision of srt.decide_net; unread = why it is only its connection's; nil where the URL is none
---@return string|table parts of the URL; or the message
function Rehearsal:request(message)
  local parts, wrong = rehearse.url(message.url)
  if not parts then return nil, wrong end
  local tls = parts.scheme == "https"
  if tls then
    local tunnel = self:connect(parts.host, parts.port, "connect")
    if tunnel.action ~= "allow" then return tunnel, parts end
    if not (tunnel.reads and tunnel.reads.terminate) then
      return setmetatable({ unread = UNREAD }, { __index = tunnel }), parts
    end
  end
  local keep, source = body_of(self, message.body)
  local named = not require("srt.c.sys").pton(parts.host)
  local decision = decide(self, { kind = "request", protocol = tls and "connect" or "http", method = message.method,
    host = parts.host, port = parts.port, path = parts.path, query = parts.query, target = tls and parts.target
    or message.url, headers = fields_of(parts, message), tls = tls, inside = tls, sni = tls and named and parts.host
    or nil, body = source })
  self.kept = keep
  return decision, parts
end

---The response to a request that was allowed.
---@param decision table of :request
---@param message {status: integer, headers: {name: string, value: string}[]?, body: string?}
---@return table decision
function Rehearsal:response(decision, message)
  if not decision.review then return { action = "allow", rule = "nothing looks at responses" } end
  local keep, source = body_of(self, message.body)
  local answer = decide(self, { kind = "response", status = message.status, headers = message.headers or {},
    body = source, review = decision.review, host = decision.host, port = decision.port })
  self.kept = keep
  return answer
end

---Masked credentials that a run puts into a request that may go out.
---@param decision table of :request
---@param parts table
---@return string[] names
function Rehearsal:puts(decision, parts)
  local names = {}
  for name, item in pairs(self.vault and decision.action == "allow" and self.vault.variables or {}) do
    if self.vault:injects(item, { host = decision.host, port = decision.port, scheme = parts.scheme }) then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

return rehearse
