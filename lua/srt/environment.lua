-- SPDX-License-Identifier: Apache-2.0
-- The command's environment: the caller's, then what leads tools to the proxy, then what the policy says.
--
-- Nothing here is secret, but for the token of a proxy that others reach too (ctx.token). What stands in files of the
-- user's (npm, git, cargo) and names another proxy is overridden, since that one can't be reached from inside.

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

local function both(name) return { name, name:lower() } end

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

-- names; value(way, the caller's) or nil for none; why. Those with own = true build on the caller's value, all others
-- are taken out where they are not set.
environment.VARIABLES = {
  { names = both("HTTP_PROXY"), value = url,
    why = "nearly all; curl, Ruby and PHP read the lower case only, some Java and Go programs the upper" },
  { names = both("HTTPS_PROXY"), value = url, why = "the same tools for https, by CONNECT" },
  { names = both("ALL_PROXY"), value = url,
    why = "curl, aria2, httpx; http, since httpx without socksio fails at start with socks5h" },
  { names = both("WS_PROXY"), value = url, why = "WebSocket clients; CONNECT serves them" },
  { names = both("WSS_PROXY"), value = url, why = "the same with TLS" },
  { names = both("GRPC_PROXY"), value = url, why = "gRPC in C and its wrappers, grpc-js" },
  { names = both("FTP_PROXY"), value = socks, why = "curl; FTP needs SOCKS, its data has ports of its own" },
  { names = both("SOCKS_PROXY"), value = socks, why = "a few tools that read nothing else" },
  { names = { "RSYNC_PROXY" }, value = function(way) return way.login .. way.host .. ":" .. way.port end,
    why = "rsync:// by CONNECT; it takes no URL" },
  { names = both("NO_PROXY"), value = no_proxy,
    why = "servers inside are reached directly; private ranges are not listed, for they have no route of their own" },
  { names = both("NO_GRPC_PROXY"), value = no_proxy, why = "gRPC asks this one first" },
  { names = { "NODE_USE_ENV_PROXY" }, value = on, why = "fetch and http of Node 22.21 and 24.5 on" },
  { names = { "npm_config_proxy", "npm_config_https_proxy" }, value = url,
    why = "npm, pnpm, yarn 1: wins over .npmrc" },
  { names = { "npm_config_noproxy" }, value = no_proxy, why = "the same for what is reached directly" },
  { names = { "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY" }, value = url,
    why = "yarn from 2 on reads no other; it has no name for hosts to reach directly and refuses unknown ones" },
  { names = { "GLOBAL_AGENT_HTTP_PROXY" }, value = url, why = "Node programs on global-agent" },
  { names = { "GLOBAL_AGENT_NO_PROXY" }, value = no_proxy, why = "the same" },
  { names = { "ELECTRON_GET_USE_PROXY" }, value = on, why = "Electron's install script then asks global-agent" },
  { names = { "PIP_PROXY" }, value = never, why = "with it pip would ask the proxy for servers inside, too" },
  { names = { "CARGO_HTTP_PROXY" }, value = url, why = "wins over http.proxy in cargo's files" },
  { names = { "DOCKER_HTTP_PROXY", "DOCKER_HTTPS_PROXY" }, value = url, why = "wrappers of docker, rootless docker" },
  { names = { "CLOUDSDK_PROXY_TYPE" }, value = function() return "http" end, why = "gcloud" },
  { names = { "CLOUDSDK_PROXY_ADDRESS" }, value = function(way) return way.host end, why = "gcloud" },
  { names = { "CLOUDSDK_PROXY_PORT" }, value = function(way) return tostring(way.port) end, why = "gcloud" },
  { names = { "CLOUDSDK_PROXY_USERNAME" }, value = function(way) return way.token and environment.USER end,
    why = "the caller's proxy's" },
  { names = { "CLOUDSDK_PROXY_PASSWORD" }, value = function(way) return way.token end, why = "likewise" },
  { names = { "SSL_CERT_FILE", "NIX_SSL_CERT_FILE" }, value = bundle, own = true,
    why = "OpenSSL and what asks it (Python, Ruby, Perl, PHP), Go, Rust's rustls, uv, wget2, .NET" },
  { names = { "CURL_CA_BUNDLE" }, value = bundle, own = true, why = "curl, and what is built on it" },
  { names = { "NODE_EXTRA_CA_CERTS" }, value = bundle, own = true, why = "Node, with npm, yarn and pnpm; Bun" },
  { names = { "npm_config_cafile" }, value = bundle, own = true, why = "npm: wins over ca and cafile of .npmrc" },
  { names = { "REQUESTS_CA_BUNDLE" }, value = bundle, own = true, why = "Python's requests, which has its own roots" },
  { names = { "HTTPLIB2_CA_CERTS" }, value = bundle, own = true, why = "Python's httplib2, likewise" },
  { names = { "PIP_CERT" }, value = bundle, own = true, why = "pip, likewise; wins over pip.conf" },
  { names = { "GIT_SSL_CAINFO" }, value = bundle, own = true, why = "wins over http.sslCAInfo in git's files" },
  { names = { "CARGO_HTTP_CAINFO" }, value = bundle, own = true, why = "wins over http.cainfo in cargo's files" },
  { names = { "DENO_CERT" }, value = bundle, own = true, why = "deno, which has its own roots" },
  { names = { "AWS_CA_BUNDLE" }, value = bundle, own = true, why = "AWS's tools; wins over ca_bundle in ~/.aws" },
  { names = { "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE" }, value = bundle, own = true, why = "gcloud, with its own roots" },
  { names = { "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH" }, value = bundle, own = true, why = "gRPC in C and its wrappers" },
  { names = { "BUNDLE_SSL_CA_CERT" }, value = bundle, own = true, why = "Ruby's bundler" },
  { names = { "PERL_LWP_SSL_CA_FILE" }, value = bundle, own = true, why = "Perl's LWP, which has its own roots" },
  { names = { "HEX_CACERTS_PATH" }, value = bundle, own = true, why = "Elixir's hex" },
  { names = { "JULIA_SSL_CA_ROOTS_PATH" }, value = bundle, own = true, why = "Julia's downloads and packages" },
  { names = { "JAVA_TOOL_OPTIONS" }, value = java, own = true,
    why = "every JVM, Gradle and Maven too: they read no variable of a proxy. The JVM tells it on standard error" },
  { names = { "MAVEN_OPTS" }, value = maven, own = true, why = "Maven from 3.9 on asks for it to heed the above" },
  { names = { "GIT_SSH_COMMAND" }, value = ssh, own = true,
    why = "git over ssh, by this program's connect; the caller's command is kept but for its own way out" },
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

local function add_way(env, profile, ctx, listen)
  local way = way_of(profile, ctx, listen)
  for _, row in ipairs(environment.VARIABLES) do
    for _, name in ipairs(row.names) do env[name] = row.value(way, env[name]) end
  end
  -- Wins over http.proxy in git's files; git asks NO_PROXY as well.
  git_config(env, "http.proxy", way.url)
end

local function passed(given, names)
  if not names then
    names = {}
    for name in pairs(given) do names[#names + 1] = name end
  end
  local env = {}
  for _, name in ipairs(names) do env[name] = given[name] end
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
  -- The caller's own proxies can't be reached from inside.
  for _, row in ipairs(environment.VARIABLES) do
    for _, name in ipairs(row.own and {} or row.names) do env[name] = nil end
  end
  env.SANDBOX_RUNTIME = "1"
  if ctx.tempDir then
    env.TMPDIR, env.TMPPREFIX = ctx.tempDir, ctx.tempDir .. "/zsh"
    env.JAVA_TOOL_OPTIONS = java_temp(env.JAVA_TOOL_OPTIONS, ctx.tempDir)
  end
  if profile.network.enabled then add_way(env, profile, ctx, listen) end
  trust(env, profile.safeDirectories or {})
  local masks = profile.credentials and profile.credentials.masks or {}
  for _, name in ipairs(wanted.unset or {}) do
    -- Of one that is masked the command has the stand-in, which hides it as well.
    if not masks[name] then env[name] = nil end
  end
  for name, value in pairs(wanted.set or {}) do env[name] = value end
  local list = {}
  for name, value in pairs(env) do list[#list + 1] = name .. "=" .. value end
  table.sort(list)
  return list
end

return environment
