---@meta srt.test
-- SPDX-License-Identifier: Apache-2.0
-- luacheck: ignore
-- What the tests of a policy return, and what require "srt.test" gives them, for editors. docs/testing.md tells it whole;
-- spec/lua/testing_spec.lua compares it with what is known.

---What a test file returns. Functions by other names are tests.
---@class srt.Tests
---@field policy string|nil the policy's file, where it is not the one that the tests are named after
---@field env table<string, string>|nil the environment that the policy sees, beside HOME, PATH, LANG and USER
---@field now number|string|nil where the clock stands: seconds since 1970, or "2026-11-30T12:00:00Z"
---@field files table<string|integer, string>|nil paths to be made: a list, or contents by path
---@field cwd string|nil
---@field user string|nil
---@field command string|nil of conn.command
---@field resolve table<string, string|string[]>|nil addresses by name, for srt.resolve
---@field query table<string, string|table<string, string>>|nil answers by target, or by target and line, for srt.query
---@field ask boolean|table<string, boolean>|nil the answer of srt.ask, or answers by a part of the question
---@field rows srt.TestRow[]|nil
---@field [string] fun()|any

---What a row expects.
---@class srt.TestExpected
---@field is "allow"|"deny"|"respond"|nil each row of the table has it
---@field reason string|nil a part of it
---@field rule string|nil a part of its name, "filesystem.denyRead"
---@field log string|nil a part of what the policy logged
---@field errno string|nil
---@field status integer|nil
---@field sets table<string, string>|nil header fields that are set
---@field removes string[]|nil names of header fields that are taken out
---@field sends string|nil the body, where it is changed or the policy's
---@field target string|nil what is asked for instead
---@field fault boolean|nil a callback has to fail: its error, or an answer that is none; else it must not

---A response to a request that was allowed.
---@class srt.TestResponse
---@field status integer
---@field headers table<string, string|string[]>|nil
---@field body string|nil

---A row asks one thing: an action of srt-lua explain, connect or request.
---@class srt.TestRow : srt.TestExpected
---@field read string|nil
---@field list string|nil
---@field stat string|nil
---@field write string|nil
---@field append string|nil
---@field mmap string|nil
---@field truncate string|nil
---@field chmod string|nil
---@field chown string|nil
---@field utime string|nil
---@field setxattr string|nil
---@field create string|nil
---@field mkdir string|nil
---@field mknod string|nil
---@field symlink string|nil
---@field tmpfile string|nil
---@field delete string|nil
---@field unlink string|nil
---@field rmdir string|nil
---@field rename string|nil
---@field exchange string|nil
---@field link string|nil
---@field connect string|nil "host:port", or "unix:PATH"
---@field request string|nil "METHOD URL"
---@field to string|nil the second path of rename, exchange and link
---@field headers table<string, string|string[]>|nil of a request
---@field body string|nil of a request
---@field response srt.TestResponse|nil the answer is that to the response
---@field protocol "connect"|"http"|"socks5"|"socks4a"|"transparent"|nil of a connection
---@field address string|nil what the host of a connection resolved to
---@field name string|nil shown before what it asks

---What was answered.
---@class srt.TestAnswer
---@field is "allow"|"deny"|"respond"
---@field rule string the key that decided and its entry, or what did besides
---@field where string|nil file and line of it
---@field reason string|nil
---@field log string[] what the policy logged meanwhile
---@field fault boolean|nil a callback failed; detail = its error, where it was one
---@field detail string|nil
---@field errno string|nil of paths
---@field real string|nil of paths: without links
---@field status integer|nil
---@field headers table<string, string>|nil of a denial or an answer
---@field set table<string, string>|nil header fields that are set
---@field remove string[]|nil header fields that are taken out
---@field body string|nil
---@field target string|nil
---@field host string|nil
---@field port integer|nil

local test = {}

---Any action of srt-lua explain.
---@param action string
---@param path string
---@param to string|nil
---@return srt.TestAnswer
function test.path(action, path, to) end

---@param path string
---@return srt.TestAnswer
function test.read(path) end

---@param path string
---@return srt.TestAnswer
function test.write(path) end

---@param path string
---@return srt.TestAnswer
function test.create(path) end

---@param path string
---@return srt.TestAnswer
function test.delete(path) end

---@param place string "host:port"
---@param options { protocol: string|nil, address: string|nil }|nil
---@return srt.TestAnswer
function test.connect(place, options) end

---@param request string "METHOD URL"
---@param options { headers: table|nil, body: string|nil, response: srt.TestResponse|nil }|nil
---@return srt.TestAnswer
function test.request(request, options) end

---An error where the answer is another than the row expects.
---@param row srt.TestRow
function test.check(row) end

---Sets the clock that the policy sees.
---@param time number|string seconds since 1970, or "2026-11-30T12:00:00Z"
function test.clock(time) end

---Moves the clock on.
---@param seconds number
function test.pass(seconds) end

---An error where they differ.
---@param found any
---@param expected any
---@param what string|nil named in the error
function test.equal(found, expected, what) end

return test
