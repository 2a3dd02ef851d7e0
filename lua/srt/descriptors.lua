-- SPDX-License-Identifier: Apache-2.0
-- May the command inherit this descriptor? A descriptor leads past the mounts:
-- /proc/self/fd/N opens the very file again, by the host's own mount.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local descriptors = {}

local NAMES = { [0] = "standard input", "standard output", "standard error" }

local function name_of(fd)
  return NAMES[fd] or "descriptor " .. fd
end

-- Landlock holds back what no writable top covers; mounts can't help here.
local function open_to_writing(path, plan)
  if not plan.landlock then return true end
  for _, top in ipairs(plan.writable) do
    if paths.below(path, top) then return true end
  end
  return false
end

local function by_pipe(info)
  return "use a pipe: " .. (info.access == "r" and "cat FILE | srt-lua …" or "srt-lua … | cat >FILE")
end

local function check_file(fd, info, rules, plan)
  if info.nlink == 0 then return nil end
  local st, _, code = sys.lstat(info.path)
  if code == "EACCES" then
    return ("%s is %s, in a folder that this user can't search, so the command can't be given it by that path; %s")
      :format(name_of(fd), info.path, by_pipe(info))
  end
  if not st or st.dev ~= info.dev or st.ino ~= info.ino then
    return ("%s is a file whose path can't be told; %s"):format(name_of(fd), by_pipe(info))
  end
  local state = rules:at(info.path)
  if info.access == "r" and not state.write and open_to_writing(info.path, plan) then
    return ("%s is %s, which the policy protects from writing and the command could open again for it; %s")
      :format(name_of(fd), info.path, by_pipe(info))
  end
  if info.access == "w" and not state.read then
    return ("%s is %s, which the policy protects from reading and the command could open again for it; %s")
      :format(name_of(fd), info.path, by_pipe(info))
  end
end

local function check_socket(fd, info)
  if info.family ~= "unix" then
    return ("%s is a network socket, which leads out of the sandbox's network; use a pipe"):format(name_of(fd))
  end
  if not info.connected or info.kind == "other" then
    return ("%s is a Unix socket that could reach other programs; use a pipe"):format(name_of(fd))
  end
end

local function check_one(fd, info, rules, plan)
  if info.opath then return name_of(fd) .. " was opened with O_PATH and would lead out of the sandbox; close it" end
  if info.type == "dir" then
    return ("%s is a directory (%s) and would lead out of the sandbox; redirect it from a file or /dev/null")
      :format(name_of(fd), info.path)
  end
  if info.type == "file" then return check_file(fd, info, rules, plan) end
  if info.type == "fifo" and info.path:sub(1, 1) == "/" and not plan.landlock and info.access == "r" then
    return ("%s is the FIFO %s, which can't be protected from writing on this kernel; use a pipe")
      :format(name_of(fd), info.path)
  end
  -- A kept descriptor was asked for by number: its owner knows what it opens.
  if fd > 2 then return nil end
  if info.type == "sock" then return check_socket(fd, info) end
  if info.type == "other" then return ("%s is %s, which a command can't be given"):format(name_of(fd), info.path) end
end

--- Are descriptors that are to be kept the caller's? One of our own must never
--- be taken for it: ours close at exec, what a caller handed on does not.
---@param keep integer[]
---@return string? reason why the run is refused
function descriptors.absent(keep)
  for _, fd in ipairs(keep) do
    local info = sys.fdinfo(fd)
    if not info or info.cloexec then return "descriptor " .. fd .. " (--keep-fd) is not open" end
  end
end

--- Looks at descriptors 0 to 2 and those that are to be kept.
---@param keep integer[]
---@param rules table from srt.decide_path
---@param plan table
---@param infos table<integer, table>? of sys.fdinfo, where they are another process's
---@return string? reason why the run is refused
function descriptors.check(keep, rules, plan, infos)
  local fds = { 0, 1, 2 }
  table.move(keep, 1, #keep, 4, fds)
  for _, fd in ipairs(fds) do
    local info
    if infos then info = infos[fd] else info = sys.fdinfo(fd) end
    local reason = info and check_one(fd, info, rules, plan)
    if reason then return reason end
  end
end

local WRITABLE = { fifo = true, file = true, sock = true }

-- Where the command could open a FIFO, or write the file for the next run; nil where it can't.
local function within_reach(info, rules, plan)
  local named = (info.type == "fifo" or info.type == "file") and info.path:sub(1, 1) == "/"
  if not named then return nil end
  if info.nlink > 1 then return "it has more names than one" end
  local open = rules:at(info.path).write or info.type == "fifo" and open_to_writing(info.path, plan)
  return open and info.path .. " can't be protected from the command's writing; use a pipe" or nil
end

--- Could the command write what srt-lua is told by a descriptor? Whoever has one end of a pipe can open the other.
---@param fd integer of --control-fd
---@param keep integer[]
---@param rules table from srt.decide_path
---@param plan table
---@return string? reason why the run is refused
function descriptors.control(fd, keep, rules, plan)
  local info = sys.fdinfo(fd)
  local why = within_reach(info, rules, plan)
  local fds = { 0, 1, 2 }
  table.move(keep, 1, #keep, 4, fds)
  for _, other in ipairs(fds) do
    local held = WRITABLE[info.type] and sys.fdinfo(other)
    if held and held.dev == info.dev and held.ino == info.ino then
      why = ("the command has the same %s as %s"):format(info.type == "fifo" and "pipe" or info.type, name_of(other))
    end
  end
  return why and ("--control-fd %d can't be used: %s"):format(fd, why)
end

return descriptors
