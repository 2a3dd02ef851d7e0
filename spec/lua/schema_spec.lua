-- SPDX-License-Identifier: Apache-2.0
-- The schema: all keys of the policy language are known, and each value of the wrong kind is named as such.
local support = require("spec.lua.support")
local schema = require("srt.schema")

local KEYS = [[
  extends filesystem.denyRead filesystem.allowRead filesystem.allowWrite filesystem.denyWrite filesystem.denyDelete
  filesystem.protect filesystem.createGuard filesystem.newRepositories filesystem.allowGitConfig filesystem.disabled
  mandatoryDenySearchDepth filesystem.decideOpen network.allowedDomains network.deniedDomains
  network.deniedDomainReasons network.deniedResolvedAddresses network.strictAllowlist network.allowUnixSockets
  network.allowAllUnixSockets network.allowLocalBinding network.publishPorts network.transparent
  network.tlsTerminate.caCertPath network.tlsTerminate.caKeyPath network.tlsTerminate.excludeDomains
  network.tlsTerminate.extraCaCertPaths network.tlsTerminate.maxTunnels network.tlsTerminate.handshakeTimeoutMs
  network.parentProxy.http network.parentProxy.https network.parentProxy.noProxy network.mitmProxy.socketPath
  network.mitmProxy.domains network.httpProxyPort network.socksProxyPort network.decideConnect network.filterRequest
  network.filterResponse network.stripResponseHeaders network.requireHostMatch network.refuseOpaqueTunnels
  network.ambiguousRequestTarget network.allowPlaintextHeaderSet secrets credentials.envVars credentials.files
  ignoreViolations observe onViolation env.set env.unset env.pass limits strict enableWeakerNestedSandbox
  allowNestedUserNamespaces enableWeakerNetworkIsolation allowAppleEvents allowPty git.safeDirectories bwrapPath
  windows.proxyPortRange windows.sublayerGuid windows.srtWin.path backend ripgrep socatPath seccomp javaAgentJarPath
]]

describe("the schema", function()
  local known = {}
  schema.each(function(key, node, status)
    known[key] = node
    it(key .. " has a doc line and a status", function()
      assert.is_true(type(node.doc) == "string" and #node.doc > 3)
      assert.truthy(({ enforced = 1, later = 1, fixed = 1, elsewhere = 1, unneeded = 1 })[status])
    end)
  end)

  for key in KEYS:gmatch("%S+") do
    it("knows " .. key, function() assert.truthy(known[key]) end)
  end
end)

-- What each wrong value must say; the policy is `return { KEY = VALUE }` with dots opened.
local ROWS = {
  { "network.allowedDomain", '{ "a.test" }', "unknown key; did you mean network.allowedDomains?" },
  { "netwrok", "{}", "unknown key; did you mean network?" },
  { "allowedDomains", "{}", "unknown key; did you mean network.allowedDomains?" },
  { "network.denyRead", "{}", "did you mean filesystem.denyRead?" },
  { "filesystem.denyWriteTypo", '{ "/x" }', "unknown key; did you mean filesystem.denyWrite?" },
  { "filesystem.observe", '"all"', "unknown key; did you mean observe at the top level?" },
  { "zzzzzz", "1", "unknown key" },
  { "network", '"a.test"', 'expected a table, found the string "a.test"' },
  { "network.allowedDomains", '"a.test"', 'expected a list of hosts, found the string "a.test"; write { "a.test" }' },
  { "network.allowedDomains", "true", "expected a list of hosts, found true" },
  { "network.allowedDomains", "print", "expected a list of hosts, found a function" },
  { "network.allowedDomains", '{ "a.test", nil, "b.test" }', "the list has a hole: entry 2 is nil" },
  { "network.allowedDomains", '{ x = "a.test" }', 'found a table with the key "x"' },
  { "network.allowedDomains", '{ [0] = "a.test" }', "found a table with the key 0" },
  { "network.allowedDomains", '{ [1.5] = "a.test" }', "found a table with the key 1.5" },
  { "network.allowedDomains", "{ 5 }", "expected a host as a string, found the number 5" },
  { "network.allowedDomains", "{ print }", "expected a host as a string, found a function" },
  { "network.allowedDomains", "{ {} }", "expected a host as a string, found an empty table" },
  { "network.allowedDomains", '{ "*" }', "too broad" },
  { "network.allowedDomains", '{ "http://a.test" }', 'write "a.test"' },
  { "network.allowedDomains", "{ srt.remove(5) }", "srt.remove takes the text of an entry" },
  { "network.deniedDomains", '{ "a.test:99999" }', "from 1 to 65535" },
  { "network.deniedDomainReasons", '{ "a.test" }', "keys must be strings, found the number 1" },
  { "network.deniedDomainReasons", '{ ["*:22"] = 5 }', "expected a string, found the number 5" },
  { "network.deniedResolvedAddresses", '{ "10.0.0.0/40" }', "prefix length" },
  { "network.deniedResolvedAddresses", "{ 10 }", "expected an IP address or range" },
  { "network.strictAllowlist", '"yes"', 'expected true or false, found the string "yes"' },
  { "network.strictAllowlist", "0", "expected true or false, found the number 0" },
  { "network.decideConnect", "true", "expected a function, found true" },
  { "network.decideConnect", '"f"', "functions need a Lua policy" },
  { "network.filterRequest", "{}", "expected a function, found an empty table" },
  { "network.httpProxyPort", "0", "a whole number from 1 to 65535" },
  { "network.tlsTerminate", "true", "expected a table, found true; write {}" },
  { "network.tlsTerminate", "{ maxTunnel = 1 }", "did you mean network.tlsTerminate.maxTunnels?" },
  { "filesystem.denyRead", '"~/.ssh"', 'write { "~/.ssh" }' },
  { "filesystem.denyRead", '{ "" }', "the path is empty" },
  { "filesystem.denyRead", '{ "/a\\0b" }', "NUL" },
  { "filesystem.denyRead", "{ false }", "expected a path" },
  { "filesystem.denyRead", "{ print }", "expected a path: a string or {path=…, literal=true}, found a function" },
  { "filesystem.denyRead", '{ { path = "/x" } }', "needs literal = true" },
  { "filesystem.denyRead", '{ { path = "/x", literal = "yes" } }', "needs literal = true" },
  { "filesystem.denyRead", '{ { path = 5, literal = true } }', "found the number 5" },
  { "filesystem.denyRead", '{ { path = "/x", literal = true, glob = 1 } }', "found glob" },
  { "filesystem.denyRead", '{ { "/x" } }', "found a list" },
  { "filesystem.createGuard", '"none"', 'expected one of "scan", "supervisor"' },
  { "mandatoryDenySearchDepth", "11", "a whole number from 1 to 10, found the number 11" },
  { "mandatoryDenySearchDepth", "2.5", "found the number 2.5" },
  { "mandatoryDenySearchDepth", "0/0", "NaN" },
  { "mandatoryDenySearchDepth", "1/0", "found the number inf" },
  { "limits.connections", '"many"', "a whole number from 1 to 65536" },
  { "limits.callbackSecond", "1", "did you mean limits.callbackSeconds?" },
  { "env.set", '{ ["A B"] = "x" }', "not a name: letters, digits and _" },
  { "env.set", '{ PORT = 80 }', "expected a string, found the number 80" },
  { "env.set", '{ A = "a\\0" }', "NUL" },
  { "env.unset", '{ "1A" }', "not a name" },
  { "env.pass", '"PATH"', 'write { "PATH" }' },
  { "backend", '"docker"', 'expected one of "auto", "namespaces"' },
  { "extends", '"npm"', 'expected a list of names or tables, found the string "npm"; write { "npm" }' },
  { "extends", "{ 5 }", "expected the name of a ready-made policy or a table, found the number 5" },
  { "extends", "{ print }", "found a function" },
  { "extends", '{ "../evil" }', "expected the name" },
  { "secrets", '{ gh = { envv = "X" } }', "unknown key" },
  { "secrets", '{ ["a b"] = { env = "X" } }', "not a name" },
  { "credentials.envVars", '{ { name = "A", mode = "hide" } }', 'expected one of "deny", "mask"' },
  { "onViolation", "1", "expected a function" },
  { "allowPty", "nil, [1] = 5", "expected a named key, found an entry at 1" },
}

local function policy_of(key, value)
  local open, close = "", ""
  for section in key:gmatch("([%w]+)%.") do
    open, close = open .. section .. " = { ", close .. " }"
  end
  return ("return {\n  %s%s = %s%s\n}"):format(open, key:match("[^.]+$"), value, close)
end

describe("a wrong value", function()
  for _, row in ipairs(ROWS) do
    it(("%s = %s"):format(row[1], row[2]), function()
      local policy, problems = support.load(policy_of(row[1], row[2]))
      assert.is_nil(policy)
      assert.equal(1, #problems)
      assert.truthy(problems[1].message:find(row[3], 1, true), problems[1].message)
      assert.equal("p.lua", problems[1].file)
      -- An escape keeps the entry from being found in the source; a list in between has no name to look for.
      if not row[2]:find("^nil") and not row[2]:find("/a\\0b", 1, true) then
        assert.equal(2, problems[1].line)
        assert.truthy(problems[1].key:find(row[1], 1, true), problems[1].key)
      end
    end)
  end
end)
