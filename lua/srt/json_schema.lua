-- SPDX-License-Identifier: Apache-2.0
-- The JSON Schema of settings files, made of srt.schema: for editors, and whoever writes such files by program. It is
-- as strict as srt-lua check where a schema can say it, and refuses nothing that check takes.
local json = require "srt.json"
local schema = require "srt.schema"

local json_schema = {}

local PORT = ":[1-9][0-9]{0,4}"
-- No scheme, path, user, blank or second star; what of it is a name is check's to say.
local HOST = "(\\*\\.)?[^*\\s/@,]+"
local DOMAIN = { allow = "^" .. HOST .. "$", deny = ("^(%s|\\*(%s)?)$"):format(HOST, PORT) }

local make

local function object(fields, more)
  local out = { type = "object", properties = json.object({}), additionalProperties = false }
  for name, node in pairs(fields) do out.properties[name] = make(node) end
  for key, value in pairs(more or {}) do out[key] = value end
  return out
end

local KINDS
KINDS = {
  string = function() return { type = "string" } end,
  boolean = function() return { type = "boolean" } end,
  integer = function(node) return { type = "integer", minimum = node.min, maximum = node.max } end,
  enum = function(node) return { enum = node.values } end,
  any = function() return json.object({}) end,
  name = function() return { type = "string", pattern = "^[A-Za-z_][A-Za-z0-9_]*$" } end,
  header = function() return { type = "string", pattern = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" } end,
  domain = function(node) return { type = "string", pattern = DOMAIN[node.list] } end,
  range = function() return { type = "string", pattern = "^[0-9A-Fa-f.:/]+$" } end,
  protected = function() return { type = "string", minLength = 1 } end,
  path = function()
    return { anyOf = { { type = "string", minLength = 1 }, { type = "object", additionalProperties = false,
      properties = { path = { type = "string", minLength = 1 }, literal = { const = true } },
      required = { "path", "literal" } } } }
  end,
  published = function()
    return { anyOf = { { type = "integer", minimum = 1, maximum = 65535 }, { type = "string", minLength = 1 } } }
  end,
  list = function(node) return { type = "array", items = make(node.item) } end,
  map = function(node)
    return { type = "object", additionalProperties = make(node.value),
      propertyNames = node.name and KINDS.name() or nil }
  end,
  record = function(node) return object(node.fields) end,
  table = function(node) return object(node.fields) end,
}

function make(node)
  -- Functions are for Lua.
  if node.type == "function" then return nil end
  local out = KINDS[node.type](node)
  if node.status == "later" and node.type == "boolean" then out = { const = false } end
  if node.status == "fixed" then out = { const = node.default } end
  out.default = node.default
  out.description = node.doc and (node.why and ("%s No effect here: %s."):format(node.doc, node.why) or node.doc)
  return out
end

---@return table as JSON has it
function json_schema.of()
  local out = object(schema.root.fields, { ["$schema"] = "http://json-schema.org/draft-07/schema#",
    title = "Settings of srt-lua",
    description = "A policy of srt-lua as JSON; man srt-lua-policy tells what the keys mean." })
  out.properties.extends.items = { anyOf = { { type = "string" }, { ["$ref"] = "#" } } }
  return out
end

---@return string
function json_schema.text() return json.encode(json_schema.of()) .. "\n" end

return json_schema
