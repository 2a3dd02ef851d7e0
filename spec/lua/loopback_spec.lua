-- SPDX-License-Identifier: Apache-2.0
-- Which destinations on the host's loopback are there inside, and what is reached without the proxy.
local support = require("spec.lua.support")
local loopback = require("srt.loopback")

local function resolve(network)
  return assert(support.resolve("return { network = { " .. network .. " } }"))
end

local function points(network)
  local list = {}
  for i, point in ipairs(loopback.points(resolve(network))) do
    list[i] = ("%s %d → %s"):format(point.address, point.port, point.host)
  end
  return table.concat(list, ", ")
end

-- What the network key says, the points, what is reached directly, and whether a JVM may go to all of loopback itself.
local ALL = "localhost 127.0.0.1 ::1"
local ROWS = {
  { 'allowedDomains = { "a.test" }', "", ALL, true },
  { 'allowedDomains = { "127.0.0.1:8080" }', "127.0.0.1 8080 → 127.0.0.1", ALL, true },
  { 'allowedDomains = { "[::1]:3000" }', "::1 3000 → ::1", ALL, true },
  { 'allowedDomains = { "[::ffff:127.0.0.1]:80" }', "127.0.0.1 80 → 127.0.0.1", ALL, true },
  { 'allowedDomains = { "localhost:1" }', "127.0.0.1 1 → localhost, ::1 1 → localhost", ALL, true },
  { 'allowedDomains = { "app.localhost:1" }', "127.0.0.1 1 → app.localhost, ::1 1 → app.localhost", ALL, true },
  { 'allowedDomains = { "127.0.0.1:1", "localhost:1" }', "127.0.0.1 1 → 127.0.0.1, ::1 1 → localhost", ALL, true },
  { 'allowedDomains = { "127.9.9.9:80" }', "127.9.9.9 80 → 127.9.9.9", ALL, true },
  -- Private addresses and names have no listener, and stand in no NO_PROXY.
  { 'allowedDomains = { "10.0.0.1:80", "db:5432", "*.corp.test:80", "0.0.0.0:80" }', "", ALL, true },
  -- Without a port there is no listener, so the proxy leads there.
  { 'allowedDomains = { "localhost" }', "", "127.0.0.1 ::1", false },
  { 'allowedDomains = { "app.localhost" }', "", "127.0.0.1 ::1", false },
  { 'allowedDomains = { "127.0.0.1", "127.0.0.1:80" }', "127.0.0.1 80 → 127.0.0.1", "localhost ::1", false },
  { 'allowedDomains = { "127.0.0.2" }', "", ALL, false },
  { 'allowedDomains = { "[::1]" }', "", "localhost 127.0.0.1", false },
  -- Denied wins, by any of its names.
  { 'allowedDomains = { "localhost:1" }, deniedDomains = { "*:1" }', "", ALL, true },
  { 'allowedDomains = { "localhost:1" }, deniedDomains = { "localhost:1" }', "", ALL, true },
  { 'allowedDomains = { "localhost:1" }, deniedDomains = { "127.0.0.1:1" }', "::1 1 → localhost", ALL, true },
  { 'allowedDomains = { "127.0.0.1:1" }, deniedDomains = { "localhost" }', "", ALL, true },
  { 'allowedDomains = { "app.localhost:1" }, deniedDomains = { "localhost" }', "", ALL, true },
  -- A listener would lead round filterRequest, and is an opaque tunnel.
  { 'allowedDomains = { "127.0.0.1:1" }, filterRequest = print', "127.0.0.1 1 → 127.0.0.1", "localhost ::1", false },
  { 'allowedDomains = { "127.0.0.1:1" }, tlsTerminate = {}', "127.0.0.1 1 → 127.0.0.1", "localhost ::1", false },
  { 'allowedDomains = { "127.0.0.1:1" }, refuseOpaqueTunnels = true', "", "localhost ::1", false },
  -- No list allows it: the function is asked about names, and can't open this host.
  { 'decideConnect = function() return true end', "", ALL, true },
}

describe("loopback", function()
  for _, row in ipairs(ROWS) do
    it(row[1], function()
      local profile = resolve(row[1])
      assert.equal(row[2], points(row[1]))
      assert.equal(row[3], table.concat(loopback.direct(profile), " "))
      assert.equal(row[4], loopback.all_direct(profile))
    end)
  end
end)
