-- SPDX-License-Identifier: Apache-2.0
-- Lets npm install packages: the public registry over https, and npm's cache, which it shares with npm outside.

return {
  network = {
    allowedDomains = { "registry.npmjs.org:443" },
  },
  filesystem = {
    allowWrite = { "~/.npm" },
    -- npx runs what lies here, outside too.
    denyWrite = { "~/.npm/_npx" },
    -- Holds tokens for publishing; installing from the public registry needs none.
    denyRead = { "~/.npmrc" },
  },
  env = {
    set = { npm_config_update_notifier = "false", npm_config_fund = "false" },
  },
}
