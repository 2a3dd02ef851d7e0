-- SPDX-License-Identifier: Apache-2.0
-- The name of a seccomp program that is built with srt-lua (tools/filters.lua): what its options come to.

local filter_key = {
  -- The options of backends.seccomp.rules, and of notified, that programs are built for.
  OPTIONS = { "unix", "nested", "root", "groupSignals", "guard", "observe" },
  NOTIFIED = { "unix", "guard", "observe", "lead", "exclusive" },
}

-- What only one of the two programs depends on, and what stands for itself in the other.
local ELSEWHERE = { root = true, groupSignals = true }

local function names_of(options, known)
  local names = {}
  for _, name in ipairs(known) do
    if options[name] then names[#names + 1] = name end
  end
  return names
end

local function key_of(options, known, passed)
  local names, count = names_of(options, known), 0
  for name, on in pairs(options) do
    if on and not (passed and passed[name]) then count = count + 1 end
  end
  return count == #names and table.concat(names, ",") or nil
end

---@param options table<string, boolean>
---@return string? key nil for options that none is built for
function filter_key.of(options)
  return key_of(options, filter_key.OPTIONS)
end

--- Of the program that notifies.
---@param options table<string, boolean>
---@return string? key nil for options that none is built for
function filter_key.notified(options)
  local key = key_of(options, filter_key.NOTIFIED, ELSEWHERE)
  return key and "notify:" .. key
end

---@param key string?
---@param built nil|fun(key: string): boolean
---@return string? key where that program is built in
function filter_key.ready(key, built)
  return key and built and built(key) and key or nil
end

return filter_key
