-- SPDX-License-Identifier: Apache-2.0
-- Sentinels: what stands inside for a value. Of its length, so that a message in which one replaces the other keeps its
-- length; random, so that it is met nowhere else; and to be recognised.
local sys = require "srt.c.sys"

local sentinel = {}

-- Shorter values would be met by chance (SUBSTITUTE_LEAST in proxy/substitute.h).
sentinel.LEAST, sentinel.MOST = 8, 65536

-- Public beginnings of tokens, which tools look at before they use one.
local KINDS = { "github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "sk-ant-", "sk-proj-", "sk-", "xoxb-",
  "xoxp-", "npm_", "pypi-", "hf_", "AKIA", "ASIA" }
local ROOM = 12 -- for what is random

local LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
local ALL = LETTERS .. LETTERS:lower() .. "0123456789"
local UPPER = LETTERS .. "0123456789"

local function random(alphabet, size)
  local out = {}
  while #out < size do
    for pair in assert(sys.random(math.min(64, size - #out))):gmatch("%x%x") do
      local at = tonumber(pair, 16) % #alphabet + 1
      out[#out + 1] = alphabet:sub(at, at)
    end
  end
  return table.concat(out)
end

local function kind_of(value)
  for _, kind in ipairs(KINDS) do
    if value:sub(1, #kind) == kind and #value >= #kind + ROOM then return kind end
  end
  return ""
end

---A new sentinel for a value.
---@param value string
---@return string
function sentinel.new(value)
  local upper = not value:find("[^A-Z0-9]")
  local head = kind_of(value) .. (upper and "SRTM" or "srtM")
  return head .. random(upper and UPPER or ALL, #value - #head)
end

-- Of the base64 of a text that begins so many bytes behind a group's start, the digits that rest on it alone.
local function inner(text, offset)
  local whole = require("srt.base64").encode(("\0"):rep(offset) .. text)
  return whole:sub(offset == 0 and 1 or offset + 2, 8 * (#text + offset) // 6)
end

local function url_safe(text) return (text:gsub("[+/]", { ["+"] = "-", ["/"] = "_" })) end

-- Percent-encoding, but of letters, digits, and what is kept; a blank may be a plus.
local function percent(keeps, plus)
  local class = "[^%w" .. keeps .. "]"
  local function write(form)
    return function(text)
      return (text:gsub(class, function(c) return plus and c == " " and "+" or form:format(c:byte()) end))
    end
  end
  return write "%%%02X", write "%%%02x"
end

-- Those of JSON's escapes that all writers have, with others that some have.
local function json(more)
  local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }
  for c, escape in pairs(more) do escapes[c] = escape end
  return function(text) return (text:gsub("[%c%p]", escapes)) end
end

-- JSON of nothing but ASCII, as many write it.
local function ascii(write)
  return function(text)
    if not utf8.len(text) then return text end
    return (write(text):gsub(utf8.charpattern, function(c)
      local code = utf8.codepoint(c)
      if code < 0x80 then return nil end
      if code < 0x10000 then return ("\\u%04x"):format(code) end
      code = code - 0x10000
      return ("\\u%04x\\u%04x"):format(0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff))
    end))
  end
end

local function html(more)
  local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }
  for c, escape in pairs(more) do escapes[c] = escape end
  return function(text) return (text:gsub("%p", escapes)) end
end

-- What writers differ in; each is that of a language's own library, or of a common one.
local WRITTEN = { function(text) return text end }
for _, keeps in ipairs {
  { "._~-" }, { "._~/-" },                                -- RFC 3986; a path: Python
  { "._~!'()*-" }, { "._~!'()*;,/?:@&=+$#-" },            -- encodeURIComponent, encodeURI
  { "._~$&+:=@-" },                                       -- a path's segment: Go
  { "._*-", true }, { "._-", true }, { "._~-", true },    -- forms: browsers and Java; PHP; Python, Go
  { "._-" },                                              -- before RFC 3986
} do
  WRITTEN[#WRITTEN + 1], WRITTEN[#WRITTEN + 2] = percent(keeps[1], keeps[2])
end
for _, more in ipairs {
  {}, { ["/"] = "\\/" },                                  -- most; PHP
  { ["<"] = "\\u003c", [">"] = "\\u003e", ["&"] = "\\u0026" }, -- Go
  { ["<"] = "\\u003C", [">"] = "\\u003E", ["&"] = "\\u0026", ["'"] = "\\u0027", ['"'] = "\\u0022", ["+"] = "\\u002B",
    ["`"] = "\\u0060" },                                  -- .NET; below: Gson
  { ["<"] = "\\u003c", [">"] = "\\u003e", ["&"] = "\\u0026", ["'"] = "\\u0027", ["="] = "\\u003d" },
} do
  local write = json(more)
  WRITTEN[#WRITTEN + 1], WRITTEN[#WRITTEN + 2] = write, ascii(write)
end
for _, more in ipairs {
  {}, { ["'"] = "&#39;" }, { ["'"] = "&#x27;" }, { ["'"] = "&#039;" }, { ["'"] = "&#39;", ['"'] = "&#34;" },
  { ["'"] = "&#39;", ["/"] = "&#x2F;", ["`"] = "&#x60;", ["="] = "&#x3D;" }, -- Mustache
} do
  WRITTEN[#WRITTEN + 1] = html(more)
end

---The ways in which a server may write a value, and what to put in their place.
---@param value string
---@param stand_in string its sentinel
---@return {from: string, to: string}[]
function sentinel.forms(value, stand_in)
  local forms, seen = {}, {}
  local function add(from, to)
    if seen[from] or #from < sentinel.LEAST or #from > sentinel.MOST then return end
    seen[from] = true
    forms[#forms + 1] = { from = from, to = to .. ("x"):rep(#from - #to) }
  end
  for _, write in ipairs(WRITTEN) do add(write(value), stand_in) end
  -- Names of hosts and of fields come back like that.
  for _, write in ipairs { string.lower, string.upper } do add(write(value), write(stand_in)) end
  for offset = 0, 2 do
    local from, to = inner(value, offset), inner(stand_in, offset)
    add(from, to)
    add(url_safe(from), url_safe(to))
    for _, write in ipairs { percent "._~-" } do add(write(from), write(to):sub(1, #write(from))) end
  end
  return forms
end

return sentinel
