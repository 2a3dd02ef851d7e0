-- SPDX-License-Identifier: Apache-2.0
-- Where in a policy's source an entry stands.
local support = require "spec.lua.support"

describe("an entry's line", function()
  it("finds a text that stands twice by the names and places around it", function()
    local policy = assert(support.load([[
local hosts = { "a.test" }
return {
  network = {
    allowedDomains = { "x.test",
      "a.test" },
    deniedDomains = {
      "a.test" },
    filterRequest = function(r) return r.host == "a.test" and { "a.test" } end,
  },
  filesystem = {
    denyRead = { "/x",
      "/y",
      { path = "/z", literal = true } },
    denyWrite = { "/y", "/x",
      "/z" },
    allowWrite = { ("/x"),
      "/x" },
  },
}]]))
    local function lines(key)
      local out = {}
      for i, entry in ipairs(policy.values[key].list) do out[i] = entry.origin.line or 0 end
      return out
    end
    assert.same({ 4, 5 }, lines("network.allowedDomains"))
    assert.same({ 7 }, lines("network.deniedDomains"))
    assert.same({ 11, 12, 13 }, lines("filesystem.denyRead"))
    assert.same({ 14, 14, 15 }, lines("filesystem.denyWrite"))
    assert.same({ 16, 17 }, lines("filesystem.allowWrite"))
  end)

  it("names the line of the list where which entry it is can't be known", function()
    local policy = assert(support.load('local A = { "/a" }\nlocal B = { "/a" }\nreturn { filesystem = {\n'
      .. 'denyWrite = B,\nallowWrite = A } }'))
    assert.equal(4, policy.values["filesystem.denyWrite"].list[1].origin.line)
    assert.equal(5, policy.values["filesystem.allowWrite"].list[1].origin.line)
  end)

  it("finds what is worked out by its place in the list", function()
    local policy = assert(support.load('local here = "/h"\nreturn { filesystem = { denyRead = {\n"/a", here .. "/b",\n'
      .. 'here\n.. "/c", "/" .. "d" },\ndenyWrite = { here .. "/b" } }, network = { allowedDomains =\n'
      .. '(function() return { "a.test", "b" .. ".test" } end)() } }'))
    local out = {}
    for _, key in ipairs { "filesystem.denyRead", "filesystem.denyWrite", "network.allowedDomains" } do
      for _, entry in ipairs(policy.values[key].list) do out[#out + 1] = entry.origin.line or 0 end
    end
    assert.same({ 3, 3, 4, 5, 6, 7, 6 }, out)
  end)

  it("tells a policy from the one that it extends", function()
    local policy = assert(support.load('local base = { filesystem = { denyRead = { "/a",\n"/b", ("/c") } } }\nlocal x = "/c"\n'
      .. 'return { extends = { base }, filesystem = { denyRead = {\n"/b", "/a", x } } }'))
    local out = {}
    for i, entry in ipairs(policy.values["filesystem.denyRead"].list) do
      out[i] = entry.origin.line or 0
    end
    assert.same({ 1, 2, 2, 5, 5, 5 }, out)
  end)

  it("tells secrets apart that have the same keys", function()
    local policy = assert(support.load('return { secrets = {\n a = { env = "A", hosts = {\n"h.test:443" } },\n'
      .. ' b = { env = "B",\n hosts = { "h.test:443" } } } }'))
    local map = policy.values.secrets.map
    assert.same({ 2, 4 }, { map.a.origin.line, map.b.origin.line })
  end)
end)
