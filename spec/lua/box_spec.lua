-- SPDX-License-Identifier: Apache-2.0
-- The box as its host sees it: what crosses, what errors look like, what callbacks get.

local support = require("spec.lua.box_support")

local suite = support.box and describe or pending

suite("srt.c.box", function()
  local value, fault, call = support.value, support.fault, support.call

  describe("values that come out", function()
    it("are copies of plain data", function()
      assert.same({ 1, 2.5, "a", true, n = { x = { "y" } }, [10] = false },
        value("return { 1, 2.5, 'a', true, n = { x = { 'y' } }, [10] = false }"))
      assert.equal("integer", math.type(value("return 3")))
      assert.equal("float", math.type(value("return 3.0")))
      assert.is_nil(value("return nil"))
      assert.is_nil(value(""))
    end)

    it("keep any bytes", function()
      local bytes = {}
      for i = 0, 255 do
        bytes[#bytes + 1] = string.char(i)
      end
      assert.equal(table.concat(bytes), value([[
        local t = {}
        for i = 0, 255 do t[#t + 1] = string.char(i) end
        return table.concat(t)]]))
      assert.same({ ["a\0b"] = "\0" }, value("return { ['a\\0b'] = '\\0' }"))
    end)

    it("are read without their metatables", function()
      local got = value([[
        local called = false
        local t = setmetatable({ a = 1 }, {
          __index = function() called = true return 5 end,
          __pairs = function() called = true return function() end end,
          __len = function() called = true return 9 end,
          __metatable = "locked", __name = "x", __tostring = function() called = true return "" end,
        })
        return { t = t, seen = function() return called end }]])
      assert.same({ a = 1 }, got.t)
      assert.is_nil(got.t.b)
      assert.is_nil(getmetatable(got.t))
    end)

    it("do not change with the policy's table", function()
      local box, got = support.load([[
        local t = { list = { 1 } }
        t.change = function() t.list[1] = 2; t.list = nil return true end
        return t]])
      assert.is_true(box:call(got.change, "violation", {}))
      assert.same({ 1 }, got.list)
    end)

    it("name the key path of what can't cross", function()
      for text, path in pairs {
        ["local t = {} t.a = { b = t } return t"] = "a.b: the table contains itself",
        ["local t = { list = { 1, {} } } t.list[2].up = t.list return t"] = "list[2].up: the table contains itself",
        ["local t = {} local u = t for i = 1, 70 do u.x = {} u = u.x end return t"] = "nested too deeply",
        ["local t = {} for i = 1, 23 do t = { t, t } end return { k = t }"] = "too many values",
        ["return { [{}] = 1 }"] = "the policy's value: a key must be",
        ["return { a = { [true] = 1 } }"] = "a: a key must be",
        ["local s = ('x'):rep(1 << 20) local t = {} for i = 1, 100 do t[i] = s end return { k = t }"] = "too much text",
        ["return { a = { ['$answer'] = 'allow' } }"] = "a.$answer: this key is reserved",
        ["return { ['$remove'] = 'x' }"] = "$remove: this key is reserved",
      } do
        local got = fault(text)
        assert.equal("value", got.kind)
        assert.truthy(got.message:find(path, 1, true), got.message)
      end
    end)

    it("mark srt's own values", function()
      assert.same({ { ["$remove"] = "x" } }, value("return { srt.remove 'x' }"))
      assert.same({ ["$answer"] = "pass" }, value("return srt.pass"))
      assert.same({ LANG = "C" }, value("return srt.env"))
    end)
  end)

  describe("functions", function()
    it("are opaque handles that know their place", function()
      local box, got = support.load("return {\n  f = function() end,\n}")
      assert.is_true(support.box.isfn(got.f))
      assert.is_false(support.box.isfn(print))
      assert.is_false(support.box.isfn(io.stdout))
      local file, line = box:where(got.f)
      assert.truthy(file:find("/p.lua", 1, true))
      assert.equal(2, line)
    end)

    it("of another box are refused", function()
      local _, got = support.load("return { f = function() end }")
      local other = support.load("return {}")
      assert.has_error(function() other:call(got.f, "violation", {}) end)
      assert.has_error(function() other:where(got.f) end)
    end)

    it("are forgotten with their handles", function()
      local box, got = support.load([[return { f = function()
        local big = ("x"):rep(100000)
        return srt.allow { onResponse = function() return big end }
      end }]])
      for _ = 1, 2000 do
        assert.is_true((box:call(got.f, "violation", {})))
        collectgarbage("step")
      end
      collectgarbage()
      assert.is_true((box:call(got.f, "violation", {})))
    end)
  end)

  describe("errors", function()
    it("of syntax say file and line", function()
      local got = fault("local a = 1\n\nlocal = 2")
      assert.equal("syntax", got.kind)
      assert.equal(3, got.line)
      assert.truthy(got.file:find("^/.*/p%.lua$"))
    end)

    it("at run time say file, line and where from", function()
      local got = fault("#!/usr/bin/env srt-lua\nlocal function f()\n  error('oh no')\nend\nf()")
      assert.equal("runtime", got.kind)
      assert.equal(3, got.line)
      assert.truthy(got.message:find("oh no", 1, true))
      assert.truthy(got.traceback:find("in local 'f'", 1, true))
    end)

    it("of files that can't be read are io", function()
      local folder = support.folder { ["big.lua"] = ("-"):rep((1 << 20) + 1) }
      local box = support.open(folder)
      os.execute("mkfifo " .. folder .. "/fifo.lua")
      for _, name in ipairs { "none.lua", "big.lua", "fifo.lua", "." } do
        local got, err = box:load(folder .. "/" .. name)
        assert.is_nil(got)
        assert.equal("io", err.kind)
      end
      support.remove(folder)
    end)

    it("show no more than text of their objects", function()
      local objects = {
        "{}", "setmetatable({}, { __tostring = function() while true do end end })",
        "setmetatable({}, { __tostring = error, __name = {} })", "nil", "true", "print", "srt.pass",
      }
      for _, object in ipairs(objects) do
        local got = fault("error(" .. object .. ")")
        assert.equal("runtime", got.kind)
        assert.truthy(got.message:find("error object is a", 1, true), got.message)
      end
      assert.equal("12.5", fault("error(12.5)").message)
      assert.is_true(#fault("error(('x'):rep(1e6))").message <= 4096)
    end)

    it("of a callback come with the traceback", function()
      local ok, message, kind = call("function(v) return v.a.b end", nil, "violation", { a = 1 })
      assert.is_false(ok)
      assert.equal("runtime", kind)
      assert.truthy(message:find("p.lua:1:", 1, true))
      assert.truthy(message:find("stack traceback", 1, true))
    end)

    it("leave the box usable", function()
      local box, got = support.load("return { bad = function() error('x') end, good = function() return true end }")
      for _ = 1, 300 do
        assert.is_false((box:call(got.bad, "violation", {})))
        local ok, answer = box:call(got.good, "violation", {})
        assert.is_true(ok and answer)
      end
    end)
  end)

  describe("box.new", function()
    it("refuses what it doesn't know", function()
      local new = support.box.new
      assert.has_error(function() new { root = "/tmp", facts = {}, presets = 1 } end)
      assert.has_error(function() new { root = "/tmp", facts = {}, limits = { memroy = 1 } } end)
      assert.has_error(function() new { root = "/tmp", facts = {}, limits = { memory = -1 } } end)
      assert.has_error(function() new { root = "/tmp" } end)
      assert.has_error(function() new() end)
    end)

    it("says why there is none", function()
      local box, message = support.box.new { root = "/nonexistent/folder", facts = {} }
      assert.is_nil(box)
      assert.truthy(message:find("No such file", 1, true))
      local link = support.folder()
      os.execute(("ln -s / '%s/l'"):format(link))
      assert.is_nil(support.box.new { root = link .. "/l", facts = {} })
      assert.is_nil(support.box.new { root = "/tmp", facts = { env = { A = print } } })
      support.remove(link)
    end)

    it("can be closed, by scope too, and then says so", function()
      local kept
      do
        local box <close> = support.load("return {}")
        kept = box
      end
      assert.has_error(function() kept:load("/x") end)
      kept:close()
      assert.equal(0, kept:stats().memory)
    end)
  end)

  it("can't be entered again by its log", function()
    local seen, box, got = 0, nil, nil
    box, got = support.load("return { f = function() srt.log.info('x') return true end }", {
      log = function()
        seen = seen + 1
        assert.has_error(function() box:call(got.f, "violation", {}) end)
        assert.has_error(function() box:close() end)
        error("a failing log")
      end,
    })
    local ok, answer = box:call(got.f, "violation", {})
    assert.is_true(ok and answer)
    assert.equal(1, seen)
  end)

  it("counts", function()
    local box, got = support.load("return { f = function() for i = 1, 1e5 do end end }")
    box:call(got.f, "violation", {})
    local stats = box:stats()
    assert.is_true(stats.memory > 10000 and stats.memory <= stats.peak)
    assert.is_true(stats.instructions > 50000 and stats.instructions < 500000)
  end)
end)
