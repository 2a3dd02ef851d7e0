-- SPDX-License-Identifier: Apache-2.0
-- srt-lua test: runs the tests of policies. Starts no command and no sandbox.
local paths = require "srt.paths"
local report = require "srt.report"
local sys = require "srt.c.sys"

local test = {}

local PASSED, FAILED, WRONG, INTERRUPTED = 0, 1, 125, 130
local MOST_DEPTH = 16

test.USAGE = [[
usage: srt-lua test [--tap] [POLICY|TESTS|FOLDER…]

Runs the tests of policies: what policy_spec.lua says of the policy.lua beside it. A FOLDER stands for all of that kind
in it and beneath; the working directory, where none is named. No command runs and no sandbox is made, so it works
where the kernel refuses one.

  --tap      write the Test Anything Protocol

A test file returns a table of rows and functions:

  return {
    rows = {
      { read = "~/.ssh/id_rsa", is = "deny" },
      { connect = "api.github.com:443", is = "allow" },
      { request = "POST https://api.github.com/user", is = "deny", reason = "read-only" },
    },
  }

docs/testing.md tells the rest. The exit status is 0 where all tests pass, 1 where one does not, 125 for wrong
usage.
]]

local KNOWN = { flags = { ["--tap"] = "tap" } }

local function is_file(path)
  local st = sys.stat(path)
  return st ~= nil and st.type == "file"
end

-- The policy that a test file is named after.
local function policy_beside(file)
  local stem = file:match("^(.+)_spec%.lua$")
  for _, ending in ipairs { ".lua", ".json" } do
    if stem and is_file(stem .. ending) then return stem .. ending end
  end
end

-- Test files with a policy of their name; others may be of another test runner.
local function find(folder, list, depth)
  local names, message = sys.readdir(folder)
  if not names then return message end
  table.sort(names)
  for _, name in ipairs(names) do
    local path = paths.join(folder, name)
    local st = sys.lstat(path)
    if st and st.type == "dir" and name:sub(1, 1) ~= "." and depth < MOST_DEPTH then
      find(path, list, depth + 1)
    elseif st and name:find("_spec%.lua$") and policy_beside(path) then
      list[#list + 1] = path
    end
  end
end

-- Adds the test files that a word of the command line means.
local function add_word(list, word, cwd)
  local real, message = sys.realpath(paths.absolute(word, cwd))
  if not real then return ("%s: %s"):format(word, message) end
  local st = sys.stat(real)
  if st and st.type == "dir" then
    local before = #list
    message = find(real, list, 1)
    if message then return ("%s: %s"):format(word, message) end
    return #list == before and ("%s has no tests: no policy_spec.lua beside a policy.lua; "
      .. "--help shows what it says"):format(word) or nil
  end
  local beside = real:gsub("%.%w+$", "") .. "_spec.lua"
  if real:find("_spec%.lua$") then
    beside = real
  elseif not is_file(beside) then
    return ("%s has no tests: there is no %s"):format(word, beside:match("[^/]*$"))
  end
  list[#list + 1] = beside
end

local function policy_of(spec)
  if not spec.policy then
    local beside = policy_beside(spec.file)
    return beside, "there is no policy beside it by its name; say which, with policy = \"FILE\""
  end
  local path = paths.absolute(spec.policy, paths.parent(spec.file))
  local real, message = sys.realpath(path)
  return real, ("policy = %q: %s"):format(spec.policy, message or "")
end

-- One test file, from its loading to its outcome.
local function run_file(file, real, world)
  local run = require("srt.test_run").new(real, world)
  run.file = file
  local facts = world:facts(real, {})
  local spec, problems = require("srt.test_spec").load(file, facts, {
    ask = function(...) return run:question(...) end,
    log = function(_, text) run.said[#run.said + 1] = text end,
  })
  local policy, why
  if spec then policy, why = policy_of(spec) end
  if not spec then
    run.problems = problems
  elseif not policy then
    run.problems = { { file = file, message = why } }
  else
    run:all(spec, policy)
  end
  return run
end

local function run_all(ctx, options, files, facts)
  local runs, text = {}, require("srt.test_text")
  -- What is made for the tests goes with them, also after Ctrl-C.
  local watched, why = require("srt.c.interrupt").watch()
  if not watched then return nil, "Ctrl-C can't be watched: " .. why end
  for i, file in ipairs(files) do
    local world, message = require("srt.test_world").new(facts.env)
    if not world then return nil, message end
    local ok, run = pcall(run_file, file, facts, world)
    world:close()
    if run == require("srt.test_run").INTERRUPTED then return INTERRUPTED end
    if not ok then error(run, 0) end
    runs[i] = run
    if not options.tap then ctx.out(text.human(run, facts.cwd, sys.isatty(1))) end
  end
  local count, failed = text.counts(runs)
  ctx.out(options.tap and text.tap(runs, facts.cwd)
    or ("%d test%s, %d failed\n"):format(count, count == 1 and "" or "s", failed))
  return failed == 0 and PASSED or FAILED
end

--- Runs the command.
---@param args string[] what follows "test"
---@param ctx table {program, out, err, tty}
---@return integer exit status: 0 all pass, 1 some fail, 125 wrong usage
function test.main(args, ctx)
  local options, message = require("srt.run_options").words(args, KNOWN)
  local status = report.answered(ctx, "srt-lua test", test.USAGE, options, message)
  if status then return status end
  local facts
  facts, message = require("srt.session").facts(ctx.program)
  local files = {}
  for _, word in ipairs(facts and (options.words[1] and options.words or { "." }) or {}) do
    message = message or add_word(files, word, facts.cwd)
  end
  if not message then status, message = run_all(ctx, options, files, facts) end
  if not message then return status end
  ctx.err(report.ours(message))
  return WRONG
end

return test
