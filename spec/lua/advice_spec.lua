-- SPDX-License-Identifier: Apache-2.0
-- What a denial of a path is answered with: the entry that would allow it, or the risk that none may take.
local decisions = require("spec.lua.decisions")

describe("the advice on a denied path", function()
  local desk, said

  setup(function()
    desk = decisions.open([[return { filesystem = { allowWrite = { ".", "~/.later" }, denyWrite = { "keep" },
      denyRead = { "~/secret" }, protect = { "Makefile" } } }]],
      { files = { "keep", ".git/config", ".git/HEAD", ".git/objects/", ".git/refs/", ".git/hooks/", "Makefile",
        "~/secret", "~/lib/x", "~/.ssh/known_hosts" } })
    said = function(action, path)
      local answer = desk.rehearsal:judged(action, path)
      assert.equal("deny", answer.decision)
      return answer.advice or answer.why
    end
  end)
  teardown(function() desk:close() end)

  it("is what to add", function()
    local home = desk.world.home
    assert.equal(('add "%s/lib/x" to filesystem.allowWrite'):format(home), said("write", "~/lib/x"))
    assert.equal(('add "%s/lib" to filesystem.allowWrite'):format(home), said("unlink", "~/lib/x"))
    assert.equal(('add "%s/lib" to filesystem.allowWrite'):format(home), said("create", "~/lib/y"))
    assert.equal(('add "%s/secret" to filesystem.allowRead'):format(home), said("read", "~/secret"))
    assert.is_nil(said("write", "keep"))
    -- It is listed: only missing.
    for _, path in ipairs { "~/.later", "~/.later/a/b" } do
      assert.equal(("make %s/.later before a run: filesystem.allowWrite has it, and it does not exist"):format(home),
        said("mkdir", path))
    end
  end)

  it("is what lets a Unix socket be reached, with what its server gives away", function()
    assert.equal('add "/srv/x.sock" to network.allowUnixSockets', said("connect", "/srv/x.sock"))
    local docker = said("connect", "/srv/docker.sock")
    assert.truthy(docker:find('add "/srv/docker.sock" to network.allowUnixSockets, if you take the risk: whoever', 1, true))
    desk.rehearsal.facts.env.SSH_AUTH_SOCK = "/srv/mine"
    assert.truthy(said("connect", "/srv/mine"):find("risk: the command can sign with every key", 1, true))
  end)

  it("names the risk of protected names, and the key of git's", function()
    assert.equal("set filesystem.allowGitConfig = true, if you take the risk: git runs the programs it names, on the host",
      said("write", ".git/config"))
    assert.equal("git runs what is in it; no entry makes it writable", said("create", ".git/hooks/post-commit"))
    -- Nor where nothing else is writable: allowing the folder would not help.
    assert.equal("git runs what is in it; no entry makes it writable", said("create", "/srv/a/.git/hooks/x"))
    assert.equal("the policy protects it; no entry makes it writable", said("write", "Makefile"))
  end)

  it("is none where too much would be opened", function()
    assert.equal("/etc would have to be writable, which is too much to advise", said("create", "/etc/x"))
  end)
end)
