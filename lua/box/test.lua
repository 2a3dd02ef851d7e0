-- SPDX-License-Identifier: Apache-2.0
-- require "srt.test": what the functions of a policy's tests have. It runs in the box of the tests.
local _, ask = ...

local test = {}

-- What the host has no answer to is an error where it was asked: two calls up.
local function question(what, ...)
  local answer, problem = ask(what, ...)
  if answer == nil then error(problem or "no answer", 3) end
  return answer
end

function test.path(action, path, to) return (question("path", action, path, to)) end
function test.read(path) return (question("path", "read", path)) end
function test.write(path) return (question("path", "write", path)) end
function test.create(path) return (question("path", "create", path)) end
function test.delete(path) return (question("path", "delete", path)) end
function test.connect(place, options) return (question("connect", place, options or {})) end
function test.request(request, options) return (question("request", request, options or {})) end

-- A row, as those of the table.
function test.check(row) return (question("check", row)) end

-- The clock of the policy: sets it, or moves it on.
function test.clock(now) return (question("clock", now)) end
function test.pass(seconds) return (question("pass", seconds)) end

local function shown(v)
  return type(v) == "string" and ("%q"):format(v) or tostring(v)
end

function test.equal(found, expected, what)
  if found ~= expected then
    error(("%s%s is not %s"):format(what and what .. ": " or "", shown(found), shown(expected)), 2)
  end
end

return test
