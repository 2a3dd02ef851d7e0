-- SPDX-License-Identifier: Apache-2.0
-- Profile → plan for Windows: what srt-win.exe (core/windows) installs, grants, denies and starts. Data only.
--
-- The command runs as an account of its own. What that account reaches in the network is fenced by filters that are
-- installed once; what it may read and write is told by entries for it in lists of access control.
local drives = require "srt.drives"

local windows = {}

local TCP = 6
local LAYERS = { "connectV4", "connectV6", "acceptV4", "acceptV6" }

-- No privilege but to pass folders on the way; of groups only what programs can't do without. What writes must be
-- allowed to one of `restricting` too, and of what the machine grants to all users nothing is.
local TOKEN = { keepGroups = { "users", "everyone", "logon" }, keepPrivileges = { "SeChangeNotifyPrivilege" },
  writeRestricted = true, restricting = { "account", "logon", "everyone" } }
local JOB = { killOnClose = true, breakaway = false, dieOnUnhandledException = true,
  ui = { "desktop", "displaySettings", "exitWindows", "globalAtoms", "handles", "readClipboard", "systemParameters",
    "writeClipboard" } }

-- The account's own, whatever the caller has: they name its profile, or who it is.
local ACCOUNT_NAMES = { "APPDATA", "HOME", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "LOGONSERVER", "TEMP", "TMP",
  "TMPDIR", "USERDOMAIN", "USERDOMAIN_ROAMINGPROFILE", "USERNAME", "USERPROFILE" }

local function filters_of(keys)
  local out = { { name = "proxy", layer = "connectV4", action = "permit", weight = 15, conditions = {
    { field = "user", value = "account" }, { field = "protocol", value = TCP },
    { field = "remoteAddress", value = "127.0.0.1" },
    { field = "remotePort", low = keys.low, high = keys.high } } } }
  for _, layer in ipairs(LAYERS) do
    out[#out + 1] = { name = "fence-" .. layer, layer = layer, action = "block", weight = 1,
      conditions = { { field = "user", value = "account" } } }
  end
  return out
end

-- What can't be held here: asks(profile, rules) for the origin of what asks for it, or true; and what to do.
local REFUSED = {
  { function(p) return p.filesystem.disabled end, "filesystem.disabled",
    "every file of the machine would have to be granted to the account; name folders in filesystem.allowWrite" },
  { function(p) return p.filesystem.createGuard == "supervisor" end, "filesystem.createGuard",
    "\"supervisor\" needs Linux; leave it at \"scan\"" },
  { function(p) return p.callbacks.decideOpen[1] ~= nil end, "filesystem.decideOpen",
    "it needs Linux: nobody asks here before a file is opened; use the lists" },
  { function(p)
    for _, one in ipairs(p.filesystem.masked or {}) do
      if one.credential then return one.origin or true end
    end
  end, "credentials.files", "a file can't be masked here; use mode = \"deny\"" },
  { function(p) return p.unix.allowed[1] and (p.unix.allowed[1].origin or true) end, "network.allowUnixSockets",
    "a socket's file is written to by whoever connects; name its folder in filesystem.allowWrite" },
  { function(p) return p.network.publish[1] and (p.network.publish[1].origin or true) end, "network.publishPorts",
    "the command has no network of its own here, and the fence takes no connections to it" },
  { function(p) return p.network.mitm and (p.network.mitm.origin or true) end, "network.mitmProxy",
    "a proxy on a Unix socket needs Linux" },
  { function(p) return p.network.tls and not p.network.tls.caCert and (p.network.tls.origin or true) end,
    "network.tlsTerminate", "the account trusts what srt-win trust-ca installed, not a CA that each run makes: give "
    .. "caCertPath and caKeyPath" },
}

local function complain(problems, origin, key, message)
  origin = type(origin) == "table" and origin or {}
  problems[#problems + 1] = { file = origin.file, line = origin.line, key = key,
    message = "backend = \"windows\": " .. message }
end

local function refuse(profile, problems)
  for _, row in ipairs(REFUSED) do
    local asks = row[1](profile)
    if asks then complain(problems, asks, row[2], row[3]) end
  end
end

-- Where the proxies listen; both in the range, which is all that the fence lets through.
local function listen_of(profile, keys, problems)
  local ports = profile.network.ports or {}
  if not profile.network.enabled then return {} end
  for _, name in ipairs { "http", "socks" } do
    local port = ports[name]
    if port and (port < keys.low or port > keys.high) then
      complain(problems, nil, ("network.%sProxyPort"):format(name), ("port %d is not in windows.proxyPortRange, %d to "
        .. "%d, which is all that the command reaches"):format(port, keys.low, keys.high))
    end
  end
  local http = ports.http or (ports.socks == keys.low and keys.high or keys.low)
  local listen = { { address = "127.0.0.1", port = http, purpose = "http" } }
  local socks = ports.socks or (http + 1 <= keys.high and http + 1) or (http - 1 >= keys.low and http - 1)
  if socks and socks ~= http then
    listen[2] = { address = "127.0.0.1", port = socks, purpose = "socks" }
  end
  return listen
end

-- The caller's variables are known only where the command is started, so what is done to them is told.
local function environment_of(profile, listen, ca)
  local environment, secrets = require "srt.environment", require "srt.secrets"
  local plain = setmetatable({ env = { set = profile.env.set, unset = profile.env.unset } }, { __index = profile })
  local set, unset, seen = {}, {}, {}
  for _, variable in ipairs(environment.of(plain, { env = {}, fenced = true }, listen)) do
    local name, value = variable:match("^([^=]*)=(.*)$")
    set[name] = value
  end
  -- The rest have the account's store, which trust-ca fills.
  if ca then set.NODE_EXTRA_CA_CERTS = set.NODE_EXTRA_CA_CERTS or ca end
  local function drop(name)
    if name and not seen[name] and set[name] == nil then
      seen[name], unset[#unset + 1] = true, name
    end
  end
  for _, row in ipairs(environment.VARIABLES) do
    for i = 2, #row do drop(row[i]) end
  end
  for _, name in ipairs(profile.env.unset or {}) do drop(name) end
  for _, name in ipairs(secrets.variables(profile.credentials)) do
    set[name] = nil
    drop(name)
  end
  table.sort(unset)
  return { set = require("srt.json").object(set), unset = unset, pass = profile.env.pass, account = ACCOUNT_NAMES }
end

local function names_of(list, ctx, problems)
  local out, folded = {}, {}
  for _, item in ipairs(list) do
    local name, why = drives.theirs(item.path, ctx.wsl)
    local allows = false
    for _, one in ipairs(item.aces) do allows = allows or (one.type == "allow" and one.sid == "account") end
    if name then
      local key = name:lower()
      if folded[key] and folded[key] ~= name then
        complain(problems, nil, nil, ("%s and %s are one path there, and have different rules"):format(folded[key],
          name))
      end
      folded[key] = name
      out[#out + 1] = { path = name, kind = item.kind, make = item.make, aces = item.aces }
    elseif allows or why:find("name") then
      complain(problems, nil, nil, ("%s can't be granted or denied: %s"):format(item.path, why))
    end
  end
  return out
end

local function at_roots(list, problems)
  for _, item in ipairs(list) do
    if item.path:find("^%a:\\$") then
      complain(problems, nil, nil, ("%s as a whole can't be granted or denied: every file on it would be changed; name "
        .. "folders on it"):format(item.path))
    end
  end
end

--- Compiles a profile to a plan.
---@param profile table from srt.profile
---@param rules table from srt.decide_path
---@param ctx {cwd: string, wsl: boolean?} wsl: only what is on a drive has a name on Windows
---@return table|nil plan
---@return table[]|nil problems as srt.report has them
function windows.compile(profile, rules, ctx)
  local keys = profile.windows or require("srt.windows_keys").DEFAULTS
  local problems = {}
  for _, found in ipairs(keys.problems or {}) do complain(problems, found.origin, found.origin.key, found.message) end
  refuse(profile, problems)
  local listen = listen_of(profile, keys, problems)
  local acl = names_of(require("backends.windows_acl").of(rules, ctx.cwd), ctx, problems)
  if not profile.filesystem.disabled then at_roots(acl, problems) end
  local cwd, why = drives.theirs(ctx.cwd, ctx.wsl)
  if not cwd then complain(problems, nil, nil, ("the working directory, %s: %s"):format(ctx.cwd, why)) end
  local tls, ca = profile.network.tls, nil
  if tls and tls.caCert then
    ca, why = drives.theirs(tls.caCert.path, ctx.wsl)
    if not ca then complain(problems, tls.caCert.origin, "network.tlsTerminate.caCertPath", why) end
  end
  if problems[1] then return nil, problems end
  return { version = 1, backend = "windows", cwd = cwd, account = { name = keys.account, group = keys.group },
    helper = { path = keys.helper or "srt-win.exe", arguments = { "--srt-win", "exec" } },
    network = { proxyPortRange = { keys.low, keys.high }, sublayerGuid = keys.sublayer,
      filters = filters_of(keys) },
    listen = listen, acl = acl, token = TOKEN, job = JOB,
    environment = environment_of(profile, listen, ca), checks = { account = true, fence = true, ca = ca } }
end

--- What to say where a run asks for this backend.
windows.ELSEWHERE = "backend = \"windows\" is enforced on Windows only, by srt-win.exe; here `srt-lua compile "
  .. "--backend windows POLICY` prints the plan that it takes"

return windows
