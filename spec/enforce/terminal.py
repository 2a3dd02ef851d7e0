# SPDX-License-Identifier: Apache-2.0
"""A terminal with a program on it, driven from a test."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

PROMPT = "OUT> "


class Terminal:
    """Starts ``argv`` as the leader of a session on a new pseudo-terminal."""

    def __init__(self, argv, env, cwd, uid=None, rows=24, cols=80):
        self.seen, self.unread = b"", b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                set_size(0, rows, cols)
                _become(uid)
                os.chdir(cwd)
                os.execvpe(argv[0], argv, env)
            finally:
                os._exit(99)

    def resize(self, rows, cols):
        set_size(self.fd, rows, cols)

    def send(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern, timeout=10):
        """Waits for a regular expression and takes all that is up to its end."""
        deadline = time.monotonic() + timeout
        while True:
            found = re.search(pattern.encode(), self.unread)
            if found:
                self.unread = self.unread[found.end():]
                return found
            left = deadline - time.monotonic()
            if left <= 0 or not self.more(left):
                raise AssertionError("the terminal never showed %r; it shows:\n%s"
                                     % (pattern, self.seen[-3000:].decode(errors="replace")))

    def more(self, timeout):
        """Whether it showed more, which is unread then."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.unread += data
        self.seen += data
        return bool(data)

    def line(self, text, *patterns, timeout=10):
        """Types a line and waits for each pattern in turn, after the line's echo."""
        self.send(text + "\n")
        for pattern in (r"\n", *patterns):
            self.expect(pattern, timeout)

    def foreground(self):
        """The process group that the terminal belongs to now."""
        return os.tcgetpgrp(self.fd)

    def ended(self):
        """The status of what ran there, once the terminal has shown all."""
        while self.more(10):
            pass
        status = os.waitpid(self.pid, 0)[1]
        self.pid = 0
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)

    def close(self):
        """Takes the terminal away, as closing its window does."""
        if self.pid:
            os.close(self.fd)
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0


def set_size(fd, rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def _become(uid):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if uid is not None:
        os.fchown(0, uid, -1)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def shell(env, cwd, uid=None, **size):
    """A bash with job control, at its first prompt."""
    terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], dict(env, PS1=PROMPT), cwd, uid, **size)
    terminal.expect(PROMPT)
    return terminal
