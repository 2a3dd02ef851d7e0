-- SPDX-License-Identifier: Apache-2.0
-- The system calls that a sandboxed process is refused, as data.
local entry = require "backends.seccomp_entry"

local seccomp = {}

local masked, differs, refuse, refuse_words = entry.masked, entry.differs, entry.refuse, entry.refuse_words

local EPERM, EACCES, ENOTTY, ENOSYS, EOPNOTSUPP, EAFNOSUPPORT = 1, 13, 25, 38, 95, 97

local AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_MAX = 1, 2, 10, 16, 46
local SOCK_STREAM, SOCK_SEQPACKET, SOCK_TYPES = 1, 5, 0xf
local O_CREAT, O_EXCL = 0x40, 0x80
local O_TMPFILE, O_PATH = 0x400000, 0x200000
local S_ISUID, S_ISGID = 0x800, 0x400
local TIOCSTI, TIOCLINUX, TIOCSETD, TIOCEXCL = 0x5412, 0x541c, 0x5423, 0x540c
local F_SETLEASE, F_SETDELEG = 1024, 1040
local PRIO_PGRP, IOPRIO_WHO_PGRP = 1, 2
local NEWTIME = 0x80
-- CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
local NEW = { 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000 }

-- Refused whatever the arguments, with EPERM.
local REFUSED = [[
  io_uring_setup io_uring_enter io_uring_register
  bpf perf_event_open userfaultfd
  keyctl add_key request_key
  kexec_load kexec_file_load
  init_module finit_module delete_module create_module query_module get_kernel_syms
  settimeofday clock_settime clock_adjtime clock_adjtime64 clock_settime64 adjtimex stime
  open_by_handle_at
  swapon swapoff reboot syslog acct quotactl quotactl_fd
  sethostname setdomainname vhangup
  iopl ioperm nfsservctl uselib lookup_dcookie
]]

-- Refused unless nested user namespaces are allowed.
local NAMESPACES = [[
  mount umount umount2 pivot_root move_mount open_tree open_tree_attr
  fsopen fsconfig fsmount fspick mount_setattr setns chroot
]]

-- Calls that give a file its mode, and which argument that is.
local MODES = { { "chmod", 1 }, { "fchmod", 1 }, { "fchmodat", 2 }, { "fchmodat2", 2 }, { "creat", 1 }, { "mkdir", 1 },
  { "mkdirat", 2 }, { "mknod", 1 }, { "mknodat", 2 } }

-- INET, INET6, route NETLINK, and UNIX if asked for: all, or those that the agent connects. Of these a datagram socket
-- is none, since it needs no connection to send.
local function sockets(list, unix, paths)
  for family = 0, AF_MAX - 1 do
    local open = family == AF_INET or family == AF_INET6 or family == AF_NETLINK
      or (family == AF_UNIX and (unix or paths))
    if not open then
      refuse(list, "socket", family == AF_UNIX and EPERM or EAFNOSUPPORT, masked(0, family))
    end
  end
  refuse(list, "socket", EAFNOSUPPORT, { index = 0, above = true, value = AF_MAX })
  refuse(list, "socket", EPERM, masked(0, AF_NETLINK), differs(2))
  for kind = 0, paths and not unix and SOCK_TYPES or -1 do
    if kind ~= SOCK_STREAM and kind ~= SOCK_SEQPACKET then
      refuse(list, "socket", EPERM, masked(0, AF_UNIX), masked(1, kind, SOCK_TYPES))
    end
  end
end

-- A datagram pair can send to any datagram socket of the host by its path.
local function socket_pairs(list, unix)
  for kind = 0, SOCK_TYPES do
    if kind ~= SOCK_STREAM and kind ~= SOCK_SEQPACKET and not unix then
      refuse(list, "socketpair", EPERM, masked(1, kind, SOCK_TYPES))
    end
  end
  for family = 0, AF_MAX - 1 do
    if family ~= AF_UNIX then refuse(list, "socketpair", EAFNOSUPPORT, masked(0, family)) end
  end
  refuse(list, "socketpair", EAFNOSUPPORT, { index = 0, above = true, value = AF_MAX })
end

-- A set-id file left in a writable folder would run as its owner outside. The
-- mode of open(2) counts only when it creates.
local function set_id_bits(list, bit)
  for _, mode in ipairs(MODES) do refuse(list, mode[1], EPERM, masked(mode[2], bit, bit)) end
  for _, flag in ipairs { O_CREAT, O_TMPFILE } do
    refuse(list, "open", EPERM, masked(1, flag, flag), masked(2, bit, bit))
    refuse(list, "openat", EPERM, masked(2, flag, flag), masked(3, bit, bit))
  end
end

local function namespaces(list)
  refuse_words(list, NAMESPACES, EPERM)
  for _, flag in ipairs(NEW) do
    refuse(list, "unshare", EPERM, masked(0, flag, flag))
    refuse(list, "clone", EPERM, masked(0, flag, flag))
  end
  -- In clone(2) this bit is part of the exit signal.
  refuse(list, "unshare", EPERM, masked(0, NEWTIME, NEWTIME))
  -- Its flags are in memory, where a filter can't see them; libc falls back.
  refuse(list, "clone3", ENOSYS)
end

-- Calls that make a name, whatever their arguments.
local MAKING = [[
  creat mkdir mkdirat mknod mknodat symlink symlinkat link linkat rename renameat renameat2
]]

-- Requests of ioctl(2) that make a name: subvolumes of btrfs, copies of ocfs2.
local MAKING_REQUESTS = { 0x5000940e, 0x50009418, 0x40186f04 }

-- Requests that pass mounts by. A snapshot has what is covered in the original, and who removes a subvolume removes
-- what is held in it; whoever owns one may do that (btrfs, bcachefs). Keys of encrypted folders are their user's
-- (fscrypt).
local PASSING_REQUESTS = { 0x50009401, 0x50009417, 0x5000940f, 0x5000943f, 0x4020bc10, 0x4020bc11, 0xc0506617,
  0xc0406618 }

-- What the agent of createGuard could not do as the caller would: within a
-- Landlock layer that somebody inside has made, and by ioctl(2).
local function guarded(list)
  refuse(list, "landlock_create_ruleset", EOPNOTSUPP)
  for _, request in ipairs(MAKING_REQUESTS) do refuse(list, "ioctl", ENOTTY, masked(1, request)) end
end

-- Which argument of the calls that send has the flags.
local MSG_FASTOPEN = 0x20000000
local FAST_OPEN = { { "sendto", 3 }, { "sendmsg", 2 }, { "sendmmsg", 3 } }

-- Calls that change something at a path, besides those that make a name.
local CHANGING = [[
  unlink rmdir unlinkat truncate chmod fchmodat fchmodat2 chown lchown fchownat
  setxattr lsetxattr removexattr lremovexattr
]]

-- Does the agent refuse it where it observes, so that it is told? From clone3 libc falls back to what is, and of Unix
-- sockets it asks for one whenever it looks a user up, so only who learns a policy is told.
local function is_told(refusal, options)
  return refusal.call ~= "clone3"
    and (options.learns or not (refusal.call == "socket" and #refusal.args == 1 and refusal.args[1].value == AF_UNIX))
end

-- What is refused by the agent where it observes, so that it can tell. It is as closed as by the filter: these calls
-- are never continued, and fail when nobody is there to refuse them.
local function refusals(options)
  local list = {}
  sockets(list, options.unix, options.sockets)
  socket_pairs(list, options.unix)
  if not options.nested then namespaces(list) end
  return list
end

-- For reports: what is refused.
local function told(list, options)
  for _, refusal in ipairs(refusals(options)) do
    if is_told(refusal, options) then
      refusal.notify = true
      list[#list + 1] = refusal
    end
  end
end

-- And what may be a denied write, or with `reads` any open.
local function observed(list, options, notify)
  if options.observe then told(list, options) end
  -- A notified call takes as long as making a file, so exclusive creations, by the thousand in tar, cp and git, are let
  -- be; not where nothing may be written, as they are then what git begins with.
  entry.opens(options.reads, options.exclusive and 0 or O_EXCL, notify)
  for call in (options.observe and CHANGING or ""):gmatch("%S+") do notify(call) end
end

--- The calls that the agent serves. A refusal of seccomp.rules goes before.
---@param options {guard: boolean, sockets: boolean, observe: boolean, reads: boolean, exclusive: boolean?,
--- unix: boolean, nested: boolean, lead: boolean?, learns: boolean?, makes: boolean?, publish: boolean?,
--- area: {reads: boolean}?, tells: boolean?}
--- those that make names; those that connect Unix sockets; those that are observed, opens for reading and exclusive
--- creations among them; those that connect TCP, where the agent leads it to the proxy; learns: Unix sockets that are
--- refused are told; makes: without namespaces, the agent's are all sockets, and changes of modes and their like;
--- publish: some may listen; area: where it makes names and opens what is written; tells: refusals are observed
---@return table[] rules {call, notify, args, errno = of what the agent refuses}
function seccomp.notified(options)
  local list = {}
  local function notify(call, ...) list[#list + 1] = { call = call, notify = true, args = { ... } } end
  -- A filter can't see a socket's family.
  local watched = options.sockets and not options.makes
  for _, call in ipairs(watched and { "connect", "listen" } or options.lead and { "connect" } or {}) do
    notify(call)
  end
  -- Connects as it sends, to where nobody leads: programs then do it with connect(2).
  for _, send in ipairs(options.lead and FAST_OPEN or {}) do
    refuse(list, send[1], EOPNOTSUPP, masked(send[2], MSG_FASTOPEN, MSG_FASTOPEN))
  end
  if options.makes then require("backends.seccomp_bare").notified(options, MAKING, notify) end
  if options.tells then told(list, options) end
  if options.observe or options.reads then observed(list, options, notify) end
  if not (options.guard or options.observe) then return list end
  for call in MAKING:gmatch("%S+") do notify(call) end
  if not options.guard or options.reads then return list end
  -- With O_PATH the kernel passes over O_CREAT.
  notify("open", masked(1, O_CREAT, O_CREAT | O_PATH))
  notify("openat", masked(2, O_CREAT, O_CREAT | O_PATH))
  return list
end

--- The rules for a run.
---@param options {unix: boolean, nested: boolean, root: boolean, groupSignals: boolean, guard: boolean,
--- sockets: boolean Unix sockets that the agent connects, observe: boolean the agent refuses some of it,
--- bare: integer? Landlock's ABI, where there are no namespaces, agent: boolean? what connects then is notified}
---@return table[] rules {call, errno, args}; always in the same order
function seccomp.rules(options)
  local list = {}
  refuse_words(list, REFUSED, EPERM)
  for _, refusal in ipairs(refusals(options)) do
    if not (options.observe and is_told(refusal, options)) then list[#list + 1] = refusal end
  end
  set_id_bits(list, S_ISUID)
  -- Without namespaces a file can be given to each of the user's groups.
  if options.root or options.bare then set_id_bits(list, S_ISGID) end
  -- Its mode is in memory.
  refuse(list, "openat2", ENOSYS)
  -- The last would keep whoever uses the terminal later from opening it: ssh, sudo, our own questions.
  for _, request in ipairs { TIOCSTI, TIOCLINUX, TIOCSETD, TIOCEXCL } do
    refuse(list, "ioctl", EPERM, masked(1, request))
  end
  for _, request in ipairs(PASSING_REQUESTS) do refuse(list, "ioctl", ENOTTY, masked(1, request)) end
  -- Whoever opens a file of the host's would wait for it for up to a minute.
  for _, command in ipairs { F_SETLEASE, F_SETDELEG } do refuse(list, "fcntl", EACCES, masked(1, command)) end
  -- The caller's process group reaches beyond the sandbox: its priorities, and
  -- signals where Landlock does not hold them.
  refuse(list, "setpriority", EPERM, masked(0, PRIO_PGRP), masked(1, 0))
  refuse(list, "ioprio_set", EPERM, masked(0, IOPRIO_WHO_PGRP), masked(1, 0))
  -- It asks for the same ids only, and so reaches PID 1 and the agent: without descriptors they could hold nothing.
  -- A container's runtime limits what it starts.
  refuse(list, "prlimit64", EPERM, options.nested and masked(0, 1) or differs(0), differs(2))
  if not options.groupSignals then refuse(list, "kill", EPERM, masked(0, 0)) end
  if options.guard then guarded(list) end
  if options.bare then require("backends.seccomp_bare").rules(list, options) end
  return list
end

return seccomp
