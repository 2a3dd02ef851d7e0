-- SPDX-License-Identifier: Apache-2.0
-- The same as agent.c, in Lua 5.4: lua5.4 agent.lua 'echo hello >note; cat note'
local srtlua = require "srtlua"

local session <close> = assert(srtlua.open { lua = [[
  return {
    filesystem = { allowWrite = { "." }, denyRead = { "~/.ssh" } },
    network = { allowedDomains = { "deb.debian.org" } },
  }
]] })

for i, text in ipairs(arg) do
  local id = "command-" .. i
  local status = assert(session:run { shell = text, id = id })
  local found = assert(session:violations(id))
  print(("%s: exit %d, %d denied"):format(text, status, #found))
  for _, v in ipairs(found) do print("  " .. v.line) end
end
