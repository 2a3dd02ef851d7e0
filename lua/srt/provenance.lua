-- SPDX-License-Identifier: Apache-2.0
-- Which policy said what, for check: where single values and variables come from, and what one policy takes back of
-- another that it extends, so that nothing gets wider unseen.

local layers = require("srt.layers")
local paths = require("srt.paths")
local source = require("srt.source")
local tables = require("srt.tables")

local provenance = {}

local ENV = { "set", "unset", "pass" }

-- Of other lists each entry is shown with its place by itself.
local LISTS = { ["filesystem.protect"] = true, ["git.safeDirectories"] = true, ["network.stripResponseHeaders"] = true }

local function settings(values)
  local out = {}
  for _, key in ipairs(tables.keys(values)) do
    local v = values[key]
    for _, entry in ipairs(LISTS[key] and v.list or {}) do
      out[#out + 1] = { key = key, value = entry.value, origin = entry.origin }
    end
    if v.value ~= nil and type(v.value) ~= "table" then
      local item = { key = key, origin = v.origin }
      if layers.shown(v.node) then item.value = v.value end
      out[#out + 1] = item
    end
  end
  return out
end

local function environment(values)
  local out = {}
  for _, name in ipairs(ENV) do
    local v, origins = values["env." .. name], {}
    for k, entry in pairs(v and (v.map or v.list) or {}) do
      origins[v.map and k or entry.value] = entry.origin
    end
    out[name] = origins
  end
  return out
end

local function opened(out, fs)
  local denied = {}
  for _, entry in ipairs(fs.denyRead) do
    if entry.path and entry.origin then denied[entry.path] = denied[entry.path] or entry end
  end
  for _, name in ipairs({ "allowRead", "allowWrite" }) do
    for _, entry in ipairs(fs[name]) do
      local by = entry.path and not entry.builtin and paths.covering(denied, entry.path)
      -- Hidden by its own name a path stays so, whatever may be written.
      if by and by.origin.file ~= entry.origin.file and not (name == "allowWrite" and by.path == entry.path) then
        out[#out + 1] = { key = "filesystem.denyRead",
          text = ("%q has %q readable again"):format(by.given, entry.given),
          origin = entry.origin, was = by.origin }
      end
    end
  end
end

-- What stays a tunnel no filter is asked about.
local function unread(out, profile)
  local tls, origins = profile.network.tls, profile.callbacks.origins
  for _, fn in ipairs(tls and profile.callbacks.filterRequest or {}) do
    for _, rule in ipairs(tls.exclude) do
      if rule.origin.file ~= origins[fn].file then
        out[#out + 1] = { key = "network.filterRequest", text = ("it is not asked about %q"):format(rule.text),
          origin = rule.origin, was = origins[fn] }
      end
    end
  end
end

---@param policy table of srt.policy
---@param profile table resolved of it
---@return {settings: table[], env: table, undone: table[]} settings: {key, value = unless
--- it may be a secret, origin}; env: origins by the names in
--- set, unset, pass; undone: {key, text, origin, was = where that stands which it takes back}
function provenance.of(policy, profile)
  local undone = table.move(policy.undone, 1, #policy.undone, 1, {})
  opened(undone, profile.filesystem)
  unread(undone, profile)
  return { settings = settings(policy.values), env = environment(policy.values), undone = undone }
end

---@param from table|nil of provenance.of
---@return {what: string, where: string}[] settings
---@return {what: string, where: string}[] undone
function provenance.rows(from)
  local settled, undone = {}, {}
  for i, item in ipairs(from and from.settings or {}) do
    local value = item.value ~= nil and ("%s = %s"):format(item.key, tostring(item.value)) or item.key
    settled[i] = { what = value, where = source.where(item.origin) }
  end
  for i, item in ipairs(from and from.undone or {}) do
    undone[i] = { what = ("%s: %s (%s)"):format(item.key, item.text, source.where(item.was)),
      where = source.where(item.origin) }
  end
  return settled, undone
end

---@param from table|nil of provenance.of
---@return table|nil for JSON
function provenance.data(from)
  if not from then return nil end
  local out = { settings = {}, env = {}, undone = {} }
  for i, item in ipairs(from.settings) do
    out.settings[i] = { key = item.key, value = item.value, origin = source.data(item.origin) }
  end
  for i, item in ipairs(from.undone) do
    out.undone[i] = { key = item.key, text = item.text, origin = source.data(item.origin), was = source.data(item.was) }
  end
  for name, origins in pairs(from.env) do
    local by_name = {}
    for key, origin in pairs(origins) do by_name[key] = source.data(origin) end
    out.env[name] = require("srt.json").object(by_name)
  end
  return out
end

return provenance
