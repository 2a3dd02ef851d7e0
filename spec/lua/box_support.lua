-- SPDX-License-Identifier: Apache-2.0
-- What the specs of the box share: the real srt.c.box and policies written into a folder of their own.

local support = {}

---Loads srt.c.box from the module the build made (SRT_SPEC_CMODULE), or from package.cpath.
local function real_box()
  local path = os.getenv("SRT_SPEC_CMODULE")
  local open = path and package.loadlib(path, "luaopen_srt_c_box")
  if open then
    return open()
  end
  local found, module = pcall(require, "srt.c.box")
  if found then
    return module
  end
  if os.getenv("SRT_MUST_WORK") == "1" then
    error("the real srt.c.box must be there: " .. tostring(module))
  end
  return nil
end

support.box = real_box()

---Where the specs are, for files beside them.
support.folder_of_specs = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "."

local function run(command)
  assert(os.execute(command))
end

---@param folder string
---@param name string may have folders in it
---@param text string
function support.write(folder, name, text)
  local parent = name:match("^(.*)/")
  if parent then
    run(("mkdir -p '%s/%s'"):format(folder, parent))
  end
  local file = assert(io.open(folder .. "/" .. name, "wb"))
  file:write(text)
  file:close()
end

---A new folder with these files; it is real: no part of its path is a link.
---@param files table|nil {[name] = text}
---@return string
function support.folder(files)
  local pipe = assert(io.popen("realpath \"$(mktemp -d)\""))
  local folder = pipe:read("l")
  pipe:close()
  for name, text in pairs(files or {}) do
    support.write(folder, name, text)
  end
  return folder
end

function support.remove(folder)
  assert(folder:match("^/[^/]+/."))
  run("rm -rf '" .. folder .. "'")
end

---A box for a folder.
---@param folder string
---@param options table|nil further fields of box.new's argument
function support.open(folder, options)
  local given = {
    root = folder,
    facts = { platform = "linux", cwd = folder, home = folder .. "/home", user = "u", env = { LANG = "C" } },
  }
  for k, v in pairs(options or {}) do
    given[k] = v
  end
  return assert(support.box.new(given))
end

---Loads one policy text.
---@return table box, any value, table|nil fault
function support.load(text, options)
  local folder = support.folder { ["p.lua"] = text }
  local box = support.open(folder, options)
  local value, fault = box:load(folder .. "/p.lua")
  support.remove(folder)
  return box, value, fault
end

---What a policy text returns.
function support.value(text, options)
  local _, value, fault = support.load(text, options)
  assert(not fault, fault and fault.message)
  return value
end

---The fault of a policy text that can't be loaded.
function support.fault(text, options)
  local _, value, fault = support.load(text, options)
  assert(fault, "it was loaded: " .. tostring(value))
  return fault
end

---Calls `return <text of a function>` of a policy.
---@return boolean ok, any first, any second
function support.call(text, options, kind, ...)
  local box, value = support.load("return { f = " .. text .. " }", options)
  return box:call(value.f, kind or "violation", ...)
end

return support
