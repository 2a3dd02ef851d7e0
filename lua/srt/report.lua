-- SPDX-License-Identifier: Apache-2.0
-- Renders errors and warnings for people and for programs.

local report = {}

local function hex(c) return ("\\x%02x"):format(c:byte()) end

-- Beyond ASCII there are more control characters, and what turns the direction of writing or is not seen.
local function plain_wide(text)
  local deceives = require("srt.violation_text").deceives
  local out, at = {}, 1
  while at <= #text do
    local to = utf8.len(text, at, at) and utf8.offset(text, 2, at)
    local part = text:sub(at, (to or at + 1) - 1)
    out[#out + 1] = (not to or deceives(utf8.codepoint(part))) and part:gsub(".", hex) or part
    at = at + #part
  end
  return table.concat(out)
end

---Makes text safe for a terminal: what would draw on the screen or not be seen becomes \xNN, a byte each.
---@param text string
---@return string
function report.plain(text)
  if text:find("[\128-\255]") then return plain_wide(text) end
  return (text:gsub("[%z\1-\31\127]", hex))
end

local plain = report.plain

---@param tty boolean|nil colours are wanted
---@return string bold
---@return string red
---@return string off
function report.colours(tty)
  if not tty or os.getenv("NO_COLOR") then
    return "", "", ""
  end
  return "\27[1m", "\27[31m", "\27[0m"
end

---One error as a line, without a newline.
---@param problem table {file=, line=, key=, message=}
---@param tty boolean|nil colours are wanted
---@param label string|nil "warning" and the like; shown before the message
---@return string
function report.line(problem, tty, label)
  local bold, red, off = report.colours(tty)
  local parts = { bold .. "srt-lua:" .. off }
  if problem.file then
    parts[#parts + 1] = plain(problem.file) .. (problem.line and (":%d"):format(problem.line) or "") .. ":"
  end
  if label then
    parts[#parts + 1] = red .. label .. ":" .. off
  end
  if problem.key and problem.key ~= "" then
    parts[#parts + 1] = bold .. plain(problem.key) .. off .. ":"
  end
  parts[#parts + 1] = plain(problem.message)
  return table.concat(parts, " ")
end

---All errors, one a line, each with its newline.
---@param problems table[]
---@param tty boolean|nil
---@return string
function report.text(problems, tty)
  local lines = {}
  for i, problem in ipairs(problems) do
    lines[i] = report.line(problem, tty) .. "\n"
  end
  return table.concat(lines)
end

---What is told of a wrong command line: what is wrong, and how it goes; not all of the help, which would bury it.
---@param name string "srt-lua run"
---@param message string
---@param usage string the help, whose first paragraph it is
---@return string
function report.usage(name, message, usage)
  return ("%s: %s\n%s%s --help tells more\n"):format(name:gsub(" ", ": "), plain(message),
    usage:match("^(.-\n)\n"), name)
end

---Answers a command line that runs nothing, as it is wrong or asks for help.
---@param ctx table {out, err}
---@param name string "srt-lua run"
---@param usage string the help
---@param options table|nil {help = true} and the like
---@param message string|nil what is wrong, where there are no options
---@param wrong integer|nil exit status of wrong usage, where it isn't that of all our commands
---@return integer|nil exit status; nil: it goes on
function report.answered(ctx, name, usage, options, message, wrong)
  if not options then
    ctx.err(report.usage(name, message, usage))
    return wrong or require("srt.run_status").FAILED
  elseif options.help then
    ctx.out(usage)
    return 0
  end
end

---A failure of our own as a line, with its newline. It may name what lies in a folder of anybody's.
---@param message string|table a problem
---@return string
function report.ours(message)
  return (type(message) == "table" and report.line(message) or "srt-lua: " .. plain(message)) .. "\n"
end

---Names that somebody outside replaced or removed, which takes a mount away.
---@param notices table[] of sandbox:run
---@return string[] warnings
function report.replaced(notices)
  local strerror, lines = require("srt.c.sys").strerror, {}
  for i, notice in ipairs(notices) do
    local text = "removed from outside while the command ran; the name was not protected from then on"
    if notice.missing == 0 then
      text = ("%s from outside while the command ran; its protection was put back within %.1f ms"):format(
        notice.wasMissing and "removed and made again" or "replaced", notice.longest / 1000)
    elseif select(2, strerror(notice.missing)) ~= "ENOENT" then
      text = "replaced from outside while the command ran; it could not be protected again: "
        .. (strerror(notice.missing))
    end
    lines[i] = ("%s was %s"):format(notice.path, text)
  end
  if notices.more then lines[#lines + 1] = "more protected names were replaced from outside" end
  return lines
end

---A line that a policy has logged.
---@param level string
---@param text string
---@return string
function report.logged(level, text) return level == "info" and text or level .. ": " .. text end

---What a policy printed, between whose values there is a tab.
---@param text string
---@return string
function report.printed(text) return plain((text:gsub("\t", "  "))) end

---Plain data of the errors, for --json.
---@param problems table[]
---@return table[]
function report.data(problems)
  local list = {}
  for i, p in ipairs(problems) do
    list[i] = { file = p.file, line = p.line or nil, key = p.key, message = p.message }
  end
  return list
end

---An error at an origin.
---@param origin table
---@param message string
---@return table problem
function report.at(origin, message)
  local line = origin.line
  return { file = origin.file, line = line or nil, key = origin.key, message = message }
end

return report
