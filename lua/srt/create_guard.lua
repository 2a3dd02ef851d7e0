-- SPDX-License-Identifier: Apache-2.0
-- The names that nothing inside may make, as the table that the agent of createGuard asks for each of them. It is
-- compiled from the decisions on paths (srt.decide_path) and says the same, in a form that C can search fast;
-- core/guard_rules.h says what each kind holds.
local paths = require "srt.paths"
local protected = require "srt.protected"

local create_guard = {}

-- Is an allowed path among what a pattern of denyRead matches? It is open again then, and so may be what is made in it.
local function reopened(lists, pattern)
  local matches = require("srt.c.walk").matches
  for _, name in ipairs { "allowRead", "allowWrite" } do
    for _, entry in ipairs(lists[name]) do
      if matches(pattern, entry.path) then return true end
    end
  end
  return false
end

--- What nothing inside may make, to be filled.
---@param lists table profile.filesystem: what its patterns deny, holds for later names as well
---@param tempDir string? there all names may be made
---@return table guard {paths = entries by path; globs = {top=, pattern=, entry=}…; names = {name=, top=, depth=,
--- entry=}…; skip = names of folders where names may be made; free = tempDir}
function create_guard.new(lists, tempDir)
  local guard = { paths = {}, globs = {}, names = {}, skip = protected.SKIP, free = tempDir }
  for _, glob in ipairs(lists.globs or {}) do
    local denies = glob.list == "denyWrite" or glob.list == "denyRead"
    for _, top in ipairs(denies and glob.tops or {}) do
      if glob.list == "denyWrite" or not reopened(lists, paths.join(top, glob.rest)) then
        local resolved = paths.resolve(top)
        table.insert(guard.globs, { top = resolved.real or resolved.whole or top, pattern = "/" .. glob.rest,
          entry = { given = glob.given, path = paths.join(top, glob.rest), origin = glob.origin } })
      end
    end
  end
  return guard
end

--- A name that nothing inside may make in a folder and, as deep as protected names are searched, beneath it.
---@param guard table
---@param name string a path's last components
---@param base {path: string, depth: integer}
---@param entry table
function create_guard.name(guard, name, base, entry)
  table.insert(guard.names, { name = name, top = base.path, depth = base.depth, entry = entry })
end

local function below_top(path, top)
  return paths.below(path, top) and path:sub(top == "/" and 1 or #top + 1) or nil
end

-- As in core/guard_rules.c.
local function has_name(guard, path, rule)
  local rest, depth = below_top(path, rule.top), 0
  for at, part in (rest or ""):gmatch("()/([^/]+)") do
    depth = depth + 1
    if depth > rule.depth then return false end
    if (rest:sub(at) .. "/"):sub(1, #rule.name + 2) == "/" .. rule.name .. "/" then return true end
    for _, skipped in ipairs(guard.skip) do
      if part == skipped then return false end
    end
  end
  return false
end

--- The entry by which a path may not be made.
---@param guard table
---@param path string real
---@return table|nil entry
function create_guard.rule(guard, path)
  if guard.free and path ~= guard.free and paths.below(path, guard.free) then return nil end
  local above = path
  while above ~= "/" do
    if guard.paths[above] then return guard.paths[above] end
    above = paths.parent(above)
  end
  for _, rule in ipairs(guard.names) do
    if has_name(guard, path, rule) then return rule.entry end
  end
  for _, glob in ipairs(guard.globs) do
    local rest = below_top(path, glob.top)
    if rest and rest ~= "" and require("srt.c.walk").matches(glob.pattern, rest) then return glob.entry end
  end
end

--- Does only the last component of a path decide whether a pattern matches it? So it is for `**/NAME`, where none of
--- NAME takes more than a component.
---@param pattern string below a folder, with a slash in front
---@return boolean
function create_guard.floats(pattern)
  local name = pattern:match("^/%*%*/([^/]+)$")
  return name ~= nil and not name:find("**", 1, true)
end

local function sorted(map)
  local list = {}
  for key in pairs(map) do list[#list + 1] = key end
  table.sort(list)
  return list
end

---@param guard table of the decisions
---@return table guard as the plan has it
function create_guard.table(guard)
  local out = { paths = sorted(guard.paths), globs = {}, names = {}, skip = guard.skip, free = guard.free }
  for i, glob in ipairs(guard.globs) do
    out.globs[i] = { top = glob.top, pattern = glob.pattern, floating = create_guard.floats(glob.pattern) }
  end
  for i, rule in ipairs(guard.names) do out.names[i] = { name = rule.name, top = rule.top, depth = rule.depth } end
  return out
end

return create_guard
