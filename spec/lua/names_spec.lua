-- SPDX-License-Identifier: Apache-2.0
-- What a policy can use, its keys, the manual, the definitions for editors and the linter's settings name the same
-- things. lua/meta/policy.d.lua is made of the schema: SRT_WRITE_DOCS=1 writes it.
local support = require("spec.lua.box_support")
require("spec.lua.support")
local schema = require("srt.schema")

local function read(name)
  local file <close> = assert(io.open(name))
  return file:read("a")
end

-- The pages without what troff makes of them.
local MAN = (read("man/srt-lua.1") .. read("man/srt-lua-policy.5")):gsub("\\f[BRIP]", "")
  :gsub("\\([%-,&])", function(c) return c == "-" and c or "" end)
local META = read("lua/meta/srt.d.lua") .. read("lua/meta/tables.d.lua")

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

-- Keys of the policy, as lua-language-server wants them.

local CALLBACKS = {
  decideConnect = "fun(conn: srt.Conn): boolean|srt.Answer, string?",
  decideOpen = "fun(open: srt.Open): boolean|srt.Answer, string?",
  filterRequest = "fun(req: srt.Request): boolean|srt.Answer, string?",
  filterResponse = "fun(res: srt.Response, req: srt.Request): boolean|srt.Answer, string?",
  onViolation = "fun(violation: srt.Violation): boolean?",
}
local PLAIN = { string = "string", boolean = "boolean", integer = "integer", any = "any", name = "string",
  header = "string", domain = "string", range = "string", protected = "string", path = "string|srt.Path",
  published = "integer|string" }

local function type_of(node, key, name)
  if node.type == "function" then return CALLBACKS[name] end
  if node.type == "enum" then return '"' .. table.concat(node.values, '"|"') .. '"' end
  if node.type == "list" then
    local item = key == "extends" and "string|srt.Policy" or type_of(node.item, key, name)
    return item:find("|", 1, true) and "(" .. item .. ")[]" or item .. "[]"
  end
  if node.type == "map" then return ("table<string, %s>"):format(type_of(node.value, key, name)) end
  if node.type == "table" or node.type == "record" then return "srt.Policy." .. key end
  return PLAIN[node.type]
end

local function class(lines, node, key, title)
  local inner = {}
  lines[#lines + 1] = "---" .. title
  lines[#lines + 1] = "---@class srt.Policy" .. (key ~= "" and "." .. key or "")
  for _, name in ipairs(sorted(node.fields)) do
    local child, path = node.fields[name], key ~= "" and key .. "." .. name or name
    local at = child
    while at.item or at.value do at = at.item or at.value end
    if at.fields then inner[#inner + 1] = { at, path, child.doc } end
    local note = child.why and ("no effect here: " .. child.why .. "; ") or ""
    lines[#lines + 1] = ("---@field %s %s|nil %s%s"):format(name:find("^%a[%w_]*$") and name or ('["%s"]'):format(name),
      type_of(child, path, name), note, child.doc or "")
  end
  lines[#lines + 1] = ""
  for _, one in ipairs(inner) do class(lines, table.unpack(one)) end
end

local function policy_meta()
  local lines = { "---@meta", "-- SPDX-License-Identifier: Apache-2.0", "-- luacheck: ignore",
    "-- The keys of a policy, for editors: ---@type srt.Policy before a local table. Made of lua/srt/schema.lua by",
    "-- SRT_WRITE_DOCS=1 spec/lua/names_spec.lua, which compares the two.", "",
    "---A path as it is spelled, whatever characters it has.", "---@class srt.Path", "---@field path string",
    "---@field literal true", "" }
  class(lines, schema.root, "", "A policy; all of it may be left out.")
  return table.concat(lines, "\n", 1, #lines - 1) .. "\n"
end

describe("the keys of a policy", function()
  it("are in lua/meta/policy.d.lua", function()
    local text = policy_meta()
    if os.getenv("SRT_WRITE_DOCS") then
      local file <close> = assert(io.open("lua/meta/policy.d.lua", "w"))
      file:write(text)
    end
    assert.equal(text, read("lua/meta/policy.d.lua"))
  end)

  it("have a doc each, and callbacks their arguments", function()
    schema.each(function(key, node)
      assert.truthy(node.doc and #node.doc > 3, key)
      if node.type == "function" then assert.truthy(CALLBACKS[key:match("[^.]*$")], key) end
    end)
  end)
end)

local suite = support.box and describe or pending

suite("what a policy can use", function()
  local function live(code) return support.value(code) end

  local names = live([[
    local names = {}
    for name, value in pairs(srt) do
      local inside = false
      if type(value) == "userdata" and name ~= "env" and name ~= "pass" and name ~= "state" then
        for inner in pairs(value) do
          inside = true
          names[#names + 1] = "srt." .. name .. "." .. inner
        end
      end
      if not inside then names[#names + 1] = "srt." .. name end
    end
    return names]])

  it("is in the manual", function()
    assert.is_true(#names > 30)
    for _, name in ipairs(names) do
      local last = name:match("[^.]*$")
      local whole = MAN:find(name:gsub("%.", "%%.") .. "%f[%W]")
      assert.truthy(whole or MAN:find("%f[%w]" .. last .. "%f[%W]") and MAN:find(name:match("^srt%.%w+"), 1, true), name)
    end
  end)

  it("has a doc, or types that say it, in lua/meta", function()
    for _, name in ipairs(names) do
      local at = META:find("\nfunction " .. name .. "(", 1, true) or META:find("\n" .. name .. " = ", 1, true)
      assert.truthy(at, name)
      assert.truthy(META:sub(1, at):match("\n(%-%-%-[^\n]*)\n$"), name .. " has nothing above it")
    end
  end)

  it("is what luacheck lets policies use", function()
    local rc = setmetatable({ stds = {}, files = {} }, { __index = _G })
    assert(loadfile(".luacheckrc", "t", rc))()
    local std, known = rc.stds.policy.read_globals, {}
    for key, value in pairs(std) do
      if type(key) == "number" then known[value] = true end
      for field in pairs(type(value) == "table" and value.fields or {}) do
        known[key .. "." .. field] = true
      end
    end
    local function has(name) return known[name] or known[name:match("^(srt%.%w+)%.")] end
    for _, name in ipairs(names) do assert.truthy(has(name), name .. " is not in .luacheckrc") end
    local globals = live([[
      local found = {}
      for name, value in pairs(_G) do
        local inside = false
        if type(value) == "table" and name ~= "_G" then
          for inner in pairs(value) do
            inside = true
            found[#found + 1] = name .. "." .. inner
          end
        end
        if not inside and name ~= "srt" then found[#found + 1] = name end
      end
      return found]])
    local there = {}
    for _, name in ipairs(globals) do
      there[name] = true
      assert.is_true(known[name], name .. " is not in .luacheckrc")
    end
    for name in pairs(known) do
      assert.truthy(there[name] or name:find("^srt%."), name .. " is in .luacheckrc and not there")
    end
  end)
end)

-- Classes of lua/meta, and the kind of call that has such a subject.
local SUBJECTS = { Conn = "conn", Request = "request", Response = "response", Violation = "violation", Open = "open" }

local function fields_of(name)
  local found = {}
  local body = META:match("\n%-%-%-@class srt%." .. name .. "\n(.-)\n\n") or META:match("\n%-%-%-@class srt%." .. name
    .. "\n(.-)\nlocal ")
  for field in (body or ""):gmatch("%-%-%-@field (%w+)") do found[#found + 1] = field end
  return found
end

suite("what callbacks get", function()
  for name, kind in pairs(SUBJECTS) do
    it("is in lua/meta and in the manual: " .. kind, function()
      local fields = fields_of(name)
      assert.is_true(#fields >= 2)
      for _, field in ipairs(fields) do
        -- One that is not there is an error, one that is nil is not.
        local subject = { process = { pid = 1, hostPid = 1, exe = "/x", parents = {} } }
        for _, one in ipairs(fields) do subject[one] = subject[one] or "x" end
        local ok, message = support.call("function(it) return it." .. field .. " ~= nil end", nil, kind, subject)
        assert.is_true(ok, message)
        assert.truthy(MAN:find("%f[%w]" .. field .. "%f[%W]"), field .. " is not in the manual")
      end
    end)
  end

  it("has no field that lua/meta lacks", function()
    local text = read("lua/box_subject.c")
    local known = {}
    for _, name in ipairs { "Conn", "Request", "Response" } do
      for _, field in ipairs(fields_of(name)) do known[field] = true end
    end
    -- Of a body, and of fields on the wire.
    for _, name in ipairs { "body", "name", "value" } do known[name] = true end
    local count = 0
    for name in text:match("const names%[%] = (%b{})"):gmatch('"([%w]+)"') do
      count = count + 1
      assert.is_true(known[name], name)
    end
    assert.is_true(count > 15)
  end)
end)
