-- SPDX-License-Identifier: Apache-2.0
-- Published ports: their spellings, and what can't be published.
local support = require("spec.lua.support")
local publish = require("srt.publish")

local GOOD = {
  ["3000"] = "127.0.0.1:3000 → port 3000 inside",
  ["8080:3000"] = "127.0.0.1:8080 → port 3000 inside",
  ["0.0.0.0:8080:3000"] = "0.0.0.0:8080 → port 3000 inside",
  ["127.0.0.2:1:65535"] = "127.0.0.2:1 → port 65535 inside",
  ["[::1]:8080:3000"] = "[::1]:8080 → port 3000 inside",
}
local BAD = { "", "0", "65536", "x", "03000", "-1", "1:2:3", ":3000", "3000:", "localhost:8080:3000", "256.0.0.1:1:1",
  "[::x]:1:1", "::1:8080:3000", "127.0.0.1:3000", "127.0.0.1::3000", "3000/tcp", " 3000", "3000-3010", "1e3", "3000.0" }

describe("a published port", function()
  for text, want in pairs(GOOD) do
    it(text .. " is read", function() assert.equal(want, publish.text(assert(publish.parse(text)))) end)
  end
  for _, text in ipairs(BAD) do
    it(("%q is refused"):format(text), function()
      local entry, reason = publish.parse(text)
      assert.is_nil(entry)
      assert.truthy(reason:find("PORT", 1, true))
    end)
  end

  it("comes from a policy as a number or a string", function()
    local profile = assert(support.resolve('return { network = { publishPorts = { 3000, 4000.0, "8080:5000" } } }'))
    local shown = {}
    for i, entry in ipairs(profile.network.publish) do shown[i] = publish.text(entry) end
    assert.same({ GOOD["3000"], "127.0.0.1:4000 → port 4000 inside", "127.0.0.1:8080 → port 5000 inside" }, shown)
    assert.is_false(profile.network.enabled)
    for _, wrong in ipairs({ "0", "65536", "3000.5", "true", '"x"', "{}" }) do
      assert.is_nil((support.resolve("return { network = { publishPorts = { " .. wrong .. " } } }")))
    end
  end)

  it("is neither the proxy's nor the host's own, and not published twice", function()
    local plan = { listen = { { address = "127.0.0.1", port = 3128, purpose = "http" },
      { address = "::1", port = 5432, purpose = "loopback", host = "localhost" } } }
    local function check(...)
      local entries = {}
      for i, text in ipairs({ ... }) do entries[i] = publish.parse(text) end
      return publish.check(entries, plan)
    end
    assert.is_nil(check("3000", "127.0.0.2:3000:3000", "3001:3000"))
    assert.truthy(check("8080:3128"):find("the proxy has it", 1, true))
    assert.truthy(check("8080:5432"):find("localhost:5432", 1, true))
    assert.truthy(check("3000", "3000:4000"):find("twice", 1, true))
  end)
end)
