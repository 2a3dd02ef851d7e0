-- SPDX-License-Identifier: Apache-2.0
-- Writes a project's first policy, for its author to read and change.
local text = require "srt.learn_text"

local starter = {}

local HEAD = [[
-- What commands may do in this project; a starter by srt-lua init. It is yours: read it, change it.
--
--   srt-lua check %s           what it comes to, and what looks wrong
--   srt-lua run %s -- COMMAND  runs COMMAND under it
--
-- All may be read but what is hidden; nothing may be written, and no host reached, but what is listed.
-- The policies in extends come with srt-lua; check shows what each of them brings. man srt-lua-policy has all keys.
]]

-- It is written beside the policy.
local EDITOR = { name = ".luarc.json", why = "an editor takes settings and plugins from it" }

local Writer = {}
Writer.__index = Writer

function Writer:line(depth, ...) self[#self + 1] = ("  "):rep(depth) .. table.concat({ ... }) end

local function item(self, depth, name, why, off)
  local more = off == true and "; take the -- away where it is needed" or off and "; " .. off or ""
  self:line(depth, off and "-- " or "", text.quote(name), ", -- ", text.plain(why), more)
end

local function list(self, depth, key, items, hint)
  if #items == 0 and not hint then return end
  self:line(depth, key, " = {")
  for _, one in ipairs(items) do item(self, depth + 1, one.name, one.why, one.off) end
  if hint then self:line(depth + 1, "-- ", hint) end
  self:line(depth, "},")
end

---@param project srt.project
---@param name string of the policy's file
---@return string
function starter.text(project, name)
  local self = setmetatable({}, Writer)
  self[1] = HEAD:format(name, name):sub(1, -2)
  for _, hint in ipairs(project.hints) do self:line(0, "-- ", hint) end
  self:line(0, "return {")
  local presets = { { name = "workspace", why = "the command may write in the folder that it is run in" },
    { name = "no-secrets", why = "credentials in their usual places are hidden" } }
  list(self, 1, "extends", table.move(project.presets, 1, #project.presets, #presets + 1, presets))
  self:line(0, "")
  self:line(1, "filesystem = {")
  list(self, 2, "denyRead", project.hidden)
  list(self, 2, "denyWrite", table.move(project.closed, 1, #project.closed, 2, { EDITOR }))
  list(self, 2, "allowWrite", {}, '"~/.cache/some-tool", -- besides the working directory')
  self:line(1, "},")
  self:line(0, "")
  self:line(1, "network = {")
  list(self, 2, "allowedDomains", project.hosts, '"api.example.com:443", -- besides what extends allows')
  self:line(2, "-- Asked for hosts that no list names; answers true, or false and why.")
  self:line(2, "-- decideConnect = function(conn)")
  self:line(2, "--   return false, conn.host .. \" is not for this project\"")
  self:line(2, "-- end,")
  self:line(1, "},")
  self:line(0, "}")
  return table.concat(self, "\n") .. "\n"
end

local TESTS = [[
-- What %s has to answer; srt-lua test asks it, and runs nothing. A starter by srt-lua init: add what matters to you.
return {
  rows = {
    { write = "src/x", is = "allow" },
    { write = "%s", is = "deny" },
    { create = ".git/hooks/pre-commit", is = "deny" },
    { read = "~/.ssh/id_ed25519", is = "deny" },
    { connect = "example.com:443", is = "deny" },
  },
}
]]

---The first tests of that policy.
---@param name string of the policy's file
---@return string
function starter.tests(name) return TESTS:format(name, name) end

---What an editor with lua-language-server takes.
---@param library string|nil the folder of our definitions
---@return string JSON
function starter.editor(library)
  return require("srt.json").encode {
    ["runtime.version"] = "Lua 5.4",
    ["workspace.library"] = library and { library } or nil,
    ["workspace.checkThirdParty"] = false,
    ["diagnostics.globals"] = not library and { "srt" } or nil,
  } .. "\n"
end

return starter
