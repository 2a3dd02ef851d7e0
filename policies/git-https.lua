-- SPDX-License-Identifier: Apache-2.0
-- Lets git fetch and push over https at the large public hosts; SSH remotes stay closed.

return {
  network = {
    -- lint: ok unfiltered-forge, as pushing is what it is for
    allowedDomains = { "github.com:443", "gitlab.com:443", "codeberg.org:443", "bitbucket.org:443" },
  },
  env = {
    -- Without a terminal to ask on, git should fail at once instead of waiting.
    set = { GIT_TERMINAL_PROMPT = "0" },
  },
}
