-- SPDX-License-Identifier: Apache-2.0
-- Reads what a callback answered, strictly: everything that is not clearly an answer denies and says why.

local verdict = {}

local MAX_REASON = 500

-- Which answers a callback may give, and with what in them.
local DENY = { reason = "text", status = "status", headers = "headers", body = "text" }
local RESPOND = { status = "status", headers = "headers", body = "text" }
local ANSWERS = {
  decideConnect = {
    allow = {},
    deny = { reason = "text" },
    pass = {},
  },
  decideOpen = {
    allow = { session = "flag" },
    deny = { reason = "text" },
    pass = {},
  },
  filterRequest = {
    allow = { setHeaders = "headers", removeHeaders = "names", setBody = "text", setTarget = "target",
      onResponse = "fn" },
    deny = DENY,
    respond = RESPOND,
    pass = {},
  },
  filterResponse = {
    allow = { status = "status", setHeaders = "headers", removeHeaders = "names", setBody = "text" },
    deny = DENY,
    respond = RESPOND,
    pass = {},
  },
}

-- How the box names what each callback gets.
local SUBJECTS = { decideConnect = "conn", decideOpen = "open", filterRequest = "request",
  filterResponse = "response" }

local NO_BODY = { [204] = true, [205] = true, [304] = true }

local function describe(v)
  if type(v) == "string" then
    return ("the string %q"):format(#v > 40 and v:sub(1, 40) .. "…" or v)
  elseif type(v) == "number" or type(v) == "boolean" then
    return tostring(v)
  elseif v == nil then
    return "nil"
  end
  if type(v) == "table" and v["$secret"] then return "a secret" end
  return type(v) == "userdata" and "a function" or "a " .. type(v)
end

---One line of plain text from a reason: control bytes become blanks, the length is bounded.
---@param text string
---@return string
function verdict.reason(text)
  text = text:gsub("[%z\1-\31\127]+", " "):match("^ *(.-) *$")
  if #text > MAX_REASON then
    text = text:sub(1, utf8.offset(text, 0, MAX_REASON + 1) - 1) .. "…"
  end
  return text
end

local function fault(kind, cause)
  return { verdict = "deny", fault = true,
    reason = verdict.reason(("%s.%s: %s"):format(kind == "decideOpen" and "filesystem" or "network", kind, cause)) }
end

-- A text with a secret in it, where that may be. It is looked at when its value is there (srt.secret_edits).
local function is_opaque(v, field, kind)
  return kind == "filterRequest" and field:find("^set") and require("srt.secret_text").is(v)
end

---@return string|nil problem
local function header_problem(name, value)
  return require("srt.header").problem(name, value, describe)
end

local read = {}

function read.fn(v, field)
  if type(v) ~= "userdata" and type(v) ~= "function" then
    return nil, ("%s must be a function, not %s"):format(field, describe(v))
  end
  return v
end

-- Where it leads is read later, when it is known where the request went.
function read.target(v, field, kind)
  if is_opaque(v, field, kind) then
    return v
  elseif type(v) ~= "string" then
    return nil, ("%s must be a path like \"/x?y\", or a URL, not %s"):format(field, describe(v))
  elseif v:find("[%z\1-\32\127-\255#]") then
    return nil, ("%s holds a blank, a control byte, a # or something else that has to be encoded"):format(field)
  end
  return v
end

function read.text(v, field, kind)
  if is_opaque(v, field, kind) then
    return v
  elseif type(v) ~= "string" then
    return nil, ("%s must be a string, not %s"):format(field, describe(v))
  end
  return v
end

function read.flag(v, field)
  if type(v) ~= "boolean" then
    return nil, ("%s must be true or false, not %s"):format(field, describe(v))
  end
  return v
end

function read.status(v)
  local n = math.type(v) and math.tointeger(v)
  if not n or n < 200 or n > 599 then
    return nil, ("status must be a whole number from 200 to 599, not %s"):format(describe(v))
  end
  return n
end

function read.headers(v, field, kind)
  if type(v) ~= "table" then
    return nil, ("%s must be a table of names and values, not %s"):format(field, describe(v))
  end
  local list, seen = {}, {}
  for name, value in pairs(v) do
    local problem = header_problem(name, not is_opaque(value, field, kind) and value or nil)
    if problem then
      return nil, problem
    elseif seen[name:lower()] then
      return nil, ("%s names the header %s twice"):format(field, name)
    end
    seen[name:lower()] = true
    list[#list + 1] = { name = name, value = value }
  end
  table.sort(list, function(a, b) return a.name:lower() < b.name:lower() end)
  return list
end

function read.names(v, field)
  if type(v) ~= "table" then
    return nil, ("%s must be a list of header names, not %s"):format(field, describe(v))
  end
  local count = 0
  for _ in pairs(v) do
    count = count + 1
  end
  local list = {}
  for i = 1, count do
    local problem = header_problem(v[i])
    if problem then
      return nil, ("%s[%d]: %s"):format(field, i, problem)
    end
    list[i] = v[i]
  end
  return list
end

---Both setting and removing a header in one answer has no clear meaning.
local function contradiction(fields)
  local set = {}
  for _, header in ipairs(fields.setHeaders or {}) do
    set[header.name:lower()] = true
  end
  for _, name in ipairs(fields.removeHeaders or {}) do
    if set[name:lower()] then
      return ("the header %s is both set and removed"):format(name)
    end
  end
  return nil
end

---@return table|nil fields, string|nil problem
local function read_fields(action, known, answer, kind)
  local fields = {}
  for field, value in pairs(answer) do
    if field ~= "$answer" then
      local how = type(field) == "string" and known[field]
      if not how then
        return nil, ("srt.%s takes no %s"):format(action, type(field) == "string" and field or describe(field))
      end
      local v, problem = read[how](value, field, kind)
      if problem then
        return nil, problem
      end
      fields[field] = v
    end
  end
  return fields, contradiction(fields)
end

local function read_answer(kind, answer)
  local action = answer["$answer"]
  if type(action) ~= "string" then
    return fault(kind, "answered a table that is not srt.allow, srt.deny, srt.respond or srt.pass")
  end
  local known = ANSWERS[kind][action]
  if not known then
    return fault(kind, ("answered srt.%s, which has no meaning here"):format(action))
  end
  local fields, problem = read_fields(action, known, answer, kind)
  if problem then
    return fault(kind, problem)
  elseif NO_BODY[fields.status] and (fields.body or fields.setBody or "") ~= "" then
    return fault(kind, ("an answer of status %d can't have a body"):format(fields.status))
  end
  local reason = fields.reason and verdict.reason(fields.reason)
  return {
    verdict = action, reason = reason ~= "" and reason or nil, status = fields.status, headers = fields.headers,
    body = action == "respond" and (fields.body or "") or fields.body or fields.setBody,
    session = fields.session, set = fields.setHeaders, remove = fields.removeHeaders, target = fields.setTarget,
    observer = fields.onResponse,
  }
end

---Reads one callback's answer.
---@param kind "decideConnect"|"decideOpen"|"filterRequest"|"filterResponse"
---@param ok boolean whether the call itself went well
---@param first any its first result, or the error
---@param second any its second result
---@return table answer {verdict = "allow"|"deny"|"respond"|"pass", fault = true on anything odd, …}
function verdict.read(kind, ok, first, second)
  if ok ~= true then
    local message = tostring(type(first) == "table" and first.message or first or "no cause was given")
    -- The traceback is for the debug log: whoever was denied need not see it.
    local answer = fault(kind, "failed: " .. message:match("^[^\n]*"))
    answer.detail = message
    return answer
  elseif first == true then
    return { verdict = "allow" }
  elseif first == false then
    if second ~= nil and type(second) ~= "string" then
      return fault(kind, ("answered false with a reason that is %s, not a string"):format(describe(second)))
    end
    local reason = second and verdict.reason(second)
    return { verdict = "deny", reason = reason ~= "" and reason or nil }
  elseif type(first) == "table" then
    return read_answer(kind, first)
  end
  return fault(kind, ("answered %s, which is none of true, false, srt.allow, srt.deny, srt.respond, srt.pass")
    :format(describe(first)))
end

local function changes(answer)
  return answer.set or answer.remove or answer.body or answer.target or answer.status or answer.observer
end

---Asks a chain of callbacks, base policies first. A denial or an answer ends it; else any allow allows.
---@param kind "decideConnect"|"decideOpen"|"filterRequest"|"filterResponse"
---@param chain any[] function handles
---@param call fun(fn: any, kind: string, subject: table, other: table|nil): boolean, any, any as box:call
---@param subject table what the callbacks get
---@param other table|nil the second thing they get
---@return table answer {verdict=, by = the handle that decided, …}; of an allowing one with edits, what srt.edits.done
--- gives
function verdict.chain(kind, chain, call, subject, other)
  local edits, collected, last = nil, nil, nil
  for _, fn in ipairs(chain) do
    local ok, first, second = call(fn, SUBJECTS[kind], subject, other)
    local answer
    -- Most say just this, and it is asked for every request.
    if ok == true and first == true then
      answer = { verdict = "allow", by = fn }
    else
      answer = verdict.read(kind, ok, first, second)
      answer.by = fn
    end
    if answer.verdict == "deny" or answer.verdict == "respond" then
      return answer
    elseif answer.verdict == "allow" then
      last = answer
      -- Most change nothing, and this is asked for every request.
      if changes(answer) then
        edits = edits or require("srt.edits")
        collected = collected or edits.new()
        edits.add(collected, answer)
      end
    end
  end
  if not last then return { verdict = "pass" } end
  if not collected then return last end
  local answer = edits.done(collected)
  answer.verdict, answer.by = "allow", last.by
  return answer
end

return verdict
