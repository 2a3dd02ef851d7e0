-- SPDX-License-Identifier: Apache-2.0
-- srt-lua session: keeps a policy and its proxy up for commands that join (srt-lua exec).
local run_options = require "srt.run_options"
local sys = require "srt.c.sys"

local session = {}

session.USAGE = [[
usage: srt-lua session [POLICY] [--name NAME | --socket PATH] [OPTION…]

Loads POLICY once and keeps it, its secrets and its proxy up for commands that join it by
srt-lua exec --session NAME, until Ctrl-C, SIGTERM, or a line that says so. It answers lines of JSON
at a socket that only this user can reach, and nothing in a sandbox: see docs/sessions.md.

  --name NAME    by which exec finds it; else one is made up
  --socket PATH  listen there instead
  --fd N         answer at descriptor N as well, a connected Unix socket, and end when it is closed.
                 Without POLICY the first line there says it
  --violations FILE
                 append what was denied to FILE, or nowhere (none)
  --debug        tell on standard error what is decided

Standard output says where it listens: "session: PATH". The exit status is 0 when it was ended, 125
for a failure.
]]

local FAILED, MOST_OPEN = 125, 16 << 20

local KNOWN = {
  valued = {
    ["--name"] = function(options, value)
      options.name = value
      return require("srt.session_place").refuse(value)
    end,
    ["--socket"] = function(options, value) options.socket = value end,
    ["--fd"] = function(options, value)
      options.fd = math.tointeger(tonumber(value))
      if not options.fd or options.fd < 3 then return "--fd takes a number from 3 up, not " .. value end
    end,
    ["--violations"] = run_options.valued["--violations"],
  },
  flags = { ["--debug"] = "debug" },
  word = run_options.first("policy"),
}

local function tell(ctx, message) ctx.err(require("srt.report").ours(message)) end

local function parse(args)
  local options, message = run_options.read(args, {}, KNOWN)
  if not options or options.help then return options, message end
  if not options.policy and not options.fd then return nil, "no policy given" end
  if options.command and options.command[1] then return nil, "no command is run here; srt-lua exec runs it" end
  if options.name and options.socket then return nil, "both --name and --socket were given" end
  return options
end

-- Commands are held by it, or by landlock where namespaces can't be had and the policy agrees.
local BACKENDS = { auto = "namespaces", namespaces = "namespaces", bwrap = "bwrap", landlock = "landlock" }

-- What is in the way of holding a policy in a session.
local function judged(loaded, facts)
  local profile = loaded.profile
  if not BACKENDS[profile.backend] then
    return ("backend = %q can't be held in a session, which takes %s"):format(profile.backend,
      table.concat(require("srt.backend").NAMES, ", "))
  end
  local warnings, why = profile.warnings, nil
  -- What less than namespaces would hold is judged, and told, where a command can't have them.
  if profile.backend ~= "auto" then
    local lacks
    lacks, why = require("srt.backend").foretold(loaded, facts)
    table.move(lacks, 1, #lacks, #warnings + 1, warnings)
  end
  if not why and profile.strict and warnings[1] then
    why = "strict = true, but not all of the policy is held: " .. warnings[1]
  end
  return why
end

---Loads a policy with all that its commands need.
---@param facts table
---@param socket string that no command may reach
---@param options table of the command line
---@param path string
---@param given table|nil of session.resolve
---@return table|nil version {loaded, options, policy, warnings}
---@return string|nil text what is wrong
local function load(facts, socket, options, path, given)
  local how = { live = "session", given = given, hide = socket, reportFiles = options.reportFiles }
  local loaded, problems = require("srt.session").load(facts, path, how)
  if not loaded then return nil, require("srt.report").text(problems):gsub("\n$", "") end
  local profile = loaded.profile
  local why = judged(loaded, facts) or require("srt.planning").equip(facts, loaded)
  if why then return nil, why end
  return { loaded = loaded, options = how, backend = BACKENDS[profile.backend],
    policy = not given and loaded.policy or nil, warnings = profile.warnings }
end

local function socket_of(facts, options)
  if options.socket then
    local paths = require("srt.paths")
    local path = paths.normalize(paths.absolute(options.socket, facts.cwd))
    local folder, why = sys.realpath(paths.parent(path))
    if not folder then return nil, ("--socket %s: %s"):format(options.socket, why) end
    return paths.join(folder, path:match("[^/]*$"))
  end
  return require("srt.session_place").make(facts, options.name or "s-" .. assert(sys.random(4)))
end

-- The policy, by the first line at --fd: {"op":"open"} with `file`, `settings` or `lua`.
local function opened(fd)
  local channel, json = require("srt.c.channel"), require("srt.json")
  local text = ""
  repeat
    local data, more = channel.hear(fd)
    if not data or data == "" then return nil, nil, "nobody said which policy: " .. (data and "the end" or more) end
    text = text .. data
  until text:find("\n", 1, true) or #text > MOST_OPEN
  local message, places = json.decode((text:match("^(.-)\n")) or "")
  if type(message) ~= "table" or message.op ~= "open" then return nil, nil, "the first line has to be of op open" end
  if type(message.file) == "string" then return message.file end
  if type(message.settings) == "table" then
    return "(settings)", { value = message.settings, places = places, lenient = true }
  elseif type(message.lua) == "string" then
    return "(policy)", { value = { extends = { require("srt.session").TEXT } }, text = message.lua }
  end
  return nil, nil, "open needs file, settings or lua"
end

local function serve(ctx, server, options)
  local task = require("srt.c.task")
  -- What a session keeps is old, what a command needs is young.
  collectgarbage("generational")
  local ok, why, code = server:listen(server.socket)
  if not ok and code == "EADDRINUSE" then
    return ("there is a session at %s already, or something else is there"):format(server.socket)
  elseif not ok then
    return ("can't listen at %s: %s"):format(server.socket, why)
  end
  local owner
  if options.fd then
    owner, why = server:admit(options.fd, true)
    if not owner then return ("--fd %d can't be used: %s"):format(options.fd, why) end
    owner:tell { event = "ready", socket = server.path, version = ctx.program.version,
      warnings = setmetatable(server.version.warnings, { __jsontype = "array" }) }
  end
  ctx.out("session: " .. server.path .. "\n")
  repeat
    server:take()
    local signal, message = 0, nil
    if not server.over then signal, message = task.wait() end
    if not signal then return "can't wait: " .. message end
  until server.over or signal ~= 0
end

-- The policy that the session begins with.
local function first(options, load_policy)
  local path, given, version, why = options.policy, nil, nil, nil
  if not path then path, given, why = opened(options.fd) end
  if path then version, why = load_policy(path, given) end
  if version or not options.fd then return version, why end
  local said = require("srt.json").encode({ ok = false, error = why }, true) .. "\n"
  require("srt.c.channel").say(options.fd, said)
  return nil, why
end

local function start(ctx, options)
  local session_of, state = require("srt.session"), require("srt.state")
  local facts, why = session_of.facts(ctx.program)
  if not facts then return why end
  local temp
  temp, why = session_of.tempDir(facts)
  if not temp then return why end
  facts.state = state.folders(facts, require("srt.paths").parent(temp))
  local folder = state.prepare(facts.state)
  options.reportFiles, why = require("srt.violation_file").named(options, facts.cwd)
  if not options.reportFiles then return why end
  local socket
  socket, why = socket_of(facts, options)
  if not socket then return why end
  local function load_policy(path, given) return load(facts, socket, options, path, given) end
  local version
  version, why = first(options, load_policy)
  if not version then return why end
  for _, warning in ipairs(version.warnings) do tell(ctx, "warning: " .. warning) end
  local server = require("srt.session_server").new { facts = facts, version = version, load = load_policy,
    violations = options.violations, folder = folder, files = require("srt.c.channel").files() or 1024,
    socket = socket,
    tell = function(line) tell(ctx, line) end,
    say = options.debug and function(line) tell(ctx, "debug: " .. line) end or nil }
  why = serve(ctx, server, options)
  server:close()
  return why
end

--- Serves until a signal, or a line, ends it.
---@param args string[] what follows "session"
---@param ctx table {program, out, err}
---@return integer exit status
function session.main(args, ctx)
  local options, message = parse(args)
  local status = require("srt.report").answered(ctx, "srt-lua session", session.USAGE, options, message)
  if status then return status end
  -- Before anybody knows that we are there.
  require("srt.c.task").hold()
  message = start(ctx, options)
  if not message then return 0 end
  -- What is wrong with a policy has its lines, and our name in front of them.
  ctx.err(message:find("^srt%-lua: ") and message .. "\n" or require("srt.report").ours(message))
  return FAILED
end

return session
