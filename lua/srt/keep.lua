-- SPDX-License-Identifier: Apache-2.0
-- filesystem.denyDelete: names that may be edited, and stay. Each is mounted over itself: a mount point can be neither
-- unlinked nor renamed nor replaced, nor can a folder above it (the pins of backends/namespaces.lua).
local paths = require "srt.paths"

local keep = {}

---@param rules table of srt.decide_path
---@param entry table
---@param hold_way fun(rules: table, entry: table, resolved: table) keeps links on the way where they are
function keep.add(rules, entry, hold_way)
  local resolved = paths.resolve(entry.path)
  hold_way(rules, entry, resolved)
  local path = resolved.real
  if not path then
    return rules:note(entry, resolved.code == "ENOENT" and "does not exist, so there is nothing to keep"
      or ("can't be looked at (%s), so it is not kept"):format(resolved.code), resolved.code ~= "ENOENT")
  end
  if path == "/" or require("srt.decide_path").own(path) then return end
  if not rules:at(paths.parent(path)).write then
    return rules:note(entry, "lies in a folder that can't be written, so it can't be removed anyway")
  end
  if resolved.type == "file" and resolved.names > 1 then
    rules:note(entry, ("has %d names (hard links): this one stays"):format(resolved.names))
  end
  if not rules.pinned[path] then rules.pinned[path] = entry end
  rules.types[path] = resolved.type
end

return keep
