-- SPDX-License-Identifier: Apache-2.0
-- Lets git fetch and push over ssh at the large public hosts, signed for by your SSH agent; the keys stay unread.

local agent = srt.env.SSH_AUTH_SOCK

return {
  network = {
    -- With an ssh.… name: the same where port 22 is closed.
    -- lint: ok unfiltered-forge, as pushing is what it is for
    allowedDomains = { "github.com:22", "ssh.github.com:443", "gitlab.com:22", "altssh.gitlab.com:443",
      "codeberg.org:22", "bitbucket.org:22", "altssh.bitbucket.org:443" },
    -- The agent signs for whoever connects, with every key that it holds: a short-lived one of its own is better.
    allowUnixSockets = { agent and agent:find("^/") and agent or nil },
  },
  filesystem = {
    denyRead = { "~/.ssh" },
    -- Host keys are known beforehand: what ssh learns inside is not kept.
    allowRead = { "~/.ssh/known_hosts", "~/.ssh/config", "~/.ssh/*.pub" },
  },
}
