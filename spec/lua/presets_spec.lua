-- SPDX-License-Identifier: Apache-2.0
-- The ready-made policies: what each allows and denies, and that none of them widens another unseen.
local decisions = require("spec.lua.decisions")
local lines_of = require("spec.lua.presets_lines")

local function extends(...)
  return ('return { extends = { "%s" } }'):format(table.concat({ ... }, '", "'))
end

local function env()
  return { SSH_AUTH_SOCK = "/tmp/agent.sock", LANG = "C", GITHUB_TOKEN = "t", AWS_SECRET_ACCESS_KEY = "t",
    NPM_TOKEN = "t", ANTHROPIC_API_KEY = "k", OPENAI_API_KEY = "k", ACTIONS_RUNTIME_TOKEN = "t", CI_JOB_TOKEN = "t" }
end

-- Shown by tools of their own, which have specs.
local DEMONSTRATIONS = { ["https-token"] = true, quickstart = true }

-- They give what everybody should be warned of.
local WARNS = { ["git-ssh"] = "every key of the SSH agent", ["docker-client"] = "as good as root" }

describe("the ready-made policy", function()
  local file = assert(io.open("docs/presets.md"))
  local page = file:read("a")
  file:close()
  for _, name in ipairs(decisions.presets()) do
    it(name .. " allows and denies what it says", function()
      local text = decisions.preset(name)
      if DEMONSTRATIONS[name] then return end
      assert.truthy(text:find("^%-%- SPDX[^\n]*\n%-%- %u[^\n]*%.\n"), "it begins with its purpose")
      assert.is_true(select(2, text:gsub("\n", "")) <= 50, "it is short")
      assert.truthy(page:find(("| `%s` | %s |"):format(name, text:match("\n%-%- ([^\n]*)")), 1, true), "docs/presets.md")
      local problems, count, profile = decisions.all(extends(name), assert(lines_of[name], "it has no lines"),
        env())
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
    local problems, _, profile = decisions.all(policy, lines, env())
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
    local settings = {}
    for i, row in ipairs(rows.settings) do
      settings[i] = ("%s %s %s"):format(row.key, row.value, row.origin.file)
      assert.equal("number", type(row.origin.line))
    end
    assert.same({ "filesystem.protect .claude/hooks policies/claude-code.lua",
      "filesystem.protect .claude/local policies/claude-code.lua",
      "filesystem.protect .claude/plugins policies/claude-code.lua",
      "filesystem.protect .claude/skills policies/claude-code.lua",
      ("git.safeDirectories %s policies/ci.lua"):format(profile.cwd), "strict true policies/ci.lua" }, settings)
    assert.equal("policies/claude-code.lua", rows.env.set.DISABLE_AUTOUPDATER.file)
    local text = require("srt.cli.check").text("p.lua", profile, nil, true)
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

  it("take sockets and users from where they run", function()
    for _, row in ipairs { { "git-ssh", "/tmp/agent.sock -> deny" }, { "git-ssh", "/s/a -> allow", "SSH_AUTH_SOCK", "/s/a" },
      { "git-ssh", "/s/a -> deny", "SSH_AUTH_SOCK", "s/a" }, { "docker-client", "/s/d -> allow", "DOCKER_HOST", "unix:///s/d" },
      { "docker-client", "/s/d -> deny", "DOCKER_HOST", "tcp://a.test:1" } } do
      local problems = decisions.all(extends(row[1]), "connect unix:" .. row[2], { [row[3] or "A"] = row[4] or "" })
      assert.equal("", problems)
    end
    -- For root no run could have them.
    local nested = hold({ "browser-headless" }, "connect a.test:80 -> deny").nested
    assert.equal(require("srt.c.sys").ids() ~= 0, nested)
  end)

  it("show no password of a proxy", function()
    local profile = hold({ "npm" }, "connect registry.npmjs.org:443 -> allow", [[, network = { parentProxy = {
      http = "http://u:hunter2@proxy.test:1" } }, backend = "auto", extends = { "npm", {
      network = { parentProxy = { http = "http://u:hunter2@proxy.test:2" } }, backend = "bwrap" } } }]])
    local all = require("srt.json").encode(require("srt.provenance").data(profile.provenance))
    local text = require("srt.cli.check").text("p.lua", profile, nil, true)
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
      "env GITHUB_TOKEN -> ghp_123456789\nenv NPM_TOKEN -> absent", { GITHUB_TOKEN = "ghp_123456789" }))
    assert.same({ GITHUB_TOKEN = true }, profile.credentials.masks)
  end)
end)
