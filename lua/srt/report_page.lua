-- SPDX-License-Identifier: Apache-2.0
-- What was decided, as one web page that needs nothing else.
--
-- All that an event says may come from a hostile command. It is in the page only as JSON in a block that is no script,
-- with whatever could end the block escaped; the script puts it in by textContent, and the page's own policy lets no
-- other script, style or resource in.
local clean = require("srt.violation_text").clean

local report_page = {}

local MOST = 20000 -- events; more would make the page slow
local LONGEST = 1 << 16 -- no line of ours is
local MAX_FIELD = 1000

local FIELDS = { "time", "decision", "kind", "target", "rule", "reason", "origin", "advice", "command", "policy" }
local DECISIONS = { allow = true, deny = true, respond = true }

-- Text as a string of JSON that can be part of HTML.
local function quoted(text)
  return '"' .. text:gsub('[%c"\\<>&]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

---An event of a line, as JSON for the page: its fields in order, then the number of attempts and the program.
---@param line string
---@return string|nil nil where it is no line of ours
function report_page.event(line)
  local v = #line <= LONGEST and line:byte() == 123 and require("srt.json").decode(line)
  if type(v) ~= "table" or type(v.kind) ~= "string" or type(v.target) ~= "string" then return nil end
  v.decision = DECISIONS[v.decision] and v.decision or "deny"
  local out = {}
  for i, name in ipairs(FIELDS) do
    out[i] = type(v[name]) == "string" and quoted(clean(v[name], MAX_FIELD)) or '""'
  end
  out[#out + 1] = ("%d"):format(math.max(1, math.tointeger(v.count) or 1))
  local exe = type(v.process) == "table" and v.process.exe
  out[#out + 1] = type(exe) == "string" and quoted(clean(exe, MAX_FIELD)) or '""'
  return "[" .. table.concat(out, ",") .. "]"
end

-- The last lines, and how many there are.
local function last_lines(lines, most)
  local ring, seen = {}, 0
  for line in lines do
    ring[seen % most + 1] = line
    seen = seen + 1
  end
  local list, first = {}, math.max(0, seen - most)
  for i = first, seen - 1 do list[#list + 1] = ring[i % most + 1] end
  return list, seen
end

local STYLE = [[
:root{color-scheme:light dark;--deny:#c0392b;--allow:#2e86ab;--line:#8884;--soft:#8882}
body{font:14px/1.45 system-ui,sans-serif;margin:1.2rem auto;max-width:76rem;padding:0 1rem}
h1{font-size:1.3rem;margin:0}h2{font-size:1rem;margin:1.4rem 0 .4rem}
p{margin:.3rem 0}.soft{opacity:.75}.warn{color:var(--deny)}
#bar{position:sticky;top:0;background:Canvas;padding:.6rem 0;display:flex;gap:.5rem;flex-wrap:wrap}
input,select,button{font:inherit;padding:.25rem .5rem}input{flex:1;min-width:12rem}
#time{display:flex;align-items:flex-end;height:6rem;gap:1px;border-bottom:1px solid var(--line)}
#time div{flex:1;display:flex;flex-direction:column;justify-content:flex-end;height:100%}
#time i{display:block}.d{background:var(--deny)}.a{background:var(--allow)}
#span{display:flex;justify-content:space-between}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:0 2rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left}th,td.w,td.n{white-space:nowrap}
td,th{padding:.15rem .6rem .15rem 0;vertical-align:top;border-bottom:1px solid var(--soft);overflow-wrap:anywhere}
td.n{text-align:right}td.what,td.why{width:26%}td.by{width:18%}td.who{width:16%}
.wide{overflow-x:auto}#events{min-width:60rem}
tr.pick{cursor:pointer}tr.deny td:nth-child(2){color:var(--deny);font-weight:600}
]]

local BODY = [[
<h1>srt-lua: what was decided</h1>
<p class="soft" id="about"></p><p class="warn" id="left"></p>
<div id="bar"><input id="find" type="search" placeholder="filter: words that all must be there" aria-label="filter">
<select id="which" aria-label="decisions"><option value="">all</option><option value="deny">denied</option>
<option value="allow">allowed</option></select><span id="count"></span></div>
<h2>Timeline</h2><div id="time"></div><div id="span" class="soft"><span id="from"></span><span id="to"></span></div>
<div class="two"><div><h2>Destinations</h2><table id="hosts"></table></div>
<div><h2>Denied, by rule</h2><table id="rules"></table></div></div>
<h2>Events</h2><div class="wide"><table id="events"></table></div><p><button id="more"></button></p>
]]

local SCRIPT = [==[
"use strict";
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const STEP = 500, BINS = 80, TOP = 30, SHORT = 80, NETWORK = ["connect", "request", "response", "address", "name"];
const events = data.events.map(e => {
  const [time, decision, kind, target, rule, reason, origin, advice, command, policy, count, exe] = e;
  let host = "";
  if (NETWORK.includes(kind)) {
    const url = /^\S+ \w+:\/\/([^\/\s?]+)/.exec(target);
    host = url ? url[1] : target;
  }
  return { at: Date.parse(time), time, decision, kind, target, rule, reason, origin, advice, command, exe, count, host,
    text: [decision, ...e.slice(2, 10), exe].join("\n").toLowerCase() };
});
let chosen = events, shown = STEP;

const element = (name, text, kind) => {
  const it = document.createElement(name);
  if (text !== undefined) it.textContent = text;
  if (kind) it.className = kind;
  return it;
};
const row = (cells, kind) => {
  const it = element("tr", undefined, kind);
  for (const [text, style] of cells) it.append(element("td", text, style));
  return it;
};
const head = names => {
  const it = element("tr");
  for (const name of names) it.append(element("th", name));
  return it;
};
const clock = ms => isNaN(ms) ? "" : new Date(ms).toISOString().replace("T", " ").slice(0, 19) + " UTC";

function timeline() {
  let from = Infinity, to = -Infinity, most = 1;
  for (const e of chosen) if (!isNaN(e.at)) { from = Math.min(from, e.at); to = Math.max(to, e.at); }
  const bins = Array.from({ length: BINS }, () => [0, 0]), wide = Math.max(1, (to - from + 1) / BINS);
  for (const e of chosen) {
    if (isNaN(e.at)) continue;
    const bin = bins[Math.floor((e.at - from) / wide)];
    bin[e.decision === "deny" ? 0 : 1] += e.count;
    most = Math.max(most, bin[0] + bin[1]);
  }
  $("time").replaceChildren(...bins.map(([denied, allowed], i) => {
    const it = element("div");
    it.title = clock(from + i * wide) + ": " + denied + " denied, " + allowed + " allowed";
    for (const [n, kind] of [[denied, "d"], [allowed, "a"]]) {
      if (!n) continue;
      const part = element("i", undefined, kind);
      part.style.height = Math.max(2, 100 * n / most) + "%";
      it.append(part);
    }
    return it;
  }));
  $("from").textContent = to < from ? "" : clock(from);
  $("to").textContent = to < from ? "" : clock(to);
}

function sums(id, names, key, wanted) {
  const by = new Map();
  for (const e of chosen) {
    const name = wanted(e) && key(e);
    if (!name) continue;
    const sum = by.get(name) || [0, 0];
    sum[e.decision === "deny" ? 0 : 1] += e.count;
    by.set(name, sum);
  }
  const list = [...by].sort((a, b) => b[1][0] - a[1][0] || b[1][1] - a[1][1] || (a[0] < b[0] ? -1 : 1));
  const rows = list.slice(0, TOP).map(([name, [denied, allowed]]) => {
    const it = row([[name], [denied, "n"], ...(names.length > 2 ? [[allowed, "n"]] : [])], "pick");
    it.addEventListener("click", () => { $("find").value = name; changed(); });
    return it;
  });
  if (list.length > TOP) rows.push(row([["and " + (list.length - TOP) + " more"]]));
  $(id).replaceChildren(head(names), ...rows);
}

function table() {
  const rows = [];
  for (let i = chosen.length - 1; i >= 0 && rows.length < shown; i--) {
    const e = chosen[i], by = [e.rule, e.origin].filter(Boolean).join(", ");
    const command = e.command.length > SHORT ? e.command.slice(0, SHORT) + "…" : e.command;
    const it = row([[e.time, "w"], [e.decision, "w"], [e.kind, "w"],
      [e.target + (e.count > 1 ? " (" + e.count + " times)" : ""), "what"], [e.advice || e.reason, "why"], [by, "by"],
      [[e.exe, command].filter(Boolean).join(" in "), "who"]], e.decision);
    it.lastChild.title = e.command;
    rows.push(it);
  }
  $("events").replaceChildren(head(["Time", "Decision", "Kind", "What", "Why", "Rule", "Who"]), ...rows);
  $("more").hidden = rows.length >= chosen.length;
  $("more").textContent = "show more (" + rows.length + " of " + chosen.length + ")";
}

function changed() {
  const words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean), which = $("which").value;
  chosen = events.filter(e => (!which || (e.decision === "deny") === (which === "deny")) &&
    words.every(word => e.text.includes(word)));
  shown = STEP;
  let denied = 0, all = 0;
  for (const e of chosen) { all += e.count; if (e.decision === "deny") denied += e.count; }
  $("count").textContent = denied + " denied, " + (all - denied) + " allowed";
  timeline();
  sums("hosts", ["Host", "Denied", "Allowed"], e => e.host, () => true);
  sums("rules", ["Rule", "Denied"], e => e.rule || e.reason || e.kind, e => e.decision === "deny");
  table();
}

$("about").textContent = data.file + ", " + data.lines + " lines, as of " + data.made;
$("left").textContent = data.left;
let wait;
$("find").addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(changed, 120); });
$("which").addEventListener("change", changed);
$("more").addEventListener("click", () => { shown += STEP; table(); });
// A filter can be part of a link.
try { $("find").value = decodeURIComponent(location.hash.slice(1)); } catch { /* no filter of ours */ }
changed();
]==]

local PAGE = [[
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">
<title>srt-lua report</title><style nonce="%s">%s</style></head><body>
%s<script type="application/json" id="data">%s</script>
<script nonce="%s">%s</script></body></html>
]]

local function left_out(seen, read, broken)
  local parts = {}
  if seen > read then
    parts[1] = ("Only the last %d of %d lines are in this page."):format(read, seen)
  end
  if broken > 0 then
    parts[#parts + 1] = ("%d %s no event and %s left out."):format(broken, broken == 1 and "line is" or "lines are",
      broken == 1 and "is" or "are")
  end
  return table.concat(parts, " ")
end

---The page of a file's lines.
---@param lines fun(): string|nil
---@param options {file: string, made: string, nonce: string, most: integer?} made: when, for people; nonce: that
--- nobody could have guessed
---@return string page
---@return string left what is not in it, or ""
---@return integer events
function report_page.build(lines, options)
  local list, seen = last_lines(lines, options.most or MOST)
  local out, broken = {}, 0
  for _, line in ipairs(list) do
    local event = report_page.event(line)
    if event then out[#out + 1] = event else broken = broken + 1 end
  end
  local left = left_out(seen, #list, broken)
  local data = ('{"file":%s,"made":%s,"lines":%d,"left":%s,"events":[\n%s\n]}'):format(quoted(clean(options.file)),
    quoted(clean(options.made)), seen, quoted(left), table.concat(out, ",\n"))
  local nonce = options.nonce
  return PAGE:format(nonce, nonce, nonce, STYLE, BODY, data, nonce, SCRIPT), left, #out
end

return report_page
