-- SPDX-License-Identifier: Apache-2.0
-- For work on a Node project: writes in the working directory, packages by npm, pnpm and yarn, no credentials.

return {
  extends = { "workspace", "no-secrets", "npm", "pnpm" },
  network = {
    -- yarn's names of the same registry and of itself; headers for packages that are compiled.
    allowedDomains = { "registry.yarnpkg.com:443", "repo.yarnpkg.com:443", "nodejs.org:443" },
  },
  filesystem = {
    allowWrite = { "~/.cache/yarn", "~/.yarn/berry", "~/.cache/node-gyp" },
  },
  env = {
    set = { YARN_ENABLE_TELEMETRY = "0", NEXT_TELEMETRY_DISABLED = "1", ASTRO_TELEMETRY_DISABLED = "1" },
  },
}
