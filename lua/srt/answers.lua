-- SPDX-License-Identifier: Apache-2.0
-- The form of what srt.judge answers.
local answers = {}

answers.READABLE = { builtin = "everything is readable unless an entry denies it" }
answers.UNWRITABLE = { builtin = "nothing is writable unless an entry allows it" }

---@class srt.answer
---@field decision "allow"|"deny" what the policy says
---@field errno string? what the kernel answers, as far as policy and mounts decide it
---@field rule table the entry that decided, or {builtin = text}
---@field why string?
---@field real string the path without links
---@field type string? of what is there
---@field links {path: string, target: string}[]
---@field unheld boolean? denied, but neither mounts nor Landlock can hold it

function answers.new(found, decision, rule, errno, why)
  return { decision = decision, rule = rule, errno = errno, why = why, real = found.real, type = found.type,
    links = found.links }
end

function answers.allow(found, rule, errno, why)
  return answers.new(found, "allow", rule or answers.READABLE, errno, why)
end

function answers.deny(found, rule, errno, why)
  return answers.new(found, "deny", rule or answers.UNWRITABLE, errno, why)
end

---The rule that decides about writing in a state of srt.decide_path.
function answers.rule(state)
  return state.writeRule or answers.UNWRITABLE
end

return answers
