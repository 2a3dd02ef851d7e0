-- SPDX-License-Identifier: Apache-2.0
-- Who is asked in a session: about hosts that nothing decides one client, if it wants to be; what a policy itself asks
-- (srt.ask) that client as well, if it said so, else the terminal of the command that it is about.
local session_questions = {}

local Questions = {}
Questions.__index = Questions

-- Asks a client, and waits for its answer; in a coroutine. Nil where there was none in time.
local function ask(self, client, ms, question)
  local at = self.count + 1
  local asked = { client = client, gate = require("srt.c.gate").new(ms) }
  self.count, self.asked[at] = at, asked
  question.event, question.n = "ask", at
  client:tell(question)
  local opened = asked.gate:wait()
  self.asked[at] = nil
  return opened and asked or nil
end

local function ask_host(self, subject)
  local client = self.client
  if not client then return false, "who would have been asked is gone" end
  local seconds = self.server.version.loaded.profile.limits.askSeconds
  local asked = ask(self, client, seconds * 1000, { host = subject.host, port = subject.port, seconds = seconds,
    protocol = subject.protocol, command = subject.command, commandId = subject.commandId })
  if asked and asked.allow then return true end
  return false, not asked and "there was no answer in time" or asked.reason or "denied without a reason"
end

-- How a client answers what a policy asks.
local function ask_client(self, command, question)
  local choices = {}
  for word in question.choices:gmatch("%S+") do choices[#choices + 1] = word end
  local asked = ask(self, self.client, question.ms, { text = question.text, default = question.yes or nil,
    seconds = question.ms / 1000, choices = choices[1] and choices or nil, command = command.reporter.command,
    commandId = command.id })
  if not asked then return question.done("late") end
  local choice = 0
  for i, word in ipairs(choices) do choice = word == asked.choice and i or choice end
  question.done(asked.allow and "yes" or asked.allow == nil and "nobody" or "no", choice)
end

local function ask_user(self, command, question)
  if not command or command.over then return question.done("nobody") end
  if self.client and self.policy then
    return require("srt.c.task").start(ask_client, self, command, question)
  end
  local client, at = command.client, self.count + 1
  self.count, command.questions[at] = at, question
  client:tell { event = "question", n = at, text = question.text, ms = question.ms, yes = question.yes,
    choices = question.choices }
end

---Lets a client be asked.
---@param client table
---@param policy boolean what the policy asks, too
---@return boolean false where another one is
function Questions:ask(client, policy)
  if self.client and self.client ~= client then return false end
  self.client, self.policy = client, policy
  return true
end

---What a client was asked by that number, if it was.
---@param client table
---@param at any
---@return table|nil asked allow, choice and reason are to be set, and its gate opened
function Questions:of(client, at)
  local asked = self.asked[at]
  return asked and asked.client == client and asked or nil
end

---A client is gone: nobody answers what it was asked.
---@param client table
function Questions:leave(client)
  if self.client == client then self.client = nil end
  for _, asked in pairs(self.asked) do
    if asked.client == client then asked.gate:open() end
  end
end

---Who is asked of what nobody else decides.
---@return nil|fun(subject: table): boolean, string?
function Questions:asker()
  return self.client and function(subject) return ask_host(self, subject) end or nil
end

---A box of the policy, for the callbacks of one command: what they ask is asked for it.
---@param command table of srt.joined; its `questions`, by number, are those that its terminal has to answer
---@param box userdata
---@return table
function Questions:box(command, box)
  if not command.number then
    self.commands_made = self.commands_made + 1
    command.number, command.questions = self.commands_made, {}
    self.commands[command.number] = command
  end
  -- One for each box: a call that waits may not be the last to have set it.
  local relay = self.relays[box] or function(who, number, text, ms, yes, choices)
    self.server:later(function()
      ask_user(self, self.commands[who], { text = text, ms = ms, yes = yes, choices = choices,
        done = function(how, choice) box:answered(number, how, choice) end })
    end)
  end
  self.relays[box] = relay
  return { call = function(_, ...)
    box:asker(relay, command.number)
    return box:call(...)
  end }
end

---@param server table of srt.session_server
---@return table
function session_questions.new(server)
  -- Weak: a connection that is gone waits for nothing.
  local values, keys = { __mode = "v" }, { __mode = "k" }
  return setmetatable({ server = server, count = 0, commands_made = 0, asked = setmetatable({}, values),
    commands = setmetatable({}, values), relays = setmetatable({}, keys) }, Questions)
end

return session_questions
