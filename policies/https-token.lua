-- SPDX-License-Identifier: Apache-2.0
-- An API that may be read with a token that the command never has. tools/https-demo shows it at work, on this machine
-- alone; for a real one put its host in the three places, api.github.com:443 say, and take extraCaCertPaths out.

local API = "127.0.0.2"

return {
  secrets = {
    -- Taken from srt-lua's environment; the command has no such variable.
    api = { env = "API_TOKEN", hosts = { API } },
  },

  network = {
    allowedDomains = { API },
    tlsTerminate = {
      -- The demonstration's own root. Servers with certificates of public roots need none here.
      extraCaCertPaths = { "demo-ca.pem" },
    },
    -- Asked for each request, of any tool, as it would go to the server.
    filterRequest = function(req)
      if req.method ~= "GET" and req.method ~= "HEAD" then
        return false, "this token is read-only"
      end
      return srt.allow { setHeaders = { Authorization = "Bearer " .. srt.secret.api } }
    end,
  },
}
