-- SPDX-License-Identifier: Apache-2.0
-- srt-lua convert: JSON settings of srt, as a policy to go on from.
local run_options = require "srt.run_options"
local sys = require "srt.c.sys"

local convert = {}

convert.USAGE = [[
usage: srt-lua convert SETTINGS [-o FILE] [--force]
       srt-lua convert --schema

Writes the JSON settings of srt in the file SETTINGS as a Lua policy that means the same.

  -o FILE    the policy; standard output unless given
  --force    overwrite FILE
  --schema   print the JSON Schema of such settings, for editors: "$schema" in them names it

Exit status: 0, 1 for settings that are not valid or a file that can't be written, 125 for wrong usage.
]]

local KNOWN = {
  valued = { ["-o"] = function(options, value)
    if value == "" then return "a path can't be empty" end
    options.output = value
  end },
  flags = { ["--force"] = "force", ["--schema"] = "schema" },
}

local function fail(ctx, message)
  ctx.err("srt-lua: convert: " .. require("srt.report").plain(message) .. "\n")
  return 1
end

-- The policy's text; or nil and what to say.
local function text_of(ctx, path, facts)
  local text, why = sys.readfile(path, 16 << 20)
  if not text then return nil, ("srt-lua: convert: %s can't be read: %s\n"):format(path, why) end
  local given
  given, why = require("srt.settings").decode(text, true)
  if not given then return nil, ("srt-lua: convert: %s %s\n"):format(path, why) end
  local loaded, problems = require("srt.session").resolve(facts, path, { given = given, lint = true })
  if not loaded then return nil, require("srt.report").text(problems, ctx.tty) end
  return require("srt.settings_text").write(given.value, given.places, path:match("[^/]*$"))
end

--- Runs the command.
---@param args string[] what follows "convert"
---@param ctx table {program, out, err, tty}
---@return integer exit status
function convert.main(args, ctx)
  local options, message = run_options.file(args, KNOWN)
  if options and options.schema then
    ctx.out(require("srt.json_schema").text())
    return 0
  end
  if options and not options.help and not options.file then options, message = nil, "no settings given" end
  local status = require("srt.report").answered(ctx, "srt-lua convert", convert.USAGE, options, message)
  if status then return status end
  local facts, path, text
  facts, message = require("srt.session").facts(ctx.program)
  if not facts then return fail(ctx, message) end
  if options.output then
    path, message = require("srt.output").place(options.output, options.force, facts.cwd)
    if not path then return fail(ctx, message) end
  end
  text, message = text_of(ctx, options.file, facts)
  if not text then
    ctx.err(message)
    return 1
  end
  if not path then
    ctx.out(text)
    return 0
  end
  local ok, why = require("srt.output").put(path, text, options.force)
  return ok and 0 or fail(ctx, ("%s can't be written: %s"):format(options.output, why))
end

return convert
