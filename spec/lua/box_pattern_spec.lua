-- SPDX-License-Identifier: Apache-2.0
-- The box's string, table and utf8 functions give what Lua's own give: compared on random patterns and arguments.

local support = require("spec.lua.box_support")
local suite = support.box and describe or pending

-- SRT_SPEC_SEED repeats a run that failed.
local SEED = tonumber(os.getenv("SRT_SPEC_SEED")) or os.time()
local ROUNDS = tonumber(os.getenv("SRT_SPEC_ROUNDS")) or 20000

suite("the box's libraries against Lua's own", function()
  local LIMITS = { loadInstructions = 1e12, loadSeconds = 300, callInstructions = 1e8, callCpuMs = 10000 }

  ---@param names string[] functions of the box, as Lua expressions
  local function functions(names)
    local box, value = support.load([[
      local function wrap(f)
        return function(args) return table.pack(pcall(f, table.unpack(args.list, 1, args.n))) end
      end
      return { ]] .. table.concat(names, ", ") .. " }", { limits = LIMITS })
    local calls = {}
    for i, handle in ipairs(value) do
      calls[i] = function(...)
        local ok, results = box:call(handle, "violation", { list = { ... }, n = select("#", ...) })
        assert(ok, results)
        return results
      end
    end
    return calls
  end

  local function show(v)
    return type(v) == "string" and ("%q"):format(v) or tostring(v)
  end

  ---Errors need not be worded alike; that there is one must agree.
  local function compare(name, ours, theirs, ...)
    local got, want = ours(...), table.pack(pcall(theirs, ...))
    local same = got[1] == want[1]
    if same and got[1] then
      same = got.n == want.n
      for i = 2, want.n do
        same = same and got[i] == want[i] and math.type(got[i]) == math.type(want[i])
      end
    end
    if not same then
      local args, results = {}, {}
      for i = 1, select("#", ...) do
        args[i] = show((select(i, ...)))
      end
      for _, list in ipairs { got, want } do
        for i = 1, list.n do
          results[#results + 1] = show(list[i])
        end
        results[#results + 1] = "|"
      end
      error(("%s(%s): %s seed %d"):format(name, table.concat(args, ", "), table.concat(results, " "), SEED))
    end
  end

  local function pick(list)
    return list[math.random(#list)]
  end

  local SINGLES = { "a", "b", "c", ".", "%a", "%A", "%d", "%w", "%s", "%S", "%.", "%%", "[ab]", "[^a]", "[a-c]", "[%w_]",
    "[]a]", "[^]]", "[a-]", "[%-x]", "x", "1", " ", "%p", "%x", "%g", "%c", "%l", "%u", "%z", "%Z", "\0", "[\0-\31]", "-",
    "é", "[%a-z]", "[+--]" }
  local ITEMS = { "(", ")", "()", "%b()", "%bab", "%f[%w]", "%f[^a]", "%f[%z]", "%1", "%2", "$", "^", "(a", "b)", "(.-)",
    "(.*)", "(%w+)" }
  local BROKEN = { "%", "[", "[^", "[a", "[%", "%b", "%bx", "%f", "%fa", "%9", "%0", ")", "(", "[]", "[^]" }
  local SUFFIXES = { "", "", "", "*", "+", "-", "?" }

  local function random_pattern()
    local parts = { math.random(6) == 1 and "^" or "" }
    for _ = 1, math.random(0, 6) do
      local n = math.random(40)
      if n == 1 then
        parts[#parts + 1] = pick(BROKEN)
      elseif n < 12 then
        parts[#parts + 1] = pick(ITEMS)
      else
        parts[#parts + 1] = pick(SINGLES) .. pick(SUFFIXES)
      end
    end
    return table.concat(parts) .. (math.random(8) == 1 and "$" or "")
  end

  local PIECES = { "a", "b", "c", "ab", "aab", "(", ")", "(a)", " ", "1", "x", "_", "\0", "é", "-", "%", "]", "[", "^", "$", ".", "A" }

  local function random_text(most)
    local parts = {}
    for i = 1, math.random(0, most) do
      parts[i] = pick(PIECES)
    end
    return table.concat(parts)
  end

  local function random_position()
    return math.random(4) == 1 and math.random(-12, 12) or nil
  end

  local REPLACEMENTS = { "", "x", "<%0>", "%1", "%1%2", "%%", "%", "%x", "[%0%0]", "%3", 7, 1.5 }

  local function all_matches(f)
    return function(...)
      local found = {}
      for a, b in f(...) do
        found[#found + 1] = tostring(a) .. "," .. tostring(b)
        if #found > 200 then break end
      end
      return table.concat(found, ";")
    end
  end

  local ALL_MATCHES = [[wrap(function(...)
    local found = {}
    for a, b in string.gmatch(...) do
      found[#found + 1] = tostring(a) .. "," .. tostring(b)
      if #found > 200 then break end
    end
    return table.concat(found, ";")
  end)]]

  before_each(function() math.randomseed(SEED) end)

  it("find, match, gmatch, gsub", function()
    local find, match, gmatch, gsub, count = table.unpack(functions {
      "wrap(string.find)", "wrap(string.match)", ALL_MATCHES, "wrap(string.gsub)",
      "wrap(function(s, p) return (s:gsub(p, function(a, b) return a and #tostring(a) % 2 == 0 and (b or 'F') end)) end)",
    })
    local function counted(s, p)
      return (s:gsub(p, function(a, b) return a and #tostring(a) % 2 == 0 and (b or "F") end))
    end
    for _ = 1, ROUNDS do
      local s, p, at = random_text(12), random_pattern(), random_position()
      compare("find", find, string.find, s, p, at, math.random(12) == 1)
      compare("match", match, string.match, s, p, at)
      compare("gmatch", gmatch, all_matches(string.gmatch), s, p, at)
      compare("gsub", gsub, string.gsub, s, p, pick(REPLACEMENTS), math.random(5) == 1 and math.random(-1, 3) or nil)
      compare("gsub with a function", count, counted, s, p)
    end
  end)

  it("patterns near the limits", function()
    local find = functions({ "wrap(string.find)" })[1]
    for _, n in ipairs { 31, 32, 33, 98, 99, 100, 101, 198, 199, 200, 201, 1000 } do
      compare("find", find, string.find, ("a"):rep(n), ("(a)"):rep(n))
      compare("find", find, string.find, ("a"):rep(n), ("a?"):rep(n))
      compare("find", find, string.find, ("a"):rep(n), ("a-"):rep(n))
      compare("find", find, string.find, ("a"):rep(n), ("a"):rep(n) .. "$")
    end
  end)

  it("sub, byte, rep, reverse, case, len, char, format, pack", function()
    local names = { "sub", "byte", "rep", "reverse", "lower", "upper", "len", "char", "format", "packsize", "pack" }
    local expressions = {}
    for i, name in ipairs(names) do
      expressions[i] = "wrap(string." .. name .. ")"
    end
    local ours = functions(expressions)
    local numbers = { 0, 1, 2, 3, -1, -2, -5, 5, 100, -100, math.maxinteger, math.mininteger, 2.0, 1.5 }
    local formats = { "%d", "%5.2f", "%s", "%q", "%x", "%c", "%-5s|", "%99d", "%100d", "%", "%y", "%i %s", "%a", "%%" }
    for _ = 1, 3000 do
      local s, a, b = random_text(6), pick(numbers), pick(numbers)
      compare("sub", ours[1], string.sub, s, a, math.random(2) == 1 and b or nil)
      compare("byte", ours[2], string.byte, s, a, math.random(2) == 1 and b or nil)
      compare("rep", ours[3], string.rep, s, math.random(-1, 9), math.random(2) == 1 and random_text(2) or nil)
      for i = 4, 7 do
        compare(names[i], ours[i], string[names[i]], s)
      end
      compare("char", ours[8], string.char, math.random(0, 256), math.random(0, 255))
      compare("format", ours[9], string.format, pick(formats), math.random(2) == 1 and a or s, b)
      compare("packsize", ours[10], string.packsize, pick { "i4", "b", "!8i8", "s", "z", "i17", "x", "" })
      compare("pack", ours[11], string.pack, pick { "i4", "b", "s1", "z", "<d", "i17" }, math.random(2) == 1 and a or s)
    end
  end)

  it("table functions", function()
    local function run(t, op, a, b, c)
      local result
      if op == "insert" then table.insert(t, a) elseif op == "insert at" then table.insert(t, b, a)
      elseif op == "remove" then result = table.remove(t) elseif op == "remove at" then result = table.remove(t, b)
      elseif op == "move" then table.move(t, b, c, a) elseif op == "concat" then result = table.concat(t, "-", b, c)
      elseif op == "unpack" then result = select("#", table.unpack(t, b, c))
      elseif op == "pack" then result = table.pack(table.unpack(t)).n else table.sort(t) end
      local all = {}
      for i = -12, 24 do
        all[#all + 1] = tostring(t[i])
      end
      return table.concat(all, " ") .. " = " .. tostring(result)
    end
    local source = assert(io.open(support.folder_of_specs .. "/box_pattern_spec.lua")):read("a")
    local text = source:match("local (function run%(.-\n    end)\n"):gsub("^function run", "function")
    local ours = functions { "wrap(function(list, ...) local t = {} for i = 1, #list do t[i] = list[i] end return ("
      .. text .. ")(t, ...) end)" }[1]
    local function theirs(list, ...)
      local t = {}
      for i = 1, #list do
        t[i] = list[i]
      end
      return run(t, ...)
    end
    local operations = { "insert", "insert at", "remove", "remove at", "move", "concat", "unpack", "pack", "sort" }
    for _ = 1, 5000 do
      local list = {}
      for i = 1, math.random(0, 9) do
        list[i] = math.random(100)
      end
      compare("table", ours, theirs, list, pick(operations), math.random(-2, 12), math.random(-2, 12), math.random(-2, 12))
    end
  end)

  it("utf8 and numbers", function()
    local length, codepoint, offset, tonumber_ours = table.unpack(functions {
      "wrap(utf8.len)", "wrap(utf8.codepoint)", "wrap(utf8.offset)", "wrap(tonumber)" })
    for _ = 1, 3000 do
      local s, i, j = random_text(6), math.random(-8, 8), math.random(-8, 8)
      compare("len", length, utf8.len, s, i, j)
      compare("codepoint", codepoint, utf8.codepoint, s, i, j)
      compare("offset", offset, utf8.offset, s, i, math.random(2) == 1 and j or nil)
      compare("tonumber", tonumber_ours, tonumber, pick { "10", " 0x1F ", "1e3", "z", s, "7" }, math.random(3) == 1 and 36 or nil)
    end
  end)

  it("sorts as Lua does, by any order", function()
    local sort = functions { "wrap(function(list) local t = {} for i = 1, #list do t[i] = list[i] end "
      .. "table.sort(t, function(a, b) return a > b end) return table.concat(t, ' ') end)" }[1]
    for _ = 1, 300 do
      local list = {}
      for i = 1, math.random(0, 200) do
        list[i] = math.random(50)
      end
      compare("sort", sort, function(t)
        local copy = table.move(t, 1, #t, 1, {})
        table.sort(copy, function(a, b) return a > b end)
        return table.concat(copy, " ")
      end, list)
    end
  end)
end)
