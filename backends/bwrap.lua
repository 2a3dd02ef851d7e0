-- SPDX-License-Identifier: Apache-2.0
-- Profile → arguments of bubblewrap, which makes namespaces and mounts; our PID 1 does the rest inside (core/bwrap.h).
-- Only options that bubblewrap 0.4 knows. What is mounted where is the plan of backends.namespaces, in its order.
local namespaces = require "backends.namespaces"

local sys = require "srt.c.sys"

local bwrap = {}

local MOST = 8900 -- arguments: bubblewrap takes 9000, ours among them
local NODES = { "null", "zero", "full", "random", "urandom", "tty" }
local LINKS = { { "ptmx", "pts/ptmx" }, { "fd", "/proc/self/fd" }, { "stdin", "/proc/self/fd/0" },
  { "stdout", "/proc/self/fd/1" }, { "stderr", "/proc/self/fd/2" } }
-- What PID 1 has until it has started the command: it puts mounts back, gives the loopback interface addresses, listens
-- at port 53, lets an agent look into processes, and bounds what the command can have.
local CAPABILITIES = { "SYS_ADMIN", "NET_ADMIN", "NET_BIND_SERVICE", "SYS_PTRACE", "SETPCAP" }
-- What PID 1 and the agent call themselves; the command's own filter refuses it as always.
local OURS = { mount = true, umount = true, umount2 = true, move_mount = true, open_tree = true, mount_setattr = true,
  fsopen = true, fsconfig = true, fsmount = true, clone3 = true, socket = true, openat2 = true,
  landlock_create_ruleset = true, landlock_add_rule = true, landlock_restrict_self = true }

--- Where the arguments show the masks until PID 1 has hidden them (BWRAP_MASKS in core/bwrap.h).
bwrap.MASKS = "/dev/srt-masks"

local Arguments = {}
Arguments.__index = Arguments

function Arguments:add(...)
  for i = 1, select("#", ...) do self[#self + 1] = (select(i, ...)) end
end

local function own_dev(out, plan, facts)
  out:add("--proc", "/proc", "--tmpfs", "/dev")
  for _, node in ipairs(NODES) do out:add("--dev-bind", "/dev/" .. node, "/dev/" .. node) end
  for _, link in ipairs(LINKS) do out:add("--symlink", link[2], "/dev/" .. link[1]) end
  out:add("--dir", "/dev/pts", "--tmpfs", "/dev/shm")
  if facts.terminal then out:add("--dev-bind", facts.terminal, "/dev/console") end
  out:add("--ro-bind", facts.masks, bwrap.MASKS)
  if #plan.files > 0 then out:add("--ro-bind", facts.masks .. "/files", namespaces.FILES) end
end

-- The name, among the masks, of what covers a step's target: as mounts_cover() of core/mounts.h.
local function cover(step, index)
  if step.op == "mask" then return step.directory and "dir" or "file" end
  return ("%s%d"):format(step.op, index - 1)
end

local function mounts(out, plan, facts)
  local first = 1
  local step = plan.mounts[1]
  if step and step.op == "scaffold" and step.target == "/" then
    first = 2
    out:add("--ro-bind", facts.masks .. "/" .. cover(step, 1), "/")
  else
    out:add(plan.rootReadOnly and "--ro-bind" or "--bind", "/", "/")
  end
  own_dev(out, plan, facts)
  for i = first, #plan.mounts do
    step = plan.mounts[i]
    if type(step) == "string" then step = { op = "mask", target = step } end
    local st = sys.lstat(step.target)
    -- PID 1 mounts over links (remount_links() of core/remount.h): bubblewrap would follow them.
    local link = st and st.type == "link"
    if step.op == "bind" and not link then
      out:add(step.readOnly and "--ro-bind" or "--bind", step.source, step.target)
    elseif not link then
      out:add("--ro-bind", facts.masks .. "/" .. cover(step, i), step.target)
    end
  end
end

local function arguments(plan, facts)
  local out = setmetatable({}, Arguments)
  out:add("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup",
    "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL")
  for _, name in ipairs(CAPABILITIES) do out:add("--cap-add", "CAP_" .. name) end
  mounts(out, plan, facts)
  out:add("--chdir", "/")
  return setmetatable(out, nil)
end

-- Of what the command is refused, what PID 1 can do without as well.
local function base_rules(options)
  local out = {}
  for _, rule in ipairs(require("backends.seccomp").rules(options)) do
    if not OURS[rule.call] then out[#out + 1] = rule end
  end
  return out
end

--- What it does not hold as namespaces do.
---@return string[]
function bwrap.lacks()
  if sys.ids() ~= 0 then return {} end
  return { "a root caller is the only id inside and has no capability: files of others are not its own there" }
end

local function refused(what, why)
  return nil, ("%s can't be held by backend = \"bwrap\": %s; choose backend = \"namespaces\", or leave it out")
    :format(what, why)
end

--- Compiles a profile to a plan: as backends.namespaces, with `bwrap`.
---@param profile table from srt.profile
---@param rules table from srt.decide_path
---@param ctx table of backends.namespaces, and {stateFolders: string[]? of srt.state: it is to be run}
---@return table? plan
---@return string? reason
function bwrap.compile(profile, rules, ctx)
  local facts, reason = require("srt.bubblewrap").facts(profile, rules, ctx)
  if not facts then return nil, reason end
  local plan, message, options = namespaces.compile(profile, rules, setmetatable({ identity = facts.identity },
    { __index = ctx }))
  if not plan then return nil, message end
  if plan.watch and plan.watch.asks then
    return refused("filesystem.decideOpen", "it takes a view of the host's tree from before the root is changed")
  end
  plan.backend = "bwrap"
  message = require("srt.bubblewrap").unreachable(plan)
  if message then return nil, message end
  local argv = arguments(plan, facts)
  if #argv > MOST then
    return refused(("a policy that comes to %d mounts"):format(#plan.mounts), "bubblewrap takes 9000 arguments at most")
  end
  plan.bwrap = { program = facts.program, masks = facts.masks, argv = argv, seccomp = base_rules(options) }
  return plan
end

return bwrap
