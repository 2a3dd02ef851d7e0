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

local BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

---Base64 (RFC 4648, section 4).
---@param text string
---@return string
function sentinel.base64(text)
  local out = {}
  for i = 1, #text, 3 do
    local a, b, c = text:byte(i, i + 2)
    local bits = a << 16 | (b or 0) << 8 | (c or 0)
    for shift = 18, 0, -6 do
      local at = (bits >> shift & 63) + 1
      out[#out + 1] = BASE64:sub(at, at)
    end
    if not b then out[#out - 1] = "=" end
    if not c then out[#out] = "=" end
  end
  return table.concat(out)
end

-- Of the base64 of a text that begins so many bytes behind a group's start, the digits that rest on it alone.
local function inner(text, offset)
  local whole = sentinel.base64(("\0"):rep(offset) .. text)
  return whole:sub(offset == 0 and 1 or offset + 2, 8 * (#text + offset) // 6)
end

local function url_safe(text) return (text:gsub("[+/]", { ["+"] = "-", ["/"] = "_" })) end

local function percent(form)
  return function(text)
    return (text:gsub("[^%w._~-]", function(c) return form:format(c:byte()) end))
  end
end

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local WRITTEN = {
  function(text) return text end,
  percent "%%%02X", percent "%%%02x",
  function(text) return (text:gsub('["\\\n\r\t]', ESCAPES)) end,
  function(text) return (text:gsub("/", "\\/")) end,
}

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
  for offset = 0, 2 do
    local from, to = inner(value, offset), inner(stand_in, offset)
    add(from, to)
    add(url_safe(from), url_safe(to))
  end
  return forms
end

return sentinel
