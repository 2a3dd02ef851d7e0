-- SPDX-License-Identifier: Apache-2.0
-- The arguments of bubblewrap mean what the decisions say: random policies over a real tree, and an evaluator that
-- knows bubblewrap's options and nothing of how they were compiled.

local support = require("spec.lua.support")
local bwrap = require("backends.bwrap")
local decide = require("srt.decide_path")
local random_lists = require("spec.lua.random_lists")
local sys = require("srt.c.sys")
local tree = require("spec.lua.tree")

local ORDINARY = { uids = { { first = 1000, count = 1 } }, gids = { { first = 1000, count = 1 } }, rootCaller = false,
  closeProc = false, maskOwner = 0, caps = 0 }
local MASKS = "MASKS"
-- Who runs it, from C that only the program has.
package.loaded["srt.c.sandbox"] = { identity = function(alone) return alone and ORDINARY end }

-- How many words follow each option, as of bubblewrap 0.4.0: bwrap(1). No other is known there.
local OPTIONS = { ["--unshare-user"] = 0, ["--unshare-ipc"] = 0, ["--unshare-pid"] = 0, ["--unshare-net"] = 0,
  ["--unshare-uts"] = 0, ["--unshare-cgroup"] = 0, ["--die-with-parent"] = 0, ["--as-pid-1"] = 0, ["--cap-drop"] = 1,
  ["--cap-add"] = 1, ["--chdir"] = 1, ["--bind"] = 2, ["--ro-bind"] = 2, ["--dev-bind"] = 2, ["--proc"] = 1,
  ["--tmpfs"] = 1, ["--dir"] = 1, ["--symlink"] = 2 }

local function within(path, top)
  return path == top or top == "/" or path:sub(1, #top + 1) == top .. "/"
end

-- Reads arguments as bubblewrap does, in order: the mounts, and each option that was given.
local function read(argv)
  local mounts, given = {}, {}
  local i = 1
  while argv[i] do
    local words = assert(OPTIONS[argv[i]], "bubblewrap 0.4 has no " .. argv[i])
    local a, b = argv[i + 1], argv[i + 2]
    assert(i + words <= #argv, argv[i])
    if argv[i] == "--bind" or argv[i] == "--ro-bind" or argv[i] == "--dev-bind" then
      mounts[#mounts + 1] = { source = a, target = b, write = argv[i] ~= "--ro-bind", device = argv[i] == "--dev-bind" }
    elseif argv[i] == "--tmpfs" or argv[i] == "--proc" then
      mounts[#mounts + 1] = { fresh = true, target = a, write = true }
    end
    given[argv[i]] = given[argv[i]] or {}
    table.insert(given[argv[i]], words > 0 and a or true)
    i = i + 1 + words
  end
  return mounts, given
end

-- What a process sees at a path of the host: which file of it, if any, and may it write? A mount covers all that was
-- mounted at or below its target before.
local function look(mounts, path)
  local over
  for _, mount in ipairs(mounts) do
    if within(path, mount.target) then over = mount end
  end
  if not over then return "nothing" end
  if over.fresh then return "fresh" end
  local rest = path:sub(#over.target + 1)
  local source = over.source == "/" and path or over.source .. (over.target == "/" and path or rest)
  return source, over.write
end

-- "", "r" or "rw"; content of ours is "r".
local function state(mounts, path)
  local source, write = look(mounts, path)
  if source:sub(1, #MASKS + 1) == MASKS .. "/" then return source:find("/content%d+$") and "r" or "" end
  assert(source == path, ("%s shows %s"):format(path, source))
  return write and "rw" or "r"
end

-- Every target must be there when its turn comes, and of the right kind: the host's, or one that a scaffold has.
local function check_targets(mounts, plan)
  local shown = {}
  for i, step in ipairs(plan.mounts) do
    if step.op == "scaffold" then
      for _, slot in ipairs(step.slots) do
        shown[MASKS .. "/scaffold" .. i - 1 .. "/" .. slot.path] = slot.directory and "dir" or slot.link or "file"
      end
    end
  end
  local before = {}
  for i, mount in ipairs(mounts) do
    if mount.target ~= "/" and not within(mount.target, "/dev") and not within(mount.target, "/proc") then
      local source = look(before, mount.target)
      if source:sub(1, #MASKS + 1) == MASKS .. "/" then
        assert(shown[source], ("there is no %s to mount on (%s)"):format(mount.target, source))
      else
        assert.equal(mount.target, source)
        assert.not_equal("link", assert(sys.lstat(source), source).type)
      end
    end
    before[i] = mount
  end
end

local function compile(top, lists, more)
  local ctx = { cwd = top, env = {}, features = { landlock = 7 }, identity = ORDINARY, prints = true }
  for name, value in pairs(more or {}) do ctx[name] = value end
  local profile = tree.profile(top, lists)
  local rules = decide.compile(profile, ctx)
  local plan, message = bwrap.compile(profile, rules, ctx)
  return plan, rules, message
end

describe("bubblewrap's arguments", function()
  local top, everything
  setup(function() top, everything = random_lists.tree() end)
  teardown(function() tree.remove(top) end)

  it("mean what the decisions say, for random policies", function()
    for where in random_lists.rounds(200, 20000) do
      local lists = random_lists.make(everything)
      local plan, rules = compile(top, lists)
      local what = where .. ": " .. require("srt.json").encode(lists)
      local mounts = read(plan.bwrap.argv)
      for _, entry in ipairs(everything) do
        local path = require("srt.paths").normalize(top .. "/" .. entry)
        local at = rules:at(path)
        assert.equal((at.read and "r" or "") .. (at.write and "w" or ""), state(mounts, path), what .. " " .. path)
      end
      local ok, message = pcall(check_targets, mounts, plan)
      assert.is_true(ok, what .. ": " .. tostring(message))
    end
  end)

  it("make every namespace, and keep no capability but PID 1's", function()
    local plan = assert(compile(top, {}))
    local mounts, given = read(plan.bwrap.argv)
    for _, name in ipairs { "user", "ipc", "pid", "net", "uts", "cgroup" } do
      assert.truthy(given["--unshare-" .. name], name)
    end
    assert.same({ "ALL" }, given["--cap-drop"])
    assert.is_nil((table.concat(given["--cap-add"], " "):find("DAC")))
    assert.truthy(given["--die-with-parent"] and given["--as-pid-1"])
    -- Device nodes are had in our /dev only.
    for _, mount in ipairs(mounts) do
      assert.is_true(not mount.device or mount.target:find("^/dev/%l+$") ~= nil, mount.target)
    end
    assert.equal("fresh", (look(mounts, "/dev/sda")))
    assert.equal("fresh", (look(mounts, "/proc/1")))
  end)

  it("leave links to PID 1, since bubblewrap follows them", function()
    local linked = tree.make({ "a/" }, { link = "a" })
    local plan = compile(linked, { allowWrite = { "." }, denyWrite = { "link" } })
    tree.remove(linked)
    local found = {}
    for _, step in ipairs(plan.mounts) do found[step.target] = true end
    assert.is_true(found[linked .. "/link"])
    for _, mount in ipairs((read(plan.bwrap.argv))) do assert.not_equal(linked .. "/link", mount.target) end
  end)

  it("hold PID 1 by what it can do without, and the command by all", function()
    local plan = assert(compile(top, {}))
    local base, all = {}, {}
    for _, rule in ipairs(plan.bwrap.seccomp) do base[rule.call] = true end
    for _, rule in ipairs(plan.seccomp) do all[rule.call] = true end
    for call in pairs(base) do assert.is_true(all[call], call) end
    assert.is_true(base.bpf and base.kexec_load and base.pivot_root and all.mount and not base.mount)
  end)

  it("are refused where bubblewrap can't hold a policy", function()
    local many = {}
    for i = 1, 3000 do many[i] = "many/" .. i end
    local crowded = tree.make({ "many/" })
    os.execute(("cd %s/many && seq 3000 | xargs touch"):format(crowded))
    local plan, _, message = compile(crowded, { denyRead = many })
    tree.remove(crowded)
    assert.is_nil(plan)
    assert.truthy(message:find("9000 arguments", 1, true), message)
    local ctx = { cwd = top, env = {}, features = { landlock = 7 }, identity = ORDINARY, prints = true }
    local profile = assert(support.resolve("return { filesystem = { decideOpen = function() return true end } }"))
    plan, message = bwrap.compile(profile, decide.compile(profile, ctx), ctx)
    assert.is_nil(plan)
    assert.truthy(message:find("filesystem.decideOpen can't be held", 1, true), message)
  end)
end)
