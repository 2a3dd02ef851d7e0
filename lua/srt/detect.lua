-- SPDX-License-Identifier: Apache-2.0
-- What a project is made with, told by its files, and what of a policy that asks for. Nothing of it is run.
local gitconfig = require "srt.gitconfig"
local paths = require "srt.paths"
local sys = require "srt.c.sys"

local detect = {}

-- Any of these files brings the ready-made policy of the row, the first row of a group alone. off: its author has to
-- take the -- away, for the reason that is told. has: what the file must hold as well.
detect.ROWS = {
  { files = { "pnpm-lock.yaml", "pnpm-workspace.yaml" }, preset = "pnpm", group = "node" },
  { files = { "yarn.lock", ".yarnrc.yml", "bun.lock", "bun.lockb" }, preset = "node-dev", group = "node" },
  { files = { "package-lock.json", "npm-shrinkwrap.json", "package.json" }, preset = "npm", group = "node" },
  { files = { "poetry.lock" }, preset = "python-dev", group = "python" },
  { files = { "uv.lock", "pyproject.toml", "requirements.txt", "requirements-dev.txt", "setup.py", "setup.cfg",
    "Pipfile", "tox.ini" }, preset = "pypi", group = "python" },
  { files = { "Cargo.toml" }, preset = "cargo" },
  { files = { "go.mod", "go.work" }, preset = "go" },
  { files = { "package.json" }, has = { "playwright", "puppeteer" }, preset = "browser-headless",
    off = "a browser's own sandbox takes user namespaces, by which denyWrite can be undone" },
  { files = { "Dockerfile", "Containerfile", "compose.yaml", "compose.yml", "docker-compose.yaml",
    "docker-compose.yml" }, preset = "docker-client",
    off = "who reaches the engine is as good as root on this machine" },
  { files = { "CLAUDE.md", ".claude" }, preset = "claude-code", off = "to run Claude Code itself under this policy" },
  { files = { "AGENTS.md", ".codex" }, preset = "codex", off = "to run Codex itself under this policy" },
  { files = { ".github/workflows", ".gitlab-ci.yml", ".circleci", ".woodpecker.yml", ".woodpecker",
    ".forgejo/workflows", ".gitea/workflows", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml",
    ".travis.yml", ".drone.yml", ".buildkite" }, preset = "ci", closed = true,
    off = "for its steps: their tokens are not there, and nothing runs with warnings" },
}

-- Registries that no ready-made policy has.
detect.HOSTS = {
  { files = { "Gemfile", "Gemfile.lock" }, hosts = { "rubygems.org:443", "index.rubygems.org:443" } },
  { files = { "pom.xml" }, hosts = { "repo.maven.apache.org:443" } },
  { files = { "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts" },
    hosts = { "repo.maven.apache.org:443", "plugins.gradle.org:443", "services.gradle.org:443" } },
  { files = { "composer.json" }, hosts = { "repo.packagist.org:443" } },
  { files = { "mix.exs" }, hosts = { "hex.pm:443", "repo.hex.pm:443", "builds.hex.pm:443" } },
}

-- Forges that the ready-made policies of git have, by both ways.
detect.FORGES = { ["github.com"] = true, ["gitlab.com"] = true, ["codeberg.org"] = true, ["bitbucket.org"] = true }

local ENV_FILES = { ".env", ".env.local", ".env.development", ".env.production", ".env.test" }
local MOST = 1 << 20

local Project = {}
Project.__index = Project

local function add(self, list, item)
  for _, known in ipairs(self[list]) do
    if known.name == item.name then return end
  end
  table.insert(self[list], item)
end

---Which of these files is there, and holds one of the words where there are such.
local function first(dir, files, words)
  for _, name in ipairs(files) do
    local path = paths.join(dir, name)
    if sys.lstat(path) then
      local text = not words or sys.readfile(path, MOST)
      for _, word in ipairs(words or {}) do
        if text and text:find(word, 1, true) then return name end
      end
      if not words then return name end
    end
  end
end

-- The folder of a repository's configuration; a worktree's is elsewhere.
local function config_of(dir)
  local at = dir
  while not sys.lstat(paths.join(at, ".git")) do
    if at == "/" then return nil end
    at = paths.parent(at)
  end
  local git = paths.join(at, ".git")
  local pointer = sys.readfile(git, MOST)
  if not pointer then return git .. "/config" end
  local to = pointer:match("^gitdir: ([^\n]+)")
  if not to then return nil end
  to = paths.normalize(to:sub(1, 1) == "/" and to or at .. "/" .. to)
  local common = sys.readfile(to .. "/commondir", MOST)
  common = common and common:match("^[^\n]+")
  if not common then return to .. "/config" end
  return paths.normalize(common:sub(1, 1) == "/" and common or to .. "/" .. common) .. "/config"
end

---Where a remote is.
---@param url string
---@return string|nil way "https" or "ssh"
---@return string|nil host
---@return string|nil port
function detect.remote(url)
  local scheme, rest = url:match("^(%a[%w+.-]*)://([^/]*)")
  if not scheme then
    -- As git takes it: [USER@]HOST:PATH. One letter is a drive.
    local host = url:gsub("^[^/:@]+@", ""):match("^([%w.-]+):")
    if host and #host > 1 then return "ssh", host:lower(), "22" end
    return nil
  end
  scheme = scheme:lower():gsub("^git%+", "")
  local host, port = rest:gsub("^.*@", ""):match("^([%w.-]+):?(%d*)$")
  if not host or scheme ~= "https" and scheme ~= "ssh" then return nil end
  return scheme, host:lower(), port ~= "" and port or scheme == "ssh" and "22" or "443"
end

local function add_remote(self, name, url)
  local way, host, port = detect.remote(url)
  local entry = way and ("%s:%s"):format(host, port)
  if not entry or not require("srt.domain").parse(entry, "allow") then return end
  local why = ("the git remote %s: %s, by %s"):format(name, entry, way)
  local known = detect.FORGES[host] and port == (way == "ssh" and "22" or "443")
  if way == "ssh" then
    add(self, "presets", { name = "git-ssh", why = why, off = "ssh signs with every key of your agent" })
  elseif host == "github.com" and known then
    add(self, "presets", { name = "github-readonly", why = why .. "; all may be read there, nothing changed" })
    add(self, "presets", { name = "git-https", why = "in its place", off = "to push as well" })
  elseif known then
    add(self, "presets", { name = "git-https", why = why })
  end
  if not known then add(self, "hosts", { name = entry, why = why, off = way == "ssh" }) end
end

local function git(self)
  local config = config_of(self.dir)
  local text = config and sys.readfile(config, MOST)
  local settings = text and gitconfig.read(text)
  for _, setting in ipairs(settings or {}) do
    local name = setting.key:match("^remote%.(.*)%.url$")
    if name and setting.value then add_remote(self, name, setting.value) end
  end
end

local function rows(self)
  local taken = {}
  for _, row in ipairs(detect.ROWS) do
    local name = first(self.dir, row.files, row.has)
    if name and not taken[row.group or row] then
      taken[row.group or row] = true
      add(self, "presets", { name = row.preset, why = name, off = row.off })
    end
    for _, file in ipairs(row.closed and row.files or {}) do
      if sys.lstat(paths.join(self.dir, file)) then
        add(self, "closed", { name = file, why = "what is in it runs elsewhere, with other rights" })
      end
    end
  end
  for _, row in ipairs(detect.HOSTS) do
    local name = first(self.dir, row.files)
    for _, host in ipairs(name and row.hosts or {}) do add(self, "hosts", { name = host, why = name }) end
  end
  for _, name in ipairs(ENV_FILES) do
    if first(self.dir, { name }) then add(self, "hidden", { name = name, why = "usually holds passwords" }) end
  end
  if first(self.dir, { "package.json" }, { '"jest"' }) then
    self.hints[1] = "Jest asks watchman where that is installed, which can't be reached here: run jest --no-watchman."
  end
end

---@class srt.project
---@field dir string
---@field presets {name: string, why: string, off: string?}[] off: why its author has to decide
---@field hosts {name: string, why: string, off: boolean?}[] entries of allowedDomains
---@field hidden {name: string, why: string}[] files to hide
---@field closed {name: string, why: string}[] files that are to stay as they are
---@field hints string[] what can't be said by a policy

---@param dir string absolute
---@return srt.project
function detect.project(dir)
  local self = setmetatable({ dir = dir, presets = {}, hosts = {}, hidden = {}, closed = {}, hints = {} }, Project)
  git(self)
  rows(self)
  return self
end

return detect
