-- SPDX-License-Identifier: Apache-2.0
-- Texts of a policy in which secrets stand: what the box says of how one is made, and its value where it may be known.
local secret_text = {}

local MOST_PARTS, MOST_BYTES = 1000, 1 << 20

---Is it such a text?
---@param v any as it came from the box
---@return boolean
function secret_text.is(v)
  return type(v) == "table" and type(v["$secret"]) == "string"
end

local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local WAYS = {
  concat = function(parts) return parts[1] .. parts[2] end,
  base64 = function(parts) return require("srt.base64").encode(parts[1]) end,
  sha256 = function(parts) return hex(require("srt.c.secret").sha256(parts[1])) end,
  hmac = function(parts) return hex(require("srt.c.secret").hmac(parts[1], parts[2])) end,
}

local function expand(node, lookup, budget)
  if not secret_text.is(node) then return tostring(node) end
  budget.parts = budget.parts - 1
  if budget.parts < 0 then error({ problem = "a text is made of too many secrets" }, 0) end
  if node["$secret"] == "name" then
    local value, problem = lookup(node[1])
    if not value then error({ problem = problem }, 0) end
    return value
  end
  if budget.plain and node["$secret"] ~= "concat" then
    error({ problem = "a secret can stand there as it is only" }, 0)
  end
  local parts = {}
  for i, part in ipairs(node) do parts[i] = expand(part, lookup, budget) end
  local text = WAYS[node["$secret"]](parts)
  budget.bytes = budget.bytes - #text
  if budget.bytes < 0 then error({ problem = "a text with a secret is too long" }, 0) end
  return text
end

---The text, with values in it.
---@param v any a string, or what stands for one
---@param lookup fun(name: string): string?, string? the value of a secret, or nil and why not
---@param plain boolean? nothing is made of a value but a longer text
---@return string? text
---@return string? problem in which no value stands
function secret_text.expand(v, lookup, plain)
  if not secret_text.is(v) then return v end
  local ok, text = pcall(expand, v, lookup, { parts = MOST_PARTS, bytes = MOST_BYTES, plain = plain })
  if ok then return text end
  return nil, type(text) == "table" and text.problem or "a text with a secret can't be made"
end

return secret_text
