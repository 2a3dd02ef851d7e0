-- SPDX-License-Identifier: Apache-2.0
-- State files: what each run has on the host and what it found at its start, so that another one can clean up after it.
--
-- Here they are made; srt.state_files reads them. A file is a row of names and values, each ended by a NUL, since paths
-- are any other bytes. Only the caller may write to the folder, and no command may (lua/srt/profile.lua). Each process
-- of a run holds its file by a lock: a file that can be claimed belongs to nobody any more.
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

-- How a run reports, in its state file.
state.REPORT = { "command", "commandId", "policy", "path" }

-- How to report what is found only after the run, when its policy isn't loaded any more.
local function put_report(report, put)
  local function text(name, value) put(name, (value:gsub("%z", ""))) end
  for _, name in ipairs(state.REPORT) do
    if report[name] then text("report." .. name, report[name]) end
  end
  for pattern, parts in pairs(report.ignore or {}) do
    text("ignore", pattern)
    for _, part in ipairs(parts) do text("part", part) end
  end
end

---What a state file of a run says.
---@param record table brief = no more than what is to be removed
---@return string
function state.encode(record)
  local out = {}
  local function put(name, value)
    out[#out + 1] = name
    out[#out + 1] = value
  end
  put("temp", record.temp)
  if record.masks then put("masks", record.masks) end
  if record.brief then
    out[#out + 1] = ""
    return table.concat(out, "\0")
  end
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

---Makes the state file of a run.
---@param folders string[] from state.folders
---@param text string of state.encode
---@param told nil|fun(path: string) before a file may be there
---@return table|nil handle {path, fd, folder}
---@return string|nil message
function state.create(folders, text, told)
  local message, code
  for _, folder in ipairs(folders) do
    local path = folder .. "/" .. assert(sys.random(16)) .. ".run"
    if told then told(path) end
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
