-- SPDX-License-Identifier: Apache-2.0
-- Programs by name, as execvp(3) finds them.
local sys = require "srt.c.sys"

local programs = {}

---@param path string
---@return boolean is it a file that somebody may execute?
function programs.is(path)
  local st = sys.stat(path)
  return st ~= nil and st.type == "file" and st.mode & tonumber("111", 8) ~= 0
end

---@param name string
---@param search string|nil PATH; what is relative in it is passed over
---@return string|nil path
function programs.find(name, search)
  for folder in (search or ""):gmatch("[^:]+") do
    local path = folder .. "/" .. name
    if folder:sub(1, 1) == "/" and programs.is(path) then return path end
  end
end

return programs
