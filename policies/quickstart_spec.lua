-- SPDX-License-Identifier: Apache-2.0
-- The tests of quickstart.lua: srt-lua test policies/quickstart.lua runs them.
local t = require "srt.test"

return {
  rows = {
    -- Files: what is named here is made in a home and a project of the tests' own.
    { write = "src/main.c", is = "allow" },
    { write = "~/.profile", is = "deny" },
    { create = "/usr/bin/x", is = "deny" },
    { read = "/etc/passwd", is = "allow" },
    { read = "secret/token", is = "deny", rule = "filesystem.denyRead" },
    { read = "~/.ssh/id_ed25519", is = "deny" },
    { list = "~/.gnupg/", is = "deny" },
    { read = "~/.aws/credentials", is = "deny" },
    -- The network.
    { connect = "example.org:443", is = "deny", reason = "network.allowedDomains" },
    { connect = "127.0.0.2:443", is = "deny", reason = "tunnels" },
    { request = "GET http://127.0.0.2:8000/", is = "allow" },
    { request = "POST http://127.0.0.2:8000/", body = "x", is = "deny", reason = "read-only here" },
  },

  ["only GET and HEAD are let through"] = function()
    for _, method in ipairs { "PUT", "DELETE", "PATCH" } do
      local answer = t.request(method .. " http://127.0.0.2/")
      t.equal(answer.is, "deny", method)
      t.equal(answer.rule, "network.filterRequest")
    end
    t.check { request = "HEAD http://127.0.0.2/", is = "allow" }
  end,
}
