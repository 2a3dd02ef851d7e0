-- SPDX-License-Identifier: Apache-2.0
-- Who waits at a terminal for longer than expected is told why.
local sys = require("srt.c.sys")

local patience = {}

local EXPECTED = 1 -- seconds

---Calls a function; while that takes longer than a second, a line of standard error says so.
---@param what string "looking for …"
---@param fn function
---@return any results of fn
function patience.with(what, fn, ...)
  local term = os.getenv("TERM")
  -- A line that can't be erased is worse than none.
  if not sys.isatty(2) or not term or term == "" or term == "dumb" then return fn(...) end
  local screen = require("srt.c.screen")
  screen.notice(("srt-lua: %s …"):format(what), EXPECTED)
  local results = table.pack(pcall(fn, ...))
  screen.notice()
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

return patience
