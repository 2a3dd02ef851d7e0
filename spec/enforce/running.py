# SPDX-License-Identifier: Apache-2.0
"""Long-running sandboxes in tests: start one, wait for it, look for what it left."""
import itertools
import os
import signal
import subprocess
import time

import terminal
from lib import BINARY, ORDINARY, Case, drops

WORK = '{ filesystem = { allowWrite = { "." } } }'
_tags = itertools.count(os.getpid() * 1000 % 10**6)


# Runs each line it reads, and says how that went.
SHELL = 'while read -r line; do if (eval "$line") >/dev/null 2>&1; then echo ok; else echo no; fi; done'

# Counts a signal until none came for a while, and ends with a status of its own.
COUNT = """trap 'n=$((n+1))' %s; n=0; sleep 60 & echo ready
while [ $n = 0 ]; do wait; done; for i in 1 2 3; do sleep 0.1; done; echo n=$n; exit 5"""


class Inside:
    """A command, SHELL, that does what it is told."""

    def __init__(self, process):
        self.process = process

    def can(self, script):
        self.process.stdin.write(script.encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline() == b"ok\n"


def until(condition, timeout=10, pause=0.005):
    """Polls a condition, ever less often; its last value, true or not."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(pause)
        pause = min(pause * 1.3, 0.1)


def tag():
    """Seconds for sleep(1) that no other process on this machine sleeps."""
    return "7%07d.5" % next(_tags)


def arguments(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def processes(word):
    """Pids of the processes that have the word in their arguments."""
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and word.encode() in arguments(pid)]


def sleeper(word):
    """The pid of ``sleep WORD`` itself, or None."""
    for pid in processes(word):
        if arguments(pid) == b"sleep\0" + word.encode() + b"\0":
            return pid
    return None


def children(pid):
    """Pids of what a process has started, its first thread's first; none where it is gone."""
    found = []
    try:
        for task in sorted(os.listdir("/proc/%d/task" % pid), key=int):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        pass
    return found


def name(pid):
    """What a process calls itself; None where it is gone."""
    try:
        with open("/proc/%d/comm" % pid, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return None


def parts(host):
    """The janitor and PID 1 of a host process whose command runs; with bubblewrap, in PID 1's place bwrap itself; 0 for
    none yet."""
    named = {name(pid): pid for pid in children(host)}
    janitor = named["srt-lua-janitor"]
    return janitor, named.get("sandbox-init") or (children(janitor) + [0])[0]


def state(pid):
    """One letter of proc(5), None for a process that is gone."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (OSError, TypeError):
        return None


class Running(Case):
    """A case whose sandboxes the test talks to while they run."""

    def popen(self, *command, policy=WORK, **how):
        """A running sandbox; it is ended when the test ends."""
        return self._kept(self.start(list(command), policy, **how))

    def outside(self, *command, **how):
        """A program outside, as the user of the test."""
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return self._kept(subprocess.Popen(self.as_user(command), cwd=self.w, env=self.environment(), **how))

    def _kept(self, process):
        self.addCleanup(_end, process)
        return process

    def end(self, process, number=signal.SIGINT):
        """Ends what serves as Ctrl-C does; what it reported."""
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        self.assertEqual((0, b""), (process.returncode, out), err.decode())
        return err.decode()

    def terminal(self, start=terminal.shell, env=None, **how):
        """What start puts on a terminal, as the user of the test; it is closed when the test ends."""
        uid = ORDINARY if drops(self.user) else None
        made = start(env=self.environment(env), cwd=self.w, uid=uid, **how)
        self.addCleanup(made.close)
        return made

    def shell(self, env=None, **how):
        """A terminal with a shell on it; $S runs what follows in the sandbox."""
        return self.terminal(env={"S": "%s run %s --" % (BINARY, self.policy(WORK)), **(env or {})}, **how)

    def typed(self, command, term="dumb"):
        """A shell on a terminal that echoes nothing, into which a command was typed."""
        shown = self.terminal(env={"TERM": term})
        shown.send("stty -echo; clear 2>/dev/null; echo rea''dy\n")
        shown.expect("ready")
        shown.expect(terminal.PROMPT)
        shown.send(command + "\n")
        return shown

    def gone(self, word, timeout=10):
        """Fails where a process with the word as an argument goes on living."""
        until(lambda: not processes(word), timeout)
        self.assertEqual(processes(word), [], "left running")


def _end(process):
    if process.poll() is None:
        process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()
