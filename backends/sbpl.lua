-- SPDX-License-Identifier: Apache-2.0
-- The words of SBPL, the Scheme of macOS's sandbox-exec: strings, regular expressions, rules.
--
-- The expressions keep to what every engine takes alike: groups, "|", "*", "?", "+", sets of bytes without specials,
-- and a backslash in front of punctuation. No ".", which may or may not take a newline.
local sbpl = {}

local NAMED = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r", ['"'] = '\\"', ["\\"] = "\\\\" }

--- A string. Bytes from 0x80 on stand as they are: names are UTF-8 there.
---@param text string
---@return string
function sbpl.string(text)
  return '"' .. text:gsub('[%c"\\]', function(c) return NAMED[c] or ("\\x%02x"):format(c:byte()) end) .. '"'
end

--- Text as a regular expression that matches just it.
---@param text string
---@return string
function sbpl.plain(text)
  return (text:gsub("[%^%$%.%[%]%(%){}|*+?\\]", "\\%0"))
end

-- What a volume that ignores case takes for these letters besides the other case: U+212A and U+017F.
local ALSO = { k = "\xe2\x84\xaa", s = "\xc5\xbf" }

--- The same, whatever the case of letters.
---@param text string
---@return string
function sbpl.folded(text)
  return (sbpl.plain(text):gsub("%a", function(c)
    local also = ALSO[c:lower()]
    local set = "[" .. c:lower() .. c:upper() .. "]"
    return also and "(" .. set .. "|" .. also .. ")" or set
  end))
end

local STAR, ANY = "[^/]*", "([^/]|/)*"
local DIRS = "(" .. ANY .. "/)?"
-- One UTF-16 unit, and a character of two. What is no printable ASCII is told by that alone, so that the text needs no
-- bytes that are no UTF-8.
local HIGH = "[^ -~]"
local ONE, TWO = ("([ -.0-~]|%s%s?%s?)"):gsub("%%s", HIGH), HIGH:rep(4)
local WIDE = HIGH .. (HIGH .. "?"):rep(3)
local NOTHING = "($[^/])" -- something behind the end
local MOST_ONES = 6

-- A row of "?". Longer ones are cut: between the pieces no character of two units is looked for.
local function ones(count)
  if count == 0 then return "" end
  if count == 1 then return ONE end
  if count > MOST_ONES then return ones(MOST_ONES) .. ones(count - MOST_ONES) end
  return "(" .. ONE .. ones(count - 1) .. "|" .. TWO .. ones(count - 2) .. ")"
end

-- The character at a place: its code, or nil where it is no UTF-8, and the place behind it.
local function char_at(text, at)
  local to = utf8.len(text, at, at) and utf8.offset(text, 2, at)
  if to then return utf8.codepoint(text, at), to end
  return nil, at + 1
end

-- The members of a set as {low, high, text = where it is one}; nil where that is no set.
local function members(set)
  local list, at = {}, 1
  while at <= #set do
    local low, next_at = char_at(set, at)
    local high, text = low, set:sub(at, next_at - 1)
    if set:sub(next_at, next_at) == "-" and next_at < #set then
      local from = next_at + 1
      high, next_at = char_at(set, from)
      if (high or math.huge) < (low or math.huge) then return nil end
      text = set:sub(from, next_at - 1) == text and text or nil
    end
    list[#list + 1] = { low = low, high = high, text = text }
    at = next_at
  end
  return list
end

-- A set as alternatives. Of a range beyond ASCII all of that is taken where it denies, none where it allows.
local function set_of(set, spell, denies)
  local out, list = {}, members(set)
  if not list or set == "" then return nil end
  for _, member in ipairs(list) do
    if member.text then
      out[#out + 1] = spell(member.text)
    else
      for code = member.low or 128, math.min(member.high or 127, 127) do
        if code > 0 then out[#out + 1] = spell(string.char(code)) end
      end
      if denies and (member.high or 128) > 127 then out[#out + 1] = WIDE end
    end
  end
  return out[1] and "(" .. table.concat(out, "|") .. ")" or NOTHING
end

-- A run of stars that begins at a place, and the place behind it: as core/glob_token.c reads it.
local function stars(pattern, at)
  local to = pattern:match("^%*+()", at)
  local run, slash = to - at, pattern:sub(to, to) == "/"
  if run == 1 then return STAR, to end
  if not slash then return ANY, to end
  return (run == 2 and "" or run == 3 and STAR or ANY) .. DIRS, to + 1
end

--- A glob pattern as a regular expression; spec/lua/seatbelt_spec.lua holds it against core/glob.c.
---@param pattern string
---@param denies boolean it denies: the case of letters makes no difference
---@return string
function sbpl.glob(pattern, denies)
  local out, at = {}, 1
  local spell = denies and sbpl.folded or sbpl.plain
  while at <= #pattern do
    local c = pattern:sub(at, at)
    local text
    if c == "*" then
      text, at = stars(pattern, at)
    elseif c == "?" then
      local to = pattern:match("^%?+()", at)
      text, at = ones(to - at), to
    else
      local set, to = pattern:match("^%[([^%]]*)%]()", at)
      text = set and set_of(set, spell, denies)
      if text then
        at = to
      else
        to = pattern:match("^[^*?[]+()", at) or at + 1
        text, at = spell(pattern:sub(at, to - 1)), to
      end
    end
    out[#out + 1] = text
  end
  return table.concat(out)
end

--- A filter: its name and one string.
---@param name string
---@param text string
---@return string
function sbpl.filter(name, text)
  return "(" .. name .. " " .. sbpl.string(text) .. ")"
end

--- Filters of one name, any of which is enough.
---@param name string
---@param list string[]
---@return string
function sbpl.filters(name, list)
  local out = {}
  for i, text in ipairs(list) do out[i] = sbpl.filter(name, text) end
  return table.concat(out, " ")
end

---@param operations string
---@param ... string filters, any of which is enough
---@return string
function sbpl.allow(operations, ...)
  return "(allow " .. table.concat({ operations, ... }, " ") .. ")"
end

---@param tag string that the system's log shows
---@param operations string
---@param ... string filters
---@return string
function sbpl.deny(tag, operations, ...)
  return "(deny " .. table.concat({ operations, ... }, " ") .. " (with message " .. sbpl.string(tag) .. "))"
end

return sbpl
