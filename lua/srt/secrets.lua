-- SPDX-License-Identifier: Apache-2.0
-- The values of secrets and credentials, for as long as a run lasts, and the one place that says where they go.
--
-- A value is in a closure here, in what is sent to its hosts, and in the sets that srt.c.proxy replaces by; in no
-- profile, plan, message or line of a log.
local domain = require "srt.domain"
local sentinel = require "srt.sentinel"

local secrets = {}
local Vault = {}
Vault.__index = Vault

local COMMAND_MS, MOST_BYTES = 10000, 65536

local function trimmed(text) return (text:gsub("[\r\n]+$", "")) end

local READ = {
  env = function(one, env)
    if not env[one.env] then return nil, ("the variable %s is not set"):format(one.env) end
    return env[one.env]
  end,
  file = function(one)
    local text, message = require("srt.c.sys").readfile(one.path, MOST_BYTES)
    if not text then return nil, ("the file %s can't be read: %s"):format(one.path, message) end
    return trimmed(text)
  end,
  command = function(one)
    local text, message = require("srt.c.secret").run(one.command, COMMAND_MS, MOST_BYTES)
    if not text then return nil, "the command failed: " .. message end
    return trimmed(text)
  end,
}

local function check(value)
  if #value < sentinel.LEAST then
    return ("the value has less than %d bytes, so it would be met by chance"):format(sentinel.LEAST)
  elseif #value > sentinel.MOST then
    return "the value is too long"
  elseif value:find("\0", 1, true) then
    return "the value holds a NUL byte"
  end
end

-- One value: what stands for it, and where it may go.
local function keep(self, what, value, hosts)
  local problem = check(value)
  if problem then return nil, what .. ": " .. problem end
  local kept = self.byValue[value]
  if not kept then
    kept = { sentinel = sentinel.new(value), value = function() return value end }
    self.byValue[value] = kept
    self.all[#self.all + 1] = kept
  end
  local item = { kept = kept, hosts = hosts and domain.compile(hosts) or self.allowed }
  self.items[#self.items + 1] = item
  return item
end

local function read_secrets(self, found, env, read)
  for _, one in ipairs(found.secrets) do
    local what = "secrets." .. one.name
    if one.origin.line then what = require("srt.source").where(one.origin) .. ": " .. what end
    local value, problem = read[one.source](one, env)
    if not value then return what .. ": " .. problem end
    local item, unkept = keep(self, what, value, one.hosts)
    if not item then return unkept end
    self.named[one.name] = item
    if one.env then self.hidden[one.env] = true end
  end
end

local function read_variables(self, found, env)
  for _, one in ipairs(found.variables) do
    local value = env[one.name]
    if one.mode == "deny" then
      self.hidden[one.name] = true
    elseif value and value ~= "" then
      local item, problem = keep(self, "credentials.envVars: " .. one.name, value, one.hosts)
      if not item then return problem .. "; deny it instead" end
      item.inject = true
      self.variables[one.name] = item
    end
    -- What is denied is not to be met in another variable either.
    if one.mode == "deny" and value and not check(value) then
      local item = keep(self, one.name, value, {})
      item.hosts = function() return nil end
    end
  end
end

local function read_pairs(self, found)
  for _, pair in ipairs(found.aws) do
    local key, secret = self.variables[pair.key], self.variables[pair.secret]
    if key and secret then
      self.pairs[#self.pairs + 1] = { key = key, secret = secret, token = pair.token and self.variables[pair.token] }
    end
  end
end

-- The content of a masked file: its first and last white space stays.
local function read_file(self, entry, one)
  local text, message = require("srt.c.sys").readfile(one.path, MOST_BYTES)
  if text then
    local before, value, after = text:match("^(%s*)(.-)(%s*)$")
    local item, problem = keep(self, "credentials.files: " .. one.given, value, one.hosts)
    if not item then return problem .. "; deny it instead" end
    item.inject = true
    entry.content = before .. item.kept.sentinel .. after
  elseif require("srt.c.sys").lstat(one.path) then
    return ("credentials.files: %s can't be masked: %s"):format(one.given, message)
  end
end

-- Others that are masked show certificates.
local function read_files(self, entries)
  for _, entry in ipairs(entries) do
    local message = entry.credential and read_file(self, entry, entry.credential)
    if message then return message end
  end
end

---Reads all values of a profile. Their files get the content that is shown inside.
---@param profile table
---@param env table<string, string> the caller's environment
---@param read table? as READ: stand-ins take the place of secrets
---@return table? vault nil where there is nothing to keep
---@return string? message
function secrets.open(profile, env, read)
  local found = profile.credentials
  local ok, message = require("srt.c.secret").hide()
  if not ok then return nil, "the process can't be hidden: " .. message end
  local self = setmetatable({ all = {}, items = {}, named = {}, hidden = {}, byValue = {}, known = {},
    variables = {}, pairs = {}, sigv4 = found.sigv4,
    allowed = domain.compile(profile.network.allowed), plaintext = found.plaintext,
    plainSet = profile.network.allowPlaintextHeaderSet }, Vault)
  message = read_secrets(self, found, env, read or READ) or read_variables(self, found, env)
    or read_files(self, profile.filesystem.masked)
  if message then return nil, message end
  read_pairs(self, found)
  -- Longer ones first: one may be part of another.
  table.sort(self.all, function(a, b) return #a.sentinel > #b.sentinel end)
  return self
end

local function replace(text, from, to)
  local out, at = {}, 1
  while true do
    local first, last = text:find(from, at, true)
    if not first then break end
    out[#out + 1], out[#out + 2] = text:sub(at, first - 1), to
    at = last + 1
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out)
end

---An environment for the command: what is hidden is gone, and no value is left in any variable.
---@param list string[] NAME=value
---@return string[]
function Vault:environment(list)
  local out = {}
  for _, variable in ipairs(list) do
    local name, value = variable:match("^([^=]*)=(.*)$")
    if not self.hidden[name] then
      for _, kept in ipairs(self.all) do value = replace(value, kept.value(), kept.sentinel) end
      out[#out + 1] = name .. "=" .. value
    end
  end
  return out
end

---The names of variables that a policy does not see either.
---@param found srt.credentials
---@return string[]
function secrets.variables(found)
  local names = {}
  for _, one in ipairs(found.secrets) do names[#names + 1] = one.env end
  for _, one in ipairs(found.variables) do names[#names + 1] = one.name end
  return names
end

---An environment to show: what a run replaces is named, and what it hides is gone.
---@param profile table
---@param env table<string, string> the caller's
---@param list string[] NAME=value
---@return string[]
function secrets.without(profile, env, list)
  local names, out = {}, {}
  for _, name in ipairs(secrets.variables(profile.credentials)) do names[#names + 1] = name end
  for _, one in ipairs(profile.credentials.variables) do
    if one.mode == "mask" then names[one.name] = true end
  end
  for _, variable in ipairs(list) do
    local name, value = variable:match("^([^=]*)=(.*)$")
    local hidden = false
    for _, other in ipairs(names) do
      hidden = hidden or other == name
      if env[other] and env[other] ~= "" then value = replace(value, env[other], "(masked)") end
    end
    if not hidden or names[name] then out[#out + 1] = name .. "=" .. value end
  end
  return out
end

---The value of a secret, for a request to a host.
---@param name string
---@param host string canonical
---@param port integer
---@param scheme string
---@return string? value
---@return string? problem
function Vault:value(name, host, port, scheme)
  local item = self.named[name]
  if not item then
    local names = {}
    for known in pairs(self.named) do names[#names + 1] = known end
    local near = require("srt.suggest").nearest(name, names)
    return nil, ("there is no secret %q%s"):format(name, near and ("; did you mean %q?"):format(near) or "")
  elseif not item.hosts(host, port) then
    return nil, ("the secret %s may not go to %s:%d: it is for other hosts"):format(name, host, port)
  elseif scheme ~= "https" and not self.plainSet then
    return nil, ("the secret %s may not go over plain HTTP; network.allowPlaintextHeaderSet = true allows that")
      :format(name)
  end
  return item.kept.value()
end

---Is a masked value put into requests that go there?
---@param item table
---@param where {host: string, port: integer, scheme: string}
---@return boolean
function Vault:injects(item, where)
  return item.inject and (where.scheme == "https" or self.plaintext) and item.hosts(where.host, where.port) ~= nil
end

local function build(self, host, port, scheme)
  local fill, scrub = {}, {}
  for _, item in ipairs(self.items) do
    if item.hosts(host, port) then
      local kept = item.kept
      if self:injects(item, { host = host, port = port, scheme = scheme }) then
        fill[kept.sentinel] = { from = kept.sentinel, to = kept.value() }
      end
      for _, form in ipairs(sentinel.forms(kept.value(), kept.sentinel)) do scrub[form.from] = form end
    end
  end
  local function set_of(map)
    local list = {}
    for _, pair in pairs(map) do list[#list + 1] = pair end
    return #list > 0 and require("srt.c.secret").substitute(list) or nil
  end
  return { fill = set_of(fill), scrub = set_of(scrub) }
end

local REMEMBERED = 1000 -- destinations

local function with(set, more)
  local out, named = table.move(more, 1, #more, 1, {}), {}
  for _, header in ipairs(more) do named[header.name:lower()] = true end
  for _, header in ipairs(set or {}) do
    if not named[header.name:lower()] then out[#out + 1] = header end
  end
  return out
end

---What becomes of an allowed request: what is put in and taken out, or a new signature.
---@param decision table of srt.decide_request
---@param question table
---@return table? changes of the decision: fill, scrub, set
---@return string? problem the request must not go out
function Vault:finish(decision, question)
  local where = { host = decision.host, port = decision.port, scheme = question.scheme or "http" }
  local fill, scrub = self:sets(where.host, where.port, where.scheme)
  if not fill then return { scrub = scrub } end
  local signed, problem = require("srt.resign").request(self, decision, question, where)
  if problem then return nil, problem end
  if not signed then return { fill = fill, scrub = scrub } end
  -- What was signed is what goes out: nothing else is put in.
  return { scrub = scrub, set = with(decision.set, signed) }
end

---What is put into requests to a host, and taken out of its answers.
---@param host string canonical
---@param port integer
---@param scheme string
---@return userdata? fill
---@return userdata? scrub
function Vault:sets(host, port, scheme)
  local key = scheme .. " " .. host .. " " .. port
  local sets = self.known[key]
  if not sets then
    sets = build(self, host, port, scheme)
    self.count = (self.count or 0) + 1
    if self.count > REMEMBERED then self.known, self.count = {}, 1 end
    self.known[key] = sets
  end
  return sets.fill, sets.scrub
end

return secrets
