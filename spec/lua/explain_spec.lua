-- SPDX-License-Identifier: Apache-2.0
-- What explain and repl say beside the answer: what to do about it, and what was meant.
local decisions = require("spec.lua.decisions")
local net = require("srt.explain_net")

describe("explain of a connection", function()
  local desk
  setup(function()
    desk = decisions.open([[return { network = { allowedDomains = { "a.test:443" }, deniedDomains = { "127.0.0.9" } } }]])
  end)
  teardown(function() desk:close() end)

  local function ask(place) return net.ask(desk.rehearsal, assert(net.read("connect", { place }, {}))) end

  it("says of the host's loopback what a program inside meets, and what to add", function()
    for _, place in ipairs { "127.0.0.1:5432", "localhost:5432", "[::1]:5432" } do
      local answer = ask(place)
      assert.equal(("add %q to network.allowedDomains, and the host's server is there inside"):format(place), answer.advice)
      assert.truthy(answer.note:find("Connection refused", 1, true))
    end
    for _, place in ipairs { "127.0.0.9:1", "a.test:443", "b.test:1" } do
      local answer = ask(place)
      assert.is_nil(answer.note)
      assert.falsy((answer.advice or ""):find("inside", 1, true))
    end
  end)

  it("says what a cloud's metadata server hands out", function()
    local risk = ", if you take the risk: " .. require("srt.metadata").RISK
    for _, place in ipairs { "169.254.169.254:80", "[fd00:ec2::254]:80", "metadata.google.internal:80" } do
      local host, port = require("srt.rehearse").place(place)
      local decision = desk.rehearsal:connect(host, port)
      assert.equal(("add %q to network.allowedDomains%s"):format(place, risk), require("srt.denials").advice(decision))
      assert.truthy(decision.reason:find("to allow it" .. risk, 1, true))
    end
    assert.falsy(ask("b.test:1").reason:find("risk", 1, true))
    local guard = require("srt.guard").compile({}, function() return {} end)
    assert.truthy(guard:check("a.test", 80, "169.254.169.254"):find(risk, 1, true))
    assert.falsy(guard:check("a.test", 80, "127.0.0.1"):find("risk", 1, true))
  end)

  it("knows a URL, and what is no protocol", function()
    local question, problem = net.read("connect", { "https://a.test/" }, {})
    assert.is_nil(question)
    assert.equal('"https://a.test/" is a URL: connect takes HOST:PORT, and request METHOD URL', problem)
    local options = {}
    assert.is_nil(net.take(options, "protocol", "socks5"))
    assert.equal("socks5", options.protocol)
    assert.equal('"foo" is no protocol: connect, http, socks5, socks4a, transparent', net.take(options, "protocol", "foo"))
  end)
end)
