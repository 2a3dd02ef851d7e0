-- SPDX-License-Identifier: Apache-2.0
-- srt-lua doctor --clean: removes what runs have left that were killed, as each later run does.
local report = require "srt.report"

local doctor = {}

doctor.USAGE = [[
usage: srt-lua doctor --clean

Removes what runs have left on the host that were killed with all their processes, or cut
off by a power failure: placeholders of protected names and temporary directories. Looks for
protected names and repositories that these runs made, as at the end of each run.
]]

---What the janitor becomes when the host process of its run was killed. Nobody reads what it would print, so that is
---kept for the next run.
---@param path string state file
function doctor.stand_in(path)
  local lines = require("srt.aftermath").close(path)
  if #lines > 0 then require("srt.state").say(path, lines) end
end

---Runs the command.
---@param args string[] what follows "doctor"
---@param ctx table {program, out, err}
---@return integer status
function doctor.main(args, ctx)
  if args[1] == "--help" or args[1] == "-h" then
    ctx.out(doctor.USAGE)
    return 0
  elseif args[1] ~= "--clean" or args[2] then
    local what = args[1] and "unknown option or argument" or "nothing to do"
    ctx.err(("srt-lua: doctor: %s\n%s"):format(what, doctor.USAGE))
    return 125
  end
  local facts, message = require("srt.session").facts(ctx.program)
  if not facts then
    ctx.err("srt-lua: " .. message .. "\n")
    return 125
  end
  local count = 0
  for _, folder in ipairs(require("srt.state").folders(facts, facts.env.TMPDIR)) do
    local lines, found = require("srt.aftermath").sweep(folder)
    count = count + found
    for _, line in ipairs(lines) do ctx.out(report.plain(line) .. "\n") end
  end
  ctx.out(count == 0 and "nothing was left behind\n" or ("cleaned up after %d run%s\n"):format(count, count == 1 and ""
    or "s"))
  return 0
end

return doctor
