-- SPDX-License-Identifier: Apache-2.0
-- The one place that decides connections, requests and resolved addresses. Enforcement, explain and reports ask here.

local domain = require("srt.domain")
local spelled = require("srt.net_text")

local decide_net = {}

local Decider = {}
Decider.__index = Decider

local target, shown, where, deny = spelled.target, spelled.shown, spelled.where, spelled.deny
local by_deny_list, not_listed = spelled.by_deny_list, spelled.not_listed

---Where a callback stands, for reports.
local function callback_origin(self, fn, kind)
  local origin = fn ~= nil and self.origins[fn]
  return origin or { key = "network." .. kind }
end

local function by_callback(self, host, port, answer)
  local origin = callback_origin(self, answer.by, "decideConnect")
  if answer.verdict == "allow" then
    return { action = "allow", rule = "network.decideConnect", origin = origin, host = host, port = port }
  elseif answer.verdict == "pass" then
    return not_listed(host, port, false)
  end
  local text = ("%s was denied by network.decideConnect%s"):format(target(host, port), where(origin))
  if answer.reason then
    text = text .. ": " .. answer.reason
  end
  return deny({ reason = text, rule = "network.decideConnect", origin = origin, host = host, port = port,
    fault = answer.fault, detail = answer.detail })
end

---Decides by the lists alone; nil where decideConnect has to be asked.
local function by_lists(self, host, port)
  local rule = self.denied(host, port)
  if rule then
    return by_deny_list(host, port, rule)
  end
  rule = self.allowed(host, port)
  if rule then
    return { action = "allow", rule = ("network.allowedDomains %q"):format(rule.text), origin = rule.origin,
      host = host, port = port }
  elseif self.network.strict then
    return not_listed(host, port, true)
  elseif #self.decideConnect == 0 then
    return not_listed(host, port, false)
  end
  return nil
end

local function malformed(host, port, reason)
  return deny({ reason = ("the host \"%s\" can't be used: %s"):format(shown(host), reason), rule = "host syntax",
    status = 400, host = shown(host), port = port })
end

local REMEMBERED = 1000 -- hosts as they were spelled

---What the lists allow is the same for every request of a run, and most requests are for few hosts.
local function remember(self, host, port, decision)
  local ports = self.known[host]
  if not ports then
    if self.known_count >= REMEMBERED then
      self.known, self.known_count = {}, 0
    end
    ports = {}
    self.known[host], self.known_count = ports, self.known_count + 1
  end
  ports[port] = decision
end

---The part of a connection's decision that depends on host and port only.
local function by_policy(self, host, port, protocol, call)
  local ports = self.known[host]
  if ports and ports[port] then
    return ports[port]
  end
  local canonical, reason = domain.canonical(host)
  if not canonical or canonical == "" then
    return malformed(host, port, reason or "it is empty")
  elseif canonical:sub(-1) == "." then
    -- A resolver drops the second dot too; no list entry would match.
    return malformed(host, port, "it ends in more than one dot")
  elseif math.type(port) ~= "integer" or port < 1 or port > 65535 then
    return malformed(canonical, 0, "the port must be from 1 to 65535")
  elseif not self.network.enabled then
    return deny({ reason = ("%s can't be reached: the policy allows no network; add %q to network.allowedDomains")
      :format(target(canonical, port), target(canonical, port)), rule = "network", host = canonical, port = port })
  end
  local decision = by_lists(self, canonical, port)
  if decision then
    if decision.action == "allow" then remember(self, host, port, decision) end
    return decision
  end
  local answer = require("srt.verdict").chain("decideConnect", self.decideConnect, call or decide_net.nobody,
    { host = canonical, port = port, protocol = protocol, command = self.command })
  return by_callback(self, canonical, port, answer)
end

---Decides a connection.
---@param host string as the client spelled it
---@param port integer
---@param protocol string "http", "connect", "socks5", "socks4a", "transparent", "loopback"
---@param call nil|fun(fn: any, kind: string, subject: table): boolean, any, any asks a callback; without it they deny
---@return table decision {action="allow"|"deny", reason=, rule=, origin=, host=canonical, port=, status=,
--- fault = true where a callback failed or answered nonsense, detail = its error with traceback,
--- via = of an allowed one: the proxy to leave by, as of srt.route}
function Decider:connect(host, port, protocol, call)
  local decision = by_policy(self, host, port, protocol, call)
  -- All but plain HTTP are bytes that filterRequest does not see.
  if decision.action == "allow" and protocol ~= "http" and self.network.refuseOpaqueTunnels then
    return deny({ reason = ("%s: network.refuseOpaqueTunnels refuses tunnels that can't be inspected")
      :format(target(decision.host, port)), rule = "network.refuseOpaqueTunnels", host = decision.host, port = port })
  end
  local via = decision.action == "allow" and self.route and self.route(decision.host, port, protocol)
  -- The way depends on the protocol, and a remembered decision is not ours to change.
  return via and setmetatable({ via = via }, { __index = decision }) or decision
end

---Might a host be reached on any port at all? For lookups of names, which know no port; nobody is asked.
---@param host string
---@return table decision as of connect, without a port; "allow" promises nothing
function Decider:name(host)
  return require("srt.decide_name")(self, host)
end

function decide_net.nobody()
  return false, "callbacks can't be called here"
end

local function subject_of(self, question, host, port, protocol, path)
  local scheme = question.scheme or "http"
  local at = host:find(":", 1, true) and "[" .. host .. "]" or host
  if not ((scheme == "http" and port == 80) or (scheme == "https" and port == 443)) then
    at = at .. ":" .. port
  end
  return {
    method = question.method, scheme = scheme, host = host, port = port, path = path,
    query = question.query, target = question.target, headers = question.headers or {},
    url = scheme .. "://" .. at .. path .. (question.query and "?" .. question.query or ""),
    conn = { host = host, port = port, protocol = protocol, command = self.command },
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

local ANY_NAME = "name"

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

---Turns a chain's answer to a request into the decision.
local function by_filter(self, connection, subject, answer)
  local origin = callback_origin(self, answer.by, "filterRequest")
  local decision = { rule = "network.filterRequest", origin = origin, host = subject.host, port = subject.port,
    status = answer.status, fault = answer.fault, detail = answer.detail }
  if answer.verdict == "pass" then
    return connection
  elseif answer.verdict == "respond" then
    decision.action, decision.headers, decision.body = "respond", answer.headers or {}, answer.body
    decision.status = answer.status or 200
    return decision
  elseif answer.verdict == "deny" then
    decision.headers, decision.body = answer.headers, answer.body
    decision.reason = ("%s %s was denied by network.filterRequest%s"):format(shown(subject.method), shown(subject.url),
      where(origin)) .. (answer.reason and ": " .. answer.reason or "")
    return deny(decision)
  end
  local credential = not self.network.allowPlaintextHeaderSet and subject.scheme == "http" and credential_of(answer.set)
  if credential then
    decision.reason = ("%s %s was denied: network.filterRequest%s sets %s on plain HTTP, where it travels in clear "
      .. "text; network.allowPlaintextHeaderSet = true allows that"):format(shown(subject.method), shown(subject.url),
      where(origin), credential)
    decision.rule = "network.allowPlaintextHeaderSet"
    return deny(decision)
  end
  decision.action, decision.set, decision.remove = "allow", answer.set, answer.remove
  decision.via = connection.via
  return decision
end

---Decides a request: its connection first, then the filterRequest chain.
---@param question table {method, scheme, host, port, path, query, target, headers = list of {name=, value=}, protocol}
---@param call nil|fun(fn: any, kind: string, subject: table): boolean, any, any
---@return table decision as of connect; action may be "respond"; set = list of {name=, value=}, remove = names,
--- headers and body = of a denial or an answer
function Decider:request(question, call)
  local protocol = question.protocol or "http"
  local connection = self:connect(question.host, question.port, protocol, call)
  if connection.action ~= "allow" or #self.filterRequest == 0 then
    return connection
  end
  local path, why = require("srt.target").read(question.path, self.network.ambiguousRequestTarget or "refuse")
  if not path then
    return ambiguous(question, connection, why)
  end
  local subject = subject_of(self, question, connection.host, connection.port, protocol, path)
  local answer = require("srt.verdict").chain("filterRequest", self.filterRequest, call or decide_net.nobody, subject)
  local decision = by_filter(self, connection, subject, answer)
  if path == question.path or decision.action ~= "allow" then
    return decision
  end
  -- What was judged is what is asked for. A remembered decision is not ours to change.
  return setmetatable({ path = path }, { __index = decision })
end

---May an allowed host be reached at the address it resolved to?
---@param host string canonical
---@param port integer
---@param text string
---@return string|nil reason nil where it may
---@return string|nil class
function Decider:address(host, port, text)
  if not self.guard then
    self.guard = require("srt.guard").compile(self.network)
  end
  if self.allowed(host, port) then
    return self.guard:check(host, port, text)
  end
  -- Only an entry of a list opens this host by address or as localhost: what a
  -- callback allows is judged as any other name is.
  local reason, class = self.guard:check(ANY_NAME, port, text)
  return reason and reason:gsub(ANY_NAME, host:gsub("%%", "%%%%"), 1), class
end

---The verdict that srt.c.proxy takes for a decision. Whatever is no clear allow or answer is a denial.
---@param decision table
---@return table verdict {allow, respond, host, path, code, reason, rule, advice, status, set, remove, body}
function decide_net.wire(decision)
  if decision.action == "allow" then
    return { allow = true, host = decision.host, path = decision.path, via = decision.via, set = decision.set,
      remove = decision.remove }
  elseif decision.action == "respond" then
    return { allow = false, respond = true, status = decision.status, set = decision.headers, body = decision.body }
  end
  local rule = decision.rule and decision.rule .. where(decision.origin)
  return { allow = false, status = decision.status, code = decision.code or "blocked-by-policy",
    reason = decision.reason or "denied by the policy", rule = rule, advice = decision.advice,
    set = decision.headers, body = decision.body }
end

---Compiles the network part of a profile.
---@param profile table
---@param facts nil|{command: string?} about the run, for callbacks
---@return table decider with :connect, :request and :address
function decide_net.compile(profile, facts)
  local network, callbacks = profile.network, profile.callbacks or {}
  return setmetatable({
    network = network,
    command = facts and facts.command,
    allowed = domain.compile(network.allowed),
    denied = domain.compile(network.denied),
    decideConnect = callbacks.decideConnect or {},
    filterRequest = callbacks.filterRequest or {},
    origins = callbacks.origins or {},
    known = {}, known_count = 0,
    route = (network.mitm or network.parent) and require("srt.route").compile(network),
  }, Decider)
end

return decide_net
