-- SPDX-License-Identifier: Apache-2.0
-- What callbacks may answer: the table of policy-api.md, and everything else denies with its cause.
local support = require("spec.lua.support")
local verdict = require("srt.verdict")

local srt = support.srt

describe("an answer that is none", function()
  local nan = 0 / 0
  local rows = {
    { nil, "nil" }, { "yes", '"yes"' }, { 1, "1" }, { nan, "nan" }, { {}, "not srt.allow" },
    { { action = "allow" }, "not srt.allow" }, { { true }, "not srt.allow" },
    { { ["$answer"] = "allowed" }, "srt.allowed" }, { { ["$answer"] = true }, "not srt.allow" },
    { io.stdout, "a function" },
  }
  for _, kind in ipairs({ "decideConnect", "filterRequest", "filterResponse" }) do
    for _, row in ipairs(rows) do
      it(("%s: %s denies"):format(kind, tostring(row[2])), function()
        local got = verdict.read(kind, true, row[1])
        assert.equal("deny", got.verdict)
        assert.is_true(got.fault)
        assert.truthy(got.reason:find("network." .. kind, 1, true))
        assert.truthy(got.reason:find(row[2], 1, true), got.reason)
      end)
    end
  end
end)

describe("a failed call", function()
  for _, row in ipairs({
    { { message = "p.lua:3: boom", kind = "runtime" }, "p.lua:3: boom" },
    { { message = "instruction budget spent", kind = "budget" }, "budget spent" },
    { "plain text", "plain text" }, { nil, "no cause" }, { { kind = "memory" }, "table" },
  }) do
    it(("denies: %s"):format(row[2]), function()
      local got = verdict.read("filterRequest", false, row[1])
      assert.equal("deny", got.verdict)
      assert.is_true(got.fault)
      assert.truthy(got.reason:find(row[2], 1, true), got.reason)
    end)
  end

  it("keeps the traceback out of the reason", function()
    local got = verdict.read("filterRequest", false, "p.lua:3: boom\nstack traceback:\n\t/home/u/p.lua", "runtime")
    assert.equal("network.filterRequest: failed: p.lua:3: boom", got.reason)
    assert.truthy(got.detail:find("/home/u", 1, true))
  end)

  it("tells the box what its functions get", function()
    local kinds = {}
    local function note(_, kind) kinds[#kinds + 1] = kind; return true, true end
    verdict.chain("decideConnect", { 1 }, note, {})
    verdict.chain("filterRequest", { 1 }, note, {})
    verdict.chain("filterResponse", { 1 }, note, {}, {})
    assert.same({ "conn", "request", "response" }, kinds)
  end)

  it("denies whatever a truthy first value says", function()
    assert.equal("deny", verdict.read("filterRequest", nil, true).verdict)
    assert.equal("deny", verdict.read("filterRequest", 1, true).verdict)
  end)
end)

describe("fields of answers", function()
  local rows = {
    { srt.allow { setHeader = {} }, "takes no setHeader" },
    { srt.allow { 1 }, "takes no" },
    { srt.allow { setBody = 5 }, "setBody must be a string" },
    { srt.allow { setTarget = 5 }, "setTarget must be a path" },
    { srt.allow { setTarget = "/a b" }, "has to be encoded" }, { srt.allow { setTarget = "/a#b" }, "has to be encoded" },
    { srt.allow { setTarget = "/a\r\nB: c" }, "has to be encoded" },
    { srt.allow { setTarget = "/\xc3\xbc" }, "has to be encoded" },
    { srt.allow { onResponse = "x" }, "onResponse must be a function" },
    { srt.allow { status = 200 }, "takes no status" },
    { srt.allow { setHeaders = "X: 1" }, "must be a table" },
    { srt.allow { setHeaders = { X = 1 } }, "must be a string" },
    { srt.allow { setHeaders = { ["X Y"] = "1" } }, "not a header name" },
    { srt.allow { setHeaders = { [""] = "1" } }, "not a header name" },
    { srt.allow { setHeaders = { ["X\r\nY"] = "1" } }, "not a header name" },
    { srt.allow { setHeaders = { X = "1\r\nY: 2" } }, "control bytes" },
    { srt.allow { setHeaders = { X = "1\0" } }, "control bytes" },
    { srt.allow { setHeaders = { X = "1", x = "2" } }, "twice" },
    { srt.allow { setHeaders = { "X" } }, "not a header name" },
    { srt.allow { setHeaders = { ["Content-Length"] = "1" } }, "belongs to the proxy" },
    { srt.allow { setHeaders = { host = "b.test" } }, "belongs to the proxy" },
    { srt.allow { removeHeaders = { "Transfer-Encoding" } }, "belongs to the proxy" },
    { srt.allow { removeHeaders = "X" }, "must be a list" },
    { srt.allow { removeHeaders = { X = true } }, "not a header name" },
    { srt.allow { removeHeaders = { "A", [3] = "B" } }, "not a header name" },
    { srt.allow { setHeaders = { X = "1" }, removeHeaders = { "x" } }, "both set and removed" },
    { srt.allow { reason = "x" }, "takes no reason" },
    { srt.deny { reason = 5 }, "reason must be a string" },
    { srt.deny { status = 99 }, "status" }, { srt.deny { status = 101 }, "status" },
    { srt.deny { status = 600 }, "status" }, { srt.deny { status = 403.5 }, "status" },
    { srt.deny { status = "403" }, "status" }, { srt.deny { body = {} }, "body must be a string" },
    { srt.respond { reason = "x" }, "takes no reason" },
    { srt.respond { status = 204, body = "x" }, "can't have a body" },
    { srt.respond { headers = { ["Transfer-Encoding"] = "chunked" } }, "belongs to the proxy" },
  }
  for _, row in ipairs(rows) do
    it("denies: " .. row[2], function()
      local got = verdict.read("filterRequest", true, row[1])
      assert.equal("deny", got.verdict)
      assert.is_true(got.fault)
      assert.truthy(got.reason:find(row[2], 1, true), got.reason)
    end)
  end

  it("means nothing where it can't apply", function()
    for _, answer in ipairs({ srt.allow { setTarget = "/" }, srt.allow { onResponse = print },
      srt.allow { status = 204, setBody = "x" }, srt.allow { status = 99 } }) do
      local got = verdict.read("filterResponse", true, answer)
      assert.equal("deny", got.verdict)
      assert.is_true(got.fault)
    end
    for _, answer in ipairs({ srt.respond { status = 200 }, srt.allow { setHeaders = { X = "1" } },
      srt.deny { status = 404 } }) do
      local got = verdict.read("decideConnect", true, answer)
      assert.equal("deny", got.verdict)
      assert.is_true(got.fault)
    end
  end)
end)

describe("good answers", function()
  it("are read as they are meant", function()
    assert.same({ verdict = "allow" }, verdict.read("decideConnect", true, true))
    assert.same({ verdict = "deny" }, verdict.read("decideConnect", true, false))
    assert.same({ verdict = "deny", reason = "no" }, verdict.read("decideConnect", true, false, "no"))
    assert.same({ verdict = "deny", reason = "no" }, verdict.read("decideConnect", true, srt.deny { reason = "no" }))
    assert.equal("pass", verdict.read("filterRequest", true, srt.pass).verdict)
    local got = verdict.read("filterRequest", true, srt.respond { status = 418.0, headers = { B = "2", a = "1" } })
    assert.same({ { name = "a", value = "1" }, { name = "B", value = "2" } }, got.headers)
    assert.equal(418, got.status)
    assert.equal("", got.body)
    got = verdict.read("filterRequest", true, srt.deny { status = 451, reason = "a\r\nb\0", body = "b" })
    assert.same({ 451, "a b", "b" }, { got.status, got.reason, got.body })
  end)

  it("false with a reason that is none denies as a fault", function()
    assert.is_true(verdict.read("decideConnect", true, false, 5).fault)
  end)

  it("bounds reasons without cutting a character", function()
    local reason = verdict.reason(("ü"):rep(600))
    assert.is_true(#reason < 510)
    assert.truthy(utf8.len(reason))
  end)
end)

describe("a chain", function()
  local function chain(kind, ...)
    local fns = {}
    for i, answer in ipairs({ ... }) do
      fns[i] = support.handle(type(answer) == "function" and answer or function() return answer end)
    end
    return verdict.chain(kind, fns, support.call, {}), fns
  end

  it("ends at a denial or an answer, and counts all allows", function()
    local asked = 0
    local function count() asked = asked + 1; return true end
    assert.equal("deny", chain("filterRequest", true, false, count).verdict)
    assert.equal("respond", chain("filterRequest", true, srt.respond {}, count).verdict)
    assert.equal(0, asked)
    assert.equal("allow", chain("filterRequest", srt.pass, true, srt.pass).verdict)
    assert.equal("deny", chain("decideConnect", true, srt.pass, false).verdict)
    assert.equal("pass", chain("filterRequest", srt.pass, srt.pass).verdict)
    assert.equal("pass", chain("filterRequest").verdict)
  end)

  it("denies when one of its functions fails", function()
    local got, fns = chain("filterRequest", true, function() error("boom") end)
    assert.equal("deny", got.verdict)
    assert.equal(fns[2], got.by)
    assert.truthy(got.reason:find("boom", 1, true))
  end)

  it("applies edits in order, the later winning per header whatever its case", function()
    local got = chain("filterRequest", srt.allow { setHeaders = { ["X-A"] = "1", B = "1" }, removeHeaders = { "C" } },
      srt.allow { setHeaders = { ["x-a"] = "2", c = "3" }, removeHeaders = { "b" } })
    assert.same({ { name = "c", value = "3" }, { name = "x-a", value = "2" } }, got.set)
    assert.same({ "b" }, got.remove)
  end)
end)
