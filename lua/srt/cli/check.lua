-- SPDX-License-Identifier: Apache-2.0
-- srt-lua check: validates policies and prints what they come to, each entry with where it came from.

local check_data = require("srt.check_data")
local provenance = require("srt.provenance")
local report = require("srt.report")
local schema = require("srt.schema")
local source = require("srt.source")
local tables = require("srt.tables")

local check = {}

check.USAGE = [[
usage: srt-lua check POLICY… [--all | --json] [--fail-on SEVERITY]

Validates policies and prints what they come to, each entry with where it came from, and what they probably do not
mean: such a warning or note ends with the name of its lint, which docs/lints.md explains. A comment
"-- lint: ok NAME" behind its line, or alone above a line or a table, says that it is meant. Only what is told of this
machine and of no line has no name.

  --all      show each entry; else what a ready-made policy denies by the dozen is one line
  --json     all of it for programs
  --fail-on SEVERITY
             exit with status 1 for warnings (warning), or for notes as well (note); only for errors unless given

Exit status: 0, 1 for errors and what --fail-on says, 125 for wrong usage.
]]

local LISTS = check_data.LISTS

local FAILS = { error = {}, warning = { "warnings" }, note = { "warnings", "notes" } }

check.KNOWN = {
  valued = { ["--fail-on"] = function(options, value)
    options.fails = FAILS[value]
    return not options.fails and ("--fail-on takes error, warning or note, not %q"):format(value) or nil
  end },
  flags = { ["--json"] = "json", ["--all"] = "all" },
}

---@return table|nil options {words=, json=, all=, fails=} or {help = true}
---@return string|nil message
local function parse(args)
  local options, message = require("srt.run_options").words(args, check.KNOWN)
  if options and not options.help and not options.words[1] then return nil, "no policy given" end
  return options, message
end

local function row(what, where)
  what = report.plain(what)
  -- Where the column is too narrow a wider gap tells the two apart.
  return ("  %-48s %s"):format(#what > 48 and what .. " " or what, report.plain(where or ""))
end

local function row_of(item) return row(item.what, item.where) end

local function path_item(entry)
  local what = entry.given == entry.path and entry.given or ("%s  (%s)"):format(entry.given, entry.path)
  return { what = (entry.literal and not entry.builtin) and what .. "  literal" or what, name = entry.given,
    where = entry.builtin or source.where(entry.origin), from = entry.origin.preset and entry.origin.file }
end

local FEW, NAMED = 4, 3

-- Those first, and how many more.
local function some(names)
  return ("%s and %d more"):format(table.concat(names, ", ", 1, NAMED), #names - NAMED)
end

---Rows of what takes away. What allows is never folded: it is to be seen where each came from.
---@param items {what: string, where: string, name: string, from: string|false|nil}[] from: the ready-made policy
---@param all boolean|nil each in a row of its own
---@param verb string|nil before names
---@return string[] rows
local function folded(items, all, verb)
  local groups, order, rows = {}, {}, {}
  for _, item in ipairs(items) do
    local key = not all and item.from or item
    if not groups[key] then
      groups[key] = {}
      order[#order + 1] = groups[key]
    end
    table.insert(groups[key], item)
  end
  for _, group in ipairs(order) do
    if #group > FEW then
      local names = {}
      for i, item in ipairs(group) do names[i] = item.name end
      rows[#rows + 1] = row((verb or "") .. some(names), group[1].from)
    else
      for _, item in ipairs(group) do rows[#rows + 1] = row_of(item) end
    end
  end
  return rows
end

---What a pattern came to: how much, and the first few.
local function glob_row(glob)
  local paths, more = table.concat(glob.paths, ", "), glob.count - #glob.paths
  local text = ("%d %s"):format(glob.count, glob.count == 1 and "path" or "paths")
  if glob.count > 0 then
    text = ("%s: %s%s"):format(text, paths, more > 0 and (" and %d more"):format(more) or "")
  end
  local unseen = glob.unseenCount > 0 and (", %d not readable"):format(glob.unseenCount) or ""
  return row(glob.given, source.where(glob.origin)) .. ("\n    = %s%s"):format(report.plain(text), unseen)
end

local function rule_row(rule)
  return row(rule.reason and ("%s  (%s)"):format(rule.text, rule.reason) or rule.text, source.where(rule.origin))
end

local function add_block(lines, title, list, format)
  if #list == 0 then return end
  lines[#lines + 1] = title
  for _, item in ipairs(list) do
    lines[#lines + 1] = format(item)
  end
end

local function filesystem(lines, fs, all)
  lines[#lines + 1] = "files: everything is readable and nothing writable, but for"
  for _, list in ipairs(LISTS) do
    local items = {}
    for _, entry in ipairs(fs[list[1]]) do
      if not entry.glob then items[#items + 1] = path_item(entry) end
    end
    local rows = folded(items, all or list[1]:find("^allow") ~= nil)
    for _, glob in ipairs(fs.globs) do
      if glob.list == list[1] then rows[#rows + 1] = glob_row(glob) end
    end
    add_block(lines, (" %s (filesystem.%s)"):format(list[2], list[1]), rows, tostring)
  end
end

local function protection(lines, settings, all)
  local names, own = {}, {}
  for _, entry in ipairs(require("srt.protected").list(settings)) do
    local list = entry.origin and own or names
    list[#list + 1] = entry.name .. (entry.where == "home" and " (at home)" or "")
  end
  lines[#lines + 1] = (" not writable wherever writing is allowed, nor to be made: names that make the host run code "
    .. "(filesystem.protect), searched to depth %d, not in %s"):format(settings.depth,
    table.concat(require("srt.protected").SKIP, ", "))
  if not all then names = { some(names) } end
  local line = " "
  for _, name in ipairs(table.move(own, 1, #own, #names + 1, names)) do
    if #line + #name > 110 then
      lines[#lines + 1], line = line, " "
    end
    line = line .. " " .. report.plain(name)
  end
  lines[#lines + 1] = line
end

local function network(lines, profile, try)
  local net, chains = profile.network, profile.callbacks
  if net.enabled then
    lines[#lines + 1] = "network: by the proxy" .. (net.strict and ", allowed destinations only" or "")
  else
    lines[#lines + 1] = "network: closed"
  end
  add_block(lines, " denied (network.deniedDomains)", net.denied, rule_row)
  add_block(lines, " allowed (network.allowedDomains)", net.allowed, rule_row)
  add_block(lines, " of them the host's loopback, there inside on the same address and port",
    require("srt.loopback").points(profile), function(point) return row(require("srt.loopback").text(point)) end)
  add_block(lines, " published, for all users of the host (network.publishPorts)", net.publish,
    function(entry) return row(require("srt.publish").text(entry), source.where(entry.origin)) end)
  add_block(lines, " addresses no name may lead to (network.deniedResolvedAddresses)", net.deniedAddresses, rule_row)
  add_block(lines, " taken out of responses (network.stripResponseHeaders)", net.stripResponseHeaders, row)
  for _, item in ipairs(require("srt.ways").rows(net, try)) do lines[#lines + 1] = row_of(item) end
  add_block(lines, " terminated (network.tlsTerminate)", require("srt.tls_lint").rows(net), row_of)
  for _, name in ipairs(require("srt.profile").CALLBACKS) do
    add_block(lines, (" asked (%s)"):format(require("srt.profile").callbackKey(name)), chains[name], function(fn)
      return row("function", source.where(chains.origins[fn]))
    end)
  end
end

local function environment(lines, env, origins, all)
  local function item(what, key, name)
    local origin = origins and origins[key][name] or { key = "env." .. key }
    return { what = what, name = name, where = source.where(origin), from = origin.preset and origin.file }
  end
  for _, name in ipairs(tables.keys(env.set)) do
    lines[#lines + 1] = row_of(item(("set %s=%s"):format(name, env.set[name]), "set", name))
  end
  local unset = {}
  for i, name in ipairs(env.unset) do unset[i] = item("unset " .. name, "unset", name) end
  table.move(folded(unset, all, "unset "), 1, #unset, #lines + 1, lines)
  for _, name in ipairs(env.pass or {}) do lines[#lines + 1] = row_of(item("pass only " .. name, "pass", name)) end
end

local function rest(lines, profile, all)
  local defaults = schema.root.fields.limits.fields
  lines[#lines + 1] = ("backend: %s"):format(profile.backend)
  if profile.unix.all then lines[#lines + 1] = "Unix sockets: all allowed" end
  add_block(lines, "Unix sockets to connect to (network.allowUnixSockets)", profile.unix.allowed, function(entry)
    return entry.path and row_of(path_item(entry)) or row(entry.given, source.where(entry.origin))
  end)
  if profile.nested then lines[#lines + 1] = "user namespaces: allowed" end
  if next(profile.env.set) or #profile.env.unset > 0 or profile.env.pass then
    lines[#lines + 1] = "environment:"
    environment(lines, profile.env, profile.provenance and profile.provenance.env, all)
  end
  add_block(lines, "reports of what was denied:", require("srt.reporter").rows(profile.reports), row_of)
  for _, name in ipairs(tables.keys(profile.limits)) do
    local value = profile.limits[name]
    if value ~= defaults[name].default then lines[#lines + 1] = ("limit: %s = %d"):format(name, value) end
  end
end

local function counted(profile)
  local parts = {}
  for i, kind in ipairs { "error", "warning", "note" } do
    local count = #profile[kind == "error" and "unenforced" or kind .. "s"]
    parts[i] = ("%s %s%s"):format(count == 0 and "no" or count, kind, count == 1 and "" or "s")
  end
  return "in all: " .. table.concat(parts, ", ")
end

---The readable form of a profile.
---@param file string
---@param profile table
---@param try function|nil as of srt.ways
---@param all boolean|nil each entry in a row of its own
---@return string
function check.text(file, profile, try, all)
  local lines = { ("%s:"):format(report.plain(file)) }
  local presets = profile.presets or {}
  if #presets > 0 then lines[#lines + 1] = "extends: " .. table.concat(presets, ", ") end
  filesystem(lines, profile.filesystem, all)
  if #profile.filesystem.allowWrite > 0 and not profile.protection.off then
    protection(lines, profile.protection, all)
  end
  network(lines, profile, try)
  add_block(lines, "secrets and credentials:", require("srt.credentials_text").rows(profile.credentials), row_of)
  rest(lines, profile, all)
  local settings, undone = provenance.rows(profile.provenance)
  add_block(lines, "settings:", settings, row_of)
  add_block(lines, "what one policy takes back of another:", undone, row_of)
  for _, kind in ipairs({ "warning", "note" }) do
    for _, text in ipairs(profile[kind .. "s"]) do lines[#lines + 1] = ("%s: %s"):format(kind, report.plain(text)) end
  end
  lines[#lines + 1] = counted(profile)
  return table.concat(lines, "\n") .. "\n"
end

---Runs the command.
---@param args string[] what follows "check"
---@param ctx table {load = fun(path): profile|nil, problems (resolved with lint = true), out, err, tty, redirects}
---@return integer status 0 all is well, 1 there are problems, 125 wrong usage
function check.main(args, ctx)
  local options, message = parse(args)
  local status = report.answered(ctx, "srt-lua check", check.USAGE, options, message)
  if status then return status end
  local results = {}
  status = 0
  for i, file in ipairs(options.words) do
    local profile, problems = ctx.load(file)
    local bad = problems or profile.unenforced
    if #bad > 0 then status = 1 end
    for _, kind in ipairs(profile and options.fails or FAILS.error) do
      if #profile[kind] > 0 then status = 1 end
    end
    if options.json then
      results[i] = check_data.result(file, profile, problems)
    else
      if profile then ctx.out(check.text(file, profile, ctx.redirects, options.all)) end
      ctx.err(report.text(bad, ctx.tty))
    end
  end
  if options.json then
    ctx.out(require("srt.json").encode({ policies = results }) .. "\n")
  end
  return status
end

return check
