-- SPDX-License-Identifier: Apache-2.0
-- A protected file that has a second name could be written by that: the other names are looked for and denied as well.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local hardlinks = {}

local MOST = 50000 -- entries that are looked at

local function key(st) return st.dev .. ":" .. st.ino end

-- The files that have names besides those that are protected already.
local function wanted_of(files)
  local wanted, count = {}, 0
  for _, path in ipairs(files) do
    local st = sys.lstat(path)
    if st and st.type == "file" and st.nlink > 1 then
      local item = wanted[key(st)]
      if not item then
        item = { path = path, left = st.nlink }
        wanted[key(st)], count = item, count + 1
      end
      item.left = item.left - 1
    end
  end
  for id, item in pairs(wanted) do
    if item.left <= 0 then wanted[id], count = nil, count - 1 end
  end
  return wanted, count
end

---@param rules table of srt.decide_path
---@param files string[] protected files
---@param bases {path: string}[] where they were searched for
function hardlinks.cover(rules, files, bases)
  local wanted, count = wanted_of(files)
  if count == 0 then return end
  local queue, seen, budget = {}, {}, MOST
  for i, base in ipairs(bases) do queue[i] = base.path end
  local at = 1
  while queue[at] and count > 0 and budget > 0 do
    local dir = queue[at]
    at = at + 1
    for _, name in ipairs(not seen[dir] and sys.readdir(dir) or {}) do
      local path = paths.join(dir, name)
      local st = sys.lstat(path)
      budget = budget - 1
      if st and st.type == "dir" and path ~= "/proc" and path ~= "/sys" then
        queue[#queue + 1] = path
      elseif st and st.type == "file" and st.nlink > 1 then
        local item = wanted[key(st)]
        if item and rules:at(path).write then
          local rule = rules.denyWrite[item.path]
          rules.denyWrite[path] = { given = path, path = path, literal = true, origin = rule.origin,
            builtin = "other name of a protected file", name = rule.name, why = rule.why }
          rules.types[path] = "file"
          item.left = item.left - 1
          if item.left == 0 then count = count - 1 end
        end
      end
    end
    seen[dir] = true
  end
  for _, item in pairs(wanted) do
    if item.left > 0 then
      rules:note(rules.denyWrite[item.path], ("has %d more names (hard links) that were not found where the command "
        .. "can write; by such a name it would not be protected"):format(item.left), true)
    end
  end
end

return hardlinks
