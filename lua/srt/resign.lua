-- SPDX-License-Identifier: Apache-2.0
-- Requests to AWS that were signed inside with a masked key: looked at, and signed anew with the real one.
--
-- The body is not touched, so its hash stays what the client said. What is put in is the key id, the session token and
-- the signature, and nothing else of the request is replaced.
local sigv4 = require "srt.sigv4"

local resign = {}

local EMPTY = sigv4.sha256("")
local MOST = 1 << 20 -- of a body whose hash the client does not tell

local function by_name(list)
  local headers = {}
  for _, field in ipairs(list) do
    local name = field.name:lower()
    headers[name] = headers[name] or {}
    table.insert(headers[name], field.value)
  end
  return headers
end

local function first(headers, name) return headers[name] and headers[name][1] end

local function has_body(headers)
  return headers["transfer-encoding"] ~= nil or (first(headers, "content-length") or "0") ~= "0"
end

-- What the client signed in the place of the body.
local function payload_of(question, headers)
  local told = first(headers, "x-amz-content-sha256")
  if told then return told end
  if not has_body(headers) then return EMPTY end
  if headers["content-encoding"] then return nil, "its body is compressed, so what was signed can't be known" end
  if not question.body then return nil, "its body can't be read" end
  local body, why = require("srt.c.proxy").body(question.body, MOST)
  if not body then return nil, "its body can't be read: " .. why end
  return sigv4.sha256(body)
end

local function find_pair(vault, key, where)
  for _, pair in ipairs(vault.pairs) do
    if pair.key.kept.sentinel == key and vault:injects(pair.key, where) and vault:injects(pair.secret, where) then
      return pair
    end
  end
end

-- Kinds of signatures that can't be made again: denied, unless the policy lets them pass as they are.
local function other_kind(vault, question, headers)
  local value, query = first(headers, "authorization") or "", question.query or ""
  local kind
  if value:find("^AWS4%-ECDSA") then
    kind = "sigv4a"
  elseif query:find("X%-Amz%-Signature=") then
    kind = "presigned"
  elseif (first(headers, "x-amz-content-sha256") or ""):find("^STREAMING%-AWS4") then
    kind = "streaming"
  end
  if not kind then return nil end
  for _, pair in ipairs(vault.pairs) do
    if (value .. query):find(pair.key.kept.sentinel, 1, true) then return kind end
  end
end

-- The request as it goes out, with what edits and the proxy make of it.
local function outgoing(decision, question, headers, pair, where)
  local out = setmetatable({}, { __index = headers })
  for _, header in ipairs(decision.set or {}) do out[header.name:lower()] = { header.value } end
  for _, name in ipairs(decision.remove or {}) do out[name:lower()] = false end
  local standard = where.scheme == "https" and 443 or 80
  local host = where.host:find(":", 1, true) and "[" .. where.host .. "]" or where.host
  out.host = { where.port == standard and host or host .. ":" .. where.port }
  local token = first(out, "x-amz-security-token")
  if pair.token and token == pair.token.kept.sentinel then out["x-amz-security-token"] = { pair.token.kept.value() } end
  local target = decision.target
  return { method = question.method, headers = out, path = target and target:match("^[^?]*") or decision.path
    or question.path, query = target and target:match("?(.*)$") or not target and question.query or nil }
end

local function refused(problem)
  return nil, "its AWS signature can't be made again: " .. problem
end

-- The real signature; or why there is none.
local function sign(decision, question, headers, of, pair, where)
  local time = first(headers, "x-amz-date") or ""
  if not time:find("^%d+T%d+Z$") or time:sub(1, 8) ~= of.date then return refused("it has no x-amz-date of its day") end
  local payload, why = payload_of(question, headers)
  if not payload then return refused(why) end
  local given, problem = sigv4.canonical({ method = question.method, path = question.path, query = question.query,
    headers = headers, payload = payload }, of)
  if not given then return refused(problem) end
  if sigv4.sign(pair.secret.kept.sentinel, given, of, time) ~= of.signature:lower() then
    return refused("it was not made with the masked secret key")
  end
  local out = outgoing(decision, question, headers, pair, where)
  if decision.body and not headers["x-amz-content-sha256"] then payload = sigv4.sha256(decision.body) end
  out.payload = payload
  local wanted
  wanted, problem = sigv4.canonical(out, of)
  if not wanted then return refused(problem) end
  return sigv4.text(of, pair.key.kept.value(), sigv4.sign(pair.secret.kept.value(), wanted, of, time)),
    first(out.headers, "x-amz-security-token")
end

---Signs a request anew where it was signed with a masked key.
---@param vault table of srt.secrets
---@param decision table allowed
---@param question table the request as it came
---@param where {host: string, port: integer, scheme: string}
---@return table? set headers to set besides those of the decision; nil where there is nothing to sign
---@return string? problem the request must not go out
function resign.request(vault, decision, question, where)
  if #vault.pairs == 0 then return nil end
  local headers = by_name(question.headers or {})
  local kind = other_kind(vault, question, headers)
  if kind then
    if vault.sigv4[kind] == "passthrough" then return nil end
    return refused(("it is of the kind %q; credentials.sigv4.%s = \"passthrough\" lets it go as it is")
      :format(kind, kind))
  end
  local of = sigv4.parse(first(headers, "authorization") or "")
  local pair = of and find_pair(vault, of.key, where)
  if not pair then return nil end
  local text, token = sign(decision, question, headers, of, pair, where)
  if not text then return nil, token end
  local set = { { name = "Authorization", value = text } }
  if headers["x-amz-security-token"] then set[2] = { name = "X-Amz-Security-Token", value = token } end
  return set
end

return resign
