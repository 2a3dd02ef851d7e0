-- SPDX-License-Identifier: Apache-2.0
-- Every key a policy may hold, as data: type, default, what it means, and whether it is enforced.
--
-- A node is {type=, doc=, …}. Types: table (fields), list (item), map (value, name), record (fields; one value in a
-- list or map), string, boolean, integer (min, max), enum (values), function, path, protected, domain (list), range,
-- name, header, any.
-- status: "enforced"; "later": known, but refused when it asks for something; "fixed": can't be changed;
-- "elsewhere": means something on another system or backend only; "unneeded": for parts of srt that we don't have.
-- presence: of a table, its being there asks for something, even when it is empty.

local schema = {}

-- Tables that are made at their full size: this is done at every start.
local function node(kind, doc, more)
  if not more then return { type = kind, doc = doc } end
  more.type, more.doc = kind, doc
  return more
end

local function item_of(item) return type(item) == "string" and { type = item } or item end

local function list(item, doc) return { type = "list", doc = doc, item = item_of(item) } end

local function map(value, doc, name) return { type = "map", doc = doc, value = item_of(value), name = name } end

local function section(doc, fields, presence)
  return { type = "table", doc = doc, fields = fields, presence = presence }
end

local function later(n)
  n.status = "later"
  return n
end

local function elsewhere(n, why)
  n.status, n.why = "elsewhere", why
  for _, child in pairs(n.fields or {}) do elsewhere(child, why) end
  return n
end

local function count(doc, default, min, max)
  return { type = "integer", doc = doc, default = default, min = min, max = max }
end

local function flag(doc, more)
  return node("boolean", doc, more)
end

local ALLOW, DENY = { type = "domain", list = "allow" }, { type = "domain", list = "deny" }
local PORT = { type = "integer", min = 1, max = 65535 }
local MACOS, SRT = "it is for macOS only", "srt-lua has no such part"

local function port(doc)
  return node("integer", doc, { min = 1, max = 65535 })
end

local function record(fields)
  return { type = "record", fields = fields }
end

local filesystem = section("What the command may read and write.", {
  denyRead = list("path", "Paths whose content is hidden."),
  allowRead = list("path", "Paths readable again inside a denied one."),
  allowWrite = list("path", "Paths that may be written; nothing else may."),
  denyWrite = list("path", "Paths kept read-only inside an allowed one."),
  denyDelete = list("path", "Paths that may be edited, not unlinked or renamed; DIR/** is all in DIR at start."),
  protect = list("protected", "More names that are protected like .git/hooks."),
  createGuard = node("enum", "How creation of protected names is held.",
    { values = { "scan", "supervisor" }, default = "scan" }),
  newRepositories = node("enum", "What happens to hooks and commands of repositories made during a run.",
    { values = { "quarantine", "report", "allow" }, default = "quarantine" }),
  allowGitConfig = flag("Lets .git/config be written.", { warn = "a command can name programs in .git/config that git "
    .. "runs outside of the sandbox" }),
  disabled = flag("Turns file rules off.", { warn = "no file is protected, but the policy itself" }),
  decideOpen = node("function", "Decides an open that the lists deny."),
})

local tls_terminate = section("TLS termination.", {
  caCertPath = node("string", "PEM file of the CA."),
  caKeyPath = node("string", "PEM file of its key."),
  excludeDomains = list(ALLOW, "Hosts that stay opaque tunnels."),
  extraCaCertPaths = list("string", "More roots for the trust bundle."),
  maxTunnels = count("Terminated tunnels at once.", 256, 1, 65536),
  handshakeTimeoutMs = count("Time for a handshake.", 10000, 100, 600000),
}, true)

local network = section("Which destinations are reached, and who decides.", {
  allowedDomains = list(ALLOW, "Hosts that may be reached."),
  deniedDomains = list(DENY, "Hosts that may not, whatever else allows them."),
  deniedDomainReasons = map("string", "What to tell whoever meets an entry of deniedDomains."),
  deniedResolvedAddresses = list("range", "Addresses that allowed names may not resolve to."),
  strictAllowlist = flag("Hosts not in allowedDomains are denied without asking decideConnect."),
  allowAllDomains = later(flag("Allows every host that is not denied.")),
  allowUnixSockets = list("path", "Unix sockets that may be connected to, by path."),
  allowAllUnixSockets = flag("Lets Unix sockets be made and connected without asking."),
  allowLocalBinding = flag("Has no effect on Linux, where the command may listen anyway, in a network of its own.",
    { note = "has no effect on Linux: the command has a network of its own, where it may listen on any port" }),
  allowMachLookup = elsewhere(list("string", "Mach services that may be looked up."), MACOS),
  publishPorts = list("published", "Ports inside that the host may reach."),
  transparent = flag("Serves programs that ignore proxy variables; by default where the kernel can."),
  tlsTerminate = tls_terminate,
  parentProxy = section("A proxy to leave by; what is absent is taken from srt-lua's environment.", {
    http = node("string", "For plain HTTP: http://[USER:PASSWORD@]HOST:PORT; \"\" for none."),
    https = node("string", "For tunnels, so for all else."),
    noProxy = node("string", "Hosts to reach directly, as NO_PROXY lists them."),
  }),
  mitmProxy = section("A proxy on a Unix socket.", {
    socketPath = node("string", "Its socket."), domains = list(ALLOW, "Allowed hosts that are reached by it."),
  }),
  httpProxyPort = port("An HTTP proxy of yours on 127.0.0.1 that decides in place of ours."),
  socksProxyPort = port("A SOCKS proxy of yours, likewise."),
  decideConnect = node("function", "Decides a destination that no list decides."),
  filterRequest = node("function", "Decides each request that the proxy can read."),
  filterResponse = node("function", "Decides each response to a request that the proxy can read."),
  stripResponseHeaders = list("header", "Response headers that are taken out."),
  requireHostMatch = flag("Refuses requests whose Host, or TLS server name, names another host (421)."),
  refuseOpaqueTunnels = flag("Refuses tunnels that filterRequest can't see into."),
  ambiguousRequestTarget = node("enum", "With a filterRequest: targets two readers could read in two ways.",
    { values = { "refuse", "normalize", "allow", "asSpelled" }, default = "refuse" }),
  allowPlaintextHeaderSet = flag("Lets filterRequest set credentials on plain HTTP."),
})

local SOURCE = {
  name = node("name", "The variable."), path = node("string", "The file."),
  mode = node("enum", "Hidden or masked.", { values = { "deny", "mask" } }),
  injectHosts = list(ALLOW, "Where the value goes back in."), extract = node("string", "What part is secret."),
  onExtractNoMatch = node("enum", "When nothing matches.", { values = { "warn", "deny", "error" } }),
  decode = node("enum", "How it is encoded.", { values = { "jwt" } }), maskClaims = list("string", "Claims to mask."),
  maskDuplicates = node("boolean", "Masks repetitions too."),
}
local SIGV4 = node("enum", "What happens to requests that are signed so.", { values = { "deny", "passthrough" } })

local credentials = section("Credentials that are hidden or masked.", {
  envVars = list(record(SOURCE), "Variables that are hidden or masked."),
  files = list(record(SOURCE), "Files that are hidden or masked."),
  allowPlaintextInject = flag("Puts values into plain HTTP too."),
  awsPairs = list(record({ accessKeyIdVar = node("name"), secretAccessKeyVar = node("name"),
    sessionTokenVar = node("name") }), "Masked variables that form an AWS key."),
  sigv4 = section("AWS signatures that can't be made again.",
    { streaming = SIGV4, presigned = SIGV4, sigv4a = SIGV4 }),
})

local secrets = map(record({
  env = node("name", "Read from this variable."), file = node("string", "Read from this file."),
  command = node("any", "Read from this command."), hosts = list(ALLOW, "Where it may go."),
}), "Values that only ever go into requests to their hosts.", true)

local MIB = 1 << 20
local limits = section("Budgets.", {
  loadInstructions = node("integer", "Instructions to load the policy.", { default = 50000000, status = "fixed" }),
  loadBytes = node("integer", "Memory to load the policy.", { default = 64 * MIB, status = "fixed" }),
  callbackInstructions = count("Instructions of one callback.", 1000000, 1000, 1000000000),
  callbackSeconds = count("Processor time of a callback between waits.", 1, 1, 60),
  callbackTotalSeconds = count("Time of a callback with its waits.", 60, 1, 3600),
  askSeconds = count("Time to answer srt.ask, which is apart from that.", 120, 1, 3600),
  waitingCallbacks = count("Callbacks that wait at once.", 2048, 1, 65536),
  stateBytes = count("Memory of the policy's state.", 32 * MIB, MIB, 1024 * MIB),
  bodyBytes = count("A body that a callback asks for.", MIB, 1024, 1024 * MIB),
  headerBytes = count("A header section.", 65536, 1024, 1048576),
  connections = count("Client connections to the proxy at once; more wait.", 10000, 1, 65536),
  tunnels = count("Tunnels at once; more are refused.", 10000, 1, 65536),
  upstreams = count("Connections to servers that are kept for the next request.", 256, 1, 65536),
  upstreamsPerHost = count("Of them to one host and port.", 64, 1, 65536),
  upstreamSeconds = count("How long one is kept.", 30, 1, 3600),
  answerSeconds = count("For a server to begin its answer.", 300, 1, 86400),
  bufferBytes = count("Bytes that the proxy holds for all connections together.", 128 * MIB, MIB, 4095 * MIB),
  idleSeconds = count("A connection with nothing moving.", 300, 1, 86400),
  headerSeconds = count("From the first byte of a head to its last.", 30, 1, 3600),
  walkEntries = count("Names read to find what glob patterns match.", 2000000, 1000, 1000000000),
  globMatches = count("Paths that glob patterns may come to.", 20000, 1, 90000),
  connectSeconds = count("Dialling one destination.", 30, 1, 3600),
})

schema.root = section("A policy.", {
  ["$schema"] = node("string", "Where the JSON Schema of this file is.", { status = "unneeded",
    why = "it is for editors" }),
  extends = list("any", "Ready-made policies to start from: names or tables."),
  filesystem = filesystem,
  network = network,
  mandatoryDenySearchDepth = count("How deep protected names are searched.", 3, 1, 10),
  secrets = secrets,
  credentials = credentials,
  ignoreViolations = map(list("string"), "Violations that are not reported: part of a command, or \"*\", and parts of "
    .. "what was tried."),
  observe = node("enum", "What is watched for reports: denied writes, or reads as well.",
    { values = { "writes", "all", "none" }, default = "writes" }),
  onViolation = node("function", "Told about each violation; false drops it."),
  env = section("The environment of the command.", {
    set = map("string", "Variables to set.", true),
    unset = list("name", "Variables to take out."),
    pass = list("name", "When given, the only variables of the caller that pass."),
  }),
  limits = limits,
  strict = flag("Refuses to run where anything of the policy can't be held."),
  enableWeakerNestedSandbox = flag("Where namespaces can't be had, takes a backend that holds less."),
  allowNestedUserNamespaces = flag("Lets the command make user namespaces."),
  enableWeakerNetworkIsolation = elsewhere(flag("Lets the command ask trustd."), MACOS),
  allowAppleEvents = elsewhere(flag("Lets the command send Apple events."), MACOS),
  allowPty = flag("Pseudo-terminals; on Linux they always work."),
  git = section("git.", {
    safeDirectories = list("string", "Directories that git trusts, with all below, whoever owns them; \"*\" for all."),
  }),
  bwrapPath = node("string", "The program of backend = \"bwrap\": an absolute path; else the first bwrap on PATH."),
  windows = elsewhere(section("Windows.", {
    proxyPortRange = list(PORT, "Lowest and highest port."), sublayerGuid = node("string", "WFP sublayer."),
    sandboxUser = node("string", "Account that the command runs as."), wfpSublayerGuid = node("string", "Old name."),
    backend = node("string", "A key of srt's settings."),
    srtWin = section("Its helper.", { path = node("string", "Path of srt-win.exe.") }),
  }), "only the windows backend reads it"),
  backend = node("enum", "How the policy is enforced.", { default = "auto",
    values = { "auto", "namespaces", "bwrap", "landlock", "seatbelt", "windows" } }),
  ripgrep = node("any", "srt's file search.", { status = "unneeded", why = SRT }),
  socatPath = node("any", "srt's relay.", { status = "unneeded", why = SRT }),
  seccomp = node("any", "srt's filter helper.", { status = "unneeded", why = SRT }),
  javaAgentJarPath = node("any", "srt's JVM agent.", { status = "unneeded", why = SRT }),
})

---The status of a node; fields of a table without one of their own take the table's.
---@param child table
---@param parent table|nil
---@return string
function schema.status(child, parent)
  return child.status or parent and parent.status or "enforced"
end

---Walks all keys in sorted order.
---@param visit fun(key: string, child: table, status: string)
---@param from table|nil
---@param prefix string|nil
function schema.each(visit, from, prefix, status)
  from = from or schema.root
  local names = {}
  for name in pairs(from.fields) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local child = from.fields[name]
    local key = prefix and prefix .. "." .. name or name
    local own = child.status or status or "enforced"
    visit(key, child, own)
    if child.type == "table" then
      schema.each(visit, child, key, child.status or status)
    end
  end
end

---Does a value of a "later" key ask for nothing?
---@param child table
---@param value any
---@return boolean
function schema.is_neutral(child, value)
  if type(value) == "table" then
    return next(value) == nil and not child.presence
  end
  return value == false or (child.default ~= nil and value == child.default)
end

return schema
