-- SPDX-License-Identifier: Apache-2.0
-- Loading: broken files, JSON settings, extends and merging, where entries came from.
local support = require("spec.lua.support")

local function texts_of(list)
  local out = {}
  for i, entry in ipairs(list or {}) do
    out[i] = type(entry.value) == "table" and entry.value.path or entry.value
  end
  return out
end

local function list(policy, key)
  return texts_of(policy.values[key] and policy.values[key].list)
end

local function problem(texts, presets, name)
  local policy, problems = support.load(texts, presets, name)
  assert.is_nil(policy)
  assert.is_true(#problems > 0)
  return problems[1], problems
end

describe("a file that is no policy", function()
  local rows = {
    { "", "returned nil" }, { "return nil", "returned nil" }, { "return 5", "returned the number 5" },
    { 'return "x"', 'returned the string "x"' }, { "return print", "returned a function" },
    { "return {\n  filesystem = {\n", "expected" }, { "error('boom')", "boom" },
  }
  for _, row in ipairs(rows) do
    it(("%q"):format(row[1]), function()
      local got = problem(row[1])
      assert.truthy(got.message:find(row[2], 1, true), got.message)
      assert.equal("p.lua", got.file)
    end)
  end

  it("names the line of a syntax error", function()
    assert.equal(3, problem("return {\n  x = 1,\n  y = = 2 }").line)
  end)

  it("says so when it is missing", function()
    assert.truthy(problem({}, {}, "gone.lua").message:find("No such file", 1, true))
    assert.truthy(problem({}, {}, "gone.json").message:find("can't be read: No such file", 1, true))
  end)

  it("reports all errors at once, each with its line", function()
    local _, all = problem([[
return {
  netwrok = {},
  filesystem = { denyRead = "~/.ssh" },
  network = {
    allowedDomains = {
      "ok.test",
      "http://bad.test",
    },
    decideConnect = 5,
  },
}]])
    local lines = {}
    for i, p in ipairs(all) do
      lines[i] = p.line
    end
    table.sort(lines)
    assert.same({ 2, 3, 7, 9 }, lines)
  end)

  it("names list entries that stand in two places by their index only", function()
    local got = problem('return { network = { allowedDomains = {\n "a/b",\n "ok.test" }, '
      .. 'deniedDomains = {\n "a/b" } } }')
    assert.is_nil(got.line)
    assert.truthy(got.key:find("Domains[1]", 1, true))
  end)

  it("does not look for lines in comments", function()
    local got = problem('-- "a/b"\n--[[ "a/b" ]]\nreturn { network = { allowedDomains = { "a/b" } } }')
    assert.equal(3, got.line)
  end)
end)

describe("JSON settings", function()
  local function json(text) return support.load({ ["s.json"] = text }, {}, "s.json") end
  local rows = {
    { "", 1, "empty" }, { "[]", nil, "found" }, { "5", nil, "found the number 5" }, { "null", nil, "found null" },
    { '{"network":{}', 1, "end of the file" }, { '{\n"network":{},\n"network":{}}', 3, "twice" },
    { '{\n}\nx', 3, "follows" }, { '{"a":1,}', 1, "key in double quotes" }, { "{'a':1}", 1, "double quotes" },
    { '{"network":{"allowedDomains":["a.test"\n"b.test"]}}', 2, 'expected "," or "]"' },
    { '{\n"network":\n{"allowedDomains":\n"a.test"}}', 3, "expected a list of hosts" },
    { '{"network":{"allowedDomains":{}}}', 1, "found an empty table" },
    { '{"network":\n[]}', 1, "expected a table" },
    { '{"network":{"allowedDomains":["a.test",\n"x y"]}}', 2, "characters" },
    { '{"network":{"allowedDomains":[{"$remove":"a"}]}}', 1, "expected a host" },
    { '{"network":{"strictAllowlist":null}}', 1, "found null" },
    { '{"filesystem":{"denyWriteTypo":["/x"]},"allowEverything":true}', 1, "unknown key" },
    { '{"network":{"filterRequest":"f"}}', 1, "functions need a Lua policy" },
    { '{"mandatoryDenySearchDepth":1e400}', 1, "found the number inf" },
    { '// x\n{}', 1, "not a JSON value" }, { '{"a":"\\q"}', 1, "unknown escape" }, { '\239\187\191{}', 1, "JSON" },
    { '{"a":"\255"}', 1, "UTF-8" }, { ("["):rep(100000), 1, "nested deeper" },
  }
  for i, row in ipairs(rows) do
    it(("row %d: %s"):format(i, row[3]), function()
      local policy, problems = json(row[1])
      assert.is_nil(policy)
      assert.truthy(problems[1].message:find(row[3], 1, true), problems[1].message)
      assert.equal(row[2], problems[1].line)
    end)
  end

  it("take time in proportion to their length, be it one line", function()
    local decode = require("srt.json").decode
    local function seconds(count)
      local text = "[" .. ('"host.sub.example.com",\n'):rep(3) .. ('"host.sub.example.com",'):rep(count) .. '"x"]'
      local from = os.clock()
      local value, places = decode(text)
      local took = os.clock() - from
      assert.equal(4, places.lines[value][count + 4])
      return took
    end
    assert.is_true(seconds(32000) < 25 * seconds(4000) + 0.05)
  end)

  it("are read as srt spells them, with exact lines", function()
    local policy = assert(json([[
{
  "network": { "allowedDomains": ["a.test",
     "a.test:443"], "deniedDomains": [] },
  "filesystem": { "denyRead": ["~/.ssh"], "allowWrite": ["."], "denyWrite": [] },
  "ripgrep": { "command": "rg" }, "mandatoryDenySearchDepth": 3.0,
  "enableWeakerNestedSandbox": false
}]]))
    assert.same({ "a.test", "a.test:443" }, list(policy, "network.allowedDomains"))
    assert.equal(3, policy.values["network.allowedDomains"].list[2].origin.line)
    assert.same({}, policy.unenforced)
    assert.equal("ripgrep", policy.named[1].key)
    assert.is_false(policy.values.enableWeakerNestedSandbox.value)
  end)
end)

describe("extends", function()
  local presets = {
    base = 'return { filesystem = { allowWrite = { "/b" }, denyRead = { "/s" } }, '
      .. 'network = { allowedDomains = { "b.test" }, deniedDomainReasons = { ["x.test"] = "b", ["y.test"] = "b" } }, '
      .. 'strict = true, limits = { connections = 5 } }',
    mid = 'return { extends = { "base" }, filesystem = { allowWrite = { "/m" } } }',
    other = 'return { extends = { "base" }, filesystem = { allowWrite = { "/o" } } }',
    loop = 'return { extends = { "loop2" } }', loop2 = 'return { extends = { "loop" } }',
    broken = "return {\n x =", bad = 'return { filesystem = { allowWrit = {} } }', none = "return 5",
  }

  it("appends lists base first, merges maps, lets the later scalar win", function()
    local policy = assert(support.load('return { extends = { "mid" }, filesystem = { allowWrite = { "/p" } }, '
      .. 'network = { deniedDomainReasons = { ["x.test"] = "p" } }, strict = false, limits = { connections = 7 } }',
      presets))
    assert.same({ "/b", "/m", "/p" }, list(policy, "filesystem.allowWrite"))
    local reasons = policy.values["network.deniedDomainReasons"].map
    assert.same({ "p", "b" }, { reasons["x.test"].value, reasons["y.test"].value })
    assert.is_false(policy.values.strict.value)
    assert.equal(7, policy.values["limits.connections"].value)
    assert.same({ "mid", "base" }, policy.presets)
  end)

  it("counts a policy once, however many ways lead to it", function()
    local policy = assert(support.load('return { extends = { "mid", "other", "base" } }', presets))
    assert.same({ "/b", "/m", "/o" }, list(policy, "filesystem.allowWrite"))
  end)

  it("takes tables, nested too", function()
    local policy = assert(support.load('return { extends = { { extends = { "base", { filesystem = '
      .. '{ allowWrite = { "/t" } } } } } }, filesystem = { allowWrite = { "/p" } } }', presets))
    assert.same({ "/b", "/t", "/p" }, list(policy, "filesystem.allowWrite"))
  end)

  it("takes entries out with srt.remove, of the base only", function()
    local policy = assert(support.load('return { extends = { "mid" }, filesystem = { allowWrite = { '
      .. 'srt.remove "/b", "/b2", srt.remove "/none" }, denyRead = { srt.remove "/s" } } }', presets))
    assert.same({ "/m", "/b2" }, list(policy, "filesystem.allowWrite"))
    assert.same({}, list(policy, "filesystem.denyRead"))
    assert.equal(1, #policy.warnings)
    assert.truthy(policy.warnings[1].message:find('"/none" takes nothing out', 1, true))
  end)

  it("chains functions, base first", function()
    local policy = assert(support.load('return { extends = { { network = { decideConnect = '
      .. 'function() return 1 end } } }, network = { decideConnect = function() return 2 end } }'))
    local chain, results = policy.values["network.decideConnect"].chain, {}
    for i, entry in ipairs(chain) do
      results[i] = select(2, support.call(entry.value))
    end
    assert.same({ 1, 2 }, results)
  end)

  it("says which file an entry came from", function()
    local text = 'return { extends = { "base" },\n filesystem = { allowWrite = {\n "/p" } } }'
    local policy = assert(support.load(text, presets))
    local entries = policy.values["filesystem.allowWrite"].list
    assert.same({ "policies/base.lua", 1 }, { entries[1].origin.file, entries[1].origin.line })
    assert.same({ "p.lua", 3 }, { entries[2].origin.file, entries[2].origin.line })
  end)

  it("finds entries in files that the policy requires", function()
    local texts = { ["p.lua"] = "return { filesystem = { allowWrite = require_list } }",
      ["list.lua"] = 'return {\n "/p" }' }
    local box = support.box(texts)
    box.load = function() return { filesystem = { allowWrite = { "/p" } } } end
    box.list = { "list.lua" }
    local policy = assert(require("srt.policy").load(box, "p.lua", { read = function(f) return texts[f] end }))
    local origin = policy.values["filesystem.allowWrite"].list[1].origin
    assert.same({ 2, "list.lua" }, { origin.line, origin.file })
  end)

  local rows = {
    { '{ "nmp" }', 'did you mean "npm"?' }, { '{ "gone" }', "can't be loaded" }, { '{ "x.lua" }', 'by (require "x")' },
    { '{ "./x.lua" }', 'found the string "./x.lua"; a file beside the policy is extended by (require "x"), in parentheses' },
    { '{ "lib/x.lua" }', '(require "lib.x")' }, { '{ {}, "/w/p (1)/x.lua" }', '(require "x")' },
    { '{ "loop" }', "extends itself" },
    { '{ "broken" }', "expected" }, { '{ "bad" }', "did you mean filesystem.allowWrite?" },
    { '{ "none" }', "no table" },
    { '{ { filesystem = { denyRead = "/x" } } }', "expected a list of paths" },
    { '{ { netwrok = {} } }', "did you mean extends[1].network?" }, { "{ {}, nil, {} }", "hole" },
  }
  for _, row in ipairs(rows) do
    it("refuses " .. row[1], function()
      local more = setmetatable({ npm = "return {}" }, { __index = presets })
      local got = problem("return { extends = " .. row[1] .. " }", more)
      assert.truthy(got.message:find(row[2], 1, true), got.message)
    end)
  end

  it("is bounded in depth and in number", function()
    local deep, many = ("{ extends = { "):rep(40) .. ("} }"):rep(40), {}
    assert.truthy(problem("return " .. deep).message:find("deeper than 16", 1, true))
    for i = 1, 300 do
      many[i] = "{}"
    end
    local got = problem("return { extends = {" .. table.concat(many, ",") .. "} }")
    assert.truthy(got.message:find("more than 256", 1, true))
  end)
end)

describe("keys that can't be held yet", function()
  local later = {
    "network = { allowAllDomains = true }", "limits = { loadBytes = 5 }",
  }
  for _, text in ipairs(later) do
    it("are listed: " .. text, function()
      local policy = assert(support.load("return {" .. text .. "}"))
      assert.equal(1, #policy.unenforced)
      assert.is_true(#policy.unenforced[1].message > 10)
    end)
  end

  local neutral = {
    "network = { allowUnixSockets = {}, parentProxy = {} }", 'observe = "writes"', 'observe = "none"',
    "mandatoryDenySearchDepth = 3", 'backend = "windows"', "secrets = {}",
    "limits = { loadInstructions = 50000000 }", "credentials = { envVars = {} }",
  }
  for _, text in ipairs(neutral) do
    it("may ask for nothing: " .. text, function()
      assert.same({}, assert(support.load("return {" .. text .. "}")).unenforced)
    end)
  end

  it("count in their merged value", function()
    local policy = assert(support.load("return { extends = { { network = { allowAllDomains = true } } }, "
      .. "network = { allowAllDomains = false } }"))
    assert.same({}, policy.unenforced)
  end)
end)
