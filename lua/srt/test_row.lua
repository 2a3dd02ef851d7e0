-- SPDX-License-Identifier: Apache-2.0
-- The rows of a policy's tests: what they may say, and what it comes to against an answer.
local judge = require "srt.judge"

local test_row = {}

-- What a row gives beside its action, and what it expects.
local FIELDS = { to = "string", headers = "headers", body = "string", response = "response", protocol = "string",
  address = "string", name = "string" }
local EXPECTED = { is = "word", reason = "string", rule = "string", log = "string", errno = "string", status = "number",
  sets = "headers", removes = "names", sends = "string", target = "string", fault = "flag" }
local WORDS = { allow = true, deny = true, respond = true }
local NETWORK = { connect = true, request = true }
-- Where each can be given at all.
local ONLY = { headers = "request", response = "request", sets = "request", removes = "request", sends = "request",
  target = "request", status = "request", body = "request", protocol = "connect", address = "connect" }

local function is_list_of_text(v)
  if type(v) ~= "table" then return false end
  for key, value in pairs(v) do
    if math.type(key) ~= "integer" or type(value) ~= "string" then return false end
  end
  return true
end

local function is_headers(v)
  if type(v) ~= "table" then return false end
  for name, value in pairs(v) do
    if type(name) ~= "string" or not (type(value) == "string" or is_list_of_text(value)) then return false end
  end
  return true
end

local READ = {
  string = function(v) return type(v) == "string", "a string" end,
  flag = function(v) return type(v) == "boolean", "true or false" end,
  number = function(v) return math.type(v) == "integer", "a whole number" end,
  word = function(v) return WORDS[v], "\"allow\", \"deny\" or \"respond\"" end,
  names = function(v) return is_list_of_text(v), "a list of header names" end,
  headers = function(v) return is_headers(v), "a table of header names and values" end,
}

function READ.response(v)
  if type(v) ~= "table" or math.type(v.status) ~= "integer" then return false, "a table with a status" end
  for key in pairs(v) do
    if key ~= "status" and key ~= "headers" and key ~= "body" then return false, "status, headers and body only" end
  end
  return (v.headers == nil or is_headers(v.headers)) and (v.body == nil or type(v.body) == "string"),
    "headers as a table and a body as a string"
end

local function unknown(key, what)
  local known = judge.actions()
  for _, map in ipairs { FIELDS, EXPECTED, { request = true } } do
    for name in pairs(map) do known[#known + 1] = name end
  end
  local near = type(key) == "string" and require("srt.suggest").nearest(key, known)
  return ("%s %q%s"):format(what, tostring(key), near and ("; did you mean %q?"):format(near) or "")
end

local function takes(key)
  return key == "request" and 1 or type(key) == "string" and judge.takes(key) or nil
end

-- A connection's is a host; a socket's is "unix:PATH".
local function network_of(action, subject)
  if action == "connect" and subject:find("^unix:") then return nil end
  return NETWORK[action] and action or nil
end

local function check_fields(row, out)
  for key, value in pairs(row) do
    local kind = FIELDS[key] or EXPECTED[key]
    if kind then
      local ok, expected = READ[kind](value)
      if not ok then return ("%s must be %s"):format(key, expected) end
      if ONLY[key] and ONLY[key] ~= out.network then return ("%s is for rows with %s"):format(key, ONLY[key]) end
      if EXPECTED[key] then out.expects = true end
    elseif key ~= out.action then
      return takes(key) and ("a row asks one thing, this one %s and %s"):format(out.action, key)
        or unknown(key, "there is no")
    end
  end
end

---Reads a row.
---@param row any
---@return table? read {action=, subject=, to=, network = "connect"|"request"|nil, row=, expects = bool}
---@return string? problem
function test_row.read(row)
  if type(row) ~= "table" then return nil, "a row must be a table" end
  local out = { row = row }
  for key in pairs(row) do
    if takes(key) and (not out.action or key < out.action) then out.action = key end
  end
  if not out.action then
    for key in pairs(row) do
      if not FIELDS[key] and not EXPECTED[key] then return nil, unknown(key, "there is no") end
    end
    return nil, "a row needs an action: read, write, create, delete, connect, request or another of srt-lua explain"
  end
  out.subject, out.to = row[out.action], row.to
  if type(out.subject) ~= "string" or out.subject == "" then return nil, out.action .. " must be a string" end
  out.network = network_of(out.action, out.subject)
  if not out.network and (takes(out.action) == 2) ~= (row.to ~= nil) then
    return nil, out.action .. (row.to and " takes no to" or " takes a second path: to")
  end
  local problem = check_fields(row, out)
  if problem then return nil, problem end
  if (out.subject .. (out.to or "")):find("\0", 1, true) then return nil, out.action .. " has a byte of zero" end
  return out
end

---@return string? problem of a row of the table, which has to expect something
function test_row.complete(read)
  return not read.row.is and "a row must say is = \"allow\", \"deny\" or \"respond\"" or nil
end

---What a row is called.
function test_row.title(read)
  local text = ("%s %s%s"):format(read.action, read.subject, read.to and " to " .. read.to or "")
  return ("%s%s%s"):format(read.row.name and read.row.name .. ": " or "", text,
    read.row.is and " is " .. read.row.is or "")
end

local function within(text, part) return text ~= nil and text:find(part, 1, true) ~= nil end

local function look(problems, what, found, expected)
  if not within(found, expected) then
    problems[#problems + 1] = ("%s %q is expected, it is %s"):format(what, expected, found and ("%q"):format(found)
      or "not there")
  end
end

local function same(problems, what, found, expected)
  if found ~= expected then
    problems[#problems + 1] = ("%s must be %s, it is %s"):format(what, type(expected) == "string"
      and ("%q"):format(expected) or expected, type(found) == "string" and ("%q"):format(found) or tostring(found))
  end
end

local function by_name(map, name)
  for key, value in pairs(map or {}) do
    if key:lower() == name:lower() then return value end
  end
end

local function has(list, name)
  for _, other in ipairs(list or {}) do
    if other:lower() == name:lower() then return true end
  end
end

-- A callback that fails denies, which is not what a test that expects a denial is about.
local function compare_fault(problems, row, answer)
  if answer.fault and not row.fault then
    problems[#problems + 1] = "a callback failed (where that is meant, say fault = true)"
  elseif row.fault and not answer.fault then
    problems[#problems + 1] = "no callback failed"
  end
end

local function compare_headers(problems, row, answer)
  local given = answer.is == "allow" and answer.set or answer.headers
  for _, name in ipairs(require("srt.tables").keys(row.sets or {})) do
    same(problems, "the header " .. name, by_name(given, name), row.sets[name])
  end
  for _, name in ipairs(row.removes or {}) do
    if not has(answer.remove, name) then problems[#problems + 1] = ("the header %s is not taken out"):format(name) end
  end
end

---Compares what a row expects with an answer.
---@param row table
---@param answer srt.rehearsed
---@return string[] problems
function test_row.compare(row, answer)
  local problems = {}
  if row.is then same(problems, "it", answer.is, row.is) end
  for _, key in ipairs { "reason", "rule" } do
    if row[key] then look(problems, "the " .. key, answer[key], row[key]) end
    -- Of files a list's rule is all that there is to say.
    if key == "reason" and row.reason and not answer.reason and within(answer.rule, row.reason) then
      problems[#problems] = ("there is no reason, but a rule to compare with: rule = %q"):format(row.reason)
    end
  end
  for _, key in ipairs { "status", "errno", "target" } do
    if row[key] then same(problems, "the " .. key, answer[key], row[key]) end
  end
  if row.sends then same(problems, "the body", answer.body, row.sends) end
  if row.log then look(problems, "the log", table.concat(answer.log or {}, "\n"), row.log) end
  compare_fault(problems, row, answer)
  compare_headers(problems, row, answer)
  return problems
end

return test_row
