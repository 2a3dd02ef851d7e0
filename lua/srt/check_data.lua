-- SPDX-License-Identifier: Apache-2.0
-- What a policy comes to, as plain data for check --json.
local report = require "srt.report"
local source = require "srt.source"

local check_data = {}

-- The lists of paths, and what they mean.
check_data.LISTS = {
  { "denyRead", "not readable" }, { "allowRead", "readable again" },
  { "allowWrite", "writable" }, { "denyWrite", "not writable" },
  { "denyDelete", "editable, but to stay" },
}

local function entries_data(list, fields)
  local out = {}
  for i, entry in ipairs(list) do
    local item = { origin = source.data(entry.origin) }
    for _, field in ipairs(fields) do
      item[field] = entry[field]
    end
    out[i] = item
  end
  return out
end

local function protection_data(settings)
  local names = {}
  for i, entry in ipairs(require("srt.protected").list(settings)) do
    names[i] = { name = entry.name, why = entry.why, where = entry.where, origin = source.data(entry.origin) }
  end
  return { names = names, depth = settings.depth, notSearched = require("srt.protected").SKIP,
    allowGitConfig = settings.allowGitConfig, newRepositories = settings.newRepositories }
end

local function callbacks_data(callbacks)
  local out = {}
  for _, name in ipairs(require("srt.profile").CALLBACKS) do
    out[name] = {}
    for i, fn in ipairs(callbacks[name]) do
      out[name][i] = { callback = source.where(callbacks.origins[fn]) }
    end
  end
  return out
end

---A profile as plain data for JSON.
---@param profile table
---@return table
function check_data.profile(profile)
  local json, fs, net = require("srt.json"), {}, profile.network
  for _, list in ipairs(check_data.LISTS) do
    fs[list[1]] = entries_data(profile.filesystem[list[1]], { "given", "path", "literal", "builtin", "glob" })
  end
  fs.globs = entries_data(profile.filesystem.globs, { "list", "given", "count", "paths", "unseenCount", "unseen" })
  local rule = { "text", "kind", "host", "port", "reason" }
  return {
    version = profile.version, cwd = profile.cwd, home = profile.home, presets = profile.presets,
    filesystem = fs, protection = protection_data(profile.protection),
    network = { enabled = net.enabled, strict = net.strict, refuseOpaqueTunnels = net.refuseOpaqueTunnels,
      allowPlaintextHeaderSet = net.allowPlaintextHeaderSet, ambiguousRequestTarget = net.ambiguousRequestTarget,
      requireHostMatch = net.requireHostMatch, stripResponseHeaders = net.stripResponseHeaders,
      tlsTerminate = require("srt.tls_lint").data(net), waysOut = json.object(require("srt.ways").data(net)),
      allowed = entries_data(net.allowed, rule), denied = entries_data(net.denied, rule),
      deniedAddresses = entries_data(net.deniedAddresses, { "text" }),
      loopback = entries_data(require("srt.loopback").points(profile), { "address", "port", "host" }),
      published = entries_data(net.publish, { "address", "hostPort", "port" }) },
    callbacks = callbacks_data(profile.callbacks),
    credentials = entries_data(require("srt.credentials_text").rows(profile.credentials), { "what" }),
    env = { set = json.object(profile.env.set), unset = profile.env.unset, pass = profile.env.pass },
    provenance = require("srt.provenance").data(profile.provenance),
    limits = profile.limits, nested = profile.nested, strict = profile.strict, backend = profile.backend,
    unix = { all = profile.unix.all, allowed = entries_data(profile.unix.allowed, { "given", "path", "literal" }) },
  }
end

-- All that was found, the worst first.
local function findings(profile, problems)
  local list = {}
  for _, found in ipairs { problems, profile and profile.unenforced or {} } do
    for _, item in ipairs(report.data(found)) do
      item.severity = "error"
      list[#list + 1] = item
    end
  end
  for _, kind in ipairs(profile and { "warning", "note" } or {}) do
    for _, text in ipairs(profile[kind .. "s"]) do
      local known = profile.details and profile.details[text]
      list[#list + 1] = known or { severity = kind, message = text }
    end
  end
  return list
end

---What check says of a policy, for --json.
---@param file string
---@param profile table|nil
---@param problems table[]|nil
---@return table
function check_data.result(file, profile, problems)
  return {
    file = file, ok = profile ~= nil and #profile.unenforced == 0,
    profile = profile and check_data.profile(profile) or nil,
    errors = report.data(problems or {}),
    unenforced = report.data(profile and profile.unenforced or {}),
    warnings = profile and profile.warnings or {}, notes = profile and profile.notes or {},
    findings = findings(profile, problems or {}),
  }
end

return check_data
