-- SPDX-License-Identifier: Apache-2.0
-- Protected names in the decisions, on real trees.

local support = require("spec.lua.support")
assert(package.loadlib(os.getenv("SRT_SPEC_CMODULE"), "luaopen_srt_c"))()
local decide = require("srt.decide_path")
local protected = require("srt.protected")
local state = require("srt.state")
local state_files = require("srt.state_files")
local sys = require("srt.c.sys")
local tree = require("spec.lua.tree")

local function rules_of(top, lists, settings)
  local profile = tree.profile(top, lists)
  profile.protection = { names = {}, depth = 3, allowGitConfig = false, newRepositories = "quarantine" }
  for key, value in pairs(settings or {}) do profile.protection[key] = value end
  return decide.compile(profile, { cwd = top, home = top .. "/home" })
end

local function places_of(rules, top)
  local list = {}
  for path in pairs(rules.placeholders) do list[#list + 1] = path:sub(#top + 2) end
  table.sort(list)
  return list
end

local function has(list, name)
  for _, item in ipairs(list) do
    if item == name then return true end
  end
  return false
end

describe("protected names", function()
  local top
  after_each(function() tree.remove(top) end)

  it("are read-only where they are, to the depth, and held where they are not", function()
    top = tree.make({ ".bashrc", "a/", "a/.vscode/", "a/b/", "a/b/c/", "a/b/.envrc", "a/b/c/.envrc", "home/" })
    local rules = rules_of(top, { allowWrite = { "." } })
    for name, write in pairs({ [".bashrc"] = false, ["a/.vscode"] = false, ["a/.vscode/x"] = false, ["a/b/.envrc"] = false,
      ["a/b/c/.envrc"] = true, a = true, [".zshrc"] = false, [".claude/commands"] = false, ["a/.zshrc"] = true }) do
      assert.equal(write, rules:at(top .. "/" .. name).write, name)
    end
    local places = places_of(rules, top)
    assert.is_true(has(places, ".claude") and has(places, ".zshrc") and has(places, "home/.ssh"))
    assert.is_false(has(places, ".bashrc") or has(places, ".claude/commands") or has(places, ".git") or has(places, "home/.config")
      or has(places, "home/.gitconfig") or has(places, ".ssh"))
    local rule = rules:at(top .. "/a/b/.envrc").writeRule
    assert.equal("protected name", rule.builtin)
    assert.equal(".envrc", rule.name)
    assert.is_string(rule.why)
  end)

  it("need nothing where nothing may be written", function()
    top = tree.make({ ".bashrc" })
    local rules = rules_of(top, {})
    assert.same({}, places_of(rules, top))
    assert.is_nil(next(rules.denyWrite))
    rules = rules_of(top, { allowWrite = { "." }, denyWrite = { "." } })
    assert.same({}, places_of(rules, top))
  end)

  it("are found in repositories of every shape", function()
    top = tree.make({ ".git/", ".git/config", ".git/HEAD", ".git/worktrees/", ".git/worktrees/t/", ".git/worktrees/t/commondir",
      ".git/modules/", ".git/modules/g/", ".git/modules/g/m/", ".git/modules/g/m/HEAD", ".git/modules/g/m/config", "b/", "b/HEAD",
      "b/objects/", "b/refs/", "b/config", "d/", "d/HEAD" })
    local rules = rules_of(top, { allowWrite = { "." } })
    for name, write in pairs({ [".git/config"] = false, [".git/HEAD"] = true, [".git/hooks"] = false,
      [".git/worktrees/t/commondir"] = false, [".git/modules/g/m/config"] = false, [".git/modules/g/m/hooks"] = false,
      ["b/config"] = false, ["b/hooks"] = false, ["b/HEAD"] = true, ["d/config"] = true }) do
      assert.equal(write, rules:at(top .. "/" .. name).write, name)
    end
    local free = rules_of(top, { allowWrite = { "." } }, { allowGitConfig = true })
    assert.is_true(free:at(top .. "/.git/config").write)
    assert.is_false(free:at(top .. "/.git/hooks").write)
  end)

  it("are more by the policy", function()
    top = tree.make({ "a/", "a/tool/", "a/tool/x", "a/run" })
    local rules = rules_of(top, { allowWrite = { "." } }, { names = { { name = "tool/x", origin = { key = "k" } }, { name = "run" } } })
    assert.is_false(rules:at(top .. "/a/tool/x").write)
    assert.is_false(rules:at(top .. "/a/run").write)
    assert.is_true(has(places_of(rules, top), "run"))
    assert.equal("k", rules:at(top .. "/a/tool/x").writeRule.origin.key)
  end)

  it("come back from a state file as they were", function()
    top = tree.make({ "a/", "a/\nodd/", "a/\nodd/.envrc", "home/", "deny/", "deny/x/" })
    local rules = rules_of(top, { allowWrite = { "." }, denyWrite = { "deny" }, denyRead = { "a" }, allowRead = { "a/\nodd" } })
    local found = rules.found
    local folder = top .. "/state"
    local record = { temp = "/tmp/x", places = { top .. "/.bashrc" }, home = found.home, bases = found.bases, seen = found.seen,
      gits = { ["/g"] = "git" }, lists = state_files.kept(rules), settings = { names = { { name = "n" } }, newRepositories = "report",
      allowGitConfig = true }, report = { command = "a\nb", commandId = "", path = "none",
        ignore = { ["*"] = { "x", "y" }, make = { "z" } } } }
    local handle = assert(state.create({ "/proc/nowhere", folder }, state.encode(record)))
    local read = state_files.read(handle.path)
    require("srt.c.tidy").close(handle.fd)
    assert.equal("/tmp/x", read.temp)
    assert.same(record.places, read.places)
    assert.same(record.bases, read.bases)
    assert.same(record.settings, read.settings)
    assert.same(record.report, read.report)
    assert.is_true(read.gits["/g"])
    for path in pairs(record.seen) do assert.is_true(read.seen[path], path) end
    local restored = decide.restore(read.lists)
    for _, name in ipairs({ "", "/a", "/a/b", "/a/\nodd", "/a/\nodd/x", "/deny", "/deny/x", "/home" }) do
      assert.equal(rules:at(top .. name).write, restored:at(top .. name).write, name)
    end
  end)

  it("have a state folder that nobody else can write to", function()
    top = tree.make({ "s/" })
    os.execute("chmod 777 " .. top .. "/s")
    local record = { temp = "/tmp/x", places = {}, bases = {}, seen = {}, gits = {}, lists = {},
      settings = { names = {}, newRepositories = "report" } }
    local handle, message = state.create({ top .. "/s" }, state.encode(record))
    assert.is_nil(handle)
    assert.is_string(message)
  end)
end)

describe("the list of protected names", function()
  it("says why for each, and has each once", function()
    local seen = {}
    for _, row in ipairs(protected.NAMES) do
      assert.is_nil(seen[row[1]], row[1])
      seen[row[1]] = true
      assert.equal(row[1], (protected.parse(row[1])))
      assert.is_true(#row[2] > 10, row[1])
    end
  end)

  for _, text in ipairs({ "", "/", "/etc", "~/x", "a/../b", "./a", "a//b", "*.sh", "a[b]", ".git", "a\0b" }) do
    it(("refuses %q"):format(text), function()
      local name, reason = protected.parse(text)
      assert.is_nil(name)
      assert.is_string(reason)
    end)
  end
  assert(support and sys)
end)
