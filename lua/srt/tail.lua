-- SPDX-License-Identifier: Apache-2.0
-- Reads the lines of a file that grows, and of the one that takes its place.
local sys = require("srt.c.sys")

local tail = {}

local PIECE = 65536
local LONGEST = 1 << 20 -- no line of ours is

local Tail = {}
Tail.__index = Tail

---Gives all whole lines that are there by now, in pieces.
---@param take fun(lines: string[]): any false: no more
---@return boolean more false when take wanted no more
function Tail:drain(take)
  while true do
    -- Behind the end of a file stdio stays there, unless it is told to look again.
    self.handle:seek("set", self.at)
    local data = self.handle:read(PIECE)
    if not data then return true end
    self.at = self.at + #data
    data = self.rest .. data
    -- What was there before had no end of a line in it.
    local lines, from, to = {}, 1, data:find("\n", #self.rest + 1, true)
    while to do
      lines[#lines + 1] = data:sub(from, to - 1)
      from, to = to + 1, data:find("\n", to + 1, true)
    end
    self.rest = #data - from < LONGEST and data:sub(from) or ""
    if lines[1] and take(lines) == false then return false end
  end
end

---Opens a file, in place of the one before.
---@param path string
---@return boolean ok
---@return string|nil reason
function Tail:open(path)
  local st, why = sys.stat(path)
  if st and st.type == "dir" then return false, "it is a directory" end
  local handle
  if st then handle, why = io.open(path, "rb") end
  if not handle then return false, (why:gsub("^.*: ", "")) end
  if self.handle then self.handle:close() end
  self.handle, self.path, self.id, self.at, self.rest = handle, path, st.dev .. ":" .. st.ino, 0, ""
  return true
end

-- Another file is there by that name, or this one was emptied.
local function renewed(self)
  local st = sys.stat(self.path)
  if not st then return false end
  if st.size < self.at and st.dev .. ":" .. st.ino == self.id then self.at, self.rest = 0, "" end
  return st.dev .. ":" .. st.ino ~= self.id
end

---As drain, also of the file that took the place of this one.
---@param take fun(lines: string[]): any
---@return boolean more
function Tail:follow(take)
  if not self:drain(take) then return false end
  if renewed(self) then
    -- What came before the new one began.
    if not self:drain(take) then return false end
    self:open(self.path)
  end
  return true
end

---@return table tail that has no file yet
function tail.new() return setmetatable({}, Tail) end

return tail
