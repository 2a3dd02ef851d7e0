-- SPDX-License-Identifier: Apache-2.0
-- Asks a policy by lines such as "write src/a.c -> allow", with the real box and the real decisions: for specs of the
-- ready-made policies and of what docs/cookbook.md says.
local support = require("spec.lua.support")
local box = require("spec.lua.box_support").box
local decide_net = require("srt.decide_net")
local sys = require("srt.c.sys")
local tree = require("spec.lua.tree")

package.preload["srt.c.box"] = package.preload["srt.c.box"] or function() return box end

local decisions = {}

local ORDINARY = { uids = { { first = 1000, count = 1 } }, gids = { { first = 1000, count = 1 } }, rootCaller = false,
  closeProc = false, maskOwner = 0, caps = 0 }

---@param name string
---@return string|nil text of a ready-made policy
function decisions.preset(name)
  local file = io.open("policies/" .. name .. ".lua")
  local text = file and file:read("a")
  if file then file:close() end
  return text
end

local PROGRAM = {
  embedded = function(name) return decisions.preset(name:match("^policies%.(.+)$")) end,
  embeddedNames = function() return {} end,
}

local Desk = {}
Desk.__index = Desk

---A policy in a home directory and a working directory of its own.
---@param text string
---@param more {env: table?, files: string[]?}|nil files that are there: relative, or with "~/"
---@return table desk
function decisions.open(text, more)
  local top = sys.realpath("/tmp") .. "/srt-spec-" .. sys.random(8)
  local self = setmetatable({ top = top, home = top .. "/home", cwd = top .. "/home/w", text = text }, Desk)
  self:make(more and more.files or {})
  local file = assert(io.open(top .. "/policy.lua", "wb"))
  file:write(text)
  file:close()
  self.env = more and more.env or {}
  self.env.HOME = self.home
  return self
end

function Desk:close() tree.remove(self.top) end

function Desk:path(name)
  return (name:gsub("^~", self.home):gsub("^([^/])", self.cwd .. "/%1"))
end

-- Nothing is made outside of the desk's own folders.
function Desk:make(names)
  local folders, files = { self.cwd, self.top .. "/tmp" }, {}
  for _, name in ipairs(names) do
    local path = self:path(name)
    if path:sub(1, #self.top) == self.top then
      folders[#folders + 1] = path:match("^(.*)/")
      if name:sub(-1) ~= "/" then files[#files + 1] = path end
    end
  end
  assert(os.execute(("mkdir -p '%s'"):format(table.concat(folders, "' '"))))
  for _, path in ipairs(files) do
    if not sys.lstat(path) then assert(io.open(path, "wb")):close() end
  end
end

local function loaded(self)
  if self.loaded then return self.loaded end
  local problems
  self.loaded, problems = require("srt.session").load({ program = PROGRAM, cwd = self.cwd, home = self.home, user = "u",
    env = self.env }, self.top .. "/policy.lua", { tempDir = self.top .. "/tmp", lint = true })
  if not self.loaded then error(problems[1].key .. ": " .. problems[1].message .. "\n" .. self.text, 0) end
  local profile = self.loaded.profile
  if #profile.unenforced > 0 then error("it can't be enforced: " .. profile.unenforced[1].key, 0) end
  local vault = profile.credentials.active and assert(require("srt.secrets").open(profile, self.env)) or nil
  self.net, self.vault = decide_net.compile(profile, { vault = vault, command = "test" }), vault
  return self.loaded
end

---@return table profile
function Desk:profile() return loaded(self).profile end

-- What callbacks log is not of interest.
local function caller(self)
  return function(fn, kind, ...)
    local write = sys.write
    sys.write = function() end
    local ok, first, second = self.loaded.box:call(fn, kind, ...)
    sys.write = write
    return ok, first, second
  end
end

local function asks_path(self, action, name)
  local l = loaded(self)
  if not self.judge then
    local ctx = { cwd = self.cwd, env = {}, features = { landlock = 7 }, identity = ORDINARY,
      tempDir = self.top .. "/tmp" }
    local plan = assert(require("backends.namespaces").compile(l.profile, l.rules, ctx))
    self.judge = require("srt.judge").new(l.rules, plan)
  end
  local got = self.judge:ask(action, self:path(name))
  return got.decision, got.rule.builtin or got.rule.given
end

local ASK = {}

function ASK.read(self, name) return asks_path(self, "read", name) end
function ASK.write(self, name) return asks_path(self, "write", name) end
function ASK.create(self, name) return asks_path(self, "create", name) end
function ASK.delete(self, name) return asks_path(self, "delete", name) end

function ASK.connect(self, where)
  loaded(self)
  local socket = where:match("^unix:(.+)")
  if socket then
    local entry = require("srt.unix_sockets").rule(self.loaded.rules.sockets or { paths = {}, globs = {} },
      self:path(socket))
    return (entry or self.loaded.profile.unix.all) and "allow" or "deny"
  end
  local host, port = where:match("^(.+):(%d+)$")
  local got = self.net:connect(host, math.tointeger(port), port == "80" and "http" or "connect", caller(self))
  return got.action, got.reason
end

-- Where a body is asked for, the callbacks run here and not in the box, which reads bodies from the proxy alone.
local function with_body(self, question, text)
  support.srt.json, support.srt.env = support.srt.json or require("srt.json"), self.env
  local presets = setmetatable({}, { __index = function(_, name) return decisions.preset(name) end })
  local profile = assert(support.resolve(self.text, { cwd = self.cwd, home = self.home, env = self.env }, presets))
  return decide_net.compile(profile), support.call, setmetatable({
    body = function(_, max)
      if #text > (max or 1 << 20) then return nil, "it is longer" end
      return text
    end,
  }, { __index = question })
end

local function question_of(rest)
  local method, url, body = rest:match("^(%S+) (%S+) ?(.*)$")
  local scheme, host, port, path, query = url:match("^(https?)://([^/:]+):?(%d*)([^?]*)%??(.*)$")
  local number = math.tointeger(tonumber(port)) or (scheme == "https" and 443 or 80)
  return { method = method, scheme = scheme, host = host, port = number, path = path == "" and "/" or path,
    query = query ~= "" and query or nil, target = url, headers = { { name = "Host", value = host .. (port ~= "" and
    ":" .. port or "") } }, protocol = scheme == "https" and "connect" or "http" }, body
end

function ASK.request(self, rest)
  loaded(self)
  local question, body = question_of(rest)
  local net, call = self.net, caller(self)
  if body ~= "" then net, call, question = with_body(self, question, body) end
  local tunnel = net:connect(question.host, question.port, question.protocol, call)
  if tunnel.action ~= "allow" then return tunnel.action, tunnel.reason end
  if question.scheme == "https" then
    if not (tunnel.reads and tunnel.reads.terminate) then return "unread" end
    question = setmetatable({ inside = true }, { __index = question })
  end
  local got = net:request(question, call)
  self.review = got.review
  local edits = {}
  for i, header in ipairs(got.action == "allow" and got.set or {}) do edits[i] = header.name .. ": " .. header.value end
  return got.action, got.reason or table.concat(edits, "\n")
end

-- response 200 text/html GET http://a.test/
function ASK.response(self, rest)
  local status, kind, request = rest:match("^(%d+) (%S+) (.+)$")
  local action, reason = ASK.request(self, request)
  if action ~= "allow" or not self.review then return action, reason end
  local got = self.net:response({ status = math.tointeger(status), review = self.review,
    headers = { { name = "Content-Type", value = kind } } }, caller(self))
  return got.action, got.reason
end

function ASK.env(self, name)
  local env = require("srt.environment").of(loaded(self).profile, { env = self.env }, {
    { purpose = "http", address = "127.0.0.1", port = 3128 } })
  for _, text in ipairs(self.vault and self.vault:environment(env) or env) do
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
  local got, why = ASK[verb](self, what)
  if got ~= want then return ("%s\n  is: %s (%s)"):format(line, got, tostring(why)) end
  if words ~= "" and not tostring(why):lower():find(words:lower(), 1, true) then
    return ("%s\n  its reason is: %s"):format(line, tostring(why))
  end
end

---Asks all lines of a text; the files that "read", "write" and "delete" name are there.
---@param policy string
---@param lines string
---@param more table|nil as of open
---@return string problems "" where all is as it says
---@return integer count of lines
---@return table profile
function decisions.all(policy, lines, more)
  local files = table.move(more and more.files or {}, 1, #(more and more.files or {}), 1, {})
  for verb, name in lines:gmatch("(%l+) +([^\n]-) +%->") do
    if verb == "read" or verb == "write" or verb == "delete" then files[#files + 1] = name end
  end
  local desk = decisions.open(policy, { env = more and more.env, files = files })
  local problems, count = {}, 0
  local ok, profile = pcall(function()
    for line in lines:gmatch("%s*([^\n]+)") do
      count = count + 1
      problems[#problems + 1] = desk:check(line)
    end
    return desk:profile()
  end)
  desk:close()
  return table.concat(problems, "\n"), count, ok and profile or error(profile, 0)
end

return decisions
