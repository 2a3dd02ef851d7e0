-- SPDX-License-Identifier: Apache-2.0
-- The operations of a session, by the names that lines have them by; see docs/sessions.md.
local pack = require "srt.pack"
local sys = require "srt.c.sys"

local ops = {}

local function is_text(v) return type(v) == "string" and v ~= "" and not v:find("\0", 1, true) end

local function is_list(v, places) return type(v) == "table" and places.kinds[v] == "list" end

-- A list of words, or nil.
local function words(v, places)
  if not is_list(v, places) or not v[1] then return nil end
  for _, word in ipairs(v) do
    if type(word) ~= "string" or word:find("\0", 1, true) then return nil end
  end
  return v
end

local function rules_of(message, key, list, places)
  local rules, entries = {}, message[key]
  if entries == nil then return rules end
  if not is_list(entries, places) then return nil, key .. " has to be a list of strings" end
  for i, entry in ipairs(entries) do
    if type(entry) ~= "string" then return nil, key .. " has to be a list of strings" end
    local rule, why = require("srt.domain").parse(entry, list)
    if not rule then return nil, ("%s: %q: %s"):format(key, entry, why) end
    rules[i] = rule
  end
  return rules
end

-- The lists that a command has of its own.
local function lists_of(message, places)
  if message.allowedDomains == nil and message.deniedDomains == nil then return nil end
  local denied
  local allowed, why = rules_of(message, "allowedDomains", "allow", places)
  if allowed then denied, why = rules_of(message, "deniedDomains", "deny", places) end
  if not denied then return nil, why end
  local compile = require("srt.domain").compile
  return { rules = allowed, allowed = compile(allowed), denies = denied, denied = compile(denied) }
end

local function quoted(argv)
  local out = {}
  for i, word in ipairs(argv) do
    out[i] = word:find("^[%w_@%%+=:,./-]+$") and word or "'" .. word:gsub("'", "'\\''") .. "'"
  end
  return table.concat(out, " ")
end

---How to run a command in the session: an argv, and the same as a string for a shell.
function ops.wrap(server, client, message, places)
  local command, id = message.command, message.id or "c-" .. assert(sys.random(16))
  local argv = not is_text(command) and words(command, places)
  if not argv and not is_text(command) then
    return client:refuse("wrap needs a command: a string for the shell, or a list of words")
  end
  if not is_text(id) then return client:refuse("id has to be a string that is not empty") end
  if message.text ~= nil and not is_text(message.text) then return client:refuse("text has to be a string") end
  local more, why = lists_of(message, places)
  if why then return client:refuse(why) end
  server:register(id, { text = message.text or is_text(command) and command or nil, more = more })
  local out = { assert(sys.realpath("/proc/self/exe")), "exec", "--session", server.path, "--id", id,
    "--report", "none" } -- who asks has annotate
  if more then out[#out + 1] = "--lists" end
  if argv then
    out[#out + 1] = "--"
    table.move(argv, 1, #argv, #out + 1, out)
  else
    out[#out + 1], out[#out + 2] = "-c", command
  end
  client:answer { ok = true, id = id, argv = out, shell = quoted(out) }
end

---Forgets what wrap was told of a command; its violations stay.
function ops.forget(server, client, message)
  if not is_text(message.id) then return client:refuse("forget needs the id of a command") end
  server:register(message.id, {})
  client:answer { ok = true }
end

local function shown(v)
  return { time = v.time, kind = v.kind, target = v.target, rule = v.rule, reason = v.reason, origin = v.origin,
    advice = v.advice, count = v.count, process = v.process, command = v.command, commandId = v.commandId,
    line = require("srt.violation_text").line(v) }
end

---What was denied: of all commands, or of one.
function ops.violations(server, client, message)
  if message.id ~= nil and not is_text(message.id) then return client:refuse("id has to be a string") end
  if message.text ~= nil and not is_text(message.text) then return client:refuse("text has to be a string") end
  local list = {}
  for _, v in ipairs(server:list(message.id)) do
    if not message.text or v.command == message.text then list[#list + 1] = shown(v) end
  end
  client:answer { ok = true, violations = setmetatable(list, { __jsontype = "array" }) }
end

---Appends what was denied to a command's error output.
function ops.annotate(server, client, message)
  if not is_text(message.id) or type(message.stderr) ~= "string" then
    return client:refuse("annotate needs id and stderr")
  end
  client:answer { ok = true, stderr = require("srt.violations").annotated(message.stderr, server:list(message.id)) }
end

---Another policy from now on: `settings` (an object as of JSON settings), `file`, or what the session began with, read
---again.
function ops.update(server, client, message, places)
  local given
  local path = message.file or server.version.policy
  if message.settings ~= nil then
    if type(message.settings) ~= "table" or places.kinds[message.settings] ~= "table" then
      return client:refuse("settings has to be a JSON object")
    end
    given, path = { value = message.settings, places = places, lenient = true }, "(settings of the session)"
  elseif not is_text(path) then
    return client:refuse("update needs settings or a file")
  end
  local version, problems = server.load(path, given)
  if not version then
    return client:answer { ok = false, error = "the policy before it is still in force: " .. problems }
  end
  server.version = version
  local held, seen, commands, cut = {}, {}, 0, 0
  for other in pairs(server.clients) do
    if other.command then
      local keys, count = other.command:update(version.loaded)
      commands, cut = commands + 1, cut + count
      for _, key in ipairs(keys) do
        if not seen[key] then held[#held + 1], seen[key] = key, true end
      end
    end
  end
  client:answer { ok = true, commands = commands, cut = cut, held = setmetatable(held, { __jsontype = "array" }),
    warnings = setmetatable(version.warnings, { __jsontype = "array" }) }
end

---From now on this client is asked about hosts that neither lists nor decideConnect decide: it gets
---{"event":"ask","n":1,"host":…,"port":…}, and says answer. Commands that have joined before are not asked about. With
---`policy` it answers the questions of the policy (srt.ask) as well, of all commands.
function ops.ask(server, client, message)
  if not server.questions:ask(client, message.policy == true) then
    return client:refuse("another client is asked already")
  end
  client:answer { ok = true }
end

-- Of srt-lua exec: what was typed on its terminal.
local HOW = { no = true, yes = true, late = true, nobody = true, restless = true, ran = true, taken = true }

---What was asked by event "ask": {"op":"answer","n":1,"allow":true}, or with a reason. Only true allows; of choices
---`choice` is to be one.
function ops.answer(server, client, message)
  local command = client.command
  local question = command and command.questions[message.n]
  if question then
    command.questions[message.n] = nil
    return question.done(HOW[message.how] and message.how or "nobody", math.tointeger(message.choice))
  end
  local asked = server.questions:of(client, message.n)
  if not asked then return end
  asked.allow, asked.choice = message.allow == true, message.choice
  if is_text(message.reason) then asked.reason = require("srt.verdict").reason(message.reason) end
  asked.gate:open()
end

---Forgets what was denied and what wrap was told; commands go on.
function ops.reset(server, client)
  server:reset()
  client:answer { ok = true }
end

function ops.status(server, client)
  local commands = {}
  for other in pairs(server.clients) do
    local command = other.command
    if command then commands[#commands + 1] = { id = command:key(), command = command.reporter.command } end
  end
  client:answer { ok = true, version = server.facts.program.version, policy = server.version.policy,
    socket = server.path, commands = setmetatable(commands, { __jsontype = "array" }) }
end

function ops.close(server, client)
  client:answer { ok = true }
  server.over = true
end

-- From here on: what srt-lua exec says.

---A command joins: a plan for it, by a file in memory.
function ops.join(server, client)
  local channel, tidy = require("srt.c.channel"), require("srt.c.tidy")
  local fds = client:take_fds(1)
  local bytes = fds and channel.bytes(fds[1])
  if fds then tidy.close(fds[1]) end
  local request = bytes and pack.decode(bytes)
  if type(request) ~= "table" or client.command then return client:refuse("this is no request of srt-lua exec") end
  local joined = require("srt.joined")
  if request.version ~= server.facts.program.version then
    return client:refuse(("the session's srt-lua is version %s"):format(server.facts.program.version))
  elseif not joined.near(request.ns) then
    return client:refuse("the session sees another tree or other users: it was started in another namespace")
  end
  local command, answer, bare = joined.new(server, client, request)
  if not command then return client:answer { ok = false, error = answer, bare = bare } end
  client.command = command
  local fd, message = channel.memory(pack.encode(answer))
  if not fd then return client:refuse("the plan can't be handed over: " .. message) end
  local ok = client.channel:send('{"ok":true}\n', { fd })
  tidy.close(fd)
  if not ok then server:drop(client) end
end

function ops.origins(server, client)
  local fds = client.command and client:take_fds(1)
  local problem = not fds and "there is nothing to know its connections by" or client.command:admit(fds[1])
  if fds then require("srt.c.tidy").close(fds[1]) end
  if not problem then return end
  server.tell(problem)
  server:drop(client)
end

function ops.listeners(server, client, message)
  local sound = client.command and type(message.which) == "table" and math.type(message.pid) == "integer"
  local fds = sound and client:take_fds(#message.which)
  local problem = not fds and "these are no listeners" or client.command:listen(message, fds, function()
    client:tell { event = "lead" }
  end)
  if not problem then return end
  server.tell(("%s: %s"):format(client.command and client.command:key() or "?", problem))
  server:drop(client)
end

function ops.led(server, client, message)
  if not client.command or math.type(message.error) ~= "integer" then return server:drop(client) end
  client.command:led(message.error)
end

function ops.watch(server, client, message)
  local fds = client.command and not client.command.watcher and client:take_fds(message.view and 2 or 1)
  if not fds then return server:drop(client) end
  client.command:watch(fds)
end

---The command has ended: what is to be told of it.
function ops.ended(server, client, message)
  local command = client.command
  if not command then return server:drop(client) end
  client.command = nil
  client:answer { ok = true, text = command:close(message) }
end

return ops
