-- SPDX-License-Identifier: Apache-2.0
-- Entries of allowedDomains and deniedDomains, the one form of a host, and matching.

local domain = {}

local NAME = "^[%w._-]+$"
-- Two labels at least, in their one form, the last of which is no number: what nearly all entries of long lists are.
local PLAIN = "^[%l%d_-][%l%d._-]*%.%l[%l%d_-]*$"

---Reads the text between brackets as an address: its canonical form, or nil.
local function bracketed(inner)
  if not inner:find(":", 1, true) or not inner:find("^[%x:.]+$") then return nil end
  local address = require("srt.address")
  local bytes = address.parse(inner)
  return bytes and address.text(bytes) or nil
end

local function ends_in_number(host)
  local last = host:match("([^.]*)$")
  return last:find("^%d+$") ~= nil or last:find("^0[xX]%x*$") ~= nil
end

---The one form of a host: lower case, no trailing dot, addresses in their usual text.
---@param host string as a client spelled it
---@return string|nil canonical may be "" for "."
---@return string|nil reason
function domain.canonical(host)
  if host == "" then
    return nil, "it is empty"
  end
  local inner = host:match("^%[(.*)%]$")
  if inner or host:find(":", 1, true) then
    local text = bracketed(inner or host)
    if text then
      return text
    end
    return nil, "it is not an IPv6 address"
  end
  if not host:find(NAME) then
    return nil, host:find("[\128-\255]") and "names outside ASCII must come in their xn-- form"
      or "it holds characters that no host name has"
  end
  host = host:lower():gsub("%.$", "")
  if host ~= "" and ends_in_number(host) then
    local address = require("srt.address")
    local packed = address.ipv4(host)
    if packed then
      return address.text(address.mapped(packed))
    end
  end
  return host
end

---@param canonical string
---@return boolean
function domain.is_address(canonical)
  return canonical:find(":", 1, true) ~= nil or canonical:find("^%d+%.%d+%.%d+%.%d+$") ~= nil
end

---Is this one of the names that RFC 6761 keeps for loopback?
---@param canonical string
---@return boolean
function domain.is_localhost(canonical)
  return canonical == "localhost" or canonical:find("%.localhost$") ~= nil
end

local function read_port(text)
  local port = text:match("^[1-9]%d?%d?%d?%d?$") and tonumber(text)
  if port and port <= 65535 then
    return port
  end
  local plain = text:match("^0+([1-9]%d*)$")
  return nil, plain and ("the port must be written without leading zeros: %s"):format(plain)
    or "the port must be a number from 1 to 65535"
end

---Splits "host:port"; the host may be a bracketed address.
---@return string|nil host, integer|nil port, string|nil reason
local function split(entry)
  local inner, rest = entry:match("^%[([^%]]*)%](.*)$")
  if inner then
    if rest == "" then
      return entry, nil
    elseif rest:sub(1, 1) ~= ":" then
      return nil, nil, "only a port may follow the brackets, as in \"[::1]:443\""
    end
    local port, reason = read_port(rest:sub(2))
    return port and ("[%s]"):format(inner) or nil, port, reason
  end
  if entry:sub(1, 1) == "[" then
    return nil, nil, "the bracket is not closed"
  end
  local _, colons = entry:gsub(":", "")
  if colons == 0 then
    return entry, nil
  elseif colons > 1 then
    return nil, nil, "an IPv6 address needs brackets, as in \"[2001:db8::1]\" or \"[2001:db8::1]:443\""
  end
  local host, text = entry:match("^(.*):(.*)$")
  local port, reason = read_port(text)
  return port and host or nil, port, reason
end

---What is wrong with an entry as a whole, before it is taken apart.
local function obvious(entry)
  if entry == "" then
    return "an empty entry matches nothing"
  elseif entry:find("[%z\1-\31\127]") then
    return "it holds control characters"
  elseif entry:find("^%s") or entry:find("%s$") then
    return ("it has blanks around it; write %q"):format(entry:match("^%s*(.-)%s*$"))
  elseif entry:find("://", 1, true) then
    local host = entry:match("://([^/@]+)")
    return "an entry is a host without a scheme" .. (host and ("; write %q"):format(host) or "")
  elseif entry:find("[\128-\255]") then
    return "names outside ASCII must be written in their xn-- form"
  elseif entry:find("^[%d.]+/%d+$") or entry:find("^[%x:%[%]]*:[%x:%[%]]*/%d+$") then
    return "address ranges can't be listed here (deniedResolvedAddresses takes them)"
  elseif entry:find("/", 1, true) then
    local host = entry:match("^([^/]+)")
    return "an entry is a host without a path" .. (host and ("; write %q"):format(host) or "")
      .. " and judge req.path in network.filterRequest"
  elseif entry:find("@", 1, true) then
    return ("an entry has no user part; write %q"):format(entry:match("@(.*)$"))
  elseif entry:find(",", 1, true) then
    return "one entry names one host; write each as its own entry"
  end
  return nil
end

local function with_port(host, port)
  return port and ("%s:%d"):format(host, port) or host
end

---The entry behind "*."
local function wildcard(entry, host, port)
  local suffix = host:sub(3)
  if suffix == "" or suffix:find("^%.") or suffix:find("%.$") then
    local plain = suffix:match("^%.*(.-)%.*$")
    return nil, "empty labels around the name"
      .. (plain:find("%.") and ("; write %q"):format(with_port("*." .. plain, port)) or "")
  elseif suffix:find("*", 1, true) then
    return nil, "a * may only stand alone in front, as in \"*.example.com\"; this entry would match nothing"
  elseif not suffix:find(NAME) then
    return nil, "it holds characters that no host name has"
  elseif not suffix:find(".", 1, true) then
    return nil, ("%q is too broad: at least two labels must follow the *"):format(entry)
  end
  return { text = entry, kind = "wildcard", host = suffix:lower(), port = port }
end

local function exact(entry, host, port)
  if host == "" then
    return nil, "the host is missing"
  elseif not host:find(NAME) then
    return nil, "it holds characters that no host name has"
  end
  local name = host:lower()
  local bare = name:match("^%.*(.-)%.*$")
  if bare ~= name then
    if bare == "" then
      return nil, "dots alone name no host"
    end
    local right = name:sub(1, 1) == "." and "*." .. bare or bare
    return nil, ("leading and trailing dots must go; write %q"):format(with_port(right, port))
  end
  local canonical = domain.canonical(name)
  if canonical ~= name then
    return nil, ("an address must be written in its usual form: %q"):format(with_port(canonical, port))
  elseif not name:find(".", 1, true) and name ~= "localhost" and not port then
    return nil, ("a single-label name needs a port, as in %q"):format(name .. ":443")
  end
  return { text = entry, kind = "exact", host = name, port = port, address = domain.is_address(name) }
end

---The entry in brackets: an address (in any spelling) or localhost.
local function in_brackets(entry, host, port)
  local inner = host:sub(2, -2)
  local bare = inner:match("^(.*)%%25[%w._-]+$") or inner
  local text = bracketed(bare)
  if not text and bare:find("^[%w.]+$") then
    text = domain.canonical(bare)
    if not (domain.is_address(text) or text == "localhost") then
      return nil, ("brackets are for addresses only; write %q"):format(with_port(bare, port))
    end
  end
  if not text then
    return nil, "what stands in brackets is not an IPv6 address"
  end
  return { text = entry, kind = "exact", host = text, port = port, address = text ~= "localhost" }
end

---Reads one entry of a domain list.
---@param entry string
---@param list "allow"|"deny"
---@return table|nil rule {text=, kind="exact"|"wildcard"|"all", host=, port=, address=}
---@return string|nil reason why the entry is refused, with the right spelling where there is one
function domain.parse(entry, list)
  if entry:find(PLAIN) then return { text = entry, kind = "exact", host = entry, address = false } end
  local wrong = obvious(entry)
  if wrong then
    return nil, wrong
  end
  local host, port, reason = split(entry)
  if not host then
    return nil, reason
  elseif host:sub(1, 1) == "[" then
    return in_brackets(entry, host, port)
  elseif host == "*" then
    if list ~= "deny" then
      return nil, "\"*\" alone is too broad for an allow list; name the hosts, or decide in network.decideConnect"
    end
    return { text = entry, kind = "all", port = port }
  elseif host:sub(1, 2) == "*." then
    return wildcard(entry, host, port)
  elseif host:find("*", 1, true) then
    return nil, "a * may only stand alone in front, as in \"*.example.com\""
  end
  return exact(entry, host, port)
end

---Does a rule match a destination?
---@param rule table from domain.parse
---@param host string canonical
---@param port integer
---@return boolean
function domain.match(rule, host, port)
  if rule.port and rule.port ~= port then
    return false
  elseif rule.kind == "all" then
    return true
  elseif rule.kind == "exact" then
    return host == rule.host
  end
  return not domain.is_address(host) and host:sub(-#rule.host - 1) == "." .. rule.host
end

-- Most rules are of all ports, and for these no table is made.
local function add(map, key, rule)
  if not rule.port then
    map.any[key] = map.any[key] or rule
  else
    local ports = map.ports[key] or {}
    map.ports[key], ports[rule.port] = ports, ports[rule.port] or rule
  end
end

local function pick(map, key, port)
  local ports = map.ports[key]
  return ports and ports[port] or map.any[key]
end

local function new_map() return { any = {}, ports = {} } end

---Compiles rules to a matcher whose cost does not grow with their number.
---@param rules table[]
---@return fun(host: string, port: integer): table|nil rule the rule that matches; the more exact one where several do
function domain.compile(rules)
  local exacts, suffixes, alls = new_map(), new_map(), new_map()
  for _, rule in ipairs(rules) do
    if rule.kind == "all" then
      add(alls, "*", rule)
    else
      add(rule.kind == "exact" and exacts or suffixes, rule.host, rule)
    end
  end
  local has_suffixes = next(suffixes.any) or next(suffixes.ports)
  return function(host, port)
    local rule = pick(exacts, host, port)
    if rule then
      return rule
    end
    local dot = has_suffixes and not domain.is_address(host) and host:find(".", 1, true)
    while dot do
      rule = pick(suffixes, host:sub(dot + 1), port)
      if rule then
        return rule
      end
      dot = host:find(".", dot + 1, true)
    end
    return pick(alls, "*", port)
  end
end

---Does a compiled list take in all that a rule names? A name below a wildcard meets the same suffixes as that does.
---@param matcher fun(host: string, port: integer): table|nil of domain.compile
---@param rule table
---@return table|nil by
function domain.covers(matcher, rule)
  return matcher(rule.kind == "wildcard" and "*." .. rule.host or rule.host, rule.port or 0)
end

return domain
