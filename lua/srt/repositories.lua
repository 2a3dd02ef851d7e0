-- SPDX-License-Identifier: Apache-2.0
-- Repositories that were made during a run: what git would run in them is found and put aside.
local gitconfig = require "srt.gitconfig"
local paths = require "srt.paths"
local scan = require "srt.scan"
local sys = require "srt.c.sys"
local tidy = require "srt.c.tidy"

local repositories = {}

local EXECUTABLE = tonumber("111", 8)
local MOST_CONFIG = 1 << 20

-- Settings that git itself makes in some repositories.
local OWN = { module = { ["core.worktree"] = true }, linked = { ["core.worktree"] = true } }

local function hooks(found, dir)
  local path = dir .. "/hooks"
  local st = sys.lstat(path)
  if not st then return end
  if st.type ~= "dir" then return found:aside(path, "git would take hooks from where it leads") end
  local names = sys.readdir(path)
  if not names then return found:aside(path, "it can't be looked into") end
  for _, name in ipairs(names) do
    local hook = path .. "/" .. name
    local own = sys.lstat(hook)
    if not name:find("%.sample$") and not name:find(found.suffix, 1, true) and own
      and (own.type == "link" or (own.type == "file" and own.mode & EXECUTABLE ~= 0)) then
      found:aside(hook, "git would run it")
    end
  end
end

local function config(found, path, kind)
  local st = sys.lstat(path)
  if not st then return end
  local text = st.type == "file" and sys.readfile(path, MOST_CONFIG)
  if not text then return found:aside(path, "it can't be read") end
  local settings, reason = gitconfig.read(text)
  if not settings then return found:aside(path, "git could read it in more than one way (" .. reason .. ")") end
  local bad, keys = {}, {}
  for _, setting in ipairs(settings) do
    if gitconfig.executes(setting) and not (OWN[kind] and OWN[kind][setting.key]) then
      bad[#bad + 1], keys[#keys + 1] = setting, setting.key
    end
  end
  if #bad == 0 then return end
  local why = "it sets " .. table.concat(keys, ", ") .. ", by which git runs programs or is led elsewhere"
  if found:aside(path, why) then
    local ok, message = tidy.put(path, gitconfig.without(text, bad), st.mode & tonumber("777", 8))
    found:say(ok and ("%s has the other settings"):format(path) or ("%s can't be written: %s"):format(path, message))
  end
end

local function commondir(found, dir)
  local path = dir .. "/commondir"
  if not sys.lstat(path) then return end
  local above = paths.parent(dir)
  local repository = above:match("^(.*)/worktrees$")
  if repository and scan.pointer(path, "") == repository and found:judged(repository) then return end
  found:aside(path, "git would take hooks and configuration from where it leads")
end

---Looks at one repository's own folder.
---@param found table the aftermath: aside(path, why), say(line), judged(dir), suffix
---@param dir string
---@param kind string as in srt.scan
function repositories.examine(found, dir, kind)
  hooks(found, dir)
  config(found, dir .. "/config", kind)
  config(found, dir .. "/config.worktree", kind)
  commondir(found, dir)
end

---Looks at a .git file or link: it may lead to a repository that was known or looked at.
---@param found table
---@param path string
---@param kind string
function repositories.pointer(found, path, kind)
  local dir = kind == "file" and scan.pointer(path, "gitdir:")
  if dir and scan.isGit(dir) and found:judged(dir) then return end
  found:aside(path, "git would take hooks and configuration from where it leads")
end

return repositories
