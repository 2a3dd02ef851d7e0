---@meta
-- SPDX-License-Identifier: Apache-2.0
-- luacheck: ignore
-- The tables in srt, for editors; see srt.d.lua.

srt.base64 = {}

---In base64, with padding.
---@param bytes string|srt.Secret
---@return string|srt.Secret
function srt.base64.encode(bytes) end

---What is in base64; without its padding that is an error.
---@param text string
---@return string|nil bytes
---@return string|nil message
function srt.base64.decode(text) end

srt.git = {}

---While the policy is loaded only. The folder with .git at or above the directory (cwd unless told).
---@param dir string|nil
---@return string|nil
function srt.git.toplevel(dir) end

---While the policy is loaded only. Names of remotes and the first URL of each.
---@param dir string|nil
---@return table<string, string>
function srt.git.remotes(dir) end

srt.json = {}

---null: in arrays and at the top; keys of objects with it are left out by decode.
---@type any
srt.json.null = nil

---What a text in JSON says.
---@param text string
---@return any value
---@return string|nil message
function srt.json.decode(text) end

---A table with values at 1 to n, and an empty one, is an array; keys are sorted.
---@param value any
---@return string
function srt.json.encode(value) end

srt.log = {}

---A line on standard error, marked "debug".
---@param ... any
function srt.log.debug(...) end

---A line on standard error.
---@param ... any
function srt.log.info(...) end

---A line on standard error, marked "warn".
---@param ... any
function srt.log.warn(...) end

---A line on standard error, marked "error"; it changes no decision.
---@param ... any
function srt.log.error(...) end

srt.url = {}

---@class srt.Url
---@field scheme string lower case
---@field user string|nil
---@field host string lower case, no brackets
---@field port integer|nil the usual one where it is known
---@field path string "/" where there is none
---@field query string|nil
---@field fragment string|nil

---An absolute URL; what two readers could read in two ways is refused.
---@param text string
---@return srt.Url|nil
---@return string|nil message
function srt.url.parse(text) end

---Percent-encodes all but letters, digits and -._~.
---@param text string
---@return string
function srt.url.encode(text) end

---Undoes percent-encoding; "+" stays.
---@param text string
---@return string|nil
---@return string|nil message
function srt.url.decode(text) end
