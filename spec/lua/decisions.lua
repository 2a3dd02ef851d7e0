-- SPDX-License-Identifier: Apache-2.0
-- Asks a policy by lines such as "write src/a.c -> allow", by srt.rehearse: for specs of the ready-made policies and of
-- what docs/cookbook.md says.
require("spec.lua.support")
local sys = require("srt.c.sys")

local module = assert(os.getenv("SRT_SPEC_CMODULE"), "SRT_SPEC_CMODULE has to name the module with what is in C")
for _, name in ipairs { "box", "sandbox", "task" } do
  package.preload["srt.c." .. name] = assert(package.loadlib(module, "luaopen_srt_c_" .. name))
end

local rehearse = require("srt.rehearse")
local test_world = require("srt.test_world")

local decisions = {}

---@param name string
---@return string|nil text of a ready-made policy
function decisions.preset(name)
  local file = io.open("policies/" .. name .. ".lua")
  local text = file and file:read("a")
  if file then file:close() end
  return text
end

---The names of all ready-made policies; files beside them are their tests.
---@return string[]
function decisions.presets()
  local list = {}
  for _, file in ipairs(assert(sys.readdir("policies"))) do
    local name = file:match("^(.+)%.lua$")
    if name and not name:find("_spec$") then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

local id = assert(io.popen("id -un"))
local ME = id:read()
id:close()

local PROGRAM = {
  embedded = function(name) return decisions.preset(name:match("^policies%.(.+)$")) end,
  embeddedNames = function() return {} end,
}

local Desk = {}
Desk.__index = Desk

---A policy in a home directory and a working directory of its own.
---@param text string
---@param more {env: table?, files: string[]?}|nil files that are there: relative, or with "~/"
---@return table desk :check, :profile, :close
function decisions.open(text, more)
  local world = assert(test_world.new { HOME = os.getenv("HOME"), XDG_CACHE_HOME = "/tmp" })
  local facts = world:facts({ program = PROGRAM, features = sys.features() }, { env = more and more.env, user = ME })
  -- What callbacks log is not of interest.
  facts.log = function() end
  for _, name in ipairs(more and more.files or {}) do assert(world:file(name)) end
  local path = world.root .. "/policy.lua"
  assert(world:file(path, text))
  local rehearsal, problems = rehearse.open(facts, path)
  if not rehearsal then
    world:close()
    error(type(problems) == "string" and problems or problems[1].message .. "\n" .. text, 0)
  end
  return setmetatable({ world = world, rehearsal = rehearsal }, Desk)
end

function Desk:close() self.world:close() end

---@return table profile
function Desk:profile() return self.rehearsal.profile end

local ASK = {}

for _, action in ipairs { "read", "write", "create", "delete" } do
  ASK[action] = function(self, name)
    local got = self:path(action, name)
    return got.decision, got.rule.builtin or got.rule.given
  end
end

function ASK.connect(self, where)
  local socket = where:match("^unix:(.+)")
  if socket then return ASK.socket(self, socket) end
  local host, port = rehearse.place(where)
  local got = self:connect(assert(host, port), port, port == 80 and "http" or "connect")
  return got.action, got.reason
end

-- By the entries: most such sockets are not there where specs run.
function ASK.socket(self, path)
  local sockets = self.loaded.rules.sockets
  return sockets and require("srt.unix_sockets").rule(sockets, self:absolute(path)) and "allow" or "deny"
end

local function request(self, rest)
  local method, url, body = rest:match("^(%S+) (%S+) ?(.*)$")
  local got, wrong = self:request { method = method, url = url, body = body ~= "" and body or nil }
  return assert(got, wrong)
end

function ASK.request(self, rest)
  local got, edits = request(self, rest), {}
  for i, header in ipairs(got.action == "allow" and got.set or {}) do
    edits[i] = ("%s: %s"):format(header.name, tostring(header.value))
  end
  return got.unread and "unread" or got.action, got.reason or table.concat(edits, "\n")
end

-- response 200 text/html GET http://a.test/
function ASK.response(self, rest)
  local status, kind, asked = rest:match("^(%d+) (%S+) (.+)$")
  local got = request(self, asked)
  if got.action == "allow" then
    got = self:response(got, { status = math.tointeger(status), headers = { { name = "Content-Type", value = kind } } })
  end
  return got.action, got.reason
end

function ASK.env(self, name)
  local profile, given = self.profile, self.facts.env
  local env = require("srt.environment").of(profile, { env = given }, {
    { purpose = "http", address = "127.0.0.1", port = 3128 } })
  local vault = profile.credentials.active and assert(require("srt.secrets").open(profile, given))
  for _, text in ipairs(vault and vault:environment(env) or env) do
    local value = text:match("^" .. name .. "=(.*)$")
    if value then return value:find("srtM", 1, true) and "masked" or value end
  end
  return "absent"
end

---@param line string "VERB WHAT -> ANSWER", or with ": WORDS" that the reason has
---@return string|nil problem
function Desk:check(line)
  local verb, what, want = line:match("^(%l+) +(.-) +%-> (.*)$")
  local words = ""
  if verb ~= "env" then want, words = (want or ""):match("^(%l*):? ?(.*)$") end
  if not verb or not ASK[verb] then return "this line can't be read: " .. line end
  local got, why = ASK[verb](self.rehearsal, what)
  if got ~= want then return ("%s\n  is: %s (%s)"):format(line, got, tostring(why)) end
  if words ~= "" and not tostring(why):lower():find(words:lower(), 1, true) then
    return ("%s\n  its reason is: %s"):format(line, tostring(why))
  end
end

---Asks all lines of a text; the files that "read", "write" and "delete" name are there.
---@param policy string
---@param lines string
---@param env table<string, string>|nil
---@return string problems "" where all is as it says
---@return integer count of lines
---@return table profile
function decisions.all(policy, lines, env)
  local files, problems, count = {}, {}, 0
  for verb, name in lines:gmatch("(%l+) +([^\n]-) +%->") do
    if verb == "read" or verb == "write" or verb == "delete" then files[#files + 1] = name end
  end
  local desk = decisions.open(policy, { env = env, files = files })
  local ok, message = pcall(function()
    for line in lines:gmatch("%s*([^\n]+)") do
      count = count + 1
      problems[#problems + 1] = desk:check(line)
    end
  end)
  desk:close()
  if not ok then error(message, 0) end
  return table.concat(problems, "\n"), count, desk:profile()
end

return decisions
