-- SPDX-License-Identifier: Apache-2.0
-- srt-lua violations: shows what was denied in this user's runs.
local run_options = require("srt.run_options")
local sys = require("srt.c.sys")

local violations = {}

violations.USAGE = [[
usage: srt-lua violations [--last N] [--follow] [--json] [FILE]
       srt-lua violations --seatbelt TAG [--json]

Shows what was denied in your runs, the oldest first; or what FILE, of run --violations, has.

  --last N         begin with the last N lines (all; with --follow 10)
  --follow         go on with what is denied from now on, until interrupted
  --json           a line of JSON each, as in the file; man srt-lua says what is in it
  --seatbelt TAG   reads what macOS's `log stream --style ndjson` writes, on standard input, and shows what was denied
                   under the profile with that tag, which compile --backend seatbelt prints
]]

local PAUSE = 0.2
local BEFORE = 10 -- lines that a reader who follows begins with

local KNOWN = {
  valued = { ["--last"] = function(options, value)
    options.last = value:find("^%d+$") and math.tointeger(tonumber(value))
    return not options.last and "--last takes a number of lines" or nil
  end, ["--seatbelt"] = function(options, value)
    options.seatbelt = value
    return value == "" and "--seatbelt takes the tag of a profile" or nil
  end },
  flags = { ["--follow"] = "follow", ["--json"] = "json" },
}

local function parse(args)
  local options, message = run_options.file(args, KNOWN)
  if not options then return nil, message end
  if options.seatbelt and (options.file or options.last or options.follow) then
    return nil, "with --seatbelt, all comes from standard input"
  end
  options.last = options.last or options.follow and BEFORE or nil
  return options
end

local MOST_COMMAND = 80 -- characters of a command, for people

-- A field of a file that may be anything.
local function field(v, most) return type(v) == "string" and require("srt.violation_text").clean(v, most) or nil end

---A line of the file, for people.
---@param line string
---@param json boolean|nil as it is, where it is one
---@return string|nil nil where it is no line of ours: a full disk has cut it
function violations.shown(line, json)
  local v = require("srt.json").decode(line)
  if type(v) ~= "table" or not field(v.kind) or not field(v.target) then return nil end
  if json then return line .. "\n" end
  local process = type(v.process) == "table" and field(v.process.exe)
  local count = math.tointeger(v.count)
  return ("%s %-9s %s%s: %s  [%s]\n"):format(field(v.time) or "?", field(v.kind), field(v.target),
    count and (" (%d times)"):format(count) or "",
    require("srt.violation_text").why { target = field(v.target), advice = field(v.advice), reason = field(v.reason),
      rule = field(v.rule), origin = field(v.origin) },
    (process and process .. " in " or "") .. (field(v.command, MOST_COMMAND) or "?"))
end

local function show(self, line)
  local text = violations.shown(line, self.json)
  if not text then self.foreign = true else self.known = true end
  return text
end

-- While only the last lines are wanted, they are kept for the time when it is known which these are.
local function take(self, line)
  if not self.last then return show(self, line) end
  if self.last > 0 then self.kept[self.seen % self.last + 1] = line end
  self.seen = self.seen + 1
end

-- Shows the last lines; from now on all.
local function show_kept(self)
  local shown = {}
  for i = math.max(0, self.seen - self.last), self.seen - 1 do
    shown[#shown + 1] = show(self, self.kept[i % self.last + 1])
  end
  self.last, self.kept = nil, {}
  return not shown[1] or self.out(table.concat(shown))
end

-- What to do with lines; false when nobody reads any more.
local function taker(self)
  return function(lines)
    local shown = {}
    for _, line in ipairs(lines) do shown[#shown + 1] = take(self, line) end
    return not shown[1] or self.out(table.concat(shown)) or false
  end
end

local function follow(self, find, taken)
  collectgarbage("restart")
  while true do
    if not self.tail.handle then
      local path = find()
      if path then self.tail:open(path) end
    end
    if self.tail.handle and not self.tail:follow(taken) then return end
    sys.sleep(PAUSE)
  end
end

-- Where runs write: the best folder that has a file.
local function finder(ctx)
  local session = require("srt.session")
  local facts = session.facts(ctx.program) or { env = sys.environ(), home = sys.homeof() }
  local temp = session.tempDir(facts)
  local folders = require("srt.state").folders(facts, temp and require("srt.paths").parent(temp))
  return function()
    for _, folder in ipairs(folders) do
      local path = require("srt.violation_file").path(folder)
      if sys.lstat(path) then return path end
    end
  end
end

-- As a run's own violations are shown: cleaned, counted, told again and again only now and then.
local function from_macos(ctx, options)
  local store = require("srt.violations").new { command = options.seatbelt, now = sys.time, write = function(v)
    ctx.out(violations.shown(require("srt.violation_file").line(v):sub(1, -2), options.json) or "")
  end }
  local reader = require("srt.seatbelt_log").new(options.seatbelt, function(event) store:add(event) end)
  for line in io.stdin:lines("L") do reader:feed(line) end
  store:finish()
  return 0
end

local function fail(ctx, path, what)
  ctx.err(("srt-lua: violations: %s %s\n"):format(require("srt.report").plain(path), what))
  return 1
end

---Runs the command.
---@param args string[] what follows "violations"
---@param ctx table {program, out, err}
---@return integer status 0, 1 for a file that can't be read, 125 for wrong usage
function violations.main(args, ctx)
  local options, message = parse(args)
  local status = require("srt.report").answered(ctx, "srt-lua violations", violations.USAGE, options, message)
  if status then return status end
  if options.seatbelt then return from_macos(ctx, options) end
  local find = options.file and function() return options.file end or finder(ctx)
  local self = { out = ctx.out, json = options.json, last = options.last, kept = {}, seen = 0,
    tail = require("srt.tail").new() }
  local taken, path = taker(self), find()
  if path and self.tail:open(path .. ".1") and not self.tail:drain(taken) then return 0 end
  if path then
    local opened, why = self.tail:open(path)
    if not opened then return fail(ctx, path, "can't be read: " .. why) end
  end
  if path and not self.tail:drain(taken) then return 0 end
  if self.last and not show_kept(self) then return 0 end
  if options.file and not options.last and self.foreign and not self.known then
    return fail(ctx, path, "has no violations in it")
  end
  if options.follow then follow(self, find, taken) end
  return 0
end

return violations
