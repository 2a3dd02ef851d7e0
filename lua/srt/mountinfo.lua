-- SPDX-License-Identifier: Apache-2.0
-- The host's mounts, as the caller sees them.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local mountinfo = {}
local Mounts = {}
Mounts.__index = Mounts

local gmatch = string.gmatch

-- What another mount of these would show or open; /proc and /dev are the sandbox's own.
mountinfo.COVERED = { proc = true, devpts = true, mqueue = true, binder = true, devtmpfs = true }
-- Kernel interfaces: never writable, whoever asks.
mountinfo.INTERFACES = {}
for name in gmatch("sysfs cgroup cgroup2 securityfs debugfs tracefs bpf configfs efivarfs pstore binfmt_misc "
  .. "selinuxfs smackfs apparmorfs resctrl rpc_pipefs nfsd functionfs hugetlbfs autofs", "%S+") do
  mountinfo.INTERFACES[name] = true
end

local SPECIAL = {}
for _, kinds in ipairs { mountinfo.COVERED, mountinfo.INTERFACES } do
  for name in pairs(kinds) do SPECIAL[name] = true end
end

--- What the kernel says of the mounts, for the others here.
---@return string
function mountinfo.text() return sys.readfile("/proc/self/mountinfo", 64 << 20) or "" end

local function add(rules, mount)
  local path, st = mount.point, sys.stat(mount.point)
  if st then
    local entry = { given = path, path = path, builtin = mount.kind .. " file system", final = true }
    rules[mountinfo.COVERED[mount.kind] and "finalRead" or "finalWrite"][path] = entry
    rules.types[path] = st.type
  end
end

-- May something be written there, or beneath it?
local function is_writable(rules, path)
  for allowed in pairs(rules.allowWrite) do
    if paths.below(path, allowed) or paths.below(allowed, path) then return true end
  end
  return false
end

--- Adds to the decisions on paths what holds for them.
---@param rules table of srt.decide_path, complete but for this, with mountText
---@param own fun(path: string): boolean is it of the sandbox's own?
---@return (fun())|nil rest adds what changes no decision, but gives a reason: many mounts, which a run need not look at
function mountinfo.add(rules, own)
  local rest = {}
  for _, mount in ipairs(sys.mounts(rules.mountText, SPECIAL)) do
    if not own(mount.point) then
      if mountinfo.COVERED[mount.kind] or is_writable(rules, mount.point) then
        add(rules, mount)
      else
        rest[#rest + 1] = mount
      end
    end
  end
  return rest[1] and function()
    for _, mount in ipairs(rest) do add(rules, mount) end
  end
end

--- The mounts, in the kernel's order.
---@param text string|nil of text()
---@return {id: string, parent: string, device: string, root: string, point: string, kind: string, readOnly: boolean}[]
function mountinfo.list(text)
  local list = sys.mounts(text or mountinfo.text())
  for _, mount in ipairs(list) do
    mount.readOnly = (mount.options .. ","):find("^ro,") ~= nil or (mount.super .. ","):find("^ro,") ~= nil
  end
  return list
end

--- Reads the mounts.
---@return table mounts with :over
function mountinfo.read()
  local self = setmetatable({ children = {} }, Mounts)
  local known, parents = {}, {}
  for _, mount in ipairs(mountinfo.list()) do
    known[mount.id] = true
    if mount.id ~= mount.parent then
      parents[mount.parent] = true
      self.children[mount.parent .. " " .. mount.point] = mount
    end
  end
  -- What everything hangs from is not in the list, or is its own parent.
  for parent in pairs(parents) do
    if not known[parent] then self.top = parent end
  end
  self.top = self.top or "1"
  return self
end

--- The mount that path lies on. One that another mount hides is not it.
---@param path string absolute, without links
---@return {point: string, readOnly: boolean}
function Mounts:over(path)
  local found = { id = self.top, root = "/", point = "/", readOnly = false }
  local function enter(prefix)
    local above = self.children[found.id .. " " .. prefix]
    while above do
      found = above
      above = self.children[found.id .. " " .. prefix]
    end
  end
  enter("/")
  local at = ""
  for part in gmatch(path, "[^/]+") do
    at = at .. "/" .. part
    enter(at)
  end
  return found
end

--- What path is, by its file system and its place there: the same by every mount of it, unlike by a second hard link.
---@param path string absolute, without links
---@return string
function Mounts:origin(path)
  local mount = self:over(path)
  local rest = path:sub(mount.point == "/" and 1 or #mount.point + 1)
  return (mount.device or "") .. (mount.root == "/" and "" or mount.root or "") .. (rest == "/" and "" or rest)
end

return mountinfo
