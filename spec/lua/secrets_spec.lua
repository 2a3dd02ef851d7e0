-- SPDX-License-Identifier: Apache-2.0
-- Sentinels and the ways in which values are written; where a vault lets values go.

local support = require("spec.lua.support")
local base64 = require("srt.base64")
local sentinel = require("srt.sentinel")
local secrets = require("srt.secrets")

local function random_text(size)
  local bytes = {}
  for i = 1, size do bytes[i] = string.char(math.random(1, 255)) end
  return table.concat(bytes)
end

local function percent(text)
  return (text:gsub("[^%w._~-]", function(c) return ("%%%02X"):format(c:byte()) end))
end

describe("a sentinel", function()
  it("is as long as its value, begins so that it is recognised, and is another one each time", function()
    for _, row in ipairs { { "1234567a", "^srtM%w%w%w%w$" }, { "ABCDEFGH0123", "^SRTM[A-Z0-9]+$" },
      { "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "^ghp_srtM%w+$" }, { "AKIAIOSFODNN7EXAMPLE", "^AKIASRTM[A-Z0-9]+$" },
      { "sk-ant-short", "^srtM%w+$" }, { "sk-ant-api03-0123456789", "^sk%-ant%-srtM%w+$" }, { ("x"):rep(1000), "^srtM%w+$" } } do
      local one, two = sentinel.new(row[1]), sentinel.new(row[1])
      assert.equal(#row[1], #one)
      assert.truthy(one:find(row[2]), one)
      assert.not_equal(one, two)
    end
  end)

  it("takes a value's place however that is written", function()
    math.randomseed(tonumber(os.getenv("SRT_SEED")) or os.time())
    for _ = 1, 300 do
      local value = random_text(math.random(8, 60))
      local stand_in = sentinel.new(value)
      local to = {}
      for _, form in ipairs(sentinel.forms(value, stand_in)) do
        assert.equal(#form.from, #form.to)
        to[form.from] = form.to
      end
      assert.equal(stand_in, to[value])
      assert.truthy(to[percent(value)])
      local before, after = random_text(math.random(0, 20)), random_text(math.random(0, 20))
      local coded, wanted = base64.encode(before .. value .. after), base64.encode(before .. stand_in .. after)
      local found = false
      for from, replacement in pairs(to) do
        local first, last = coded:find(from, 1, true)
        if first then
          found = true
          assert.equal(replacement, wanted:sub(first, last))
        end
      end
      assert.is_true(found)
    end
  end)

  it("knows a value as libraries write it", function()
    local value = "aB3/+ x=&<>'\"\\~*!(é"
    local written = {
      [[aB3%2F%2B%20x%3D%26%3C%3E'%22%5C~*!(%C3%A9]],           -- encodeURIComponent
      [[aB3/+%20x=&%3C%3E'%22%5C~*!(%C3%A9]],                   -- encodeURI
      [[aB3%2F%2B+x%3D%26%3C%3E%27%22%5C%7E*%21%28%C3%A9]],     -- URLSearchParams
      [[aB3/%2B%20x%3D%26%3C%3E%27%22%5C~%2A%21%28%C3%A9]],     -- quote of Python
      [[aB3%2F%2B+x%3D%26%3C%3E%27%22%5C~%2A%21%28%C3%A9]],     -- quote_plus of Python, QueryEscape of Go
      [[aB3%2F+%20x=&%3C%3E%27%22%5C~%2A%21%28%C3%A9]],         -- PathEscape of Go
      [[aB3%2F%2B+x%3D%26%3C%3E%27%22%5C%7E%2A%21%28%C3%A9]],   -- urlencode of PHP
      [[aB3/+ x=&<>'\"\\~*!(é]],                               -- JSON: JavaScript
      [[aB3/+ x=&<>'\"\\~*!(\u00e9]],                          -- Python
      [[aB3/+ x=\u0026\u003c\u003e'\"\\~*!(é]],                -- Go
      [[aB3\/+ x=&<>'\"\\~*!(\u00e9]],                         -- PHP
      [[aB3/+ x=&amp;&lt;&gt;&#x27;&quot;\~*!(é]],              -- HTML: Python
      [[aB3/+ x=&amp;&lt;&gt;&#39;&#34;\~*!(é]],                -- Go
      [[aB3/+ x=&amp;&lt;&gt;&#039;&quot;\~*!(é]],              -- PHP
    }
    written[#written + 1], written[#written + 2] = value:lower(), value:upper()
    local known = {}
    for _, form in ipairs(sentinel.forms(value, sentinel.new(value))) do known[form.from] = form.to end
    for _, text in ipairs(written) do assert.truthy(known[text], text) end
  end)

  it("has base64 as RFC 4648 says", function()
    for text, coded in pairs { [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foob = "Zm9vYg==", fooba = "Zm9vYmE=" } do
      assert.equal(coded, base64.encode(text))
    end
  end)
end)

describe("a vault", function()
  local POLICY = [[return {
    secrets = { a = { env = "A", hosts = { "a.test:443", "*.a.test" } } },
    credentials = { envVars = { { name = "M", mode = "mask" }, { name = "H", mode = "mask", injectHosts = { "h.test" } },
      { name = "D", mode = "deny" } } %s },
    network = { allowedDomains = { "a.test", "m.test" } %s } }]]
  local ENV = { A = "value-of-a", M = "value-of-m", H = "value-of-h", D = "value-of-d" }

  local function open(credentials, network)
    local profile = support.resolve(POLICY:format(credentials or "", network or ""))
    return assert(secrets.open(profile, ENV)), profile
  end

  it("gives a secret to its hosts, over TLS", function()
    local vault = open()
    assert.equal("value-of-a", vault:value("a", "a.test", 443, "https"))
    assert.equal("value-of-a", vault:value("a", "x.a.test", 8443, "https"))
    for _, row in ipairs { { "a", "a.test", 80, "http", "other hosts" }, { "a", "a.test", 443, "http", "plain HTTP" },
      { "a", "b.test", 443, "https", "other hosts" }, { "b", "a.test", 443, "https", 'no secret "b"; did you mean "a"?' } } do
      local value, problem = vault:value(table.unpack(row, 1, 4))
      assert.is_nil(value)
      assert.truthy(problem:find(row[5], 1, true), problem)
      assert.is_nil(problem:find("value-of", 1, true))
    end
    assert.equal("value-of-a", open("", ", allowPlaintextHeaderSet = true"):value("a", "a.test", 443, "http"))
  end)

  it("fills masked values in for their hosts, and looks through what may have any", function()
    local vault = open()
    local function sets(...)
      local fill, scrub = vault:sets(...)
      return (fill and "fill " or "") .. (scrub and "scrub" or "")
    end
    assert.equal("fill scrub", sets("m.test", 443, "https"))
    assert.equal("fill scrub", sets("h.test", 1, "https"))
    assert.equal("scrub", sets("m.test", 80, "http"))
    assert.equal("scrub", sets("x.a.test", 443, "https"))
    assert.equal("", sets("other.test", 443, "https"))
    vault = open(", allowPlaintextInject = true")
    assert.equal("fill scrub", sets("m.test", 80, "http"))
  end)

  it("leaves no value in the environment", function()
    local vault = open()
    local env = table.concat(vault:environment { "A=value-of-a", "M=value-of-m", "D=value-of-d", "X=1 value-of-a 2",
      "Y=value-of-d", "Z=value-of-mvalue-of-h", "OTHER=b" }, "\n")
    assert.is_nil(env:find("value-of", 1, true))
    assert.truthy(env:find("^M=srtM%w+\nX=1 srtM%w+ 2\nY=srtM%w+\nZ=srtM%w+\nOTHER=b$"), env)
  end)

  it("shows no value, whoever prints it", function()
    local vault, profile = open()
    assert.is_nil(require("srt.json").encode(require("srt.check_data").profile(profile)):find("value-of", 1, true))
    local shown = table.concat(secrets.without(profile, ENV, { "A=value-of-a", "M=value-of-m", "X=value-of-d" }), " ")
    assert.equal("M=(masked) X=(masked)", shown)
    local function look(v, seen)
      if type(v) == "string" then assert.is_nil(v:find("value-of", 1, true)) end
      if type(v) ~= "table" or seen[v] then return end
      seen[v] = true
      for key, inner in pairs(v) do
        -- The one index by values; the rest has them in closures only.
        if inner ~= vault.byValue then
          look(key, seen)
          look(inner, seen)
        end
      end
    end
    look(profile, {})
    look(vault, {})
  end)
end)
