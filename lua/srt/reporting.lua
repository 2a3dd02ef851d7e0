-- SPDX-License-Identifier: Apache-2.0
-- What a policy says about reports, and the reporter of one run (srt.reporter).
local reporting = {}

local Reporter = {}
Reporter.__index = Reporter

-- What else it can do is in srt.reporter, loaded when it is asked for.
for _, name in ipairs { "add", "allowed", "decided", "listened", "replace" } do
  Reporter[name] = function(...) return require("srt.reporter").methods[name](...) end
end

-- As in srt.reporter, which is not needed where there is nothing to tell.
function Reporter:missed(count)
  if count > 0 then require("srt.reporter").methods.missed(self, count) end
end

-- Likewise.
function Reporter:close(tty)
  if not self.store and self.how ~= "json" then return "" end
  return require("srt.reporter").methods.close(self, tty)
end

---What a policy says about reports.
---@param policy table from policy.load
---@return table {ignore = map of lists, or nil; chain = handles of onViolation; origins = of these}
function reporting.resolve(policy)
  local out, box = { chain = {}, origins = {} }, policy.box
  local ignored, asked = policy.values.ignoreViolations, policy.values.onViolation
  for pattern, entry in pairs(ignored and ignored.map or {}) do
    out.ignore = out.ignore or {}
    out.ignore[pattern] = entry.value
  end
  for i, entry in ipairs(asked and asked.chain or {}) do
    local file, line
    if box and box.where then file, line = box:where(entry.value) end
    out.chain[i] = entry.value
    out.origins[entry.value] = file and { file = policy.shown(file), line = line, key = "onViolation" } or entry.origin
  end
  return out
end

---What the run's state file says of reports: for what is found when this process is gone.
---@return {command: string, commandId: string?, policy: string?, path: string?, ignore: table?}
function Reporter:kept()
  return { command = self.command, commandId = self.commandId, policy = self.policy, path = self.path,
    ignore = self.reports.ignore }
end

---@param options table of the command line {report, violations, annotate, commandId, commandText, command = argv}
---@param loaded srt.session
---@param say fun(line: string) for warnings
---@return table reporter {command, commandId, add, decided, close}; also = fun(v), who is told as the file is; shared =
--- it is one of several; more, ask = of srt.decide_net's facts
function reporting.new(options, loaded, say)
  local command = options.commandText or table.concat(options.command, " ")
  -- As in its environment, no value of a secret stays in it.
  if loaded.vault then command = loaded.vault:environment({ "=" .. command })[1]:sub(2) end
  return setmetatable({ reports = loaded.profile.reports, box = loaded.box, policy = loaded.policy, say = say,
    command = command, commandId = options.commandId, how = options.report, annotate = options.annotate,
    path = options.violations, logPath = options.log, failed = {} }, Reporter)
end

return reporting
