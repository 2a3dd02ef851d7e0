-- SPDX-License-Identifier: Apache-2.0
-- Paths as users write them, and what they really name.
local sys = require "srt.c.sys"

local paths = {}

--- For backend = "windows": paths may be spelled as there, and name what need not be there.
paths.drives = false

local SLASH, TILDE, DOLLAR = ("/~$"):byte(1, 3)

local byte, concat, find, gmatch, match, sub = string.byte, table.concat, string.find, string.gmatch, string.match,
  string.sub

--- Removes "", "." and ".." components, lexically.
---@param path string absolute
---@return string absolute, without a trailing slash
function paths.normalize(path)
  -- Plain searches are several times as fast as patterns.
  if byte(path, -1) ~= SLASH and not find(path, "//", 1, true) and (not find(path, "/.", 1, true)
    or not find(path, "/%.%.?/") and not find(path, "/%.%.?$")) then
    return path
  end
  local parts = {}
  for part in gmatch(path, "[^/]+") do
    if part == ".." then
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return "/" .. concat(parts, "/")
end

---@type fun(path: string): string the folder that holds path
paths.parent = sys.parent

---@return string
function paths.join(dir, name)
  return dir == "/" and "/" .. name or dir .. "/" .. name
end

---@param cwd string where a relative one begins
---@return string path, absolute; not normalized
function paths.absolute(path, cwd)
  return byte(path) == SLASH and path or paths.join(cwd, path)
end

--- Is path equal to top or beneath it?
function paths.below(path, top)
  if top == "/" or path == top then return true end
  return byte(path, #top + 1) == SLASH and sub(path, 1, #top) == top
end

local function home_of(given, ctx)
  local user = given:match("^~([^/]*)")
  if user == "" then
    if not ctx.home then return nil, "there is no home directory (HOME is not set)" end
    return ctx.home
  end
  local home = sys.homeof(user)
  if not home then return nil, "there is no user " .. user end
  return home
end

---Entries by their paths; the first of each.
---@param entries {path: string}[]
---@return table<string, table>
function paths.index(entries)
  local map = {}
  for _, entry in ipairs(entries) do map[entry.path] = map[entry.path] or entry end
  return map
end

---The entry for a path, or for the nearest of its parents.
---@param map table of paths.index
---@param path string absolute
---@return table|nil entry
function paths.covering(map, path)
  while not map[path] and path ~= "/" do path = paths.parent(path) end
  return map[path]
end

--- What a user wrote as an absolute path; links are not looked at.
---@param given string
---@param ctx {cwd: string, home: string?}
---@return string? path
---@return string? reason
function paths.expand(given, ctx)
  if given == "" then return nil, "a path can't be empty" end
  if find(given, "\0", 1, true) then return nil, "a path can't hold a NUL byte" end
  local first = byte(given)
  if paths.drives and first ~= SLASH and first ~= TILDE then
    local own, reason = require("srt.drives").ours(given)
    if reason then return nil, reason end
    given = own or given:gsub("\\", "/")
    first = byte(given)
  end
  if first == DOLLAR then
    return nil, "variables are not expanded in paths: in Lua write srt.env." .. (given:match("^%${?([%w_]+)") or "NAME")
  end
  if first == TILDE then
    local home, reason = home_of(given, ctx)
    if not home then return nil, reason end
    given = home .. "/" .. given:gsub("^~[^/]*", "")
  elseif first ~= SLASH then
    given = ctx.cwd .. "/" .. given
  end
  return paths.normalize(given)
end

---@class srt.resolved
---@field real string? the path without links, if it exists
---@field type string? "dir", "file", ...
---@field names integer? how many hard links it has
---@field missing string? the first component that does not exist, as a real path
---@field whole string? with missing: the path itself, as a real path once its folders are there
---@field closed string? with EACCES: the folder on the way that this user can't search, as a real path
---@field beneath string? the plain file that stands where a folder would have to be, as a real path
---@field unseen boolean? it lies on a drive that is not mounted here
---@field links {path: string, target: string}[] the links on the way, each by its real path
---@field code string? why it could not be looked at: "ENOENT", "ELOOP", "EACCES", ...

local MOST_LINKS = 40 -- as the kernel

-- Every link that is passed on the way to what path names.
local function links_of(path)
  local links, at = {}, "/"
  local rest = {}
  for part in gmatch(path, "[^/]+") do rest[#rest + 1] = part end
  local index = 1
  while rest[index] and #links < MOST_LINKS do
    local part = rest[index]
    index = index + 1
    local here = part == ".." and paths.parent(at) or part == "." and at or paths.join(at, part)
    local target = part ~= ".." and part ~= "." and sys.readlink(here)
    if target then
      links[#links + 1] = { path = here, target = target }
      local ahead = {}
      for piece in gmatch(target, "[^/]+") do ahead[#ahead + 1] = piece end
      rest, index = table.move(rest, index, #rest, #ahead + 1, ahead), 1
      here = sub(target, 1, 1) == "/" and "/" or at
    end
    at = here
  end
  return links, at
end

-- Where a dangling link leads, with the links on the way there.
local function resolve_dangling(link, code, depth)
  local target = sys.readlink(link)
  local absolute = target:sub(1, 1) == "/" and target or paths.join(paths.parent(link), target)
  local resolved = { code = code, links = {} }
  if depth < MOST_LINKS then resolved = paths.resolve(paths.normalize(absolute), depth + 1) end
  resolved.links[#resolved.links + 1] = { path = link, target = target }
  return resolved
end

local function resolve_missing(path, code, depth)
  local child = path
  local dir = paths.parent(path)
  while true do
    local real = sys.realpath(dir)
    if real then
      local st = sys.stat(real)
      local missing = paths.join(real, child:match("[^/]*$"))
      local links = real == dir and {} or links_of(dir)
      if not st or st.type ~= "dir" then return { code = code, beneath = real, links = links } end
      local rest = sub(path, #child + 1)
      if not sys.readlink(missing) then
        return { code = code, missing = missing, whole = missing .. rest, links = links }
      end
      local resolved = resolve_dangling(missing, code, depth)
      if resolved.whole then resolved.whole = resolved.whole .. rest end
      table.move(links, 1, #links, #resolved.links + 1, resolved.links)
      return resolved
    end
    if dir == "/" then return { code = code, links = {} } end
    child, dir = dir, paths.parent(dir)
  end
end

local function resolve_closed(path, code)
  local dir = paths.parent(path)
  local real = sys.realpath(dir)
  while not real and dir ~= "/" do
    dir = paths.parent(dir)
    real = sys.realpath(dir)
  end
  return { code = code, closed = real, links = real and real ~= dir and links_of(dir) or {} }
end

-- A drive that isn't mounted here: nothing can be looked at, so a path is what it says.
local function unseen(path)
  local drive = paths.drives and match(path, "^/mnt/%l%f[/%z]")
  return drive and not sys.realpath(drive)
end

local function resolve_slowly(path, depth)
  if unseen(path) then return { real = path, type = "dir", names = 1, links = {}, unseen = true } end
  local real, _, code = sys.realpath(path)
  if not real then
    if code == "ENOENT" or code == "ENOTDIR" then return resolve_missing(path, code, depth or 0) end
    if code == "EACCES" then return resolve_closed(path, code) end
    return { code = code, links = code == "ELOOP" and links_of(path) or {} }
  end
  -- Links and end come from one walk: a link that a command puts there and
  -- takes away again is among the links, or it did not lead anywhere. What
  -- changes later is refused at mounting, which follows no link.
  local links = {}
  if real ~= path then links, real = links_of(path) end
  local st, _, why = sys.lstat(real)
  if not st then return { code = why, links = links } end
  if st.type == "link" then return { code = "ELOOP", links = links } end
  return { real = real, type = st.type, names = st.nlink, links = links }
end

--- What an absolute path names now.
---@param path string from expand()
---@param depth integer? how many dangling links led here
---@return srt.resolved
function paths.resolve(path, depth)
  local kind, names = sys.plain(path)
  return kind and { real = path, type = kind, names = names, links = {} } or resolve_slowly(path, depth)
end

--- What the paths of entries name now: resolve() of each, but fast.
---@param entries {path: string}[]
---@return fun(index: integer): srt.resolved holds until the next call, which is to come soon
function paths.resolver(entries)
  local list = {}
  for i = 1, #entries do list[i] = entries[i].path end
  local kinds, names = sys.plainall(list)
  local plain = { links = {} }
  return function(i)
    if not kinds[i] then return resolve_slowly(list[i]) end
    plain.real, plain.type, plain.names = list[i], kinds[i], names[i]
    return plain
  end
end

---A symbolic link on the way to a path, or in its place, that a command could make lead elsewhere.
---@param path string absolute
---@param rules table of srt.decide_path
---@return string|nil link
function paths.movable(path, rules)
  for _, link in ipairs(paths.resolve(path).links) do
    if rules:at(paths.parent(link.path)).write then return link.path end
  end
end

return paths
