-- SPDX-License-Identifier: Apache-2.0
-- Where a policy's code may come from: beside it, ready-made policies, srt; and from nowhere else.

local support = require("spec.lua.box_support")
local suite = support.box and describe or pending

suite("require in the box", function()
  local folder

  ---Loads main.lua beside these files.
  local function load(files, options)
    folder = support.folder(files)
    local box = support.open(folder, options)
    local value, fault = box:load(folder .. "/main.lua")
    return value, fault, box
  end

  after_each(function()
    if folder then
      support.remove(folder)
      folder = nil
    end
  end)

  it("finds files and folders beside the policy, once", function()
    local value, fault, box = load {
      ["main.lua"] = [[
        local a, path = require "lib.a"
        assert(a == require "lib.a" and require "nothing" == true)
        return { a = a, path = path, b = require("deep"), same = require("lib.a").count }]],
      ["lib/a.lua"] = "count = (count or 0) + 1 return { name = ..., count = count }",
      ["deep/init.lua"] = "return require 'deep.inner'",
      ["deep/inner.lua"] = "#!shebang\nreturn 'inner'",
      ["nothing.lua"] = "",
    }
    assert.is_nil(fault)
    assert.same({ a = { name = "lib.a", count = 1 }, path = folder .. "/lib/a.lua", b = "inner", same = 1 }, value)
    -- deep.lua was looked for: whoever made it would decide the next run.
    assert.same({ folder .. "/deep.lua", folder .. "/deep/init.lua", folder .. "/deep/inner.lua",
      folder .. "/lib/a.lua", folder .. "/main.lua", folder .. "/nothing.lua" }, box:files())
  end)

  it("refuses names that could leave the folder", function()
    for _, name in ipairs { "..", ".", "", "a..b", ".a", "a.", "/etc/passwd", "../x", "a/b", "a\\0b", "a b", "~", "a\\n",
      ("x"):rep(200) } do
      local _, fault = load { ["main.lua"] = ("return require %q"):format(name):gsub("\\\\", "\\") }
      assert.truthy(fault, name)
      assert.truthy(fault.message:find("bad module name", 1, true), fault.message)
      support.remove(folder)
      folder = nil
    end
  end)

  it("follows no links", function()
    local outside = support.folder { ["secret.lua"] = "return 'outside'", ["dir/x.lua"] = "return 'outside'" }
    folder = support.folder { ["real/x.lua"] = "return 'inside'" }
    os.execute(("ln -s '%s/secret.lua' '%s/file.lua'; ln -s '%s/dir' '%s/dir'; ln -s real '%s/up'")
      :format(outside, folder, outside, folder, folder))
    local box = support.open(folder)
    for _, name in ipairs { "file", "dir.x", "up.x" } do
      support.write(folder, "one.lua", ("return require %q"):format(name))
      local got, err = box:load(folder .. "/one.lua")
      assert.is_nil(got)
      assert.truthy(err.message:find("symbolic link", 1, true), err.message)
    end
    support.remove(outside)
  end)

  it("stays in the folder it began with, when that is swapped for another", function()
    local outside = support.folder { ["late.lua"] = "return 'outside'", ["lib/a.lua"] = "return 'outside'",
      ["load-late.lua"] = "return require 'late'", ["load-a.lua"] = "return require 'lib.a'" }
    folder = support.folder { ["main.lua"] = "return 1", ["late.lua"] = "return 'inside'",
      ["lib/a.lua"] = "return 'inside'" }
    local box = support.open(folder)
    assert(box:load(folder .. "/main.lua"))
    os.execute(("mv '%s/lib' '%s/old'; ln -s '%s/lib' '%s/lib'"):format(folder, folder, outside, folder))
    local got, fault = box:load(outside .. "/load-a.lua")
    assert.is_nil(got)
    assert.truthy(fault.message:find("symbolic link", 1, true), fault.message)
    os.execute(("mv '%s' '%s.old'; ln -s '%s' '%s'"):format(folder, folder, outside, folder))
    assert.equal("inside", (box:load(outside .. "/load-late.lua")))
    os.execute(("rm '%s'; mv '%s.old' '%s'"):format(folder, folder, folder))
    support.remove(outside)
  end)

  it("gives a callback only what was loaded with the policy", function()
    folder = support.folder { ["main.lua"] = "local e = require 'early' return { f = function(v) return require(v.name) end }",
      ["early.lua"] = "return 'early'", ["late.lua"] = "return 'late'" }
    local box = support.open(folder)
    local value = box:load(folder .. "/main.lua")
    assert.equal("early", select(2, box:call(value.f, "violation", { name = "early" })))
    local ok, message = box:call(value.f, "violation", { name = "late" })
    assert.is_false(ok)
    assert.truthy(message:find("while the policy is loaded only", 1, true), message)
    assert.same({ folder .. "/early.lua", folder .. "/main.lua" }, box:files())
  end)

  it("refuses what is no ordinary source", function()
    folder = support.folder { ["main.lua"] = "return 1", ["big.lua"] = ("-"):rep((1 << 20) + 1),
      ["code.lua"] = string.dump(function() end), ["late.lua"] = "#x\n" .. string.dump(function() end),
      ["bad.lua"] = "return return", ["dir.lua/x"] = "" }
    os.execute(("mkfifo '%s/fifo.lua'"):format(folder))
    local box = support.open(folder)
    for name, message in pairs { big = "larger than 1 MiB", code = "binary chunk", fifo = "no regular file",
      bad = "bad.lua:1:", none = "No such file", dir = "", late = "late.lua:2" } do
      support.write(folder, "one.lua", ("return require %q"):format(name))
      local got, fault = box:load(folder .. "/one.lua")
      assert.is_nil(got)
      assert.truthy(fault.message:find(message, 1, true), fault.message)
    end
  end)

  it("names a cycle, also after an error was caught", function()
    local _, fault = load { ["main.lua"] = "pcall(require, 'a') return require 'a'", ["a.lua"] = "return require 'b'",
      ["b.lua"] = "return require 'a'" }
    assert.truthy(fault.message:find("require goes round: a -> b -> a", 1, true), fault.message)
  end)

  it("can be tried again after an error", function()
    local value = load { ["main.lua"] = "flag = true local ok = pcall(require, 'a') flag = false return { ok, (require 'a') }",
      ["a.lua"] = "if flag then error('x') end return 'fine'" }
    assert.same({ false, "fine" }, value)
  end)

  it("gives ready-made policies", function()
    local asked = {}
    local options = {
      preset = function(name)
        asked[#asked + 1] = name
        if name == "npm" then
          return "return { network = { name = ..., env = srt.cwd ~= nil } }", "@policies/npm.lua"
        elseif name == "broken" then
          return "\nreturn = 1", "@policies/broken.lua"
        elseif name == "binary" then
          return string.dump(function() end), "@policies/binary.lua"
        elseif name == "fails" then
          error("no")
        elseif name == "odd" then
          return {}
        end
      end,
    }
    local value, fault, box = load({ ["main.lua"] = "return { require 'policies.npm', require 'policies.npm' }" }, options)
    assert.is_nil(fault)
    assert.same({ network = { name = "policies.npm", env = true } }, value[1])
    assert.same({ "npm" }, asked)
    assert.same({ network = { env = true } }, box:loadpreset("npm"))
    local got, err = box:loadpreset("broken")
    assert.is_nil(got)
    assert.same({ "syntax", "policies/broken.lua", 2 }, { err.kind, err.file, err.line })
    for name, kind in pairs { none = "io", fails = "io", odd = "io", binary = "syntax" } do
      got, err = box:loadpreset(name)
      assert.is_nil(got)
      assert.equal(kind, err.kind)
    end
    assert.same({ folder .. "/main.lua" }, box:files())
  end)

  it("gives srt and its parts", function()
    assert.is_true(support.value([[
      assert(require "srt" == srt and require "srt.json" == srt.json and require "srt.log.info" == srt.log.info)
      assert(not pcall(require, "srt.nothing") and type(require "srt.secret") == "userdata")
      return true]]))
  end)

  it("takes a policy by a link, and its folder from where it really is", function()
    folder = support.folder { ["real/main.lua"] = "return { here = srt.here, x = require 'x' }", ["real/x.lua"] = "return 7" }
    os.execute(("ln -s real/main.lua '%s/main.lua'"):format(folder))
    local box = support.open(folder .. "/real")
    local value = box:load(folder .. "/main.lua")
    assert.same({ here = folder .. "/real", x = 7 }, value)
    assert.same({ folder .. "/real/main.lua", folder .. "/real/x.lua" }, box:files())
  end)
end)
