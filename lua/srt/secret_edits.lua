-- SPDX-License-Identifier: Apache-2.0
-- The edits of a request in which secrets stand: each is put in where the request goes, if it may go there.
local secret_text = require "srt.secret_text"

local secret_edits = {}

local CONTROL = "[%z\1-\8\10-\31\127]"

-- Values of the secrets, for where the request goes.
local function lookup_of(vault, decision, scheme)
  return function(name)
    if not vault then return nil, "the policy has no secrets" end
    return vault:value(name, decision.host, decision.port, scheme)
  end
end

local function quote(c) return ("%%%02X"):format(c:byte()) end

---A target with marks where secrets stand, so that it can be read before it is known where they go.
---@param v any a string, or what stands for one
---@return string? text
---@return table<string, string>|string marks mark → name of the secret; or the problem
function secret_edits.marked(v)
  local marks = {}
  if not secret_text.is(v) then return v, marks end
  local text, problem = secret_text.expand(v, function(name)
    local mark = "secret-" .. assert(require("srt.c.sys").random(16))
    marks[mark] = name
    return mark
  end, true)
  return text, problem or marks
end

local function target(decision, marks, lookup)
  local text = decision.target
  for mark, name in pairs(marks) do
    if decision.host:find(mark, 1, true) then return "setTarget: a secret can't be part of a host" end
    local value, problem = lookup(name)
    if not value then return "setTarget: " .. problem end
    local first, last = text:find(mark, 1, true)
    text = text:sub(1, first - 1) .. value:gsub("[^%w._~-]", quote) .. text:sub(last + 1)
  end
  decision.target = text
end

local function headers(decision, moved, lookup)
  local set, remove = {}, table.move(decision.remove, 1, #decision.remove, 1, {})
  for _, header in ipairs(decision.set) do
    local value, problem = secret_text.expand(header.value, lookup)
    if value and value:find(CONTROL) then problem = "the secret holds control bytes" end
    if not problem then
      set[#set + 1] = { name = header.name, value = value }
    elseif moved then
      -- A secret does not follow to another host, and neither does what it was to replace.
      remove[#remove + 1] = header.name
    else
      return ("the header %s: %s"):format(header.name, problem)
    end
  end
  decision.set, decision.remove = set, remove
end

-- Of two parts of an answer neither holds the value that is to be found in it.
local function in_one_piece(decision)
  for _, header in ipairs(decision.set) do
    if header.name:lower() == "range" then return end
  end
  decision.remove[#decision.remove + 1] = "Range"
end

---Puts the values in.
---@param vault table? of srt.secrets
---@param decision table allowed: host, port, set, remove, body, target
---@param subject table of the filter: where the request went, and its scheme
---@param marks table<string, string> of the target
---@return string? problem in which no value stands; the request must not go out then
function secret_edits.fill(vault, decision, subject, marks)
  local find, put = lookup_of(vault, decision, subject.scheme), false
  local function lookup(name)
    put = true
    return find(name)
  end
  local moved = decision.host ~= subject.host or decision.port ~= subject.port
  local problem = headers(decision, moved, lookup) or next(marks) and target(decision, marks, lookup)
  if not problem and decision.body ~= nil then
    decision.body, problem = secret_text.expand(decision.body, lookup)
    problem = problem and "setBody: " .. problem
  end
  if put and not problem then in_one_piece(decision) end
  return problem or nil
end

return secret_edits
