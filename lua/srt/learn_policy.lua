-- SPDX-License-Identifier: Apache-2.0
-- Writes the policy that a run needed, for a user to read before it is trusted.
local learn_net = require "srt.learn_net"
local paths = require "srt.paths"
local text = require "srt.learn_text"

local learn_policy = {}

-- Of what was denied in the run; what is beyond is counted.
local MOST_DENIED = 40

-- Ready-made policies, and the programs that they are for.
learn_policy.PRESETS = { { "npm", "^n[po][md]e?" }, { "pypi", "^[pu][iyv]" }, { "cargo", "^cargo" }, { "go", "^go$" },
  { "git-https", "^git" } }

local Writer = {}
Writer.__index = Writer

function Writer:line(depth, ...)
  self[#self + 1] = ("  "):rep(depth) .. table.concat({ ... })
end

function Writer:entry(spelled, comment, off)
  self:line(2, off and "-- " or "", spelled, ",", comment and comment ~= "" and " -- " .. comment or "")
end

local function by(programs)
  return #programs > 0 and ", by " .. text.names(programs) or ""
end

-- A table of the policy, if anything is in it.
local function block(self, depth, name, fill)
  local begun = #self
  self:line(depth, name, " = {")
  fill()
  if #self == begun + 1 then self[#self] = nil else self:line(depth, "},") end
end

local function within(path, list)
  for _, other in ipairs(list) do
    if paths.below(path, other) then return true end
  end
  return false
end

local function read_by_run(found, list)
  for _, path in ipairs(list) do
    for _, store in ipairs(found.read) do
      if store.path == path or paths.below(store.path, path) then return true end
    end
  end
  return false
end

-- What of a ready-made policy was seen: its hosts and folders are then its own affair.
local function take_preset(found, name, preset, why)
  local taken = { name = name, why = why, hosts = {}, count = 0 }
  for i = #found.rules, 1, -1 do
    local rule = found.rules[i]
    if learn_net.within(preset.hosts, rule) then
      taken.hosts[#taken.hosts + 1] = rule.text
      table.remove(found.rules, i)
    end
  end
  for i = #found.allow, 1, -1 do
    local entry = found.allow[i]
    if within(entry.path, preset.write) and not entry.store then
      taken.count = taken.count + entry.count
      table.remove(found.allow, i)
    end
  end
  table.insert(found.extends, taken)
end

local function uses(found, preset, programs)
  for _, rule in ipairs(found.rules) do
    for _, program in ipairs(learn_net.within(preset.hosts, rule) and rule.programs or {}) do
      if program:match("[^/]*$"):find(programs) then return true end
    end
  end
  return false
end

---Takes out what ready-made policies give.
---@param found table
---@param presets table<string, {hosts: string[], write: string[], deny: string[]}> with absolute paths
local function choose_presets(found, presets)
  found.extends = {}
  for i, entry in ipairs(found.allow) do
    if entry.path == found.ctx.cwd and not entry.store then
      table.insert(found.extends, { name = "workspace", hosts = {}, count = entry.count, programs = entry.programs })
      table.remove(found.allow, i)
      break
    end
  end
  for _, row in ipairs(learn_policy.PRESETS) do
    local preset = presets[row[1]]
    if preset and uses(found, preset, row[2]) and not read_by_run(found, preset.deny) then
      take_preset(found, row[1], preset)
    end
  end
  local system = presets["no-system-secrets"]
  if system and found.root and found.reads and not read_by_run(found, system.deny) then
    table.insert(found.extends, { name = "no-system-secrets", hosts = {}, count = 0,
      why = "the run read nothing of it" })
  end
end

local function extends(self, found)
  block(self, 1, "extends", function()
    for _, preset in ipairs(found.extends) do
      local parts = {}
      if preset.count > 0 then parts[1] = ("%d written%s"):format(preset.count, by(preset.programs or {})) end
      table.move(preset.hosts, 1, #preset.hosts, #parts + 1, parts)
      parts[#parts + 1] = preset.why
      self:entry(text.quote(preset.name), table.concat(parts, "; "))
    end
  end)
end

local function shout(self, words, path, programs)
  self:line(2, "-- !!! CREDENTIALS: ", text.plain(path), " ", words, by(programs), " !!!")
end

local function note_of(entry, ctx)
  local note = ("%d written%s"):format(entry.count, by(entry.programs))
  if entry.file then note = "written" .. by(entry.programs) end
  if entry.made then note = note .. "; made by that run: it has to be there when another one begins" end
  if entry.replaced then note = note .. "; removed, or renamed into its place, which a single file can't give" end
  if entry.path == "/tmp" or entry.path == "/var/tmp" then
    note = note .. "; all programs have files there, TMPDIR would be the run's own"
  end
  for _, folder in ipairs(ctx.programs or {}) do
    if paths.below(folder, entry.path) then
      note = note .. "; PROGRAMS OF YOURS ARE THERE (PATH), which run outside of any sandbox"
      break
    end
  end
  return note
end

local function writes(self, found)
  block(self, 2, "allowWrite", function()
    for _, entry in ipairs(found.allow) do
      if entry.store then
        shout(self, "was written, and whoever may write it may read it. Is that meant?", entry.store, entry.programs)
      end
      self:line(3, text.path(entry.path, found.ctx), ", -- ", note_of(entry, found.ctx))
    end
    for _, entry in ipairs(found.never) do
      self:line(3, "-- ", text.path(entry.path, found.ctx), ", -- ", text.plain(entry.why), by(entry.programs))
    end
  end)
end

-- Credentials that are there, and were not touched, are closed; of those that were read the user has to know.
local function reads(self, found)
  block(self, 2, "denyRead", function()
    for _, store in ipairs(found.read) do
      self:line(3, "-- !!! CREDENTIALS were READ", by(store.programs), ": without the -- that is denied !!!")
      self:line(3, "-- ", text.path(store.path, found.ctx), ",")
    end
    for i, path in ipairs(found.unread) do
      if i == 1 then self:line(3, "-- Credentials that the run did not read:") end
      self:line(3, text.path(path, found.ctx), ",")
    end
  end)
  block(self, 2, "denyWrite", function()
    for _, path in ipairs(found.unwritten) do
      self:line(3, text.path(path, found.ctx), ", -- credentials that the run did not write")
    end
  end)
end

local function filesystem(self, found)
  block(self, 1, "filesystem", function()
    writes(self, found)
    reads(self, found)
  end)
end

local function domains(self, found)
  block(self, 2, "allowedDomains", function()
    for _, rule in ipairs(found.rules) do
      local parsed, wrong = require("srt.domain").parse(rule.text, "allow")
      local ways = rule.comment or text.names(rule.ways)
      self:line(3, parsed and "" or "-- ", text.quote(rule.text), ", -- ", ways, by(rule.programs),
        wrong and "; it can't be listed: " .. text.plain(wrong) or "")
    end
    for _, wildcard in ipairs(learn_net.wildcards(found.rules)) do
      self:line(3, "-- ", text.quote(wildcard.text), ", -- would stand for ", tostring(wildcard.count),
        " of these, and for more")
    end
  end)
  block(self, 2, "allowUnixSockets", function()
    for _, socket in ipairs(found.sockets) do
      self:line(3, "-- ", socket.path and text.path(socket.path, found.ctx) or "\"/path/of/the/socket\"", ", -- ",
        text.plain(socket.why), by(socket.programs))
    end
  end)
end

local function header(self, found)
  self:line(0, "-- What a run of ", text.plain(found.command), " did on ", found.date,
    ", written by srt-lua learn. Read it before you trust it:")
  self:line(0, "-- what is listed was used once, and nothing says that it had to be.")
  if found.lost > 0 then
    self:line(0, "-- NOT COMPLETE: ", tostring(found.lost), " records were too many to be kept.")
  end
  if not found.reads then self:line(0, "-- What was read was not watched: credentials may be among it.") end
end

local function denied(self, found)
  if #found.denied == 0 then return end
  self:line(0, "")
  self:line(0, "-- Denied in that run as well, and so not learned:")
  for i, event in ipairs(found.denied) do
    if i > MOST_DENIED then
      self:line(0, "--   and ", tostring(#found.denied - MOST_DENIED), " more")
      break
    end
    self:line(0, "--   ", text.plain(event.kind), " ", text.plain(event.target), ": ", text.plain(event.reason or ""))
  end
end

---The text of a policy.
---@param found table {ctx = {cwd, home, programs}, command, date, lost, root, reads, allow, never, read = credentials
--- {path, programs}, unread = paths, unwritten = paths, rules of srt.learn_net, sockets, denied = events}; used up
---@param presets table<string, {hosts: string[], write: string[], deny: string[]}>
---@return string
function learn_policy.text(found, presets)
  local self = setmetatable({}, Writer)
  choose_presets(found, presets)
  header(self, found)
  self:line(0, "return {")
  extends(self, found)
  filesystem(self, found)
  block(self, 1, "network", function() domains(self, found) end)
  self:line(0, "}")
  denied(self, found)
  return table.concat(self, "\n") .. "\n"
end

return learn_policy
