-- SPDX-License-Identifier: Apache-2.0
-- The tree as a command sees it: the host's, with a plan's mounts on it. Looks, and decides nothing.
local decide = require "srt.decide_path"
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local view = {}
local View = {}
View.__index = View

local gmatch, match, sub = string.gmatch, string.match, string.sub

local MOST_LINKS = 40 -- as the kernel

-- What a scaffold shows: its slots, and the folders that lead to them.
local function add_slots(slots, step)
  for _, slot in ipairs(step.slots) do
    local at = step.target
    for part in gmatch(slot.path, "[^/]+") do
      at = paths.join(at, part)
      slots[at] = slots[at] or { type = "dir", cover = "scaffold" }
    end
    if slot.link then slots[at] = { type = "link", target = slot.link } end
  end
end

--- A view of the tree under a plan.
---@param plan table from backends.namespaces
---@return table view
function view.new(plan)
  local self = setmetatable({ steps = {}, slots = {}, made = {}, caps = plan.caps,
    host = require("srt.mountinfo").read() }, View)
  for _, step in ipairs(plan.mounts) do
    if type(step) == "string" then step = { op = "mask", target = step } end
    self.steps[step.target] = step
    if step.op == "scaffold" then add_slots(self.slots, step) end
  end
  -- Empty folders that are there while a command runs.
  for _, path in ipairs(plan.placeholders) do self.made[path] = true end
  if plan.tempDir then self.made[plan.tempDir] = true end
  return self
end

--- The plan's step that shows at path, and where it is mounted.
---@return table? step
---@return string? target
function View:step(path)
  while not self.steps[path] do
    if path == "/" then return nil end
    path = paths.parent(path)
  end
  return self.steps[path], path
end

--- The mount point that path lies beneath, or is: two paths with different ones are on two mounts.
---@param path string real
---@return string point
---@return boolean ours? made by the plan
function View:mount(path)
  local step, target = self:step(path)
  local point = self.host:over(path).point
  if step and (step.op ~= "bind" or #target >= #point) then return target, true end
  return point, false
end

--- Does another name, by another mount, of one of the plan's mount points stand there? The kernel lets none of them go.
function View:alias(path)
  if not self.origins then
    self.origins = {}
    for target in pairs(self.steps) do self.origins[self.host:origin(target)] = true end
  end
  return self.origins[self.host:origin(path)] == true
end

--- Is the host's own mount read-only there?
function View:closedByHost(path)
  return self.host:over(path).readOnly
end

--- What can't be looked into beneath the plan's mounts, nor without more than its capabilities.
---@return {caps: integer, masks: string[], scaffolds: string[]} sight of srt.create_guard
function View:sight()
  if not self.seen then
    self.seen = { caps = self.caps, masks = {}, scaffolds = {} }
    for target, step in pairs(self.steps) do
      local list = self.seen[step.op .. "s"]
      if list then list[#list + 1] = target end
    end
  end
  return self.seen
end

--- What is at a path without links.
---@return {type: string, target: string?, cover: string?}? entry
---@return string? code "ENOENT", "EACCES", …
function View:look(path)
  local step, target = self:step(path)
  local op = step and step.op
  if (op == "mask" or op == "scaffold") and target == path then
    local under = sys.lstat(path) or {}
    return { type = step.directory and "dir" or "file", cover = op, dev = under.dev, ino = under.ino }
  elseif op == "content" and target == path then
    return { type = "file" }
  elseif op == "mask" then
    return nil, "EACCES"
  elseif op == "scaffold" then
    return self.slots[path], not self.slots[path] and "ENOENT" or nil
  elseif self.made[path] then
    return { type = "dir" }
  elseif self.made[paths.parent(path)] then
    return nil, "ENOENT"
  end
  local st, _, code = sys.lstat(path)
  if not st then return nil, code end
  return { type = st.type, target = st.type == "link" and sys.readlink(path) or nil, dev = st.dev, ino = st.ino }
end

-- Puts the parts of a path on the stack of what is to be walked, the first on top.
local function push(stack, path)
  local parts = {}
  for part in gmatch(path, "[^/]+") do parts[#parts + 1] = part end
  for i = #parts, 1, -1 do stack[#stack + 1] = parts[i] end
end

local function ahead(at, stack)
  for i = #stack, 1, -1 do at = paths.join(at, stack[i]) end
  return at
end

---@class srt.walked
---@field real string where the path leads, as far as it can be followed
---@field type string? what is there: "file", "dir", "link", …
---@field code string? why it could not be followed to an end
---@field missing boolean? only the last component is not there
---@field cover string? "mask" or "scaffold": a cover stopped the way
---@field own boolean? the way leads into the sandbox's own /proc or /dev
---@field dots string? the path ends in "." or "..": the folder it stepped from
---@field slash boolean a slash stands behind the name at the end
---@field links {path: string, target: string}[] that were passed

local function refused(found, real, code, cover)
  found.real, found.code, found.cover = real, code, cover
  return found
end

--- Follows a path as the kernel does inside.
---@param path string absolute, as it was named
---@param follow boolean a link at the end is followed
---@param name boolean? it is about the name at the end: there a slash behind it follows nothing
---@return srt.walked
function View:walk(path, follow, name)
  local found, stack, at, here = { links = {}, slash = match(path, "/$") ~= nil }, {}, "/", self:look("/")
  push(stack, path)
  local directory = found.slash and not name
  while #stack > 0 do
    local part = table.remove(stack)
    if here.type ~= "dir" then return refused(found, ahead(at, stack), "ENOTDIR") end
    if here.cover == "mask" then
      return refused(found, paths.normalize(ahead(paths.join(at, part), stack)), "EACCES", "mask")
    end
    if #stack == 0 and (part == "." or part == "..") then found.dots = at end
    local child = part == ".." and paths.parent(at) or part == "." and at or paths.join(at, part)
    if decide.own(child) then
      found.own = true
      return refused(found, paths.normalize(ahead(child, stack)))
    end
    local entry, code = self:look(child)
    if not entry then
      found.missing = code == "ENOENT" and #stack == 0
      return refused(found, ahead(child, stack), code, here.cover)
    end
    if entry.type == "link" and (#stack > 0 or follow or directory) then
      if #found.links == MOST_LINKS then return refused(found, child, "ELOOP") end
      found.links[#found.links + 1] = { path = child, target = entry.target }
      push(stack, entry.target)
      if sub(entry.target, 1, 1) == "/" then at, here = "/", self:look("/") end
    else
      at, here = child, entry
    end
  end
  if directory and here.type ~= "dir" then return refused(found, at, "ENOTDIR") end
  found.real, found.type, found.dev, found.ino = at, here.type, here.dev, here.ino
  return found
end

return view
