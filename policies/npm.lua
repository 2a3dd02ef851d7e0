-- SPDX-License-Identifier: Apache-2.0
-- Lets npm install packages: the public registry over https, and npm's cache.

return {
  network = {
    allowedDomains = { "*.npmjs.org:443" },
  },
  filesystem = {
    allowWrite = { "~/.npm" },
    -- Holds tokens for publishing; installing from the public registry needs none.
    denyRead = { "~/.npmrc" },
  },
  env = {
    set = { npm_config_update_notifier = "false", npm_config_fund = "false" },
  },
}
