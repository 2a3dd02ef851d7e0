-- SPDX-License-Identifier: Apache-2.0
-- Domain rules: each row of domains.tsv, reasons of refused entries, and speed of long lists.
local support = require("spec.lua.support")
local domain = require("srt.domain")

local ESCAPES = { ["\\x00"] = "\0", ["\\n"] = "\n", ["\\t"] = "\t", ["\\\\"] = "\\" }

local function unescape(text)
  if text == "<empty>" then
    return ""
  end
  return (text:gsub("\\x00", ESCAPES):gsub("\\[nt\\]", ESCAPES))
end

-- The table's head says that an entry that could never match is refused; these rows only say "nomatch".
local REFUSED_THOUGH_NOMATCH = {}
for _, pattern in ipairs({ "*.*.com", "1.2.3", "user@example.com", "example.com#x", "ftp.example.com;x", "exa mple.com",
  "example.com\n", "exam\tple.com", "a,b.com", "$(id).example.com", "%65xample.com", "münchen.de", "еxample.com" }) do
  REFUSED_THOUGH_NOMATCH[pattern] = true
end

local function outcome(rule, host, port)
  if not rule then
    return "invalid"
  end
  local canonical = domain.canonical(host)
  local hit = canonical ~= nil and domain.match(rule, canonical, port)
  assert.equal(hit, canonical ~= nil and domain.compile({ rule })(canonical, port) ~= nil)
  return hit and "match" or "nomatch"
end

local function expected_of(pattern, expected)
  if not pattern:find("[.:*%[]") and pattern ~= "" and pattern:lower() ~= "localhost" then
    return "invalid"
  elseif expected == "nomatch" and REFUSED_THOUGH_NOMATCH[pattern] then
    return "invalid"
  end
  return expected
end

describe("domains.tsv", function()
  local count = 0
  for row in support.rows(support.folder .. "/domains.tsv") do
    count = count + 1
    local kind, pattern, host, port = row[1], unescape(row[2]), unescape(row[3]), math.tointeger(tonumber(row[4]))
    it(("line %d: %s %s for %s:%d is %s"):format(row.line, kind, row[2], row[3]:sub(1, 40), port, row[5]), function()
      local rule, reason = domain.parse(pattern, kind)
      assert.equal(expected_of(pattern, row[5]), outcome(rule, host, port))
      if not rule then
        assert.is_true(#reason > 5)
      end
    end)
    it(("line %d: the canonical form of %s"):format(row.line, row[3]:sub(1, 40)), function()
      local canonical = domain.canonical(host)
      if row[6] == "<uncanonicalizable>" then
        assert.equal(host:lower(), canonical)
      elseif row[6] ~= "-" then
        assert.equal(unescape(row[6]), canonical)
      elseif row[5] ~= "invalid" then
        assert.is_nil(canonical)
      end
    end)
  end

  it("has all its rows", function()
    assert.equal(172, count)
  end)
end)

describe("refused entries", function()
  local rows = {
    { "http://example.com", "allow", 'write "example.com"' },
    { "https://user@example.com/x", "allow", "without a scheme" },
    { "example.com/path", "allow", "without a path" },
    { "10.0.0.0/8", "allow", "deniedResolvedAddresses" },
    { "fc00::/7", "deny", "deniedResolvedAddresses" },
    { " example.com", "allow", 'write "example.com"' },
    { "example.com.", "allow", 'write "example.com"' },
    { "example.com.:443", "allow", 'write "example.com:443"' },
    { ".example.com", "allow", 'write "*.example.com"' },
    { "example.com:080", "allow", "leading zeros: 80" },
    { "example.com:0", "allow", "from 1 to 65535" },
    { "example.com:", "allow", "from 1 to 65535" },
    { "127.1", "allow", '"127.0.0.1"' },
    { "0x7f.1:80", "deny", '"127.0.0.1:80"' },
    { "::1", "allow", "brackets" },
    { "2001:db8::1:443", "allow", "brackets" },
    { "intranet", "allow", '"intranet:443"' },
    { "*.com", "deny", "too broad" },
    { "*", "allow", "too broad" },
    { "münchen.de", "allow", "xn--" },
    { "a.com,b.com", "allow", "own entry" },
    { "user@example.com", "allow", 'write "example.com"' },
    { "[example.com]", "allow", 'write "example.com"' },
    { "a\0b.com", "allow", "control" },
    { "", "allow", "empty" },
    { "[fe80::1%eth0]", "allow", "not an IPv6" },
    { "[::1", "allow", "not closed" },
  }
  for _, row in ipairs(rows) do
    it(("%q says %s"):format(row[1], row[3]), function()
      local rule, reason = domain.parse(row[1], row[2])
      assert.is_nil(rule)
      assert.truthy(reason:find(row[3], 1, true), reason)
    end)
  end
end)

describe("a compiled list", function()
  it("prefers the exact rule and the one with the port", function()
    local rules = {}
    for _, text in ipairs({ "*.x.test", "a.x.test", "a.x.test:443", "*:22" }) do
      rules[#rules + 1] = assert(domain.parse(text, "deny"))
    end
    local match = domain.compile(rules)
    assert.equal("a.x.test:443", match("a.x.test", 443).text)
    assert.equal("a.x.test", match("a.x.test", 80).text)
    assert.equal("*.x.test", match("b.a.x.test", 80).text)
    assert.equal("*:22", match("other.test", 22).text)
    assert.is_nil(match("x.test", 80))
  end)

  it("never lets a wildcard match an address", function()
    local rule = assert(domain.parse("*.0.0.1", "allow"))
    assert.is_false(domain.match(rule, "127.0.0.1", 80))
    assert.is_nil(domain.compile({ rule })("127.0.0.1", 80))
  end)

  it("answers for 10,000 entries as fast as for ten", function()
    local function cost(n)
      local rules = {}
      for i = 1, n do
        rules[i] = assert(domain.parse(("*.host%d.example"):format(i), "allow"))
      end
      local match = domain.compile(rules)
      local start = os.clock()
      for i = 1, 20000 do
        match("a.b.c.host" .. i % n .. ".example", 443)
      end
      return os.clock() - start
    end
    cost(10)
    assert.is_true(cost(10000) < cost(10) * 8 + 0.05)
  end)
end)
