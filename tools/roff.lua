-- SPDX-License-Identifier: Apache-2.0
-- The Markdown that docs/policy-reference.md is written in, as a manual page: headings, paragraphs, lists, code, *, **.

local roff = {}

local function escape(text)
  return (text:gsub("\\", "\\e"):gsub("~", "\\(ti"):gsub("%^", "\\(ha"):gsub("\"", "\\(dq"))
end

local function code(text)
  return (escape(text):gsub("-", "\\-"):gsub("'", "\\(aq"):gsub("`", "\\(ga"))
end

-- Spans of one line or paragraph; code first, since nothing in it means anything else.
local function inline(text)
  local spans = {}
  local function keep(s)
    spans[#spans + 1] = s
    return ("\1%d\2"):format(#spans)
  end
  text = text:gsub("`([^`]+)`", function(s) return keep("\\fB" .. code(s) .. "\\fR") end)
  text = text:gsub("%[([^%]]+)%]%([^)]+%)", "%1")
  text = escape(text)
  text = text:gsub("%*%*(.-)%*%*", "\\fB%1\\fR"):gsub("%f[%*]%*([^%*]+)%*", "\\fI%1\\fR")
  return (text:gsub("\1(%d+)\2", function(n) return spans[tonumber(n)] end))
end

-- A line that begins so would be a request.
local function guarded(line)
  return line:find("^[.']") and "\\&" .. line or line
end

local Page = {}
Page.__index = Page

function Page:say(line) self.lines[#self.lines + 1] = line end

function Page:flush()
  if not self.words[1] then return end
  if self.fresh then self.fresh = false else self:say(self.tagged and ".IP" or ".PP") end
  self:say(guarded(inline(table.concat(self.words, " "))))
  self.words = {}
end

local HEADINGS = {
  function(self, text) self.tagged, self.fresh = false, true; self:say(".SH \"" .. inline(text):upper() .. "\"") end,
  function(self, text) self.tagged, self.fresh = false, true; self:say(".SS \"" .. inline(text) .. "\"") end,
  function(self, text)
    self.tagged, self.fresh = true, true
    self:say(".TP")
    self:say(guarded(text:find("^`") and inline(text) or "\\fB" .. inline(text) .. "\\fR"))
  end,
}

function Page:code(lines)
  self:flush()
  self:say(".PP")
  self:say(".in +4n")
  self:say(".EX")
  for _, line in ipairs(lines) do self:say(guarded(code(line))) end
  self:say(".EE")
  self:say(".in")
  self.fresh = false
end

function Page:item(text)
  self:flush()
  if self.tagged and not self.inner then
    self:say(".RS")
    self.inner = true
  end
  self:say(".IP \\(bu 2")
  self.fresh = true
  self.words = { text }
  self.listed = true
end

function Page:leave()
  self:flush()
  if self.inner then self:say(".RE") end
  self.inner, self.listed = false, false
end

function Page:line(line)
  local marks, heading = line:match("^(#+) (.*)$")
  if marks then
    self:leave()
    HEADINGS[#marks](self, heading)
  elseif line == "" then
    self:leave()
  elseif line:find("^%- ") then
    self:item(line:sub(3))
  else
    -- What a key takes is a line of its own.
    self.words[#self.words + 1] = line:match("^%s*(.*)$")
    if self.fresh and not self.listed and line:find("^%*.*%*$") then
      self:flush()
    end
  end
end

---@param text string Markdown
---@param about {name: string, section: integer, title: string, about: string, see: string[]}
---@return string
function roff.page(text, about)
  local self = setmetatable({ lines = {}, words = {} }, Page)
  self:say(".\\\" SPDX-License-Identifier: Apache-2.0")
  self:say(".\\\" Made by tools/reference.lua.")
  self:say((".TH %s %d 2026-01-01 \"srt-lua 0.1.0\" \"%s\""):format(about.name:upper(), about.section, about.title))
  -- Neither broken nor spread: names are to be copied.
  self:say(".nh")
  self:say(".ad l")
  self:say(".SH NAME")
  self:say(("%s \\- %s"):format(about.name, about.about))
  local inside
  for line in (text:gsub("^<!%-%-.-%-%->\n", "")):gmatch("(.-)\n") do
    if line:find("^```") then
      if inside then self:code(inside) end
      inside = not inside and {} or nil
    elseif inside then
      inside[#inside + 1] = line
    else
      self:line(line)
    end
  end
  self:leave()
  self:say(".SH \"SEE ALSO\"")
  for i, page in ipairs(about.see) do
    self:say((".BR %s (%s)%s"):format(page:match("^(.-)%("), page:match("%((%d)%)"), about.see[i + 1] and "," or ""))
  end
  return table.concat(self.lines, "\n") .. "\n"
end

return roff
