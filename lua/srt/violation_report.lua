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

-- Paths that one entry, or one rule, is about are one line.
local function line_key(v)
  if v.advice then return ("%s\0%s"):format(v.kind, v.advice) end
  local of_path = v.kind == "write" or v.kind == "read"
  return of_path and ("%s\0\0%s\0%s\0%s"):format(v.kind, v.rule, v.origin, v.reason) or nil
end

local function merged(store)
  local hosts, list, by = {}, {}, {}
  for _, group in ipairs(store.groups) do
    local v = group.violation
    local host = v.kind ~= "name" and v.target:match("^%[?(.-)%]?:%d+$")
    if host then hosts[host] = true end
  end
  for _, group in ipairs(store.groups) do
    if not group.told and not is_told(group, hosts) then
      local key = line_key(group.violation)
      local line = key and by[key]
      if line then
        line.count, line.targets, line.more = line.count + group.count, line.targets + 1, line.more or group.more
      else
        line = { count = group.count, targets = 1, more = group.more, violation = group.violation }
        list[#list + 1] = line
        if key then by[key] = line end
      end
    end
  end
  return list
end

-- The lines that are shown: one of each kind before another of any.
local function chosen(list)
  table.sort(list, before)
  local out, kinds = {}, {}
  for round = 1, 2 do
    for _, line in ipairs(list) do
      local kind = line.violation.kind
      local first = not kinds[kind] or kinds[kind] == line
      if #out < MOST_LINES and first == (round == 1) then
        kinds[kind] = kinds[kind] or line
        out[#out + 1] = line
      end
    end
  end
  table.sort(out, before)
  return out
end

local function line_of(line)
  local v = line.violation
  local own = text.why(v)
  local target, why = text.clean(v.target, MOST_TEXT), text.clean(own, MOST_TEXT)
  if line.targets > 1 then
    local place = v.advice and v.advice:match('^add [^"]*"([^"]*)"')
    return ("  %s %s: %s (%d paths, first %s)"):format(v.kind, place or v.target:match("^(.+)/[^/]*$") or "/", why,
      line.targets, target)
  end
  local times = line.count > 1 and (" (%d times%s)"):format(line.count, line.more and " or more" or "") or ""
  if not v.advice and own == v.reason and text.beyond(v) then return ("  %s%s: %s"):format(v.kind, times, why) end
  return ("  %s %s%s: %s"):format(v.kind, target, times, why)
end

---The end of a run for people: a few lines, or none where nothing was denied.
---@param store table
---@param more string? where the rest can be read
---@return string[]
function violation_report.lines(store, more)
  local total = store.total
  for _, group in ipairs(store.groups) do total = group.told and total - group.count or total end
  if total == 0 then return {} end
  local list = merged(store)
  local shown = chosen(list)
  local lines = { ("denied: %s%s"):format(total == 1 and "one attempt" or total .. " attempts",
    (store.more or store.lost > 0) and " or more" or "") }
  for _, line in ipairs(shown) do lines[#lines + 1] = line_of(line) end
  local left = #list - #shown + store.ungrouped
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
    list[i] = { count = group.count, atLeast = group.more, kind = v.kind, target = v.target, rule = v.rule,
      reason = v.reason, origin = v.origin, advice = v.advice, process = v.process }
  end
  return json.encode({ denied = store and store.total or 0, more = store and store.ungrouped + store.lost or 0,
    atLeast = store and (store.more or store.lost > 0) or nil,
    command = store and store.command, commandId = store and store.commandId,
    violations = list }, true)
end

return violation_report
