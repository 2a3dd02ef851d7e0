-- SPDX-License-Identifier: Apache-2.0
-- Each recipe of docs/cookbook.md loads without a warning that it does not speak of, and decides what stands under it.
local decisions = require("spec.lua.decisions")

local ENV = { LANG = "C", SSH_AUTH_SOCK = "/tmp/agent.sock", GITHUB_TOKEN = "ghp_0123456789abcdef",
  NPM_TOKEN = "npm_0123456789abcdef" }

-- The texts of these two say so.
local WARNS = { "every key of the SSH agent", "does not exist yet" }

local function read()
  local file = assert(io.open("docs/cookbook.md"))
  local text = file:read("a")
  file:close()
  return text
end

describe("the cookbook", function()
  local text, count = read(), 0
  for section in text:match("\n## .*"):gsub("\n## ", "\0"):gmatch("%z([^%z]*)") do
    count = count + 1
    local nth, body = count, section
    it(section:match("[^\n]*"), function()
      assert.equal(tostring(nth), body:match("^%d+"))
      local policy, lines = body:match("```lua\n(.-)```\n```decisions\n(.-)```")
      assert.truthy(policy, "a recipe is a policy and what it decides")
      local problems, asked, profile = decisions.all(policy, lines, ENV)
      assert.equal("", problems)
      assert.is_true(asked >= 2)
      for _, warning in ipairs(profile.warnings) do
        assert.truthy(warning:find(WARNS[1], 1, true) or warning:find(WARNS[2], 1, true), warning)
      end
    end)
  end

  it("is asked by lines that can fail", function()
    for line in ([[
      connect a.test:443 -> allow
      connect a.test:443 -> deny: because
      write x -> allow
      env LANG -> D
      think hard -> allow]]):gmatch("[^\n]+") do
      assert.are_not.equal("", (decisions.all("return {}", line, { LANG = "C" })), line)
    end
  end)

  it("has all recipes tested, and lists them", function()
    assert.equal(count, select(2, text:gsub("\n## %d", "")))
    assert.is_true(count >= 20)
    assert.equal(count, select(2, text:gsub("```lua\n", "")))
    for title in text:gmatch("\n## ([^\n]*)") do
      local anchor = title:lower():gsub("[^%w%- ]", ""):gsub(" ", "-")
      assert.truthy(text:find("(#" .. anchor .. ")", 1, true), anchor)
    end
  end)
end)
