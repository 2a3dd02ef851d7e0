-- SPDX-License-Identifier: Apache-2.0
-- Points out what a valid policy probably does not mean, or gives without its author's knowing. Each lint is one row
-- of a table in srt.lints; docs/lints.md has them all.
--
-- What an entry can't do is told at every run, the rest by `check` alone.
local lint = {}

local ALWAYS, CHECKED = { "effect" }, { "effect", "files", "hosts", "calls" }

---@class srt.lint
---@field id string
---@field severity "warning"|"note"
---@field doc string what it finds, and the cure
---@field place boolean|nil it depends on the place of the run: of a ready-made policy it is no less than of one's own
---@field run nil|fun(self: table, profile: table, policy: table, ctx: table) nil: found as the policy is resolved

---@param always boolean|nil those that speak at every run alone
---@return srt.lint[]
function lint.all(always)
  local list = {}
  for _, name in ipairs(always and ALWAYS or CHECKED) do
    local group = require("srt.lints." .. name)
    table.move(group, 1, #group, #list + 1, list)
  end
  return list
end

local Linter = {}
Linter.__index = Linter

-- The last line of what a line begins: of the table that is opened there.
local function last_line(text, line)
  local tokens = require "srt.tokens"
  local list = tokens.of(text)
  for i, token in ipairs(list) do
    if token.line == line and token.text == "{" then
      local to = tokens.closing(list, i)
      return to and list[to].line or line
    end
  end
  return line
end

-- What a file says is meant: "-- lint: ok ID, because …" at the end of a line, or alone above a line or a table.
local function excuses_of(text)
  local list, line = {}, 0
  for words in (text .. "\n"):gmatch("(.-)\n") do
    line = line + 1
    local before, named = words:match("^(.-)%-%-%s*lint: ok ([%w%-, ]+)")
    if named then
      local alone = not before:find("%S")
      list[#list + 1] = { ids = " " .. named:gsub("[, ]+", " ") .. " ", line = line,
        from = alone and line + 1 or line,
        to = alone and last_line(text, line + 1) or line }
    end
  end
  return list
end

local function known_ids()
  local known, names = {}, {}
  for i, one in ipairs(lint.all()) do known[one.id], names[i] = true, one.id end
  return known, names
end

-- Names that are none. Behind the first a word may be of the reason.
local function tell_unknown(self, file, excuses)
  local known, names = known_ids()
  for _, one in ipairs(excuses) do
    local first = true
    for word in one.ids:gmatch("%S+") do
      local odd = not known[word] and (first or word:find("-", 1, true))
      local near = odd and require("srt.suggest").nearest(word, names)
      if near or odd and first then self:unknown(file, one.line, word, near) end
      first = false
    end
  end
end

local function excused(self, origin, id)
  local line, file = origin.line, origin.file
  if not line or not self.read then return false end
  if not self.excuses[file] then
    self.excuses[file] = excuses_of(self.read(file) or "")
    tell_unknown(self, file, self.excuses[file])
  end
  for _, one in ipairs(self.excuses[file]) do
    if line >= one.from and line <= one.to and one.ids:find(" " .. id .. " ", 1, true) then return true end
  end
  return false
end

local function put(self, severity, origin, text, item)
  local id = self.lint
  if self.full and id and excused(self, origin, id) then return end
  text = id and ("%s [%s]"):format(text, id) or text
  if self.details[text] then return end
  local list = severity == "warning" and self.warnings or self.notes
  list[#list + 1] = text
  item.severity, item.lint, item.file, item.line = severity, id, origin.file, origin.line or nil
  self.details[text] = item
end

local function add(self, severity, origin, message, key)
  local where = origin.line and ("%s:%d: "):format(origin.file, origin.line) or ""
  key = key or origin.key
  put(self, severity, origin, ("%s%s: %s"):format(where, key, message), { key = key, message = message })
end

function Linter:warn(origin, message, key) add(self, "warning", origin, message, key) end

function Linter:note(origin, message, key)
  if self.full then add(self, "note", origin, message, key) end
end

---A finding of the lint that is running, as severe as its row says. What a ready-made policy gives was its author's
---decision, so it is a note.
function Linter:find(origin, message)
  local low = origin.preset and not self.place
  add(self, low and "note" or self.severity, origin, message)
end

---A note without a place in the policy.
function Linter:remark(message) put(self, "note", {}, message, { message = message }) end

function Linter:unknown(file, line, word, near)
  local running = self.lint
  self.lint = "unknown-lint"
  local message = ("there is no lint %q%s"):format(word, near and ("; did you mean %q?"):format(near) or "")
  put(self, "note", { file = file, line = line }, ("%s:%d: %s"):format(file, line, message), { message = message })
  self.lint = running
end

---What the files that are there make of an entry. These are found last, with the decisions on paths.
---@param severity "warning"|"note"
---@param origin table
---@param text string with its place
function Linter:here(severity, origin, text)
  self.lint = "as-found-here"
  put(self, severity, origin, text, { key = origin.key, message = text })
end

-- Keys that are accepted and do nothing here.
local function without_effect(self, policy)
  self.lint = "without-effect"
  for key, v in pairs(policy.values) do
    if v.node.warn and v.value == true then
      self:warn(v.origin, v.node.warn, key)
    elseif v.node.note and v.value == true then
      self:note(v.origin, v.node.note, key)
    end
  end
  for _, item in ipairs(policy.named) do
    self:note(item.origin, item.message, item.key)
  end
end

---Lints a resolved profile. Notes are complete only when ctx.lint is set; warnings of what has no effect always are.
---@param profile table gets `details`: for the text of each warning and note {severity, lint, file, line, key,
--- message}; and `linter`, for what is found later
---@param policy table
---@param ctx table
---@param more table[] warnings found before: {origin=, message=, lint=}
---@param notes table[] and notes
---@return string[] warnings
---@return string[] notes
function lint.run(profile, policy, ctx, more, notes)
  local self = setmetatable({ warnings = {}, notes = {}, details = {}, excuses = {}, full = ctx.lint,
    read = policy.read }, Linter)
  for _, list in ipairs({ policy.warnings, more }) do
    for _, item in ipairs(list) do
      self.lint = list == policy.warnings and "without-effect" or item.lint
      self:warn(item.origin, item.message, item.key)
    end
  end
  for _, item in ipairs(notes) do
    self.lint = item.lint
    self:note(item.origin, item.message)
  end
  without_effect(self, policy)
  for _, row in ipairs(lint.all(not self.full)) do
    self.lint, self.severity, self.place = row.id, row.severity, row.place
    if row.run then row.run(self, profile, policy, ctx) end
  end
  table.sort(self.warnings)
  table.sort(self.notes)
  profile.details, profile.linter = self.details, self
  return self.warnings, self.notes
end

---Lints a profile that srt.profile has left unlinted, if it has: sets its warnings and notes.
---@param profile table
function lint.finish(profile)
  local unlinted = profile.unlinted
  if not unlinted then return end
  profile.unlinted = nil
  profile.warnings, profile.notes = lint.run(profile, table.unpack(unlinted))
end

return lint
