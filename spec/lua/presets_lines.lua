-- SPDX-License-Identifier: Apache-2.0
-- What each ready-made policy decides, as lines of spec/lua/decisions.lua.
return {
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
