-- SPDX-License-Identifier: Apache-2.0
-- The name of a seccomp program that is built with srt-lua (tools/filters.lua): what its options come to.

--- The options of backends.seccomp.rules that programs are built for.
local OPTIONS = { "unix", "nested", "root", "groupSignals", "guard" }

local filter_key = { OPTIONS = OPTIONS }

---@param options table<string, boolean>
---@return string? key nil for options that none is built for
function filter_key.of(options)
  local names, count = {}, 0
  for _, name in ipairs(OPTIONS) do
    if options[name] then names[#names + 1] = name end
  end
  for _, on in pairs(options) do
    if on then count = count + 1 end
  end
  return count == #names and table.concat(names, ",") or nil
end

return filter_key
