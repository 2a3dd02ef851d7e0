-- SPDX-License-Identifier: Apache-2.0
-- filesystem.decideOpen: may a file be opened that the lists deny?
--
-- What the lists allow is not asked about, and what nobody may have is not either: srt-lua's own files, credentials,
-- protected names. A grant is for the path that was judged, by all its real components.
local answers = require "srt.answers"
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local decide_open = {}

local Decider = {}
Decider.__index = Decider

local KEY = "filesystem.decideOpen"
local REMEMBERED = 10000 -- grants for the session

---Why nobody may be granted an open of a path, whatever a callback says.
---@param rules table from srt.decide_path
---@param real string
---@param mode "read"|"write"
---@return table|nil entry
local function closed(rules, real, mode)
  local path = real
  while true do
    local hidden, held = rules.finalRead[path], rules.finalWrite[path] or rules.denyWrite[path]
    local deny = rules.denyRead[path]
    if hidden or deny and deny.builtin then return hidden or deny end
    if mode == "write" and (rules.finalWrite[path] or held and held.builtin) then return held end
    if rules.masked[path] then return rules.masked[path].entry end
    if mode == "write" and rules.pinned[path] then return { builtin = "held as it is" } end
    if path == "/" then return nil end
    path = paths.parent(path)
  end
end

-- A file by a path without links, also where covers hide it from what judges.
local function is_plain(real)
  local st = sys.lstat(real)
  return st and st.type == "file" and sys.realpath(real) == real
end

-- What is protected is looked for where the lists let a command write; a grant leads anywhere.
local function is_protected(self, real)
  local settings = self.protection
  if not settings or settings.off then return false end
  self.names = self.names or require("srt.protected").list(settings)
  return require("srt.protect").covers(self.names, real, self.home)
end

---May an open be asked about?
---@param answer srt.answer
---@param mode "read"|"write"
---@return boolean
function Decider:asks(answer, mode)
  if answer.decision ~= "deny" or not is_plain(answer.real) then return false end
  local rule = answer.rule
  if rule.builtin and rule ~= answers.UNWRITABLE then return false end
  return closed(self.rules, answer.real, mode) == nil and not (mode == "write" and is_protected(self, answer.real))
end

---Asks. What is neither granted nor clearly denied is denied by the lists.
---@param answer srt.answer that asks() may be asked about
---@param mode "read"|"write"
---@param process {pid: integer, exe: string?}
---@param call function as box:call
---@return boolean granted
---@return {rule: string, reason: string?, origin: string?, detail: string?, fault: boolean?}|nil why not, where a
--- callback said so
function Decider:decide(answer, mode, process, call)
  local key = mode .. ":" .. answer.real
  if self.granted[key] then return true end
  local verdict = require("srt.verdict").chain("decideOpen", self.chain, call, { path = answer.real, mode = mode,
    process = process, command = self.command })
  if verdict.verdict == "allow" then
    if verdict.session and self.count < REMEMBERED then
      self.granted[key], self.count = true, self.count + 1
    end
    return true
  elseif verdict.verdict == "deny" then
    local origin = self.origins[verdict.by]
    return false, { rule = KEY, reason = verdict.reason or "denied by decideOpen", detail = verdict.detail,
      fault = verdict.fault,
      origin = origin and require("srt.source").where(origin) or nil }
  end
  return false
end

---@param profile table
---@param rules table
---@param command string
---@return table decider
function decide_open.new(profile, rules, command)
  local home = profile.home and sys.realpath(profile.home)
  return setmetatable({ chain = profile.callbacks.decideOpen, origins = profile.callbacks.origins, rules = rules,
    command = command, protection = profile.protection, home = home, granted = {}, count = 0 }, Decider)
end

return decide_open
