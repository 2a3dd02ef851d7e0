-- SPDX-License-Identifier: Apache-2.0
-- Answers to what is done to names: making, removing, moving, linking. Asked by srt.judge alone.
local answers = require "srt.answers"
local paths = require "srt.paths"

local names = {}

local answer, allow, deny, write_rule = answers.new, answers.allow, answers.deny, answers.rule

-- The folder that holds a name decides about the name.
function names.holder(self, found)
  local dir = found.dots or paths.parent(found.real)
  return self.rules:at(dir), dir
end

local NEVER = "nothing inside can make that name (createGuard)"
local UNSEEN = { builtin = "createGuard" }
local TOO_MUCH = "the folder holds more than can be looked at: a program that copies and removes, as mv does, may do it"

-- The entry by which the supervisor refuses to make a name (createGuard).
local function watched(self, found, link)
  local guard = not found.type and self.rules.guard
  return guard and require("srt.create_guard").rule(guard, found.real, link)
end

-- What the supervisor refuses to move, before the kernel is asked anything: from becomes what may not be made at to.
local function unmoved(self, from, to)
  local guard = self.rules.guard
  -- A slash behind what is no folder: the kernel refuses that, and there is nothing that could become anything.
  if not guard or from.slash and from.type ~= "dir" and not from.missing then return nil end
  local create_guard = require "srt.create_guard"
  if from.missing then
    local never = create_guard.rule(guard, to.real)
    return never and deny(from, never, "ENOENT")
  end
  local code, entry = create_guard.move(guard, from.real, to.real, self.view:sight())
  if entry then return deny(from, entry, code, NEVER) end
  return code and deny(from, UNSEEN, code, TOO_MUCH)
end

-- slashed: what a slash behind a name that can't be a folder's is answered with.
function names.make(self, found, slashed, link)
  local state, errno, why = self.rules:at(found.real), "EEXIST", "it exists"
  if self.view.made[found.real] then why = "an empty folder holds the place while a command runs" end
  local never = watched(self, found, link)
  if never then return deny(found, never, "EROFS", NEVER) end
  if not found.type then
    state, why = names.holder(self, found), nil
    errno = found.slash and slashed or not state.write and "EROFS" or nil
  end
  return answer(found, state.write and "allow" or "deny", write_rule(state), errno, why)
end

function names.create(self, found)
  local got = names.make(self, found)
  if found.slash then got.errno = "EISDIR" end
  return got
end

function names.make_other(self, found) return names.make(self, found, "ENOENT") end
function names.symlink(self, found) return names.make(self, found, "ENOENT", true) end

-- The rule that keeps a name where it is: its own, or that of what is protected
-- beneath. Asked of the decisions, not of the mounts that carry them out.
local function keeper(self, path)
  local state, kept = self.rules:at(path), self.rules.pinned[path]
  if type(kept) == "table" then return kept end
  if not state.write or path == self.rules.tempDir or kept then return write_rule(state) end
  self.points = self.points or self.rules:points()
  for _, point in ipairs(self.points) do
    if point ~= path and paths.below(point, path) then
      local below = self.rules:at(point)
      local stays = self.rules.pinned[point]
      if type(stays) == "table" then return stays end
      if not below.write or point == self.rules.tempDir or stays then return write_rule(below) end
    end
  end
end

-- Is a name in a writable folder one that can't be taken away?
local function held(self, found)
  local rule = keeper(self, found.real)
  if rule then return deny(found, rule, "EBUSY") end
  if self.view:mount(found.real) == found.real then return allow(found, nil, "EBUSY", "a mount point") end
  if self.view:alias(found.real) then return allow(found, nil, "EBUSY", "a mount point by its other name") end
end

function names.remove(self, found, kind)
  local state = names.holder(self, found)
  if not state.write then return deny(found, write_rule(state), "EROFS") end
  if found.missing then return allow(found, write_rule(state), "ENOENT") end
  local got = held(self, found) or allow(found, write_rule(state))
  if kind == "file" and found.type == "dir" then got.errno = "EISDIR" end
  if kind == "dir" and found.type ~= "dir" then got.errno = "ENOTDIR" end
  return got
end

function names.unlink(self, found) return names.remove(self, found, "file") end
function names.rmdir(self, found) return names.remove(self, found, "dir") end

local TWO_MOUNTS = "two mounts; a program that copies and removes, as mv does, is not refused by that"

-- Both folders must be writable and on one mount. What is refused, and by which.
local function movable(self, from, to)
  local state, dir = names.holder(self, from)
  local into, other = names.holder(self, to)
  local closed = not state.write and state or not into.write and into
  local which, apart = closed == into and to or from, self.view:mount(dir) ~= self.view:mount(other)
  if closed then return deny(which, write_rule(closed), apart and "EXDEV" or "EROFS") end
  return apart and allow(from, write_rule(into), "EXDEV", TWO_MOUNTS)
end

local function same(from, to)
  return to.type ~= nil and (from.real == to.real or (from.ino ~= nil and from.ino == to.ino and from.dev == to.dev))
end

function names.rename(self, from, to, exchanged)
  local got = unmoved(self, from, to) or exchanged and unmoved(self, to, from) or movable(self, from, to)
  if got then return got end
  local rule = write_rule((names.holder(self, from)))
  if from.missing then return allow(from, rule, "ENOENT") end
  if same(from, to) then return allow(from, rule, nil, "both are names of one file: nothing happens") end
  return held(self, from) or (to.type and held(self, to)) or allow(from, rule)
end

function names.exchange(self, from, to)
  local got = names.rename(self, from, to, true)
  if not got.errno and to.missing then got.errno = "ENOENT" end
  return got
end

function names.link(self, from, to)
  if from.missing then return allow(from, answers.READABLE, "ENOENT") end
  local made = names.make(self, to, "ENOENT", from.type == "link")
  if made.errno then return made end
  if self.view:mount(from.real) ~= self.view:mount(paths.parent(to.real)) then
    local state = self.rules:at(from.real)
    if not state.write then return deny(from, write_rule(state), "EXDEV") end
    return allow(from, write_rule(state), "EXDEV", TWO_MOUNTS)
  end
  return made
end

return names
