-- SPDX-License-Identifier: Apache-2.0
-- What doctor says of the kernel: each feature is tried by what a run is built with.
local cures = require "srt.doctor_cures"
local place = require "srt.doctor_place"

local kernel = {}

local LEAST = "5.15"
local TESTED = { x86_64 = true, aarch64 = true }

---@param release string
---@param major integer
---@param minor integer
local function older(release, major, minor)
  local a, b = (release or ""):match("^(%d+)%.(%d+)")
  a, b = tonumber(a), tonumber(b)
  return a ~= nil and (a < major or a == major and b < minor)
end

---@param host table
---@return srt.finding
function kernel.version(host)
  local features = host.features
  local found = ("Linux %s on %s"):format(features.kernel or "?", features.machine or "?")
  if older(features.kernel, 5, 15) then
    return { state = host.built and "weak" or "bad", found = found, means = "srt-lua is made for Linux 5.15 and later",
      cure = cures.kernel(host, LEAST) }
  elseif not TESTED[features.machine] then
    return { state = "weak", found = found, means = "srt-lua is tested on x86_64 and aarch64 only" }
  end
  return { state = "ok", found = found }
end

-- A root of the mount namespace's own.
local CHROOT = [[leave it, or enter it so: sudo unshare --mount sh -c 'mount --rbind "$0" "$0" && cd "$0" && ]]
  .. [[pivot_root . mnt && umount -l mnt && exec chroot . sh' FOLDER]]

local function chrooted(host)
  local mounts = host.read("/proc/self/mountinfo")
  return mounts ~= nil and not ("\n" .. mounts):find("\n%d+ %d+ %S+ %S+ / ")
end

local LIMITS = { user = "user", mount = "mnt", pid = "pid", net = "net", ipc = "ipc", uts = "uts", cgroup = "cgroup" }
local KINDS = { "mount", "pid", "net", "ipc", "uts", "cgroup" }

-- A limit that lets none be made, or the next one.
local function limited(host, refused)
  for _, kind in ipairs(refused) do
    local name = ("user.max_%s_namespaces"):format(LIMITS[kind])
    local value = place.number(host, "/proc/sys/" .. name:gsub("%.", "/"))
    if value == 0 or host.trouble == "ENOSPC" or host.trouble == "EUSERS" then
      return name, math.max(2 * (value or 0), 15000), value
    end
  end
end

-- Why namespaces can't be had, and what helps, the surest sign first.
local function blame(host, refused)
  local kind = place.kind(host)
  local name, better, value = limited(host, refused)
  if kind == "srt-lua" then
    return "the sandbox around this process refuses them", { "in the outer policy: allowNestedUserNamespaces = true" }
  elseif refused[1] == "user" and not host.there("/proc/self/ns/user") then
    return "the kernel is built without them (CONFIG_USER_NS)", cures.kernel(host, LEAST)
  elseif name then
    return ("the sysctl %s is %s"):format(name, value), cures.sysctl(name, better)
  elseif host.uid ~= 0 and place.number(host, "/proc/sys/kernel/unprivileged_userns_clone") == 0 then
    return "the sysctl kernel.unprivileged_userns_clone is 0", cures.sysctl("kernel.unprivileged_userns_clone", 1)
  elseif place.restricted(host) then
    return "AppArmor restricts them (kernel.apparmor_restrict_unprivileged_userns is 1)", cures.apparmor(host)
  elseif place.status(host, "Seccomp") == 2 then
    return "a seccomp filter around this process refuses them, as Docker's does", cures.container(kind, "namespaces")
  elseif chrooted(host) then
    return "this is a chroot, from which the kernel lets nobody make them", { CHROOT }
  elseif kind then
    return "the container around this process refuses them", cures.container(kind, "namespaces")
  end
  return "the kernel or a security module refuses them", { "sudo dmesg | tail -n 20" }
end

---Namespaces, with their maps and the tree inside: what a run is built of.
---@param host table built, reason, trouble and stage are set
---@return srt.finding
function kernel.namespaces(host)
  if host.built or host.stage == "proc" then
    return { state = "ok", found = "user and all other namespaces can be made" }
  end
  local refused = {}
  if not host.probe.namespaces("user") then
    refused[1] = "user"
  else
    for _, kind in ipairs(KINDS) do
      if not host.probe.namespaces("user", kind) then refused[#refused + 1] = kind end
    end
  end
  local why, cure = blame(host, refused)
  local which = refused[1] and ("%s namespaces can't be made"):format(table.concat(refused, ", "))
    or "they can be made, but not used"
  return { state = "bad", found = ("%s (%s)"):format(which, host.reason),
    means = why .. "; without namespaces there is no sandbox of mounts and no network of its own", cure = cure }
end

local function masked(host)
  local list = {}
  for path in (host.read("/proc/self/mountinfo") or ""):gmatch("%d+ %d+ %S+ %S+ (/proc/%S+) ") do
    list[#list + 1] = path
  end
  return list
end

---@param host table
---@return srt.finding
function kernel.proc(host)
  if host.built then return { state = "ok", found = "/proc and /dev of a sandbox's own can be mounted" } end
  if host.stage ~= "proc" then return { state = "info", found = "not tried: there are no namespaces" } end
  local over = masked(host)
  local hides = #over > 0 and ("parts of this /proc are covered (%s), and the kernel lets nobody see them by another "
    .. "mount"):format(table.concat(over, " ", 1, math.min(#over, 4))) or "this /proc does not show everything"
  return { state = "bad", found = host.reason, means = hides .. "; a sandbox needs a /proc of its own",
    cure = cures.container(place.kind(host), "proc") }
end

---@param host table
---@return srt.finding
function kernel.seccomp(host)
  local ok, why = host.probe.seccomp(false)
  if ok then return { state = "ok", found = "filters can be installed" } end
  return { state = "bad", found = "filters can't be installed: " .. why,
    means = "system calls that would lead out of a sandbox can't be refused; Linux needs CONFIG_SECCOMP_FILTER",
    cure = cures.kernel(host, LEAST) }
end

---@param host table
---@return srt.finding
function kernel.notify(host)
  local ok, why, name = host.probe.seccomp(true)
  if ok then return { state = "ok", found = "a filter can ask srt-lua" } end
  local finding = { state = "weak", found = "a filter can't ask srt-lua: " .. why,
    means = 'without it there is no observe, decideOpen or createGuard = "supervisor", Unix sockets can\'t be '
      .. "allowed by path, and under Landlock alone nothing can be made beside what is denied, no modes and owners "
      .. "be changed, and nothing connected to" }
  if name == "EBUSY" then
    finding.means = finding.means .. "; whoever started this process asks already, and there can be only one"
  else
    finding.cure = cures.kernel(host, LEAST)
  end
  return finding
end

-- What is missing below each version of the interface, in the words of what a policy loses.
local LACKS = {
  { 2, "the write layer as a whole, which is the second wall behind the mounts" },
  { 3, "truncate(2) in the write layer" },
  { 6, "signals and abstract sockets that lead out (strict = true refuses to run)" },
}

---@param host table
---@return srt.finding
function kernel.landlock(host)
  local abi, missing = host.features.landlock, {}
  for _, row in ipairs(LACKS) do
    if abi < row[1] then missing[#missing + 1] = row[2] end
  end
  local ok, why = true, nil
  if abi > 0 then ok, why = host.probe.landlock() end
  if ok and abi > 0 and not missing[1] then return { state = "ok", found = "ABI " .. abi } end
  local modules = host.read("/sys/kernel/security/lsm")
  local finding = { state = "weak", found = abi == 0 and "not there"
    or ("ABI %d%s"):format(abi, ok and "" or ", but a layer can't be entered: " .. why),
    means = "not held: " .. table.concat(ok and missing or { LACKS[1][2] }, "; ") }
  finding.cure = cures.kernel(host, "6.12")
  if abi == 0 and modules and not modules:find("landlock", 1, true) then
    finding.cure = { ("sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&lsm=landlock,%s /' /etc/default/grub && sudo update-grub "
      .. "&& sudo reboot"):format((modules:gsub("%s", ""))) }
  end
  return finding
end

---@param host table
---@return srt.finding
function kernel.nftables(host)
  local ok, why = host.redirects()
  if ok then return { state = "ok", found = "nf_tables works in a network namespace" } end
  local needs = "programs that ignore proxies are led to it by seccomp notification instead, which costs more for each "
    .. "connection; network.transparent = true refuses to run"
  if not host.built then return { state = "info", found = "not tried: " .. why } end
  return { state = "weak", found = "no nf_tables in a network namespace: " .. why, means = needs,
    cure = cures.modules("nf_tables nft_chain_nat nft_redir") }
end

return kernel
