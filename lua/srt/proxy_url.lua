-- SPDX-License-Identifier: Apache-2.0
-- The URL of a proxy as settings and environment variables spell it. What is wrong is said without its credentials.

local domain = require("srt.domain")

local proxy_url = {}

local PORTS = { http = 80, https = 443, socks4 = 1080, socks4a = 1080, socks5 = 1080, socks5h = 1080, socks = 1080 }

local function decoded(text)
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

local function split_port(authority, scheme)
  local host, port = authority:match("^(%[[^%]]*%]):?(%d*)$")
  if not host then host, port = authority:match("^([^:]*):?(%d*)$") end
  if not host then return nil end
  port = port == "" and PORTS[scheme] or tonumber(port)
  return host, port
end

---Reads the URL of a proxy; without a scheme it is an HTTP proxy.
---@param text string
---@return table|nil url {scheme=, host=canonical, port=, user=, password=} the last two nil without userinfo
---@return string|nil reason
function proxy_url.parse(text)
  local scheme, rest = text:match("^(%a[%w+.-]*)://(.*)$")
  scheme, rest = (scheme or "http"):lower(), rest or text
  if not PORTS[scheme] then return nil, ("%q is no kind of proxy"):format(scheme) end
  local authority, tail = rest:match("^([^/?#]*)(.*)$")
  local userinfo, place = authority:match("^(.*)@([^@]*)$")
  local host, port = split_port(place or authority, scheme)
  if tail ~= "" and tail ~= "/" then
    return nil, "a proxy's URL ends with its port"
  elseif not host or not port or port < 1 or port > 65535 then
    return nil, "expected HOST:PORT"
  end
  local canonical, reason = domain.canonical(host)
  if not canonical or canonical == "" then return nil, "the host can't be used: " .. (reason or "it is empty") end
  local user, password
  if userinfo then
    user, password = userinfo:match("^([^:]*):?(.*)$")
    user, password = decoded(user), decoded(password)
  end
  return { scheme = scheme, host = canonical, port = port, user = user, password = password }
end

---The value of Proxy-Authorization (RFC 7617), nil without userinfo.
---@param url table
---@return string|nil
function proxy_url.basic(url)
  return url.user and "Basic " .. require("srt.base64").encode(url.user .. ":" .. url.password) or nil
end

---host:port, with brackets where they belong.
---@param host string canonical
---@param port integer
---@return string
function proxy_url.authority(host, port)
  return (host:find(":", 1, true) and "[%s]:%d" or "%s:%d"):format(host, port)
end

---The URL without its credentials, for people.
---@param url table
---@return string
function proxy_url.text(url)
  return url.scheme .. "://" .. proxy_url.authority(url.host, url.port)
end

---A variable of an environment by its usual spellings: lower case wins, as in curl.
---@param env table
---@param ... string names in upper case, the first that is there counts
---@return string|nil value
---@return string|nil name
function proxy_url.variable(env, ...)
  for _, name in ipairs({ ... }) do
    for _, spelled in ipairs({ name:lower(), name }) do
      if env[spelled] and env[spelled] ~= "" then return env[spelled], spelled end
    end
  end
end

return proxy_url
