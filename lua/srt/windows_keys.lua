-- SPDX-License-Identifier: Apache-2.0
-- The keys of `windows` in a policy: ports, WFP sublayer, account and helper of backend = "windows".
local windows_keys = {}

--- What holds where the policy says nothing; windows-install takes the same.
windows_keys.DEFAULTS = { low = 60080, high = 60089, sublayer = "{5b0c8a39-6f0e-4c3e-9a8e-3f1d7c2a64e1}",
  account = "srt-sandbox", group = "srt-sandbox-users" }

-- Each port is one that the account may reach on the host's loopback.
local MOST_PORTS = 100
local GUID = "^{?(%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x)}?$"

local function range_of(problem, value, out)
  local low, high = value.list[1], value.list[2]
  low, high = low and math.tointeger(low.value), high and math.tointeger(high.value)
  if #value.list ~= 2 or low > high then
    return problem(value.origin, "expected two ports, the lower one first, as in { 60080, 60089 }")
  elseif low < 1024 or high - low >= MOST_PORTS then
    return problem(value.origin, ("expected ports from 1024 up, %d of them at most: the command may reach "
      .. "whatever listens on them"):format(MOST_PORTS))
  end
  out.low, out.high = low, high
end

local function sublayer_of(problem, value, out)
  local guid = value.value:match(GUID)
  if not guid then
    return problem(value.origin, ("%q is no GUID, such as %s"):format(value.value,
      windows_keys.DEFAULTS.sublayer))
  end
  out.sublayer = "{" .. guid:lower() .. "}"
end

local function account_of(problem, value, out)
  local name = value.value
  -- What NetUserAdd takes, and nothing that another program would have to quote.
  if #name > 20 or not name:find("^[%w_][%w_.-]*$") or name:find("%.$") then
    return problem(value.origin, ("%q is no name for an account: letters, digits, _, - and ., 20 at most")
      :format(name))
  end
  out.account = name
end

---@param values table of a policy
---@return table windows {low, high, sublayer, account, group, helper, problems}
--- problems: {origin, message}; they are told where a plan for Windows is made, since elsewhere nothing reads these
function windows_keys.resolve(values)
  local out = { problems = {} }
  for name, value in pairs(windows_keys.DEFAULTS) do out[name] = value end
  local function problem(origin, message)
    table.insert(out.problems, { origin = origin, message = message })
  end
  local range = values["windows.proxyPortRange"]
  if range then range_of(problem, range, out) end
  local guid = values["windows.sublayerGuid"] or values["windows.wfpSublayerGuid"]
  if guid then sublayer_of(problem, guid, out) end
  local account = values["windows.sandboxUser"]
  if account then account_of(problem, account, out) end
  local helper = values["windows.srtWin.path"]
  out.helper = helper and helper.value or nil
  return out
end

return windows_keys
