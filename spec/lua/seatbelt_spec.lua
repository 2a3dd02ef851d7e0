-- SPDX-License-Identifier: Apache-2.0
-- Profiles for macOS say what the decisions say: random policies over a real tree, the text read by an interpreter of its
-- own, the decision module as oracle, and the differences of a table.

local support = require("spec.lua.support")
local decide = require("srt.decide_path")
local differences = require("spec.lua.differences")
local interpreter = require("spec.lua.sbpl")
local paths = require("srt.paths")
local protected = require("srt.protected")
local random_lists = require("spec.lua.random_lists")
local sbpl = require("backends.sbpl")
local seatbelt = require("backends.seatbelt")
local tree = require("spec.lua.tree")
local walk = require("srt.c.walk")

local TAG = "srt-lua-0123"

local known = differences.read("spec/lua/seatbelt-differences.tsv")

local function spelled(value)
  if type(value) ~= "table" then return ("%q"):format(value) end
  local out = {}
  for i, item in ipairs(value) do out[i] = spelled(item) end
  for key, item in pairs(value) do
    if type(key) == "string" then out[#out + 1] = key .. " = " .. spelled(item) end
  end
  return "{ " .. table.concat(out, ", ") .. " }"
end

-- What a policy comes to: profile, decisions, text and the reading of it.
local function compile(top, policy, more)
  local ctx = { cwd = top, home = top .. "/a", env = more and more.callerEnv or {} }
  local profile, problems = support.resolve("return " .. spelled(policy), ctx)
  assert(profile, problems and problems[1] and problems[1].message)
  local rules = decide.compile(profile, { cwd = top, home = ctx.home, tempDir = more and more.tempDir })
  local plan = seatbelt.compile(profile, rules, { env = ctx.env, tag = TAG, token = more and more.token })
  return { profile = profile, rules = rules, plan = plan, reads = interpreter.read(plan.text) }
end

local function allows(case, operation, path)
  local ok, message = case.reads:allows(operation, { path = seatbelt.real(path) })
  assert(ok or message == TAG, "a denial without the tag: " .. operation .. " " .. path)
  return ok
end

-- The deepest entry at or above a path.
local function deepest(case, path)
  local found
  for _, point in ipairs(case.points) do
    if paths.below(path, point) then found = point end
  end
  return found
end

-- Is a path, or a folder above it, matched by a pattern of a list? "exact", or "case" where only that is another.
local function matched(case, list, path)
  local found
  for _, glob in ipairs(case.profile.filesystem.globs) do
    for _, top in ipairs(glob.list == list and glob.tops or {}) do
      local whole = paths.join(top, glob.rest)
      if walk.matches(whole, path) then return "exact" end
      if walk.matches(whole:lower(), path:lower()) then found = "case" end
    end
  end
  return found
end

local function has(path, name) return (path .. "/"):find("/" .. name .. "/", 1, true) ~= nil end

local function name_of(case, path)
  if not next(case.rules.allowWrite) then return nil end
  local found
  for _, entry in ipairs(protected.list(case.profile.protection)) do
    local home = case.profile.home .. "/" .. entry.name
    for spelling, at in pairs { exact = path, case = path:lower() } do
      local here
      if entry.where == "home" then
        here = paths.below(at, spelling == "exact" and home or home:lower())
      else
        here = has(at, entry.name) and not path:find("/node_modules/", 1, true)
      end
      if here then found = found == "exact" and found or spelling end
    end
  end
  return found
end

-- What macOS is to answer: the decision, but for the rows of the table.
local function expected(case, path)
  local decided = case.rules:at(path)
  local read, write, point = decided.read, decided.write, deepest(case, path)
  local function now(id, new_read, new_write)
    known:check(id, "read", read, new_read, path)
    known:check(id, "write", write, new_write, path)
    read, write = new_read, new_write
  end
  if not point and matched(case, "allowWrite", path) == "exact" then now("later-allowed", read, true) end
  local by = matched(case, "denyRead", path)
  if by and not (point and matched(case, "denyRead", point)) then
    now(by == "exact" and "later-name" or "any-case", false, false)
  end
  by = matched(case, "denyWrite", path)
  if by then now(by == "exact" and "later-name" or "any-case", read, false) end
  by = name_of(case, path)
  if by then now(by == "exact" and "any-depth" or "any-case", read, false) end
  return read, write
end

local PATTERNS = { "**/.env", "*.key", "a/*/f", "**/[fg]", "b/**", "?/new", "a-b/*", "**/F", "**/n*", "a/**/x.k?y" }
local LATER = { "new", ".env", ".ENV", "x.key", "g", ".bashrc", ".BashRC", ".git/hooks/x", "node_modules/p/.bashrc",
  ".claude/commands/x", "f/deep", ".ssh/config", "n" }

local function random_policy(everything)
  local lists = random_lists.make(everything, { masked = false })
  for _, name in ipairs { "denyRead", "denyWrite", "allowWrite" } do
    if math.random(3) == 1 then table.insert(lists[name], PATTERNS[math.random(#PATTERNS)]) end
  end
  return { filesystem = lists, observe = "none" }
end

-- May a path be unlinked? It has to be writable, and nothing beneath it denied.
local function may_go(case, path, write)
  if not write or case.rules.pinned[path] then return false end
  for _, point in ipairs(case.points) do
    if point ~= path and paths.below(point, path) and not case.rules:at(point).write then return false end
  end
  return true
end

-- May a path be looked at? It is readable, or on the way to what is.
local function may_see(case, path, read)
  for _, point in ipairs(case.points) do
    if point ~= path and paths.below(point, path) and case.rules:at(point).read then return true end
  end
  return read
end

local function check(case, path, there)
  local read, write = expected(case, path)
  assert.equal(read, allows(case, "file-read-data", path), path)
  assert.equal(read, allows(case, "process-exec", path), path)
  assert.equal(write, allows(case, "file-write-create", path), path)
  assert.equal(write, allows(case, "file-link", path), path)
  if there then
    assert.equal(may_go(case, path, write), allows(case, "file-write-unlink", path), path)
    assert.equal(may_see(case, path, read), allows(case, "file-read-metadata", path), path)
  end
end

describe("profiles for macOS", function()
  local top, everything
  setup(function() top, everything = random_lists.tree() end)
  teardown(function() tree.remove(top) end)

  local function check_policy(policy)
    local case = compile(top, policy)
    case.points = case.rules:points()
    for _, entry in ipairs(everything) do check(case, paths.normalize(top .. "/" .. entry), true) end
    for _ = 1, 15 do
      local folder = top .. "/" .. everything[math.random(#everything)]
      local path = paths.normalize(paths.parent(folder) .. "/" .. LATER[math.random(#LATER)])
      check(case, path, false)
    end
  end

  it("mean what the decisions say, for random policies", function()
    for where in random_lists.rounds(30, 2000) do
      local policy = random_policy(everything)
      local ok, message = pcall(check_policy, policy)
      if not ok then
        error(("%s: %s\n%s"):format(where, require("srt.json").encode(policy),
          type(message) == "table" and tostring(message.message) or tostring(message)))
      end
    end
  end)

  it("hold names that are made later", function()
    local case = compile(top, { filesystem = { allowWrite = { "." }, denyRead = { "**/.env" }, denyWrite = { "*.key" } } })
    case.points = case.rules:points()
    for _, name in ipairs { "new", ".env", "b/.ENV", "a/a/.env/x", "x.key", "x.KEY", "a/x.key", "b/.BashRC", "a/a/a/a/.bashrc",
      "node_modules/.bashrc", "a/.ssh/config", "b/.ssh/config" } do
      check(case, top .. "/" .. name, false)
    end
    case = compile(top, { filesystem = { allowWrite = { "*.o" }, denyWrite = { "k*" }, denyRead = { "b" } } })
    case.points = case.rules:points()
    for _, name in ipairs { "x.o", "x.o/y", "x.O", "k.o", "a/x.o", "b/x.o" } do check(case, top .. "/" .. name, false) end
  end)

  it("deny more than Linux in a few folders", function()
    local case = compile(top, { filesystem = { allowWrite = { "/" } } })
    for path, may in pairs { ["/dev/disk0"] = false, ["/dev/null"] = true, ["/dev/fd/1"] = true } do
      local write = allows(case, "file-write-data", path) and (may or allows(case, "file-write-create", path))
      known:check(not may and "own-folder" or nil, "write", case.rules:at(path).write, write, path)
      assert.equal(may, write, path)
    end
  end)

  it("hide a masked credential, and show what else is masked", function()
    local case = compile(top, { credentials = { files = { { path = "a/f", mode = "mask" } } },
      filesystem = { allowWrite = { "." } }, network = { allowedDomains = { "a.test" } } })
    local path = top .. "/a/f"
    known:check("masked", "read", case.rules:at(path).read, allows(case, "file-read-data", path), path)
    assert.is_false(allows(case, "file-read-data", path))
    assert.is_false(allows(case, "file-write-data", path))
    assert.is_true(allows(case, "file-read-data", "/etc/resolv.conf"))
  end)

  it("leave the temporary folder free", function()
    local case = compile(top, { filesystem = { denyRead = { "/", "**/.env" } } }, { tempDir = top .. "/b/tmp" })
    for _, name in ipairs { "x", ".env", ".bashrc", ".git/hooks/x" } do
      assert.is_true(allows(case, "file-write-create", top .. "/b/tmp/" .. name), name)
    end
    assert.is_false(allows(case, "file-write-create", top .. "/b/x"))
    assert.is_false(allows(case, "file-read-data", top .. "/b"))
    assert.is_true(allows(case, "file-read-metadata", top .. "/b"))
  end)

  it("hold what createGuard keeps from being made", function()
    local case = compile(top, { filesystem = { allowWrite = { "." }, denyWrite = { "b/tool/x", "b/a/new" },
      createGuard = "supervisor" } })
    for path, may in pairs { ["b/tool"] = true, ["b/tool/x"] = false, ["b/TOOL/x/y"] = false, ["b/a/new"] = false,
      ["b/a/NEW"] = false, ["b/a/newer"] = true } do
      assert.equal(may, allows(case, "file-write-create", top .. "/" .. path), path)
    end
    assert.is_false(allows(case, "file-write-unlink", top .. "/b/a"))
    assert.is_false(allows(case, "file-write-unlink", top .. "/b"))
  end)

  it("leave new repositories alone where the policy does", function()
    for mode, may in pairs { quarantine = false, allow = true } do
      local case = compile(top, { filesystem = { allowWrite = { "." }, newRepositories = mode } })
      assert.equal(may, allows(case, "file-write-create", top .. "/b/.git/hooks/x"))
      assert.equal(may, allows(case, "file-write-create", top .. "/b/.GIT/modules/m/config"))
      assert.is_true(allows(case, "file-write-create", top .. "/b/.git/refs/heads/hooks"))
    end
  end)
end)

-- Names that a text could take for something of its own.
local PIECES = { '"', "\\", "'", ";", "(", ")", "[", "]", "{", "}", "^", "$", ".", "*", "+", "?", "|", "#", "\n", "\t", "\r", "\1", "\27",
  "\127", "\xc3\xa9", "\xe2\x84\xaa", "\xff", "\xf0\x9f\x98\x80", " ", "a", "K", "s", "x41", "-", "\\x41", "%", "," }

local function odd_name()
  local out = {}
  for i = 1, math.random(6) do out[i] = PIECES[math.random(#PIECES)] end
  return table.concat(out)
end

describe("odd names", function()
  it("are spelled so that they mean themselves", function()
    for round in random_lists.rounds(400, 20000) do
      local name, other = odd_name(), odd_name()
      local where = ("%s: %q %q"):format(round, name, other)
      local path, beside = "/w/" .. name, "/w/" .. other
      local same = path == beside
      local rules = { sbpl.filter("literal", path), sbpl.filter("regex", "^" .. sbpl.plain(path) .. "$"),
        sbpl.filter("regex", "^" .. sbpl.folded(path) .. "$") }
      for i, rule in ipairs(rules) do
        local read = interpreter.read(("(version 1)\n(deny default)\n(allow file-read* %s)"):format(rule))
        assert.is_true(read:allows("file-read-data", { path = path }), where)
        local hit = read:allows("file-read-data", { path = beside })
        if i < 3 then assert.equal(same, hit, where) elseif same then assert.is_true(hit, where) end
        -- Another case is the same to what is folded, and to nothing else.
        local cased = read:allows("file-read-data", { path = path:upper() })
        assert.equal(i == 3 or path == path:upper(), cased, where)
      end
    end
  end)

  it("are held in a whole profile", function()
    local made, names = {}, { '"', "\\", "a\nb", "(x)", "[q]", "a.b", "s\27", "\xc3\xa9", "*", "a b", ";c", "$", "\xff" }
    for i, name in ipairs(names) do made[i] = name .. "/" end
    local top = tree.make(made)
    finally(function() tree.remove(top) end)
    local lists = { allowWrite = { "." }, denyRead = {}, denyWrite = {} }
    for i, name in ipairs(names) do
      table.insert(i % 2 == 0 and lists.denyRead or lists.denyWrite, { path = top .. "/" .. name, literal = true })
      table.insert(lists.denyWrite, { path = top .. "/later-" .. name, literal = true })
    end
    local case = compile(top, { filesystem = lists })
    for i, name in ipairs(names) do
      for _, path in ipairs { top .. "/" .. name, top .. "/" .. name .. "/x" } do
        assert.equal(i % 2 == 1, allows(case, "file-read-data", path), path)
        assert.is_false(allows(case, "file-write-create", path), path)
      end
      assert.is_false(allows(case, "file-write-create", top .. "/later-" .. name), name)
      assert.is_true(allows(case, "file-write-create", top .. "/other-" .. name), name)
    end
  end)
end)

local function unescaped(text) return (text:gsub("\\n", "\n")) end

describe("patterns", function()
  local function regex_of(pattern, denies)
    local find = require("spec.lua.sbpl_regex").compile("^" .. sbpl.glob(pattern, denies) .. "(/|$)")
    return function(path) return find(path) end
  end

  it("match what the one matcher does, by its own table", function()
    local count = 0
    for row in support.rows("spec/unit/globs.tsv") do
      local pattern, path = unescaped(row[1]), unescaped(row[2])
      if row[5] == "ok" and pattern:sub(1, 1) == "/" and not pattern:find("/%*%*$") then
        local want = walk.matches(pattern, path)
        if not (pattern .. path):find("[\x80-\xff]") then
          assert.equal(want, regex_of(pattern, false)(path), pattern .. " " .. path)
          count = count + 1
        end
        if want then assert.is_true(regex_of(pattern, true)(path), pattern .. " " .. path) end
      end
    end
    assert.is_true(count > 40, tostring(count))
  end)

  it("match what the one matcher does, at random", function()
    local pieces = { "*", "**", "**/", "?", "[ab]", "[a-c]", "[!a]", "[", "]", "a", "b", "/", ".", "x.", "[c-a]", "[]", "***/" }
    local texts = { "a", "b", "c", "/", ".", "x", "!", "ab", "[", "]" }
    local function random(from, most)
      local out = {}
      for i = 1, math.random(most) do out[i] = from[math.random(#from)] end
      return "/" .. table.concat(out)
    end
    local hits = 0
    for round in random_lists.rounds(3000, 50000) do
      -- What ends a pattern and only says that a folder is meant is taken off where it is read (srt.expand).
      local pattern = require("srt.expand").strip(random(pieces, 5)):gsub("/$", "/a")
      local path = paths.normalize(random(texts, 7))
      local want = walk.matches(pattern, path)
      hits = hits + (want and 1 or 0)
      local where = ("%s: %q %q"):format(round, pattern, path)
      assert.equal(want, regex_of(pattern, false)(path), where)
      assert.equal(walk.matches(pattern:lower(), path:lower()), regex_of(pattern, true)(path), where)
    end
    assert.is_true(hits > 100, tostring(hits))
  end)
end)

local ALLOWED = { "localhost:5432", "127.0.0.1:5432", "[::1]:5432", "127.0.0.1:6000", "[::1]:6000", "localhost", "a.test:443",
  "93.184.216.34:443", "10.0.0.5:6000" }
local DENIED = { "localhost:5432", "127.0.0.1:6000", "[::1]:5432", "*:22", "*:6000", "a.test:443" }
local HOSTS, PORTS = { "127.0.0.1", "::1", "93.184.216.34", "10.0.0.5" }, { 5432, 6000, 443, 22 }
local BOTH = { "127.0.0.1", "::1" }

local function some(from)
  local out = {}
  for i = 1, math.random(0, 4) do out[i] = from[math.random(#from)] end
  return out
end

-- May an address be reached, by itself or as localhost? And is it denied by either?
local function decided(decider, host, port)
  local names = { host, host ~= "93.184.216.34" and host ~= "10.0.0.5" and "localhost" or nil }
  local allowed = false
  for _, name in ipairs(names) do
    if decider.denied(name, port) then return false, true end
    allowed = allowed or decider:connect(name, port, "loopback").action == "allow"
  end
  return allowed, false
end

-- Does the policy name it with its port?
local function named(case, host, port)
  for _, rule in ipairs(case.profile.network.allowed) do
    if rule.port == port and (rule.host == host or rule.host == "localhost") then return true end
  end
  return false
end

local function direct(case, decider, host, port)
  local may, denied = decided(decider, host, port)
  if not host:find("^127") and host ~= "::1" then
    known:check(may and "by-proxy" or nil, "connect", may, false, host)
    return false
  end
  local all, any_denied = true, false
  for _, one in ipairs(BOTH) do
    local other, other_denied = decided(decider, one, port)
    all, any_denied = all and other and named(case, one, port), any_denied or other_denied
  end
  local answer = all or (case.profile.macos.localBinding and not any_denied)
  local both = decided(decider, BOTH[1], port) and decided(decider, BOTH[2], port)
  known:check(answer and "all-loopback" or both and "by-proxy" or "one-address", "connect", may, answer, host .. " " .. port)
  assert(not (answer and denied))
  return answer
end

describe("the network of a profile for macOS", function()
  local function reaches(case, host, port, proto)
    return (case.reads:allows("network-outbound", { remote = { host = host, port = port, proto = proto or "tcp" } }))
  end

  it("is the proxy and what the policy names of loopback", function()
    for round in random_lists.rounds(150, 5000) do
      local policy = { network = { allowedDomains = some(ALLOWED), deniedDomains = some(DENIED),
        allowLocalBinding = math.random(3) == 1 } }
      local case = compile("/", policy)
      local decider = require("srt.decide_net").compile(case.profile)
      local where = round .. ": " .. require("srt.json").encode(policy)
      for _, host in ipairs(HOSTS) do
        for _, port in ipairs(PORTS) do
          assert.equal(direct(case, decider, host, port), reaches(case, host, port), where .. " " .. host .. " " .. port)
        end
        local near = host == "127.0.0.1" or host == "::1"
        local proxy = case.profile.network.enabled or policy.network.allowLocalBinding
        if not decider.denied("localhost", 3128) then
          assert.equal(near and proxy, reaches(case, host, 3128), where)
        end
        assert.equal(near and policy.network.allowLocalBinding or false, reaches(case, host, 9999, "udp"), where)
      end
      local at = { ["local"] = { host = "127.0.0.1", port = 8000, proto = "tcp" } }
      for _, operation in ipairs { "network-bind", "network-inbound" } do
        assert.equal(policy.network.allowLocalBinding, (case.reads:allows(operation, at)), where)
      end
    end
  end)

  it("has the sockets that the policy names, by path", function()
    local top = tree.make({ "a/", "a/f", "b/", "b/a/", "b/a/f", "c/" })
    finally(function() tree.remove(top) end)
    local case = compile(top, { filesystem = { allowWrite = { "b" }, denyWrite = { "b/a" }, denyRead = { "c" } },
      network = { allowUnixSockets = { "a/x.sock", "b/y.sock", "b/**/*.sock", "a/*.s", "c/z.sock", "c/*.s" } } })
    for _, name in ipairs { "a/x.sock", "a/x.sock2", "a/X.sock", "b/y.sock", "b/a/z.sock", "a/q.s", "a/q.st", "b/q.s", "c/z.sock",
      "c/a.s", "a/f/x.s" } do
      local path = top .. "/" .. name
      local state = case.rules:at(path)
      local may = require("srt.unix_sockets").rule(case.rules.sockets, path) ~= nil and state.read and not state.write
      local got = case.reads:allows("network-outbound", { unix = "remote", path = seatbelt.real(path) })
      known:check(name == "b/a/z.sock" and "writable-glob" or nil, "socket", may, got, name)
      assert.is_false((case.reads:allows("network-bind", { unix = "local", path = seatbelt.real(path) })))
    end
    for all, want in pairs { [true] = true, [false] = false } do
      local other = compile(top, { network = { allowAllUnixSockets = all } })
      assert.equal(want, (other.reads:allows("network-outbound", { unix = "remote", path = "/x" })))
      assert.equal(want, (other.reads:allows("network-bind", { unix = "local", path = "/x" })))
      assert.equal(want, (other.reads:allows("system-socket", { domain = "AF_UNIX" })))
    end
  end)
end)

describe("a key for macOS", function()
  local ROWS = {
    { "allowPty", "pseudo-tty", {} }, { "allowPty", "file-write-data", { path = "/dev/ttys003" } },
    { "allowAppleEvents", "appleevent-send", {} }, { "allowAppleEvents", "lsopen", {} },
    { "allowAppleEvents", "mach-lookup", { name = "com.apple.coreservices.appleevents" } },
    { "enableWeakerNetworkIsolation", "mach-lookup", { name = "com.apple.trustd.agent" } },
  }
  it("opens what it says, and nothing does without it", function()
    for _, row in ipairs(ROWS) do
      for _, value in ipairs { true, false } do
        assert.equal(value, (compile("/", { [row[1]] = value }).reads:allows(row[2], row[3])), row[1] .. " " .. row[2])
      end
    end
  end)

  it("names services, whole or by their beginning", function()
    local case = compile("/", { network = { allowMachLookup = { "com.a.b", "com.c.*" } } })
    for name, may in pairs { ["com.a.b"] = true, ["com.a.bc"] = false, ["com.c.x"] = true, ["com.c"] = false,
      ["com.apple.logd"] = true, ["com.apple.diagnosticd"] = false } do
      assert.equal(may, (case.reads:allows("mach-lookup", { name = name })), name)
    end
  end)

  it("leads to a proxy that asks for a token", function()
    local case = compile("/", { network = { allowedDomains = { "a.test", "localhost:80" } } }, { token = "t0k" })
    local env = {}
    for _, variable in ipairs(case.plan.env) do
      local name, value = variable:match("^([^=]+)=(.*)$")
      env[name] = value
    end
    assert.equal("http://srt:t0k@127.0.0.1:3128", env.HTTPS_PROXY)
    assert.equal("socks5h://srt:t0k@127.0.0.1:1080", env.SOCKS_PROXY)
    assert.equal("", env.NO_PROXY)
    assert.is_nil(case.plan.text:find("t0k", 1, true))
    assert.same({ "/usr/bin/sandbox-exec", "-p", case.plan.text }, case.plan.argv)
  end)
end)

describe("the table of differences", function()
  it("has no row that does not occur", function() known:check_all_seen() end)
end)
