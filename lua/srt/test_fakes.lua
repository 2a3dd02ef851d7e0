-- SPDX-License-Identifier: Apache-2.0
-- What answers in the place of the world while a policy is tested: srt.sleep, srt.resolve, srt.query and srt.ask.

local test_fakes = {}

local FAKES = {}
-- As lua/box_ask.c has them.
local NO, NOBODY = "the user said no", "there is no terminal to ask the user on"

-- Nobody waits: the clock moves on.
FAKES["srt.sleep"] = function(spec, seconds)
  spec.pass(seconds)
end

FAKES["srt.resolve"] = function(spec, name)
  local found = spec.resolve and spec.resolve[name]
  if not found then return nil, "no address" end
  return type(found) == "string" and { found } or found
end

FAKES["srt.query"] = function(spec, target, line)
  local found = spec.query and spec.query[target]
  if type(found) == "table" then found = found[line] end
  if found == nil then return nil, ("the tests have no query = { [%q] = … } for %q"):format(target, line) end
  return found
end

FAKES["srt.ask"] = function(spec, text, options)
  local answer = spec.ask
  if type(answer) == "table" then
    for _, part in ipairs(require("srt.tables").keys(answer)) do
      if text:find(part, 1, true) then return answer[part], not answer[part] and NO or nil end
    end
    answer = nil
  end
  if answer == nil then
    if options and options.default ~= nil then return options.default, not options.default and NOBODY or nil end
    return false, NOBODY
  end
  return answer, not answer and NO or nil
end

---What a box of these tests asks with.
---@param spec table resolve, query, ask; pass = fun(seconds): moves the clock
---@return fun(what: string, ...): any, any
function test_fakes.of(spec)
  return function(what, ...)
    local fake = FAKES[what]
    if not fake then error("nothing answers " .. what, 0) end
    return fake(spec, ...)
  end
end

return test_fakes
