-- SPDX-License-Identifier: Apache-2.0
-- Where sessions listen: a name leads to a socket in a folder that only this user can enter.
local sys = require "srt.c.sys"

local place = {}

local SUFFIX, MOST_NAME = ".sock", 64

-- Folders of ours, the best one first.
local function folders(facts)
  local list, runtime = {}, facts.env.XDG_RUNTIME_DIR
  local st = runtime and runtime:sub(1, 1) == "/" and sys.stat(runtime)
  if st and st.type == "dir" and st.uid == sys.ids() then list[1] = runtime .. "/srt-lua" end
  local state = require("srt.state").folders(facts)
  return table.move(state, 1, #state, #list + 1, list)
end

---Why a name can't be one of a session, or nil.
---@param name string
---@return string|nil
function place.refuse(name)
  if #name <= MOST_NAME and name:find("^[%w_][%w._-]*$") then return nil end
  return ("%q is no name for a session: it has to be letters, digits, _, . and -, %d at most"):format(name, MOST_NAME)
end

---Where a session of a name listens; its folder is made.
---@param facts {env: table, home: string|nil}
---@param name string
---@return string|nil path
---@return string|nil message
function place.make(facts, name)
  local state = require("srt.state")
  for _, folder in ipairs(folders(facts)) do
    local sockets = state.sockets(folder)
    if state.prepare({ folder }) then require("srt.c.tidy").mkdir(sockets) end
    if state.isOurs(sockets) then
      -- A name that was made up is never taken over by another session.
      for _, left in ipairs(sys.readdir(sockets) or {}) do
        if left:sub(-#SUFFIX) == SUFFIX then require("srt.c.channel").sweep(sockets .. "/" .. left) end
      end
      return sockets .. "/" .. name .. SUFFIX
    end
  end
  return nil, "there is no folder for the session's socket that only this user can write to; name one with --socket"
end

---The names of sessions, for completion; one that was killed may be among them.
---@param facts {env: table, home: string|nil}
---@return string[]
function place.names(facts)
  local found = {}
  for _, folder in ipairs(folders(facts)) do
    for _, file in ipairs(sys.readdir(require("srt.state").sockets(folder)) or {}) do
      local name = file:sub(1, -#SUFFIX - 1)
      if file:sub(-#SUFFIX) == SUFFIX and not place.refuse(name) then found[name] = true end
    end
  end
  return require("srt.tables").keys(found)
end

---The socket of a session.
---@param facts {env: table, home: string|nil}
---@param session string its name, or a path
---@return string|nil path
---@return string|nil message
function place.find(facts, session)
  if session:find("/", 1, true) then return require("srt.paths").absolute(session, facts.cwd) end
  local why = place.refuse(session)
  if why then return nil, why end
  for _, folder in ipairs(folders(facts)) do
    local path = require("srt.state").sockets(folder) .. "/" .. session .. SUFFIX
    if sys.lstat(path) then return path end
  end
  return nil, ("there is no session %q; srt-lua session starts one"):format(session)
end

return place
