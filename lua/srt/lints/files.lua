-- SPDX-License-Identifier: Apache-2.0
-- Lints of files and folders.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local covering, index = paths.covering, paths.index

-- Entries that open or close again what nothing closed or opened.
local function changes_nothing(self, profile)
  local fs = profile.filesystem
  for _, row in ipairs { { "denyWrite", "allowWrite" }, { "allowRead", "denyRead" }, { "denyDelete", "allowWrite" } } do
    local around = index(fs[row[2]])
    for _, entry in ipairs(fs[row[1]]) do
      if not entry.builtin and not entry.glob and not covering(around, entry.path) then
        self:find(entry.origin, ("%q changes nothing: no %s entry covers it"):format(entry.given, row[2]))
      end
    end
  end
end

local function listed_twice(self, profile)
  for _, name in ipairs { "denyRead", "allowRead", "allowWrite", "denyWrite" } do
    local seen = {}
    for _, entry in ipairs(profile.filesystem[name]) do
      if seen[entry.path] and not entry.builtin and not entry.glob and not entry.origin.preset then
        self:find(entry.origin, ("%q is listed twice"):format(entry.given))
      end
      seen[entry.path] = true
    end
  end
end

local SYSTEM = { "/", "/bin", "/boot", "/etc", "/home", "/lib", "/lib64", "/opt", "/root", "/sbin", "/srv", "/usr",
  "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/var" }

-- A whole home, or a part of the system.
local function broad_write(self, profile, _, ctx)
  local names = {}
  for _, path in ipairs(SYSTEM) do names[path] = "a part of the system" end
  local home = ctx.home and ctx.home ~= "/" and ctx.home
  for _, entry in ipairs(profile.filesystem.allowWrite) do
    local what = names[entry.path]
    if home and paths.below(home, entry.path) then
      what = "the whole home directory, with what programs take from it when they start"
    end
    if entry.path == "/" then what = "the whole file system" end
    if what and not entry.builtin and not entry.glob then
      self:find(entry.origin, ("%q lets the command write %s; name the folders that it needs"):format(entry.given,
        what))
    end
  end
end

local MOST_NAMED = 4

local function named(list)
  local more = #list - MOST_NAMED
  return table.concat(list, ", ", 1, math.min(#list, MOST_NAMED)) .. (more > 0 and (" and %d more"):format(more) or "")
end

-- A program that the command puts there runs outside of any sandbox later.
local function writable_path(self, profile, _, ctx)
  local fs, folders = profile.filesystem, {}
  local allowed, denied = paths.index(fs.allowWrite), paths.index(fs.denyWrite)
  for folder in (ctx.env and ctx.env.PATH or ""):gmatch("[^:]+") do
    folder = paths.normalize(paths.absolute(folder, ctx.cwd))
    local entry = paths.covering(allowed, folder)
    if entry and not entry.builtin and not paths.covering(denied, folder) then
      folders[entry] = folders[entry] or {}
      folders[entry][#folders[entry] + 1] = folder
    end
  end
  for entry, list in pairs(folders) do
    self:find(entry.origin, ("%q lets the command write what is on PATH (%s): programs that it puts there run "
      .. "outside of the sandbox later; list that in filesystem.denyWrite"):format(entry.given, named(list)))
  end
end

-- Credentials that lie where they usually do (policies/no-secrets.lua), and that nothing hides.
local function readable_credentials(self, profile, policy, ctx)
  local stores = profile.network.enabled and ctx.home and policy.box:loadpreset("no-secrets")
  if not stores then return end
  local fs, open = profile.filesystem, {}
  local hidden, shown = index(fs.denyRead), index(fs.allowRead)
  for _, list in ipairs { fs.hidden, fs.masked } do
    for path, entry in pairs(index(list)) do hidden[path] = hidden[path] or entry end
  end
  for _, given in ipairs(stores.filesystem.denyRead) do
    local path = paths.expand(given, ctx)
    local real = path and sys.realpath(path)
    local deny = real and (covering(hidden, real) or covering(hidden, path))
    local allow = deny and covering(shown, real)
    if real and (not deny or allow and #allow.path >= #deny.path) then open[#open + 1] = given end
  end
  if #open == 0 then return end
  self:remark(("filesystem.denyRead: the command can read %s, and reach the network; extend \"no-secrets\", or "
    .. "list in denyRead what it does not need"):format(named(open)))
end

local OTHERS = tonumber("44", 8)

-- A secret that other users of the machine can read is none.
local function readable_secret(self, profile)
  local function look(origin, path)
    local st = path and sys.stat(path)
    if st and st.type == "file" and (st.mode or 0) & OTHERS ~= 0 then
      self:find(origin, ("%s can be read by other users of this machine; chmod 600 it"):format(path))
    end
  end
  for _, one in ipairs(profile.credentials.secrets) do look(one.origin, one.path) end
  for _, one in ipairs(profile.credentials.files) do look(one.origin, one.path) end
  local tls = profile.network.tls
  if tls and tls.caKey then look(tls.origin, tls.caKey.path) end
end

return {
  { id = "changes-nothing", severity = "note", run = changes_nothing,
    doc = "A `denyWrite` or `denyDelete` entry that no `allowWrite` covers, or an `allowRead` entry that no "
      .. "`denyRead` covers. Without it the policy means the same." },
  { id = "listed-twice", severity = "note", run = listed_twice,
    doc = "A list of paths names the same path twice." },
  { id = "broad-write", severity = "warning", place = true, run = broad_write,
    doc = "`allowWrite` names the whole file system, a folder of the system or a home directory. Name the folders that "
      .. "the command needs." },
  { id = "writable-path", severity = "warning", place = true, run = writable_path,
    doc = "The command may write in a folder that is on your PATH. What it puts there you run outside of the sandbox "
      .. "later. Add the folder to `filesystem.denyWrite`." },
  { id = "readable-credentials", severity = "note", run = readable_credentials,
    doc = "Credentials lie in their usual places in your home directory, the command can read them, and it has a "
      .. "network. Extend `no-secrets`, or list in `filesystem.denyRead` what it does not need." },
  { id = "readable-secret", severity = "warning", run = readable_secret,
    doc = "A file of `secrets`, of `credentials.files` or the key of a CA can be read by other users of the machine. "
      .. "`chmod 600` it." },
}
