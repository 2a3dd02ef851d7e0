-- SPDX-License-Identifier: Apache-2.0
-- Folds the paths that a run has written to the few that a policy should name.
--
-- What a run made itself is not there when it begins the next time, so the folder that was there before has to be
-- writable; what was only changed can be allowed by itself. Folders that hold everything are never allowed as a whole.
local paths = require "srt.paths"

local learn_fold = {}

-- Of so many beneath one folder, or in one project, the folder is meant.
local MANY = 3

-- Folders that tools fill: they belong to the project around them.
local TOOLS = {}
for name in ("node_modules .git .hg .svn target build dist __pycache__ .venv venv .tox .nox .mypy_cache "
  .. ".pytest_cache .ruff_cache .gradle .next .nuxt .parcel-cache .turbo .yarn coverage .eggs"):gmatch("%S+") do
  TOOLS[name] = true
end

-- In the home directory they hold a folder for each program.
local SHARED = { ".config", ".cache", ".local", ".local/share", ".local/state", ".local/lib", ".var", ".var/app" }

local SYSTEM = {}
for path in ("/ /bin /boot /dev /etc /home /lib /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /usr /usr/bin "
  .. "/usr/include /usr/lib /usr/local /usr/local/bin /usr/local/lib /usr/local/sbin /usr/local/share /usr/sbin "
  .. "/usr/share /var /var/cache /var/lib /var/log /var/spool /run/user"):gmatch("%S+") do
  SYSTEM[path] = true
end

---@param ctx {home: string?}
---@return fun(path: string): boolean does a folder hold too much to be allowed?
function learn_fold.wide(ctx)
  local set, home = setmetatable({}, { __index = SYSTEM }), ctx.home
  if home then
    set[home] = true
    local above = paths.parent(home)
    while above ~= "/" do
      set[above] = above ~= "/tmp"
      above = paths.parent(above)
    end
    for _, name in ipairs(SHARED) do set[paths.join(home, name)] = true end
  end
  return function(path) return set[path] or false end
end

-- A program's own folder in the home directory: ~/.npm, ~/.cache/pip.
local function own_folder(self, path)
  local home = self.ctx.home
  if not home or path == home or not paths.below(path, home) then return nil end
  local at = home
  for part in path:sub(#home + 2):gmatch("[^/]+") do
    local first = at == home
    at = paths.join(at, part)
    if first and part:sub(1, 1) ~= "." then return nil end
    if not self.wide(at) then return at end
  end
  return nil
end

local function in_tools(self, path)
  local project = self.ctx.project
  if not project or not paths.below(path, project) then return false end
  for part in path:sub(#project + 1):gmatch("[^/]+") do
    if TOOLS[part] then return true end
  end
  return false
end

local function add(list, path, seen)
  local entry = list[path] or { path = path, programs = {}, count = 0 }
  list[path] = entry
  entry.count = entry.count + 1
  for program in pairs(seen.programs) do entry.programs[program] = true end
  return entry
end

-- What lies in a folder that can't be allowed.
local function add_child(self, folder, child, seen)
  local kind = self.ctx.kind(child)
  if not kind then
    local entry = add(self.never, child, seen)
    entry.why = ("%s from a folder that holds too much to be allowed: %s"):format(
      seen.create and "made, and gone again," or "removed", folder)
    return
  end
  if self.wide(child) then return end
  local entry = add(self.allow, child, seen)
  entry.file, entry.made = kind ~= "dir" or nil, true
  -- A mount keeps its name.
  entry.replaced = entry.replaced or (entry.file and seen.delete) or nil
end

local function add_folder(self, path, seen)
  local folder, child = paths.parent(path), path
  while self.made[folder] and not self.wide(folder) do
    folder, child = paths.parent(folder), folder
  end
  local store = self.ctx.stores:holding(child)
  if self.wide(folder) then return add_child(self, folder, child, seen) end
  if in_tools(self, folder) or in_tools(self, child) then
    folder = self.ctx.project
  elseif not store then
    folder = own_folder(self, folder) or folder
  end
  add(self.allow, folder, seen)
end

local function made_above(self, path)
  while path ~= "/" do
    if self.made[path] then return true end
    path = paths.parent(path)
  end
  return false
end

local function add_itself(self, path, seen)
  if made_above(self, path) then return end
  local kind = self.ctx.kind(path)
  if self.wide(path) then
    add(self.never, path, seen).why = "changed; it holds too much to be allowed"
    return
  elseif not kind then
    return
  elseif in_tools(self, path) then
    add(self.allow, self.ctx.project, seen)
    return
  end
  local own = not self.ctx.stores:holding(path) and own_folder(self, path)
  local config = self.ctx.home and paths.below(path, paths.join(self.ctx.home, ".config"))
  if own and own ~= path and not config then
    add(self.allow, own, seen)
  else
    add(self.allow, path, seen).file = kind ~= "dir" or nil
  end
end

local function sorted(map)
  local list = {}
  for _, entry in pairs(map) do list[#list + 1] = entry end
  table.sort(list, function(a, b) return a.path < b.path end)
  return list
end

local function merge(into, entry)
  into.count = into.count + entry.count
  for program in pairs(entry.programs) do into.programs[program] = true end
end

-- Puts a folder in the place of many beneath it.
local function gather(self, top, members)
  local entry = self.allow[top] or { path = top, programs = {}, count = 0 }
  for _, member in ipairs(members) do
    if member.path ~= top then
      merge(entry, member)
      self.allow[member.path] = nil
    end
  end
  entry.file = nil
  self.allow[top] = entry
end

local function gather_many(self)
  local groups = {}
  for _, entry in ipairs(sorted(self.allow)) do
    local project, folder = self.ctx.project, paths.parent(entry.path)
    local top = project and paths.below(entry.path, project) and project or folder
    if not self.ctx.stores:holding(entry.path) and not self.wide(top) and not entry.made
      and (top == project or entry.file) then
      groups[top] = groups[top] or {}
      table.insert(groups[top], entry)
    end
  end
  for top, members in pairs(groups) do
    if #members >= MANY then gather(self, top, members) end
  end
end

-- What lies beneath another one is allowed with it.
local function covered(self)
  local kept = {}
  for _, entry in ipairs(sorted(self.allow)) do
    local at, above = entry.path, nil
    while at ~= "/" and not above do
      at = paths.parent(at)
      above = self.allow[at] and not self.allow[at].file and self.allow[at] or nil
    end
    if above then merge(above, entry) else kept[#kept + 1] = entry end
  end
  return kept
end

local function listed(entries)
  for _, entry in ipairs(entries) do
    local names = {}
    for name in pairs(entry.programs) do names[#names + 1] = name end
    table.sort(names)
    entry.programs = names
  end
  return entries
end

---@class srt.seen
---@field create boolean?
---@field delete boolean?
---@field write boolean?
---@field chmod boolean?
---@field programs table<string, boolean>

---Folds.
---@param seen table<string, srt.seen> by real path
---@param ctx {home: string?, project: string?, kind: fun(path: string): string|nil, stores: table} kind: what is there
--- when the run is over, "dir" for a folder; project: where it belongs to, nil where that holds too much
---@return table[] allow {path=, programs=, count=, file=, made= has to be there, replaced=}, sorted
---@return table[] never {path=, programs=, why=}: what no entry can give
function learn_fold.fold(seen, ctx)
  local self = { ctx = ctx, allow = {}, never = {}, made = {}, wide = learn_fold.wide(ctx) }
  for path, what in pairs(seen) do
    if what.create then self.made[path] = true end
  end
  for path, what in pairs(seen) do
    if what.create or what.delete then add_folder(self, path, what) else add_itself(self, path, what) end
  end
  gather_many(self)
  return listed(covered(self)), listed(sorted(self.never))
end

---The folder that a command works on: of the working directory and the repository around it, unless it holds too much.
---@param ctx {home: string?}
---@param candidates string[] best first
---@return string|nil
function learn_fold.project(ctx, candidates)
  local wide = learn_fold.wide(ctx)
  for _, path in ipairs(candidates) do
    if not wide(path) and path ~= "/tmp" and path ~= "/var/tmp" then return path end
  end
  return nil
end

return learn_fold
