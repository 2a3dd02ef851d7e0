-- SPDX-License-Identifier: Apache-2.0
-- What a run did, folded to the few lines of a policy, and spelled so that nothing in it can be anything else.
require "spec.lua.support"
local fold = require "srt.learn_fold"
local learn_net = require "srt.learn_net"
local learn_policy = require "srt.learn_policy"
local paths = require "srt.paths"
local stores = require "srt.stores"
local text = require "srt.learn_text"

local HOME = "/home/me"
local OWN = {}
for i, path in ipairs(dofile("policies/no-secrets.lua").filesystem.denyRead) do OWN[i] = path:gsub("^~", HOME) end

-- rows: "create /a/b", "write …", "delete …", "chmod …"; gone: paths that are not there in the end, folders end in "/"
local function folded(rows, options)
  options = options or {}
  local seen, kinds = {}, {}
  for _, row in ipairs(rows) do
    local action, path = row:match("^(%l+) (/.-)/?$")
    seen[path] = seen[path] or { programs = { sh = true } }
    seen[path][action] = true
    kinds[path] = row:sub(-1) == "/" and "dir" or "file"
  end
  for _, path in ipairs(options.gone or {}) do kinds[path] = nil end
  local allow, never = fold.fold(seen, { home = HOME, project = options.project, kind = function(p) return kinds[p] end,
    stores = stores.new(OWN, { "/etc/shadow" }, function() end) })
  local names, others = {}, {}
  for i, entry in ipairs(allow) do names[i] = entry.path .. (entry.file and " file" or "") end
  for i, entry in ipairs(never) do others[i] = entry.path end
  return names, others, allow
end

describe("folding", function()
  it("allows what was there and was changed by itself", function()
    assert.same({ "/srv/d/f file" }, (folded { "write /srv/d/f" }))
    assert.same({ "/srv/d" }, (folded { "chmod /srv/d/" }))
  end)

  it("allows the folder that was there, of what was made or removed", function()
    assert.same({ "/srv/d" }, (folded { "create /srv/d/a/", "create /srv/d/a/b/", "create /srv/d/a/b/f",
      "write /srv/d/a/b/f" }))
    assert.same({ "/srv/d" }, (folded({ "delete /srv/d/f" }, { gone = { "/srv/d/f" } })))
    assert.same({ "/srv/d" }, (folded { "create /srv/d/f", "write /srv/d/g", "write /srv/d/x/h" }))
  end)

  it("takes the folder for many files in it", function()
    assert.same({ "/srv/d/1 file", "/srv/d/2 file" }, (folded { "write /srv/d/1", "write /srv/d/2" }))
    local names, _, allow = folded { "write /srv/d/1", "write /srv/d/2", "write /srv/d/3" }
    assert.same({ "/srv/d" }, names)
    assert.equal(3, allow[1].count)
  end)

  it("never takes folders that hold everything", function()
    for _, top in ipairs { "/", "/etc", "/usr", "/usr/lib", "/var", "/var/lib", "/home", HOME, HOME .. "/.config", HOME .. "/.cache",
      HOME .. "/.local/share", "/root", "/opt" } do
      local rows, gone = {}, {}
      for i = 1, 20 do
        rows[#rows + 1] = "create " .. paths.join(top, "f" .. i)
        rows[#rows + 1] = "write " .. paths.join(top, "g" .. i)
        rows[#rows + 1] = "create " .. paths.join(top, "h" .. i)
        gone[i] = paths.join(top, "h" .. i)
      end
      rows[#rows + 1] = "chmod " .. (top == "/" and "//" or top .. "/")
      local names, never = folded(rows, { gone = gone })
      assert.equal(40, #names, top)
      assert.is_true(#never >= 20, top)
      for _, name in ipairs(names) do assert.truthy(name:find(" file$"), name) end
    end
  end)

  it("takes a program's own folder in the home directory", function()
    for _, row in ipairs { { "create", ".npm/_cacache/a", ".npm" }, { "create", ".cache/pip/http/a", ".cache/pip" },
      { "write", ".cache/pip/http/a", ".cache/pip" }, { "create", ".local/share/tool/x/y", ".local/share/tool" },
      { "create", ".config/tool/x", ".config/tool" }, { "create", "work/a/b", "work/a" } } do
      assert.same({ HOME .. "/" .. row[3] }, (folded { ("%s %s/%s"):format(row[1], HOME, row[2]) }), row[2])
    end
    assert.same({ HOME .. "/.config/tool/x file" }, (folded { ("write %s/.config/tool/x"):format(HOME) }))
    assert.same({ HOME .. "/.new" }, (folded { ("create %s/.new/"):format(HOME), ("create %s/.new/f"):format(HOME) }))
    assert.same({ HOME .. "/.cache/t" }, (folded { ("create %s/.cache/"):format(HOME),
      ("create %s/.cache/t/"):format(HOME), ("create %s/.cache/t/f"):format(HOME) }))
  end)

  it("gives the project for what its tools fill, and for many places in it", function()
    local here = { project = "/w/p" }
    for _, name in ipairs { "node_modules/a", ".git/objects/ab", "target/debug", "build" } do
      assert.same({ "/w/p" }, (folded({ "create /w/p/" .. name .. "/f" }, here)), name)
      assert.same({ "/w/p" }, (folded({ "write /w/p/" .. name .. "/f" }, here)), name)
    end
    assert.same({ "/w/p/a", "/w/p/b" }, (folded({ "create /w/p/a/f", "create /w/p/b/f" }, here)))
    assert.same({ "/w/p" }, (folded({ "create /w/p/a/f", "create /w/p/b/f", "write /w/p/c/f" }, here)))
    assert.same({ "/w/q/node_modules/a" }, (folded({ "create /w/q/node_modules/a/f" }, here)))
  end)

  it("does not fold credentials away", function()
    assert.same({ HOME .. "/.docker/config.json file" }, (folded { ("write %s/.docker/config.json"):format(HOME) }))
    assert.same({ HOME .. "/.ssh/known_hosts file" }, (folded { ("write %s/.ssh/known_hosts"):format(HOME) }))
    assert.same({ "/etc/shadow file" }, (folded { "write /etc/shadow" }))
  end)

  it("finds a project that is not everything", function()
    assert.equal("/w/p", fold.project({ home = HOME }, { HOME, "/w/p" }))
    for _, path in ipairs { "/", HOME, "/home", "/tmp", "/usr" } do
      assert.is_nil(fold.project({ home = HOME }, { path }), path)
    end
    -- However far above, it has all of home in it.
    for _, path in ipairs { "/data", "/data/users" } do
      assert.is_nil(fold.project({ home = "/data/users/staff/me" }, { path }), path)
    end
  end)
end)

describe("a string of a policy", function()
  local function same(s)
    local quoted = text.quote(s)
    assert.equal(s, assert(load("return " .. quoted))())
    assert.falsy(quoted:find("%c"))
    assert.truthy(utf8.len(quoted))
  end

  it("is the same when it is read, in one line, whatever it holds", function()
    for _, s in ipairs { "", "a", "\n\r\t\0\27", "\\", "\"'", "\\n", "]]", "--", "\xff\xfe", "ümläut", "\u{202e}x", "\0001",
      "\u{d800}", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3", "a\xc3" } do
      same(s)
    end
    math.randomseed(7)
    for _ = 1, 3000 do
      local bytes = {}
      for i = 1, math.random(0, 30) do bytes[i] = string.char(math.random(0, 255)) end
      same(table.concat(bytes))
    end
  end)

  it("shows what it holds", function()
    assert.equal('"ümläut"', text.quote("ümläut"))
    assert.equal('"\\226\\128\\174"', text.quote("\u{202e}"))
    assert.equal("plain", text.plain("plain"))
    assert.equal('"a\\nb"', text.plain("a\nb"))
  end)

  it("means the path that it was", function()
    local ctx = { cwd = "/w/p", home = HOME }
    for _, path in ipairs { "/w/p/a", "/w/p/~a", "/w/p/$a", "/w/p/~/a", "/w/p/-a", HOME .. "/a", HOME .. "/.a b", HOME .. "x/a",
      "/etc/x", "/w/p/..a", "/w/p/a\nb" } do
      assert.equal(path, paths.expand(load("return " .. text.path(path, ctx))(), ctx))
    end
    assert.equal("srt.cwd", text.path("/w/p", ctx))
    assert.same({ path = "a*", literal = true }, load("return " .. text.path("/w/p/a*", ctx))())
  end)
end)

describe("hosts", function()
  local function seen(...)
    local map = {}
    for _, text_of in ipairs { ... } do
      local host, port = text_of:match("^(.*):(%d+)$")
      map[text_of] = { host = host, port = tonumber(port), ways = { connect = true }, programs = { curl = true } }
    end
    return map
  end

  it("stay as they are, sorted by who has them", function()
    local rules = learn_net.rules(seen("b.example.com:443", "a.test.org:443", "a.example.com:80"))
    assert.same({ "a.example.com:80", "b.example.com:443", "a.test.org:443" },
      { rules[1].text, rules[2].text, rules[3].text })
    assert.same({}, learn_net.wildcards(rules))
  end)

  it("get a wildcard only as a suggestion, and of one owner", function()
    local rules = learn_net.rules(seen("a.x.co.uk:443", "b.x.co.uk:443", "c.x.co.uk:443", "d.x.co.uk:443",
      "a.co.uk:443", "b.co.uk:443", "c.co.uk:443", "d.co.uk:443", "10.0.0.1:443"))
    assert.equal(9, #rules)
    assert.same({ { text = "*.x.co.uk:443", count = 4 } }, learn_net.wildcards(rules))
  end)

  it("bring the address in that only an entry of its own opens", function()
    local map = seen("local.test:8080")
    map["local.test:8080"].address = "127.0.0.1"
    local rules = learn_net.rules(map)
    assert.same({ "127.0.0.1:8080", "local.test:8080" }, { rules[1].text, rules[2].text })
  end)
end)

describe("the policy", function()
  local PRESETS = {
    npm = { hosts = { "*.npmjs.org:443" }, write = { HOME .. "/.npm" }, deny = { HOME .. "/.npmrc" } },
    ["git-https"] = { hosts = { "github.com:443" }, write = {}, deny = {} },
    ["no-system-secrets"] = { hosts = {}, write = {}, deny = { "/etc/shadow" } },
    pypi = { hosts = { "pypi.org:443", "files.pythonhosted.org:443" }, write = { HOME .. "/.cache/pip" }, deny = {} },
  }

  local function found(more)
    local base = { ctx = { cwd = "/w/p", home = HOME }, command = "npm", date = "2026-11-30", lost = 0, root = false,
      reads = true, allow = {}, never = {}, read = {}, unread = {}, unwritten = {}, rules = {}, sockets = {}, denied = {} }
    for key, value in pairs(more) do base[key] = value end
    return base
  end

  local function written(more)
    local lua = learn_policy.text(found(more), PRESETS)
    return assert(load(lua, "policy", "t", { srt = { cwd = "/w/p" } }))(), lua
  end

  local function entry(path, more)
    local e = { path = path, programs = { "sh" }, count = 1 }
    for key, value in pairs(more or {}) do e[key] = value end
    return e
  end

  local function rule(host, program)
    return { text = host .. ":443", host = host, port = 443, ways = { "connect" }, programs = { program } }
  end

  it("is empty where nothing was done", function() assert.same({}, (written {})) end)

  it("uses what is ready-made for what it gives", function()
    local policy = written { allow = { entry("/w/p"), entry(HOME .. "/.npm") },
      rules = { rule("a.npmjs.org", "node"), rule("github.com", "git-remote-https"), rule("example.com", "node") } }
    assert.same({ extends = { "workspace", "npm", "git-https" },
      network = { allowedDomains = { "example.com:443" } } }, policy)
    for _, program in ipairs { "/usr/bin/python3.11", "/opt/bin/uv", "/usr/bin/pip3" } do
      policy = written { allow = { entry(HOME .. "/.cache/pip") }, rules = { rule("pypi.org", program) } }
      assert.same({ extends = { "pypi" } }, policy)
    end
  end)

  it("uses nothing that gives what was not used, or denies what was read", function()
    local policy = written { allow = { entry(HOME .. "/.npm") }, rules = { rule("github.com", "curl") } }
    assert.same({ filesystem = { allowWrite = { "~/.npm" } }, network = { allowedDomains = { "github.com:443" } } },
      policy)
    policy = written { read = { { path = HOME .. "/.npmrc", programs = {} } }, rules = { rule("a.npmjs.org", "npm") } }
    assert.same({ network = { allowedDomains = { "a.npmjs.org:443" } }, filesystem = { denyRead = {} } }, policy)
    assert.same({ "no-system-secrets" }, (written { root = true }).extends)
    assert.is_nil((written { root = true, reads = false }).extends)
    assert.is_nil((written { root = true, read = { { path = "/etc/shadow", programs = {} } } }).extends)
  end)

  it("shouts where credentials are allowed", function()
    local policy, lua = written { allow = { entry(HOME .. "/.netrc", { file = true, store = HOME .. "/.netrc" }),
      entry("/w/p", { store = "/w/p" }) } }
    assert.same({ "~/.netrc", "/w/p" }, policy.filesystem.allowWrite)
    local _, count = lua:gsub("!!! CREDENTIALS", "")
    assert.equal(2, count)
  end)

  it("holds nothing that a command could have put there", function()
    local evil = "x\n}, filesystem = { allowWrite = { '/' } } --[[ \" \r\u{2028}"
    local policy, lua = written { command = evil, allow = { entry("/srv/" .. evil, { programs = { evil } }) },
      never = { entry("/srv/y" .. evil, { why = evil }) }, read = { { path = "/r/" .. evil, programs = { evil } } },
      unread = { "/u/" .. evil }, sockets = { { path = "/s/" .. evil, why = evil, programs = { evil } } },
      denied = { { kind = evil, target = evil, reason = evil } } }
    assert.same({ { path = "/srv/" .. evil, literal = true } }, policy.filesystem.allowWrite)
    assert.same({ { path = "/u/" .. evil, literal = true } }, policy.filesystem.denyRead)
    assert.is_nil(policy.extends)
    for line in lua:gmatch("[^\n]+") do assert.falsy(line:find("[%c\127]"), line) end
  end)

  it("says what is missing", function()
    local _, lua = written { lost = 7, reads = false }
    assert.truthy(lua:find("NOT COMPLETE: 7 ", 1, true))
    assert.truthy(lua:find("was not watched", 1, true))
  end)
end)
