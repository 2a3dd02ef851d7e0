-- SPDX-License-Identifier: Apache-2.0
-- Reads the keys secrets and credentials.*, where a policy has some.
local paths = require "srt.paths"

local credentials_read = {}

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

---@param self table with ctx, :problem and :unenforced
---@param values table merged keys
---@param out srt.credentials secrets, variables, files, aws and masks are set
function credentials_read.fill(self, values, out)
  local map = values.secrets and values.secrets.map
  for _, name in ipairs(map and require("srt.tables").keys(map) or {}) do
    out.secrets[#out.secrets + 1] = secret(self, name, map[name])
  end
  out.variables = each(self, values, "credentials.envVars", variable)
  out.files = each(self, values, "credentials.files", file)
  out.aws = each(self, values, "credentials.awsPairs", aws_pair)
  check_pairs(self, out)
end

return credentials_read
