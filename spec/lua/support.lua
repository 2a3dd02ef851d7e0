-- SPDX-License-Identifier: Apache-2.0
-- What the Lua specs share: paths, the C primitives or their stand-ins, a fake box, rows of tables.

local support = {}

package.path = "./lua/?.lua;./?.lua;" .. package.path

---Loads srt.c.sys from the module the build made, so that specs meet the real primitives.
local function real_sys()
  local path = os.getenv("SRT_SPEC_CMODULE")
  if not path then
    return nil, "SRT_SPEC_CMODULE is not set"
  end
  return package.loadlib(path, "luaopen_srt_c_sys")
end

local function install_sys()
  local open, message = real_sys()
  if not open and os.getenv("SRT_MUST_WORK") == "1" then
    error("the real srt.c.sys must be there: " .. tostring(message))
  end
  package.preload["srt.c.sys"] = open or function() return require("spec.lua.fake_sys") end
  support.real = open ~= nil
end

local function install_finders()
  local path = os.getenv("SRT_SPEC_CMODULE")
  for _, name in ipairs { "walk", "guard", "secret", "journal", "tidy" } do
    package.preload["srt.c." .. name] = path and package.loadlib(path, "luaopen_srt_c_" .. name)
  end
end

install_sys()
install_finders()

---Path resolution of the fewest words, for specs that run before srt.paths is there.
if not package.searchpath("srt.paths", package.path) then
  package.preload["srt.paths"] = function()
    return {
      expand = function(given, ctx)
        if given:find("%$") then
          return nil, "variables are not expanded in paths"
        end
        local path = given:gsub("^~", ctx.home)
        path = path:sub(1, 1) == "/" and path or ctx.cwd .. "/" .. path
        local parts = {}
        for part in path:gmatch("[^/]+") do
          if part == ".." then
            parts[#parts] = nil
          elseif part ~= "." then
            parts[#parts + 1] = part
          end
        end
        return "/" .. table.concat(parts, "/")
      end,
    }
  end
end

local functions = setmetatable({}, { __mode = "k" })

---An opaque handle, as the box gives for a policy's function.
---@param fn function
---@return userdata
function support.handle(fn)
  local handle = io.tmpfile()
  functions[handle] = fn
  return handle
end

---Stands in for box:call.
function support.call(handle, _, ...)
  return pcall(functions[handle] or handle, ...)
end

local Box = {}
Box.__index = Box

function Box.isfn(v) return type(v) == "userdata" and functions[v] ~= nil end

local function copy(v)
  if type(v) == "function" then
    return support.handle(v)
  elseif type(v) ~= "table" then
    return v
  end
  local t = {}
  for k, item in pairs(v) do
    t[copy(k)] = copy(item)
  end
  return t
end

local SRT = {
  cwd = "/w", home = "/home/u",
  remove = function(text) return { ["$remove"] = text } end,
  allow = function(t) t = t or {}; t["$answer"] = "allow"; return t end,
  deny = function(t) t = t or {}; t["$answer"] = "deny"; return t end,
  respond = function(t) t = t or {}; t["$answer"] = "respond"; return t end,
  pass = { ["$answer"] = "pass" },
}
support.srt = SRT

local function run(text, name)
  local env = setmetatable({ srt = SRT }, { __index = _G })
  local chunk, message = load(text, "@" .. name, "t", env)
  if not chunk then
    local line = tonumber(message:match(":(%d+):"))
    return nil, { message = message:match(":%d+: (.*)") or message, file = name, line = line, kind = "syntax" }
  end
  local ok, value = pcall(chunk)
  if not ok then
    return nil, { message = tostring(value), file = name, kind = "runtime" }
  end
  return copy(value)
end

function Box:load(path)
  local text = self.texts[path]
  if not text then
    return nil, { message = "No such file or directory", file = path, kind = "io" }
  end
  return run(text, path)
end

function Box:loadpreset(name)
  local text = self.presets[name]
  if not text then
    return nil, { message = "there is no ready-made policy of that name", kind = "io" }
  end
  return run(text, "policies/" .. name .. ".lua")
end

function Box:files() return self.list or {} end

function Box.where() return "policy.lua", 7 end

---A box whose files are texts.
---@param texts table {[path] = source}
---@param presets table|nil {[name] = source}
function support.box(texts, presets)
  return setmetatable({ texts = texts, presets = presets or {} }, Box)
end

---Loads a policy from texts; p.lua is the policy unless a name is given.
function support.load(texts, presets, name)
  if type(texts) == "string" then
    texts = { ["p.lua"] = texts }
  end
  local box = support.box(texts, presets)
  local function read(file)
    local preset = file:match("^policies/(.+)%.lua$")
    return texts[file] or (preset and box.presets[preset])
  end
  return require("srt.policy").load(box, name or "p.lua", {
    read = read,
    readfile = function(file)
      if texts[file] then
        return texts[file]
      end
      return nil, "No such file or directory"
    end,
    presets = function()
      local names = {}
      for n in pairs(box.presets) do
        names[#names + 1] = n
      end
      return names
    end,
  })
end

---Resolves a policy text; extra fields go into the context.
function support.resolve(texts, extra, presets, name)
  local policy, problems = support.load(texts, presets, name)
  if not policy then
    return nil, problems
  end
  local ctx = { cwd = "/w", home = "/home/u", user = "u", env = {}, uid = 1000 }
  for k, v in pairs(extra or {}) do
    ctx[k] = v
  end
  return require("srt.profile").resolve(policy, ctx)
end

---Rows of a file of tab-separated values: comments and the header line are left out.
---@return fun(): table|nil row {line=, text=, fields…}
function support.rows(file)
  local line, header = 0, nil
  local next_line = io.lines(file)
  return function()
    for text in next_line do
      line = line + 1
      if text:sub(1, 1) ~= "#" then
        local fields = {}
        for field in (text .. "\t"):gmatch("([^\t]*)\t") do
          fields[#fields + 1] = field
        end
        if header then
          fields.line = line
          return fields
        end
        header = fields
      end
    end
    return nil
  end
end

---Folder of the specs, for data files beside them.
support.folder = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "."

return support
