-- SPDX-License-Identifier: Apache-2.0
-- Where another system's answers are known to differ from the decisions: a table that a spec holds to.

local support = require("spec.lua.support")

local Differences = {}
Differences.__index = Differences

local function word(may) return may and "allow" or "deny" end

--- Two answers are the same, or differ as a row of this id and of what is asked says.
---@param id string|false|nil whose row; any other than a row's fails where they differ
---@param what string
---@param decided boolean|nil
---@param got boolean|nil
---@param where string
function Differences:check(id, what, decided, got, where)
  if word(decided) == word(got) then return end
  local row = self.rows[tostring(id) .. " " .. what]
  assert(row, ("no row for %s %s: %s"):format(id, what, where))
  local said = word(decided) .. " " .. word(got)
  assert(row.answers == said, ("%s, not %s as by the row %s: %s"):format(said, row.answers, id, where))
  row.seen = true
end

--- Fails where a row has not occurred.
function Differences:check_all_seen()
  assert(next(self.rows), "no row at all")
  for key, row in pairs(self.rows) do assert(row.seen, "never seen to differ: " .. key) end
end

local differences = {}

---@param file string tab-separated: id, what, the decision, the other's answer, when
---@return table
function differences.read(file)
  local rows = {}
  for row in support.rows(file) do
    local key = row[1] .. " " .. row[2]
    assert(not rows[key], "twice: " .. key)
    rows[key] = { answers = row[3] .. " " .. row[4] }
  end
  return setmetatable({ rows = rows }, Differences)
end

return differences
