-- SPDX-License-Identifier: Apache-2.0
-- The environment of the command: what leads each tool to the proxy, and who has the last word.
local support = require("spec.lua.support")
local environment = require("srt.environment")

local HTTP = { address = "127.0.0.1", port = 3128, purpose = "http" }
local SOCKS = { address = "127.0.0.1", port = 1080, purpose = "socks" }
local URL = "http://127.0.0.1:3128"

local function env(policy, given, more)
  local profile = assert(support.resolve("return { " .. policy .. " }"))
  more = more or {}
  local ctx = { env = given or {}, tempDir = more.temp or "/tmp/x", binary = more.binary }
  local map = {}
  for _, entry in ipairs(environment.of(profile, ctx, more.listen or { HTTP })) do
    local name, value = entry:match("^([^=]*)=(.*)$")
    map[name] = value
  end
  return map
end

local OPEN = 'network = { allowedDomains = { "a.test" } }'

describe("the environment", function()
  it("is the caller's with what the sandbox needs, and nothing of a proxy while the network is closed", function()
    local map = env("", { A = "1", HTTP_PROXY = "http://host:1", http_proxy = "x", TMPDIR = "/t", npm_config_proxy = "y",
      JAVA_TOOL_OPTIONS = "-Xmx1g" }, { listen = {} })
    assert.same({ A = "1", TMPDIR = "/tmp/x", TMPPREFIX = "/tmp/x/zsh", SANDBOX_RUNTIME = "1",
      JAVA_TOOL_OPTIONS = "-Xmx1g -Djava.io.tmpdir=/tmp/x" }, map)
  end)

  it("does what the policy says last", function()
    local map = env(OPEN .. ', env = { set = { A = "2", TMPDIR = "/mine", HTTP_PROXY = "http://mine:1" }, '
      .. 'unset = { "B", "https_proxy" }, pass = { "A", "B", "C", "JAVA_TOOL_OPTIONS" } }',
      { A = "1", B = "1", C = "1", D = "1", JAVA_TOOL_OPTIONS = "-Da=b" })
    assert.same({ "2", nil, "1", nil, "/mine" }, { map.A, map.B, map.C, map.D, map.TMPDIR })
    assert.same({ "http://mine:1", URL, nil }, { map.HTTP_PROXY, map.http_proxy, map.https_proxy })
    assert.equal("-Da=b ", map.JAVA_TOOL_OPTIONS:sub(1, 6))
  end)

  it("names the proxy in both cases of letters, without a credential, over the caller's", function()
    local given = { HTTP_PROXY = "http://u:p@corp:1", https_proxy = "http://corp:1", no_proxy = "corp", PIP_PROXY = "x",
      CLOUDSDK_PROXY_PASSWORD = "p", FTP_PROXY = "ftp://corp" }
    local map = env(OPEN, given)
    for _, name in ipairs({ "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "WS_PROXY", "WSS_PROXY", "GRPC_PROXY" }) do
      assert.equal(URL, map[name])
      assert.equal(URL, map[name:lower()])
    end
    for _, name in ipairs({ "npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY",
      "CARGO_HTTP_PROXY", "DOCKER_HTTP_PROXY", "DOCKER_HTTPS_PROXY", "GLOBAL_AGENT_HTTP_PROXY" }) do
      assert.equal(URL, map[name])
    end
    assert.same({ "http", "127.0.0.1", "3128" },
      { map.CLOUDSDK_PROXY_TYPE, map.CLOUDSDK_PROXY_ADDRESS, map.CLOUDSDK_PROXY_PORT })
    assert.same({ "1", "1", "127.0.0.1:3128" },
      { map.NODE_USE_ENV_PROXY, map.ELECTRON_GET_USE_PROXY, map.RSYNC_PROXY })
    for _, name in ipairs({ "PIP_PROXY", "CLOUDSDK_PROXY_PASSWORD", "FTP_PROXY", "SOCKS_PROXY", "YARN_NO_PROXY" }) do
      assert.is_nil(map[name])
    end
    for _, value in pairs(map) do assert.is_nil(value:find("corp", 1, true)) end
  end)

  it("has SOCKS where it is listened on, and not for all: httpx would fail at start", function()
    local map = env(OPEN, {}, { listen = { HTTP, SOCKS } })
    assert.same({ URL, "socks5h://127.0.0.1:1080", "socks5h://127.0.0.1:1080" },
      { map.ALL_PROXY, map.FTP_PROXY, map.socks_proxy })
  end)

  it("leaves loopback to servers inside, and nothing that the policy allows", function()
    local map = env(OPEN)
    for _, name in ipairs({ "NO_PROXY", "no_proxy", "NO_GRPC_PROXY", "npm_config_noproxy", "GLOBAL_AGENT_NO_PROXY" }) do
      assert.equal("localhost,127.0.0.1,::1,[::1]", map[name])
    end
    assert.equal("127.0.0.1,::1,[::1]", env('network = { allowedDomains = { "localhost" } }').NO_PROXY)
    assert.equal("localhost,127.0.0.1,::1,[::1]",
      env('network = { allowedDomains = { "localhost:80", "10.0.0.1", "192.168.1.1:80" } }').NO_PROXY)
  end)

  it("tells a JVM behind the caller's own options", function()
    local temp = "-Djava.io.tmpdir=/tmp/x "
    local want = "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 "
      .. "-Dhttp.nonProxyHosts="
    assert.equal(temp .. want .. "localhost|127.*|[::1]", env(OPEN).JAVA_TOOL_OPTIONS)
    assert.equal("-Dhttp.proxyHost=corp " .. temp .. want .. "localhost|127.*|[::1]",
      env(OPEN, { JAVA_TOOL_OPTIONS = "-Dhttp.proxyHost=corp" }).JAVA_TOOL_OPTIONS)
    assert.equal(temp .. want, env('network = { allowedDomains = { "localhost" } }').JAVA_TOOL_OPTIONS)
    -- It heeds no TMPDIR; a directory of the caller's own choice is kept, and a blank can be quoted.
    local own = "-Djava.io.tmpdir=/mine"
    assert.equal(own .. " " .. want, env('network = { allowedDomains = { "localhost" } }', { JAVA_TOOL_OPTIONS = own }).JAVA_TOOL_OPTIONS)
    for directory, told in pairs({ ["/a b"] = '"/a b"', ["/it's"] = '"/it\'s"', ['/a"b'] = false }) do
      assert.equal(told and "-Djava.io.tmpdir=" .. told or nil, env("", {}, { listen = {}, temp = directory }).JAVA_TOOL_OPTIONS)
    end
    assert.equal("-Xmx1g -Daether", env(OPEN, { MAVEN_OPTS = "-Xmx1g" }).MAVEN_OPTS:sub(1, 15))
  end)

  it("has git over ssh go by connect, with the caller's command", function()
    local tail = " -o ControlMaster=no -o ControlPath=none -o ProxyCommand="
    local function command(given, binary)
      return env(OPEN, { GIT_SSH_COMMAND = given }, { binary = binary }).GIT_SSH_COMMAND
    end
    assert.is_nil(command(nil, nil))
    assert.equal("ssh -i k", command("ssh -i k", nil))
    assert.equal("ssh" .. tail .. "'/b/srt-lua connect %h %p'", command(nil, "/b/srt-lua"))
    assert.equal("ssh -i k" .. tail .. "'/b/srt-lua connect %h %p'", command("ssh -i k", "/b/srt-lua"))
    assert.equal("ssh" .. tail .. "'/b/srt-lua connect %h %p'", command("ssh -o ProxyCommand=nc", "/b/srt-lua"))
    assert.equal("ssh" .. tail .. "'/b/srt-lua connect %h %p'", command("ssh -o proxyjump=x", "/b/srt-lua"))
  end)

  it("quotes the program's path for the shell, ssh, and the shell that ssh runs", function()
    local value = env(OPEN, {}, { binary = "/a b'c/100%/srt-lua" }).GIT_SSH_COMMAND
    local pipe = assert(io.popen("set -- " .. value .. "; for a; do printf '%s\\n' \"$a\"; done"))
    local words = pipe:read("a")
    pipe:close()
    local inner = words:match("ProxyCommand=(.-)\n$"):gsub("%%%%", "%%")
    pipe = assert(io.popen("set -- " .. inner .. "; printf '%s|' \"$@\""))
    assert.equal("/a b'c/100%/srt-lua|connect|%h|%p|", pipe:read("a"))
    pipe:close()
  end)

  it("extends git's numbered settings, and leaves broken ones alone", function()
    local map = env(OPEN, { GIT_CONFIG_PARAMETERS = "'user.x=y'", GIT_CONFIG_COUNT = "1", GIT_CONFIG_KEY_0 = "a.b",
      GIT_CONFIG_VALUE_0 = "c" })
    assert.same({ "'user.x=y'", "2", "a.b", "c", "http.proxy", URL }, { map.GIT_CONFIG_PARAMETERS, map.GIT_CONFIG_COUNT,
      map.GIT_CONFIG_KEY_0, map.GIT_CONFIG_VALUE_0, map.GIT_CONFIG_KEY_1, map.GIT_CONFIG_VALUE_1 })
    map = env(OPEN, { GIT_CONFIG_COUNT = "x" })
    assert.same({ "x", nil }, { map.GIT_CONFIG_COUNT, map.GIT_CONFIG_KEY_0 })
  end)

  it("has git trust what the policy says", function()
    local map = env('git = { safeDirectories = { "/srv/a", "/", "*" } }', { GIT_CONFIG_COUNT = "0" }, { listen = {} })
    local got = {}
    for i = 0, tonumber(map.GIT_CONFIG_COUNT) - 1 do
      assert.equal("safe.directory", map["GIT_CONFIG_KEY_" .. i])
      got[i + 1] = map["GIT_CONFIG_VALUE_" .. i]
    end
    assert.same({ "/srv/a", "/srv/a/*", "/", "/*", "*" }, got)
    assert.is_nil((support.resolve('return { git = { safeDirectories = { "" } } }')))
  end)

  it("leads tools to the bundle of the run where TLS is terminated, and leaves the caller's where it is not", function()
    local given = { SSL_CERT_FILE = "/corp.pem", NODE_EXTRA_CA_CERTS = "/corp.pem", JAVA_TOOL_OPTIONS = "-Da=b" }
    local map = env(OPEN, given)
    assert.same({ "/corp.pem", "/corp.pem", nil }, { map.SSL_CERT_FILE, map.NODE_EXTRA_CA_CERTS, map.CURL_CA_BUNDLE })
    assert.is_nil(map.JAVA_TOOL_OPTIONS:find("trustStore", 1, true))
    map = env('network = { allowedDomains = { "a.test" }, tlsTerminate = {} }', given)
    for _, name in ipairs({ "SSL_CERT_FILE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
      "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "DENO_CERT", "NIX_SSL_CERT_FILE",
      "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE" }) do
      assert.equal("/dev/srt-lua/ca-bundle.pem", map[name])
    end
    -- Behind the caller's options, where the last one counts.
    assert.truthy(map.JAVA_TOOL_OPTIONS:find("^%-Da=b .*%-Djavax.net.ssl.trustStore=/dev/srt%-lua/ca%-bundle.jks"))
  end)

  it("names no variable twice", function()
    local seen = {}
    for _, rows in ipairs { environment.VARIABLES, environment.EXTENDED } do
      for _, row in ipairs(rows) do
        for i = 2, #row do
          assert.is_nil(seen[row[i]])
          seen[row[i]] = true
        end
      end
    end
  end)
end)
