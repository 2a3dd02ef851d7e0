-- SPDX-License-Identifier: Apache-2.0
-- Where a policy that is written for its user goes.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local output = {}

local MODE = tonumber("644", 8)

---The file that a policy may be written to.
---@param given string as the user gave it
---@param force boolean|nil overwrite it
---@param cwd string
---@return string|nil path absolute
---@return string|nil reason
function output.place(given, force, cwd)
  local path = paths.normalize(paths.absolute(given, cwd))
  local folder, why = sys.realpath(paths.parent(path))
  if not folder then return nil, ("%s can't be written: %s"):format(given, why) end
  path = paths.join(folder, path:match("[^/]*$"))
  local st = sys.lstat(path)
  if st and (st.type ~= "file" or not force) then
    return nil, ("%s is there already; %s"):format(given, st.type == "file"
      and "name another file with -o, or overwrite it with --force" or "and it is no plain file")
  elseif not sys.writable(folder) then
    return nil, ("%s can't be written: its folder is closed to this user"):format(given)
  end
  return path
end

---Writes it.
---@param path string of output.place
---@param text string
---@param force boolean|nil
---@param mode integer|nil where others may not read it
---@return boolean|nil ok
---@return string|nil reason
---@return string|nil code "EEXIST" where it came to be meanwhile
function output.put(path, text, force, mode)
  local tidy = require "srt.c.tidy"
  if force and sys.lstat(path) then tidy.unlink(path) end
  return tidy.put(path, text, mode or MODE)
end

return output
