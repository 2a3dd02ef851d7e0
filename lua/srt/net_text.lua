-- SPDX-License-Identifier: Apache-2.0
-- How the messages of network decisions spell hosts and places.

local net_text = {}

---@param host string canonical
---@param port integer 0 for any
---@return string
function net_text.target(host, port)
  if port == 0 then return host end
  return host:find(":", 1, true) and ("[%s]:%d"):format(host, port) or ("%s:%d"):format(host, port)
end

---What a client sent, for a message: bounded, without bytes that a terminal would act on.
---@param text string
---@return string
function net_text.shown(text)
  text = text:gsub("[^%g ]", function(c) return ("\\x%02x"):format(c:byte()) end)
  return #text > 100 and text:sub(1, 100) .. "…" or text
end

---@param origin table|nil
---@return string " (file:line)", or nothing
function net_text.where(origin)
  return origin and (" (%s)"):format(require("srt.source").where(origin)) or ""
end

return net_text
