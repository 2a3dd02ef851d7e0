-- SPDX-License-Identifier: Apache-2.0
-- Decisions of connections and requests: their order, their reasons, chains and edits.
local support = require("spec.lua.support")
local decide_net = require("srt.decide_net")

local function decider(text, presets)
  return decide_net.compile(assert(support.resolve("return { network = { " .. text .. " } }", nil, presets)))
end

local function connect(text, host, port, protocol)
  return decider(text):connect(host, port, protocol or "http", support.call)
end

local function request(text, fields)
  local question = { method = "GET", host = "a.test", port = 80, path = "/x", target = "http://a.test/x", headers = {} }
  for k, v in pairs(fields or {}) do
    question[k] = v
  end
  return decider('allowedDomains = { "a.test", "[::1]" }, ' .. text):request(question, support.call)
end

describe("a connection", function()
  local lists = 'allowedDomains = { "api.test:443", "*.ex.test", "127.0.0.1" }, '
    .. 'deniedDomains = { "bad.ex.test", "*:22" }, '
    .. 'deniedDomainReasons = { ["*:22"] = "use an https:// remote" }'
  local rows = {
    { "api.test", 443, "allow" }, { "API.test.", 443, "allow" }, { "api.test", 80, "deny" },
    { "a.ex.test", 80, "allow" }, { "A.EX.TEST", 1, "allow" }, { "a.ex.test.", 80, "allow" }, { "ex.test", 80, "deny" },
    { "notex.test", 80, "deny" }, { "a.ex.test.evil.test", 80, "deny" }, { "bad.ex.test", 80, "deny" },
    { "a.ex.test", 22, "deny" }, { "0x7f.1", 80, "allow" }, { "2130706433", 80, "allow" }, { "127.0.0.2", 80, "deny" },
    { "api.test\0.ex.test", 80, "deny" }, { "api.test%00.ex.test", 80, "deny" }, { "a b.ex.test", 80, "deny" },
    { "", 80, "deny" }, { ".", 80, "deny" }, { "api.test:443", 443, "deny" }, { "[::ffff:127.0.0.1]", 80, "allow" },
    { "api.test", 0, "deny" }, { "api.test", 65536, "deny" }, { "api.test", 443.0, "deny" },
    { "api.test", nil, "deny" },
  }
  for _, row in ipairs(rows) do
    it(("%q:%s is %s"):format(row[1], row[2], row[3]), function()
      local got = connect(lists, row[1], row[2])
      assert.equal(row[3], got.action)
      assert.is_string(got.rule)
      assert.equal(got.action == "deny", got.reason ~= nil)
    end)
  end

  it("says what was denied, by what, and what to do", function()
    assert.equal('other.test:443 is not in network.allowedDomains; add "other.test:443" to the policy to allow it',
      connect(lists, "other.test", 443).reason)
    assert.equal('a.ex.test:22 is denied by network.deniedDomains "*:22" (p.lua:1): use an https:// remote',
      connect(lists, "a.ex.test", 22).reason)
    assert.truthy(connect(lists, "::1", 80).reason:find('"[::1]:80"', 1, true))
    assert.equal(400, connect(lists, "a\27b", 80).status)
    assert.falsy(connect(lists, "a\27b", 80).reason:find("\27", 1, true))
    assert.truthy(connect("", "a.test", 80).reason:find("allows no network", 1, true))
  end)

  it("asks decideConnect only for what no list decides", function()
    local f = lists .. ", decideConnect = function(c) "
      .. "if c.port == 8443 and c.protocol == 'connect' then return true end "
      .. "return false, 'not ' .. c.host end"
    assert.equal("allow", connect(f, "OTHER.test", 8443, "connect").action)
    assert.equal("network.decideConnect", connect(f, "other.test", 8443, "connect").rule)
    local reason = connect(f, "OTHER.test", 80).reason
    assert.truthy(reason:find("network.decideConnect (policy.lua:7): not other.test", 1, true))
    assert.equal("deny", connect(f, "bad.ex.test", 8443, "connect").action)
    assert.equal("allow", connect(f, "api.test", 443).action)
  end)

  it("is denied by strictAllowlist before decideConnect is asked", function()
    local got = connect('strictAllowlist = true, allowedDomains = { "a.test" }, '
      .. "decideConnect = function() return true end", "b.test", 80)
    assert.equal("network.strictAllowlist", got.rule)
  end)

  it("is denied when callbacks pass, fail, or can't be called", function()
    for _, body in ipairs({ "return srt.pass", "error('x')", "return nil", "return 'yes'", "return {}", "return 1",
      "return srt.respond {}", "return srt.allow { setHeaders = { A = 'b' } }" }) do
      local got = connect("decideConnect = function() " .. body .. " end", "a.test", 80)
      assert.equal("deny", got.action, body)
      assert.equal(body ~= "return srt.pass" or nil, got.fault, body)
    end
    local d = decider("decideConnect = function() return true end")
    assert.equal("deny", d:connect("a.test", 80, "http").action)
  end)

  it("may be refused as an opaque tunnel", function()
    local text = 'allowedDomains = { "a.test" }, refuseOpaqueTunnels = true'
    assert.equal("deny", connect(text, "a.test", 443, "connect").action)
    assert.equal("allow", connect(text, "a.test", 80, "http").action)
  end)

  it("says what is read of a tunnel", function()
    local allowed = 'allowedDomains = { "a.test", "b.test" }'
    local tls = allowed .. ', tlsTerminate = { excludeDomains = { "b.test" } }'
    local filter = ", filterRequest = function() return true end"
    local refuse = ", refuseOpaqueTunnels = true"
    local function reads(text, host, protocol)
      local got = connect(text, host or "a.test", 443, protocol or "connect")
      if got.action ~= "allow" then return got.rule end
      local wire = require("srt.decide_net").wire(got)
      return (wire.terminate and "T" or "-") .. (wire.inspect and "I" or "-") .. (wire.refuseOpaque and "R" or "-")
    end
    assert.equal("---", reads(allowed))
    assert.equal("-I-", reads(allowed .. filter))
    assert.equal("T--", reads(tls))
    for _, protocol in ipairs({ "connect", "socks5", "socks4a" }) do
      assert.equal("TI-", reads(tls .. filter, nil, protocol))
      assert.equal("TIR", reads(tls .. refuse, nil, protocol))
      assert.equal("---", reads(tls .. filter, "b.test", protocol))
      assert.equal("network.refuseOpaqueTunnels", reads(tls .. refuse, "b.test", protocol))
      assert.equal("network.refuseOpaqueTunnels", reads(allowed .. filter .. refuse, nil, protocol))
    end
    -- Nothing of it concerns what is no tunnel, or speaks no proxy protocol.
    assert.equal("---", reads(tls .. filter .. refuse, "b.test", "http"))
    assert.equal("---", reads(tls .. filter, nil, "loopback"))
    assert.equal("network.refuseOpaqueTunnels", reads(tls .. refuse, nil, "loopback"))
    -- The lists decide first.
    assert.equal("network.allowedDomains", reads(tls, "c.test"))
  end)
end)

describe("a request", function()
  it("inside a tunnel takes over the tunnel's decision", function()
    local text = 'strictAllowlist = true, filterRequest = function(r) if r.path == "/no" then return false, "no" end '
      .. "return srt.pass end"
    local function inside(path)
      return request(text, { host = "other.test", port = 443, path = path, inside = true, scheme = "https",
        protocol = "connect" })
    end
    assert.equal("allow", inside("/x").action)
    assert.equal("other.test", inside("/x").host)
    local got = inside("/no")
    assert.equal("deny", got.action)
    assert.truthy(got.reason:find("GET https://other.test/no was denied", 1, true), got.reason)
    -- Without its tunnel it is decided by the lists.
    assert.equal("deny", request(text, { host = "other.test", port = 443, protocol = "http" }).action)
  end)

  it("is decided as a connection first", function()
    local got = request("filterRequest = function() return true end", { host = "b.test" })
    assert.equal("deny", got.action)
    assert.equal("network.allowedDomains", got.rule)
    assert.equal("allow", request("").action)
    assert.equal("a.test", request("", { host = "A.TEST." }).host)
  end)

  it("shows the callback what it is about", function()
    local seen
    support.srt.see = function(r) seen = r end
    request("filterRequest = function(r) srt.see(r) return true end", { host = "A.test", port = 8080, query = "q=1",
      headers = { { name = "Host", value = "a.test" } } })
    assert.same({ method = "GET", scheme = "http", host = "a.test", port = 8080, path = "/x", query = "q=1",
      target = "http://a.test/x", url = "http://a.test:8080/x?q=1", headers = { { name = "Host", value = "a.test" } },
      conn = { host = "a.test", port = 8080, protocol = "http" } }, seen)
    request("filterRequest = function(r) srt.see(r) return true end", { host = "::1" })
    assert.equal("http://[::1]/x", seen.url)
  end)

  it("is denied with the reason, the status and the body that the policy gives", function()
    local got = request("filterRequest = function(r) return false, r.method .. ' is closed' end")
    assert.equal("GET http://a.test/x was denied by network.filterRequest (policy.lua:7): GET is closed", got.reason)
    local answer = "srt.deny { status = 451, body = 'b', headers = { A = '1' } }"
    got = request("filterRequest = function() return " .. answer .. " end")
    assert.same({ "deny", 451, "b", { { name = "A", value = "1" } } },
      { got.action, got.status, got.body, got.headers })
  end)

  it("is not judged by one reading and served by another", function()
    local filter = "filterRequest = function(r) return r.path ~= '/admin', 'no' end"
    local got = request(filter, { path = "/x/../admin" })
    assert.same({ "deny", 400, "ambiguous-request-target" }, { got.action, got.status, got.code })
    assert.equal("ambiguous-request-target", decide_net.wire(got).code)
    local normalize = "ambiguousRequestTarget = 'normalize', " .. filter
    assert.equal("deny", request(normalize, { path = "/x/../admin" }).action)
    assert.equal("deny", request(normalize, { path = "/%61dmin" }).action)
    assert.equal("/a/b", decide_net.wire(request(normalize, { path = "/a//b" })).path)
    assert.is_true(decide_net.wire(request(normalize, { path = "/a//b" })).allow)
    assert.is_nil(decide_net.wire(request(normalize, { path = "/a/b" })).path)
    assert.equal(400, request(normalize, { path = "/a%2fb" }).status)
    got = request("ambiguousRequestTarget = 'allow', " .. filter, { path = "/x/../admin" })
    assert.same({ "allow" }, { got.action, got.path })
    -- Without a filter nothing rests on the path.
    assert.equal("allow", request("", { path = "/x/../admin" }).action)
  end)

  it("can be answered at once", function()
    local got = request("filterRequest = function() return srt.respond { body = 'hi' } end")
    assert.same({ "respond", 200, "hi" }, { got.action, got.status, got.body })
  end)

  it("passes when all pass, since the lists allowed it", function()
    local got = request("filterRequest = function() return srt.pass end")
    assert.equal("allow", got.action)
    assert.truthy(got.rule:find("allowedDomains", 1, true))
  end)

  it("is denied when a callback fails or answers nonsense", function()
    for _, body in ipairs({ "error('x')", "return nil", "return", "return 'yes'", "return 0", "return {}",
      "return srt.allow { setBody = 5 }", "return srt.allow { setHeaders = { ['A B'] = 'x' } }" }) do
      local got = request("filterRequest = function() " .. body .. " end")
      assert.equal("deny", got.action, body)
      assert.is_true(got.fault, body)
      assert.truthy(got.reason:find("network.filterRequest", 1, true))
    end
  end)

  it("sets credentials on plain HTTP only where the policy says so", function()
    local function edit(name)
      return ("filterRequest = function() return srt.allow { setHeaders = { ['%s'] = '1' }, "
        .. "removeHeaders = { 'B' } } end"):format(name)
    end
    for _, name in ipairs({ "Authorization", "Cookie", "X-Api-Key", "X-Access-Token" }) do
      local got = request(edit(name))
      assert.equal("deny", got.action, name)
      assert.truthy(got.reason:find(name .. " on plain HTTP", 1, true))
      assert.truthy(got.reason:find("allowPlaintextHeaderSet = true", 1, true))
      got = request("allowPlaintextHeaderSet = true, " .. edit(name))
      assert.same({ "allow", { { name = name, value = "1" } }, { "B" } }, { got.action, got.set, got.remove })
    end
    local got = request(edit("X-Trace"))
    assert.same({ "allow", { { name = "X-Trace", value = "1" } }, { "B" } }, { got.action, got.set, got.remove })
  end)
end)

describe("what the proxy gets", function()
  it("is never an allow without a host", function()
    local wire = decide_net.wire
    assert.same({ allow = true, host = "a.test" }, wire({ action = "allow", host = "a.test" }))
    assert.same({ allow = false, reason = "no", code = "blocked-by-policy" }, wire({ action = "deny", reason = "no" }))
    assert.same({ allow = false, respond = true, status = 200, set = {}, body = "x" },
      wire({ action = "respond", status = 200, headers = {}, body = "x" }))
    assert.is_false(wire({}).allow)
    assert.is_string(wire({}).reason)
  end)

  it("begins with srt's words where a host is denied and we were called so", function()
    local text = 'allowedDomains = { "a.test" }, deniedDomains = { "b.test" }, filterRequest = function() return false end'
    local profile = assert(support.resolve("return { network = { " .. text .. " } }"))
    for _, host in ipairs({ "b.test", "c.test", "a b" }) do
      local got = decide_net.wire(decide_net.compile(profile, { asSrt = true }):connect(host, 80, "connect", support.call))
      assert.same({ "Connection blocked by network allowlist", "blocked-by-allowlist" }, { got.title, got.code })
      assert.truthy(#got.reason > 0 and got.reason ~= got.title)
      got = decide_net.wire(decide_net.compile(profile):connect(host, 80, "connect", support.call))
      assert.same({ "blocked-by-policy" }, { got.code, got.title })
    end
    -- What a filter denies is told in the filter's words, as srt does.
    local got = decide_net.wire(decide_net.compile(profile, { asSrt = true }):request({ method = "GET", host = "a.test",
      port = 80, path = "/", target = "http://a.test/" }, support.call))
    assert.same({ "blocked-by-policy" }, { got.code, got.title })
  end)
end)

describe("addresses", function()
  it("what a callback allows opens no way to this host", function()
    local d = decider("decideConnect = function() return true end")
    for host, text in pairs({ ["127.0.0.1"] = "127.0.0.1", localhost = "127.0.0.1", ["169.254.169.254"] = "169.254.169.254",
      ["a.test"] = "127.0.0.1", ["::1"] = "::1", ["0.0.0.0"] = "0.0.0.0" }) do
      assert.equal("allow", d:connect(host, 80, "http", support.call).action)
      assert.is_string((d:address(host, 80, text)), host)
    end
    assert.is_nil((d:address("a.test", 80, "8.8.8.8")))
    d = decider('allowedDomains = { "127.0.0.1:80", "localhost:80" }')
    assert.is_nil((d:address("127.0.0.1", 80, "127.0.0.1")))
    assert.is_nil((d:address("localhost", 80, "127.0.0.1")))
  end)

  it("are not asked about where only an entry opens them, and are not said to resolve", function()
    local d, asked = decider 'allowedDomains = { "a.test" }', {}
    d.prompt = function(subject)
      asked[#asked + 1] = subject.host
      return { action = "allow", host = subject.host, port = subject.port }
    end
    for _, host in ipairs { "127.0.0.3", "::1", "localhost", "x.localhost", "169.254.169.254", "b.test", "192.0.2.1" } do
      local got = d:connect(host, 9, "http", support.call)
      if got.action == "deny" then assert.truthy(got.reason:find("is not in network.allowedDomains; add", 1, true)) end
    end
    assert.same({ "b.test", "192.0.2.1" }, asked)
    assert.equal('127.0.0.3 is a loopback address; to allow it, add "127.0.0.3:9" to network.allowedDomains',
      (d:address("127.0.0.3", 9, "127.0.0.3")))
    assert.equal('b.test resolved to a loopback address; to allow it, add "127.0.0.3:9" to network.allowedDomains',
      (d:address("b.test", 9, "127.0.0.3")))
  end)

  it("remembers a bounded number of decisions, whatever is asked for", function()
    local d = decider('allowedDomains = { "*.a.test" }')
    local function size()
      collectgarbage()
      return collectgarbage("count")
    end
    local before = size()
    for port = 1, 20000 do
      d:connect("x.a.test", port, "connect")
    end
    assert.is_true(size() - before < 2000)
    for port = 1, 5000 do
      d:connect(port .. ".a.test", 1, "connect")
    end
    assert.is_true(size() - before < 2000)
    assert.equal("allow", d:connect("x.a.test", 1, "connect").action)
  end)

  it("a host that ends in two dots is no host", function()
    for _, host in ipairs({ "bad.test..", "x.bad.test..", ".." }) do
      local got = decider('deniedDomains = { "bad.test", "*.bad.test" }, decideConnect = function() return true end')
        :connect(host, 80, "http", support.call)
      assert.equal("deny", got.action, host)
      assert.equal(400, got.status)
    end
  end)

  it("go through the guard of the same policy", function()
    local d = decider('allowedDomains = { "a.test", "127.0.0.1:80" }')
    assert.is_nil(d:address("a.test", 80, "127.0.0.1"))
    local reason, class = d:address("a.test", 81, "127.0.0.1")
    assert.equal("loopback", class)
    assert.is_string(reason)
  end)
end)
