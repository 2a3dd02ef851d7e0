-- SPDX-License-Identifier: Apache-2.0
-- Loads a policy with all it extends; each entry keeps where it came from. srt.layers merges them.

local schema = require("srt.schema")
local source = require("srt.source")
local validate = require("srt.validate")

local policy = {}

local MAX_BYTES = 16 << 20
local MAX_DEPTH = 16
local MAX_LAYERS = 256

local Loader = {}
Loader.__index = Loader

function Loader:problem(origin, message)
  self.problems[#self.problems + 1] = { origin = origin, file = origin.file, key = origin.key, message = message }
end

local add_layer

---@return any value, table|nil places of a JSON file
local function read_json(self, path)
  local text, message = self.readfile(path, MAX_BYTES)
  if not text then
    self:problem({ file = path }, "the settings can't be read: " .. tostring(message))
    return nil
  end
  local value, places = require("srt.json").decode(text)
  if value == nil then
    self:problem({ file = path, line = places.line }, "broken JSON: " .. places.message)
    return nil
  end
  return value, places
end

---What the box said about a file, as a problem.
local function box_problem(self, fault, file, origin)
  if type(fault) ~= "table" then
    fault = { message = tostring(fault or "no cause was given") }
  end
  local message = fault.message or "it can't be loaded"
  if fault.file and fault.line then
    -- Lua begins its messages with the place, which the report tells as well.
    local place = ("%s:%d: "):format(fault.file, fault.line)
    if message:sub(1, #place) == place then message = message:sub(#place + 1) end
  end
  self.problems[#self.problems + 1] = { file = fault.file or file, line = fault.line, key = origin and origin.key,
    message = message }
end

-- Files are told of as the user named the policy: from where it was named, as entries of its lists are.
local function namer(path)
  local sys, paths = require "srt.c.sys", require "srt.paths"
  local real, given = sys.realpath(path), path:match("^.*/") or ""
  local folder = real and paths.parent(real)
  -- Through a link its folder has another name.
  if not real or sys.realpath(given == "" and "." or given) ~= folder then
    return function(file) return file == real and path or file end
  end
  local prefix = folder == "/" and "/" or folder .. "/"
  return function(file) return file:sub(1, #prefix) == prefix and given .. file:sub(#prefix + 1) or file end
end

local function load_file(self, path, opts)
  if opts.base then add_layer(self, opts.base, source.document("(defaults)", nil, function() end), "", 1) end
  if opts.value then
    local doc = source.document(path, opts.places, function() end)
    doc.ignored = opts.lenient and {}
    add_layer(self, opts.value, doc, "", 1)
    self.ignored = doc.ignored
    return
  end
  if path:find("%.json$") then
    local value, places = read_json(self, path)
    if value ~= nil then
      add_layer(self, value, source.document(path, places, self.read), "", 1)
    end
    return
  end
  local value, fault = self.box:load(path)
  if value == nil and fault ~= nil then
    return box_problem(self, fault, path)
  elseif type(value) ~= "table" then
    return self:problem({ file = path }, ("a policy must return a table (return { … }), this one returned %s")
      :format(require("srt.kinds_text").describe(value, self.isfn)))
  end
  local others = self.box.files and function()
    local files = self.box:files()
    for i, file in ipairs(files) do files[i] = self.shown(file) end
    return files
  end
  add_layer(self, value, source.document(path, nil, self.read, others), "", 1)
end

-- How a file is extended, where a text names one; nothing for other texts.
local function by_require(text)
  local name = text:match("^/.*/([^/]+)%.lua$") or text:match("^([^/].*)%.lua$")
  if not name then return "" end
  name = name:gsub("^%.%.?/", ""):gsub("/", ".")
  return ("; a file beside the policy is extended by (require %q), in parentheses"):format(name)
end

---Says that a name is none of the ready-made policies.
local function unknown_preset(self, name, fault, origin)
  local near = self.presets and require("srt.suggest").nearest(name, self.presets())
  local message = type(fault) == "table" and fault.message or fault
  self:problem(origin, ("the ready-made policy %q can't be loaded%s: %s"):format(name,
    near and near ~= name and (" (did you mean %q?)"):format(near) or "", tostring(message or "there is none"))
    .. by_require(name))
end

---A ready-made policy counts once, at its first place, however often it is extended.
local function load_preset(self, name, origin, depth)
  if self.open[name] then
    return self:problem(origin, ("%q extends itself"):format(name))
  elseif self.seen[name] then
    return
  end
  self.seen[name], self.open[name] = true, true
  local value, fault = self.box:loadpreset(name)
  local file = "policies/" .. name:gsub("%.", "/") .. ".lua"
  if value == nil and type(fault) == "table" and fault.line then
    box_problem(self, fault, file, origin)
  elseif type(value) ~= "table" then
    unknown_preset(self, name, fault or "it returns no table", origin)
  else
    self.names[#self.names + 1] = name
    local doc = source.document(file, nil, self.read)
    doc.preset = true
    add_layer(self, value, doc, "", depth)
  end
  self.open[name] = nil
end

local function extend(self, entry, doc, depth)
  local base, origin = entry.value, entry.origin
  if depth > MAX_DEPTH then
    self:problem(origin, ("extends goes deeper than %d levels"):format(MAX_DEPTH))
  elseif type(base) == "string" and base:find("^[%w_-][%w_.-]*$") then
    load_preset(self, base, origin, depth)
  elseif type(base) == "table" then
    add_layer(self, base, doc, origin.key, depth)
  else
    self:problem(origin, "expected the name of a ready-made policy or a table, found "
      .. require("srt.kinds_text").describe(base, self.isfn) .. (type(base) == "string" and by_require(base) or ""))
  end
end

---Checks a document and puts it behind the layers it extends.
function add_layer(self, value, doc, prefix, depth)
  local leaves, errors = validate.document(doc, value, prefix, self.isfn)
  for _, e in ipairs(errors) do
    self:problem(e.origin, e.message)
  end
  for _, leaf in ipairs(leaves) do
    if leaf.key == "extends" then
      for _, entry in ipairs(leaf.entries) do
        if entry.value ~= nil then
          extend(self, entry, doc, depth + 1)
        end
      end
    end
  end
  self.layers[#self.layers + 1] = leaves
  if #self.layers > MAX_LAYERS then
    error({ layers = true, origin = source.origin(doc, prefix == "" and "extends" or prefix) }, 0)
  end
end

local function asks_for_something(v)
  if v.list then
    return #v.list > 0
  elseif v.map then
    return next(v.map) ~= nil
  end
  return v.chain ~= nil or not schema.is_neutral(v.node, v.value)
end

---What merged keys can't be held, and which are there for something else.
local function judge(values)
  local unenforced, named = {}, {}
  for key, v in pairs(values) do
    if v.status == "later" and asks_for_something(v) then
      unenforced[#unenforced + 1] = { origin = v.origin, key = key, message = "srt-lua can't enforce this yet; "
        .. (v.node.default ~= nil and ("leave it at %q"):format(tostring(v.node.default)) or "take it out")
        .. " to run without it" }
    elseif v.status == "fixed" and v.value ~= v.node.default then
      unenforced[#unenforced + 1] = { origin = v.origin, key = key, message = ("it can't be changed: the policy is "
        .. "loaded before it is read; leave it at %s"):format(tostring(v.node.default)) }
    elseif v.status == "elsewhere" or v.status == "unneeded" then
      named[#named + 1] = { origin = v.origin, key = key, message = "has no effect here: " .. v.node.why }
    end
  end
  local function by_key(a, b) return a.key < b.key end
  table.sort(unenforced, by_key)
  table.sort(named, by_key)
  return unenforced, named
end

---Turns problems with an origin into plain ones, in the order of their lines in each file.
---@param problems table[]
---@return table[]
function policy.plain(problems)
  local list, files, places = {}, {}, {}
  for i, p in ipairs(problems) do
    local line = p.line or (p.origin and p.origin.line) or nil
    list[i] = { file = p.origin and p.origin.file or p.file, line = line, key = p.key or (p.origin and p.origin.key),
      message = p.message }
    local file = list[i].file or ""
    files[file] = files[file] or i
    places[list[i]] = i
  end
  table.sort(list, function(a, b)
    local file, other = files[a.file or ""], files[b.file or ""]
    local line, below = a.line or math.huge, b.line or math.huge
    if file ~= other then return file < other end
    return line < below or line == below and places[a] < places[b]
  end)
  return list
end

---Loads a policy (Lua, or JSON settings when the name ends in .json) with all it extends.
---@param box table the Lua box: load, loadpreset, files, where; isfn
---@param path string
---@param opts table|nil {read = fun(file): source text for line numbers, presets = fun(): names, readfile, value =
--- table: the policy itself, of which path is only the name, places = of json.decode, where it was JSON; lenient =
--- unknown keys of it are warned of; base = table: a policy that it extends}
---@return table|nil policy {file, box, values, unenforced, named, warnings, presets, undone, shown = fun(file) as the
--- user would name it}
---@return table[]|nil problems {file, line, key, message}, all that were found
function policy.load(box, path, opts)
  opts = opts or {}
  local readfile = opts.readfile or require("srt.c.sys").readfile
  local self = setmetatable({
    box = box, isfn = opts.isfn or box.isfn or require("srt.c.box").isfn, readfile = readfile,
    read = opts.read or function(file) return (readfile(file, MAX_BYTES)) end, presets = opts.presets,
    shown = namer(path), layers = {}, problems = {}, names = {}, open = {}, seen = {},
  }, Loader)
  local ok, fault = pcall(load_file, self, path, opts)
  if not ok then
    if type(fault) ~= "table" or not fault.layers then
      error(fault, 0)
    end
    self:problem(fault.origin, ("extends brings in more than %d policies"):format(MAX_LAYERS))
  end
  if #self.problems > 0 then
    return nil, policy.plain(self.problems)
  end
  local warnings = self.ignored or {}
  local merged = require("srt.layers").merge(self.layers, warnings)
  local unenforced, named = judge(merged.values)
  return { file = path, box = box, values = merged.values, unenforced = unenforced, named = named, warnings = warnings,
    presets = self.names, undone = merged.undone, read = self.read, shown = self.shown }
end

return policy
