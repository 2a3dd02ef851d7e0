-- SPDX-License-Identifier: Apache-2.0
-- What to add to a policy so that a denied change or read is allowed the next time; or why nothing is advised.
local answers = require "srt.answers"
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local advice = {}

-- Rules of srt.judge that an entry of allowUnixSockets would have kept from denying.
local UNLISTED = { ["no network.allowUnixSockets"] = true, ["network.allowUnixSockets names no such path"] = true }
local READ, WRITE = "filesystem.allowRead", "filesystem.allowWrite"

---@param path string
---@return string as an entry of a list
local function entry(path)
  local quoted = '"' .. path:gsub('[\\"]', "\\%0"):gsub("\n", "\\n") .. '"'
  return path:find("[*?%[]") and ("{ path = %s, literal = true }"):format(quoted) or quoted
end

local function add(path, list) return ("add %s to %s"):format(entry(path), list) end

local function home(folder)
  local given = sys.environ().HOME
  return folder == sys.homeof() or given ~= nil and folder == sys.realpath(given)
end

-- Folders that hold everything of a user, or of the system, should not be written.
local function broad(folder) return not folder:find("^/[^/]+/") or home(folder) end

-- Why a protected name is one: no entry makes it writable.
local function protected(path)
  for _, row in ipairs(require("srt.protected").NAMES) do
    local at = (path .. "/"):find("/" .. row[1] .. "/", 1, true)
    if at and (row.where ~= "home" or home(path:sub(1, at - 1))) then return row[2] end
  end
end

local function refused(why) return nil, ("%s; no entry makes it writable"):format(why) end

local function of_folder(action, path)
  local folder = paths.parent(path)
  if not broad(folder) then return add(folder, WRITE) end
  if action ~= "delete" and home(folder) then return ("make %s first, then "):format(path) .. add(path, WRITE) end
  return nil, ("%s would have to be writable, which is too much to advise"):format(folder)
end

-- Actions that are advised on as another one is.
local LIKE = { list = "read", stat = "read", unlink = "delete", rmdir = "delete", rename = "delete",
  exchange = "delete" }

-- The entry that would allow it, were it there when a run starts.
local function listed(path, entries)
  for _, one in ipairs(entries) do
    if one.path and paths.below(path, one.path) and not sys.lstat(one.path) then return one.path end
  end
end

---What to add so that a Unix socket may be connected to.
---@param answer srt.answer a denial
---@param env table<string, string>
---@return string|nil
function advice.socket(answer, env)
  if not UNLISTED[answer.rule.builtin] then return nil end
  local risk = require("srt.unix_sockets").risk(answer.real, env)
  return add(answer.real, "network.allowUnixSockets") .. (risk and ", if you take the risk: " .. risk or "")
end

---@param action string as the agent names it, or of srt.judge
---@param answer srt.answer a denial
---@param fs table filesystem of the profile
---@return string|nil advice
---@return string|nil reason why there is none, where more than the rule is to be said
function advice.of(action, answer, fs)
  local rule, path = answer.rule, answer.real
  action = LIKE[action] or action
  if rule.config then
    return ("set filesystem.allowGitConfig = true, if you take the risk: %s, on the host"):format(rule.why)
  end
  if rule.name and rule.why then return refused(rule.why) end
  if rule == answers.UNWRITABLE then
    local why = protected(path)
    if why then return refused(why) end
    local missing = listed(path, fs.allowWrite)
    if missing then return ("make %s before a run: %s has it, and it does not exist"):format(missing, WRITE) end
    if action == "delete" or not sys.lstat(path) then return of_folder(action, path) end
    if broad(path) then return nil, ("%s is too much to advise"):format(path) end
    return add(path, WRITE)
  end
  if action == "read" and not rule.builtin and rule.origin and rule.origin.key then return add(path, READ) end
end

return advice
