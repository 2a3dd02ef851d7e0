-- SPDX-License-Identifier: Apache-2.0
-- The command's environment: the caller's, then what leads tools to the proxy, then what the policy says.
--
-- Nothing here is secret, but for the token of a proxy that others reach too (ctx.token). What stands in files of the
-- user's (npm, git, cargo) and names another proxy is overridden, since that one can't be reached from inside.

local sys = require "srt.c.sys"

local environment = {}

environment.USER = "srt" -- whom the proxy takes its token from

local function quote(word)
  return word:find("^[%w_/.:=@%%+-]+$") and word or "'" .. word:gsub("'", "'\\''") .. "'"
end

local function url(way) return way.url end
local function socks(way) return way.socks end
local function no_proxy(way)
  -- Node and Python compare the address with its brackets, curl and others without.
  return (table.concat(way.direct, ","):gsub("::1", "::1,[::1]"))
end
local function on() return "1" end
local function never() return nil end

-- The bundle of the run where there is one, else what the caller has.
local function bundle(way, own) return way.bundle or own end

-- Behind the caller's own, where the last one counts.
local function appended(own, more)
  return own and own ~= "" and own .. " " .. more or more
end

local function java(way, own)
  -- A JVM goes to all of 127.* by itself as soon as this names anything (sun.net.spi.DefaultProxySelector).
  local direct = way.allDirect and "localhost|127.*|[::1]" or ""
  -- The password guards nothing; a caller's would be that of another store.
  local store = way.store and (" -Djavax.net.ssl.trustStore=%s -Djavax.net.ssl.trustStoreType=JKS "
    .. "-Djavax.net.ssl.trustStorePassword=changeit"):format(way.store) or ""
  return appended(own, ("-Dhttp.proxyHost=%s -Dhttp.proxyPort=%d -Dhttps.proxyHost=%s -Dhttps.proxyPort=%d "
    .. "-Dhttp.nonProxyHosts=%s%s"):format(way.host, way.port, way.host, way.port, direct, store))
end

-- A JVM heeds no TMPDIR, and /tmp is not writable: Gradle then fails at start.
local function java_temp(own, directory)
  if own and own:find("-Djava.io.tmpdir=", 1, true) or directory:find('"', 1, true) then return own end
  return appended(own, "-Djava.io.tmpdir=" .. (directory:find("[%s']") and '"' .. directory .. '"' or directory))
end

local function maven(_, own)
  return appended(own, "-Daether.connector.http.useSystemProperties=true "
    .. "-Daether.transport.apache.useSystemProperties=true")
end

local function ssh(way, own)
  if not way.binary then return own end
  local lower = (own or ""):lower()
  -- The first of two would count.
  if lower == "" or lower:find("proxycommand", 1, true) or lower:find("proxyjump", 1, true) then own = "ssh" end
  -- A % would be a token of ssh's; sharing a connection takes a Unix socket.
  local command = quote((way.binary:gsub("%%", "%%%%"))) .. " connect %h %p"
  return own .. " -o ControlMaster=no -o ControlPath=none -o ProxyCommand=" .. quote(command)
end

---@class srt.way how tools reach the proxy
---@field host string
---@field port integer
---@field url string http://…
---@field socks string|nil socks5h://…, where that port is listened on
---@field socksPort integer|nil
---@field login string "USER:TOKEN@", or nothing
---@field token string|nil
---@field direct string[] hosts reached without it
---@field allDirect boolean all of loopback is
---@field binary string|nil this program, as the command can run it
---@field bundle string|nil PEM file of whom to trust, where TLS is terminated
---@field store string|nil the same for Java

-- {value(way, the caller's) or nil for none, names …}. These are taken out where they are not set.
environment.VARIABLES = {
  -- Nearly all; curl, Ruby and PHP read the lower case only, some Java and Go programs the upper.
  { url, "HTTP_PROXY", "http_proxy" },
  -- The same tools for https, by CONNECT.
  { url, "HTTPS_PROXY", "https_proxy" },
  -- curl, aria2, httpx; http, since httpx without socksio fails at start with socks5h.
  { url, "ALL_PROXY", "all_proxy" },
  -- WebSocket clients; CONNECT serves them.
  { url, "WS_PROXY", "ws_proxy", "WSS_PROXY", "wss_proxy" },
  -- gRPC in C and its wrappers, grpc-js.
  { url, "GRPC_PROXY", "grpc_proxy" },
  -- curl; FTP needs SOCKS, its data has ports of its own. And a few tools that read nothing else.
  { socks, "FTP_PROXY", "ftp_proxy", "SOCKS_PROXY", "socks_proxy" },
  -- rsync:// by CONNECT; it takes no URL.
  { function(way) return way.login .. way.host .. ":" .. way.port end, "RSYNC_PROXY" },
  -- Servers inside are reached directly; private ranges are not listed, for they have no route of their own. gRPC asks
  -- a name of its own first.
  { no_proxy, "NO_PROXY", "no_proxy", "NO_GRPC_PROXY", "no_grpc_proxy" },
  -- fetch and http of Node 22.21 and 24.5 on.
  { on, "NODE_USE_ENV_PROXY" },
  -- npm, pnpm, yarn 1: wins over .npmrc.
  { url, "npm_config_proxy", "npm_config_https_proxy" },
  { no_proxy, "npm_config_noproxy" },
  -- yarn from 2 on reads no other; it has no name for hosts to reach directly and refuses unknown ones.
  { url, "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY" },
  -- Node programs on global-agent; Electron's install script then asks that.
  { url, "GLOBAL_AGENT_HTTP_PROXY" },
  { no_proxy, "GLOBAL_AGENT_NO_PROXY" },
  { on, "ELECTRON_GET_USE_PROXY" },
  -- With it pip would ask the proxy for servers inside, too.
  { never, "PIP_PROXY" },
  -- Wins over http.proxy in cargo's files.
  { url, "CARGO_HTTP_PROXY" },
  -- Wrappers of docker, rootless docker.
  { url, "DOCKER_HTTP_PROXY", "DOCKER_HTTPS_PROXY" },
  -- gcloud; user and password would be those of the caller's proxy.
  { function() return "http" end, "CLOUDSDK_PROXY_TYPE" },
  { function(way) return way.host end, "CLOUDSDK_PROXY_ADDRESS" },
  { function(way) return tostring(way.port) end, "CLOUDSDK_PROXY_PORT" },
  { function(way) return way.token and environment.USER end, "CLOUDSDK_PROXY_USERNAME" },
  { function(way) return way.token end, "CLOUDSDK_PROXY_PASSWORD" },
}

-- The same, but building on the caller's value.
environment.EXTENDED = {
  -- OpenSSL and what asks it (Python, Ruby, Perl, PHP), Go, Rust's rustls, uv, wget2, .NET; curl, and what is built on
  -- it; Node, with npm, yarn and pnpm, and Bun; npm: wins over ca and cafile of .npmrc; Python's requests and httplib2,
  -- which have roots of their own; pip, likewise: wins over pip.conf; wins over http.sslCAInfo in git's files, and over
  -- http.cainfo in cargo's; deno, which has its own roots; AWS's tools: wins over ca_bundle in ~/.aws; gcloud, with its
  -- own roots; gRPC in C and its wrappers; Ruby's bundler; Perl's LWP; Elixir's hex; Julia's downloads and packages.
  { bundle, "SSL_CERT_FILE", "NIX_SSL_CERT_FILE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "npm_config_cafile",
    "REQUESTS_CA_BUNDLE", "HTTPLIB2_CA_CERTS", "PIP_CERT", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "DENO_CERT",
    "AWS_CA_BUNDLE", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "BUNDLE_SSL_CA_CERT",
    "PERL_LWP_SSL_CA_FILE", "HEX_CACERTS_PATH", "JULIA_SSL_CA_ROOTS_PATH" },
  -- Every JVM, Gradle and Maven too: they read no variable of a proxy. The JVM tells it on standard error.
  { java, "JAVA_TOOL_OPTIONS" },
  -- Maven from 3.9 on asks for it to heed the above.
  { maven, "MAVEN_OPTS" },
  -- git over ssh, by this program's connect; the caller's command is kept but for its own way out.
  { ssh, "GIT_SSH_COMMAND" },
}

-- A setting of git's on top of those in its files: behind the caller's numbered ones.
local function git_config(env, key, value)
  local count = math.tointeger(tonumber(env.GIT_CONFIG_COUNT or "0"))
  if not count or count < 0 or count > 10000 then return end
  env.GIT_CONFIG_COUNT = tostring(count + 1)
  env["GIT_CONFIG_KEY_" .. count], env["GIT_CONFIG_VALUE_" .. count] = key, value
end

local function trust(env, directories)
  for _, directory in ipairs(directories) do
    git_config(env, "safe.directory", directory)
    -- What is below, for git from 2.46 on.
    if directory ~= "*" then git_config(env, "safe.directory", (directory:gsub("/$", "")) .. "/*") end
  end
end

local function find(listen, purpose)
  for _, point in ipairs(listen) do
    if point.purpose == purpose then return point end
  end
end

local function way_of(profile, ctx, listen)
  local loopback = require("srt.loopback")
  local trusted = profile.network.tls and (not ctx.fenced or ctx.files) and require("srt.trust")
  local http, socks_point = find(listen, "http"), find(listen, "socks")
  local login = ctx.token and environment.USER .. ":" .. ctx.token .. "@" or ""
  return { host = http.address, port = http.port, url = ("http://%s%s:%d"):format(login, http.address, http.port),
    socks = socks_point and ("socks5h://%s%s:%d"):format(login, socks_point.address, socks_point.port),
    login = login, token = ctx.token,
    socksPort = socks_point and socks_point.port, binary = ctx.binary,
    bundle = trusted and trusted.at(trusted.BUNDLE, ctx.files),
    store = trusted and trusted.at(trusted.STORE, ctx.files),
    direct = ctx.fenced and not ctx.near and {} or loopback.direct(profile),
    allDirect = (not ctx.fenced or ctx.near) and loopback.all_direct(profile) }
end

-- way: nil where there is no proxy
local function add_way(env, way)
  for _, row in ipairs(environment.VARIABLES) do
    -- The caller's own proxies can't be reached from inside.
    local value = way and row[1](way)
    for i = 2, #row do env[row[i]] = value or nil end
  end
  if not way then return end
  for _, row in ipairs(environment.EXTENDED) do
    for i = 2, #row do env[row[i]] = row[1](way, env[row[i]]) end
  end
  -- Wins over http.proxy in git's files; git asks NO_PROXY as well.
  git_config(env, "http.proxy", way.url)
end

local function passed(given, names)
  local env = {}
  if names then
    for _, name in ipairs(names) do env[name] = given[name] end
  else
    for name, value in pairs(given) do env[name] = value end
  end
  return env
end

---The environment as NAME=value strings, sorted.
---@param profile table
---@param ctx table {env = the caller's, tempDir = string|nil, binary = string|nil this program as the command sees it,
--- fenced = boolean|nil loopback is the host's, only the proxy is reached, and files of ours are not there, near =
--- boolean|nil but all of loopback is, token = string|nil that the proxy asks for}
---@param listen table[] plan.listen
---@return string[]
function environment.of(profile, ctx, listen)
  local wanted = profile.env
  local env = passed(ctx.env, wanted.pass)
  env.SANDBOX_RUNTIME = "1"
  if ctx.tempDir then
    env.TMPDIR, env.TMPPREFIX = ctx.tempDir, ctx.tempDir .. "/zsh"
    env.JAVA_TOOL_OPTIONS = java_temp(env.JAVA_TOOL_OPTIONS, ctx.tempDir)
  end
  add_way(env, profile.network.enabled and way_of(profile, ctx, listen) or nil)
  trust(env, profile.safeDirectories or {})
  local masks = profile.credentials and profile.credentials.masks or {}
  for _, name in ipairs(wanted.unset or {}) do
    -- Of one that is masked the command has the stand-in, which hides it as well.
    if not masks[name] then env[name] = nil end
  end
  for name, value in pairs(wanted.set or {}) do env[name] = value end
  local list = {}
  for name, value in pairs(env) do list[#list + 1] = name .. "=" .. value end
  return sys.treesort(list)
end

return environment
