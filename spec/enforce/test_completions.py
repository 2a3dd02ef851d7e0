# SPDX-License-Identifier: Apache-2.0
"""Shells complete our command lines: bash, zsh and fish themselves are asked."""
import subprocess

import lib
from lib import main
from running import Running
from terminal import Terminal

# What stands before the cursor, and what must be offered, or must not be ("-word").
ROWS = [
    ("srt-lua ", "run check init doctor completions"),
    ("srt-lua ch", "check -run"),
    ("srt-lua run --re", "--report -check"),
    ("srt-lua run --report ", "text json none"),
    ("srt-lua run p", "p.lua"),
    ("srt-lua run p.lua own-com", "own-command"),
    ("srt-lua run p.lua -- own-com", "own-command"),
    ("srt-lua run --report none p.lua own-com", "own-command"),
    ("srt-lua check a.json p", "p.lua"),
    ("srt-lua check --fail-on ", "error warning note"),
    ("srt-lua explain p.lua wr", "write -read"),
    ("srt-lua explain p.lua write p", "p.txt"),
    ("srt-lua completions ", "bash zsh fish"),
    ("srt-lua init ", "sub -p.lua"),
    ("srt-lua learn own-com", "own-command"),
    ("srt-lua exec --session ", "mine other"),
    ("srt-lua compile --", "--backend --json --help"),
]

BASH = r"""
source ./done
while IFS= read -r line; do
  read -r -a COMP_WORDS <<<"$line"
  [[ $line != *' ' ]] || COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  "$(complete -p srt-lua | sed 's/.*-F \([^ ]*\).*/\1/')"
  echo "$line=> ${COMPREPLY[*]} "
done
"""


class Completions(Running):
    def setUp(self):
        super().setUp()
        self.sh("mkdir sub bin; touch p.lua p.txt a.json; printf '#!/bin/sh\n' >bin/own-command; chmod 755 bin/own-command;"
                "printf '#!/bin/sh\n[ \"$*\" = \"completions sessions\" ] && printf \"mine\\nother\\n\"\n' >bin/srt-lua;"
                "chmod 755 bin/srt-lua;"
                "touch 'p with blank.lua'")
        self.env = {"PATH": self.path("w/bin") + ":/usr/bin:/bin"}

    def script(self, shell):
        got = self.run_srt(["completions", shell])
        self.assertEqual((0, ""), (got.code, got.err), got)
        self.write("w/done", got.out)
        return got.out

    def ask(self, argv, text=""):
        done = subprocess.run(argv, cwd=self.w, env=self.environment(self.env), input=text, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual("", done.stderr)
        return done.stdout

    def offered(self, line, words, offered):
        for word in words.split():
            if word[0] == "-" and word[1] != "-":
                self.assertNotIn(word[1:], offered, line)
            else:
                self.assertIn(word, offered, line)

    def test_bash(self):
        self.script("bash")
        lines = self.ask(["bash", "--norc", "-c", BASH], "".join(row[0] + "\n" for row in ROWS)
                         + "srt-lua run --report = j\n").splitlines()
        self.assertEqual(len(ROWS) + 1, len(lines))
        for (line, words), got in zip(ROWS + [("srt-lua run --report = j", "json -text")], lines):
            self.assertTrue(got.startswith(line + "=> "))
            self.offered(line, words, got[len(line) + 3:].split(" "))

    def test_fish(self):
        lib.need("fish")
        self.script("fish")
        self.ask(["fish", "--no-execute", "done"])
        out = self.ask(["fish", "--no-config", "-c", "source done; for line in $argv; echo \"= $line\"; complete -C $line; end",
                        *(row[0] for row in ROWS)])
        parts = out.split("= srt-lua")[1:]
        self.assertEqual(len(ROWS), len(parts))
        for (line, words), got in zip(ROWS, parts):
            self.offered(line, words, [part.split("\t")[0].rstrip("/") for part in got.split("\n")[1:]])

    def test_zsh(self):
        lib.need("zsh")
        self.script("zsh")
        self.ask(["zsh", "-fn", "done"])
        shown = self.terminal(Terminal, dict(self.env, PS1="OUT> "), argv=["zsh", "-f", "-i"], rows=50, cols=200)
        shown.expect("OUT> ")
        shown.send("PROMPT='OUT> '; autoload -U compinit; compinit -u -D; source ./done; bindkey '^T' list-choices; echo rea''dy\n")
        shown.expect("ready", timeout=60)
        shown.expect("OUT> ")
        for line, words in ROWS:
            begun = len(shown.seen)
            shown.send(line + "\x14\x15echo do''ne\n")
            shown.expect("\r\ndone")
            shown.expect("OUT> ")
            shown_now = shown.seen[begun:].decode(errors="replace").replace(line, "")
            for word in words.split():
                if word[0] == "-" and word[1] != "-":
                    self.assertNotIn(" " + word[1:], shown_now)
                else:
                    self.assertIn(word, shown_now)


if __name__ == "__main__":
    main()
