-- SPDX-License-Identifier: Apache-2.0
-- An entry is added to a policy's text, and nothing else of it changes; or it says why not.
require("spec.lua.support")
local edit = require("srt.policy_edit")

-- A policy, and what it becomes with "h.test:443"; or why it stays.
local ROWS = {
  { "return {}", 'return { network = { allowedDomains = { "h.test:443" } } }' },
  { "return { network = {} }", 'return { network = { allowedDomains = { "h.test:443" } } }' },
  { "return { network = { allowedDomains = {} }, }", 'return { network = { allowedDomains = { "h.test:443" } }, }' },
  { 'return { network = { allowedDomains = { "a" } } }', 'return { network = { allowedDomains = { "a", "h.test:443" } } }' },
  { 'return {network={["allowedDomains"]={"a",}}}', 'return {network={["allowedDomains"]={"a", "h.test:443" }}}' },
  { 'return { network = { allowedDomains = { "a",\n  "b" } } };',
    'return { network = { allowedDomains = { "a",\n  "b", "h.test:443" } } };' },
  { 'return {\n  network = {\n    allowedDomains = {\n      "a", -- x\n      "b" -- y\n      -- z\n    },\n  },\n}\n',
    'return {\n  network = {\n    allowedDomains = {\n      "a", -- x\n      "b", -- y\n      -- z\n      "h.test:443", -- c\n'
      .. "    },\n  },\n}\n" },
  { "return {\n  network = {\n    allowedDomains = {\n      -- none\n    },\n  },\n}",
    'return {\n  network = {\n    allowedDomains = {\n      -- none\n      "h.test:443", -- c\n    },\n  },\n}' },
  { "return {\n\tnetwork = {\n\t\tstrict = 1\n\t}\n}",
    'return {\n\tnetwork = {\n\t\tstrict = 1,\n\t\tallowedDomains = { "h.test:443" }, -- c\n\t}\n}' },
  { 'return {\n  extends = { "x" } -- y }\n}\n',
    'return {\n  extends = { "x" }, -- y }\n  network = { allowedDomains = { "h.test:443" } }, -- c\n}\n' },
  { "local x = { network = {} }\nlocal function f() return { network = {} } end\nif x then f() end\nreturn { network = { } }",
    'local x = { network = {} }\nlocal function f() return { network = {} } end\nif x then f() end\n'
      .. 'return { network = { allowedDomains = { "h.test:443" } } }' },
  { 'return { decide = function() return { network = {} } end, s = "network = {", --[[ network = { ]] network = { f = f { '
    .. "allowedDomains = {} } } }", 'return { decide = function() return { network = {} } end, s = "network = {", --[[ '
    .. 'network = { ]] network = { f = f { allowedDomains = {} }, allowedDomains = { "h.test:443" } } }' },
  { "local x = {}\nreturn x", "return { … }" },
  { "return setmetatable({}, {})", "return { … }" },
  { "return { network = net }", "network is no plain table" },
  { "return { network = { allowedDomains = list } }", "allowedDomains is no plain table" },
  { "return { network = { allowedDomains = {} or {} } }", "allowedDomains is no plain table" },
  { 'return { network = { allowedDomains = {"a"}, allowedDomains = {"b"} } }', "allowedDomains is there twice" },
  { "return ({ network = {} })", "return { … }" },
  { "return { network = {} }, 1", "something is done" },
  { "return { network = {", "something is done" },
  { "", "return { … }" },
}

describe("an entry for a policy", function()
  for _, row in ipairs(ROWS) do
    it("goes into " .. row[1], function()
      local text, line = edit.allow(row[1], "h.test:443", "c")
      if not text then
        assert.truthy(line:find(row[2], 1, true), line)
        return
      end
      assert.equal(row[2], text)
      local at = 0
      for one in (text .. "\n"):gmatch("(.-)\n") do
        at = at + 1
        if at == line then assert.truthy(one:find('"h.test:443"', 1, true)) end
      end
      assert(load(text))
    end)
  end

  it("is quoted, whatever it holds", function()
    local text = edit.allow("return {}", 'a"\\\n]]--', nil)
    assert.equal('a"\\\n]]--', load(text)().network.allowedDomains[1])
  end)
end)
