-- SPDX-License-Identifier: Apache-2.0
-- What of srt-lua's own a command must not change, or not read, whatever the lists say.
local own_files = {}

local function entry(path, what)
  return { given = path, path = path, literal = true, builtin = what, origin = { key = ("(%s)"):format(what) } }
end

---The tests of a policy, where they are there: an agent that may change them can make them pass.
---@param policy string its file
---@return string|nil
function own_files.tests(policy)
  local stem = policy:match("^(.+)%.lua$") or policy:match("^(.+)%.json$")
  local file = stem and stem .. "_spec.lua"
  return file and require("srt.c.sys").lstat(file) and file or nil
end

local function protect_policy(file, list)
  list[#list + 1] = entry(file, "policy file")
  local tests = own_files.tests(file)
  if tests then list[#list + 1] = entry(tests, "tests of the policy") end
end

---@param ctx table {policyFiles, stateFolders, reportFiles, hide} absolute paths
---@param out table filesystem of the profile: denyWrite and hidden grow
function own_files.protect(ctx, out)
  local lstat = require("srt.c.sys").lstat
  for _, file in ipairs(ctx.policyFiles or {}) do protect_policy(file, out.denyWrite) end
  for _, file in ipairs(ctx.reportFiles or {}) do
    out.denyWrite[#out.denyWrite + 1] = entry(file, "file of violations")
  end
  if ctx.hide then out.hidden[#out.hidden + 1] = entry(ctx.hide, "socket of the session") end
  for _, folder in ipairs(ctx.stateFolders or {}) do
    if lstat(folder) then
      out.denyWrite[#out.denyWrite + 1] = entry(folder, "state of runs")
      -- It tells of other runs, where they went and with what arguments; and who can open a run's file can lock it, so
      -- that nobody cleans up after that run. Sockets of sessions are there as well.
      out.hidden[#out.hidden + 1] = entry(folder, "state of all runs")
    end
  end
end

return own_files
