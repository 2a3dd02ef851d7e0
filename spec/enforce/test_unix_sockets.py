# SPDX-License-Identifier: Apache-2.0
"""network.allowUnixSockets: which Unix sockets are reached by path, and that no trick leads to another one."""
import ast
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import textwrap

from lib import BINARY, LONG, PUBLIC, as_everyone, as_only, drops, main, need, need_root
from running import Running, until
from test_create_guard import agents

CLIENT, SERVER = (shutil.copy(pathlib.Path(__file__).with_name(name), PUBLIC)
                  for name in ("unix_client.py", "unix_server.py"))
RACES = "100000" if LONG else "3000"


def policy(*sockets, more=""):
    names = ", ".join('"%s"' % name for name in sockets)
    return '{ filesystem = { allowWrite = { "." } }, network = { allowUnixSockets = { %s } } %s }' % (names, more)


class Sockets(Running):
    """self.a is a socket that policies allow, self.b one that they don't; both outside of what may be written."""

    def fresh(self):
        super().fresh()
        self.a, self.b = self.path("h", "a.s"), self.path("h", "b.s")
        os.mkdir(self.path("h"))
        self.own(self.path("h"))

    def serve(self, path, word, *more):
        process = self.outside("python3", SERVER, path, word, *more, stdin=subprocess.PIPE)
        self.assertEqual(b"listening\n", process.stdout.readline())
        return process

    def both(self):
        self.serve(self.a, "A")
        self.serve(self.b, "B")

    def ask(self, *paths, policy, **more):
        got = self.run_srt(["python3", CLIENT, "ask", *paths], policy, **more)
        self.assertEqual(0, got.code, got)
        return [line.split(": ", 1)[1] for line in got.out.splitlines()]

    def python(self, code, policy):
        """Runs a program inside that knows unix_client.py, and both paths as A and B."""
        head = ("import ctypes, errno, os, socket, sys, threading, time\nsys.dont_write_bytecode = True\n"
                "sys.path.insert(0, %r)\nfrom unix_client import *\nA, B = %r, %r\n" % (PUBLIC, self.a, self.b))
        got = self.run_srt(["python3", "-c", head + textwrap.dedent(code)], policy, timeout=1500 if LONG else 280)
        self.assertEqual(0, got.code, (self.user, got))


class Paths(Sockets):
    @as_everyone
    def test_exact(self):
        self.both()
        self.write("w/plain")
        os.symlink(self.a, self.path("h", "to-a")), os.symlink("b.s", self.path("h", "to-b"))
        os.symlink(self.path("h"), self.path("w", "h"))
        got = self.ask(self.a, "../h/a.s", "h/a.s", "./../w/./h//a.s", self.path("h", "to-a"), self.b, "../h/b.s",
                       self.path("h", "to-b"), "h/to-b", self.path("h", "none"), self.path("h"), "plain",
                       self.a + "/", self.a + "/x", "/proc/self/cwd/../h/a.s", "/proc/self/root" + self.a,
                       "/proc/self/root" + self.b, "/proc/self/cwd/../h/b.s", policy=policy(self.a))
        self.assertEqual(["A"] * 5 + ["EACCES"] * 4 + ["ENOENT", "ECONNREFUSED", "ECONNREFUSED", "ENOTDIR", "ENOTDIR",
                                                       "A", "A", "EACCES", "EACCES"], got)

    @as_everyone
    def test_refusals_are_told(self):
        """As explain says, once for the same, and nothing of what only fails."""
        self.both()
        self.write("w/plain")
        code = ("ask %s ../h/b.s %s none plain; python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0none\")'"
                % (self.b, self.a))
        for more, told in (("", True), (', observe = "none"', False)):
            got = self.run_sh("python3 %s %s 2>/dev/null; :" % (CLIENT, code), policy(self.a, more=more),
                              options=("--report", "json"))
            said = json.loads(got.err.splitlines()[-1])["violations"]
            self.assertEqual([("connect", "unix:" + self.b, 2, 'add "%s" to network.allowUnixSockets' % self.b)] if told else [],
                             [(v["kind"], v["target"], v["count"], v["advice"]) for v in said], got)
        self.assertIn("python3", said[0]["process"]["exe"]) if told else None

    @as_everyone
    def test_without_the_key_or_with_all(self):
        self.both()
        for key, wanted in (("", "EPERM"), (", network = { allowUnixSockets = {} }", "EPERM"),
                            (", network = { allowAllUnixSockets = true }", "B")):
            got = self.ask(self.b, policy='{ filesystem = { allowWrite = { "." } } %s }' % key)
            self.assertEqual([wanted], got, key)

    @as_everyone
    def test_raw_addresses(self):
        self.both()
        self.python("""
            a, b = os.fsencode(A), os.fsencode(B)
            def new(): return socket.socket(socket.AF_UNIX)
            assert raw(new(), family(a)) == "ok"                      # no NUL byte at the end
            assert raw(new(), family(a) + b"\\0junk") == "ok"
            assert raw(new(), family(b"/" * (108 - len(a)) + a)) == "ok"       # all 108 bytes
            assert raw(new(), family(b"/" * (108 - len(b)) + b)) == "EACCES"
            assert raw(new(), family(b"/" * (109 - len(a)) + a)) == "EINVAL"
            assert raw(new(), family(b + b"\\0"), 2 + len(b)) == "EACCES"
            for size in (-1, 129, 1 << 30): assert raw(new(), family(a), size) == "EINVAL", size
            for size in (0, 1, 2): assert raw(new(), family(a), size) == "EINVAL", size
            assert raw(new(), b"\\2\\0" + a) == "EINVAL"
            assert raw(new(), family(b"")) == "EINVAL"
            keep = new(); assert LIBC.connect(keep.fileno(), ctypes.c_void_p(8), 20) and ctypes.get_errno() == errno.EFAULT
            assert LIBC.connect(999, ctypes.c_void_p(8), 20) and ctypes.get_errno() == errno.EBADF
            with open("/dev/null") as f: assert raw(f, family(a)) == "ENOTSOCK"
            assert raw(socket.socket(), family(a)) == "EAFNOSUPPORT"
            one = new(); assert raw(one, family(a)) == "ok" and raw(one, family(a)) == "EISCONN"
            assert one.getpeername() == os.fsdecode(a) and one.getsockname() == ""
            assert raw(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), family(a)) == "EPROTOTYPE"
        """, policy(self.a))

    @as_everyone
    def test_by_descriptors(self):
        """Long ways are named through /proc; the numbers there are the caller's."""
        self.both()
        self.python("""
            folder = os.open(os.path.dirname(A), os.O_PATH)
            files = {name: os.open({"A": A, "B": B}[name], os.O_PATH) for name in "AB"}
            for who in ("self", "thread-self", str(os.getpid())):
                assert ask("/proc/%s/fd/%d/a.s" % (who, folder)) == "A", who
                assert ask("/proc/%s/fd/%d/b.s" % (who, folder)) == "EACCES"
                assert ask("/proc/%s/fd/%d" % (who, files["A"])) == "A"
                assert ask("/proc/%s/fd/%d" % (who, files["B"])) == "EACCES"
            os.symlink("/proc/self/fd/%d" % files["B"], "link"); assert ask("link") == "EACCES"
            os.symlink("/proc/self/fd/%d" % files["A"], "good"); assert ask("good") == "A"
            agent = [name for name in os.listdir("/proc") if name.isdigit() and "srt-lua-guard" in open("/proc/%s/comm" % name).read()]
            assert len(agent) == 1
            for n in range(8): assert ask("/proc/%s/fd/%d" % (agent[0], n)) in ("EACCES", "ENOENT"), n
            assert ask("/proc/%s/root%s" % (agent[0], A)) == "EACCES"
            os.chdir("/"); os.chdir(folder); assert ask("a.s") == "A" and ask("b.s") == "EACCES"
        """, policy(self.a))

    @as_everyone
    def test_abstract_names(self):
        """Those of the host are in another namespace; those made inside work."""
        name = "@srt-lua-spec-%d-%s" % (os.getpid(), self.user)
        self.serve(name, "HOST")
        self.assertEqual(["ECONNREFUSED"], self.ask(name, policy=policy(self.a)))
        self.python("""
            assert ask("@srt-lua-spec") == "ECONNREFUSED"
            server = socket.socket(socket.AF_UNIX); server.bind("\\0srt-lua-spec"); server.listen()
            client = socket.socket(socket.AF_UNIX); client.connect("\\0srt-lua-spec")
            auto = socket.socket(socket.AF_UNIX); auto.bind(""); auto.listen()
            assert auto.getsockname()[:1] == b"\\0"
            client = socket.socket(socket.AF_UNIX); client.connect(auto.getsockname())
        """, policy(self.a))

    @as_everyone
    def test_no_datagrams(self):
        self.both()
        self.python("""
            for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK):
                try: socket.socket(socket.AF_UNIX, kind); assert False
                except PermissionError: pass
            try: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); assert False
            except PermissionError: pass
            pair = socket.socketpair(); pair[0].sendall(b"x"); assert pair[1].recv(1) == b"x"
            try: pair[0].sendto(b"x", B); assert False
            except OSError as e: assert e.errno in (errno.EISCONN, errno.EOPNOTSUPP)
            one = socket.socket(socket.AF_UNIX)
            try: one.sendto(b"x", B); assert False
            except OSError as e: assert e.errno == errno.EOPNOTSUPP, e
            # A datagram socket that comes from elsewhere could be connected, if anywhere, by its type alone.
        """, policy(self.a))

    @as_everyone
    def test_modes_and_types(self):
        self.both()
        os.chmod(self.a, 0o600)
        theirs = drops(self.user)
        if theirs:
            os.chown(self.a, 0, 0)
        self.serve(self.path("h", "q.s"), "Q", "seqpacket")
        got = self.ask(self.a, self.path("h", "q.s"), policy=policy(self.a, self.path("h", "q.s")))
        self.assertEqual(["EACCES" if theirs else "A", "EPROTOTYPE"], got)
        self.python("""
            assert ask(os.path.dirname(A) + "/q.s", socket.SOCK_SEQPACKET) == "Q"
        """, policy(self.path("h", "q.s")))

    @as_everyone
    def test_folders_and_patterns(self):
        self.both()
        self.write("h/deep/x")
        self.serve(self.path("h", "deep", "c.s"), "C")
        deep = self.path("h", "deep", "c.s")
        self.assertEqual(["A", "B", "C"], self.ask(self.a, self.b, deep, policy=policy("../h")))
        self.assertEqual(["A", "B", "EACCES"], self.ask(self.a, self.b, deep, policy=policy("../h/?.s")))
        self.assertEqual(["EACCES", "EACCES", "C"], self.ask(self.a, self.b, deep, policy=policy("../h/**/c.s")))

    @as_everyone
    def test_what_comes_later(self):
        process = self.popen("sh", "-c", "read go; python3 %s ask %s %s" % (CLIENT, self.a, self.path("w", "late.s")),
                             policy=policy(self.a, "late.s"), stdin=subprocess.PIPE)
        until(lambda: agents(process.pid))
        self.both()
        self.serve(self.path("w", "late.s"), "L")
        out, err = process.communicate(b"go\n", timeout=30)
        # Whatever comes to lie where the command may write could have been put there by it.
        self.assertEqual(["A", "EACCES"], [line.split(": ")[1] for line in out.decode().splitlines()], err)
        self.assertIn(b"allows nothing", err)

    @as_everyone
    def test_hidden_folders(self):
        self.both()
        hide = ', filesystem = { allowWrite = { "." }, denyRead = { "../h" } }'
        one = policy(self.a).replace("filesystem = { allowWrite = { \".\" } },", "") .replace(" }  }", " }" + hide + " }")
        self.assertEqual(["A", "ENOENT"], self.ask(self.a, self.b, policy=one))
        both = one.replace('"../h"', '"../h/a.s"')
        self.assertEqual(["EACCES", "EACCES"], self.ask(self.a, self.b, policy=both))

    @as_everyone
    def test_link_that_could_be_planted(self):
        self.both()
        os.symlink(self.b, self.path("w", "dev.s"))
        got = self.run_srt(["python3", CLIENT, "ask", "dev.s", self.b], policy("dev.s"))
        self.assertEqual("dev.s: EACCES\n%s: EACCES\n" % self.b, got.out)
        self.assertIn("a command could have made", got.err)

    @as_everyone
    def test_explain_says_the_same(self):
        self.both()
        self.serve(self.path("w", "c.s"), "C")
        self.serve(self.path("w", "d.s"), "D")
        os.symlink(self.a, self.path("w", "l"))
        self.write("w/plain")
        text = self.policy(policy(self.a, "c.s", "../h/none"))
        paths = [self.a, self.b, "c.s", "d.s", "l", "../h/none", "plain"]
        got = self.ask(*paths, policy=text)
        for path, answer in zip(paths, got):
            said = self.run_srt(["explain", text, "connect", "unix:" + path, "--json"])
            said = ast.literal_eval(said.out.replace("false", "False").replace("true", "True").replace("null", "None"))
            self.assertEqual(said["decision"] == "allow" and said.get("errno") is None, len(answer) == 1, (path, said))
            if len(answer) > 1:
                self.assertEqual(answer, said["errno"], said)


class Own(Sockets):
    """What processes inside listen on."""

    @as_everyone
    def test_made_inside(self):
        self.python("""
            for folder in (".", os.environ["TMPDIR"]):
                for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
                    os.chdir(folder); os.umask(0o077)
                    server = socket.socket(socket.AF_UNIX, kind); server.bind("own.s"); server.listen()
                    assert server.getsockname() == "own.s" and os.stat("own.s").st_mode & 0o777 == 0o700
                    client = socket.socket(socket.AF_UNIX, kind); client.connect("own.s")
                    peer = server.accept()[0]; peer.sendall(b"x"); assert client.recv(1) == b"x"
                    creds = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                    assert int.from_bytes(creds[:4], sys.byteorder) == os.getpid()
                    os.rename("own.s", "moved.s"); os.link("moved.s", "hard.s"); os.symlink("hard.s", "soft.s")
                    for name in ("moved.s", "hard.s", "soft.s", os.path.realpath("moved.s")):
                        client = socket.socket(socket.AF_UNIX, kind); client.connect(name)
                    assert ask("own.s", kind) == "ENOENT"
                    server.listen(5); server.close(); assert ask("moved.s", kind) == "ECONNREFUSED"
                    for name in ("moved.s", "hard.s", "soft.s"): os.unlink(name)
            server = socket.socket(socket.AF_UNIX); server.bind("early"); assert ask("early") in ("ECONNREFUSED", "EACCES")
        """, policy(self.a))

    @as_everyone
    def test_host_socket_in_the_workspace(self):
        self.serve(self.path("w", "host.s"), "HOST")
        self.python("""
            assert ask("host.s") == "EACCES"
            os.rename("host.s", "x.s"); assert ask("x.s") == "EACCES"
            server = socket.socket(socket.AF_UNIX); server.bind("own.s"); server.listen(); own = os.stat("own.s").st_ino
            os.unlink("own.s"); os.rename("x.s", "own.s"); assert ask("own.s") == "EACCES"
            os.link("own.s", "again.s"); assert ask("again.s") == "EACCES"
            fd = os.open("own.s", os.O_PATH); assert ask("/proc/self/fd/%d" % fd) == "EACCES"
        """, policy(self.a))

    @as_everyone
    def test_no_inode_is_taken_for_another(self):
        """The host binds where the sandbox's sockets were just removed; many file systems give the number again."""
        process = self.popen("python3", "-c", """if True:
            import os, socket, sys; sys.path.insert(0, %r)
            from unix_client import ask
            while True:
                for i in range(20):
                    server = socket.socket(socket.AF_UNIX); server.bind("s"); server.listen(); server.close(); os.unlink("s")
                print("free", flush=True)
                if not sys.stdin.readline(): break
                print(ask("s"), flush=True)
                if not sys.stdin.readline(): break
            """ % PUBLIC, policy=policy(self.a), stdin=subprocess.PIPE)
        for _ in range(50):
            self.assertEqual(b"free\n", process.stdout.readline())
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(self.path("w", "s"))
                os.chmod(self.path("w", "s"), 0o777)
                server.listen()
                process.stdin.write(b"ask\n")
                process.stdin.flush()
                self.assertEqual(b"EACCES\n", process.stdout.readline())
                os.unlink(self.path("w", "s"))
                process.stdin.write(b"next\n")
                process.stdin.flush()

    @as_everyone
    def test_more_than_are_kept(self):
        self.python("""
            kept = [socket.socket(socket.AF_UNIX) for _ in range(200)]
            for i, server in enumerate(kept): server.bind("k%d" % i); server.listen()
            for i in range(6000):
                server = socket.socket(socket.AF_UNIX); server.bind("s"); server.listen(); server.close(); os.unlink("s")
            for i in range(200): client = socket.socket(socket.AF_UNIX); client.connect("k%d" % i)
        """, policy(self.a))

    @as_everyone
    def test_allowed_in_the_workspace(self):
        """An allowed one keeps its name, so that no other can take it; the server may start again."""
        server = self.serve(self.path("w", "ok.s"), "A")
        self.serve(self.path("w", "no.s"), "B")
        process = self.popen("python3", "-c", """if True:
            import os, socket, sys; sys.path.insert(0, %r)
            from unix_client import ask
            assert ask("ok.s") == "A" and ask("no.s") == "EACCES"
            for act in (lambda: os.rename("no.s", "ok.s"), lambda: os.unlink("ok.s"), lambda: os.rename("ok.s", "x.s")):
                try: act(); assert False
                except OSError as error: assert error.errno in (16, 30, 18), error
            print("ready", flush=True); sys.stdin.readline()
            answers = set()
            for i in range(100): answers.add(ask("ok.s"))
            print(answers)""" % PUBLIC, policy=policy("ok.s"), stdin=subprocess.PIPE)
        self.assertEqual(b"ready\n", process.stdout.readline())
        server.kill()
        server.wait()
        os.unlink(self.path("w", "ok.s"))
        self.serve(self.path("w", "ok.s"), "A")
        until(lambda: False, 0.5)
        out, err = process.communicate(b"go\n", timeout=30)
        self.assertEqual(b"{'A'}\n", out, err)


class Races(Sockets):
    def race(self, what, good, bad, policy):
        got = self.run_srt(["python3", CLIENT, what, RACES, good, bad], policy, timeout=1500 if LONG else 280)
        self.assertEqual(0, got.code, got)
        return ast.literal_eval(got.out)

    @as_everyone
    def test_address_rewritten(self):
        self.both()
        got = self.race("address", self.a, self.b, policy(self.a))
        self.assertEqual({"granted": True, "refused": True, "wrong": 0}, got)

    @as_everyone
    def test_folders_exchanged(self):
        self.both()
        got = self.race("link", self.a, self.b, policy(self.a))
        self.assertEqual({"granted": True, "refused": True, "wrong": 0}, got)

    @as_everyone
    def test_names_exchanged(self):
        self.serve(self.path("w", "host.s"), "B")
        got = self.race("name", "-", "host.s", policy(self.a))
        self.assertEqual({"granted": True, "refused": True, "wrong": 0}, got)

    @as_everyone
    def test_descriptor_exchanged(self):
        self.both()
        got = self.race("number", self.a, "-", policy(self.a))
        self.assertIn("ok", got)
        self.assertLessEqual(set(got), {"ok", "EISCONN", "EBADF", "ENOTSOCK", "EAFNOSUPPORT"})


class Agent(Sockets):
    def agent_of(self, process):
        return until(lambda: agents(process.pid))[0]

    @as_everyone
    def test_killed(self):
        self.both()
        process = self.popen("python3", "-c", """if True:
            import os, socket, sys; sys.path.insert(0, %r)
            from unix_client import ask
            print(ask(%r), flush=True); sys.stdin.readline(); print(ask(%r))
            try: socket.create_connection(("127.0.0.1", 1)); assert False
            except OSError as error: print(error.errno)""" % (PUBLIC, self.a, self.a), policy=policy(self.a),
                             stdin=subprocess.PIPE)
        self.assertEqual(b"A\n", process.stdout.readline())
        os.kill(self.agent_of(process), signal.SIGKILL)
        until(lambda: not agents(process.pid))
        self.assertEqual(b"ENOSYS\n38\n", process.communicate(b"go\n", timeout=30)[0])

    @as_everyone
    def test_killed_while_somebody_waits(self):
        self.serve(self.a, "A", "0", "deaf")
        process = self.popen("python3", "-c", """if True:
            import sys; sys.path.insert(0, %r)
            from unix_client import ask, waiting
            kept = waiting(%r, 10); print("full", flush=True); print(ask(%r))""" % (PUBLIC, self.a, self.a),
                             policy=policy(self.a))
        self.assertEqual(b"full\n", process.stdout.readline())
        self.assertTrue(until(lambda: len(agents(process.pid)) == 2))
        os.kill(agents(process.pid)[0], signal.SIGKILL)
        self.assertEqual(b"ENOSYS\n", process.communicate(timeout=30)[0])

    @as_everyone
    def test_full_queue(self):
        """Who waits for a server keeps nobody from another one."""
        self.serve(self.a, "A", "0", "deaf")
        self.serve(self.b, "B")
        self.python("""
            kept = waiting(A, 10)
            client = socket.socket(socket.AF_UNIX); client.setblocking(False)
            try: client.connect(A); assert False
            except BlockingIOError: pass
            client = socket.socket(socket.AF_UNIX); start = time.monotonic()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, (0).to_bytes(8, "little") + (300000).to_bytes(8, "little"))
            try: client.connect(A); assert False
            except BlockingIOError: assert 0.25 < time.monotonic() - start < 5
            for _ in range(20): threading.Thread(target=ask, args=(A,), daemon=True).start()
            time.sleep(0.2); start = time.monotonic()
            for _ in range(100): assert ask(B) == "B"
            assert time.monotonic() - start < 20
            # A signal ends the waiting, and the socket is as good as before.
            import signal
            def late(*_): raise TimeoutError
            signal.signal(signal.SIGALRM, late); signal.setitimer(signal.ITIMER_REAL, 0.3)
            client = socket.socket(socket.AF_UNIX)
            try: client.connect(A); assert False
            except TimeoutError: pass
            client.connect(B); assert client.recv(1) == b"B"
            os._exit(0)
        """, policy(self.a, self.b))

    @as_everyone
    def test_waiting_ends_well(self):
        """Who waited is served in time, or goes with its process."""
        self.python("""
            server = socket.socket(socket.AF_UNIX); server.bind("s"); server.listen(0)
            kept = waiting("s", 10); answers = []
            threads = [threading.Thread(target=lambda: answers.append(ask("s"))) for _ in range(20)]
            [t.start() for t in threads]
            time.sleep(0.2); assert not answers
            for _ in range(len(kept) + 20): server.accept()[0].sendall(b"x")
            [t.join() for t in threads]; assert answers == ["x"] * 20, answers
            kept = waiting("s", 10); pids = []
            for _ in range(20):
                pid = os.fork()
                if not pid: ask("s"); os._exit(0)
                pids.append(pid)
            time.sleep(0.2)
            for pid in pids: os.kill(pid, 9); os.waitpid(pid, 0)
            def workers(): return sum("srt-lua-guard" in open("/proc/%s/comm" % n).read() for n in os.listdir("/proc") if n.isdigit())
            end = time.monotonic() + 10
            while workers() > 1 and time.monotonic() < end:
                try: ask("none")
                except OSError: pass
            assert workers() == 1, workers()
        """, policy(self.a))

    @as_everyone
    def test_a_thousand_threads(self):
        need_root("the agent lets nobody else look")
        self.both()
        process = self.popen("sh", "-c", "python3 %s many %s 1000; read go" % (CLIENT, self.a), policy=policy(self.a),
                             stdin=subprocess.PIPE)
        agent = self.agent_of(process)
        self.assertTrue(until(lambda: os.path.exists("/proc/%d/fd" % agent)))
        self.assertEqual(b"{'A': 1000}\n", process.stdout.readline())
        self.assertLess(len(os.listdir("/proc/%d/fd" % agent)), 60)
        process.communicate(b"go\n", timeout=30)

    @as_everyone
    def test_no_descriptor_stays(self):
        need_root("the agent lets nobody else look")
        self.both()
        process = self.popen("python3", "-c", """if True:
            import sys; sys.path.insert(0, %r)
            from unix_client import ask
            for path in sys.argv[1:]: ask(path)
            print("some", flush=True); sys.stdin.readline()
            for i in range(500):
                for path in sys.argv[1:]: ask(path)
            print("many", flush=True); sys.stdin.readline()""" % PUBLIC, self.a, self.b, "none", "../h", "/proc/self/cwd/x",
                             "/proc/self/fd/0", "/etc/passwd/x", "@x", policy=policy(self.a), stdin=subprocess.PIPE)
        agent, counts = self.agent_of(process), []
        for word in (b"some\n", b"many\n"):
            self.assertEqual(word, process.stdout.readline())
            counts.append(sorted(os.readlink("/proc/%d/fd/%s" % (agent, fd)) for fd in os.listdir("/proc/%d/fd" % agent)))
            process.stdin.write(b"\n")
            process.stdin.flush()
        # One more or less: the status of a thread that was asked about.
        self.assertLessEqual(abs(len(counts[0]) - len(counts[1])), 1, counts)

    @as_everyone
    def test_callers_that_come_and_go(self):
        """Ids are used again, processes are killed or become other programs while they are served."""
        self.both()
        self.python("""
            for i in range(200):
                pid = os.fork()
                if not pid:
                    threading.Thread(target=lambda: [ask(A) for _ in range(100)], daemon=True).start()
                    if i % 2: time.sleep(0.001); os.execv("/bin/true", ["true"])
                    for _ in range(3): assert ask(B) == "EACCES"
                    os.kill(os.getpid(), 9)
                os.waitpid(pid, 0)
            assert ask(A) == "A" and ask(B) == "EACCES"
        """, policy(self.a))

    @as_everyone
    def test_signals(self):
        self.both()
        self.python("""
            import signal
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); assert ask(A) == "A"
            signal.pthread_sigmask(signal.SIG_UNBLOCK, range(1, 65))
            seen = []
            signal.signal(signal.SIGALRM, lambda *_: seen.append(1)); signal.siginterrupt(signal.SIGALRM, False)
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
            for _ in range(1000): assert ask(A) == "A"
            signal.setitimer(signal.ITIMER_REAL, 0); assert seen
        """, policy(self.a))

    @as_everyone
    def test_callers_that_hide(self):
        self.both()
        self.python("""
            assert LIBC.prctl(4, 0, 0, 0, 0) == 0
            assert ask(A) == "A" and ask(B) == "EACCES" and ask("../h/a.s") == "A"
            # Its folder in /proc is closed to all others, the agent too.
            own = os.open(A, os.O_PATH); assert ask("/proc/self/fd/%d" % own) in ("A", "EACCES")
            server = socket.socket(socket.AF_UNIX); server.bind("hidden"); server.listen()
            client = socket.socket(socket.AF_UNIX); client.connect("hidden")
            def apart():
                assert LIBC.unshare(0x200) == 0 and LIBC.unshare(0x400) == 0    # CLONE_FS, CLONE_FILES
                os.chdir("/"); mine = socket.socket(socket.AF_UNIX)
                mine.connect(A[1:]); assert mine.recv(1) == b"A"
            t = threading.Thread(target=apart); t.start(); t.join()
        """, policy(self.a))


class Around(Sockets):
    """What else connects, and what else there is in a policy."""

    @as_everyone
    def test_other_families(self):
        self.python("""
            server = socket.create_server(("127.0.0.1", 0)); port = server.getsockname()
            client = socket.create_connection(port); assert client.getpeername() == port
            client = socket.socket(); client.setblocking(False)
            assert client.connect_ex(port) in (0, errno.EINPROGRESS)
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.connect(port); udp.connect(("127.0.0.1", 9))
            assert udp.getpeername() == ("127.0.0.1", 9)
            assert raw(udp, (0).to_bytes(2, "little") + bytes(14)) == "ok"    # AF_UNSPEC takes the peer away
            server.close()
            try: socket.create_connection(port); assert False
            except ConnectionRefusedError: pass
            try: socket.create_connection(("192.0.2.1", 80)); assert False
            except OSError as error: assert error.errno == errno.ENETUNREACH, error
            netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); netlink.connect((0, 0))
        """, policy(self.a))

    @as_everyone
    def test_with_the_create_guard(self):
        self.both()
        self.python("""
            try: os.mkdir("no"); assert False
            except OSError as error: assert error.errno == errno.EROFS
            os.mkdir("yes"); assert ask(A) == "A" and ask(B) == "EACCES"
            server = socket.socket(socket.AF_UNIX); server.bind("own"); server.listen()
            socket.socket(socket.AF_UNIX).connect("own")
        """, policy(self.a).replace('{ "." }', '{ "." }, denyWrite = { "no" }, createGuard = "supervisor"'))

    @as_everyone
    def test_policy(self):
        got = self.run_sh("true", policy(self.a, more=", allowNestedUserNamespaces = true"))
        self.assertEqual(125, got.code)
        self.assertIn("allowUnixSockets" if self.user == "user" else "allowNestedUserNamespaces", got.err)
        got = self.run_sh("true", policy(self.a), env={"SRT_LUA_FAKE_MISSING": "seccomp_notify"})
        self.assertEqual(125, got.code)
        self.assertIn("allowUnixSockets", got.err)
        for path, word in (("/run/docker.sock", "root"), ("/tmp/ssh-x/agent.1", "sign"), ("~/.gnupg/S.gpg-agent", "GPG"),
                           ("/tmp/.X11-unix/X0", "X11"), ("/run/user/7/bus", "way out"), ("/tmp/mine.s", None)):
            got = self.run_srt(["check", self.policy(policy(path))], env={"SSH_AUTH_SOCK": None})
            warned = [line for line in got.out.splitlines() if line.startswith("warning") and "exist" not in line]
            self.assertEqual(1 if word else 0, len(warned), got)
            self.assertIn(word or "", "".join(warned))
        got = self.run_srt(["check", self.policy(policy("/tmp/mine.s"))], env={"SSH_AUTH_SOCK": "/tmp/mine.s"})
        self.assertIn("sign with every key", got.out)
        got = self.run_srt(["compile", self.policy(policy(self.a, "/x/*.s"))])
        self.assertIn("unix socket: %s\n" % self.a, got.out)
        self.assertIn("unix socket: /x/*.s, where it is read-only\n", got.out)


class Programs(Sockets):
    def key(self, name):
        """A key of ssh's, made by the test: its user has no entry in any file, which ssh-keygen asks for."""
        path = self.path(name)
        subprocess.run([need("ssh-keygen"), "-qt", "ed25519", "-N", "", "-C", "spec-key", "-f", path], check=True)
        self.own(path, path + ".pub")

    @as_everyone
    def test_ssh_agent(self):
        need("ssh-agent")
        self.key("home/key")
        self.outside("ssh-agent", "-D", "-a", self.a)
        self.assertTrue(until(lambda: os.path.exists(self.a)))
        self.sh("SSH_AUTH_SOCK=%s ssh-add -q ../home/key; rm ../home/key" % self.a)
        got = self.run_sh("ssh-add -l; ssh-add -T ../home/key.pub && echo signs", policy(self.a), env={"SSH_AUTH_SOCK": self.a})
        self.assertIn("spec-key", got.out, got)
        self.assertIn("signs", got.out, got)
        got = self.run_sh("ssh-add -l", policy(self.b), env={"SSH_AUTH_SOCK": self.a})
        self.assertEqual(2, got.code, got)

    @as_everyone
    def test_ssh_agent_inside(self):
        need("ssh-agent")
        self.key("w/k")
        got = self.run_sh("ssh-agent sh -c 'ssh-add -q k; ssh-add -l'", policy(self.b))
        self.assertIn("spec-key", got.out, got)

    @as_everyone
    def test_gpg_agent(self):
        need("gpg-agent")
        home = self.path("home", ".gnupg")
        self.sh("mkdir -m 700 %s; HOME=%s gpg-agent --daemon 2>/dev/null || true" % (home, self.home))
        self.addCleanup(subprocess.run, ["gpg-connect-agent", "--homedir", home, "--no-autostart", "killagent", "/bye"],
                        capture_output=True)
        where = self.sh("HOME=%s gpgconf --list-dirs agent-socket" % self.home).strip()
        self.assertTrue(os.path.exists(where), where)
        for allowed, wanted in ((where, 0), (self.b, 2)):
            got = self.run_sh("gpg-connect-agent --no-autostart 'GETINFO version' /bye", policy(allowed))
            self.assertEqual(wanted == 0, "OK" in got.out, got)
        self.sh("HOME=%s gpg-connect-agent --no-autostart killagent /bye" % self.home)

    @as_everyone
    def test_docker_x11_wayland(self):
        """The sockets that these programs look for, by what they look for it with."""
        need("curl")
        sockets = {name: self.path("h", name) for name in ("docker.sock", "X0", "wayland-0")}
        for name, path in sockets.items():
            docker = ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "listens")
            self.serve(path, *(docker if name == "docker.sock" else (name,)))
        got = self.run_sh("curl -sS --unix-socket ${DOCKER_HOST#unix://} http://docker/_ping",
                          policy(sockets["docker.sock"]), env={"DOCKER_HOST": "unix://" + sockets["docker.sock"]})
        self.assertIn("hi", got.out, got)
        # As libxcb: the abstract name first, then the path. As libwayland: below XDG_RUNTIME_DIR.
        self.serve("@" + sockets["X0"], "ABSTRACT")
        got = self.ask("@" + sockets["X0"], sockets["X0"], sockets["wayland-0"],
                       policy=policy(sockets["X0"], self.path("h", "wayland-*")))
        self.assertEqual(["ECONNREFUSED", "X0", "wayland-0"], got)

    @as_only("user")
    def test_in_a_sandbox(self):
        """One of ours in one of ours, which has no openat2."""
        self.both()
        inner = self.write("inner.lua", "return " + policy(self.a))
        got = self.run_sh("%s run %s -- python3 %s ask %s %s" % (BINARY, inner, CLIENT, self.a, self.b),
                          '{ filesystem = { allowWrite = { "." } }, allowNestedUserNamespaces = true, '
                          'network = { allowAllUnixSockets = true } }')
        self.assertEqual("%s: A\n%s: EACCES\n" % (self.a, self.b), got.out, got)


if __name__ == "__main__":
    main()
