-- SPDX-License-Identifier: Apache-2.0
-- Precedence of the filesystem lists, on a real tree.

local support = require("spec.lua.support")
local decide = require("srt.decide_path")
local paths = require("srt.paths")
local tree = require("spec.lua.tree")

local function rules_of(top, lists)
  return decide.compile(tree.profile(top, lists), { cwd = top, home = top .. "/home" })
end

-- One row: name, lists, { path = "rw" | "r" | "" }
local ROWS = {
  { "nothing is writable by default", {}, { a = "r", ["a/f"] = "r" } },
  { "a denied folder covers what is below", { denyRead = { "a" } }, { a = "", ["a/f"] = "", b = "r" } },
  { "an allowed folder below a denied one", { denyRead = { "a" }, allowRead = { "a/b" } },
    { a = "", ["a/f"] = "", ["a/b"] = "r", ["a/b/f"] = "r" } },
  { "a denied one below that", { denyRead = { "a", "a/b/c" }, allowRead = { "a/b" } },
    { ["a/b/f"] = "r", ["a/b/c"] = "", ["a/b/c/f"] = "" } },
  { "allowRead wins at an equal path", { denyRead = { "a" }, allowRead = { "a" } }, { a = "r", ["a/f"] = "r" } },
  { "allowRead above does not lift", { denyRead = { "a/b" }, allowRead = { "a" } }, { a = "r", ["a/b"] = "" } },
  { "allowRead does not lift a denied file in it", { denyRead = { "a/f" }, allowRead = { "a" } }, { ["a/f"] = "" } },
  { "allowWrite below a denied folder opens reading", { denyRead = { "a" }, allowWrite = { "a/b" } },
    { ["a/f"] = "", ["a/b"] = "rw", ["a/b/f"] = "rw" } },
  { "denyRead at the very path of allowWrite holds", { denyRead = { "a" }, allowWrite = { "a" } }, { a = "", ["a/f"] = "" } },
  { "denyRead below allowWrite", { denyRead = { "a/b" }, allowWrite = { "a" } }, { a = "rw", ["a/b"] = "", ["a/b/f"] = "" } },
  { "denyWrite below allowWrite", { allowWrite = { "." }, denyWrite = { "a/f" } }, { a = "rw", ["a/f"] = "r", ["a/b"] = "rw" } },
  { "denyWrite above allowWrite", { allowWrite = { ".", "a/b" }, denyWrite = { "a" } }, { ["a/b"] = "r", b = "rw" } },
  { "denyWrite equals allowWrite", { allowWrite = { "a" }, denyWrite = { "a" } }, { a = "r" } },
  { "the root denied, some allowed", { denyRead = { "/" }, allowRead = { "a" }, allowWrite = { "a/b" } },
    { ["/"] = "", ["/etc"] = "", a = "r", ["a/b"] = "rw", b = "" } },
  { "the root writable", { allowWrite = { "/" }, denyWrite = { "a" } }, { ["/"] = "rw", ["/etc"] = "rw", a = "r" } },
  { "a denied link means its target", { denyRead = { "link" } }, { ["a/b"] = "", ["a/b/f"] = "", ["a/f"] = "r" } },
  { "a planted link allows nothing", { allowWrite = { "link" } }, { ["a/b"] = "r" } },
  { "through a planted link either", { allowWrite = { "link/c" } }, { ["a/b/c"] = "r" } },
  { "a loop of links denies nothing else", { denyRead = { "loop" }, allowWrite = { "." } }, { a = "rw" } },
  { "what does not exist allows nothing", { allowWrite = { "nowhere" } }, { [""] = "r" } },
  { "spelled oddly", { denyRead = { "./b/..//a/./b/" } }, { ["a/b"] = "", ["a/f"] = "r" } },
}

describe("paths", function()
  local top
  setup(function()
    top = tree.make({ "a/", "a/f", "a/b/", "a/b/f", "a/b/c/", "a/b/c/f", "b/", "home/" },
      { link = "a/b", loop = "loop2", loop2 = "loop" })
  end)
  teardown(function() tree.remove(top) end)

  for _, row in ipairs(ROWS) do
    it(row[1], function()
      local rules = rules_of(top, row[2])
      for path, want in pairs(row[3]) do
        local real = path:sub(1, 1) == "/" and path or path == "" and top or top .. "/" .. path
        local state = rules:at(real)
        assert.equal(want, (state.read and "r" or "") .. (state.write and "w" or ""), path)
      end
    end)
  end

  it("names the rule that decided", function()
    local rules = rules_of(top, { allowWrite = { "." }, denyWrite = { "a/f" }, denyRead = { "b" } })
    assert.equal("a/f", rules:at(top .. "/a/f").writeRule.given)
    assert.equal("b", rules:at(top .. "/b").readRule.given)
    assert.equal("b", rules:at(top .. "/b").writeRule.given)
    assert.equal(".", rules:at(top .. "/a").writeRule.given)
  end)

  it("keeps the sandbox's own folders out of it", function()
    local rules = rules_of(top, { denyRead = { "/dev/null", "/proc/version" }, denyWrite = { "/dev" } })
    assert.is_true(rules:at("/dev/null").read)
    assert.is_true(rules:at("/proc/version").read)
    assert.is_true(#rules.notes >= 3)
  end)

  it("never lets anything write to kernel interfaces", function()
    local rules = rules_of(top, { allowWrite = { "/", "/sys" } })
    assert.is_false(rules:at("/sys").write)
    assert.is_false(rules:at("/sys/kernel").write)
    assert.is_true(rules:at("/usr").write)
  end)

  it("holds the place of a missing protected name", function()
    local rules = rules_of(top, { allowWrite = { "." }, denyWrite = { ".tool/commands", "a/f/x", "new" } })
    assert.truthy(rules.placeholders[top .. "/.tool"])
    assert.truthy(rules.placeholders[top .. "/new"])
    assert.is_false(rules:at(top .. "/.tool").write)
    assert.is_nil(rules.placeholders[top .. "/a/f/x"])
  end)

  it("holds no place whose name would break git, and warns", function()
    local rules = rules_of(top, { allowWrite = { "." }, denyWrite = { ".git/hooks", "b/commondir" } })
    assert.is_nil(next(rules.placeholders))
    assert.equal(2, #rules.notes)
    assert.is_true(rules.notes[1].warn)
  end)

  it("holds no place where an agent makes all names", function()
    local lists = { allowWrite = { "." }, denyWrite = { ".tool/commands/x", "new", ".git/hooks" } }
    local profile = tree.profile(top, lists)
    profile.filesystem.createGuard = "supervisor"
    local rules = decide.compile(profile, { cwd = top })
    assert.is_nil(next(rules.placeholders))
    local table = require("srt.create_guard").table(rules.guard)
    assert.same({ top .. "/.git/hooks", top .. "/.tool/commands/x", top .. "/new" }, table.paths)
    assert.is_false(rules:at(top .. "/.tool/commands/x").write)
    assert.is_false(rules:at(top .. "/.tool/commands/x/y").write)
    assert.is_true(rules:at(top .. "/.tool/commands").write)
    for _, point in ipairs(rules:points()) do assert.is_nil(point:find("new", 1, true)) end
  end)

  it("knows which patterns float", function()
    local floats = require("srt.create_guard").floats
    for _, pattern in ipairs { "/**/.env", "/**/*.key", "/**/[ab]?" } do assert.is_true(floats(pattern), pattern) end
    for _, pattern in ipairs { "/*.key", "/**/a/b", "/*/**/x", "/**/a**", "/**", "/x" } do
      assert.is_false(floats(pattern), pattern)
    end
  end)

  it("says what an agent does not make", function()
    local guard = require("srt.create_guard")
    local profile = tree.profile(top, { allowWrite = { "." }, allowRead = { "a/x.pub" }, denyWrite = { "new" } })
    profile.filesystem.createGuard = "supervisor"
    profile.filesystem.globs = { { list = "denyWrite", tops = { top, top .. "/none" }, rest = "**/.env", given = "e" },
      { list = "denyRead", tops = { top }, rest = "*.key", given = "k" },
      { list = "denyRead", tops = { top }, rest = "**/*.pub", given = "reopened" },
      { list = "allowWrite", tops = { top }, rest = "*.c", given = "allowed" } }
    local rules = decide.compile(profile, { cwd = top, tempDir = top .. "/tmp" })
    guard.name(rules.guard, ".tool/x", { path = top, depth = 2 }, { given = "n" })
    local plan = guard.table(rules.guard)
    assert.same({ { top = top, pattern = "/**/.env", floating = true },
      { top = top .. "/none", pattern = "/**/.env", floating = true }, { top = top, pattern = "/*.key", floating = false } },
      plan.globs)
    assert.same({ { name = ".tool/x", top = top, depth = 2 } }, plan.names)
    for path, want in pairs { ["new"] = "new", ["new/x"] = "new", ["a/b/.env"] = "e", ["a.key"] = "k", [".tool/x"] = "n",
      ["a/.tool/x/y"] = "n", ["a/a/.tool/x"] = false, ["node_modules/.tool/x"] = false, [".tool"] = false,
      [".tool/xy"] = false, ["x.pub"] = false, ["tmp/.env"] = false, ["a/x.key"] = false, ["b.c"] = false } do
      local rule = guard.rule(rules.guard, top .. "/" .. path)
      assert.equal(want, rule and rule.given or false, path)
    end
  end)

  it("needs no place where nothing can be made", function()
    local rules = rules_of(top, { denyWrite = { "new" } })
    assert.is_nil(next(rules.placeholders))
  end)

  it("lets nothing change the temporary directory's rule", function()
    local rules = decide.compile(tree.profile(top, { denyRead = { "/" }, denyWrite = { "/" } }),
      { cwd = top, tempDir = top .. "/tmp" })
    assert.is_true(rules:at(top .. "/tmp/x").write)
    assert.is_false(rules:at(top .. "/tmpx").read)
  end)
end)

describe("spelling", function()
  local ctx = { cwd = "/w", home = "/h" }
  for given, want in pairs({ ["a"] = "/w/a", ["."] = "/w", ["~"] = "/h", ["~/x"] = "/h/x", ["/a/../b/"] = "/b",
    ["../.."] = "/", ["//a//b"] = "/a/b", ["a/./b"] = "/w/a/b" }) do
    it(given, function() assert.equal(want, paths.expand(given, ctx)) end)
  end
  for _, given in ipairs({ "", "a\0b", "$HOME/x", "~nosuchuser_xyz/a" }) do
    it("refuses " .. given:gsub("%z", "NUL"), function()
      local path, reason = paths.expand(given, ctx)
      assert.is_nil(path)
      assert.is_string(reason)
    end)
  end
  it("says when there is no home", function()
    local path, reason = paths.expand("~/x", { cwd = "/w" })
    assert.is_nil(path)
    assert.truthy(reason:find("home", 1, true))
  end)
end)

assert(support)

-- A line of /proc/self/mountinfo.
local function mount(point, kind) return ("1 0 0:1 / %s rw - %s none rw\n"):format(point, kind) end

describe("file systems of the kernel", function()
  local top
  setup(function() top = tree.make({ "a/", "a/b/", "a/b/c/", "d/" }, {}) end)
  teardown(function() tree.remove(top) end)

  local function rules(lists, text, callbacks)
    local profile = tree.profile(top, lists)
    profile.callbacks = callbacks
    return decide.compile(profile, { cwd = top, home = top .. "/home", mounts = function() return text end })
  end

  it("are never writable, wherever a list allows it, and it is said why", function()
    for allowed, answers in pairs {
      ["."] = { [""] = true, a = true, ["a/b"] = false, ["a/b/c"] = false, d = true },
      ["a/b"] = { [""] = false, a = false, ["a/b"] = false, ["a/b/c"] = false, d = false },
      ["a/b/c"] = { [""] = false, a = false, ["a/b"] = false, ["a/b/c"] = false, d = false },
      d = { [""] = false, a = false, ["a/b"] = false, ["a/b/c"] = false, d = true },
    } do
      local found = rules({ allowWrite = { allowed } }, mount(top .. "/a/b", "sysfs"))
      for path, want in pairs(answers) do
        local real = path == "" and top or top .. "/" .. path
        local _, write = found:holds(real)
        local state = found:at(real)
        assert.equal(want, write, allowed .. " " .. path)
        assert.equal(want, state.write, allowed .. " " .. path)
        if paths.below(real, top .. "/a/b") then assert.equal("sysfs file system", state.writeRule.builtin) end
      end
    end
  end)

  it("are there at once for a callback that may allow what no list does", function()
    local text = mount(top .. "/a", "sysfs")
    assert.is_table(rules({}, text, { decideOpen = { function() end } }).finalWrite[top .. "/a"])
    assert.is_nil(rules({}, text, { decideOpen = {} }).finalWrite[top .. "/a"])
  end)

  it("hold the same before and after a reason was asked for", function()
    local kinds, names = { "sysfs", "cgroup2", "proc", "ext4", "mqueue" }, { "", "/a", "/a/b", "/a/b/c", "/d" }
    for _ = 1, 200 do
      local text, lists = "", {}
      for _ = 1, math.random(3) do text = text .. mount(top .. names[math.random(#names)], kinds[math.random(#kinds)]) end
      for _, list in ipairs { "allowWrite", "denyWrite", "denyRead" } do
        lists[list] = math.random(2) == 1 and { top .. names[math.random(#names)] } or nil
      end
      local found, before = rules(lists, text), {}
      for _, name in ipairs(names) do before[name] = { found:holds(top .. name) } end
      found:at("/")
      for _, name in ipairs(names) do
        local read, write = found:holds(top .. name)
        assert.same({ before[name][1], before[name][2] }, { read, write }, text .. name)
      end
    end
  end)
end)
