-- SPDX-License-Identifier: Apache-2.0
-- Finds the known name that a misspelt one most likely means.

local suggest = {}

local MAX_LENGTH = 64

---Edit distance where swapping two neighbours counts as one edit.
---@param a string
---@param b string
---@return integer
function suggest.distance(a, b)
  local before, last = nil, {}
  for j = 0, #b do
    last[j] = j
  end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      local best = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same and 0 or 1))
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        best = math.min(best, before[j - 2] + 1)
      end
      row[j] = best
    end
    before, last = last, row
  end
  return last[#b]
end

---The candidate nearest to a name, or nil when none is near enough to be meant.
---@param name string
---@param candidates string[]
---@return string|nil
function suggest.nearest(name, candidates)
  if #name > MAX_LENGTH then
    return nil
  end
  local wanted = name:lower()
  local best, least = nil, math.max(1, #name // 3) + 1
  for _, candidate in ipairs(candidates) do
    if math.abs(#candidate - #name) < least then
      local d = suggest.distance(wanted, candidate:lower())
      if d < least then
        best, least = candidate, d
      end
    end
  end
  return best
end

return suggest
