-- SPDX-License-Identifier: Apache-2.0
-- The command line: what a command is given, and what becomes of what it says.
local sys = require "srt.c.sys"

-- What was asked for and could not be told, as on a full disk, is a failure.
local lost

local function out(text)
  local ok, message = sys.write(1, text)
  if not ok then lost = message end
  return ok
end

local function err(text) sys.write(2, text) end

--- Runs the command line.
---@param program table argv at 0 and up; embedded, embeddedNames, version
---@return integer exit status
return function(program)
  -- Who calls us by srt's name expects srt. lua/host.c looks at it, too.
  program.asSrt = (program[0] or ""):match("[^/]*$") == "srt"
  local ctx = { program = program, out = out, err = err, tty = sys.isatty(2) }
  local status
  if program[1] == "run" and not program.asSrt then
    status = require("srt.cli.run").main(table.move(program, 2, #program, 1, {}), ctx)
  else
    status = require("srt.cli.commands").dispatch(program, ctx)
  end
  if lost then
    err("srt-lua: cannot write to standard output: " .. lost .. "\n")
    return status == 0 and 125 or status
  end
  return status
end
