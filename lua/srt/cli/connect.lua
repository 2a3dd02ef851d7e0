-- SPDX-License-Identifier: Apache-2.0
-- srt-lua connect: inside a sandbox, joins standard input and output to a destination, through the sandbox's proxy.

local connect = {}

connect.USAGE = [[
usage: srt-lua connect HOST PORT

Inside a sandbox: joins standard input and output to PORT of HOST, through the proxy that
HTTPS_PROXY (or ALL_PROXY) names; directly where NO_PROXY lists HOST. As for ssh and git:

  ssh -o ProxyCommand='srt-lua connect %h %p' HOST
  GIT_SSH_COMMAND="ssh -o ProxyCommand='srt-lua connect %h %p'" git fetch

The exit status is 0 when both ways have ended, 1 when the destination can't be had (the
reason is on standard error), 125 for wrong usage.
]]

local REFUSED = 1
local HEAD_MOST, BODY_MOST = 65536, 4096

local SOCKS_REPLIES = {
  [1] = "the proxy failed", [2] = "the policy does not allow it", [3] = "the network is unreachable",
  [4] = "the host is unreachable", [5] = "the connection was refused", [6] = "the time to live ran out",
  [7] = "the proxy knows no CONNECT", [8] = "the proxy knows no such address",
}

---@return table|nil options {host=canonical, port=} or {help = true}
---@return string|nil message
function connect.parse(args)
  if args[1] == "--help" or args[1] == "-h" then return { help = true } end
  if args[1] == "--" then args = table.move(args, 2, #args, 1, {}) end
  if #args ~= 2 then return nil, "it takes a host and a port" end
  local host, reason = require("srt.domain").canonical(args[1])
  if not host or host == "" then return nil, ("the host can't be used: %s"):format(reason or "it is empty") end
  local port = args[2]:find("^%d%d?%d?%d?%d?$") and tonumber(args[2])
  if not port or port < 1 or port > 65535 then return nil, "the port must be a number from 1 to 65535" end
  return { host = host, port = port }
end

-- What goes wrong on the way is thrown as {reason = text}.
local function need(value, message)
  if not value then error({ reason = message or "the proxy closed the connection" }) end
  return value
end

local function receive(connection, most)
  local bytes = need(connection:receive(most))
  return need(bytes ~= "" and bytes)
end

local function exactly(connection, count)
  local bytes = ""
  while #bytes < count do bytes = bytes .. receive(connection, count - #bytes) end
  return bytes
end

-- What the proxy has to say: the body's first line, else the phrase.
local function reason_of(connection, head, rest)
  local status, phrase = head:match("^HTTP/1%.[01] (%d%d%d) ?([^\r\n]*)")
  local lower = head:lower()
  local length = math.min(tonumber(lower:match("\ncontent%-length:[ \t]*(%d+)[ \t]*\r")) or 0, BODY_MOST)
  while #rest < length do
    local more = connection:receive(length - #rest)
    if not more or more == "" then break end
    rest = rest .. more
  end
  local text = lower:find("\ncontent%-type:[ \t]*text/plain") and rest:match("^[^\r\n]*") or ""
  return text ~= "" and text or ("the proxy answered %s %s"):format(status, phrase)
end

-- Asks an HTTP proxy for a tunnel; what came behind its answer.
local function by_http(connection, url, target)
  local credentials = require("srt.proxy_url").basic(url)
  need(connection:send(("CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n"):format(target, target,
    credentials and ("Proxy-Authorization: %s\r\n"):format(credentials) or "")))
  local bytes, stop = "", nil
  while not stop do
    need(#bytes < HEAD_MOST, "the proxy's answer is too long")
    bytes = bytes .. receive(connection, 4096)
    stop = select(2, bytes:find("\r\n\r\n", 1, true))
  end
  local head, rest = bytes:sub(1, stop), bytes:sub(stop + 1)
  need(head:find("^HTTP/1%.[01] %d%d%d[ \r]"), "the proxy's answer is not HTTP")
  if not head:find("^HTTP/1%.[01] 2") then need(nil, reason_of(connection, head, rest)) end
  return rest
end

local function socks_log_in(connection, url)
  local method = url.user and "\2" or "\0"
  need(connection:send("\5\1" .. method))
  need(exactly(connection, 2) == "\5" .. method, "the proxy does not take our way to log in")
  if not url.user then return end
  need(#url.user < 256 and #url.password < 256, "the proxy's credentials are too long")
  need(connection:send(string.pack("Bs1s1", 1, url.user, url.password)))
  need(exactly(connection, 2):byte(2) == 0, "the proxy refuses its credentials")
end

local function by_socks(connection, url, host, port)
  socks_log_in(connection, url)
  local packed = require("srt.c.sys").pton(host)
  local where = not packed and string.pack("Bs1", 3, host) or (#packed == 4 and "\1" or "\4") .. packed
  need(connection:send("\5\1\0" .. where .. string.pack(">I2", port)))
  local answer = exactly(connection, 4)
  need(answer:byte(2) == 0, SOCKS_REPLIES[answer:byte(2)] or "the proxy refuses")
  local kind = answer:byte(4)
  local size = kind == 1 and 4 or kind == 4 and 16 or exactly(connection, 1):byte()
  exactly(connection, size + 2)
  return ""
end

---Which proxy the environment names for a destination.
---@param env table
---@return table|nil url of srt.proxy_url; nil: directly
---@return string|nil reason
function connect.proxy_of(env, host, port)
  local urls = require("srt.proxy_url")
  local direct = urls.variable(env, "NO_PROXY")
  if direct and require("srt.no_proxy").parse(direct):match(host, port) then return nil end
  local text, name = urls.variable(env, "HTTPS_PROXY", "ALL_PROXY", "HTTP_PROXY")
  if not text then return nil, "HTTPS_PROXY and ALL_PROXY name no proxy: is this a sandbox with a network?" end
  local url, reason = urls.parse(text)
  if url and (url.scheme == "https" or url.scheme:find("^socks4")) then
    url, reason = nil, url.scheme .. " proxies are not served"
  end
  return url, reason and ("%s: %s"):format(name, reason)
end

-- A connection that leads to the destination, and what it has sent already.
local function reach(options, env)
  local dial, authority = require("srt.c.carry").dial, require("srt.proxy_url").authority
  local url, why = connect.proxy_of(env, options.host, options.port)
  need(not why, why)
  if not url then return need(dial(options.host, options.port)), "" end
  local connection, message = dial(url.host, url.port)
  need(connection, ("the proxy %s: %s"):format(authority(url.host, url.port), message))
  if url.scheme == "http" then
    return connection, by_http(connection, url, authority(options.host, options.port))
  end
  return connection, by_socks(connection, url, options.host, options.port)
end

local function join(options, env)
  local connection, rest = reach(options, env)
  if rest ~= "" then need(require("srt.c.sys").write(1, rest)) end
  need(connection:carry())
end

--- Runs the command.
---@param args string[] what follows "connect"
---@param ctx table {out, err}
---@return integer exit status
function connect.main(args, ctx)
  local options, message = connect.parse(args)
  local status = require("srt.report").answered(ctx, "srt-lua connect", connect.USAGE, options, message)
  if status then return status end
  local ok, fault = pcall(join, options, require("srt.c.sys").environ())
  if ok then return 0 end
  if type(fault) ~= "table" then error(fault, 0) end
  ctx.err(("srt-lua: connect: %s: %s\n"):format(require("srt.proxy_url").authority(options.host, options.port),
    require("srt.report").plain(fault.reason)))
  return REFUSED
end

return connect
