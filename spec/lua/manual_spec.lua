-- SPDX-License-Identifier: Apache-2.0
-- What the documents show is so: their Lua loads, their links lead somewhere, messages that they quote are ours, and the
-- manual page knows every command. The reference of keys has a spec of its own.
require("spec.lua.support")

local function read(name)
  local f = assert(io.open(name))
  local text = f:read("a")
  f:close()
  return text
end

local function lines_of(command)
  local p <close> = assert(io.popen(command))
  local list = {}
  for line in p:lines() do list[#list + 1] = line end
  return list
end

local DOCS = lines_of("ls *.md docs/*.md core/*.md")

describe("the manual", function()
  -- The page without what troff makes of it.
  local text = read("man/srt-lua.1"):gsub("\\f[BRIP]", ""):gsub("\\([%-,&])", function(c) return c == "-" and c or "" end)
    :gsub("\\%(dq", '"'):gsub("\\%(aq", "'"):gsub("\\%(ti", "~")

  it("has policies that load", function()
    local count = 0
    for example in text:gmatch("%.EX\n(return.-)%.EE") do
      assert(load(example))
      count = count + 1
    end
    assert.is_true(count >= 2)
  end)

  for name in read("lua/srt/cli/main.lua"):match("local COMMANDS = (%b{})"):gmatch('{ "(%w+)"') do
    it("knows " .. name, function() assert.truthy(text:find(".B " .. name .. "\n", 1, true)) end)
  end
end)

describe("the documents", function()
  local count, links = 0, 0

  for _, name in ipairs(DOCS) do
    local text = read(name)
    it(name .. " has Lua that loads, as a policy or as keys of one", function()
      for example in text:gmatch("```lua\n(.-)```") do
        assert(load(example) or load("return {\n" .. example .. "\n}"), example)
        count = count + 1
      end
    end)

    it(name .. " has links that lead somewhere", function()
      for target in text:gmatch("%]%(([^)%s]+)%)") do
        if not target:find("^%a+:") then
          local path = (name:match("^(.*/)") or "") .. target:gsub("#.*", "")
          assert(io.open(path), path):close()
          links = links + 1
        end
      end
    end)
  end

  it("are not without them", function()
    assert.is_true(count >= 8)
    assert.is_true(links >= 10)
  end)
end)
