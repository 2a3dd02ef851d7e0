-- SPDX-License-Identifier: Apache-2.0
-- Writes JSON settings as a Lua policy that is equal to them.
local null = require "srt.null"
local quote, plain = require("srt.learn_text").quote, require("srt.learn_text").plain
local schema = require "srt.schema"

local settings_text = {}

local WIDTH = 100

-- What is read first stands first; the rest by name.
local FIRST = { "filesystem", "network", "credentials", "denyRead", "allowRead", "allowWrite", "denyWrite",
  "allowedDomains", "deniedDomains", "deniedDomainReasons", "name", "path", "mode" }
local RANK = {}
for i, name in ipairs(FIRST) do RANK[name] = i end

local WORDS = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return then true "
  .. "until while"):gmatch("%a+") do WORDS[word] = true end

local function key_text(key)
  return key:find("^[%a_][%w_]*$") and not WORDS[key] and key or "[" .. quote(key) .. "]"
end

local function sorted(value)
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    local first, second = RANK[a] or #FIRST + 1, RANK[b] or #FIRST + 1
    if first ~= second then return first < second end
    return a < b
  end)
  return keys
end

local function number_text(value)
  local whole = math.tointeger(value)
  return whole and ("%d"):format(whole) or ("%.17g"):format(value)
end

local text_of

-- What is known of a member of a value; false where it may not be there.
local function member(node, key)
  if not node then return nil end
  if node.fields then return node.fields[key] or false end
  return node.value or node.item
end

-- In one line where there is room for it.
local function joined(parts, indent, broken)
  local line = "{ " .. table.concat(parts, ", ") .. " }"
  if #parts == 0 then return "{}" end
  if not broken and #indent + #line <= WIDTH and not line:find("\n", 1, true) then return line end
  local lines = {}
  for i, part in ipairs(parts) do
    lines[i] = indent .. "  " .. part .. (part:find("^%-%- ") and "" or ",")
  end
  return "{\n" .. table.concat(lines, "\n") .. "\n" .. indent .. "}"
end

local function map_text(value, node, kinds, indent)
  local parts, broken = {}, node ~= nil and node.type == "table"
  for _, key in ipairs(sorted(value)) do
    local child = member(node, key)
    if child == false then
      parts[#parts + 1], broken = "-- srt-lua knows no key " .. plain(key) .. "; it had no effect", true
    elseif value[key] ~= null then
      if child and child.why and not node.why then
        parts[#parts + 1], broken = "-- No effect here: " .. child.why .. ".", true
      end
      parts[#parts + 1] = key_text(key) .. " = " .. text_of(value[key], child, kinds, indent .. "  ")
    end
  end
  return joined(parts, indent, broken)
end

function text_of(value, node, kinds, indent)
  if type(value) == "string" then return quote(value) end
  if type(value) == "number" then return number_text(value) end
  if type(value) ~= "table" then return tostring(value) end
  if value == null then return "false" end
  if kinds[value] ~= "list" then return map_text(value, node, kinds, indent) end
  local parts = {}
  for i, item in ipairs(value) do parts[i] = text_of(item, node and node.item, kinds, indent .. "  ") end
  return joined(parts, indent)
end

---The policy's source.
---@param value table settings that are valid
---@param places table of srt.json.decode
---@param name string where they come from
---@return string
function settings_text.write(value, places, name)
  return ("-- Made by srt-lua convert from %s.\nreturn %s\n"):format(plain(name),
    text_of(value, schema.root, places.kinds, ""))
end

return settings_text
