-- SPDX-License-Identifier: Apache-2.0
-- What a policy says of secrets and credentials, as plain data: where values come from and where they may go.
--
-- No value is here, so the profile can be printed. srt.secrets reads the values, when something is run.
local paths = require "srt.paths"

local credentials = {}

-- What srt has for values with a structure, and we have not.
local LATER = { "extract", "onExtractNoMatch", "decode", "maskClaims", "maskDuplicates" }

local function hosts_of(list, origin)
  local rules = {}
  for i, text in ipairs(list) do
    rules[i] = assert(require("srt.domain").parse(text, "allow"))
    rules[i].origin = origin
  end
  return rules
end

-- A command: words, or a line for the shell.
local function command_of(given)
  if type(given) == "string" and given ~= "" then return { "/bin/sh", "-c", given } end
  if type(given) ~= "table" or #given == 0 then return nil end
  local words = {}
  for i, word in ipairs(given) do
    if type(word) ~= "string" or word:find("\0", 1, true) then return nil end
    words[i] = word
  end
  return words
end

local function one_of(record)
  local source
  for _, name in ipairs { "env", "file", "command" } do
    if record[name] ~= nil then
      if source then return nil end
      source = name
    end
  end
  return source
end

local function secret(self, name, entry)
  local record, origin = entry.value, entry.origin
  local source = one_of(record)
  if not source then return self:problem(origin, "a secret takes one of env, file and command") end
  if not record.hosts or #record.hosts == 0 then
    return self:problem(origin, "a secret needs hosts, where it may go: hosts = { \"api.example.com:443\" }")
  end
  local out = { name = name, source = source, env = record.env, origin = origin,
    hosts = hosts_of(record.hosts, origin) }
  if source == "file" then
    local reason
    out.path, reason = paths.expand(record.file, self.ctx)
    if not out.path then return self:problem(origin, ("%q: %s"):format(record.file, reason)) end
  elseif source == "command" then
    out.command = command_of(record.command)
    if not out.command then return self:problem(origin, "command takes a string, or a list of words") end
  end
  return out
end

local function source_of(self, item, key)
  local record, origin = item.value, item.origin
  if not record[key] then return self:problem(origin, "it needs " .. key) end
  if not record.mode then return self:problem(origin, "it needs a mode: \"deny\" or \"mask\"") end
  if record.mode == "mask" then
    for _, name in ipairs(LATER) do
      if record[name] ~= nil then
        self:unenforced(origin, nil, name .. " is not available yet; only whole values are masked")
      end
    end
  end
  return { mode = record.mode, hosts = record.injectHosts and hosts_of(record.injectHosts, origin), origin = origin }
end

local function variable(self, item)
  local out = source_of(self, item, "name")
  if out then out.name = item.value.name end
  return out
end

local function file(self, item)
  local out = source_of(self, item, "path")
  if not out then return nil end
  local path, reason = paths.expand(item.value.path, self.ctx)
  if not path then return self:problem(item.origin, ("%q: %s"):format(item.value.path, reason)) end
  out.path, out.given = path, item.value.path
  return out
end

-- The variables that AWS's tools read, where the policy names no others.
local AWS = { key = "AWS_ACCESS_KEY_ID", secret = "AWS_SECRET_ACCESS_KEY", token = "AWS_SESSION_TOKEN" }

local function aws_pair(self, item)
  local given = item.value
  if not given.accessKeyIdVar or not given.secretAccessKeyVar then
    return self:problem(item.origin, "it needs accessKeyIdVar and secretAccessKeyVar")
  end
  return { key = given.accessKeyIdVar, secret = given.secretAccessKeyVar, token = given.sessionTokenVar,
    origin = item.origin }
end

-- A pair that is named has to be masked, or it would be signed with what nobody knows.
local function check_pairs(self, out)
  local masked = {}
  for _, one in ipairs(out.variables) do masked[one.name] = one.mode == "mask" end
  for _, pair in ipairs(out.aws) do
    for _, part in ipairs { "key", "secret", "token" } do
      local name = pair[part]
      if name and not masked[name] then
        self:problem(pair.origin, name .. " is not masked in credentials.envVars")
      end
    end
  end
  out.masks = masked
  if masked[AWS.key] and masked[AWS.secret] then out.aws[#out.aws + 1] = AWS end
end

local function each(self, values, key, read)
  local list = {}
  for _, item in ipairs(values[key] and values[key].list or {}) do list[#list + 1] = read(self, item) end
  return list
end

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
  local map, secrets = values.secrets and values.secrets.map, {}
  for _, name in ipairs(map and require("srt.tables").keys(map) or {}) do
    secrets[#secrets + 1] = secret(self, name, map[name])
  end
  local plaintext = values["credentials.allowPlaintextInject"]
  local out = { secrets = secrets, variables = each(self, values, "credentials.envVars", variable),
    files = each(self, values, "credentials.files", file), plaintext = plaintext and plaintext.value or false,
    aws = each(self, values, "credentials.awsPairs", aws_pair), sigv4 = {} }
  check_pairs(self, out)
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

local function where_to(hosts)
  if not hosts then return "all allowed hosts" end
  local texts = {}
  for i, rule in ipairs(hosts) do texts[i] = rule.text end
  return table.concat(texts, ", ")
end

local SOURCES = {
  env = function(one) return "from the variable " .. one.env end,
  file = function(one) return "from the file " .. one.path end,
  command = function(one) return "from the command " .. one.command[1] end,
}

---Lines for check: names and places, never values.
---@param found srt.credentials
---@return {what: string, where: string, origin: table}[]
function credentials.rows(found)
  local rows = {}
  local function add(one, form, ...)
    rows[#rows + 1] = { what = form:format(...), where = require("srt.source").where(one.origin), origin = one.origin }
  end
  for _, one in ipairs(found.secrets) do
    add(one, "secret %s, %s, for %s", one.name, SOURCES[one.source](one), where_to(one.hosts))
  end
  for _, list in ipairs { found.variables, found.files } do
    for _, one in ipairs(list) do
      local name = one.name and "variable " .. one.name or "file " .. one.given
      if one.mode == "deny" then add(one, "%s, not visible", name)
      else add(one, "%s, masked, for %s", name, where_to(one.hosts)) end
    end
  end
  return rows
end

return credentials
