-- SPDX-License-Identifier: Apache-2.0
-- What a run under srt-lua learn may do, what is kept of what it did, and the policy made of it.
--
-- It may write where its user can, but not to protected names, and reach any host but the cloud's metadata. The host's
-- servers on loopback that listen when it begins are there inside. What is kept is bounded, whatever the command does.
local paths = require "srt.paths"
local spelled = require "srt.net_text"
local sys = require "srt.c.sys"

local learner = {}

local Learner = {}
Learner.__index = Learner

local MOST_PATHS, MOST_HOSTS, MOST_DENIED, MOST_PROGRAMS = 20000, 2000, 500, 20

local UNIX = "socket(AF_UNIX)"

-- Whatever the lists say of other hosts, the box is asked by this one.
local ANY = "learn-any-host"
local PRESET = "return { network = { decideConnect = function() return true end } }"

-- Servers of the host on loopback, as allowedDomains has them: the low ports first.
local function host_servers()
  local list, seen = {}, {}
  local function scan(file, name_of)
    for line in (sys.readfile(file, 4 << 20) or ""):gmatch("[^\n]+") do
      local address, port, state = line:match("^%s*%d+: (%x+):(%x+) %S+ (%x%x)")
      local host = state == "0A" and name_of(address)
      port = port and tonumber(port, 16)
      local text = host and spelled.target(host, port)
      if text and not seen[text] then
        seen[text] = true
        list[#list + 1] = { text = text, port = port }
      end
    end
  end
  scan("/proc/net/tcp", function(address)
    local number = string.unpack("=I4", string.pack("=I4", tonumber(address, 16)))
    local a, b, c, d = string.pack("=I4", number):byte(1, 4)
    if a == 127 then return ("%d.%d.%d.%d"):format(a, b, c, d) end
    return number == 0 and "127.0.0.1" or nil
  end)
  scan("/proc/net/tcp6", function(address)
    if address:find("^0+$") then return "127.0.0.1" end
    return address:find("^0+1000000$") and "::1" or nil
  end)
  table.sort(list, function(a, b) return a.port < b.port end)
  local texts = {}
  for i = 1, math.min(#list, require("srt.loopback").MOST) do texts[i] = list[i].text end
  return texts
end

---The policy of the run, as session.load takes one.
---@return table value
function Learner:value()
  local write = {}
  for i, path in ipairs(self.write) do write[i] = { path = path, literal = true } end
  return { extends = { ANY }, filesystem = { allowWrite = write },
    network = { allowedDomains = host_servers(), deniedDomains = require("srt.metadata").ENTRIES } }
end

---A ready-made policy of learning's own.
function Learner.preset(name)
  return name == ANY and PRESET or nil
end

---The session is there: from now on it is listened to.
---@param loaded srt.session
---@param facts table
---@param temp string the run's own folder for temporary files
function Learner:settle(loaded, facts, temp)
  loaded.profile.observe.learns = { reads = self.reads }
  loaded.learner, self.box, self.facts, self.temp = self, loaded.box, facts, temp
  self.presets = {}
  for _, name in ipairs { "no-secrets", "no-system-secrets" } do self.presets[name] = self:preset_of(name) end
  for _, row in ipairs(require("srt.learn_policy").PRESETS) do self.presets[row[1]] = self:preset_of(row[1]) end
  self.stores = require("srt.stores").new(self.presets["no-secrets"].deny,
    self.presets["no-system-secrets"].deny, sys.realpath)
  self.home = facts.home and (sys.realpath(facts.home) or facts.home)
end

-- The lists of a ready-made policy, with absolute paths.
function Learner:preset_of(name)
  local value = self.box:loadpreset(name)
  local files, net = value.filesystem or {}, value.network or {}
  local function absolute(list)
    local out = {}
    for _, path in ipairs(list or {}) do out[#out + 1] = paths.expand(path, self.facts) end
    return out
  end
  return { hosts = net.allowedDomains or {}, write = absolute(files.allowWrite), deny = absolute(files.denyRead) }
end

local function note_program(programs, exe)
  if not exe then return end
  local name = exe:match("[^/]*$")
  programs[0] = (programs[0] or 0) + (programs[name] and 0 or 1)
  if programs[0] <= MOST_PROGRAMS then programs[name] = true end
end

-- The item of a key, where there is still room; [0] counts them.
local function kept(map, key, most, new)
  local item = map[key]
  if item then return item end
  map[0] = (map[0] or 0) + 1
  if map[0] > most then return nil end
  item = new()
  map[key] = item
  return item
end

-- Would the caller's own permissions have allowed it? A folder that is gone again was the run's own.
local function possible(action, real)
  if action == "write" or action == "chmod" then
    local st = sys.lstat(real)
    return not st or sys.writable(real) or (action == "chmod" and st.uid == sys.ids())
  end
  local folder = paths.parent(real)
  return not sys.lstat(folder) or sys.writable(folder)
end

---A path that was read, as it was named. Of interest are credentials that are there.
---@param path string
---@param exe string|nil
function Learner:looked(path, exe)
  local real = sys.realpath(path)
  local store = real and self.stores:holding(real)
  local item = store and kept(self.read, store, MOST_HOSTS, function() return {} end)
  if item then note_program(item, exe) end
end

---A path that was written.
---@param action "write"|"create"|"delete"|"chmod"
---@param real string
---@param exe string|nil
function Learner:path(action, real, exe)
  if paths.below(real, self.temp) or require("srt.decide_path").own(real) then return end
  if not possible(action, real) then return end
  local item = kept(self.seen, real, MOST_PATHS, function() return { programs = {} } end)
  if not item then
    -- Its folder says enough, if that is known.
    self.lost = self.lost + (self.seen[paths.parent(real)] and 0 or 1)
    return
  end
  item[action] = true
  note_program(item.programs, exe)
end

---A question of the proxy, and what was decided.
function Learner:decided(question, decision)
  if decision.action ~= "allow" or question.kind == "response" then return end
  local target = spelled.target(decision.host, decision.port)
  local known = self.hosts[target]
  local item = kept(self.hosts, target, MOST_HOSTS, function()
    return { host = decision.host, port = decision.port, ways = {}, programs = {} }
  end)
  if not item then
    self.lost = self.lost + 1
    return
  end
  item.ways[question.protocol or "http"] = true
  if not known or (item.programs[0] or 0) < 3 then
    local process = question.process and require("srt.c.process").of(question.process)
    note_program(item.programs, process and process.exe)
  end
end

---An allowed name leads to an address. Some do only since a server listens there, which the policy has to name then.
function Learner:dialled(host, port, address)
  local item = self.hosts[spelled.target(host, port)]
  if not item or item.address then return end
  self.guard = self.guard or require("srt.guard").compile({})
  if self.guard:class(host, port, address) then item.address = address end
end

---What was denied all the same.
function Learner:denied(event)
  local key = ("%s %s"):format(event.kind, event.target)
  local known = kept(self.refused, key, MOST_DENIED, function() return event end)
  if not known then self.lost = self.lost + 1 end
end

---Has a reporter tell of denials here too. It is spared what libc tries whenever it looks a user up.
---@param reporter table of srt.reporting
function Learner:listen(reporter)
  local add = reporter.add
  function reporter.add(this, event)
    self:denied(event)
    return event.target ~= UNIX and add(this, event) or nil
  end
end

local function programs_of(set)
  local list = {}
  for name in pairs(set) do
    if name ~= 0 then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

local function sorted_keys(map)
  local list = {}
  for key in pairs(map) do
    if key ~= 0 then list[#list + 1] = key end
  end
  table.sort(list)
  return list
end

local function kind_of(path)
  local st = sys.lstat(path)
  return st and st.type or nil
end

-- The working directory, or the repository that it is in.
local function project_of(facts, home)
  local at = facts.cwd
  while at ~= "/" and not sys.lstat(paths.join(at, ".git")) do at = paths.parent(at) end
  return require("srt.learn_fold").project({ home = home }, { at ~= "/" and at or facts.cwd, facts.cwd })
end

-- The credentials: read; there, and not read; those in what is allowed, and not written.
local function credentials(self, found)
  found.read, found.unread, found.unwritten = {}, {}, {}
  for _, path in ipairs(sorted_keys(self.read)) do
    found.read[#found.read + 1] = { path = path, programs = programs_of(self.read[path]) }
  end
  for _, entry in ipairs(found.allow) do entry.store = self.stores:holding(entry.path) end
  local written = {}
  for path in pairs(self.seen) do
    local store = path ~= 0 and self.stores:holding(path)
    if store then written[store] = true end
  end
  for _, path in ipairs(self.stores.list) do
    if sys.lstat(path) and not written[path] and not self.stores.system[path] then
      if self.reads and not self.read[path] then found.unread[#found.unread + 1] = path end
      for _, entry in ipairs(found.allow) do
        if paths.below(path, entry.path) and (self.read[path] or not self.reads) then
          found.unwritten[#found.unwritten + 1] = path
          break
        end
      end
    end
  end
end

local function unix_sockets(self)
  local event = self.refused["socket " .. UNIX]
  if not event then return {} end
  return { { why = "a Unix socket was tried; which one can't be told. Each entry gives all that its server can do",
    programs = event.exe and { event.exe:match("[^/]*$") } or {} } }
end

local function plain_sets(map)
  map[0] = nil
  for _, item in pairs(map) do item.programs[0] = nil end
  return map
end

---The policy.
---@param command string the program's name; arguments may hold secrets
---@return string text
function Learner:policy(command)
  local facts = self.facts
  local folders = {}
  for folder in (facts.env.PATH or ""):gmatch("[^:]+") do
    if self.home and paths.below(folder, self.home) then folders[#folders + 1] = folder end
  end
  local found = { ctx = { cwd = facts.cwd, home = self.home, programs = folders }, command = command,
    date = os.date("%Y-%m-%d"), lost = self.lost, root = sys.ids() == 0, reads = self.reads }
  plain_sets(self.seen)
  found.allow, found.never = require("srt.learn_fold").fold(self.seen, { home = self.home,
    project = project_of(facts, self.home), kind = kind_of, stores = self.stores })
  credentials(self, found)
  found.sockets = unix_sockets(self)
  found.rules = require("srt.learn_net").rules(plain_sets(self.hosts))
  found.denied = {}
  for _, key in ipairs(sorted_keys(self.refused)) do
    local event = self.refused[key]
    if event.target ~= UNIX then found.denied[#found.denied + 1] = event end
  end
  return require("srt.learn_policy").text(found, self.presets)
end

---@param options {write: string[], reads: boolean} absolute paths
---@return table learner
function learner.new(options)
  return setmetatable({ write = options.write, reads = options.reads, seen = {}, read = {}, hosts = {}, refused = {},
    lost = 0 }, Learner)
end

return learner
