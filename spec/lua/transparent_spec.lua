-- SPDX-License-Identifier: Apache-2.0
-- Programs that ignore proxies: when they are served, which names have an address, and what libc reads.
local support = require("spec.lua.support")
local decide_net = require("srt.decide_net")
local transparent = require("srt.transparent")

local function resolve(text)
  return assert(support.resolve("return { network = { " .. text .. " } }"))
end

describe("names", function()
  local LISTS = 'allowedDomains = { "a.test:443", "*.ex.test", "db:5432", "127.0.0.1:8080" }, '
    .. 'deniedDomains = { "bad.ex.test", "half.ex.test:80", "a.test:80", "shut.ex.test:1", "*.no.ex.test" }, '
  local rows = {
    { "a.test", "allow" }, { "A.TEST", "allow" }, { "a.test.", "allow" }, { "x.ex.test", "allow" }, { "ex.test", "deny" },
    { "bad.ex.test", "deny" }, { "half.ex.test", "allow" }, { "y.no.ex.test", "deny" }, { "db", "allow" },
    { "other", "deny" }, { "b.test", "deny" }, { "", "deny" }, { "..", "deny" }, { "a b", "deny" },
  }
  for _, row in ipairs(rows) do
    it(("%q: %s by the lists"):format(row[1], row[2]), function()
      local got = decide_net.compile(resolve(LISTS)):name(row[1])
      assert.equal(row[2], got.action)
      assert.is_string(got.rule)
      assert.truthy(got.action == "allow" or #got.reason > 10)
    end)
  end

  it("that a callback might allow have one, unless it is never asked", function()
    local function name(more)
      return decide_net.compile(resolve(LISTS .. "decideConnect = print, " .. more)):name("b.test").action
    end
    assert.equal("allow", name(""))
    assert.equal("deny", name("strictAllowlist = true"))
    assert.equal("deny", decide_net.compile(resolve(LISTS .. "decideConnect = print")):name("bad.ex.test").action)
  end)

  it("whose one allowed port is denied have none", function()
    local text = 'allowedDomains = { "a.test:80" }, deniedDomains = { "*:80" }'
    assert.equal("deny", decide_net.compile(resolve(text)):name("a.test").action)
  end)

  it("are spelled without a port in reasons", function()
    local got = decide_net.compile(resolve(LISTS)):name("b.test")
    assert.truthy(got.reason:find('^b%.test is not in network.allowedDomains; add "b%.test"'), got.reason)
  end)

  it("are never denied where a port of theirs is allowed", function()
    local decider = decide_net.compile(resolve(LISTS))
    for _, host in ipairs({ "a.test", "x.ex.test", "bad.ex.test", "half.ex.test", "y.no.ex.test", "db", "b.test" }) do
      local open = false
      for port = 1, 65535 do open = open or decider:connect(host, port, "transparent", support.call).action == "allow" end
      assert.equal(open and "allow" or "deny", decider:name(host).action, host)
    end
  end)
end)

describe("a policy", function()
  local rows = {
    { 'allowedDomains = { "a.test" }', { eager = false, needed = false } },
    { 'allowedDomains = { "a.test" }, transparent = true', { eager = true, needed = true } },
    { 'allowedDomains = { "a.test" }, transparent = false', nil },
    { "transparent = true", nil },
    { 'allowedDomains = { "192.0.2.1:80" }', { eager = true, needed = false } },
    { 'allowedDomains = { "[2001:db8::1]:80" }', { eager = true, needed = false } },
    { 'allowedDomains = { "127.0.0.1:80", "localhost:1", "[::1]:80" }', { eager = false, needed = false } },
    { "decideConnect = print", { eager = true, needed = false } },
    { 'allowedDomains = { "a.test" }, decideConnect = print, strictAllowlist = true', { eager = false, needed = false } },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local profile = resolve(row[1])
      assert.same(row[2], profile.network.transparent)
      local first = (profile.filesystem.masked or {})[1]
      assert.equal(row[2] and "/etc/resolv.conf" or nil, first and first.path)
    end)
  end
end)

describe("nsswitch.conf", function()
  local rows = {
    { "hosts: files dns\n", nil }, { "hosts:files   dns", nil }, { "hosts: files myhostname dns\n", nil },
    { "passwd: files\n", nil }, { "", nil }, { "# hosts: files resolve dns\n", nil },
    { "hosts: files mdns4_minimal [NOTFOUND=return] dns\n", "hosts: files dns\n" },
    { "a: b\n hosts:\tmymachines resolve [!UNAVAIL=return] files myhostname dns # no\nc: d\n",
      "a: b\nhosts: files myhostname dns\nc: d\n" },
    { "hosts: files sss", "hosts: files dns" },
  }
  for _, row in ipairs(rows) do
    it(("%q"):format(row[1]), function() assert.equal(row[2], transparent.switch(row[1])) end)
  end
end)
