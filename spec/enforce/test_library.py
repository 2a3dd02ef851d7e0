# SPDX-License-Identifier: Apache-2.0
"""lib/srtlua.h by a C program, its names, and the examples for C, Lua, Node and Python."""
import os
import re
import shutil
import subprocess
import unittest

from lib import BINARY, LONG, PATH, PUBLIC, ROOT, as_everyone, has, main, skip
from running import Running, children, until

LIBRARY = os.environ.get("SRT_LIBRARY", str(ROOT / "build/release/lib"))
CLIENT = os.environ.get("SRT_CLIENT", str(ROOT / "build/release/spec/client"))
EXPECTED = r"""bad lua: 2 srt-lua: policies/given-text.lua:1: netwrk: unknown key; did you mean network\?
bad json: 2 the settings are not valid JSON: line 2: unexpected token near '}'
bad settings: 2 srt-lua: \(settings\):1: network.allowedDomains\[1\]: "a b" can't be matched.*
no file: 1 /no/policy.lua: No such file or directory
no program: 1 srt-lua can't be started: No such file or directory
none is left: 1
policy asks: plain\? \(\) of P, host ''
policy asks: which\? \(once session\) of P, host ''
dispatched 2, then 0
1: .*: session
too long: 2 it is too long: a session reads lines of 16777216 bytes
too many words: 1 /.*: Argument list too long
in a child: 4 a child of fork\(2\) can't use the session
no child: 4 -1 is no child
spawn: 0 ok
wait: 0 ok
status 9, out /
from env
kept <word>
threads: 0 wrong
dispatch: 4 the session has no ask callback that is dispatched
neither: 4 a command has either shell or argv
bad host: 2 allowedDomains: "a b": .*
no utf-8: 1 out of memory, or a text that is not UTF-8
wrap: 0 ok
--id 'it'\\''s' --report none -- true
403
asked: exit 0
asked 2 times, nested 4
violations: 0 ok
connect a.test:80: a.test:80 was denied by the ask callback: asked of a.test for Q; as it is called
connect b.test:80: b.test:80 was denied by the ask callback: asked of b.test for Q; as it is called
of another text: 0 ok
0
annotate: 0 ok
its

<sandbox_violations>
deny network-outbound a.test:80 \(.*\)
deny network-outbound b.test:80 \(.*\)
</sandbox_violations>
update: 0 ok
0 commands, 0 held
no file: 2 update needs settings or a file
reset: 0 ok
0 left
the other: exit 6
socket (/.*\.sock)
"""

HOSTILE = """open: 3 3 3 3 3 3 3 3 3 2, 1023 bytes
good: 0 0 0 0 0 0 0
dies: 3 3 3 3 3 3 3
garbage: 3 3 3 3 3 3 3
a list: 3 3 3 3 3 3 3
half: 3 3 3 3 3 3 3
other lines: 0 0 0 0 0 0 0
refused: 2 2 2 2 2 2 2
other types: 3 3 3 3 3 3 0
questions: 0 0 0 0 0 0 0
asked: yes
threads: 0 0 0 0
threads of a dying one: 3 3 3 3
descriptors: 4 4 4 4 4 0 swapped 0 in err 
memory: 0 wrong, many
children: none
"""

# Closed twice, and used behind that; another one, which was reset, goes on.
CLOSED = """local s = require "srtlua"
local closed, open = s.open { lua = "return {}" }, s.open { lua = "return {}" }
closed:close() closed:close()
local function how(...) return (select(2, pcall(...)):match("closed")) end
assert(open:reset() and open:reset())
print(how(closed.reset, closed), how(closed.wrap, closed, { shell = "x" }), open:run { shell = "exit 3" })"""

# The ask callback comes in Lua's own thread: while it waits for a command, or by dispatch. All but true denies.
ASKED = """local s, session = require "srtlua"
local said = { ["a.test"] = false, ["b.test"] = true, ["c.test"] = "yes" }
session = assert(s.open { policyAsks = true, lua = [[return {
  limits = { askSeconds = 2 }, network = { decideConnect = function(c)
    if c.host ~= "p.test" then return srt.pass end
    return false, srt.ask("which?", { choices = { "once", "session" } })
  end } }]],
  ask = function(q)
    print(q.host, q.port, q.protocol, q.id, q.text, q.choices and table.concat(q.choices, "/"))
    if q.choices then return "session" end
    if q.host == "e.test" then print(select(2, pcall(session.close, session)), #session:violations()) error("thrown", 0) end
    return said[q.host], "a reason"
  end })
local function curl(host) return { id = "I", shell = "curl -s -m 9 http://" .. host .. "/ | head -3 >&2" } end
for _, host in ipairs { "a.test", "b.test", "c.test", "e.test", "p.test" } do session:run(curl(host)) end
local late = io.popen(session:wrap(curl "a.test").shell .. " 2>&1")
repeat local count = assert(session:dispatch(9)) until count > 0
late:close()
late = io.popen(session:wrap(curl "b.test").shell .. " 2>&1")
late:read("a")
print(session:dispatch(), session:dispatch(0.01))
for _, v in ipairs(session:violations()) do print(v.target, v.reason) end
print(select(2, s.open { lua = "return {}" }:dispatch()))
session:close()"""

ANSWERED = """a.test 80 http I  nil
b.test 80 http I  nil
c.test 80 http I  nil
e.test 80 http I  nil
its ask callback may not close a session 2
 0  I which? once/session
a.test 80 http I  nil
0 0
a.test:80 a.test:80 was denied by the ask callback: a reason
c.test:80 c.test:80 was denied by the ask callback: a reason
e.test:80 e.test:80 was denied by the ask callback: the ask callback failed: thrown
p.test:80 p.test:80 was denied by network.decideConnect (policies/given-text.lua:2): session
a.test:80 a.test:80 was denied by the ask callback: a reason
b.test:80 b.test:80 was denied by the ask callback: there was no answer in time
the session has no ask callback that is dispatched
"""


class Library(Running):
    def setUp(self):
        super().setUp()
        if not os.path.exists(CLIENT):
            skip("libsrtlua was not built: libjansson-dev is missing")
        for name in ("srtlua.so", "libsrtlua.so.0"):
            source = os.path.join(LIBRARY, "lua" if name == "srtlua.so" else "", name)
            shutil.copy(source, os.path.join(PUBLIC, name))
        for name in ("client", "hostile"):
            shutil.copy(os.path.join(os.path.dirname(CLIENT), name), os.path.join(PUBLIC, name))

    def example_environment(self, **more):
        return self.environment({"LD_LIBRARY_PATH": PUBLIC, "PATH": PUBLIC + ":" + PATH, **more})

    @as_everyone
    def test_the_interface(self):
        process = self._kept(subprocess.Popen(self.as_user([os.path.join(PUBLIC, "client"), BINARY]), cwd=self.w,
                                              env=self.example_environment(),
                                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        out = b""
        while b"\nsocket " not in out and (line := process.stdout.readline()):
            out += line
        found = re.fullmatch(EXPECTED, out.decode())
        self.assertTrue(found, out.decode())
        (session,) = children(process.pid)
        os.kill(session, 9)
        out, _ = process.communicate(b"\n", 60)
        self.assertEqual((0, b"gone: 3 the session has ended\n"), (process.returncode, out))

    def hostile(self, *args, **more):
        return self._kept(subprocess.Popen(self.as_user([os.path.join(PUBLIC, "hostile"), *args]), cwd=self.w,
                                           env=self.example_environment(), stdout=subprocess.PIPE,
                                           stderr=subprocess.STDOUT, **more))

    def test_misuse(self):
        """What it is given wrongly, and sessions that lie or die at each call: an error with its text, and no crash."""
        process = self.hostile()
        out, _ = process.communicate(timeout=120)
        self.assertEqual((0, HOSTILE), (process.returncode, out.decode()))
        # A client that dies while it is answered takes its session along.
        process = self.hostile("flood", BINARY)
        name, path = process.stdout.readline().decode().split()
        self.assertEqual("socket", name)
        (session,) = children(process.pid)
        process.kill()
        process.wait()
        self.assertTrue(until(lambda: not os.path.exists(path) and not os.path.exists("/proc/%d" % session)))

        done = subprocess.run(self.as_user(["lua5.4", "-e", CLOSED]), env=self.example_environment(LUA_CPATH=os.path.join(PUBLIC, "?.so")),
                              cwd=self.w, capture_output=True, timeout=60)
        self.assertEqual((0, b"closed\tclosed\t3\n"), (done.returncode, done.stdout), done.stderr)

    def test_asked_in_lua(self):
        done = subprocess.run(self.as_user(["lua5.4", "-e", ASKED]), env=self.example_environment(
            LUA_CPATH=os.path.join(PUBLIC, "?.so")), cwd=self.w, capture_output=True, timeout=60)
        self.assertEqual(ANSWERED, done.stdout.decode().replace("\t", " "), done.stderr)

    @unittest.skipUnless(LONG, "it takes ten seconds")
    def test_one_that_does_not_end(self):
        out, _ = self.hostile("stuck").communicate(timeout=60)
        self.assertEqual(b"stuck: 1, none left\n", out)

    def example(self, argv, **more):
        done = subprocess.run(self.as_user([*argv, "echo hello >note; cat note", "touch ../home/x; exit 4"]), cwd=self.w,
                              env=self.example_environment(**more), capture_output=True, timeout=120)
        out = done.stdout.decode()
        self.assertEqual(0, done.returncode, out + done.stderr.decode())
        self.assertIn("hello\n", out)
        self.assertIn("cat note: exit 0, 0 denied", out)
        self.assertIn("touch ../home/x; exit 4: exit 4, 1 denied", out)
        self.assertIn("deny file-write " + self.path("home/x"), out)

    @as_everyone
    def test_the_examples(self):
        examples = self.path("examples")
        shutil.copytree(ROOT / "examples", examples)
        self.own(examples)
        flags = [subprocess.run(["pkg-config", option, "--define-variable=libdir=" + PUBLIC, "srtlua",
                                 "--define-variable=includedir=" + str(ROOT / "lib")],
                                env=dict(os.environ, PKG_CONFIG_PATH=LIBRARY), capture_output=True, check=True,
                                text=True).stdout.split() for option in ("--cflags", "--libs")]
        os.symlink("libsrtlua.so.0", os.path.join(self.dir, "libsrtlua.so"))
        build = ["cc", "-Wall", "-Wextra", "-Werror", *flags[0], os.path.join(examples, "agent.c")]
        for name, libraries in (("agent", [os.path.join(LIBRARY, "libsrtlua.so"), *flags[1][:-1]]),
                                ("agent-static", [os.path.join(LIBRARY, "libsrtlua.a"), "-ljansson", "-pthread"])):
            subprocess.run([*build, *libraries, "-o", self.path(name)], check=True, cwd=self.dir)
            self.example([self.path(name)])
        self.example(["lua5.4", os.path.join(examples, "agent.lua")], LUA_CPATH=os.path.join(PUBLIC, "?.so"))
        self.example(["python3", os.path.join(examples, "agent.py")])
        if has("node"):
            self.example(["node", os.path.join(examples, "agent.mjs")])

    def test_the_names(self):
        """What the library shows is what its version script lists, and its header declares."""
        def names(text, pattern):
            return sorted(set(re.findall(pattern, text, re.M)))

        shown = subprocess.run(["nm", "-D", "--defined-only", os.path.join(LIBRARY, "libsrtlua.so")], capture_output=True,
                               check=True, text=True).stdout
        listed = names((ROOT / "lib/srtlua.map").read_text(), r"^\t(srtlua_\w+);$")
        self.assertEqual(listed, names(shown, r" T (\w+)@@SRTLUA_0$"))
        self.assertEqual([], names(shown, r" [BDV] (\w+)"))
        header = (ROOT / "lib/srtlua.h").read_text()
        self.assertEqual(listed, names(re.sub(r"typedef[^;]*;", "", header), r"^\w[^;{}]*?\b(srtlua_\w+)\("))
        page = (ROOT / "man/srtlua.3").read_text()
        self.assertEqual([], [name for name in listed if name not in page])


if __name__ == "__main__":
    main()
