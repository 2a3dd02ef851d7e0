-- SPDX-License-Identifier: Apache-2.0
-- A first policy to copy: writes stay in the working directory, secrets stay unread, the network is one server that
-- may be read from. tools/quickstart shows it at work.

return {
  filesystem = {
    -- Everything may be read and nothing written, but for:
    allowWrite = { "." },
    denyRead = { "secret", "~/.ssh", "~/.gnupg", "~/.aws" },
  },

  network = {
    -- The web server that tools/quickstart starts on this machine, on a port of its own choice.
    allowedDomains = { "127.0.0.2" },
    -- HTTPS would pass this policy's filter unread, so tunnels are refused.
    refuseOpaqueTunnels = true,
    -- Asked for each plain HTTP request.
    filterRequest = function(req)
      if req.method == "GET" or req.method == "HEAD" then
        return true
      end
      return false, ("%s is not for this policy: the server is read-only here"):format(req.method)
    end,
  },
}
