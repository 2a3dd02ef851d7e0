-- SPDX-License-Identifier: Apache-2.0
-- Regular expressions over bytes, as an SBPL filter has them: it searches, "^" and "$" are the ends of the text.
-- Groups, "|", "*", "?", "+", sets with ranges, and "\" in front of punctuation; all else is an error, so that nothing
-- is read in two ways.

local sbpl_regex = {}

local Parser = {}
Parser.__index = Parser

function Parser:peek() return self.text:sub(self.at, self.at) end

function Parser:fail(why) error(("regex %q at %d: %s"):format(self.text, self.at, why), 0) end

-- A matcher is fun(text, at, next): boolean, where next is called with each place behind what it matches.
local function byte_of(test)
  return function(text, at, next_)
    local c = text:byte(at)
    return c ~= nil and test(c) and next_(at + 1)
  end
end

function Parser:set()
  local has, negated = {}, false
  self.at = self.at + 1
  if self:peek() == "^" then
    negated, self.at = true, self.at + 1
  end
  while self:peek() ~= "]" do
    local low = self.text:byte(self.at) or self:fail("an open set")
    if low == 0x5c or low == 0x5b then self:fail("a special in a set") end
    local high = low
    if self.text:sub(self.at + 1, self.at + 1) == "-" and self.text:sub(self.at + 2, self.at + 2) ~= "]" then
      high = self.text:byte(self.at + 2) or self:fail("an open range")
      self.at = self.at + 2
    end
    if high < low then self:fail("a backward range") end
    for c = low, high do has[c] = true end
    self.at = self.at + 1
  end
  self.at = self.at + 1
  return byte_of(function(c) return (has[c] or false) ~= negated end)
end

function Parser:atom()
  local c = self:peek()
  if c == "(" then
    self.at = self.at + 1
    local inner = self:choice()
    if self:peek() ~= ")" then self:fail("an open group") end
    self.at = self.at + 1
    return inner
  elseif c == "[" then
    return self:set()
  elseif c == "^" or c == "$" then
    self.at = self.at + 1
    return function(text, at, next_) return at == (c == "^" and 1 or #text + 1) and next_(at) end
  elseif c == "\\" then
    self.at = self.at + 1
    c = self:peek()
    if not c:find("^%p$") then self:fail("an escape that is no punctuation") end
  elseif c:find("^[.{}%]*+?|)]$") or c == "" then
    self:fail("a special")
  end
  self.at = self.at + 1
  local code = c:byte()
  return byte_of(function(other) return other == code end)
end

local function many(inner, least)
  local function more(text, at, next_)
    local function again(to) return to > at and more(text, to, next_) end
    return inner(text, at, again) or next_(at)
  end
  if least == 0 then return more end
  return function(text, at, next_)
    return inner(text, at, function(to) return more(text, to, next_) end)
  end
end

function Parser:piece()
  local inner = self:atom()
  local c = self:peek()
  if not c:find("^[*+?]$") then return inner end
  self.at = self.at + 1
  if self:peek():find("^[*+?]$") then self:fail("two repetitions") end
  if c == "?" then
    return function(text, at, next_) return inner(text, at, next_) or next_(at) end
  end
  return many(inner, c == "+" and 1 or 0)
end

function Parser:sequence()
  local list = {}
  while self.at <= #self.text and not self:peek():find("^[|)]$") do list[#list + 1] = self:piece() end
  return function(text, at, next_)
    local function step(i, from)
      if i > #list then return next_(from) end
      return list[i](text, from, function(to) return step(i + 1, to) end)
    end
    return step(1, at)
  end
end

function Parser:choice()
  local list = { self:sequence() }
  while self:peek() == "|" do
    self.at = self.at + 1
    list[#list + 1] = self:sequence()
  end
  if not list[2] then return list[1] end
  return function(text, at, next_)
    for _, one in ipairs(list) do
      if one(text, at, next_) then return true end
    end
    return false
  end
end

local function done() return true end

local compiled = {} -- the same expressions come again and again, and are asked the same

---@param text string
---@return fun(subject: string): boolean found is it anywhere in it?
function sbpl_regex.compile(text)
  if compiled[text] then return compiled[text] end
  local self = setmetatable({ text = text, at = 1 }, Parser)
  local matcher = self:choice()
  if self.at <= #text then self:fail("a group that was not opened") end
  local anchored = text:sub(1, 1) == "^" and not text:find("|", 1, true)
  local function find(subject)
    for at = 1, anchored and 1 or #subject + 1 do
      if matcher(subject, at, done) then return true end
    end
    return false
  end
  local known = {}
  compiled[text] = function(subject)
    if known[subject] == nil then known[subject] = find(subject) end
    return known[subject]
  end
  return compiled[text]
end

return sbpl_regex
