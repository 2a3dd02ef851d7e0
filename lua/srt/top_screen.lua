-- SPDX-License-Identifier: Apache-2.0
-- What srt-lua top has seen, and how it looks. Nothing of it may draw by itself: hosts, paths and commands are hostile.
local text = require("srt.violation_text")

local top_screen = {}

local KEPT = 300 -- events
local MOST_RUNS = 100 -- with those that have ended
local MAX_FIELD = 400

local Screen = {}
Screen.__index = Screen

local function field(v) return type(v) == "string" and text.clean(v, MAX_FIELD) or nil end

local function run_of(self, id)
  local run = self.runs[id]
  if not run then
    run = { id = id, allowed = 0, denied = 0, command = "" }
    self.runs[id], self.order[#self.order + 1] = run, run
  end
  return run
end

---Is an event, or a run, of what is looked at?
local function wanted(self, id, pid)
  local only = self.only
  return not only or id:sub(1, #only) == only or pid ~= nil and tostring(pid) == only
end

---The runs that go on, as of srt.top_source.
---@param runs table<string, table>
function Screen:see(runs)
  for i = #self.order, 1, -1 do
    local run = self.order[i]
    run.gone = runs[run.id] == nil and run.pid ~= nil
    if run.gone and #self.order > MOST_RUNS then
      table.remove(self.order, i)
      self.runs[run.id] = nil
    end
  end
  for id, found in pairs(runs) do
    if wanted(self, id, found.pid) then
      local run = run_of(self, id)
      run.pid, run.command = found.pid, field(found.command) or ""
    end
  end
  table.sort(self.order, function(a, b) return (a.pid or 0) < (b.pid or 0) end)
end

---@param v table an event, as a line of the log has it
---@return string|nil line for people; nil where it is of another run
function Screen:add(v)
  local id = field(v.run) or "?"
  local known = self.runs[id]
  if not known and not wanted(self, id) then return nil end
  local run = run_of(self, id)
  local count = math.max(1, math.tointeger(v.count) or 1)
  local denied = v.decision ~= "allow" and v.decision ~= "respond"
  run[denied and "denied" or "allowed"] = run[denied and "denied" or "allowed"] + count
  if run.command == "" then run.command = field(v.command) or "" end
  local word = denied and "deny" or v.decision == "respond" and "answer" or "allow"
  local exe = type(v.process) == "table" and field(v.process.exe)
  local at = (field(v.time) or ""):match("%d%d:%d%d:%d%d") or "??:??:??"
  local why = denied and ": " .. text.why { target = field(v.target), advice = field(v.advice),
    reason = field(v.reason), rule = field(v.rule), origin = field(v.origin) } or ""
  local line = ("%s %s %-6s %-8s %s%s%s%s"):format(at, id, word, field(v.kind) or "?", field(v.target) or "?",
    count > 1 and (" (%d times)"):format(count) or "", why, exe and "  [" .. exe .. "]" or "")
  self.seen = self.seen + 1
  self.events[(self.seen - 1) % KEPT + 1] = { line = line, denied = denied }
  return line
end

---A run as a line, for where nothing is drawn.
---@return string[]
function Screen:plain()
  local lines = {}
  for i, run in ipairs(self.order) do
    lines[i] = ("%s pid %s: %s"):format(run.id, run.pid or "?", run.command)
  end
  return lines
end

-- So many characters at most; what is wider than one column is cut by the terminal.
local function cut(line, columns)
  if #line <= columns then return line end
  local to = utf8.offset(line, columns + 1)
  return to and line:sub(1, to - 1) or line
end

local function runs_part(self, out, most)
  out[#out + 1] = { "ID        PID       ALLOWED   DENIED  COMMAND", "bold" }
  for i, run in ipairs(self.order) do
    if i == most and #self.order > most then
      out[#out + 1] = { ("… and %d more"):format(#self.order - most + 1) }
      return
    end
    out[#out + 1] = { ("%-8s  %-8s %8d %8d  %s"):format(run.id, run.gone and "ended" or run.pid or "-", run.allowed,
      run.denied, run.command), run.denied > 0 and "red" or nil }
  end
end

---All that is shown, as lines.
---@param rows integer
---@param columns integer
---@return {[1]: string, [2]: string?}[] lines with how each looks: "bold", "red"
function Screen:lines(rows, columns)
  local allowed, denied, going = 0, 0, 0
  for _, run in ipairs(self.order) do
    allowed, denied, going = allowed + run.allowed, denied + run.denied, going + (run.pid and not run.gone and 1 or 0)
  end
  local out = { { ("srt-lua top: %d %s, %d allowed, %d denied since %s   (q quits)"):format(going,
    going == 1 and "run" or "runs", allowed, denied, self.since), "bold" } }
  runs_part(self, out, math.max(1, rows // 3 - 2))
  out[#out + 1] = { "" }
  local room = math.min(rows - #out, self.seen, KEPT)
  for i = self.seen - room + 1, self.seen do
    local event = self.events[(i - 1) % KEPT + 1]
    out[#out + 1] = { event.line, event.denied and "red" or nil }
  end
  for i, line in ipairs(out) do out[i] = i <= rows and { cut(line[1], columns), line[2] } or nil end
  return out
end

---One frame, to be written at once: each line over the one that was there.
---@param rows integer
---@param columns integer
---@return string
function Screen:frame(rows, columns)
  local bold, red, off = require("srt.report").colours(true)
  local looks, out = { bold = bold, red = red }, {}
  for i, line in ipairs(self:lines(rows, columns)) do
    local look = looks[line[2]] or ""
    out[i] = look .. line[1] .. (look ~= "" and off or "") .. "\27[K"
  end
  return "\27[H" .. table.concat(out, "\r\n") .. "\27[J"
end

---@param options {only: string?, since: string} only: the beginning of a run's id, or its pid
---@return table screen
function top_screen.new(options)
  return setmetatable({ only = options.only, since = options.since, runs = {}, order = {}, events = {}, seen = 0 },
    Screen)
end

return top_screen
