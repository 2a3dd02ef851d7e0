-- SPDX-License-Identifier: Apache-2.0
-- What a policy with bugs, or driven by hostile input, can try: each must end, fail closed, and leave no trace.

local support = require("spec.lua.box_support")
local suite = support.box and describe or pending

suite("attacks on the box", function()
  -- Far more than any budget here is worth, sanitizers included, and less than the default limit of loading.
  local PATIENCE = 8

  local function timed(f, ...)
    local start = os.clock()
    local results = table.pack(f(...))
    assert.is_true(os.clock() - start < PATIENCE, "it took " .. os.clock() - start .. " s")
    return table.unpack(results, 1, results.n)
  end

  ---Loads the text; it must fail with one of these kinds.
  local function refused(text, ...)
    local _, value, fault = timed(support.load, text, { limits = { loadInstructions = 5e6, loadMemory = 16 << 20 } })
    assert.truthy(fault, "it was loaded: " .. tostring(value) .. ": " .. text:sub(1, 90))
    for _, kind in ipairs { ... } do
      if fault.kind == kind then
        return fault
      end
    end
    error(("%s: %s (%s)"):format(text:sub(1, 90), fault.kind, fault.message:sub(1, 200)))
  end

  it("loops", function()
    refused("while true do end", "budget")
    refused("for i = 1, math.huge do end", "budget")
    refused("local function f() return f() end f()", "budget")
    refused("::a:: goto a", "budget")
    assert.equal("budget", select(3, timed(support.call, "function() while true do end end")))
  end)

  it("a loop that catches its own end", function()
    refused("local function spin() while true do end end while true do pcall(spin) end", "budget")
    refused("local function f() pcall(f) while true do pcall(f) end end f()", "budget")
    refused("while true do pcall(pcall, pcall, error) end", "budget")
    refused("local t = setmetatable({}, { __index = function(t, k) return pcall(function() return t[k] end) end }) "
      .. "while true do pcall(function() return t.x end) end", "budget")
    refused("while true do pcall(table.sort, { 3, 2, 1, 4 }, function() while true do end end) end", "budget")
    refused("while true do pcall(string.gsub, 'aaa', 'a', function() while true do end end) end", "budget")
  end)

  it("handlers and finalizers, where hooks are off", function()
    assert.equal("runtime", support.fault("xpcall(error, function() while true do end end)").kind)
    for _, text in ipairs {
      "setmetatable({}, { __gc = function() while true do end end })",
      "setmetatable({}, { __close = function() while true do end end })",
      "local m = {} setmetatable({}, m) m.__gc = 1 setmetatable({}, m)",
    } do
      local fault = support.fault(text)
      assert.truthy(fault.message:find("is not for policies", 1, true), fault.message)
    end
    -- Set after setmetatable has looked: __gc is without effect, and __close runs with hooks on.
    support.value([[
      local m = {}
      for i = 1, 1000 do setmetatable({}, m) end
      m.__gc = function() while true do end end
      local kept = {}
      for i = 1, 100000 do kept = { kept = {} } end
      return true]])
    refused("local m = {} local t = setmetatable({}, m) m.__close = function() while true do end end "
      .. "do local x <close> = t end", "budget")
    refused("local m = {} local t = setmetatable({}, m) m.__close = function() while true do end end "
      .. "local x <close> = t error('x')", "runtime")
    refused("local m = {} local t = setmetatable({}, m) m.__close = function() while true do end end "
      .. "while true do pcall(function() local x <close> = t error('x') end) end", "budget")
    refused("local m = {} local t = setmetatable({}, m) m.__close = function() while true do end end "
      .. "local function f() local x <close> = t while true do end end while true do pcall(f) end", "budget")
  end)

  it("fresh coroutines", function()
    assert.is_true(support.value("return coroutine == nil"))
  end)

  it("patterns that backtrack without end", function()
    for _, call in ipairs {
      "string.find(('a'):rep(1e4), '.-.-.-.-b$')", "string.match(('a'):rep(1e5), '(.-)(.-)(.-)%1%2b')",
      "string.gsub(('a'):rep(1e5), '.-.-.-b', '')", "for _ in string.gmatch(('a'):rep(1e5), 'a*a*a*a*b') do end",
      "string.find(('('):rep(1e5), '%b()%b()%b()')", "string.find(('a'):rep(1e6), ('a?'):rep(60) .. 'b')",
      "string.find(('a'):rep(1e5), '[' .. ('b'):rep(1e5) .. ']')",
      -- None of them spends it all; together they must.
      "local s = ('a'):rep(500) for i = 1, 1e5 do s:find('.-b') end",
      "while true do pcall(string.find, ('a'):rep(1e4), '.-.-.-.-b$') end",
    } do
      refused(call, "budget")
    end
    assert.equal("budget", select(3, timed(support.call,
      "function(r) return r.s:find('.-.-.-.-b$') end", nil, "violation", { s = ("a"):rep(1e5) })))
  end)

  it("C functions that run for seconds", function()
    for _, call in ipairs {
      "table.move({ 1 }, 1, 1 << 31, 2)", "string.rep('x', 1e9)", "string.rep('', 1e15, 'x')",
      "table.concat(setmetatable({}, { __len = function() return 1 << 60 end, __index = function() return '' end }))",
      "table.insert(setmetatable({}, { __len = function() return 1 << 60 end }), 1, 1)",
      "table.remove(setmetatable({}, { __len = function() return 1 << 60 end }), 1)",
      "table.sort(setmetatable({}, { __len = function() return 1 << 30 end }), rawequal)",
      "table.unpack({}, 1, 1e6) table.unpack({}, 1, 1e8)", "while true do ('x'):rep(1e6):reverse() end",
      "local s = ('x'):rep(1e6) while true do pcall(string.byte, s, 1, -1) end",
      "local s = ('%s'):rep(1e4) while true do pcall(string.format, s, table.unpack({}, 1, 1e4)) end",
      "local s = ('x'):rep(4e6) while true do s:upper() end", "local s = (' '):rep(4e6) while true do tonumber(s) end",
      "local s = ('%c'):rep(1e6) while true do pcall(os.date, s) end",
      "local s = ('x'):rep(4e6) while true do utf8.len(s) end",
      "local s = ('x'):rep(1e6) while true do s:find('xy', 1, true) end",
      "local s = ('x'):rep(4e6) while true do srt.sha256(s) end",
      "local s = ('*a'):rep(1e4) srt.match(('a'):rep(1e6), s)",
      "local s = '[' .. ('1,'):rep(1e5) .. '1]' while true do srt.json.decode(s) end",
      "local s = ('i4'):rep(1e5) while true do pcall(string.unpack, s, ('x'):rep(4e5)) end",
      "local t = {} for i = 1, 1e4 do t[i] = 'x' end while true do table.concat(t) end",
      "while true do srt.log.info('x') end", "while true do srt.exists('/') end",
    } do
      refused(call, "budget", "memory", "runtime")
    end
  end)

  it("what nothing counts ends by the clock", function()
    for _, text in ipairs {
      "local a = ('x'):rep(7e6) local b = a .. 'y' while true do local _ = a .. 'z' < b end",
      -- One instruction copies as many arguments as there are.
      "local function f(...) return f(1, ...) end f()",
      -- An error that is caught costs time by the depth of the stack.
      "local function f(n) if n == 0 then while true do pcall(error) end end return 1 + f(n - 1) end f(150000)",
    } do
      local _, _, fault = timed(support.load, text, { limits = { loadSeconds = 0.2 } })
      assert.equal("budget", fault.kind)
      assert.truthy(fault.message:find("processor time spent", 1, true), fault.message)
    end
  end)

  it("hostile comparisons", function()
    assert.is_true(support.value([[
      local t = {}
      for i = 1, 1000 do t[i] = i end
      table.sort(t, function() return true end)
      table.sort(t, function() return math.random() < 0.5 end)
      pcall(table.sort, t, function(a, b) t[1] = nil t[a] = b return a ~= b end)
      return true]]))
    local spin = "setmetatable({}, { __%s = function() while true do end end })"
    refused(("local a, b = %s, {} return a == b"):format(spin:format("eq")), "budget")
    refused(("table.sort { %s, %s }"):format(spin:format("lt"), spin:format("lt")), "budget")
    refused(("return #%s"):format(spin:format("len")), "budget")
    refused(("return tostring(%s)"):format(spin:format("tostring")), "budget")
    refused(("return %s .. 'x'"):format(spin:format("concat")), "budget")
    refused(("print(%s)"):format(spin:format("tostring")), "budget")
    refused(("pairs(%s)"):format(spin:format("pairs")), "budget")
  end)

  it("memory", function()
    refused("local t = {} while true do t[#t + 1] = {} end", "memory", "budget")
    refused("local s = 'x' while true do s = s .. s end", "memory")
    refused("local t = {} while true do t = { t, ('x'):rep(1e5) .. #t } end", "memory", "budget")
    refused("return ('x'):rep(1 << 10):rep(17 << 10)", "memory")
    refused("local t = {} while true do pcall(string.rep, 'x', 1e9) end", "budget")
    refused("while true do pcall(function() local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end end) end",
      "budget")
    assert.equal("memory", select(3, timed(support.call,
      "function() local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end end")))
    for _, cap in ipairs { 1, 100, 1000, 10000 } do
      local _, value, fault = support.load("return { 1 }", { limits = { loadMemory = cap, memory = cap } })
      assert.is_nil(value)
      assert.equal("memory", fault.kind)
    end
  end)

  it("deep recursion", function()
    for _, text in ipairs {
      "local function f() return 1 + f() end f()",
      "local function f() ('x'):gsub('x', f) end f()",
      "local function f() return pcall(f) end f() error('x')",
      "local function f() table.sort({ 1, 2 }, f) end f()",
      "local t = {} t = setmetatable(t, { __index = function(t, k) return t[k + 1] end }) return t[1]",
      "local t = setmetatable({}, {}) for i = 1, 1e4 do t = setmetatable({}, { __index = t }) end return t.x.y",
      "return " .. ("("):rep(1e5), "return " .. ("{"):rep(1e4), "return " .. ("- "):rep(1e5) .. "1",
      "local t = {} for i = 1, 1e5 do t = { t } end return t",
      "local t = {} for i = 1, 1e5 do t = { t } end srt.json.encode(t)",
      "return #srt.json.decode(('['):rep(1e6)).x",
    } do
      refused(text, "runtime", "syntax", "budget", "memory", "value")
    end
  end)

  it("code from elsewhere", function()
    local folder = support.folder { ["b.lua"] = string.dump(function() return 1 end), ["p.lua"] = "return require 'b'" }
    local box = support.open(folder)
    local value, fault = box:load(folder .. "/b.lua")
    assert.is_nil(value)
    assert.equal("syntax", fault.kind)
    value, fault = box:load(folder .. "/p.lua")
    assert.is_nil(value)
    assert.truthy(fault.message:find("binary chunk", 1, true))
    support.remove(folder)
  end)

  it("names that are not there", function()
    local env = support.value([[
      local names = {}
      for name, value in pairs(_G) do
        names[#names + 1] = name
        if type(value) == "table" and value ~= _G then
          for inner in pairs(value) do names[#names + 1] = name .. "." .. inner end
        end
      end
      return names]])
    local there = {}
    for _, name in ipairs(env) do
      there[name] = true
    end
    for _, name in ipairs { "load", "loadstring", "dofile", "loadfile", "xpcall", "collectgarbage", "coroutine", "debug",
      "io", "package", "os.execute", "os.exit", "os.getenv", "os.remove", "os.rename", "os.tmpname", "os.setlocale",
      "string.dump", "warn" } do
      assert.is_nil(there[name], name)
    end
    for _, name in ipairs { "assert", "pcall", "string.gsub", "table.unpack", "utf8.codes", "math.random", "os.date",
      "_VERSION", "_G", "require", "next" } do
      assert.is_true(there[name], name)
    end
  end)

  it("the string metatable", function()
    assert.is_true(support.value([[
      assert(getmetatable("") == false)
      assert(("").dump == nil and ("x").rep == string.rep)
      assert("10" + 1 == 11 and -"2" == -2)
      assert(not pcall(setmetatable, "", {}))
      return true]]))
  end)

  it("metatables that are protected", function()
    assert.is_true(support.value([[
      local t = setmetatable({}, { __metatable = "mine" })
      assert(getmetatable(t) == "mine" and not pcall(setmetatable, t, nil))
      assert(not pcall(setmetatable, srt, {}) and not pcall(setmetatable, srt.pass, {}))
      return true]]))
  end)

  it("odd dates", function()
    for _, format in ipairs { "%", "%Ez", "%O", "%q", "%\0", "!%", "*tt", "%5d", "%E", ("%"):rep(1e4), "%-d" } do
      assert.is_true(support.value(("return type(pcall(os.date, %q)) == 'boolean'"):format(format)), format)
    end
    assert.is_true(support.value([[
      pcall(os.date, "%c", 1 << 62) pcall(os.date, "*t", -1 << 63) pcall(os.time, { year = 1 << 40, month = 1, day = 1 })
      return os.date("!%Y-%m-%d", 0) == "1970-01-01" and os.time { year = 2020, month = 1, day = 1 } > 0]]))
  end)

  it("a policy that breaks its own library", function()
    local ok, first = support.call([[(function()
      for _, name in pairs { "string", "table", "math" } do
        for inner in pairs(_G[name]) do _G[name][inner] = error end
      end
      pcall, error, type, next, pairs = nil, nil, nil, nil, nil
      return function(r) return r.host end
    end)()]], nil, "violation", { host = "h" })
    assert.is_true(ok)
    assert.equal("h", first)
  end)

  it("an allocator that fails, whichever call it is", function()
    local folder = support.folder {
      ["p.lua"] = [[
        local rules = require "rules"
        srt.log.info("loading", rules.host)
        return { list = { srt.remove "x", ("y"):rep(100) }, f = function(req)
          if req:header("accept") == rules.host then return srt.allow { setHeaders = { A = "b" } } end
          local ok = pcall(string.gsub, req.path, "(%w)", function(c) return c .. c end)
          return false, tostring(ok)
        end }]],
      ["rules.lua"] = "return { host = ('h'):rep(50) }",
    }
    local reached, done = 0, false
    for n = 1, 5000 do
      local failed = false
      for _, count in ipairs { 1, 2, 1e9 } do
        local box = support.box.new { root = folder, facts = { env = { A = "b" } }, log = function() end,
          limits = { failAllocation = n, failAllocations = count } }
        local value = box and box:load(folder .. "/p.lua")
        local ok, answer
        if value then
          ok, answer = box:call(value.f, "request", { path = "/a/b", headers = { { name = "Accept", value = "x" } } })
        end
        assert.is_true(not ok or answer == false)
        failed = failed or not ok
        if box then
          box:close()
        end
      end
      reached = n
      if not failed then
        done = true
        break
      end
    end
    assert.is_true(done and reached > 200, "calls: " .. reached)
    support.remove(folder)
  end)
end)
