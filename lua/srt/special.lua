-- SPDX-License-Identifier: Apache-2.0
-- FIFOs and sockets that only lie in a protected folder: neither a read-only mount nor Landlock can keep writers from
-- one in a writable place, a cover can. None can be made there later, since the folder is read-only.
local paths = require "srt.paths"

local special = {}

-- What a start may take for that, in all: some 20 ms.
local MOST = 20000

-- Connections to it are made by the agent, which asks.
local function is_allowed(rules, item)
  return item.type == "sock" and rules.sockets and require("srt.unix_sockets").rule(rules.sockets, item.path)
end

---@param rules table of srt.decide_path, its lists complete
function special.cover(rules)
  local left = MOST
  local folders = {}
  for path, entry in pairs(rules.denyWrite) do
    if rules.types[path] == "dir" and path ~= "/" and rules:at(paths.parent(path)).write
      and not rules.placeholders[path] then
      folders[#folders + 1] = { path = path, entry = entry }
    end
  end
  table.sort(folders, function(a, b) return a.path < b.path end)
  for _, folder in ipairs(folders) do
    local found, more, code = require("srt.c.walk").special(folder.path, left)
    for _, item in ipairs(found or {}) do
      if not rules.denyRead[item.path] and not is_allowed(rules, item) then rules.denyRead[item.path] = folder.entry end
      rules.types[item.path] = item.type
    end
    if found then
      left = more
    elseif code == "E2BIG" then
      rules:note(folder.entry, ("has many entries, so it is not searched for FIFOs and sockets; one in %s could be "
        .. "written to"):format(folder.path))
    end
  end
end

return special
