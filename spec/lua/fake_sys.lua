-- SPDX-License-Identifier: Apache-2.0
-- Stands in for srt.c.sys where the module has not been built; knows only what the specs need.

local function v4(text)
  local a, b, c, d = text:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
  if not a then
    return nil
  end
  for _, n in ipairs({ a, b, c, d }) do
    if #n > 3 or tonumber(n) > 255 or n:find("^0%d") then
      return nil
    end
  end
  return string.char(a, b, c, d)
end

local function groups(text)
  local out = {}
  if text == "" then
    return out
  end
  for part in (text .. ":"):gmatch("([^:]*):") do
    if not part:find("^%x%x?%x?%x?$") then
      return nil
    end
    out[#out + 1] = tonumber(part, 16)
  end
  return out
end

local function v6(text)
  local head, tail = text:match("^(.*:)([%d.]+%.[%d.]+)$")
  if head then
    local packed = v4(tail)
    if not packed then
      return nil
    end
    local a, b = string.unpack(">I2I2", packed)
    text = head .. ("%x:%x"):format(a, b)
  end
  local left, right = text:match("^(.-)::(.*)$")
  if not left then
    local all = groups(text)
    return all and #all == 8 and string.pack(">" .. ("I2"):rep(8), table.unpack(all)) or nil
  end
  local a, b = groups(left), groups(right)
  if not a or not b or #a + #b > 7 then
    return nil
  end
  while #a + #b < 8 do
    a[#a + 1] = 0
  end
  table.move(b, 1, #b, #a + 1, a)
  return string.pack(">" .. ("I2"):rep(8), table.unpack(a))
end

local function ntop(packed)
  if #packed == 4 then
    return ("%d.%d.%d.%d"):format(packed:byte(1, 4))
  end
  local g = { string.unpack(">" .. ("I2"):rep(8), packed) }
  local best, length = 0, 1
  for i = 1, 8 do
    local n = 0
    while i + n <= 8 and g[i + n] == 0 do
      n = n + 1
    end
    if n > length then
      best, length = i, n
    end
  end
  local function join(from, to)
    local out = {}
    for i = from, to do
      out[#out + 1] = ("%x"):format(g[i])
    end
    return table.concat(out, ":")
  end
  if best == 0 then
    return join(1, 8)
  end
  return join(1, best - 1) .. "::" .. join(best + length, 8)
end

local sys = {}

function sys.pton(text) return v4(text) or v6(text) end

sys.ntop = ntop

function sys.lstat(path)
  local f, message, code = io.open(path, "rb")
  if f then
    f:close()
    return { type = "file" }
  end
  return nil, message, code == 2 and "ENOENT" or code == 20 and "ENOTDIR" or "EACCES"
end

function sys.readfile(path)
  local f, message = io.open(path, "rb")
  if not f then
    return nil, message, "ENOENT"
  end
  local text = f:read("a")
  f:close()
  return text
end

function sys.ids() return 1000, 1000 end

return sys
