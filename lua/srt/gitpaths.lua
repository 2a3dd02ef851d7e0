-- SPDX-License-Identifier: Apache-2.0
-- Where the configuration of known repositories leads git to: hooks in a folder of the project, settings in a file of
-- it. Whoever could write there could do what is refused in .git itself.
local gitconfig = require "srt.gitconfig"
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local gitpaths = {}

local MOST = 1 << 20
local HOOKS = { name = "core.hooksPath", why = "git runs what is in it, by core.hooksPath" }
local INCLUDED = { name = "include.path", why = "git takes settings from it, by include.path" }

local function absolute(value, base, home)
  if value:sub(1, 2) == "~/" then return home and paths.normalize(home .. value:sub(2)) end
  if value:sub(1, 1) ~= "/" then value = base .. "/" .. value end
  return paths.normalize(value)
end

-- Calls each(path, entry) for what one file names. Hooks are looked for from the top of each working tree.
local function read(file, tops, home, each, rules)
  local text = sys.readfile(file, MOST)
  local lower = text and text:lower() or ""
  if not lower:find("hookspath", 1, true) and not lower:find("[include", 1, true) then return end
  local settings, reason = gitconfig.read(text)
  if not settings then
    rules:note({ given = file, origin = { key = "(protected names)" } }, "names hooks or more settings, but can't be "
      .. "read (" .. reason .. "), so what it names is not protected", true)
  end
  for _, setting in ipairs(settings or {}) do
    local value = setting.value
    if value and setting.key == "core.hookspath" then
      for _, top in ipairs(tops) do each(absolute(value, top, home), HOOKS) end
    elseif value and setting.name == "path" and (setting.section == "include" or setting.section == "includeif") then
      each(absolute(value, paths.parent(file), home), INCLUDED)
    end
  end
end

---@param rules table of srt.decide_path, for notes
---@param gits table<string, string> folders of repositories
---@param home string|nil
---@param each fun(path: string, entry: table)
function gitpaths.each(rules, gits, home, each)
  local tops = {}
  for dir, kind in pairs(gits) do
    local top = dir:match("^(.*)/%.git$") or dir
    tops[#tops + 1] = top
    if kind ~= "worktree" then
      read(dir .. "/config", { top }, home, each, rules)
      read(dir .. "/config.worktree", { top }, home, each, rules)
    end
  end
  if home and tops[1] then
    read(home .. "/.gitconfig", tops, home, each, rules)
    read(home .. "/.config/git/config", tops, home, each, rules)
  end
end

return gitpaths
