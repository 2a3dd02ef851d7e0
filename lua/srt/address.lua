-- SPDX-License-Identifier: Apache-2.0
-- IP addresses: canonical text, ranges, and the IPv4 address that an IPv6 form carries.
--
-- Addresses are compared as 16 packed bytes; IPv4 as its mapped form ::ffff:a.b.c.d.

local sys = require("srt.c.sys")

local address = {}

local MAPPED = ("\0"):rep(10) .. "\255\255"

---One part of an IPv4 number as inet_aton reads it: decimal, octal with a leading 0, hex with 0x.
local function number(part)
  local hex = part:match("^0[xX](%x*)$")
  local digits = hex or part:match("^0([0-7]*)$") or part:match("^[1-9]%d*$")
  if not digits then
    return nil
  end
  digits = digits:gsub("^0+", "")
  if #digits > 11 then
    return nil
  end
  local base = hex and 16 or (part:sub(1, 1) == "0" and 8 or 10)
  return digits == "" and 0 or tonumber(digits, base)
end

---Reads every spelling of IPv4 that resolvers take (127.1, 0x7f.1, 2130706433).
---@param text string
---@return string|nil packed 4 bytes
function address.ipv4(text)
  local parts = {}
  for part in (text .. "."):gmatch("([^.]*)%.") do
    local n = number(part)
    if not n or #parts == 4 then
      return nil
    end
    parts[#parts + 1] = n
  end
  local total, last = 0, parts[#parts]
  for i = 1, #parts - 1 do
    if parts[i] > 255 then
      return nil
    end
    total = total | parts[i] << (8 * (4 - i))
  end
  if last >= 1 << (8 * (5 - #parts)) then
    return nil
  end
  return string.pack(">I4", total | last)
end

---Reads an address in its usual text form, a zone (fe80::1%eth0) left aside.
---@param text string
---@return string|nil bytes 16 packed bytes
function address.parse(text)
  if text:find("[^%x%.:%%%w_-]") then
    return nil
  end
  local bare = text:match("^([^%%]*:[^%%]*)%%.+$") or text
  local packed = sys.pton(bare)
  if packed and #packed == 4 then
    return MAPPED .. packed
  end
  return packed
end

---The one text form of an address; a mapped IPv4 address is shown as IPv4.
---@param bytes string 16 packed bytes
---@return string
function address.text(bytes)
  if bytes:sub(1, 12) == MAPPED then
    return ("%d.%d.%d.%d"):format(bytes:byte(13, 16))
  end
  return sys.ntop(bytes)
end

---@param packed string 4 packed bytes
---@return string bytes 16
function address.mapped(packed)
  return MAPPED .. packed
end

-- Where the forms that carry an IPv4 address keep it (RFC 4291, 6145, 6052, 8215, 3056).
local CARRIERS = {
  { prefix = ("\0"):rep(12), at = 13 },
  { prefix = ("\0"):rep(8) .. "\255\255\0\0", at = 13 },
  { prefix = "\0\x64\xff\x9b" .. ("\0"):rep(8), at = 13 },
  { prefix = "\0\x64\xff\x9b\0\1", at = 13 },
  { prefix = "\x20\x02", at = 3 },
}

---The IPv4 address that an IPv6 address carries, as mapped bytes.
---@param bytes string 16
---@return string|nil bytes 16
function address.carried(bytes)
  for _, form in ipairs(CARRIERS) do
    if bytes:sub(1, #form.prefix) == form.prefix then
      return MAPPED .. bytes:sub(form.at, form.at + 3)
    end
  end
  return nil
end

local function masked(bytes, prefix)
  local whole, rest = prefix // 8, prefix % 8
  if rest == 0 then
    return bytes:sub(1, whole)
  end
  return bytes:sub(1, whole) .. string.char(bytes:byte(whole + 1) & (0xff00 >> rest & 0xff))
end

---Reads an address or CIDR range. Host bits may be set; they are masked off.
---@param text string
---@return table|nil range {text=, prefix=, bytes=}
---@return string|nil reason
function address.range(text)
  if text:find("[%[%]]") then
    return nil, "write the address without brackets"
  end
  local host, digits = text:match("^([^/]*)/?(.*)$")
  local packed = sys.pton(host)
  if not packed then
    return nil, 'not an IP address or range; write for example "10.0.0.0/8" or "fc00::/7"'
  end
  local bits = #packed * 8
  local prefix = bits
  if text:find("/", 1, true) then
    prefix = digits:match("^%d%d?%d?$") and tonumber(digits) or nil
    if not prefix or prefix > bits then
      return nil, ("the prefix length must be a number from 0 to %d"):format(bits)
    end
  end
  if bits == 32 then
    packed, prefix = MAPPED .. packed, prefix + 96
  elseif packed:sub(1, 12) == MAPPED and prefix < 96 then
    return nil, "the prefix of an IPv4-mapped range can't be below 96; write the IPv4 range"
  end
  return { text = text, prefix = prefix, bytes = masked(packed, prefix) }
end

---A set of ranges with a value each; a look-up costs one hash access per distinct prefix length.
---@param ranges table[] {prefix=, bytes=, value=}
---@return fun(bytes: string): any value of the longest range that holds the address, or nil
function address.set(ranges)
  local sets, lengths = {}, {}
  for _, range in ipairs(ranges) do
    local set = sets[range.prefix]
    if not set then
      set = {}
      sets[range.prefix] = set
      lengths[#lengths + 1] = range.prefix
    end
    set[range.bytes] = range.value or range
  end
  table.sort(lengths, function(a, b) return a > b end)
  return function(bytes)
    for _, prefix in ipairs(lengths) do
      local value = sets[prefix][masked(bytes, prefix)]
      if value ~= nil then
        return value
      end
    end
    return nil
  end
end

return address
