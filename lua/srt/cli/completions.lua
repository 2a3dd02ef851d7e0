-- SPDX-License-Identifier: Apache-2.0
-- srt-lua completions: what a shell needs to complete our command lines.

local completions = {}

completions.USAGE = [[
usage: srt-lua completions SHELL
       srt-lua completions sessions

Writes what SHELL (bash, zsh or fish) needs to complete command lines of srt-lua, to standard output. A package
installs it; by hand:

  bash    srt-lua completions bash >~/.local/share/bash-completion/completions/srt-lua
  zsh     srt-lua completions zsh >DIR/_srt-lua, where DIR is in fpath
  fish    srt-lua completions fish >~/.config/fish/completions/srt-lua.fish

What it writes asks for the names of your sessions, which the second form prints.

Exit status: 0, 125 for wrong usage.
]]

local SHELLS = { bash = true, zsh = true, fish = true }

---@return table|nil options {shell=}, {sessions = true} or {help = true}
---@return string|nil message
local function parse(args)
  local shell = args[1]
  if shell == "--help" or shell == "-h" then return { help = true } end
  if not shell or args[2] then return nil, "it takes one shell: bash, zsh or fish" end
  if shell == "sessions" then return { sessions = true } end
  if not SHELLS[shell] then return nil, ("%q is none of bash, zsh and fish"):format(shell) end
  return { shell = shell }
end

--- Runs the command.
---@param args string[] what follows "completions"
---@param ctx table {out, err, commands = names of commands and what they do}
---@return integer exit status
function completions.main(args, ctx)
  local options, message = parse(args)
  local status = require("srt.report").answered(ctx, "srt-lua completions", completions.USAGE, options, message)
  if status then return status end
  if options.sessions then
    local facts = require("srt.session").facts(ctx.program)
    local names = facts and require("srt.session_place").names(facts) or {}
    ctx.out(names[1] and table.concat(names, "\n") .. "\n" or "")
    return 0
  end
  local commands = require("srt.completion").all(ctx.commands)
  ctx.out(require("srt.shells")[options.shell](commands))
  return 0
end

return completions
