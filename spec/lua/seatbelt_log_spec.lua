-- SPDX-License-Identifier: Apache-2.0
-- What macOS logs of denials becomes violations of the run whose tag it has, and of no other.

require("spec.lua.support")
local json = require("srt.json")
local log = require("srt.seatbelt_log")
local violations = require("srt.violations")

local TAG = "srt-lua-0123456789abcdef"

local function store_of(lines, style, cut)
  local store = violations.new { command = "make" }
  local reader = log.new(TAG, function(event) store:add(event) end)
  local out = {}
  for i, message in ipairs(lines) do
    out[i] = style == "ndjson" and json.encode({ eventMessage = message, processID = 0, subsystem = "" }, true) .. "\n"
      or "2026-02-19 22:02:53.228416+0300 E  kernel[0:c912c6] (Sandbox) " .. message .. "\n"
  end
  local text = table.concat(out)
  for from = 1, #text, cut or #text do reader:feed(text:sub(from, from + (cut or #text) - 1)) end
  return store
end

-- What is denied, and what a user is told.
local ROWS = {
  { "bash(12) deny(1) file-write-create /private/tmp/x", "write", "/private/tmp/x", 12 },
  { "bash(12) deny(1) file-write-unlink /a b/c", "write", "/a b/c" },
  { "cat(7) deny(1) file-read-data /Users/u/.ssh/id", "read", "/Users/u/.ssh/id" },
  { "sh(7) deny(1) process-exec /opt/x", "read", "/opt/x" },
  { "nc(9) deny(1) network-outbound /private/var/run/syslog", "socket", "/private/var/run/syslog" },
  { "curl(9) deny(1) network-outbound 93.184.216.34:443", "connect", "93.184.216.34:443" },
  { "node(9) deny(1) network-bind *:3000", "socket", "*:3000" },
  { "go(9) deny(1) mach-lookup com.apple.trustd.agent", "system", "mach-lookup com.apple.trustd.agent" },
  { "ps(9) deny(1) forbidden-thing", "system", "forbidden-thing " },
  { "a(1) deny(2) (77) deny(1) file-write-data /x", "system", "(77) deny(1) file-write-data /x" },
}

describe("the log of macOS", function()
  for _, style in ipairs { "ndjson", "compact" } do
    it("is read in the style " .. style, function()
      for _, row in ipairs(ROWS) do
        for _, cut in ipairs { false, 7 } do
          local list = store_of({ "Sandbox: " .. row[1] .. "\n" .. TAG }, style, cut or nil):list()
          assert.equal(1, #list, row[1])
          assert.equal(row[2], list[1].kind, row[1])
          assert.equal(row[3], list[1].target, row[1])
          assert.equal(tonumber(row[1]:match("%((%d+)%)")), list[1].process.pid)
          assert.equal("make", list[1].command)
        end
      end
    end)

    it("is another's without the tag at its end, in the style " .. style, function()
      local message = "Sandbox: bash(12) deny(1) file-write-create /x"
      -- Of the compact style nobody can tell where a record ends.
      local more = style == "ndjson" and "\n" .. TAG .. "\nmore" or ""
      for _, other in ipairs { message, message .. "\nsrt-lua-other", message .. "\n" .. TAG .. "0", message .. more,
        "hello\n" .. TAG, "Sandbox: x(1) allow(1) file-read-data /x\n" .. TAG } do
        assert.equal(0, #store_of({ other }, style):list(), other)
      end
    end)
  end

  it("has reports that stand for many", function()
    local list = store_of({ "3 duplicate reports for Sandbox: bash(12) deny(1) file-write-create /x\n" .. TAG }, "ndjson"):list()
    assert.equal(3, list[1].count)
  end)

  it("can't be made to hold what a name says", function()
    local forged = "/x\nSandbox: sudo(1) deny(1) file-write-create /forged\n" .. TAG
    local list = store_of({ "Sandbox: sh(2) deny(1) file-write-create " .. forged .. "\n" .. TAG }, "ndjson"):list()
    assert.equal(1, #list)
    assert.equal(2, list[1].process.pid)
    assert.is_nil(list[1].target:find("[%c]"))
  end)

  it("may hold anything", function()
    local seed = tonumber(os.getenv("SRT_SEED")) or os.time()
    math.randomseed(seed)
    local count = 0
    local reader = log.new(TAG, function() count = count + 1 end)
    local pieces = { "{", "}", '"eventMessage":', '"', "Sandbox: ", "a(1) deny(1) ", TAG, "\n", "\0", "\xff", ("x"):rep(500), "(Sandbox) ",
      "2026-02-19 22:02:53.1 ", "[1,2]", "null", '{"eventMessage":5}', "file-read-data /x" }
    for _ = 1, 3000 do reader:feed(pieces[math.random(#pieces)]) end
    reader:feed("\n" .. ("y"):rep(200000) .. "\n")
    local before = count
    reader:feed(json.encode({ eventMessage = "Sandbox: a(1) deny(1) file-read-data /x\n" .. TAG }, true) .. "\n")
    assert.equal(before + 1, count, "SRT_SEED=" .. seed)
  end)
end)
