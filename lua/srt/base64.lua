-- SPDX-License-Identifier: Apache-2.0
-- Base64 (RFC 4648, section 4).

local base64 = {}

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

---@param text string
---@return string
function base64.encode(text)
  local out = {}
  for i = 1, #text, 3 do
    local a, b, c = text:byte(i, i + 2)
    local bits = a << 16 | (b or 0) << 8 | (c or 0)
    for shift = 18, 0, -6 do
      local at = (bits >> shift & 63) + 1
      out[#out + 1] = DIGITS:sub(at, at)
    end
    if not b then out[#out - 1] = "=" end
    if not c then out[#out] = "=" end
  end
  return table.concat(out)
end

return base64
