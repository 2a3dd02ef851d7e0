-- SPDX-License-Identifier: Apache-2.0
-- Adds an entry to network.allowedDomains in the text of a policy, and leaves all else of it as it is.
--
-- It has to stand there as plain tables: return { … network = { … allowedDomains = { … } … } }. Where it does not,
-- nothing is changed and the reason is told.
local quote = require("srt.learn_text").quote
local tokens = require "srt.tokens"

local policy_edit = {}

local OPENS = { ["{"] = true, ["("] = true, ["["] = true }

-- The index of the brace that opens the table which the file returns: of the last return that is in no function.
local function returned(list)
  local at, i = nil, 1
  while list[i] do
    local word = list[i].kind == "name" and list[i].text
    if word == "function" then
      i = tokens.end_of_function(list, i) or #list
    elseif word == "return" then
      at = i
    end
    i = i + 1
  end
  local open = at and list[at + 1]
  if not open or open.text ~= "{" then return nil, "it does not end in return { … }" end
  local close = tokens.closing(list, at + 1)
  if not close or list[close + 1] and (list[close + 1].text ~= ";" or list[close + 2]) then
    return nil, "something is done with the table that it returns"
  end
  return at + 1
end

---The field of a table: the index of what is behind its "=", of its "{" where that is a table.
---@return integer|nil value
---@return string|nil reason it is there, and no plain table
local function field(list, open, name)
  local close, found = tokens.closing(list, open), nil
  local i = open + 1
  while i < close do
    local token = list[i]
    local named = token.text == name or token.text == "[" and list[i + 1].value == name and list[i + 2].text == "]"
    local to = token.text == "[" and i + 3 or i + 1
    if named and list[to] and list[to].text == "=" then
      if found then return nil, name .. " is there twice" end
      found = to + 1
    end
    if token.kind == "name" and token.text == "function" then
      i = tokens.end_of_function(list, i) or close
    elseif OPENS[token.text] and not (named and token.text == "[") then
      i = tokens.closing(list, i) or close
    end
    i = i + 1
  end
  if not found then return nil end
  if list[found].text ~= "{" then return nil, name .. " is no plain table there" end
  local after = list[tokens.closing(list, found) + 1]
  if after.text ~= "," and after.text ~= ";" and after.text ~= "}" then
    return nil, name .. " is no plain table there"
  end
  return found
end

local function indent_of(text, pos)
  local from = pos
  while from > 1 and text:sub(from - 1, from - 1) ~= "\n" do from = from - 1 end
  return text:match("^[ \t]*", from)
end

-- Puts pieces at positions of the text, {pos, what}: before that byte. The last comes first.
local function put(text, pieces)
  for i = #pieces, 1, -1 do
    local pos, what = pieces[i][1], pieces[i][2]
    text = text:sub(1, pos - 1) .. what .. text:sub(pos)
  end
  return text
end

---Adds an item to the table that opens at an index.
local function add(text, list, open, item, comment)
  local close = tokens.closing(list, open)
  local last, brace = list[close - 1], list[close]
  local separated = last.text == "," or last.text == ";" or close == open + 1
  local begun = text:sub(1, brace.from - 1):match("\n[ \t]*$")
  if not begun then
    -- One line, or no line of its own for the brace.
    local space = text:sub(brace.from - 1, brace.from - 1):find("%s") and "" or " "
    return put(text, { { last.to + 1, separated and "" or "," }, { brace.from, space .. item .. " " } })
  end
  local first = list[open + 1]
  local indent = close > open + 1 and first.line > list[open].line and indent_of(text, first.from)
    or indent_of(text, brace.from) .. "  "
  local line = indent .. item .. "," .. (comment and " -- " .. comment or "") .. "\n"
  return put(text, { { last.to + 1, separated and "" or "," }, { brace.from - #begun + 1, line } })
end

---@param text string of the policy
---@param entry string of allowedDomains
---@param comment string|nil behind it, where it gets a line of its own
---@return string|nil text
---@return string|integer line of the entry in it, or why it can't be
function policy_edit.allow(text, entry, comment)
  local list = tokens.of(text)
  local top, reason = returned(list)
  if not top then return nil, reason end
  local network, allowed
  network, reason = field(list, top, "network")
  if reason then return nil, reason end
  local item, at = quote(entry), top
  if network then
    allowed, reason = field(list, network, "allowedDomains")
    if reason then return nil, reason end
    at = allowed or network
  end
  if not allowed then item = ("allowedDomains = { %s }"):format(item) end
  if not network then item = ("network = { %s }"):format(item) end
  local new = add(text, list, at, item, comment)
  -- It is the last of what it is in.
  local line
  for _, token in ipairs(tokens.of(new)) do
    if token.text == quote(entry) then line = token.line end
  end
  return new, line
end

return policy_edit
