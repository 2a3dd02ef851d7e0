-- SPDX-License-Identifier: Apache-2.0
-- The manual page names every key that is enforced, and the Lua in README.md and in the manual loads.
require("spec.lua.support")
local schema = require("srt.schema")

local function read(name)
  local f = assert(io.open(name))
  local text = f:read("a")
  f:close()
  return text
end

-- The page without what troff makes of it.
local function page()
  return (read("man/srt-lua.1"):gsub("\\f[BRIP]", ""):gsub("\\([%-,&])", function(c) return c == "-" and c or "" end)
    :gsub("\\%(dq", '"'):gsub("\\%(aq", "'"):gsub("\\%(ti", "~"))
end

describe("the manual", function()
  local text = page()
  schema.each(function(key, node, status)
    if status == "enforced" and node.type ~= "table" then
      local last = key:match("[^.]+$")
      it("names " .. key, function() assert.truthy(text:find("%f[%w]" .. last .. "%f[%W]")) end)
    end
  end)

  it("has policies that load", function()
    local count = 0
    for example in text:gmatch("%.EX\n(return.-)%.EE") do
      assert(load(example))
      count = count + 1
    end
    assert.is_true(count >= 2)
  end)
end)

describe("the README", function()
  it("has Lua that loads, as a policy or as keys of one", function()
    local count = 0
    for example in read("README.md"):gmatch("```lua\n(.-)```") do
      assert(load(example) or load("return {\n" .. example .. "\n}"), example)
      count = count + 1
    end
    assert.is_true(count >= 4)
  end)
end)
