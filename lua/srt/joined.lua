-- SPDX-License-Identifier: Apache-2.0
-- A session's side of one command that has joined: its plan, its proxy, and what it is denied.
--
-- The command's sandbox is another process's (srt-lua exec), and this one only serves the network that leads out of
-- it. So whoever of the two dies, the command is left with no way out.
local sys = require "srt.c.sys"

local joined = {}

local Joined = {}
Joined.__index = Joined

-- A connection has two descriptors.
local SHARES = 16

local LISTS = { "denyRead", "allowRead", "allowWrite", "denyWrite", "denyDelete", "globs" }

-- What patterns come to in the tree as it is now; all else of a profile is looked for in it when rules are made.
local function fresh(server, version)
  local profile = version.loaded.profile
  if not profile.filesystem.globs[1] then return profile end
  local now, problems = require("srt.session").profile(version.loaded, server.facts, version.options)
  if not now then return nil, require("srt.report").text(problems) end
  local filesystem = {}
  for _, name in ipairs(LISTS) do filesystem[name] = now.filesystem[name] end
  return setmetatable({ filesystem = setmetatable(filesystem, { __index = profile.filesystem }) },
    { __index = profile })
end

-- All commands' connections have this process's descriptors, and none may have so many that others have none.
local function share(limits, files)
  local most = files // SHARES
  return setmetatable({ connections = math.min(limits.connections, most),
    upstreams = math.min(limits.upstreams, most // 2) }, { __index = limits })
end

-- The session's policy as one command has it.
local function view_of(server, request)
  local version = server.version
  local session, facts = require("srt.session"), server.facts
  local profile, message = fresh(server, version)
  if not profile then return nil, message end
  local temp
  temp, message = session.tempDir({ env = request.env })
  if not temp then return nil, message end
  local rules = require("srt.decide_path").compile(profile, { cwd = request.cwd, base = facts.cwd, home = facts.home,
    tempDir = temp })
  local problem = rules.problems[1]
  if problem then return nil, ("%s %s"):format(problem.entry.given, problem.text) end
  return setmetatable({ profile = profile, rules = rules, temp = temp, folders = facts.state,
    limits = share(profile.limits, server.files), terminal = request.terminal or false,
    facts = setmetatable({ cwd = request.cwd, env = request.env }, { __index = facts }) },
    { __index = version.loaded })
end

local function report_to(self, server, request)
  local known = server:registered(request.id)
  local options = { command = request.argv, commandId = request.id, commandText = request.text or known and known.text,
    report = request.report, annotate = request.annotate, violations = server.violations }
  local reporter = require("srt.reporting").new(options, self.loaded, server.tell)
  reporter.folder, reporter.debug, reporter.shared = server.folder, self.say, true
  reporter.also = function(v) server:denied(v) end
  reporter.more, reporter.ask = known and known.more, server.questions:asker()
  return reporter
end

-- By which backend; or nil, why not, and whether srt-lua exec is to try it without namespaces.
local function backend_for(server, request)
  local wanted, profile = server.version.backend, server.version.loaded.profile
  if not request.bare then
    if wanted ~= "landlock" then return wanted end
    return nil, "the policy wants landlock", true
  elseif wanted == "landlock" or (profile.backend == "auto" and profile.weaker) then
    return "landlock"
  end
  return nil, require("srt.backend").refused(profile, server.facts.features, request.why or "no namespaces")
end

---What a command that joins is started with.
---@param server table of srt.session_server
---@param client table its connection
---@param request table that srt-lua exec has sent
---@return table|nil command
---@return table|string answer for srt-lua exec; or the message
---@return boolean? bare it may join again with a sandbox without namespaces
function joined.new(server, client, request)
  local known = request.lists and server:registered(request.id)
  if request.lists and not (known and known.more) then
    return nil, ("the lists of hosts of %s are forgotten, it has to be wrapped again"):format(request.id or "no id")
  end
  local name, reason, bare = backend_for(server, request)
  if not name then return nil, reason, bare end
  local view, message = view_of(server, request)
  if not view then return nil, message end
  local planning = require("srt.planning")
  local plan
  plan, message = planning.plan({ command = request.argv, keep = request.keep, publish = request.publish,
    infos = request.infos }, view, name, request.identity)
  if not plan then return nil, message end
  local self = setmetatable({ id = request.id, loaded = view, plan = plan, listeners = {}, asks = server.questions,
    client = client }, Joined)
  view.box = self.asks:box(self, view.box)
  if server.say then
    self.say = function(line) server.say(("%s: %s"):format(request.id or request.argv[1], line)) end
  end
  self.reporter = report_to(self, server, request)
  self.proxy, self.live = require("srt.serve").open(view, nil, self.say, false, self.reporter)
  if not self.proxy then return nil, self.live end
  return self, { plan = plan, state = require("srt.state").encode(planning.record(view, plan, self.reporter)),
    folders = view.folders, weaker = view.profile.backend == "auto" and view.profile.weaker,
    told = require("srt.backend").told(plan, request.why),
    cure = require("srt.backend").refused(view.profile, server.facts.features, "") }
end

---Where its proxy listens on the host's loopback, where anybody could knock: whom to let in.
---@param fd integer of sandbox:origins() of srt-lua exec; not taken over
---@return string|nil problem
function Joined:admit(fd)
  local ok, why = require("srt.c.redirect").admit(fd, self.proxy)
  self.admits = ok
  return not ok and "its connections can't be known: " .. why or nil
end

---Serves what PID 1 of the command's sandbox listens at.
---@param message {which: integer[], pid: integer, last: boolean}
---@param fds integer[] taken over
---@param lead fun() asks srt-lua exec to redirect who ignores proxies
---@return string|nil problem
function Joined:listen(message, fds, lead)
  self.lead = lead
  local free = not self.listens and (self.admits or self.plan.backend ~= "landlock")
  for _, at in ipairs(message.which) do
    free = free and math.type(at) == "integer" and self.plan.listen[at] ~= nil and not self.listeners[at]
    if free then self.listeners[at] = -1 end
  end
  if not free then
    for _, fd in ipairs(fds) do require("srt.c.tidy").close(fd) end
    return "these are no listeners of its sandbox"
  end
  for i, at in ipairs(message.which) do self.listeners[at] = fds[i] end
  if not message.last then return nil end
  self.listens = true
  for i = 1, #self.plan.listen do self.listeners[i] = self.listeners[i] or -1 end
  local ok, why = require("srt.serve").listen(self.proxy, self.live, self.loaded, self.plan, self.listeners,
    { pid = message.pid, sandbox = function() self.lead() end }, self.reporter)
  return not ok and why or nil
end

---It redirects now, or can't.
---@param error integer errno or 0
function Joined:led(error) require("srt.c.redirect").led(self.proxy, error) end

---Hears what the agent inside observes.
---@param fds integer[] taken over: its socket, and the tree that files are granted from
function Joined:watch(fds)
  self.watcher = require("srt.watching").start(self.loaded, self.plan, { socket = fds[1], view = fds[2] or -1 },
    function(event) self.reporter:add(event) end, self.say)
end

---The command has ended, or nobody knows.
---@param message {denied: table[]?, tty: boolean?, unreached: integer?} unreached: of sandbox:run
---@return string text for standard error
function Joined:close(message)
  self.over = true
  for _, question in pairs(self.questions) do question.done("nobody") end
  if self.watcher then
    self.watcher:close(math.tointeger(message.unreached) or 0)
    self.reporter:missed(self.watcher.lost)
  end
  self.proxy:close()
  for _, fd in pairs(self.listeners) do
    if fd >= 0 then require("srt.c.tidy").close(fd) end
  end
  for _, event in ipairs(message.denied or {}) do self.reporter:add(event) end
  return self.reporter:close(message.tty or false)
end

---Lets another policy decide from now on.
---@param loaded srt.session
---@return string[] held
---@return integer cut
function Joined:update(loaded)
  return self.live():update(setmetatable({ box = self.asks:box(self, loaded.box) }, { __index = loaded }))
end

---What violations are found by.
---@return string
function Joined:key() return self.id or self.reporter.command end

---May two processes take the same paths and ids for the same?
---@param ns table<string, string> of the other one
---@return boolean
function joined.near(ns)
  for _, kind in ipairs { "mnt", "user" } do
    if ns[kind] ~= sys.readlink("/proc/self/ns/" .. kind) then return false end
  end
  return true
end

return joined
