-- SPDX-License-Identifier: Apache-2.0
-- The plan says what the decisions say: random policies over a real tree, the
-- mounts replayed in a model, the decision module as oracle.

require("spec.lua.support")
local decide = require("srt.decide_path")
local namespaces = require("backends.namespaces")
local paths = require("srt.paths")
local random_lists = require("spec.lua.random_lists")
local tree = require("spec.lua.tree")

local ORDINARY = { uids = { { first = 1000, count = 1 } }, gids = { { first = 1000, count = 1 } }, rootCaller = false,
  closeProc = false, maskOwner = 0, caps = 0 }

local function compile(top, lists, more)
  local ctx = { cwd = top, env = {}, features = { landlock = 7 }, identity = ORDINARY, tempDir = more and more.tempDir }
  local rules = decide.compile(tree.profile(top, lists), ctx)
  return assert(namespaces.compile(tree.profile(top, lists), rules, ctx)), rules
end

-- What the mounts leave of a path: the last one at or above it counts.
local function replay(plan, path)
  local state = plan.rootReadOnly and "r" or "rw"
  for _, step in ipairs(plan.mounts) do
    if paths.below(path, step.target) then
      if step.op == "content" then
        state = "r"
      elseif step.op == "bind" then
        state = step.readOnly and "r" or "rw"
      elseif step.op == "mask" or step.op == "scaffold" then
        state = ""
      else
        error("unknown step " .. step.op)
      end
    end
  end
  return state
end

-- Can every target be reached: exists, or is a slot of what covers it?
local function reachable(plan, step, index)
  for i = index - 1, 1, -1 do
    local other = plan.mounts[i]
    if step.target ~= other.target and paths.below(step.target, other.target) then
      if other.op == "bind" then return true end
      if other.op ~= "scaffold" then return false end
      local rest = step.target:sub(other.target == "/" and 2 or #other.target + 2)
      for _, slot in ipairs(other.slots) do
        if slot.path == rest then return true end
      end
      return false
    end
  end
  return true
end

local function state_text(state)
  return (state.read and "r" or "") .. (state.write and "w" or "")
end

describe("plans", function()
  local top, everything
  setup(function() top, everything = random_lists.tree() end)
  teardown(function() tree.remove(top) end)

  it("mean what the decisions say, for random policies", function()
    for where in random_lists.rounds(400, 20000) do
      local lists = random_lists.make(everything)
      local plan, rules = compile(top, lists)
      local what = where .. ": " .. require("srt.json").encode(lists)
      for _, entry in ipairs(everything) do
        local path = paths.normalize(top .. "/" .. entry)
        assert.equal(state_text(rules:at(path)), replay(plan, path), what .. " " .. path)
      end
      local shown = {}
      for _, step in ipairs(plan.mounts) do shown[step.target] = step.op end
      for path in pairs(rules.masked) do
        assert.equal(rules:at(path).read and "content" or nil, shown[path] ~= "mask" and shown[path] or nil, what)
      end
      for index, step in ipairs(plan.mounts) do
        assert.is_true(reachable(plan, step, index), what .. " " .. step.target)
      end
    end
  end)

  it("hold the temporary directory wherever it is, and nothing in it, so that it can be mounted last", function()
    for where in random_lists.rounds(200, 10000) do
      local lists = random_lists.make(everything)
      local above = paths.normalize(top .. "/" .. everything[math.random(#everything)])
      local st = require("srt.c.sys").lstat(above)
      local temp = (st and st.type == "dir" and above or top) .. "/srt-lua-x"
      local plan = compile(top, lists, { tempDir = temp })
      local what, found = where .. ": " .. temp .. " " .. require("srt.json").encode(lists), 0
      for index, step in ipairs(plan.mounts) do
        assert.is_true(reachable(plan, step, index), what .. " " .. step.target)
        if paths.below(step.target, temp) then
          assert.same({ "bind", temp, false }, { step.op, step.target, step.readOnly }, what)
          found = found + 1
        end
      end
      assert.equal(1, found, what)
      assert.equal("rw", replay(plan, temp), what)
    end
  end)

  it("redirect as was told before there were decisions on paths", function()
    local support = require("spec.lua.support")
    for text, port in pairs { ['"a.test"'] = 3129, ['"a.test", "127.0.0.1:3129"'] = 3130, ['"192.0.2.1:80"'] = 3129,
      [""] = false } do
      local profile = assert(support.resolve("return { network = { allowedDomains = { " .. text .. " } } }"))
      local ctx = { cwd = top, env = {}, features = { landlock = 7 }, identity = ORDINARY }
      local plan = assert(namespaces.compile(profile, decide.compile(profile, ctx), ctx))
      assert.equal(port, plan.redirect and plan.redirect.port or false, text)
      -- What the agent is told of comes later.
      if plan.redirect then plan.redirect.notify = nil end
      assert.same(plan.redirect, namespaces.redirect(profile), text)
    end
  end)

  it("pin every folder between a protected path and the top that is writable", function()
    local plan = compile(top, { allowWrite = { "." }, denyWrite = { "a/b/f" } })
    local bound = {}
    for _, step in ipairs(plan.mounts) do bound[step.target] = step.op .. (step.readOnly and " ro" or " rw") end
    assert.equal("bind rw", bound[top])
    assert.equal("bind rw", bound[top .. "/a"])
    assert.equal("bind rw", bound[top .. "/a/b"])
    assert.equal("bind ro", bound[top .. "/a/b/f"])
  end)

  it("pin nothing in a folder that can't be read, though a later entry says so", function()
    local plan = compile(top, { allowWrite = { "." }, denyRead = { "a/f/deep", "a" } })
    for index, step in ipairs(plan.mounts) do assert.is_true(reachable(plan, step, index), step.target) end
  end)

  it("show files of ours, over the host's or at a place of their own", function()
    local ctx = { cwd = top, env = {}, features = { landlock = 7 }, identity = ORDINARY,
      files = { { name = "ca.pem", content = "x" } } }
    local profile = tree.profile(top, { masked = { "a/f", "a/none", "b" } })
    profile.filesystem.masked[1].content = "made up"
    local rules = decide.compile(profile, ctx)
    local plan = assert(namespaces.compile(profile, rules, ctx))
    local st = require("srt.c.sys").stat(top .. "/a/f")
    assert.same({ { op = "content", target = top .. "/a/f", content = "made up", mode = st.mode, uid = st.uid,
      gid = st.gid } }, plan.mounts)
    assert.same({ { name = "ca.pem", content = "x", mode = tonumber("444", 8) } }, plan.files)
    assert.equal(2, #rules.notes)
  end)

  it("let Landlock allow what is writable, and nothing else", function()
    local plan = compile(top, { allowWrite = { "a", "b/a" }, denyWrite = { "a/b" } })
    assert.same({ top .. "/a", top .. "/b/a", "/dev", "/proc" }, plan.writable)
  end)

  it("cover a denied root with ways through to what is allowed", function()
    local plan = compile(top, { denyRead = { "/" }, allowRead = { "/usr" } })
    assert.equal("scaffold", plan.mounts[1].op)
    assert.equal("/", plan.mounts[1].target)
    local slots = {}
    for _, slot in ipairs(plan.mounts[1].slots) do slots[slot.path] = true end
    assert.is_true(slots.usr and slots.proc and slots.dev)
  end)

  it("do without Landlock where it would break renames, and say so in the rules", function()
    local ctx = { cwd = top, env = {}, features = { landlock = 1 }, identity = ORDINARY }
    local profile = tree.profile(top, {})
    local plan = assert(namespaces.compile(profile, decide.compile(profile, ctx), ctx))
    assert.is_false(plan.landlock)
    assert.is_false(plan.scopeSignals)
    local found = false
    for _, rule in ipairs(plan.seccomp) do found = found or rule.call == "kill" end
    assert.is_true(found)
  end)
end)

describe("listeners", function()
  local function listen(allowed, more)
    local profile = require("spec.lua.support").resolve(("return { network = { allowedDomains = { %s }, %s } }"):format(
      allowed, more or "transparent = false"))
    local ctx = { cwd = "/", env = {}, features = { landlock = 7 }, identity = ORDINARY }
    local plan, message = namespaces.compile(profile, decide.compile(profile, ctx), ctx)
    if not plan then return nil, message end
    local out = {}
    for i, point in ipairs(plan.listen) do out[i] = ("%s %s %d"):format(point.purpose, point.address, point.port) end
    -- Whoever listens for clients can ask whose connection it is.
    if out[1] then assert.equal("owners  0", table.remove(out)) end
    return out
  end

  it("are the proxy's and those of loopback destinations", function()
    assert.same({}, listen(""))
    assert.same({ "http 127.0.0.1 3128", "socks 127.0.0.1 1080" }, listen('"a.test"'))
    assert.same({ "http 127.0.0.1 3128", "socks 127.0.0.1 1080", "loopback 127.0.0.1 5432", "loopback ::1 5432" },
      listen('"localhost:5432"'))
  end)

  it("leave a port to the destination that the policy names", function()
    assert.same({ "http 127.0.0.1 3130", "socks 127.0.0.1 1080", "loopback 127.0.0.1 3128",
      "loopback 127.0.0.1 3129" }, listen('"127.0.0.1:3128", "127.0.0.1:3129"'))
    local ports = {}
    for port = 1080, 1082 do ports[#ports + 1] = ('"127.0.0.1:%d"'):format(port) end
    assert.equal("socks 127.0.0.1 1083", listen(table.concat(ports, ","))[2])
  end)

  it("serve programs that ignore proxies", function()
    local got = listen('"127.0.0.1:3129"', " ")
    assert.same({ "transparent 127.0.0.1 3130", "transparent ::1 3130" }, { got[4], got[5] })
    assert.truthy(got[6]:find("^dns %S+ 53$"))
    assert.same(got[6], got[7])
    assert.equal(126, #assert(listen(('"localhost:%d",'):rep(60):gsub("%%d", (function()
      local port = 5000
      return function() port = port + 1 return tostring(port) end
    end)()), " ")))
  end)

  it("are bounded, which is said", function()
    local many = {}
    for port = 5001, 5060 do many[#many + 1] = ('"localhost:%d"'):format(port) end
    assert.equal(122, #assert(listen(table.concat(many, ","))))
    many[#many + 1] = '"localhost:5999"'
    local plan, message = listen(table.concat(many, ","))
    assert.is_nil(plan)
    assert.truthy(message:find('"localhost:5999"', 1, true), message)
  end)
end)
