-- SPDX-License-Identifier: Apache-2.0
-- The proxy of a run: what it is made of, and where it listens. What it asks, srt.deciding answers.
local serve = {}

-- The proxy tells verdicts as well (proxy/decision.c). They were told when they were made.
local VERDICT = { allow = true, deny = true, answer = true }

local function tells_verdict(line)
  local word, what = line:match("^(%l+) (%S+) ")
  return VERDICT[word] and what ~= "address"
end

--- Makes the proxy, which listens nowhere yet.
---@param loaded srt.session
---@param sandbox userdata|nil where srt.ask asks
---@param say fun(line: string)|nil told what is decided
---@param asSrt boolean? the program was called as srt
---@param reporter table of srt.reporting
---@param login table|nil of srt.c.proxy: whom alone it hears
---@return userdata? proxy
---@return (fun(): table)|string live gives what decides, of srt.live; or the message
function serve.open(loaded, sandbox, say, asSrt, reporter, login)
  local proxy, made, message
  -- With the first question, since most commands ask none.
  local function deciding()
    made = made or require("srt.deciding").new(loaded, sandbox, say, asSrt, reporter, login, proxy)
    return made
  end
  if sandbox then loaded.box:asker(sandbox) end
  proxy, message = require("srt.c.proxy").new {
    decide = function(question) return deciding():decide(question) end,
    checkAddress = function(host, port, address) return deciding():address(host, port, address) end,
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
  return proxy, function() return deciding().live end
end

---Has a proxy listen at what PID 1 of a sandbox has made.
---@param proxy userdata
---@param live fun(): table of serve.open
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
---@return (fun(): table)|string live gives what decides, of srt.live; or the message
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
