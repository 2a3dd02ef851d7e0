-- SPDX-License-Identifier: Apache-2.0
-- The strict reader of git's configuration: what it accepts, git reads in the same way.

local support = require("spec.lua.support")
local gitconfig = require("srt.gitconfig")
local sys = require("srt.c.sys")

local file = "/tmp/srt-spec-" .. sys.random(8)

local function write(text)
  local f = assert(io.open(file, "wb"))
  f:write(text)
  f:close()
end

-- What git reads: {key, value}…, or nil.
local function by_git(text)
  write(text)
  local pipe = assert(io.popen("git config -f " .. file .. " --list -z 2>/dev/null"))
  local out = pipe:read("a")
  if not pipe:close() then return nil end
  local list = {}
  for item in out:gmatch("(%Z*)%z") do
    local key, value = item:match("^([^\n]*)\n(.*)$")
    list[#list + 1] = { key or item, value }
  end
  return list
end

local function by_us(text)
  local settings, reason = gitconfig.read(text)
  if not settings then return nil, reason end
  local list = {}
  for i, setting in ipairs(settings) do list[i] = { setting.key, setting.value } end
  return list
end

local PIECES = { "[core]", "[Core]", "[remote \"origin\"]", "[a \"b\\\"c\\\\d\"]", "[a.b]", "[a \"b]", "[x-1]", "[]", "\n", "\n",
  "\n", "\n", "\t", " ", "fsmonitor", "key", "Key-2", "2key", "=", " = ", "=", "value", "true", "\"quo ted\"", "\"", "\\\"", "\\\\", "\\n",
  "\\t", "\\q", "\\\n", "# comment", "; other", "a  b", "\r\n", "é", "[include]", "path = x", "\1", "[core] x = y", "\"a\"b" }

local VALUES = { "a", " b", "\"", "\\\"", "\\\\", "\\n", "#", ";", "=", "é", "[x]", "!", "  ", "\"q r\"" }
local LINES = { "[core]", "[Remote \"o'r.g\"]", "# c", " ; d", "", "\tkey", "  Key-2 =", "x=1" }

-- Lines that could be git's own, with values at random.
local function likely_text()
  local out = { "[a]" }
  for _ = 1, math.random(8) do
    local line = LINES[math.random(#LINES)]
    if math.random(2) == 1 then
      line = "\tname = "
      for _ = 1, math.random(5) do line = line .. VALUES[math.random(#VALUES)] end
    end
    out[#out + 1] = line
  end
  return table.concat(out, "\n") .. (math.random(2) == 1 and "\n" or "")
end

local function random_text()
  if math.random(2) == 1 then return likely_text() end
  local out = {}
  if math.random(4) > 1 then out[1] = "[core]\n" end
  for _ = 1, math.random(14) do out[#out + 1] = PIECES[math.random(#PIECES)] end
  return table.concat(out)
end

describe("git's configuration", function()
  local seed = os.time()
  teardown(function() os.remove(file) end)

  it("is read as git reads it", function()
    math.randomseed(seed)
    local accepted = 0
    for _ = 1, 300 do
      local text = random_text()
      local ours = by_us(text)
      if ours then
        accepted = accepted + 1
        assert.same(by_git(text), ours, ("seed %d: %q"):format(seed, text))
      end
    end
    assert.is_true(accepted > 30, "accepted " .. accepted)
  end)

  it("is accepted as git writes it", function()
    math.randomseed(seed)
    local bytes = "ab \t\"\\#;=[]\n!é'$`"
    for _ = 1, 30 do
      local value = {}
      for i = 1, math.random(0, 12) do
        local at = math.random(#bytes)
        value[i] = bytes:sub(at, at):find("[\128-\255]") and "x" or bytes:sub(at, at)
      end
      value = table.concat(value)
      write("")
      local quoted = "'" .. value:gsub("'", "'\\''") .. "'"
      assert(os.execute(("git config -f %s 'remote.o\"r ig\\in.url' %s && git config -f %s core.bare true"):format(file, quoted,
        file)))
      local text = assert(sys.readfile(file))
      assert.same({ { "remote.o\"r ig\\in.url", value }, { "core.bare", "true" } }, (by_us(text)),
        ("seed %d: %q"):format(seed, text))
    end
  end)

  -- text, the keys that count
  local ROWS = {
    { "[core]\n\tfsmonitor = x", "core.fsmonitor" }, { "[core]\n\tfsmonitor = true", "" }, { "[CORE]\nFSMonitor=a b", "core.fsmonitor" },
    { "[core]\n\tfsmonitor", "" }, { "[core]\nbare = false\nrepositoryformatversion = 0\nfilemode = true", "" },
    { "[alias]\n\tst = status", "alias.st" }, { "[pager]\n\tlog = less\n\tdiff = no", "pager.log" },
    { "[credential \"https://x\"]\nhelper = !x", "credential.https://x.helper" }, { "[include]\npath = y", "include.path" },
    { "[includeIf \"gitdir:/\"]\npath = y", "includeif.gitdir:/.path" },
    { "[filter \"lfs\"]\nclean = x\nrequired = true", "filter.lfs.clean" },
    { "[remote \"o\"]\nurl = ext::sh -c x\nfetch = +a:b", "remote.o.url" }, { "[remote \"o\"]\nurl = https://a/b\nfetch = +a:b", "" },
    { "[remote \"o\"]\nurl = --upload-pack=x", "remote.o.url" }, { "[submodule \"s\"]\nupdate = !x\nurl = ../s", "submodule.s.update" },
    { "[submodule \"s\"]\nupdate = merge\nactive = true", "" }, { "[branch \"m\"]\nremote = o\nmerge = refs/heads/m", "" },
    { "[user]\nname = x\nemail = y\nsigningkey = z", "" }, { "[tar \"tgz\"]\ncommand = x", "tar.tgz.command" },
    { "[gc]\nrecentObjectsHook = x\nauto = 0", "gc.recentobjectshook" }, { "[core]\nworktree = /home/u", "core.worktree" },
  }
  for _, row in ipairs(ROWS) do
    it("tells what runs: " .. row[1]:gsub("\n", "⏎"), function()
      local keys, bad = {}, {}
      for _, setting in ipairs(assert(gitconfig.read(row[1]))) do
        if gitconfig.executes(setting) then
          keys[#keys + 1] = setting.key
          bad[#bad + 1] = setting
        end
      end
      assert.equal(row[2], table.concat(keys, " "))
      local rest = gitconfig.without(row[1], bad)
      for _, setting in ipairs(assert(gitconfig.read(rest))) do assert.is_false(gitconfig.executes(setting)) end
      assert.equal(#gitconfig.read(row[1]) - #bad, #gitconfig.read(rest))
    end)
  end

  for _, text in ipairs({ "[core] fsmonitor = x", "[a.b]\nc = d", "x = y", "[core]\nfsmon\\\nitor = x", "[core]\na = b\\\n\tfsmonitor = x",
    "[core]\r\na = b", "[core]\na = \"b", "[core]\na = \\q", "\239\187\191[core]\na = b", "[core]\n\0a = b", "[core\n]", "[core]\na b" }) do
    it(("refuses %q"):format(text), function()
      local settings, reason = gitconfig.read(text)
      assert.is_nil(settings)
      assert.is_string(reason)
    end)
  end
end)
assert(support)
