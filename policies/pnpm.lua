-- SPDX-License-Identifier: Apache-2.0
-- Lets pnpm install packages: the public registry over https, and pnpm's store, which it shares with pnpm outside.

return {
  network = {
    allowedDomains = { "registry.npmjs.org:443" },
  },
  filesystem = {
    -- Not the folder above the store: it holds programs.
    allowWrite = { "~/.local/share/pnpm/store", "~/.local/state/pnpm", "~/.cache/pnpm" },
    -- dlx runs what lies here, outside too.
    denyWrite = { "~/.cache/pnpm/dlx" },
    denyRead = { "~/.npmrc", "~/.config/pnpm/rc", "~/.config/pnpm/auth.ini" },
  },
  env = {
    set = { npm_config_update_notifier = "false" },
  },
}
