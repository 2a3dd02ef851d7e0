-- SPDX-License-Identifier: Apache-2.0
-- Windows' names of paths and ours: C:\work is /mnt/c/work, as WSL mounts it.
local drives = {}

local BACKSLASH = "\\"
-- Not in a name on Windows; a colon would name a stream of a file.
local REFUSED = "[%z\1-\31<>:\"|?*\\]"
local DEVICES = {}
for word in ("con prn aux nul conin$ conout$"):gmatch("%S+") do DEVICES[word] = true end
for i = 0, 9 do DEVICES["com" .. i], DEVICES["lpt" .. i] = true, true end

---Ours for what a user wrote.
---@param given string
---@return string|nil path where it names a drive
---@return string|nil problem
function drives.ours(given)
  local letter, rest = given:match("^(%a):[\\/](.*)$")
  if letter then return "/mnt/" .. letter:lower() .. "/" .. rest:gsub(BACKSLASH, "/") end
  if given:find("^%a:") then return nil, "a path on a drive begins with its root: write C:\\NAME or C:/NAME" end
  if given:find("^\\\\") or given:find("^//") then
    return nil, "a path on another computer has no rules of ours: name a local drive"
  end
end

local function problem_of(name)
  if name:find(REFUSED) or name:find("[ .]$") or not utf8.len(name) then return "a name that Windows can't have" end
  if DEVICES[(name:match("^[^.]*"):gsub(" +$", "")):lower()] then return "the name of a device" end
end

---Windows' for ours.
---@param path string absolute
---@param strict boolean|nil in WSL, what is on no drive has no name there; elsewhere it is taken as of drive C
---@return string|nil
---@return string|nil problem
function drives.theirs(path, strict)
  local letter, rest = path:match("^/mnt/(%l)(/?.*)$")
  if not letter or rest ~= "" and rest:sub(1, 1) ~= "/" then
    if strict then return nil, "it lies on no drive of Windows" end
    letter, rest = "c", path
  end
  for name in rest:gmatch("[^/]+") do
    local problem = problem_of(name)
    if problem then return nil, ("%q is %s"):format(name, problem) end
  end
  if rest == "" then rest = "/" end
  return letter:upper() .. ":" .. rest:gsub("/", BACKSLASH)
end

return drives
