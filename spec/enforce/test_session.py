# SPDX-License-Identifier: Apache-2.0
"""srt-lua session and exec: who joins, what they may do, whom a session hears, and what is left when it dies."""
import json
import os
import signal
import socket
import subprocess

from lib import as_everyone, drops, main
from running import until
from server import Origin
from sessions import POLICY, Sessions

GET = "get() { for u; do curl -sS -m 20 -o /dev/null -w '%{http_code} ' $u; done; }; get"


class Session(Sessions):
    @as_everyone
    def test_commands_join(self):
        secret = self.write("secret", "s")
        process = self.session(POLICY % (secret, ""), "--name", "one")
        with Origin() as origin:
            done = self.exec("cat >in; echo out; echo err >&2; getent ahostsv4 ok.test | head -n1 | cut -d. -f1,2; "
                             "%s %s; exit 7" % (GET, origin.url), name="one",
                             stdin=b"text")
            self.assertEqual((7, "out\n198.18\n200 ", "err\n"), (done.code, done.out, done.err), repr(done))
            self.assertEqual("text", self.read("w/in"))
            # A file that came to be after the session began is protected as in a run of its own.
            self.write("w/.bashrc", "old")
            done = self.exec("cat %s; echo x >>.bashrc; touch /etc/srt-x; kill -TERM $$" % secret, name="one")
            self.assertEqual(128 + signal.SIGTERM, done.code, repr(done))
            self.assertEqual("old", self.read("w/.bashrc"))
            self.assertIn("secret: Permission denied", done.err)
            self.assertIn("denied: ", done.err)
            # At once, and each is told of its own.
            running = [self.start(["exec", "--session", "one", "--id", "P%d" % i, "--annotate", "-c",
                                   "%s http://127.0.0.%d/; echo %d" % (GET, 20 + i, i)]) for i in range(8)]
            for i, one in enumerate(running):
                out, err = one.communicate(timeout=60)
                self.assertEqual((0, b"403 %d\n" % i), (one.returncode, out), err)
                self.assertIn(b"<sandbox_violations>\ndeny network-outbound 127.0.0.%d:80" % (20 + i), err)
                self.assertEqual(1, err.count(b"deny "))
            say = self.line()
            found = say(op="violations", id="P3")["violations"]
            self.assertEqual([("connect", "127.0.0.23:80", "P3")], [(v["kind"], v["target"], v["commandId"]) for v in found])
            self.assertIn("\n<sandbox_violations>\ndeny network-outbound 127.0.0.25:80",
                          say(op="annotate", id="P5", stderr="e")["stderr"])
            self.assertEqual("none", say(op="annotate", id="P9", stderr="none")["stderr"])
            self.assertEqual(127, self.run_srt(["exec", "--session", "one", "--", "srt-no-such"]).code)
        self.assertEqual([], [name for name in self.leftovers() if not name.startswith("srt-lua-")] + [
            name for name in self.leftovers() if name.endswith(".run")])
        other = self.run_srt(["session", self.path("policy.lua"), "--name", "one"])
        self.assertEqual(125, other.code)
        self.assertIn("there is a session at ", other.err)
        self.assertEqual("", self.end(process))
        done = self.exec("true", name="one")
        self.assertEqual((125, "srt-lua: there is no session \"one\"; srt-lua session starts one\n"), (done.code, done.err))

    @as_everyone
    def test_wrap_and_update(self):
        process = self.session(POLICY % (self.path("none"), ""))
        say = self.line()
        with Origin() as origin:
            more = ["127.0.0.8", "127.0.0.9"]
            made = say(op="wrap", command="%s http://127.0.0.8:%d http://127.0.0.9:%d %s; echo \"$0 it's\"" % (
                GET, origin.port, origin.port, origin.url), id="W", text="as it was asked", seq=4,
                allowedDomains=more, deniedDomains=["127.0.0.2:%d" % origin.port])
            self.assertEqual((True, "W", 4), (made["ok"], made["id"], made["seq"]))
            # What the policy denies stays so, and a command's own list denies too. The first is allowed, but as in srt
            # an address of a command's list opens no loopback.
            for command in (made["argv"], ["sh", "-c", made["shell"]]):
                done = self.on_host(command, timeout=60)
                self.assertEqual(b"403 403 403 /bin/sh it's\n", done.stdout, done)
            found = say(op="violations", id="W", text="as it was asked")["violations"]
            self.assertEqual({("address", 8), ("connect", 9), ("connect", 2)},
                             {(v["kind"], int(v["target"].partition(":")[0][-1])) for v in found})
            # Without it, the policy's lists alone.
            self.assertEqual("403 200 ", self.exec("%s http://127.0.0.8 %s" % (GET, origin.url)).out)
            running = self.start(["exec", "--session", self.socket, "-c",
                                  "echo; read x; %s %s" % (GET, origin.url)], stdin=subprocess.PIPE)
            running.stdout.readline()
            self.assertEqual(1, len(say(op="status")["commands"]))
            answer = say(op="update", settings={"network": {"allowedDomains": ["127.0.0.8"], "deniedDomains": []},
                                                "filesystem": {"allowWrite": [], "denyRead": [], "denyWrite": []}})
            self.assertEqual((True, 1, ["filesystem"]), (answer["ok"], answer["commands"], answer["held"]))
            self.assertEqual(b"403 ", running.communicate(b"\n", 60)[0])
            self.assertEqual("502 403 ", self.exec("echo x >new; %s http://127.0.0.8:%d %s" % (
                GET, origin.port, origin.url)).out)
            self.assertFalse(os.path.exists(self.path("w/new")))
            answer = say(op="update", settings={"network": {"allowedDomains": ["a b"]}})
            self.assertIn("still in force: ", answer["error"])
            self.assertEqual("502 ", self.exec("%s http://127.0.0.8:%d" % (GET, origin.port)).out)
        # A broken file, by its path.
        answer = say(op="update", file=self.write("broken.lua", "return {"))
        self.assertIn("broken.lua", answer["error"])
        self.assertTrue(say(op="close")["ok"])
        self.assertEqual(0, process.wait(20))

    @as_everyone
    def test_whom_it_hears(self):
        process = self.session(POLICY % (self.path("none"), ", allowAllUnixSockets = true"), "--socket", "own.sock")
        self.assertEqual(self.path("w/own.sock"), self.socket)
        self.assertEqual(0o600, os.stat(self.socket).st_mode & 0o777)
        # From inside neither the session's socket nor its folder's are there to be connected to.
        done = self.exec("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"own.sock\")'")
        self.assertIn("PermissionError", done.err, repr(done))
        # Nor does another run reach it: what comes out of a sandbox is not heard, though it may connect.
        done = self.run_srt(["python3", "-c", "import socket; s = socket.socket(socket.AF_UNIX); s.connect('own.sock')\n"
                             "try:\n s.sendall(b'{\"op\":\"status\"}\\n'); print(s.recv(9))\n"
                             "except (ConnectionResetError, BrokenPipeError): print(b'')"],
                            "{ network = { allowAllUnixSockets = true } }")
        self.assertEqual("b''\n", done.out, repr(done))
        if drops(self.user):
            with socket.socket(socket.AF_UNIX) as other:
                other.connect(self.socket)
                try:
                    other.sendall(b'{"op":"status"}\n')
                    self.assertEqual(b"", other.recv(9))
                except (ConnectionResetError, BrokenPipeError):
                    pass
        say = self.line()
        for bad in (b"\n", b"[]\n", b"{\n", b"\xff\n", b'{"op":1}\n', b'{"op":"no"}\n', b'{"op":"wrap"}\n',
                    b'{"op":"wrap","command":[]}\n', b'{"op":"wrap","command":["a\\u0000"]}\n', b'{"op":"join"}\n',
                    b'{"op":"wrap","command":"x","allowedDomains":["a b"]}\n', b'{"op":"wrap","command":"x","id":""}\n',
                    b'{"op":"annotate"}\n', b'{"op":"update"}\n'.replace(b"}", b',"settings":[]}')):
            answer = say.raw(bad)
            self.assertEqual((False, str), (answer["ok"], type(answer["error"])), bad)
        answer = say.raw(b'{"op":"status","x":"' + b"x" * (16 << 20) + b'"}\n')
        self.assertEqual("a line is longer than 16777216 bytes", answer["error"])
        self.assertTrue(say(op="status")["ok"])
        if os.geteuid() == 0 and self.user == "root":
            self.hold_out(process, say)
        process.kill()
        process.wait()
        # The socket of one that was killed is taken over.
        self.end(self.session(POLICY % (self.path("none"), ""), "--socket", "own.sock"), signal.SIGTERM)
        self.assertIn("can't be reached", self.exec("true").err)

    def hold_out(self, process, say):
        """Who never reads is let go; others are answered meanwhile. Descriptors that nobody asked for are closed."""
        def count():
            """Without what is there only while it waits, or is closed meanwhile."""
            number, folder = 0, "/proc/%d/fd/" % process.pid
            for name in os.listdir(folder):
                try:
                    number += "signalfd" not in os.readlink(folder + name)
                except FileNotFoundError:
                    pass
            return number
        before = count()
        with socket.socket(socket.AF_UNIX) as deaf, self.assertRaises((BrokenPipeError, ConnectionResetError)):
            deaf.connect(self.socket)
            for _ in range(40):
                deaf.sendall(json.dumps({"op": "annotate", "id": "x", "stderr": "y" * (1 << 20)}).encode() + b"\n")
        self.assertTrue(say(op="status")["ok"])
        with socket.socket(socket.AF_UNIX) as giver:
            giver.connect(self.socket)
            for _ in range(10):
                socket.send_fds(giver, [b'{"op":"status"}\n'], [0] * 16)
                self.assertTrue(json.loads(giver.recv(9999))["ok"])
        self.assertTrue(until(lambda: count() <= before))

    @as_everyone
    def test_the_session_dies(self):
        process = self.session(POLICY % (self.path("none"), ""))
        with Origin() as origin:
            running = self.start(["exec", "--session", self.socket, "-c", "%s %s; echo; read x; %s %s || echo $?; exit 5"
                                  % (GET, origin.url, GET, origin.url)], stdin=subprocess.PIPE)
            self.assertEqual(b"200 \n", running.stdout.readline())
            process.kill()
            process.wait()
            out, err = running.communicate(b"\n", 60)
            # Refused by the proxy that is gone: curl's 7.
            self.assertEqual((5, b"000 7\n"), (running.returncode, out), err)
            self.assertIn(b"the session has ended before the command", err)
            self.assertEqual(1, len(origin.seen))
        # And the other way: with its caller's death a command's are gone, and the session knows.
        process = self.session(POLICY % (self.path("none"), ""))
        running = self.start(["exec", "--session", self.socket, "-c", "echo; sleep 60"])
        running.stdout.readline()
        say = self.line()
        self.assertEqual(1, len(say(op="status")["commands"]))
        running.kill()
        running.communicate(timeout=20)
        self.assertTrue(until(lambda: say(op="status")["commands"] == []))
        self.end(process)


if __name__ == "__main__":
    main()
