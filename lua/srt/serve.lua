-- SPDX-License-Identifier: Apache-2.0
-- What the proxy of a run asks: the network decisions, with callbacks in the box; and where it listens.
local serve = {}

-- A line of what was decided, with its cause. Queries may hold secrets.
local function line_of(question, decision)
  local spelled = require("srt.net_text")
  local answered = question.kind == "response" and (", answered %d"):format(question.status) or ""
  local path = question.kind ~= "connect" and question.path or ""
  return ("%s%s %s%s: %s%s"):format(question.method or question.kind:upper(), answered,
    spelled.target(question.host, question.port), spelled.shown(path), decision.action,
    decision.reason and ": " .. decision.reason or "")
end

-- The proxy tells verdicts as well (proxy/decision.c). They were told when they were made.
local VERDICT = { allow = true, deny = true, answer = true }

local function tells_verdict(line)
  local word, what = line:match("^(%l+) (%S+) ")
  return VERDICT[word] and what ~= "address"
end

-- What a client showed to be let in is no business of the policy's.
local function hide_login(headers)
  for i = #headers, 1, -1 do
    if headers[i].name:lower() == "proxy-authorization" then table.remove(headers, i) end
  end
end

--- Makes the proxy, which listens nowhere yet.
---@param loaded srt.session
---@param sandbox userdata|nil where srt.ask asks
---@param say fun(line: string)|nil told what is decided
---@param asSrt boolean? the program was called as srt
---@param reporter table of srt.reporting
---@param login table|nil of srt.c.proxy: whom alone it hears
---@return userdata? proxy
---@return table|string live of srt.live, what decides; or the message
function serve.open(loaded, sandbox, say, asSrt, reporter, login)
  local net = require("srt.decide_net")
  local live = require("srt.live").new(loaded, { command = reporter.command, commandId = reporter.commandId,
    vault = loaded.vault, asSrt = asSrt, more = reporter.more, ask = reporter.ask }, sandbox, reporter)
  local learner = loaded.learner
  -- held: what becomes of the decision where not all of it can be held
  local function judge(question, held)
    local decision = live:decide(question)
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
  local proxy, message = require("srt.c.proxy").new {
    decide = function(question)
      if login and not question.inside then hide_login(question.headers) end
      if question.kind == "authz" then return require("srt.authz").answer(question, live, judge) end
      return net.answer(judge(question))
    end,
    checkAddress = function(host, port, address)
      local refused = live:address(host, port, address)
      if learner and not refused then learner:dialled(host, port, address) end
      return refused
    end,
    addressCode = asSrt and "blocked-by-sandbox-runtime" or nil, -- srt's own, which programs may look for
    refused = function(...) reporter:add(require("srt.denials").refused(...)) end,
    log = say and function(line)
      if not tells_verdict(line) then say(line) end
    end,
    limits = loaded.limits or loaded.profile.limits, -- a session's are shared
    strip = loaded.profile.network.stripResponseHeaders, login = login,
  }
  if not proxy then return nil, "the proxy can't start: " .. message end
  local tls = loaded.profile.network.tls
  if tls then
    local ok, why = require("srt.termination").serve(proxy, tls, loaded.tls)
    if not ok then return nil, "the proxy can't terminate TLS: " .. why end
  end
  live.proxy = proxy
  return proxy, live
end

---Has a proxy listen at what PID 1 of a sandbox has made.
---@param proxy userdata
---@param live table of srt.live
---@param loaded srt.session
---@param plan table
---@param listeners integer[] of the sandbox; those that are taken over are -1 then
---@param from {sandbox: userdata|function, pid: integer?} the sandbox; or of another process's, what
--- srt.c.redirect.resolve and srt.c.process.find take for it
---@param reporter table
---@return boolean? ok
---@return string? message
function serve.listen(proxy, live, loaded, plan, listeners, from, reporter)
  local owners = loaded.profile.network.ports -- where a proxy of the user's own takes a listener's clients
  for i, point in ipairs(plan.listen) do
    local fd, ok, why = listeners[i]
    listeners[i] = -1
    if fd < 0 then
      -- Only where this machine has no IPv6, or can't tell who has a socket.
      ok = point.owners or point.address:find(":", 1, true)
    elseif point.purpose == "owners" then
      require("srt.c.process").find(proxy, from.pid or from.sandbox, fd)
      ok = true
    elseif point.purpose == "transparent" or point.purpose == "dns" then
      ok, why = require("srt.transparent").serve(from.sandbox, proxy, point, fd, live, reporter)
    elseif point.purpose == "loopback" then
      ok, why = proxy:forward(fd, point.host, point.port)
    else
      ok, why = proxy:listen(fd, owners[point.purpose])
    end
    if not ok then return nil, "the proxy can't listen: " .. (why or point.purpose) end
  end
  return true
end

--- Starts the proxy of a run.
---@param loaded srt.session
---@param plan table
---@param sandbox userdata started
---@param say fun(line: string)|nil told what is decided
---@param asSrt boolean? the program was called as srt
---@param reporter table of srt.reporting
---@return userdata? proxy
---@return table|string live of srt.live, what decides; or the message
function serve.start(loaded, plan, sandbox, say, asSrt, reporter)
  local proxy, live = serve.open(loaded, sandbox, say, asSrt, reporter, plan.login)
  if not proxy then return nil, live end
  -- On the host's loopback anybody could knock.
  if plan.backend == "landlock" then require("srt.c.redirect").admit(sandbox, proxy) end
  local ok, message = serve.listen(proxy, live, loaded, plan, sandbox:listeners(), { sandbox = sandbox }, reporter)
  if not ok then return nil, message end
  return proxy, live
end

return serve
