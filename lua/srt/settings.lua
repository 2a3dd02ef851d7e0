-- SPDX-License-Identifier: Apache-2.0
-- JSON settings as srt takes them: which keys must be there, and what it gives a command besides.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local settings = {}

-- What srt demands. A settings file with less is probably not what its user meant.
local REQUIRED = { { "network", "allowedDomains" }, { "network", "deniedDomains" }, { "filesystem", "denyRead" },
  { "filesystem", "allowWrite" }, { "filesystem", "denyWrite" } }

-- What srt lets a command write unasked, where it exists. It has more: each run of ours has its own TMPDIR.
local WRITABLE = { "/tmp/claude", "~/.npm/_logs", "~/.claude/debug" }

local MAX_BYTES = 16 << 20

local function missing(value)
  local names, seen = {}, {}
  for _, key in ipairs(REQUIRED) do
    local section = value[key[1]]
    if section == nil then
      if not seen[key[1]] then names[#names + 1] = key[1] end
      seen[key[1]] = true
    elseif type(section) == "table" and section[key[2]] == nil then
      names[#names + 1] = key[1] .. "." .. key[2]
    end
  end
  return names
end

---Reads one JSON text.
---@param text string
---@param partial boolean|nil keys that srt demands may be missing
---@return table|nil given {value, places, lenient} for session.resolve
---@return string|nil reason
function settings.decode(text, partial)
  if not text:find("[^ \t\r\n]") then return nil, "is empty. Delete it, or put a config in it" end
  local value, places = require("srt.json").decode(text)
  if value == nil then return nil, ("is not valid JSON: line %d: %s"):format(places.line or 1, places.message) end
  if type(value) ~= "table" or places.kinds[value] ~= "table" then
    return nil, "does not hold a valid config: it is no JSON object"
  end
  local absent = partial and {} or missing(value)
  if absent[1] then
    return nil, "does not hold a valid config: these keys must be there: " .. table.concat(absent, ", ")
  end
  return { value = value, places = places, lenient = true }
end

-- They are open in place of what a denyRead entry covers in srt, too, where an allowRead entry opens them again. That
-- takes the decisions on paths, which are not there yet; so one below any denyRead entry is left out.
local function denied(value, path, facts)
  local lists = type(value.filesystem) == "table" and value.filesystem.denyRead
  for _, entry in ipairs(type(lists) == "table" and lists or {}) do
    local given = type(entry) == "table" and entry.path or entry
    local place = type(given) == "string" and paths.expand(given, facts)
    if place and (place == path or paths.below(path, place)) then return true end
  end
  return false
end

---What a command may write under srt without being told so.
---@param facts table of session.facts
---@param value table settings
---@return table policy
function settings.defaults(facts, value)
  local list = {}
  for _, name in ipairs(WRITABLE) do
    local path = paths.expand(name, facts)
    if path and sys.stat(path) and not denied(value, path, facts) then
      list[#list + 1] = { path = path, literal = true }
    end
  end
  return { filesystem = { allowWrite = list } }
end

---The settings that srt would take.
---@param facts table of session.facts
---@param named string|nil --settings
---@return table|nil given for session.resolve
---@return string path its name in messages
---@return string|nil reason
function settings.find(facts, named)
  local path = named or paths.join(facts.home or "/", ".srt-settings.json")
  -- A run holds its place, where a command may write in the home directory.
  if not named and require("srt.places").was(path) then
    return { value = {}, base = settings.defaults(facts, {}) }, "(no settings)"
  end
  local text, why, code = sys.readfile(path, MAX_BYTES)
  if not text then
    return nil, path, code == "ENOENT" and "does not exist" or "can't be read: " .. why
  end
  local given
  given, why = settings.decode(text)
  if not given then return nil, path, why end
  given.file, given.base = sys.realpath(path), settings.defaults(facts, given.value)
  return given, path
end

return settings
