-- SPDX-License-Identifier: Apache-2.0
-- Asks the interpreter of spec/lua/sbpl.lua: a profile on standard input; arguments in threes: operation, "path" or
-- "port", value. A line for each: allow or deny.
package.path = arg[0]:match("^(.*)/spec/enforce/mac/") .. "/?.lua"
local reads = require("spec.lua.sbpl").read(io.read("a"))
for i = 1, #arg, 3 do
  local operation, kind, value = table.unpack(arg, i, i + 2)
  local subject = kind == "path" and { path = value }
    or { remote = { host = "127.0.0.1", port = tonumber(value), proto = "tcp" } }
  print(reads:allows(operation, subject) and "allow" or "deny")
end
