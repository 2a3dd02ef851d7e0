-- SPDX-License-Identifier: Apache-2.0
-- What Landlock is told means what the decisions say: random policies over a real tree, the rules read by a model of
-- the kernel, the decision module as oracle, and a table of what is known to differ.

require("spec.lua.support")
local decide = require("srt.decide_path")
local landlock = require("backends.landlock")
local model = require("spec.lua.landlock_model")
local paths = require("srt.paths")
local random_lists = require("spec.lua.random_lists")
local sys = require("srt.c.sys")
local tree = require("spec.lua.tree")

-- Is there a path strictly below, of those that the policy names, of which test is true?
local function below(rules, path, test)
  for _, point in ipairs(rules:points()) do
    if point ~= path and paths.below(point, path) and test(point) then return true end
  end
  return false
end

local function denied_folder(rules, path)
  return below(rules, path, function(p) return rules.types[p] == "dir" and not rules:at(p).read end)
end

local function unwritable(rules, path)
  return below(rules, path, function(p) return not rules:at(p).write end)
end

local function denied(rules, path)
  return below(rules, path, function(p) return not rules:at(p).read or not rules:at(p).write end)
end

-- Known differences, all on the side of denial: what is denied though the decision allows it, and when. The words are
-- those that users read (OPEN of backends/landlock.lua, docs).
local DIFFER = {
  { action = "list", why = "a folder with a denied folder in it can't be listed", when = denied_folder },
  { action = "make", why = "nothing is made directly in a folder above a denied write", when = function(rules, path)
    return unwritable(rules, paths.parent(path))
  end },
  { action = "remove", why = "nothing is removed directly in a folder above a denied write", when = function(rules, path)
    return unwritable(rules, paths.parent(path))
  end },
  { action = "later", why = "what the host makes later in a folder with something denied in it can't be read",
    when = function(rules, path) return denied(rules, paths.parent(path)) end },
}

local function known(rules, action, path)
  for _, row in ipairs(DIFFER) do
    if row.action == action and row.when(rules, path) then
      row.seen = true
      return true
    end
  end
  return false
end

local DECISION = {
  read = function(rules, path) return rules:at(path).read end,
  execute = function(rules, path) return rules:at(path).read end,
  list = function(rules, path) return rules:at(path).read end,
  write = function(rules, path) return rules:at(path).write end,
  make = function(rules, path) return rules:at(path).write end,
  remove = function(rules, path) return rules:at(path).write and rules:at(paths.parent(path)).write end,
  later = function(rules, path) return rules:at(path).read end,
}

describe("Landlock's rules", function()
  local top, everything
  setup(function() top, everything = random_lists.tree() end)
  teardown(function() tree.remove(top) end)

  local function load(lists)
    local rules = decide.compile(tree.profile(top, lists), { cwd = top })
    local list = assert(landlock.paths(rules))
    return model.load(list, function(path) return sys.lstat(path) ~= nil end), rules
  end

  local function compare(granted, rules, action, path, what)
    local held = model.allows(granted, action == "later" and "read" or action, path)
    local wanted = DECISION[action](rules, path)
    if held == wanted then return end
    assert.is_true(wanted, ("allows what is denied: %s %s; %s"):format(action, path, what))
    assert.is_true(known(rules, action, path), ("denies what is allowed: %s %s; %s"):format(action, path, what))
  end

  it("say what the decisions say, but for what is known", function()
    for where in random_lists.rounds(300, 10000) do
      local lists = random_lists.make(everything, { masked = false })
      local granted, rules = load(lists)
      local what = where .. ": " .. require("srt.json").encode(lists)
      for _, entry in ipairs(everything) do
        local path = paths.normalize(top .. "/" .. entry)
        compare(granted, rules, "remove", path, what)
        if entry:sub(-1) == "/" then
          compare(granted, rules, "list", path, what)
          compare(granted, rules, "make", path .. "/new", what)
          compare(granted, rules, "later", path .. "/new", what)
        else
          compare(granted, rules, "read", path, what)
          compare(granted, rules, "execute", path, what)
          compare(granted, rules, "write", path, what)
        end
      end
      for _, path in ipairs { "/etc/passwd", "/usr/bin/env" } do
        compare(granted, rules, "read", path, what)
        compare(granted, rules, "write", path, what)
      end
    end
    for _, row in ipairs(DIFFER) do assert.is_true(row.seen, "never seen to differ: " .. row.why) end
  end)

  it("say it with an agent that makes names, but for what no agent may touch", function()
    local area = require("backends.landlock_area")
    -- Allowed again within something denied: there the agent makes nothing.
    local function again(rules, path)
      if not rules:at(path).write then return true end
      local closed = false
      while path ~= "/" do
        path = paths.parent(path)
        local write = rules:at(path).write
        if closed and write then return true end
        closed = closed or not write
      end
      return false
    end
    local seen = 0
    for where in random_lists.rounds(100, 5000) do
      local lists = random_lists.make(everything, { masked = false })
      local rules = decide.compile(tree.profile(top, lists), { cwd = top })
      local list, compiled = landlock.paths(rules, true)
      local granted = model.load(assert(list), function(path) return sys.lstat(path) ~= nil end)
      local tops, guard = area.of(compiled.root, rules)
      tops.reads = compiled.unread[1] ~= nil
      local what = where .. ": " .. require("srt.json").encode(lists)
      local function check(action, path)
        local asked = action == "later" and "read" or action
        local served = model.serves(tops, guard, asked, path)
        local held = served or model.allows(granted, asked, path)
        local wanted = DECISION[action](rules, path)
        if held == wanted then
          if served and not model.allows(granted, asked, path) then seen = seen + 1 end
          return
        end
        assert.is_true(wanted, ("allows what is denied: %s %s; %s"):format(action, path, what))
        assert.is_true(again(rules, path) and known(rules, action, path),
          ("denies what is allowed: %s %s; %s"):format(action, path, what))
      end
      for _, entry in ipairs(everything) do
        local path = paths.normalize(top .. "/" .. entry)
        check("remove", path)
        if entry:sub(-1) == "/" then
          check("list", path)
          check("make", path .. "/new")
          check("later", path .. "/new")
        else
          check("read", path)
          check("execute", path)
          check("write", path)
        end
      end
    end
    assert.is_true(seen > 0)
  end)

  it("leave of /dev and /proc what every program needs, and no more", function()
    local granted = load({ allowWrite = { "/" } })
    for path, want in pairs { ["/dev/null"] = "rw", ["/dev/urandom"] = "rw", ["/dev/tty"] = "rw", ["/proc/1/stat"] = "r",
      ["/dev/kmsg"] = "", ["/dev/pts/0"] = "", ["/dev/shm/x"] = "", ["/dev/ptmx"] = "" } do
      local held = (model.has(granted, path, "r") and "r" or "") .. (model.has(granted, path, "w") and "w" or "")
      assert.equal(want, held, path)
    end
  end)

  it("hold a name that is missing, and leave a protected one to the scan at the end", function()
    local rules = decide.compile(tree.profile(top, { allowWrite = { "a" }, denyWrite = { "a/none" } }), { cwd = top })
    local granted = model.load(assert(landlock.paths(rules)), function(path) return sys.lstat(path) ~= nil end)
    assert.is_false(model.allows(granted, "make", top .. "/a/none"))
    assert.is_true(model.allows(granted, "write", top .. "/a/f"))
    assert.is_true(model.allows(granted, "make", top .. "/a/b/new"))
    rules.placeholders[top .. "/a/none"].builtin = "protected name"
    granted = model.load(assert(landlock.paths(rules)), function(path) return sys.lstat(path) ~= nil end)
    assert.is_true(model.allows(granted, "make", top .. "/a/none"))
  end)

  it("keep what may be edited and not removed", function()
    local rules = decide.compile(tree.profile(top, { allowWrite = { "." } }), { cwd = top })
    rules.pinned[top .. "/a/f"], rules.types[top .. "/a/f"] = {}, "file"
    local granted = model.load(assert(landlock.paths(rules)), function() return true end)
    assert.is_true(model.allows(granted, "write", top .. "/a/f"))
    assert.is_false(model.allows(granted, "remove", top .. "/a/f"))
    assert.is_false(model.allows(granted, "remove", top .. "/a"))
    assert.is_true(model.allows(granted, "make", top .. "/b/new"))
  end)

  it("tell each ABI's lacks, once", function()
    for abi = 1, 7 do
      local count = #landlock.lacks { abi = abi }
      assert.is_true(count >= #landlock.lacks { abi = abi + 1 })
      assert.equal(abi < 6, table.concat(landlock.lacks { abi = abi }, "\n"):find("signals:", 1, true) ~= nil)
    end
  end)
end)
