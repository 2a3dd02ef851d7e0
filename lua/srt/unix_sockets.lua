-- SPDX-License-Identifier: Apache-2.0
-- network.allowUnixSockets: the Unix sockets of the host that a command may connect to, by path.
--
-- An entry holds for what nobody inside could have put at its path: in a folder that the command may write, for a
-- socket that is there at start, which is then mounted over itself and so keeps its name; elsewhere also for one that
-- comes later. The agent that makes the connections sees by the mount which is which (core/socket_calls.h).
local paths = require "srt.paths"

local unix_sockets = {}

local function own(path)
  return require("srt.decide_path").own(path)
end

-- Denied only as a FIFO or socket whose folder or self is kept from writing (srt.decide_path): here the agent holds it.
local function uncover(rules, path)
  local deny = rules.denyRead[path]
  if deny and deny == rules.denyWrite[path] then rules.denyRead[path] = nil end
  -- It can be reached though its folder is hidden, as with allowRead; but not where it is hidden by its own name.
  return rules.denyRead[path] == nil
end

local function add_existing(rules, entry, real, kind)
  if kind == "dir" then
    return table.insert(rules.sockets.globs, { top = real, pattern = "/**", entry = entry })
  end
  if not uncover(rules, real) then
    return rules:note(entry, "is hidden by denyRead, so it can't be connected to")
  end
  if not rules:at(real).read then
    rules.allowRead[real] = rules.allowRead[real] or entry
    rules.types[real] = kind
  end
  if rules:at(real).write then
    rules.denyWrite[real] = rules.denyWrite[real] or entry
    rules.types[real] = kind
  end
  rules.sockets.paths[real] = rules.sockets.paths[real] or entry
end

local function add_missing(rules, entry, path)
  if rules:at(path).write then
    return rules:note(entry, "does not exist, and lies where the command may write: it could put any socket there, so "
      .. "this allows nothing; start the server first", true)
  end
  rules.sockets.paths[path] = rules.sockets.paths[path] or entry
  rules:note(entry, "does not exist yet", false, true)
end

local function add_pattern(rules, entry, planted)
  local resolved = paths.resolve(entry.pattern.root)
  local top, link = resolved.real or resolved.whole or entry.pattern.root, planted(entry, resolved)
  if link then
    return rules:note(entry, "is reached through the symbolic link " .. link .. ", which a command could have made, so "
      .. "it allows nothing; name " .. top .. " instead", true)
  end
  if rules:at(top).write then
    rules:note(entry, "is a pattern in a folder that the command may write, where it could put any socket: it only "
      .. "holds for what is read-only; name the sockets instead", true)
  end
  table.insert(rules.sockets.globs, { top = top, pattern = "/" .. entry.pattern.rest, entry = entry })
end

local function add(rules, entry, planted)
  if entry.pattern then return add_pattern(rules, entry, planted) end
  local resolved = paths.resolve(entry.path)
  local path, link = resolved.real or resolved.whole, planted(entry, resolved)
  if not path then
    rules:note(entry, ("can't be looked at (%s), so it allows nothing"):format(resolved.code), true)
  elseif link then
    rules:note(entry, "is reached through the symbolic link " .. link .. ", which a command could have made, so it "
      .. "allows nothing; name " .. path .. " instead", true)
  elseif own(path) or path == "/proc" or path == "/dev" then
    rules:note(entry, "is the sandbox's own, so it has no effect", true)
  elseif resolved.real then
    add_existing(rules, entry, path, resolved.type)
  else
    add_missing(rules, entry, path)
  end
end

--- Adds a profile's entries to the decisions on paths, whose lists are complete but for covers.
---@param rules table of srt.decide_path; its `sockets` is filled: {paths = entries by path, globs = {top=, pattern=,
--- entry=}…}, or stays nil where there are no entries
---@param entries table[] profile.unix.allowed
---@param planted fun(entry: table, resolved: srt.resolved): string? the link that a command could have made
function unix_sockets.add(rules, entries, planted)
  rules.sockets = { paths = {}, globs = {} }
  for _, entry in ipairs(entries) do add(rules, entry, planted) end
end

---@param sockets table of the decisions
---@return table sockets as the plan has it
function unix_sockets.table(sockets)
  local out = { paths = require("srt.tables").keys(sockets.paths), globs = {} }
  for i, glob in ipairs(sockets.globs) do out.globs[i] = { top = glob.top, pattern = glob.pattern } end
  return out
end

--- The entry that names a path, as the agent finds it.
---@param sockets table of the decisions
---@param path string real
---@return table|nil entry
function unix_sockets.rule(sockets, path)
  sockets.compiled = sockets.compiled or require("srt.c.guard").sockets(unix_sockets.table(sockets))
  local kind, which = sockets.compiled:find(path)
  if kind == "path" then return sockets.paths[which] end
  return kind and sockets.globs[which].entry or nil
end

-- What a server gives to whoever can connect to it; the first that matches.
local GIVES = {
  { "/docker%.sock$", "docker" }, { "/podman%.sock$", "docker" }, { "/containerd%.sock$", "docker" },
  { "/crio%.sock$", "docker" }, { "/buildkitd%.sock$", "docker" }, { "/libvirt%-sock$", "docker" },
  { "/agent%.%d+$", "ssh" }, { "/S%.gpg%-agent%.ssh$", "ssh" }, { "/ssh%-agent%.socke?t?$", "ssh" },
  { "/openssh_agent$", "ssh" }, { "/keyring/ssh$", "ssh" },
  { "/S%.gpg%-agent", "gpg" },
  { "/%.X11%-unix", "x11" }, { "/watchman/.*sock", "watchman" }, { "/%.?watchman[^/]*%.sock", "watchman" },
  { "/bus$", "dbus" }, { "/system_bus_socket$", "dbus" }, { "/systemd/private$", "dbus" },
}

local WARNINGS = {
  docker = "whoever reaches a container engine or a hypervisor can have it mount the host's files: it is as good as "
    .. "root on the host, and no rule of this policy holds against it",
  ssh = "the command can sign with every key of the SSH agent for as long as it runs, so log in wherever these keys do",
  gpg = "the command can sign and decrypt with the keys of the GPG agent",
  x11 = "an X11 client can read all keys typed and all windows shown, and type into them",
  watchman = "watchman runs commands outside of the sandbox for whoever asks it (triggers): it is a way out",
  dbus = "services on D-Bus start programs outside of the sandbox (systemd-run, portals): it is a way out",
}

local function kind_of(path, env)
  if path == env.SSH_AUTH_SOCK then return "ssh" end
  for _, row in ipairs(GIVES) do
    if path:find(row[1]) then return row[2] end
  end
end

---What a server gives to whoever reaches it, where it is known to be much.
---@param path string
---@param env table<string, string>
---@return string|nil
function unix_sockets.risk(path, env) return WARNINGS[kind_of(path, env)] end

--- What a user should know of the entries.
---@param linter table of srt.lint
---@param unix {all: boolean, allowed: table[]}
---@param env table<string, string>
function unix_sockets.lint(linter, unix, env)
  for _, entry in ipairs(unix.allowed) do
    local path = entry.path or paths.join(entry.pattern.root, entry.pattern.rest)
    local risk = unix_sockets.risk(path, env)
    if risk then linter:warn(entry.origin, ("%q: %s"):format(entry.given, risk)) end
  end
  if unix.all and unix.allowed[1] then
    linter:warn(unix.allowed[1].origin, "has no effect: allowAllUnixSockets allows every Unix socket")
  end
end

return unix_sockets
