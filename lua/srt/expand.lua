-- SPDX-License-Identifier: Apache-2.0
-- Glob patterns of the path lists: what they mean, and what they come to in the tree as it is at start.
--
-- One walk a root for all patterns (srt.c.walk). The entries that a pattern comes to are like literal ones, so a folder
-- that matches is held as a whole. What the walk can't see is denied whole by a deny list, and not allowed by an allow
-- list.
local paths = require("srt.paths")
local sys = require("srt.c.sys")

local expand = {}

local WILD = "[*?%[]"
-- Replaced by the sandbox's own.
local AVOID = { "/proc", "/dev" }
local DENY = { denyRead = true, denyWrite = true }
local ALLOW = { allowWrite = true, allowRead = true }
local SHOWN = 5

--- Without what only says that a folder is meant: a slash or "/**" at the end.
---@param given string
---@param list string? in denyDelete, "/**" says more: all that is in it
---@return string
---@return boolean cut was there any?
function expand.strip(given, list)
  if list == "denyDelete" then return given, false end
  local text = given
  while true do
    local cut = text:match("^(.*)/%*%*$") or text:match("^(.+)/$")
    if not cut then break end
    text = cut == "" and "/" or cut
  end
  if text == "**" then text = "." end
  return text, text ~= given
end

-- Where a path starts, which is never a pattern whatever its name, and the rest.
local function base_of(text, ctx)
  local start = text:sub(1, 1)
  if start == "/" then return "/", text end
  if start ~= "~" then return ctx.cwd, text end
  local home = text:match("^~[^/]*")
  return paths.expand(home, ctx), text:sub(#home + 1)
end

local function normalize(base, rest)
  local parts, wild = {}, 0
  for part in rest:gmatch("[^/]+") do
    if part == ".." then
      local last = table.remove(parts)
      if #parts < wild then return nil, nil, "\"..\" can't follow a pattern" end
      if not last then base = paths.parent(base) end
    elseif part ~= "." then
      parts[#parts + 1] = part
      if wild == 0 and part:find(WILD) then wild = #parts end
    end
  end
  return base, parts
end

---@class srt.pattern
---@field root string the folder that it starts from, without any pattern
---@field rest string the pattern beneath
---@field anywhere boolean also beneath every allowed root
---@field folders boolean only folders match

--- Reads a path as a pattern.
---@param given string
---@param ctx {cwd: string, home: string?}
---@param list string? that it is on
---@return srt.pattern? pattern nil where it is none
---@return string? reason why it can't be one
function expand.pattern(given, ctx, list)
  if not given:find(WILD) then return nil end
  local _, bad = paths.expand(given, ctx)
  if bad then return nil, bad end
  local text, folders = expand.strip(given, list)
  local base, rest = base_of(text, ctx)
  local parts, reason
  base, parts, reason = normalize(base, rest)
  if not base then return nil, reason end
  local pattern = table.concat(parts, "/")
  local fixed = require("srt.c.walk").fixed(pattern)
  if fixed == #pattern then return nil end
  local dir = pattern:sub(1, fixed):match("^(.*)/") or ""
  return { root = dir == "" and base or paths.join(base, dir), rest = pattern:sub(dir == "" and 1 or #dir + 2),
    anywhere = text:sub(1, 3) == "**/", folders = folders }
end

local Expansion = {}
Expansion.__index = Expansion

local function real_roots(roots)
  local keys, out = {}, {}
  for _, root in ipairs(roots) do
    local real = sys.realpath(root)
    -- A parent sorts right before what is beneath it.
    if real then keys[#keys + 1] = (paths.join(real, ""):gsub("/", "\0")) end
  end
  table.sort(keys)
  local last
  for _, key in ipairs(keys) do
    if not last or key:sub(1, #last) ~= last then
      last = key
      local root = key:sub(1, -2):gsub("%z", "/")
      out[#out + 1] = root == "" and "/" or root
    end
  end
  return out
end

-- The folders that a pattern is expanded in.
function Expansion:roots_of(entry)
  local pattern = entry.pattern
  if not pattern.anywhere then return { pattern.root } end
  local roots = { self.ctx.cwd }
  for _, name in ipairs { "allowWrite", "allowRead" } do
    -- What may be read gives nothing to write.
    if not (entry.list == "allowWrite" and name == "allowRead") then
      for _, item in ipairs(self.lists[name]) do
        if item.path and (not item.type or item.type == "dir") then roots[#roots + 1] = item.path end
      end
    end
  end
  return real_roots(roots)
end

function Expansion:add(walks, entry)
  for _, root in ipairs(self:roots_of(entry)) do
    local walk = walks[root]
    if not walk then
      walk = { root = root, patterns = {}, entries = {} }
      walks[root], walks[#walks + 1] = walk, walk
    end
    local rest = entry.pattern.rest
    if not walk.entries[rest] then
      walk.entries[rest] = {}
      walk.patterns[#walk.patterns + 1] = rest
    end
    table.insert(walk.entries[rest], entry)
  end
end

local function is_wanted(entry, found)
  if not entry.pattern.folders or found.type == "dir" then return true end
  if found.type ~= "link" and found.type ~= "other" then return false end
  -- A link may come to lead to a folder.
  if DENY[entry.list] then return true end
  local st = sys.stat(found.path)
  return st ~= nil and st.type == "dir"
end

function Expansion:fail(walk, code, message)
  local entry = walk.entries[walk.patterns[1]][1]
  local text = code ~= "E2BIG" and message or ("there are more than %d names, or too much to keep; begin the pattern "
    .. "with a folder, or raise limits.walkEntries"):format(self.limits.walkEntries)
  self.resolver:problem(entry.origin, ("%q can't be expanded in %s: %s"):format(entry.given, walk.root, text))
end

function Expansion:run(walk)
  local real = sys.realpath(walk.root)
  for _, own in ipairs(AVOID) do
    if real and paths.below(real, own) then return end
  end
  local found, unseen, left = require("srt.c.walk").globs(walk.root, walk.patterns, AVOID, self.left)
  if not found then
    -- There is nothing that could match.
    if left ~= "ENOENT" and left ~= "ENOTDIR" and left ~= "ELOOP" then self:fail(walk, left, unseen) end
    return
  end
  self.left = left
  for _, item in ipairs(found) do
    for _, entry in ipairs(walk.entries[item.pattern]) do
      if is_wanted(entry, item) then table.insert(entry.found, item) end
    end
  end
  for _, item in ipairs(unseen) do
    for _, entry in ipairs(walk.entries[item.pattern]) do table.insert(entry.unseen, item) end
  end
end

-- The peer's reading: a path of that very name counts as well.
function Expansion:add_name(entry)
  local path = paths.expand(entry.given, self.ctx)
  local st, _, code = sys.lstat(path)
  if not st and not (DENY[entry.list] and code == "EACCES") then return end
  for _, item in ipairs(entry.found) do
    if item.path == path then return end
  end
  table.insert(entry.found, { path = path, type = st and st.type })
  if st then
    self.resolver:warn(entry.origin, ("%q is a pattern, and also the name of a path that exists: both count"):format(
      entry.given), "pattern")
  end
end

-- "a, b and 3 more"
local function some(items)
  local shown = {}
  for i = 1, math.min(#items, SHOWN) do shown[i] = items[i].path end
  local more = #items - #shown
  return table.concat(shown, ", ") .. (more > 0 and (" and %d more"):format(more) or "")
end

function Expansion:tell(entry)
  local resolver, deny = self.resolver, DENY[entry.list]
  if #entry.unseen > 0 then
    local what = deny and "denied as a whole" or entry.list == "denyDelete" and "not kept" or "not allowed by it"
    resolver[deny and "warn" or "note"](resolver, entry.origin, ("%q: what can't be read is %s: %s"):format(entry.given,
      what, some(entry.unseen)), "pattern")
  end
  if deny then
    resolver:note(entry.origin, ("%q holds for what is there at start, and %s"):format(entry.given, self.guarded
      and "nothing inside can make a name that it matches"
      or "for what is made later in a folder that matches; a new file elsewhere is not held"), "pattern")
  end
  if entry.given:find("%[[!^]") then
    resolver:warn(entry.origin, ("%q: \"!\" and \"^\" in a set are characters like any other"):format(entry.given),
      "pattern")
  end
end

-- Puts what a pattern comes to in its place on the list.
local function replace(list, entry)
  local function put(item)
    list[#list + 1] = { given = entry.given, path = item.path, type = item.type, origin = entry.origin, glob = true,
      unseen = item.code }
  end
  for _, item in ipairs(entry.found) do put(item) end
  if DENY[entry.list] then
    for _, item in ipairs(entry.unseen) do put(item) end
  end
end

function Expansion:finish(entry)
  self:add_name(entry)
  self.matches = self.matches + #entry.found + #entry.unseen
  if self.matches > self.limits.globMatches then
    self.resolver:problem(entry.origin, ("%q matches too much: with it, patterns come to %d paths, and "
      .. "limits.globMatches is %d; name folders instead"):format(entry.given, self.matches, self.limits.globMatches))
    entry.found, entry.unseen = {}, {}
    self.matches = 0
  end
  self:tell(entry)
  local summary = { list = entry.list, given = entry.given, origin = entry.origin, count = #entry.found, paths = {},
    unseen = {}, tops = self:roots_of(entry), rest = entry.pattern.rest }
  for _, field in ipairs { "paths", "unseen" } do
    local items = entry[field == "paths" and "found" or field]
    for i = 1, math.min(#items, SHOWN) do summary[field][i] = items[i].path end
  end
  summary.unseenCount = #entry.unseen
  summary.idle = ALLOW[entry.list] and #entry.found + #entry.unseen == 0
  self.globs[#self.globs + 1] = summary
end

function Expansion:expand(names)
  local walks, patterns = {}, {}
  for _, name in ipairs(names) do
    for _, entry in ipairs(self.lists[name]) do
      if entry.pattern then
        entry.list, entry.found, entry.unseen = name, {}, {}
        patterns[#patterns + 1] = entry
        self:add(walks, entry)
      end
    end
  end
  if #patterns == 0 then return end
  for _, walk in ipairs(walks) do self:run(walk) end
  for _, entry in ipairs(patterns) do self:finish(entry) end
  for _, name in ipairs(names) do
    local list = {}
    for _, entry in ipairs(self.lists[name]) do
      if entry.pattern then replace(list, entry) else list[#list + 1] = entry end
    end
    self.lists[name] = list
  end
end

--- Replaces the patterns in the lists by what they come to.
---@param resolver table srt.profile's: ctx, problem(), warn(), note()
---@param lists table<string, table[]> entries; those with a pattern have no path
---@param limits {walkEntries: integer, globMatches: integer}
---@return table[] globs {list, given, origin, count, paths = the first few, unseenCount, unseen = the first few,
--- tops = the folders that it was looked for in, rest = the pattern below them, idle = it would allow something}
function expand.lists(resolver, lists, limits)
  local self = setmetatable({ resolver = resolver, ctx = resolver.ctx, lists = lists, limits = limits,
    left = limits.walkEntries, matches = 0, globs = {}, guarded = lists.createGuard == "supervisor" }, Expansion)
  -- What is allowed is where a deny pattern for any depth looks.
  self:expand { "allowWrite", "allowRead" }
  self:expand { "denyRead", "denyWrite", "denyDelete" }
  return self.globs
end

return expand
