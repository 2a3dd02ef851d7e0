-- SPDX-License-Identifier: Apache-2.0
-- For an MCP server of files: reads and writes in the working directory, sees nothing else at home, has no network.

return {
  extends = { "no-system-secrets", "workspace" },
  filesystem = {
    denyRead = { "~", "/mnt", "/media", "/srv" },
    -- Where the server itself may be installed; install it first, as nothing is fetched here.
    allowRead = { "~/.npm/_npx", "~/.nvm", "~/.volta", "~/.local/share/mise", "~/.local/share/pnpm",
      "~/.local/share/uv", "~/.local/bin", "~/.local/lib" },
  },
  network = {
    -- Whatever else is extended: this one stays without a network.
    deniedDomains = { "*" },
  },
}
