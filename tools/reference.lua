#!/usr/bin/env lua5.4
-- SPDX-License-Identifier: Apache-2.0
-- tools/reference.lua: writes docs/policy-reference.md and man/srt-lua-policy.5.
--
-- Types, defaults, bounds and what each key does come from lua/srt/schema.lua, functions and fields of what callbacks
-- get from lua/meta, and the order and all else that is to be said from docs/src/policy.md, in which a line
--   @key KEY          is that key of the schema; what follows it is said of it
--   @keys SECTION     are all keys of a section
--   @backends WORD=NAME,NAME…   what backends do with the key above: refused, nothing
--   @functions, @class NAME, @methods NAME   are the functions of srt, the fields of a class, its functions
-- A key that is missing there, or is there twice, is an error. spec/lua/reference_spec.lua compares what is committed.
package.path = "./lua/?.lua;./?.lua;" .. package.path
-- The schema's kinds load what asks the system; nothing of it is called here.
package.preload["srt.c.sys"] = package.preload["srt.c.sys"] or function() return {} end
local kinds = require("srt.kinds_text")
local schema = require("srt.schema")

local reference = { SOURCE = "docs/src/policy.md", MARKDOWN = "docs/policy-reference.md",
  PAGE = "man/srt-lua-policy.5" }

---@param name string
---@return string
function reference.read(name)
  local file <close> = assert(io.open(name))
  return file:read("a")
end

local nodes = {}
schema.each(function(key, node, status) nodes[key] = { node = node, status = status } end)

local UNLESS = { boolean = "false", list = nil }

-- What a key takes and what holds where it is left out, in words.
local function takes(key, node)
  local text = node.type == "map" and node.value.type == "record" and "a table of names and tables"
    or node.type == "map" and ("a table of names and %s"):format(node.value.type == "list" and "lists of strings"
      or "strings")
    or kinds.expected(node):gsub('"[%w]+"', "`%0`")
  local default = node.default
  if default == nil then default = key ~= "network.transparent" and UNLESS[node.type] or nil end
  if type(node.default) == "string" then default = ('"%s"'):format(default) end
  return text .. (default ~= nil and ("; `%s` unless given"):format(default) or "")
end

local STATUS = {
  later = "Refused for now: a policy that asks for it does not run.",
  fixed = "It can't be changed.",
}

local function status_of(entry)
  local why = entry.node.why
  if STATUS[entry.status] then return STATUS[entry.status] end
  return why and ("Accepted; it has no effect on Linux: %s."):format(why) or nil
end

-- The fields of a record, which the schema knows as well.
local function record_fields(say, node)
  local item = node.item or node.value
  if not item or item.type ~= "record" then return end
  local names = {}
  for name in pairs(item.fields) do names[#names + 1] = name end
  table.sort(names)
  say("")
  for _, name in ipairs(names) do
    local field = item.fields[name]
    local what = kinds.expected(field):gsub('"%w+"', "`%0`")
    say(("- `%s`: %s%s"):format(name, what, field.doc and ". " .. field.doc or ""))
  end
end

local BACKENDS = { refused = "Refused by %s.", nothing = "Has no effect with %s." }

-- "refused=a,b nothing=c" as sentences.
local function backends_text(text)
  local out = {}
  for word, names in text:gmatch("(%w+)=(%S+)") do
    out[#out + 1] = assert(BACKENDS[word], word):format((names:gsub("[^,]+", "`%0`"):gsub(",", ", ")))
  end
  return table.concat(out, " ")
end

local Writer = {}
Writer.__index = Writer

function Writer:say(line) self.lines[#self.lines + 1] = line end

function Writer:key(key)
  local entry = assert(nodes[key], "no such key in the schema: " .. key)
  assert(not self.seen[key], "twice: " .. key)
  self.seen[key] = true
  self:say(("### `%s`"):format(key))
  self:say(("*%s*"):format(takes(key, entry.node)))
  self:say("")
  local text = entry.node.doc
  local more = status_of(entry)
  self:say(more and text .. " " .. more or text)
  record_fields(function(line) self:say(line) end, entry.node)
  self:say("")
end

function Writer:keys(section)
  schema.each(function(key, node)
    if key:sub(1, #section + 1) == section .. "." and node.type ~= "table" then self:key(key) end
  end)
end

-- One entry a function or value of lua/meta: the comments above it, and its name.
local function definitions()
  local list, comments = {}, {}
  for _, name in ipairs { "lua/meta/srt.d.lua", "lua/meta/tables.d.lua" } do
    for line in (reference.read(name) .. "\n"):gmatch("(.-)\n") do
      local call, value = line:match("^function ([%w_.:]+%(.-%)) end"), line:match("^(srt%.[%w_.]+) = ")
      if line:find("^%-%-%-") then
        comments[#comments + 1] = line:sub(4)
      else
        if call or value then list[#list + 1] = { name = call or value, call = call, comments = comments } end
        comments = {}
      end
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- Splits "string|nil body nil where it is longer": a type has no blank outside of brackets.
local function split(text)
  local depth, i = 0, 1
  while i <= #text do
    local c = text:sub(i, i)
    if c:find("[{(<]") then depth = depth + 1 elseif c:find("[})>]") then depth = depth - 1 end
    if c == " " and depth == 0 and text:sub(i - 1, i - 1) ~= ":" then break end
    i = i + 1
  end
  return text:sub(1, i - 1), text:sub(i + 1)
end

local function definition(self, one)
  local params, returns, words, kind = {}, {}, {}, nil
  for _, comment in ipairs(one.comments) do
    local name, rest = comment:match("^@param (%S+) (.*)")
    if name then
      local what, text = split(rest)
      params[#params + 1] = ("- `%s`: %s%s"):format(name, "`" .. what .. "`", text ~= "" and ", " .. text or "")
    elseif comment:find("^@return ") then
      local what, text = split(comment:sub(9))
      local named, more = text:match("^(%S+) ?(.*)$")
      returns[#returns + 1] = ("`%s`%s%s"):format(what, named and " *" .. named .. "*" or "",
        (more or "") ~= "" and ", " .. more or "")
    elseif comment:find("^@type ") then
      kind = comment:sub(7)
    elseif comment:sub(1, 1) ~= "@" then
      words[#words + 1] = comment
    end
  end
  -- Tables that only hold functions are told by these.
  if not one.call and not kind then return end
  self:say(("### `%s`"):format(one.name))
  if kind then self:say(("*%s*"):format(kind)) self:say("") end
  if words[1] then self:say(table.concat(words, " ")) self:say("") end
  for _, line in ipairs(params) do self:say(line) end
  if params[1] then self:say("") end
  if returns[1] then self:say("Returns " .. table.concat(returns, "; ") .. ".") self:say("") end
end

function Writer:functions()
  for _, one in ipairs(definitions()) do
    if one.name:find("^srt%.") then definition(self, one) end
  end
end

function Writer:methods(of)
  for _, one in ipairs(definitions()) do
    if one.name:find(of .. ":", 1, true) == 1 then definition(self, one) end
  end
end

function Writer:class(name)
  local words
  local all = reference.read("lua/meta/srt.d.lua") .. "\n" .. reference.read("lua/meta/tables.d.lua") .. "\n"
  for line in all:gmatch("(.-)\n") do
    local text, field, rest = line:match("^%-%-%-([^@].*)$"), line:match("^%-%-%-@field (%S+) (.*)$")
    if line == "---@class " .. name then
      self:say(("### %s"):format(name:gsub("^srt%.", "")))
      if words then
        self:say(table.concat(words, " "))
        self:say("")
      end
      words = "inside"
    elseif words == "inside" and field then
      local what, of = split(rest)
      self:say(("- `%s`: `%s`%s"):format(field, what, of ~= "" and ", " .. of or ""))
    elseif words == "inside" then
      self:say("")
      return
    else
      words = text and table.move({ text }, 1, 1, #(words or {}) + 1, words or {}) or nil
    end
  end
  error("no such class in lua/meta: " .. name)
end

---The reference as Markdown.
---@return string
function reference.markdown()
  local self = setmetatable({ lines = {}, seen = {} }, Writer)
  for line in reference.read(reference.SOURCE):gmatch("(.-)\n") do
    local what, rest = line:match("^@(%w+) ?(.*)$")
    if not what then
      self:say(line)
    elseif what == "backends" then
      self:say(backends_text(rest))
      self:say("")
    else
      self[what](self, rest)
    end
  end
  for key, entry in pairs(nodes) do
    assert(self.seen[key] or entry.node.type == "table", reference.SOURCE .. " has nothing of " .. key)
  end
  return "<!-- Made by tools/reference.lua of docs/src/policy.md, lua/srt/schema.lua and lua/meta. Change these. -->\n"
    .. table.concat(self.lines, "\n"):gsub("\n\n\n+", "\n\n"):gsub("\n*$", "") .. "\n"
end

---The reference as a manual page.
---@return string
function reference.page()
  return require("tools.roff").page(reference.markdown(), { name = "srt-lua-policy", section = 5,
    about = "the policies of srt-lua: keys, callbacks and the table srt", title = "File Formats",
    see = { "srt-lua(1)" } })
end

if arg and arg[0] and arg[0]:find("reference%.lua$") then
  for name, text in pairs { [reference.MARKDOWN] = reference.markdown(), [reference.PAGE] = reference.page() } do
    local file <close> = assert(io.open(name, "w"))
    assert(file:write(text))
  end
end

return reference
