-- SPDX-License-Identifier: Apache-2.0
-- Merges the layers of a policy, base first: lists append, maps merge, single values replace, callbacks form a chain.

local layers = {}

-- Other texts may hold what is not for everybody, as the URL of a proxy its password.
local SHOWN = { boolean = true, integer = true, enum = true }

---May values of a key be shown?
---@param node table of srt.schema
---@return boolean
function layers.shown(node) return SHOWN[node.type] or false end

local function text_of(v)
  return type(v) == "table" and v.path or v
end

-- A later layer takes back what an earlier one said.
local function undo(merged, key, text, origin, was)
  merged.undone[#merged.undone + 1] = { key = key, text = text, origin = origin, was = was }
end

---Takes an entry out of what the base layers gave.
local function remove(list, entry, merged, key)
  local kept, hit = {}, false
  for _, old in ipairs(list) do
    if text_of(old.value) == entry.remove then
      hit = true
      undo(merged, key, ("%q is taken out"):format(entry.remove), entry.origin, old.origin)
    else
      kept[#kept + 1] = old
    end
  end
  if not hit then
    merged.warnings[#merged.warnings + 1] = { origin = entry.origin, key = key,
      message = ("srt.remove %q takes nothing out: no policy extended here has that entry"):format(entry.remove) }
  end
  return kept
end

local merge = {}

function merge.list(old, leaf, merged)
  local list = old and old.list or {}
  for _, entry in ipairs(leaf.entries) do
    if entry.value == nil then
      list = remove(list, entry, merged, leaf.key)
    end
  end
  for _, entry in ipairs(leaf.entries) do
    if entry.value ~= nil then
      list[#list + 1] = entry
    end
  end
  return { list = list }
end

function merge.map(old, leaf, merged)
  local map = old and old.map or {}
  for k, entry in pairs(leaf.entries) do
    if map[k] and map[k].value ~= entry.value then
      undo(merged, leaf.key, k .. " is another", entry.origin, map[k].origin)
    end
    map[k] = entry
  end
  return { map = map }
end

merge["function"] = function(old, leaf)
  local chain = old and old.chain or {}
  chain[#chain + 1] = { value = leaf.value, origin = leaf.origin }
  return { chain = chain }
end

local function single(old, leaf, merged)
  if old and old.value ~= leaf.value and type(leaf.value) ~= "table" then
    local text = layers.shown(leaf.node) and ("%s becomes %s"):format(tostring(old.value), tostring(leaf.value))
    undo(merged, leaf.key, text or "it is another", leaf.origin, old.origin)
  end
  return { value = leaf.value }
end

---@param list table[][] of leaves, base first
---@param warnings table[] more are added
---@return table merged {values = {[key] = {node, status, origin, and one of list, map, chain, value}}, warnings=,
--- undone = {key=, text=, origin=, was=}: what a layer took back of those before it}
function layers.merge(list, warnings)
  local values = {}
  local merged = { values = values, warnings = warnings, undone = {} }
  for _, leaves in ipairs(list) do
    for _, leaf in ipairs(leaves) do
      local value = (merge[leaf.node.type] or single)(values[leaf.key], leaf, merged)
      value.node, value.status, value.origin = leaf.node, leaf.status, leaf.origin
      values[leaf.key] = value
    end
  end
  values.extends = nil
  return merged
end

return layers
