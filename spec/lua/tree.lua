-- SPDX-License-Identifier: Apache-2.0
-- Real trees of files for specs, and profiles over them.
local paths = require("srt.paths")
local sys = require("srt.c.sys")

local tree = {}

local function sh(command, ...)
  local words = { command }
  for _, word in ipairs({ ... }) do words[#words + 1] = "'" .. word:gsub("'", "'\\''") .. "'" end
  assert(os.execute(table.concat(words, " ")))
end

--- Makes a tree in a fresh folder.
---@param entries string[] relative paths, parents first; folders end in "/"
---@param links table<string, string>? link → target
---@return string top its real path
function tree.make(entries, links)
  local top = sys.realpath("/tmp") .. "/srt-spec-" .. sys.random(8)
  sh("mkdir", top)
  for _, entry in ipairs(entries) do
    if entry:sub(-1) == "/" then
      sh("mkdir", top .. "/" .. entry)
    else
      local file = assert(io.open(top .. "/" .. entry, "w"))
      file:write(entry)
      file:close()
    end
  end
  for link, target in pairs(links or {}) do sh("ln -s", target, top .. "/" .. link) end
  return top
end

function tree.remove(top)
  assert(top:match("^/.*/srt%-spec%-%x+$"))
  sh("rm -rf", top)
end

--- A profile with these lists, enough for decisions and plans.
function tree.profile(top, lists)
  local profile = { filesystem = {}, network = { enabled = false, allowed = {}, denied = {} }, env = {},
    unix = { allowed = {} }, observe = { mode = "none" }, callbacks = { decideOpen = {} } }
  for _, name in ipairs({ "denyRead", "allowRead", "allowWrite", "denyWrite", "masked" }) do
    local list = {}
    for i, given in ipairs(lists[name] or {}) do
      list[i] = { given = given, path = assert(paths.expand(given, { cwd = top, home = top .. "/home" })),
        origin = { key = "filesystem." .. name } }
    end
    profile.filesystem[name] = list
  end
  return profile
end

return tree
