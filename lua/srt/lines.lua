-- SPDX-License-Identifier: Apache-2.0
-- Lines of a stream that comes in pieces.
local lines = {}

local Lines = {}
Lines.__index = Lines

---Takes a piece.
---@param data string
function Lines:add(data)
  local from = 1
  while true do
    local stop = data:find("\n", from, true)
    local piece = data:sub(from, (stop or #data + 1) - 1)
    self.size = self.size + #piece
    -- A list, since a line may come in many pieces.
    if self.size <= self.most then self.pieces[#self.pieces + 1] = piece else self.pieces = {} end
    if not stop then return end
    local line, size = table.concat(self.pieces), self.size
    self.pieces, self.size = {}, 0
    self.take(size <= self.most and line or nil)
    from = stop + 1
  end
end

---No more comes: what is there is a line.
function Lines:close()
  if self.size > 0 then self:add("\n") end
end

---@param most integer bytes in a line
---@param take fun(line: string|nil) nil for one that is longer
---@return table lines with :add(data) and :close()
function lines.new(most, take)
  return setmetatable({ most = most, take = take, pieces = {}, size = 0 }, Lines)
end

return lines
