-- SPDX-License-Identifier: Apache-2.0
-- Domain rules under random bytes: rows of domains.tsv, cut, joined and spoiled, must keep what holds for all of them.
-- SRT_LONG=1 gives it more time; a failure names its seed, SRT_SEED repeats it.
local support = require("spec.lua.support")
local domain = require("srt.domain")

local seed = tonumber(os.getenv("SRT_SEED")) or os.time()
local SECONDS = os.getenv("SRT_LONG") == "1" and 30 or 2
local PIECES = { ".", "..", "*", "*.", ":", ":443", ":0", ":65536", "[", "]", "%", "%25", "@", "/", "0x", "0", "00", "127", "::",
  "::ffff:", "xn--", "A", "\0", "\n", " ", "\255", "ü", "localhost", "example", "com", ",", "\\", "-", "_" }

local patterns, hosts = {}, {}
for row in support.rows(support.folder .. "/domains.tsv") do
  patterns[#patterns + 1], hosts[#hosts + 1] = row[2], row[3]
end

local function spoiled(texts)
  local text = texts[math.random(#texts)]
  for _ = 1, math.random(0, 3) do
    local at, piece = math.random(0, #text), PIECES[math.random(#PIECES)]
    local kind = math.random(4)
    if kind == 1 then
      text = text:sub(1, at) .. piece .. text:sub(at + 1)
    elseif kind == 2 then
      text = text:sub(1, at) .. text:sub(at + math.random(3))
    elseif kind == 3 then
      text = text:sub(1, at) .. string.char(math.random(0, 255)) .. text:sub(at + 2)
    else
      text = text:sub(1, at) .. texts[math.random(#texts)]:sub(-math.random(12))
    end
  end
  return text
end

-- What a rule means, said once more and as plainly as can be.
local function means(rule, host, port)
  if rule.port and rule.port ~= port then return false end
  if rule.kind == "wildcard" then
    local front = host:sub(1, #host - #rule.host)
    return front:sub(-1) == "." and front .. rule.host == host and not domain.is_address(host)
  end
  return rule.kind == "all" or host == rule.host
end

local function random_host()
  local host = spoiled(hosts)
  local canonical, reason = domain.canonical(host)
  if not canonical then
    assert(type(reason) == "string" and #reason > 0)
    return nil, host
  elseif canonical == "" or canonical:sub(-1) == "." then
    return nil, host -- refused by decide_net, and said so by its spec
  end
  assert(canonical == domain.canonical(canonical), ("canonical twice is something else: %q %q"):format(host, canonical))
  assert(not canonical:find("[%z\1-\32\127-\255A-Z%%@/\\%[%]*]"), "a byte that no resolver should get")
  for _, other in ipairs({ host:upper(), host:lower() }) do
    assert(domain.canonical(other) == canonical, "letters' case makes a difference")
  end
  return canonical, host
end

local function check()
  local rules = {}
  local host, given = random_host()
  local port = ({ 80, 443, 22, 8443 })[math.random(4)]
  for _ = 1, 6 do
    -- Now and then one that is close to the host.
    local entry = math.random(3) == 1 and spoiled({ given, host or given, "*." .. given, "*." .. (given:match("%.(.+)") or given) })
      or spoiled(patterns)
    local kind = math.random(2) == 1 and "allow" or "deny"
    local rule, reason = domain.parse(entry, kind)
    if rule then
      assert(kind == "deny" or rule.kind ~= "all", "an allow list takes everything")
      assert(rule.text == entry)
      rules[#rules + 1] = rule
    else
      assert(type(reason) == "string" and #reason > 5)
    end
  end
  if not host then return 0 end
  local any = false
  for _, rule in ipairs(rules) do
    local hit = means(rule, host, port)
    assert(hit == domain.match(rule, host, port), rule.text .. " for " .. host)
    any = any or hit
  end
  local found = domain.compile(rules)(host, port)
  assert(any == (found ~= nil), "the compiled list says something else about " .. host)
  assert(not found or means(found, host, port))
  return any and 1 or 0
end

describe("domain rules", function()
  it("keep their word on random entries and hosts", function()
    math.randomseed(seed)
    local stop, count, hits = os.clock() + SECONDS, 0, 0
    repeat
      local ok, more = pcall(check)
      if not ok then error(("SRT_SEED=%d, case %d: %s"):format(seed, count, tostring(more))) end
      count, hits = count + 1, hits + more
    until os.clock() > stop
    -- It is worth something only where rules do match now and then.
    assert.is_true(count > 300 and hits > count / 200, ("%d cases, %d hits"):format(count, hits))
  end)
end)
