-- SPDX-License-Identifier: Apache-2.0
-- The web page of what was decided, and the live view: what is in them, and that nothing hostile gets further.
require("spec.lua.support")
local json = require("srt.json")
local report_page = require("srt.report_page")
local top_screen = require("srt.top_screen")

local HOSTILE = { "</script><script>alert(1)</script>", "<!--", "a\27[31mb\7", "x\u{2028}y\u{202e}z", "\xff\xfe", "\"'&" }

local function event(more)
  local v = { time = "2026-11-30T11:00:00.000Z", kind = "connect", target = "a.test:443", rule = "r" }
  for key, value in pairs(more or {}) do v[key] = value end
  return json.encode(v, true)
end

local function page_of(lines, most)
  local i = 0
  return report_page.build(function()
    i = i + 1
    return lines[i]
  end, { file = "f.jsonl", made = "now", nonce = "0123", most = most })
end

-- What the page's script is given.
local function data_of(page)
  return assert(json.decode(page:match('<script type="application/json" id="data">(.-)</script>')))
end

describe("the page", function()
  it("has each event, with what hostile fields may say and no more", function()
    for _, text in ipairs(HOSTILE) do
      local line = event { target = text, rule = text, command = text, process = { exe = text } }
      local page = page_of { line }
      local block = page:match('id="data">(.-)</script>\n<script nonce="0123">')
      assert.falsy(block:find("[<>&]"))
      assert.falsy(block:find("\27", 1, true))
      assert.equal(require("srt.violation_text").clean(json.decode(line).target), data_of(page).events[1][4])
      assert.equal(2, select(2, page:gsub("<script", "")))
    end
  end)

  it("lets nothing in that it did not bring along", function()
    local page = page_of { event() }
    assert.truthy(page:find("default-src 'none'; script-src 'nonce-0123'; style-src 'nonce-0123'", 1, true))
    assert.falsy(page:find("https?://"))
    assert.falsy(page:find("innerHTML", 1, true))
  end)

  it("keeps its headings and short columns whole, and long commands short", function()
    local page = page_of { event() }
    assert.truthy(page:find("th,td.w,td.n{white-space:nowrap}", 1, true))
    assert.truthy(page:find('[e.time, "w"], [e.decision, "w"], [e.kind, "w"]', 1, true))
    assert.truthy(page:find("e.command.slice(0, SHORT)", 1, true))
  end)

  it("tells of lines that are none, and goes on", function()
    local page, left, count = page_of { "nonsense", event(), "[]", '{"kind":1,"target":"x"}', event { count = 7 },
      event { decision = "allow" }, event { decision = "<b>" } }
    assert.equal("3 lines are no event and are left out.", left)
    assert.equal(4, count)
    local data = data_of(page)
    assert.equal(left, data.left)
    assert.same({ "deny", "deny", "allow", "deny" }, { data.events[1][2], data.events[2][2], data.events[3][2],
      data.events[4][2] })
    assert.equal(7, data.events[2][11])
  end)

  it("has the last lines of a long file, and says so", function()
    local lines = {}
    for i = 1, 50 do lines[i] = event { target = "h" .. i } end
    local page, left = page_of(lines, 20)
    assert.equal("Only the last 20 of 50 lines are in this page.", left)
    local data = data_of(page)
    assert.same({ "h31", "h50", 20, 50 }, { data.events[1][4], data.events[20][4], #data.events, data.lines })
  end)
end)

describe("the live view", function()
  local function screen_of(only)
    local screen = top_screen.new { only = only, since = "11:00" }
    screen:see { abcd1234 = { id = "abcd1234", pid = 7, command = "srt-lua run" }, ffff0000 = { id = "ffff0000", pid = 9,
      command = "other" } }
    return screen
  end

  it("counts for each run, and is of one where it is asked to be", function()
    local screen = screen_of()
    screen:add { run = "abcd1234", kind = "connect", target = "a:1", decision = "deny", count = 3, reason = "no" }
    screen:add { run = "abcd1234", kind = "request", target = "GET x", decision = "allow" }
    assert.same({ 1, 3, 0 }, { screen.runs.abcd1234.allowed, screen.runs.abcd1234.denied, screen.runs.ffff0000.denied })
    for _, only in ipairs { "abcd", "7" } do
      screen = screen_of(only)
      assert.same({ "abcd1234 pid 7: srt-lua run" }, screen:plain())
      assert.truthy(screen:add { run = "abcd1234", kind = "connect", target = "a:1" })
      assert.falsy(screen:add { run = "ffff0000", kind = "connect", target = "a:1" })
    end
  end)

  it("fits into any size", function()
    local screen = screen_of()
    for i = 1, 400 do screen:add { run = "abcd1234", kind = "connect", target = ("ä"):rep(100) .. i } end
    for _, size in ipairs { { 1, 1 }, { 3, 10 }, { 24, 80 }, { 500, 300 } } do
      local lines = screen:lines(size[1], size[2])
      assert.is_true(#lines <= size[1])
      for _, line in ipairs(lines) do assert.is_true(utf8.len(line[1]) <= size[2]) end
    end
    local lines = screen:lines(24, 300)
    assert.equal(24, #lines)
    assert.truthy(lines[24][1]:find("ä400: ", 1, true))
  end)

  it("draws nothing that a command thought of", function()
    local screen = screen_of()
    screen:see { abcd1234 = { id = "abcd1234", pid = 7, command = "a\27[2Jb\r\nc" } }
    for _, text in ipairs(HOSTILE) do
      local line = screen:add { run = text, time = text, kind = text, target = text, reason = text, rule = text,
        process = { exe = text } }
      assert.falsy(line:find("[%c]"))
    end
    for _, line in ipairs(screen:lines(100, 1000)) do
      assert.falsy(line[1]:find("%c"))
      assert.falsy(line[1]:find("\u{202e}", 1, true))
      assert.truthy(utf8.len(line[1]))
    end
  end)

  it("forgets runs that have ended", function()
    local screen = screen_of()
    for i = 1, 300 do screen:see { [("%08x"):format(i)] = { id = ("%08x"):format(i), pid = i, command = "x" } } end
    assert.is_true(#screen.order <= 102)
  end)
end)
