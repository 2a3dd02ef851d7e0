-- SPDX-License-Identifier: Apache-2.0
-- What callbacks of the box are given: read-only objects that end with the callback.

local support = require("spec.lua.box_support")

local REQUEST = {
  method = "GET", host = "api.test", port = 443, path = "/x", process = { pid = 7, exe = "/bin/git" },
  headers = {
    { name = "Accept", value = "a" }, { name = "X-Raw", value = "\0\255" }, { name = "accept", value = "b" },
  },
}

local suite = support.box and describe or pending

suite("subjects of the box", function()
  local function ask(body, kind, ...)
    return support.call("function(req, other) " .. body .. " end", nil, kind or "request", ...)
  end

  local function answer(body, kind, ...)
    local ok, first, second = ask(body, kind, ...)
    assert.is_true(ok, first)
    return first, second
  end

  it("have the host's fields", function()
    assert.same({ "GET", 443, 7, "/bin/git" },
      (answer("return { req.method, req.port, req.process.pid, req.process.exe }", "request", REQUEST)))
    assert.is_true((answer("return req.process == req.process", "request", REQUEST)))
    assert.is_true((answer("return rawequal(req.sni, nil) and req.query == nil", "request", REQUEST)))
    assert.equal("GET", REQUEST.method)
  end)

  it("read headers in any case, joined", function()
    assert.same({ "a, b", "a, b", "\0\255" },
      (answer("return { req:header('ACCEPT'), req.headers.Accept, req.headers['x-raw'] }", "request", REQUEST)))
    assert.is_true((answer("return req:header('none') == nil and req.headers.none == nil", "request", REQUEST)))
    assert.same({ "accept", "x-raw" }, (answer([[
      local names = {}
      for name in pairs(req.headers) do names[#names + 1] = name end
      table.sort(names)
      return names]], "request", REQUEST)))
    assert.same({ accept = "a, b", ["x-raw"] = "\0\255" }, (answer("return req.headers", "request", REQUEST)))
    assert.is_true((answer("return req:header('a') == nil", "request", { host = "x" })))
  end)

  it("are read-only by all roads", function()
    for _, body in ipairs {
      "req.host = 'x'", "req.process.pid = 1", "req.headers.accept = nil", "rawset(req, 'host', 'x')",
      "rawset(req.headers, 'a', 'b')", "setmetatable(req, {})", "table.insert(req.process, 1)",
      "table.sort(req.headers)", "table.remove(req.process)", "table.move({ 1 }, 1, 1, 1, req.process)",
      "for k in pairs(req) do req[k] = nil end", "getmetatable(req).__newindex = nil", "rawget(req, 'host')",
      "srt.match = nil", "srt.json.encode = print", "srt.env.PATH = '/x'", "srt.pass.x = 1",
    } do
      local ok = ask(body, "request", REQUEST)
      assert.is_false(ok, body)
    end
    assert.is_true((answer("return getmetatable(req) == false and getmetatable(srt) == false", "request", REQUEST)))
  end)

  it("can be walked", function()
    assert.same({ "headers", "host", "method", "path", "port", "process" }, (answer([[
      local names = {}
      for name, value in pairs(req) do
        names[#names + 1] = name
        if name == "process" then assert(not pcall(function() value.pid = 1 end)) end
      end
      assert(next(req) and next(req.process))
      table.sort(names)
      return names]], "request", REQUEST)))
    assert.same({ 3, "b", "a b c" }, (answer([[
      local n = 0
      for _ in ipairs(req.list) do n = n + 1 end
      return { n, req.list[2], table.concat(req.list, " ") .. (#req.list == 3 and "" or "!") }]],
      "violation", { list = { "a", "b", "c" } })))
  end)

  it("name a field that was misspelt", function()
    local ok, message = ask("return req.hots", "request", REQUEST)
    assert.is_false(ok)
    assert.truthy(message:find("did you mean host?", 1, true))
    assert.is_false((ask("return req.stauts", "response", { status = 200 })))
    assert.is_false((ask("return req.prot", "conn", { host = "x" })))
    assert.is_true((ask("return req.anything", "violation", {})))
    local there, why = ask("return req:body()", "request", REQUEST)
    assert.is_false(there)
    assert.truthy(why:find("body() is for the req of filterRequest", 1, true), why)
  end)

  it("give all values of a header, in their order", function()
    assert.same({ "a", "b" }, (answer("return req:values('aCCEPT')", "request", REQUEST)))
    assert.same({}, (answer("return req:values('none')", "request", REQUEST)))
    assert.same({}, (answer("return req:values('none')", "request", { host = "x" })))
    assert.same(REQUEST.headers, (answer("return req:fields()", "request", REQUEST)))
    assert.same({}, (answer("return req:fields()", "request", { host = "x" })))
    assert.is_false((ask("return req:values()", "request", REQUEST)))
    assert.same({ "a", "a, b" }, (answer([[
      local fields = req:fields()
      fields[1].value = "changed"
      return { req:fields()[1].value, req.headers.accept }]], "request", REQUEST)))
  end)

  it("end with the callback", function()
    local box, got = support.load([[
      local stash = {}
      return {
        keep = function(req) stash = { req, req.headers, req.process, req.header } return true end,
        host = function() return stash[1].host end,
        header = function() return stash[2].accept end,
        process = function() return stash[3].pid end,
        method = function() return stash[4](stash[1], "accept") end,
        walk = function() for _ in pairs(stash[1]) do end end,
        step = function() return next(stash[3]) end,
        length = function() return #stash[1] end,
        out = function() return { kept = stash[2] } end,
      }]])
    assert.is_true((box:call(got.keep, "request", REQUEST)))
    for _, name in ipairs { "host", "header", "process", "method", "walk", "step", "length" } do
      local ok, message = box:call(got[name], "request", REQUEST)
      assert.is_false(ok, name)
      assert.truthy(message:find("request is over", 1, true), message)
    end
    local ok, _, kind = box:call(got.out, "request", REQUEST)
    assert.is_false(ok)
    assert.equal("value", kind)
  end)

  it("may be two, and scalars and headers too", function()
    assert.same({ 200, "api.test" }, (answer("return { req.status, other.host }", "response",
      { status = 200, headers = {} }, REQUEST)))
    assert.same({ 404, "x", nil }, (answer("return { req, other['CONTENT-TYPE'], other.none }", "observe", 404,
      { { name = "Content-Type", value = "x" } })))
  end)

  it("must be plain data of the host", function()
    assert.is_false((ask("return true", "violation", { f = print })))
    assert.is_false((ask("return true", "request", { headers = { "x" } })))
    assert.has_error(function() ask("return true", "other", {}) end)
  end)

  it("come back as answers", function()
    assert.same({ ["$answer"] = "allow", setHeaders = { A = "b" } },
      (answer("return srt.allow { setHeaders = { A = 'b' } }", "request", REQUEST)))
    assert.same({ ["$answer"] = "allow" }, (answer("return srt.allow()", "request", REQUEST)))
    assert.same({ ["$answer"] = "deny", reason = "no" }, (answer("return srt.deny 'no'", "request", REQUEST)))
    assert.same({ ["$answer"] = "respond", status = 204 },
      (answer("return srt.respond { status = 204 }", "request", REQUEST)))
    assert.same({ false, "why" }, { answer("return false, 'why', 'more'", "request", REQUEST) })
    assert.same({}, { answer("return", "request", REQUEST) })
    for _, body in ipairs { "srt.allow { setHeader = {} }", "srt.deny { 'x' }", "srt.respond 'x'", "srt.allow 'x'",
      "srt.remove {}", "srt.deny { reasn = 'x' }" } do
      assert.is_false((ask("return " .. body, "request", REQUEST)), body)
    end
    local _, fault = ask("return srt.deny { reasn = 'x' }", "request", REQUEST)
    assert.truthy(tostring(type(fault) == "table" and fault.message or fault):find("; did you mean reason?", 1, true))
  end)
end)
