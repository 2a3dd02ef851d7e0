-- SPDX-License-Identifier: Apache-2.0
-- Plain data as bytes, for processes of ours that hand each other a plan: fast, and strings are any bytes.
local pack = {}

local MOST_DEPTH = 32

local write

local WRITERS = {
  ["nil"] = function(out) out[#out + 1] = "n" end,
  boolean = function(out, v) out[#out + 1] = v and "t" or "f" end,
  string = function(out, v) out[#out + 1] = string.pack("<c1s4", "s", v) end,
  number = function(out, v)
    out[#out + 1] = math.type(v) == "integer" and string.pack("<c1i8", "i", v) or string.pack("<c1d", "d", v)
  end,
  table = function(out, v, depth)
    if depth > MOST_DEPTH then error("data is nested too deep") end
    local at, count = #out + 1, 0
    out[at] = ""
    for key, item in pairs(v) do
      write(out, key, depth + 1)
      write(out, item, depth + 1)
      count = count + 1
    end
    out[at] = string.pack("<c1I4", "{", count)
  end,
}

function write(out, v, depth)
  local writer = WRITERS[type(v)]
  if not writer then error("no plain data: a " .. type(v)) end
  writer(out, v, depth)
end

---@param value any plain data, without loops
---@return string bytes
function pack.encode(value)
  local out = {}
  write(out, value, 0)
  return table.concat(out)
end

local read

local READERS = {
  n = function(_, at) return nil, at end,
  t = function(_, at) return true, at end,
  f = function(_, at) return false, at end,
  s = function(bytes, at) return string.unpack("<s4", bytes, at) end,
  i = function(bytes, at) return string.unpack("<i8", bytes, at) end,
  d = function(bytes, at) return string.unpack("<d", bytes, at) end,
  ["{"] = function(bytes, at, depth)
    if depth > MOST_DEPTH then error("data is nested too deep") end
    local out = {}
    local count, first = string.unpack("<I4", bytes, at)
    at = first
    for _ = 1, count do
      local key
      key, at = read(bytes, at, depth + 1)
      out[key], at = read(bytes, at, depth + 1)
    end
    return out, at
  end,
}

function read(bytes, at, depth)
  local reader = READERS[bytes:sub(at, at)]
  if not reader then error("these bytes are no data of ours") end
  return reader(bytes, at + 1, depth)
end

---@param bytes string
---@return any value nil where they are none of encode's
---@return string|nil message
function pack.decode(bytes)
  local ok, value, at = pcall(read, bytes, 1, 0)
  if not ok then return nil, tostring(value) end
  if at ~= #bytes + 1 then return nil, "these bytes are no data of ours" end
  return value
end

return pack
