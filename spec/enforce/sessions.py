# SPDX-License-Identifier: Apache-2.0
"""srt-lua session and exec in tests: start one, talk to it, join it."""
import json
import os
import shutil
import signal
import subprocess

from lib import PATH
from running import Running

POLICY = """{ filesystem = { allowWrite = { "." }, denyRead = { "%s" } },
  network = { allowedDomains = { "127.0.0.2", "ok.test" }, deniedDomains = { "127.0.0.9" }%s } }"""

# Carries a client's bytes, as the user whose session it is.
BRIDGE = """
import os, socket, sys, threading
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
def up():
    while data := os.read(0, 65536):
        s.sendall(data)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while data := s.recv(65536):
    os.write(1, data)
os._exit(0)
"""


class Line:
    """A client of a session: one line of JSON asks, another answers."""

    def __init__(self, process):
        self.process = process

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __call__(self, **message):
        return self.raw(json.dumps(message).encode() + b"\n")


class Sessions(Running):
    def session(self, policy, *options, **more):
        """A running session; self.socket is where it listens."""
        process = self._kept(self.start(["session", self.policy(policy), *options], **more))
        line = process.stdout.readline().decode()
        self.assertTrue(line.startswith("session: /"), line or process.stderr.read().decode())
        self.socket = line.strip().partition(": ")[2]
        return process

    def line(self):
        """A client, as the user that the test runs as: one of another is not heard."""
        return Line(self.outside(shutil.which("python3", path=PATH), "-c", BRIDGE, self.socket, stdin=subprocess.PIPE))

    def exec(self, script, *options, name=None, **more):
        return self.run_srt(["exec", "--session", name or self.socket, *options, "--", "sh", "-c", script], **more)

    def end(self, process, number=signal.SIGINT):
        told = super().end(process, number)
        self.assertFalse(os.path.exists(self.socket))
        return told
