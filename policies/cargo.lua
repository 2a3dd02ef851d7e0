-- SPDX-License-Identifier: Apache-2.0
-- Lets cargo build with packages of crates.io, and keeps the downloads where cargo outside finds them too.

return {
  network = {
    allowedDomains = { "index.crates.io:443", "static.crates.io:443" },
  },
  filesystem = {
    -- Not ~/.cargo/bin, which is on PATH, nor ~/.cargo/config.toml, which names programs.
    allowWrite = { "~/.cargo/registry", "~/.cargo/git" },
    denyRead = { "~/.cargo/credentials", "~/.cargo/credentials.toml" },
  },
}
