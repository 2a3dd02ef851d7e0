-- SPDX-License-Identifier: Apache-2.0
-- Which Unix sockets an entry of network.allowUnixSockets names, and what it changes in the decisions on paths.
require "spec.lua.support"
local tree = require "spec.lua.tree"
local decide = require "srt.decide_path"
local unix_sockets = require "srt.unix_sockets"

local ROWS = {
  { "/run/a.s", "a" }, { "/run/a.s/x", nil }, { "/run/a", nil }, { "/run/A.s", nil },
  { "/x/y.s", "star" }, { "/x/y/z.s", nil }, { "/x/.s", "star" },
  { "/d", nil }, { "/d/a", "all" }, { "/d/a/b", "all" }, { "/dd/a", nil },
  { "/w[1]/k", "one" }, { "/w1/k", nil }, { "/w[1]/kk", nil },
  { "/any/deep/w-0", "root" }, { "/w-0", "root" }, { "(unreachable)/run/a.s", nil }, { "", nil },
}

describe("the rules for sockets", function()
  local sockets = { paths = { ["/run/a.s"] = "a" }, globs = {
    { top = "/x", pattern = "/*.s", entry = "star" }, { top = "/d", pattern = "/**", entry = "all" },
    { top = "/w[1]", pattern = "/?", entry = "one" }, { top = "/", pattern = "/**/w-*", entry = "root" } } }
  for _, row in ipairs(ROWS) do
    it(("say of %q: %s"):format(row[1], row[2] or "nothing"), function()
      assert.equal(row[2], unix_sockets.rule(sockets, row[1]))
    end)
  end

  it("refuse another shape", function()
    assert.has_error(function() require("srt.c.guard").sockets { paths = { true } } end)
    assert.has_error(function() require("srt.c.guard").sockets { globs = { { top = "/" } } } end)
  end)
end)

describe("an entry", function()
  local top

  before_each(function() top = tree.make({ "w/", "out/", "w/in.s", "out/a.s" }) end)
  after_each(function() tree.remove(top) end)

  local function rules(path, lists)
    lists = lists or {}
    lists.allowWrite = { top .. "/w" }
    local profile = tree.profile(top, lists)
    profile.unix.allowed = { { given = path, path = top .. "/" .. path, origin = { key = "network.allowUnixSockets" } } }
    return decide.compile(profile, { cwd = top .. "/w" })
  end

  it("is the path, outside of what may be written", function()
    local got = rules("out/a.s")
    assert.truthy(got.sockets.paths[top .. "/out/a.s"])
    assert.same({}, got.denyWrite)
  end)

  it("is not to be moved where the command may write", function()
    local got = rules("w/in.s")
    assert.truthy(got.sockets.paths[top .. "/w/in.s"])
    assert.is_false(got:at(top .. "/w/in.s").write)
    assert.is_true(got:at(top .. "/w/in.s").read)
  end)

  it("gives nothing where the command could put a socket", function()
    assert.same({}, rules("w/later.s").sockets.paths)
    assert.truthy(rules("out/later.s").sockets.paths[top .. "/out/later.s"])
  end)

  it("opens a hidden folder, but nothing that is hidden by name", function()
    local got = rules("out/a.s", { denyRead = { top .. "/out" } })
    assert.is_true(got:at(top .. "/out/a.s").read)
    assert.is_false(got:at(top .. "/out").read)
    got = rules("out/a.s", { denyRead = { top .. "/out/a.s" } })
    assert.is_false(got:at(top .. "/out/a.s").read)
    assert.same({}, got.sockets.paths)
  end)

  it("that is a folder stands for all in it", function()
    local got = rules("out")
    assert.truthy(unix_sockets.rule(got.sockets, top .. "/out/any/s"))
    assert.is_nil(unix_sockets.rule(got.sockets, top .. "/w/in.s"))
  end)
end)
