-- SPDX-License-Identifier: Apache-2.0
-- What of srt-lua's own a command must not change, or not read, whatever the lists say.
local own_files = {}

local function entry(path, what)
  return { given = path, path = path, literal = true, builtin = what, origin = { key = ("(%s)"):format(what) } }
end

---@param ctx table {policyFiles, stateFolders, reportFiles, hide} absolute paths
---@param out table filesystem of the profile: denyWrite and hidden grow
function own_files.protect(ctx, out)
  local lstat = require("srt.c.sys").lstat
  for _, file in ipairs(ctx.policyFiles or {}) do out.denyWrite[#out.denyWrite + 1] = entry(file, "policy file") end
  for _, file in ipairs(ctx.reportFiles or {}) do
    out.denyWrite[#out.denyWrite + 1] = entry(file, "file of violations")
  end
  if ctx.hide then out.hidden[#out.hidden + 1] = entry(ctx.hide, "socket of the session") end
  for _, folder in ipairs(ctx.stateFolders or {}) do
    local sockets = require("srt.state").sockets(folder)
    if lstat(sockets) then out.hidden[#out.hidden + 1] = entry(sockets, "sockets of sessions") end
    if lstat(folder) then
      out.denyWrite[#out.denyWrite + 1] = entry(folder, "state of runs")
      -- It tells of other runs: where they went, and with what arguments.
      local _, told = require("srt.violation_file").path(folder)
      if lstat(told) then out.hidden[#out.hidden + 1] = entry(told, "violations of all runs") end
    end
  end
end

return own_files
