-- SPDX-License-Identifier: Apache-2.0
-- The commands that doctor names, by system and by what is in the way.
local cures = {}

-- By ID and ID_LIKE of os-release(5). {code}, {version}: of that file.
local INSTALL = { debian = "sudo apt install %s", ubuntu = "sudo apt install %s", fedora = "sudo dnf install %s",
  rhel = "sudo dnf install %s", suse = "sudo zypper install %s", opensuse = "sudo zypper install %s",
  arch = "sudo pacman -S %s", alpine = "sudo apk add %s" }
local KERNEL = { debian = "sudo apt install -t {code}-backports linux-image-{arch} && sudo reboot",
  ubuntu = "sudo apt install linux-generic-hwe-{version} && sudo reboot",
  fedora = "sudo dnf upgrade kernel && sudo reboot", rhel = "sudo dnf upgrade kernel && sudo reboot",
  suse = "sudo zypper update kernel-default && sudo reboot",
  opensuse = "sudo zypper update kernel-default && sudo reboot",
  arch = "sudo pacman -Syu linux && sudo reboot", alpine = "sudo apk upgrade linux-lts && sudo reboot" }
local ARCH = { x86_64 = "amd64", aarch64 = "arm64" }

---What os-release(5) says: {ID=, VERSION_ID=, …}, and its kinds, the nearest first.
---@param host table of srt.doctor
---@return table values
---@return string[] kinds
function cures.system(host)
  local text = host.read("/etc/os-release") or host.read("/usr/lib/os-release") or ""
  local values, kinds = {}, {}
  for name, value in ("\n" .. text):gmatch("\n([%u_]+)=([^\n]*)") do
    values[name] = value:gsub("^[\"'](.*)[\"']$", "%1")
  end
  for kind in ((values.ID or "") .. " " .. (values.ID_LIKE or "")):gmatch("[%w%-]+") do
    kinds[#kinds + 1] = kind:match("^opensuse") or kind
  end
  return values, kinds
end

local function of(host, commands)
  local values, kinds = cures.system(host)
  for _, kind in ipairs(kinds) do
    if commands[kind] then return commands[kind], values end
  end
end

---@param host table
---@param package string
---@return string[] cure
function cures.install(host, package)
  local command = of(host, INSTALL)
  return { command and command:format(package) or ("install the package %s"):format(package) }
end

---@param host table
---@param least string the version that is needed
---@return string[] cure
function cures.kernel(host, least)
  local command, values = of(host, KERNEL)
  if host.features.inContainer then
    return { ("on the machine that runs this container: Linux %s or newer"):format(least) }
  end
  if not command then return { ("boot Linux %s or newer"):format(least) } end
  return { (command:gsub("{(%l+)}", { code = values.VERSION_CODENAME or "stable", version = values.VERSION_ID or "",
    arch = ARCH[host.features.machine] or host.features.machine })) }
end

---A sysctl, now and at the next boot.
---@param name string
---@param value string|integer
---@return string[] cure
function cures.sysctl(name, value)
  return { ("sudo sysctl -w %s=%s"):format(name, value),
    ("echo '%s = %s' | sudo tee -a /etc/sysctl.d/60-srt-lua.conf"):format(name, value) }
end

---The kernel's modules, now and at the next boot.
---@param names string of modules
---@return string[] cure
function cures.modules(names)
  return { "sudo modprobe -a " .. names,
    ("printf '%%s\\n' %s | sudo tee /etc/modules-load.d/srt-lua.conf"):format(names) }
end

local OPTIONS = {
  namespaces = { docker = "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
      .. "--security-opt systempaths=unconfined",
    podman = "--security-opt seccomp=unconfined --security-opt unmask=ALL",
    kubernetes = "seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}, procMount: Unmasked" },
  proc = { docker = "--security-opt systempaths=unconfined", podman = "--security-opt unmask=ALL",
    kubernetes = "procMount: Unmasked" },
}

---How a container is started so that a sandbox can be made in it.
---@param kind string|nil of srt.doctor_place
---@param what "namespaces"|"proc"
---@return string[] cure
function cures.container(kind, what)
  local options = OPTIONS[what]
  if kind == "kubernetes" then
    return { "in the pod: hostUsers: false; in securityContext of the container: " .. options.kubernetes }
  elseif kind == "podman" then
    return { ("start it so: podman run %s IMAGE"):format(options.podman) }
  end
  return { ("start it so: docker run %s IMAGE"):format(options.docker) }
end

local SHIPPED = "/share/srt-lua/apparmor/srt-lua"

---How AppArmor comes to let this binary make user namespaces.
---@param host table
---@return string[] cure
function cures.apparmor(host)
  local loaded, exe = "/etc/apparmor.d/srt-lua", host.exe or ""
  local prefix = exe:match("^(.*)/bin/[^/]+$")
  local text = host.read(loaded)
  if text and text:find('"' .. exe .. '"', 1, true) then return { "sudo apparmor_parser -r " .. loaded } end
  if prefix and host.read(prefix .. SHIPPED) then
    return { ("sudo install -m 644 %s %s && sudo apparmor_parser -r %s"):format(prefix .. SHIPPED, loaded, loaded) }
  end
  local tree = exe:match("^(.*)/build/[^/]+/[^/]+$")
  if tree and host.read(tree .. "/tools/apparmor/install") then
    return { ("sudo cmake --install %s && %s/tools/apparmor/install"):format(exe:match("^(.*)/[^/]+$"), tree) }
  end
  return cures.sysctl("kernel.apparmor_restrict_unprivileged_userns", 0)
end

return cures
