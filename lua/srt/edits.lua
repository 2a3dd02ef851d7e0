-- SPDX-License-Identifier: Apache-2.0
-- What the answers of a chain change, put together in its order: the later wins, header by header.

local edits = {}

local LATER_WINS = { "body", "target", "status" }

---@return table collected
function edits.new()
  return { headers = {}, observers = {} }
end

---Adds the edits of one answer.
---@param collected table
---@param answer table {set=, remove=, body=, target=, status=, observer=}
function edits.add(collected, answer)
  for _, name in ipairs(answer.remove or {}) do
    collected.headers[name:lower()] = { name = name }
  end
  for _, header in ipairs(answer.set or {}) do
    collected.headers[header.name:lower()] = header
  end
  for _, field in ipairs(LATER_WINS) do
    if answer[field] ~= nil then collected[field] = answer[field] end
  end
  collected.observers[#collected.observers + 1] = answer.observer
end

local function split(headers)
  local keys, set, remove = {}, {}, {}
  for key in pairs(headers) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    local edit = headers[key]
    if edit.value then
      set[#set + 1] = edit
    else
      remove[#remove + 1] = edit.name
    end
  end
  return set, remove
end

---@param collected table
---@return table {set = list of {name=, value=}, remove = names, body=, target=, status=, observers = handles}
function edits.done(collected)
  local set, remove = split(collected.headers)
  return { set = set, remove = remove, body = collected.body, target = collected.target, status = collected.status,
    observers = collected.observers }
end

return edits
