-- SPDX-License-Identifier: Apache-2.0
-- The one place that decides what may be read and written where.
--
-- Reading is allowed unless the deepest entry on the way to a path denies it:
-- denyRead against allowRead, which wins at an equal path; an allowWrite
-- strictly beneath a denyRead opens reading again. Writing is refused unless an
-- allowWrite covers the path; a denyWrite at or above the path refuses it
-- whatever else is said, and what can't be read can't be written.
local mountinfo = require "srt.mountinfo"
local paths = require "srt.paths"
local places = require "srt.places"
local sys = require "srt.c.sys"

local decide = {}
local Rules = {}
Rules.__index = Rules

local byte, sub = string.byte, string.sub
local D, P = ("dp"):byte(1, 2)

-- Replaced by the sandbox's own: nothing of the host's shows there.
local OWN = { ["/proc"] = true, ["/dev"] = true }

--- Is path one of those that the sandbox has of its own?
function decide.own(path)
  local first = byte(path, 2)
  return (first == P and sub(path, 1, 6) == "/proc/") or (first == D and sub(path, 1, 5) == "/dev/")
    or OWN[path] or false
end

local function put(map, path, entry)
  if not map[path] then map[path] = entry end
end

-- A link that something inside could have planted gives nothing: one beneath the working directory or another root.
local function planted(entry, resolved, ctx, roots)
  local function below(path, cwd) return cwd ~= "/" and paths.below(path, cwd) end
  for _, link in ipairs(resolved.links) do
    if below(link.path, ctx.cwd) or ctx.base and below(link.path, ctx.base) then return link.path end
    for _, root in ipairs(roots) do
      local other = root.entry.path ~= entry.path and root.path ~= "/"
      if other and paths.below(link.path, root.path) then return link.path end
    end
  end
end

function Rules:note(entry, text, warn, absent)
  self.notes[#self.notes + 1] = { entry = entry, text = text, warn = warn, absent = absent }
end

local function add_allow(rules, list, entry, ctx, roots)
  local resolved = paths.resolve(entry.path)
  if not resolved.real then
    return rules:note(entry, "does not exist, so it allows nothing", false, true)
  end
  local link = planted(entry, resolved, ctx, roots)
  if link then
    return rules:note(entry, "is reached through the symbolic link " .. link
      .. ", which a command could have made, so it allows nothing; name " .. resolved.real .. " instead")
  end
  if decide.own(resolved.real) then
    return rules:note(entry, "is the sandbox's own, so it has no effect")
  end
  put(rules[list], resolved.real, entry)
  rules.types[resolved.real] = resolved.type
  for _, passed in ipairs(resolved.links) do rules.links[passed.path] = passed.target end
end

--- The mounts of the host's tree.
---@return table[] from srt.mountinfo
function Rules:mounts()
  self.mountList = self.mountList or mountinfo.list(self.mountText)
  return self.mountList
end

-- A link on the way to a protected path may not be replaced, nor a plain file
-- that stands where a folder of the path would have to be.
local function hold_way(rules, entry, resolved)
  if not resolved.links[1] and not resolved.beneath then return end
  for _, link in ipairs(resolved.links) do
    if not decide.own(link.path) and rules:at(paths.parent(link.path)).write then
      put(rules.denyWrite, link.path, entry)
      rules.types[link.path] = "link"
    end
  end
  local file = resolved.beneath
  if file and not decide.own(file) and rules:at(paths.parent(file)).write then
    rules.pinned[file] = true
    rules.types[file] = "file"
  end
end

-- Neither a read-only mount nor Landlock can keep writers from a FIFO or a
-- socket in a writable place; a cover can.
local function hold_special(rules, entry, path, kind)
  if (kind == "fifo" or kind == "sock") and rules:at(path).write then
    put(rules.denyRead, path, entry)
    rules:note(entry, "is a " .. (kind == "fifo" and "FIFO" or "socket") .. ", so it is closed to reading as well")
  end
end

local function add_deny(rules, list, entry, resolved)
  resolved = resolved or paths.resolve(entry.path)
  hold_way(rules, entry, resolved)
  local held = list == "denyWrite" and places.held(resolved.real or resolved.missing or "/",
    resolved.type == "dir" and not resolved.unseen)
  if held then
    rules.absent[#rules.absent + 1] = { entry = entry, missing = held }
  elseif resolved.real then
    if decide.own(resolved.real) then
      return rules:note(entry, "is the sandbox's own, so it has no effect")
    end
    if resolved.type == "file" and resolved.names > 1 and (list ~= "denyWrite" or rules:at(resolved.real).write) then
      rules:note(entry, ("has %d names (hard links): by another one it is not protected"):format(resolved.names), true)
    end
    if list == "denyWrite" then hold_special(rules, entry, resolved.real, resolved.type) end
    put(rules[list], resolved.real, entry)
    rules.types[resolved.real] = resolved.type
  elseif resolved.missing and list == "denyWrite" then
    rules.absent[#rules.absent + 1] = { entry = entry, missing = resolved.missing, whole = resolved.whole }
  elseif resolved.code == "ELOOP" then
    rules:note(entry, "is a loop of symbolic links, so it protects nothing but these")
  elseif resolved.closed and rules:at(resolved.closed).write then
    put(rules[list], resolved.closed, entry)
    rules.types[resolved.closed] = "dir"
    rules:note(entry, "lies in " .. resolved.closed .. ", which can't be searched, so that is denied as a whole", true)
  elseif resolved.code == "EACCES" then
    rules:note(entry, "can't be looked at by this user, and neither can the command")
  elseif resolved.code == "ENOENT" or resolved.code == "ENOTDIR" then
    rules:note(entry, "does not exist, so there is nothing to protect")
  else
    rules.problems[#rules.problems + 1] = { entry = entry, text = ("can't be protected: it can't be looked at (%s)")
      :format(resolved.code) }
  end
end

local function add_denies(rules, list, entries)
  local resolve = #entries > 0 and paths.resolver(entries)
  for i, entry in ipairs(entries) do add_deny(rules, list, entry, resolve(i)) end
end

-- A file whose content is ours: it reads as what the entry says, and stays as it is.
local function add_masked(rules, entry)
  local resolved = paths.resolve(entry.path)
  hold_way(rules, entry, resolved)
  if resolved.type ~= "file" or decide.own(resolved.real) then
    local why = resolved.real and "is no plain file" or "does not exist"
    if resolved.real and entry.credential then
      table.insert(rules.problems, { entry = entry, text = "can't be masked: it " .. why .. "; deny it instead" })
      return
    end
    return rules:note(entry, why .. ", so there is nothing to mask")
  end
  if resolved.names > 1 then
    rules:note(entry, ("has %d names (hard links): by another one it is not masked"):format(resolved.names), true)
  end
  local st = sys.stat(resolved.real)
  put(rules.masked, resolved.real, { entry = entry, mode = st.mode, uid = st.uid, gid = st.gid })
  put(rules.denyWrite, resolved.real, entry)
  rules.types[resolved.real] = "file"
end

-- What makes no difference to what holds, but to why.
local function add_reasons(rules)
  if not rules.reasons then return end
  rules.reasons()
  rules.reasons, rules.folds = nil, rules.folds and {}
end

--- Builds the decisions of a profile's filesystem lists, against the tree as it is.
---@param profile table
---@param ctx {cwd: string, base: string?, home: string?, tempDir: string?, mounts: (fun(): string?)?} base: cwd of the
--- session that it is run in; mounts: what srt.mountinfo would read, if somebody has
---@return table rules
function decide.compile(profile, ctx)
  local lists = profile.filesystem
  local size, roots = #lists.denyRead, {}
  local rules = setmetatable({ denyRead = sys.sized(size), allowRead = {}, allowWrite = {}, denyWrite = {}, masked = {},
    finalRead = {}, finalWrite = {}, types = sys.sized(size), links = {}, notes = {}, problems = {}, absent = {},
    placeholders = {}, pinned = {}, makeable = {}, tempDir = not lists.disabled and ctx.tempDir or nil }, Rules)
  if lists.createGuard == "supervisor" then rules.guard = require("srt.create_guard").new(lists, rules.tempDir) end
  for _, entry in ipairs(lists.allowWrite) do
    roots[#roots + 1] = { entry = entry, path = entry.path }
    local real = sys.realpath(entry.path)
    if real and real ~= entry.path then roots[#roots + 1] = { entry = entry, path = real } end
  end
  for _, entry in ipairs(lists.allowWrite) do add_allow(rules, "allowWrite", entry, ctx, roots) end
  for _, entry in ipairs(lists.allowRead) do add_allow(rules, "allowRead", entry, ctx, roots) end
  add_denies(rules, "denyRead", lists.denyRead)
  add_denies(rules, "denyWrite", lists.denyWrite)
  add_denies(rules, "finalRead", lists.hidden or {})
  for _, entry in ipairs(lists.masked or {}) do add_masked(rules, entry) end
  for _, entry in ipairs(lists.denyDelete or {}) do require("srt.keep").add(rules, entry, hold_way) end
  if not paths.drives then
    rules.mountText = ctx.mounts and ctx.mounts() or mountinfo.text()
    rules.reasons = mountinfo.add(rules, decide.own)
    -- Such a callback may allow what no list does.
    if profile.callbacks and profile.callbacks.decideOpen[1] then add_reasons(rules) end
  end
  if next(rules.allowWrite) and profile.protection and not profile.protection.off then
    require("srt.protect").add(rules, profile.protection, ctx, add_deny)
  end
  local sockets = profile.unix.allowed
  local function by_link(entry, resolved) return planted(entry, resolved, ctx, roots) end
  if sockets[1] then require("srt.unix_sockets").add(rules, sockets, by_link) end
  for _, absent in ipairs(rules.absent) do places.hold(rules, absent.entry, absent.missing, absent.whole) end
  if next(rules.allowWrite) then require("srt.special").cover(rules) end
  rules.folds = {}
  return rules
end

--- Decisions by the paths that a state file has kept.
---@param lists table<string, string[]>
---@return table rules only at() has a meaning
function decide.restore(lists)
  local rules = setmetatable({ finalRead = {}, finalWrite = {} }, Rules)
  for _, name in ipairs { "denyRead", "allowRead", "allowWrite", "denyWrite" } do
    rules[name] = {}
    for _, path in ipairs(lists[name] or {}) do rules[name][path] = { given = path, path = path } end
  end
  return rules
end

-- One step down: what the entries at path change in what holds above.
local function step(rules, path, read, read_rule, allow_write, deny_write, final_read, final_write)
  local deny, allow, write = rules.denyRead[path], rules.allowRead[path], rules.allowWrite[path]
  if deny then read, read_rule = false, deny end
  if allow then
    read, read_rule = true, allow
  elseif write and not deny and not read then
    read, read_rule = true, write
  end
  return read, read_rule, write or allow_write,
    deny_write or rules.denyWrite[path] or rules.guard and rules.guard.paths[path],
    final_read or rules.finalRead[path], final_write or rules.finalWrite[path]
end

-- What all entries from "/" down to a path come to. Of folders it is kept once the entries are complete: paths come by
-- the thousand in one folder.
local function fold(rules, path)
  if path == "/" then return step(rules, "/", true) end
  local folder, folds = paths.parent(path), rules.folds
  if not folds then return step(rules, path, fold(rules, folder)) end
  local above = folds[folder]
  if not above then
    above = { fold(rules, folder) }
    folds[folder] = above
  end
  return step(rules, path, above[1], above[2], above[3], above[4], above[5], above[6])
end

--- What holds at a real path; at() without a table and not with all reasons, for those that ask of thousands.
---@param path string absolute, without links
---@return boolean read, boolean write, table? readRule, table? writeRule
function Rules:holds(path)
  local read, rule, allow, deny, final_read, final_write
  local folds = self.folds
  local above = folds and path ~= "/" and path ~= self.tempDir and not OWN[path] and folds[paths.parent(path)]
  if above then -- it is no folder of ours: of these nothing is kept
    read, rule, allow, deny, final_read, final_write =
      step(self, path, above[1], above[2], above[3], above[4], above[5], above[6])
  elseif self.tempDir and paths.below(path, self.tempDir) then
    local own = { given = "TMPDIR", path = self.tempDir, builtin = "temporary directory" }
    return true, true, own, own
  elseif decide.own(path) then
    return true, true
  else
    read, rule, allow, deny, final_read, final_write = fold(self, path)
  end
  read, rule = read and not final_read, final_read or rule
  local write = read and allow and not deny and not final_write and true or false
  return read, write, rule, final_write or deny or (not read and rule) or allow
end

--- What holds at a real path.
---@param path string absolute, without links
---@return {read: boolean, write: boolean, readRule: table?, writeRule: table?}
function Rules:at(path)
  add_reasons(self)
  local read, write, read_rule, write_rule = self:holds(path)
  return { read = read, write = write, readRule = read_rule, writeRule = write_rule }
end

--- Every path at which something may change, sorted so that parents come first.
---@param more table<string, boolean>? further paths
---@return string[]
function Rules:points(more)
  local list, count = { self.tempDir }, self.tempDir and 1 or 0
  for _, map in ipairs { self.denyRead, self.allowRead, self.allowWrite, self.denyWrite, self.finalRead,
    self.finalWrite, self.pinned, more } do
    for path in next, map do
      count = count + 1
      list[count] = path
    end
  end
  return sys.treesort(list)
end

return decide
