-- SPDX-License-Identifier: Apache-2.0
-- The names that nothing inside may make, as the table that the agent of createGuard asks for each of them. It is
-- compiled from the decisions on paths (srt.decide_path) and says the same, in a form that C can search fast;
-- core/guard_rules.h says what each kind holds.
local create_guard = {}

--- The folder below which only the last component of a path decides whether a pattern matches it, if there is one:
--- `TOP/**/NAME` with no pattern in TOP and none that takes more than a component in NAME.
---@param pattern string absolute
---@return string?
function create_guard.floating(pattern)
  local top, name = pattern:match("^(.*)/%*%*/([^/]+)$")
  if not top or top:find("[*?%[]") or name:find("**", 1, true) then return nil end
  return top == "" and "/" or top
end

local function sorted(map)
  local list = {}
  for key in pairs(map) do list[#list + 1] = key end
  table.sort(list)
  return list
end

---@param guard {paths: table, globs: string[], names: table[]} of the decisions: exact paths as keys, patterns, and
--- {name=, top=} for names that hold anywhere below a folder
---@return {paths: string[], globs: table[], names: table[]}
function create_guard.table(guard)
  local out = { paths = sorted(guard.paths), globs = {}, names = {} }
  for i, pattern in ipairs(guard.globs) do
    out.globs[i] = { pattern = pattern, floating = create_guard.floating(pattern) }
  end
  for i, rule in ipairs(guard.names) do out.names[i] = { name = rule.name, top = rule.top } end
  return out
end

return create_guard
