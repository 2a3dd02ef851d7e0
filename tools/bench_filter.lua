-- SPDX-License-Identifier: Apache-2.0
-- lua5.4 tools/bench_filter.lua TOP MODULE POLICY COUNT: what one question costs, in microseconds of processor time.
-- MODULE is build/release/spec/srt_c.so. Prints "part microseconds" lines: the call into the policy's box alone, with
-- the reading of its answer, and the whole decision as the proxy gets it.

local top, module, policy, count = arg[1], arg[2], arg[3], tonumber(arg[4])
package.path = top .. "/lua/?.lua;" .. top .. "/?.lua"
assert(package.loadlib(module, "luaopen_srt_c"))()

local session, net, verdict = require "srt.session", require "srt.decide_net", require "srt.verdict"
local facts = session.facts({ embedded = function() end, embeddedNames = function() return {} end, version = "bench" })
facts.state = {}
local loaded, problems = session.load(facts, policy, { tempDir = "/tmp/none" })
if not loaded then error(problems[1].message) end
local decider, box = net.compile(loaded.profile), loaded.box
local function call(fn, kind, subject) return box:call(fn, kind, subject) end

-- What curl sends.
local function question()
  return {
    kind = "request", host = "127.0.0.2", port = 18080, method = "GET", scheme = "http", protocol = "http",
    target = "http://127.0.0.2:18080/k", path = "/k",
    headers = { { name = "Host", value = "127.0.0.2:18080" }, { name = "User-Agent", value = "curl/8.5.0" },
      { name = "Accept", value = "*/*" }, { name = "Proxy-Connection", value = "Keep-Alive" } },
  }
end

local filter = loaded.profile.callbacks.filterRequest[1]
local subject = question()
subject.url, subject.conn = "http://127.0.0.2:18080/k", { host = subject.host, port = subject.port, protocol = "http" }

local parts = {
  { "call", function() return box:call(filter, "request", subject) end },
  { "chain", function() return verdict.chain("filterRequest", { filter }, call, subject) end },
  { "decision", function() return net.wire(decider:request(question(), call)) end },
}
assert(parts[3][2]().allow, parts[3][2]().reason)
for _, part in ipairs(parts) do
  local best = math.huge
  for _ = 1, 5 do
    local start = os.clock()
    for _ = 1, count do part[2]() end
    best = math.min(best, (os.clock() - start) / count)
  end
  print(("%s %.2f"):format(part[1], best * 1e6))
end
