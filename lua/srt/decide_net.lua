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
---@param fn any
---@param kind string its key
---@return table origin
function Decider:origin(fn, kind)
  local origin = fn ~= nil and self.origins[fn]
  return origin or { key = "network." .. kind }
end

local function by_callback(self, host, port, answer)
  local origin = self:origin(answer.by, "decideConnect")
  if answer.verdict == "allow" then
    return { action = "allow", rule = "network.decideConnect", origin = origin, host = host, port = port }
  elseif answer.verdict == "pass" then
    return not_listed(host, port, false)
  end
  return deny({ reason = ("%s was denied by network.decideConnect%s%s"):format(target(host, port), where(origin),
    spelled.because(answer)), rule = "network.decideConnect", origin = origin, host = host, port = port,
    fault = answer.fault, detail = answer.detail })
end

---Decides by the lists alone; nil where decideConnect has to be asked.
local function by_lists(self, host, port)
  local rule = self.denied(host, port)
  if rule then
    return by_deny_list(host, port, rule)
  end
  local more = self.more
  rule = more and more.denied(host, port)
  if rule then return spelled.by_command(host, port, rule, "deny") end
  rule = self.allowed(host, port)
  if rule then
    return { action = "allow", rule = ("network.allowedDomains %q"):format(rule.text), origin = rule.origin,
      host = host, port = port }
  elseif self.network.strict then
    return not_listed(host, port, true)
  end
  rule = more and more.allowed(host, port)
  if rule then return spelled.by_command(host, port, rule, "allow") end
  if #self.decideConnect == 0 and not (self.ask or self.prompt) then return not_listed(host, port, false) end
  return nil
end

-- What nobody else has decided, by whoever embeds us.
local function by_ask(self, subject)
  local host, port = subject.host, subject.port
  local allowed, reason = self.ask(subject)
  local rule = "the ask callback"
  if allowed then return { action = "allow", rule = rule, host = host, port = port } end
  return deny({ reason = ("%s was denied by %s%s"):format(target(host, port), rule, reason and ": " .. reason or ""),
    rule = rule, host = host, port = port })
end

local function malformed(host, port, reason)
  return deny({ reason = ("the host \"%s\" can't be used: %s"):format(shown(host), reason), rule = "host syntax",
    status = 400, host = shown(host), port = port })
end

local REMEMBERED = 1000 -- hosts as they were spelled, with a port: whoever asks for all must not fill the memory

---What the lists allow is the same for every request of a run, and most requests are for few hosts.
local function remember(self, host, port, decision)
  if self.known_count >= REMEMBERED then
    self.known, self.known_count = {}, 0
  end
  local ports = self.known[host] or {}
  ports[port], self.known[host], self.known_count = decision, ports, self.known_count + 1
end

-- What an entry of the policy alone opens is not asked about: no answer could allow it.
local function only_listed(self, host, port)
  local address = domain.is_localhost(host) and "127.0.0.1" or domain.is_address(host) and host
  return address and self:address(host, port, address) ~= nil
end

---The part of a connection's decision that depends on host and port only.
local function by_policy(self, host, port, protocol, call, process)
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
  local subject = { host = canonical, port = port, protocol = protocol, command = self.command,
    commandId = self.commandId, process = process }
  local answer = require("srt.verdict").chain("decideConnect", self.decideConnect, call or decide_net.nobody, subject)
  if answer.verdict == "pass" and self.ask then return by_ask(self, subject) end
  if answer.verdict == "pass" and self.prompt and not only_listed(self, canonical, port) then
    return self.prompt(subject, call or decide_net.nobody)
  end
  return by_callback(self, canonical, port, answer)
end

---Decides a connection.
---@param host string as the client spelled it
---@param port integer
---@param protocol string "http", "connect", "socks5", "socks4a", "transparent", "loopback"
---@param call nil|fun(fn: any, kind: string, subject: table): boolean, any, any asks a callback; without it they deny
---@param process lightuserdata|nil of the question: whose connection it is (srt.c.process)
---@return table decision {action="allow"|"deny", reason=, rule=, origin=, host=canonical, port=, status=,
--- fault = true where a callback failed or answered nonsense, detail = its error with traceback,
--- via = of an allowed one: the proxy to leave by, as of srt.route, reads = of a tunnel: as of srt.tunnel; title= and
--- code= of a denial, for programs}
function Decider:connect(host, port, protocol, call, process)
  local decision = by_policy(self, host, port, protocol, call, process)
  if decision.action ~= "allow" then
    if self.asSrt then spelled.like_srt(decision) end
    return decision
  end
  local reads, refusal = self.reads(decision.host, port, protocol)
  if not reads then
    return deny({ reason = ("%s: %s"):format(target(decision.host, port), refusal),
      rule = "network.refuseOpaqueTunnels", host = decision.host, port = port })
  end
  local via = self.route and self.route(decision.host, port, protocol)
  -- Both depend on the protocol, and a remembered decision is not ours to change.
  return (via or next(reads)) and setmetatable({ via = via, reads = reads }, { __index = decision }) or decision
end

---Do the lists, without any callback, deny a host that was allowed?
---@param host string canonical
---@param port integer
---@return table|nil decision the denial
function Decider:refuses(host, port)
  local decision = self.network.enabled and by_lists(self, host, port) or not self.network.enabled
    and not_listed(host, port, false) or nil
  if not decision or decision.action ~= "deny" then return nil end
  if self.asSrt then spelled.like_srt(decision) end
  return decision
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

local ANY_NAME = "name"
local by_request -- loaded with the first one

---Decides a request: its connection first, then the filterRequest chain.
---@param question table {method, scheme, host, port, path, query, target, headers = list of {name=, value=}, protocol,
--- inside = true in a tunnel that was allowed, sni = where there is one, body = where a callback reads it}
---@param call nil|fun(fn: any, kind: string, subject: table): boolean, any, any
---@return table decision as of connect; action may be "respond"; set = list of {name=, value=}, remove = names,
--- headers = of a denial or an answer, body = of these, or of the request instead of its own, target = what to ask for
--- instead, review = what to ask about the response with; fill, scrub = what is replaced on the way up and down
function Decider:request(question, call)
  by_request = by_request or require("srt.decide_request").decide
  local decision = by_request(self, question, call or decide_net.nobody)
  if decision.action ~= "allow" or not self.vault then return decision end
  local changes, problem = self.vault:finish(decision, question)
  if not changes then
    return deny({ reason = ("%s %s can't go out: %s"):format(shown(question.method),
      target(decision.host, decision.port), problem), rule = "credentials", of = "request",
      host = decision.host, port = decision.port })
  end
  -- A remembered decision is not ours to change.
  return setmetatable(changes, { __index = decision })
end

---Decides the response to a request whose decision had a review.
---@param question table {status, headers, body, review}
---@param call fun(fn: any, kind: string, subject: any, other: any): boolean, any, any
---@return table decision action "allow", "deny" or "respond"
function Decider:response(question, call)
  return require("srt.decide_response").decide(self, question, call)
end

---May an allowed host be reached at the address it resolved to?
---@param host string canonical
---@param port integer
---@param text string
---@return string|nil reason nil where it may
---@return string|nil class
function Decider:address(host, port, text)
  if not self.guard then
    local network, own = self.network, self.more and self.more.denies
    -- A name may lead to an address that the command's own list denies.
    local denied = own and table.move(own, 1, #own, #network.denied + 1, table.move(network.denied, 1, #network.denied,
      1, {}))
    self.guard = require("srt.guard").compile(denied and setmetatable({ denied = denied }, { __index = network })
      or network)
  end
  if self.allowed(host, port) then
    return self.guard:check(host, port, text)
  end
  -- Only an entry of a list opens this host by address or as localhost: what a
  -- callback allows is judged as any other name is.
  local reason, class = self.guard:check(ANY_NAME, port, text)
  if not reason then return nil end
  reason = reason:gsub(ANY_NAME, host:gsub("%%", "%%%%"), 1)
  return domain.is_address(host) and reason:gsub(" resolved to ", " is ", 1) or reason, class
end

local OPEN = {}

-- Everything of an allowing decision that a verdict has beside host and port. Most have nothing.
local function is_plain(decision, reads)
  return not (decision.set or decision.remove or decision.body or decision.target or decision.path or decision.via
    or decision.status or decision.fill or decision.scrub or reads.terminate or reads.inspect or reads.refuseOpaque)
    and decision.review == nil
end

---What srt.c.proxy is answered for a decision.
---@param decision table
---@return table|true verdict true, host and port where there is no more to it
---@return string|nil host
---@return integer|nil port
function decide_net.answer(decision)
  if decision.action == "allow" and is_plain(decision, decision.reads or OPEN) then
    return true, decision.host, decision.port
  end
  return decide_net.wire(decision)
end

---The verdict that srt.c.proxy takes for a decision. Whatever is no clear allow or answer is a denial.
---@param decision table
---@return table verdict of srt.c.proxy
function decide_net.wire(decision)
  if decision.action == "allow" then
    local reads = decision.reads or OPEN
    return { allow = true, host = decision.host, port = decision.port, path = decision.path, target = decision.target,
      via = decision.via, set = decision.set, remove = decision.remove, body = decision.body, status = decision.status,
      review = decision.review, fill = decision.fill, scrub = decision.scrub, terminate = reads.terminate,
      inspect = reads.inspect, refuseOpaque = reads.refuseOpaque }
  elseif decision.action == "respond" then
    return { allow = false, respond = true, status = decision.status, set = decision.headers, body = decision.body }
  end
  local rule = decision.rule and decision.rule .. where(decision.origin)
  return { allow = false, status = decision.status, code = decision.code or "blocked-by-policy",
    reason = decision.reason or "denied by the policy", rule = rule, advice = decision.advice, title = decision.title,
    set = decision.headers, body = decision.body }
end

---Compiles the network part of a profile.
---@param profile table
---@param facts nil|{command: string?, commandId: string?, vault: table?, asSrt: boolean?, more: table?,
--- ask: (fun(subject: table): boolean, string?)?} about the run: its command, for callbacks; of srt.secrets; whether
--- we were called as srt; more = {allowed=, denied=, rules=}, lists of the command's own, behind the policy's; ask: who
--- decides what nobody else has, and may wait
---@return table decider with :connect, :request, :response and :address
function decide_net.compile(profile, facts)
  local network, callbacks = profile.network, profile.callbacks or {}
  return setmetatable({
    network = network,
    command = facts and facts.command, commandId = facts and facts.commandId, vault = facts and facts.vault,
    asSrt = facts and facts.asSrt, more = facts and facts.more, ask = facts and facts.ask,
    allowed = domain.compile(network.allowed),
    denied = domain.compile(network.denied),
    decideConnect = callbacks.decideConnect or {},
    filterRequest = callbacks.filterRequest or {},
    filterResponse = callbacks.filterResponse or {},
    origins = callbacks.origins or {},
    known = {}, known_count = 0,
    reads = require("srt.tunnel").compile(network,
      #(callbacks.filterRequest or {}) + #(callbacks.filterResponse or {})),
    route = (network.mitm or network.parent) and require("srt.route").compile(network),
  }, Decider)
end

return decide_net
