-- SPDX-License-Identifier: Apache-2.0
-- show(v): a value as text, for srt-lua repl. It runs in the policy's box.

local MOST_DEPTH, MOST_ITEMS = 6, 100

-- Names first, in their order; what else there is keeps its own.
local function before(a, b)
  if type(a) == type(b) and (type(a) == "string" or type(a) == "number") then return a < b end
  return type(a) == "number" and type(b) ~= "number"
end

local show

local function key_of(key)
  if type(key) == "string" and key:find("^[%a_][%w_]*$") then return key end
  return "[" .. show(key, MOST_DEPTH) .. "]"
end

local function items_of(v, depth)
  local keys, parts, last = {}, {}, 0
  for key in pairs(v) do
    if #keys > MOST_ITEMS then break end
    keys[#keys + 1] = key
  end
  table.sort(keys, before)
  for i, key in ipairs(keys) do
    if i > MOST_ITEMS then
      parts[i] = "…"
    elseif key == last + 1 then
      last, parts[i] = key, show(v[key], depth + 1)
    else
      parts[i] = key_of(key) .. " = " .. show(v[key], depth + 1)
    end
  end
  return parts
end

local function braces(v, depth)
  if depth >= MOST_DEPTH then return "{…}" end
  local parts = items_of(v, depth)
  local text = table.concat(parts, ", ")
  if #text <= 70 and not text:find("\n") then return #parts == 0 and "{}" or "{ " .. text .. " }" end
  local indent = ("  "):rep(depth + 1)
  return "{\n" .. indent .. table.concat(parts, ",\n" .. indent) .. "\n" .. ("  "):rep(depth) .. "}"
end

function show(v, depth)
  if type(v) == "string" then return (("%q"):format(v):gsub("\\\n", "\\n")) end
  if type(v) == "table" then return braces(v, depth or 0) end
  if type(v) == "userdata" then
    local ok, text = pcall(braces, v, depth or 0)
    if ok then return text end
  end
  return type(v) == "function" and "function" or tostring(v)
end

return function(...)
  local texts = {}
  for i = 1, select("#", ...) do texts[i] = show((select(i, ...))) end
  return table.concat(texts, "  ")
end
