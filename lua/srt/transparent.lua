-- SPDX-License-Identifier: Apache-2.0
-- Programs that ignore proxies: what their network is inside, and what a run needs for it.
--
-- A resolver of ours hands out made up addresses for names; TCP to anywhere is redirected to the proxy, which knows the
-- name again. Redirecting is set up when the first name is asked for, for it can take as long as the rest of a start:
-- until then there is no way out but the proxy's ports. It is there from the start where the policy asks for it, or
-- where a destination might be allowed that needs no lookup.

local transparent = {}

-- Addresses of the sandbox, and those that names get: these with a number in the end (proxy/names.h). 198.18.0.0/15 is
-- for benchmarks (RFC 2544), no name outside leads there (srt.guard). The other is a local prefix of ours (RFC 4193),
-- not one of global use, so that by RFC 6724 programs prefer IPv4 (glibc's table is older, there IPv6 comes first).
transparent.OWN = { v4 = "198.18.0.1", v6 = "fd73:7274:6c75::1" }
transparent.NAMES = { v4 = "198.18.0.0", v6 = "fd73:7274:6c75::" }
transparent.PORT = 3129

local DNS_PORT = 53
local RESOLV, SWITCH = "/etc/resolv.conf", "/etc/nsswitch.conf"
local KEY = "network.transparent"

-- A search list, also one made of the host's name, would only be tried in vain.
local RESOLV_TEXT = ("# srt-lua: names resolve inside the sandbox\nnameserver %s\nsearch .\n")
  :format(transparent.OWN.v4)

---@param network table of the profile, with allowed, strict, enabled
---@param value boolean|nil of the policy
---@param asks boolean is there a decideConnect?
---@return table|nil how {eager = from the start, needed = or no run}; nil for off
function transparent.resolve(network, value, asks)
  if value == false or not network.enabled then return nil end
  local eager = value == true or (asks and not network.strict)
  for _, rule in ipairs(network.allowed) do
    eager = eager or (rule.address and not require("srt.loopback").addresses(rule.host))
  end
  return { eager = eager or false, needed = value == true }
end

---The lookup order for hosts, where something but the resolver and /etc/hosts would be asked.
---@param text string of nsswitch.conf
---@return string|nil text with another order
function transparent.switch(text)
  local line = ("\n" .. text):match("\n[ \t]*hosts:([^\n#]*)")
  local own, other = "hosts: files", false
  for source in (line or ""):gmatch("%S+") do
    if source == "myhostname" then own = own .. " myhostname" end
    other = other or (source ~= "files" and source ~= "dns" and source ~= "myhostname")
  end
  if not other then return nil end
  return (("\n" .. text):gsub("\n[ \t]*hosts:[^\n]*", "\n" .. own .. " dns"):sub(2))
end

---Files that read as ours inside.
---@return table[] entries for filesystem.masked
function transparent.files()
  local function entry(path, content)
    return { given = path, path = path, literal = true, content = content, builtin = KEY, origin = { key = KEY } }
  end
  local list = { entry(RESOLV, RESOLV_TEXT) }
  local text = require("srt.c.sys").readfile(SWITCH, 65536)
  local switch = text and transparent.switch(text)
  if switch then list[2] = entry(SWITCH, switch) end
  return list
end

---Where libc looks for a resolver: at the one of our file, or where there is none to read, on loopback.
local function server(rules)
  for path, masked in pairs(rules.masked) do
    if masked.entry.builtin == KEY and masked.entry.given == RESOLV and rules:at(path).read then
      return transparent.OWN.v4
    end
  end
  return "127.0.0.1"
end

---How a plan redirects.
---@param how table of transparent.resolve
---@param port integer a free one
---@return table redirect
function transparent.redirect(how, port)
  return { port = port, eager = how.eager, needed = how.needed, v4 = transparent.OWN.v4, v6 = transparent.OWN.v6 }
end

---Adds where PID 1 has to listen for that to a plan.
---@param plan table with listen and redirect
---@param rules table from srt.decide_path
function transparent.extend(plan, rules)
  local listen, address, port = plan.listen, server(rules), plan.redirect.port
  local function add(point) listen[#listen + 1] = point end
  local taken = false
  for _, point in ipairs(listen) do
    taken = taken or (point.address == address and point.port == DNS_PORT)
  end
  add({ address = "127.0.0.1", port = port, purpose = "transparent" })
  add({ address = "::1", port = port, purpose = "transparent" })
  add({ address = address, port = DNS_PORT, purpose = "dns", datagrams = true })
  if not taken then add({ address = address, port = DNS_PORT, purpose = "dns" }) end
end

---Hands one of these points to the proxy.
---@param sandbox userdata
---@param proxy userdata
---@param point table
---@param fd integer
---@param live fun(): table of serve.open
---@param reporter table from srt.reporting
---@return boolean|nil ok
---@return string|nil message
function transparent.serve(sandbox, proxy, point, fd, live, reporter)
  local redirect = require("srt.c.redirect")
  if point.purpose == "transparent" then
    return redirect.redirected(proxy, fd)
  elseif not point.datagrams then
    return redirect.streams(proxy, fd)
  end
  return redirect.resolve(sandbox, proxy, fd, transparent.NAMES.v4, transparent.NAMES.v6, function(name, who)
    local decision = live():name(name)
    if decision.action == "allow" then return nil end
    reporter:add(require("srt.denials").name(name, decision, require("srt.c.process").asker(who)))
    return decision.reason
  end)
end

---Can this machine do it? It is tried, which takes some milliseconds.
---@return boolean|nil
---@return string|nil why not
function transparent.works()
  return require("srt.c.redirect").try(transparent.PORT, transparent.OWN.v4, transparent.OWN.v6)
end

return transparent
