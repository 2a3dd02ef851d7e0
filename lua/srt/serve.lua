-- SPDX-License-Identifier: Apache-2.0
-- What the proxy of a run asks: the network decisions, with callbacks in the box; and where it listens.
local serve = {}

--- Starts the proxy of a run.
---@param loaded srt.session
---@param plan table
---@param sandbox userdata started
---@param say fun(line: string)|nil told what is decided
---@return userdata? proxy
---@return string? message
function serve.start(loaded, plan, sandbox, say)
  local net = require("srt.decide_net")
  local decider = net.compile(loaded.profile, { command = table.concat(plan.argv, " ") })
  local box = loaded.box
  box:asker(sandbox)
  -- Where a callback waits, this waits too: decide runs in a coroutine of its own.
  local function call(fn, kind, subject) return box:call(fn, kind, subject) end
  local proxy, message = require("srt.c.proxy").new {
    decide = function(question)
      local decision
      if question.kind ~= "request" then
        decision = decider:connect(question.host, question.port, question.protocol, call)
      else
        question.scheme, question.protocol = "http", "http"
        decision = decider:request(question, call)
      end
      if say then
        say(("%s %s:%d: %s%s"):format(question.method or question.kind:upper(), question.host, question.port,
          decision.action, decision.reason and ": " .. decision.reason or ""))
        if decision.detail then say(decision.detail) end
      end
      return net.wire(decision)
    end,
    checkAddress = function(host, port, address) return (decider:address(host, port, address)) end,
    log = say,
    limits = loaded.profile.limits,
  }
  if not proxy then return nil, "the proxy can't start: " .. message end
  local listeners = sandbox:listeners()
  local owners = loaded.profile.network.ports -- where a proxy of the user's own takes a listener's clients
  for i, point in ipairs(plan.listen) do
    local ok, why
    if listeners[i] < 0 then
      -- Only where this machine has no IPv6.
      ok = point.address:find(":", 1, true)
    elseif point.purpose == "transparent" or point.purpose == "dns" then
      ok, why = require("srt.transparent").serve(sandbox, proxy, point, listeners[i], decider)
    elseif point.purpose == "loopback" then
      ok, why = proxy:forward(listeners[i], point.host, point.port)
    else
      ok, why = proxy:listen(listeners[i], owners[point.purpose])
    end
    if not ok then return nil, "the proxy can't listen: " .. (why or point.purpose) end
  end
  return proxy
end

return serve
