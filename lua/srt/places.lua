-- SPDX-License-Identifier: Apache-2.0
-- Places: empty folders that keep protected names from being made while a command runs (core/holdings.c makes them).
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local places = {}

-- An empty directory of that name breaks git.
local NEVER_HELD = { [".git"] = true, commondir = true }

places.MODE = tonumber("1555", 8) -- as in core/holdings.c

---Is there the place that another run holds? It must be held by this run too, or it would go when the other one ends.
---@param path string
---@return boolean
function places.is(path)
  local st = sys.lstat(path)
  return st ~= nil and st.type == "dir" and st.mode == places.MODE and #(sys.readdir(path) or { "?" }) == 0
end

---Is a folder that was there a moment ago such a place, or gone? A place goes when its run ends, at any time.
---@param path string
---@return boolean
function places.was(path)
  return places.is(path) or sys.lstat(path) == nil
end

---The place that another run holds: path itself or its folder.
---@param path string
---@param folder boolean is it a folder that was there a moment ago?
---@return string|nil
function places.held(path, folder)
  if places.is(path) or folder and places.was(path) then return path end
  return places.is(paths.parent(path)) and paths.parent(path) or nil
end

-- Is the path on a read-only mount, or on a read-only file system?
local function on_read_only(rules, path)
  local length, read_only = 0, false
  for _, mount in ipairs(rules:mounts()) do
    if #mount.point >= length and paths.below(path, mount.point) then
      length, read_only = #mount.point, mount.readOnly
    end
  end
  return read_only
end

-- Could something inside make an entry in this folder? An owner can open a folder to writing again; a read-only mount
-- stays.
local function can_make(rules, folder)
  local known = rules.makeable[folder]
  if known == nil then
    local st = rules:at(folder).write and sys.stat(folder)
    known = st and st.type == "dir"
      and (sys.writable(folder) or (st.uid == sys.ids() and not on_read_only(rules, folder))) or false
    rules.makeable[folder] = known
  end
  return known
end

-- Nothing can be put into a folder that can't be searched. Its owner, whom the command runs as, can open it again: so
-- it is denied as a whole.
local function close(rules, entry, folder)
  local st = rules:at(folder).write and not sys.lstat(folder .. "/.") and sys.lstat(folder)
  if not st or st.type ~= "dir" or st.uid ~= sys.ids() then return false end
  rules.denyWrite[folder], rules.types[folder] = rules.denyWrite[folder] or entry, "dir"
  rules:note(entry, "lies in " .. folder .. ", which can't be searched, so nothing in that can be written", true)
  return true
end

-- With createGuard = "supervisor" nothing has to be there.
local function hold_by_guard(rules, entry, path)
  if rules.guard.paths[path] then return end
  rules.guard.paths[path] = entry
  if not entry.builtin then rules:note(entry, "does not exist: nothing inside can make " .. path) end
end

---A protected name that does not exist is held by an empty directory, if something inside could make it otherwise.
---@param rules table of srt.decide_path
---@param entry table
---@param missing string a real path
---@param whole string|nil what is to be protected, where only its first missing folder is `missing`
function places.hold(rules, entry, missing, whole)
  if rules.guard then return hold_by_guard(rules, entry, whole or missing) end
  if close(rules, entry, paths.parent(missing)) then return end
  if not can_make(rules, paths.parent(missing)) or rules.placeholders[missing] then return end
  if NEVER_HELD[missing:match("[^/]*$")] then
    rules:note(entry, "does not exist, and its place is not held since that would break git: what a command makes "
      .. "there is not protected, unless filesystem.createGuard is \"supervisor\"", true)
    return
  end
  rules.placeholders[missing] = entry
  if not entry.builtin then
    rules:note(entry, "does not exist: while a command runs, an empty folder holds the place of " .. missing)
  end
  if not rules.denyWrite[missing] then rules.denyWrite[missing] = entry end
  rules.types[missing] = "dir"
end

return places
