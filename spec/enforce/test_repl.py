# SPDX-License-Identifier: Apache-2.0
"""srt-lua repl: what it answers on a pipe, and that Ctrl-C and Ctrl-D do on a terminal what people expect."""
from lib import BINARY, as_everyone, main
from running import Running
from terminal import Terminal

POLICY = """srt.state.count = 0
return {
  filesystem = { denyRead = { "~/.ssh" }, allowWrite = { "." },
    decideOpen = function(open) return open.path:find("known_hosts$") ~= nil, "no key" end },
  network = {
    deniedDomains = { "*:22" },
    decideConnect = function(conn)
      srt.state.count = srt.state.count + 1
      print("asked about " .. conn.host)
      if conn.host == "slow.example" then srt.sleep(50) end
      while conn.host == "spin.example" do end
      return conn.host == "a.example", "unknown"
    end,
    filterRequest = function(req)
      return srt.allow { setHeaders = { ["X-Body"] = req:body() } }
    end,
  },
  limits = { callbackInstructions = 1000000000, callbackSeconds = 60 },
}
"""

# What is typed, and what is answered to it in all.
TALK = (
    ("read ~/.ssh/known_hosts", "allowed: read ~/.ssh/known_hosts\n  by:    filesystem.decideOpen (POLICY:4)\n"
     "  asked: filesystem.decideOpen (POLICY:4)\n"),
    ("read \"~/.ssh/a key\"", "denied: read ~/.ssh/a key (EACCES)\n  by:    filesystem.decideOpen (POLICY:4)\n  why:   no key\n"
     "  asked: filesystem.decideOpen (POLICY:4)\n"),
    ("create /etc/new", "denied: create /etc/new (EROFS)\n  by:    nothing is writable unless an entry allows it\n"
     "  why:   /etc would have to be writable, which is too much to advise\n"),
    ("connect a.example:443", "log: asked about a.example\nallowed: connect a.example:443\n"
     "  by:    network.decideConnect (POLICY:7)\n  asked: network.decideConnect (POLICY:7)\n"),
    ("request GET http://a.example/x --data 'two words'", "log: asked about a.example\n"
     "allowed: request GET http://a.example/x\n  by:    network.filterRequest (POLICY:14)\n  sets:  X-Body: two words\n"
     "  asked: network.decideConnect (POLICY:7)\n  asked: network.filterRequest (POLICY:14)\n"),
    ("= srt.state.count, \"a\\27\\n\", nil -- and more", "2  \"a\\27\\n\"  nil\n"),
    ("x = { 1, b = { print }, [2.5] = true }", ""),
    ("x", "{ 1, [2.5] = true, b = { function } }\n"),
    ("x.f = function(n)\n  return n * 2\nend", ""),
    ("=x.f(21)", "42\n"),
    ("print('hi')", "log: hi\n"),
    ("= io, os.execute, load, debug", "nil  nil  nil  nil\n"),
    ("= y.z", "error: input:1: attempt to index a nil value (global 'y')\n"),
    ("= 1 +", "error: input:1: unexpected symbol near <eof>\n"),
    ("error({})", "error: (error object is a table value)\n"),
    ("for i = 1, math.huge do end", "error: input:1: budget of 50000000 instructions spent\n"),
    ("x y", "error: input:1: syntax error near 'y' (help tells what can be typed)\n"),
    ("wrte src/a.js", "error: input:1: syntax error near 'src'; did you mean write? (help tells what can be typed)\n"),
    ("wrte /x", "error: input:1: attempt to perform arithmetic on a nil value (global 'wrte'); did you mean write?\n"),
    ("explain read a b", "error: read takes 1 path\n"),
    ("read a b", "error: read takes 1 path\n"),
    ("request GET", "error: request takes METHOD URL\n"),
    ("connect a.example", "error: \"a.example\" has no port, as in example.org:443\n"),
    ("read 'a", "error: a quote is not closed\n"),
    ("request GET http://a -H", "error: a value is missing behind the last option\n"),
    ("reload", "loaded again\n"),
    ("= x, srt.state.count", "nil  0\n"),
    ("  ", ""),
    ("do", "error: input:1: 'end' expected near <eof> (help tells what can be typed)\n"),
)


class Repl(Running):
    @as_everyone
    def test_on_a_pipe(self):
        for name in ("known_hosts", "a key"):
            self.write("home/.ssh/" + name, "x")
        policy = self.policy(POLICY)
        got = self.run_srt(["repl", policy], stdin="\n".join(words for words, _ in TALK).encode())
        self.assertEqual(("".join(answer for _, answer in TALK).replace("POLICY", policy), 0, ""), (got.out, got.code, got.err))

    def test_command_line(self):
        for args, code, text in ((["--help"], 0, "usage: srt-lua repl POLICY"), ([], 125, "no policy given"),
                                 (["a", "b"], 125, "one policy at a time"), (["none.lua"], 125, "none.lua: the policy can't be found"),
                                 (["npm"], 125, 'for a file that says: return { extends = { "npm" } }'),
                                 ([self.policy("{ filesistem = {} }")], 125, "policy.lua:1: filesistem")):
            got = self.run_srt(["repl", *args])
            self.assertEqual((code, True), (got.code, text in got.out + got.err), (args, got))

    def test_on_a_terminal(self):
        """Ctrl-C ends what is typed or goes on, not the session; Ctrl-D ends that."""
        shown = self.terminal(Terminal, argv=[BINARY, "repl", self.policy(POLICY)])
        shown.expect("help tells what can be typed\r\n> ")
        shown.send("half a li\x03")
        shown.expect("> ")
        shown.send("f = function()\n")
        shown.expect(">> ")
        shown.send("\x03")
        shown.expect("\n> ")
        shown.send("= f\n")
        shown.expect("nil\r\n> ")
        shown.send("connect slow.example:1\n")
        shown.expect("log: asked about slow.example\r\n")
        shown.send("\x03")
        # Before it sleeps it is stopped as the next one is.
        shown.expect("interrupted")
        shown.expect("\n> ")
        shown.send("connect spin.example:1\n")
        shown.expect("log: asked about spin.example\r\n")
        shown.send("\x03")
        shown.expect("failed: .*interrupted")
        shown.expect("\n> ")
        shown.send("= srt.state.count\n")
        shown.expect("2\r\n> ")
        shown.send("\x04")
        self.assertEqual(0, shown.ended())


if __name__ == "__main__":
    main()
