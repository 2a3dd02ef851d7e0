-- SPDX-License-Identifier: Apache-2.0
-- From a loaded policy to what one command is started with: its plan, and the state file of its run.
local sys = require "srt.c.sys"

local planning = {}

---What plan and environment need besides the policy, made once: loaded.tls, bundles, vault.
---@param facts table of srt.session
---@param loaded srt.session alone = true where there is no command, which trusts bundles
---@return string|nil message what is in the way
function planning.equip(facts, loaded)
  local tls, why = loaded.profile.network.tls, nil
  if tls then
    loaded.tls, why = require("srt.termination").make(tls, facts.env)
    if not loaded.tls then return why end
    if not loaded.alone then
      loaded.bundles, why = require("srt.trust").files(loaded.profile.filesystem.masked, loaded.tls)
      if not loaded.bundles then return "network.tlsTerminate: " .. why end
    end
  end
  if loaded.profile.credentials.active then
    loaded.vault, why = require("srt.secrets").open(loaded.profile, facts.env)
  end
  return why
end

-- The file that execvp(3) would come to, as it looks from here.
local function program_of(name, plan)
  if name:find("/", 1, true) then return nil end
  local path = "/bin:/usr/bin"
  for _, variable in ipairs(plan.env) do
    if variable:sub(1, 5) == "PATH=" then
      path = variable:sub(6)
      break
    end
  end
  return sys.program(name, path, plan.cwd)
end

local function with_secrets(loaded, plan)
  if loaded.vault then plan.env = loaded.vault:environment(plan.env) end
  return plan
end

-- A descriptor opens no more there than it was opened for: /dev/fd gives the same open file.
local SAME_FILE = { landlock = true, writable = {} }

local function on_mac(options, loaded)
  local descriptors = require "srt.descriptors"
  local message = descriptors.check(options.keep, loaded.rules, SAME_FILE, options.infos)
    or options.controlFd and descriptors.control(options.controlFd, options.keep, loaded.rules, SAME_FILE)
  if message then return nil, message end
  local plan
  plan, message = require("srt.seatbelt_run").plan(options, loaded)
  return plan and with_secrets(loaded, plan), message
end

---The plan of a policy that was loaded.
---@param options {command: string[], keep: integer[], publish: table[], controlFd: integer?, infos: table?} infos: of
--- srt.descriptors.check
---@param loaded srt.session with facts, temp, folders
---@param name string of the backend
---@param identity table of srt.c.sandbox
---@param early table? of a sandbox of namespaces: as for backends.namespaces.compile
---@return table|nil plan
---@return string|nil message
function planning.plan(options, loaded, name, identity, early)
  if name == "seatbelt" then return on_mac(options, loaded) end
  local facts, profile = loaded.facts, loaded.profile
  local publish = table.move(profile.network.publish, 1, #profile.network.publish, #options.publish + 1,
    table.move(options.publish, 1, #options.publish, 1, {}))
  local backend = require "srt.backend"
  -- What else may fail has to be there before the command is. Without namespaces a server inside has the host's port.
  local waits = options.controlFd ~= nil or options.watch or publish[1] ~= nil and name ~= "landlock"
  local plan, message = backend.get(name).compile(profile, loaded.rules, { cwd = facts.cwd,
    stateFolders = loaded.folders, env = facts.env, tempDir = loaded.temp, features = facts.features,
    identity = identity, early = name == "namespaces" and early or nil, keepFds = options.keep,
    binary = backend.binary, brief = true,
    ready = require("srt.c.sandbox").ready, files = loaded.bundles, published = publish[1] ~= nil,
    terminal = loaded.terminal, waits = waits })
  message = not plan and message or require("srt.descriptors").check(options.keep, loaded.rules, plan, options.infos)
    or options.controlFd and require("srt.descriptors").control(options.controlFd, options.keep, loaded.rules, plan)
  if message then return nil, message end
  message = publish[1] and require("srt.publish").check(publish, plan)
  if message then return nil, message end
  if profile.strict and backend.lacks(plan)[1] then
    return nil, ("strict = true: nothing was run, since the backend %s does not hold all of the policy"):format(name)
  elseif profile.strict and not (plan.landlock and plan.scopeSignals) then
    return nil, "strict = true: nothing was run, since Landlock can't hold all of it here (Linux 6.12 is needed, "
      .. "and no allowNestedUserNamespaces)"
  end
  plan.argv, plan.publish, plan.waits = options.command, publish, waits
  plan.program = program_of(plan.argv[1], plan)
  return with_secrets(loaded, plan)
end

---What the state file of a run says.
---@param loaded srt.session
---@param plan table
---@param reporter table|nil of srt.reporting; nil: the record is brief
---@return table record of srt.state
function planning.record(loaded, plan, reporter)
  local found = loaded.rules.found or { settings = loaded.profile.protection, bases = {}, seen = {}, gits = {} }
  return { brief = not reporter, temp = plan.tempDir, masks = plan.bwrap and plan.bwrap.masks,
    places = plan.placeholders, home = found.home, bases = found.bases, settings = found.settings, seen = found.seen,
    gits = found.gits, ids = {},
    report = reporter and reporter:kept(),
    lists = found.bases[1] and require("srt.state_files").kept(loaded.rules) or {} }
end

---Does the state file of a run list no more than its temporary directory?
---@param loaded srt.session
---@param plan table
---@return boolean
function planning.transient(loaded, plan)
  local found = loaded.rules.found
  return not (plan.bwrap and plan.bwrap.masks or plan.placeholders[1] or found and found.bases[1])
end

---The state file, before anything is made that it lists.
---@param loaded srt.session with folders
---@param plan table filled in
---@param report fun(): table of srt.reporting, asked where more than the temporary directory is listed
---@param told nil|fun(path: string) as for state.create
---@return table|nil state {record, rules, handle, folders, transient}
---@return string|nil message
function planning.state(loaded, plan, report, told)
  local state, record = require("srt.state"), planning.record(loaded, plan, not plan.transient and report() or nil)
  local handle, message = state.create(loaded.folders, state.encode(record), told)
  if not handle then return nil, message end
  record.path, plan.state = handle.path, handle.path
  return { record = record, rules = loaded.rules, handle = handle, folders = loaded.folders,
    transient = plan.transient }
end

return planning
