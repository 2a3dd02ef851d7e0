-- SPDX-License-Identifier: Apache-2.0
-- What srt-lua explain and repl say of connections and requests: the callbacks run, and nothing is connected to.
local rehearse = require "srt.rehearse"
local rehearse_answer = require "srt.rehearse_answer"

local explain_net = {}

local MOST_BODY = 64 << 20

-- Options that take a value, and what they are of.
local VALUES = { ["-H"] = "headers", ["--header"] = "headers", ["--data"] = "body", ["--protocol"] = "protocol",
  ["--response"] = "status", ["--response-header"] = "responseHeaders", ["--response-data"] = "responseBody",
  ["--command-text"] = "command" }
local LISTS = { headers = true, responseHeaders = true }
local BODIES = { body = true, responseBody = true }

---Which field an option sets.
---@param word string
---@return string?
function explain_net.option(word) return VALUES[word] end

local function header_of(text)
  local name, value = text:match("^([^%s:]+):[ \t]*(.-)[ \t]*$")
  if not name or value:find("[\r\n%z]") then return nil, ("%q is no header like \"Name: value\""):format(text) end
  return { name = name, value = value }
end

local function body_of(text)
  if text:sub(1, 1) ~= "@" then return text end
  local body, message = require("srt.c.sys").readfile(text:sub(2), MOST_BODY)
  return body, body == nil and ("%s can't be read: %s"):format(text:sub(2), message) or nil
end

local function no_protocol(text)
  local known = rehearse.PROTOCOLS
  for _, name in ipairs(known) do
    if name == text then return nil end
  end
  return ("%q is no protocol: %s"):format(text, table.concat(known, ", "))
end

---Takes an option with its value.
---@param options table to be filled
---@param field string of explain_net.option
---@param value string?
---@return string? problem
function explain_net.take(options, field, value)
  local problem
  if not value then return "a value is missing behind the last option" end
  if LISTS[field] then
    value, problem = header_of(value)
    options[field] = options[field] or {}
    options[field][#options[field] + 1] = value
  elseif BODIES[field] then
    options[field], problem = body_of(value)
  elseif field == "status" then
    options.status = value:find("^[1-5]%d%d$") and tonumber(value)
    if not options.status then problem = ("%q is no status of a response"):format(value) end
  else
    options[field] = value
    problem = field == "protocol" and no_protocol(value) or nil
  end
  return problem
end

---Reads what is asked.
---@param action "connect"|"request"
---@param words string[] what follows it
---@param options table of explain_net.take
---@return table? question
---@return string? problem
function explain_net.read(action, words, options)
  local question = { action = action, options = options }
  if action == "connect" then
    if #words ~= 1 then return nil, "connect takes HOST:PORT, or unix:PATH" end
    for field in pairs(options) do
      if field ~= "protocol" and field ~= "command" then return nil, "a connection has neither headers nor bodies" end
    end
    local host, port = rehearse.place(words[1])
    if not host then return nil, port end
    question.host, question.port, question.text = host, port, words[1]
    return question
  end
  if #words ~= 2 then return nil, "request takes METHOD URL" end
  local parts, problem = rehearse.url(words[2])
  if not parts then return nil, problem end
  if not words[1]:find("^[%w!#$%%&'*+.^_`|~-]+$") then return nil, ("%q is no method"):format(words[1]) end
  if not options.status and (options.responseHeaders or options.responseBody) then
    return nil, "a response needs its status: --response 200"
  end
  question.method, question.url = words[1], words[2]
  question.text = words[1] .. " " .. words[2]
  return question
end

---Adds the callbacks that were asked for an answer, and what they logged.
---@param rehearsal table
---@param lines string[]|nil emptied
---@param answer srt.rehearsed
---@return srt.rehearsed answer
function explain_net.told(rehearsal, lines, answer)
  answer.asked, answer.log = {}, lines and table.move(lines, 1, #lines, 1, {})
  for i, origin in ipairs(rehearsal.asked) do
    answer.asked[i] = ("%s (%s)"):format(origin.key, require("srt.source").where(origin))
  end
  rehearsal.asked = {}
  for i = lines and #lines or 0, 1, -1 do lines[i] = nil end
  return answer
end

-- A program inside does not ask the proxy for loopback: it meets the sandbox's own, where nobody listens.
local function of_loopback(answer, decision)
  local advice = answer.is == "deny" and require("srt.loopback").addresses(answer.host or "")
    and require("srt.denials").advice(decision)
  if not advice then return answer end
  answer.advice = advice .. ", and the host's server is there inside"
  answer.note = "loopback is the sandbox's own: without that entry most programs get \"Connection refused\" from it, "
    .. "which no report tells"
  return answer
end

local function finish(rehearsal, lines, decision)
  return explain_net.told(rehearsal, lines, rehearse_answer.net(decision))
end

---Asks.
---@param rehearsal table of srt.rehearse
---@param question table of explain_net.read
---@param lines string[]|nil where the policy's log goes; emptied
---@return srt.rehearsed answer response = of the response, where it was asked about
function explain_net.ask(rehearsal, question, lines)
  local options = question.options
  if question.action == "connect" then
    local decision = rehearsal:connect(question.host, question.port, options.protocol)
    return of_loopback(finish(rehearsal, lines, decision), decision)
  end
  local decision, parts = rehearsal:request { method = question.method, url = question.url, headers = options.headers,
    body = options.body }
  local answer = finish(rehearsal, lines, decision)
  answer.puts = rehearsal:puts(decision, parts)
  if options.status and decision.action == "allow" then
    answer.response = finish(rehearsal, lines, rehearsal:response(decision, { status = options.status,
      headers = options.responseHeaders, body = options.responseBody }))
  end
  return answer
end

---@param answer srt.rehearsed
---@return boolean does all of it pass?
function explain_net.allows(answer)
  return answer.is == "allow" and (not answer.response or answer.response.is == "allow")
end

---@return string
function explain_net.text(question, answer)
  local text = rehearse_answer.text(question.action .. " " .. question.text, answer)
  if answer.response then
    text = text .. rehearse_answer.text(("response %d to it"):format(question.options.status), answer.response)
  end
  return text
end

local function filled(list) return list and #list > 0 and list or nil end

local function data_of(answer)
  local origin = answer.origin or {}
  local object = require("srt.json").object
  return { decision = answer.is, reason = answer.reason, advice = answer.advice, note = answer.note, host = answer.host,
    port = answer.port, status = answer.status, headers = answer.headers and object(answer.headers), path = answer.path,
    set = answer.set and object(answer.set), remove = answer.remove, body = answer.body, target = answer.target,
    via = answer.via,
    asked = filled(answer.asked), log = filled(answer.log), puts = filled(answer.puts), fault = answer.fault,
    trace = answer.detail,
    rule = { text = answer.rule, key = origin.key, file = origin.file, line = origin.line or nil } }
end

---Plain data for JSON.
---@return table
function explain_net.data(question, answer)
  local data = data_of(answer)
  data.action = question.action
  data[question.action] = question.text
  data.response = answer.response and data_of(answer.response) or nil
  return data
end

return explain_net
