-- SPDX-License-Identifier: Apache-2.0
-- What termination of TLS begins with: the CA of the run, and the roots that servers are verified by.

local host = require "srt.trust"

local termination = {}
local read = host.read

---What the policy says of it.
---@param resolver table of srt.profile
---@param values table of a policy, in which it is asked for
---@param exclude table[] rules of excludeDomains
---@return table network.tls of a profile
function termination.resolve(resolver, values, exclude)
  local key = "network.tlsTerminate."
  local function number(name, default)
    local value = values[key .. name]
    return math.tointeger(value and value.value or default)
  end
  local function path(entry)
    local real, reason = require("srt.paths").expand(entry.value, resolver.ctx)
    if not real then resolver:problem(entry.origin, reason) end
    return { path = real, origin = entry.origin }
  end
  local out = { origin = values["network.tlsTerminate"].origin, exclude = exclude, extra = {},
    tunnels = number("maxTunnels", 256),
    handshakeMs = number("handshakeTimeoutMs", 10000) }
  local cert, secret, more = values[key .. "caCertPath"], values[key .. "caKeyPath"], values[key .. "extraCaCertPaths"]
  if cert and secret then
    out.caCert, out.caKey = path(cert), path(secret)
  elseif cert or secret then
    resolver:problem((cert or secret).origin, "network.tlsTerminate takes both caCertPath and caKeyPath, or neither")
  end
  for i, entry in ipairs(more and more.list or {}) do out.extra[i] = path(entry) end
  for _, text in ipairs(host.lost(resolver.ctx.env or {})) do
    resolver:warn(values["network.tlsTerminate"].origin, text, "as-found-here")
  end
  return out
end

local function authority_of(tls)
  local made = require("srt.c.tls").authority
  if not tls.caCert then return made() end
  local cert, why = read(tls.caCert.path)
  if not cert then return nil, why, tls.caCert.origin end
  local key
  key, why = read(tls.caKey.path)
  if not key then return nil, why, tls.caKey.origin end
  local authority, reason = made(cert, key)
  if not authority then
    return nil, ("the CA of %s can't be used: %s"):format(tls.caCert.path, reason), tls.caCert.origin
  end
  return authority
end

local function trust_of(tls, env)
  local trust, why = require("srt.c.tls").trust()
  if not trust then return nil, why end
  local texts, pem, count
  texts, why = host.roots(env)
  if not texts then return nil, why end
  for _, text in ipairs(texts) do
    count, why = trust:add(text)
    if not count then return nil, "the host's roots can't be used: " .. why end
  end
  for _, extra in ipairs(tls.extra) do
    pem, why = read(extra.path)
    if not pem then return nil, why, extra.origin end
    count, why = trust:add(pem)
    if not count or count.broken > 0 or count.added + count.known == 0 then
      why = ("%s can't be used: %s"):format(extra.path, why or count.why or "it holds no certificate")
      return nil, why, extra.origin
    end
  end
  return trust
end

--- What a run with network.tlsTerminate needs.
---@param tls table network.tls of a profile
---@param env table of srt-lua
---@return table|nil made {authority=, trust=}
---@return table|nil problem as srt.report has them
function termination.make(tls, env)
  local function fail(why, origin) return nil, require("srt.report").at(origin or tls.origin, why) end
  local authority, why, origin = authority_of(tls)
  if not authority then return fail(why, origin) end
  local trust
  trust, why, origin = trust_of(tls, env)
  if not trust then return fail(why, origin) end
  return { authority = authority, trust = trust }
end

--- Lets a proxy terminate TLS.
---@param proxy userdata
---@param tls table network.tls of a profile
---@param made table from termination.make
---@return boolean|nil ok
---@return string|nil problem
function termination.serve(proxy, tls, made)
  return require("srt.c.tls").terminate(proxy, made.authority, made.trust, tls.tunnels, tls.handshakeMs)
end

--- Lets other limits hold for terminated tunnels, from now on.
---@param proxy userdata that terminates TLS
---@param tls table network.tls of a profile
function termination.limit(proxy, tls) require("srt.c.tls").limit(proxy, tls.tunnels, tls.handshakeMs) end

return termination
