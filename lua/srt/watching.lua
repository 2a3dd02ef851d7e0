-- SPDX-License-Identifier: Apache-2.0
-- What the agent inside watches in a run; srt.observe judges it. Apart, since a plan takes only this.
local watching = {}

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

return watching
