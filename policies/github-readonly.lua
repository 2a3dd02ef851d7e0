-- SPDX-License-Identifier: Apache-2.0
-- Lets everything be read at GitHub and nothing be changed: GET, HEAD and git fetch, whatever tokens the command finds.

local HOSTS = { "github.com", "api.github.com", "codeload.github.com", "raw.githubusercontent.com",
  "objects.githubusercontent.com", "release-assets.githubusercontent.com" }
-- By these one could change things, past the filter; a denial wins over what other policies allow.
local CLOSED = { "github.com:22", "ssh.github.com", "uploads.github.com" }

local allowed, ours, reasons = {}, {}, {}
for i, host in ipairs(HOSTS) do allowed[i], ours[host] = host .. ":443", true end
for _, host in ipairs(CLOSED) do reasons[host] = "GitHub is read-only here" end

return {
  network = {
    allowedDomains = allowed,
    deniedDomains = CLOSED,
    deniedDomainReasons = reasons,
    tlsTerminate = {},
    filterRequest = function(req)
      if not ours[req.host] then return srt.pass end
      local git = req.host == "github.com" and req.path:match("^/[^/]+/[^/]+/git%-(%l+)%-pack$")
      -- The first question of a push is a GET.
      if git == "receive" or (req.query or ""):find("service=git-receive-pack", 1, true) then
        return false, "git push: GitHub is read-only here"
      end
      if req.method == "GET" or req.method == "HEAD" or req.method == "POST" and git == "upload" then return true end
      if req.path == "/graphql" then return false, "GraphQL can change things: use the REST API, by GET" end
      return false, req.method .. ": GitHub is read-only here"
    end,
  },
}
