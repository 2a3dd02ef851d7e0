-- SPDX-License-Identifier: Apache-2.0
-- Spells strings, paths and comments of a policy that is written for its user. All of it may come from a hostile
-- command.
local paths = require "srt.paths"

local learn_text = {}

local NAMED = { [7] = "\\a", [8] = "\\b", [9] = "\\t", [10] = "\\n", [11] = "\\v", [12] = "\\f", [13] = "\\r",
  [34] = "\\\"", [92] = "\\\\" }

-- Characters that don't show, or that change how what is beside them shows.
local function hides(code)
  return code < 32 or (code >= 127 and code < 0xa0) or code == 0xad or (code >= 0x200b and code <= 0x200f)
    or (code >= 0x2028 and code <= 0x202e) or (code >= 0x2060 and code <= 0x206f) or code == 0xfeff
    or (code >= 0xfff0 and code <= 0xffff) or code >= 0xe0000
end

local function bytes(text)
  return (text:gsub(".", function(c) return ("\\%03d"):format(c:byte()) end))
end

---A Lua string literal, in one line.
---@param text string any bytes
---@return string
function learn_text.quote(text)
  local out, at = {}, 1
  while at <= #text do
    local code, size = utf8.len(text, at, at) and utf8.codepoint(text, at), 1
    if code then size = #utf8.char(code) end
    local piece = text:sub(at, at + size - 1)
    if not code then
      piece = bytes(piece)
    elseif NAMED[code] then
      piece = NAMED[code]
    elseif hides(code) then
      piece = bytes(piece)
    end
    out[#out + 1] = piece
    at = at + size
  end
  return '"' .. table.concat(out) .. '"'
end

---Text for a comment: as it is where that is plain, else quoted.
---@param text string
---@return string
function learn_text.plain(text)
  local quoted = learn_text.quote(text)
  return quoted:sub(2, -2) == text and text or quoted
end

local function shortened(path, ctx)
  if ctx.cwd ~= "/" and path ~= ctx.cwd and paths.below(path, ctx.cwd) then
    local relative = path:sub(#ctx.cwd + 2)
    -- It must not begin like a home directory or a variable.
    return relative:find("^[~$]") and path or relative
  end
  if ctx.home and ctx.home ~= "/" and path ~= ctx.home and paths.below(path, ctx.home) then
    return "~" .. path:sub(#ctx.home + 1)
  end
  return path
end

---An entry of a path list.
---@param path string absolute
---@param ctx {cwd: string, home: string?}
---@return string Lua
function learn_text.path(path, ctx)
  if path == ctx.cwd then return "srt.cwd" end
  local short = shortened(path, ctx)
  if path:find("[*?%[]") then return ("{ path = %s, literal = true }"):format(learn_text.quote(short)) end
  return learn_text.quote(short)
end

---A few names, and how many more.
---@param names string[]
---@return string
function learn_text.names(names)
  local shown = {}
  for i = 1, math.min(#names, 4) do shown[i] = learn_text.plain(names[i]) end
  local text = table.concat(shown, ", ")
  return #names > #shown and ("%s and %d more"):format(text, #names - #shown) or text
end

return learn_text
