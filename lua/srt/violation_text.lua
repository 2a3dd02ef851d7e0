-- SPDX-License-Identifier: Apache-2.0
-- How a violation is spelled: without bytes that a terminal, a reader of tags or a model would take for something else.

local violation_text = {}

local MAX_TEXT = 2000

-- What each kind was an attempt at, as srt spells the lines of its reports.
local ATTEMPTS = {
  connect = "network-outbound", address = "network-outbound", name = "network-resolve", request = "http-request",
  response = "http-response", socket = "socket", namespace = "namespace", mount = "mount", write = "file-write",
  read = "file-read", callback = "callback", system = "system",
}

-- Control characters, line and paragraph separators, what turns the direction of writing, and what has no width or no
-- look, which can carry text unseen. core/visible.c has the same list.
local DECEIVING = {
  { 0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 },
  { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
  { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
}

---Does a character make text look like something that it is not?
---@param c integer code point
---@return boolean
function violation_text.deceives(c)
  for _, range in ipairs(DECEIVING) do
    if c <= range[2] then return c >= range[1] end
  end
  return false
end

---One line of well-formed text: what deceives becomes a blank, what is no UTF-8 a question mark; bounded.
---@param text string
---@param most integer? characters
---@return string
function violation_text.clean(text, most)
  most = most or MAX_TEXT
  if not text:find("[^ -~]") then return #text > most and text:sub(1, most) .. "…" or text end
  local out, at = {}, 1
  while at <= #text do
    if #out == most then
      out[#out + 1] = "…"
      break
    end
    local to = utf8.len(text, at, at) and utf8.offset(text, 2, at)
    local code = to and utf8.codepoint(text, at)
    out[#out + 1] = not to and "?" or violation_text.deceives(code) and " " or text:sub(at, to - 1)
    at = to or at + 1
  end
  return table.concat(out)
end

---The key that violations of a command are found by: its first 100 characters.
---@param id string
---@return string
function violation_text.key(id)
  id = violation_text.clean(id)
  local to = utf8.offset(id, 101)
  return to and id:sub(1, to - 1) or id
end

---What `ignoreViolations` compares with: what was tried, and on what.
---@param v table a violation
---@return string
function violation_text.subject(v)
  return ("deny %s %s"):format(ATTEMPTS[v.kind] or v.kind, v.target)
end

---What a reason says after the target that most begin with. Of a URL they leave out the scheme's own port.
---@param v {target: string?, reason: string}
---@return string|nil
function violation_text.beyond(v)
  local target, reason = v.target or "", v.reason:gsub("^the response to ", "")
  local url = target:gsub("^(%S+ http://[^/]*):80/", "%1/"):gsub("^(%S+ https://[^/]*):443/", "%1/")
  local method, rest = url:match("^(%S+) (.+)$")
  for _, said in ipairs { target, url, method and method .. " " .. require("srt.net_text").url(rest) } do
    if said ~= "" and reason:sub(1, #said) == said then return reason:sub(#said + 1) end
  end
end

-- What the policy's author wrote comes first: a narrow screen cuts the end.
local function author_first(v)
  local by, place, why = (violation_text.beyond(v) or ""):match("^ %l+ denied by (.-) (%b()): (.+)$")
  return why and ("%s (%s, %s)"):format(why, by, place:sub(2, -2)) or v.reason
end

---What a user is told about a violation: what to add to the policy, or else why it was denied, by which rule and whose.
---@param v {target: string?, advice: string?, reason: string?, rule: string?, origin: string?}
---@return string
function violation_text.why(v)
  if v.advice then return v.advice end
  local by = {}
  for _, part in ipairs { v.rule or false, v.origin or false } do
    if part and not (v.reason and v.reason:find(part, 1, true)) then by[#by + 1] = part end
  end
  local rule = table.concat(by, ", ")
  if not v.reason then return by[1] and rule or "denied" end
  return by[1] and ("%s (%s)"):format(v.reason, rule) or author_first(v)
end

---A violation as one line, without what would end a <sandbox_violations> block early.
---@param v table
---@return string
function violation_text.line(v)
  local text = violation_text.subject(v)
  if v.reason then text = ("%s (%s)"):format(text, v.reason) end
  return (violation_text.clean(text):gsub("[<>]", ""))
end

return violation_text
