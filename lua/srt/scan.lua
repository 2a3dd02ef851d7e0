-- SPDX-License-Identifier: Apache-2.0
-- Looks for protected names and for repositories in a tree: when a run starts, and in the same way when it has ended.
local paths = require "srt.paths"
local protected = require "srt.protected"
local sys = require "srt.c.sys"
local walk = require "srt.c.walk"

local scan = {}

-- What git takes commands from, in a repository's own folder whatever it is called.
local GIT_PARTS = { "hooks", "config", "config.worktree", "commondir" }
-- Of a linked worktree, which has its hooks and configuration from the repository.
local WORKTREE_PARTS = { "config.worktree", "commondir" }
-- The kernel's and the sandbox's own.
local NEVER_SEARCHED = { ["/proc"] = true, ["/sys"] = true, ["/dev"] = true }

local GIT_FILE = { name = ".git", why = "git takes hooks and configuration from where it says" }

---@class srt.look what a search has found
---@field seen table<string, string> path → type, of everything that was come across
---@field found {path: string, type: string, entry: table}[] protected names
---@field gits table<string, string> folders of repositories → "git", "bare", "module", "worktree", "linked"
---@field closed string[] folders that could not be read

---@param list table[] from protected.list
---@return srt.look
function scan.new(list)
  local look = { list = list, by = {}, wanted = { ".git", "HEAD" }, skip = { ".git" }, seen = {}, found = {}, gits = {},
    closed = {}, heads = {}, pointers = {} }
  table.move(protected.SKIP, 1, #protected.SKIP, 2, look.skip)
  local known = { [".git"] = true, HEAD = true }
  local function want(name)
    if not known[name] then look.wanted[#look.wanted + 1] = name end
    known[name] = true
  end
  for _, entry in ipairs(list) do
    if entry.where ~= "home" then
      look.by[entry.name] = entry
      want(entry.name)
      want(entry.parts[1])
      -- What is protected as a whole need not be searched.
      if not entry.parts[2] then look.skip[#look.skip + 1] = entry.name end
    end
  end
  return look
end

local function add(look, path, kind, entry)
  look.found[#look.found + 1] = { path = path, type = kind, entry = entry }
end

-- The parts of a repository's own folder, with those of its submodules and worktrees.
local function add_git(look, dir, kind, parts)
  if look.gits[dir] then return end
  look.gits[dir] = kind
  for _, part in ipairs(parts) do
    local path, entry = dir .. "/" .. part, look.by[".git/" .. part]
    local st = entry and not look.seen[path] and sys.lstat(path)
    if st then
      look.seen[path] = st.type
      add(look, path, st.type, entry)
    end
  end
end

local MOST_MODULES = 8 -- folders that a submodule's name may have

local function add_modules(look, dir, depth)
  for _, name in ipairs(sys.readdir(dir) or {}) do
    local path = dir .. "/" .. name
    local st = sys.lstat(path)
    if st and st.type == "dir" then
      if sys.lstat(path .. "/HEAD") then
        scan.git(look, path, "module")
      elseif depth < MOST_MODULES then
        add_modules(look, path, depth + 1)
      end
    end
  end
end

---Adds a repository's own folder to what was found.
---@param look srt.look
---@param dir string
---@param kind string
function scan.git(look, dir, kind)
  if look.gits[dir] then return end
  add_git(look, dir, kind, GIT_PARTS)
  add_modules(look, dir .. "/modules", 1)
  for _, name in ipairs(sys.readdir(dir .. "/worktrees") or {}) do
    add_git(look, dir .. "/worktrees/" .. name, "worktree", WORKTREE_PARTS)
  end
end

---Where a .git file or a commondir file leads.
---@param file string
---@param prefix string what stands before the path in it
---@return string|nil real path
function scan.pointer(file, prefix)
  local text = sys.readfile(file, 8192)
  local target = text and text:sub(1, #prefix) == prefix and text:sub(#prefix + 1):match("^%s*(.-)[\r\n]*$")
  if not target or target == "" or target:find("\0", 1, true) then return nil end
  return (sys.realpath(target:sub(1, 1) == "/" and target or paths.parent(file) .. "/" .. target))
end

-- A .git file leads to a folder elsewhere, and that one perhaps to another.
local function follow(look, file)
  local dir = scan.pointer(file, "gitdir:")
  if not dir then return end
  local common = scan.pointer(dir .. "/commondir", "")
  add_git(look, dir, "linked", common and WORKTREE_PARTS or GIT_PARTS)
  if common then scan.git(look, common, "linked") end
end

local function take(look, item)
  local path, kind, entry = item.path, item.type, look.by[item.name]
  if look.seen[path] then return end
  look.seen[path] = kind
  if entry then add(look, path, kind, entry) end
  if item.name == "HEAD" then
    look.heads[#look.heads + 1] = paths.parent(path)
  elseif item.name == ".git" then
    if kind ~= "dir" then add(look, path, kind, GIT_FILE) end
    look.pointers[#look.pointers + 1] = { path = path, type = kind }
  end
end

local function search(look, root, depth)
  local list, unseen, code = walk.names(root, look.wanted, depth, look.skip)
  if not list then
    if code == "ENOENT" or code == "ENOTDIR" then return true end
    return nil, ("protected names can't be searched for in %s: %s"):format(root, unseen)
  end
  for _, item in ipairs(list) do take(look, item) end
  for _, dir in ipairs(unseen) do look.closed[#look.closed + 1] = dir.path end
  return true
end

local function search_everything(look, depth)
  local ok, message = search(look, "/", 1)
  for _, name in ipairs(depth > 1 and sys.readdir("/") or {}) do
    local path = "/" .. name
    local st = not NEVER_SEARCHED[path] and not look.seen[path] and sys.lstat(path)
    if ok and st and st.type == "dir" then ok, message = search(look, path, depth - 1) end
  end
  return ok, message
end

---Is a folder one that git would take for a repository's own?
---@param dir string
---@return boolean
function scan.isGit(dir)
  return (sys.lstat(dir .. "/commondir") or (sys.lstat(dir .. "/objects") and sys.lstat(dir .. "/refs"))) ~= nil
end

---Searches folders, each to a depth.
---@param look srt.look
---@param roots {path: string, depth: integer}[]
---@return boolean|nil ok
---@return string|nil message
function scan.search(look, roots)
  for _, root in ipairs(roots) do
    local ok, message = (root.path == "/" and search_everything or search)(look, root.path == "/" and root.depth
      or root.path, root.depth)
    if not ok then return nil, message end
  end
  for _, dir in ipairs(look.heads) do
    if scan.isGit(dir) then scan.git(look, dir, "bare") end
  end
  for _, pointer in ipairs(look.pointers) do
    local real = pointer.type == "dir" and pointer.path or pointer.type == "link" and sys.realpath(pointer.path)
    if pointer.type == "file" then
      follow(look, pointer.path)
    elseif real then
      scan.git(look, real, "git")
    end
  end
  return true
end

return scan
