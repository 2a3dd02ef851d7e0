-- SPDX-License-Identifier: Apache-2.0
-- What Windows makes of a plan of backends/windows.lua: a model of access checks (MS-DTYP 2.5.3.2, winnt.h) and of the
-- Windows Filtering Platform, from its documentation. It knows nothing of how plans are made, and reads them as JSON.
local model = {}

-- winnt.h
model.READ_DATA, model.WRITE_DATA, model.DELETE_CHILD = 0x1, 0x2, 0x40
model.DELETE, model.WRITE_DAC, model.WRITE_OWNER = 0x10000, 0x40000, 0x80000
local READ_CONTROL = 0x20000
local MODIFY, FULL, READ_AND_EXECUTE = 0x1301bf, 0x1f01ff, 0x1200a9
-- What of FILE_GENERIC_WRITE is not in FILE_GENERIC_READ: a write-restricted token is asked twice for these.
local WRITES = 0x2 | 0x4 | 0x10 | 0x100
local OBJECT_INHERIT, CONTAINER_INHERIT = 0x1, 0x2

local function ambient(...)
  local list = {}
  for i, one in ipairs { ... } do list[i] = { type = "allow", sid = one[1], mask = one[2], flags = 0x3 } end
  return list
end

--- What paths inherit from their volume, before anything of ours is there.
model.WORLDS = {
  -- A user's profile: nobody else has anything in it.
  closed = ambient({ "system", FULL }, { "caller", FULL }),
  -- Below C:\Program Files.
  open = ambient({ "system", FULL }, { "caller", FULL }, { "users", READ_AND_EXECUTE }),
  -- A folder that somebody made at C:\.
  loose = ambient({ "system", FULL }, { "caller", FULL }, { "users", READ_AND_EXECUTE }, { "users", 0x2 | 0x4 },
    { "authenticated", MODIFY }, { "interactive", MODIFY }),
  -- What somebody has opened to all.
  everyone = ambient({ "system", FULL }, { "everyone", FULL }),
}

-- The groups that a local account's logon has.
local GROUPS = { "users", "everyone", "authenticated", "interactive", "logon" }

local function set_of(list)
  local set = {}
  for _, one in ipairs(list) do set[one] = true end
  return set
end

--- The command's token, as the plan says it is made.
---@param plan table
---@return table {enabled, denyOnly, restricting, writeRestricted}
function model.token(plan)
  local keep = set_of(plan.token.keepGroups)
  local token = { enabled = { account = true }, denyOnly = {}, restricting = set_of(plan.token.restricting),
    writeRestricted = plan.token.writeRestricted }
  for _, group in ipairs(GROUPS) do token[keep[group] and "enabled" or "denyOnly"][group] = true end
  return token
end

local function parent(path)
  return path:match("^(%a:\\.+)\\[^\\]+$") or (path:match("^%a:\\[^\\]+$") and path:sub(1, 3)) or nil
end

--- The list of a path in the order in which it is read.
---@param plan table with byPath
---@param path string
---@param folder boolean
---@param world table[] of WORLDS
function model.list(plan, path, folder, world)
  local out, needed = {}, folder and CONTAINER_INHERIT or OBJECT_INHERIT
  local at, own = path, true
  while at do
    local denies, allows = {}, {}
    for _, ace in ipairs(plan.byPath[at] or {}) do
      if own or ace.flags & needed ~= 0 then
        table.insert(ace.type == "deny" and denies or allows, ace)
      end
    end
    for _, list in ipairs { denies, allows } do
      for _, ace in ipairs(list) do out[#out + 1] = ace end
    end
    at, own = parent(at), false
  end
  for _, ace in ipairs(world) do out[#out + 1] = ace end
  return out
end

local function check(list, enabled, deny_only, owner, wanted)
  local owns, told = enabled[owner], false
  for _, ace in ipairs(list) do told = told or ace.sid == "owner-rights" end
  if owns and not told then wanted = wanted & ~(READ_CONTROL | model.WRITE_DAC) end
  for _, ace in ipairs(list) do
    local mine = enabled[ace.sid] or (ace.sid == "owner-rights" and owns)
    if ace.type == "deny" then
      if (mine or deny_only[ace.sid]) and ace.mask & wanted ~= 0 then return false end
    elseif mine then
      wanted = wanted & ~ace.mask
    end
    if wanted == 0 then return true end
  end
  return wanted == 0
end

---@param list table[] from list()
---@param token table from token()
---@param owner string SID of the object's owner
---@param wanted integer
---@return boolean
function model.access(list, token, owner, wanted)
  if not check(list, token.enabled, token.denyOnly, owner, wanted) then return false end
  local writes = wanted & WRITES
  return not token.writeRestricted or writes == 0 or check(list, token.restricting, {}, owner, writes)
end

--- Reads a plan from its JSON.
---@param text string
---@return table plan
function model.read(text)
  local plan = assert(require("dkjson").decode(text))
  plan.byPath = {}
  for _, item in ipairs(plan.acl) do
    assert(not plan.byPath[item.path], "a path twice: " .. item.path)
    plan.byPath[item.path] = item.aces
  end
  return plan
end

local function number(address)
  local sum
  for part in address:gmatch("%d+") do sum = (sum or 0) << 8 | math.tointeger(part) end
  return sum
end

local FIELDS = {
  user = function(condition, packet) return condition.value == packet.user end,
  protocol = function(condition, packet) return condition.value == packet.protocol end,
  remoteAddress = function(condition, packet) return number(condition.value) == number(packet.address) end,
  remotePort = function(condition, packet) return packet.port >= condition.low and packet.port <= condition.high end,
}

local function matches(filter, packet)
  for _, condition in ipairs(filter.conditions) do
    if not assert(FIELDS[condition.field], condition.field)(condition, packet) then return false end
  end
  return true
end

--- Does the fence let through? Of one sublayer the heaviest filter that matches decides; where none does, all passes.
---@param plan table
---@param packet {layer: string, user: string, protocol: integer, address: string, port: integer}
---@return boolean
function model.passes(plan, packet)
  local best
  for _, filter in ipairs(plan.network.filters) do
    if filter.layer == packet.layer and matches(filter, packet) then
      assert(not best or best.weight ~= filter.weight, "two filters of one weight match: the order is not told")
      if not best or filter.weight > best.weight then best = filter end
    end
  end
  return not best or best.action == "permit"
end

return model
