-- SPDX-License-Identifier: Apache-2.0
-- What a policy says of secrets and credentials, as plain data: where values come from and where they may go.
--
-- No value is here, so the profile can be printed. srt.secrets reads the values, when something is run.

local credentials = {}

-- The keys that take reading.
local KEYS = { "secrets", "credentials.envVars", "credentials.files", "credentials.awsPairs" }

---@class srt.credentials
---@field secrets table[] {name, source, env, path, command, hosts, origin}
---@field variables table[] {name, mode, hosts, origin}; hosts nil: all that are allowed
---@field files table[] {path, given, mode, hosts, origin}
---@field masks table<string, boolean> the variables that are masked
---@field aws table[] {key, secret, token}: names of masked variables
---@field sigv4 table<string, string> kind of signature → "deny" or "passthrough"
---@field plaintext boolean masked values may go over plain HTTP
---@field active boolean there is anything at all

---Resolves the keys secrets and credentials.
---@param self table with ctx, :problem and :unenforced
---@param values table merged keys
---@return srt.credentials
function credentials.resolve(self, values)
  local plaintext = values["credentials.allowPlaintextInject"]
  local out = { secrets = {}, variables = {}, files = {}, aws = {}, masks = {}, sigv4 = {},
    plaintext = plaintext and plaintext.value or false }
  for _, key in ipairs(KEYS) do
    -- Most policies have none of it, and then nothing is loaded for it.
    if values[key] then
      require("srt.credentials_read").fill(self, values, out)
      break
    end
  end
  for _, kind in ipairs { "streaming", "presigned", "sigv4a" } do
    local v = values["credentials.sigv4." .. kind]
    out.sigv4[kind] = v and v.value or "deny"
  end
  out.active = #out.secrets > 0 or #out.variables > 0 or #out.files > 0
  return out
end

---What they ask of files: entries as those of the lists of paths.
---@param found srt.credentials
---@return table[] hidden never readable
---@return table[] masked readable with another content
function credentials.paths(found)
  local hidden, masked = {}, {}
  for _, one in ipairs(found.secrets) do
    if one.path then
      hidden[#hidden + 1] = { given = one.path, path = one.path, literal = true, builtin = "file of a secret",
        origin = one.origin }
    end
  end
  for _, one in ipairs(found.files) do
    local list = one.mode == "deny" and hidden or masked
    list[#list + 1] = { given = one.given, path = one.path, literal = true, origin = one.origin, credential = one,
      builtin = one.mode == "deny" and "denied credential" or "masked credential" }
  end
  return hidden, masked
end

return credentials
