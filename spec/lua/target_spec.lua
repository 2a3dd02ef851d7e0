-- SPDX-License-Identifier: Apache-2.0
-- Request targets that two readers could read in two ways.

require "spec.lua.support"
local target = require "srt.target"

describe("ambiguous request targets", function()
  it("are none of what clients usually send", function()
    for _, path in ipairs { "/", "/a", "/a/", "/a.b/c..d/...", "/a%20b", "/%7Euser/~x", "/.well-known/x", "/a;v=1", "/%C3%A4",
      "/@scope%40x", "/a/.b", "/..a", "/a,b:c@d!$&'()*+=", "/100%25", "/%25zz" } do
      assert.is_nil(target.ambiguous(path), path)
      assert.equal(path, target.read(path, "refuse"))
      assert.equal(path, target.read(path, "normalize"))
    end
  end)

  -- path, its normal form (false: there is none)
  local rows = {
    { "/a/../b", "/b" }, { "/a/./b", "/a/b" }, { "/..", "/" }, { "/../../x", "/x" }, { "/a/..", "/" }, { "/a/b/..", "/a/" },
    { "/a/.", "/a/" }, { "/.", "/" }, { "//a", "/a" }, { "/a//b", "/a/b" }, { "/a//", "/a/" }, { "/a/%2e%2e/b", "/b" },
    { "/a/%2E./b", "/b" }, { "/%61dmin", "/admin" }, { "/a%2Db%5F", "/a-b_" }, { "//..//x", "/x" }, { "/%2e%2e//%2e/x", "/x" },
    { "/%61%2fb", false }, { "/a%2Fb", false }, { "/a%5cb", false }, { "/a\\b", false }, { "/a%00", false }, { "/a%0d%0aX", false },
    { "/a%7f", false }, { "/%252e", false }, { "/%252fx", false }, { "/%25%32%66", false }, { "/a%", false }, { "/a%4", false },
    { "/a%zz", false }, { "/a%4z", false }, { "/..;/x", false }, { "/.;a/x", false }, { "/%2e%2e;/x", false },
  }

  it("are refused, or put in one form, or let pass", function()
    for _, row in ipairs(rows) do
      assert.is_string(target.ambiguous(row[1]), row[1])
      local path, why = target.read(row[1], "refuse")
      assert.is_nil(path)
      assert.is_string(why)
      path, why = target.read(row[1], "normalize")
      assert.equal(row[2] or nil, path, row[1])
      assert.equal(row[2] == false, why ~= nil)
      assert.equal(row[1], target.read(row[1], "allow"))
    end
  end)

  it("have a normal form that is not ambiguous", function()
    for _, row in ipairs(rows) do
      if row[2] then assert.is_nil(target.ambiguous(row[2]), row[2]) end
    end
  end)
end)
