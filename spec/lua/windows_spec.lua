-- SPDX-License-Identifier: Apache-2.0
-- Plans for Windows say what the decisions say: random policies over a real tree and random destinations, the plan read
-- by a model of Windows, the decision module as oracle, and the differences of a table.
local support = require("spec.lua.support")
local decide = require("srt.decide_path")
local differences = require("spec.lua.differences")
local drives = require("srt.drives")
local json = require("srt.json")
local model = require("spec.lua.windows_model")
local paths = require("srt.paths")
local random_lists = require("spec.lua.random_lists")
local tree = require("spec.lua.tree")
local windows = require("backends.windows")

local known = differences.read("spec/lua/windows-differences.tsv")

local function profile_of(top, lists)
  local profile = tree.profile(top, lists)
  profile.network.publish, profile.credentials = {}, { secrets = {}, variables = {} }
  return profile
end

local function compile(top, lists, cwd)
  local profile = profile_of(top, lists)
  local rules = decide.compile(profile, { cwd = top })
  local plan, problems = windows.compile(profile, rules, { cwd = cwd or top })
  assert(plan, problems and problems[1].message)
  return model.read(json.encode(plan, true)), rules
end

-- Does a list of the plan say something of a path?
local function covered(plan, path)
  while path do
    if plan.byPath[path] then return true end
    path = path:match("^(.*)\\[^\\]*$")
  end
  return false
end

describe("plans for Windows", function()
  local top, everything
  setup(function() top, everything = random_lists.tree() end)
  teardown(function() tree.remove(top) end)

  local function compare(plan, token, path, folder, read, write, what)
    local theirs, above = assert(drives.theirs(path)), assert(drives.theirs(paths.parent(path)))
    local held = covered(plan, theirs)
    for name, world in pairs(model.WORLDS) do
      local where = ("%s %s %s"):format(what, name, theirs)
      local owner = #path % 2 == 0 and held and "account" or "caller"
      local list = model.list(plan, theirs, folder, world)
      local got_read = model.access(list, token, owner, model.READ_DATA)
      local got_write = model.access(list, token, owner, model.WRITE_DATA)
      known:check(not held and name == "closed" and "ambient-read", "read", read, got_read, where)
      known:check(not held and name == "everyone" and "everyone-write", "write", write, got_write, where)
      local parents = model.list(plan, above, true, world)
      local gone = model.access(list, token, owner, model.DELETE)
        or model.access(parents, token, "caller", model.DELETE_CHILD)
      if covered(plan, above) or name ~= "everyone" then
        -- What has a list of its own stays where it is, as a mount point would.
        assert.equal(write and not plan.byPath[theirs], gone, "delete " .. where)
      end
      if held then
        for _, right in ipairs { model.WRITE_DAC, model.WRITE_OWNER } do
          assert.is_false(model.access(list, token, owner, right), "change the list " .. where)
        end
      end
    end
  end

  it("mean what the decisions say, for random policies", function()
    for round in random_lists.rounds(60, 10000) do
      local lists = random_lists.make(everything, { top = ".", masked = false })
      local plan, rules = compile(top, lists, math.random(2) == 1 and top .. "/a/b" or top)
      local token = model.token(plan)
      local what = round .. ": " .. json.encode(lists, true)
      for _, entry in ipairs(everything) do
        local path = paths.normalize(top .. "/" .. entry)
        local read, write = rules:holds(path)
        compare(plan, token, path, entry:sub(-1) == "/", read, write, what)
      end
    end
  end)

  it("list denying entries first, and give folders only what is inherited", function()
    local plan = compile(top, { allowWrite = { "." }, denyWrite = { "a/f" }, denyRead = { "b" } })
    local kinds = {}
    for _, item in ipairs(plan.acl) do
      kinds[item.path:match("[^\\]*$")] = item.kind
      local allowed = false
      for _, ace in ipairs(item.aces) do
        assert.is_false(ace.type == "deny" and allowed, item.path)
        allowed = ace.type == "allow"
        if item.kind ~= "dir" then assert.equal(0, ace.flags) end
        if ace.type == "allow" then assert.equal(0, ace.mask & model.DELETE_CHILD, "FILE_DELETE_CHILD is withheld") end
      end
    end
    assert.equal("file dir", kinds.f .. " " .. kinds.b)
  end)

  it("pin what may be edited and not removed", function()
    local profile = profile_of(top, { allowWrite = { "." } })
    profile.filesystem.denyDelete = { { given = "a/f", path = top .. "/a/f", origin = { key = "k" } } }
    local plan = windows.compile(profile, decide.compile(profile, { cwd = top }), { cwd = top })
    plan = model.read(json.encode(plan, true))
    local theirs = assert(drives.theirs(top .. "/a/f"))
    local list = model.list(plan, theirs, false, model.WORLDS.open)
    local token = model.token(plan)
    assert.is_true(model.access(list, token, "account", model.WRITE_DATA))
    assert.is_false(model.access(list, token, "account", model.DELETE))
    local parents = model.list(plan, (theirs:match("^(.*)\\")), true, model.WORLDS.everyone)
    assert.is_false(model.access(parents, token, "account", model.DELETE_CHILD))
    assert.is_false(model.access(parents, token, "account", model.DELETE), "its folder stays as well")
  end)

  it("don't tell two names apart that Windows doesn't", function()
    local other = tree.make({ "x/", "X/" })
    local profile = profile_of(other, { allowWrite = { "x" }, denyRead = { "X" } })
    local plan, problems = windows.compile(profile, decide.compile(profile, { cwd = other }), { cwd = other })
    tree.remove(other)
    assert.is_nil(plan)
    assert.truthy(problems[1].message:find("one path there", 1, true))
  end)
end)

describe("the fence", function()
  local ADDRESSES = { "127.0.0.1", "127.0.0.2", "10.0.0.5", "8.8.8.8", "93.184.216.34", "169.254.169.254" }
  local HOSTS = { '"127.0.0.1:%d"', '"8.8.8.8:%d"', '"10.0.0.5:%d"', '"a.test"', '"93.184.216.34"' }

  local function random_plan(random)
    local low = random(1024, 65000)
    local high = low + random(0, 99)
    local lists = { allowed = {}, denied = {} }
    for name, list in pairs(lists) do
      for _ = 1, random(0, 3) do
        if name == "allowed" or random(2) == 1 then
          list[#list + 1] = HOSTS[random(#HOSTS)]:gsub("%%d", tostring(random(2) == 1 and 443 or low + random(0, 20)))
        end
      end
    end
    local profile = assert(support.resolve(("return { network = { allowedDomains = { %s }, deniedDomains = { %s } }, "
      .. "windows = { proxyPortRange = { %d, %d } } }"):format(table.concat(lists.allowed, ","),
      table.concat(lists.denied, ","), low, high)))
    local plan = assert(windows.compile(profile, decide.compile(profile, { cwd = "/w" }), { cwd = "/w" }))
    return model.read(json.encode(plan, true)), profile, low, high
  end

  local function port_of(random, low, high)
    return random(3) == 1 and random(1, 65535) or random(2) == 1 and 443 or random(low - 2, math.min(high + 2, 65535))
  end

  it("leaves a way to the proxy, and none else", function()
    local random = math.random
    for round in random_lists.rounds(60, 10000) do
      local plan, profile, low, high = random_plan(random)
      local decider = require("srt.decide_net").compile(profile)
      for _ = 1, 20 do
        local packet = { layer = "connectV4", user = "account", protocol = random(3) == 1 and 17 or 6,
          address = ADDRESSES[random(#ADDRESSES)], port = port_of(random, low, high) }
        local where = round .. ": " .. json.encode(packet, true)
        local decided = decider:connect(packet.address, packet.port, "connect").action == "allow"
          and decider:address(packet.address, packet.port, packet.address) == nil
        local got = model.passes(plan, packet)
        known:check(decided and "by-proxy" or "proxy-ports", "connect", decided, got, where)
        if got then
          assert.same({ "127.0.0.1", 6 }, { packet.address, packet.protocol })
          assert.is_true(packet.port >= low and packet.port <= high, where)
        end
        for _, layer in ipairs { "connectV6", "acceptV4", "acceptV6" } do
          packet.layer = layer
          assert.is_false(model.passes(plan, packet), layer)
        end
        packet.user = "caller"
        assert.is_true(model.passes(plan, packet), "other accounts are not fenced")
      end
      for _, point in ipairs(plan.listen) do
        assert.is_true(model.passes(plan, { layer = "connectV4", user = "account", protocol = 6,
          address = point.address, port = point.port }), "the proxy is reached")
      end
      assert.equal(profile.network.enabled, plan.environment.set.HTTP_PROXY ~= nil)
    end
  end)

  it("and the lists have no row that does not occur", function() known:check_all_seen() end)
end)

describe("what Windows can't hold", function()
  local function problem(text)
    local profile = assert(support.resolve("return {" .. text .. "}"))
    local plan, problems = windows.compile(profile, decide.compile(profile, { cwd = "/w" }), { cwd = "/w" })
    return plan == nil and problems[1] or error("it was taken: " .. text)
  end
  for text, key in pairs {
    ["filesystem = { disabled = true }"] = "filesystem.disabled",
    ['filesystem = { createGuard = "supervisor" }'] = "filesystem.createGuard",
    ["filesystem = { decideOpen = function() end }"] = "filesystem.decideOpen",
    ["network = { publishPorts = { 3000 } }"] = "network.publishPorts",
    ['network = { allowUnixSockets = { "/x" } }'] = "network.allowUnixSockets",
    ["network = { tlsTerminate = {} }"] = "network.tlsTerminate",
    ['network = { allowedDomains = { "a.test" }, httpProxyPort = 8080 }'] = "network.httpProxyPort",
  } do
    it(key, function() assert.equal(key, problem(text).key) end)
  end
  it("the root of a drive", function()
    assert.truthy(problem('filesystem = { denyRead = { "/" } }').message:find("C:\\", 1, true))
  end)

  for text, words in pairs {
    ["proxyPortRange = { 61009, 61000 }"] = "lower one first", ["proxyPortRange = { 61000 }"] = "lower one first",
    ["proxyPortRange = { 80, 90 }"] = "from 1024 up", ["proxyPortRange = { 2000, 3000 }"] = "100 of them",
    ['sublayerGuid = "x"'] = "no GUID", ['sandboxUser = "a b"'] = "no name for an account",
  } do
    it("is said of windows = { " .. text .. " }", function()
      local found = problem("windows = { " .. text .. " }").message
      assert.truthy(found:find(words, 1, true), found)
    end)
  end
end)

describe("the helper's example", function()
  after_each(function() paths.drives = false end)
  it("is what is compiled", function()
    paths.drives = true
    local profile = assert(support.resolve({ ["p.lua"] = [[return { filesystem = { allowWrite = { "Q:/work" },
      denyWrite = { "Q:/work/keep" }, denyRead = { "Q:/work/secret" } }, network = { allowedDomains = { "a.test" } },
      env = { unset = { "KEEP" } } }]] }, { cwd = "/mnt/q/work" }))
    profile.protection.off = true
    local plan = assert(windows.compile(profile, decide.compile(profile, { cwd = "/mnt/q/work" }),
      { cwd = "/mnt/q/work" }))
    local text = json.encode(plan, true) .. "\n"
    local function file(mode, use)
      local f = assert(io.open("spec/unit/windows-plan.json", mode))
      local result = use(f)
      f:close()
      return result
    end
    if os.getenv("SRT_UPDATE") then file("w", function(f) f:write(text) end) end
    assert.equal(text, file("r", function(f) return f:read("a") end), "SRT_UPDATE=1 writes it anew")
  end)
end)

describe("paths on drives", function()
  after_each(function() paths.drives = false end)
  it("are ours and theirs", function()
    for ours, theirs in pairs { ["/mnt/c/Users/me"] = "C:\\Users\\me", ["/mnt/d"] = "D:\\", ["/home/u"] = "C:\\home\\u",
      ["/mnt/c"] = "C:\\", ["/mnt/cc/x"] = "C:\\mnt\\cc\\x" } do
      assert.equal(theirs, drives.theirs(ours))
    end
    assert.is_nil(drives.theirs("/home/u", true))
    assert.equal("/mnt/c/Users/me", drives.ours("C:\\Users\\me"))
  end)
  it("have no names that Windows can't have", function()
    for _, name in ipairs { "a:b", "a*", "a ", "a.", "NUL", "com1.txt", "a\\b", "a\1", "\255" } do
      assert.is_nil(drives.theirs("/mnt/c/" .. name), name)
    end
    assert.truthy(drives.theirs("/mnt/c/console/.git"))
  end)
  it("are spelled as there, and taken at their word where no drive is mounted", function()
    paths.drives = true
    local function expand(given) return paths.expand(given, { cwd = "/mnt/q/work", home = "/mnt/q/me" }) end
    assert.equal("/mnt/q/a/b", expand("Q:\\a\\b"))
    assert.equal("/mnt/q/work/a/b", expand("a\\b"))
    assert.is_nil(expand("q:a"))
    assert.is_nil(expand("\\\\server\\share"))
    local profile = profile_of("/mnt/q/work", { allowWrite = { "." }, denyWrite = { "Q:/work/keep" } })
    local plan = windows.compile(profile, decide.compile(profile, { cwd = "/mnt/q/work" }), { cwd = "/mnt/q/work" })
    assert.same({ "Q:\\work", "Q:\\work\\keep" }, { plan.acl[1].path, plan.acl[2].path })
  end)
end)
