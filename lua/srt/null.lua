-- SPDX-License-Identifier: Apache-2.0
-- Stands for a JSON null, which no key of a policy accepts.
return setmetatable({}, { __name = "json.null", __tostring = function() return "null" end })
