-- SPDX-License-Identifier: Apache-2.0
-- Which entries of a policy's lists decided in its tests, and which lines of its callbacks ran.

local test_cover = {}
local Cover = {}
Cover.__index = Cover

local PATH_LISTS = { "denyRead", "allowRead", "allowWrite", "denyWrite", "denyDelete" }

local function id_of(origin) return ("%s %s"):format(origin.file or "", origin.key or "") end

-- What others wrote and a backend adds is not this policy's to test.
local function add_entry(self, entry, given)
  local origin = entry.origin
  if entry.builtin or not origin or not origin.file or origin.preset then return end
  local id = id_of(origin)
  if self.byId[id] then return end
  local item = { file = origin.file, line = origin.line or nil, key = origin.key:gsub("%[%d+%]$", ""), given = given,
    hit = false }
  self.byId[id] = item
  self.entries[#self.entries + 1] = item
end

local function add_entries(self, profile)
  for _, list in ipairs(PATH_LISTS) do
    for _, entry in ipairs(profile.filesystem[list]) do add_entry(self, entry, entry.given) end
  end
  for _, glob in ipairs(profile.filesystem.globs) do add_entry(self, glob, glob.given) end
  for _, rule in ipairs(profile.network.denied) do add_entry(self, rule, rule.text) end
  for _, rule in ipairs(profile.network.allowed) do add_entry(self, rule, rule.text) end
end

local function add_callbacks(self, profile, box)
  for _, name in ipairs(require("srt.profile").CALLBACKS) do
    for _, fn in ipairs(profile.callbacks[name]) do
      local file, line = box:where(fn)
      local lines = box:lines(fn)
      -- The end of a function is code, and returns where nothing did before.
      if #lines > 1 then lines[#lines] = nil end
      if not file:find("^policies/") then
        self.callbacks[#self.callbacks + 1] = { file = file, line = line,
          key = require("srt.profile").callbackKey(name), lines = lines }
      end
    end
  end
end

---Notes what is to be hit, and from now on which lines run.
---@param rehearsal table of srt.rehearse
function Cover:watch(rehearsal)
  local box = rehearsal.loaded.box
  if #self.boxes == 0 then
    add_entries(self, rehearsal.profile)
    add_callbacks(self, rehearsal.profile, box)
  end
  box:cover()
  self.boxes[#self.boxes + 1] = box
end

---Notes what decided.
---@param answer srt.rehearsed
function Cover:hit(answer)
  local item = answer.origin and self.byId[id_of(answer.origin)]
  if item then item.hit = true end
end

---Adds up.
---@return table totals entries, callbacks: lists, with hit; a callback has missed = lines that never ran
function Cover:done()
  local ran = {}
  for _, box in ipairs(self.boxes) do
    for file, lines in pairs(box:covered()) do
      ran[file] = ran[file] or {}
      for line in pairs(lines) do ran[file][line] = true end
    end
  end
  for _, callback in ipairs(self.callbacks) do
    callback.missed, callback.hit = {}, false
    for _, line in ipairs(callback.lines) do
      if ran[callback.file] and ran[callback.file][line] then
        callback.hit = true
      else
        callback.missed[#callback.missed + 1] = line
      end
    end
  end
  return { entries = self.entries, callbacks = self.callbacks }
end

---@return table cover
function test_cover.new()
  return setmetatable({ entries = {}, callbacks = {}, byId = {}, boxes = {} }, Cover)
end

return test_cover
