-- SPDX-License-Identifier: Apache-2.0
-- Ways out: URLs of proxies, rules of NO_PROXY, and which way a connection takes.
local support = require("spec.lua.support")
local no_proxy = require("srt.no_proxy")
local route = require("srt.route")
local urls = require("srt.proxy_url")

describe("NO_PROXY", function()
  -- rules, host, port, direct
  local rows = {
    { "", "a.test", 80, false }, { "*", "a.test", 80, true }, { "b.test,*", "a.test", 80, true },
    { "a.test", "a.test", 80, true }, { "a.test", "x.a.test", 80, true }, { "a.test", "xa.test", 80, false },
    { "a.test", "a.test.evil.test", 80, false }, { "A.Test.", "a.test", 80, true },
    { ".a.test", "x.a.test", 80, true }, { ".a.test", "a.test", 80, true }, { ".a.test", "xa.test", 80, false },
    { "*.a.test", "x.y.a.test", 80, true }, { "*.a.test", "a.test", 80, true },
    { "a.test:8080", "a.test", 8080, true }, { "a.test:8080", "a.test", 80, false },
    { ".a.test:8080", "x.a.test", 8080, true }, { ".a.test:8080", "x.a.test", 443, false },
    { "b.test a.test", "a.test", 80, true }, { " b.test , a.test ", "a.test", 80, true }, { ",,a.test,", "a.test", 80, true },
    { "localhost", "localhost", 80, true }, { "localhost", "x.localhost", 80, true }, { "localhost", "127.0.0.1", 80, false },
    { "127.0.0.1", "127.0.0.1", 80, true }, { "127.1", "127.0.0.1", 80, true }, { "127.0.0.1", "127.0.0.2", 80, false },
    { "0.0.1", "127.0.0.1", 80, false }, { "10.0.0.1:81", "10.0.0.1", 81, true }, { "10.0.0.1:81", "10.0.0.1", 80, false },
    { "10.0.0.0/8", "10.1.2.3", 80, true }, { "10.0.0.0/8", "11.1.2.3", 80, false }, { "10.0.0.0/8", "ten.test", 80, false },
    { "10.0.0.0/33", "10.1.2.3", 80, false }, { "10.0.0.0/", "10.1.2.3", 80, false },
    { "::1", "::1", 80, true }, { "[::1]", "::1", 80, true }, { "[::1]:81", "::1", 81, true }, { "[::1]:81", "::1", 80, false },
    { "fc00::/7", "fd00::5", 80, true }, { "fc00::/7", "fe80::5", 80, false }, { "2001:DB8::1", "2001:db8::1", 80, true },
    { "a.test:0", "a.test", 80, false }, { "a.test:99999", "a.test", 99999, false }, { "a b", "b", 1, true },
    { "http://a.test", "a.test", 80, false }, { ".", "a.test", 80, false }, { "*.", "a.test", 80, false },
  }
  for _, row in ipairs(rows) do
    it(("%q: %s:%d is %s"):format(row[1], row[2], row[3], row[4] and "direct" or "by the proxy"), function()
      assert.equal(row[4], no_proxy.parse(row[1]):match(row[2], row[3]))
    end)
  end

  it("names the entries that mean nothing", function()
    local _, ignored = no_proxy.parse("a.test, http://b.test, 10.0.0.0/99, c.test:0, ., [::1")
    assert.same({ "http://b.test", "10.0.0.0/99", "c.test:0", ".", "[::1" }, ignored)
  end)
end)

describe("a proxy's URL", function()
  local good = {
    { "http://p.test:3128", "http://p.test:3128" }, { "p.test:3128", "http://p.test:3128" }, { "p.test", "http://p.test:80" },
    { "HTTP://P.test:3128/", "http://p.test:3128" }, { "http://[::1]:81", "http://[::1]:81" },
    { "socks5h://p.test", "socks5h://p.test:1080" }, { "https://p.test", "https://p.test:443" },
    { "http://u:p@p.test:1", "http://p.test:1", "Basic dTpw" }, { "http://u@p.test:1", "http://p.test:1", "Basic dTo=" },
    { "http://u%40x:p%3Aq@p.test:1", "http://p.test:1", "Basic dUB4OnA6cQ==" },
    { "http://u:p@q@p.test:1", "http://p.test:1", "Basic dTpwQHE=" }, { "http://:@p.test:1", "http://p.test:1", "Basic Og==" },
  }
  for _, row in ipairs(good) do
    it("is read: " .. row[1], function()
      local url = assert(urls.parse(row[1]))
      assert.equal(row[2], urls.text(url))
      assert.equal(row[3], urls.basic(url))
    end)
  end

  for _, text in ipairs({ "", "http://", "http://:80", "http://p.test:0", "http://p.test:99999", "http://p.test:x",
    "http://u:secret@", "http://u:secret@p test:1", "ftp://u:secret@p.test", "http://u:secret@p.test:1/path",
    "http://u:secret@p.test:1?q", "http://u:secret@[::1", "http://u:secret@a:b:1", "http://u:secret@p.t\195\188st:1",
    "http://u:secret@p.test\r\n:1" }) do
    it(("is refused, and what is secret not told: %q"):format(text), function()
      local url, reason = urls.parse(text)
      assert.is_nil(url)
      assert.is_string(reason)
      assert.falsy(reason:find("secret", 1, true))
    end)
  end
end)

describe("a parent proxy", function()
  local function parent(given, env)
    local found, problem = route.parent(given, env or {})
    return found and { found.http and found.http.text, found.https and found.https.text }, problem
  end

  it("comes from the settings, then from the environment", function()
    assert.is_nil((parent({}, {})))
    assert.same({ "http://h:1", "http://h:1" }, (parent({}, { http_proxy = "http://h:1" })))
    assert.same({ "http://h:1", "http://s:2" }, (parent({}, { HTTP_PROXY = "h:1", HTTPS_PROXY = "s:2" })))
    assert.same({ nil, "http://s:2" }, (parent({}, { https_proxy = "s:2" })))
    assert.same({ "http://a:3", "http://a:3" }, (parent({}, { ALL_PROXY = "http://a:3" })))
    assert.same({ "http://l:1", "http://l:1" }, (parent({}, { http_proxy = "l:1", HTTP_PROXY = "u:1" })))
    assert.same({ "http://c:1", "http://e:2" }, (parent({ http = "http://c:1", https = "e:2" }, { http_proxy = "x:1" })))
    assert.same({ "http://c:1", "http://c:1" }, (parent({ http = "http://c:1" }, { https_proxy = "x:1" })))
    assert.same({ "http://x:1", "http://c:1" }, (parent({ https = "http://c:1" }, { http_proxy = "x:1" })))
  end)

  it("can be refused in the settings, and an empty variable is none", function()
    assert.is_nil((parent({ http = "", https = "" }, { http_proxy = "x:1", https_proxy = "x:2" })))
    assert.is_nil((parent({}, { http_proxy = "", HTTPS_PROXY = "" })))
  end)

  it("that can't be used is a problem that says so, without its credentials", function()
    for _, row in ipairs({
      { { https = "https://u:secret@p.test" }, {}, "network.parentProxy.https can't be used: TLS to a proxy" },
      { { http = "socks5h://u:secret@p.test" }, {}, "only HTTP proxies are served as parents" },
      { {}, { ALL_PROXY = "socks5://u:secret@p.test" }, "set network.parentProxy.http, to \"\" for none" },
      { {}, { https_proxy = "https://u:secret@p.test" }, "the environment (https_proxy) can't be used" },
      { { http = "http://u:secret@" }, {}, "the host can't be used: it is empty" },
      { { http = "http://u:secret@p.test:x" }, {}, "expected HOST:PORT" },
    }) do
      local found, problem = route.parent(row[1], row[2])
      assert.is_nil(found)
      assert.truthy(problem:find(row[3], 1, true), problem)
      assert.falsy(problem:find("secret", 1, true))
    end
  end)
end)

describe("the way out", function()
  local function decider(text, env)
    local profile = assert(support.resolve("return { network = { " .. text .. " } }", { env = env }))
    return require("srt.decide_net").compile(profile)
  end

  local function way(text, host, port, protocol, env)
    local decision = decider(text, env):connect(host, port or 443, protocol or "connect")
    assert.equal("allow", decision.action, decision.reason)
    return decision.via and (decision.via.socket or decision.via.host .. ":" .. decision.via.port)
  end

  local both = 'allowedDomains = { "a.test", "*.in.test", "localhost", "127.0.0.1", "10.0.0.1", "m.test" }, '
    .. 'parentProxy = { http = "http://u:p@h.test:1", https = "http://s.test:2", noProxy = ".in.test,10.0.0.0/8" }'

  it("is by the parent, by the kind of request", function()
    assert.equal("h.test:1", way(both, "a.test", 80, "http"))
    assert.equal("s.test:2", way(both, "a.test", 80, "connect"))
    assert.equal("s.test:2", way(both, "A.test.", 22, "socks5"))
  end)

  it("is direct for noProxy and for this machine", function()
    for _, host in ipairs({ "x.in.test", "10.0.0.1", "localhost", "127.0.0.1", "127.1" }) do
      assert.is_nil(way(both, host))
    end
    assert.is_nil(way('allowedDomains = { "a.test" }', "a.test"))
  end)

  it("is by the mitm proxy first", function()
    local text = both .. ', mitmProxy = { socketPath = "~/m.sock", domains = { "m.test", "x.in.test:443" } }'
    assert.equal("/home/u/m.sock", way(text, "m.test"))
    assert.equal("/home/u/m.sock", way(text, "m.test", 80, "http"))
    assert.equal("/home/u/m.sock", way(text, "x.in.test"))
    assert.is_nil(way(text, "x.in.test", 80))
    assert.equal("s.test:2", way(text, "a.test"))
  end)

  it("carries credentials to the wire and nowhere else", function()
    local net = require("srt.decide_net")
    local decision = decider(both):connect("a.test", 80, "http")
    assert.equal("Basic dTpw", net.wire(decision).via.authorization)
    local profile = assert(support.resolve("return { network = { " .. both .. " } }"))
    local json = require("srt.json").encode(require("srt.check_data").profile(profile))
    assert.falsy(json:find("dTpw", 1, true))
    assert.falsy(json:find("u:p", 1, true))
    assert.falsy(require("srt.cli.check").text("p", profile):find("u:p", 1, true))
    assert.truthy(json:find('"http://h.test:1"', 1, true))
  end)

  it("survives filterRequest's edits", function()
    local text = both .. ', filterRequest = function() return srt.allow { setHeaders = { A = "b" } } end'
    local got = decider(text):request({ method = "GET", host = "a.test", port = 80, path = "/", target = "http://a.test/",
      headers = {} }, support.call)
    assert.equal("allow", got.action)
    assert.equal("h.test", got.via.host)
  end)

  it("is asked for each time, also where the lists were asked before", function()
    local net = decider(both .. ', refuseOpaqueTunnels = true')
    assert.equal("h.test", net:connect("a.test", 80, "http").via.host)
    assert.equal("h.test", net:connect("a.test", 80, "http").via.host)
    for _, protocol in ipairs({ "connect", "socks5", "socks4a" }) do
      assert.equal("network.refuseOpaqueTunnels", net:connect("a.test", 80, protocol).rule)
    end
    net = decider(both)
    local first = net:connect("a.test", 80, "http")
    assert.equal("s.test", net:connect("a.test", 80, "socks5").via.host)
    assert.equal("h.test", first.via.host)
    assert.equal("allow", first.action)
  end)

  it("is not given to what is denied", function()
    assert.is_nil(decider(both):connect("b.test", 80, "http").via)
  end)

  it("takes both keys of mitmProxy", function()
    for _, text in ipairs({ 'socketPath = "/s"', 'domains = { "a.test" }' }) do
      local profile, problems = support.resolve("return { network = { mitmProxy = { " .. text .. " } } }")
      assert.is_nil(profile)
      assert.truthy(problems[1].message:find("both socketPath and domains", 1, true))
    end
  end)
end)

describe("proxies of the user's own", function()
  it("open the network, and are warned of", function()
    local profile = assert(support.resolve("return { network = { httpProxyPort = 8080 } }"))
    assert.is_true(profile.network.enabled)
    assert.equal(8080, profile.network.ports.http)
    assert.truthy(table.concat(profile.warnings, "\n"):find("decide nothing there", 1, true))
    assert.truthy(table.concat(profile.warnings, "\n"):find("the SOCKS port stays under the lists", 1, true))
  end)
end)
