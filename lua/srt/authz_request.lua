-- SPDX-License-Identifier: Apache-2.0
-- Reads what a proxy in front asks about: its client's request, out of the one that it sends us.
--
-- Which proxy it is, and which headers it takes from our answer, is in the path that its configuration has, never in
-- anything that a client sends. Only headers that this proxy sets itself are believed, each has to be there once, and
-- what two readers could read in two ways is refused.

local authz_request = {}

-- Whom the path names: where it says what of the client's request. Without a uri it follows in the path, and method and
-- Host are our request's own. removes: how it is told which headers to take out; others take for gone what we don't
-- send. few: of all statuses but 2xx it passes 401 and 403 alone on. keeps: some versions leave a header that we don't
-- send as it was, so none can be taken out.
local FORWARDED = { uri = "x-forwarded-uri", method = "x-forwarded-method", host = "x-forwarded-host",
  proto = "x-forwarded-proto" }
local FRONTS = {
  envoy = { proto = "x-forwarded-proto", removes = "x-envoy-auth-headers-to-remove" },
  nginx = { uri = "x-original-uri", method = "x-original-method", host = "x-original-host",
    proto = "x-original-proto", few = true },
  traefik = FORWARDED,
  caddy = setmetatable({ keeps = true }, { __index = FORWARDED }),
}
local FORM = "the path has to be /envoy/HEADERS, /nginx/HEADERS, /traefik/HEADERS or /caddy/HEADERS, as docs/authz.md "
  .. "shows; HEADERS are those that the proxy in front takes from the answer, with commas between, or -"
local STANDARD = { http = 80, https = 443 }
local MOST = 32 -- headers that are taken

local function names_of(text)
  local names, seen = {}, {}
  if text == "-" then return names end
  for name in (text .. ","):gmatch("([^,]*),") do
    name = name:lower()
    local wrong = require("srt.header").problem(name, nil, function(v) return ("%q"):format(v) end)
      or #names == MOST and ("more than %d headers"):format(MOST)
    if wrong then return nil, wrong end
    if not seen[name] then names[#names + 1], seen[name] = name, true end
  end
  return names
end

-- The only value of a header that the proxy in front sets.
local function only(question, name)
  local value
  for _, field in ipairs(question.headers) do
    if field.name:lower() == name then
      if value then return nil, ("%s is there twice"):format(name) end
      value = field.value
    end
  end
  if not value or value == "" then return nil, ("%s is missing; the proxy in front has to set it"):format(name) end
  return value
end

local function check_method(method)
  if not method:find("^[A-Z][A-Z_-]*$") or #method > 32 then return "the method can't be read" end
  if method == "CONNECT" then return "CONNECT asks for a tunnel, which no check of one request can judge" end
end

-- Headers of the client, as the server behind would see them; Host is the one that was judged.
local function headers_of(question, front, host)
  local out, own = { { name = "Host", value = host } }, {}
  for _, name in pairs { front.uri or "", front.method or "", front.host or "", front.proto } do own[name] = true end
  for _, field in ipairs(question.headers) do
    local name = field.name:lower()
    if not own[name] and not require("srt.header").problem(name, nil, tostring) then out[#out + 1] = field end
  end
  return out
end

-- The four things that a proxy in front says.
local function said(question, front, rest)
  local got = {}
  for _, what in ipairs { "uri", "method", "host", "proto" } do
    if front[what] then
      local value, why = only(question, front[what])
      if not value then return nil, why end
      got[what] = value
    end
  end
  if not front.uri then
    got.uri, got.method = rest .. (question.query and "?" .. question.query or ""), question.method
    got.host = only(question, "host")
  elseif rest ~= "" or question.query then
    return nil, FORM
  end
  return got
end

---Reads a question of srt.c.proxy of the kind "authz".
---@param question table
---@return table|nil asked {front =, take = names in lower case, question = one of the kind "request"}
---@return string|nil why it can't be read
function authz_request.read(question)
  local name, list, rest = (question.path or ""):match("^/(%l+)/([^/]+)(.*)$")
  local front = FRONTS[name]
  if not front then return nil, FORM end
  local take, why = names_of(list)
  if not take then return nil, why end
  local got
  got, why = said(question, front, rest)
  if not got then return nil, why end
  local standard = STANDARD[got.proto]
  if not standard then return nil, front.proto .. " is neither http nor https" end
  why = check_method(got.method)
  if why then return nil, why end
  local host, port = require("srt.retarget").authority(got.host, standard)
  if not host then return nil, "the host of the request: " .. port end
  local path, query = got.uri:match("^(/[^?]*)%??(.*)$")
  if not path or got.uri:find("[^!-\"$-~]") or path:find("\\", 1, true) then
    return nil, "the target of the request is no path of printable ASCII that begins with / and has no fragment"
  end
  return { front = front, take = take, question = { kind = "request", protocol = "http", tls = got.proto == "https",
    method = got.method, host = host, port = port, target = got.uri, path = path,
    query = got.uri:find("?", 1, true) and query or nil, headers = headers_of(question, front, got.host) } }
end

return authz_request
