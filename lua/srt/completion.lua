-- SPDX-License-Identifier: Apache-2.0
-- What can stand in a command line of srt-lua, read from the commands' own --help, so that it is said in one place.

local completion = {}

-- Values of options and words, where they are few and known.
local VALUES = {
  ["--report"] = { "text", "json", "none" },
  ["--fail-on"] = { "error", "warning", "note" },
  ["--protocol"] = require("srt.rehearse").PROTOCOLS,
}

-- What words of a usage line stand for.
local KINDS = { POLICY = "policy", SETTINGS = "file", FILE = "file", PATH = "file", SPEC = "file", DIR = "folder",
  COMMAND = "command", ACTION = "action", SHELL = "shell", HOST = "any", PORT = "any" }

---The few known values of a kind of word.
---@param kind string
---@return string[]|nil
function completion.words(kind)
  if kind == "action" then
    local list = require("srt.judge").actions()
    list[#list + 1] = "request"
    return list
  end
  return kind == "shell" and { "bash", "zsh", "fish" } or nil
end

---@class srt.completion.option
---@field name string
---@field doc string
---@field takes string|nil "file", "folder", "session", "words" or "any", where it takes a value
---@field words string[]|nil

local function backends(command)
  local backend = require "srt.backend"
  local list = table.move(backend.NAMES, 1, #backend.NAMES, 1, {})
  -- Those of other systems are compiled only.
  for _, name in ipairs(command.name == "compile" and require("srt.tables").keys(backend.ELSEWHERE) or {}) do
    list[#list + 1] = name
  end
  return list
end

local function kind_of(command, name, argument)
  if VALUES[name] then return "words", VALUES[name] end
  if name == "--backend" then return "words", backends(command) end
  local word = argument:match("^%[?(%u+)")
  return word == "FILE" and "file" or word == "DIR" and "folder" or word == "SESSION" and "session" or "any"
end

local function add(command, text, doc)
  -- A short name before a long one takes what that takes.
  text = text:gsub("(%-%w), (%-%-%w[%w-]*)( %S[^,]*)", "%1%3, %2%3")
  for part in (text .. ", "):gmatch("(.-), ") do
    local name, argument = part:match("^(%-%-?%w[%w-]*)%s*(.*)$")
    local known = name and command.known[name]
    if name and not known then
      known = { name = name, doc = "" }
      command.known[name] = known
      command.options[#command.options + 1] = known
    end
    if known and known.doc == "" then known.doc = doc end
    if known and argument ~= "" then known.takes, known.words = kind_of(command, name, argument) end
  end
end

local MOST = 70

-- One short line.
local function brief(doc)
  doc = doc:gsub("%s+", " "):gsub("^ ", ""):gsub("%s*%(may be repeated%)", "")
  doc = doc:match("^(.-[^.])%. ") or doc:match("^(.-); ") or doc:match("^(.-): ") or doc
  return #doc > MOST and doc:sub(1, MOST):match("^(.*) ") .. " …" or doc
end

-- The lines of options: two blanks, the option, and what it does, there or in the next line.
local function read_options(command, usage)
  local name, doc
  local function flush()
    if name then add(command, name, brief(doc)) end
    name = nil
  end
  for line in (usage .. "\n"):gmatch("(.-)\n") do
    local option, rest = line:match("^  (%-[^ ].-)  +(.*)$")
    -- A name that is as wide as its column has one blank behind it.
    if not option then option, rest = line:match("^  (%-%-?[%w-]+ %u+) (%l.*)$") end
    option = option or line:match("^  (%-%-?%w.*)$")
    if option then
      flush()
      name, doc = option, rest or ""
    elseif name and line:find("^     ") then
      doc = doc .. " " .. line
    else
      flush()
    end
  end
  flush()
end

-- The words of the first usage line that are no options.
local function read_words(command, usage)
  local first = usage:match("^usage: srt%-lua %S+ ?([^\n]*)") or ""
  local heads = (usage:match("^(.-)\n\n") or usage):gsub("…", "")
  for text in heads:gmatch("%[?(%-%-?%w[%w-]*[^%[%]|]*)") do
    local option = text:match("^(%-%-?%w[%w-]*) *$") or text:match("^(%-%-?%w[%w-]* %u+)")
    if option then add(command, option, "") end
  end
  for word in first:gsub("%[%-[^%]]*%]", ""):gsub("%[%-%-%] ", ""):gmatch("%u+") do
    local kind = KINDS[word]
    if kind then command.words[#command.words + 1] = kind end
    if kind == "command" then break end
  end
  -- Many of the last kind.
  command.many = first:find("%u…") ~= nil
end

---@param name string
---@param doc string
---@param usage string its --help
---@return table command {name, doc, options = srt.completion.option[], words = kinds of words, many = of the last}
function completion.command(name, doc, usage)
  local command = { name = name, doc = doc, options = {}, words = {}, known = {}, many = false }
  read_words(command, usage)
  read_options(command, usage)
  add(command, "--help", "how to use it")
  table.sort(command.options, function(a, b) return a.name < b.name end)
  return command
end

---@param commands {[1]: string, [2]: string}[] names and what they do
---@return table[] of completion.command
function completion.all(commands)
  local list = {}
  for i, row in ipairs(commands) do
    local module = row[1] == "run" and "srt.run_options" or "srt.cli." .. row[1]
    list[i] = completion.command(row[1], row[2], require(module).USAGE)
  end
  return list
end

return completion
