-- SPDX-License-Identifier: Apache-2.0
-- What doctor finds in worlds that are not this machine: files and answers of the kernel are made up.
require("spec.lua.support")
local doctor = require("srt.doctor")
local render = require("srt.cli.doctor")

local RELEASE = "NAME=Ubuntu\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n"
local MOUNTS = "22 1 254:0 / / rw - ext4 /dev/root rw\n"

local function fresh()
  local name = os.tmpname()
  os.remove(name)
  return name
end

-- A machine where all is well, but for what is said.
local function world(files, change)
  local given = { ["/etc/os-release"] = RELEASE, ["/proc/self/mountinfo"] = MOUNTS, ["/proc/self/status"] = "Seccomp:\t0\n",
    ["/proc/self/ns/user"] = "" }
  for path, text in pairs(files or {}) do given[path] = text or nil end
  local host = {
    env = {}, uid = 1000, exe = "/usr/bin/srt-lua", features = { kernel = "6.12.1", machine = "x86_64", landlock = 6 },
    probe = {
      build = function() return true end, namespaces = function() return true end, seccomp = function() return true end,
      landlock = function() return true end, space = function() return 1 << 40, 1 << 20 end,
      run = function(argv)
        if argv[2] == "--version" then return 0, "bubblewrap 0.8.0\n" end
        return 0, ""
      end,
    },
    read = function(path) return given[path] end, there = function(path) return given[path] ~= nil end,
    stat = function(path) return path == "/usr/bin/srt-lua" and { mtime = 1780000000, mode = 493 } or nil end,
    find = function() return nil end, now = function() return 1790000000 end, redirects = function() return true end,
    roots = function() return { "" } end, count = function() return 140, 0 end, terminal = function() return true end,
    temp = function() return "/tmp" end, fresh = fresh,
    state = function() return "/home/me/.local/state/srt-lua" end,
  }
  if change then change(host) end
  local findings, enforced = doctor.examine(host)
  local found = {}
  for _, finding in ipairs(findings) do found[finding.name] = finding end
  return found, enforced, findings
end

local function refused(stage, name)
  return function(host)
    host.probe.build = function() return nil, "cannot be made: Operation not permitted", name or "EPERM", stage end
    host.probe.run = function() return 125, "srt-lua: cannot be made: Operation not permitted; and so on\n" end
    host.probe.namespaces = function() return stage ~= "namespaces" end
  end
end

local RESTRICTED = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"

-- {what it is, files, change, check, state, words of its text}
local WORLDS = {
  { "all is well", nil, nil, "policy", "ok", "a command ran under it" },
  { "Ubuntu's rule, no profile", { [RESTRICTED] = "1\n", ["/sys/module/apparmor/parameters/enabled"] = "Y\n",
    ["/proc/self/attr/current"] = "unconfined\n", ["/usr/share/srt-lua/apparmor/srt-lua"] = "" }, refused("loopback"),
    "apparmor", "bad", "sudo install -m 644 /usr/share/srt-lua/apparmor/srt-lua /etc/apparmor.d/srt-lua && sudo "
      .. "apparmor_parser -r /etc/apparmor.d/srt-lua" },
  { "Ubuntu's rule, a profile that is not loaded", { [RESTRICTED] = "1\n",
    ["/sys/module/apparmor/parameters/enabled"] = "Y\n", ["/etc/apparmor.d/srt-lua"] = 'profile srt-lua "/usr/bin/srt-lua" {' },
    refused("loopback"), "namespaces", "bad", "sudo apparmor_parser -r /etc/apparmor.d/srt-lua" },
  { "Ubuntu's rule, a profile of another file", { [RESTRICTED] = "1\n",
    ["/etc/apparmor.d/srt-lua"] = 'profile srt-lua "/usr/local/bin/srt-lua" {' },
    refused("loopback"), "namespaces", "bad", "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" },
  { "Ubuntu's rule, and it works", { [RESTRICTED] = "1\n", ["/sys/module/apparmor/parameters/enabled"] = "Y\n",
    ["/proc/self/attr/current"] = "srt-lua (unconfined)\n" }, nil, "apparmor", "ok", "srt-lua (unconfined)" },
  { "Debian's old sysctl", { ["/proc/sys/kernel/unprivileged_userns_clone"] = "0\n" }, refused("namespaces"), "namespaces",
    "bad", "sudo sysctl -w kernel.unprivileged_userns_clone=1" },
  { "a limit that is reached", { ["/proc/sys/user/max_user_namespaces"] = "20000\n" }, refused("namespaces", "ENOSPC"),
    "namespaces", "bad", "sudo sysctl -w user.max_user_namespaces=40000" },
  { "no namespaces in the kernel", { ["/proc/self/ns/user"] = false }, refused("namespaces", "EINVAL"), "namespaces", "bad",
    "CONFIG_USER_NS" },
  { "a chroot", { ["/proc/self/mountinfo"] = "22 1 254:0 /jail /home rw - ext4 /dev/root rw\n" }, refused("namespaces"),
    "namespaces", "bad", "this is a chroot" },
  { "Podman", { ["/run/.containerenv"] = "", ["/proc/self/status"] = "Name:\tx\nSeccomp:\t2\n" }, refused("namespaces"),
    "namespaces", "bad", "podman run --security-opt seccomp=unconfined" },
  { "Kubernetes, covered /proc", { ["/proc/self/mountinfo"] = MOUNTS .. "30 22 0:5 / /proc/acpi ro - tmpfs tmpfs ro\n" },
    function(host)
      refused("proc")(host)
      host.env.KUBERNETES_SERVICE_HOST = "10.0.0.1"
    end, "proc", "bad", "procMount: Unmasked" },
  { "SELinux", { ["/sys/fs/selinux/enforce"] = "1", ["/proc/self/attr/current"] = "user_u:user_r:user_t:s0\0" },
    refused("namespaces"), "selinux", "info", "sudo ausearch -m avc,user_avc -ts recent" },
  { "WSL 1", nil, function(host)
    refused("namespaces", "EINVAL")(host)
    host.features.kernel, host.env.WSL_DISTRO_NAME = "4.4.0-19041-Microsoft", "Debian"
  end, "wsl", "bad", "wsl --set-version Debian 2" },
  { "WSL 2", nil, function(host) host.features.kernel = "5.15.167.4-microsoft-standard-WSL2" end, "wsl", "info", "WSL 2" },
  { "an old kernel", nil, function(host)
    refused("tree", "ENOSYS")(host)
    host.features.kernel = "5.10.0"
  end, "kernel", "bad", "sudo apt install linux-generic-hwe-24.04 && sudo reboot" },
  { "Landlock off", { ["/sys/kernel/security/lsm"] = "capability,yama,apparmor" }, function(host)
    host.features.landlock = 0
  end, "landlock", "weak", "lsm=landlock,capability,yama,apparmor" },
  { "Landlock of Linux 5.19", nil, function(host) host.features.landlock = 2 end, "landlock", "weak", "truncate" },
  { "Landlock that can't be entered", nil, function(host)
    host.probe.landlock = function() return nil, "Operation not permitted", "EPERM" end
  end, "landlock", "weak", "can't be entered: Operation not permitted" },
  { "another supervisor", nil, function(host)
    host.probe.seccomp = function(notify)
      if notify then return nil, "Device or resource busy", "EBUSY" end
      return true
    end
  end, "notify", "weak", "there can be only one" },
  { "no nf_tables", nil, function(host) host.redirects = function() return nil, "Protocol not supported" end end,
    "nftables", "weak", "sudo modprobe -a nf_tables nft_chain_nat nft_redir" },
  { "the clock of 1970", nil, function(host) host.now = function() return 86400 * 3 end end, "clock", "weak",
    "sudo timedatectl set-ntp true" },
  { "the clock of 2060", nil, function(host) host.now = function() return 2840000000 end end, "clock", "weak", "many years" },
  { "no roots", nil, function(host) host.count = function() return 0, 0 end end, "certificates", "weak",
    "sudo apt install ca-certificates" },
  { "a full disk", nil, function(host) host.probe.space = function() return 1 << 20, 1 << 20 end end, "temporary", "weak",
    "nearly full" },
  { "no inodes", nil, function(host) host.probe.space = function() return 1 << 40, 3 end end, "state", "weak", "nearly full" },
  { "nowhere to write", nil, function(host) host.temp = function() return nil, "TMPDIR can't be written" end end,
    "temporary", "bad", "export TMPDIR=" },
  { "a setuid bwrap", nil, function(host)
    host.find = function() return "/usr/bin/bwrap" end
    host.stat = function() return { mtime = 1780000000, mode = tonumber("4755", 8) } end
  end, "bwrap", "ok", "version 0.8.0, setuid" },
  { "no bwrap", { ["/etc/os-release"] = "ID=fedora\n" }, nil, "bwrap", "info", "sudo dnf install bubblewrap" },
  { "a system nobody knows", { ["/etc/os-release"] = false }, nil, "bwrap", "info", "install the package bubblewrap" },
}

describe("doctor in", function()
  for _, row in ipairs(WORLDS) do
    it(row[1], function()
      local found, enforced, findings = world(row[2], row[3])
      local finding = found[row[4]]
      assert.equal(row[5], finding.state)
      local text = table.concat({ finding.found, finding.means or "", table.concat(finding.cure or {}, "\n") }, "\n")
      assert.truthy(text:find(row[6], 1, true), text)
      -- Only the trial decides, and what it says is in both outputs.
      assert.equal(found.policy.state ~= "bad", enforced)
      local data = require("srt.json").decode(render.json(findings, enforced, "1"))
      assert.equal(enforced, data.enforced)
      assert.equal(#findings, #data.checks)
      for _, name in ipairs { "found", "means" } do
        local shown = finding[name] and require("srt.report").plain(finding[name])
        assert.truthy(not shown or render.text(findings, enforced, false):find(shown, 1, true))
      end
    end)
  end

  it("a sandbox that leaks", function()
    local found, enforced = world(nil, function(host)
      local inside = host.probe.run
      host.probe.run = function(argv)
        if argv[2] == "run" then return 3, "" end
        return inside(argv)
      end
    end)
    assert.is_false(enforced)
    assert.truthy(found.policy.found:find("could write", 1, true))
  end)

  it("what only a weaker backend holds", function()
    local found, enforced = world(nil, function(host)
      host.probe.run = function() return 0, "srt-lua: warning: the landlock backend is used\n" end
    end)
    assert.is_true(enforced)
    assert.equal("weak", found.policy.state)
    assert.equal("warning: the landlock backend is used", found.policy.means)
  end)
end)
