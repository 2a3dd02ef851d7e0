-- SPDX-License-Identifier: Apache-2.0
-- What a command inside is answered when it does something to a path as it names it.
--
-- The decision is that of srt.decide_path, and what is mounted where is the
-- plan's: here both only meet. An answer tells the errno that the policy leads
-- to; where none is told, plain permissions and the state of the tree decide.
local answers = require "srt.answers"
local names = require "srt.judge_names"
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local judge = {}
local Judge = {}
Judge.__index = Judge

local OWN = { builtin = "the sandbox's own /proc and /dev" }
local NODEV = { builtin = "device nodes work only in /dev" }

local DEVICES = { char = true, block = true }

local answer, allow, deny, write_rule = answers.new, answers.allow, answers.deny, answers.rule

local function read(self, found)
  local state = self.rules:at(found.real)
  if not state.read then return deny(found, state.readRule, "EACCES") end
  if DEVICES[found.type] then return deny(found, NODEV, "EACCES") end
  local masked = self.rules.masked[found.real]
  if masked then return allow(found, masked.entry, nil, "masked: a command reads another content") end
  return allow(found, state.readRule)
end

local function list(self, found)
  local got = read(self, found)
  if found.type ~= "dir" then got.errno = "ENOTDIR" end
  return got
end

local function look(_, found)
  return allow(found, answers.READABLE, nil, "names, sizes and modes are visible wherever the way there is open")
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

-- connect(2) to a Unix socket. One that a process inside listens on can be reached besides.
local function connect(self, found)
  local sockets, state = self.plan.sockets, self.rules:at(found.real)
  if not state.read then return deny(found, state.readRule, "EACCES") end
  if self.plan.allSockets then return allow(found, { builtin = "network.allowAllUnixSockets" }) end
  if not sockets then
    return deny(found, { builtin = "no network.allowUnixSockets" }, "EPERM", "no Unix socket can be made")
  end
  if found.type ~= "sock" then return deny(found, answers.READABLE, "ECONNREFUSED", "it is no socket") end
  local entry = require("srt.unix_sockets").rule(self.rules.sockets, found.real)
  if not entry then return deny(found, { builtin = "network.allowUnixSockets names no such path" }, "EACCES") end
  if not state.write then return allow(found, entry) end
  return deny(found, entry, "EACCES", "the command may write there, so it could be any socket")
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
  create = { dots = "EEXIST", ask = names.create },
  mkdir = { dots = "EEXIST", ask = names.make },
  mknod = { dots = "EEXIST", ask = names.make_other },
  symlink = { dots = "EEXIST", ask = names.symlink },
  delete = { dots = "EISDIR", ask = names.remove },
  unlink = { dots = "EISDIR", ask = names.unlink },
  rmdir = { dots = "ENOTEMPTY", ask = names.rmdir },
  rename = { dots = "EBUSY", ask = names.rename, two = true },
  exchange = { dots = "EBUSY", ask = names.exchange, two = true },
  link = { dots = "EEXIST", ask = names.link, two = true },
  connect = { follow = true, ask = connect },
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
  local known = {}
  for name in pairs(ACTIONS) do known[#known + 1] = name end
  table.sort(known)
  return known
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
  local _, dir = names.holder(self, found)
  local _, other = names.holder(self, to or found)
  local errno = known.ask ~= names.link and self.view:mount(dir) ~= self.view:mount(other) and "EXDEV" or known.dots
  return answer(found, state.write and "allow" or "deny", write_rule(state), errno, "\".\" and \"..\" are no names")
end

-- Only what would change something meets the host's own read-only mounts.
local function meet_host(self, known, got)
  local only_looks = known.ask == look or known.ask == read or known.ask == list
    or known.ask == open and (got.type == "fifo" or got.type == "sock")
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
  local name = known.dots ~= nil and known.ask ~= names.link
  local found, to = self.view:walk(path, known.follow or false, name), nil
  local bare = self.bare
  if found.own and bare then return bare:own(action, found) end
  if found.own then return allow(found, OWN, nil, "nothing of the host's shows there") end
  if found.code and not (found.missing and known.dots) then return lost(self, found, known) end
  if known.two and not (known.ask == names.link and found.missing) then
    to = self.view:walk(other, false, true)
    if to.own then return deny(to, OWN, "EXDEV") end
    if to.code and not to.missing then return lost(self, to, known) end
  end
  if name and found.dots or to and to.dots then return no_name(self, known, found, to) end
  local got = meet_host(self, known, known.ask(self, found, to))
  return bare and bare:meet(action, got, found, to) or got
end

--- A judge of what rules and a plan come to.
---@param rules table from srt.decide_path
---@param plan table from a backend, for the same rules
---@return table judge with :ask
function judge.new(rules, plan)
  local seen = require("srt.view").new(plan)
  local bare = plan.backend == "landlock" and require("srt.judge_landlock").new(rules, plan, seen:sight()) or nil
  return setmetatable({ rules = rules, plan = plan, bare = bare, view = seen }, Judge)
end

return judge
