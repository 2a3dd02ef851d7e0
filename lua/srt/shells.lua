-- SPDX-License-Identifier: Apache-2.0
-- Writes what srt.completion knows for each shell.
local shells = {}

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function names(list)
  local out = {}
  for i, item in ipairs(list) do out[i] = item.name end
  return table.concat(out, " ")
end

local function valued_of(command)
  local out = {}
  for _, option in ipairs(command.options) do
    if option.takes then out[#out + 1] = option end
  end
  return out
end

-- Names of sessions are as many as there are now.
local SESSIONS = "srt-lua completions sessions 2>/dev/null"

local words_of = require("srt.completion").words

local function known(kind)
  local list = words_of(kind)
  return list and table.concat(list, " ")
end

-- bash: a word is found by counting those before it that are neither options nor their values.

local BASH = [=[
# bash completion for srt-lua, written by srt-lua completions bash

_srt_lua_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_srt_lua_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "${1:--f}" -- "$cur")
}
_srt_lua_policies() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -f -X '!*.@(lua|json)' -- "$cur")
}

_srt_lua() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  local options='' valued='' words='' many='' word=0 i skip='' kind extglob=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -le 1 ]; then
    _srt_lua_words '@COMMANDS@ --help --version'
    return
  fi
  case $command in
@TABLE@
    *) return ;;
  esac
  # --option=value comes as three words.
  if [ "$cur" = = ]; then cur=''; elif [ "$prev" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [ -n "$skip" ]; then
      [ "${COMP_WORDS[i]}" = = ] || skip=''
    elif [ "${COMP_WORDS[i]}" = -- ]; then
      set -- $words
      case " $words " in *' command '*) word=$(($# - 1)) ;; esac
      kind=plain
    elif [[ ${COMP_WORDS[i]} == -* && $kind != plain ]]; then
      [[ " $valued " != *" ${COMP_WORDS[i]} "* ]] || skip=1
    else
      word=$((word + 1))
      set -- $words
      if [ "${!word}" = command ]; then
        # What follows is the command's own.
        if declare -F _command_offset >/dev/null; then _command_offset "$i"; else _srt_lua_files; fi
        return
      fi
    fi
  done
  if [ -n "$skip" ]; then
    case "$command $prev" in
@VALUES@
    esac
    return
  fi
  if [[ $cur == -* && $kind != plain ]]; then
    _srt_lua_words "$options"
    return
  fi
  set -- $words
  word=$((word + 1))
  if [ "$word" -gt $# ] && [ -n "$many" ]; then word=$#; fi
  kind=${!word}
  shopt -q extglob || { extglob=1; shopt -s extglob; }
  case $kind in
    policy) _srt_lua_policies ;;
    folder) _srt_lua_files -d ;;
    file) _srt_lua_files ;;
    command) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
    action) _srt_lua_words '@ACTIONS@' ;;
    shell) _srt_lua_words '@SHELLS@' ;;
  esac
  [ -z "$extglob" ] || shopt -u extglob
}
complete -F _srt_lua srt-lua
]=]

local BASH_VALUE = { file = "_srt_lua_files", folder = "_srt_lua_files -d", any = ":",
  session = '_srt_lua_words "$(' .. SESSIONS .. ')"' }

---@param commands table[] of srt.completion.all
---@return string
function shells.bash(commands)
  local rows, values = {}, {}
  for _, command in ipairs(commands) do
    local valued = valued_of(command)
    for _, option in ipairs(valued) do
      local how = option.words and "_srt_lua_words " .. quote(table.concat(option.words, " "))
        or BASH_VALUE[option.takes]
      if how ~= ":" then values[#values + 1] = ("      '%s %s') %s ;;"):format(command.name, option.name, how) end
    end
    rows[#rows + 1] = ("    %s)\n      options='%s'\n      valued='%s' words='%s' many=%s ;;"):format(command.name,
      names(command.options), names(valued), table.concat(command.words, " "), command.many and "1" or "''")
  end
  return (BASH:gsub("@(%u+)@", { COMMANDS = names(commands), TABLE = table.concat(rows, "\n"),
    VALUES = table.concat(values, "\n"), ACTIONS = known("action"), SHELLS = known("shell") }))
end

-- zsh: _arguments does the counting.

local ZSH_KIND = { policy = "_files -g '*.(lua|json)'", file = "_files", folder = "_files -/", any = " ",
  command = "_command_names -e", session = "{compadd -- $(" .. SESSIONS .. ")}" }

-- For inside of '…', where _arguments has brackets and colons for itself.
local function zsh_text(text) return (text:gsub("[%[%]:\\]", "\\%0"):gsub("'", "'\\''")) end

local function zsh_action(kind, words)
  local list = words and table.concat(words, " ") or known(kind)
  if list then return "(" .. list .. ")" end
  return (ZSH_KIND[kind]:gsub("'", "'\\''"))
end

local function zsh_command(command)
  local lines, before = {}, ""
  for _, option in ipairs(command.options) do
    local value = option.takes and (":%s:%s"):format(option.takes, zsh_action(option.takes, option.words)) or ""
    lines[#lines + 1] = ("'*%s[%s]%s'"):format(option.name, zsh_text(option.doc), value)
  end
  for i, kind in ipairs(command.words) do
    local last = i == #command.words
    if kind == "command" then
      -- _arguments would take the -- before a command for the command.
      before = "(( ${words[(ie)--]} < CURRENT )) && { words[(ie)--]=(); (( CURRENT-- )); }\n          "
      lines[#lines + 1] = ("'(-)%d:command:%s' '*::arguments:_normal'"):format(i, zsh_action(kind))
    else
      lines[#lines + 1] = ("'%s:%s:%s'"):format(last and command.many and "*" or i, kind, zsh_action(kind))
    end
  end
  return ("        %s)\n          %s_arguments -S \\\n            %s ;;"):format(command.name, before,
    table.concat(lines, " \\\n            "))
end

local ZSH = [[
#compdef srt-lua
# zsh completion for srt-lua, written by srt-lua completions zsh

_srt-lua() {
  local context state state_descr line curcontext="$curcontext"
  typeset -A opt_args
  _arguments -C '(- *)--help[what there is]' '(- *)--version[which version it is]' \
    '1:command:->command' '*::argument:->rest'
  case $state in
    command)
      local -a commands=(
@COMMANDS@
      )
      _describe command commands ;;
    rest)
      case $words[1] in
@TABLE@
      esac ;;
  esac
}

if [ "$funcstack[1]" = _srt-lua ]; then _srt-lua "$@"; else compdef _srt-lua srt-lua; fi
]]

---@param commands table[] of srt.completion.all
---@return string
function shells.zsh(commands)
  local described, rows = {}, {}
  for i, command in ipairs(commands) do
    described[i] = ("        '%s:%s'"):format(command.name, zsh_text(command.doc))
    rows[i] = zsh_command(command)
  end
  return (ZSH:gsub("@(%u+)@", { COMMANDS = table.concat(described, "\n"), TABLE = table.concat(rows, "\n") }))
end

-- fish: a condition for each command.

local function fish_text(text) return "'" .. text:gsub("[\\']", "\\%0") .. "'" end

local FISH_KIND = { policy = "-F", file = "-F", folder = "-x -a '(__fish_complete_directories)'", any = "-x",
  session = "-x -a '(" .. SESSIONS .. ")'" }

-- Behind the condition, which is still open.
local FISH_WORD = { folder = "' -a '(__fish_complete_directories)'", file = "' -F",
  policy = "' -F", ["only policy"] = "; and not __srt_lua_policy' -F", command = "' -a '(__srt_lua_rest @)'",
  ["policy command"] = "; and __srt_lua_policy' -a '(__srt_lua_rest @)'" }

local FISH = [[
# fish completion for srt-lua, written by srt-lua completions fish

function __srt_lua_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end
function __srt_lua_begins
    test (count (commandline -opc)) -eq 1
end
function __srt_lua_policy
    string match -qr '\.(lua|json)$' -- (commandline -opc)
end
# What stands behind our own words is a command line of its own; $argv are options that take a value.
function __srt_lua_rest
    set -l words (commandline -opc)
    set -l policy $words[2]
    set -e words[1..2]
    while set -q words[1]
        if string match -q -- '-*' $words[1]
            test $words[1] = --; and set -e words[1]; and break
            contains -- $words[1] $argv; and set -e words[1]
        else if test "$policy" != run
            break
        else
            set policy
        end
        set -e words[1]
    end
    complete -C"$words "(commandline -ct)
end

complete -c srt-lua -f
complete -c srt-lua -n __srt_lua_begins -l help -d 'what there is'
complete -c srt-lua -n __srt_lua_begins -l version -d 'which version it is'
]]

---@param commands table[] of srt.completion.all
---@return string
function shells.fish(commands)
  local lines = { FISH }
  for _, command in ipairs(commands) do
    local is = ("complete -c srt-lua -n '__srt_lua_is %s'"):format(command.name)
    lines[#lines + 1] = ("complete -c srt-lua -n __srt_lua_begins -a %s -d %s\n"):format(command.name,
      fish_text(command.doc))
    for _, option in ipairs(command.options) do
      local long = option.name:match("^%-%-(.+)$")
      local value = option.takes and " " .. FISH_KIND[option.takes == "words" and "any" or option.takes] or ""
      if option.words then value = value .. " -a " .. fish_text(table.concat(option.words, " ")) end
      lines[#lines + 1] = ("%s %s%s -d %s\n"):format(is, long and "-l " .. long or "-s " .. option.name:sub(2), value,
        fish_text(option.doc))
    end
    local valued = names(valued_of(command))
    for i, kind in ipairs(command.words) do
      if kind == "command" and i > 1 then kind = "policy command" end
      if command.words[i + 1] == "command" then kind = "only policy" end
      local what = known(kind) and "' -a " .. fish_text(known(kind)) or FISH_WORD[kind]
      if what then lines[#lines + 1] = ("%s%s\n"):format(is:sub(1, -2), (what:gsub("@", valued))) end
    end
  end
  return table.concat(lines)
end

return shells
