-- SPDX-License-Identifier: Apache-2.0
-- srt-lua proxy: the filtering proxy of a run alone, and the same decisions as an authorization service.
local run_options = require "srt.run_options"
local sys = require "srt.c.sys"

local proxy = {}

proxy.USAGE = [[
usage: srt-lua proxy POLICY [--listen ADDRESS[:PORT]…] [--authz ADDRESS[:PORT]…] [OPTION…]

Filters the network of others as the network part of POLICY says, until Ctrl-C or SIGTERM. There is
no sandbox: who can reach the network without this proxy, or writes files, is not kept from it.

  --listen ADDRESS[:PORT]
                 serve HTTP and SOCKS there (may be repeated). Without PORT the system chooses one;
                 PORT alone is that of 127.0.0.1
  --authz ADDRESS[:PORT]
                 answer Envoy (ext_authz), nginx (auth_request), Traefik or Caddy (forward_auth)
                 whether a request of theirs is allowed (may be repeated); see docs/authz.md
  --token FILE   hear only who knows the token that FILE holds: by Proxy-Authorization, as Bearer
                 TOKEN or as Basic with the user srt; by SOCKS5 as password of the user srt
  --token-env NAME
                 the same, of the variable NAME
  --no-token     hear everybody who can reach an address that is not of loopback
  --ca-file FILE
                 with network.tlsTerminate, write the CA's certificate there; else to a new file in
                 TMPDIR. A certificate that is there is replaced
  --watch        when POLICY, or a file that it read, changes, take its rules from then on
  --control-fd N take new settings from descriptor N: JSON, one a line
  --report HOW, --violations FILE, --command-id ID, --command-text TEXT
                 as of srt-lua run; the report comes at the end
  --debug        tell on standard error what is decided

Standard output says where it listens, one line each: "proxy: http://127.0.0.1:3128", "authz: …",
"ca: FILE". The exit status is 0 when it was ended, 125 for a failure.
]]

local FAILED = 125

local function tell(ctx, message) ctx.err(require("srt.report").ours(message)) end

---Reads ADDRESS[:PORT].
---@param text string
---@return table|nil {address=, port=, loopback=}
local function point_of(text)
  local address, port = text:match("^%[([%x:.]+)%]:?(%d*)$")
  if not address then address, port = text:match("^([^:]+):(%d+)$") end
  if not address and text:find("^%d+$") then address, port = "127.0.0.1", text end
  address, port = address or text, port or ""
  if address == "localhost" then address = "127.0.0.1" end
  port = port == "" and 0 or math.tointeger(tonumber(port))
  local bytes = sys.pton(address)
  if not bytes or not port or port > 65535 then return nil end
  return { address = address, port = port,
    loopback = #bytes == 4 and bytes:byte() == 127 or bytes == sys.pton("::1") }
end

local function add_point(list, option)
  return function(options, value)
    local point = point_of(value)
    if not point then return ("%s takes ADDRESS or ADDRESS:PORT, not %q"):format(option, value) end
    table.insert(options[list], point)
  end
end

local KNOWN = {
  valued = {
    ["--listen"] = add_point("listen", "--listen"),
    ["--authz"] = add_point("authz", "--authz"),
    ["--token"] = function(options, value) options.token = { file = value } end,
    ["--token-env"] = function(options, value) options.token = { env = value } end,
    ["--ca-file"] = function(options, value) options.caFile = value end,
  },
  flags = { ["--no-token"] = "noToken", ["--watch"] = "watch", ["--debug"] = "debug" },
  word = run_options.first("policy"),
}
for _, name in ipairs { "--control-fd", "--report", "--violations", "--command-id", "--command-text" } do
  KNOWN.valued[name] = run_options.valued[name]
end

---Reads the arguments of `proxy`.
---@param args string[]
---@return table|nil options
---@return string|nil message
function proxy.parse(args)
  local options, message = run_options.read(args, { listen = {}, authz = {} }, KNOWN)
  if not options or options.help then return options, message end
  if not options.policy then return nil, "no policy given" end
  local word = options.command and options.command[1]
  if word then return nil, ("%q: no command is run here"):format(word) end
  if not options.listen[1] and not options.authz[1] then return nil, "say where, with --listen or --authz" end
  if options.token and options.noToken then return nil, "both a token and --no-token were given" end
  for _, list in ipairs { options.listen, options.authz } do
    for _, point in ipairs(list) do
      if not (point.loopback or options.token or options.noToken) then
        return nil, ("others can reach %s: it takes --token, --token-env, or --no-token"):format(point.address)
      end
    end
  end
  options.command = { "srt-lua", "proxy" } -- as violations and callbacks have it
  return options
end

-- Whom alone the proxy hears.
local function login_of(token)
  if not token then return nil end
  local text, why
  if token.env then
    text = sys.getenv(token.env)
    why = ("the variable %s is not set"):format(token.env)
  else
    text, why = sys.readfile(token.file, 4096)
    text = text and text:gsub("\r?\n$", "")
  end
  if not text then return nil, "the token can't be read: " .. why end
  if not text:find("^[!-~]+$") or #text > 255 then
    return nil, "the token has to be 1 to 255 bytes of printable ASCII without blanks"
  end
  local login = { user = require("srt.environment").USER, password = text }
  login.authorization = require("srt.proxy_url").basic(login)
  return login
end

local function unheld(profile, options)
  if next(profile.network.ports) and options.listen[1] then
    return "network.httpProxyPort and socksProxyPort hand clients over unread: there would be nothing to filter"
  end
  return options.authz[1] and require("srt.authz").refused(profile) or nil
end

-- The policy, with all that its network part needs; or nil and problems or a message.
local function load(ctx, options, facts)
  local loaded, problems = require("srt.session").resolve(facts, options.policy,
    { live = (options.controlFd ~= nil or options.watch) and true or nil })
  if not loaded then return nil, problems end
  local profile = loaded.profile
  for _, warning in ipairs(profile.warnings) do tell(ctx, "warning: " .. warning) end
  if profile.strict and profile.warnings[1] then
    return nil, "strict = true: nothing is served, since not all of the policy is held, see the warnings above"
  end
  local why = unheld(profile, options)
  if why then return nil, why end
  loaded.alone = true
  why = require("srt.planning").equip(facts, loaded)
  if why then return nil, why end
  return loaded
end

-- Writes the certificate that clients have to trust; what is there and no certificate is not ours.
local function write_ca(options, facts, loaded)
  local tls = loaded.profile.network.tls
  if not options.caFile and tls.caCert then return tls.caCert.path end
  local path, why, ok
  if options.caFile then
    local text = sys.readfile(options.caFile, 1 << 20)
    local ours = text and text:find("^%-%-%-%-%-BEGIN CERTIFICATE%-") ~= nil
    path, why = require("srt.output").place(options.caFile, ours, facts.cwd)
    why = why and why:gsub("; name another.*", "; name another file with --ca-file")
  else
    path, why = require("srt.session").tempDir(facts)
    path = path and path .. ".pem"
  end
  if not path then return nil, why end
  ok, why = require("srt.output").put(path, loaded.tls.authority:certificate(), options.caFile ~= nil)
  if not ok then return nil, ("%s can't be written: %s"):format(path, why) end
  return path, nil, true
end

local METHODS = { listen = "listen", authz = "authorize" }

-- Listens; what is to be told of it, or nil and a message.
local function listen(served, options, list, label)
  local lines = {}
  for _, point in ipairs(options[list]) do
    local fd, port = require("srt.c.publish").listen(point.address, point.port)
    local place = require("srt.proxy_url").authority(point.address, fd and port or point.port)
    if not fd then return nil, ("can't listen at %s: %s"):format(place, port) end
    local ok, why = served[METHODS[list]](served, fd)
    if not ok then return nil, ("can't listen at %s: %s"):format(place, why) end
    lines[#lines + 1] = ("%s: http://%s\n"):format(label, place)
  end
  return table.concat(lines)
end

-- What lets new policies take effect while it serves; or nil, and a message where that can't be.
local function follow(ctx, options, facts, loaded, live, say)
  if not (options.controlFd or options.watch) then return nil end
  return require("srt.updates").start({ controlFd = options.controlFd, watch = options.watch, policy = options.policy,
    unheld = function(profile) return unheld(profile, options) end }, loaded, facts, live(), nil,
    function(line) tell(ctx, line) end, say)
end

-- From the proxy that listens nowhere to the signal that ends it.
local function serve(ctx, options, facts, loaded, served)
  local task = require "srt.c.task"
  local proxies, services, ca, mine, why
  task.hold()
  proxies, why = listen(served, options, "listen", "proxy")
  if not proxies then return why end
  services, why = listen(served, options, "authz", "authz")
  if not services then return why end
  if loaded.tls then
    ca, why, mine = write_ca(options, facts, loaded)
    if not ca then return why end
  end
  local told, message = ctx.out(proxies .. services .. (ca and "ca: " .. ca .. "\n" or "")), nil
  if told then
    told, why = task.wait()
    message = not told and "can't wait: " .. why or nil
  end
  if mine then require("srt.c.tidy").unlink(ca) end
  return message
end

local function start(ctx, options, facts, login)
  local session = require "srt.session"
  local temp, why = session.tempDir(facts)
  if not temp then return why end
  local state = require "srt.state"
  facts.state = state.folders(facts, require("srt.paths").parent(temp))
  -- Where violations go, as those of runs.
  local folder = state.prepare(facts.state)
  local told
  told, why = require("srt.violation_file").named(options, facts.cwd)
  if not told then return why end
  local loaded, problems = load(ctx, options, facts)
  if not loaded then
    if type(problems) == "string" or problems.message then return problems end
    ctx.err(require("srt.report").text(problems, ctx.tty))
    return true
  end
  local reporter = require("srt.reporting").new(options, loaded, function(line) tell(ctx, line) end)
  reporter.folder, reporter.run = folder, "proxy"
  local say = options.debug and function(line) tell(ctx, "debug: " .. line) end or nil
  reporter.debug = say
  local served, live = require("srt.serve").open(loaded, nil, say, ctx.program.asSrt, reporter, login)
  if not served then return live end
  local updates
  updates, why = follow(ctx, options, facts, loaded, live, say)
  why = why or serve(ctx, options, facts, loaded, served)
  if updates then updates:close() end
  served:close()
  ctx.err(reporter:close(ctx.tty))
  return why
end

--- Serves until a signal ends it.
---@param args string[] what follows "proxy"
---@param ctx table {program, out, err, tty}
---@return integer exit status
function proxy.main(args, ctx)
  local options, message = proxy.parse(args)
  local status = require("srt.report").answered(ctx, "srt-lua proxy", proxy.USAGE, options, message)
  if status then return status end
  local login, facts
  message = require("srt.updates").check(options)
  if not message then login, message = login_of(options.token) end
  if not message then facts, message = require("srt.session").facts(ctx.program) end
  if not message then message = start(ctx, options, facts, login) end
  if not message then return 0 end
  if message ~= true then tell(ctx, message) end
  return FAILED
end

return proxy
