-- SPDX-License-Identifier: Apache-2.0
-- Landlock alone: the names that the agent makes for the command.
--
-- What Landlock allows is bound to the files that are there when the run starts. So it lets the command make no names
-- at all: the agent does (core/guard.h), and opens what is written, where the tree of backends.landlock says so.
local decide = require "srt.decide_path"
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local area = {}

-- As in backends.landlock.
local W, M = 8, 16

-- Where no agent can be asked.
local FIXED = "a folder with something denied in it is fixed: what is new there can't be read, and where a write is "
  .. "denied nothing can be made, renamed or removed directly in the folders above it"

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

local MODE = tonumber("444", 8)

--- Files of ours: no mount can show them, so they are in the command's temporary folder, where it can change them.
---@param plan table
---@param files {name: string, content: string}[]?
function area.files(plan, files)
  if files and plan.tempDir then plan.filesIn = plan.tempDir .. "/files" end -- MOUNTS_FILES in core
  for i, file in ipairs(files or {}) do
    plan.files[i] = { name = file.name, content = file.content, mode = MODE }
  end
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

--- The Unix sockets that may be connected to: no mount covers what a pattern matches in a denied folder.
---@param rules table of srt.decide_path
---@return table sockets of the plan
function area.sockets(rules)
  local sockets = require("srt.unix_sockets").table(rules.sockets)
  sockets.hidden, sockets.shown = {}, {}
  for _, path in ipairs(sockets.globs[1] and rules:points() or {}) do
    if not rules:at(path).read then
      sockets.hidden[#sockets.hidden + 1] = path
    elseif path ~= "/" and not rules:at(paths.parent(path)).read then
      sockets.shown[#sockets.shown + 1] = path
    end
  end
  return sockets
end

--- What the agent, which judges all that is written, tells the host process.
---@param profile table
---@return table? watch of the plan
function area.watch(profile)
  local watch = require("srt.watching").of(profile)
  if not watch or not watch.tells or watch.learns then return nil end
  watch.connects = true
  return watch
end

--- What is otherwise with what the agent does besides.
---@param list string[] to be filled
---@param profile table
---@param published boolean
---@param agent boolean is there one?
function area.notes_of_agent(list, profile, published, agent)
  if profile.unix.allowed[1] and not profile.unix.all then
    list[#list + 1] = agent and "Unix sockets: a command can connect to those of network.allowUnixSockets, and listen "
      .. "at none itself" or "network.allowUnixSockets allows nothing"
  end
  if published then
    list[#list + 1] = "published ports: a server has the host's address and port itself; nothing inside reaches it"
  end
  if profile.observe.mode ~= "none" and not agent then
    list[#list + 1] = "reports: only what the proxy denies is among them"
  end
end

local function some_of(list)
  return table.concat(list, ", ", 1, math.min(#list, 5))
    .. (#list > 5 and (" and %d more folders"):format(#list - 5) or "")
end

--- What is otherwise with names that are made while the command runs.
---@param list string[] to be filled
---@param compiled table of backends.landlock
---@param missing boolean are there protected names that nothing holds the place of?
function area.notes(list, compiled, missing)
  if not compiled.served then
    list[#list + 1] = FIXED
    if missing then
      list[#list + 1] = "protected names that are missing can be made; what is found when the run ended is put aside"
    end
  end
  if compiled.fixed[1] then
    list[#list + 1] = "nothing can be made, renamed or removed directly in " .. some_of(compiled.fixed)
  end
  if compiled.unread[1] then
    list[#list + 1] = "what is new directly in a folder above a denied read can't be executed: "
      .. some_of(compiled.unread)
  end
end

return area
