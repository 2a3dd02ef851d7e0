-- SPDX-License-Identifier: Apache-2.0
-- Whom TLS clients trust: the host's roots, and how the command comes to trust the CA of the run as well.
--
-- Inside, one bundle holds the CA, the host's roots and the policy's: hosts that are only tunnelled are verified by it
-- too. Most tools are led to it by a variable (srt.environment); it also lies over the system's own bundles, for
-- programs that are started without their environment.

local sys = require "srt.c.sys"

local trust = {}

local MAX, MAX_FILES = 16 << 20, 4096
local FOLDER = "/dev/srt-lua/" -- FILES of backends.namespaces

--- Where the bundle and the Java store are inside.
trust.BUNDLE, trust.STORE = FOLDER .. "ca-bundle.pem", FOLDER .. "ca-bundle.jks"

--- Where they are without mounts.
---@param path string of the two
---@param folder string|nil that they are in instead
---@return string
function trust.at(path, folder) return folder and folder .. path:sub(#FOLDER) or path end

-- Where systems keep their roots, the first that is there counts: Debian, Arch and Alpine; Fedora; SUSE; BSD's way.
local BUNDLES = {
  "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
}
local STORES = { "/etc/ssl/certs/java/cacerts", "/etc/pki/ca-trust/extracted/java/cacerts",
  "/var/lib/ca-certificates/java-cacerts" }

-- Variables by which one tool trusts more than the others do. Inside they name our bundle.
local ONE_TOOL = { "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "CURL_CA_BUNDLE", "DENO_CERT", "GIT_SSL_CAINFO",
  "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE" }

local function named(env, name)
  local value = env[name]
  return value ~= "" and value or nil
end

--- The content of a file of certificates.
---@param path string
---@return string|nil text
---@return string|nil problem
function trust.read(path)
  local text, why = sys.readfile(path, MAX)
  if not text then return nil, ("%s can't be read: %s"):format(path, why) end
  return text
end

--- The system's own roots; "" where it has none.
---@return string pem
function trust.system()
  for _, path in ipairs(BUNDLES) do
    local text = sys.readfile(path, MAX)
    if text then return text end
  end
  return ""
end

-- As programs read SSL_CERT_DIR: folders with a certificate a file; what can't be read is passed over. Those of the
-- system are in its bundle.
local function folder(list, texts)
  for path in list:gmatch("[^:]+") do
    local own = path:gsub("/+$", "") == "/etc/ssl/certs" and texts[1] ~= ""
    for i, name in ipairs(not own and sys.readdir(path) or {}) do
      if i > MAX_FILES then break end
      texts[#texts + 1] = sys.readfile(path .. "/" .. name, MAX)
    end
  end
end

--- The PEM texts of the host's roots: the system's and what the caller adds to them for all tools.
---@param env table of srt-lua
---@return string[]|nil texts
---@return string|nil problem where SSL_CERT_FILE can't be read
function trust.roots(env)
  local texts = { trust.system() }
  local file, folders = named(env, "SSL_CERT_FILE"), named(env, "SSL_CERT_DIR")
  if file then
    local text, why = trust.read(file)
    if not text then return nil, "SSL_CERT_FILE: " .. why end
    texts[2] = text
  end
  if folders then folder(folders, texts) end
  return texts
end

--- What the caller has set for one tool, and the command will not have.
---@param env table of srt-lua
---@return string[] warnings
function trust.lost(env)
  local out, known = {}, { [named(env, "SSL_CERT_FILE") or ""] = true }
  for _, path in ipairs(BUNDLES) do known[path] = true end
  for _, name in ipairs(ONE_TOOL) do
    local path = named(env, name)
    if path and not known[path] then
      out[#out + 1] = ("%s is %s, whose roots are not trusted under network.tlsTerminate; add it to extraCaCertPaths "
        .. "where hosts need them"):format(name, path)
    end
  end
  return out
end

-- The files that are there, each by its real path.
local function present(list, kind, out, seen)
  for _, path in ipairs(list) do
    local real = sys.realpath(path)
    local st = real and not seen[real] and sys.stat(real)
    if st and st.type == "file" then
      seen[real] = true
      out[#out + 1] = { given = path, path = real, literal = true, builtin = "trust of the run", kind = kind,
        origin = { key = "network.tlsTerminate" } }
    end
  end
end

--- The system's files that ours lie over: entries for filesystem.masked, without their content.
---@return table[]
function trust.masked()
  local out, seen = {}, {}
  present(BUNDLES, "bundle", out, seen)
  present(STORES, "store", out, seen)
  return out
end

--- What termination adds to the lists of the file system, whatever else they say.
---@param ctx table of srt.profile
---@param values table of a policy
---@param out table filesystem of the profile: hidden, denyWrite and masked grow
function trust.protect(ctx, values, out)
  local key = "network.tlsTerminate."
  local function add(list, value, builtin)
    local path = require("srt.paths").expand(value.value, ctx)
    list[#list + 1] = path and { given = value.value, path = path, literal = true, builtin = builtin,
      origin = value.origin }
  end
  out.hidden, out.masked = out.hidden or {}, out.masked or {}
  local secret, cert, more = values[key .. "caKeyPath"], values[key .. "caCertPath"], values[key .. "extraCaCertPaths"]
  if secret then
    add(out.hidden, secret, "key of the CA")
    add(out.denyWrite, secret, "key of the CA")
  end
  if cert then add(out.denyWrite, cert, "certificate of the CA") end
  for _, value in ipairs(more and more.list or {}) do add(out.denyWrite, value, "roots of the policy") end
  local masked = trust.masked()
  table.move(masked, 1, #masked, #out.masked + 1, out.masked)
end

local function files(content)
  return { { name = trust.BUNDLE:sub(#FOLDER + 1), content = content.bundle },
    { name = trust.STORE:sub(#FOLDER + 1), content = content.store } }
end

--- The files as a plan that is only looked at has them: empty.
function trust.planned() return files({ bundle = "", store = "" }) end

--- Makes the files of a run, and fills in the entries of trust.masked().
---@param masked table[] filesystem.masked of the profile
---@param made table {authority=, trust=} from srt.termination
---@return table[]|nil files for the plan: {name=, content=}
---@return string|nil problem
function trust.files(masked, made)
  local tls, content = require("srt.c.tls"), {}
  local why
  content.bundle, why = tls.bundle(made.authority, made.trust)
  if not content.bundle then return nil, "the trust bundle can't be made: " .. why end
  content.store, why = tls.javaStore(made.authority, made.trust)
  if not content.store then return nil, "the Java trust store can't be made: " .. why end
  for _, entry in ipairs(masked) do
    if entry.kind then entry.content = content[entry.kind] end
  end
  return files(content)
end

return trust
