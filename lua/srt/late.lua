-- SPDX-License-Identifier: Apache-2.0
-- Modules that are loaded when something of them is first used. For those that most runs have no use for: what a run
-- loads before its command begins is most of what it takes (core/README.md).

---@param name string of a module, which is a table
---@return table stands for it; not to be walked by pairs
return function(name)
  local meta = {}
  function meta.__index(_, key)
    meta.__index = require(name)
    return meta.__index[key]
  end
  return setmetatable({}, meta)
end
