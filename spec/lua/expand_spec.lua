-- SPDX-License-Identifier: Apache-2.0
-- Glob patterns of the path lists: how they are read, and what they come to in a real tree.
local support = require("spec.lua.support")
local tree = require("spec.lua.tree")
local expand = require("srt.expand")
local check = require("srt.cli.check")
local suite = support.real and describe or pending

describe("a pattern", function()
  local ctx = { cwd = "/w/[x]", home = "/h" }
  local rows = {
    -- given, root, rest, anywhere, folders
    { "*.ts", "/w/[x]", "*.ts" },
    { "./a//b*/./c", "/w/[x]/a", "b*/c" },
    { "../*", "/w", "*" },
    { "../../../*", "/", "*" },
    { "a/../b?", "/w/[x]", "b?" },
    { "**/.env", "/w/[x]", "**/.env", true },
    { "**/a/**", "/w/[x]", "**/a", true, true },
    { "./**/.env", "/w/[x]", "**/.env" },
    { "~/*.key", "/h", "*.key" },
    { "~/.a/b[0-9]/c/", "/h/.a", "b[0-9]/c", false, true },
    { "/etc/*.conf", "/etc", "*.conf" },
    { "/*", "/", "*" },
    { "/**/x/", "/", "**/x", false, true },
    { "/x/a[/]b", "/x", "a[/]b" },
    { "/x/*/**/", "/x", "*", false, true },
  }
  if not support.real then rows = {} end
  for _, row in ipairs(rows) do
    it("is read: " .. row[1], function()
      local pattern = assert(expand.pattern(row[1], ctx))
      assert.same({ root = row[2], rest = row[3], anywhere = row[4] or false, folders = row[5] or false }, pattern)
    end)
  end

  suite("is none", function()
    for _, given in ipairs { "/a/b", "/a/**", "sub/**/", "**", "/**", "a]", "/w/[a", "/w/[]", "[z-a]" } do
      it("in " .. given, function() assert.same({}, { expand.pattern(given, ctx) }) end)
    end
  end)

  it("can't be gone up from", function()
    for _, given in ipairs { "*/../x", "a/**/../b", "[a]/..", "[a/../b]*" } do
      local pattern, reason = expand.pattern(given, ctx)
      assert.is_nil(pattern)
      assert.truthy(reason:find("..", 1, true), given)
    end
    local _, reason = expand.pattern("~nobody-of-that-name/*", ctx)
    assert.truthy(reason:find("no user", 1, true))
  end)
end)

suite("expanding", function()
  local top

  after_each(function()
    if top then tree.remove(top) end
    top = nil
  end)

  local function make(entries, links)
    top = tree.make(entries, links)
    return top
  end

  local function resolve(lists, more)
    local text = { "return { filesystem = {" }
    for name, list in pairs(lists) do
      local items = {}
      for i, given in ipairs(list) do
        items[i] = type(given) == "table" and ("{ path = %q, literal = true }"):format(given[1]) or ("%q"):format(given)
      end
      text[#text + 1] = ("%s = { %s },"):format(name, table.concat(items, ", "))
    end
    text[#text + 1] = "}," .. (more or "") .. "}"
    return support.resolve(table.concat(text, "\n"), { cwd = top .. "/w", home = top .. "/home", lint = true })
  end

  -- What is on a list, beneath the top.
  local function paths(profile, name)
    local out = {}
    for i, entry in ipairs(profile.filesystem[name]) do
      out[i] = entry.path:sub(1, #top + 1) == top .. "/" and entry.path:sub(#top + 2) or entry.path
    end
    table.sort(out)
    return out
  end

  local function has(list, words)
    for _, text in ipairs(list) do
      if text:find(words, 1, true) then return true end
    end
    return false
  end

  it("puts literal entries in a pattern's place, with its words and its origin", function()
    make { "w/", "w/.env", "w/a/", "w/a/.env", "w/a/x.env" }
    local profile = assert(resolve { denyRead = { "first", "**/.env", "last" } })
    assert.same({ "w/.env", "w/a/.env", "w/first", "w/last" }, paths(profile, "denyRead"))
    local list = profile.filesystem.denyRead
    assert.same({ "first", "**/.env", "**/.env", "last" }, { list[1].given, list[2].given, list[3].given, list[4].given })
    for i = 2, 3 do
      assert.equal("filesystem.denyRead[2]", list[i].origin.key)
      assert.is_true(list[i].glob)
      assert.is_nil(list[i].pattern)
    end
  end)

  it("means a folder by a slash or two stars at the end, in every list", function()
    make({ "w/", "w/build/", "w/build/o", "w/a/", "w/a/build", "w/b/", "w/b/build/", "w/c/" },
      { ["w/c/build"] = "../b/build" })
    for _, given in ipairs { "**/build/", "**/build/**", "**/build/**/" } do
      -- A link may come to lead to a folder, so it is denied; what it leads to is one, so it is allowed.
      for _, list in ipairs { "denyRead", "allowRead", "denyWrite", "allowWrite" } do
        local profile = assert(resolve { [list] = { given } })
        assert.same({ "w/b/build", "w/build", "w/c/build" }, paths(profile, list), list .. given)
      end
    end
    for _, list in ipairs { "denyRead", "allowRead", "denyWrite", "allowWrite" } do
      assert.same({ "w", "w/b" }, paths(assert(resolve { [list] = { "b/**", "**" } }), list))
    end
  end)

  it("looks beneath every allowed root for **/", function()
    make { "w/", "w/k", "home/", "home/k", "r/", "r/k", "r/s/", "r/s/k", "o/", "o/k", "p1/", "p1/k" }
    local lists = { denyRead = { "**/k", "./**/k", "o/**/k" }, denyWrite = { "**/k" },
      allowWrite = { top .. "/r", top .. "/r/s", "k", top .. "/p?" }, allowRead = { "~" } }
    local profile = assert(resolve(lists))
    assert.same({ "home/k", "p1/k", "r/k", "r/s/k", "w/k", "w/k" }, paths(profile, "denyRead"))
    assert.same({ "home/k", "p1/k", "r/k", "r/s/k", "w/k" }, paths(profile, "denyWrite"))
    -- What may be read gives nothing to write.
    profile = assert(resolve { allowWrite = { "**/k" }, allowRead = { top .. "/o" } })
    assert.same({ "w/k" }, paths(profile, "allowWrite"))
  end)

  it("counts a path of that very name as well", function()
    make { "w/", "w/[x]*", "w/xa", "w/a*b", "w/acb" }
    local profile = assert(resolve { denyRead = { "[x]*" }, denyWrite = { { "a*b" } } })
    assert.same({ "w/[x]*", "w/xa" }, paths(profile, "denyRead"))
    assert.is_true(has(profile.warnings, "both count"))
    assert.same({ "w/a*b" }, paths(profile, "denyWrite"))
    profile = assert(resolve { denyRead = { "a*b" } })
    assert.same({ "w/a*b", "w/acb" }, paths(profile, "denyRead"))
    assert.is_false(has(profile.warnings, "both count"))
  end)

  it("takes folders with glob characters in their names as they are", function()
    make { "w/", "w/[x]/", "w/[x]/a.key", "w/x/", "w/x/a.key" }
    local profile = assert(support.resolve('return { filesystem = { denyRead = { "*.key", "~/*.key" } } }',
      { cwd = top .. "/w/[x]", home = top .. "/w/[x]" }))
    assert.same({ "w/[x]/a.key", "w/[x]/a.key" }, paths(profile, "denyRead"))
  end)

  it("follows no link but on the way to where the pattern begins", function()
    make({ "w/", "real/", "real/k.pem" }, { ["w/lnk"] = "../real", ["w/l.pem"] = "../real/k.pem", ["w/loop"] = "loop" })
    local profile = assert(resolve { denyRead = { "lnk/*.pem", "**/*.pem", "loop/*", "l.pem/*" } })
    assert.same({ "w/l.pem", "w/lnk/k.pem" }, paths(profile, "denyRead"))
  end)

  it("comes to nothing where nothing is", function()
    make { "w/", "w/file" }
    local profile = assert(resolve { denyRead = { "*.pem", "no/*", "file/*" }, allowWrite = { "x*" } })
    assert.same({}, profile.filesystem.denyRead)
    assert.same({}, profile.filesystem.allowWrite)
  end)

  it("does not look into what is the sandbox's own", function()
    make { "w/" }
    local profile = assert(resolve { denyRead = { "/proc/*/environ", "/dev/*", "/de[v]" } })
    assert.same({ "/dev" }, paths(profile, "denyRead"))
  end)

  it("is bounded, and says what to do", function()
    make { "w/", "w/a", "w/b", "w/c" }
    local _, problems = resolve({ denyRead = { "**/*" } }, "limits = { globMatches = 2 }")
    assert.equal("filesystem.denyRead[1]", problems[1].key)
    assert.truthy(problems[1].message:find("limits.globMatches is 2", 1, true))
    assert(resolve({ denyRead = { "**/*" } }, "limits = { globMatches = 3 }"))
    _, problems = resolve({ denyRead = { "/usr/**/*.h" } }, "limits = { walkEntries = 1000 }")
    assert.truthy(problems[1].message:find("more than 1000 names", 1, true), problems[1].message)
  end)

  it("tells at each run what allows nothing, as of a path, and not what denies nothing yet", function()
    local desk = require("spec.lua.decisions").open([[return { filesystem = { allowWrite = { "a*", "*.nope", "lit", "." },
      allowRead = { "*.none" }, denyRead = { "*.no", "lit" }, denyWrite = { "*.no" }, denyDelete = { "*.no" } } }]],
      { files = { "a" } })
    local told = desk:profile().warnings
    desk:close()
    for i, warning in ipairs(told) do told[i] = warning:match(": ([^:]+) %[as%-found%-here%]$") end
    table.sort(told)
    assert.same({ "*.none matches nothing that exists, so it allows nothing",
      "*.nope matches nothing that exists, so it allows nothing", "lit does not exist, so it allows nothing" }, told)
  end)

  it("tells check what was found, and what a denial does not hold", function()
    make { "w/", "w/a", "w/b", "w/c", "w/d", "w/e", "w/f", "w/g" }
    local profile = assert(resolve { denyRead = { "?", "[!x]*", "z*" }, allowWrite = { "." } })
    local text = check.text("p.lua", profile)
    assert.truthy(text:find("= 7 paths: " .. top .. "/w/a, ", 1, true), text)
    assert.truthy(text:find(" and 2 more", 1, true), text)
    assert.truthy(text:find("= 0 paths", 1, true), text)
    assert.is_true(has(profile.notes, "a new file elsewhere is not held"))
    assert.is_true(has(profile.warnings, '"!" and "^" in a set are characters like any other'))
    local glob = require("srt.check_data").profile(profile).filesystem.globs[1]
    assert.same({ "denyRead", "?", 7, 5, 0 }, { glob.list, glob.given, glob.count, #glob.paths, glob.unseenCount })
    assert.equal("filesystem.denyRead[1]", glob.origin.key)
  end)

  it("says nothing of single paths that a pattern came to", function()
    make { "w/", "w/a", "w/b" }
    local profile = assert(resolve { denyWrite = { "?", "[ab]" }, allowRead = { "?" } })
    assert.is_false(has(profile.notes, "listed twice"))
    assert.is_false(has(profile.notes, "changes nothing"))
  end)
end)
