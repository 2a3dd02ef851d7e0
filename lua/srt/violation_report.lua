-- SPDX-License-Identifier: Apache-2.0
-- What a user is told when a run has ended in which something was denied.
local text = require("srt.violation_text")

local violation_report = {}

local MOST_LINES, MOST_TEXT = 8, 240

-- A name that was asked for on the way to a connection which was denied as well tells nothing new.
local function is_told(group, hosts)
  return group.violation.kind == "name" and hosts[group.violation.target]
end

-- What the author of the policy can do about comes first, then what was met most often.
local function before(a, b)
  local can_a, can_b = a.violation.advice ~= nil, b.violation.advice ~= nil
  if can_a ~= can_b then return can_a end
  if a.count ~= b.count then return a.count > b.count end
  return a.violation.target < b.violation.target
end

local function sorted(store)
  local hosts, list = {}, {}
  for _, group in ipairs(store.groups) do
    local v = group.violation
    local host = v.kind ~= "name" and v.target:match("^%[?(.-)%]?:%d+$")
    if host then hosts[host] = true end
  end
  for _, group in ipairs(store.groups) do
    if not is_told(group, hosts) then list[#list + 1] = group end
  end
  table.sort(list, before)
  return list
end

local function line_of(group)
  local v = group.violation
  local times = group.count > 1 and (" (%d times)"):format(group.count) or ""
  local why = text.clean(v.advice or v.reason or v.rule or "denied", MOST_TEXT)
  -- Most reasons begin with what was denied.
  if not v.advice and why:sub(1, #v.target) == v.target then return ("  %s%s: %s"):format(v.kind, times, why) end
  return ("  %s %s%s: %s"):format(v.kind, text.clean(v.target, MOST_TEXT), times, why)
end

---The end of a run for people: a few lines, or none where nothing was denied.
---@param store table
---@param more string? where the rest can be read
---@return string[]
function violation_report.lines(store, more)
  if store.total == 0 then return {} end
  local groups = sorted(store)
  local lines = { ("denied: %s"):format(store.total == 1 and "one attempt" or store.total .. " attempts") }
  for i = 1, math.min(#groups, MOST_LINES) do lines[#lines + 1] = line_of(groups[i]) end
  local left = #groups - MOST_LINES + store.ungrouped
  if left > 0 then
    lines[#lines + 1] = ("  and %d more%s"):format(left, more and ": " .. more or "")
  end
  return lines
end

---The same for programs: a line of JSON.
---@param store table|nil nil where nothing was denied
---@return string
function violation_report.json(store)
  local json, list = require("srt.json"), {}
  for i, group in ipairs(store and store.groups or {}) do
    local v = group.violation
    list[i] = { count = group.count, kind = v.kind, target = v.target, rule = v.rule, reason = v.reason,
      origin = v.origin, advice = v.advice, process = v.process }
  end
  return json.encode({ denied = store and store.total or 0, more = store and store.ungrouped or 0,
    command = store and store.command, commandId = store and store.commandId,
    violations = list }, true)
end

return violation_report
