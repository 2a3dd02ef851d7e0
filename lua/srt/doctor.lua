-- SPDX-License-Identifier: Apache-2.0
-- What this machine can enforce, what it can't, and what cures that.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local doctor = {}

---@class srt.finding
---@field name string
---@field state "ok"|"info"|"weak"|"bad" weak: something holds less; bad: the default policy can't be enforced
---@field found string
---@field means string|nil
---@field cure string[]|nil commands, or what to change

-- Each check is {name, module, function}, in the order they are shown.
local CHECKS = {
  { "kernel", "kernel", "version" },
  { "namespaces", "kernel", "namespaces" },
  { "proc", "kernel", "proc" },
  { "apparmor", "place", "apparmor" },
  { "selinux", "place", "selinux" },
  { "seccomp", "kernel", "seccomp" },
  { "notify", "kernel", "notify" },
  { "landlock", "kernel", "landlock" },
  { "nftables", "kernel", "nftables" },
  { "container", "place", "container" },
  { "wsl", "place", "wsl" },
  { "bwrap", "place", "bwrap" },
  { "clock", "files", "clock" },
  { "certificates", "files", "roots" },
  { "terminal", "files", "terminal" },
  { "temporary", "files", "temporary" },
  { "state", "files", "state" },
  { "policy", "trial", "run" },
}

-- How many certificates there are, and how many that can't be read.
local function count(texts)
  local trust, added, broken = require("srt.c.tls").trust(), 0, 0
  for _, text in ipairs(texts) do
    local got = trust and trust:add(text)
    added, broken = added + (got and got.added or 0), broken + (got and got.broken or 0)
  end
  return added, broken
end

local function terminal()
  local fd, why = require("srt.c.journal").open("/dev/tty", false)
  if fd then require("srt.c.tidy").close(fd) end
  return fd ~= nil, why
end

local function state_folder(facts, temp)
  local state = require "srt.state"
  local folders = state.folders(facts, temp)
  state.prepare(folders)
  for i, folder in ipairs(folders) do
    if state.isOurs(folder) and sys.writable(folder) then
      state.leave(folders, folder)
      return i < #folders and folder or temp, i == #folders
    end
  end
end

---What the checks ask.
---@param facts table of srt.session
---@return table host
function doctor.host(facts)
  local session = require "srt.session"
  facts.features.kernel, facts.features.machine = facts.features.kernel or "?", facts.features.machine or "?"
  local temp, why = session.tempDir(facts)
  local base = temp and paths.parent(temp)
  return {
    env = facts.env, features = facts.features, uid = (sys.ids()), exe = sys.realpath("/proc/self/exe"),
    probe = require "srt.c.probe", redirects = require("srt.transparent").works,
    read = function(path) return sys.readfile(path, 1 << 20) end, stat = sys.stat,
    there = function(path) return sys.lstat(path) ~= nil end, now = sys.time,
    find = function(name) return require("srt.programs").find(name, facts.env.PATH) end,
    roots = function() return require("srt.trust").roots(facts.env) end, count = count, terminal = terminal,
    temp = function() return base, why end, fresh = function() return temp end,
    state = function() return state_folder(facts, base) end,
  }
end

---Asks everything.
---@param host table of doctor.host, or a stand-in
---@return srt.finding[] findings
---@return boolean enforced can the default policy be enforced?
function doctor.examine(host)
  local built, reason, trouble, stage = host.probe.build()
  host.built, host.reason, host.trouble, host.stage = built == true, reason, trouble, stage
  host.features.inContainer = require("srt.doctor_place").kind(host) ~= nil
  local findings = {}
  for i, check in ipairs(CHECKS) do
    local finding = require("srt.doctor_" .. check[2])[check[3]](host)
    finding.name = check[1]
    findings[i] = finding
  end
  local enforced = findings[#findings].state ~= "bad"
  for _, finding in ipairs(findings) do
    -- What is in the way of one backend need not be of another.
    if enforced and finding.state == "bad" then finding.state = "weak" end
  end
  return findings, enforced
end

return doctor
