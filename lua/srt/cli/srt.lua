-- SPDX-License-Identifier: Apache-2.0
-- The command line of srt, for whoever calls us by that name: JSON settings instead of a policy.
local run_options = require "srt.run_options"
local sys = require "srt.c.sys"

local srt = {}

srt.USAGE = [[
usage: srt [OPTION…] [-c STRING | [--] COMMAND ARG…]

Runs COMMAND under the settings in ~/.srt-settings.json; without that file it may read everything,
write nothing and reach no network. A COMMAND of one word is run by the shell, as -c STRING is,
unless a file has that name.

  -s, --settings FILE  these settings instead: JSON, or a Lua policy where the name ends in .lua
  -c STRING            run STRING by the shell
  --control-fd N       take new settings from descriptor N while the command runs: JSON, one a line
  -d, --debug          tell on standard error what is resolved, mounted and decided (SRT_DEBUG=1, too)
  -V, --version        tell the version
  -h, --help           this text

The exit status is the command's, or 1 where srt itself fails.
]]

-- As srt has it.
local FAILED = 1

local function shell()
  return require("srt.programs").find("bash", sys.getenv("PATH")) or "/bin/sh"
end

local VALUED = {
  ["--settings"] = function(options, value) options.policy = value end,
  ["-s"] = function(options, value) options.policy = value end,
  ["-c"] = function(options, value) options.command = { shell(), "-c", value } end,
  ["--control-fd"] = run_options.control,
}

local FLAGS = { ["--debug"] = "debug", ["-d"] = "debug", ["--version"] = "version", ["-V"] = "version" }

local function parse(args)
  local options, message = run_options.read(args, { keep = {}, publish = {} }, { valued = VALUED, flags = FLAGS })
  if not options or options.help or options.version then return options, message end
  local command = options.command
  if not command or not command[1] then return nil, "no command given" end
  if #command == 1 and not (command[1]:find("/", 1, true) and sys.stat(command[1])) then
    options.command = { shell(), "-c", command[1] }
  end
  local debug = sys.getenv("SRT_DEBUG")
  options.debug = options.debug or (debug ~= nil and debug ~= "")
  return options
end

local function refuse(ctx, path, reason)
  ctx.err(("srt: %s %s.\nsrt: Nothing was run: the defaults would drop all that the settings say.\n"):format(
    require("srt.report").plain(path), require("srt.report").plain(reason)))
  return FAILED
end

--- Runs the command line.
---@param args string[]
---@param ctx table {program, out, err, tty}
---@return integer exit status
function srt.main(args, ctx)
  local options, message = parse(args)
  local status = require("srt.report").answered(ctx, "srt", srt.USAGE, options, message, FAILED)
  if status then return status end
  if options.version then
    ctx.out("srt-lua " .. ctx.program.version .. "\n")
    return 0
  end
  ctx.failed = FAILED
  if not (options.policy and options.policy:find("%.lua$")) then
    local facts, path
    facts, message = require("srt.session").facts(ctx.program)
    if not facts then
      ctx.err("srt: " .. message .. "\n")
      return FAILED
    end
    options.given, path, message = require("srt.settings").find(facts, options.policy)
    if not options.given then return refuse(ctx, path, message) end
    options.policy = path
  end
  return require("srt.cli.run").start(options, ctx)
end

return srt
