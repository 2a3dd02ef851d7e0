-- SPDX-License-Identifier: Apache-2.0
-- The one place that says by which way an allowed connection leaves: directly, by mitmProxy, or by a parent proxy.
--
-- Settings come first, key by key, then the variables of the environment that srt-lua was started in. An empty text
-- in the settings means no proxy, whatever the environment says.

local domain = require("srt.domain")
local urls = require("srt.proxy_url")

local route = {}

-- Variables by kind, the first that is set counts; HTTPS falls back on HTTP's proxy, as in srt.
local VARIABLES = { http = { "HTTP_PROXY", "ALL_PROXY" }, https = { "HTTPS_PROXY", "ALL_PROXY", "HTTP_PROXY" } }

local function unusable(url)
  if url.scheme == "https" then
    return "TLS to a proxy is not served yet; name one by http://"
  elseif url.scheme ~= "http" then
    return "only HTTP proxies are served as parents"
  end
end

-- {url, authorization, from = where the setting stands}, nil for none, or nil and a problem.
local function read(text, from)
  if text == "" then return nil end
  local url, reason = urls.parse(text)
  reason = reason or unusable(url)
  if reason then return nil, ("%s can't be used: %s"):format(from, reason) end
  -- In a function, so that nothing that prints a profile prints it.
  local authorization = urls.basic(url)
  return { host = url.host, port = url.port, from = from, text = urls.text(url),
    authorization = function() return authorization end }
end

---@param given table|nil {http=, https=, noProxy= texts or nil} of network.parentProxy
---@param env table the environment of srt-lua
---@return table|nil parent {http=, https=, noProxy = rules, ignored = entries}; nil: always directly
---@return string|nil problem
function route.parent(given, env)
  given = given or {}
  local parent, found = {}, false
  for _, kind in ipairs({ "http", "https" }) do
    local text, from = given[kind], "network.parentProxy." .. kind
    if not text and kind == "https" and given.http then text, from = given.http, "network.parentProxy.http" end
    if not text then
      text, from = urls.variable(env, table.unpack(VARIABLES[kind]))
      from = from and ("the proxy of the environment (%s)"):format(from)
    end
    local problem
    parent[kind], problem = read(text or "", from)
    if problem then
      return nil, from:find("^network") and problem
        or ("%s; or set network.parentProxy.%s, to \"\" for none"):format(problem, kind)
    end
    found = found or parent[kind] ~= nil
  end
  if not found then return nil end
  parent.noProxy, parent.ignored = require("srt.no_proxy").parse(given.noProxy or urls.variable(env, "NO_PROXY") or "")
  return parent
end

local function is_loopback(host)
  return domain.is_localhost(host) or host:find("^127%.") ~= nil or host == "::1"
end

---Compiles the ways out of a profile's network.
---@param network table {mitm = {socket, rules} | nil, parent = as of route.parent | nil}
---@return fun(host: string, port: integer, protocol: string): table|nil way {host, port | socket, authorization, text};
--- nil: directly
function route.compile(network)
  local mitm, parent = network.mitm, network.parent
  if not mitm and not parent then
    return function() return nil end
  end
  local listed = mitm and domain.compile(mitm.rules)
  return function(host, port, protocol)
    if listed and listed(host, port) then
      return { socket = mitm.socket, text = "network.mitmProxy" }
    end
    -- This machine is reached from this machine only.
    if not parent or is_loopback(host) or parent.noProxy:match(host, port) then return nil end
    local one = parent[protocol == "http" and "http" or "https"]
    return one and { host = one.host, port = one.port, authorization = one.authorization(), text = one.text }
  end
end

return route
