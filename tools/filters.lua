-- SPDX-License-Identifier: Apache-2.0
-- Compiles the rules of every usual set of options and writes them as one C file
-- (struct seccomp_ready, core/seccomp.h). Run by tools/filters.c at build time.
local out_path, tree = ...
package.path = tree .. "/?.lua;" .. tree .. "/tools/?.lua"
local filter = require("srt.c.sandbox").filter
local seccomp = require "backends.seccomp"
local filter_key = require("backends.filter_key")
local flat = require "filters_flat"

local lines, entries = {
  "/* Written by tools/filters.lua at build time. */",
  '#include "core/seccomp.h"',
}, {}

local function write(key, code)
  local new = flat.make(code)
  lines[#lines + 1] = ("static const struct sock_filter code%d[] = {"):format(#entries)
  for _, op in ipairs(new) do lines[#lines + 1] = ("{ %d, %d, %d, %dU },"):format(op.code, op.jt, op.jf, op.k) end
  lines[#lines + 1] = "};"
  entries[#entries + 1] = ('{ "%s", %d, code%d },'):format(key, #new, #entries)
end

local codes = {}

local function add(key, rules)
  codes[key] = flat.read(filter(rules))
  write(key, codes[key])
end

local function each(names, visit)
  for bits = 0, (1 << #names) - 1 do
    local options = {}
    for i, name in ipairs(names) do options[name] = bits >> (i - 1) & 1 == 1 end
    visit(options)
  end
end

each(filter_key.OPTIONS, function(options)
  -- Nothing is observed where namespaces may be made.
  if not (options.nested and options.observe) then add(filter_key.of(options), seccomp.rules(options)) end
end)
each(filter_key.NOTIFIED, function(options)
  if not (options.guard or options.observe or options.lead) or options.exclusive and not options.observe then return end
  local key, rules, refusals = filter_key.notified(options), seccomp.notified(options), {}
  add(key, rules)
  -- What the agent refuses of it, and what the filter does where there is no agent (seccomp_refusals()).
  for _, rule in ipairs(rules) do
    if rule.errno then refusals[#refusals + 1] = { call = rule.call, errno = rule.errno, args = rule.args } end
  end
  add(key:gsub("^notify", "refuse"), refusals)
end)
-- Both as one, as the agent puts them together where nothing else is to be held: core/agent.c.
each(filter_key.OPTIONS, function(options)
  if options.nested or options.guard or not options.observe then return end
  each({ "lead", "exclusive" }, function(more)
    local first = filter_key.of(options)
    local second = filter_key.notified { unix = options.unix, observe = true, lead = more.lead,
      exclusive = more.exclusive }
    write(first .. "+" .. second, flat.join(codes[first], codes[second]))
  end)
end)
lines[#lines + 1] = "const struct seccomp_ready seccomp_ready[] = {"
table.move(entries, 1, #entries, #lines + 1, lines)
lines[#lines + 1] = "{ 0 },\n};\n"

local out = assert(io.open(out_path, "w"))
assert(out:write(table.concat(lines, "\n")))
assert(out:close())
