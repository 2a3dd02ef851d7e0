# SPDX-License-Identifier: Apache-2.0
"""observe: what is denied is told as it is, costs nothing of what is allowed, and decides nothing."""
import json
import os
import signal
import subprocess
import textwrap

from lib import BINARY, LONG, as_everyone, main, skip
from running import Running, until
from test_create_guard import agents

RACES = 100000 if LONG else 3000


def policy(observe=None, more=""):
    key = 'observe = "%s",' % observe if observe else ""
    return ('{ %s filesystem = { allowWrite = { "." }, denyWrite = { "no" }, denyRead = { "hid" } %s } }'
            % (key, more))


class Observed(Running):
    def fresh(self):
        super().fresh()
        self.write("w/no/f", "as it was"), self.write("w/hid/f", "hidden"), self.write("w/ok/f", "fine")
        self.write("out/f", "outside")

    def told(self, script, text=policy(), wanted=0, **more):
        """Runs a script inside; its result, and the violations as [kind, target relative to self.dir, …]."""
        file = self.path("violations")
        if os.path.exists(file):
            os.unlink(file)
        got = self.run_srt(["sh", "-c", script], text, options=("--violations", file, "--report", "none"), **more)
        if wanted is not None:
            self.assertEqual(wanted, got.code, (self.user, got))
        got.events = [json.loads(line) for line in self.read("violations").splitlines()] if os.path.exists(file) else []
        return got

    def targets(self, got, kind="write"):
        return [e["target"].replace(self.dir + "/", "") for e in got.events if e["kind"] == kind]

    def python(self, code, text=policy(), **more):
        return self.told("exec python3 -c '%s'" % textwrap.dedent(code).replace("'", "'\\''"), text, timeout=1500 if LONG else 280, **more)


class Writes(Observed):
    @as_everyone
    def test_each_call(self):
        """Each way to change something, denied: one violation with the path that it really was."""
        for script, target in (
                ("echo x >no/new", "w/no/new"), ("echo x >>no/f", "w/no/f"), ("cat ok/f >no/copy", "w/no/copy"),
                ("mkdir no/d", "w/no/d"), ("rm -f no/f", "w/no/f"), ("mv ok/f no/g", "w/no/g"), ("mv no/f h", "w/no/f"),
                ("ln -s x no/l", "w/no/l"), ("ln ok/f no/l", "w/no/l"), ("chmod 600 no/f", "w/no/f"),
                ("mkfifo no/p", "w/no/p"), ("cd no; : >../no/here", "w/no/here"), ("rmdir no", "w/no"),
                ("mv no away", "w/no"), ("truncate -s 0 no/f", "w/no/f"), (": >hid/f", "w/hid/f"),
                ("ln -s no/f l; echo x >l", "w/no/f"), (": >%s" % self.path("out/f"), "out/f"),
                # A folder was writable a moment ago, and its path now leads elsewhere.
                ("mkdir a; : >$PWD/a/x; mv a b; ln -s no a; : >$PWD/a/y", "w/no/y"),
                ("mkdir c; : >$PWD/c/x; rm -r c; ln -s no c; mkdir $PWD/c/y", "w/no/y"),
                ("python3 -c 'import os; os.truncate(\"no/f\", 1)'", "w/no/f"),
                ("python3 -c 'import os; os.setxattr(\"no/f\", \"user.a\", b\"x\")'", "w/no/f"),
                ("python3 -c 'import os; d = os.open(\"no\", os.O_PATH); os.mkdir(\"by-fd\", dir_fd=d)'", "w/no/by-fd")):
            with self.subTest(script=script):
                got = self.told("(%s) 2>/dev/null; true" % script)
                self.assertEqual([target], sorted(set(self.targets(got))), got.events)
                event = got.events[0]
                self.assertIn("process", event)
                self.assertTrue(event["process"]["exe"].startswith("/") and event["process"]["pid"] > 1, event)
        self.assertEqual("as it was", self.read("w/no/f"))

    @as_everyone
    def test_exclusive_creation(self):
        """Too many to be looked at, unless all is observed or nothing may be written."""
        script = "(cp ok/f no/copy) 2>/dev/null; true"
        self.assertEqual([], self.told(script).events)
        self.assertEqual(["w/no/copy"], self.targets(self.told(script, policy("all"))))
        self.assertEqual(["w/no/copy"], self.targets(self.told(script, "{}")))
        self.assertEqual(["f"], os.listdir(self.path("w/no")))

    @as_everyone
    def test_what_is_no_violation(self):
        got = self.told("""set -e
            echo x >new; mkdir d; mv new d; rm -r d; chmod 600 ok/f; cat no/f >/dev/null; echo x >/dev/null
            mkdir -p no "$TMPDIR/x"; echo x >"$TMPDIR/x/y"; rm -rf none no/none; (: >none/x) 2>/dev/null || true
            umask 777; : >mine; (: >>mine) 2>/dev/null || true; : </etc/passwd; echo >/proc/self/comm""")
        self.assertEqual([], got.events)

    @as_everyone
    def test_rule_and_reason(self):
        (event,) = self.told("(: >no/x) 2>/dev/null; true").events
        self.assertIn("denyWrite", event["rule"])
        self.assertIn("EROFS", event["reason"])
        self.assertTrue(event["origin"].endswith(":1"), event)

    @as_everyone
    def test_advice(self):
        """What is advised is what would have allowed it."""
        self.write("p/f", "x"), self.write("p/a[b]*", "x"), self.write("p/sub/f", "x"), self.write("out/g", "x")
        self.write("w/.git/HEAD", "ref: x\n"), self.write("w/.git/config", "")
        os.makedirs(self.path("w/.git/objects")), os.makedirs(self.path("w/.git/refs")), os.makedirs(self.path("home"), exist_ok=True)
        for name in ("p", "p/sub", "out", "w/.git", "home", "p/f", "p/a[b]*", "w/.git/config"):
            self.own(self.path(name))
        allow = 'add "%s" to filesystem.allowWrite'
        config = "set filesystem.allowGitConfig = true, if you take the risk: git runs the programs it names, on the host"
        for script, advice in (
                ("rm -f ../p/f", allow % self.path("p")), ("rm -rf ../p/sub", allow % self.path("p/sub")),
                ("mv ../p/f .", allow % self.path("p")), ("echo x >../p/f", allow % self.path("p/f")),
                ("mkdir ../p/new", allow % self.path("p")),
                ("echo x >'../p/a[b]*'", 'add { path = "%s", literal = true } to filesystem.allowWrite' % self.path("p/a[b]*")),
                ("mkdir ~/.npm", "make %s first, then " % self.path("home/.npm") + allow % self.path("home/.npm")),
                ("mv ok/f .git/config", config),
                ("echo x >.git/config", config), (": >no/x", None)):
            with self.subTest(script=script):
                events = self.told("(%s) 2>/dev/null; true" % script).events
                self.assertTrue(events)
                self.assertEqual(advice, events[0].get("advice"), events)
        self.write("home/f", "x"), self.own(self.path("home/f"))
        (event,) = self.told("(rm -f ~/f) 2>/dev/null; true").events
        self.assertNotIn("advice", event)
        self.assertIn("%s would have to be writable, which is too much to advise" % self.path("home"), event["reason"])
        for name in (".bashrc", ".vscode"):
            (event,) = self.told("mkdir ~/%s 2>/dev/null; true" % name).events
            self.assertNotIn("advice", event)
            self.assertIn("; no entry makes it writable", event["reason"])

    @as_everyone
    def test_modes(self):
        script = "(: >no/x) 2>/dev/null; cat hid/f 2>/dev/null; ls hid 2>/dev/null; true"
        self.assertEqual([], self.told(script, policy("none")).events)
        self.assertEqual(["write"], [e["kind"] for e in self.told(script, policy("writes")).events])
        got = self.told(script, policy("all"))
        self.assertEqual(["w/no/x"], self.targets(got))
        self.assertEqual(["w/hid", "w/hid/f"], sorted(self.targets(got, "read")))

    @as_everyone
    def test_much(self):
        """The same a million times is a few records, and many different ones are bounded."""
        got = self.python("""if True:
            import os
            for i in range(20000):
                try: os.open("no/same", os.O_CREAT | os.O_WRONLY)
                except OSError: pass
            for i in range(20000):
                try: os.open("no/%d" % i, os.O_CREAT | os.O_WRONLY)
                except OSError: pass""")
        told = self.targets(got)
        self.assertIn("w/no/same", told)
        self.assertLess(told.count("w/no/same"), 200)
        self.assertLess(len(told), 8000)
        self.assertGreater(len(told), 100)


    @as_everyone
    def test_counts(self):
        """What the agent tells together is counted as often as it was tried, within a factor of two; few exactly."""
        for times, least, more in ((1, 1, None), (2, 2, None), (8, 8, None), (1000, 512, True)):
            got = self.run_srt(["python3", "-c", textwrap.dedent('''if True:
                import os
                for i in range(%d):
                    try: os.mkdir("no/d")
                    except OSError: pass''' % times)], policy(), options=("--report", "json"))
            said = json.loads(got.err.splitlines()[-1])
            self.assertTrue(least <= said["denied"] <= times, (times, said))
            self.assertEqual((said["denied"], more, 0), (said["violations"][0]["count"], said.get("atLeast"), said["more"]))

    @as_everyone
    def test_lost(self):
        """What was too much to be told of shows in the report."""
        code = textwrap.dedent('''if True:
            import os
            for i in range(5000):
                try: os.mkdir("no/d%d" % i)
                except OSError: pass''')
        got = self.run_srt(["python3", "-c", code], policy(), options=("--report", "json"))
        said = json.loads(got.err.splitlines()[-1])
        self.assertTrue(said["atLeast"], got.err[-300:])
        self.assertTrue(2000 < sum(v["count"] for v in said["violations"]) + said["more"] <= 5000, (said["denied"], said["more"]))
        self.assertRegex(self.run_srt(["python3", "-c", code], policy()).err, "denied: [0-9]+ attempts or more\n")


class Refused(Observed):
    @as_everyone
    def test_same_errno_as_ever(self):
        """What the agent refuses answers as the filter did, and is told."""
        code = """if True:
            import ctypes, errno, socket
            C = ctypes.CDLL(None, use_errno=True)
            def sock(*args):
                return "made" if C.socket(*map(ctypes.c_long, args)) >= 0 else errno.errorcode[ctypes.get_errno()]
            def pair(kind):
                try: socket.socketpair(socket.AF_UNIX, kind); return "made"
                except OSError as e: return errno.errorcode[e.errno]
            def call(name, *args):
                return "done" if getattr(C, name)(*args) == 0 else errno.errorcode[ctypes.get_errno()]
            print(sock(1, 1), sock(1 | 1 << 32, 1), sock(17, 3), sock(40, 1), sock(16, 3, 9), sock(16, 3, 0), sock(2, 1),
                  sock(10, 2), sock(2, 5), sock(77, 1), pair(1), pair(2), pair(5),
                  call("unshare", 0x10000000), call("unshare", 0x20000), call("unshare", 0x200),
                  call("setns", 0, 0), call("mount", b"t", b"/mnt", b"tmpfs", 0, None), call("umount2", b"/proc", 2),
                  call("chroot", b"/"), call("syscall", 56, 0x10000011, 0, 0, 0, 0), call("syscall", 435, 0, 0))"""
        seen = [self.python(code, policy(mode)) for mode in ("none", "writes")]
        self.assertEqual(seen[0].out, seen[1].out)
        self.assertIn("EPERM", seen[1].out)
        self.assertEqual([], seen[0].events)
        told = self.targets(seen[1], "socket")
        for target in ("socket(AF_PACKET)", "socket(AF_VSOCK)", "socket(AF_NETLINK)", "socket(family 77)"):
            self.assertIn(target, told)
        self.assertIn("unshare(CLONE_NEWUSER)", self.targets(seen[1], "namespace"))
        self.assertIn("mount", self.targets(seen[1], "mount"))

    @as_everyone
    def test_a_network_without_exit(self):
        """Names and connections that fail there are told; what stays inside is not, and works."""
        code = """if True:
            import socket
            for family, to in ((2, ("203.0.113.1", 80)), (2, ("203.0.113.1", 80)), (10, ("2001:db8::1", 443))):
                print(socket.socket(family).connect_ex(to), end=" ")
            server = socket.create_server(("127.0.0.1", 0))
            print(socket.create_connection(server.getsockname()).getpeername() == server.getsockname(), end=" ")
            print(socket.socket().connect_ex(("127.0.0.1", 1)), socket.socket().connect_ex(("0.0.0.0", 1)), end=" ")
            socket.socket(2, socket.SOCK_DGRAM).connect(("127.0.0.1", 9))
            try: socket.socket(2, socket.SOCK_DGRAM).connect(("127.0.0.53", 53)); socket.socket(2, 2).connect(("192.0.2.53", 53))
            except OSError as e: print(e.errno)"""
        want = [("203.0.113.1:80", 'add "203.0.113.1:80" to network.allowedDomains', 2),
                ("[2001:db8::1]:443", 'add "[2001:db8::1]:443" to network.allowedDomains', 1)]
        want += [(host + ":53", "add the host that was asked for to network.allowedDomains: the policy allows no network", 1) for host in ("127.0.0.53", "192.0.2.53")]
        for how, text in (("closed", policy()), ("none", policy("none")),
                          ("sockets", policy(more='}, network = { allowUnixSockets = { "/x" }'))):
            got = self.python(code, text)
            self.assertEqual("101 101 101 True 111 111 101\n", got.out, (how, got))
            connects = [e for e in got.events if e["kind"] == "connect"]
            self.assertEqual([] if how == "none" else sorted({target for target, _, _ in want}),
                             sorted({e["target"] for e in connects}), (how, got.events))
            for target, advice, count in want if connects else ():
                found = [e for e in connects if e["target"] == target]
                self.assertEqual((advice, count), (found[0]["advice"], len(found)), (how, got.events))

    @as_everyone
    def test_what_only_the_kernel_counts(self):
        """Datagrams without connect(2), by whatever call, and connections that nobody is asked about: none is missing."""
        code = """if True:
            import socket
            def fails(f, *args):
                try: f(*args); return 0
                except OSError as e: return e.errno
            out, six, inside = ("192.0.2.9", 9), ("2001:db8::9", 9), ("127.0.0.1", 9)
            u, v = socket.socket(2, 2), socket.socket(10, 2)
            print([fails(u.sendto, b"x", inside), fails(v.sendto, b"x", ("::1", 9)), fails(socket.socket().connect, ("127.0.0.1", 3128))][:2],
                  {fails(f, *args) for f, args in [(u.sendto, (b"x", out))] * 2 + [(v.sendto, (b"x", six)), (u.sendmsg, ([b"x"], [], 0, out)),
                   (v.sendto, (b"x", ("::ffff:192.0.2.9", 9)))]}, socket.socket().connect_ex(out) in (0, 101))"""
        network = '}, network = { allowedDomains = { "up.test" }%s'
        for how, text, errno, counted, told in (
                ("closed", policy(), 101, 5, "network"), ("led", policy(more=network % ", transparent = true"), 1, 5, None),
                ("not led", policy(more=network % ""), 101, 6, None), ("nobody leads", policy(more=network % ", transparent = false"), 101, 5,
                                                                       "network.transparent"),
                ("none", policy("none", network % ", transparent = false"), 101, 0, None)):
            with self.subTest(how=how):
                got = self.python(code, text)
                self.assertEqual("[0, 0] {%d} True\n" % errno, got.out, got)
                self.assertEqual([counted] if counted else [],
                                 [e["count"] for e in got.events if e["target"] == "(addresses outside)"], got.events)
                rest = [(e["target"], e["rule"].split(" ")[0]) for e in got.events if e["target"] != "(addresses outside)"]
                if how != "led":
                    self.assertEqual([("192.0.2.9:9", told)] if told else [], rest)

    @as_everyone
    def test_unix_datagrams(self):
        """With Unix sockets it is the type that is refused. Without, libraries try in vain all the time: nobody is told."""
        code = """if True:
            import socket
            try: socket.socket(1, 2)
            except PermissionError: print("refused")"""
        for more, reasons in (("", []),
                              ('}, network = { allowUnixSockets = { "s.sock" }', ["no Unix datagram sockets can be made, only stream sockets"])):
            got = self.python(code, policy("writes", more))
            self.assertEqual("refused\n", got.out)
            self.assertEqual(reasons, [e["reason"] for e in got.events], got.err)

    @as_everyone
    def test_agent_killed(self):
        """Refused calls stay refused, watched ones fail, and the command ends as it will."""
        process = self.popen("python3", "-c", textwrap.dedent("""if True:
            import errno, os, socket, sys
            def tried(f, *args):
                try: f(*args); return "done"
                except OSError as e: return errno.errorcode[e.errno]
            print("ready", flush=True); sys.stdin.readline()
            print(tried(os.mkdir, "early"), flush=True); sys.stdin.readline()
            print(tried(os.open, "new", os.O_CREAT | os.O_WRONLY), tried(socket.socket, 1, 1), tried(os.mkdir, "d"),
                  tried(os.unshare, 0x10000000) if hasattr(os, "unshare") else "ENOSYS", tried(os.listdir, "."))
            sys.exit(7)"""), policy=policy(), stdin=subprocess.PIPE)
        self.assertEqual(b"ready\n", process.stdout.readline())
        # There is none as long as nobody was notified.
        self.assertEqual([], agents(process.pid))
        process.stdin.write(b"go\n"), process.stdin.flush()
        self.assertEqual(b"done\n", process.stdout.readline())
        (agent,) = agents(process.pid)
        os.kill(agent, signal.SIGKILL)
        until(lambda: not agents(process.pid))
        out, err = process.communicate(b"go\n", timeout=30)
        self.assertEqual(b"ENOSYS EPERM ENOSYS ENOSYS done\n", out, err)
        self.assertEqual(7, process.returncode)
        self.assertFalse(os.path.exists(self.path("w/new")))

    @as_everyone
    def test_who_notifies_already(self):
        """Under somebody's notifying filter there is no second: what was not asked for is left, and refusals hold."""
        outer = textwrap.dedent("""
            import ctypes, os, struct, sys
            code = struct.pack("=HBBI", 6, 0, 0, 0x7fff0000)
            buffer = ctypes.create_string_buffer(code)
            class Prog(ctypes.Structure): _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
            program = Prog(1, ctypes.addressof(buffer))
            C = ctypes.CDLL(None, use_errno=True)
            C.prctl(38, 1, 0, 0, 0)
            fd = C.syscall(ctypes.c_long(317), ctypes.c_long(1), ctypes.c_long(8), ctypes.byref(program))
            assert fd >= 0, ctypes.get_errno()
            os.set_inheritable(fd, True)
            os.execv(sys.argv[1], sys.argv[1:])""")
        if os.uname().machine != "x86_64":
            skip("numbers of x86-64", allowed=True)
        for mode, wanted in ((None, 0), ("writes", 125)):
            process = self.on_host(
                ["python3", "-c", outer, BINARY, "run", self.policy(policy(mode)), "--", "sh", "-c",
                 "python3 -c 'import socket\ntry: socket.socket(1, 1)\nexcept PermissionError: print(\"refused\")'; : >new"],
                timeout=60, stdin=subprocess.DEVNULL)
            self.assertEqual(wanted, process.returncode, process)
            self.assertEqual(b"" if wanted else b"refused\n", process.stdout, process)
            if wanted:
                self.assertIn(b"observe can't be held here", process.stderr)


class Races(Observed):
    @as_everyone
    def test_path_rewritten(self):
        """A second thread rewrites the path while it is looked at: what is denied stays denied, whatever was seen."""
        got = self.python("""if True:
            import ctypes, os, threading
            C = ctypes.CDLL(None, use_errno=True)
            path, stop, made = ctypes.create_string_buffer(b"ok/x", 16), [], 0
            def flip():
                while not stop:
                    for i in range(500):
                        ctypes.memmove(path, b"no/x", 4); ctypes.memmove(path, b"ok/x", 4)
            thread = threading.Thread(target=flip); thread.start()
            for i in range(%d):
                fd = C.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
                if fd >= 0: made += 1; os.close(fd)
            stop.append(1); thread.join()
            assert not os.path.exists("no/x") and made, made""" % RACES)
        self.assertEqual(["f"], os.listdir(self.path("w/no")), got)

    @as_everyone
    def test_link_turned(self):
        got = self.python("""if True:
            import os, threading
            stop = []
            def turn():
                while not stop:
                    for to in ("no", "ok"):
                        os.symlink(to, "l.new"); os.rename("l.new", "l")
            os.symlink("ok", "l")
            thread = threading.Thread(target=turn); thread.start()
            for i in range(%d):
                try: os.close(os.open("l/y", os.O_CREAT | os.O_WRONLY))
                except OSError: pass
                try: os.unlink("l/y")
                except OSError: pass
            stop.append(1); thread.join()""" % (RACES // 3))
        self.assertEqual(["f"], os.listdir(self.path("w/no")), got)

    @as_everyone
    def test_threads_signals_and_exec(self):
        """A thousand threads, and processes that end, exec or catch signals while they wait."""
        got = self.python("""if True:
            import os, signal, subprocess, threading
            signal.signal(signal.SIGALRM, lambda *_: None); signal.siginterrupt(signal.SIGALRM, False)
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
            wrong = []
            def work(i):
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM] if i % 2 else [])
                try: os.close(os.open("t%d" % i, os.O_CREAT | os.O_WRONLY))
                except OSError as e: wrong.append(e)
                try: os.mkdir("no/t%d" % i); wrong.append(i)
                except OSError: pass
            threads = [threading.Thread(target=work, args=(i,)) for i in range(1000)]
            for t in threads: t.start()
            for t in threads: t.join()
            signal.setitimer(signal.ITIMER_REAL, 0)
            for i in range(60):
                p = subprocess.Popen(["sh", "-c", "while :; do : >e%d; mkdir no/e; exec sh -c : ; done" % i], stderr=-3)
                if i % 2: p.kill()
                p.wait()
            assert not wrong, wrong[:3]""")
        self.assertEqual(1000, len([n for n in os.listdir(self.w) if n[0] == "t" and n[1:].isdigit()]), got)
        self.assertEqual(["f"], os.listdir(self.path("w/no")))


if __name__ == "__main__":
    main()
