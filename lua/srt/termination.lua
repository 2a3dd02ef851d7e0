-- SPDX-License-Identifier: Apache-2.0
-- What termination of TLS begins with: the CA of the run, and the roots that servers are verified by.

local termination = {}

local MAX_KEY, MAX_ROOTS = 1 << 20, 16 << 20

-- Where systems keep their roots, the first that is there counts.
local ROOTS = {
  "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
}

local KEY = "network.tlsTerminate."

---The part of a profile, nil where TLS is not to be terminated.
---@param checker table collects problems
---@param values table of the policy
---@param read {rules: function, scalar: function, list: function} readers of srt.profile
---@return table|nil tls {exclude = rules, extra = list of files, caCert, caKey = files or nil, tunnels=, handshakeMs=};
--- a file is {path=, origin=}
function termination.resolve(checker, values, read)
  if not values["network.tlsTerminate"] then return nil end
  local out = { exclude = read.rules(values, KEY .. "excludeDomains", "allow"), extra = {},
    tunnels = math.tointeger(read.scalar(values, KEY .. "maxTunnels", 256)),
    handshakeMs = math.tointeger(read.scalar(values, KEY .. "handshakeTimeoutMs", 10000)) }
  local function path(entry)
    local real, reason = require("srt.paths").expand(entry.value, checker.ctx)
    if not real then checker:problem(entry.origin, reason) end
    return { path = real, origin = entry.origin }
  end
  local cert, secret = values[KEY .. "caCertPath"], values[KEY .. "caKeyPath"]
  if cert and secret then
    out.caCert, out.caKey = path(cert), path(secret)
  elseif cert or secret then
    checker:problem((cert or secret).origin, "network.tlsTerminate takes both caCertPath and caKeyPath, or neither")
  end
  for i, entry in ipairs(read.list(values, KEY .. "extraCaCertPaths")) do out.extra[i] = path(entry) end
  return out
end

---Whoever has the key of the CA is any server to the command: nothing inside may read it.
---@param checker table with the context of paths
---@param values table of the policy
---@param lists table denyRead and denyWrite of a profile
function termination.hide(checker, values, lists)
  local key = values[KEY .. "caKeyPath"]
  local path = key and require("srt.paths").expand(key.value, checker.ctx)
  for _, name in ipairs(path and { "denyRead", "denyWrite" } or {}) do
    lists[name][#lists[name] + 1] = { given = key.value, path = path, literal = true, builtin = "key of the CA",
      origin = key.origin }
  end
end

local function read(path, most)
  local text, why = require("srt.c.sys").readfile(path, most)
  if not text then return nil, ("%s can't be read: %s"):format(path, why) end
  return text
end

local function authority_of(tls)
  local made = require("srt.c.tls").authority
  if not tls.caCert then return made() end
  local cert, why = read(tls.caCert.path, MAX_KEY)
  if not cert then return nil, why end
  local key
  key, why = read(tls.caKey.path, MAX_KEY)
  if not key then return nil, why end
  local authority, reason = made(cert, key)
  if not authority then return nil, ("the CA of %s can't be used: %s"):format(tls.caCert.path, reason) end
  return authority
end

--- The PEM text of the host's roots; "" where there are none.
---@param env table of srt-lua
---@return string|nil pem
---@return string|nil problem where SSL_CERT_FILE can't be read
function termination.roots(env)
  local named = env.SSL_CERT_FILE
  if named and named ~= "" then return read(named, MAX_ROOTS) end
  for _, path in ipairs(ROOTS) do
    local text = require("srt.c.sys").readfile(path, MAX_ROOTS)
    if text then return text end
  end
  return ""
end

local function trust_of(tls, env)
  local trust, why = require("srt.c.tls").trust()
  if not trust then return nil, why end
  local pem
  pem, why = termination.roots(env)
  if not pem then return nil, why end
  local count
  count, why = trust:add(pem)
  if not count then return nil, "the host's roots can't be used: " .. why end
  for _, extra in ipairs(tls.extra) do
    pem, why = read(extra.path, MAX_ROOTS)
    if not pem then return nil, why end
    count, why = trust:add(pem)
    if not count or count.broken > 0 or count.added + count.known == 0 then
      return nil, ("%s can't be used: %s"):format(extra.path, why or count.why or "it holds no certificate")
    end
  end
  return trust
end

--- What a run with network.tlsTerminate needs.
---@param tls table network.tls of a profile
---@param env table of srt-lua
---@return table|nil made {authority=, trust=}
---@return string|nil problem
function termination.make(tls, env)
  local authority, why = authority_of(tls)
  if not authority then return nil, why end
  local trust
  trust, why = trust_of(tls, env)
  if not trust then return nil, why end
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

return termination
