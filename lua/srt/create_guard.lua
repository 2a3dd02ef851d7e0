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

local function compiled(guard)
  guard.compiled = guard.compiled or require("srt.c.guard").compile(create_guard.table(guard))
  return guard.compiled
end

local function entry_of(guard, kind, which)
  if kind == "path" then return guard.paths[which] end
  return kind and guard[kind .. "s"][which].entry
end

--- The entry by which a path may not be made, as the agent finds it.
---@param guard table complete
---@param path string real
---@param link boolean? is it to be a symbolic link?
---@return table|nil entry
function create_guard.rule(guard, path, link)
  return entry_of(guard, compiled(guard):find(path, link or false))
end

--- What the agent refuses a move with: of what is there, it may be a whole tree.
---@param guard table complete
---@param from string real
---@param to string real
---@param sight {caps: integer, masks: string[], scaffolds: string[]} what the command sees less than whoever asks
---@return string|nil code
---@return table|nil entry where it is the policy's; else there is more to look at than the agent does
function create_guard.move(guard, from, to, sight)
  local code, kind, which = compiled(guard):move(from, to, sight)
  return code, entry_of(guard, kind, which)
end

--- Does only the last component of a path decide whether a pattern matches it? So it is for `**/NAME`, where none of
--- NAME takes more than a component.
---@param pattern string below a folder, with a slash in front
---@return boolean
function create_guard.floats(pattern)
  local name = pattern:match("^/%*%*/([^/]+)$")
  return name ~= nil and not name:find("**", 1, true)
end

---@param guard table of the decisions
---@return table guard as the plan has it
function create_guard.table(guard)
  local exact = require("srt.tables").keys(guard.paths)
  local out = { paths = exact, globs = {}, names = {}, skip = guard.skip, free = guard.free }
  for i, glob in ipairs(guard.globs) do
    out.globs[i] = { top = glob.top, pattern = glob.pattern, floating = create_guard.floats(glob.pattern) }
  end
  for i, rule in ipairs(guard.names) do out.names[i] = { name = rule.name, top = rule.top, depth = rule.depth } end
  return out
end

return create_guard
