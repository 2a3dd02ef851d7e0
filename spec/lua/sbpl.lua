-- SPDX-License-Identifier: Apache-2.0
-- Reads a profile of macOS's sandbox-exec and answers what it allows, from the text alone: nothing of the compiler's.
--
-- Two orders of rules are told: the last one in the text that matches, and the last one of the narrowest operation that
-- has a match. Which of them a macOS takes is not documented, so a profile has to mean the same by both.

local regex = require("spec.lua.sbpl_regex")

local sbpl = {}

local ESCAPES = { n = "\n", t = "\t", r = "\r", ['"'] = '"', ["\\"] = "\\" }

local function unescape(text)
  local out, at = {}, 1
  while at <= #text do
    local c = text:sub(at, at)
    if c ~= "\\" then
      out[#out + 1], at = c, at + 1
    else
      local kind = text:sub(at + 1, at + 1)
      local hex = kind == "x" and text:match("^%x%x", at + 2)
      out[#out + 1] = hex and string.char(tonumber(hex, 16)) or assert(ESCAPES[kind], "an unknown escape: \\" .. kind)
      at = at + (hex and 4 or 2)
    end
  end
  return table.concat(out)
end

-- Where a string that begins at a quote ends.
local function string_end(text, at)
  local i = at + 1
  while true do
    local c = text:sub(i, i)
    assert(c ~= "", "an open string")
    if c == '"' then return i end
    i = i + (c == "\\" and 2 or 1)
  end
end

-- A text as nested lists of atoms (strings) and literals ({string = text}).
local function parse(text)
  local stack, at = { {} }, 1
  while at <= #text do
    local c, top = text:sub(at, at), stack[#stack]
    if c:find("%s") then
      at = at + 1
    elseif c == ";" then
      at = (text:find("\n", at, true) or #text) + 1
    elseif c == "(" then
      stack[#stack + 1], at = {}, at + 1
    elseif c == ")" then
      assert(#stack > 1, "a bracket too many")
      stack[#stack], at = nil, at + 1
      table.insert(stack[#stack], top)
    elseif c == '"' then
      local to = string_end(text, at)
      top[#top + 1], at = { string = unescape(text:sub(at + 1, to - 1)) }, to + 1
    else
      local atom = assert(text:match("^[%w*_.:-]+", at), "an odd character: " .. c)
      top[#top + 1], at = atom, at + #atom
    end
  end
  assert(#stack == 1, "an open bracket")
  return stack[1]
end

local filter_of

local function each(list, from)
  local out = {}
  for i = from, #list do out[#out + 1] = filter_of(list[i]) end
  return out
end

local function any_of(list)
  return function(subject)
    for _, one in ipairs(list) do
      if one(subject) then return true end
    end
    return false
  end
end

local function text_of(node)
  assert(type(node) == "table" and node.string, "a string was expected")
  return node.string
end

local function by_text(field, test)
  return function(list)
    assert(#list == 2)
    local wanted = text_of(list[2])
    return function(subject) return subject[field] ~= nil and test(subject[field], wanted) end
  end
end

local function equal(a, b) return a == b end
local function begins(a, b) return a:sub(1, #b) == b end
local function beneath(path, top) return path == top or begins(path, top == "/" and top or top .. "/") end

local function by_regex(list)
  assert(#list == 2)
  local find = regex.compile(text_of(list[2]))
  return function(subject) return subject.path ~= nil and find(subject.path) end
end

-- {host=, port=, proto=} against "localhost:3128", "localhost:*", "*:*".
local function address(side)
  return function(list)
    if list[2] == "unix-socket" then
      local inner = list[3] and filter_of(list[3])
      return function(subject)
        return subject.unix == side and (not inner or inner(subject))
      end
    end
    assert(list[2] == "ip" or list[2] == "tcp" or list[2] == "udp")
    local host, port = text_of(list[3]):match("^([%w*]+):([%d*]+)$")
    assert(host == "localhost" or host == "*", "a host that is neither * nor localhost")
    return function(subject)
      local point = subject[side]
      if not point or (list[2] ~= "ip" and point.proto ~= list[2]) then return false end
      local near = point.host:find("^127%.") or point.host == "::1"
      return (host == "*" or near ~= nil and near ~= false) and (port == "*" or tonumber(port) == point.port)
    end
  end
end

local function token(field)
  return function(list)
    local wanted = assert(list[2])
    return function(subject) return subject[field] == wanted end
  end
end

local FILTERS = {
  literal = by_text("path", equal), subpath = by_text("path", beneath), regex = by_regex,
  ["path-literal"] = by_text("path", equal), ["path-regex"] = by_regex,
  ["global-name"] = by_text("name", equal), ["global-name-prefix"] = by_text("name", begins),
  ["sysctl-name"] = by_text("name", equal), ["sysctl-name-prefix"] = by_text("name", begins),
  ["iokit-registry-entry-class"] = by_text("class", equal), ["iokit-user-client-class"] = by_text("class", equal),
  remote = address("remote"), ["local"] = address("local"), target = token("target"),
  ["socket-domain"] = token("domain"), ["socket-protocol"] = token("protocol"),
  ["require-any"] = function(list) return any_of(each(list, 2)) end,
  ["require-not"] = function(list)
    assert(#list == 2)
    local inner = filter_of(list[2])
    return function(subject) return not inner(subject) end
  end,
  ["require-all"] = function(list)
    local all = each(list, 2)
    return function(subject)
      for _, one in ipairs(all) do
        if not one(subject) then return false end
      end
      return true
    end
  end,
}

function filter_of(list)
  return assert(FILTERS[list[1]], "an unknown filter: " .. tostring(list[1]))(list)
end

-- A rule: what it does to which operations, where any of its filters holds.
local function rule_of(list)
  local rule = { allow = list[1] == "allow", operations = {} }
  local filters = {}
  for i = 2, #list do
    local part = list[i]
    if type(part) == "string" then
      table.insert(rule.operations, part)
    elseif part[1] == "with" then
      assert(part[2] == "message")
      rule.message = text_of(part[3])
    else
      filters[#filters + 1] = filter_of(part)
    end
  end
  assert(rule.operations[1], "a rule without an operation")
  rule.holds = filters[1] and any_of(filters) or function() return true end
  return rule
end

-- How narrow an operation of a rule is, for the one that is asked about; nil where it is another one.
local function narrowness(operations, operation)
  local best
  for _, name in ipairs(operations) do
    local front = name:match("^(.*)%*$")
    local this = (name == operation and 1000) or (front and begins(operation, front) and #front)
      or (name == "default" and 0)
    if this and (not best or this > best) then best = this end
  end
  return best
end

local Profile = {}
Profile.__index = Profile

local function first(rules, subject)
  for _, rule in ipairs(rules) do
    if rule.holds(subject) then return rule end
  end
  error("no default")
end

-- The rules of an operation in both orders, those first that win.
function Profile:orders(operation)
  local known = self.known[operation]
  if known then return known end
  known = { late = {}, narrow = {} }
  local at = {}
  for i = #self.rules, 1, -1 do
    local rule = self.rules[i]
    local this = narrowness(rule.operations, operation)
    if this then
      table.insert(known.late, rule)
      table.insert(known.narrow, rule)
      at[rule] = { i = i, narrow = this }
    end
  end
  table.sort(known.narrow, function(a, b)
    a, b = at[a], at[b]
    return a.narrow > b.narrow or a.narrow == b.narrow and a.i > b.i
  end)
  self.known[operation] = known
  return known
end

---Is an operation allowed? It is an error where the two orders of rules say different things.
---@param operation string
---@param subject {path: string?, name: string?, remote: table?, unix: string?} what it is about
---@return boolean
---@return string|nil message of the rule that denies
function Profile:allows(operation, subject)
  local orders = self:orders(operation)
  local last, narrow = first(orders.late, subject), first(orders.narrow, subject)
  if last.allow ~= narrow.allow then
    error(("%s %s: by the text %s, by operations %s"):format(operation, tostring(subject.path), tostring(last.allow),
      tostring(narrow.allow)), 0)
  end
  return last.allow, last.message
end

---@param text string a whole profile
---@return table profile with :allows
function sbpl.read(text)
  local rules = {}
  for i, form in ipairs(parse(text)) do
    if i == 1 then
      assert(form[1] == "version" and form[2] == "1", "no version")
    else
      assert(form[1] == "allow" or form[1] == "deny", "neither allow nor deny")
      rules[#rules + 1] = rule_of(form)
    end
  end
  return setmetatable({ rules = rules, known = {} }, Profile)
end

return sbpl
