-- SPDX-License-Identifier: Apache-2.0
-- What of a filter holds where there are no namespaces (backends.landlock): a part of backends.seccomp.
local entry = require "backends.seccomp_entry"

local bare = {}

local masked, differs, refuse, refuse_words = entry.masked, entry.differs, entry.refuse, entry.refuse_words

local EPERM, EACCES, ENOTTY, ENOSYS, EAFNOSUPPORT, ENETUNREACH = 1, 13, 25, 38, 97, 101
local AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
local SOCK_STREAM, SOCK_TYPES, TCP = 1, 0xf, 6
local O_WRONLY, O_RDWR, O_TRUNC = 1, 2, 0x200
local O_OTHER = 3 -- neither reading nor writing, as ioctl(2) of some devices takes it
local PRIO_PROCESS, PRIO_PGRP, PRIO_USER = 0, 1, 2
local IOPRIO_WHO_PROCESS, IOPRIO_WHO_PGRP, IOPRIO_WHO_USER = 1, 2, 3
local SOL_SOCKET, SO_REUSEPORT, ENOPROTOOPT = 1, 15, 92

-- Memory, queues and semaphores that all processes of a user share.
local IPC = [[
  shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
  mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
]]

-- Without mounts: all that names a file which is written, made or removed.
local AREA = "unlink rmdir unlinkat truncate"

-- Modes, owners, times and attributes, by path and by descriptor.
local METADATA = [[
  chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes futimesat utimensat
  setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr
]]
-- The same with arguments in memory: libc and tools fall back.
local METADATA_NEWER = "setxattrat removexattrat file_setattr"
-- Requests of ioctl(2) that a descriptor for reading is enough for, which Landlock passes over: flags, versions and
-- project of a file, encryption, verity; what a subvolume of btrfs is.
local CHANGING_REQUESTS = { 0x40086602, 0x40046602, 0x401c5820, 0x40087602, 0x40047602, 0x40086604, 0x40047211,
  0x800c6613, 0x40806685, 0x4008941a, 0xc0c89425 }

local function in_area(reads, making, notify)
  for call in (making .. AREA):gmatch("%S+") do notify(call) end
  entry.opens(reads, 0, notify)
end

-- Of the host's networks nothing but TCP is left, and that the agent connects, or nobody.
local function host_network(list, options)
  for _, family in ipairs { AF_INET, AF_INET6 } do
    for kind = 0, SOCK_TYPES do
      if kind ~= SOCK_STREAM then
        refuse(list, "socket", EAFNOSUPPORT, masked(0, family), masked(1, kind, SOCK_TYPES))
      end
    end
    for protocol = 1, TCP - 1 do refuse(list, "socket", EAFNOSUPPORT, masked(0, family), masked(2, protocol)) end
    refuse(list, "socket", EAFNOSUPPORT, masked(0, family), { index = 2, above = true, value = TCP + 1 })
  end
  -- Without an address it would listen on all of the machine's.
  if not (options.agent and (options.unix or options.publish)) then refuse(list, "listen", EPERM) end
  if not options.agent then refuse(list, "connect", ENETUNREACH) end
  -- Abstract names are everybody's, and Landlock holds only what is bound by a path, or to a port.
  if not options.publish and (options.bare < 4 or options.sockets) then refuse(list, "bind", EPERM) end
  -- A server of the same user outside would lose connections to a published port.
  if options.publish then refuse(list, "setsockopt", ENOPROTOOPT, masked(1, SOL_SOCKET), masked(2, SO_REUSEPORT)) end
end

-- Without mounts: what Landlock does not know of.
local function metadata(list, agent)
  if not agent then refuse_words(list, METADATA, EPERM) end
  refuse_words(list, METADATA_NEWER, ENOSYS)
  for _, request in ipairs(CHANGING_REQUESTS) do refuse(list, "ioctl", ENOTTY, masked(1, request)) end
end

-- Without namespaces: what they would keep apart.
local function host_processes(list, options)
  refuse_words(list, IPC, ENOSYS)
  for _, which in ipairs { PRIO_PGRP, PRIO_USER } do refuse(list, "setpriority", EPERM, masked(0, which)) end
  refuse(list, "setpriority", EPERM, masked(0, PRIO_PROCESS), differs(1))
  for _, which in ipairs { IOPRIO_WHO_PGRP, IOPRIO_WHO_USER } do
    refuse(list, "ioprio_set", EPERM, masked(0, which))
  end
  refuse(list, "ioprio_set", EPERM, masked(0, IOPRIO_WHO_PROCESS), differs(1))
  for call in ("sched_setscheduler sched_setparam sched_setattr sched_setaffinity"):gmatch("%S+") do
    refuse(list, call, EPERM, differs(0))
  end
  -- A group, or everybody; Landlock holds it from ABI 6 on.
  if options.bare < 6 then refuse(list, "kill", EPERM, { index = 0, above = true, value = 0x80000000 }) end
  -- Landlock lets that pass, though it reads nothing.
  for i, call in ipairs { "open", "openat" } do refuse(list, call, EACCES, masked(i, O_OTHER, O_OTHER)) end
  if options.bare >= 3 then return end
  -- Landlock does not see these before ABI 3.
  refuse_words(list, "truncate truncate64", EACCES)
  for i, call in ipairs { "open", "openat" } do
    refuse(list, call, EACCES, masked(i, O_TRUNC, O_TRUNC | O_WRONLY | O_RDWR))
  end
end

--- What is refused besides.
---@param list table[] to be filled
---@param options table of seccomp.rules
function bare.rules(list, options)
  host_network(list, options)
  host_processes(list, options)
  metadata(list, options.agent)
end

--- What the agent serves besides.
---@param options table of seccomp.notified
---@param making string calls that make a name
---@param notify fun(call: string, ...)
function bare.notified(options, making, notify)
  local listening = options.publish and { "bind", "listen" } or options.unix and { "listen" } or {}
  for _, call in ipairs(listening) do notify(call) end
  -- They are made for the command, so that they can be connected for it.
  for _, family in ipairs { AF_INET, AF_INET6, options.sockets and AF_UNIX or nil } do
    notify("socket", masked(0, family))
  end
  if options.area then in_area(options.area.reads, making, notify) end
  for call in METADATA:gmatch("%S+") do notify(call) end
end

return bare
