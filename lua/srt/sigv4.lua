-- SPDX-License-Identifier: Apache-2.0
-- AWS Signature Version 4: what is signed of a request, and the signature. Pure: asks nobody, keeps nothing.
-- https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
local sigv4 = {}

local ALGORITHM = "AWS4-HMAC-SHA256"

local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function sha256(text) return hex(require("srt.c.secret").sha256(text)) end
local function hmac(key, text) return require("srt.c.secret").hmac(key, text) end

sigv4.sha256 = sha256

---@class srt.sigv4
---@field key string access key id
---@field scope string DATE/REGION/SERVICE/aws4_request
---@field date string YYYYMMDD
---@field region string
---@field service string
---@field signed string[] names of headers, lower case, in the order given
---@field signature string

---Reads an Authorization field.
---@param value string
---@return srt.sigv4? nil where it is no signature of this kind
function sigv4.parse(value)
  local rest = value:match("^AWS4%-HMAC%-SHA256%s+(.*)$")
  if not rest then return nil end
  local fields = {}
  for part in rest:gmatch("[^,]+") do
    local name, text = part:match("^%s*(%w+)=(%S+)%s*$")
    if not name or fields[name] then return nil end
    fields[name] = text
  end
  local key, date, region, service = (fields.Credential or ""):match("^(.+)/(%d+)/([^/]+)/([^/]+)/aws4_request$")
  if not key or #date ~= 8 or not fields.SignedHeaders or not (fields.Signature or ""):find("^%x+$")
    or #fields.Signature ~= 64 then
    return nil
  end
  local signed = {}
  for name in fields.SignedHeaders:gmatch("[^;]+") do signed[#signed + 1] = name end
  return { key = key, date = date, region = region, service = service, signed = signed,
    scope = table.concat({ date, region, service, "aws4_request" }, "/"), signature = fields.Signature }
end

local function encode(text, keep)
  return (text:gsub("[^%w._~" .. keep .. "-]", function(c) return ("%%%02X"):format(c:byte()) end))
end

local function decode(text)
  return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

-- S3 takes a path as it is; all others sign it without dot segments and encoded once more.
local function canonical_path(path, service)
  if service == "s3" then return encode(decode(path), "/") end
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." then parts[#parts] = nil elseif part ~= "." then parts[#parts + 1] = part end
  end
  local tail = #parts > 0 and path:find("/%.?%.?$") and "/" or ""
  return encode("/" .. table.concat(parts, "/") .. tail, "/")
end

local function canonical_query(query)
  local pairs_of = {}
  for part in (query or ""):gmatch("[^&]+") do
    local name, value = part:match("^([^=]*)=?(.*)$")
    pairs_of[#pairs_of + 1] = { encode(decode(name), ""), encode(decode(value), "") }
  end
  table.sort(pairs_of, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  for i, pair in ipairs(pairs_of) do pairs_of[i] = pair[1] .. "=" .. pair[2] end
  return table.concat(pairs_of, "&")
end

-- Space at the ends goes, more than one becomes one; a field that came twice is a list.
local function canonical_value(values)
  local out = {}
  for i, value in ipairs(values) do out[i] = value:match("^%s*(.-)%s*$"):gsub("%s+", " ") end
  return table.concat(out, ",")
end

---The canonical request.
---@param request {method: string, path: string, query: string?, headers: table<string, string[]>, payload: string}
---@param of srt.sigv4
---@return string? text
---@return string? problem
function sigv4.canonical(request, of)
  local lines = {}
  for i, name in ipairs(of.signed) do
    if not request.headers[name] then return nil, "the signed header " .. name .. " is not there" end
    lines[i] = name .. ":" .. canonical_value(request.headers[name]) .. "\n"
  end
  return table.concat({ request.method, canonical_path(request.path, of.service), canonical_query(request.query),
    table.concat(lines), table.concat(of.signed, ";"), request.payload }, "\n")
end

---The signature of a canonical request.
---@param secret string
---@param canonical string
---@param of srt.sigv4
---@param time string YYYYMMDDTHHMMSSZ
---@return string
function sigv4.sign(secret, canonical, of, time)
  local key = "AWS4" .. secret
  for _, part in ipairs { of.date, of.region, of.service, "aws4_request" } do key = hmac(key, part) end
  return hex(hmac(key, table.concat({ ALGORITHM, time, of.scope, sha256(canonical) }, "\n")))
end

---An Authorization field.
---@param of srt.sigv4
---@param key string access key id
---@param signature string
---@return string
function sigv4.text(of, key, signature)
  return ("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s"):format(ALGORITHM, key, of.scope,
    table.concat(of.signed, ";"), signature)
end

return sigv4
