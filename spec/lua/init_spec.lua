-- SPDX-License-Identifier: Apache-2.0
-- What srt-lua init finds in a project, and that the policy it writes is one without warnings.
require("spec.lua.support")
local decisions = require("spec.lua.decisions")
local detect = require("srt.detect")
local starter = require("srt.starter")
local tree = require("spec.lua.tree")

local function names(list)
  local out = {}
  for i, one in ipairs(list) do out[i] = (one.off and "-" or "") .. one.name end
  table.sort(out)
  return table.concat(out, " ")
end

-- Files (NAME or NAME=TEXT), then what is found of presets, hosts, hidden, closed. A "-" is for what stays a comment.
local ROWS = {
  { {}, "", load = true },
  { { "package.json={}" }, "npm" },
  { { "package.json={}", "package-lock.json" }, "npm" },
  { { "package.json={}", "pnpm-lock.yaml", "package-lock.json" }, "pnpm" },
  { { "package.json={}", "yarn.lock" }, "node-dev" },
  { { 'package.json={"devDependencies":{"playwright":"1"}}' }, "-browser-headless npm" },
  { { "pyproject.toml" }, "pypi" },
  { { "requirements.txt", "setup.py" }, "pypi" },
  { { "pyproject.toml", "poetry.lock" }, "python-dev" },
  { { "Cargo.toml", "go.mod" }, "cargo go" },
  { { "Dockerfile", "compose.yaml" }, "-docker-client" },
  { { "CLAUDE.md", "AGENTS.md" }, "-claude-code -codex" },
  { { ".github/workflows/a.yml", ".gitlab-ci.yml" }, "-ci", "", "", ".github/workflows .gitlab-ci.yml",
    load = true },
  { { "Gemfile", "pom.xml" }, "", "index.rubygems.org:443 repo.maven.apache.org:443 rubygems.org:443" },
  { { ".env", ".env.local" }, "", "", ".env .env.local" },
  { { '.git/config=[remote "origin"]\n\turl = https://github.com/a/b.git\n' }, "-git-https github-readonly" },
  { { '.git/config=[remote "origin"]\n\turl = https://gitlab.com/a/b.git\n' }, "git-https" },
  { { '.git/config=[remote "origin"]\n\turl = git@github.com:a/b.git\n' }, "-git-ssh" },
  { { '.git/config=[remote "o"]\n\turl = git@git.example.org:a/b\n' }, "-git-ssh", "-git.example.org:22" },
  { { '.git/config=[remote "o"]\n\turl = https://git.example.org:8443/a/b\n' }, "", "git.example.org:8443" },
  { { '.git/config=[remote "o"]\n\turl = /srv/git/a\n[remote "p"]\n\turl = file:///a\n' }, "" },
  -- Names come from others.
  { { '.git/config=[remote "o-- }, {"]\n\turl = https://a.test/x\n' }, "", "a.test:443",
    load = true },
  { { '.git/config=[remote "o"]\n\turl = https://github.com/a/b\n', "package.json={}", "go.mod", "Cargo.toml",
    "poetry.lock", ".env" }, "-git-https cargo github-readonly go npm python-dev", "", ".env", load = true },
  { { "sub/.git=gitdir: ../main/.git/worktrees/w\n", "main/.git/worktrees/w/commondir=../..\n",
    'main/.git/config=[remote "o"]\n\turl = https://a.test/x\n' }, "", "a.test:443", dir = "sub" },
}

local URLS = {
  { "https://h.test/a", "https", "h.test", "443" }, { "https://u:p@H.test:8443/a", "https", "h.test", "8443" },
  { "ssh://git@h.test/a", "ssh", "h.test", "22" }, { "git+ssh://h.test:2222/a", "ssh", "h.test", "2222" },
  { "git@h.test:a/b", "ssh", "h.test", "22" }, { "h.test:a/b", "ssh", "h.test", "22" },
  { "git://h.test/a" }, { "http://h.test/a" }, { "/srv/a" }, { "../a" }, { "C:/a" }, { "https://[::1]/a" },
  { "https://h.test@evil.test/a", "https", "evil.test", "443" },
}

local function made(files)
  local top = tree.make({})
  for _, file in ipairs(files) do
    local name, text = file:match("^([^=]*)=?(.*)$")
    assert(os.execute(("mkdir -p '%s/%s'"):format(top, name:match("^(.*)/") or "")))
    local handle <close> = assert(io.open(top .. "/" .. name, "w"))
    handle:write(text)
  end
  return top
end

describe("srt-lua init", function()
  for i, row in ipairs(ROWS) do
    it(("finds %s (%d)"):format(row[2] .. (row[3] or ""), i), function()
      local top = made(row[1])
      local project = detect.project(row.dir and top .. "/" .. row.dir or top)
      tree.remove(top)
      assert.equal(row[2], names(project.presets))
      assert.same({ row[3] or "", row[4] or "", row[5] or "" },
        { names(project.hosts), names(project.hidden), names(project.closed) })
      local text = starter.text(project, "policy.lua")
      assert(load(text))
      if not row.load then return end
      local desk = decisions.open(text, { files = project.closed[1] and { ".github/workflows/", ".gitlab-ci.yml" } })
      local ok, profile = pcall(desk.profile, desk)
      desk:close()
      assert(ok, profile)
      assert.same({}, profile.warnings)
    end)
  end

  it("reads remotes as git does", function()
    for _, row in ipairs(URLS) do
      assert.same({ row[2], row[3], row[4] }, { detect.remote(row[1]) }, row[1])
    end
  end)

  it("knows policies that are there, with the comments taken away as well", function()
    for _, row in ipairs(detect.ROWS) do assert.truthy(decisions.preset(row.preset), row.preset) end
    for _, name in ipairs { "workspace", "no-secrets", "git-https", "git-ssh", "github-readonly" } do
      assert.truthy(decisions.preset(name), name)
    end
    for host in pairs(detect.FORGES) do
      for _, name in ipairs { "git-https", "git-ssh" } do
        assert.truthy(decisions.preset(name):find('"' .. host .. ":", 1, true), name)
      end
    end
  end)

  it("says that Jest needs to be told", function()
    local top = made { 'package.json={ "devDependencies": { "jest": "29" } }' }
    local project = detect.project(top)
    tree.remove(top)
    assert.truthy(starter.text(project, "policy.lua"):find("\n%-%- Jest .*%-%-no%-watchman"))
  end)

  it("writes tests that its policy passes", function()
    local rows = assert(load(starter.tests("policy.lua")))().rows
    local top = made {}
    local text = starter.text(detect.project(top), "policy.lua")
    tree.remove(top)
    local desk = decisions.open(text, { files = { "~/.ssh/id_ed25519", ".git/hooks/" } })
    local said = {}
    for _, row in ipairs(rows) do
      local read = assert(require("srt.test_row").read(row))
      if read.network then
        said[#said + 1] = desk.rehearsal:connect(require("srt.rehearse").place(read.subject)).action
      else
        said[#said + 1] = desk.rehearsal:path(read.action,
          (read.subject:gsub("^policy%.lua$", desk.world.root .. "/%0"))).decision
      end
      assert.equal(row.is, said[#said], read.action .. " " .. read.subject)
    end
    desk:close()
    assert.equal(5, #said)
  end)

  it("tells an editor where the definitions are", function()
    local json = require("srt.json")
    assert.same({ ["runtime.version"] = "Lua 5.4", ["workspace.library"] = { "/x/meta" },
      ["workspace.checkThirdParty"] = false }, (json.decode(starter.editor("/x/meta"))))
    assert.same({ "srt" }, json.decode(starter.editor(nil))["diagnostics.globals"])
  end)
end)
