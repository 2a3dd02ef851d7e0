-- SPDX-License-Identifier: Apache-2.0
-- What a session answers: its clients, the lines they send, and the commands that have joined.
--
-- The loop only collects what came; it is answered between two turns of it (take), where everything may be done.
local channel = require "srt.c.channel"
local json = require "srt.json"
local task = require "srt.c.task"
local text_of = require "srt.violation_text"

local session_server = {}

local MOST_LINE, MOST_FDS = 16 << 20, 256
local MOST_CLIENTS, MOST_KEPT, MOST_REGISTERED = 1000, 1000, 10000

local Server = {}
Server.__index = Server

local Client = {}
Client.__index = Client

---@param fields table
function Client:answer(fields)
  fields.seq = self.seq
  self:tell(fields)
end

---Says something that it has not asked for.
---@param fields table
function Client:tell(fields)
  if self.over then return end
  local ok = self.channel:send(json.encode(fields, true) .. "\n")
  -- Who does not read what it asked for is let go.
  if not ok then self.server:drop(self) end
end

function Client:refuse(message) self:answer { ok = false, error = message } end

---The first descriptors that came, in their order.
---@param count integer
---@return integer[]|nil
function Client:take_fds(count)
  if #self.fds < count then return nil end
  local out = table.move(self.fds, 1, count, 1, {})
  self.fds = table.move(self.fds, count + 1, #self.fds, 1, {})
  return out
end

local function close_all(fds)
  for _, fd in ipairs(fds) do require("srt.c.tidy").close(fd) end
end

-- A line has its operation by name; those of srt-lua exec are beside those of everybody.
local function act(self, client, line)
  local message, places = json.decode(line)
  client.seq = nil
  if type(message) ~= "table" or places.kinds[message] ~= "table" then
    return client:refuse("a line has to be a JSON object: " .. (places.message or "this is none"))
  end
  local seq = message.seq
  if type(seq) == "string" or math.type(seq) then client.seq = seq end
  local op = require("srt.session_ops")[message.op]
  if not op then
    return client:refuse(("there is no operation %s"):format(json.encode(message.op == nil and "" or message.op, true)))
  end
  local ok, why = pcall(op, self, client, message, places)
  if ok then return end
  self.tell("internal error: " .. tostring(why))
  client:refuse("internal error: " .. tostring(why):match("^[^\n]*"))
end

local function come(self, client, what, fds)
  self.queue[#self.queue + 1] = { client = client, what = what, fds = fds }
  task.rouse()
end

---Calls a function between two turns of the loop.
---@param fn function
function Server:later(fn) come(self, nil, fn, {}) end

---@param fd integer taken over
---@param owner boolean? the session ends with it
---@return table|nil client
---@return string|nil message
function Server:admit(fd, owner)
  local client = setmetatable({ server = self, fds = {}, owner = owner }, Client)
  client.lines = require("srt.lines").new(MOST_LINE, function(line)
    if client.over then return end
    if line then return act(self, client, line) end
    client.seq = nil
    client:refuse(("a line is longer than %d bytes"):format(MOST_LINE))
  end)
  local made, message = channel.open(fd, function(text, fds) come(self, client, text or false, fds) end)
  if not made then
    require("srt.c.tidy").close(fd)
    return nil, message
  end
  client.channel, self.clients[client], self.count = made, true, self.count + 1
  return client
end

-- Another user's process, or one in a sandbox, may have been handed the socket, or found it.
local function is_ours(fd, pid, uid)
  local peer = require "srt.peer"
  return pid ~= 0 and peer.near(pid) and peer.outside(fd, pid, uid)
end

---@param path string
---@return boolean|nil ok
---@return string|nil message
---@return string|nil code
function Server:listen(path)
  local fd, message, code = channel.listen(path)
  if not fd then return nil, message, code end
  self.listener, message = channel.accept(fd, function(client, pid, uid)
    if self.count < MOST_CLIENTS and is_ours(client, pid, uid) then return self:admit(client) end
    require("srt.c.tidy").close(client)
  end)
  if not self.listener then return nil, message end
  self.path = path
  return true
end

---Ends a connection, and with it the command that has joined by it.
---@param client table
function Server:drop(client)
  if client.over then return end
  client.over = true
  client.channel:close()
  close_all(client.fds)
  client.fds = {}
  self.clients[client], self.count = nil, self.count - 1
  if client.command then
    -- What goes wrong with one command is not to end the others.
    local ok, why = pcall(client.command.close, client.command, {})
    if not ok then self.tell("internal error: " .. tostring(why)) end
  end
  self.questions:leave(client)
  if client.owner then self.over = true end
end

---Answers what has come.
function Server:take()
  while self.queue[1] do
    local queue = self.queue
    self.queue = {}
    for _, item in ipairs(queue) do
      local client = item.client
      if type(item.what) == "function" then
        item.what()
      elseif client.over then
        close_all(item.what and item.fds or {})
      elseif not item.what then
        self:drop(client)
      else
        table.move(item.fds, 1, #item.fds, #client.fds + 1, client.fds)
        client.lines:add(item.what)
        if #client.fds > MOST_FDS then self:drop(client) end
      end
    end
  end
end

---@param v table a violation, of any command
function Server:denied(v)
  self.kept = self.kept + 1
  self.ring[(self.kept - 1) % MOST_KEPT + 1] = v
end

---The last violations, the oldest first.
---@param id string|nil only of this command
---@return table[]
function Server:list(id)
  local list, key = {}, id and text_of.key(id)
  for i = math.max(1, self.kept - MOST_KEPT + 1), self.kept do
    local v = self.ring[(i - 1) % MOST_KEPT + 1]
    if not key or text_of.key(v.commandId) == key then list[#list + 1] = v end
  end
  return list
end

---What was said of a command before it is run.
---@param id string
---@param known {text: string?, more: table?}
function Server:register(id, known)
  local key = text_of.key(id)
  if not self.wraps[key] then
    self.order[#self.order + 1] = key
    if #self.order > MOST_REGISTERED then self.wraps[table.remove(self.order, 1)] = nil end
  end
  self.wraps[key] = known
end

---@param id string|nil
---@return table|nil
function Server:registered(id) return id and self.wraps[text_of.key(id)] end

---Forgets what was denied, and what wrap was told.
function Server:reset()
  self.ring, self.kept, self.wraps, self.order = {}, 0, {}, {}
end

---The session is over: what has joined loses its network.
function Server:close()
  if self.listener then
    -- While we listen: later it may be another session's.
    require("srt.c.tidy").unlink(self.path)
    self.listener:close()
  end
  for client in pairs(self.clients) do self:drop(client) end
end

---@param options {facts: table, version: table, violations: string?, folder: string?,
--- tell: fun(line: string), say: nil|fun(line: string)} version: {loaded=, options=, policy=, backend=}
---@return table server
function session_server.new(options)
  local self = setmetatable(options, Server)
  self.clients, self.count, self.queue = {}, 0, {}
  self.questions = require("srt.session_questions").new(self)
  self:reset()
  return self
end

return session_server
