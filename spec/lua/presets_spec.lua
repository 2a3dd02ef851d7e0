-- SPDX-License-Identifier: Apache-2.0
-- The ready-made policies: what each allows and denies, and that none of them widens another unseen.
local decisions = require("spec.lua.decisions")

local function extends(...)
  return ('return { extends = { "%s" } }'):format(table.concat({ ... }, '", "'))
end

local TABLE = {
  workspace = [[
    write src/main.c -> allow
    create new -> allow
    create .bashrc -> deny
    create .vscode -> deny
    write ~/other -> deny
    read ~/.ssh/id -> allow
    connect github.com:443 -> deny: no network]],
  ["git-https"] = [[
    connect github.com:443 -> allow
    connect codeberg.org:443 -> allow
    connect github.com:22 -> deny
    connect github.com:80 -> deny
    connect api.github.com:443 -> deny
    request GET https://github.com/a/b -> unread
    env GIT_TERMINAL_PROMPT -> 0
    write src/main.c -> deny]],
  ["git-ssh"] = [[
    connect github.com:22 -> allow
    connect ssh.github.com:443 -> allow
    connect github.com:443 -> deny
    connect example.com:22 -> deny
    connect unix:/tmp/agent.sock -> allow
    connect unix:/run/docker.sock -> deny
    read ~/.ssh/id_ed25519 -> deny
    read ~/.ssh/id_ed25519.pub -> allow
    read ~/.ssh/known_hosts -> allow
    write ~/.ssh/known_hosts -> deny]],
  ["github-readonly"] = [[
    request GET https://github.com/a/b/info/refs?service=git-upload-pack -> allow
    request POST https://github.com/a/b/git-upload-pack -> allow
    request POST https://github.com/a/b.git/git-upload-pack -> allow
    request GET https://github.com/a/b/info/refs?service=git-receive-pack -> deny: git push
    request POST https://github.com/a/b/git-receive-pack -> deny: git push
    request POST https://github.com/x/a/b/git-upload-pack -> deny: read-only
    request POST https://api.github.com/a/b/git-upload-pack -> deny: read-only
    request GET https://raw.githubusercontent.com/git/git/master/builtin/receive-pack.c -> allow
    request HEAD https://codeload.github.com/a/b/tar.gz/main -> allow
    request GET https://api.github.com/repos/a/b/issues -> allow
    request POST https://api.github.com/repos/a/b/issues -> deny: POST: GitHub is read-only here
    request DELETE https://api.github.com/repos/a/b -> deny: read-only
    request PATCH https://github.com/a/b -> deny: read-only
    request POST https://api.github.com/graphql -> deny: by GET
    connect github.com:22 -> deny: read-only
    connect ssh.github.com:443 -> deny: read-only
    connect uploads.github.com:443 -> deny: read-only
    connect github.com:80 -> deny
    connect gist.github.com:443 -> deny]],
  npm = [[
    connect registry.npmjs.org:443 -> allow
    connect registry.npmjs.org:80 -> deny
    connect www.npmjs.org:443 -> deny
    write ~/.npm/_cacache/x -> allow
    write ~/.npm/_npx/x/a.js -> deny
    read ~/.npmrc -> deny
    env npm_config_fund -> false]],
  pnpm = [[
    connect registry.npmjs.org:443 -> allow
    write ~/.local/share/pnpm/store/v3/files/x -> allow
    write ~/.local/share/pnpm/pnpm -> deny
    write ~/.cache/pnpm/metadata -> allow
    write ~/.cache/pnpm/dlx/x -> deny
    read ~/.config/pnpm/auth.ini -> deny]],
  pypi = [[
    connect pypi.org:443 -> allow
    connect files.pythonhosted.org:443 -> allow
    connect upload.pypi.org:443 -> deny
    write ~/.cache/pip/x -> allow
    write ~/.cache/uv/x -> allow
    write ~/.local/lib/x.py -> deny
    read ~/.pypirc -> deny]],
  cargo = [[
    connect index.crates.io:443 -> allow
    connect static.crates.io:443 -> allow
    connect crates.io:443 -> deny
    write ~/.cargo/registry/cache/x -> allow
    write ~/.cargo/git/x -> allow
    write ~/.cargo/bin/x -> deny
    write ~/.cargo/config.toml -> deny
    read ~/.cargo/config.toml -> allow
    read ~/.cargo/credentials.toml -> deny]],
  go = [[
    connect proxy.golang.org:443 -> allow
    connect sum.golang.org:443 -> allow
    connect golang.org:443 -> deny
    write ~/go/pkg/mod/x -> allow
    write ~/.cache/go-build/x -> allow
    write ~/go/bin/x -> deny
    env GOPROXY -> https://proxy.golang.org]],
  ["apt-cache"] = [[
    connect deb.debian.org:80 -> allow
    connect security.debian.org:443 -> allow
    connect archive.ubuntu.com:80 -> allow
    connect example.com:80 -> deny
    read /etc/apt/sources.list.d -> allow
    read /etc/apt/auth.conf.d -> deny
    create /var/lib/apt/lists/x -> deny
    create /usr/bin/x -> deny]],
  ["docker-client"] = [[
    connect unix:/run/docker.sock -> allow
    connect unix:/run/containerd/containerd.sock -> deny
    connect registry-1.docker.io:443 -> deny]],
  ["no-secrets"] = [[
    read ~/.ssh/id -> deny
    read ~/.aws/credentials -> deny
    read ~/.config/gh/hosts.yml -> deny
    read ~/.netrc -> deny
    read ~/.claude/.credentials.json -> deny
    read ~/.gitconfig -> allow
    read /etc/shadow -> deny
    read /etc/passwd -> allow
    env GITHUB_TOKEN -> absent
    env AWS_SECRET_ACCESS_KEY -> absent
    env LANG -> C
    write src/main.c -> deny
    connect github.com:443 -> deny]],
  ["no-system-secrets"] = [[
    read /etc/shadow -> deny
    read /etc/passwd -> allow
    read ~/.ssh/id -> allow]],
  ["node-dev"] = [[
    write src/main.js -> allow
    connect registry.npmjs.org:443 -> allow
    connect registry.yarnpkg.com:443 -> allow
    connect nodejs.org:443 -> allow
    connect github.com:443 -> deny
    write ~/.cache/node-gyp/x -> allow
    write ~/.npm/_npx/x -> deny
    read ~/.aws/credentials -> deny
    env NPM_TOKEN -> absent]],
  ["python-dev"] = [[
    write src/main.py -> allow
    connect pypi.org:443 -> allow
    connect github.com:443 -> deny
    write ~/.cache/pypoetry/cache/x -> allow
    write ~/.cache/pypoetry/virtualenvs/a/bin/python -> deny
    write ~/.local/bin/x -> deny
    read ~/.ssh/id -> deny
    env POETRY_VIRTUALENVS_IN_PROJECT -> true]],
  ["mcp-filesystem"] = [[
    read notes.txt -> allow
    write notes.txt -> allow
    read ~/letter -> deny
    read ~/.ssh/id -> deny
    read ~/.nvm/versions/node -> allow
    write ~/.nvm/versions/node -> deny
    read /etc/shadow -> deny
    connect registry.npmjs.org:443 -> deny]],
  ["claude-code"] = [[
    write src/main.c -> allow
    connect api.anthropic.com:443 -> allow
    connect statsig.anthropic.com:443 -> deny
    write ~/.claude/projects/x.jsonl -> allow
    write ~/.claude/.credentials.json -> allow
    read ~/.claude/.credentials.json -> allow
    write ~/.claude.json -> allow
    write ~/.claude/settings.json -> deny
    write ~/.claude/CLAUDE.md -> deny
    write ~/.claude/plugins/x/run.sh -> deny
    write ~/.claude/local/claude -> deny
    create ~/.claude/skills -> deny
    create .claude/hooks -> deny
    read ~/.codex/auth.json -> deny
    read ~/.ssh/id -> deny
    env ANTHROPIC_API_KEY -> k
    env GITHUB_TOKEN -> absent]],
  codex = [[
    write src/main.c -> allow
    connect api.openai.com:443 -> allow
    connect chatgpt.com:443 -> allow
    connect api.anthropic.com:443 -> deny
    write ~/.codex/sessions/x -> allow
    read ~/.codex/auth.json -> allow
    write ~/.codex/config.toml -> deny
    write ~/.codex/prompts/x.md -> deny
    read ~/.claude/.credentials.json -> deny
    env OPENAI_API_KEY -> k]],
  ["browser-headless"] = [[
    read ~/.config/chromium/Default/Cookies -> deny
    read ~/.mozilla/firefox/x -> deny
    read ~/.cache/ms-playwright/chrome -> allow
    write src/a -> deny
    connect example.com:443 -> deny]],
  ci = [[
    write src/main.c -> allow
    env CI -> true
    env ACTIONS_RUNTIME_TOKEN -> absent
    env CI_JOB_TOKEN -> absent
    read ~/.docker/config.json -> deny
    connect github.com:443 -> deny]],
}

local function env()
  return { SSH_AUTH_SOCK = "/tmp/agent.sock", LANG = "C", GITHUB_TOKEN = "t", AWS_SECRET_ACCESS_KEY = "t",
    NPM_TOKEN = "t", ANTHROPIC_API_KEY = "k", OPENAI_API_KEY = "k", ACTIONS_RUNTIME_TOKEN = "t", CI_JOB_TOKEN = "t" }
end

-- Shown by tools of their own, which have specs.
local DEMONSTRATIONS = { ["https-token"] = true, quickstart = true }

-- They give what everybody should be warned of.
local WARNS = { ["git-ssh"] = "every key of the SSH agent", ["docker-client"] = "as good as root" }

local function names()
  local list = {}
  local pipe = assert(io.popen("ls policies"))
  for file in pipe:lines() do
    local name = file:match("^(.+)%.lua$")
    if name and not name:find("_spec$") then list[#list + 1] = name end
  end
  pipe:close()
  return list
end

describe("the ready-made policy", function()
  local file = assert(io.open("docs/presets.md"))
  local page = file:read("a")
  file:close()
  for _, name in ipairs(names()) do
    it(name .. " allows and denies what it says", function()
      local text = decisions.preset(name)
      if DEMONSTRATIONS[name] then return end
      assert.truthy(text:find("^%-%- SPDX[^\n]*\n%-%- %u[^\n]*%.\n"), "it begins with its purpose")
      assert.is_true(select(2, text:gsub("\n", "")) <= 50, "it is short")
      assert.truthy(page:find(("| `%s` | %s |"):format(name, text:match("\n%-%- ([^\n]*)")), 1, true), "docs/presets.md")
      local problems, count, profile = decisions.all(extends(name), assert(TABLE[name], "it has no lines"),
        { env = env() })
      assert.equal("", problems)
      assert.is_true(count >= 3)
      local warning = table.concat(profile.warnings, "\n")
      assert.truthy(WARNS[name] and warning:find(WARNS[name], 1, true) or warning == "", warning)
      assert.equal(name, profile.presets[1])
    end)
  end
end)

describe("ready-made policies together", function()
  local function hold(presets, lines, more)
    local policy = more and extends(table.unpack(presets)):gsub(" }$", more) or extends(table.unpack(presets))
    local problems, _, profile = decisions.all(policy, lines, { env = env() })
    assert.equal("", problems)
    return profile
  end

  it("keep the filter of one over the hosts of another, in either order", function()
    for _, pair in ipairs { { "git-https", "github-readonly" }, { "github-readonly", "git-https" } } do
      hold({ pair[1], pair[2], "git-ssh" }, [[
        request POST https://github.com/a/b/git-receive-pack -> deny: git push
        request POST https://github.com/a/b/git-upload-pack -> allow
        request POST https://gitlab.com/a/b/git-receive-pack -> allow
        connect github.com:22 -> deny: read-only
        connect gitlab.com:22 -> allow]])
    end
  end)

  it("keep hidden what one hides, but for what another says", function()
    hold({ "no-secrets", "git-ssh", "npm", "workspace" }, [[
      read ~/.ssh/id_ed25519 -> deny
      read ~/.ssh/known_hosts -> allow
      read ~/.npmrc -> deny]])
    hold({ "mcp-filesystem", "npm", "git-https" }, [[
      connect registry.npmjs.org:443 -> deny
      connect github.com:443 -> deny
      read ~/letter -> deny]])
  end)

  it("tell what is taken back, and from where", function()
    local profile = hold({ "claude-code", "git-ssh", "ci" }, "read ~/.ssh/known_hosts -> allow")
    local rows, texts = require("srt.provenance").data(profile.provenance), {}
    for i, row in ipairs(rows.undone) do
      texts[i] = ("%s: %s %s %s"):format(row.key, row.text, row.was.file, row.origin.file)
      assert.equal("number", type(row.was.line))
      assert.equal("number", type(row.origin.line))
    end
    assert.same({
      'env.unset: "ANTHROPIC_API_KEY" is taken out policies/no-secrets.lua policies/claude-code.lua',
      'filesystem.denyRead: "~/.claude/.credentials.json" is taken out policies/no-secrets.lua policies/claude-code.lua',
      'filesystem.denyRead: "~/.ssh" has "~/.ssh/known_hosts" readable again policies/no-secrets.lua policies/git-ssh.lua',
      'filesystem.denyRead: "~/.ssh" has "~/.ssh/config" readable again policies/no-secrets.lua policies/git-ssh.lua',
    }, texts)
    assert.same({ { "strict", true, "policies/ci.lua" } },
      { { rows.settings[1].key, rows.settings[1].value, rows.settings[1].origin.file } })
    assert.equal("policies/claude-code.lua", rows.env.set.DISABLE_AUTOUPDATER.file)
    local text = require("srt.cli.check").text("p.lua", profile)
    for _, part in ipairs { "what one policy takes back of another:", "(policies/no-secrets.lua:18)",
      "strict = true", "unset GITHUB_TOKEN", "api.anthropic.com:443" } do
      assert.truthy(text:find(part, 1, true), part)
    end
  end)

  it("can be looked through for each entry: where it is from", function()
    local profile = hold({ "node-dev", "git-https", "github-readonly", "cargo", "go" }, "write x -> allow")
    local from = {}
    for _, rule in ipairs(profile.network.allowed) do
      from[rule.text] = from[rule.text] or {}
      table.insert(from[rule.text], rule.origin.file)
    end
    assert.same({ "policies/npm.lua", "policies/pnpm.lua" }, from["registry.npmjs.org:443"])
    assert.same({ "policies/git-https.lua", "policies/github-readonly.lua" }, from["github.com:443"])
    for _, list in ipairs { "allowWrite", "denyRead", "denyWrite" } do
      for _, entry in ipairs(profile.filesystem[list]) do
        assert.truthy(entry.builtin or entry.origin.file:find("^policies/") and entry.origin.line, entry.given)
      end
    end
  end)

  it("show no password of a proxy", function()
    local profile = hold({ "npm" }, "connect registry.npmjs.org:443 -> allow", [[, network = { parentProxy = {
      http = "http://u:hunter2@proxy.test:1" } }, backend = "auto", extends = { "npm", {
      network = { parentProxy = { http = "http://u:hunter2@proxy.test:2" } }, backend = "bwrap" } } }]])
    local all = require("srt.json").encode(require("srt.provenance").data(profile.provenance))
    local text = require("srt.cli.check").text("p.lua", profile)
    assert.falsy((all .. text):find("hunter2", 1, true), all .. text)
    assert.truthy(text:find("network.parentProxy.http: it is another", 1, true), text)
    assert.truthy(text:find("backend: bwrap becomes auto", 1, true), text)
  end)

  it("tell which hosts are kept from a filter", function()
    local profile = hold({ "github-readonly" }, "request DELETE https://github.com/a/b -> unread",
      [[, network = { tlsTerminate = { excludeDomains = { "github.com" } } } }]])
    local row = profile.provenance.undone[1]
    assert.same({ "network.filterRequest", 'it is not asked about "github.com"' }, { row.key, row.text })
    assert.same({ "policies/github-readonly.lua", 19 }, { row.was.file, row.was.line })
  end)

  it("leave a masked variable its stand-in", function()
    local profile = select(3, decisions.all([[return { extends = { "no-secrets" }, network = { tlsTerminate = {},
      allowedDomains = { "a.test:443" } },
      credentials = { envVars = { { name = "GITHUB_TOKEN", mode = "mask", injectHosts = { "a.test:443" } } } } }]],
      "env GITHUB_TOKEN -> ghp_123456789\nenv NPM_TOKEN -> absent", { env = { GITHUB_TOKEN = "ghp_123456789" } }))
    assert.same({ GITHUB_TOKEN = true }, profile.credentials.masks)
  end)
end)
