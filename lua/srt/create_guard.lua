-- SPDX-License-Identifier: Apache-2.0
-- The names that nothing inside may make, as the table that the agent of createGuard asks for each of them. It is
-- compiled from the decisions on paths (srt.decide_path) and says the same, in a form that C can search fast;
-- core/guard_rules.h says what each kind holds.
local paths = require "srt.paths"

local create_guard = {}

--- What nothing inside may make, to be filled.
---@param globs table[] profile.filesystem.globs: what denies holds for later names as well
---@return {paths: table<string, table>, globs: table<string, table>, names: table[]} each with the entry that says so
function create_guard.new(globs)
  local guard = { paths = {}, globs = {}, names = {} }
  for _, glob in ipairs(globs or {}) do
    for _, pattern in ipairs(glob.list:find("^deny") and glob.patterns or {}) do
      guard.globs[pattern] = guard.globs[pattern] or { given = glob.given, path = pattern, origin = glob.origin }
    end
  end
  return guard
end

--- A name that nothing inside may make in any folder that may be written.
---@param rules table of srt.decide_path
---@param name string a path's last components
---@param entry table
function create_guard.name(rules, name, entry)
  for top in pairs(rules.allowWrite) do
    table.insert(rules.guard.names, { name = name, top = top, entry = entry })
  end
end

local function has_name(path, rule)
  local from = rule.top == "/" and 1 or #rule.top + 1
  return paths.below(path, rule.top) and (path .. "/"):find("/" .. rule.name .. "/", from, true) ~= nil
end

--- The entry by which a path may not be made.
---@param guard table
---@param path string real
---@return table|nil entry
function create_guard.rule(guard, path)
  local above = path
  while above ~= "/" do
    if guard.paths[above] then return guard.paths[above] end
    above = paths.parent(above)
  end
  for _, rule in ipairs(guard.names) do
    if has_name(path, rule) then return rule.entry end
  end
  local matches = require("srt.c.walk").matches
  for pattern, entry in pairs(guard.globs) do
    if matches(pattern, path) then return entry end
  end
end

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

---@param guard table of the decisions
---@return {paths: string[], globs: table[], names: table[]}
function create_guard.table(guard)
  local out = { paths = sorted(guard.paths), globs = {}, names = {} }
  for i, pattern in ipairs(sorted(guard.globs)) do
    out.globs[i] = { pattern = pattern, floating = create_guard.floating(pattern) }
  end
  for i, rule in ipairs(guard.names) do out.names[i] = { name = rule.name, top = rule.top } end
  return out
end

return create_guard
