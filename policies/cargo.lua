-- SPDX-License-Identifier: Apache-2.0
-- Lets cargo fetch and build crates: the public index over https, and cargo's caches.

return {
  network = {
    allowedDomains = { "*.crates.io:443", "crates.io:443" },
  },
  filesystem = {
    allowWrite = {
      "~/.cargo/registry", "~/.cargo/git", "~/.cargo/.package-cache", "~/.cargo/.package-cache-mutate",
      "~/.cargo/.global-cache",
    },
    -- Hold tokens for publishing.
    denyRead = { "~/.cargo/credentials", "~/.cargo/credentials.toml" },
  },
}
