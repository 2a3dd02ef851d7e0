-- SPDX-License-Identifier: Apache-2.0
-- Ways out by other proxies: which there are, and what is told of them, rows and data for check, and warnings.
-- Credentials are never in these.

local source = require("srt.source")

local ways = {}

local KINDS, PORTS = { "http", "https" }, { "http", "socks" }

-- How programs are served that ignore proxies.
local function ignorant(net, try)
  local works, why = true, nil
  if try then works, why = try() end
  if works == false then return "not served on macOS: they reach nothing" end
  if works then return net.transparent.eager and "served from the start" or "served, once a name is looked up" end
  return ("served, by an agent inside that makes each connection in their place: this kernel refuses nf_tables rules "
    .. "to us (%s)"):format(why)
end

---@param net table the network of a profile
---@param try nil|fun(): boolean|nil, string|nil can this machine serve programs that ignore proxies? false: it can't
---@return {what: string, where: string}[]
function ways.rows(net, try)
  local rows = {}
  local function add(where, form, ...) rows[#rows + 1] = { what = form:format(...), where = where } end
  for _, rule in ipairs(net.mitm and net.mitm.rules or {}) do
    add(source.where(rule.origin), "%s leaves by the proxy at %s", rule.text, net.mitm.socket)
  end
  for _, kind in ipairs(KINDS) do
    local one = net.parent and net.parent[kind]
    if one then add(one.from, "%s leaves by %s", kind, one.text) end
  end
  for _, kind in ipairs(PORTS) do
    local port = net.ports[kind]
    if port then add(("network.%sProxyPort"):format(kind), "%s: your proxy on 127.0.0.1:%d decides", kind, port) end
  end
  if net.transparent then
    add("network.transparent", "programs that ignore proxy variables: %s", ignorant(net, try))
  end
  return rows
end

---@param net table
---@return table for JSON
function ways.data(net)
  local out = { transparent = net.transparent, httpProxyPort = net.ports.http, socksProxyPort = net.ports.socks }
  for _, kind in ipairs(KINDS) do
    local one = net.parent and net.parent[kind]
    if one then out[kind] = { url = one.text, from = one.from } end
  end
  if net.mitm then
    out.mitm = { socket = net.mitm.socket, domains = {} }
    for i, rule in ipairs(net.mitm.rules) do out.mitm.domains[i] = rule.text end
  end
  return out
end

local function warn_of_ports(linter, net, values)
  for i, kind in ipairs(PORTS) do
    local port = net.ports[kind]
    if port then
      linter:warn(values[("network.%sProxyPort"):format(kind)].origin, ("what comes to the sandbox's %s proxy goes to "
        .. "127.0.0.1:%d as it is: allowedDomains, deniedDomains, decideConnect, filterRequest and the guard of "
        .. "resolved addresses decide nothing there, the proxy on that port does%s"):format(kind:upper(), port,
        net.ports[PORTS[3 - i]] and "" or ("; the %s port stays under the lists"):format(PORTS[3 - i]:upper())))
    end
  end
end

---Warns of what the lists no longer decide or can no longer see.
---@param linter table with :warn(origin, message) and :remark(text)
---@param net table
---@param values table of the policy
function ways.lint(linter, net, values)
  warn_of_ports(linter, net, values)
  local parent, v = net.parent, values["network.parentProxy.noProxy"]
  if not parent then return end
  local texts = {}
  for _, kind in ipairs(KINDS) do
    local one = parent[kind]
    if one and texts[#texts] ~= one.text then texts[#texts + 1] = one.text end
  end
  linter:remark(("connections leave by a parent proxy (%s), which resolves names: the guard of "
    .. "resolved addresses sees only destinations that are given as addresses"):format(table.concat(texts, ", ")))
  for _, entry in ipairs(parent.ignored) do
    local text = ("the entry %q means nothing here: such hosts go to the parent proxy"):format(entry)
    if v then
      linter:warn(v.origin, text)
    else
      linter:remark("NO_PROXY of the environment: " .. text)
    end
  end
end

-- Most have none, and then nothing is loaded for it. Which variables count says srt.route.
local function may_have_parent(given, env)
  if next(given) then return true end
  for name in pairs(env) do
    if name:find("[pP][rR][oO][xX][yY]$") then return true end
  end
  return false
end

---By which other proxies connections leave, of a policy.
---@param self table of srt.profile
---@param values table of srt.policy
---@param out table network of the profile: mitm, ports, parent are set, enabled may be
---@param rules fun(values: table, key: string, list: string): table[]
function ways.resolve(self, values, out, rules)
  local function scalar(key) return values[key] and values[key].value end
  local parent = {}
  for _, name in ipairs({ "http", "https", "noProxy" }) do
    parent[name] = scalar("network.parentProxy." .. name)
  end
  local socket, domains = values["network.mitmProxy.socketPath"], values["network.mitmProxy.domains"]
  if socket and domains then
    local path, reason = require("srt.paths").expand(socket.value, self.ctx)
    if not path then self:problem(socket.origin, reason) end
    out.mitm = { socket = path, rules = rules(values, "network.mitmProxy.domains"), origin = socket.origin }
  elseif socket or domains then
    self:problem((socket or domains).origin, "network.mitmProxy takes both socketPath and domains")
  end
  out.ports = { http = math.tointeger(scalar("network.httpProxyPort")),
    socks = math.tointeger(scalar("network.socksProxyPort")) }
  out.enabled = out.enabled or out.ports.http ~= nil or out.ports.socks ~= nil
  -- The environment is of no concern where nothing leaves.
  if out.enabled and may_have_parent(parent, self.ctx.env or {}) then
    local found, problem = require("srt.route").parent(parent, self.ctx.env or {})
    if problem then
      local v = values["network.parentProxy.http"] or values["network.parentProxy.https"]
      self:problem(v and v.origin or { key = "network.parentProxy" }, problem)
    end
    out.parent = found
  end
end

return ways
