-- SPDX-License-Identifier: Apache-2.0
-- The one question that matters, asked of `run` itself: can the default policy be enforced here?
--
-- A run of an empty policy, whose command tries to write where it may not. So what doctor says can't differ from what
-- happens.
local journal = require "srt.c.journal"
local paths = require "srt.paths"
local tidy = require "srt.c.tidy"

local trial = {}

local SLOW = 30000 -- milliseconds
local ESCAPED = 3

---Inside: the command of the trial.
---@param path string a file that the default policy does not let it make
---@return integer status
function trial.inside(path)
  local fd = journal.open(path, false)
  return fd and ESCAPED or 0
end

local function lines(text)
  local out = {}
  for line in text:gmatch("[^\n]+") do out[#out + 1] = (line:gsub("^srt%-lua: ", "")) end
  return out
end

local function ran(host, folder)
  local policy, marker = paths.join(folder, "policy.lua"), paths.join(folder, "escaped")
  local ok, why = tidy.put(policy, "return {}\n", tonumber("600", 8))
  if not ok then return { state = "bad", found = "no policy can be written to " .. policy .. ": " .. why } end
  local status, text = host.probe.run({ host.exe, "run", "--report", "none", "--violations", "none", policy, "--",
    host.exe, "doctor", "--inside", marker }, SLOW)
  local said = lines(text)
  if not status then return { state = "bad", found = text } end
  if host.stat(marker) or status == ESCAPED then
    return { state = "bad", found = "a command could write where the default policy denies it",
      means = "srt-lua does not hold here what it should; please report this, with the other lines",
      cure = { "srt-lua doctor --json" } }
  elseif status ~= 0 then
    return { state = "bad", found = table.concat(said, "; "), means = "run fails in the same way, and runs nothing" }
  elseif said[1] then
    return { state = "weak", found = "it can, with less", means = table.concat(said, "; ") }
  end
  return { state = "ok", found = "a command ran under it, and what it must not write stayed unwritten" }
end

---@param host table
---@return srt.finding
function trial.run(host)
  local folder, why = host.temp()
  if not folder then return { state = "bad", found = "not tried: " .. why } end
  if not host.exe then
    return { state = "bad", found = "not tried: srt-lua's own file can't be found; was it replaced?" }
  end
  folder = host.fresh()
  local ok, message = tidy.mkdir(folder)
  if not ok then return { state = "bad", found = ("%s can't be made: %s"):format(folder, message) } end
  local finding = ran(host, folder)
  tidy.tree(folder)
  return finding
end

return trial
