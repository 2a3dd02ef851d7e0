-- SPDX-License-Identifier: Apache-2.0
-- The names that a policy denies before they are there, as regular expressions for backends/seatbelt.lua.
local paths = require "srt.paths"
local protected = require "srt.protected"
local sbpl = require "backends.sbpl"

local names = {}

local LISTS = { allowWrite = "allow", denyRead = "read", denyWrite = "write" }

-- A path and all beneath it.
local BENEATH = "(/|$)"
-- In a repository's folder, or that of a submodule in it.
local GIT = "/[.][gG][iI][tT]/(modules/([^/]|/)*/)?"

-- A folder's path as text; as a name that may be spelled in another case where it is not there.
local function top_of(path, real)
  local there = require("srt.c.sys").lstat(path) ~= nil
  local spelled = path == "/" and "" or real(path)
  return there and sbpl.plain(spelled) or sbpl.folded(spelled)
end

local function pattern_of(glob, top, denies, real)
  return "^" .. top_of(top, real) .. sbpl.glob("/" .. glob.rest, denies) .. BENEATH
end

local function tops_of(glob)
  local list = {}
  for i, top in ipairs(glob.tops) do
    local resolved = paths.resolve(top)
    list[i] = resolved.real or resolved.whole or top
  end
  return list
end

local function globs(out, profile, real)
  for _, glob in ipairs(profile.filesystem.globs or {}) do
    for _, top in ipairs(tops_of(glob)) do
      local list = out[LISTS[glob.list]]
      if list then list[#list + 1] = pattern_of(glob, top, glob.list ~= "allowWrite", real) end
      if list == out.read then out.covering[#out.covering + 1] = paths.join(top, glob.rest):lower() end
    end
  end
end

-- Of repositories that are there, and of those that a command makes: who looks at these when it has ended is not there.
local function repositories(out, rules, settings, parts, real)
  if not parts[1] then return end
  local spelled = {}
  for i, part in ipairs(parts) do spelled[i] = sbpl.folded(part) end
  local any = "(" .. table.concat(spelled, "|") .. ")" .. BENEATH
  for _, dir in ipairs(require("srt.tables").keys(rules.found and rules.found.gits or {})) do
    table.insert(out.write, "^" .. top_of(dir, real) .. "/" .. any)
  end
  if settings.newRepositories == "quarantine" then table.insert(out.anywhere, GIT .. any) end
end

local function protection(out, profile, rules, real)
  local settings = profile.protection
  if not settings or settings.off or not next(rules.allowWrite) then return end
  local git, home = {}, profile.home and (require("srt.c.sys").realpath(profile.home) or profile.home)
  for _, entry in ipairs(protected.list(settings)) do
    if entry.where == "git" then
      git[#git + 1] = entry.parts[2]
    elseif entry.where == "home" then
      if home then table.insert(out.write, "^" .. top_of(home, real) .. "/" .. sbpl.folded(entry.name) .. BENEATH) end
    else
      table.insert(out.anywhere, "/" .. sbpl.folded(entry.name) .. BENEATH)
    end
  end
  repositories(out, rules, settings, git, real)
end

-- What createGuard = "supervisor" keeps from being made, by path.
local function absent(out, rules, real)
  for _, path in ipairs(require("srt.tables").keys(rules.guard and rules.guard.paths or {})) do
    out.later[path] = true
    table.insert(out.write, "^" .. top_of(path, real) .. BENEATH)
  end
end

--- Everything that holds by name.
---@param profile table
---@param rules table from srt.decide_path
---@param real fun(path: string): string what a path is called there
---@return table out expressions: allow = of allowWrite, read = of denyRead, write = of what can't be written, anywhere
--- = of names that can't be written but in folders that skip matches; covers = fun(path): boolean is it, or a folder
--- above it, matched by denyRead?; later = paths that are not there
function names.of(profile, rules, real)
  local out = { allow = {}, read = {}, write = {}, anywhere = {}, skip = {}, covering = {}, later = {} }
  for i, name in ipairs(protected.SKIP) do out.skip[i] = "/" .. sbpl.plain(name) .. "/" end
  function out.covers(path)
    for _, pattern in ipairs(out.covering) do
      if require("srt.c.walk").matches(pattern, path:lower()) then return true end
    end
    return false
  end
  globs(out, profile, real)
  absent(out, rules, real)
  protection(out, profile, rules, real)
  return out
end

return names
