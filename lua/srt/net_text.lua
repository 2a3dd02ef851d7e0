-- SPDX-License-Identifier: Apache-2.0
-- How the messages of network decisions spell hosts and places, and the denials that more than one of them makes.

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

---A URL for a message, without its query, which may hold secrets.
---@param url string
---@return string
function net_text.url(url)
  local plain, query = url:match("^([^?]*)(%??)")
  return net_text.shown(plain) .. (query ~= "" and "?…" or "")
end

---@param origin table|nil
---@return string " (file:line)", or nothing
function net_text.where(origin)
  return origin and (" (%s)"):format(require("srt.source").where(origin)) or ""
end

---What programs that know srt look for where a host is denied: a first line, and X-Proxy-Error.
---@param decision table
function net_text.like_srt(decision)
  decision.title, decision.code = "Connection blocked by network allowlist", "blocked-by-allowlist"
end

---@param fields table of a decision
---@return table that decision, a denial
function net_text.deny(fields)
  fields.action = "deny"
  return fields
end

local target, where, deny = net_text.target, net_text.where, net_text.deny

---@param rule table that matched
---@return table decision
function net_text.by_deny_list(host, port, rule)
  local text = ("%s is denied by network.deniedDomains %q%s"):format(target(host, port), rule.text, where(rule.origin))
  if rule.reason then
    text = text .. ": " .. rule.reason
  end
  return deny({ reason = text, rule = ("network.deniedDomains %q"):format(rule.text), origin = rule.origin,
    host = host, port = port,
    advice = not rule.reason and "use another host, or ask whoever wrote the policy to take the entry out" or nil })
end

---What a list decides that was given with a command (srt-lua session).
---@param rule table that matched
---@param action "allow"|"deny"
---@return table decision
function net_text.by_command(host, port, rule, action)
  local name = ("the command's %s %q"):format(action == "allow" and "allowedDomains" or "deniedDomains", rule.text)
  if action == "allow" then return { action = "allow", rule = name, host = host, port = port } end
  return deny({ reason = ("%s is denied by %s"):format(target(host, port), name), rule = name, host = host,
    port = port })
end

---@param strict boolean decideConnect is not asked
---@return table decision
function net_text.not_listed(host, port, strict)
  local name = target(host, port)
  return deny({
    reason = ("%s is not in network.allowedDomains%s; add %q to the policy to allow it%s"):format(name,
      strict and " and network.strictAllowlist is set" or "", name, require("srt.metadata").warning(host)),
    rule = strict and "network.strictAllowlist" or "network.allowedDomains", host = host, port = port,
  })
end

---What follows on "was denied by network.KIND (file:line)".
---@param answer {reason: string?, fault: boolean?} of srt.verdict: a fault's reason begins with the callback as well
---@return string
function net_text.because(answer)
  local reason = answer.reason
  return reason and ": " .. (answer.fault and reason:gsub("^network%.%w+: ", "", 1) or reason) or ""
end

return net_text
