-- SPDX-License-Identifier: Apache-2.0
-- What a kernel does by a list of Landlock rules, after its documentation (landlock(7)), and nothing of ours: a rule
-- at a path or at any folder above it gives its rights, rights only add up, and what nobody gives is refused.
-- An action on a name needs its right where the name's folder is.

local model = {}

local function above(path)
  if path == "/" then return nil end
  return path:match("^(.+)/[^/]*$") or "/"
end

---@param rules {path: string, access: string}[] as `srt-lua compile --json --backend landlock` prints them
---@param exists fun(path: string): boolean what is not there when the ruleset is made has no rule
---@return table<string, string> granted by path
function model.load(rules, exists)
  local granted = {}
  for _, rule in ipairs(rules) do
    if exists(rule.path) then granted[rule.path] = (granted[rule.path] or "") .. rule.access end
  end
  return granted
end

---@param granted table from model.load
---@param path string
---@param right string a letter
---@return boolean
function model.has(granted, path, right)
  while path do
    if (granted[path] or ""):find(right, 1, true) then return true end
    path = above(path)
  end
  return false
end

-- What an action asks for, and where.
local ASKS = {
  read = function(g, path) return model.has(g, path, "r") end,
  execute = function(g, path) return model.has(g, path, "x") end,
  list = function(g, path) return model.has(g, path, "l") end,
  write = function(g, path) return model.has(g, path, "w") end,
  make = function(g, path) return model.has(g, above(path), "m") and model.has(g, above(path), "w") end,
  remove = function(g, path) return model.has(g, above(path), "m") end,
}

---@param granted table
---@param action string
---@param path string
---@return boolean
function model.allows(granted, action, path)
  return ASKS[action](granted, path)
end

local function beneath(path, list, strictly)
  for _, folder in ipairs(list) do
    local inside = path:sub(1, #folder + 1) == folder .. "/" or folder == "/" and path ~= "/"
    if inside or (not strictly and path == folder) then return true end
  end
  return false
end

--- What the agent does besides (core/area.h), by what the plan tells it.
---@param area {tops: string[], held: string[], reads: boolean?}
---@param guard {paths: string[]}
---@param action string
---@param path string
---@return boolean
function model.serves(area, guard, action, path)
  if beneath(path, guard.paths) then return false end
  if action == "list" then return area.reads == true and beneath(path, area.tops) end
  if not beneath(path, area.tops, true) then return false end
  if action == "read" then return area.reads == true end
  if action == "remove" then
    for _, held in ipairs(area.held) do
      if held == path then return false end
    end
  end
  return action ~= "execute"
end

return model
