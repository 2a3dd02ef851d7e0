-- SPDX-License-Identifier: Apache-2.0
-- The options of srt-lua run.
local run_options = {}

run_options.USAGE = [[
usage: srt-lua run POLICY [OPTION…] [-c STRING | [--] COMMAND ARG…]

Runs COMMAND under POLICY, a Lua file that returns a table, or a JSON settings file.

  -c STRING      run STRING with /bin/sh -c
  -p PORT        let the host reach PORT inside; [ADDRESS:]HOST_PORT:PORT for another port outside
                 (may be repeated). All users of the host can then reach it
  --keep-fd N    let the command have descriptor N as well (may be repeated)
  --prompt       ask on the terminal about hosts that no rule names: no, once, for this session, or
                 always, which adds a line to POLICY when the run has ended
  --watch        when POLICY, or a file that it read, changes, take its network rules from then on
  --control-fd N take new settings from descriptor N while the command runs: JSON, one a line
  --report HOW   tell on standard error at the end what was denied: text (the default), json, none
  --violations FILE
                 append what was denied to FILE, or nowhere (none); else to the file that
                 srt-lua violations shows
  --log FILE     append all that the network's rules decide to FILE, allowed or denied, and what else
                 is denied; srt-lua report makes a web page of it
  --annotate     at the end, print what was denied in a <sandbox_violations> block
  --command-id ID, --command-text TEXT
                 what violations of this command are found by, and reported under
  --backend NAME hold the policy by this backend, in place of its own `backend`: namespaces, bwrap,
                 landlock
  --debug        tell on standard error what is resolved, mounted and decided

The exit status is the command's; 128+N when signal N ended it; 125 for a failure of
srt-lua itself, 126 for a command that can't be executed, 127 for one that is not found.
]]

local function descriptor(option, text)
  local fd = math.tointeger(tonumber(text))
  if not fd or fd < 3 or fd > 1000000 then
    return nil, ("%s takes a number from 3 up, not %q"):format(option, text or "")
  end
  return fd
end

---Takes --control-fd.
---@param options table
---@param value string
---@return string|nil message
function run_options.control(options, value)
  local message
  options.controlFd, message = descriptor("--control-fd", value)
  return message
end

local REPORTS = { text = true, json = true, none = true }

-- Options that take a value: name → function(options, value) → error message
local VALUED = {
  ["-c"] = function(options, value) options.command = { "/bin/sh", "-c", value } end,
  ["--keep-fd"] = function(options, value)
    local fd, message = descriptor("--keep-fd", value)
    if not fd then return message end
    options.keep[#options.keep + 1] = fd
  end,
  ["--control-fd"] = run_options.control,
  ["-p"] = function(options, value)
    local entry, message = require("srt.publish").parse(value)
    if not entry then return ("-p %s: %s"):format(value, message) end
    options.publish[#options.publish + 1] = entry
  end,
  ["--report"] = function(options, value)
    if not REPORTS[value] then return ("--report takes text, json or none, not %q"):format(value) end
    options.report = value
  end,
  ["--backend"] = function(options, value)
    local known, message = require("srt.backend").get(value)
    options.backend = known and value
    return message
  end,
  ["--violations"] = function(options, value) options.violations = value end,
  ["--log"] = function(options, value) options.log = value end,
  ["--command-id"] = function(options, value) options.commandId = value end,
  ["--command-text"] = function(options, value) options.commandText = value end,
}

run_options.valued = VALUED

local function split_equals(arg)
  local name, value = arg:match("^(%-%-[%w-]+)=(.*)$")
  if name then return name, value end
  return arg
end

local function is_word(arg) return arg == "-" or arg:sub(1, 1) ~= "-" end

--- Reads options, up to where the command begins.
---@param args string[]
---@param options table filled; its command too
---@param known {valued: table<string, fun(options: table, value: string): string?>, flags: table<string, string>,
--- word: nil|fun(options: table, word: string): boolean} word: takes what is not yet the command's
---@return table? options or {help = true}
---@return string? message
function run_options.read(args, options, known)
  local i = 1
  while args[i] do
    local name, value = split_equals(args[i])
    local take = known.valued[name]
    if name == "--help" or name == "-h" then return { help = true } end
    if take then
      if not value then
        i = i + 1
        value = args[i]
      end
      if not value then return nil, name .. " needs a value" end
      local message = take(options, value)
      if message then return nil, message end
    elseif known.flags[name] then
      options[known.flags[name]] = true
    elseif name ~= "--" and not is_word(name) then
      return nil, "unknown option " .. name
    elseif name == "--" or not (known.word and known.word(options, args[i])) then
      if name == "--" then i = i + 1 end
      if options.command and args[i] then return nil, "both -c and a command were given" end
      if not options.command then options.command = table.move(args, i, #args, 1, {}) end
      break
    end
    i = i + 1
  end
  return options
end

---Takes the first word for an option.
---@param name string
---@return fun(options: table, word: string): boolean word of run_options.read
function run_options.first(name)
  return function(options, word)
    local first = not options[name]
    if first then options[name] = word end
    return first
  end
end

---Reads the arguments of what runs no command, but takes words, behind "--" as well.
---@param args string[]
---@param known {valued: table?, flags: table?} of run_options.read
---@return table? options {words} or {help = true}
---@return string? message
function run_options.words(args, known)
  local options, message = run_options.read(args, { words = {} }, { valued = known.valued or {},
    flags = known.flags or {}, word = function(options, word)
      table.insert(options.words, word)
      return true
    end })
  if not options or options.help then return options, message end
  local rest = options.command or {}
  table.move(rest, 1, #rest, #options.words + 1, options.words)
  return options
end

---The same for at most one of them.
---@param what string? "policy"; "file" unless given
---@return table? options {file} or {help = true}
---@return string? message
function run_options.file(args, known, what)
  local options, message = run_options.words(args, known)
  if not options or options.help then return options, message end
  if options.words[2] then return nil, ("one %s at a time"):format(what or "file") end
  options.file = options.words[1]
  return options
end

---The same for just one.
---@return table? options {file} or {help = true}
---@return string? message
function run_options.one(args, known, what)
  local options, message = run_options.file(args, known, what)
  if options and not options.help and not options.file then return nil, ("no %s given"):format(what or "file") end
  return options, message
end

local KNOWN = { valued = VALUED, word = run_options.first("policy"),
  flags = { ["--debug"] = "debug", ["--annotate"] = "annotate", ["--watch"] = "watch",
    ["--prompt"] = "prompt" } }

--- Reads the arguments of `run`.
---@return table? options {policy, command, keep, publish, debug} or {help = true}
---@return string? message
function run_options.parse(args)
  local options, message = run_options.read(args, { keep = {}, publish = {} }, KNOWN)
  if not options or options.help then return options, message end
  if not options.policy then return nil, "no policy given" end
  if not options.command or not options.command[1] then return nil, "no command given" end
  return options
end

return run_options
