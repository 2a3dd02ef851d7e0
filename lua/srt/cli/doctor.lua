-- SPDX-License-Identifier: Apache-2.0
-- srt-lua doctor: what this machine can enforce; with --clean, removes what runs have left that were killed.
local report = require "srt.report"

local doctor = {}

doctor.USAGE = [[
usage: srt-lua doctor [--json]
       srt-lua doctor --clean

Tries what a sandbox is built of, and says what this machine lacks, what that means and which
command cures it. Each line begins with ok, info, weak (something holds less) or bad (the
default policy can't be enforced).

  --json    the same for programs
  --clean   instead: remove what runs have left on the host that were killed with all their
            processes, or cut off by a power failure: placeholders of protected names and
            temporary directories. Looks for protected names and repositories that these runs
            made, as at the end of each run.

The status is 0 where the default policy can be enforced, 1 where it can't, 125 when this
could not be found out.
]]

---What the janitor becomes when the host process of its run was killed. Nobody reads what it would print, so that is
---kept for the next run.
---@param path string state file
function doctor.stand_in(path)
  local lines = require("srt.aftermath").close(path)
  if #lines > 0 then require("srt.state_files").say(path, lines) end
end

local function clean(facts, ctx)
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

---The findings, for people.
---@param findings srt.finding[]
---@param enforced boolean
---@param tty boolean colours are wanted
---@return string
function doctor.text(findings, enforced, tty)
  local bold, red, off = report.colours(tty)
  local marks = { ok = "", info = "", weak = bold, bad = red }
  local out = {}
  local function add(format, ...) out[#out + 1] = format:format(...) end
  for _, finding in ipairs(findings) do
    add("%s%-5s%s %-13s %s", marks[finding.state], finding.state, off, finding.name, report.plain(finding.found))
    if finding.means then add("      means: %s", report.plain(finding.means)) end
    for i, command in ipairs(finding.cure or {}) do
      add("      %s %s", i == 1 and "cure: " or "      ", report.plain(command))
    end
  end
  add("%sThe default policy %s be enforced here.%s", bold, enforced and "can" or "can't", off)
  return table.concat(out, "\n") .. "\n"
end

---The findings, for programs.
---@param findings srt.finding[]
---@param enforced boolean
---@param version string
---@return string
function doctor.json(findings, enforced, version)
  local checks = {}
  for i, finding in ipairs(findings) do
    checks[i] = { name = finding.name, state = finding.state, found = report.plain(finding.found),
      means = finding.means and report.plain(finding.means), cure = finding.cure }
  end
  return require("srt.json").encode({ version = version, enforced = enforced, checks = checks }) .. "\n"
end

---Runs the command.
---@param args string[] what follows "doctor"
---@param ctx table {program, out, err}
---@return integer status
function doctor.main(args, ctx)
  local option = args[1]
  if option == "--help" or option == "-h" then
    ctx.out(doctor.USAGE)
    return 0
  elseif option == "--inside" and args[2] then
    return require("srt.doctor_trial").inside(args[2])
  elseif args[2] or option and option ~= "--clean" and option ~= "--json" then
    ctx.err(report.usage("srt-lua doctor", "it takes --json or --clean, and nothing else", doctor.USAGE))
    return 125
  end
  local facts, message = require("srt.session").facts(ctx.program)
  if not facts then
    ctx.err("srt-lua: " .. message .. "\n")
    return 125
  end
  if option == "--clean" then return clean(facts, ctx) end
  local examine = require "srt.doctor"
  local findings, enforced = examine.examine(examine.host(facts))
  ctx.out(option == "--json" and doctor.json(findings, enforced, ctx.program.version)
    or doctor.text(findings, enforced, require("srt.c.sys").isatty(1)))
  return enforced and 0 or 1
end

return doctor
