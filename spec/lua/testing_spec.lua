-- SPDX-License-Identifier: Apache-2.0
-- What srt-lua test knows of the lines of rows, and that editors are told of all that a test may say.
require("spec.lua.support")
local lines = require("srt.test_lines")

local function read(name)
  local file = assert(io.open(name))
  local text = file:read("a")
  file:close()
  return text
end

describe("the lines of rows", function()
  for _, case in ipairs {
    { "one a line", "return { rows = {\n{ a = 1 },\n{ b = 2 },\n} }", 2, { 2, 3 } },
    { "two in a line, and no comma at the end", "return { rows = {\n{ a = 1 }, { b = {} },\n\n{ c } } }", 3, { 2, 2, 4 } },
    { "comments and strings with signs in them",
      "-- rows = {\nlocal s = 'rows = {'\nreturn { rows = { -- {, },\n--[[ {,\n ]] { a = '},{' },\n{ b = [[,\n{]] };\nrow() } }", 3,
      { 5, 6, 8 } },
    { "functions in rows", "return { rows = {\n{ f = function() if x then y(1, 2) else z() end end },\n{ b } } }", 2, { 2, 3 } },
    { "a local", "local rows = {\n1,\n'x' }\nreturn { rows = rows }", 2, { 2, 3 } },
    { "another count", "return { rows = {\n{ a = 1 },\n} }", 2, nil },
    { "a loop", "local rows = {}\nfor i = 1, 3 do rows[i] = {} end\nreturn { rows = rows }", 3, nil },
    { "no rows", "return {}", 0, nil },
    { "no end", "return { rows = { {},", 1, nil },
  } do
    it("are found: " .. case[1], function() assert.same(case[4], lines.of(case[2], "rows", case[3])) end)
  end
end)

describe("a row that misses", function()
  local compare = require("srt.test_row").compare
  local file = { is = "deny", rule = 'filesystem.denyRead "~/.ssh"' }

  it("says what can be compared, where there is no reason", function()
    assert.same({ 'there is no reason, but a rule to compare with: rule = "denyRead"' },
      compare({ is = "deny", reason = "denyRead" }, file))
    assert.same({ 'the reason "other" is expected, it is not there' }, compare({ is = "deny", reason = "other" }, file))
    assert.same({}, compare({ is = "deny", rule = "denyRead" }, file))
  end)
end)

describe("the meta file of tests", function()
  local text = read("lua/meta/test.d.lua")

  local function fields(class)
    local found = {}
    for name in text:match("%-%-%-@class srt%." .. class .. "[^\n]*\n(.-)\n\n"):gmatch("%-%-%-@field ([%w_]+) ") do
      found[name] = true
    end
    return found
  end

  it("has the keys of a test file, and of a row", function()
    local known = {}
    for key in read("lua/srt/test_spec.lua"):match("local KEYS = {(.-)\n}"):gmatch("\n  (%w+) = function") do known[key] = true end
    assert.same(known, fields("Tests"))
    local said, rows = fields("TestExpected"), read("lua/srt/test_row.lua")
    for name in pairs(fields("TestRow")) do said[name] = true end
    known = { request = true }
    for _, action in ipairs(require("srt.judge").actions()) do known[action] = true end
    for _, name in ipairs { "FIELDS", "EXPECTED" } do
      for key in rows:match("local " .. name .. " = (%b{})"):gmatch("(%w+) =") do known[key] = true end
    end
    assert.same(known, said)
  end)

  it("has the functions of srt.test, and docs/testing.md has them and the keys", function()
    local live, described = {}, {}
    for name in pairs(assert(loadfile("lua/box/test.lua"))("srt.test", function() end)) do live[name] = true end
    for name in text:gmatch("\nfunction test%.(%w+)%(") do described[name] = true end
    assert.same(live, described)
    local manual = read("docs/testing.md")
    for name in pairs(live) do assert.truthy(manual:find("`t." .. name, 1, true), name) end
    for _, class in ipairs { "Tests", "TestExpected" } do
      for name in pairs(fields(class)) do assert.truthy(manual:find("`" .. name .. "`", 1, true), name) end
    end
  end)
end)
