-- SPDX-License-Identifier: Apache-2.0
-- How a rule of a seccomp program is written: what backends.seccomp and its parts share.
--
-- Arguments that the kernel takes as int are compared under a 32-bit mask: the
-- upper half of the register is ignored by the kernel, so it is ignored here.
local entry = {}

local INT = 0xffffffff

function entry.masked(index, value, mask)
  return { index = index, mask = mask or INT, value = value }
end

function entry.differs(index)
  return { index = index, differs = true, value = 0 }
end

function entry.refuse(list, call, error, ...)
  list[#list + 1] = { call = call, errno = error, args = { ... } }
end

function entry.refuse_words(list, words, error)
  for call in words:gmatch("%S+") do entry.refuse(list, call, error) end
end

-- O_RDWR, O_TRUNC, O_WRONLY, O_CREAT: what may write.
local WRITING = { 2, 0x200, 1, 0x40 }

---Has opens notified.
---@param reads boolean|nil all of them; else those that may write
---@param but integer flags that one of these has not
---@param notify fun(call: string, arg: table?)
function entry.opens(reads, but, notify)
  for i, call in ipairs { "open", "openat" } do
    if reads then notify(call) end
    for _, flag in ipairs(reads and {} or WRITING) do notify(call, entry.masked(i, flag, flag | but)) end
  end
end

return entry
