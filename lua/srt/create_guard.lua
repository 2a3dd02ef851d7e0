-- SPDX-License-Identifier: Apache-2.0
-- The names that nothing inside may make, as the table that the agent of createGuard asks for each of them. It is
-- compiled from the decisions on paths (srt.decide_path) and says the same, in a form that C can search fast;
-- core/guard_rules.h says what each kind holds.
local create_guard = {}

--- Does only the last component of a path decide whether a pattern matches it? So it is for `**/NAME`, where none of
--- NAME takes more than a component.
---@param pattern string below a folder, without a slash in front
---@return boolean
function create_guard.floats(pattern)
  local name = pattern:match("^%*%*/([^/]+)$")
  return name ~= nil and not name:find("**", 1, true)
end

---An empty one, for srt.decide_path to fill.
---@param tempDir string? there all names may be made
---@return {paths: table<string, table>, globs: table[], names: table[], skip: string[], free: string?}
function create_guard.new(tempDir)
  return { paths = {}, globs = {}, names = {}, skip = {}, free = tempDir }
end

---Adds the patterns of a profile: those of denyWrite. What is made inside was no secret before, so denyRead has none.
---@param guard table from create_guard.new
---@param globs table[] profile.filesystem.globs
function create_guard.add_globs(guard, globs)
  for _, glob in ipairs(globs) do
    for _, top in ipairs(glob.list == "denyWrite" and glob.tops or {}) do
      local resolved = require("srt.paths").resolve(top)
      guard.globs[#guard.globs + 1] = { top = resolved.real or resolved.whole or top, rest = glob.rest }
    end
  end
end

local function sorted(map)
  local list = {}
  for key in pairs(map) do list[#list + 1] = key end
  table.sort(list)
  return list
end

---@param guard table filled: exact paths as keys; patterns {top=, rest=}; names {name=, top=, depth=} that hold
--- anywhere below a folder, at most depth components down, but not in folders whose name is in skip
---@return table plan as the plan has it
function create_guard.table(guard)
  local out = { paths = sorted(guard.paths), globs = {}, names = {}, skip = guard.skip, free = guard.free }
  for i, glob in ipairs(guard.globs) do
    out.globs[i] = { top = glob.top, pattern = "/" .. glob.rest, floating = create_guard.floats(glob.rest) }
  end
  for i, rule in ipairs(guard.names) do out.names[i] = { name = rule.name, top = rule.top, depth = rule.depth or 0 } end
  return out
end

return create_guard
