-- SPDX-License-Identifier: Apache-2.0
-- srt-lua report: what a run has decided, as a web page.
local run_options = require("srt.run_options")
local sys = require("srt.c.sys")

local report = {}

report.USAGE = [=[
usage: srt-lua report FILE [-o PAGE [--force]]

Writes one web page of what FILE has, which is of run --log (all that was decided) or of run
--violations (what was denied): a timeline, destinations, denials by rule, and a filter.
The page needs nothing else, and nothing that a command named can do anything in it.

  -o PAGE    the page; else it goes to standard output
  --force    overwrite PAGE
]=]

local PRIVATE = tonumber("600", 8) -- as the file that it tells of

local KNOWN = {
  valued = { ["-o"] = function(options, value) options.output = value end },
  flags = { ["--force"] = "force" },
}

local function fail(ctx, message)
  ctx.err("srt-lua: report: " .. require("srt.report").plain(message) .. "\n")
  return 1
end

---Runs the command.
---@param args string[] what follows "report"
---@param ctx table {program, out, err}
---@return integer status 0, 1 where a file can't be read or written, 125 for wrong usage
function report.main(args, ctx)
  local options, message = run_options.one(args, KNOWN)
  local status = require("srt.report").answered(ctx, "srt-lua report", report.USAGE, options, message)
  if status then return status end
  collectgarbage("restart") -- a long file has more than need be kept
  local place, handle
  if options.output then
    place, message = require("srt.output").place(options.output, options.force, sys.cwd() or "/")
    if not place then return fail(ctx, message) end
  end
  local st = sys.stat(options.file)
  if st and st.type == "dir" then return fail(ctx, options.file .. " is a directory") end
  handle, message = io.open(options.file, "rb")
  if not handle then return fail(ctx, message) end
  local page, left, count = require("srt.report_page").build(handle:lines(), { file = options.file,
    made = os.date("!%Y-%m-%d %H:%M:%S UTC"), nonce = assert(sys.random(16)) })
  handle:close()
  if count == 0 and left ~= "" then return fail(ctx, options.file .. " has no events in it") end
  if left ~= "" then ctx.err("srt-lua: report: " .. left .. "\n") end
  if not place then
    ctx.out(page)
    return 0
  end
  local ok, why = require("srt.output").put(place, page, options.force, PRIVATE)
  return ok and 0 or fail(ctx, ("%s can't be written: %s"):format(options.output, why))
end

return report
