-- SPDX-License-Identifier: Apache-2.0
-- What every command on macOS needs of the system besides files and network: services, facts, devices.
local sbpl = require "backends.sbpl"

local base = {}

--- Rules without a condition.
base.RULES = {
  "(allow process-fork)",
  "(allow process-info* (target same-sandbox))",
  "(allow signal (target same-sandbox))",
  "(allow mach-priv-task-port (target same-sandbox))",
  "(allow user-preference-read)",
  "(allow ipc-posix-shm)",
  "(allow ipc-posix-sem)",
  "(allow iokit-get-properties)",
  '(allow iokit-open (iokit-registry-entry-class "IOSurfaceRootUserClient") '
    .. '(iokit-registry-entry-class "RootDomainUserClient") (iokit-user-client-class "IOSurfaceSendRight"))',
  "(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))",
  '(allow sysctl-write (sysctl-name "kern.tcsm_enable"))',
  "(allow distributed-notification-post)",
}

--- Mach services: none of them opens files, starts programs or reaches the network for its client.
base.SERVICES = {
  "com.apple.FontObjectsServer", "com.apple.PowerManagement.control", "com.apple.SecurityServer",
  "com.apple.audio.systemsoundserver", "com.apple.bsd.dirhelper", "com.apple.coreservices.launchservicesd",
  "com.apple.distributed_notifications@Uv3", "com.apple.fonts", "com.apple.logd", "com.apple.lsd.mapdb",
  "com.apple.securityd.xpc", "com.apple.system.logger", "com.apple.system.notification_center",
  "com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership",
}

--- With enableWeakerNetworkIsolation: it fetches revocation lists for whoever asks, and Go asks it about certificates.
base.TRUST = { "com.apple.trustd.agent" }

--- With allowAppleEvents.
base.EVENTS = {
  "com.apple.CoreServices.coreservicesd", "com.apple.coreservices.appleevents",
  "com.apple.coreservices.quarantine-resolver",
}

--- Facts about the machine that may be read, by name and by the beginning of a name.
base.SYSCTLS = {
  "hw.activecpu", "hw.busfrequency_compat", "hw.byteorder", "hw.cacheconfig", "hw.cachelinesize_compat",
  "hw.cpufamily", "hw.cpufrequency", "hw.cpufrequency_compat", "hw.cputype", "hw.l1dcachesize_compat",
  "hw.l1icachesize_compat", "hw.l2cachesize_compat", "hw.l3cachesize_compat", "hw.logicalcpu", "hw.logicalcpu_max",
  "hw.machine", "hw.memsize", "hw.model", "hw.ncpu", "hw.nperflevels", "hw.packages", "hw.pagesize",
  "hw.pagesize_compat", "hw.physicalcpu", "hw.physicalcpu_max", "hw.tbfrequency_compat", "hw.vectorunit",
  "kern.argmax", "kern.bootargs", "kern.hostname", "kern.maxfiles", "kern.maxfilesperproc", "kern.maxproc",
  "kern.ngroups", "kern.osproductversion", "kern.osrelease", "kern.ostype", "kern.osvariant_status",
  "kern.osversion", "kern.secure_kernel", "kern.tcsm_available", "kern.tcsm_enable", "kern.usrstack64",
  "kern.version", "kern.willshutdown", "machdep.cpu.brand_string", "machdep.ptrauth_enabled",
  "security.mac.lockdown_mode_state", "sysctl.proc_cputype", "vm.loadavg",
}
base.SYSCTL_PREFIXES = {
  "hw.optional.arm", "hw.perflevel", "kern.proc.all", "kern.proc.pgrp.", "kern.proc.pid.", "machdep.cpu.",
  "net.routetable.",
}

--- Devices that read and write without a trace.
base.DEVICES = { "/dev/dtracehelper", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero" }

--- Folders that are links there: the kernel knows what is in them by these paths only.
base.LINKS = { ["/etc"] = "/private/etc", ["/tmp"] = "/private/tmp", ["/var"] = "/private/var" }

local function services(profile)
  local macos = profile.macos
  local exact, prefixes = table.move(base.SERVICES, 1, #base.SERVICES, 1, {}), {}
  local function add(list) table.move(list, 1, #list, #exact + 1, exact) end
  if macos.weakerNetwork then add(base.TRUST) end
  if macos.appleEvents then add(base.EVENTS) end
  for _, name in ipairs(macos.machLookup) do
    local prefix = name:match("^(.*)%*$")
    if prefix then prefixes[#prefixes + 1] = prefix else exact[#exact + 1] = name end
  end
  table.sort(exact)
  return sbpl.filters("global-name", exact), prefixes[1] and sbpl.filters("global-name-prefix", prefixes)
end

--- Says what the system gives.
---@param text table of backends/seatbelt.lua
---@param profile table
function base.system(text, profile)
  text:section("The system")
  for _, rule in ipairs(base.RULES) do text:say(rule) end
  text:allow("mach-lookup", services(profile))
  text:allow("sysctl-read", sbpl.filters("sysctl-name", base.SYSCTLS),
    sbpl.filters("sysctl-name-prefix", base.SYSCTL_PREFIXES))
  if profile.macos.appleEvents then text:allow("appleevent-send lsopen") end
end

--- Says that pseudo-terminals can be used, behind the files: those of others are closed by plain permissions.
---@param text table of backends/seatbelt.lua
function base.terminals(text)
  local both = sbpl.filter("literal", "/dev/ptmx") .. " " .. sbpl.filter("regex", "^/dev/ttys[0-9]")
  text:section("Pseudo-terminals")
  text:allow("pseudo-tty")
  text:allow("file-read* file-ioctl", both)
  text:allow("file-write-data", both)
end

return base
