-- SPDX-License-Identifier: Apache-2.0
-- What a policy says of secrets and credentials, in words.
local credentials_text = {}

local function where_to(hosts)
  if not hosts then return "all allowed hosts" end
  local texts = {}
  for i, rule in ipairs(hosts) do texts[i] = rule.text end
  return table.concat(texts, ", ")
end

local SOURCES = {
  env = function(one) return "from the variable " .. one.env end,
  file = function(one) return "from the file " .. one.path end,
  command = function(one) return "from the command " .. one.command[1] end,
}

---Lines for check: names and places, never values.
---@param found srt.credentials
---@return {what: string, where: string, origin: table}[]
function credentials_text.rows(found)
  local rows = {}
  local function add(one, form, ...)
    rows[#rows + 1] = { what = form:format(...), where = require("srt.source").where(one.origin), origin = one.origin }
  end
  for _, one in ipairs(found.secrets) do
    add(one, "secret %s, %s, for %s", one.name, SOURCES[one.source](one), where_to(one.hosts))
  end
  for _, list in ipairs { found.variables, found.files } do
    for _, one in ipairs(list) do
      local name = one.name and "variable " .. one.name or "file " .. one.given
      if one.mode == "deny" then add(one, "%s, not visible", name)
      else add(one, "%s, masked, for %s", name, where_to(one.hosts)) end
    end
  end
  return rows
end

return credentials_text
