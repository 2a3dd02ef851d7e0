-- SPDX-License-Identifier: Apache-2.0
-- Lints of callbacks, and of the programs that a policy is for.
local sys = require "srt.c.sys"
local tokens = require "srt.tokens"

local function is(token, text) return token ~= nil and token.text == text end

local EMPTY = { ["nil"] = true, ['""'] = true, ["''"] = true }

-- Does `return` at an index deny and say nothing?
local function silent_return(list, i)
  if not (is(list[i], "return") and is(list[i + 1], "false")) then return false end
  if is(list[i + 2], ",") then return list[i + 3] ~= nil and EMPTY[list[i + 3].text] ~= nil end
  -- What goes on is an expression, of which nothing is known.
  return list[i + 2] == nil or list[i + 2].kind == "name" and not (is(list[i + 2], "or") or is(list[i + 2], "and"))
    or is(list[i + 2], ";")
end

-- Does srt.deny at an index say nothing?
local function silent_deny(list, i)
  if not (is(list[i], "srt") and is(list[i + 1], ".") and is(list[i + 2], "deny")) then return false end
  local at = i + 3
  if is(list[at], "(") then at = at + 1 end
  if is(list[at], ")") then return true end
  local to = is(list[at], "{") and tokens.closing(list, at)
  if not to then return false end
  for j = at, to do
    if is(list[j], "reason") and is(list[j + 1], "=") then return false end
  end
  return true
end

---Calls visit with the line of each silent denial of the function that begins in a line; functions inside it answer
---somebody else.
local function silent(list, line, visit)
  local at
  for i, token in ipairs(list) do
    if token.line == line and token.kind == "name" and token.text == "function" then
      at = i
      break
    end
  end
  local to, i = at and tokens.end_of_function(list, at), at and at + 1
  while to and i < to do
    if list[i].kind == "name" and list[i].text == "function" then
      i = tokens.end_of_function(list, i) or to
    elseif silent_return(list, i) or silent_deny(list, i) then
      visit(list[i].line)
    end
    i = i + 1
  end
end

local function without_reason(self, profile, policy)
  local known = {}
  for _, name in ipairs(require("srt.profile").CALLBACKS) do
    for i, fn in ipairs(profile.callbacks[name]) do
      local origin = profile.callbacks.origins[fn]
      local entry = policy.values[require("srt.profile").callbackKey(name)].chain[i]
      if origin.line and origin.file and policy.read then
        known[origin.file] = known[origin.file] or tokens.of(policy.read(origin.file) or "")
        silent(known[origin.file], origin.line, function(line)
          self:find({ file = origin.file, line = line, key = origin.key, preset = entry.origin.preset },
            "it denies and does not say why; return false, \"the reason\"")
        end)
      end
    end
  end
end

local JEST_FILES = { "jest.config.js", "jest.config.cjs", "jest.config.mjs", "jest.config.ts", "jest.config.json" }

-- Does the project run Jest, and may that ask watchman?
local function jest_asks(cwd)
  local manifest = sys.readfile(cwd .. "/package.json", 1 << 20)
  if not manifest or not manifest:find('"jest"', 1, true) then return false end
  local text = manifest
  for _, name in ipairs(JEST_FILES) do text = text .. (sys.readfile(cwd .. "/" .. name, 1 << 20) or "") end
  return not (text:find("--no-watchman", 1, true) or text:find("--watchman=false", 1, true)
    or text:find("watchman[\"']?%s*:%s*false"))
end

local function watchman(self, profile, policy, ctx)
  if profile.unix.all or not ctx.cwd or not jest_asks(ctx.cwd)
    or not require("srt.programs").find("watchman", ctx.env and ctx.env.PATH) then
    return
  end
  local v = policy.values["network.allowUnixSockets"]
  self:find(v and v.origin or { file = policy.file, key = "network.allowUnixSockets" }, "this project runs Jest, which "
    .. "asks watchman, whose server can't be reached from inside: tests wait for it; run jest --no-watchman, or set "
    .. "watchman: false for Jest")
end

return {
  { id = "without-reason", severity = "warning", run = without_reason,
    doc = "A callback denies without a reason (`return false`, `srt.deny()`), so whoever is denied can't know why. "
      .. "Write `return false, \"the reason\"`. What functions that it calls answer is not looked at." },
  { id = "jest-watchman", severity = "note", run = watchman,
    doc = "The project in the working directory runs Jest, and watchman is installed: Jest waits for its server, which "
      .. "can't be reached from inside. Run `jest --no-watchman`." },
}
