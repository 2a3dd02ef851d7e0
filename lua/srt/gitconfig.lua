-- SPDX-License-Identifier: Apache-2.0
-- Reads a git configuration file strictly: what git itself writes, and what nobody could read in another way. It finds
-- settings by which git runs a program, or takes settings from elsewhere.

local gitconfig = {}

local BOOLEAN = { [""] = true, ["true"] = true, ["false"] = true, yes = true, no = true, on = true, off = true }

local function program(value)
  return value ~= nil and not BOOLEAN[value:lower()] and not value:find("^%d+$")
end

local function transport(value)
  return value ~= nil and (value:find("::", 1, true) ~= nil or value:find("^%s*%-") ~= nil)
end

local function bang(value) return value ~= nil and value:find("!", 1, true) ~= nil end

local function any() return true end

-- section → name → does this value count? "*" stands for every name; subsections don't matter.
gitconfig.EXECUTING = {
  core = { fsmonitor = program, sshcommand = any, hookspath = any, pager = any, editor = any, gitproxy = any,
    askpass = any, alternaterefscommand = any, worktree = any },
  credential = { helper = any }, sequence = { editor = any }, pager = { ["*"] = program },
  diff = { external = any, textconv = any, command = any }, difftool = { cmd = any, path = any },
  merge = { driver = any }, mergetool = { cmd = any, path = any },
  filter = { clean = any, smudge = any, process = any },
  gpg = { program = any, defaultkeycommand = any }, interactive = { difffilter = any }, tar = { command = any },
  alias = { ["*"] = any }, include = { ["*"] = any }, includeif = { ["*"] = any }, hook = { ["*"] = any },
  remote = { uploadpack = any, receivepack = any, vcs = any, url = transport, pushurl = transport },
  url = { ["*"] = any }, protocol = { allow = any }, submodule = { update = bang, url = transport },
  uploadpack = { packobjectshook = any }, gc = { recentobjectshook = any }, init = { templatedir = any },
  browser = { cmd = any, path = any }, man = { cmd = any, path = any }, instaweb = { ["*"] = any },
  sendemail = { ["*"] = any }, imap = { tunnel = any }, trailer = { command = any, cmd = any },
  guitool = { ["*"] = any }, cvsexportcommit = { ["*"] = any }, svn = { ["*"] = any }, ["svn-remote"] = { ["*"] = any },
  lfs = { path = any, clean = any, smudge = any, standalonetransferagent = any },
}

local ESCAPES = { n = "\n", t = "\t", b = "\b", ["\\"] = "\\", ["\""] = "\"" }

-- The value of an entry; nil when it could be read in two ways.
local function value_of(text)
  local out, quoted, kept, i = {}, false, 0, 1
  while i <= #text do
    local c = text:sub(i, i)
    if c == "\\" then
      i = i + 1
      local plain = ESCAPES[text:sub(i, i)]
      if not plain then return nil, "an escape that git does not write" end
      out[#out + 1] = plain
      kept = #out
    elseif c == "\"" then
      quoted = not quoted
      kept = #out
    elseif not quoted and (c == "#" or c == ";") then
      break
    elseif c == "\t" and (quoted or not text:find("^%s*$", i)) then
      return nil, "a tab in a value"
    elseif out[1] or quoted or c ~= " " and c ~= "\t" then
      out[#out + 1] = c
      if quoted or c ~= " " and c ~= "\t" then kept = #out end
    end
    i = i + 1
  end
  if quoted then return nil, "a quotation that does not end" end
  return table.concat(out, "", 1, kept)
end

local function subsection_of(text)
  if text:gsub("\\[\\\"]", ""):find("[\\\"]") then return nil end
  return (text:gsub("\\(.)", "%1"))
end

-- A section's header: its name and subsection.
local function header_of(line)
  local name = line:match("^[ \t]*%[([%w%-]+)%][ \t]*$")
  if name then return name:lower() end
  local sub
  name, sub = line:match("^[ \t]*%[([%w%-]+)[ \t]+\"(.*)\"%][ \t]*$")
  sub = sub and subsection_of(sub)
  if sub then return name:lower(), sub end
end

---@class srt.gitsetting
---@field key string as git prints it
---@field section string
---@field name string
---@field value string|nil nil where only the name stands
---@field line integer

---Reads a file.
---@param text string
---@return srt.gitsetting[]|nil settings
---@return string|nil reason why it can't be read
function gitconfig.read(text)
  if text:find("[^\n\t\32-\126\128-\255]") then return nil, "a control character" end
  local list, section, sub, number = {}, nil, nil, 0
  for line in (text:gsub("\n$", "") .. "\n"):gmatch("([^\n]*)\n") do
    number = number + 1
    local at = function(reason) return nil, ("line %d: %s"):format(number, reason) end
    if line:find("^[ \t]*%[") then
      section, sub = header_of(line)
      if not section then return at("a section header that git does not write") end
    elseif not line:find("^[ \t]*$") and not line:find("^[ \t]*[#;]") then
      local name, rest = line:match("^[ \t]*(%a[%w%-]*)[ \t]*(.*)$")
      if not name or not section then return at("neither a section, a setting nor a comment") end
      local setting = { section = section, name = name:lower(), line = number }
      setting.key = section .. (sub and "." .. sub or "") .. "." .. setting.name
      if rest ~= "" then
        local reason
        if rest:sub(1, 1) ~= "=" then return at("neither a section, a setting nor a comment") end
        setting.value, reason = value_of(rest:match("^=[ \t]*(.*)$"))
        if not setting.value then return at(reason) end
      end
      list[#list + 1] = setting
    end
  end
  return list
end

---Does git run or take something because of a setting?
---@param setting srt.gitsetting
---@return boolean
function gitconfig.executes(setting)
  local names = gitconfig.EXECUTING[setting.section]
  local test = names and (names[setting.name] or names["*"])
  return test ~= nil and test(setting.value)
end

---The text without some settings: each is made a comment.
---@param text string
---@param settings srt.gitsetting[]
---@return string
function gitconfig.without(text, settings)
  local out = {}
  for _, setting in ipairs(settings) do out[setting.line] = true end
  local number = 0
  return (text:gsub("[^\n]*\n?", function(line)
    number = number + 1
    return out[number] and "# taken out by srt-lua: " .. line or nil
  end))
end

return gitconfig
