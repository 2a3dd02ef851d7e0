-- SPDX-License-Identifier: Apache-2.0
-- What doctor says of files, clock and terminal.
local cures = require "srt.doctor_cures"

local files = {}

local DAY, YEARS = 86400, 15 * 366 * 86400

---@param host table
---@return srt.finding
function files.clock(host)
  local now, st = host.now(), host.exe and host.stat(host.exe)
  local shown = os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(now))
  local made = st and st.mtime
  local wrong = made and (now < made - DAY and "before srt-lua was installed" or now > made + YEARS
    and "many years after srt-lua was installed")
  if not wrong then return { state = "ok", found = shown } end
  return { state = "weak", found = ("%s, %s (%s)"):format(shown, wrong, os.date("!%Y-%m-%d", made)),
    means = "certificates of servers seem expired or not valid yet, so that TLS fails, inside and out",
    cure = { "sudo timedatectl set-ntp true" } }
end

---@param host table
---@return srt.finding
function files.roots(host)
  local texts, why = host.roots()
  if not texts then
    return { state = "weak", found = why, means = "network.tlsTerminate can't verify servers",
      cure = { "unset SSL_CERT_FILE" } }
  end
  local count, broken = host.count(texts)
  local found = ("%d root certificate%s"):format(count, count == 1 and "" or "s")
  if broken > 0 then found = ("%s, and %d that can't be read"):format(found, broken) end
  if count > 0 then return { state = "ok", found = found } end
  return { state = "weak", found = found, means = "no server can be verified: HTTPS fails, inside and for tlsTerminate",
    cure = cures.install(host, "ca-certificates") }
end

---@param host table
---@return srt.finding
function files.terminal(host)
  local ok, why = host.terminal()
  if ok then return { state = "ok", found = "/dev/tty can be opened" } end
  return { state = "info", found = "/dev/tty can't be opened: " .. why,
    means = "srt.ask has nobody to ask: its questions are answered with no" }
end

local ROOM, FEW = 64 << 20, 1000

local function room(host, path)
  local bytes, count = host.probe.space(path)
  if not bytes then return nil, count end
  local text = ("%d MiB free"):format(bytes >> 20)
  if count then text = ("%s, %d more files"):format(text, count) end
  return bytes < ROOM or count ~= nil and count < FEW, text
end

-- A folder that can be written, with what is left on its disk.
local function folder(host, path, finding)
  local short, text = room(host, path)
  finding.found = ("%s, %s"):format(path, text)
  if short then
    finding.state = "weak"
    finding.means = "the disk is nearly full: what a run notes, and what commands write, may fail"
    finding.cure = { ("df -h %s; df -i %s"):format(path, path) }
  end
  return finding
end

---@param host table
---@return srt.finding
function files.temporary(host)
  local path, why = host.temp()
  if path then return folder(host, path, { state = "ok" }) end
  return { state = "bad", found = why, means = "each run has a private temporary directory",
    cure = { 'mkdir -p "$HOME/.cache/tmp" && export TMPDIR="$HOME/.cache/tmp"' } }
end

---@param host table
---@return srt.finding
function files.state(host)
  local path, passing = host.state()
  if not path then
    return { state = "bad", found = "no folder for state files can be made",
      means = "what runs have on this machine is written down there, so that it is removed whatever happens",
      cure = { 'mkdir -p "$HOME/.local/state/srt-lua" && chmod 700 "$HOME/.local/state/srt-lua"' } }
  end
  local finding = folder(host, path, { state = "ok" })
  if passing and finding.state == "ok" then
    finding.state = "weak"
    finding.means = "it is in the folder for temporary files, so what a power cut leaves is not found after a reboot"
    finding.cure = { 'mkdir -p "$HOME/.local/state"' }
  end
  return finding
end

return files
