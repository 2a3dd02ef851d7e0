-- SPDX-License-Identifier: Apache-2.0
-- What a command is answered where there are no mounts: srt.judge's answers, as far as Landlock and the agent of
-- backends.landlock carry them out. Asked by srt.judge alone; what a run does not hold otherwise says landlock.lacks().
local answers = require "srt.answers"
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local landlocked = {}
local Landlocked = {}
Landlocked.__index = Landlocked

local NEEDS = { read = "r", list = "l", write = "w", append = "w", mmap = "w", truncate = "w" }
local MAKES = { create = true, mkdir = true, mknod = true, symlink = true }
local REMOVES = { delete = true, unlink = true, rmdir = true }
local MOVES = { rename = true, exchange = true, link = true }
local CHANGES = { chmod = true, chown = true, utime = true, setxattr = true }

local BESIDE = { builtin = "Landlock, since something is denied in that folder" }
local ALONE = { builtin = "no agent can be asked here, which alone changes modes, owners, times and attributes" }
local APART = "as between two mounts; a program that copies and removes, as mv does, is not refused by that"

local function need(action, found) return action == "read" and found.type == "dir" and "l" or NEEDS[action] end

local function identity(path)
  local st = sys.lstat(path)
  return st and st.dev .. ":" .. st.ino
end

--- Does Landlock give a right at a path? A rule is bound to a file, and holds by its other names, too.
function Landlocked:grants(path, letter)
  if not self.byFile then
    self.byFile = {}
    for rule, access in pairs(self.granted) do
      local id = identity(rule) or ""
      self.byFile[id] = (self.byFile[id] or "") .. access
    end
  end
  while true do
    if (self.byFile[identity(path) or ""] or ""):find(letter, 1, true) then return true end
    if path == "/" then return false end
    path = paths.parent(path)
  end
end

-- Is it the agent that makes or opens it (core/area.h)?
function Landlocked:serves(path, top_too)
  local guard, area = self.guard, self.plan.area
  for _, top in ipairs(area and area.tops or {}) do
    if paths.below(path, top) and (top_too or path ~= top) then return not guard:find(path, false) end
  end
  return false
end

local function has(list, wanted)
  for _, item in ipairs(list) do
    if item == wanted then return true end
  end
end

function Landlocked:opens(path, letter)
  if self:grants(path, letter) then return true end
  local area = self.plan.area
  return area ~= nil and (letter == "w" or area.reads) and self:serves(path, letter == "l")
end

-- May a name be made, or taken away?
function Landlocked:changes(path, away)
  if self:grants(paths.parent(path), "m") then return true end
  return self:serves(path) and not (away and has(self.plan.area.held, path))
end

-- Modes, owners, times and attributes are the agent's: Landlock does not know them.
function Landlocked:alter(got, found)
  local area = self.plan.area
  if not area then
    got.decision, got.errno, got.rule, got.why = "deny", "EPERM", ALONE, nil
    return got
  elseif got.decision == "allow" and not self:serves(found.real, true) then
    for _, top in ipairs(area.again) do
      if paths.below(found.real, top) then return got end
    end
    return self:refuse(got, found.real)
  end
  if got.decision == "deny" then got.errno = "EACCES" end
  return got
end

function Landlocked:refuse(got, path)
  local state = self.rules:at(path)
  got.decision, got.errno, got.why = "deny", "EACCES", nil
  if not state.write then
    got.rule = answers.rule(state)
  else
    got.rule = BESIDE
  end
  return got
end

-- What the agent refuses for what it would be there, by srt.c.guard's answer; nil where it makes it.
function Landlocked:barred(got, code, kind, which)
  if not code then return nil end
  got.decision, got.errno, got.why = "deny", code, nil
  got.rule = kind == "path" and answers.rule(self.rules:at(which))
    or kind and self.rules.guard[kind .. "s"][which].entry or BESIDE
  return got
end

-- In the place of a folder that leads to what is denied a link can't stand.
function Landlocked:bars_link(got, path)
  local kind, which = self.guard:find(path, true)
  return kind and self:barred(got, "EROFS", kind, which)
end

function Landlocked:bars_move(got, from, to) return self:barred(got, self.guard:move(from, to, self.sight)) end

-- What is allowed again within something denied, is the kernel's to name. Between that and what the agent names nothing
-- can be moved; nor does Landlock let a move open anything more.
function Landlocked:apart(from, to, type)
  local near, far = paths.parent(from), paths.parent(to)
  local served, other = self:serves(from), self:serves(to)
  if served or other or near == far then return served ~= other end
  for letter in (type == "dir" and "xrwlm" or "xrw"):gmatch(".") do
    if self:grants(far, letter) and not self:grants(from, letter) then return true end
  end
  return false
end

function Landlocked:bars(action, got, found, to)
  if not self.guard or not self:serves((to or found).real) then return nil end
  if action == "symlink" then return self:bars_link(got, found.real) end
  if action == "link" then return found.type == "link" and self:bars_link(got, to.real) or nil end
  return self:bars_move(got, found.real, to.real)
    or action == "exchange" and self:bars_move(got, to.real, found.real) or nil
end

function Landlocked:reach(action, got, found, to)
  local letter, abi = need(action, found), self.plan.abi
  if letter and not self:opens(found.real, letter) then
    local state = self.rules:at(found.real)
    local masked = self.rules.masked[found.real]
    got.rule = masked and masked.entry or letter == "w" and not state.write and answers.rule(state) or BESIDE
    got.decision, got.errno, got.why = "deny", "EACCES", nil
  elseif action == "tmpfile" and not (self:grants(found.real, "w") or self:serves(found.real, true)) then
    return self:refuse(got, found.real)
  elseif MAKES[action] and not self:changes(found.real) or REMOVES[action] and not self:changes(found.real, true) then
    return self:refuse(got, found.real)
  elseif action == "symlink" then
    return self:bars(action, got, found) or got
  elseif MOVES[action] then
    local from, into = self:changes(found.real, action ~= "link"), self:changes(to.real, action ~= "link")
    if not (from and into) then return self:refuse(got, (from and to or found).real) end
    if self:apart(found.real, to.real, found.type)
      or action == "exchange" and self:apart(to.real, found.real, to.type) then
      got.errno, got.why = "EXDEV", APART
      return got
    end
    local barred = self:bars(action, got, found, to)
    if barred then return barred end
    if abi < 2 and paths.parent(found.real) ~= paths.parent(to.real) then got.errno = "EXDEV" end
  elseif action == "truncate" and abi < 3 then
    got.errno, got.why = "EACCES", "Landlock's ABI 3 is needed (Linux 6.2)"
  end
  return got
end

-- Is there something denied beneath, or what can't be taken away?
function Landlocked:above_held(path)
  if not self.plan.area then return true end
  for _, held in ipairs(self.plan.area.held) do
    if held ~= path and paths.below(held, path) and sys.lstat(held) then return true end
  end
  return false
end

-- A folder above something denied stays where it is; with what is in it, it can't be removed. What is not there yet
-- needs no folder that stays: the agent knows it by its path.
function Landlocked:keep(action, got, found, to)
  local other = to and to.type and to.real
  if not self:changes(found.real, true) or other and not self:changes(other, true) then
    got.errno = "EACCES"
  elseif self:above_held(found.real) or other and self:above_held(other) then
    if REMOVES[action] then got.errno = nil end
  else
    got.decision, got.errno, got.rule = "allow", nil, answers.rule(self.rules:at(found.real))
    return self:reach(action, got, found, to)
  end
  return got
end

-- What the decisions deny, and a rule gives: by another name, or another mount.
function Landlocked:leaks(action, got, found)
  local letter = action == "tmpfile" and "w" or need(action, found)
  if letter and found.type and self:grants(found.real, letter) then
    got.errno, got.unheld = nil, true
    got.why = "another name or mount of the same is allowed, and Landlock's rules hold for files, not for names"
  end
  return got
end

--- An answer, as it is without mounts.
---@param action string
---@param got srt.answer
---@param found srt.walked
---@param to srt.walked?
---@return srt.answer
function Landlocked:meet(action, got, found, to)
  if CHANGES[action] and (got.decision == "deny" or not got.errno) then
    return self:alter(got, found)
  elseif got.decision == "deny" and (got.errno == "EROFS" or got.errno == "EACCES") then
    got.errno = "EACCES"
    return self:leaks(action, got, found)
  elseif got.errno == "EBUSY" and got.decision == "deny" then
    return self:keep(action, got, found, to)
  elseif got.decision == "allow" and not got.errno then
    if self.rules.masked[found.real] then got.why = nil end
    return self:reach(action, got, found, to)
  end
  return got
end

local HOST = { builtin = "the host's own /proc and /dev, of which the backend landlock opens little" }

--- An answer on what is the sandbox's own elsewhere, and the host's here.
function Landlocked:own(action, found)
  if action == "stat" then return answers.allow(found) end
  if NEEDS[action] and self:grants(found.real, NEEDS[action]) then return answers.allow(found, HOST) end
  return answers.deny(found, HOST, "EACCES")
end

---@param rules table of srt.decide_path
---@param plan table of backends.landlock
---@param sight table of srt.view
---@return table landlocked with :meet and :own
function landlocked.new(rules, plan, sight)
  local granted = {}
  for _, rule in ipairs(plan.paths) do granted[rule.path] = (granted[rule.path] or "") .. rule.access end
  return setmetatable({ rules = rules, plan = plan, granted = granted, sight = sight,
    guard = plan.guard and require("srt.c.guard").compile(plan.guard) }, Landlocked)
end

return landlocked
