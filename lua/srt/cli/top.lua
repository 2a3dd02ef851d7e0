-- SPDX-License-Identifier: Apache-2.0
-- srt-lua top: what is decided in the runs of this user, as it happens.
local run_options = require("srt.run_options")
local sys = require("srt.c.sys")

local top = {}

top.USAGE = [[
usage: srt-lua top [--once] [RUN]

Shows your runs that go on, and what they decide while you look: connections and requests,
allowed and denied, and what else is denied. RUN is a pid, or the beginning of an id, as top
shows them. q or Ctrl-C quits.

  --once   list the runs that go on, and end

Where standard input or output is no terminal, what is decided is printed a line each.
]]

local TICK, PAUSE = 0.5, 0.2
-- Another page of the terminal, without a cursor, and no line goes on in the next one.
local ENTER, LEAVE = "\27[?1049h\27[?25l\27[?7l\27[2J", "\27[?7h\27[?25h\27[?1049l"
local QUIT = { q = true, Q = true, ["\3"] = true, ["\4"] = true }

local KNOWN = { flags = { ["--once"] = "once" } }

local function draw(source, screen)
  local terminal, last = require("srt.c.screen"), nil
  while true do
    source:events(function(v) screen:add(v) end)
    screen:see(source:runs())
    local frame = screen:frame(terminal.size())
    -- Where nothing changed nothing is written.
    if frame ~= last and not sys.write(1, frame) then return end
    last = frame
    local what, keys = terminal.wait(TICK)
    if what == "end" or QUIT[keys:sub(1, 1)] then return end
    if what == "resize" then last = nil end
  end
end

local function live(source, screen)
  local terminal = require("srt.c.screen")
  local ok, message = terminal.begin()
  if not ok then return message end
  sys.write(1, ENTER)
  local worked, wrong = pcall(draw, source, screen)
  sys.write(1, LEAVE)
  terminal.finish()
  return not worked and wrong or nil
end

local function listed(screen, out)
  local lines = screen:plain()
  return not lines[1] or out(table.concat(lines, "\n") .. "\n")
end

local function print_events(source, screen, out)
  if not listed(screen, out) then return end
  while true do
    screen:see(source:runs())
    local lines = {}
    source:events(function(v) lines[#lines + 1] = screen:add(v) end)
    if lines[1] and not out(table.concat(lines, "\n") .. "\n") then return end
    sys.sleep(PAUSE)
  end
end

local function drawable()
  local term = os.getenv("TERM")
  return sys.isatty(0) and sys.isatty(1) and term ~= nil and term ~= "" and term ~= "dumb"
end

---Runs the command.
---@param args string[] what follows "top"
---@param ctx table {program, out, err}
---@return integer status 0, 1 for a failure, 125 for wrong usage
function top.main(args, ctx)
  local options, message = run_options.file(args, KNOWN, "run")
  local status = require("srt.report").answered(ctx, "srt-lua top", top.USAGE, options, message)
  if status then return status end
  collectgarbage("restart")
  local facts, source
  facts, message = require("srt.session").facts(ctx.program)
  if facts then source, message = require("srt.top_source").open(facts) end
  if not source then
    ctx.err("srt-lua: top: " .. require("srt.report").plain(message) .. "\n")
    return 1
  end
  local screen = require("srt.top_screen").new { only = options.file, since = os.date("%H:%M:%S") }
  screen:see(source:runs())
  local wrong
  local none = not screen:plain()[1]
  if none and options.file then
    wrong = ("no run of yours is called %s; srt-lua top --once lists those that go on"):format(options.file)
  elseif options.once then
    if none then ctx.err("srt-lua: top: no run of yours goes on\n") end
    listed(screen, ctx.out)
  elseif drawable() then
    wrong = live(source, screen)
  else
    print_events(source, screen, ctx.out)
  end
  source:close()
  if not wrong then return 0 end
  ctx.err("srt-lua: top: " .. require("srt.report").plain(tostring(wrong)) .. "\n")
  return 1
end

return top
