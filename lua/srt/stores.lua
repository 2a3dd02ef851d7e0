-- SPDX-License-Identifier: Apache-2.0
-- Where credentials usually lie: what policies/no-secrets.lua and no-system-secrets.lua hide, and some names anywhere.
local paths = require "srt.paths"

local stores = {}

-- In any folder.
local NAMES = { [".env"] = true, [".npmrc"] = true, [".pypirc"] = true, [".netrc"] = true, [".git-credentials"] = true,
  [".htpasswd"] = true, [".pgpass"] = true }

local Stores = {}
Stores.__index = Stores

---The store that a path is, or lies in.
---@param path string absolute
---@return string|nil store absolute
function Stores:holding(path)
  local at = path
  while at ~= "/" do
    if self.known[at] or NAMES[at:match("[^/]*$")] then return self.known[at] or at end
    at = paths.parent(at)
  end
  return nil
end

---@param own string[] absolute paths, of the user
---@param system string[] and of the system
---@param real fun(path: string): string|nil where a store really lies, if it is there
---@return table stores with :holding, and `list` of absolute paths
function stores.new(own, system, real)
  local self = setmetatable({ list = table.move(own, 1, #own, 1, {}), known = {}, system = {} }, Stores)
  for _, path in ipairs(system) do
    self.list[#self.list + 1], self.system[path] = path, true
  end
  for _, path in ipairs(self.list) do self.known[real(path) or path] = path end
  for _, path in ipairs(self.list) do self.known[path] = path end
  return self
end

return stores
