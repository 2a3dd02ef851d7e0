-- SPDX-License-Identifier: Apache-2.0
-- Who is at the other end of a session's socket: by either side nobody is heard who is in a sandbox.
local sys = require "srt.c.sys"

local peer = {}

-- How deep a process is in PID namespaces, and how many filters of system calls it is under. Anybody may read these,
-- also of a process that hides its secrets.
local function bounds(pid)
  local text = sys.readfile(("/proc/%s/status"):format(pid), 65536)
  local pids = text and text:match("\nNSpid:([^\n]*)")
  if not pids then return nil end
  local _, depth = pids:gsub("%d+", "")
  return depth, tonumber(text:match("\nSeccomp_filters:%s*(%d+)") or text:match("\nSeccomp:%s*(%d+)")) or 0
end

---Is a process of ours, and in no sandbox that we are not in? By the landlock backend it has our namespaces, but a
---filter more.
---@param fd integer connected to it
---@param pid integer as the kernel told of fd
---@param uid integer
---@return boolean
function peer.outside(fd, pid, uid)
  if uid ~= sys.ids() or pid == 0 then return false end
  local depth, filters = bounds(pid)
  local our_depth, our_filters = bounds("self")
  if not depth or not our_depth or depth ~= our_depth or filters > our_filters then return false end
  -- All that was another process's, where the one that is meant is gone.
  return require("srt.c.channel").lives(fd)
end

---Does it see the same users, files and processes as well?
---@param pid integer
---@return boolean
function peer.near(pid)
  for _, kind in ipairs { "user", "mnt", "pid" } do
    local theirs = sys.readlink(("/proc/%d/ns/%s"):format(pid, kind))
    if not theirs or theirs ~= sys.readlink("/proc/self/ns/" .. kind) then return false end
  end
  return true
end

return peer
