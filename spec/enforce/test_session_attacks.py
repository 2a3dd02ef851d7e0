# SPDX-License-Identifier: Apache-2.0
"""Whom a session and its exec take for theirs, and what clients that lie, greedy commands and kills come to."""
import fcntl
import json
import os
import signal
import socket
import time

from lib import BINARY, as_only, main
from restrict import ALLOW, GIVE, install
from sessions import POLICY, Sessions

# Tries to be heard; and has others believe that it is a session.
INTRUDER = """import socket
s = socket.socket(socket.AF_UNIX)
s.connect('own.sock')
try:
    s.sendall(b'{"op":"status"}\\n')
    print(s.recv(9))
except (ConnectionResetError, BrokenPipeError):
    print(b'')
s = socket.socket(socket.AF_UNIX)
s.bind('false.sock')
s.listen()
print('up', flush=True)
print(s.accept()[0].recv(99))
"""
GREEDY = """import os, socket, time
host, port = os.environ['http_proxy'].split('//')[1].rstrip('/').split('@')[-1].rsplit(':', 1)
kept = [socket.create_connection((host, int(port))) for _ in range(300)]
print('up', flush=True)
time.sleep(60)
"""


class Attacks(Sessions):
    @as_only("root")
    def test_nobody_in_a_sandbox(self):
        self.session(POLICY % (self.path("none"), ""), "--socket", "own.sock")
        self.write("w/intruder.py", INTRUDER)
        for backend in ("landlock", "namespaces"):
            inside = self.start(["python3", "intruder.py"], '{ backend = "%s", filesystem = { allowWrite = { "." } }, '
                                'network = { allowAllUnixSockets = true } }' % backend)
            self.assertEqual([b"b''\n", b"up\n"], [inside.stdout.readline() for _ in range(2)], backend)
            done = self.exec("true", name=self.path("w/false.sock"))
            self.assertEqual(125, done.code, repr(done))
            self.assertIn("is in a sandbox", done.err)
            self.assertEqual(b"b''\n", inside.communicate(timeout=20)[0])
            os.unlink(self.path("w/false.sock"))
        # There it is the agent that connects, outside of all but its own filter.
        inside = self.run_srt(["python3", "-c", INTRUDER[:INTRUDER.rindex("s = socket")]], '{ backend = "landlock", '
                              'network = { allowUnixSockets = { "." } } }')
        self.assertEqual("b''\n", inside.out, repr(inside))
        # Whoever is under a filter more may be in one, too: exec is told why.
        done = self.exec("true", name=self.path("w/own.sock"), preexec=lambda: install([(GIVE, 0, 0, ALLOW)]))
        self.assertEqual(125, done.code, repr(done))
        self.assertIn("under more filters of system calls", done.err)

    @as_only("user")
    def test_what_is_left(self):
        killed = self.session(POLICY % (self.path("none"), ""))
        left = self.socket
        killed.kill()
        killed.wait()
        process = self.session(POLICY % (self.path("none"), ""))
        self.assertEqual([False, True], [os.path.exists(path) for path in (left, self.socket)])
        # Nobody can have us wait for a lock of theirs, without an end.
        held = os.open(self.w, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        done = self.run_srt(["session", self.path("policy.lua"), "--socket", "own.sock"])
        os.close(held)
        self.assertEqual(125, done.code)
        self.assertIn("can't listen at ", done.err)
        self.end(process)

    @as_only("root")
    def test_liars(self):
        process = self.session(POLICY % (self.path("none"), ""))
        say = self.line()
        # An answer of any size, and more of them than anybody will read.
        self.assertEqual(9 << 20, len(say(op="annotate", id="x", stderr="y" * (9 << 20))["stderr"]))
        with socket.socket(socket.AF_UNIX) as deaf:
            deaf.connect(self.socket)
            began = time.monotonic()
            try:
                for _ in range(8):
                    deaf.sendall(b"\n" * 65536)
            except (BrokenPipeError, ConnectionResetError):
                pass
            self.assertTrue(say(op="status")["ok"])
            self.assertLess(time.monotonic() - began, 20)
        # Listeners that are none, and more than there are.
        request = self.request()
        for which, fds in (([1, 1], 2), ([99999], 1), (["a"], 1), ([1.5], 1), ([1, 2], 2)):
            with socket.socket(socket.AF_UNIX) as liar, open("/dev/null") as null:
                liar.connect(self.socket)
                socket.send_fds(liar, [b'{"op":"join"}\n'], [request])
                answer, plans, _, _ = socket.recv_fds(liar, 99, 16)
                self.assertEqual(b'{"ok":true}\n', answer)
                for fd in plans:
                    os.close(fd)
                socket.send_fds(liar, [json.dumps({"op": "listeners", "which": which, "pid": 1, "last": True}).encode()
                                       + b"\n"], [null.fileno()] * fds)
                self.assertEqual(b"", liar.recv(9))
        # It says that it redirects, before anybody has asked it to.
        with socket.socket(socket.AF_UNIX) as liar:
            liar.connect(self.socket)
            socket.send_fds(liar, [b'{"op":"join"}\n{"op":"led","error":0}\n{"op":"led","error":-9}\n'], [request])
            liar.recv(99)
        os.close(request)
        self.assertTrue(say(op="status")["ok"])
        # Lists that are forgotten do not make a command's network wider.
        made = say(op="wrap", command="true", id="L", deniedDomains=["127.0.0.2"])
        self.assertTrue(say(op="reset")["ok"])
        done = self.run_srt(made["argv"][1:])
        self.assertEqual(125, done.code)
        self.assertIn("the lists of hosts of L are forgotten", done.err)
        process.send_signal(signal.SIGINT)
        self.assertEqual(0, process.wait(20))

    def request(self):
        """What exec asks a session for, in a file in memory."""
        path = self.path("catch.sock")
        with socket.socket(socket.AF_UNIX) as catch:
            catch.bind(path)
            catch.listen()
            asking = self.start(["exec", "--session", path, "--", "true"])
            with catch.accept()[0] as client:
                fds = socket.recv_fds(client, 99, 16)[1]
                client.sendall(b'{"ok":false,"error":"no"}\n')
            asking.communicate(timeout=20)
        return fds[0]

    @as_only("root")
    def test_shares(self):
        process = self.outside("sh", "-c", "ulimit -n 1024; exec \"$0\" session \"$1\"", BINARY,
                               self.policy(POLICY % (self.path("none"), "")))
        self.socket = process.stdout.readline().decode().strip().partition(": ")[2]
        self.write("w/greedy.py", GREEDY)
        greedy = [self.start(["exec", "--session", self.socket, "--", "python3", "greedy.py"]) for _ in range(4)]
        for one in greedy:
            self.assertEqual(b"up\n", one.stdout.readline())
        done = self.exec("curl -sS -m 20 -o /dev/null -w '%{http_code}' http://127.0.0.20/")
        self.assertEqual((0, "403"), (done.code, done.out), repr(done))
        for one in greedy:
            one.kill()
            one.communicate(timeout=20)
        self.end(process)


if __name__ == "__main__":
    main()
