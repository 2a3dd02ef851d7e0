-- SPDX-License-Identifier: Apache-2.0
-- The outcome of a policy's tests, for people and as TAP.
local report = require "srt.report"

local test_text = {}

-- Paths as a test names them: those of the world that was made, and those beneath the working directory.
local function shortener(run, cwd)
  local function plainly(text, from, to)
    return (text:gsub(from:gsub("%p", "%%%0"), (to:gsub("%%", "%%%%"))))
  end
  return function(text)
    text = plainly(text, run.world.cwd .. "/", "")
    text = plainly(plainly(text, run.world.cwd, "."), run.world.home, "~")
    return cwd ~= "/" and plainly(text, cwd .. "/", "") or text
  end
end

local function place(file, line) return line and ("%s:%d"):format(file, line) or file end

local function ranges(lines)
  local out, first, last = {}, nil, nil
  for i = 1, #lines + 1 do
    if first and lines[i] ~= last + 1 then
      out[#out + 1] = first == last and tostring(first) or ("%d-%d"):format(first, last)
      first = nil
    end
    first, last = first or lines[i], lines[i]
  end
  return table.concat(out, ", ")
end

local function failure(result, say)
  for _, problem in ipairs(result.problems or {}) do say(problem) end
  if result.answer then
    local text = require("srt.rehearse_answer").text(result.what or "it", result.answer)
    for line in text:gmatch("[^\n]+") do say(line) end
  end
end

---Counts what is covered, in lines for people.
---@param covered table of srt.test_cover
---@return string[]
function test_text.coverage(covered)
  local lines, hit, ran, all, asked = {}, 0, 0, 0, 0
  for _, entry in ipairs(covered.entries) do
    if entry.hit then
      hit = hit + 1
    else
      lines[#lines + 1] = ("%s: %s %q decided nothing"):format(place(entry.file, entry.line), entry.key, entry.given)
    end
  end
  for _, callback in ipairs(covered.callbacks) do
    all, ran = all + #callback.lines, ran + #callback.lines - #callback.missed
    if callback.hit then asked = asked + 1 end
    if not callback.hit then
      lines[#lines + 1] = ("%s: %s was not asked"):format(place(callback.file, callback.line), callback.key)
    elseif #callback.missed > 0 then
      lines[#lines + 1] = ("%s:%s: never ran (%s)"):format(callback.file, ranges(callback.missed), callback.key)
    end
  end
  local callbacks = #covered.callbacks > 0
    and (", %d of %d callbacks, %d of %d of their lines"):format(asked, #covered.callbacks, ran, all) or ""
  table.insert(lines, 1, ("covered: %d of %d list entries%s"):format(hit, #covered.entries, callbacks))
  return lines
end

local function counts(runs)
  local count, failed = 0, 0
  for _, run in ipairs(runs) do
    for _, result in ipairs(run.results) do
      count = count + 1
      if result.problems then failed = failed + 1 end
    end
    -- What could not be begun is a failure as well.
    if run.problems then count, failed = count + 1, failed + 1 end
  end
  return count, failed
end
test_text.counts = counts

---@param run table of srt.test_run, with file = of the tests
---@param cwd string of the caller
---@param tty boolean?
---@return string
function test_text.human(run, cwd, tty)
  local lines, short = {}, shortener(run, cwd)
  local bold, red, off = report.colours(tty)
  local function say(indent, text) lines[#lines + 1] = indent .. report.plain(short(text)) end
  say("", run.problems and run.file .. ":"
    or ("%s: %d test%s"):format(run.file, #run.results, #run.results == 1 and "" or "s"))
  for _, result in ipairs(run.results) do
    if result.problems then
      lines[#lines + 1] = ("%sfailed:%s %s%s%s"):format(red, off, bold,
        report.plain(short(place(run.file, result.line) .. ": " .. result.title)), off)
      failure(result, function(text) say("    ", text) end)
    end
    for _, text in ipairs(result.said or {}) do say("  ", result.title .. ": " .. report.printed(text)) end
  end
  for _, problem in ipairs(run.problems or {}) do lines[#lines + 1] = short(report.line(problem, tty)) end
  if run.covered then
    for i, text in ipairs(test_text.coverage(run.covered)) do say(i == 1 and "" or "  ", text) end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function escaped(text) return (text:gsub("[\\#]", "\\%0")) end

---@param runs table[]
---@param cwd string
---@return string
function test_text.tap(runs, cwd)
  local lines, number = { "TAP version 13", ("1..%d"):format((counts(runs))) }, 0
  for _, run in ipairs(runs) do
    local short = shortener(run, cwd)
    local function note(text) lines[#lines + 1] = "# " .. report.plain(short(text)) end
    local function result_line(ok, text)
      number = number + 1
      lines[#lines + 1] = ("%sok %d - %s"):format(ok and "" or "not ", number, escaped(report.plain(short(text))))
    end
    for _, result in ipairs(run.results) do
      result_line(not result.problems, place(run.file, result.line) .. ": " .. result.title)
      failure(result, note)
      for _, text in ipairs(result.said or {}) do note(report.printed(text)) end
    end
    if run.problems then
      result_line(false, run.file .. " can't be run")
      for _, problem in ipairs(run.problems) do note(report.line(problem)) end
    end
    for _, text in ipairs(run.covered and test_text.coverage(run.covered) or {}) do note(text) end
  end
  return table.concat(lines, "\n") .. "\n"
end

return test_text
