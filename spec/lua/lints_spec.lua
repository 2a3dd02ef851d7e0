-- SPDX-License-Identifier: Apache-2.0
-- Each lint of check: a policy that it speaks of, and one that it leaves alone. docs/lints.md is made of the same table.
local support = require("spec.lua.support")
local decisions = require("spec.lua.decisions")
local lint = require("srt.lint")
local tree = require("spec.lua.tree")

local top = tree.make({})
local function path(name) return top .. "/" .. name end
local function put(name, text, mode)
  os.execute(("mkdir -p '%s'"):format(path(name):match("^(.*)/")))
  local file <close> = assert(io.open(path(name), "w"))
  file:write(text)
  os.execute(("chmod %s '%s'"):format(mode or "644", path(name)))
  return path(name)
end

put("home/.aws/config", "")
put("bare/x", "")
put("bin/watchman", "", "755")
put("jest/package.json", '{ "devDependencies": { "jest": "29" } }')
put("quiet/package.json", '{ "devDependencies": { "jest": "29" }, "jest": { "watchman": false } }')
local OPEN, CLOSED = put("token.open", "x"), put("token.closed", "x", "600")

local function hosts(list, more) return ("network = { allowedDomains = { %s }, %s }"):format(list, more or "") end
local function files(text) return "filesystem = { " .. text .. " }" end
local READ = "tlsTerminate = {}, filterRequest = function() return true end"
local HOME = { home = path("home") }
local function at(folder) return { cwd = path(folder), env = { PATH = path("bin") } } end
-- The box of these specs says that every callback begins in line 7 of policy.lua.
local function callback(body)
  return 'network = { allowedDomains = { "a.test" },\n\n\n\n\n\ndecideConnect = function(conn)\n' .. body .. "\nend }"
end

-- Lint, a policy, a like one that is left alone, and what differs in the place of the run (of both, or of each).
local ROWS = {
  { "write-denied", files 'allowWrite = { "/w/a" }, denyWrite = { "/w" }',
    files 'allowWrite = { "/w" }, denyWrite = { "/w/a" }' },
  { "hide-undone", files 'denyRead = { "/x" }, allowRead = { "/x" }', files 'denyRead = { "/x" }, allowRead = { "/x/a" }' },
  { "changes-nothing", files 'denyWrite = { "/x" }', files 'denyWrite = { "/x" }, allowWrite = { "/x/..", }' },
  { "changes-nothing", files 'allowRead = { "/x" }', files 'allowRead = { "/x/a" }, denyRead = { "/x" }' },
  { "changes-nothing", files 'denyDelete = { "/x/a" }', files 'allowWrite = { "/x" }, denyDelete = { "/x/a" }' },
  { "listed-twice", files 'allowWrite = { "/w", "/w/" }', files 'allowWrite = { "/w", "/v" }' },
  { "system-secrets", "", files 'denyRead = { "/etc/shadow" }', { uid = 0 } },
  { "broad-write", files 'allowWrite = { "~" }', files 'allowWrite = { "~/x" }' },
  { "broad-write", files 'allowWrite = { "/home" }', files 'allowWrite = { "/home/u" }', { home = "/home/v" } },
  { "broad-write", files 'allowWrite = { "/usr/local" }', files "disabled = true" },
  { "writable-path", files 'allowWrite = { "/w" }', files 'allowWrite = { "/w" }, denyWrite = { "/w/bin" }',
    { env = { PATH = "/usr/bin:/w/bin" } } },
  { "writable-path", files 'allowWrite = { "." }', files 'allowWrite = { "./x" }', { env = { PATH = "/usr/bin:bin" } } },
  { "readable-credentials", hosts '"a.test"', hosts '"a.test"' .. "," .. files 'denyRead = { "~/.aws" }', HOME },
  { "readable-credentials", hosts '"a.test"', "", HOME },
  { "readable-secret", ("secrets = { s = { file = %q, hosts = { 'a.test' } } }"):format(OPEN),
    ("secrets = { s = { file = %q, hosts = { 'a.test' } } }"):format(CLOSED) },
  { "allow-denied", hosts('"a.x.test:443"', 'deniedDomains = { "*.x.test" }'), hosts('"*.x.test"', 'deniedDomains = { "a.x.test" }') },
  { "unknown-reason", 'network = { deniedDomains = { "*:22" }, deniedDomainReasons = { ["*:23"] = "x" } }',
    'network = { deniedDomains = { "*:22" }, deniedDomainReasons = { ["*:22"] = "x" } }' },
  { "covered-rule", hosts '"*.a.test", "b.a.test:443"', hosts '"*.a.test:80", "b.a.test:443"' },
  { "covered-rule", hosts '"a.test", "A.test"', hosts '"a.test:1", "a.test:2"' },
  { "covered-rule", 'network = { deniedDomains = { "*:22", "a.test:22" } }', 'network = { deniedDomains = { "*:22", '
    .. '"a.test:22" }, deniedDomainReasons = { ["a.test:22"] = "for its own reason" } }' },
  { "loopback-by-proxy", hosts '"localhost"', hosts '"localhost:5432"' },
  { "broad-domain", hosts '"*.co.uk"', hosts '"*.example.co.uk", "*.github.com"' },
  { "shared-domain", hosts '"*.cloudfront.net:443"', hosts '"d1.cloudfront.net", "*.notcloudfront.net"' },
  { "shared-domain", hosts '"*.eu.s3.amazonaws.com"', hosts '"*.amazon.com"' },
  { "domain-fronting", hosts '"d1.cloudfront.net"', hosts('"d1.cloudfront.net"', "requireHostMatch = true, " .. READ) },
  { "domain-fronting", hosts('"d1.cloudfront.net"', "requireHostMatch = true"), hosts '"a.test"' },
  { "unfiltered-forge", hosts '"github.com:443"', hosts('"github.com:443"', READ) },
  { "unfiltered-forge", hosts '"*.github.com"', hosts '"*.githubassets.com", "notgithub.com"' },
  { "unfiltered-forge", hosts('"github.com"', 'filterRequest = function() return true end, '
    .. 'tlsTerminate = { excludeDomains = { "github.com" } }'), hosts('"github.com"', READ) },
  { "cloud-metadata", hosts '"169.254.169.254:80"', hosts '"169.254.1.1:80"' },
  { "cloud-metadata", hosts '"[fd00:ec2::254]"', hosts '"[fd00:ec2::253]"' },
  { "cloud-metadata", hosts '"*.google.internal"', hosts '"*.google.test"' },
  { "engine-port", hosts '"localhost:2375"', hosts '"localhost:8080", "a.test:2375"' },
  { "ways-out", hosts('"a.test"', 'httpProxyPort = 3128'), hosts '"a.test"' },
  { "unread-secret", hosts '"a.test"' .. ', secrets = { s = { env = "T", hosts = { "a.test" } } }',
    hosts('"a.test"', READ) .. ', secrets = { s = { env = "T", hosts = { "a.test" } } }', { env = { T = "x" } } },
  { "powerful-socket", 'network = { allowUnixSockets = { "/run/docker.sock" } }',
    'network = { allowUnixSockets = { "/run/postgresql/x" } }' },
  { "powerful-socket", 'network = { allowUnixSockets = { "~/.local/state/watchman/u-state/sock" } }',
    'network = { allowUnixSockets = { "/run/mysocket" } }' },
  { "all-sockets", "network = { allowAllUnixSockets = true }", "network = { allowAllUnixSockets = false }" },
  { "never-asked", hosts('"a.test"', "strictAllowlist = true, decideConnect = print"), hosts('"a.test"', READ) },
  { "never-asked", files "disabled = true, decideOpen = print", files "decideOpen = print" },
  { "plain-http-only", hosts('"a.test"', "filterRequest = print"), hosts('"a.test"', READ) },
  { "without-reason", callback "return false", callback "return false, 'x'" },
  { "without-reason", callback "return false, nil", callback "return conn.port == 1 and false or true" },
  { "without-reason", callback "if conn.port == 1 then return srt.deny() end return true", callback "return srt.deny 'x'" },
  { "without-reason", callback "return srt.deny { }", callback "return srt.deny { reason = 'x' }" },
  { "without-reason", callback "return srt.deny({ reason }) -- reason = 1", callback "return srt.deny(why)" },
  { "without-reason", callback "local f = function() end return false",
    callback "local f = function() return false end return f()" },
  { "without-reason", callback "if 1 then return false end", callback "-- return false\nlocal t = [[ return false ]] return true" },
  { "jest-watchman", "", "", at "jest", at "quiet" },
  { "jest-watchman", "", "", at "jest", { cwd = path("jest"), env = { PATH = "/none" } } },
}

local STORES = { ["no-secrets"] = 'return { filesystem = { denyRead = { "~/.aws" } } }' }

local function found(text, place)
  local ctx = { lint = true, home = path("bare") }
  for key, value in pairs(place or {}) do ctx[key] = value end
  local profile, problems = support.resolve({ ["policy.lua"] = "return { " .. text .. " }" }, ctx, STORES, "policy.lua")
  assert(profile, problems and problems[1] and problems[1].message)
  local ids = {}
  for _, item in pairs(profile.details) do
    if item.lint then ids[item.lint] = item end
  end
  return ids, profile
end

describe("check", function()
  teardown(function() tree.remove(top) end)

  for i, row in ipairs(ROWS) do
    it(("finds %s (%d)"):format(row[1], i), function()
      local item = found(row[2], row[4])[row[1]]
      assert.truthy(item)
      assert.truthy(#item.message > 20)
      assert.is_nil(found(row[3], row[5] or row[4])[row[1]])
    end)
  end

  it("has a row for each lint, and no other", function()
    local known = {}
    for _, one in ipairs(lint.all()) do
      assert.is_nil(known[one.id])
      known[one.id] = true
      assert.truthy(one.severity == "warning" or one.severity == "note")
    end
    local rows = {}
    for _, row in ipairs(ROWS) do
      assert.is_true(known[row[1]], row[1])
      rows[row[1]] = true
    end
    for id in pairs(known) do assert.is_true(rows[id], "no row for " .. id) end
  end)

  it("says the line and the lint, and hears of what is meant", function()
    local text = 'network = { allowedDomains = {\n "github.com:443",\n %s\n "gitlab.com:443", %s\n } }'
    local ids, profile = found(text:format("", ""))
    assert.same({ "policy.lua", "warning" }, { ids["unfiltered-forge"].file, ids["unfiltered-forge"].severity })
    assert.equal(2, #profile.warnings)
    assert.truthy(profile.warnings[2]:find("^policy.lua:4: .*%[unfiltered%-forge%]$"), profile.warnings[2])
    for _, excuse in ipairs { { "-- lint: ok unfiltered-forge, it is ours", "" }, { "", "--lint: ok x, unfiltered-forge" } } do
      profile = select(2, found(text:format(excuse[1], excuse[2])))
      assert.equal(1, #profile.warnings)
    end
    for _, excuse in ipairs { { "-- lint: ok unfiltered", "" }, { "x = 1, -- lint: ok unfiltered-forge", "" }, { "", "-- lint: no" } } do
      profile = select(2, found(text:format(excuse[1]:gsub("x = 1", '"b.test"'), excuse[2])))
      assert.equal(2, #profile.warnings)
    end
  end)

  it("hears it for a table, too", function()
    local text = 'network = {\n -- lint: ok unfiltered-forge\n allowedDomains = { "github.com:443",\n "gitlab.com" },\n %s }'
    assert.equal(0, #select(2, found(text:format(""))).warnings)
    assert.equal(1, #select(2, found(text:format(READ:gsub("tls", 'allowUnixSockets = { "/run/docker.sock" }, tls')))).warnings)
  end)

  it("takes what a ready-made policy gives for a note", function()
    local preset = { ["no-secrets"] = STORES["no-secrets"], g = 'return { network = { allowedDomains = { "github.com" } } }' }
    local profile = assert(support.resolve('return { extends = { "g" } }', { lint = true, home = path("none") }, preset))
    assert.same({}, profile.warnings)
    assert.truthy(table.concat(profile.notes):find("unfiltered-forge", 1, true))
  end)

  it("is at peace with all that is ready-made", function()
    -- Demonstrations, which need what is made for them; and what is as dangerous as the lint says.
    local apart = { ["https-token"] = true, quickstart = true, ["docker-client"] = true }
    local count = 0
    for _, name in ipairs(decisions.presets()) do
      local desk = not apart[name] and decisions.open(decisions.preset(name),
        { env = { PATH = "/usr/local/bin:/usr/bin:/bin" } })
      if desk then
        local profile = desk:profile()
        desk:close()
        -- What is not there on this machine is no lint's.
        for text, item in pairs(profile.details) do
          assert.is_false(item.severity == "warning", name .. ": " .. text)
        end
        count = count + 1
      end
    end
    assert.is_true(count >= 10)
  end)

  it("has what ready-made policies deny in one line, but each thing that they allow", function()
    local function six(form)
      local words = {}
      for n = 1, 6 do words[n] = '"' .. form:format(n) .. '"' end
      return table.concat(words, ", ")
    end
    local preset = ("return { filesystem = { denyRead = { %s }, allowWrite = { %s } }, network = { allowedDomains = { %s } }, "
      .. "env = { unset = { %s } } }"):format(six "/none/deny%d", six "/none/write%d", six "h%d.test", six "NAME%d")
    local profile = assert(support.resolve('return { extends = { "g" }, filesystem = { denyRead = { "/own/a", "/own/b", '
      .. '"/own/c", "/own/d", "/own/e" } } }', { lint = true, home = path("none") }, { g = preset }))
    profile.unenforced = profile.unenforced or {}
    local function count(text, word) return select(2, text:gsub(word, "")) end
    local text = require("srt.cli.check").text("p.lua", profile)
    assert.truthy(text:find("\n  /none/deny1, /none/deny2, /none/deny3 and 3 more policies/g.lua\n", 1, true), text)
    assert.truthy(text:find("\n  unset NAME1, NAME2, NAME3 and 3 more ", 1, true), text)
    assert.truthy(text:find(".bashrc, .bash_profile, .bash_login and %d+ more\n"), text)
    for word, rows in pairs { ["\n  /none/write%d "] = 6, ["\n  h%d.test "] = 6, ["\n  /own/%l "] = 5 } do
      assert.equal(rows, count(text, word), text)
    end
    text = require("srt.cli.check").text("p.lua", profile, nil, true)
    for word, rows in pairs { ["\n  /none/deny%d "] = 6, ["\n  unset NAME%d "] = 6, [" %.inputrc"] = 1, ["more\n"] = 0 } do
      assert.equal(rows, count(text, word), text)
    end
    assert.truthy(text:find("\nin all: no errors, %w+ warnings?, %w+ notes?\n$"), text)
  end)

  it("fails on what it is told to", function()
    local texts = { clean = "", noted = files 'denyWrite = { "/x" }', warned = hosts '"*.co.uk"', wrong = "x = 1" }
    for _, row in ipairs { { "clean", 0, 0, 0 }, { "noted", 0, 0, 1 }, { "warned", 0, 1, 1 }, { "wrong", 1, 1, 1 } } do
      for i, severity in ipairs { "error", "warning", "note" } do
        local out = {}
        local status = require("srt.cli.check").main({ "p.lua", "--json", "--fail-on=" .. severity }, {
          load = function(file)
            return support.resolve({ [file] = "return { " .. texts[row[1]] .. " }" }, { lint = true, home = path("none") },
              STORES, file)
          end, out = function(text) out[#out + 1] = text end, err = error })
        assert.equal(row[i + 1], status, row[1] .. " " .. severity)
        local first = require("srt.json").decode(out[1]).policies[1].findings[1]
        assert.equal(({ noted = "note", warned = "warning", wrong = "error" })[row[1]], first and first.severity)
      end
    end
    local said
    assert.equal(125, require("srt.cli.check").main({ "p.lua", "--fail-on", "all" }, { err = function(text) said = text end }))
    assert.truthy(said:find("error, warning or note", 1, true))
  end)

  it("is told of in docs/lints.md", function()
    local lines = { "# What `srt-lua check` looks for", "",
      "Made of the table in `lua/srt/lints/` by `SRT_WRITE_DOCS=1`; `spec/lua/lints_spec.lua` compares the two.", "",
      "A finding ends with the name of its lint in brackets. `check --json` has the same in `findings`, with severity, "
        .. "file, line and key;", "`check --fail-on warning` (or `note`) exits with 1 where there are such. A comment "
        .. "behind the line, or alone above it or a table,", "says that it is meant:", "",
      '    allowedDomains = { "github.com:443" }, -- lint: ok unfiltered-forge, we push there', "",
      "What a ready-made policy gives is a note for who extends it, and its own file says why it is meant.", "",
      "| lint | severity | what it finds, and the cure |", "|---|---|---|" }
    for _, one in ipairs(lint.all()) do
      lines[#lines + 1] = ("| `%s` | %s | %s |"):format(one.id, one.severity, one.doc)
    end
    local text = table.concat(lines, "\n") .. "\n"
    if os.getenv("SRT_WRITE_DOCS") then
      local file <close> = assert(io.open("docs/lints.md", "w"))
      file:write(text)
    end
    local file <close> = assert(io.open("docs/lints.md"))
    assert.equal(text, file:read("a"))
  end)
end)
