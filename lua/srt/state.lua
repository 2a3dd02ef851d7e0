-- SPDX-License-Identifier: Apache-2.0
-- State files: what each run has on the host and what it found at its start, so that another one can clean up after it.
--
-- A file is a row of names and values, each ended by a NUL, since paths are any other bytes. Only the caller may write
-- to the folder, and no command may (lua/srt/profile.lua). Each process of a run holds its file by a lock: a file that
-- can be claimed belongs to nobody any more.
local paths = require "srt.paths"
local sys = require "srt.c.sys"
local tidy = require "srt.c.tidy"

local state = {}

local GROUP_AND_OTHER_WRITE = tonumber("022", 8)

local function add(list, base, name)
  local st = base and base:sub(1, 1) == "/" and sys.stat(base)
  if st and st.type == "dir" then list[#list + 1] = paths.normalize(base) .. name end
end

---Where state files may lie, the best first. The last is removed again when it is empty.
---@param facts {env: table, home: string|nil}
---@param temp string|nil the folder for temporary files
---@return string[]
function state.folders(facts, temp)
  local list = {}
  add(list, facts.env.XDG_STATE_HOME, "/srt-lua")
  add(list, facts.home, "/.local/state/srt-lua")
  add(list, facts.env.XDG_RUNTIME_DIR, "/srt-lua")
  add(list, temp or "/tmp", ("/srt-lua-%d"):format(sys.ids()))
  return list
end

---Is the folder there, the caller's, and closed to others? Nobody's else is trusted.
---@param path string
---@return boolean
function state.isOurs(path)
  local st = sys.lstat(path)
  return st ~= nil and st.type == "dir" and st.uid == sys.ids() and st.mode & GROUP_AND_OTHER_WRITE == 0
end

---The folder of the sockets of sessions in a folder of ours.
---@param folder string
---@return string
function state.sockets(folder) return folder .. "/sessions" end

-- Makes a folder with its parents; all is beneath a folder that is there.
local function make(path)
  if sys.lstat(path) then return end
  local above = paths.parent(path)
  if not sys.lstat(above) then make(above) end
  local st = sys.stat(above)
  -- In another user's home nothing is made, also where the kernel would let us.
  if st and (st.uid == sys.ids() or st.mode & 512 ~= 0) then tidy.mkdir(path) end
end

-- Is it ours, made where it was not there?
local function had(folder)
  if state.isOurs(folder) then return true end
  make(folder)
  return state.isOurs(folder)
end

---Makes the folder that the state of a run will be in. Before the policy is resolved: only what is there by then is
---kept from the command.
---@param folders string[] from state.folders
---@return string|nil folder
function state.prepare(folders)
  for _, folder in ipairs(folders) do
    if had(folder) then return folder end
  end
end

local LISTS = { "denyRead", "allowRead", "allowWrite", "denyWrite" }

---Of a run's decisions what decide_path.restore() needs: the paths that matter where something may be written.
---@param rules table of srt.decide_path
---@return table<string, string[]>
function state.kept(rules)
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

local REPORT = { "command", "commandId", "policy", "path" }

-- How to report what is found only after the run, when its policy isn't loaded any more.
local function put_report(report, put)
  local function text(name, value) put(name, (value:gsub("%z", ""))) end
  for _, name in ipairs(REPORT) do
    if report[name] then text("report." .. name, report[name]) end
  end
  for pattern, parts in pairs(report.ignore or {}) do
    text("ignore", pattern)
    for _, part in ipairs(parts) do text("part", part) end
  end
end

---What a state file of a run says.
---@param record table
---@return string
function state.encode(record)
  local out = {}
  local function put(name, value)
    out[#out + 1] = name
    out[#out + 1] = value
  end
  put("temp", record.temp)
  if record.masks then put("masks", record.masks) end
  for _, path in ipairs(record.places) do put("place", path) end
  if record.home then put("home", record.home) end
  for _, base in ipairs(record.bases) do put("base", (base.shared and "s" or "") .. base.depth .. ":" .. base.path) end
  put("repositories", record.settings.newRepositories)
  if record.settings.allowGitConfig then put("allowGitConfig", "") end
  for _, item in ipairs(record.settings.names) do put("name", item.name) end
  for path in pairs(record.seen) do put("seen", path) end
  for path in pairs(record.gits) do put("git", path) end
  if record.report then put_report(record.report, put) end
  for name, list in pairs(record.lists) do
    for _, path in ipairs(list) do put(name, path) end
  end
  out[#out + 1] = ""
  return table.concat(out, "\0")
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
for _, name in ipairs(REPORT) do
  READERS["report." .. name] = function(record, value) record.report[name] = value end
end

---Reads a state file; what a power cut has left of it.
---@param path string
---@return table record
function state.read(path)
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

---Makes the state file of a run.
---@param folders string[] from state.folders
---@param text string of state.encode
---@return table|nil handle {path, fd, folder}
---@return string|nil message
function state.create(folders, text)
  local message, code
  for _, folder in ipairs(folders) do
    local path = folder .. "/" .. assert(sys.random(16)) .. ".run"
    for _ = 1, 3 do
      local fd
      if had(folder) then fd, message, code = tidy.create(path, text) end
      if fd then return { path = path, fd = fd, folder = folder } end
    end
    state.leave(folders, folder)
  end
  return nil, "there is no folder for the state of the run that only this user can write to: "
    .. table.concat(folders, ", ") .. (message and " (" .. message .. ")" or "")
    .. (code == "EFBIG" and "; raise the limit on the size of files (ulimit -f)" or "")
end

---Leaves a report for the next run to print.
---@param path string the state file that it takes the place of
---@param lines string[]
function state.say(path, lines)
  local out = {}
  for _, line in ipairs(lines) do out[#out + 1] = "said\0" .. line .. "\0" end
  local fd = tidy.create((path:gsub("%.run$", ".said")), table.concat(out))
  if fd then tidy.close(fd) end
end

---Calls fn for each state file in a folder that nobody holds.
---@param folder string
---@param fn fun(path: string, fd: integer)
function state.each(folder, fn)
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

---Removes a folder that is only there for the moment.
---@param folders string[]
---@param folder string
function state.leave(folders, folder)
  if folder ~= folders[#folders] then return end
  local _, told = require("srt.violation_file").path(folder)
  tidy.rmdir(told)
  tidy.rmdir(folder)
end

return state
