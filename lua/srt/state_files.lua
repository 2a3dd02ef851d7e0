-- SPDX-License-Identifier: Apache-2.0
-- State files (srt.state) as whoever cleans up finds them, and what it takes from the decisions of a run that writes.
local paths = require "srt.paths"
local state = require "srt.state"
local sys = require "srt.c.sys"
local tidy = require "srt.c.tidy"

local files = {}

local LISTS = { "denyRead", "allowRead", "allowWrite", "denyWrite" }

---Of a run's decisions what decide_path.restore() needs: the paths that matter where something may be written.
---@param rules table of srt.decide_path
---@return table<string, string[]>
function files.kept(rules)
  local lists = {}
  local function matters(path)
    for root in pairs(rules.allowWrite) do
      if paths.below(path, root) or paths.below(root, path) then return true end
    end
  end
  for _, name in ipairs(LISTS) do
    lists[name] = {}
    for path in pairs(rules[name]) do
      if not rules.placeholders[path] and matters(path) then table.insert(lists[name], path) end
    end
  end
  return lists
end

local READERS = {
  temp = function(record, value) record.temp = value end,
  masks = function(record, value) record.masks = value end,
  home = function(record, value) record.home = value end,
  place = function(record, value) table.insert(record.places, value) end,
  said = function(record, value) table.insert(record.said, value) end,
  base = function(record, value)
    local shared, depth, path = value:match("^(s?)(%d+):(/.*)$")
    if path then table.insert(record.bases, { depth = tonumber(depth), path = path, shared = shared == "s" }) end
  end,
  repositories = function(record, value) record.settings.newRepositories = value end,
  allowGitConfig = function(record) record.settings.allowGitConfig = true end,
  name = function(record, value) table.insert(record.settings.names, { name = value }) end,
  seen = function(record, value) record.seen[value] = true end,
  git = function(record, value) record.gits[value] = true end,
  id = function(record, value)
    local id, path = value:match("^(%d+:%d+):(/.*)$")
    if path then record.ids[path] = id end
  end,
  ignore = function(record, value)
    record.report.ignore = record.report.ignore or {}
    record.parts = {}
    record.report.ignore[value] = record.parts
  end,
  part = function(record, value)
    if record.parts then table.insert(record.parts, value) end
  end,
}
for _, name in ipairs(state.REPORT) do
  READERS["report." .. name] = function(record, value) record.report[name] = value end
end

---Reads a state file; what a power cut has left of it.
---@param path string
---@return table record
function files.read(path)
  local record = { places = {}, bases = {}, seen = {}, gits = {}, ids = {}, said = {}, lists = {},
    report = {}, settings = { names = {}, newRepositories = "quarantine" } }
  for name, value in (sys.readfile(path, 1 << 30) or ""):gmatch("(%Z*)%z(%Z*)%z") do
    local reader = READERS[name]
    if reader then
      reader(record, value)
    else
      record.lists[name] = record.lists[name] or {}
      table.insert(record.lists[name], value)
    end
  end
  return record
end

---Leaves a report for the next run to print.
---@param path string the state file that it takes the place of
---@param lines string[]
function files.say(path, lines)
  local out = {}
  for _, line in ipairs(lines) do out[#out + 1] = "said\0" .. line .. "\0" end
  local fd = tidy.create((path:gsub("%.run$", ".said")), table.concat(out))
  if fd then tidy.close(fd) end
end

---Calls fn for each state file in a folder that nobody holds.
---@param folder string
---@param fn fun(path: string, fd: integer)
function files.each(folder, fn)
  if not state.isOurs(folder) then return end
  for _, name in ipairs(sys.readdir(folder) or {}) do
    if name:find("^%x+%.run$") or name:find("^%x+%.said$") then
      local path = folder .. "/" .. name
      local fd = tidy.claim(path)
      if fd then
        fn(path, fd)
        tidy.close(fd)
      end
    end
  end
end

return files
