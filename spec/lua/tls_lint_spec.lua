-- SPDX-License-Identifier: Apache-2.0
-- What check tells of termination, secrets and masked values, and what it warns of.
local support = require("spec.lua.support")

local SECRET = 'secrets = { gh = { env = "T", hosts = { "%s" } } }, '
local MASK = 'credentials = { envVars = { { name = "T", mode = "mask", injectHosts = { "%s" } } } }, '
local OPEN = 'network = { allowedDomains = { "a.test:443", "*.b.test" }, tlsTerminate = {%s}, %s }'

local function resolve(text) return assert(support.resolve("return { " .. text .. " }", { lint = true })) end

-- Policy, "warnings" or "notes", and a text that one of them holds.
local ROWS = {
  { "network = { tlsTerminate = {} }", "warnings", "no network is allowed" },
  { SECRET:format("a.test:443") .. 'network = { allowedDomains = { "a.test" } }', "warnings",
    "the secret gh goes nowhere: that takes network.tlsTerminate = {}, or network.allowPlaintextHeaderSet = true" },
  { MASK:format("a.test:443") .. 'network = { allowedDomains = { "a.test" } }', "warnings",
    "the value of T goes nowhere: that takes network.tlsTerminate = {}, or credentials.allowPlaintextInject = true" },
  { SECRET:format("c.test:443") .. OPEN:format("", ""), "warnings",
    "the secret gh never goes to c.test:443: network.allowedDomains does not allow it" },
  { SECRET:format("a.test:80") .. OPEN:format("", ""), "warnings", "does not allow it" },
  { MASK:format("c.test") .. OPEN:format("", ""), "warnings", "the value of T never goes to c.test" },
  { SECRET:format("x.b.test") .. OPEN:format('excludeDomains = { "x.b.test" }', ""), "warnings",
    'network.tlsTerminate.excludeDomains "x.b.test" leaves that unread' },
  { OPEN:format('excludeDomains = { "a.test" }', "refuseOpaqueTunnels = true"), "warnings", "refuses such" },
  { OPEN:format('excludeDomains = { "c.test" }', ""), "notes", '"c.test" changes nothing' },
  { SECRET:format("a.test:443") .. OPEN:format("", ""), "notes", "the variable T is not set here; a run does not start" },
  { MASK:format("a.test:443") .. OPEN:format("", ""), "notes", "so there is nothing to mask" },
  { 'network = { allowedDomains = { "localhost:8443" }, tlsTerminate = {} }', "notes",
    "connects to port 8443 inside and not to the proxy is not read" },
}

local QUIET = {
  SECRET:format("a.test:443") .. OPEN:format("", ""), SECRET:format("a.test") .. OPEN:format("", ""),
  SECRET:format("x.b.test:443") .. OPEN:format("", ""), SECRET:format("*.x.b.test") .. OPEN:format("", ""),
  SECRET:format("*.b.test") .. OPEN:format("", ""), MASK:format("a.test") .. OPEN:format("", ""),
  SECRET:format("c.test:443") .. OPEN:format("", "decideConnect = print"),
  SECRET:format("x.b.test") .. OPEN:format('excludeDomains = { "y.b.test" }', ""),
  SECRET:format("a.test:80") .. 'network = { allowedDomains = { "a.test" }, allowPlaintextHeaderSet = true }',
  'credentials = { envVars = { { name = "T", mode = "deny" } } }, network = { allowedDomains = { "a.test" } }',
  MASK:format("a.test"):gsub(', injectHosts = .- }', "", 1) .. OPEN:format("", ""),
  'credentials = { envVars = { { name = "T", mode = "mask" } } }',
}

describe("termination", function()
  for _, row in ipairs(ROWS) do
    it(row[1], function()
      local told = resolve(row[1])[row[2]]
      assert.truthy(table.concat(told, "\n"):find(row[3], 1, true), table.concat(told, "\n"))
      assert.is_true(row[2] == "notes" or #told == 1)
    end)
  end

  for _, text in ipairs(QUIET) do
    it("is not warned of in " .. text, function() assert.same({}, resolve(text).warnings) end)
  end

  it("tells of a listener once, and not where there is none", function()
    local function notes(more)
      local text = table.concat(resolve('network = { allowedDomains = { "localhost:8443" }, ' .. more .. " }").notes, "\n")
      return select(2, text:gsub("not to the proxy", ""))
    end
    assert.equal(1, notes("tlsTerminate = {}"))
    assert.equal(1, notes("filterRequest = print"))
    assert.equal(0, notes("filterRequest = print, refuseOpaqueTunnels = true"))
    assert.equal(0, notes(""))
  end)

  it("says of a filter that a listener passes it by", function()
    local function warned(more)
      local text = table.concat(resolve("network = { allowedDomains = { " .. more .. " }, filterRequest = print }").warnings,
        "\n")
      assert.truthy(text:find("plain HTTP only", 1, true))
      return text:find("sends to 127.0.0.1:8443 without the proxy", 1, true) ~= nil
    end
    assert.is_true(warned('"localhost:8443"'))
    assert.is_false(warned('"localhost", "a.test:443"'))
  end)

  it("is shown by check", function()
    local profile = resolve('network = { allowedDomains = { "a.test" }, tlsTerminate = { caCertPath = "/x/ca.pem", '
      .. 'caKeyPath = "/x/ca.key", extraCaCertPaths = { "/x/more.pem" }, excludeDomains = { "a.test:8443" } } }')
    local text = require("srt.cli.check").text("p.lua", profile)
    for _, part in ipairs { "terminated (network.tlsTerminate)", "by the CA of /x/ca.pem", "trusted besides the host's roots: /x/more.pem",
      "stays unread: a.test:8443" } do
      assert.truthy(text:find(part, 1, true), text)
    end
    assert.same({ caCertPath = "/x/ca.pem", caKeyPath = "/x/ca.key", extraCaCertPaths = { "/x/more.pem" },
      excludeDomains = { "a.test:8443" }, maxTunnels = 256, handshakeTimeoutMs = 10000 },
      require("srt.tls_lint").data(profile.network))
    assert.truthy(require("srt.cli.check").text("p.lua", resolve(OPEN:format("", ""))):find("by a CA of the run", 1, true))
  end)
end)
