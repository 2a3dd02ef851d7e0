-- SPDX-License-Identifier: Apache-2.0
-- Lets apt search, show and download packages of Debian and Ubuntu; nothing is installed, /usr and /var stay read-only.
-- As root apt wants -o APT::Sandbox::User=root: it can't become another user inside.

return {
  network = {
    -- Lists and packages are signed, so plain HTTP is their usual way.
    allowedDomains = { "deb.debian.org:80", "deb.debian.org:443", "security.debian.org:80", "security.debian.org:443",
      "archive.ubuntu.com:80", "archive.ubuntu.com:443", "security.ubuntu.com:80", "security.ubuntu.com:443",
      "ports.ubuntu.com:80", "ports.ubuntu.com:443" },
  },
  filesystem = {
    -- Passwords of private archives, and Ubuntu Pro's tokens.
    denyRead = { "/etc/apt/auth.conf", "/etc/apt/auth.conf.d", "/etc/ubuntu-advantage",
      "/var/lib/ubuntu-advantage/private" },
  },
}
