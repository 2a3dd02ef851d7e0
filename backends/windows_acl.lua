-- SPDX-License-Identifier: Apache-2.0
-- Which entries of access control lists hold the decisions on paths, for an account that has nothing of its own.
--
-- An entry that a path has itself goes before those that it inherits, of nearer folders before farther ones, and of
-- each a denying one before an allowing one. So at each path where the decision changes the list is told all of it:
-- what is allowed, and what is not.
local namespaces = require "backends.namespaces"
local paths = require "srt.paths"

local windows_acl = {}

-- Rights on files and folders (winnt.h). What writes is here without FILE_DELETE_CHILD, by which a folder's entries
-- could be deleted whatever they say themselves.
local READ = 0x1200a9
local WRITE = 0x2 | 0x4 | 0x10 | 0x100 | 0x10000
local DELETE, DELETE_CHILD, OWN = 0x10000, 0x40, 0x40000 | 0x80000
local ALL = 0x1f01ff
local READ_CONTROL = 0x20000
-- To what is in a folder, and in folders in it.
local INHERIT = 0x1 | 0x2

local NO_WRITE = WRITE | DELETE_CHILD | OWN

local function ace(type, sid, mask, flags)
  return { type = type, sid = sid, mask = mask, flags = flags }
end

-- An owner may change a list whatever it says, unless it has an entry for owners: what the account made in an earlier
-- run is its own.
local function held(list, flags)
  list[#list + 1] = ace("allow", "owner-rights", READ_CONTROL, flags)
  return list
end

local function entries(read, write, flags)
  if not read then return held({ ace("deny", "account", ALL, flags) }, flags) end
  if not write then
    return held({ ace("deny", "account", NO_WRITE, flags), ace("allow", "account", READ, flags) }, flags)
  end
  return held({ ace("deny", "account", DELETE_CHILD | OWN, flags), ace("allow", "account", READ | WRITE, flags) },
    flags)
end

-- A folder that stays where it is, as a mount point would: its name can't be taken from what is in it.
local function pinned(list)
  table.insert(list, 1, ace("deny", "account", DELETE | DELETE_CHILD, 0))
  return list
end

local function kind_of(rules, path)
  local kind = rules.types[path]
  return (kind == "dir" or rules.placeholders[path]) and "dir" or kind == "link" and "link" or "file"
end

--- Entries for each path that needs some, folders first.
---@param rules table from srt.decide_path
---@param extra string|nil a path that is granted as it is decided, whether or not a list names it
---@return table[] {path, kind = "dir" | "file" | "link", make = true|nil, aces}
function windows_acl.of(rules, extra)
  local pins, more = namespaces.pins(rules, rules:points()), {}
  for path in pairs(pins) do more[path] = true end
  if extra then
    more[extra] = true
    rules.types[extra] = "dir"
  end
  local points = rules:points(more)
  local out, stack = {}, {}
  for _, path in ipairs(points) do
    while stack[1] and not paths.below(path, stack[#stack].path) do stack[#stack] = nil end
    local above, kind = stack[#stack], kind_of(rules, path)
    local flags = kind == "dir" and INHERIT or 0
    local read, write = rules:holds(path)
    local list
    local stays = write and (pins[path] or rules.pinned[path] or not (above and above.write))
    local same = above and above.read == read and above.write == write
    -- Reading is what the account has anyway, or has not.
    local granted = rules.allowRead[path] or rules.allowWrite[path] or path == extra
    if not same and (above or granted or not read) then
      list = entries(read, write, flags)
      if stays then pinned(list) end
      stack[#stack + 1] = { path = path, read = read, write = write }
    end
    if not list and stays and above then list = pinned(held({}, 0)) end
    if list then
      out[#out + 1] = { path = path, kind = kind, make = rules.placeholders[path] and true or nil, aces = list }
    end
  end
  return out
end

return windows_acl
