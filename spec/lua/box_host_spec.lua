-- SPDX-License-Identifier: Apache-2.0
-- A box that asks the host, whose clock the host sets, and whose lines are counted: what srt-lua test and repl stand on.
local support = require("spec.lua.box_support")

describe("a box that asks", function()
  local folder
  before_each(function()
    folder = support.folder { ["p.lua"] = [[
local _, ask = require "srt.test"
return {
  ask = function() return ask("what", { 1, a = true }, "x") end,
  caught = function() return pcall(ask, "fail") end,
  spin = function() ask("what") while true do end end,
  times = function() return { srt.now(), os.time(), os.date("!%Y"), os.date("!%H", 7200), srt.rate("k", 1, 10) } end,
  waits = function() return srt.sleep(5) end,
  branch = function()
    if srt.state.x then
      return 1
    end
    return 2
  end,
}]], ["q.lua"] = "return { f = function(v) srt.state.n = (srt.state.n or 0) + 1 return { got = v.a, n = srt.state.n } end }" }
  end)
  after_each(function() support.remove(folder) end)

  local function open(ask, limits)
    local box = support.open(folder, { ask = ask, limits = limits,
      preset = function(name) return name == "srt.test" and "return ..., select(2, ...)" or nil, "=test" end })
    -- The second value of require is what was loaded with: here the way to ask.
    return box, assert(box:load(folder .. "/p.lua"))
  end

  it("gives what it asks to the host, and takes what that answers", function()
    local asked
    local box, p = open(function(...)
      asked = { ... }
      return { b = { 2 } }, "more"
    end)
    assert.same({ true, { b = { 2 } }, "more" }, { box:call(p.ask, "violation") })
    assert.same({ "what", { 1, a = true }, "x" }, asked)
  end)

  it("hears of the host's errors, and of answers that can't cross", function()
    local box, p = open(function(what)
      if what == "fail" then error("no such thing", 0) end
      return print
    end)
    local _, ok, message = box:call(p.caught, "violation")
    assert.same({ false, "no such thing" }, { ok, message })
    assert.is_false((box:call(p.ask, "violation")))
  end)

  it("may stand still while another box runs, and is watched after it", function()
    local other = support.open(folder)
    local q = assert(other:load(folder .. "/q.lua"))
    local box, p = open(function(_, v) return select(2, other:call(q.f, "violation", v or {})) end,
      { callInstructions = 1e13, callCpuMs = 60 })
    assert.same({ true, { got = true, n = 1 } }, { box:call(p.ask, "violation") })
    local ok, message = box:call(p.spin, "violation")
    assert.is_false(ok)
    assert.truthy(message:find("processor time spent", 1, true))
    assert.same({ true, { got = true, n = 3 } }, { box:call(p.ask, "violation") })
  end)

  it("has the time that the host sets", function()
    local box, p = open(function() end)
    box:clock(86400 * 365)
    local function times() return select(2, box:call(p.times, "violation")) end
    assert.same({ 31536000, 31536000, "1971", "02", true }, times())
    assert.is_false(times()[5])
    box:clock(86400 * 365 + 10)
    assert.same({ 31536010, 31536010, "1971", "02", true }, times())
  end)

  it("does not wait where it could not", function()
    local box, p = open(function() error("asked", 0) end)
    local ok, message = box:call(p.waits, "violation")
    assert.same({ false, true }, { ok, message:find("srt.sleep can't wait here", 1, true) ~= nil })
  end)

  it("survives any allocation that fails", function()
    for n = 1, 60 do
      local box, p = open(function() return { b = { 2 }, c = ("x"):rep(100) } end)
      box:limits { failAllocation = n, failAllocations = 3 }
      local ok, value = box:call(p.ask, "violation")
      assert.is_true(ok and value.b[1] == 2 or type(value) == "string")
      box:close()
    end
  end)

  it("counts the lines that ran, of a function's", function()
    local box, p = open(function() end)
    box:call(p.branch, "violation")
    assert.is_nil(next(box:covered()))
    box:cover()
    box:call(p.branch, "violation")
    local file = folder .. "/p.lua"
    assert.same({ 9, 10, 12, 13 }, box:lines(p.branch))
    assert.same({ [9] = true, [12] = true }, box:covered()[file])
    assert.has_error(function() box:lines(print) end)
  end)

  it("runs chunks of text, whose globals last", function()
    local box = open(function() end)
    assert.is_nil(box:chunk("x = 20", "typed"))
    assert.equal(21, box:chunk("return x + 1", "typed"))
    local _, fault = box:chunk("\nreturn x.y.z", "typed")
    assert.same({ "typed", 2, "runtime" }, { fault.file, fault.line, fault.kind })
    assert.equal("syntax", select(2, box:chunk("return return", "typed")).kind)
    assert.equal("syntax", select(2, box:chunk(string.dump(function() end), "typed")).kind)
  end)
end)

describe("a box that asks nobody", function()
  it("has no srt.test", function()
    local folder = support.folder { ["p.lua"] = "return { ok = pcall(require, 'srt.test') }" }
    local box = support.open(folder)
    assert.same({ ok = false }, box:load(folder .. "/p.lua"))
    support.remove(folder)
  end)
end)
