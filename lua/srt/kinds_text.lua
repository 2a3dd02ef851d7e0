-- SPDX-License-Identifier: Apache-2.0
-- Words for what a key of a policy takes, and for what stands there.

local null = require("srt.null")

local text = {}

local EXPECTED = {
  string = "a string", boolean = "true or false", integer = "a whole number", ["function"] = "a function",
  path = "a path: a string or {path=…, literal=true}", protected = "a name as a string",
  domain = "a host as a string",
  published = "a port, or a string like \"8080:3000\"",
  range = "an IP address or range as a string", header = "the name of a header",
  name = "the name of an environment variable",
  table = "a table", record = "a table", map = "a table of names and values", any = "anything",
}
local PLURAL = { path = "paths", protected = "names", domain = "hosts", published = "ports", range = "addresses",
  header = "header names",
  string = "strings", integer = "numbers", name = "names", record = "tables", any = "names or tables" }

---What a key takes, in words.
---@param node table
---@return string
function text.expected(node)
  if node.type == "list" then
    return "a list of " .. PLURAL[node.item.type]
  elseif node.type == "enum" then
    return "one of \"" .. table.concat(node.values, "\", \"") .. "\""
  elseif node.type == "integer" and node.min then
    return ("a whole number from %d to %d"):format(node.min, node.max)
  end
  return EXPECTED[node.type]
end

---Words for a value that stands where it should not.
---@param v any
---@param isfn fun(v: any): boolean
---@return string
function text.describe(v, isfn)
  local kind = type(v)
  if kind == "string" then
    return ("the string %q"):format(#v > 60 and v:sub(1, 60) .. "…" or v)
  elseif kind == "number" then
    return v ~= v and "NaN, which is no number" or "the number " .. tostring(v)
  elseif v == null then
    return "null"
  elseif kind == "table" then
    return (next(v) == nil and "an empty table") or (v[1] ~= nil and "a list") or "a table"
  elseif kind == "userdata" or kind == "function" then
    return isfn(v) and "a function" or "an opaque value"
  end
  return tostring(v)
end

return text
