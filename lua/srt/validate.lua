-- SPDX-License-Identifier: Apache-2.0
-- Checks one document of a policy against the schema and gathers its entries. All errors are found at once.

local null = require("srt.null")
local kinds = require("srt.kinds")
local schema = require("srt.schema")
local source = require("srt.source")

local validate = {}

local check = kinds.check

-- Loaded where something is wrong.
local function expected(node) return require("srt.kinds_text").expected(node) end
local function describe(v, isfn) return require("srt.kinds_text").describe(v, isfn) end

local Checker = {}
Checker.__index = Checker

---@param origin table or an entry of a list, which has one
function Checker:fail(origin, message)
  origin = origin.origin or origin
  self.errors[#self.errors + 1] = { origin = origin, key = origin.key, message = message }
end

function Checker:origin(key, holder, field, literal)
  return source.origin(self.doc, key, holder, field, literal)
end

function Checker:wrong(node, v, origin)
  local hint = ""
  if node.type == "list" and type(v) == "string" then
    hint = ("; write { %q }"):format(v)
  elseif node.type == "function" and type(v) == "string" then
    hint = "; functions need a Lua policy"
  elseif node.type == "table" and v == true then
    hint = "; write {} for what it does unless told"
  end
  self:fail(origin, ("expected %s, found %s%s"):format(expected(node), describe(v, self.isfn), hint))
  return false
end

---Is a JSON [] or {} of the other kind, or anything but a table?
function Checker:is_table(v, kind)
  if type(v) ~= "table" or v == null then
    return false
  end
  local is = self.doc.places and self.doc.places.kinds[v]
  return is == nil or is == kind
end

local function sorted_keys(t)
  local keys = {}
  for k in pairs(t) do
    keys[#keys + 1] = k
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

---Length of a list, or nil after saying why it is none.
function Checker:length(node, v, origin)
  if not self:is_table(v, "list") then
    return self:wrong(node, v, origin) or nil
  end
  local keys, count = 0, 0
  for _ in pairs(v) do
    keys = keys + 1
  end
  while v[count + 1] ~= nil do
    count = count + 1
  end
  if keys == count then
    return count
  end
  for k in pairs(v) do
    if math.type(k) ~= "integer" or k < 1 then
      self:fail(origin, ("expected %s, found a table with the key %s"):format(expected(node),
        type(k) == "string" and ("%q"):format(k) or tostring(k)))
      return nil
    end
  end
  self:fail(origin, ("the list has a hole: entry %d is nil"):format(count + 1))
  return nil
end

---@return fun(i: integer): table makes an entry of list[i]
function Checker:entries(node, list, origin)
  local is_path = node.item.type == "path"
  return source.entries(self.doc, origin.key, list, function(item)
    return is_path and type(item) == "table" and item.path or item
  end)
end

function check.list(self, node, v, origin)
  local count = self:length(node, v, origin)
  if not count then
    return false
  end
  local entries, filled = {}, 0
  local entry_of, item_check = self:entries(node, v, origin), check[node.item.type]
  for i = 1, count do
    local item, entry = v[i], entry_of(i)
    local removed
    if type(item) == "table" and not self.doc.places then
      removed = item["$remove"]
    end
    if removed ~= nil and type(removed) ~= "string" then
      self:fail(entry, ("srt.remove takes the text of an entry, found %s"):format(describe(removed, self.isfn)))
    elseif removed then
      filled = filled + 1
      entries[filled] = { remove = removed, origin = entry.origin }
    elseif item_check(self, node.item, item, entry) then
      filled = filled + 1
      entries[filled] = entry
    end
  end
  return true, entries
end

function check.map(self, node, v, origin)
  if not self:is_table(v, "table") then
    return self:wrong(node, v, origin)
  end
  local entries = {}
  for _, k in ipairs(sorted_keys(v)) do
    local at = self:origin(("%s[%q]"):format(origin.key, tostring(k)), v, k)
    if type(k) ~= "string" then
      self:fail(at, ("keys must be strings, found %s"):format(describe(k, self.isfn)))
    elseif (not node.name or check.name(self, { type = "name" }, k, at))
      and check[node.value.type](self, node.value, v[k], at) then
      entries[k] = { value = v[k], origin = at }
    end
  end
  return true, entries
end

---Says that a key is unknown, and which one was meant. Where the document says so that is no error.
function Checker:unknown(node, name, origin, prefix)
  local siblings, elsewhere = sorted_keys(node.fields), nil
  local near = require("srt.suggest").nearest(name, siblings)
  schema.each(function(key)
    if not elsewhere and key:match("[^.]+$") == name then
      elsewhere = key
    end
  end)
  local meant = elsewhere or (near and (prefix ~= "" and prefix .. "." .. near or near))
  local top = elsewhere and prefix ~= "" and not elsewhere:find(".", 1, true) and " at the top level" or ""
  local hint = meant and ("; did you mean %s%s?"):format(meant, top) or ""
  local ignored = self.doc.ignored
  if not ignored then return self:fail(origin, "unknown key" .. hint) end
  ignored[#ignored + 1] = { origin = origin, key = origin.key, message = "unknown key, which is ignored" .. hint }
end

---Calls visit for each known field of a table; reports the others.
function Checker:fields(node, v, key, visit)
  for _, k in ipairs(sorted_keys(v)) do
    local path = type(k) == "string" and (key ~= "" and key .. "." .. k or k) or ("%s[%s]"):format(key, tostring(k))
    local at = self:origin(path, v, k)
    if type(k) ~= "string" then
      self:fail(at, ("expected a named key, found an entry at %s"):format(tostring(k)))
    elseif not node.fields[k] then
      self:unknown(node, k, at, key)
    else
      visit(node.fields[k], v[k], path, at)
    end
  end
end

function check.record(self, node, v, origin)
  if not self:is_table(v, "table") then
    return self:wrong(node, v, origin)
  end
  self:fields(node, v, (origin.origin or origin).key, function(child, value, _, at)
    check[child.type](self, child, value, at)
  end)
  return true
end

function Checker:leaf(path, node, status, value, origin, entries)
  local key = self.prefix == "" and path or path:sub(#self.prefix + 2)
  self.leaves[#self.leaves + 1] = { key = key, node = node, status = status, value = value, entries = entries,
    origin = origin }
end

---Gathers the leaves below a section. Sections whose presence means something are a leaf themselves.
function Checker:section(node, v, key, status)
  self:fields(node, v, key, function(child, value, path, at)
    local own = schema.status(child, { status = status })
    if child.type ~= "table" then
      local ok, entries = check[child.type](self, child, value, at)
      if ok then
        self:leaf(path, child, own, value, at, entries)
      end
    elseif not self:is_table(value, "table") then
      self:wrong(child, value, at)
    else
      if child.presence then
        self:leaf(path, child, own, value, at)
      end
      self:section(child, value, path, own)
    end
  end)
end

---Checks one document.
---@param doc table from source.document
---@param value any what the file holds
---@param prefix string key path of the document, "" for a file
---@param isfn fun(v: any): boolean is this a policy's function?
---@return table[] leaves {key, node, status, value, entries, origin}
---@return table[] errors {origin, key, message}
function validate.document(doc, value, prefix, isfn)
  local self = setmetatable({ doc = doc, prefix = prefix, isfn = isfn, leaves = {}, errors = {} }, Checker)
  if not self:is_table(value, "table") then
    self:fail(self:origin(prefix, nil, nil), ("a policy is a table of keys, found %s")
      :format(describe(value, isfn)))
  else
    self:section(schema.root, value, prefix, nil)
  end
  return self.leaves, self.errors
end

return validate
