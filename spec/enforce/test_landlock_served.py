# SPDX-License-Identifier: Apache-2.0
"""Without namespaces: what the agent does besides names. Modes and their like, Unix sockets by path, reports."""
import json
import os
import pathlib
import shutil
import socket
import subprocess

from lib import CONTAINER, LONG, PUBLIC, BINARY, as_everyone, main
from test_unix_sockets import CLIENT, Sockets

CHANGES = shutil.copy(pathlib.Path(__file__).with_name("changes.py"), PUBLIC)
ROUNDS = 20000 if LONG else 300
POLICY = '{ backend = "landlock", filesystem = { allowWrite = { "." } %s } %s }'


class Served(Sockets):
    def explain(self, policy, asked):
        """The errno of each action and path, None where there is none."""
        got = self.run_srt(["explain", self.policy(policy), "--stdin"], stdin="".join("%s\0%s\0" % one for one in asked).encode())
        return [json.loads(line).get("errno") for line in got.out.splitlines()]


class Known(Served):
    def state(self, *names):
        """All that may not change."""
        found = []
        for name in names:
            st = os.lstat(self.path(name))
            found.append((name, st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns, st.st_ctime_ns, os.listxattr(self.path(name))))
        return found

    def tree(self):
        for name in ("out/f", "w/f", "w/fgh", "w/keep/f", "w/hid/f", "w/hid/open/f"):
            self.write(name, "x")
        os.symlink(self.path("out/f"), self.path("w/link"))
        os.link(self.path("out/f"), self.path("out/second"))
        self.own(self.dir)
        return (POLICY % (', denyWrite = { "keep" }, denyRead = { "hid" }, allowRead = { "hid/open" }', ""),
                ("out", "out/f", "w/keep", "w/keep/f", "w/hid", "w/hid/f"))

    def answers(self, got):
        self.assertEqual(0, got.code, got)
        return {line.split()[0]: [word.split("=") for word in line.split()[1:]] for line in got.out.splitlines()}

    @as_everyone
    def test_changes(self):
        """By no call and no descriptor outside of what may be written; there as the kernel would."""
        policy, closed = self.tree()
        before = self.state(*closed)
        outside = self.path("out/f")
        got = self.run_srt(["python3", CHANGES, outside, self.path("out"), "keep/f", "link", "../out/f", "f", ".",
                            "hid/open/f"], policy)
        self.assertEqual(8, len(got.out.splitlines()), got)
        for path, answers in self.answers(got).items():
            self.assertGreater(len(answers), 20)
            for name, answer in answers:
                if name in ("setxattrat", "removexattrat", "file_setattr"):
                    wanted = ("ENOSYS",)
                elif name == "ioctl":
                    wanted = ("ENOTTY",)
                elif path in ("f", ".", "hid/open/f"):
                    wanted = ("ok", "ENODATA", "EOPNOTSUPP")
                elif path == "link":  # is ours, and what it leads to is not
                    wanted = ("EACCES", "ok", "EPERM", "EOPNOTSUPP") if name[0] == "l" or name == "fchownat" else ("EACCES",)
                else:
                    wanted = ("EACCES",)
                self.assertIn(answer, wanted, (path, name))
        self.assertEqual(before, self.state(*closed))
        # A descriptor that it was given, one of the agent's folder of /proc, and what else there is.
        with open(outside, encoding="ascii") as given:
            got = self.run_sh("""python3 -c 'import os; os.fchmod(0, 0o777)'; touch -h -d 2001-01-01 link; cp -p f g && chmod 604 g && stat -c %a g
                chmod 0 hid hid/f /dev/null /proc/self/fd/0 /proc/$PPID/cwd /proc/1; cd "$TMPDIR" && echo >t && chmod 600 t && chmod 700 . && touch t && stat -c %a t
                ln /dev/stdin x; chmod 777 x""", policy, stdin=given)
            self.assertEqual("604\n600\n", got.out, got)
        self.assertEqual(before, self.state(*closed))
        self.assertNotEqual(0, os.stat("/dev/null").st_mode & 0o777)

    @as_everyone
    def test_changes_race(self):
        policy, closed = self.tree()
        before = self.state(*closed)
        got = self.run_srt(["python3", CHANGES, "race", str(ROUNDS), self.path("w/fgh"), self.path("out/f")], policy, timeout=280)
        self.assertEqual("True True True\n", got.out, got)
        self.assertEqual(before, self.state(*closed))

    def test_where_nobody_is_asked(self):
        """Without an agent nothing of it can be changed, nobody connected to, and that is said; also in a container."""
        self.tree()
        before = self.state("out/f", "w/f")
        policy = POLICY % ("", ', network = { allowedDomains = { "example.org" }, allowUnixSockets = { "%s" } }' % self.a)
        with socket.create_server(("127.0.0.1", 0)) as other:
            for abi in ("3", "7"):
                got = self.run_srt(["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', %d))"
                                    % other.getsockname()[1]], policy,
                                   env={"SRT_LUA_FAKE_MISSING": "seccomp_notify", "SRT_LUA_FAKE_LANDLOCK_ABI": abi})
                self.assertIn("Network is unreachable", got.err)
                self.assertIn("no agent can be asked here", got.err)
                self.assertIn("allowUnixSockets allows nothing", got.err)
        got = self.run_srt(["python3", CHANGES, self.path("out/f"), "f"], policy, env={"SRT_LUA_FAKE_MISSING": "seccomp_notify"})
        self.assertEqual({"EPERM", "ENOSYS", "ENOTTY"}, {word[1] for words in self.answers(got).values() for word in words})
        self.assertEqual(before, self.state("out/f", "w/f"))

    @as_everyone
    def test_explained(self):
        policy, _ = self.tree()
        asked = [(action, name) for action in ("chmod", "chown", "utime", "setxattr")
                 for name in ("f", ".", "hid/open/f", "hid", "hid/f", "keep/f", self.path("out/f"), "/dev/null")]
        self.assertEqual(([None] * 3 + ["EACCES"] * 5) * 4, self.explain(policy, asked))


class Paths(Served):
    def lists(self, *names, more=""):
        return POLICY % (more, ", network = { allowUnixSockets = { %s } }" % ", ".join('"%s"' % name for name in names))

    @as_everyone
    def test_paths(self):
        self.both()
        self.write("w/plain")
        self.write("h/hid/plain")
        for name, word in (("w/in.s", "in"), ("w/not.s", "not"), ("h/hid/g.s", "hidden"), ("h/d.s", "glob")):
            self.serve(self.path(name), word)
        self.serve("@srt-test-%d-%s" % (os.getpid(), self.user), "abstract")
        os.symlink(self.a, self.path("h", "to-a")), os.symlink("b.s", self.path("h", "to-b"))
        policy = self.lists(self.a, "in.s", self.path("h/**/[dg].s"), "not*.s", self.path("later.s"),
                            more=', denyRead = { "%s" }' % self.path("h/hid"))
        asked = {self.a: "A", "../h/a.s": "A", self.path("h/to-a"): "A", "in.s": "in", "/proc/self/cwd/../h/a.s": "A",
                 self.path("h/d.s"): "glob", self.b: "EACCES", "../h/to-b": "EACCES", "/proc/self/root" + self.b: "EACCES",
                 "not.s": "EACCES", self.path("h/hid/g.s"): "EACCES", "plain": "ECONNREFUSED", "none": "ENOENT",
                 "@srt-test-%d-%s" % (os.getpid(), self.user): "EPERM"}
        self.assertEqual(list(asked.values()), self.ask(*asked, policy=policy))
        # As explain says.
        known = {path: answer for path, answer in asked.items() if path[0] not in "@/" or path.startswith(self.dir)}
        self.assertEqual([answer if answer[0] == "E" else None for answer in known.values()],
                         self.explain(policy, [("connect", "unix:" + path) for path in known]))
        # Nobody inside puts another one there, binds or listens; what was not made here is not connected.
        self.python("""
            def no(action, *wanted):
                try: action()
                except OSError as error: assert errno.errorcode[error.errno] in wanted, (action, error)
                else: raise AssertionError(action)
            for name in ("in.s", "../later.s", "../h/a.s"):
                no(lambda: os.unlink(name), "EACCES", "ENOENT"); no(lambda: os.rename("not.s", name), "EACCES", "EXDEV")
                no(lambda: os.link("not.s", name), "EACCES", "EEXIST", "EXDEV"); no(lambda: os.symlink(B, name), "EACCES", "EEXIST")
                no(lambda: socket.socket(socket.AF_UNIX).bind(name), "EPERM")
            no(lambda: os.link(B, "l.s"), "EACCES", "EXDEV"); no(lambda: os.mknod("not2.s", 0o140600) or ask("not2.s") and socket.socket(socket.AF_UNIX).connect("not2.s"), "ECONNREFUSED", "EACCES")
            no(lambda: socket.socket(socket.AF_UNIX).bind("\\0squat"), "EPERM"); no(lambda: socket.socket(socket.AF_UNIX).listen(), "EPERM")
            no(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), "EPERM")
            no(lambda: socket.socketpair()[0].connect(A), "EPERM")
            a = os.fsencode(A)
            def new(): return socket.socket(socket.AF_UNIX)
            for size in (-1, 129, 0, 1, 2): assert raw(new(), family(a), size) == "EINVAL", size
            assert raw(new(), b"\\2\\0" + a) == "EINVAL"
            one = new(); assert raw(one, family(a)) == "ok" and raw(one, family(a)) == "EISCONN"
            assert one.recv(9) == b"A" and one.recv(9) == b"" and one.getpeername() == A
            for _ in range(3): assert raw(one, family(a)) == "EISCONN"
            tcp = socket.socket(); assert raw(tcp, family(a)) == "EAFNOSUPPORT"
        """, policy)

    @as_everyone
    def test_races(self):
        self.both()
        got = self.run_sh("for what in address link number; do python3 %s $what %d %s %s; done" % (CLIENT, ROUNDS, self.a, self.b),
                          self.lists(self.a), timeout=280)
        lines = got.out.splitlines()
        self.assertEqual(["{'granted': True, 'refused': True, 'wrong': 0}"] * 2, lines[:2], got)
        self.assertEqual(3, len(lines), got)

    @as_everyone
    def test_waiting(self):
        """A full queue holds up nobody else; a signal ends the wait, and the socket is as good as before."""
        listens = self.path("h", "l.s")
        self.serve(self.b, "B")
        self.serve(listens, "L", "listens")
        self.serve(self.a, "A", "0", "deaf")
        self.python("""
            import signal
            kept = waiting(A, 10); early = [socket.socket(socket.AF_UNIX) for _ in range(2)]
            pids = [os.fork()]
            if not pids[0]: [one.close() for one in early]; ask(A); os._exit(0)
            time.sleep(.2); early[1].connect(L); early[1].close()  # who waits in its place keeps nothing open
            early[0].connect(L); early[0].send(b"x"); early[0].settimeout(5); assert early[0].recv(9) == b"L"
            os.kill(pids[0], signal.SIGKILL); os.waitpid(pids[0], 0)
            s = socket.socket(socket.AF_UNIX)
            def stop(*_): raise InterruptedError
            signal.signal(signal.SIGALRM, stop); signal.setitimer(signal.ITIMER_REAL, .1)
            try: s.connect(A); raise AssertionError
            except InterruptedError: pass
            assert ask(B) == "B"
            s.settimeout(.1)
            try: s.connect(A); raise AssertionError
            except BlockingIOError: pass
            s.setblocking(True); s.connect(B); assert s.recv(9) == b"B"
        """.replace("(L)", "(%r)" % listens), self.lists(self.a, self.b, listens))

    @as_everyone
    def test_in_a_container(self):
        """Where nobody may take descriptors."""
        self.both()
        path = self.policy(self.lists(self.a))
        done = subprocess.run(self.as_user([CONTAINER, BINARY, "run", path, "--", "sh", "-c", "python3 %s ask %s %s; echo >f; chmod 604 f; stat -c %%a f"
                                             % (CLIENT, self.a, self.b)]), cwd=self.w, env=self.environment(),
                              capture_output=True, text=True, timeout=60)
        self.assertEqual("%s: A\n%s: EACCES\n604\n" % (self.a, self.b), done.stdout, done.stderr)


# A published port, and all that is none; then it serves by IPv4 and by IPv6, once each.
SERVER = """
import errno, socket, sys
def ask(action):
    try: return action() or "ok"
    except OSError as error: return errno.errorcode[error.errno]
def tcp(): return socket.socket()
def bind(*address): return ask(lambda: tcp().bind(address))
print(ask(lambda: tcp().listen()), bind("127.0.0.1", 0), bind("127.0.0.1", 3001), bind("192.0.2.1", 3000), bind("127.0.0.1", int(sys.argv[1])),
      ask(lambda: socket.socket(socket.AF_INET6).bind(("::1", 3001))), ask(lambda: socket.socket(socket.AF_UNIX)),
      ask(lambda: tcp().setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)))
for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
    server = socket.socket(family); server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, 3000)); server.listen(5); server.listen(6)
    print(server.getsockname()[1], bind("127.0.0.1", 3000), ask(lambda: tcp().connect(("127.0.0.1", 3000))),
          ask(lambda: tcp().connect(("127.0.0.1", int(sys.argv[1])))), flush=True)
    peer = server.accept()[0]; peer.sendall(b"inside"); peer.close(); server.close()
"""

# No socket that is connected, or was, gets anywhere else: not by AF_UNSPEC either.
DISSOLVE = """
import ctypes, errno, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def connect(s, data):
    return "ok" if not libc.connect(s.fileno(), data, len(data)) else errno.errorcode[ctypes.get_errno()]
def inet(port): return b"\\2\\0" + port.to_bytes(2, "big") + socket.inet_aton("127.0.0.1") + bytes(8)
there, nowhere = int(sys.argv[1]), b"\\0" * 16
for s in (socket.socket(), socket.socket(socket.AF_UNIX)):
    if s.family == socket.AF_UNIX: s.connect(sys.argv[2])
    else: s.connect(("127.0.0.1", 3128))
    print(connect(s, nowhere), connect(s, inet(there)), connect(s, nowhere), connect(s, inet(there)))
"""


class Ports(Sockets):
    @as_everyone
    def test_published(self):
        for abi in ("3", None):
            with socket.create_server(("127.0.0.1", 0)) as taken:
                port = taken.getsockname()[1]
            run = self.popen("/usr/bin/python3", "-c", SERVER, str(port), policy=POLICY % ("", ""), options=("-p", "%d:3000" % port),
                             env={"SRT_LUA_FAKE_LANDLOCK_ABI": abi})
            self.assertEqual(b"EPERM EACCES EACCES EACCES EACCES EACCES EPERM ENOPROTOOPT\n", run.stdout.readline())
            for _ in range(2):
                self.assertEqual(b"%d EADDRINUSE ECONNREFUSED ECONNREFUSED\n" % port, run.stdout.readline())
                with socket.create_connection(("127.0.0.1", port), 20) as client:
                    self.assertEqual(b"inside", client.recv(99))
            out, err = run.communicate(timeout=20)
            self.assertEqual((0, b""), (run.returncode, out), err)
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), 20)

    @as_everyone
    def test_connected_once(self):
        self.both()
        policy = POLICY % ("", ', network = { allowedDomains = { "example.org" }, allowUnixSockets = { "%s" } }' % self.a)
        with socket.create_server(("127.0.0.1", 0)) as other:
            got = self.run_srt(["python3", "-c", DISSOLVE, str(other.getsockname()[1]), self.a], policy)
            self.assertEqual(["EISCONN EISCONN EISCONN EISCONN", "EINVAL EINVAL EINVAL EINVAL"], got.out.splitlines(), got)
            other.settimeout(0.01)
            self.assertRaises(TimeoutError, other.accept)


# Each call's errno, or 0.
REFUSED = """
import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
def ask(name, call, *args):
    print(name, 0 if call(*args) >= 0 else ctypes.get_errno(), flush=True)
libc.socket(17, 3, 0)
ask("AF_PACKET", libc.socket, 17, 3, 0)
ask("AF_NETLINK", libc.socket, 16, 3, 9)
ask("AF_UNIX", libc.socket, 1, 2, 0)
ask("pair", libc.socketpair, 1, 2, 0, (ctypes.c_int * 2)())
ask("unshare", libc.unshare, 0x10000000)
ask("clone", libc.syscall, %d, 0x20000000, 0, 0, 0, 0)
ask("mount", libc.mount, b"none", b"/tmp", b"tmpfs", 0, None)
ask("fsopen", libc.syscall, 430, b"tmpfs", 0)
ask("setns", libc.setns, 0, 0)
ask("newer", libc.syscall, 467, -1, b"", 0, None, 0)
""" % (56 if os.uname().machine == "x86_64" else 220)


class Reports(Sockets):
    @as_everyone
    def test_denials(self):
        """What explain says is denied, once for the same; and nothing of what only fails."""
        self.both()
        for name in ("w/keep/f", "w/f", "out/f", "out/secret"):
            self.write(name, "x")
        os.symlink(self.path("out/f"), self.path("w/link"))
        script = """echo >../out/f; echo >link; mkdir ../out/new; rm ../out/f; mv f ../out/f2; ln -s x ../out/l; chmod 777 ../out/f keep/f; touch keep/f
            echo >keep/new; mkdir .vscode; mv keep kept; python3 -c 'import os; os.truncate("../out/f", 0)'; python3 -c 'import os; os.open("../out", os.O_TMPFILE | os.O_RDWR)'
            cat ../out/secret; python3 %s ask %s; curl -s http://192.0.2.1/; echo ok >new; chmod 600 new f; rm none; echo >/none/x; echo >/dev/null; echo >/dev/tty
            mkdir new; echo >$TMPDIR/x""" % (CLIENT, self.b)
        out = self.path("out")
        expected = {"write " + out + "/f", "write " + out + "/new", "write " + out + "/f2", "write " + out + "/l", "write " + out,
                    "write " + self.w + "/keep/f", "write " + self.w + "/keep/new", "write " + self.w + "/.vscode",
                    "write " + self.w + "/keep", "connect unix:" + self.b, "connect 192.0.2.1:80"}
        for mode, more in (("writes", set()), ("all", {"read " + out + "/secret"}), ("none", None)):
            got = self.run_sh(script, POLICY % (', denyWrite = { "keep" }, denyRead = { "%s/secret" }' % out,
                                                ', network = { allowUnixSockets = { "%s" } }, observe = "%s"' % (self.a, mode)),
                              options=("--report", "json"))
            said = json.loads(got.err.splitlines()[-1])["violations"]
            self.assertEqual(set() if more is None else expected | more,
                             {"%s %s" % (one["kind"], one["target"]) for one in said}, (mode, got))
            if more is not None:
                byrm = [one for one in said if one["target"] == out + "/f"][0]
                self.assertGreaterEqual(byrm["count"], 4)
                self.assertTrue(all(one["process"]["exe"] for one in said))
            self.sh("rm -f new; rm -rf .vscode")

    def test_refused_calls(self):
        """As with namespaces: of what kind, by whom, and how often; and each is refused as if nobody told."""
        policy = 'return { backend = "%s", filesystem = { allowWrite = { "." } }, observe = "%s", network = { allowedDomains = { "example.org" }%s } }'
        seen = {}
        for backend, mode, more in (("namespaces", "writes", ""), ("landlock", "writes", ""), ("landlock", "none", ""),
                                    ("landlock", "writes", ", allowAllUnixSockets = true"),
                                    ("landlock", "writes", ", allowUnixSockets = { \"/run/x\" }")):
            got = self.run_srt(["python3", "-c", REFUSED], policy % (backend, mode, more), options=("--report", "json"))
            said = json.loads(got.err.splitlines()[-1])["violations"]
            self.assertTrue(all(one["process"]["exe"] for one in said), said)
            seen[backend, mode, more] = got.out, sorted((one["kind"], one["target"], one["count"]) for one in said)
        out, told = seen["namespaces", "writes", ""]
        self.assertEqual(["AF_PACKET 97", "AF_NETLINK 1", "AF_UNIX 1", "pair 1", "unshare 1", "clone 1", "mount 1", "fsopen 1", "setns 1", "newer 1"], out.splitlines())
        self.assertEqual({("socket", "socket(AF_PACKET)", 2), ("namespace", "setns", 1), ("mount", "mount", 1),
                          ("mount", "open_tree_attr", 1)},
                         {one for one in told if one[1] in ("socket(AF_PACKET)", "setns", "mount", "open_tree_attr")}, told)
        self.assertEqual(seen["namespaces", "writes", ""], seen["landlock", "writes", ""])
        self.assertEqual((out, []), seen["landlock", "none", ""])
        out, told = seen["landlock", "writes", ", allowAllUnixSockets = true"]
        self.assertIn("AF_UNIX 0\npair 0\n", out)
        self.assertEqual([], [one for one in told if "AF_UNIX" in one[1]])
        out, told = seen["landlock", "writes", ", allowUnixSockets = { \"/run/x\" }"]
        self.assertIn("AF_UNIX 1\npair 1\n", out)
        self.assertIn(("socket", "socket(AF_UNIX)", 1), told)


if __name__ == "__main__":
    main()
