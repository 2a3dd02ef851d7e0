-- SPDX-License-Identifier: Apache-2.0
-- Names that a command may not write whatever the policy allows: what is there makes the host run code later, outside
-- of any sandbox. This list is all there is; filesystem.protect adds to it.
--
-- Each: its name, a path's last components, and why. `where`: "home": only in the home directory, elsewhere it is an
-- ordinary name; "git": only in a repository's own folder. `hold`: false where an empty directory in its place would
-- break programs, so that it is found at the end instead. `config`: allowGitConfig gives it free.

local protected = {}

local SHELL = "a shell runs it when it starts"
local LOGIN = "a shell or display manager runs it at login"
local EDITOR = "an editor takes tasks, extensions and interpreters from it"
local AGENT = "a coding agent takes commands and hooks from it"
local PROGRAM = "a program runs the commands in it when it starts"

protected.NAMES = {
  { ".bashrc", SHELL }, { ".bash_profile", LOGIN }, { ".bash_login", LOGIN },
  { ".bash_logout", "bash runs it at its end" },
  { ".bash_aliases", "~/.bashrc runs it" }, { ".profile", LOGIN },
  { ".zshenv", SHELL }, { ".zshrc", SHELL }, { ".zprofile", LOGIN }, { ".zlogin", LOGIN },
  { ".zlogout", "zsh runs it at its end" },
  { ".envrc", "direnv runs it when the folder is entered" },
  { ".gitconfig", "git runs the programs it names", hold = "not at home" },
  { ".gitmodules", "git fetches from where it says" },
  { ".ripgreprc", "rg takes options from it, and --pre runs a program" },
  { ".mcp.json", "a coding agent starts the servers in it" },
  { ".vscode", EDITOR }, { ".idea", EDITOR }, { ".cursor", EDITOR },
  { ".devcontainer", "an editor builds and starts containers by it" },
  { ".husky", "git runs the hooks in it" },
  { ".claude/commands", AGENT }, { ".claude/agents", AGENT },
  { ".claude/settings.json", AGENT }, { ".claude/settings.local.json", AGENT },

  { ".git/hooks", "git runs what is in it", where = "git" },
  { ".git/config", "git runs the programs it names", where = "git", hold = false, config = true },
  { ".git/config.worktree", "git runs the programs it names", where = "git", hold = false, config = true },
  { ".git/commondir", "git takes hooks and configuration from where it says", where = "git", hold = false },

  { ".ssh/authorized_keys", "who has the keys can log in", where = "home" },
  { ".ssh/authorized_keys2", "who has the keys can log in", where = "home" },
  { ".ssh/config", "ssh runs the programs it names", where = "home" },
  { ".ssh/rc", "sshd runs it at login", where = "home" },
  { ".ssh/environment", "sshd takes variables from it", where = "home" },
  { ".srt-settings.json", "the next sandbox takes its settings from it", where = "home" },
  { ".pam_environment", "login takes variables from it", where = "home" },
  { ".xprofile", LOGIN, where = "home" }, { ".xinitrc", LOGIN, where = "home" },
  { ".xsession", LOGIN, where = "home" }, { ".xsessionrc", LOGIN, where = "home" },
  { ".inputrc", "it binds keys to commands", where = "home" },
  { ".vimrc", PROGRAM, where = "home" }, { ".gdbinit", PROGRAM, where = "home" },
  { ".tmux.conf", PROGRAM, where = "home" }, { ".screenrc", PROGRAM, where = "home" },
  { ".config/git/config", "git runs the programs it names", where = "home", hold = false },
  { ".config/fish", SHELL, where = "home" }, { ".config/nvim", PROGRAM, where = "home" },
  { ".config/autostart", LOGIN, where = "home" }, { ".config/environment.d", LOGIN, where = "home" },
  { ".config/systemd/user", "systemd starts what is in it", where = "home" },
}

-- Folders that programs make on their own for much else: their place is not held.
protected.COMMON = { [".config"] = true, [".config/git"] = true, [".config/systemd"] = true }

-- Its packages hold such names by the thousand, and pinned folders could not be removed.
protected.SKIP = { "node_modules" }

-- Git's own folders have their parts protected one by one.
protected.GIT = ".git"

local function parts_of(name)
  local parts = {}
  for part in name:gmatch("[^/]+") do
    parts[#parts + 1] = part
  end
  return parts
end

---The names that a policy protects.
---@param settings {names: {name: string, origin: table}[], allowGitConfig: boolean}
---@return table[] list {name=, why=, parts=, where=, hold=, origin=}
function protected.list(settings)
  local list, seen = {}, {}
  for _, row in ipairs(protected.NAMES) do
    if not (row.config and settings.allowGitConfig) then
      local entry = { name = row[1], why = row[2], parts = parts_of(row[1]), where = row.where, hold = row.hold,
        config = row.config }
      list[#list + 1], seen[entry.name] = entry, true
    end
  end
  for _, more in ipairs(settings.names) do
    if not seen[more.name] then
      seen[more.name] = true
      list[#list + 1] = { name = more.name, why = "the policy protects it", parts = parts_of(more.name),
        origin = more.origin }
    end
  end
  return list
end

---Is text fit for filesystem.protect?
---@return string|nil name without a trailing slash
---@return string|nil reason
function protected.parse(text)
  local name = text:gsub("/+$", "")
  if name == "" then return nil, "a name can't be empty" end
  if name:find("^[/~]") then return nil, "a name is looked for in every folder, so it can't begin with / or ~" end
  for part in (name .. "/"):gmatch("([^/]*)/") do
    if part == "" or part == "." or part == ".." then return nil, "a name has no empty, \".\" or \"..\" components" end
  end
  if name:find("[%z*?%[%]]") then
    return nil, "patterns can't be held: a name that does not exist yet has to be one name"
  end
  if name == ".git" then
    return nil, "without .git nobody could use git; .git/hooks and its like are protected already"
  end
  return name
end

return protected
