-- SPDX-License-Identifier: Apache-2.0
-- Checks of single values by the type their key has; srt.kinds_text has the words for what was expected and found.
--
-- Each check gets the checker of the document (for :fail, :wrong, :is_table), the node, the value and its origin.

local parse_domain = require("srt.domain").parse

local kinds = {}

local check = {}
kinds.check = check

function check.string(self, node, v, origin)
  if type(v) ~= "string" then
    return self:wrong(node, v, origin)
  elseif v:find("\0", 1, true) then
    self:fail(origin, "the string holds a NUL byte")
    return false
  end
  return true
end

function check.boolean(self, node, v, origin)
  return type(v) == "boolean" or self:wrong(node, v, origin)
end

function check.integer(self, node, v, origin)
  local n = type(v) == "number" and math.tointeger(v)
  return n and (not node.min or (n >= node.min and n <= node.max)) or self:wrong(node, v, origin)
end

function check.enum(self, node, v, origin)
  for _, allowed in ipairs(node.values) do
    if v == allowed then
      return true
    end
  end
  return self:wrong(node, v, origin)
end

check["function"] = function(self, node, v, origin)
  return self.isfn(v) or self:wrong(node, v, origin)
end

function check.any()
  return true
end

function check.name(self, node, v, origin)
  if type(v) ~= "string" then
    return self:wrong(node, v, origin)
  elseif not v:find("^[%a_][%w_]*$") then
    self:fail(origin, ("%q is not a name: letters, digits and _, no digit first"):format(v))
    return false
  end
  return true
end

function check.header(self, node, v, origin)
  if type(v) ~= "string" then
    return self:wrong(node, v, origin)
  end
  local problem = require("srt.header").problem(v, nil, function(text) return ("%q"):format(text) end)
  if problem then
    self:fail(origin, problem)
  end
  return not problem
end

function check.path(self, node, v, origin)
  local path = v
  if self:is_table(v, "table") and v[1] == nil then
    for k in pairs(v) do
      if k ~= "path" and k ~= "literal" then
        self:fail(origin, ("a path entry takes path and literal only, found %s"):format(tostring(k)))
        return false
      end
    end
    if v.literal ~= true then
      self:fail(origin, "a path entry that is a table needs literal = true")
      return false
    end
    path = v.path
  end
  if type(path) ~= "string" then
    return self:wrong(node, path, origin)
  elseif path == "" then
    self:fail(origin, "the path is empty; write \".\" for the working directory")
    return false
  end
  return check.string(self, node, path, origin)
end

function check.protected(self, node, v, origin)
  if type(v) ~= "string" then
    return self:wrong(node, v, origin)
  end
  local _, reason = require("srt.protected").parse(v)
  if reason then
    self:fail(origin, ("%q can't be protected: %s"):format(v, reason))
  end
  return not reason
end

function check.domain(self, node, v, origin)
  if type(v) ~= "string" then
    return self:wrong(node, v, origin)
  end
  local rule, reason = parse_domain(v, node.list)
  if reason then
    self:fail(origin, ("%q can't be matched: %s"):format(v, reason))
  elseif origin.place then
    origin.rule = rule -- an entry of a list, which srt.profile makes a rule of
  end
  return not reason
end

function check.published(self, node, v, origin)
  if type(v) ~= "string" and not (type(v) == "number" and math.tointeger(v)) then
    return self:wrong(node, v, origin)
  end
  local _, reason = require("srt.publish").parse(v)
  if reason then
    self:fail(origin, ("%s: %s"):format(tostring(v), reason))
  end
  return not reason
end

function check.range(self, node, v, origin)
  if type(v) ~= "string" then
    return self:wrong(node, v, origin)
  end
  local _, reason = require("srt.address").range(v)
  if reason then
    self:fail(origin, ("%q: %s"):format(v, reason))
  end
  return not reason
end

return kinds
