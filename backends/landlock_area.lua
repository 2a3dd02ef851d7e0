-- SPDX-License-Identifier: Apache-2.0
-- Landlock alone: the names that the agent makes for the command.
--
-- What Landlock allows is bound to the files that are there when the run starts. So it lets the command make no names
-- at all: the agent does (core/guard.h), and opens what is written, where the tree of backends.landlock says so.
local decide = require "srt.decide_path"
local sys = require "srt.c.sys"

local area = {}

-- As in backends.landlock.
local W, M = 8, 16

local function collect(out, path, node, above, closed)
  local own = node.own or above
  local write, before = own & W ~= 0, above & W ~= 0
  if write and not before and not closed then out.tops[#out.tops + 1] = path end
  if before and not write then
    closed = true
    out.closed[#out.closed + 1] = path
  elseif before and (node.up or own) & M == 0 then
    out.held[#out.held + 1] = path
  end
  if decide.own(path) then return end
  for name, kid in pairs(node.kids) do
    collect(out, path == "/" and "/" .. name or path .. "/" .. name, kid, own, closed)
  end
end

local function identity(path)
  local st = sys.lstat(path)
  return st and st.type == "file" and st.nlink > 1 and st.dev .. ":" .. st.ino or nil
end

--- A rule is bound to a file, not to its name: what is said of one holds by its other names (hard links) as well.
---@param twins table<string, integer> what may be said of a file at most
---@param path string
---@param mask integer
function area.note(twins, path, mask)
  local id = identity(path)
  if id then twins[id] = (twins[id] or ~0) & mask end
end

---@param twins table<string, integer>
---@param path string
---@param mask integer
---@return integer mask that of it may be said
function area.among(twins, path, mask)
  return next(twins) and mask & (twins[identity(path) or ""] or ~0) or mask
end

--- May a policy's command write anything but its own temporary folder?
---@param rules table of srt.decide_path
---@return boolean
function area.wanted(rules) return next(rules.allowWrite) ~= nil end

--- Can an agent be asked here?
---@param features table of srt.c.sys
---@return boolean
function area.possible(features)
  if features.notify == nil then features.notify = (require("srt.c.probe").seccomp(true)) == true end
  return features.notify
end

--- What the agent is told.
---@param root table tree of backends.landlock
---@param rules table of srt.decide_path
---@return table area {tops=, held=} of the plan
---@return table guard names that are not to be made or written
function area.of(root, rules)
  local out = { tops = {}, closed = {}, held = {} }
  collect(out, "/", root, 0, false)
  local temp = rules.tempDir
  if temp then
    out.tops[#out.tops + 1], out.held[#out.held + 1] = temp, temp
  end
  table.move(out.closed, 1, #out.closed, #out.held + 1, out.held)
  local guard = rules.guard and require("srt.create_guard").table(rules.guard)
    or { paths = {}, globs = {}, names = {}, skip = {}, free = temp }
  table.move(out.closed, 1, #out.closed, #guard.paths + 1, guard.paths)
  for _, list in ipairs { out.tops, out.held, guard.paths } do table.sort(list) end
  return { tops = out.tops, held = out.held }, guard
end

return area
