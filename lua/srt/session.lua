-- SPDX-License-Identifier: Apache-2.0
-- What one call of the program works with: facts about the caller, and a policy
-- loaded in its box, resolved to a profile and to the decisions on paths.
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local session = {}

-- A policy that is no file, but text that we were given: a ready-made one of this name, which another one extends.
session.TEXT, session.TEXT_FILE = "given-text", "policies/given-text.lua"

--- Facts about the caller, asked once.
---@param program table what the program hands to Lua (embedded, embeddedNames, version)
---@return table? facts
---@return string? reason
function session.facts(program)
  local cwd, _, code = sys.cwd()
  if not cwd then
    return nil, code == "ENOENT" and "the working directory was deleted; change to one that exists"
      or "the working directory can't be found (" .. tostring(code) .. ")"
  end
  local env = sys.environ()
  local home = env.HOME
  if not home or home:sub(1, 1) ~= "/" then home = sys.homeof() end
  return { program = program, cwd = cwd, env = env, home = home and paths.normalize(home), features = sys.features() }
end

local function usable_dir(path)
  local real = path and path:sub(1, 1) == "/" and sys.realpath(path)
  local st = real and sys.stat(real)
  -- In what the sandbox has of its own it would open the host's.
  return st and st.type == "dir" and not require("srt.decide_path").own(real) and sys.writable(real) and real
end

--- Where the temporary directory of a run is made; its name is new each time.
---@return string? path
---@return string? reason
function session.tempDir(facts)
  local base = usable_dir(facts.env.TMPDIR) or usable_dir("/tmp")
  if not base then
    return nil, "there is no folder for temporary files: TMPDIR and /tmp can't be written"
  end
  return paths.join(base, "srt-lua-" .. assert(sys.random(16)))
end

local function new_box(facts, root, learner, given)
  local program = facts.program
  local box, reason = require("srt.c.box").new {
    root = root,
    -- Few policies ask whose they are: where nobody has said it, it is looked up then.
    facts = { platform = sys.system, cwd = facts.cwd, home = facts.home, user = facts.user or true, env = facts.env },
    preset = function(name)
      if given and given.text and name == session.TEXT then return given.text, session.TEXT_FILE end
      if name == "srt-lua.prompt" then return require("srt.prompt").SOURCE, "srt-lua run --prompt" end
      return learner and learner.preset(name) or program.embedded("policies." .. name), "policies/" .. name .. ".lua"
    end,
    ask = facts.ask,
    log = facts.log or function(level, text)
      local report = require "srt.report"
      sys.write(2, "srt-lua: policy: " .. report.printed(report.logged(level, text)) .. "\n")
    end,
  }
  if box and facts.now then box:clock(facts.now) end
  return box, reason
end

local function source_reader(program, given)
  return function(file)
    if given and given.text and file == session.TEXT_FILE then return given.text end
    local name = file:match("^policies/([%w_%-]+)%.lua$")
    if name then return program.embedded("policies." .. name) end
    return sys.readfile(file, 16 << 20)
  end
end

local function preset_names(program)
  return function()
    local names = program.embeddedNames("policies.")
    for i, name in ipairs(names) do names[i] = name:sub(#"policies." + 1) end
    return names
  end
end

local KINDS = { dir = "a directory", char = "a character device", block = "a block device", fifo = "a FIFO",
  sock = "a socket" }

local function problem(file, message)
  return { { file = file, message = message } }
end

-- Notes of the decisions that a user should see at every run, and the rest.
-- lenient: settings of srt, which are for all folders that they are used in, and name what only some have
local function sort_notes(profile, rules, lenient)
  for _, glob in ipairs(profile.filesystem.globs) do
    if glob.idle then rules:note(glob, "matches nothing that exists, so it allows nothing") end
  end
  local where = require("srt.source").where
  for _, note in ipairs(rules.notes) do
    local key = note.entry.origin and note.entry.origin.key or ""
    local entry = note.entry
    local name = entry.glob and ("%s (%s)"):format(entry.given, entry.path) or entry.given
    local text = ("%s: %s %s"):format(where(entry.origin), name, note.text)
    local allows, preset = key:find("allow", 1, true), entry.origin and entry.origin.preset
    local told = allows and not preset and not (lenient and note.absent)
    local severity = (note.warn or told) and "warning" or "note"
    -- Ready-made policies list what other machines have; that this one lacks it is told by check where it allows.
    if severity == "warning" or allows or not preset then profile.linter:here(severity, entry.origin, text) end
  end
end

-- The real path of a policy, or nil and what is wrong with it.
local function policy_file(path, program)
  local real, message = sys.realpath(path)
  if not real then
    local preset = path:find("^[%w-]+$") and program.embedded("policies." .. path)
    return nil, ("the policy can't be found: %s%s"):format(message, preset
      and ("; it is a ready-made policy, for a file that says: return { extends = { %q } }"):format(path) or "")
  end
  local st = sys.stat(real)
  if not st or st.type ~= "file" then
    return nil, "a policy is a Lua file or a JSON file, this is " .. (st and KINDS[st.type] or "neither")
  end
  local text, why = sys.readfile(real, 16 << 20)
  if not text then return nil, "the policy can't be read: " .. why end
  return real
end

---@class srt.session
---@field profile table
---@field rules table decisions on paths (srt.decide_path)
---@field box userdata the box that the policy's callbacks run in
---@field lint nil|fun() with lintLater: to be called once, for profile.warnings and notes

--- What a policy that was loaded comes to, as the tree is now.
---@param loaded {parsed: table, files: string[]}
---@param facts table from session.facts
---@param options table of session.resolve
---@return table|nil profile
---@return table[]? problems
function session.profile(loaded, facts, options)
  return require("srt.profile").resolve(loaded.parsed, { cwd = facts.cwd, home = facts.home, env = facts.env,
    moved = facts.moved, policyFiles = facts.owned and facts.owned(loaded.files) or loaded.files,
    stateFolders = facts.state, reportFiles = options.reportFiles, hide = options.hide, lint = options.lint,
    lintLater = options.lintLater, live = options.live, told = facts.program.asSrt, prompt = options.prompt,
    uid = (sys.ids()) })
end

--- Loads a policy in a box of its own and resolves it: all that can be wrong with its words is told.
---@param facts table from session.facts
---@param path string as the user gave it
---@param options {lint: boolean?, prompt: boolean?, live: boolean|string?, reportFiles: string[]?, hide: string?,
--- learner: table?, given: table?} hide: a path of ours that no command may reach
--- learner: of srt.learner, it has the policy then; given: {value, places, file, lenient, base, text}, the policy as
--- srt.policy takes it, and the file it was read from; text: what session.TEXT is, which the value may extend; in both
--- path is only the name; live: true where it may be replaced while a command runs, "update" where it replaces one
---@return srt.session? session without rules; files = what was read for it
---@return table[]? problems
---@return string[]? files that were read all the same
function session.resolve(facts, path, options)
  local learner, given, real, wrong = options.learner, options.given, nil, nil
  if given then
    real = given.file
  elseif not learner then
    real, wrong = policy_file(path, facts.program)
  end
  if wrong then return nil, problem(path, wrong) end
  local box, reason = new_box(facts, real and paths.parent(real) or facts.cwd, learner, given)
  if not box then return nil, problem(path, reason) end
  given = given or { value = learner and learner:value() }
  local policy, problems = require("srt.policy").load(box, path, {
    read = source_reader(facts.program, given), presets = preset_names(facts.program), isfn = require("srt.c.box").isfn,
    value = given.value, places = given.places, lenient = given.lenient, base = given.base,
  })
  local files = box:files()
  for i, file in ipairs(files) do files[i] = paths.normalize(file) end
  if not policy then return nil, problems, files end
  if real and (given.value or real:find("%.json$")) then files[#files + 1] = real end
  local profile
  profile, problems = session.profile({ parsed = policy, files = files }, facts, options)
  if not profile then return nil, problems, files end
  local limits = profile.limits
  box:limits { callInstructions = limits.callbackInstructions, callCpuMs = limits.callbackSeconds * 1000,
    callTotalMs = limits.callbackTotalSeconds * 1000, askMs = limits.askSeconds * 1000,
    waits = limits.waitingCallbacks, memory = limits.stateBytes }
  if profile.credentials.active then box:hide(require("srt.secrets").variables(profile.credentials)) end
  return { profile = profile, box = box, policy = real, files = files, parsed = policy }
end

local function load(facts, path, options)
  local loaded, problems = session.resolve(facts, path, options)
  if not loaded then return nil, problems end
  local profile, real, learner = loaded.profile, loaded.policy, options.learner
  if options.resolved then options.resolved(profile) end
  local rules = require("srt.decide_path").compile(profile, { cwd = facts.cwd, home = facts.home,
    tempDir = options.tempDir, mounts = facts.mounts })
  if #rules.problems > 0 then
    problems = {}
    for i, found in ipairs(rules.problems) do
      problems[i] = require("srt.report").at(found.entry.origin, ("%s %s"):format(found.entry.given, found.text))
    end
    return nil, problems
  end
  local link = real and paths.movable(paths.absolute(path, facts.cwd), rules)
  if link then
    return nil, problem(path, ("the policy is reached through the symbolic link %s, which the command could replace; "
      .. "name %s instead"):format(link, real))
  end
  loaded.rules = rules
  function loaded.lint()
    loaded.lint = nil
    require("srt.lint").finish(profile)
    sort_notes(profile, rules, options.given and options.given.lenient)
  end
  if not options.lintLater then loaded.lint() end
  if learner then learner:settle(loaded, facts, options.tempDir) end
  return loaded
end

--- Loads a policy, and makes the decisions on paths that a run needs.
---@param facts table from session.facts
---@param path string as the user gave it
---@param options table of session.resolve, tempDir, resolved: told the profile before decisions are made by it, and
--- lintLater: profile.warnings and notes are not there before
--- the session's lint() was called, once
---@return srt.session? session
---@return table[]? problems
function session.load(facts, path, options)
  return require("srt.patience").with("looking for what the policy's patterns and protected names match", load, facts,
    path, options)
end

return session
