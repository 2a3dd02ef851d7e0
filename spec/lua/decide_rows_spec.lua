-- SPDX-License-Identifier: Apache-2.0
-- Each row of domains.tsv and resolved-guard.tsv, from a policy's text to the decision that enforcement asks for.
local support = require("spec.lua.support")
local decide_net = require("srt.decide_net")
local domain = require("srt.domain")
local guard = require("srt.guard")
local json = require("srt.json")

local ESCAPES = { ["\\x00"] = "\0", ["\\n"] = "\n", ["\\t"] = "\t", ["\\\\"] = "\\" }

local function unescape(text)
  if text == "<empty>" then return "" end
  return (text:gsub("\\x00", ESCAPES):gsub("\\[nt\\]", ESCAPES))
end

local POLICIES = {
  allow = "return { network = { allowedDomains = { %s } } }",
  -- What the list does not deny, the callback allows.
  deny = "return { network = { deniedDomains = { %s }, decideConnect = function() return true end } }",
}

local function quoted(list)
  local out = {}
  for i, text in ipairs(list) do
    out[i] = ('"%s"'):format(text:gsub(".", function(c) return ("\\x%02x"):format(c:byte()) end))
  end
  return table.concat(out, ", ")
end

-- Hosts that no list may decide: they are refused before.
local function usable(host)
  local canonical = domain.canonical(host)
  return canonical and canonical ~= "" and canonical:sub(-1) ~= "."
end

describe("domains.tsv, decided", function()
  local decided = 0
  for row in support.rows(support.folder .. "/domains.tsv") do
    local kind, pattern, host, port = row[1], unescape(row[2]), unescape(row[3]), math.tointeger(tonumber(row[4]))
    it(("line %d: %s %s for %s:%d"):format(row.line, kind, row[2], row[3]:sub(1, 40), port), function()
      local profile = support.resolve(POLICIES[kind]:format(quoted { pattern }))
      if not domain.parse(pattern, kind) then
        return assert.is_nil(profile)
      end
      local matches = row[5] == "match"
      for _, protocol in ipairs { "http", "connect", "socks5" } do
        local got = decide_net.compile(profile):connect(host, port, protocol, support.call)
        local allowed = usable(host) and matches == (kind == "allow")
        assert.equal(allowed and "allow" or "deny", got.action, got.reason)
        if matches then assert.truthy(got.rule:find("network." .. (kind == "allow" and "allowed" or "denied"), 1, true)) end
        if not usable(host) then assert.equal(400, got.status) end
      end
      decided = decided + 1
    end)
  end

  it("most of them are decided", function() assert.is_true(decided > 100, decided) end)
end)

-- What the policy would say for the host to be allowed at all.
local function entry_of(host, port)
  return host:find(":", 1, true) and ("[%s]:%d"):format(host, port) or ("%s:%d"):format(host, port)
end

-- Entries that are refused when a policy is checked can't be in one.
local function usable_entries(list, kind)
  local out = {}
  for _, entry in ipairs(list or {}) do
    if domain.parse(entry, kind) then out[#out + 1] = entry end
  end
  return out
end

local function policy_of(row)
  local options = row[5] == "-" and {} or assert(json.decode(row[5]))
  local allowed = usable_entries(options.allowedDomains, "allow")
  allowed[#allowed + 1] = entry_of(row[3], math.tointeger(tonumber(row[4])))
  return ("return { network = { allowedDomains = { %s }, deniedDomains = { %s }, deniedResolvedAddresses = { %s } } }")
    :format(quoted(allowed), quoted(usable_entries(options.deniedDomains, "deny")),
      quoted(options.deniedResolvedAddresses or {}))
end

describe("resolved-guard.tsv, decided", function()
  local decided = 0
  for row in support.rows(support.folder .. "/resolved-guard.tsv") do
    local host, port, expected = row[3], math.tointeger(tonumber(row[4])), row[2]
    it(("line %d: %s for %s:%d is %s"):format(row.line, row[1], host, port, expected), function()
      local profile = support.resolve(policy_of(row))
      if expected == "invalid-option" then
        return assert.is_nil(profile)
      end
      local decider = decide_net.compile(profile)
      decider.guard = guard.compile(profile.network, function() return { "192.168.7.7", "2001:db8:5::5" } end)
      local passed, classes = {}, {}
      for text in row[1]:gmatch("[^,]+") do
        local reason, class = decider:address(host, port, text)
        if reason then classes[class] = true else passed[#passed + 1] = text end
      end
      local kept = expected:match("^ok %(kept (.*)%)$")
      if expected == "ok" or kept then
        assert.equal(kept or row[1], table.concat(passed, ","))
      elseif row[1] ~= "" then
        assert.same({}, passed)
        for class in expected:gmatch("[^+]+") do assert.is_true(classes[class], class) end
      end
      decided = decided + 1
    end)
  end

  it("most of them are decided", function() assert.is_true(decided > 80, decided) end)
end)
