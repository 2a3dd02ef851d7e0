-- SPDX-License-Identifier: Apache-2.0
-- What a command inside is answered when it does something to a path as it names it.
--
-- The decision is that of srt.decide_path, and what is mounted where is the
-- plan's: here both only meet. An answer tells the errno that the policy leads
-- to; where none is told, plain permissions and the state of the tree decide.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local judge = {}
local Judge = {}
Judge.__index = Judge

local READABLE = { builtin = "everything is readable unless an entry denies it" }
local UNWRITABLE = { builtin = "nothing is writable unless an entry allows it" }
local OWN = { builtin = "the sandbox's own /proc and /dev" }
local NODEV = { builtin = "device nodes work only in /dev" }
local PIN = { builtin = "a protected path lies beneath" }

local DEVICES = { char = true, block = true }

---@class srt.answer
---@field decision "allow"|"deny" what the policy says
---@field errno string? what the kernel answers, as far as policy and mounts decide it
---@field rule table the entry that decided, or {builtin = text}
---@field why string?
---@field real string the path without links
---@field type string? of what is there
---@field links {path: string, target: string}[]
---@field unheld boolean? denied, but neither mounts nor Landlock can hold it

local function answer(found, decision, rule, errno, why)
  return { decision = decision, rule = rule, errno = errno, why = why, real = found.real, type = found.type,
    links = found.links }
end

local function allow(found, rule, errno, why)
  return answer(found, "allow", rule or READABLE, errno, why)
end

local function deny(found, rule, errno, why)
  return answer(found, "deny", rule or UNWRITABLE, errno, why)
end

local function write_rule(state)
  return state.writeRule or UNWRITABLE
end

local function read(self, found)
  local state = self.rules:at(found.real)
  if not state.read then return deny(found, state.readRule, "EACCES") end
  if DEVICES[found.type] then return deny(found, NODEV, "EACCES") end
  return allow(found, state.readRule)
end

local function list(self, found)
  local got = read(self, found)
  if found.type ~= "dir" then got.errno = "ENOTDIR" end
  return got
end

local function look(_, found)
  return allow(found, READABLE, nil, "names, sizes and modes are visible wherever the way there is open")
end

local function identity(path)
  local st = sys.lstat(path)
  return st and st.dev .. ":" .. st.ino
end

-- Landlock knows a place by the tops above it, and those by what they are: a
-- second name or another mount of one opens as well.
local function landlocked(self, path)
  if not self.plan.landlock then return false end
  local tops = {}
  for _, top in ipairs(self.plan.writable) do tops[identity(top) or ""] = true end
  while not tops[identity(path)] do
    if path == "/" then return true end
    path = paths.parent(path)
  end
  return false
end

-- Opening, not changing, lets bytes into a FIFO or a socket: mounts don't count.
local function special(self, found, state)
  if landlocked(self, found.real) then return deny(found, write_rule(state), "EACCES") end
  local got = deny(found, write_rule(state), nil, "neither a read-only mount nor Landlock keeps writers from a "
    .. (found.type == "fifo" and "FIFO" or "socket") .. " beneath what is writable; deny it by its own name")
  got.unheld = true
  return got
end

local function open(self, found)
  local state = self.rules:at(found.real)
  if not state.read then return deny(found, state.readRule, "EACCES") end
  if DEVICES[found.type] then return deny(found, NODEV, "EACCES") end
  if state.write then return allow(found, write_rule(state)) end
  if found.type == "fifo" or found.type == "sock" then return special(self, found, state) end
  return deny(found, write_rule(state), "EROFS")
end

-- Mode, owner, times, attributes: the mount is asked first.
local function change(self, found)
  local state = self.rules:at(found.real)
  if not state.write then return deny(found, write_rule(state), "EROFS") end
  return allow(found, write_rule(state))
end

-- Here the file is; before Linux 6.13 the mount was, and a cover answered EROFS.
local function truncate(self, found)
  local got = change(self, found)
  if not self.rules:at(found.real).read then got.errno = "EACCES" end
  return got
end

local function temporary(self, found)
  local got = change(self, found)
  if found.type ~= "dir" then got.errno = "ENOTDIR" end
  return got
end

-- The folder that holds a name decides about the name.
local function holder(self, found)
  local dir = found.dots or paths.parent(found.real)
  return self.rules:at(dir), dir
end

-- slashed: what a slash behind a name that can't be a folder's is answered with.
local function make(self, found, slashed)
  local state, errno, why = self.rules:at(found.real), "EEXIST", "it exists"
  if self.view.made[found.real] then why = "an empty folder holds the place while a command runs" end
  local never = not found.type and self.rules.guard and require("srt.create_guard").rule(self.rules.guard, found.real)
  if never then return deny(found, never, "EROFS", "nothing inside can make that name (createGuard)") end
  if not found.type then
    state, why = holder(self, found), nil
    errno = found.slash and slashed or not state.write and "EROFS" or nil
  end
  return answer(found, state.write and "allow" or "deny", write_rule(state), errno, why)
end

local function create(self, found)
  local got = make(self, found)
  if found.slash then got.errno = "EISDIR" end
  return got
end

local function make_other(self, found) return make(self, found, "ENOENT") end

-- The rule that keeps a mount point of ours where it is.
local function keeper(self, path)
  local state = self.rules:at(path)
  if not state.write then return write_rule(state) end
  if path == self.rules.tempDir then return state.writeRule end
  if type(self.rules.pinned[path]) == "table" then return self.rules.pinned[path] end
  for _, point in ipairs(self.rules:points()) do
    if point ~= path and paths.below(point, path) then
      local below = self.rules:at(point)
      if not below.write then return write_rule(below) end
    end
  end
  return PIN
end

-- Is a name in a writable folder a mount point, which can't be taken away?
local function held(self, found)
  local point, ours = self.view:mount(found.real)
  if point ~= found.real then return end
  if not ours then return allow(found, nil, "EBUSY", "the host has a mount there") end
  return deny(found, keeper(self, found.real), "EBUSY")
end

local function remove(self, found, kind)
  local state = holder(self, found)
  if not state.write then return deny(found, write_rule(state), "EROFS") end
  if found.missing then return allow(found, write_rule(state), "ENOENT") end
  local got = held(self, found) or allow(found, write_rule(state))
  if kind == "file" and found.type == "dir" then got.errno = "EISDIR" end
  if kind == "dir" and found.type ~= "dir" then got.errno = "ENOTDIR" end
  return got
end

local function unlink(self, found) return remove(self, found, "file") end
local function rmdir(self, found) return remove(self, found, "dir") end

local TWO_MOUNTS = "two mounts; a program that copies and removes, as mv does, is not refused by that"

-- Both folders must be writable and on one mount. What is refused, and by which.
local function movable(self, from, to)
  local state, dir = holder(self, from)
  local into, other = holder(self, to)
  local closed = not state.write and state or not into.write and into
  if self.view:mount(dir) ~= self.view:mount(other) then
    if closed then return deny(from, write_rule(closed), "EXDEV") end
    return allow(from, write_rule(into), "EXDEV", TWO_MOUNTS)
  end
  return closed and deny(from, write_rule(closed), "EROFS")
end

local function same(from, to)
  return to.type ~= nil and (from.real == to.real or (from.ino ~= nil and from.ino == to.ino and from.dev == to.dev))
end

local function rename(self, from, to)
  local got = movable(self, from, to)
  if got then return got end
  local never = self.rules.guard and require("srt.create_guard").rule(self.rules.guard, to.real)
  if never and not to.type then return deny(from, never, "EROFS", "nothing inside can make that name (createGuard)") end
  local rule = write_rule((holder(self, from)))
  if from.missing then return allow(from, rule, "ENOENT") end
  if same(from, to) then return allow(from, rule, nil, "both are names of one file: nothing happens") end
  return held(self, from) or (to.type and held(self, to)) or allow(from, rule)
end

local function exchange(self, from, to)
  local got = rename(self, from, to)
  if not got.errno and to.missing then got.errno = "ENOENT" end
  return got
end

local function link(self, from, to)
  if from.missing then return allow(from, READABLE, "ENOENT") end
  local made = make_other(self, to)
  if made.errno then return made end
  if self.view:mount(from.real) ~= self.view:mount(paths.parent(to.real)) then
    local state = self.rules:at(from.real)
    if not state.write then return deny(from, write_rule(state), "EXDEV") end
    return allow(from, write_rule(state), "EXDEV", TWO_MOUNTS)
  end
  return made
end

-- follow: is a link at the end followed? dots: the action is about a name, which may be missing, and this is what the
-- kernel says where the path ends in "." or "..", which are none.
local ACTIONS = {
  read = { follow = true, ask = read },
  list = { follow = true, ask = list },
  stat = { ask = look },
  write = { follow = true, ask = open },
  append = { follow = true, ask = open },
  mmap = { follow = true, ask = open },
  truncate = { follow = true, ask = truncate },
  chmod = { follow = true, ask = change },
  chown = { ask = change },
  utime = { follow = true, ask = change },
  setxattr = { follow = true, ask = change },
  tmpfile = { follow = true, ask = temporary },
  create = { dots = "EEXIST", ask = create },
  mkdir = { dots = "EEXIST", ask = make },
  mknod = { dots = "EEXIST", ask = make_other },
  symlink = { dots = "EEXIST", ask = make_other },
  delete = { dots = "EISDIR", ask = remove },
  unlink = { dots = "EISDIR", ask = unlink },
  rmdir = { dots = "ENOTEMPTY", ask = rmdir },
  rename = { dots = "EBUSY", ask = rename, two = true },
  exchange = { dots = "EBUSY", ask = exchange, two = true },
  link = { dots = "EEXIST", ask = link, two = true },
}

--- How many paths an action takes.
---@return integer? count nil for what is no action
function judge.takes(action)
  local known = ACTIONS[action]
  return known and (known.two and 2 or 1)
end

--- The names of all actions, sorted.
---@return string[]
function judge.actions()
  local names = {}
  for name in pairs(ACTIONS) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- A way that does not lead to an end: closed by a cover, by modes, or by nothing being there.
local function lost(self, found, known)
  if found.cover then return deny(found, self.rules:at(found.real).readRule, found.code) end
  local got = known.two and allow(found) or known.ask(self, found)
  got.errno = found.code
  return got
end

local function no_name(self, known, found, to)
  local state = self.rules:at(found.real)
  local _, dir = holder(self, found)
  local _, other = holder(self, to or found)
  local errno = known.ask ~= link and self.view:mount(dir) ~= self.view:mount(other) and "EXDEV" or known.dots
  return answer(found, state.write and "allow" or "deny", write_rule(state), errno, "\".\" and \"..\" are no names")
end

-- Only what would change something meets the host's own read-only mounts.
local function meet_host(self, known, got)
  local only_looks = known.ask == look or known.ask == read or known.ask == list
  if got.decision == "allow" and not got.errno and not only_looks and self.view:closedByHost(got.real) then
    got.errno, got.why = "EROFS", "the host's own mount is read-only"
  end
  return got
end

--- Judges an action on a path, or on two.
---@param action string
---@param path string absolute, as it was named; "." and ".." are followed as the kernel does
---@param other string? where the action takes two
---@return srt.answer
function Judge:ask(action, path, other)
  local known = ACTIONS[action]
  local name = known.dots ~= nil and known.ask ~= link
  local found, to = self.view:walk(path, known.follow or false, name), nil
  if found.own then return allow(found, OWN, nil, "nothing of the host's shows there") end
  if found.code and not (found.missing and known.dots) then return lost(self, found, known) end
  if known.two and not (known.ask == link and found.missing) then
    to = self.view:walk(other, false, true)
    if to.own then return deny(to, OWN, "EXDEV") end
    if to.code and not to.missing then return lost(self, to, known) end
  end
  if name and found.dots or to and to.dots then return no_name(self, known, found, to) end
  return meet_host(self, known, known.ask(self, found, to))
end

--- A judge of what rules and a plan come to.
---@param rules table from srt.decide_path
---@param plan table from backends.namespaces, for the same rules
---@return table judge with :ask
function judge.new(rules, plan)
  return setmetatable({ rules = rules, plan = plan, view = require("srt.view").new(plan) }, Judge)
end

return judge
