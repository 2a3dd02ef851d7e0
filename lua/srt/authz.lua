-- SPDX-License-Identifier: Apache-2.0
-- The decisions as an HTTP authorization service: what a proxy in front is answered. See docs/authz.md.
--
-- It only hears yes, no, and headers. Whatever else a policy wants done to a request would be left undone, so that is a
-- denial, which says why.

local spelled = require("srt.net_text")

local authz = {}

local REASON = "X-Srt-Reason" -- for proxies in front that show no body of ours

-- What an allowing decision may ask for besides headers, and no proxy in front is told.
local UNTOLD = {
  { "path", "the path in its normal form is judged, and the proxy in front asks for another; let "
    .. "network.ambiguousRequestTarget refuse" },
  { "target", "network.filterRequest sets another target" },
  { "body", "network.filterRequest sets a body" },
  { "review", "network.filterRequest wants to see the response" },
  { "via", "the policy has requests to this host leave by another proxy" },
  { "fill", "secrets are put in by srt-lua's own proxy only" },
  { "scrub", "secrets are taken out by srt-lua's own proxy only" },
}

local function refuse(question, decision, why, rule)
  return spelled.deny({ reason = ("%s %s can't be allowed here: %s"):format(spelled.shown(question.method),
    spelled.target(decision.host, decision.port), why), rule = rule or decision.rule or "srt-lua proxy --authz",
    of = "request", origin = not rule and decision.origin or nil, host = decision.host, port = decision.port })
end

local function edited(decision)
  local values, names = {}, {}
  for _, header in ipairs(decision.set or {}) do
    values[header.name:lower()] = header.value
    names[#names + 1] = header.name:lower()
  end
  for _, name in ipairs(decision.remove or {}) do
    values[name:lower()] = false
    names[#names + 1] = name:lower()
  end
  return values, names
end

-- Where an answer of the policy's own would be taken for leave to go on, or for trouble.
local function answer_refused(asked, decision)
  local status = decision.status
  if status < 300 then return ("network.filterRequest answers it with %d itself, which the proxy in front would take "
    .. "for leave to go on"):format(status) end
  if asked.front.few and status ~= 401 and status ~= 403 then
    return ("network.filterRequest answers it with %d itself, and nginx is told 401 and 403 only"):format(status)
  end
end

local function edits_refused(asked, decision)
  local taken = {}
  local values, names = edited(decision)
  for _, name in ipairs(asked.take) do taken[name] = true end
  for _, name in ipairs(names) do
    if not taken[name] then
      return ("network.filterRequest changes the header %s, which the proxy in front does not take from here")
        :format(name)
    elseif asked.front.keeps and (values[name] or "") == "" then
      return ("network.filterRequest removes the header %s, which Caddy can't be told"):format(name)
    end
  end
end

-- What becomes of a decision where the request is another's.
local function held(asked, live, decision)
  local question = asked.question
  if decision.action == "respond" then
    local why = answer_refused(asked, decision)
    return why and refuse(question, decision, why) or decision
  elseif decision.action ~= "allow" then
    return decision
  end
  -- Names are resolved by the proxy in front: of addresses alone can it be said here where they lead.
  local address = require("srt.c.sys").pton(decision.host) and live:address(decision.host, decision.port, decision.host)
  if address then return refuse(question, decision, address, "network.deniedResolvedAddresses") end
  for _, one in ipairs(UNTOLD) do
    if decision[one[1]] ~= nil then return refuse(question, decision, one[2]) end
  end
  local why = edits_refused(asked, decision)
  return why and refuse(question, decision, why) or decision
end

-- All values of a header of the client's in one (RFC 9110 5.3).
local function joined(headers, name)
  local values = {}
  for _, field in ipairs(headers) do
    if field.name:lower() == name then values[#values + 1] = field.value end
  end
  return values[1] and table.concat(values, name == "cookie" and "; " or ", ")
end

-- Each header that is taken from here, as it is to go on: a proxy in front that replaces the client's by it does right
-- whether it was changed or not.
local function headers_of(asked, decision)
  local out, gone = {}, {}
  local values = edited(decision)
  for _, name in ipairs(asked.take) do
    local value = values[name]
    if value == nil then value = joined(asked.question.headers, name) end
    if value then
      out[#out + 1] = { name = name, value = value }
    else
      gone[#gone + 1] = name
    end
  end
  if asked.front.removes and gone[1] then
    out[#out + 1] = { name = asked.front.removes, value = table.concat(gone, ",") }
  end
  return out
end

local function with_reason(headers, reason)
  local out = table.move(headers or {}, 1, #(headers or {}), 1, {})
  out[#out + 1] = { name = REASON, value = reason:gsub("[^ -~]+", "?"):sub(1, 500) }
  return out
end

---@param asked table
---@param decision table
---@return table verdict of srt.c.proxy; it never allows, since nothing goes anywhere from here
local function verdict(asked, decision)
  if decision.action == "allow" then
    return { allow = false, respond = true, status = 200, set = headers_of(asked, decision), body = "" }
  end
  local out = require("srt.decide_net").wire(decision)
  if decision.action == "deny" then
    out.set = with_reason(out.set, out.reason)
    -- What srt.c.proxy would make names the question, not what was asked about.
    out.body = out.body or out.reason .. "\n" .. (out.rule and "rule: " .. out.rule .. "\n" or "")
    if asked.front.few and out.status ~= 401 then out.status = 403 end
  end
  return out
end

---Answers a question of the kind "authz".
---@param question table of srt.c.proxy
---@param live table of srt.live
---@param judge fun(question: table, held: fun(decision: table): table): table decides, and tells whom it concerns
---@return table verdict of srt.c.proxy
function authz.answer(question, live, judge)
  local asked, why = require("srt.authz_request").read(question)
  if not asked then
    return { allow = false, status = 400, code = "bad-request", reason = why, set = with_reason(nil, why) }
  end
  return verdict(asked, judge(asked.question, function(decision) return held(asked, live, decision) end))
end

---Why a policy can't be held by an authorization service at all, or nil.
---@param profile table
---@return string|nil
function authz.refused(profile)
  if #(profile.callbacks.filterResponse or {}) > 0 then
    return "network.filterResponse can't be held by --authz, which sees no response; use --listen for this policy"
  elseif profile.credentials.active then
    return "secrets and credentials can't be held by --authz: only srt-lua's own proxy puts them in; use --listen for "
      .. "this policy"
  end
end

return authz
