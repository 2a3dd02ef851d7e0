-- SPDX-License-Identifier: Apache-2.0
-- What a policy's tests stand on: a home and a project of their own, made for them and taken away again.
local paths = require "srt.paths"
local sys = require "srt.c.sys"
local tidy = require "srt.c.tidy"

local test_world = {}
local World = {}
World.__index = World

local MODE = tonumber("600", 8)
local PATH = "/usr/local/bin:/usr/bin:/bin"

local function make_folders(path)
  if sys.lstat(path) then return true end
  local ok, message = make_folders(paths.parent(path))
  if not ok then return nil, message end
  return tidy.mkdir(path)
end

-- Not in /tmp where that can be avoided: many a policy lets a command write there.
local function base_of(env)
  local cache = env.XDG_CACHE_HOME or env.HOME and env.HOME .. "/.cache"
  for _, folder in ipairs { cache or "/tmp", env.TMPDIR or "/tmp", "/tmp" } do
    if folder:sub(1, 1) == "/" and make_folders(folder) and sys.writable(folder) then return sys.realpath(folder) end
  end
end

---@param env table<string, string> the caller's
---@return table? world root, home, cwd; :file, :close
---@return string? message
function test_world.new(env)
  local base = base_of(env)
  if not base then
    return nil, "there is no folder for the files of tests: ~/.cache, TMPDIR and /tmp can't be written"
  end
  local root = ("%s/srt-lua-test-%s"):format(base, assert(sys.random(8)))
  local self = setmetatable({ root = root, home = root .. "/home", cwd = root .. "/home/project" }, World)
  local ok, message = make_folders(self.cwd)
  if not ok then return nil, ("%s can't be made: %s"):format(root, message) end
  return self
end

---Facts as of srt.session, of which nothing is this machine's but the system's files.
---@param real table the caller's facts
---@param given table env, cwd, user of the tests
---@return table facts
function World:facts(real, given)
  local env = { HOME = self.home, PATH = PATH, LANG = "C.UTF-8", USER = given.user or "tester" }
  for name, value in pairs(given.env or {}) do env[name] = value or nil end
  local facts = { program = real.program, env = env, home = env.HOME, user = env.USER, features = real.features }
  facts.cwd = given.cwd and paths.normalize(self:absolute(given.cwd, env.HOME)) or self.cwd
  return facts
end

---@param path string as a test names it
---@param home string?
---@return string
function World:absolute(path, home)
  if path == "~" or path:sub(1, 2) == "~/" then return (home or self.home) .. path:sub(2) end
  return paths.absolute(path, self.cwd)
end

---Makes a file, or a folder where the path ends in a slash, if it is in this world and not there yet.
---@param path string
---@param text string?
---@return boolean|nil ok
---@return string? message
function World:file(path, text)
  local real = paths.normalize(self:absolute(path))
  if not paths.below(real, self.root) or sys.lstat(real) then return true end
  if path:sub(-1) == "/" then return make_folders(real) end
  local ok, message = make_folders(paths.parent(real))
  if not ok then return nil, message end
  return tidy.put(real, text or "", MODE)
end

---A policy's own files, and in this world's project those that lie beside the policy: rows mean them, too.
---@param files string[] real paths
---@param folder string the policy's
---@return string[]
function World:owned(files, folder)
  local list = table.move(files, 1, #files, 1, {})
  local function twin(file)
    local path = paths.below(file, folder) and paths.join(self.cwd, file:sub(#folder + 2))
    return path and self:file(path) and path
  end
  for _, file in ipairs(files) do
    list[#list + 1] = twin(file) or nil
    -- Tests go with their policy, wherever that is there.
    local tests = require("srt.own_files").tests(file)
    if tests then twin(tests) end
  end
  return list
end

function World:close() tidy.tree(self.root) end

return test_world
