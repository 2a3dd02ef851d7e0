-- SPDX-License-Identifier: Apache-2.0
-- What a run reached by network, as entries of network.allowedDomains.
local domain = require "srt.domain"
local spelled = require "srt.net_text"

local learn_net = {}

-- Of so many hosts of one domain a comment suggests the wildcard. It is never taken by itself.
local MANY = 4

-- Second levels beneath which anybody can have a domain, where the first has two letters.
local COMMON = { ac = true, co = true, com = true, edu = true, gov = true, net = true, org = true }

local function names_of(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

---The last labels of a host that somebody registers; a guess, for comments only.
---@param host string
---@return string|nil
function learn_net.registrable(host)
  if domain.is_address(host) then return nil end
  local labels = {}
  for label in host:gmatch("[^.]+") do labels[#labels + 1] = label end
  local n = #labels
  local take = n > 2 and #labels[n] == 2 and COMMON[labels[n - 1]] and 3 or 2
  return n > take and table.concat(labels, ".", n - take + 1) or nil
end

---The entries.
---@param seen table<string, {host: string, port: integer, ways: table<string, boolean>,
--- programs: table<string, boolean>, address: string?}> by target; address: where a name leads that only an entry for
--- the address itself opens
---@return table[] rules {text=, host=, port=, ways=, programs=, comment=}, sorted
function learn_net.rules(seen)
  local list, taken = {}, {}
  for text, what in pairs(seen) do
    list[#list + 1] = { text = text, host = what.host, port = what.port, ways = names_of(what.ways),
      programs = names_of(what.programs) }
    taken[text] = true
  end
  for _, what in pairs(seen) do
    local text = what.address and spelled.target(what.address, what.port)
    if text and not taken[text] then
      taken[text] = true
      list[#list + 1] = { text = text, host = what.address, port = what.port, ways = {}, programs = {},
        comment = ("%s leads there"):format(what.host) }
    end
  end
  local function order(rule) return learn_net.registrable(rule.host) or rule.host end
  table.sort(list, function(a, b)
    local one, other = order(a), order(b)
    if one ~= other then return one < other end
    return a.text < b.text
  end)
  return list
end

---Wildcards that would stand for many of the entries.
---@param rules table[]
---@return {text: string, count: integer}[]
function learn_net.wildcards(rules)
  local groups, found = {}, {}
  for _, rule in ipairs(rules) do
    local suffix = learn_net.registrable(rule.host)
    local text = suffix and ("*.%s:%d"):format(suffix, rule.port)
    if text then groups[text] = (groups[text] or 0) + 1 end
  end
  for _, text in ipairs(names_of(groups)) do
    if groups[text] >= MANY then found[#found + 1] = { text = text, count = groups[text] } end
  end
  return found
end

---Does a domain entry of a ready-made policy stand for a rule?
---@param entries string[]
---@param rule table
---@return boolean
function learn_net.within(entries, rule)
  for _, text in ipairs(entries) do
    local parsed = domain.parse(text, "allow")
    if parsed and domain.match(parsed, rule.host, rule.port) then return true end
  end
  return false
end

return learn_net
