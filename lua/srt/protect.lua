-- SPDX-License-Identifier: Apache-2.0
-- Puts protected names into the decisions of a policy: what is there can't be written, what is missing can't be made.
local paths = require "srt.paths"
local places = require "srt.places"
local protected = require "srt.protected"
local scan = require "srt.scan"
local sys = require "srt.c.sys"

local protect = {}

local BUILTIN = "protected name"

local function rule_of(entry, path)
  return { given = path, path = path, literal = true, builtin = BUILTIN, name = entry.name, why = entry.why,
    config = entry.config, origin = entry.origin or { key = "(protected names)" } }
end

-- What is there: links, and what is reached by them, the slow way.
local function cover(self, path, kind, entry)
  local rules = self.rules
  if kind == "file" or kind == "dir" then
    if not rules:at(path).write then return end
    if kind == "dir" and places.was(path) then return places.hold(rules, rule_of(entry, path), path) end
    rules.denyWrite[path] = rule_of(entry, path)
    rules.types[path] = kind
    if kind == "file" then self.files[#self.files + 1] = path end
  else
    self.deny(rules, "denyWrite", rule_of(entry, path))
  end
end

-- Does an entry's place stay free, where only its first `count` components are missing?
local function unheld(self, base, entry, count)
  -- Nothing has to be there for it, and git makes its own folder.
  if self.rules.guard then return entry.where == "git" and count < #entry.parts end
  if count < #entry.parts then
    return entry.where == "git" or protected.COMMON[table.concat(entry.parts, "/", 1, count)]
  end
  return entry.hold == false or (entry.hold == "not at home" and base == self.home)
end

-- One name in one folder, whether it is there or not. type_of tells what is at a path.
local function name_at(self, base, entry, type_of)
  local path = base
  for i, part in ipairs(entry.parts) do
    path = paths.join(path, part)
    local kind = type_of(path)
    if not kind then
      if not unheld(self, base, entry, i) then
        places.hold(self.rules, rule_of(entry, path), path, paths.join(base, entry.name))
      end
      return
    elseif i == #entry.parts then
      return cover(self, path, kind, entry)
    elseif kind ~= "dir" then
      return self.deny(self.rules, "denyWrite", rule_of(entry, base .. "/" .. entry.name))
    elseif places.was(path) then
      return places.hold(self.rules, rule_of(entry, path), path)
    end
  end
end

local function lstat_type(path)
  local st = sys.lstat(path)
  return st and st.type
end

-- All names in a folder that has been searched.
local function hold_in(self, base)
  local seen = self.look.seen
  local function found(path) return seen[path] end
  local function looked_at(path)
    seen[path] = lstat_type(path)
    return seen[path]
  end
  for _, entry in ipairs(self.look.list) do
    if entry.where ~= "home" then
      name_at(self, base, entry, found)
    elseif base == self.home then
      name_at(self, base, entry, looked_at)
    end
  end
end

local function components(path)
  local list = {}
  for part in path:gmatch("[^/]+") do list[#list + 1] = part end
  return list
end

-- An allowed path may itself be, or lie in, or lead to a protected name: ~/.vscode/extensions, .git, ~/.ssh.
local function check_root(self, root)
  local parts = components(root)
  local function matches(entry, from, count)
    for i = 1, count do
      if parts[from + i - 1] ~= entry.parts[i] then return false end
    end
    local base = "/" .. table.concat(parts, "/", 1, from - 1)
    return (entry.where ~= "home" or base == self.home) and base
  end
  for _, entry in ipairs(self.look.list) do
    for from = 1, #parts do
      local count = math.min(#entry.parts, #parts - from + 1)
      local base = parts[from] == entry.parts[1] and matches(entry, from, count)
      if base and count == #entry.parts then
        local path = paths.join(base, entry.name)
        self.rules.denyWrite[path] = self.rules.denyWrite[path] or rule_of(entry, path)
        self.rules.types[path] = lstat_type(path)
        self.rules:note(self.rules.allowWrite[root], ("can't be written: %s is a protected name (%s)"):format(path,
          entry.why), true)
      elseif base then
        name_at(self, base, entry, lstat_type)
      end
    end
  end
end

-- Do an entry's components stand in a path, from one of its components on?
local function stands_at(parts, from, wanted)
  for i, part in ipairs(wanted) do
    if parts[from + i - 1] ~= part then return false end
  end
  return true
end

-- A repository's own folder may have any name.
local function is_git(dir)
  return dir:sub(-5) == "/.git" or (sys.lstat(dir .. "/HEAD") ~= nil and scan.isGit(dir))
end

---Is a path one of the protected names, or in one, wherever in the tree it is?
---@param list table[] from protected.list
---@param path string a file's, absolute, without links
---@param home string|nil real
---@return boolean
function protect.covers(list, path, home)
  if path:sub(-5) == "/.git" then return true end -- as a file it leads to a repository
  local parts = components(path)
  for from = 1, #parts do
    local base = "/" .. table.concat(parts, "/", 1, from - 1)
    for _, entry in ipairs(list) do
      local own = entry.where == "git"
      local wanted = own and { entry.parts[2] } or entry.parts
      if stands_at(parts, from, wanted) and (entry.where ~= "home" or base == home) and (not own or is_git(base)) then
        return true
      end
    end
  end
  return false
end

-- Sticky, and everybody may write.
local SHARED = tonumber("1002", 8)
-- Those that root owns, of all that root's command could make one.
local OF_ROOT = { ["/tmp"] = true, ["/var/tmp"] = true, ["/dev/shm"] = true }

-- A folder where everybody makes files, and that the command can't have made one: that takes its owner.
local function is_shared(path)
  local st, uid = sys.lstat(path), sys.ids()
  if not st or st.mode & SHARED ~= SHARED then return false end
  if uid == 0 then return OF_ROOT[path] or false end
  return st.uid ~= uid
end

-- The folders that count: each allowed root, the working directory and its parents, the home directory.
local function bases_of(self, ctx)
  local rules, roots, bases, seen = self.rules, {}, {}, {}
  local own = require("srt.decide_path").own
  local function add(list, path, depth)
    if seen[path] or own(path) then return end
    seen[path] = true
    list[#list + 1] = { path = path, depth = depth, shared = is_shared(path) }
  end
  for path in pairs(rules.allowWrite) do
    if rules.types[path] == "dir" and rules:at(path).write then add(roots, path, self.depth) end
  end
  local cwd = sys.realpath(ctx.cwd) or ctx.cwd
  if rules:at(cwd).write then add(roots, cwd, self.depth) end
  local base = ctx.base and (sys.realpath(ctx.base) or ctx.base)
  if base and rules:at(base).write then add(roots, base, self.depth) end
  table.sort(roots, function(a, b) return a.path < b.path end)
  while cwd ~= "/" do
    cwd = paths.parent(cwd)
    if rules:at(cwd).write then add(bases, cwd, 1) end
  end
  if self.home and rules:at(self.home).write then add(bases, self.home, 1) end
  return table.move(bases, 1, #bases, #roots + 1, roots)
end

-- A folder that its owner, whom the command runs as, can open to reading again.
local function close(self, path)
  local st = sys.lstat(path)
  if not st or st.uid ~= sys.ids() or not self.rules:at(path).write then return end
  local rule = rule_of({ name = path, why = "it can't be searched for protected names" }, path)
  self.rules.denyWrite[path], self.rules.types[path] = rule, "dir"
  self.rules:note(rule, "can't be searched for protected names, so nothing in it can be written", true)
end

-- With an agent the names can't be made deeper down either.
local function guard_names(self, base)
  for _, entry in ipairs(self.look.list) do
    local rule = not entry.where and rule_of(entry, paths.join(base.path, entry.name))
    if rule then require("srt.create_guard").name(self.rules.guard, entry.name, base, rule) end
  end
end

---Adds the protected names to the decisions.
---@param rules table of srt.decide_path, allow and deny lists complete
---@param settings table profile.protection
---@param ctx {cwd: string, home: string|nil}
---@param deny fun(rules: table, list: string, entry: table) adds an entry the general way
function protect.add(rules, settings, ctx, deny)
  if not next(rules.allowWrite) then return end
  local self = { rules = rules, deny = deny, depth = settings.depth, files = {},
    home = ctx.home and sys.realpath(ctx.home), look = scan.new(protected.list(settings)) }
  local bases = bases_of(self, ctx)
  local ok, message = scan.search(self.look, bases)
  if not ok then
    rules.problems[#rules.problems + 1] = { entry = rule_of({ name = "" }, "protected names"), text = message }
    return
  end
  for _, path in ipairs(self.look.closed) do close(self, path) end
  for _, item in ipairs(self.look.found) do cover(self, item.path, item.type, item.entry) end
  for dir, kind in pairs(self.look.gits) do
    if kind ~= "worktree" and not self.look.seen[dir .. "/hooks"] and self.look.by[".git/hooks"] then
      local path = dir .. "/hooks"
      places.hold(rules, rule_of(self.look.by[".git/hooks"], path), path)
    end
  end
  require("srt.gitpaths").each(rules, self.look.gits, self.home, function(path, entry)
    if path and rules:at(paths.parent(path)).write then deny(rules, "denyWrite", rule_of(entry, path)) end
  end)
  for _, base in ipairs(bases) do hold_in(self, base.path) end
  if rules.guard then
    for _, base in ipairs(bases) do guard_names(self, base) end
  end
  for path in pairs(rules.allowWrite) do check_root(self, path) end
  if #self.files > 0 then require("srt.hardlinks").cover(rules, self.files, bases) end
  rules.found = { settings = settings, bases = bases, seen = self.look.seen, gits = self.look.gits,
    home = self.home and rules:at(self.home).write and self.home or nil }
end

return protect
