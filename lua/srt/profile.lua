-- SPDX-License-Identifier: Apache-2.0
-- Resolves a loaded policy to a profile: absolute paths, parsed rules, defaults filled; plain data but for callbacks.

local schema = require("srt.schema")

local profile = {}
local find, paths = string.find, nil -- srt.paths; a policy without paths has no use for it

-- The callbacks of the network, in the order in which they are asked.
profile.CALLBACKS = { "decideConnect", "decideOpen", "filterRequest", "filterResponse" }

-- srt has a name of its own for one.
local TARGETS = { refuse = "refuse", normalize = "normalize", allow = "allow", asSpelled = "allow" }

local PATH_LISTS = { "denyRead", "allowRead", "allowWrite", "denyWrite", "denyDelete" }
local function list_of(values, key)
  local v = values[key]
  return v and v.list or {}
end

local function scalar(values, key, default)
  local v = values[key]
  if v == nil then return default end
  return v.value
end

local function plain_list(values, key)
  local out = {}
  for i, entry in ipairs(list_of(values, key)) do out[i] = entry.value end
  return out
end

---Makes an item of a list the entry of a profile.
---@return table|nil entry {given=, path=, literal=, origin=}, or with pattern= in the place of path=
local function path_entry(self, entry, list)
  local given, literal = entry.value, false
  if type(given) == "table" then given, literal, entry.literal = given.path, true, true end
  entry.given = self.ctx.moved and self.ctx.moved(given) or given
  given = entry.given
  local pattern, reason
  if not literal and (find(given, "*", 1, true) or find(given, "?", 1, true) or find(given, "[", 1, true)) then
    local expand = require("srt.expand")
    pattern, reason = expand.pattern(given, self.ctx, list)
    entry.pattern, given = pattern, expand.strip(given, list)
    self.patterns = self.patterns or pattern ~= nil
  end
  if not pattern and not reason then
    paths = paths or require("srt.paths")
    entry.path, reason = paths.expand(given, self.ctx)
  end
  if reason then
    self:problem(entry.origin, ("%q: %s"):format(entry.given, reason))
    return nil
  end
  return entry
end

-- The lists as their user wrote them, for whoever compares.
local function written(lists)
  local out = {}
  for _, name in ipairs(PATH_LISTS) do
    out[name] = {}
    for i, entry in ipairs(lists[name]) do
      out[name][i] = { entry.pattern and entry.given or entry.path, entry.pattern == nil }
    end
  end
  return out
end

local function filesystem(self, values, budget, found)
  local out = { disabled = scalar(values, "filesystem.disabled", false) }
  for _, name in ipairs(PATH_LISTS) do
    local list = {}
    if out.disabled and name == "allowWrite" then
      list[1] = { given = "/", path = "/", literal = true, builtin = "filesystem.disabled",
        origin = { key = "filesystem.disabled" } }
    end
    for _, item in ipairs(out.disabled and {} or list_of(values, "filesystem." .. name)) do
      list[#list + 1] = path_entry(self, item, name)
    end
    out[name] = list
  end
  out.createGuard = scalar(values, "filesystem.createGuard", "scan")
  out.written = self.ctx.live and written(out) or nil
  -- An update changes nothing here, so nothing is looked for in the tree.
  out.globs = self.patterns and self.ctx.live ~= "update" and require("srt.expand").lists(self, out, budget) or {}
  out.hidden, out.masked = require("srt.credentials").paths(found)
  if values["network.tlsTerminate"] then require("srt.trust").protect(self.ctx, values, out) end
  require("srt.own_files").protect(self.ctx, out)
  return out
end

-- What is protected whatever the lists say; srt.protect finds it.
local function protection(values)
  local names = {}
  for i, entry in ipairs(list_of(values, "filesystem.protect")) do
    names[i] = { name = require("srt.protected").parse(entry.value), origin = entry.origin }
  end
  return { off = scalar(values, "filesystem.disabled", false), names = names,
    depth = math.tointeger(scalar(values, "mandatoryDenySearchDepth", 3)),
    allowGitConfig = scalar(values, "filesystem.allowGitConfig", false),
    newRepositories = scalar(values, "filesystem.newRepositories", "quarantine") }
end

local function rules(values, key, reasons)
  local out = {}
  for i, entry in ipairs(list_of(values, key)) do
    -- By its place it finds its origin as the entry does, when somebody asks.
    local rule = setmetatable(entry.rule, getmetatable(entry))
    rule.place, rule.reason = entry.place, reasons and reasons[entry.value] and reasons[entry.value].value or nil
    out[i] = rule
  end
  return out
end

local function ranges(values)
  local out = {}
  for i, entry in ipairs(list_of(values, "network.deniedResolvedAddresses")) do
    local range = assert(require("srt.address").range(entry.value))
    range.origin = entry.origin
    out[i] = range
  end
  return out
end

local function published(values)
  local out = {}
  for i, entry in ipairs(list_of(values, "network.publishPorts")) do
    out[i] = assert(require("srt.publish").parse(entry.value))
    out[i].origin = entry.origin
  end
  return out
end

local function network(self, values)
  local reasons = values["network.deniedDomainReasons"]
  local out = {
    allowed = rules(values, "network.allowedDomains"),
    denied = rules(values, "network.deniedDomains", reasons and reasons.map),
    deniedAddresses = ranges(values),
    strict = scalar(values, "network.strictAllowlist", false),
    refuseOpaqueTunnels = scalar(values, "network.refuseOpaqueTunnels", false),
    allowPlaintextHeaderSet = scalar(values, "network.allowPlaintextHeaderSet", false),
    ambiguousRequestTarget = TARGETS[scalar(values, "network.ambiguousRequestTarget", "refuse")],
    requireHostMatch = scalar(values, "network.requireHostMatch", false),
    stripResponseHeaders = plain_list(values, "network.stripResponseHeaders"),
    publish = published(values),
    tls = values["network.tlsTerminate"] and require("srt.termination").resolve(self, values,
      rules(values, "network.tlsTerminate.excludeDomains")) or nil,
  }
  local asks = values["network.decideConnect"] ~= nil or self.ctx.prompt
  -- What may be replaced while the command runs may come to allow something.
  out.enabled = self.ctx.live ~= nil or self.ctx.told or #out.allowed > 0 or (asks and not out.strict) or false
  require("srt.ways").resolve(self, values, out, rules)
  out.transparent = require("srt.transparent").resolve(out, scalar(values, "network.transparent"), asks)
  if self.ctx.live == true and out.transparent then out.transparent.eager = true end
  return out
end

---The key that a callback has in a policy.
---@param name string
---@return string
function profile.callbackKey(name)
  return (name == "decideOpen" and "filesystem." or "network.") .. name
end

---@return table {decideConnect, decideOpen, filterRequest, filterResponse = handles, origins = {[handle] = {file, line,
--- key}}}
local function callbacks(policy)
  local out, box = { origins = {} }, policy.box
  for _, name in ipairs(profile.CALLBACKS) do
    local key, list = profile.callbackKey(name), {}
    local v = policy.values[key]
    for i, entry in ipairs(v and v.chain or {}) do
      list[i] = entry.value
      local file, line
      if box and box.where then
        file, line = box:where(entry.value)
      end
      out.origins[entry.value] = file and { file = policy.shown(file), line = line, key = key } or entry.origin
    end
    out[name] = list
  end
  return out
end

---Directories for git's safe.directory: absolute paths, or "*".
local function safe_directories(self, values)
  local out = {}
  for _, entry in ipairs(list_of(values, "git.safeDirectories")) do
    local path, reason = entry.value, nil
    if path ~= "*" then path, reason = require("srt.paths").expand(path, self.ctx) end
    if path then out[#out + 1] = path else self:problem(entry.origin, ("%q: %s"):format(entry.value, reason)) end
  end
  return out
end

local function unix_sockets(self, values)
  local allowed, patterns = {}, self.patterns
  for _, item in ipairs(list_of(values, "network.allowUnixSockets")) do
    allowed[#allowed + 1] = path_entry(self, item, "allowUnixSockets")
  end
  -- These are not looked for in the tree.
  self.patterns = patterns
  return { all = scalar(values, "network.allowAllUnixSockets", false), allowed = allowed }
end

local function environment(values)
  local set = {}
  local v = values["env.set"]
  for name, entry in pairs(v and v.map or {}) do
    set[name] = entry.value
  end
  return { set = set, unset = plain_list(values, "env.unset"),
    pass = values["env.pass"] and plain_list(values, "env.pass") or nil }
end

local function limits(values)
  local out = {}
  for name, node in pairs(schema.root.fields.limits.fields) do
    out[name] = math.tointeger(scalar(values, "limits." .. name, node.default))
  end
  return out
end

local Resolver = {}
Resolver.__index = Resolver

function Resolver:problem(origin, message)
  self.problems[#self.problems + 1] = { origin = origin, key = origin.key, message = message }
end

function Resolver:unenforced(origin, _, message)
  self.later[#self.later + 1] = { origin = origin, key = origin.key, message = message }
end

function Resolver:warn(origin, message, lint)
  self.warnings[#self.warnings + 1] = { origin = origin, message = message, lint = lint }
end

function Resolver:note(origin, message, lint)
  self.notes[#self.notes + 1] = { origin = origin, message = message, lint = lint }
end

-- Most policies say nothing of it, and then nothing is loaded for it.
local function windows(values)
  for key in pairs(values) do
    if find(key, "windows.", 1, true) == 1 then return require("srt.windows_keys").resolve(values) end
  end
end

---Resolves a policy. Keys that can't be enforced yet are errors, unless ctx.lint asks to see them in
---profile.unenforced instead (for `check`, which never runs anything).
---@param policy table from policy.load
---@param ctx table {cwd, home, user, env, policyFiles, stateFolders, reportFiles = absolute paths, lint = bool,
--- prompt = bool, told = always a proxy, live = true where it may be replaced, "update" where it replaces, uid,
--- lintLater = warnings and notes come by srt.lint's finish()}
---@return table|nil profile
---@return table[]|nil problems {file, line, key, message}
function profile.resolve(policy, ctx)
  local values = policy.values
  local later = table.move(policy.unenforced, 1, #policy.unenforced, 1, {})
  local self = setmetatable({ ctx = ctx, problems = {}, later = later, warnings = {}, notes = {} }, Resolver)
  local budget = limits(values)
  local found = require("srt.credentials").resolve(self, values)
  local out = {
    version = 1, live = ctx.live and true or nil, cwd = ctx.cwd, home = ctx.home,
    filesystem = filesystem(self, values, budget, found), credentials = found,
    protection = protection(values),
    network = network(self, values),
    callbacks = callbacks(policy),
    env = environment(values),
    safeDirectories = safe_directories(self, values),
    limits = budget,
    unix = unix_sockets(self, values), macos = require("srt.seatbelt_keys").resolve(values),
    nested = scalar(values, "allowNestedUserNamespaces", false),
    observe = { mode = scalar(values, "observe", "writes"), given = values.observe ~= nil },
    strict = scalar(values, "strict", false),
    backend = scalar(values, "backend", "auto"), weaker = scalar(values, "enableWeakerNestedSandbox", false),
    bwrapPath = scalar(values, "bwrapPath"), windows = windows(values),
    presets = policy.presets, reports = require("srt.reporting").resolve(policy),
  }
  if out.network.transparent then
    local masked = out.filesystem.masked or {}
    out.filesystem.masked = table.move(require("srt.transparent").files(), 1, 2, #masked + 1, masked)
  end
  local plain = require("srt.policy").plain
  if not ctx.lint then
    table.move(self.later, 1, #self.later, #self.problems + 1, self.problems)
  end
  if #self.problems > 0 then return nil, plain(self.problems) end
  out.unenforced = plain(self.later)
  if ctx.lint then out.provenance = require("srt.provenance").of(policy, out) end
  out.unlinted = { policy, ctx, self.warnings, self.notes }
  if not ctx.lintLater then require("srt.lint").finish(out) end
  return out
end

return profile
