-- SPDX-License-Identifier: Apache-2.0
-- Parts of a session: what processes hand each other, lines, names, and lists that a command has of its own.
local support = require("spec.lua.support")
local domain = require("srt.domain")
local lines = require("srt.lines")
local pack = require("srt.pack")
local place = require("srt.session_place")

describe("packed data", function()
  it("is the same when it is unpacked", function()
    local value = { "a\0b\255", "", { x = true, y = false, [3] = -1, [4] = math.mininteger, z = 0.1 }, {},
      deep = { { { "end" } } } }
    assert.same(value, pack.decode(pack.encode(value)))
    assert.equal(nil, (pack.decode(pack.encode(nil))))
  end)

  it("is refused where it is anything else", function()
    local bytes = pack.encode({ "a", { b = 1 } })
    for cut = 0, #bytes - 1 do
      local value, why = pack.decode(bytes:sub(1, cut))
      assert.equal(nil, value)
      assert.is_string(why)
    end
    assert.equal(nil, (pack.decode(bytes .. "n")))
    assert.equal(nil, (pack.decode("{\255\255\255\255")))
    assert.equal(nil, (pack.decode(("{\1\0\0\0t"):rep(1000))))
    assert.equal(nil, (pack.decode("{\1\0\0\0nt"))) -- nil is no key
    assert.has_error(function() pack.encode({ print }) end)
    local loop = {}
    loop[1] = loop
    assert.has_error(function() pack.encode(loop) end)
  end)
end)

describe("lines", function()
  local function taken(most, ...)
    local got = {}
    local reader = lines.new(most, function(line) got[#got + 1] = line or false end)
    for _, piece in ipairs { ... } do reader:add(piece) end
    reader:close()
    return got
  end

  it("come in any pieces", function()
    assert.same({ "ab", "", "c" }, taken(9, "a", "b\n\nc"))
    assert.same({ "ab" }, taken(9, "ab\n"))
    assert.same({}, taken(9))
  end)

  it("that are too long are told, and lost", function()
    assert.same({ false, "123", false }, taken(3, "1234\n123\n12", "34", "5"))
  end)
end)

describe("a name of a session", function()
  it("is no path", function()
    for _, name in ipairs { "a", "a.b-c_1", "_", ("x"):rep(64) } do assert.equal(nil, place.refuse(name)) end
    for _, name in ipairs { "", ".", "..", "a/b", ".a", "-a", "a b", "a\n", "\195\164", ("x"):rep(65) } do
      assert.is_string(place.refuse(name))
    end
  end)
end)

describe("the names of sessions", function()
  it("are those that have a socket in a folder of ours", function()
    local tree = require("spec.lua.tree")
    local top = tree.make { "srt-lua/", "srt-lua/sessions/", "srt-lua/sessions/b.sock", "srt-lua/sessions/a.sock",
      "srt-lua/sessions/a.lock", "srt-lua/sessions/.sock", "srt-lua/sessions/-x $(y).sock" }
    -- This user may have others, in a folder that no variable names.
    local names = " " .. table.concat(place.names { env = { XDG_RUNTIME_DIR = top } }, " ") .. " "
    assert.truthy(names:find(" a .*b "))
    assert.falsy(names:find("[$(]"))
    assert.falsy(names:find("a.lock", 1, true))
    tree.remove(top)
  end)
end)

describe("lists of a command's own", function()
  local function rules(list, entries)
    local out = {}
    for i, text in ipairs(entries) do out[i] = assert(domain.parse(text, list)) end
    return out
  end

  local function decider(text, allowed, denied, ask)
    local profile = assert(support.resolve("return { network = { " .. text .. " } }"))
    local own = rules("allow", allowed)
    local denies = rules("deny", denied)
    return require("srt.decide_net").compile(profile, { ask = ask, more = { rules = own, allowed = domain.compile(own),
      denies = denies, denied = domain.compile(denies) } })
  end

  local function word(self, host) return self:connect(host, 80, "http", support.call).action end

  it("come behind the policy's, in the order of srt's README", function()
    local text = 'allowedDomains = { "a.test", "c.test" }, deniedDomains = { "d.test" }'
    local self = decider(text, { "b.test", "d.test", "*.b.test:443" }, { "c.test" })
    assert.equal("allow", word(self, "a.test"))
    assert.equal("allow", word(self, "b.test"))
    assert.equal("deny", word(self, "c.test"))
    assert.equal("deny", word(self, "d.test"))
    assert.equal("deny", word(self, "e.test"))
    assert.equal("the command's allowedDomains \"b.test\"", self:connect("b.test", 80, "http").rule)
    assert.truthy(self:connect("c.test", 80, "http").reason:find("the command's deniedDomains \"c.test\"", 1, true))
    assert.equal("allow", self:name("x.b.test").action)
    assert.equal("deny", self:name("e.test").action)
    assert.equal("deny", self:name("c.test").action)
    -- Nor by a name that leads to what it denies.
    self = decider(text, {}, { "93.184.216.34" })
    assert.is_string(self:address("a.test", 80, "93.184.216.34"))
    assert.equal(nil, (self:address("a.test", 80, "93.184.216.35")))
    -- An address of such a list opens no loopback.
    self = decider(text, { "127.0.0.1" }, {})
    assert.equal("allow", word(self, "127.0.0.1"))
    assert.is_string(self:address("127.0.0.1", 80, "127.0.0.1"))
  end)

  it("allow nothing under strictAllowlist, but deny", function()
    local self = decider('strictAllowlist = true, allowedDomains = { "a.test" }', { "b.test" }, { "a.test" })
    assert.equal("deny", word(self, "b.test"))
    assert.equal("deny", word(self, "a.test"))
    assert.equal("deny", self:name("b.test").action)
  end)

  it("spare a question, and whoever embeds us is asked last", function()
    local asked = {}
    local function ask(subject)
      asked[#asked + 1] = subject.host
      return subject.host == "yes.test", "so it is"
    end
    local self = decider('allowedDomains = { "a.test" }, decideConnect = function(c) '
      .. "if c.host == 'lua.test' then return true end return srt.pass end", { "b.test" }, {}, ask)
    for _, host in ipairs { "a.test", "b.test", "lua.test", "yes.test" } do assert.equal("allow", word(self, host)) end
    assert.equal("deny", word(self, "no.test"))
    assert.same({ "yes.test", "no.test" }, asked)
    assert.truthy(self:connect("no.test", 80, "http", support.call).reason:find("the ask callback: so it is", 1, true))
    assert.equal("allow", self:name("any.test").action)
    self = decider('strictAllowlist = true, allowedDomains = { "a.test" }', {}, {}, ask)
    assert.equal("deny", word(self, "yes.test"))
  end)
end)
