-- SPDX-License-Identifier: Apache-2.0
-- The commands there are. srt.cli.main hands run over by itself, which most calls are.
local sys = require "srt.c.sys"

local commands = {}

local COMMANDS = {
  { "run", "run a command under a policy" },
  { "init", "look at a project and write its first policy" },
  { "check", "validate policies and print what they come to" },
  { "explain", "say what a policy answers on a path, a connection or a request, and which rule decides" },
  { "test", "run the tests of policies: policy_spec.lua of policy.lua" },
  { "repl", "try a policy: ask it and evaluate Lua in its box, line by line" },
  { "learn", "run a command, watch it, and write the policy that it needed" },
  { "violations", "show what was denied in your runs" },
  { "top", "watch what is decided in your runs, as it happens" },
  { "report", "write a web page of what was decided in a run" },
  { "compile", "print the native plan of a policy" },
  { "convert", "write JSON settings of srt as a policy" },
  { "session", "keep a policy and its proxy up, for commands that join by exec" },
  { "exec", "run a command in a session" },
  { "proxy", "filter the network of others under a policy, without a sandbox" },
  { "connect", "inside a sandbox: reach a host through its proxy, as ssh's ProxyCommand" },
  { "doctor", "say what this machine can enforce; clean up after killed runs" },
  { "completions", "write what bash, zsh or fish needs to complete command lines" },
}

-- What srt-win.exe does (core/windows), by the names that srt has for it.
local ON_WINDOWS = { ["windows-install"] = true, ["windows-uninstall"] = true, ["trust-ca"] = true,
  ["--srt-win"] = true }

-- What asks the kernel in ways that only Linux has.
local ON_LINUX = { doctor = true, exec = true, explain = true, learn = true, repl = true, session = true, test = true,
  top = true }

local KNOWN = {}
for _, command in ipairs(COMMANDS) do KNOWN[command[1]] = true end

local function overview()
  local lines = { "usage: srt-lua COMMAND …", "", "Runs commands under a policy that is a Lua program.", "" }
  for _, command in ipairs(COMMANDS) do
    lines[#lines + 1] = ("  srt-lua %-11s %s"):format(command[1], command[2])
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "srt-lua COMMAND --help tells more; man srt-lua has it all."
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end

-- A wrong word takes a line, no word the overview.
local function unknown(name, err)
  local names = {}
  for i, command in ipairs(COMMANDS) do names[i] = command[1] end
  local near = require("srt.suggest").nearest(name, names)
  local cure = near and "; did you mean " .. near .. "?"
    or name:find("%.lua$") and ("; a policy comes behind one, as in srt-lua run %s"):format(name) or ""
  err(require("srt.report").plain(("srt-lua: unknown %s \"%s\"%s"):format(
    name:sub(1, 1) == "-" and "option" or "command", name, cure)) .. "\nsrt-lua --help lists the commands\n")
  return 125
end

-- A profile as `check` wants it: with what can't be enforced yet listed in it, and certificates that can't be used.
local function load_for_check(program)
  return function(path)
    local session = require("srt.session")
    local facts, message = session.facts(program)
    if not facts then return nil, { { file = path, message = message } } end
    local loaded, problems = session.load(facts, path, { lint = true })
    local profile = loaded and loaded.profile
    local tls = profile and profile.network.tls
    local made, problem
    if tls then made, problem = require("srt.termination").make(tls, facts.env) end
    if tls and not made then table.insert(profile.unenforced, problem) end
    if profile then
      local lines, refused = require("srt.backend").foretold(loaded, facts)
      table.move(lines, 1, #lines, #profile.notes + 1, profile.notes)
      if refused and profile.backend ~= "auto" then
        table.insert(profile.unenforced, { file = path, message = refused })
      end
    end
    return profile, problems
  end
end

--- Finds the command and hands over.
---@param program table as srt.cli.main has it
---@param ctx table program, out, err, tty; gets what only some commands are given
---@return integer exit status
function commands.dispatch(program, ctx)
  local name, out, err = program[1], ctx.out, ctx.err
  ctx.load, ctx.commands = load_for_check(program), COMMANDS
  ctx.redirects = function() return sys.system == "linux" and require("srt.transparent").works() end
  if program.asSrt then
    return require("srt.cli.srt").main(table.move(program, 1, #program, 1, {}), ctx)
  end
  if not name then
    err("srt-lua: no command given\n" .. overview())
    return 125
  end
  if name == "help" and program[2] then
    if not KNOWN[program[2]] then return unknown(program[2], err) end
    return require("srt.cli." .. program[2]).main({ "--help" }, ctx)
  end
  if name == "--help" or name == "-h" or name == "help" then
    out(overview())
    return 0
  end
  if name == "--version" then
    out("srt-lua " .. program.version .. "\n")
    return 0
  end
  -- What the janitor becomes when the host process was killed (core/janitor.c).
  if name == "--aftermath" and program[2] then
    require("srt.cli.doctor").stand_in(program[2])
    return 0
  end
  if ON_WINDOWS[name] then
    err(("srt-lua: %s is for Windows, where srt-win.exe does it: srt-win --help tells more\n"):format(name))
    return 125
  end
  if not KNOWN[name] then return unknown(name, err) end
  if sys.system == "macos" and ON_LINUX[name] then
    err(("srt-lua: %s is there on Linux only (docs/backend-seatbelt.md)\n"):format(name))
    return 125
  end
  local args = table.move(program, 2, #program, 1, {})
  return require("srt.cli." .. name).main(args, ctx)
end

return commands
