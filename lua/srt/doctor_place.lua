-- SPDX-License-Identifier: Apache-2.0
-- What doctor says of where it runs: containers, our own sandbox, WSL, security modules, bubblewrap.
local cures = require "srt.doctor_cures"

local place = {}

local function number(host, path) return tonumber((host.read(path) or ""):match("^%s*(%-?%d+)")) end
place.number = number

---A field of /proc/self/status.
---@param host table
---@param name string
---@return integer|nil
function place.status(host, name)
  return tonumber((("\n" .. (host.read("/proc/self/status") or "")):match("\n" .. name .. ":%s*(%d+)")))
end

---@param host table
---@return "srt-lua"|"kubernetes"|"docker"|"podman"|"lxc"|"container"|nil kind
function place.kind(host)
  local env, above = host.env, host.read("/proc/1/comm") or ""
  if above:find("^sandbox%-init") then return "srt-lua" end
  if env.KUBERNETES_SERVICE_HOST or host.read("/var/run/secrets/kubernetes.io/serviceaccount/namespace") then
    return "kubernetes"
  end
  if host.there("/run/.containerenv") or env.container == "podman" then return "podman" end
  if host.there("/.dockerenv") or env.container == "docker" then return "docker" end
  local named = env.container or host.read("/run/systemd/container")
  if not named or named == "" then return nil end
  return named:find("^lxc") and "lxc" or "container"
end

local NAMES = { ["srt-lua"] = "a sandbox of srt-lua", kubernetes = "a Kubernetes pod", docker = "a Docker container",
  podman = "a Podman container", lxc = "an LXC container", container = "a container" }

---@param host table
---@return srt.finding
function place.container(host)
  local kind, filters = place.kind(host), place.status(host, "Seccomp") == 2
  local found = kind and "this is " .. NAMES[kind] or "none is seen"
  if filters and kind ~= "srt-lua" then found = found .. "; a seccomp filter is on all that runs here" end
  local finding = { state = kind and "info" or "ok", found = found }
  if kind == "srt-lua" then
    finding.means = "a sandbox can be made within another one only where the outer policy allows it"
    finding.cure = { "in the outer policy: allowNestedUserNamespaces = true" }
  elseif kind then
    finding.means = "what a container may do is said where it is started; the lines on namespaces and /proc tell what "
      .. "of that is in the way"
  end
  return finding
end

---@param host table
---@return srt.finding|nil
function place.wsl(host)
  local release = host.features.kernel or ""
  if not release:lower():find("microsoft", 1, true) then return { state = "ok", found = "no" } end
  if release:find("%-Microsoft") then
    return { state = "bad", found = "WSL 1",
      means = "it is no Linux kernel: there are no namespaces, seccomp filters or Landlock",
      cure = { ("in PowerShell: wsl --set-version %s 2"):format(host.env.WSL_DISTRO_NAME or "DISTRIBUTION") } }
  end
  return { state = "info", found = "WSL 2", means = "a Linux kernel, as elsewhere; files below /mnt/c are Windows's: "
    .. "keep the work folder in the Linux file system" }
end

---AppArmor's answer to user namespaces: does it restrict them for this process?
---@param host table
---@return boolean
function place.restricted(host)
  return number(host, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1 and host.uid ~= 0
end

---@param host table
---@return srt.finding
function place.apparmor(host)
  if (host.read("/sys/module/apparmor/parameters/enabled") or ""):sub(1, 1) ~= "Y" then
    return { state = "ok", found = "not enabled" }
  end
  local label = (host.read("/proc/self/attr/apparmor/current") or host.read("/proc/self/attr/current") or "")
    :match("^[^\n%z]+") or "unknown"
  local finding = { state = "ok", found = "enabled, this process is " .. label }
  if not place.restricted(host) then return finding end
  finding.found = finding.found .. "; it restricts user namespaces to programs with a profile"
  if host.built or host.stage == "proc" then return finding end
  finding.state = "bad"
  finding.means = "ordinary users can't make a sandbox until srt-lua has a profile (kernel."
    .. "apparmor_restrict_unprivileged_userns is 1: Ubuntu 23.10 and later)"
  finding.cure = cures.apparmor(host)
  return finding
end

---@param host table
---@return srt.finding
function place.selinux(host)
  local enforcing = number(host, "/sys/fs/selinux/enforce")
  if not enforcing then return { state = "ok", found = "not enabled" } end
  local label = (host.read("/proc/self/attr/current") or ""):match("^[^\n%z]+") or "unknown"
  local finding = { state = "info", means = "its rules hold inside as well",
    found = ("%s, this process is %s"):format(enforcing == 1 and "enforcing" or "permissive", label) }
  if enforcing == 1 and not host.built then
    finding.means = "it may be what refuses; its log says so"
    finding.cure = { "sudo ausearch -m avc,user_avc -ts recent" }
  end
  return finding
end

---@param host table
---@return srt.finding
function place.bwrap(host)
  local path = host.find("bwrap")
  if not path then
    return { state = "info", found = "not installed", means = 'only backend = "bwrap" needs it',
      cure = cures.install(host, "bubblewrap") }
  end
  local status, text = host.probe.run({ path, "--version" }, 5000)
  local version = status == 0 and text:match("(%d+%.%d+[%.%d]*)")
  if not version then
    return { state = "weak", found = path .. " can't be run: " .. (text:match("^[^\n]+") or ""),
      means = 'backend = "bwrap" can\'t be used', cure = cures.install(host, "bubblewrap") }
  end
  local st = host.stat(path)
  local setuid = st and st.mode & tonumber("4000", 8) ~= 0
  return { state = "ok", found = ("%s, version %s%s"):format(path, version, setuid and ", setuid" or "") }
end

return place
