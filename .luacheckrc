-- SPDX-License-Identifier: Apache-2.0
-- luacheck's settings: what each folder's Lua may use.

local function only(...)
  local fields = {}
  for _, name in ipairs({ ... }) do fields[name] = {} end
  return { fields = fields }
end

-- What lua/box_*.c give to a policy, and nothing else: a misspelt name is an error here before it is one at a run.
stds.policy = {
  read_globals = {
    "_G", "_VERSION", "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "print", "rawequal",
    "rawget", "rawlen", "rawset", "require", "select", "setmetatable", "tonumber", "tostring", "type",
    math = only("abs", "acos", "asin", "atan", "ceil", "cos", "deg", "exp", "floor", "fmod", "huge", "log", "max",
      "maxinteger", "min", "mininteger", "modf", "pi", "rad", "random", "randomseed", "sin", "sqrt", "tan",
      "tointeger", "type", "ult"),
    os = only("clock", "date", "time"),
    string = only("byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "pack",
      "packsize", "rep", "reverse", "sub", "unpack", "upper"),
    table = only("concat", "insert", "move", "pack", "remove", "sort", "unpack"),
    utf8 = only("char", "charpattern", "codepoint", "codes", "len", "offset"),
    srt = {
      fields = {
        platform = {}, here = {}, cwd = {}, home = {}, user = {}, exists = {}, isdir = {}, match = {}, now = {}, read = {},
        hmac = {}, sha256 = {}, rate = {}, allow = {}, deny = {}, respond = {}, pass = {}, remove = {},
        ask = {}, glob = {}, query = {}, resolve = {}, sleep = {}, secret = { other_fields = true },
        env = { other_fields = true }, state = { read_only = false, other_fields = true },
        base64 = only("decode", "encode"), git = only("remotes", "toplevel"), json = only("decode", "encode", "null"),
        log = only("debug", "error", "info", "warn"), url = only("decode", "encode", "parse"),
      },
    },
  },
}

std = "lua54"
max_line_length = 120
exclude_files = { "build" }
files["policies"] = { std = "policy" }
-- What runs in the box of a policy's tests.
files["lua/box"] = { std = "policy" }
files["spec"] = { std = "lua54+busted", max_line_length = 140 }
-- Definitions for editors: functions without bodies, never run.
files["lua/meta"] = { globals = { "srt" }, ignore = { "212", "241" }, max_line_length = 140 }
