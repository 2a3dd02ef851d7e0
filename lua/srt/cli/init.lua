-- SPDX-License-Identifier: Apache-2.0
-- srt-lua init: looks at a project and writes its first policy.
local output = require "srt.output"
local paths = require "srt.paths"
local run_options = require "srt.run_options"
local sys = require "srt.c.sys"

local init = {}

init.USAGE = [[
usage: srt-lua init [DIR] [--force]

Looks at the project in DIR, the working directory unless given: its git remotes, package files, lockfiles, containers
and CI; and writes DIR/policy.lua, a policy with comments to go on from, DIR/policy_spec.lua, its first tests, and
DIR/.luarc.json, by which editors with lua-language-server know what a policy can use. Runs nothing, asks no network,
and says what it found.

  --force    overwrite DIR/policy.lua

Exit status: 0, 1 where the policy can't be written, 125 for wrong usage.
]]

init.KNOWN = { flags = { ["--force"] = "force" } }

local function fail(ctx, message)
  ctx.err("srt-lua: init: " .. require("srt.report").plain(message) .. "\n")
  return 1
end

local POLICY, TESTS, EDITOR = "policy.lua", "policy_spec.lua", ".luarc.json"

local NO_META = "is for an editor with lua-language-server; what describes srt-lua to it (share/srt-lua/meta) is not\n"
  .. "  installed here: name its folder in \"workspace.library\""
-- Where our definitions for editors are installed.
local function library()
  local program = sys.realpath("/proc/self/exe") or ""
  local tree = sys.getenv("SRT_LUA_PATH")
  local shared = paths.parent(paths.parent(program)) .. "/share/srt-lua/meta"
  for _, dir in ipairs { tree and tree .. "/lua/meta" or "", shared,
    "/usr/local/share/srt-lua/meta", "/usr/share/srt-lua/meta" } do
    if sys.stat(dir .. "/srt.d.lua") then return sys.realpath(dir) end
  end
end

-- The project's folder, where a policy makes sense.
local function folder_of(given, facts)
  local dir, why = sys.realpath(paths.normalize(paths.absolute(given, facts.cwd)))
  if not dir then return nil, ("%s: %s"):format(given, why) end
  if sys.stat(dir).type ~= "dir" then return nil, given .. " is no directory" end
  if dir == "/" or facts.home and dir == sys.realpath(facts.home) then
    return nil, dir .. " is no project: a command could write all of it; name a project's directory"
  end
  return dir
end

local function say_found(ctx, project)
  local plain = require("srt.report").plain
  local found = 0
  local function say(list, verb)
    for _, one in ipairs(list) do
      local off = one.off and "-- " or ""
      local why = type(one.off) == "string" and one.why .. "; " .. one.off or one.why
      ctx.out(("  %-30s %s\n"):format(plain(("%s%s %s"):format(off, verb, one.name)), plain(why)))
      found = found + 1
    end
  end
  say(project.presets, "extends")
  say(project.hosts, "reaches")
  say(project.hidden, "hides")
  say(project.closed, "keeps")
  if found == 0 then
    ctx.out("  found nothing to go by: commands may write in this folder, see no credentials and reach no host\n")
  end
  for _, hint in ipairs(project.hints) do ctx.out("  " .. hint .. "\n") end
end

-- Folders that ready-made policies let commands write in, and that are not there.
local function missing(profile)
  local list = {}
  for _, entry in ipairs(profile and profile.filesystem.allowWrite or {}) do
    if entry.path and not sys.lstat(entry.path) then list[#list + 1] = require("srt.report").plain(entry.given) end
  end
  return list[1] and table.concat(list, " ")
end

-- What is wrong with what was written, as check would tell it: there is nothing, or the place is odd. And what to do
-- with it.
local function say_next(ctx, facts, path, where)
  local loaded, problems = require("srt.session").load(facts, path, { lint = true })
  ctx.err(loaded and "" or require("srt.report").text(problems, ctx.tty))
  for _, warning in ipairs(loaded and loaded.profile.warnings or {}) do
    ctx.err("srt-lua: init: warning: " .. require("srt.report").plain(warning) .. "\n")
  end
  ctx.out("next" .. where .. ":\n")
  local function say(command, what) ctx.out(("  %-40s %s\n"):format(command, what)) end
  local folders = missing(loaded and loaded.profile)
  if folders then say("mkdir -p " .. folders, "what it allows to be written has to be there") end
  say("srt-lua check " .. POLICY, "what it allows, and what looks wrong")
  say("srt-lua test " .. POLICY, ("asks it what %s says it has to answer"):format(TESTS))
  say(("srt-lua run %s -- COMMAND"):format(POLICY), "runs COMMAND under it, and tells what was denied")
end

--- Runs the command.
---@param args string[] what follows "init"
---@param ctx table {program, out, err, tty}
---@return integer exit status
function init.main(args, ctx)
  local options, message = run_options.file(args, init.KNOWN)
  local status = require("srt.report").answered(ctx, "srt-lua init", init.USAGE, options, message)
  if status then return status end
  local facts, dir, path
  facts, message = require("srt.session").facts(ctx.program)
  if not facts then return fail(ctx, message) end
  dir, message = folder_of(options.file or ".", facts)
  if not dir then return fail(ctx, message) end
  path, message = output.place(paths.join(dir, POLICY), options.force, facts.cwd)
  if not path then return fail(ctx, (message:gsub("name another file with %-o, or ", ""))) end
  local starter, project = require "srt.starter", require("srt.detect").project(dir)
  local ok, why = output.put(path, starter.text(project, POLICY), options.force)
  if not ok then return fail(ctx, ("%s can't be written: %s"):format(path, why)) end
  local shown = options.file and paths.join(options.file, "") or ""
  ctx.out(("%s%s:\n"):format(require("srt.report").plain(shown), POLICY))
  say_found(ctx, project)
  local function put_beside(name, text, what)
    local put = output.put(paths.join(dir, name), text, false)
    ctx.out(("%s%s:\n  %s\n"):format(require("srt.report").plain(shown), name, put and what
      or "was there, left as it is"))
  end
  local meta = library()
  put_beside(TESTS, starter.tests(POLICY), "first tests of it, to go on from; a command can't change them")
  put_beside(EDITOR, starter.editor(meta), meta
    and "tells an editor with lua-language-server what a policy can use, to complete and check it" or NO_META)
  facts.cwd = dir
  say_next(ctx, facts, path, options.file and ", in that folder" or "")
  return 0
end

return init
