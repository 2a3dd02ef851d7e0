-- SPDX-License-Identifier: Apache-2.0
-- srt-lua run --prompt: hosts that no rule names are the user's to decide, on the terminal: for this once, for the run,
-- or for good, which is a line in the policy.
--
-- That line is written when the run has ended: only then nothing inside could meet a policy that is being replaced.
local spelled = require "srt.net_text"
local sys = require "srt.c.sys"

local prompt = {}

-- Asked in the policy's box, where waiting for an answer is at home.
prompt.NAME = "srt-lua.prompt"
prompt.SOURCE = [[
return { ask = function(conn)
  local exe = conn.process and conn.process.exe
  local host = conn.host:find(":", 1, true) and "[" .. conn.host .. "]" or conn.host
  return srt.ask(("%s wants to reach %s:%d, which no rule of the policy names"):format(
    exe and exe:match("[^/]*$") or "the command", host, conn.port), { choices = { "once", "session", "always" } })
end }]]

local RULE, NOBODY, NO = "run --prompt", "there is no terminal to ask the user on", "the user said no"

local Prompt = {}
Prompt.__index = Prompt

local function denied(host, port, why)
  return spelled.deny({ rule = RULE, host = host, port = port,
    reason = ("%s is not in network.allowedDomains, and %s"):format(spelled.target(host, port), why) })
end

---@param why string|nil of srt.ask, or of a failure
function Prompt:refuse(host, port, why)
  if why == NO then self.answers[spelled.target(host, port)] = "no" end
  if why == NOBODY and not self.told then
    self.told = true
    self.tell("--prompt: there is no terminal to ask on, so hosts that no rule names are denied")
  end
  return denied(host, port, tostring(why or "nobody answered"))
end

---Decides what no list and no callback decides.
---@param host string canonical
---@param port integer
---@param ask fun(): boolean, any, any of the box
---@return table decision of srt.decide_net
function Prompt:decide(host, port, ask)
  local key = spelled.target(host, port)
  local answer, why = self.answers[key], NO
  if not answer then
    local ok, first, second = ask()
    answer, why = ok == true and first, ok == true and second or tostring(first)
  end
  if answer ~= "once" and answer ~= "session" and answer ~= "always" then return self:refuse(host, port, why) end
  if answer ~= "once" and not self.answers[key] then
    self.answers[key] = answer
    if answer == "always" then self.lines[#self.lines + 1] = key end
  end
  return { action = "allow", rule = RULE, host = host, port = port }
end

---For a box, whose function asks.
---@param box userdata
---@return fun(subject: table, call: function): table decision
function Prompt:bind(box)
  local ask = assert(box:loadpreset(prompt.NAME)).ask
  return function(subject, call)
    return self:decide(subject.host, subject.port, function() return call(ask, "conn", subject) end)
  end
end

local function texts_of(facts, path)
  local loaded, problems = require("srt.session").resolve(facts, path, { lint = true })
  if not loaded then return nil, problems[1].message end
  local found = {}
  for _, rule in ipairs(loaded.profile.network.allowed) do found[#found + 1] = rule.text end
  return found
end

-- Does a text come to the same lists, and one entry more? It is tried beside the policy, where all that it requires is.
local function tried(facts, path, text, entry)
  local before, why = texts_of(facts, path)
  if not before then return why end
  local beside = path:gsub("[^/]*$", ".%0") .. ".srt-lua-try.lua"
  local ok, message = require("srt.c.tidy").put(beside, text, tonumber("600", 8))
  if not ok then return message end
  local after
  after, why = texts_of(facts, beside)
  require("srt.c.tidy").unlink(beside)
  if not after then return why end
  before[#before + 1] = entry
  table.sort(before)
  table.sort(after)
  if table.concat(before, " ") ~= table.concat(after, " ") then return "its lists would not come to just that more" end
end

---Adds an entry to the policy.
---@return integer|nil line
---@return string|nil reason
local function add(facts, path, entry)
  if path:find("%.json$") then return nil, "it is JSON" end
  local text, why = sys.readfile(path, 16 << 20)
  if not text then return nil, why end
  local new, line = require("srt.policy_edit").allow(text, entry, "allowed on " .. os.date("%Y-%m-%d") .. " (--prompt)")
  if not new then return nil, line end
  why = tried(facts, path, new, entry)
  if why then return nil, why end
  local ok, message, code = require("srt.c.tidy").replace(path, new)
  return ok and line, code == "EPERM" and "it belongs to others, who let nobody else write it" or message
end

---When nothing of the run lives any more: writes what was allowed for good.
---@param facts table of srt.session
---@param path string|nil the policy's real one
---@param name string as its user gave it
function Prompt:close(facts, path, name)
  for _, entry in ipairs(self.lines) do
    local line, why = nil, "it is no file"
    if path then line, why = add(facts, path, entry) end
    if line then
      self.tell(("%s:%d: \"%s\" is allowed from now on"):format(name, line, entry))
    else
      self.tell(("%s can't be changed (%s); to allow it for good, add \"%s\" to its network.allowedDomains"):format(
        name, tostring(why), entry))
    end
  end
  self.lines = {}
end

---@param tell fun(line: string)
---@return table prompt
function prompt.new(tell)
  return setmetatable({ tell = tell, answers = {}, lines = {} }, Prompt)
end

return prompt
