-- SPDX-License-Identifier: Apache-2.0
-- srt-lua learn: runs a command, watches it, and writes the policy that it needed.
local paths = require "srt.paths"
local run_options = require "srt.run_options"
local sys = require "srt.c.sys"

local learn = {}

local FAILED = 125

learn.USAGE = [[
usage: srt-lua learn [OPTION…] [-c STRING | [--] COMMAND ARG…]

Runs COMMAND in a sandbox that lets it do nearly all, watches what it does, and writes the
policy that it needed: a Lua file to read, to trim, and to run it with from then on.

COMMAND may write wherever you can, in the real tree, but not to names that make the host run
code (see man srt-lua-policy), and reach any host but the metadata servers of clouds. What it does is
real: learn from what you would run without a sandbox.

  -c STRING      run STRING with /bin/sh -c
  -o FILE        the policy; policy.lua in the working directory unless given
  --force        overwrite FILE
  --write DIR    let COMMAND write in DIR only (may be repeated); what it tries elsewhere is denied,
                 and told in the policy
  --no-reads     don't watch what is read: credentials that were read stay unknown
  --debug        tell on standard error what is resolved, mounted and decided

The exit status is the command's, as of srt-lua run; 125 also where the policy can't be written.
]]

local function path_to(add)
  return function(options, value)
    if value == "" then return "a path can't be empty" end
    add(options, value)
  end
end

local KNOWN = {
  valued = {
    ["-c"] = run_options.valued["-c"],
    ["-o"] = path_to(function(options, value) options.output = value end),
    ["--write"] = path_to(function(options, value) options.write[#options.write + 1] = value end),
  },
  flags = { ["--force"] = "force", ["--no-reads"] = "blind", ["--debug"] = "debug" },
}

--- Reads the arguments of `learn`.
---@return table? options {command, output, write, force, blind, debug} or {help = true}
---@return string? message
function learn.parse(args)
  local options, message = run_options.read(args, { write = {}, output = "policy.lua" }, KNOWN)
  if not options or options.help then return options, message end
  if not options.command or not options.command[1] then return nil, "no command given" end
  return options
end

-- Where the policy goes, before anything is run for it.
local function output_of(options, cwd)
  if options.output == "-" then return nil, "standard output is the command's; name a file with -o" end
  return require("srt.output").place(options.output, options.force, cwd)
end

local function folders_of(options, cwd)
  local list = {}
  for i, given in ipairs(options.write) do
    list[i] = paths.normalize(paths.absolute(given, cwd))
    if not sys.stat(list[i]) then return nil, ("--write %s: there is no such folder"):format(given) end
  end
  if #list == 0 then list[1] = "/" end
  return list
end

-- The text is never lost: a run can cost more than its policy.
local function put(ctx, path, text, force)
  local ok, why, code = require("srt.output").put(path, text, force)
  if ok then return true end
  ctx.err(text)
  ctx.err(("srt-lua: learn: %s can't be written: %s; what it would hold is above\n"):format(
    require("srt.report").plain(path), code == "EEXIST" and "it came to be while the command ran" or why))
  return false
end

local function fail(ctx, message)
  ctx.err("srt-lua: learn: " .. require("srt.report").plain(message) .. "\n")
  return FAILED
end

--- Runs the command.
---@param args string[] what follows "learn"
---@param ctx table {program, out, err, tty}
---@return integer exit status
function learn.main(args, ctx)
  local options, message = learn.parse(args)
  local status = require("srt.report").answered(ctx, "srt-lua learn", learn.USAGE, options, message)
  if status then return status end
  local cwd, why = sys.cwd()
  if not cwd then return fail(ctx, "the working directory can't be found: " .. why) end
  local output, write
  output, message = output_of(options, cwd)
  if not output then return fail(ctx, message) end
  write, message = folders_of(options, cwd)
  if not write then return fail(ctx, message) end
  local learner = require("srt.learner").new { write = write, reads = not options.blind }
  status = require("srt.cli.run").start({ policy = "srt-lua learn", learner = learner, keep = {}, publish = {},
    command = options.command, debug = options.debug }, ctx)
  if not learner.ran then return status end
  local name = options.command[1]:match("[^/]*$")
  if not put(ctx, output, learner:policy(name), options.force) then return status == 0 and FAILED or status end
  ctx.err(("srt-lua: learned: %s\n"):format(require("srt.report").plain(options.output)))
  return status
end

return learn
