-- SPDX-License-Identifier: Apache-2.0
-- Paths that two readers could read in two ways: a filter must not judge one and the server serve the other.

local target = {}

local SHAPES = {
  { "%%[^%x]", "a % that encodes nothing" }, { "%%%x[^%x]", "a % that encodes nothing" },
  { "%%%x?$", "a % that encodes nothing" },
  { "%%2[fF]", "an encoded slash" }, { "%%5[cC]", "an encoded backslash" }, { "\\", "a backslash" },
  { "%%[01]%x", "an encoded control byte" }, { "%%7[fF]", "an encoded control byte" },
  { "%%25%x%x", "something encoded twice" },
}

-- What no normal form settles, since servers differ on what it means.
local function beyond_repair(path)
  for _, shape in ipairs(SHAPES) do
    if path:find(shape[1]) then return shape[2] end
  end
  -- Some servers take parameters off a segment before they look at it.
  if path:find("/%.%.?;") then return "a dot segment with parameters" end
end

-- RFC 3986 6.2.2.2: these mean the same encoded or not. "~" is left, for many clients encode it.
local function plain(path)
  return (path:gsub("%%(%x%x)", function(hex)
    local byte = string.char(tonumber(hex, 16))
    return byte:find("[%w._-]") and byte or nil
  end))
end

-- RFC 3986 5.2.4, on a path without empty segments.
local function without_dots(path)
  local kept, last = {}, nil
  for segment in path:gmatch("/([^/]*)") do
    last = segment
    if segment == ".." then
      kept[#kept] = nil
    elseif segment ~= "." then
      kept[#kept + 1] = segment
    end
  end
  local folder = (last == "." or last == "..") and #kept > 0 and "/" or ""
  return "/" .. table.concat(kept, "/") .. folder
end

---What makes a path ambiguous; nil where nothing does.
---@param path string starts with "/"; without query
---@return string|nil why
function target.ambiguous(path)
  if path:find("//", 1, true) then return "an empty segment" end
  local encoded = path:find("%", 1, true)
  if not encoded and not path:find("/.", 1, true) and not path:find("\\", 1, true) then return nil end
  local why = beyond_repair(path)
  if why then return why end
  local decoded = encoded and plain(path) or path
  if (decoded .. "/"):find("/%.%.?/") then return "a dot segment" end
  if decoded ~= path then return "letters, digits, dots or dashes that are encoded without need" end
end

---The one form of a path.
---@param path string starts with "/"; without query
---@return string|nil path
---@return string|nil why there is none
function target.normal(path)
  local decoded = plain(path)
  local why = beyond_repair(path) or beyond_repair(decoded)
  if why then return nil, why end
  decoded = decoded:gsub("%%%x%x", string.upper):gsub("/+", "/")
  return without_dots(decoded)
end

---Reads a path as network.ambiguousRequestTarget says.
---@param path string starts with "/"; without query
---@param mode "refuse"|"normalize"|"allow"
---@return string|nil path
---@return string|nil why it is refused
function target.read(path, mode)
  if mode == "allow" then return path end
  local why = target.ambiguous(path)
  if not why then return path end
  if mode == "normalize" then return target.normal(path) end
  return nil, why
end

return target
