-- SPDX-License-Identifier: Apache-2.0
-- The resolved-address guard: each row of resolved-guard.tsv, and what the reasons say.
local support = require("spec.lua.support")
local address = require("srt.address")
local domain = require("srt.domain")
local guard = require("srt.guard")
local json = require("srt.json")

local HOST = { "192.168.7.7", "2001:db8:5::5" }
local function own() return HOST end

-- Entries that are refused when the policy is checked have no part in a profile.
local function rules(list, kind)
  local out = {}
  for _, entry in ipairs(list or {}) do
    out[#out + 1] = domain.parse(entry, kind)
  end
  return out
end

local function network_of(options)
  local ranges = {}
  for _, text in ipairs(options.deniedResolvedAddresses or {}) do
    local range = address.range(text)
    if not range then
      return nil
    end
    ranges[#ranges + 1] = range
  end
  return { allowed = rules(options.allowedDomains, "allow"), denied = rules(options.deniedDomains, "deny"),
    deniedAddresses = ranges }
end

---What the proxy makes of an answer with several addresses.
local function outcome(network, host, port, addresses)
  local one, kept, refused, total = guard.compile(network, own), {}, {}, 0
  for text in addresses:gmatch("[^,]+") do
    total = total + 1
    local class = one:class(host, port, text)
    if class then
      refused[class] = true
    else
      kept[#kept + 1] = text
    end
  end
  if #kept > 0 then
    return #kept == total and "ok" or ("ok (kept %s)"):format(table.concat(kept, ","))
  end
  local classes = {}
  for _, class in ipairs(guard.CLASSES) do
    classes[#classes + 1] = refused[class] and class or nil
  end
  return table.concat(classes, "+")
end

describe("resolved-guard.tsv", function()
  local count = 0
  for row in support.rows(support.folder .. "/resolved-guard.tsv") do
    count = count + 1
    local text, expected, host, port = row[1], row[2], row[3], math.tointeger(tonumber(row[4]))
    -- An answer without addresses never gets here: the resolver's error is reported.
    if text ~= "" then
      it(("line %d: %s for %s:%d is %s"):format(row.line, text, host, port, expected), function()
        local network = network_of(row[5] == "-" and {} or assert(json.decode(row[5])))
        assert.equal(expected, network and outcome(network, host, port, text) or "invalid-option")
      end)
    end
    if row[6] ~= "-" and not row[1]:find(",") then
      it(("line %d: %s carries %s"):format(row.line, text, row[6]), function()
        assert.equal(row[6], address.text(address.carried(address.parse(text)) or address.parse(text)))
      end)
    end
  end

  it("has all its rows", function()
    assert.equal(98, count)
  end)
end)

describe("the guard", function()
  local function reason(host, port, text, options)
    return guard.compile(network_of(options or {}), own):check(host, port, text)
  end

  it("says what to add, and not what it would not help to add", function()
    local text, class = reason("app.test", 3000, "127.0.0.1")
    assert.equal("loopback", class)
    assert.equal('app.test resolved to a loopback address; to allow it, add "127.0.0.1:3000" to network.allowedDomains',
      text)
    assert.truthy(reason("app.test", 80, "::1"):find('"[::1]:80"', 1, true))
    text = reason("app.test", 80, "203.0.113.9", { deniedDomains = { "203.0.113.9" } })
    assert.falsy(text:find("to allow it", 1, true))
  end)

  it("refuses when this host's addresses can't be listed", function()
    local network = network_of({})
    local text, class = guard.compile(network, function() return nil end):check("app.test", 80, "8.8.8.8")
    assert.equal("unknown-host", class)
    assert.truthy(text:find("can't be listed", 1, true))
  end)

  it("answers for a profile, compiled once", function()
    local profile = { network = network_of({ deniedDomains = { "8.8.8.8" } }) }
    local _, class = guard.check(profile, "app.test", 80, "8.8.8.8")
    assert.equal("deny-listed", class)
  end)

  it("does not let an allowed literal stand in for the forms that carry it", function()
    local _, class = reason("app.test", 80, "64:ff9b::127.0.0.1", { allowedDomains = { "127.0.0.1" } })
    assert.equal("loopback", class)
  end)

  it("lets a listed range win over localhost", function()
    local _, class = reason("localhost", 80, "127.0.0.1", { deniedResolvedAddresses = { "127.0.0.0/8" } })
    assert.equal("listed", class)
  end)
end)

describe("ranges", function()
  for _, text in ipairs({ "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "10.0/8", "::/129", "a",
    "10.0.0.0/8 ", "[::1]", "::ffff:10.0.0.0/95", "fe80::1%eth0", "10.0.0.0\0/8" }) do
    it(("refuses %q"):format(text), function()
      local range, why = address.range(text)
      assert.is_nil(range)
      assert.is_string(why)
    end)
  end
end)
