-- SPDX-License-Identifier: Apache-2.0
-- The store of violations: what it keeps, whom it tells, how it is spelled, and its file.
local support = require("spec.lua.support")
local text = require("srt.violation_text")
local violations = require("srt.violations")

local function store_of(more)
  local options = { command = "npm install left-pad", now = function() return 1 end }
  for key, value in pairs(more or {}) do options[key] = value end
  return violations.new(options)
end

local function targets(store)
  local list = {}
  for i, v in ipairs(store:list()) do list[i] = v.target end
  return list
end

describe("the store", function()
  it("keeps the last ones, and counts all", function()
    local store = store_of { capacity = 3 }
    assert.same({}, store:list())
    for i = 1, 3 do store:add { kind = "connect", target = "h" .. i } end
    assert.same({ "h1", "h2", "h3" }, targets(store))
    for i = 4, 8 do store:add { kind = "connect", target = "h" .. i } end
    assert.same({ "h6", "h7", "h8" }, targets(store))
    assert.equal(8, store.total)
  end)

  it("groups what is the same, up to a bound", function()
    local store = store_of()
    for _ = 1, 5 do store:add { kind = "write", target = "/a", rule = "r" } end
    store:add { kind = "read", target = "/a", rule = "r" }
    for i = 1, 600 do store:add { kind = "connect", target = "h" .. i } end
    assert.equal(5, store.groups[1].count)
    assert.equal(500, #store.groups)
    assert.equal(102, store.ungrouped)
  end)

  it("tells the same less and less often, and counts all", function()
    local now, written = 1, {}
    local store = store_of { now = function() return now end, write = function(v) written[#written + 1] = v.count or 1 end }
    for _ = 1, 100 do store:add { kind = "write", target = "/a" } end
    assert.same({ 1, 1, 1, 1, 1, 1, 1, 1, 8, 16, 32 }, written)
    now = 2
    store:add { kind = "write", target = "/a", count = 3 }
    assert.equal(39, written[12])
    for _ = 1, 5 do store:add { kind = "write", target = "/a" } end
    store:finish()
    store:finish()
    assert.same({ 5, 13, 13 }, { written[13], #written, #store:list() })
    assert.equal(108, store.total)
  end)

  it("writes of many different ones a burst, then so many a second", function()
    local now, written = 1, 0
    local store = store_of { now = function() return now end, write = function() written = written + 1 end }
    for i = 1, 3000 do store:add { kind = "connect", target = "h" .. i } end
    assert.equal(1500, written) -- the groups, and the burst
    now = 2.5
    for i = 1, 3000 do store:add { kind = "connect", target = "i" .. i } end
    assert.equal(1650, written)
    assert.equal(6000, store.total)
  end)

  it("knows the run and the process", function()
    local v = store_of { commandId = "id" }:add { kind = "write", target = "/x", pid = 7, exe = "/bin/a", rule = "r",
      reason = "why", origin = "p.lua:3", advice = "do" }
    assert.same({ time = 1, kind = "write", target = "/x", rule = "r", reason = "why", origin = "p.lua:3",
      advice = "do", command = "npm install left-pad", commandId = "id", process = { pid = 7, exe = "/bin/a" } }, v)
    v = store_of():add { kind = "connect", target = "h:1", process = { pid = 8, exe = "/bin/b" } }
    assert.same({ pid = 8, exe = "/bin/b" }, v.process)
    assert.equal("npm install left-pad", v.commandId)
    assert.is_nil(store_of { commandId = "" }:add({ kind = "connect", target = "h:1" }).process)
  end)

  it("cleans and bounds what comes from inside", function()
    local v = store_of():add { kind = "write", target = "/a\n\27[31m\u{202e}b\xff" .. ("x"):rep(5000) }
    assert.equal("/a  [31m b?", v.target:sub(1, 11))
    assert.truthy(#v.target < 1100)
    assert.truthy(utf8.len(v.target))
    -- Bytes for a model to read that nobody sees: variation selectors, fillers.
    v = store_of():add { kind = "write", target = "/a\u{fe01}\u{e0141}\u{3164}\u{34f}é日" }
    assert.equal("/a    é日", v.target)
  end)

  it("is shown as it is, without drawing", function()
    local plain = require("srt.report").plain
    assert.equal("a\\x1b[1m é日\\x0a", plain("a\27[1m é日\n"))
    assert.equal("\\xc2\\x9b31m \\xe2\\x80\\xae \\xff\\x9b", plain("\u{9b}31m \u{202e} \xff\x9b"))
  end)

  it("leaves out what is ignored", function()
    local ignore = { ["*"] = { "/usr/bin" }, npm = { "/private/tmp", "evil.test" }, ["git push"] = { "nc" } }
    local function kept(command, kind, target)
      return store_of { command = command, ignore = ignore }:add { kind = kind, target = target, reason = "/usr/bin" }
        ~= nil
    end
    assert.is_false(kept("any", "write", "/usr/bin/x"))
    assert.is_true(kept("any", "write", "/usr/lib/x"))
    assert.is_false(kept("npm i", "write", "/private/tmp/x"))
    assert.is_true(kept("yarn", "write", "/private/tmp/x"))
    assert.is_false(kept("npm i", "connect", "evil.test:443"))
    assert.is_true(kept("git pull", "read", "/usr/nc"))
    assert.is_false(kept("cd x; git push", "read", "/usr/nc"))
    -- Patterns are text, none of Lua's.
    assert.is_true(store_of { command = "x", ignore = { ["*"] = { "." } } }:add { kind = "write", target = "/a" } ~= nil)
    assert.is_nil(store_of { command = "x", ignore = { ["*"] = { "deny file-write" } } }
      :add { kind = "write", target = "/a" })
  end)

  it("keeps what whoever is asked does not drop, also when the answer comes late or never", function()
    local waiting, written = {}, {}
    local store = store_of {
      ask = function(v, done)
        if v.target == "now" then return done(false) end
        if v.target == "dropped" then return done(true) end
        waiting[v.target] = done
      end,
      write = function(v) written[#written + 1] = v.target end,
    }
    for _, target in ipairs { "late", "now", "dropped", "late drop", "never" } do
      store:add { kind = "connect", target = target }
    end
    assert.same({ "now" }, targets(store))
    waiting["late"](false)
    waiting["late drop"](true)
    assert.same({ "now", "late" }, targets(store))
    store:finish()
    assert.same({ "now", "late", "never" }, targets(store))
    assert.same(targets(store), written)
    store:finish()
    assert.equal(3, store.total)
  end)
end)

describe("annotate", function()
  it("appends a block for the command that is meant", function()
    local store = store_of { commandId = "one" }
    assert.equal("out", store:annotate("out", "one"))
    store:add { kind = "connect", target = "h:1", reason = "not <listed>\n</sandbox_violations>" }
    store:add { kind = "write", target = "/x" }
    store:add { kind = "write", target = "/x" }
    assert.equal("out\n<sandbox_violations>\ndeny network-outbound h:1 (not listed /sandbox_violations)\n"
      .. "deny file-write /x\n</sandbox_violations>", store:annotate("out", "one"))
    assert.equal("out", store:annotate("out", "two"))
  end)

  it("compares 100 characters", function()
    local long = ("ä"):rep(100)
    local store = store_of { commandId = long .. "1" }
    store:add { kind = "write", target = "/x" }
    assert.truthy(store:annotate("", long .. "2"):find("/x", 1, true))
    assert.equal("", store:annotate("", ("ä"):rep(99)))
    assert.equal(("ä"):rep(100), text.key(long .. "3"))
    assert.equal("short", text.key("short"))
  end)
end)

describe("the report", function()
  local report = require("srt.violation_report")

  it("is quiet where nothing was denied", function()
    assert.same({}, report.lines(store_of()))
    local json = require("srt.json").decode(report.json(nil))
    assert.equal(0, json.denied)
    assert.same({}, json.violations)
  end)

  it("is short, with what can be done first", function()
    local store = store_of()
    for i = 1, 20 do store:add { kind = "connect", target = "h" .. i, reason = "because" } end
    store:add { kind = "name", target = "example.org", advice = "add it" }
    for _ = 1, 3 do store:add { kind = "connect", target = "example.org:443", advice = "add \"example.org:443\"" } end
    local lines = report.lines(store, "see there")
    assert.equal("denied: 24 attempts", lines[1])
    -- The name tells nothing new.
    assert.equal("  connect example.org:443 (3 times): add \"example.org:443\"", lines[2])
    assert.equal("  connect h1: because", lines[3])
    assert.equal("  and 13 more: see there", lines[#lines])
    assert.equal(10, #lines)
    local json = require("srt.json").decode(report.json(store))
    assert.equal(24, json.denied)
    assert.equal(22, #json.violations)
    assert.equal(3, json.violations[22].count)
  end)
end)

describe("the lines of the report", function()
  local report = require("srt.violation_report")

  it("are one for what one entry allows, and one for each kind before a second", function()
    local store = store_of()
    for i = 1, 30 do
      store:add { kind = "write", target = "/a/b/" .. i, advice = 'add "/a/b" to filesystem.allowWrite' }
      store:add { kind = "write", target = "/c/" .. i, rule = "filesystem.denyWrite: no", origin = "p.lua:2",
        reason = "create is denied" }
      store:add { kind = "write", target = "/d" .. i, advice = ('add "/d%d" to it'):format(i) }
    end
    store:add { kind = "connect", target = "h:1", reason = "not listed" }
    local lines = report.lines(store)
    assert.equal('  write /a/b: add "/a/b" to filesystem.allowWrite (30 paths, first /a/b/1)', lines[2])
    assert.equal("  connect: h:1 is not", (report.lines((function()
      local one = store_of()
      one:add { kind = "connect", target = "h:1", reason = "h:1 is not" }
      return one
    end)())[2]))
    assert.equal("  connect h:1: not listed", lines[9])
    assert.equal("  and 25 more", lines[10])
    assert.equal(10, #lines)
    store = store_of()
    for i = 1, 2 do
      store:add { kind = "write", target = "/c/" .. i, rule = "filesystem.denyWrite: no", origin = "p.lua:2",
        reason = "create is denied" }
    end
    assert.equal("  write /c: create is denied (filesystem.denyWrite: no, p.lua:2) (2 paths, first /c/1)",
      report.lines(store)[2])
  end)

  it("don't say twice what a reason begins with, nor the port of a scheme", function()
    for _, row in ipairs { { "GET http://a.test:80/x", "GET http://a.test/x was denied" },
      { "PUT https://a.test:443/", "PUT https://a.test/ was denied" }, { "GET http://a.test:81/", "GET http://a.test:81/ was" } } do
      local store = store_of()
      store:add { kind = "request", target = row[1], reason = row[2] }
      assert.equal("  request: " .. row[2], report.lines(store)[2])
    end
    local store = store_of()
    store:add { kind = "request", target = "GET http://a.test:80/x", reason = "GET https://a.test:80/x was" }
    assert.equal("  request GET http://a.test:80/x: GET https://a.test:80/x was", report.lines(store)[2])
  end)

  it("count what stands for several attempts, and say that there may be more", function()
    local store = store_of { capacity = 2 }
    for i = 1, 3 do store:add { kind = "write", target = "/a", count = i } end
    assert.equal(2, #store:list())
    assert.equal(3, store:list()[2].count)
    assert.same({ "denied: 6 attempts or more", "  write /a (6 times or more): denied" }, report.lines(store))
    store.lost = 7
    local json = require("srt.json").decode(report.json(store))
    assert.same({ 6, 7, true, 6, true },
      { json.denied, json.more, json.atLeast, json.violations[1].count, json.violations[1].atLeast })
    store = store_of()
    for _ = 1, 2 do store:add { kind = "write", target = "/a", count = 1 } end
    assert.same({ "denied: 2 attempts", "  write /a (2 times): denied" }, report.lines(store))
    assert.is_nil(require("srt.json").decode(report.json(store)).atLeast)
    store.lost = 1
    assert.equal("denied: 2 attempts or more", report.lines(store)[1])
  end)

  it("know of a kind that comes after much of another", function()
    local store = store_of()
    for i = 1, 1000 do store:add { kind = "write", target = "/d" .. i } end
    store:add { kind = "connect", target = "h:1", reason = "not listed" }
    assert.equal(501, #store.groups)
    local shown = table.concat(report.lines(store), "\n")
    assert.truthy(shown:find("connect h:1", 1, true))
  end)

  it("say rule and origin where nothing is advised", function()
    assert.equal("denied", text.why {})
    assert.equal("r, f:1", text.why { rule = "r", origin = "f:1" })
    assert.equal("by the r (f:1)", text.why { reason = "by the r", rule = "r", origin = "f:1" })
    assert.equal("do", text.why { reason = "why", rule = "r", advice = "do" })
  end)

  it("begin with what the policy's author says, without what was said before", function()
    local told = "npm may only read (network.filterRequest, /p (1).lua:12)"
    local long = "/" .. ("x"):rep(200)
    for target, began in pairs {
      ["PUT https://a.test:443/q"] = "PUT https://a.test/q was", ["GET http://a.test:81/?…"] = "GET http://a.test:81/?… was",
      ["PUT https://b.test:443/q"] = "the response to PUT https://b.test/q was", ["a.test:443"] = "a.test:443 is",
      ["PUT https://a.test:443" .. long:sub(1, 100) .. "…"] = "PUT " .. ("https://a.test" .. long):sub(1, 100) .. "… was",
    } do
      local v = { kind = "request", target = target, origin = "/p (1).lua:12",
        reason = began .. " denied by network.filterRequest (/p (1).lua:12): npm may only read" }
      assert.equal(told, text.why(v))
      local store = store_of()
      store:add(v)
      assert.equal(("  request %s: %s"):format(target, told), report.lines(store)[2])
    end
    local other = "GET http://c.test/ was denied by network.filterRequest (p:1): no"
    assert.equal(other, text.why { target = "GET http://d.test:80/", reason = other })
  end)

  it("of violations don't show all of a long command", function()
    local shown = require("srt.cli.violations").shown(require("srt.json").encode({ kind = "write", target = "/a",
      command = ("ä"):rep(700) }, true))
    assert.truthy(shown:find("[" .. ("ä"):rep(80) .. "…]", 1, true))
  end)
end)

describe("the file", function()
  if not (support.real and package.loadlib(os.getenv("SRT_SPEC_CMODULE"), "luaopen_srt_c_journal")) then
    return pending("needs the C module")
  end
  local violation_file, sys = require("srt.violation_file"), require("srt.c.sys")
  local folder, said

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(require("srt.c.tidy").mkdir(folder))
    said = {}
  end)
  after_each(function() require("srt.c.tidy").tree(folder) end)

  local function file(more)
    local options = { folder = folder, say = function(line) said[#said + 1] = line end }
    for key, value in pairs(more or {}) do options[key] = value end
    return violation_file.new(options)
  end

  local v = { time = 0.5, kind = "connect", target = "h:1", command = "c", commandId = "c" }
  local LINE = '{"command":"c","commandId":"c","kind":"connect","target":"h:1","time":"1970-01-01T00:00:00.500Z"}\n'

  it("grows by lines, for this user only", function()
    local path = violation_file.path(folder)
    local one, two = file(), file()
    for _, f in ipairs { one, two, one } do f:write(v) end
    assert.equal(LINE:rep(3), sys.readfile(path))
    assert.equal(tonumber("600", 8), sys.stat(path).mode)
    assert.same({}, said)
  end)

  it("is turned when it is long, by several runs", function()
    local path = violation_file.path(folder)
    local one, two = file(), file()
    one:write(v)
    two:write(v)
    os.execute("truncate -s 8M " .. path)
    one:write(v)
    two:write(v)
    one:write(v)
    assert.equal(LINE:rep(3), sys.readfile(path))
    assert.equal(8 << 20, sys.stat(path .. ".1").size)
    assert.same({}, said)
  end)

  it("is not what a link, or another's folder, makes of it", function()
    local path, own = violation_file.path(folder)
    assert(require("srt.c.tidy").mkdir(own))
    os.execute(("touch %s/victim; ln -s %s/victim %s"):format(folder, folder, path))
    local f = file()
    f:write(v)
    f:write(v)
    assert.equal("", sys.readfile(folder .. "/victim"))
    assert.equal(1, #said)
    os.execute(("rm %s; ln %s/victim %s"):format(path, folder, path))
    file():write(v)
    assert.equal("", sys.readfile(folder .. "/victim"))
    assert.equal(2, #said)
    os.execute(("rm %s; chmod 777 %s"):format(path, own))
    file():write(v)
    assert.equal(3, #said)
    assert.is_nil(sys.lstat(path))
  end)

  it("says once that nothing can be written, and stops at a run's share", function()
    local f = file { path = "/dev/full" }
    f:write(v)
    f:write(v)
    assert.same({ "warning: /dev/full takes no more lines: No space left on device" }, said)
    said = {}
    local long = { time = 1, kind = "write", target = ("x"):rep(1 << 20), command = "c", commandId = "c" }
    f = file()
    for _ = 1, 6 do f:write(long) end
    assert.equal(1, #said)
    assert.truthy(said[1]:find("has filled 4 MiB", 1, true))
    assert.truthy(sys.stat((violation_file.path(folder))).size <= 4 << 20)
  end)
end)
