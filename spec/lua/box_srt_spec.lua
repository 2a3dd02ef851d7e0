-- SPDX-License-Identifier: Apache-2.0
-- The srt table of the box: facts, text, log, rate, git; and that the editors' definitions name the same.

local support = require("spec.lua.box_support")
local suite = support.box and describe or pending

suite("srt in the box", function()
  ---Runs statements that must not fail.
  local function good(text, options)
    assert.is_true(support.value(text .. "\nreturn true", options))
  end

  it("looks up whose it is when a policy asks", function()
    local pipe = assert(io.popen("id -un"))
    local me = pipe:read()
    pipe:close()
    local facts = { platform = "linux", user = true }
    assert.equal(me, support.value("return { user = srt.user }", { facts = facts }).user)
    assert.equal(me, support.value([[
      local all = {}
      for name, value in pairs(srt) do all[name] = value end
      return all.user == srt.user and { user = all.user } or {}]], { facts = facts }).user)
  end)

  it("tells facts", function()
    good([[
      assert(srt.platform == "linux" and srt.user == "u" and srt.env.LANG == "C" and srt.env.NONE == nil)
      assert(srt.home == srt.cwd .. "/home" and srt.here == srt.cwd)
      local n = 0
      for _ in pairs(srt.env) do n = n + 1 end
      assert(n == 1)
      assert(srt.now() > 1.6e9 and math.type(srt.now()) == "float")
      srt.state.x = 1]])
    local box, got = support.load("return { f = function() srt.state.n = (srt.state.n or 0) + 1 return srt.state.n end }")
    box:call(got.f, "violation", {})
    assert.equal(2, select(2, box:call(got.f, "violation", {})))
  end)

  it("names what was misspelt, and what is not there yet", function()
    for text, message in pairs {
      ["srt.jsn"] = "did you mean json?", ["srt.json.decod"] = "did you mean decode?", ["srt.zzzzzz"] = "no field srt.zzzzzz",
      ["srt.sleap"] = "did you mean sleep?", ["#srt.secret.x"] = "a secret can't be read, printed or compared",
      ["{ x = srt.secret }"] = "x: a value of type userdata can't be used here", ["srt.secret[1]"] = "string expected",
      ["{} .. srt.secret.x"] = "a secret goes together with strings only, not with a table",
      ["srt[1]"] = "no field srt.1",
    } do
      local fault = support.fault("return " .. text)
      assert.truthy(fault.message:find(message, 1, true), fault.message)
    end
  end)

  it("reads nothing in callbacks, where rate, state and now still work", function()
    for _, text in ipairs { "srt.read('a')", "srt.exists('/')", "srt.isdir('/')", "srt.glob('/*')", "srt.git.toplevel()",
      "srt.git.remotes()" } do
      local ok, message = support.call("function() return " .. text .. " end")
      assert.is_false(ok)
      assert.truthy(message:find(text:match("^[%w.]+") .. " works while the policy is loaded only", 1, true), message)
    end
    local ok, value = support.call("function() srt.state.x = srt.now() return srt.rate('k', 1, 9) and srt.state.x > 0 end")
    assert.is_true(ok and value)
  end)

  it("waits only where the host can", function()
    for _, text in ipairs { "srt.sleep(0)", "srt.resolve('a')", "srt.query('a:1', 'x')", "srt.ask('x')" } do
      local fault = support.fault("return " .. text)
      assert.truthy(fault.message:find("can't wait while the policy is loaded", 1, true), fault.message)
      local ok, message = support.call("function() return " .. text .. " end")
      assert.is_false(ok)
      assert.truthy(message:find("can't wait here", 1, true), message)
    end
  end)

  it("hands out what stands for secrets, and what is made of them", function()
    assert.same({ ["$secret"] = "concat", "Bearer ", { ["$secret"] = "name", "x" } }, support.value(
      "return 'Bearer ' .. srt.secret.x"))
    local made = support.value("return { srt.hmac(srt.sha256(srt.secret.x), 1 .. srt.base64.encode(srt.secret.y)) }")[1]
    assert.same({ ["$secret"] = "hmac", { ["$secret"] = "sha256", { ["$secret"] = "name", "x" } },
      { ["$secret"] = "concat", "1", { ["$secret"] = "base64", { ["$secret"] = "name", "y" } } } }, made)
    for _, forged in ipairs { "{ ['$secret'] = 'name', 'x' }", "{ { ['$secret'] = 'name' } }" } do
      assert.truthy(support.fault("return " .. forged).message:find("reserved", 1, true))
    end
    assert.truthy(support.fault("local s = srt.secret.x; for _ = 1, 60 do s = s .. s end return { s }"))
  end)

  it("matches globs", function()
    good([[
      assert(srt.match("a.cdn.example", "*.cdn.example") and not srt.match("cdn.example", "*.cdn.example"))
      assert(srt.match("/a/b", "/a*") and srt.match("v2", "v[0-9]") and not srt.match("x", ""))]])
  end)

  it("finds paths by globs, while loading only", function()
    local folder = support.folder { ["a.lua"] = "", ["sub/b.lua"] = "", ["sub/[x]/c.lua"] = "", [".d.lua"] = "" }
    local box = support.open(folder)
    support.write(folder, "p.lua", [[
      local top = srt.cwd
      local function is(pattern, ...)
        local got, want = srt.glob(pattern), { ... }
        assert(#got == #want, pattern .. " " .. #got)
        for i, path in ipairs(want) do assert(got[i] == top .. "/" .. path, got[i]) end
      end
      is("*.lua", ".d.lua", "a.lua", "p.lua")
      is("./sub/../**/?.lua", "a.lua", "p.lua", "sub/[x]/c.lua", "sub/b.lua")
      is("sub/[[]x]/*", "sub/[x]/c.lua")
      is(top .. "/su[b]", "sub")
      is("sub//b.lua", "sub/b.lua")
      is("sub/none")
      is("none/*")
      is("a.lua/*")
      is("~/*")
      assert(not pcall(srt.glob, "*/../x") and not pcall(srt.glob, "") and not pcall(srt.glob, "a\0*"))
      return { f = function() return srt.glob("*") end }]])
    local got = assert(box:load(folder .. "/p.lua"))
    local ok, message = box:call(got.f, "violation", {})
    assert.is_false(ok)
    assert.truthy(tostring(message):find("while the policy is loaded", 1, true))
    support.remove(folder)
  end)

  it("pays for what a glob reads", function()
    local fault = support.fault("return #srt.glob('/usr/**/*')", { limits = { loadInstructions = 100000 } })
    assert.truthy(fault.message:find("budget of 100000 instructions spent", 1, true), fault.message)
    fault = support.fault("pcall(srt.glob, '/usr/**/*') return 1", { limits = { loadInstructions = 100000 } })
    assert.truthy(fault.message:find("budget", 1, true), fault.message)
  end)

  it("encodes base64", function()
    good([[
      for text, code in pairs { [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foob = "Zm9vYg==", ["\0\255\254"] = "AP/+" } do
        assert(srt.base64.encode(text) == code and srt.base64.decode(code) == text)
      end
      for _, bad in ipairs { "Zg", "Zg=", "Z===", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9", "Zm9v\n", "=Zm9", "\0\0\0\0" } do
        local value, message = srt.base64.decode(bad)
        assert(value == nil and message, bad)
      end]])
  end)

  it("hashes", function()
    good([[
      assert(srt.sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
      assert(srt.hmac("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")]])
  end)

  it("reads and writes JSON strictly", function()
    good([[
      local json = srt.json
      local text = '{"a":[1,2.5,-3e2,"x\\u00e9\\ud83d\\ude00\\n",true,false,null],"b":{},"c":null}'
      local v = json.decode(text)
      assert(v.a[1] == 1 and math.type(v.a[1]) == "integer" and v.a[2] == 2.5 and v.a[3] == -300)
      assert(v.a[4] == "xé😀\n" and v.a[5] == true and v.a[6] == false and v.a[7] == json.null)
      assert(v.c == nil and next(v.b) == nil)
      assert(json.encode { b = 1, a = { "x", json.null }, ["é"] = "\0\"\\\n" } ==
        '{"a":["x",null],"b":1,"é":"\\u0000\\"\\\\\\n"}')
      assert(json.encode {} == "[]" and json.encode "x" == '"x"' and json.encode(0.1) == "0.1" and json.encode(1e300) == "1e+300")
      assert(json.encode(srt.env) == '{"LANG":"C"}')
      assert(json.decode(json.encode(1 / 3)) == 1 / 3)
      for _, bad in ipairs { "", " ", "{", "[1,]", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "{\"a\":null,\"a\":1}", "01", "1.", ".5", "+1",
        "1e", "nul", "tru", "'x'", "\"\n\"", "\"\\x\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\255\"",
        "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "1 2", "NaN", "1e999", "-", "[1 2]", "{1:2}", "\"", "\"\\u12\"", "[\"a\0\"]",
        ("["):rep(65) .. ("]"):rep(65), ("1"):rep(400), "\xef\xbb\xbf1" } do
        local value, message = json.decode(bad)
        assert(value == nil and message:find("no JSON"), bad)
      end
      assert(json.decode(("["):rep(64) .. ("]"):rep(64)) and json.decode(" 1 ") == 1)
      local loop = {} loop.x = loop
      for _, bad in ipairs { loop, { [1] = 1, x = 2 }, { [2] = 1 }, print, { f = print }, 1 / 0, 0 / 0, "\255", { ["\255"] = 1 } } do
        assert(not pcall(json.encode, bad))
      end]])
  end)

  it("parses URLs", function()
    good([[
      local parse = srt.url.parse
      local u = parse "HTTPS://user:pw@API.Example.com:8443/a/b?q=1&r#frag"
      assert(u.scheme == "https" and u.user == "user:pw" and u.host == "api.example.com" and u.port == 8443)
      assert(u.path == "/a/b" and u.query == "q=1&r" and u.fragment == "frag")
      u = parse "http://[::1]"
      assert(u.host == "::1" and u.port == 80 and u.path == "/" and u.query == nil and u.user == nil)
      assert(parse("git://h/x").port == nil and parse("https://h?q").query == "q" and parse("wss://h").port == 443)
      for _, bad in ipairs { "", "x", "http:/x", "http://", "http://a b", "http://a:0", "http://a:99999", "http://a:", "http://a:1x",
        "http://[::1", "http://[::1]x", "http://a\\b", "http://a\0", "1http://a", "http://é", "http://a@", "http://a%41" } do
        local value, message = parse(bad)
        assert(value == nil and message, bad)
      end
      assert(srt.url.encode "a b/é~" == "a%20b%2F%C3%A9~" and srt.url.decode "a%20b%2f" == "a b/" and srt.url.encode "\0" == "%00")
      for _, bad in ipairs { "%", "%2", "%zz", "a%" } do assert(srt.url.decode(bad) == nil, bad) end
      assert(srt.url.decode "%41" == "A" and srt.url.decode "" == "")]])
  end)

  it("logs by level", function()
    local lines = {}
    good([[
      print("a", 1, nil)
      srt.log.debug("d") srt.log.info("i", true) srt.log.warn("w", { 1 } ~= nil) srt.log.error()
      srt.log.info(setmetatable({}, { __tostring = function() return "shown" end }))
      srt.log.info(("x"):rep(20000))]], { log = function(level, text) lines[#lines + 1] = { level, text } end })
    assert.same({ { "info", "a\t1\tnil" }, { "debug", "d" }, { "info", "i true" }, { "warn", "w true" }, { "error", "" },
      { "info", "shown" }, { "info", ("x"):rep(8192) } }, lines)
  end)

  it("limits rates", function()
    good([[
      for i = 1, 3 do assert(srt.rate("k", 3, 100)) end
      assert(not srt.rate("k", 3, 100) and srt.rate("other", 3, 100) and srt.rate("fast", 1, 1e-9) and srt.rate("fast", 1, 1e-9))
      assert(not pcall(srt.rate, "k", 0, 1) and not pcall(srt.rate, "k", 1, 0) and not pcall(srt.rate, {}, 1, 1))
      for i = 1, 6000 do srt.rate("key" .. i, 1, 1e6) end
      assert(not srt.rate("one more", 1, 1e6))]])
  end)

  it("reads files", function()
    local folder = support.folder { ["p.lua"] = [[
      local text = srt.read("a.txt")
      local none, message = srt.read("none")
      return { text, srt.read("~/in-home"), message, select(2, srt.read("a.txt", 2)), select(2, srt.read("dir")),
        { srt.exists("a.txt"), srt.exists("none"), srt.exists("~"), srt.isdir("dir"), srt.isdir("a.txt"), srt.isdir(srt.cwd) },
        #srt.read("/proc/self/stat") > 10, select(2, srt.read("/dev/zero")), pcall(srt.read, "a\0b"), pcall(srt.read, ""),
        srt.read("link") }]], ["a.txt"] = "a\0b", ["home/in-home"] = "h", ["dir/x"] = "" }
    os.execute(("ln -s a.txt '%s/link'"):format(folder))
    local box = support.open(folder)
    local value, fault = box:load(folder .. "/p.lua")
    assert.is_nil(fault)
    assert.same({ true, false, true, true, false, true }, value[6])
    assert.equal("a\0b", value[1])
    assert.equal("h", value[2])
    assert.truthy(value[3]:find("cannot read .*none: No such file"))
    assert.truthy(value[4]:find("larger than asked for", 1, true))
    assert.truthy(value[5]:find("directory", 1, true))
    assert.is_true(value[7])
    assert.truthy(value[8]:find("no regular file", 1, true))
    assert.is_false(value[9])
    local files = table.concat(box:files(), " ")
    assert.truthy(files:find(folder .. "/a.txt", 1, true) and files:find(folder .. "/home/in-home", 1, true))
    assert.is_nil(files:find("none", 1, true))
    assert.truthy(files:find("link", 1, true), "a link that was read through decides, too")
    support.remove(folder)
  end)

  it("knows git repositories", function()
    local config = '# c\n[core]\n\turl = no\n[remote "origin"]\n\turl = https://h/a.git ; c\n\turl = second\n'
      .. '[Remote "a\\"b"]\n  URL = "x # y" \\\n z\n[remote "none"]\n\tfetch = +refs\n[remote]\nurl = no\n[branch "url"]\nurl=no'
    local folder = support.folder { [".git/config"] = config, ["sub/deep/p.lua"] =
      "return { srt.git.toplevel(), srt.git.toplevel('/') == nil, srt.git.remotes(), srt.git.toplevel(srt.here .. '/../../w') }",
      ["w/.git"] = "gitdir: ../.git/worktrees/w\n", [".git/worktrees/w/commondir"] = "../..\n",
      ["w/p.lua"] = "return { srt.git.toplevel(), srt.git.remotes().origin }" }
    local want = { origin = "https://h/a.git", ['a"b'] = "x # y  z" }
    local box = support.open(folder .. "/sub/deep")
    local value, fault = box:load(folder .. "/sub/deep/p.lua")
    assert.is_nil(fault)
    assert.same({ folder, true, want }, { value[1], value[2], value[3] })
    box = support.open(folder .. "/w")
    assert.same({ folder .. "/w", "https://h/a.git" }, (box:load(folder .. "/w/p.lua")))
    support.remove(folder)
  end)

  it("is what the editors' definitions say", function()
    local text = ""
    for _, name in ipairs { "srt", "tables" } do
      local file <close> = assert(io.open(("%s/../../lua/meta/%s.d.lua"):format(support.folder_of_specs, name)))
      text = text .. file:read("a")
    end
    local described = {}
    for name in text:gmatch("\nfunction (srt%.[%w_.]+)%(") do
      described[name] = true
    end
    for name in text:gmatch("\n(srt%.[%w_.]+) = ") do
      described[name] = true
    end
    for name in text:gmatch("%-%-%-@field ([%w_]+)") do
      described["field " .. name] = true
    end
    local live = support.value([[
      local names = {}
      for name, value in pairs(srt) do
        names[#names + 1] = "srt." .. name
        if type(value) == "userdata" and name ~= "env" and name ~= "pass" then
          for inner in pairs(value) do names[#names + 1] = "srt." .. name .. "." .. inner end
        end
      end
      return names]])
    for _, name in ipairs(live) do
      assert.is_true(described[name], name .. " is not in lua/meta")
      described[name] = nil
    end
    for name in pairs(described) do
      assert.truthy(name:find("^field "), name .. " is in lua/meta and not in srt")
    end
    for _, field in ipairs { "host", "method", "headers", "status", "commandId", "sni" } do
      assert.is_true(described["field " .. field], field)
    end
  end)
end)
