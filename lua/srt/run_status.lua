-- SPDX-License-Identifier: Apache-2.0
-- The exit status of a run, by how its command ended.
local run_status = {}

-- Failures of our own; a command that can't be executed, or is not there.
run_status.FAILED = 125
local NOT_EXECUTABLE, NOT_FOUND = 126, 127

---@param ctx table {err, failed = the exit status of failures of our own, where it isn't the usual one}
---@param command string
---@param kind string of sandbox:run
---@param value any
---@return integer
function run_status.of(ctx, command, kind, value)
  if kind == "exit" then return value end
  if kind == "signal" then return 128 + value end
  local ours = require("srt.report").ours
  if kind == "failed" then
    ctx.err(ours(value))
    return ctx.failed or run_status.FAILED
  end
  local text, name = require("srt.c.sys").strerror(value)
  local searched = not command:find("/", 1, true)
  if name == "ELIBACC" then
    text = "what it is run by is not there: the interpreter of its first line (#!), or the loader it was linked for"
  end
  if name == "ENOENT" and searched then return run_status.missing(ctx, command) end
  -- execvp(3) does not tell the one from the other.
  ctx.err(ours(("%s: can't be executed: %s%s"):format(command, text, name == "EACCES" and searched
    and " (it, or a folder of PATH where it was looked for)" or "")))
  return name == "ENOENT" and NOT_FOUND or NOT_EXECUTABLE
end

---The command is not there.
---@param ctx table
---@param command string
---@return integer
function run_status.missing(ctx, command)
  ctx.err(require("srt.report").ours(command .. ": command not found"))
  return NOT_FOUND
end

return run_status
