# SPDX-License-Identifier: Apache-2.0
"""Policies that change while their command runs: what is in force at once, what stays, and what is refused."""
import json
import os
import re
import socket
import subprocess

from echo import Echo
from lib import BINARY, as_everyone, main
from running import Running
from server import ADDRESS, Origin

# Inside: does what each line of its input says, and answers in a line.
CLIENT = r"""
import os, socket, sys, threading
tunnels = {}
def proxied(head):
    s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(20)
    s.sendall(head.encode())
    return s, s.recv(65536)
def get(target):
    s, got = proxied("GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (target, target))
    return got.split(b" ")[1].decode()
def do(word, *rest):
    if word == "get":
        return get(*rest)
    if word == "tunnel":
        tunnels[rest[0]], got = proxied("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (rest[1], rest[1]))
        return got.split(b" ")[1].decode()
    if word == "say":
        try:
            tunnels[rest[0]].sendall(b"x")
            return tunnels[rest[0]].recv(10).decode() or "ended"
        except OSError as error:
            return type(error).__name__
    if word == "later":
        threading.Thread(target=lambda: print("later", get(*rest), flush=True)).start()
        return "begun"
    if word == "open":
        try:
            open(rest[0], "w").close()
            return "written"
        except OSError as error:
            return error.strerror
    if word == "fds":
        return ",".join(sorted(os.listdir("/proc/self/fd"), key=int)[:-1])
for line in sys.stdin:
    print(do(*line.split()), flush=True)
"""


def settings(allowed, denied=(), write=(".",), **more):
    return {"network": {"allowedDomains": list(allowed), "deniedDomains": list(denied)},
            "filesystem": {"denyRead": [], "allowWrite": list(write), "denyWrite": []}, **more}


class Live(Running):
    def begin(self, *words, keep=(), name="srt-lua"):
        if not os.path.exists(self.path(name)):
            os.symlink(BINARY, self.path(name))
        client = self.write("client.py", CLIENT)
        self.process = self._kept(subprocess.Popen(
            self.as_user([self.path(name), *words, "/usr/bin/python3", client]), cwd=self.w, env=self.environment(),
            pass_fds=keep, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE))

    def tell(self, *words):
        self.process.stdin.write(" ".join(words).encode() + b"\n")
        self.process.stdin.flush()

    def line(self):
        return self.process.stdout.readline().decode().strip()

    def inside(self, *words):
        self.tell(*words)
        return self.line()

    def told(self, pattern):
        """Reads standard error up to a line; all that was read."""
        lines = []
        for line in self.process.stderr:
            lines.append(line.decode())
            if re.search(pattern, lines[-1]):
                return "".join(lines)
        self.fail("not told: %s in\n%s" % (pattern, "".join(lines)))

    def end(self):
        self.process.stdin.close()
        rest = self.process.stderr.read().decode()
        return self.process.wait(60), rest

    IN_FORCE = "a new policy is in force"

    @as_everyone
    def test_control_fd(self):
        first = self.write("first.json", json.dumps(settings([])))
        reading, writing = os.pipe()
        with Origin() as origin, Echo(ADDRESS) as echo, Echo(ADDRESS) as other:
            web = "%s:%d" % (ADDRESS, origin.port)
            one, two = "%s:%d" % (ADDRESS, echo.port), "%s:%d" % (ADDRESS, other.port)
            self.begin("-d", "-s", first, "--control-fd", str(reading), "--", keep=[reading], name="srt")

            def send(value, expected):
                text = value if isinstance(value, bytes) else json.dumps(value).encode()
                os.write(writing, text + b"\n")
                return self.told(expected)
            self.assertEqual("0,1,2", self.inside("fds"), "the command has the channel")
            self.assertEqual("403", self.inside("get", web))
            send(settings([web, one, two]), self.IN_FORCE)
            self.assertEqual("200", self.inside("get", web))
            self.assertEqual("200", self.inside("tunnel", "a", one))
            self.assertEqual("200", self.inside("tunnel", "b", two))
            self.assertEqual(["x", "x"], [self.inside("say", "a"), self.inside("say", "b")])
            # Bad lines say so, and change nothing; nothing of them is shown as it is.
            for bad, why in ((b"{bad", "not valid JSON"), (b"{}", "network, filesystem"), (b"[]", "no JSON object"),
                             (json.dumps(settings([5])).encode(), r"allowedDomains\[1\]"),
                             (json.dumps(settings(["\u001b[31mx"])).encode(), "allowedDomains"), (b"\xff\xfe", "UTF-8")):
                got = send(bad, why)
                self.assertIn("invalid config: ignored, the policy before it is still in force", got)
                self.assertNotIn("\x1b[31m", got)
            os.write(writing, b"\n  \n")
            self.assertEqual(["200", "x"], [self.inside("get", web), self.inside("say", "a")])
            # Now denied: no new one, and the open one is cut. Those to other hosts stay.
            got = send(settings([web, one, two], [one], [".", self.tmp]), self.IN_FORCE)
            self.assertRegex(got, "these hold as they were when the command started: filesystem")
            self.assertIn("1 connections were cut", got)
            self.assertIn(self.inside("say", "a"), ("ConnectionResetError", "BrokenPipeError", "ended"))
            self.assertEqual("403", self.inside("tunnel", "a", one))
            self.assertEqual("x", self.inside("say", "b"))
            # The filesystem holds as it was.
            self.assertEqual("Read-only file system", self.inside("open", self.tmp + "/x"))
            self.assertEqual("written", self.inside("open", "here"))
            # A kept connection is not used again where its address is listed now.
            guarded = settings([web.replace(ADDRESS, "localhost"), web])
            send(guarded, self.IN_FORCE)
            self.assertEqual("200", self.inside("get", web))
            # The end of input is no error; a line without a newline is one.
            os.write(writing, json.dumps(settings([])).encode())
            os.close(writing)
            os.close(reading)
            self.told(self.IN_FORCE)
            self.assertEqual("403", self.inside("get", web))
            self.assertEqual(0, self.end()[0])

    @as_everyone
    def test_channels_that_cannot_be(self):
        file, folder = os.open(os.devnull, os.O_WRONLY), os.open(self.w, os.O_RDONLY)
        good, other = os.pipe()
        policy = self.policy("{}")
        for fd, words, why in ((2, (), "from 3 up"), ("x", (), "from 3 up"), (999, (), "not open"),
                               (file, (), "can't be read"), (folder, (), "directory"),
                               (good, ("--keep-fd", str(good)), "--keep-fd")):
            got = self.run_srt(["run", "--control-fd", str(fd), *words, policy, "--", "touch", "ran"],
                               pass_fds=[file, folder, good])
            self.assertEqual(125, got.code, got)
            self.assertIn(why, got.err)
        # What the command could write itself: through the other end of its pipe, or by a name.
        self.sh("mkfifo ctl; mkfifo ../two; ln ../two ../three; echo >plain")
        opened = [os.open(self.path(name), os.O_RDWR) for name in ("w/ctl", "two", "w/plain")]
        for fd, words, more, why in ((good, (), {"stdin": good}, "same pipe as standard input"),
                                     (good, (), {"stdout": other}, "same pipe as standard output"),
                                     (good, ("--keep-fd", str(other)), {}, "same pipe as descriptor %d" % other),
                                     (opened[0], (), {}, "w/ctl can't be protected"),
                                     (opened[1], (), {}, "more names than one"),
                                     (opened[2], (), {}, "w/plain can't be protected")):
            got = self.run_srt(["run", "--control-fd", str(fd), *words, self.policy('{ filesystem = { allowWrite = { "." } } }'),
                                "--", "touch", "ran"], pass_fds=[good, other, *opened], **more)
            self.assertEqual(125, got.code, got)
            self.assertIn(why, got.err)
        self.assertFalse(os.path.exists(self.path("w/ran")))
        for fd in (file, folder, good, other, *opened):
            os.close(fd)

    @as_everyone
    def test_a_channel_that_dies(self):
        """Before an update it takes the command with it; after one it does not."""
        policy = self.policy("{}")
        for updated in (False, True):
            ours, theirs = socket.socketpair()
            theirs.send(b"never read, so that its end is a reset")
            if updated:
                ours.send(json.dumps(settings([])).encode() + b"\n")
            self.begin("run", policy, "--debug", "--control-fd", str(theirs.fileno()), "--", keep=[theirs.fileno()])
            theirs.close()
            self.assertEqual("0,1,2", self.inside("fds"))
            if updated:
                self.told(self.IN_FORCE)
            ours.close()
            got = self.told("control fd .*(reset|ended)")
            if updated:
                self.assertIn("goes on under the settings applied last", got)
                self.assertEqual("0,1,2", self.inside("fds"))
                self.assertEqual(0, self.end()[0])
            else:
                self.assertEqual(143, self.process.wait(30), got)

    @as_everyone
    def test_watch(self):
        with Origin() as origin:
            web = "%s:%d" % (ADDRESS, origin.port)
            slow = 'return { allowedDomains = { "%s" }, filterRequest = function() ' \
                'srt.log.warn("it waits") srt.sleep(%%s) return true end }' % web
            self.write("p/lib.lua", slow % 0.5)
            policy = self.write("p/policy.lua", 'return { network = require "lib", filesystem = { allowWrite = { srt.cwd } } }')
            self.begin("run", policy, "--watch", "--debug", "--")

            def put(name, text):
                """As editors do: a new file takes the place of the old one."""
                os.rename(self.write("p/new", text), self.path("p", name))
            self.assertEqual("begun", self.inside("later", web))
            self.told("it waits")
            # What is waiting ends by the old policy, in its box, but the new lists have the last word.
            put("lib.lua", 'return { allowedDomains = { "%s" }, filterRequest = function() return false end }' % web)
            self.told(self.IN_FORCE)
            self.assertEqual("403", self.inside("get", web))
            self.assertEqual("later 200", self.line())
            put("lib.lua", slow % 0.5)
            self.told(self.IN_FORCE)
            self.assertEqual("begun", self.inside("later", web))
            self.told("it waits")
            put("lib.lua", 'return { deniedDomains = { "*" }, allowedDomains = { "%s" } }' % web)
            self.told(self.IN_FORCE)
            self.assertEqual("later 403", self.line())
            # Broken in each way: the policy before it stays.
            for name, text, why in (("lib.lua", "return {", "expected"), ("policy.lua", "return 5", "must return a table"),
                                    ("policy.lua", "return { network = { allowedDomain = {} } }", "did you mean"),
                                    ("policy.lua", 'return require "fresh"', "fresh")):
                put(name, text)
                self.assertIn("ignored, the policy before it is still in force", self.told(why))
                self.assertEqual("403", self.inside("get", web))
            # What a broken one asked for is waited for as well; the rest is told.
            put("fresh.lua", 'return { network = { allowedDomains = { "%s" } }, env = { set = { A = "b" } } }' % web)
            got = self.told(self.IN_FORCE)
            self.assertRegex(got, "as they were when the command started: filesystem.*env")
            self.assertEqual("200", self.inside("get", web))
            # What the command could change is no policy.
            self.write("w/mine.lua", 'return { network = { allowedDomains = {} } }')
            put("policy.lua", 'package = nil local text = srt.read(srt.cwd .. "/mine.lua") return { network = {} }')
            self.assertIn("the command may write in %s" % self.w, self.told("could replace it"))
            self.assertEqual("200", self.inside("get", web))
            self.assertEqual(0, self.end()[0])

    @as_everyone
    def test_a_policy_that_cannot_be_watched(self):
        """Where the command may write, it could take the policy's place in the moment in which an editor replaces it."""
        policy = self.write("w/policy.lua", "return { filesystem = { allowWrite = { srt.cwd } } }")
        for _ in range(10):
            got = self.run_srt(["run", policy, "--watch", "--", "touch", "ran"])
            self.assertEqual(125, got.code, got)
            self.assertIn("the command may write in %s" % self.w, got.err)
            self.assertFalse(os.path.exists(self.path("w/ran")), "it ran before all was there")


if __name__ == "__main__":
    main()
