-- SPDX-License-Identifier: Apache-2.0
-- Resolving: paths, rules, defaults, warnings; keys that can't be held stop a run; what `check` prints.
local support = require("spec.lua.support")
local check = require("srt.cli.check")

local function paths(profile, name)
  local out = {}
  for i, entry in ipairs(profile.filesystem[name]) do
    out[i] = entry.path
  end
  return out
end

local function has(list, text)
  for _, item in ipairs(list) do
    if (item.message or item):find(text, 1, true) then
      return true
    end
  end
  return false
end

describe("the empty policy", function()
  local profile = assert(support.resolve("return {}"))

  it("denies all network and all writes", function()
    assert.is_false(profile.network.enabled)
    assert.same({}, profile.filesystem.allowWrite)
    assert.same({}, profile.warnings)
  end)

  it("has every default filled", function()
    assert.equal("auto", profile.backend)
    assert.same({ all = false, allowed = {} }, profile.unix)
    assert.is_false(profile.nested)
    assert.equal(1000000, profile.limits.callbackInstructions)
    for name, value in pairs(profile.limits) do
      assert.equal("integer", math.type(value), name)
    end
    assert.is_nil(profile.env.pass)
  end)
end)

describe("paths", function()
  it("are absolute and keep what was given", function()
    local profile = assert(support.resolve([[return { filesystem = {
      denyRead = { "~/.ssh", "x/../y" }, allowWrite = { ".", "sub/**", { path = "a*b", literal = true } } } }]]))
    assert.same({ "/home/u/.ssh", "/w/y" }, paths(profile, "denyRead"))
    assert.same({ "/w", "/w/sub", "/w/a*b" }, paths(profile, "allowWrite"))
    local entry = profile.filesystem.allowWrite[2]
    assert.same({ "sub/**", false }, { entry.given, entry.literal })
    assert.is_true(profile.filesystem.allowWrite[3].literal)
    assert.equal(2, entry.origin.line)
  end)

  it("hold policy files against writing, always", function()
    local profile = assert(support.resolve("return { filesystem = { allowWrite = { '/w' } } }",
      { policyFiles = { "/w/p.lua", "/w/lib.lua" } }))
    assert.same({ "/w/p.lua", "/w/lib.lua" }, paths(profile, "denyWrite"))
    assert.equal("policy file", profile.filesystem.denyWrite[1].builtin)
    assert.same({}, profile.warnings)
  end)

  it("hold a policy's tests with it, where they are there", function()
    local top = require("spec.lua.tree").make { "p.lua", "p_spec.lua", "lib.lua", "j_spec.lua" }
    local function at(name) return top .. "/" .. name end
    local profile = assert(support.resolve("return { filesystem = { allowWrite = { '/w' } } }",
      { policyFiles = { at "p.lua", at "p_spec.lua", at "lib.lua", at "j.json", at "none" } }))
    assert.same({ at "p.lua", at "p_spec.lua", at "p_spec.lua", at "lib.lua", at "j.json", at "j_spec.lua", at "none" },
      paths(profile, "denyWrite"))
    assert.equal("tests of the policy", profile.filesystem.denyWrite[2].builtin)
    require("spec.lua.tree").remove(top)
  end)

  it("may not hold variables", function()
    local profile, problems = support.resolve('return {\n filesystem = { denyRead = { "$HOME/x" } } }')
    assert.is_nil(profile)
    assert.same({ "filesystem.denyRead[1]", 2 }, { problems[1].key, problems[1].line })
  end)
end)

describe("keys that can't be held", function()
  it("stop a run, and are listed for check", function()
    local text = 'return { network = { allowAllDomains = true }, limits = { loadBytes = 5 } }'
    local profile, problems = support.resolve(text)
    assert.is_nil(profile)
    assert.equal(2, #problems)
    profile = assert(support.resolve(text, { lint = true }))
    assert.equal(2, #profile.unenforced)
  end)
end)

describe("network", function()
  it("is open with allowed domains or decideConnect, not with a filter alone", function()
    local function enabled(text)
      return assert(support.resolve("return { network = {" .. text .. "} }")).network.enabled
    end
    assert.is_true(enabled('allowedDomains = { "a.test" }'))
    assert.is_true(enabled("decideConnect = print"))
    assert.is_false(enabled("filterRequest = print"))
    assert.is_false(enabled("decideConnect = print, strictAllowlist = true"))
    assert.is_false(enabled('deniedDomains = { "*" }'))
  end)

  it("says how TLS is terminated", function()
    local function tls(text)
      local profile, problems = support.resolve("return { network = { tlsTerminate = {" .. text .. "} } }")
      return profile and profile.network.tls, profile or problems
    end
    assert.is_nil(assert(support.resolve("return {}")).network.tls)
    local got = tls("")
    assert.same({ 256, 10000, {}, {} }, { got.tunnels, got.handshakeMs, got.exclude, got.extra })
    got = tls('maxTunnels = 2, excludeDomains = { "*.x.test:443" }, extraCaCertPaths = { "~/ca.pem" }')
    assert.same({ 2, "*.x.test:443", 1 }, { got.tunnels, got.exclude[1].text, #got.extra })
    assert.equal("/", got.extra[1].path:sub(1, 1))
    local _, problems = tls('caCertPath = "/x/ca.pem"')
    assert.truthy(problems[1].message:find("both caCertPath and caKeyPath", 1, true))
    local profile
    got, profile = tls('caCertPath = "/x/ca.pem", caKeyPath = "/x/ca.key"')
    assert.same({ "/x/ca.pem", "/x/ca.key" }, { got.caCert.path, got.caKey.path })
    -- The command may use the CA's certificate, and never its key, whatever allowRead says.
    local hidden
    for _, entry in ipairs(profile.filesystem.hidden) do hidden = hidden or entry.path == "/x/ca.key" end
    assert.is_true(hidden)
    local kept = {}
    for _, entry in ipairs(profile.filesystem.denyWrite) do kept[entry.path] = entry.builtin end
    assert.same({ "certificate of the CA", "key of the CA" }, { kept["/x/ca.pem"], kept["/x/ca.key"] })
  end)

  it("gives a denied rule its reason", function()
    local profile = assert(support.resolve('return { network = { deniedDomains = { "*:22", "a.test" }, '
      .. 'deniedDomainReasons = { ["*:22"] = "no SSH" } } }'))
    assert.equal("no SSH", profile.network.denied[1].reason)
    assert.is_nil(profile.network.denied[2].reason)
  end)
end)

describe("warnings", function()
  local rows = {
    { 'network = { deniedDomains = { "*" }, allowedDomains = { "api.test" } }', "denies everything" },
    { 'network = { deniedDomains = { "*.x.test" }, allowedDomains = { "a.x.test:443" } }', "covers it" },
    { 'network = { deniedDomains = { "*.x.test" }, allowedDomains = { "*.a.x.test" } }', "covers it" },
    { 'network = { deniedDomains = { "a.test:443" }, allowedDomains = { "a.test:443" } }', "covers it" },
    { 'network = { deniedDomains = { "*:22" }, deniedDomainReasons = { ["*:23"] = "x" } }', 'did you mean "*:22"?' },
    { 'network = { strictAllowlist = true, decideConnect = print, allowedDomains = { "a.test" } }', "never asked" },
    { "network = { filterRequest = print }", "no network is allowed" },
    { 'network = { filterRequest = print, allowedDomains = { "a.test" } }', "refuseOpaqueTunnels = true" },
    { 'filesystem = { allowWrite = { "/w/a" }, denyWrite = { "/w" } }', "a denial wins" },
    { 'filesystem = { denyRead = { "/x" }, allowRead = { "/x" } }', "allowRead wins" },
    { 'network = { allowedDomains = { srt.remove "a.test" } }', "takes nothing out" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local profile = assert(support.resolve("return { " .. row[1] .. " }"))
      assert.equal(1, #profile.warnings)
      assert.truthy(profile.warnings[1]:find(row[2], 1, true), profile.warnings[1])
    end)
  end

  local quiet = {
    'network = { deniedDomains = { "*:22" }, allowedDomains = { "a.test" } }',
    'network = { deniedDomains = { "a.test:22" }, allowedDomains = { "a.test", "*.a.test" } }',
    'network = { deniedDomains = { "b.x.test" }, allowedDomains = { "*.x.test" } }',
    'filesystem = { allowWrite = { "/w" }, denyWrite = { "/w/a" } }',
    'filesystem = { denyRead = { "/w/a" }, allowRead = { "/w" } }',
    "network = { allowLocalBinding = false }", -- nor of what a command may do here anyway
    "network = { allowLocalBinding = true }",
    'network = { filterRequest = print, allowedDomains = { "a.test" }, refuseOpaqueTunnels = true }',
    'network = { filterRequest = print, allowedDomains = { "a.test" }, tlsTerminate = {} }',
  }
  for _, text in ipairs(quiet) do
    it("are not made for " .. text, function()
      assert.same({}, assert(support.resolve("return { " .. text .. " }")).warnings)
    end)
  end

  it("are notes where nothing is lost", function()
    local profile = assert(support.resolve("return { network = { allowLocalBinding = true } }", { lint = true }))
    assert.truthy(table.concat(profile.notes):find("allowLocalBinding: has no effect on Linux", 1, true))
  end)

  it("notes are for check: missing paths, duplicates, rules without effect", function()
    local text = 'return { ripgrep = {}, filesystem = { denyRead = { "/no/such", "/no/such" }, '
      .. 'denyWrite = { "/etc" } } }'
    local profile = assert(support.resolve(text, { lint = true }))
    for _, part in ipairs({ "listed twice", "changes nothing", "ripgrep" }) do
      assert.is_true(has(profile.notes, part), part)
    end
    assert.same({}, assert(support.resolve(text)).notes)
  end)

  it("tell root what stays readable, until it is hidden", function()
    assert.is_true(has(assert(support.resolve("return {}", { uid = 0 })).notes, "no-system-secrets"))
    local hidden = 'return { filesystem = { denyRead = { "/etc" } } }'
    assert.same({}, assert(support.resolve(hidden, { uid = 0 })).notes)
  end)
end)

describe("ready-made policies", function()
  local function read(name)
    local f = assert(io.open("policies/" .. name .. ".lua"))
    local text = f:read("a")
    f:close()
    return text
  end
  for _, name in ipairs({ "workspace", "npm", "git-https", "no-system-secrets" }) do
    it(name .. " resolves without a warning", function()
      local text = ("return { extends = { %q } }"):format(name)
      local profile = assert(support.resolve(text, nil, { [name] = read(name) }))
      assert.same({}, profile.warnings)
      assert.same({ name }, profile.presets)
      assert.truthy(read(name):find("^%-%- SPDX[^\n]*\n%-%- %u[^\n]*%.\n"))
    end)
  end

  it("https-token takes a variable, and the example's root", function()
    local profile = assert(support.resolve(read("https-token"), { lint = true, env = { API_TOKEN = "x" } }))
    assert.same({}, profile.warnings)
    assert.same({ "API_TOKEN", "demo-ca.pem" }, { profile.credentials.secrets[1].env,
      profile.network.tls.extra[1].path:match("[^/]*$") })
  end)

  it("hide /etc/shadow from root", function()
    local profile = assert(support.resolve('return { extends = { "no-system-secrets" } }', { uid = 0 },
      { ["no-system-secrets"] = read("no-system-secrets") }))
    assert.same({}, profile.notes)
  end)
end)

describe("check", function()
  local function run(args, texts)
    local out, err = {}, {}
    local status = check.main(args, {
      load = function(file) return support.resolve(texts, { lint = true }, nil, file) end,
      out = function(text) out[#out + 1] = text end, err = function(text) err[#err + 1] = text end,
    })
    return status, table.concat(out), table.concat(err)
  end
  local texts = {
    ["good.lua"] = 'return {\n network = { allowedDomains = {\n "a.test:443" }, filterRequest = print },\n'
      .. ' filesystem = { denyRead = { "~/.ssh" } }, env = { set = { A = "1" } } }',
    ["bad.lua"] = "return { netwrok = 1, strict = 5 }", ["later.lua"] = "return { network = { allowAllDomains = true } }",
  }

  it("prints each entry with where it came from", function()
    local status, out, err = run({ "good.lua" }, texts)
    assert.same({ 0, "" }, { status, err })
    for _, part in ipairs({ "a.test:443", "good.lua:3", "~/.ssh  (/home/u/.ssh)", "set A=1", "policy.lua:7" }) do
      assert.truthy(out:find(part, 1, true), part)
    end
  end)

  it("prints JSON", function()
    local status, out = run({ "--json", "good.lua", "bad.lua" }, texts)
    local data = assert(require("srt.json").decode(out))
    assert.equal(1, status)
    assert.is_true(data.policies[1].ok)
    assert.same({ file = "good.lua", line = 3, key = "network.allowedDomains[1]" },
      data.policies[1].profile.network.allowed[1].origin)
    assert.same({ { callback = "policy.lua:7" } }, data.policies[1].profile.callbacks.filterRequest)
    assert.equal(2, #data.policies[2].errors)
  end)

  it("tells problems by its status", function()
    local status, _, err = run({ "bad.lua" }, texts)
    assert.equal(1, status)
    assert.truthy(err:find("srt-lua: bad.lua:1: netwrok: unknown key; did you mean network?\n", 1, true), err)
    assert.equal(1, (run({ "later.lua" }, texts)))
    assert.equal(125, (run({}, texts)))
    assert.equal(125, (run({ "--jsn", "good.lua" }, texts)))
    assert.equal(1, (run({ "--", "--json" }, texts)))
  end)

  it("shows no control bytes of a policy", function()
    local _, out, err = run({ "x.lua" }, { ["x.lua"] = 'return { ["a\27[2Jb"] = 1 }' })
    assert.falsy((out .. err):find("\27", 1, true))
  end)
end)

describe("speed", function()
  it("loads and resolves a usual policy in well under 3 ms", function()
    local text = 'return { filesystem = { denyRead = { "~/.ssh", "~/.aws" }, allowWrite = { "." } }, network = { '
      .. 'allowedDomains = { "a.test:443", "*.b.test" }, filterRequest = print } }'
    support.resolve(text)
    local start = os.clock()
    for _ = 1, 50 do
      assert(support.resolve(text))
    end
    assert.is_true((os.clock() - start) / 50 < 0.003)
  end)

  it("takes 10,000 paths and hosts", function()
    local dirs, hosts = {}, {}
    for i = 1, 10000 do
      dirs[i], hosts[i] = ("%q"):format("/data/d" .. i), ("%q"):format("h" .. i .. ".test")
    end
    local start = os.clock()
    local profile = assert(support.resolve(("return { filesystem = { denyRead = { %s } }, network = { "
      .. "allowedDomains = { %s } } }"):format(table.concat(dirs, ","), table.concat(hosts, ","))))
    assert.equal(10000, #profile.filesystem.denyRead)
    assert.is_true(os.clock() - start < 2)
  end)
end)
