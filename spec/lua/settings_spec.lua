-- SPDX-License-Identifier: Apache-2.0
-- JSON settings: what srt demands of them, and that a policy made of them is equal: as a profile, on random settings.
local support = require("spec.lua.support")
local json = require("srt.json")
local random_lists = require("spec.lua.random_lists")
local same = require("srt.same")
local schema = require("srt.schema")
local settings = require("srt.settings")
local settings_text = require("srt.settings_text")

local TEXTS = { "plain", "with \"quotes\" and \\", "tab\tnew\nline", "a\0b", "übersicht", "\u{202e}turned", "]]", "--", "\127",
  "and", "$HOME", "" }
local PATHS = { "~/.ssh", ".", "src/", "/tmp/a b", "/w/**/*.env", "/w/[a-c]x", "~", "/", "-- x", "/w/ü\"'\\n" }
local ALLOW = { "a.test", "*.a.test", "b.test:443", "[::1]", "[2001:db8::1]:443", "127.0.0.1:80", "localhost:3000" }
local DENY = { "*", "*:22", "evil.test", "10.0.0.1" }

local function pick(list) return list[math.random(#list)] end

local value

-- Some of a table's fields; what another system needs as well.
local function fields(node)
  local out = json.object {}
  for name, child in pairs(node.fields) do
    local status = child.status or "enforced"
    if child.type ~= "function" and status ~= "later" and status ~= "fixed" and name ~= "extends" and name ~= "limits"
      and name ~= "secrets" and math.random(3) == 1 then
      out[name] = value(child)
    end
  end
  return out
end

local MAKE = {
  boolean = function() return math.random(2) == 1 end,
  integer = function(node) return math.random(node.min or 1, math.min(node.max or 100, 70000)) end,
  enum = function(node) return pick(node.values) end,
  string = function() return pick(TEXTS) end,
  protected = function() return pick { ".x", "a/b", "~/.c" } end,
  published = function() return pick { "3000", "8080:3000", 90 } end,
  range = function() return pick { "10.0.0.0/8", "fc00::/7", "1.2.3.4" } end,
  header = function() return pick { "set-cookie", "X-A" } end,
  name = function() return pick { "TOKEN", "A_B", "end" } end,
  path = function()
    return math.random(4) == 1 and { path = pick(PATHS), literal = true } or pick(PATHS)
  end,
  domain = function(node) return pick(node.list == "allow" and ALLOW or DENY) end,
  any = function() return pick { "x", 1, true, { args = { "a" } } } end,
  record = fields, table = fields,
  list = function(node)
    local out = {}
    for i = 1, math.random(0, 4) do out[i] = value(node.item) end
    return out
  end,
  map = function(node)
    local out = json.object {}
    for _ = 1, math.random(0, 3) do
      out[node.name and "NAME" or pick(TEXTS) .. "k"] = value(node.value)
    end
    return out
  end,
}

function value(node) return MAKE[node.type](node) end

-- What a policy comes to: its profile as a text, or all that is wrong with it.
local function outcome(texts, name)
  local profile, problems = support.resolve(texts, { lint = true }, nil, name)
  if profile then
    -- These tell of places in files.
    profile.warnings, profile.notes, profile.unenforced = nil, nil, nil
    profile.details, profile.linter, profile.provenance = nil, nil, nil
    return same.text(profile)
  end
  local lines = {}
  for i, problem in ipairs(problems) do lines[i] = (problem.key or "") .. ": " .. problem.message end
  table.sort(lines)
  return table.concat(lines, "\n")
end

local function converted(text)
  local read, places = assert(json.decode(text))
  return settings_text.write(read, places, "s.json")
end

describe("settings as a policy", function()
  it("are equal to it, however they are", function()
    local profiles, rounds = 0, 0
    for where in random_lists.rounds(400, 5000) do
      rounds = rounds + 1
      local text = json.encode(fields(schema.root))
      local policy = converted(text)
      local expected = outcome({ ["p.json"] = text }, "p.json")
      assert.equal(expected, outcome({ ["p.lua"] = policy }, "p.lua"), ("%s:\n%s\n%s"):format(where, text, policy))
      if expected:sub(1, 1) == "{" then profiles = profiles + 1 end
    end
    assert.is_true(profiles > rounds / 20, ("only %d of %d were valid"):format(profiles, rounds))
  end)

  it("differ where settings do", function()
    local a = outcome({ ["p.json"] = '{"filesystem":{"denyRead":["/a"]}}' }, "p.json")
    assert.not_equal(a, outcome({ ["p.json"] = '{"filesystem":{"denyRead":["/b"]}}' }, "p.json"))
    assert.not_equal(a, outcome({ ["p.json"] = '{"filesystem":{"denyWrite":["/a"]}}' }, "p.json"))
    assert.not_equal(a, outcome({ ["p.json"] = '{"filesystem":{"denyRead":[{"path":"/a","literal":true}]},"strict":true}' },
      "p.json"))
  end)

  it("are easy to read", function()
    assert.equal([[
-- Made by srt-lua convert from s.json.
return {
  filesystem = {
    denyRead = { "~/.ssh", { path = "/w/*.env", literal = true } },
    allowWrite = { "." },
  },
  network = {
    allowedDomains = {},
    deniedDomainReasons = { ["*:22"] = "no \"ssh\"\nhere" },
    -- No effect here: it is for macOS only.
    allowMachLookup = { "x" },
    httpProxyPort = 3128,
  },
  -- srt-lua knows no key more; it had no effect
}
]], converted([[{"network": {"allowedDomains": [], "allowMachLookup": ["x"], "deniedDomainReasons": {"*:22": "no \"ssh\"\nhere"},
  "httpProxyPort": 3128.0}, "more": {}, "filesystem": {"allowWrite": ["."],
  "denyRead": ["~/.ssh", {"path": "/w/*.env", "literal": true}]}}]]))
  end)
end)

describe("settings that srt refuses", function()
  local rows = {
    { "", "is empty" }, { " \n", "is empty" }, { "{", "not valid JSON" }, { "5", "no JSON object" }, { "[]", "no JSON object" },
    { "null", "no JSON object" }, { "{}", "must be there: network, filesystem" },
    { '{"network":{"allowedDomains":[]},"filesystem":{}}',
      "network.deniedDomains, filesystem.denyRead, filesystem.allowWrite, filesystem.denyWrite" },
  }
  for _, row in ipairs(rows) do
    it(("%q"):format(row[1]), function()
      local given, why = settings.decode(row[1])
      assert.is_nil(given)
      assert.truthy(why:find(row[2], 1, true), why)
    end)
  end

  it("are told, and no key more", function()
    assert(settings.decode('{"network":{"allowedDomains":[],"deniedDomains":[]},'
      .. '"filesystem":{"denyRead":[],"allowWrite":[],"denyWrite":[]}}'))
    assert(settings.decode("{}", true))
  end)
end)
