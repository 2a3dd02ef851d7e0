# SPDX-License-Identifier: Apache-2.0
# What the scripts in tools/ share; sourced, never run. Needs $top, the top of the tree.

bold='' red='' green='' dim='' plain=''
if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' dim=$'\e[2m' plain=$'\e[0m'
fi

logs=$top/build/logs

# say TEXT: a line of progress
say() {
  printf '%s\n' "$*"
}

# die TEXT: the last line of a script that can't go on
die() {
  printf '%s%s: %s%s\n' "$red" "${0##*/}" "$*" "$plain" >&2
  exit 1
}

# usage_of FILE: the comment at the head of a script is its help
usage_of() {
  sed -n '3,/^[^#]/{s/^# \{0,1\}//p}' "$1"
}

# make_logs: the folder for what is not shown
make_logs() {
  mkdir -p "$logs" 2>/dev/null && [ -w "$logs" ] && [ -w "$top/build" ] ||
    die "$top/build can't be written by $(id -un); clone the project as the user who builds it"
}

# quietly NAME TEXT COMMAND...: one line of progress, output only when it fails
quietly() {
  local name=$1 text=$2 start=$SECONDS
  shift 2
  # One that another user left here can't be written, but removed.
  rm -f "$logs/$name.log"
  printf '%s%-10s%s %s ' "$bold" "$name" "$plain" "$text"
  if "$@" >"$logs/$name.log" 2>&1 </dev/null; then
    printf '%sok%s %s(%d s)%s\n' "$green" "$plain" "$dim" $((SECONDS - start)) "$plain"
    return 0
  fi
  printf '%sfailed%s (%d s); the end of %s:\n' "$red" "$plain" $((SECONDS - start)) "build/logs/$name.log"
  tail -n 60 "$logs/$name.log" | sed 's/^/    /'
  return 1
}

# configure_and_build PRESET [TARGETS [OPTION...]]
configure_and_build() {
  local preset=$1 targets
  read -ra targets <<<"${2:-all}"
  shift $(($# < 2 ? $# : 2))
  (cd "$top" && cmake --preset "$preset" "$@" && cmake --build --preset "$preset" --target "${targets[@]}")
}

# install_packages SET: sees to the Debian packages of a set, or ends the script
install_packages() {
  "$top/tools/packages" "$1" || exit 1
}
