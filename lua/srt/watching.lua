-- SPDX-License-Identifier: Apache-2.0
-- What the agent inside watches in a run, and who hears of it: srt.observe, loaded when there is something to judge.
local watching = {}

local Watcher = {}

-- What it has not itself, it does as srt.observe says.
Watcher.__index = function(_, name)
  return Watcher[name] or require("srt.observe").methods[name]
end

---What the agent watches in a run: for observe, and for filesystem.decideOpen.
---@param profile table
---@return {reads: boolean, asks: boolean, learns: boolean, tells: boolean, connects: boolean, needed: boolean}|nil how
--- as a plan has it; tells: what is refused by name is observed, too; connects: and what would leave
---@return string|nil message why what the policy asks for can't be held
function watching.of(profile)
  local mode, given = profile.observe.mode, profile.observe.given
  local asks = profile.callbacks.decideOpen[1] ~= nil
  if mode == "none" and not asks then return nil end
  if profile.nested then
    -- In a tree of processes only one can be notified, and a container inside may want to be.
    if not given and not asks then return nil end
    return nil, ("%s can't be held with allowNestedUserNamespaces: in a namespace of its own a command can give a "
      .. "folder another path; leave out one of them"):format(asks and "filesystem.decideOpen"
      or ("observe = %q"):format(mode))
  end
  local learns, tells = profile.observe.learns, mode ~= "none"
  -- Where none is led to the proxy, a connection fails and nobody else would tell.
  local connects = tells and not profile.network.transparent
  if learns then return { reads = learns.reads, learns = true, tells = true, connects = connects, needed = true } end
  return { reads = asks or mode == "all", asks = asks, tells = tells, connects = connects, needed = asks or given }
end

---The run is over: takes what is left.
---@param unreached integer attempts to leave the network that the kernel has counted
function Watcher:close(unreached)
  self.handle:close()
  if unreached > 0 or self.lost > 0 then self:rest(unreached) end
end

---Begins to listen to the agent of a plan with a watch; before sandbox:run().
---@param loaded srt.session
---@param plan table
---@param sandbox userdata|{socket: integer, view: integer} of another process's what srt.c.watch relays
---@param add fun(event: table) told each violation, as of violations.lua
---@param say nil|fun(line: string)
---@return table watcher with :close(), and `lost`: of how many, at least, nothing was told
function watching.start(loaded, plan, sandbox, add, say)
  local self = setmetatable({ lost = 0, inet = {}, loaded = loaded, plan = plan, add = add, say = say }, Watcher)
  self.decider = loaded.profile.callbacks.decideOpen[1]
    and require("srt.decide_open").new(loaded.profile, loaded.rules, table.concat(plan.argv, " ")) or false
  local watch, take = require("srt.c.watch"), function(message) self:take(message) end
  if type(sandbox) == "table" then
    self.handle = watch.adopt(sandbox.socket, sandbox.view, take)
    return self
  end
  self.handle = watch.start(sandbox, take)
  -- Without a proxy nobody else has told the box where questions go.
  if self.decider then loaded.box:asker(sandbox) end
  return self
end

return watching
