-- SPDX-License-Identifier: Apache-2.0
-- Paths as users write them, and what they really name.
local sys = require "srt.c.sys"

local paths = {}

local concat, find, gmatch, sub = table.concat, string.find, string.gmatch, string.sub

--- Removes "", "." and ".." components, lexically.
---@param path string absolute
---@return string absolute, without a trailing slash
function paths.normalize(path)
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

---@return string the folder that holds path
function paths.parent(path)
  local cut = path:match("^(.*)/[^/]*$")
  return cut ~= "" and cut or "/"
end

---@return string
function paths.join(dir, name)
  return dir == "/" and "/" .. name or dir .. "/" .. name
end

--- Is path equal to top or beneath it?
function paths.below(path, top)
  if top == "/" or path == top then return true end
  return sub(path, 1, #top + 1) == top .. "/"
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

--- What a user wrote as an absolute path; links are not looked at.
---@param given string
---@param ctx {cwd: string, home: string?}
---@return string? path
---@return string? reason
function paths.expand(given, ctx)
  if given == "" then return nil, "a path can't be empty" end
  if find(given, "\0", 1, true) then return nil, "a path can't hold a NUL byte" end
  if find(given, "$", 1, true) == 1 then
    return nil, "variables are not expanded in paths: in Lua write srt.env." .. (given:match("^%${?([%w_]+)") or "NAME")
  end
  if sub(given, 1, 1) == "~" then
    local home, reason = home_of(given, ctx)
    if not home then return nil, reason end
    given = home .. "/" .. given:gsub("^~[^/]*", "")
  elseif sub(given, 1, 1) ~= "/" then
    given = ctx.cwd .. "/" .. given
  end
  return paths.normalize(given)
end

---@class srt.resolved
---@field real string? the path without links, if it exists
---@field type string? "dir", "file", ...
---@field missing string? the first component that does not exist, as a real path
---@field link string? the first link on the way, as written
---@field lastLink boolean? the path itself is a link
---@field code string? why it could not be looked at: "ENOENT", "ELOOP", "EACCES", ...

-- The first link among the components of path.
local function first_link(path)
  local at = ""
  for part in gmatch(path, "[^/]+") do
    at = at .. "/" .. part
    local st = sys.lstat(at)
    if not st then return nil end
    if st.type == "link" then return at end
  end
end

local function resolve_missing(path, code)
  local child = path
  local dir = paths.parent(path)
  while true do
    local real = sys.realpath(dir)
    if real then
      local st = sys.stat(real)
      local missing = paths.join(real, child:match("[^/]*$"))
      if not st or st.type ~= "dir" or sys.lstat(missing) then
        -- Beneath a plain file, or a dangling link: nothing to hold.
        return { code = code }
      end
      return { code = code, missing = missing }
    end
    if dir == "/" then return { code = code } end
    child, dir = dir, paths.parent(dir)
  end
end

--- What an absolute path names now.
---@param path string from expand()
---@return srt.resolved
function paths.resolve(path)
  local real, _, code = sys.realpath(path)
  if not real then
    if code == "ENOENT" or code == "ENOTDIR" then return resolve_missing(path, code) end
    return { code = code }
  end
  local st, _, why = sys.stat(real)
  if not st then return { code = why } end
  local result = { real = real, type = st.type }
  if real ~= path then
    result.link = first_link(path)
    local last = sys.lstat(path)
    result.lastLink = last ~= nil and last.type == "link"
  end
  return result
end

return paths
