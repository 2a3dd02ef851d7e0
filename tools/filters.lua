-- SPDX-License-Identifier: Apache-2.0
-- Compiles the rules of every usual set of options and writes them as one C file
-- (struct seccomp_ready, core/seccomp.h). Run by tools/filters.c at build time.
local out_path, tree = ...
package.path = tree .. "/?.lua"
local filter = require("srt.c.sandbox").filter
local seccomp = require("backends.seccomp")

local OPTIONS = { "unix", "nested", "root", "groupSignals", "guard", "observe" }
local lines, entries = {
  "/* Written by tools/filters.lua at build time. */",
  '#include "core/seccomp.h"',
}, {}

local function add(rules)
  local bytes, hash = filter(rules)
  if entries[hash] then return end
  lines[#lines + 1] = ("static const struct sock_filter code%d[] = {"):format(#entries)
  for at = 1, #bytes, 8 do
    -- struct sock_filter, in the machine's own order: code, jt, jf, k.
    lines[#lines + 1] = ("{ %d, %d, %d, %dU },"):format(string.unpack("=I2BBI4", bytes, at))
  end
  lines[#lines + 1] = "};"
  entries[hash] = true
  entries[#entries + 1] = ("{ 0x%s, %d, code%d },"):format(hash, #bytes // 8, #entries)
end

for bits = 0, (1 << #OPTIONS) - 1 do
  local options = {}
  for i, name in ipairs(OPTIONS) do options[name] = bits >> (i - 1) & 1 == 1 end
  -- Nothing is observed where namespaces may be made.
  if not (options.nested and options.observe) then add(seccomp.rules(options)) end
  if (options.observe or options.guard) and not options.nested then add(seccomp.notified(options)) end
end
lines[#lines + 1] = "const struct seccomp_ready seccomp_ready[] = {"
table.move(entries, 1, #entries, #lines + 1, lines)
lines[#lines + 1] = "{ 0 },\n};\n"

local out = assert(io.open(out_path, "w"))
assert(out:write(table.concat(lines, "\n")))
assert(out:close())
