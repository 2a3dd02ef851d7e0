-- SPDX-License-Identifier: Apache-2.0
-- What filters decide beyond yes and no: bodies, targets, hosts that must match, responses and who observes them.
local support = require("spec.lua.support")
local decide_net = require("srt.decide_net")
local retarget = require("srt.retarget")

local srt = support.srt

local function decider(text)
  return decide_net.compile(assert(support.resolve("return { network = { allowedDomains = { 'a.test', 'b.test:8080', "
    .. "'[::1]' }, " .. text .. " } }")))
end

local function request(text, fields)
  local question = { method = "GET", host = "a.test", port = 80, path = "/x", query = "q", target = "http://a.test/x?q",
    headers = { { name = "Host", value = "a.test" } } }
  for k, v in pairs(fields or {}) do
    question[k] = v
  end
  local d = type(text) == "table" and text or decider(text)
  return d:request(question, support.call), d
end

local function allow(edits)
  return ("filterRequest = function(req) return srt.allow { %s } end"):format(edits)
end

describe("an edit of a request", function()
  it("goes to the proxy as it is", function()
    local got = request(allow("setBody = 'new', setTarget = '/y?z', setHeaders = { A = 'b' }"))
    local wire = decide_net.wire(got)
    assert.same({ true, "a.test", 80, "new", "/y?z" }, { wire.allow, wire.host, wire.port, wire.body, wire.target })
    assert.same({ { name = "A", value = "b" } }, wire.set)
    assert.is_nil(wire.review)
    assert.is_nil(wire.path)
  end)

  it("of the body may be an empty one", function()
    assert.equal("", decide_net.wire(request(allow("setBody = ''"))).body)
  end)

  it("of the target may lead to another host, which is decided as any other", function()
    local got = request(allow("setTarget = 'http://B.test:8080/y'"))
    assert.same({ "allow", "b.test", 8080, "/y" }, { got.action, got.host, got.port, got.target })
    for _, row in ipairs({
      { "http://b.test/y", "b.test:80 is not in network.allowedDomains" },
      { "http://c.test/", "c.test:80 is not in network.allowedDomains" },
      { "https://a.test/", "can't change the scheme from http to https" }, { "//a.test/", nil },
      { "x", "neither a path nor a URL" }, { "", "neither a path nor a URL" }, { "http://", "neither a path nor a URL" },
      { "http://a.test@c.test/", "can't be read" }, { "http://a.test:x/", "can't be read" },
      { "http://a%00.test/", "can't be used" },
    }) do
      got = request(allow(("setTarget = %q"):format(row[1])))
      assert.equal(row[2] and "deny" or "allow", got.action, row[1])
      assert.truthy(not row[2] or got.reason:find(row[2], 1, true), got.reason)
    end
  end)

  it("asks decideConnect about a new host", function()
    local text = "decideConnect = function(c) return c.host == 'c.test', 'not ' .. c.host end, "
    assert.equal("c.test", request(text .. allow("setTarget = 'http://c.test/'")).host)
    local got = request(text .. allow("setTarget = 'http://d.test/'"))
    assert.equal("deny", got.action)
    assert.truthy(got.reason:find("not d.test", 1, true))
  end)

  it("has its target read strictly", function()
    local from = { scheme = "https", host = "a.test", port = 443 }
    assert.same({ host = "a.test", port = 443, target = "/p?q" }, retarget.read("/p?q", from))
    assert.same({ host = "b.test", port = 443, target = "/" }, retarget.read("HTTPS://b.test", from))
    assert.same({ host = "b.test", port = 1, target = "/?q" }, retarget.read("https://b.test:1?q", from))
    assert.same({ host = "::1", port = 2, target = "/x" }, retarget.read("https://[::1]:2/x", from))
    for _, text in ipairs({ "http://b.test/", "https:///x", "https://[::1", "https://b.test:0/", "https://b.test:65536/" }) do
      assert.is_nil((retarget.read(text, from)), text)
    end
  end)
end)

describe("requireHostMatch", function()
  local function status(fields, text)
    local got = request(text or "requireHostMatch = true", fields)
    return got.action == "deny" and got.status or got.action
  end

  local function host(value) return { { name = "hOST", value = value } } end

  it("refuses another Host with 421, filter or not", function()
    for _, row in ipairs({ { "a.test", "allow" }, { "A.TEST:80", "allow" }, { "a.test.", "allow" }, { "a.test:81", 421 },
      { "b.test", 421 }, { "", 421 }, { "a.test@b.test", 421 }, { "a.test:", 421 }, { "a.test:80:80", 421 } }) do
      assert.equal(row[2], status({ headers = host(row[1]) }), row[1])
      assert.equal(row[2], status({ headers = host(row[1]) }, "requireHostMatch = true, " .. allow("")), row[1])
      assert.equal("allow", status({ headers = host(row[1]) }, ""))
    end
    assert.equal("allow", status({ headers = {} }))
    assert.equal("allow", status({ host = "::1", headers = host("[::1]") }))
    assert.equal(421, status({ host = "::1", headers = host("::1") }))
    assert.equal("allow", status({ scheme = "https", port = 443, headers = host("a.test") }))
    assert.equal(421, status({ scheme = "https", port = 443, headers = host("a.test:80") }))
  end)

  it("refuses another TLS server name with 421", function()
    assert.equal("allow", status({ sni = "A.test" }))
    assert.equal(421, status({ sni = "b.test" }))
    assert.equal(421, status({ sni = "" }))
    assert.equal("allow", status({ sni = "b.test" }, ""))
    local got = request("requireHostMatch = true", { sni = "b.test" })
    assert.equal("network.requireHostMatch", got.rule)
    assert.truthy(got.reason:find('the TLS server name "b.test"', 1, true))
  end)
end)

describe("a response", function()
  local function respond(text, fields, response)
    local got, d = request(text, fields)
    assert.equal("allow", got.action)
    assert.is_table(got.review)
    assert.is_nil(got.review.subject.body)
    local question = { status = 200, headers = { { name = "A", value = "1" } }, review = got.review }
    for k, v in pairs(response or {}) do
      question[k] = v
    end
    return d:response(question, support.call)
  end

  local function filter(body)
    return "filterResponse = function(res, req) " .. body .. " end"
  end

  it("is asked about only where somebody wants to know", function()
    assert.is_nil(request("").review)
    assert.is_nil(request(allow("")).review)
    assert.is_table(request(filter("return true")).review)
    assert.is_table(request(allow("onResponse = function() end")).review)
    assert.is_nil(request(filter("return true") .. ", filterRequest = function() return false end").review)
  end)

  it("is judged with its request", function()
    local seen
    srt.see = function(...) seen = { ... } end
    respond(filter("srt.see(res, req) return true"), { method = "POST", body = "a source" }, { body = "another" })
    assert.same({ status = 200, headers = { { name = "A", value = "1" } }, body = "another" }, seen[1])
    assert.same({ "POST", "a.test", "/x", nil }, { seen[2].method, seen[2].host, seen[2].path, seen[2].body })
  end)

  it("is passed on, edited, replaced or denied", function()
    local rows = {
      ["return true"] = { allow = true }, ["return srt.pass"] = { allow = true },
      ["return srt.allow { status = 201, setBody = 'b', setHeaders = { C = 'd' }, removeHeaders = { 'E' } }"] =
        { allow = true, status = 201, body = "b", set = { { name = "C", value = "d" } }, remove = { "E" } },
      ["return srt.respond { body = 'new' }"] = { respond = true, allow = false, status = 200, body = "new", set = {} },
      ["return srt.deny { status = 451, body = 'mine' }"] = { allow = false, status = 451, body = "mine" },
    }
    for body, want in pairs(rows) do
      local wire = decide_net.wire(respond(filter(body)))
      for key, value in pairs(want) do
        assert.same(value, wire[key], body)
      end
    end
    local got = respond(filter("return false, 'because'"))
    assert.equal("the response to GET http://a.test/x?… was denied by network.filterResponse (policy.lua:7): because",
      got.reason)
  end)

  it("is denied where a callback fails or answers nonsense", function()
    for _, body in ipairs({ "error('x')", "return nil", "return 'yes'", "return {}", "return srt.allow { setTarget = '/' }",
      "return srt.allow { setHeaders = { Host = 'x' } }", "return srt.respond { status = 304, body = 'x' }" }) do
      local got = respond(filter(body))
      assert.equal("deny", got.action, body)
      assert.is_true(got.fault, body)
      -- The callback is named once.
      assert.equal(1, select(2, got.reason:gsub("network%.filterRe", "")), got.reason)
      assert.falsy(decide_net.wire(got).allow)
    end
  end)

  it("is told to observers, whose answers and failures change nothing", function()
    local seen = {}
    srt.see = function(...) seen[#seen + 1] = { ... } end
    local got = respond(allow("onResponse = function(status, headers) srt.see(status, headers) return false end") .. ", "
      .. filter("srt.see('filter') return true"))
    assert.equal("allow", got.action)
    assert.same({ { 200, { { name = "A", value = "1" } } }, { "filter" } }, seen)
    got = respond(allow("onResponse = function() error('boom') end"))
    assert.equal("allow", got.action)
    assert.truthy(got.detail:find("onResponse failed: .*boom"))
  end)
end)

describe("names of headers to strip", function()
  it("are checked", function()
    for name, why in pairs({ ["Content-Length"] = "belongs to the proxy", ["a b"] = "not a header name", [""] = "not a header" }) do
      local got, problems = support.resolve(("return { network = { stripResponseHeaders = { %q } } }"):format(name))
      assert.is_nil(got)
      assert.truthy(problems[1].message:find(why, 1, true), problems[1].message)
    end
    local got = assert(support.resolve("return { network = { stripResponseHeaders = { 'Server' } } }"))
    assert.same({ "Server" }, got.network.stripResponseHeaders)
  end)
end)
