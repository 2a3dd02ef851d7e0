-- SPDX-License-Identifier: Apache-2.0
-- The policy reference is made of the schema, lua/meta and docs/src/policy.md, and what is committed is what they make.
require("spec.lua.support")
local reference = require("tools.reference")
local schema = require("srt.schema")

-- What a backend's source says of keys that it does not hold: a pattern for each line that says so.
local SAYS = {
  landlock = { '^  if .* return "([^"]+)"', '%[#list %+ 1%] = "([^"]+)"' },
  bwrap = { 'return refused%("([^"]+)"' },
  seatbelt = { '^    { .*, "([^":]+)[^"]*" },' },
  windows = { '^  end, "([^"]+)",', ' end, "([^"]+)",$' },
}
-- These are said in the text of the key: not the whole of it is refused.
local IN_WORDS = { landlock = { "allowAllUnixSockets", "network.tlsTerminate", "network.publishPorts" },
  windows = { "network.tlsTerminate", "credentials.files" } }

local function has_word(text, word)
  return text:find("%f[%w]" .. word:gsub("%.", "%%.") .. "%f[^%w.]") ~= nil
end

-- backend → the keys that docs/src/policy.md says it does not hold.
local function documented()
  local out, key = {}, nil
  for line in reference.read(reference.SOURCE):gmatch("(.-)\n") do
    key = line:match("^@key (%S+)$") or key
    for names in (line:match("^@backends (.*)$") or ""):gmatch("=(%S+)") do
      for name in names:gmatch("%w+") do
        out[name] = out[name] or {}
        out[name][key] = true
      end
    end
  end
  return out
end

local keys = {}
schema.each(function(key, node)
  if node.type ~= "table" or node.presence then keys[#keys + 1] = key end
end)

describe("the policy reference", function()
  for name, text in pairs { [reference.MARKDOWN] = reference.markdown(), [reference.PAGE] = reference.page() } do
    it(name .. " is what tools/reference.lua makes", function()
      assert.is_true(reference.read(name) == text, name .. " is out of date: run tools/reference.lua")
    end)
  end

  it("has every key, with its type", function()
    local text = reference.markdown()
    schema.each(function(key, node)
      if node.type ~= "table" then
        assert.truthy(text:find(("\n### `%s`\n*"):format(key), 1, true), key)
      end
    end)
  end)

  it("says what each backend says that it does not hold", function()
    local said = documented()
    for backend, patterns in pairs(SAYS) do
      local count = 0
      for line in reference.read(("backends/%s.lua"):format(backend)):gmatch("(.-)\n") do
        for _, pattern in ipairs(patterns) do
          local words = line:match(pattern)
          for _, key in ipairs(words and keys or {}) do
            if has_word(words, key) and not has_word(table.concat(IN_WORDS[backend] or {}, " "), key) then
              count = count + 1
              assert.is_true((said[backend] or {})[key], ("%s does not hold %s: %s"):format(backend, key, line))
            end
          end
        end
      end
      assert.is_true(count > 0, backend)
    end
  end)

  it("says of no backend what its source knows nothing of", function()
    for backend, list in pairs(documented()) do
      local text = reference.read(("backends/%s.lua"):format(backend))
      for key in pairs(list) do
        -- A part of mitmProxy is refused with all of it, and that nothing is reported holds for all that is observed.
        local known = has_word(text, key) or has_word(text, key:match("^(.*)%.[^.]+$") or key)
        assert.is_true(known or (key == "observe" and text:find("are not reported", 1, true) ~= nil), backend .. ": " .. key)
      end
    end
  end)
end)
