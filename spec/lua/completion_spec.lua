-- SPDX-License-Identifier: Apache-2.0
-- What shells complete is what --help says, and what the commands take: none of the three drifts from the others.
require("spec.lua.support")
local completion = require("srt.completion")
local sys = require("srt.c.sys")
local tokens = require("srt.tokens")

-- Of a module that is only there in the program, --help calls nothing.
package.preload["srt.c.channel"] = function() return {} end

-- What the program writes, called as a user does.
local function said(...)
  local out, write, isatty = {}, sys.write, sys.isatty
  sys.write = function(_, text)
    out[#out + 1] = text
    return true
  end
  sys.isatty = function() return false end
  local status = require("srt.cli.main") { [0] = "srt-lua", version = "1", ... }
  sys.write, sys.isatty = write, isatty
  return table.concat(out), status
end

local rows = {}
for name, doc in said("--help"):gmatch("\n  srt%-lua (%S+) +([^\n]+)") do rows[#rows + 1] = { name, doc } end
local commands = completion.all(rows)
local by_name = {}
for _, command in ipairs(commands) do by_name[command.name] = command end

-- Options that a source names: none of the others' words look like one.
local function options_of(file)
  local handle <close> = assert(io.open(file))
  local found = {}
  for _, token in ipairs(tokens.of(handle:read("a"))) do
    local name = token.kind == "string" and token.value and token.value:match("^%-%-?%a[%w-]*$")
    if name then found[name] = true end
  end
  return found
end

-- Whose options are read in another file than the command's own.
local ELSEWHERE = { run = "../run_options" }

-- Not for users' hands: -h stands for --help, and --inside is what doctor starts itself with.
local UNTOLD = { ["-h"] = true, ["--help"] = true, ["--inside"] = true }

describe("completion", function()
  it("knows all commands", function()
    assert.is_true(#rows >= 11)
    for _, name in ipairs { "run", "check", "init", "completions", "doctor" } do assert.truthy(by_name[name], name) end
  end)

  for _, command in ipairs(commands) do
    it("has the options of " .. command.name .. ", and they are what it takes", function()
      local taken = options_of(("lua/srt/cli/%s.lua"):format(ELSEWHERE[command.name] or command.name))
      if command.name == "explain" then
        for name in pairs(options_of("lua/srt/explain_net.lua")) do taken[name] = true end
      end
      local told = {}
      for _, option in ipairs(command.options) do
        told[option.name] = true
        assert.is_true(taken[option.name] or option.name == "--help", option.name .. " is told and not taken")
        assert.is_true(#option.doc <= 75 and not option.doc:find("^%s"), option.doc)
      end
      for name in pairs(taken) do assert.is_true(told[name] or UNTOLD[name], name .. " is taken and not told") end
    end)
  end

  it("has no option that the manual lacks", function()
    local handle <close> = assert(io.open("man/srt-lua.1"))
    local man = handle:read("a"):gsub("\\f[BRIP]", ""):gsub("\\%-", "-"):gsub("\\[~|]", "")
    for _, command in ipairs(commands) do
      assert.truthy(man:find("\n.B " .. command.name .. "%f[%W]"), command.name)
      for _, option in ipairs(command.options) do
        assert.truthy(option.name == "--help" or man:find("%f[%w-]" .. option.name:gsub("%-", "%%-") .. "%f[^%w-]"),
          command.name .. " " .. option.name)
      end
    end
  end)

  it("knows which options take a value, and which", function()
    local function option(command, name)
      for _, one in ipairs(by_name[command].options) do
        if one.name == name then return one end
      end
    end
    assert.same({ "text", "json", "none" }, option("run", "--report").words)
    assert.same({ "text", "json", "none" }, option("proxy", "--report").words)
    assert.equal("file", option("run", "--violations").takes)
    assert.equal("any", option("run", "-p").takes)
    assert.equal("any", option("explain", "-H").takes)
    assert.equal("any", option("run", "--command-id").takes)
    assert.equal("session", option("exec", "--session").takes)
    assert.equal("folder", option("learn", "--write").takes)
    assert.is_nil(option("run", "--debug").takes)
    assert.is_nil(option("check", "--json").takes)
    assert.same({ "policy", "command" }, by_name.run.words)
    assert.same({ "policy", "action", "file" }, by_name.explain.words)
    assert.same({ "folder" }, by_name.init.words)
  end)

  it("is of commands that all end with 125 where they are called wrongly", function()
    for _, command in ipairs(commands) do
      local text, status = said(command.name, "--no-such-option")
      assert.equal(125, status, command.name)
      assert.truthy(text:find(("srt-lua: %s: "):format(command.name), 1, true), text)
      assert.truthy(text:find(("\nsrt-lua %s --help tells more\n"):format(command.name), 1, true), text)
    end
  end)

  it("has --help by the word help as well", function()
    for _, name in ipairs { "run", "check" } do
      local text, status = said("help", name)
      assert.same({ (said(name, "--help")), 0 }, { text, status })
    end
    assert.same({ said("--help") }, { said("help") })
    local text, status = said("help", "chekc")
    assert.equal(125, status)
    assert.truthy(text:find("did you mean check?", 1, true))
  end)

  it("is written for three shells", function()
    for _, shell in ipairs { "bash", "zsh", "fish" } do
      local text, status = said("completions", shell)
      assert.equal(0, status)
      assert.truthy(text:find(shell .. " completion", 1, true))
      assert.is_nil(text:find("@%u+@"))
    end
    for _, args in ipairs { {}, { "tcsh" }, { "bash", "zsh" } } do
      local text, status = said("completions", table.unpack(args))
      assert.equal(125, status)
      assert.truthy(text:find("bash, zsh", 1, true))
    end
  end)
end)
