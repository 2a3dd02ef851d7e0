-- SPDX-License-Identifier: Apache-2.0
-- Lints of hosts, and of what is asked about them.
local domain = require "srt.domain"

local covered = domain.covers

-- A rule that decides nothing, since a wider one of the same list says the same.
local function covered_rule(self, profile, policy)
  local reasons = policy.values["network.deniedDomainReasons"]
  for _, name in ipairs { "allowed", "denied" } do
    local rules, seen = profile.network[name], {}
    for i, rule in ipairs(rules) do
      local own = not rule.origin.preset
      if own and seen[rule.text:lower()] then
        self:find(rule.origin, ("%q is listed twice"):format(rule.text))
      elseif own and not (reasons and reasons.map[rule.text]) and rule.kind ~= "all" then
        local others = table.move(rules, 1, i - 1, 1, {})
        others = table.move(rules, i + 1, #rules, i, others)
        local by = covered(domain.compile(others), rule)
        if by and by.text:lower() ~= rule.text:lower() then
          self:find(rule.origin, ("%q changes nothing: %q covers it"):format(rule.text, by.text))
        end
      end
      seen[rule.text:lower()] = true
    end
  end
end

-- Loopback without a port is reached by the proxy alone.
local function loopback(self, profile)
  for _, rule in ipairs(profile.network.allowed) do
    if rule.kind == "exact" and not rule.port and require("srt.loopback").addresses(rule.host) then
      self:find(rule.origin, ("%q is the host's by the proxy, and so no server inside for the proxy's clients; with a "
        .. "port, as in \"localhost:5432\", it is there inside for all programs"):format(rule.text))
    end
  end
end

-- Second-level names that registries sell names under.
local PUBLIC = { ac = true, co = true, com = true, edu = true, gov = true, net = true, org = true, gob = true,
  ne = true, ["or"] = true, go = true, me = true, asn = true, id = true, mil = true }

local function broad_domain(self, profile)
  for _, rule in ipairs(profile.network.allowed) do
    local first, last = rule.host:match("^([^.]+)%.(%a%a)$")
    if rule.kind == "wildcard" and last and PUBLIC[first] then
      self:find(rule.origin, ("%q is as broad as a country: anybody can buy a name there"):format(rule.text))
    end
  end
end

-- Where anybody can have a name of their own, or be reached behind the name of another.
local SHARED = {
  "amazonaws.com", "awsglobalaccelerator.com", "cloudfront.net", "appspot.com", "cloudfunctions.net", "run.app",
  "firebaseapp.com", "firebaseio.com", "web.app", "googleapis.com", "googleusercontent.com", "azureedge.net",
  "azurefd.net", "azurewebsites.net", "core.windows.net", "trafficmanager.net", "fastly.net", "fastlylb.net",
  "akamaihd.net", "akamaized.net", "edgekey.net", "edgesuite.net", "b-cdn.net", "cdn77.org", "kxcdn.com",
  "stackpathcdn.com", "jsdelivr.net", "cloudflare.net", "pages.dev", "workers.dev", "r2.dev", "trycloudflare.com",
  "github.io", "gitlab.io", "githubpreview.dev", "app.github.dev", "herokuapp.com", "netlify.app", "vercel.app",
  "now.sh", "onrender.com", "fly.dev", "deno.dev", "replit.dev", "repl.co", "glitch.me", "surge.sh", "railway.app",
  "digitaloceanspaces.com", "ondigitalocean.app", "backblazeb2.com", "wasabisys.com", "ngrok.io", "ngrok.app",
  "ngrok-free.app", "loca.lt", "serveo.net", "duckdns.org", "wordpress.com", "blogspot.com", "myshopify.com",
}

local function shared_of(host)
  for _, suffix in ipairs(SHARED) do
    if host == suffix or host:sub(-#suffix - 1) == "." .. suffix then return suffix end
  end
end

-- Is a request to this rule's host read, so that its Host header is known?
local function read_by_us(net, rule)
  return net.tls ~= nil and not covered(domain.compile(net.tls.exclude), rule)
end

local function shared_domain(self, profile)
  for _, rule in ipairs(profile.network.allowed) do
    if rule.kind == "wildcard" and shared_of(rule.host) then
      self:find(rule.origin, ("%q allows names that anybody can have, and so any server behind them; list the hosts "
        .. "that are needed"):format(rule.text))
    end
  end
end

local function fronting(self, profile)
  local net = profile.network
  for _, rule in ipairs(net.allowed) do
    local suffix = rule.kind == "exact" and shared_of(rule.host)
    if suffix and not (net.requireHostMatch and read_by_us(net, rule)) then
      self:find(rule.origin, ("%q is served by many for many (%s): behind its name a request can ask for another's "
        .. "host (domain fronting); network.tlsTerminate with requireHostMatch refuses that"):format(rule.text, suffix))
    end
  end
end

-- Hosts that take anybody's data in under any account.
local FORGES = { "github.com", "api.github.com", "gist.github.com", "uploads.github.com", "gitlab.com",
  "bitbucket.org", "api.bitbucket.org", "codeberg.org", "git.sr.ht", "pastebin.com", "transfer.sh", "0x0.st" }

local function unfiltered_forge(self, profile)
  local net = profile.network
  for _, rule in ipairs(net.allowed) do
    local matches = domain.compile { rule }
    for _, host in ipairs(FORGES) do
      if matches(host, rule.port or 443) and not (#profile.callbacks.filterRequest > 0 and read_by_us(net, rule)) then
        self:find(rule.origin, ("%q is not filtered: whoever has an account there takes data out by a push; %sread "
          .. "requests by tlsTerminate and filterRequest"):format(rule.text,
          host:find("github.com", 1, true) and "extend \"github-readonly\", or " or ""))
        break
      end
    end
  end
end

-- Container engines and the like, that listen on loopback without a password.
local ENGINES = { [2375] = "Docker", [2376] = "Docker", [9222] = "the debugging port of browsers",
  [10250] = "the kubelet", [6443] = "Kubernetes", [8001] = "kubectl proxy" }

local function engine_port(self, profile)
  for _, point in ipairs(require("srt.loopback").points(profile)) do
    local what = ENGINES[point.port]
    if what then
      self:find(point.origin, ("port %d of this host is usually %s: who may ask it acts on the host, outside of the "
        .. "sandbox"):format(point.port, what))
    end
  end
end

local function cloud_metadata(self, profile)
  local known = require "srt.metadata"
  for _, rule in ipairs(profile.network.allowed) do
    local matches = domain.compile { rule }
    for _, host in ipairs(known.HOSTS) do
      if matches(host, rule.port or 80) then
        self:find(rule.origin, ("%q: %s; give the command a secret of its own"):format(rule.text,
          known.RISK))
        break
      end
    end
  end
end

local function all_sockets(self, profile, policy)
  local v = policy.values["network.allowAllUnixSockets"]
  if profile.unix.all and v then
    self:find(v.origin, "lets the command talk to every server of this machine that has a socket: Docker, D-Bus, the "
      .. "SSH agent; name those that it needs in allowUnixSockets")
  end
end

return {
  { id = "covered-rule", severity = "note", run = covered_rule,
    doc = "An entry of `allowedDomains` or `deniedDomains` that is there already, or that a wider entry of the same "
      .. "list covers." },
  { id = "loopback-by-proxy", severity = "note", run = loopback,
    doc = "`localhost` without a port is reached by clients of the proxy alone. With a port it is there inside for all "
      .. "programs." },
  { id = "broad-domain", severity = "warning", run = broad_domain,
    doc = "A wildcard such as `*.co.uk`, under which anybody can buy a name. (`*` and `*.com` are errors.)" },
  { id = "shared-domain", severity = "warning", run = shared_domain,
    doc = "A wildcard on the domain of a cloud, CDN or host of pages, such as `*.cloudfront.net`: anybody can have a "
      .. "name there. List the hosts that are needed." },
  { id = "domain-fronting", severity = "note", run = fronting,
    doc = "A host of such a domain is allowed, whose servers also answer for others' hosts when the Host header names "
      .. "them. `tlsTerminate` with `requireHostMatch` refuses that." },
  { id = "unfiltered-forge", severity = "warning", run = unfiltered_forge,
    doc = "github.com, or another place that takes in data of anybody with an account, is allowed and its requests are "
      .. "not read. Extend `github-readonly`, or read them by `tlsTerminate` and `filterRequest`." },
  { id = "engine-port", severity = "warning", run = engine_port,
    doc = "A port of the host's loopback is allowed where Docker, Kubernetes or a browser's debugger usually listen: "
      .. "whoever may ask these acts outside of the sandbox." },
  { id = "cloud-metadata", severity = "warning", run = cloud_metadata,
    doc = "An address or name of a cloud's metadata server is allowed, such as 169.254.169.254: it hands out the "
      .. "machine's credentials. Give the command a secret of its own in their place." },
  { id = "all-sockets", severity = "warning", run = all_sockets,
    doc = "`allowAllUnixSockets` gives all of these at once. Name the sockets in `allowUnixSockets`." },
}
