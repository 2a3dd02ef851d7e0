# SPDX-License-Identifier: Apache-2.0
"""Nothing inside, and nothing that leaves, holds a real value: memory, environments, files, traffic, logs."""
import os
import re
import struct
import subprocess
import threading

from lib import Case, as_everyone, main, need, need_root
from mirror import Mirrored
from running import until

VALUES = {"secret": "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "masked": "m4sked-credential-value-0123456789",
          "denied": "d3nied-credential-value-0123456789", "file": "f1le-credential-value-0123456789",
          "command": "c0mmand-secret-value-0123456789"}
OPEN = "0pen-value-that-is-no-secret-0123456789"

POLICY = """return {
  secrets = { github = { env = "GITHUB_TOKEN", hosts = { "%(at)s" } },
    vault = { command = { "cat", "%(dir)s/home/vault" }, hosts = { "%(at)s" } } },
  credentials = { envVars = { { name = "MASKED", mode = "mask" }, { name = "DENIED", mode = "deny" } },
    files = { { path = "%(dir)s/home/file", mode = "mask" }, { path = "%(dir)s/home/vault", mode = "deny" } },
    allowPlaintextInject = true },
  filesystem = { allowWrite = { "." } %(guard)s },
  network = { allowedDomains = { "%(at)s" }, allowPlaintextHeaderSet = true,
    filterRequest = function(req)
      srt.log.info("asked", req.method, req.url, req:header("X-Masked"), req:header("X-File"))
      return srt.allow { setHeaders = { Authorization = "Bearer " .. srt.secret.github, ["X-Vault"] = srt.secret.vault } }
    end },
}"""

# Uses all of them, keeps what it got in memory and in files, and waits.
SCRIPT = """import os, subprocess, sys
kept = [subprocess.run(["curl", "-s", "-H", "X-Masked: " + os.environ["MASKED"], "-H", "X-File: " +
  open(os.environ["FILE"]).read().strip(), "--data-binary", os.environ["MASKED"], os.environ["URL"] + path],
  capture_output=True).stdout for path in ("/", "/chunks3", "/head", "/base64")]
open("kept", "wb").write(b"".join(kept))
print(len(kept), flush=True)
sys.stdin.read()
"""


PAGE = os.sysconf("SC_PAGE_SIZE")


def filled(pid, first, last):
    """Which pages of a range a process has: the others were never touched (proc_pid_pagemap(5))."""
    with open("/proc/%d/pagemap" % pid, "rb", 0) as pagemap:
        pagemap.seek(first // PAGE * 8)
        entries = struct.unpack("%dQ" % ((last - first) // PAGE), pagemap.read((last - first) // PAGE * 8))
    return {first + i * PAGE for i, entry in enumerate(entries) if entry >> 62}


def memory_of(pid, host):
    """All that a process can read of its memory, with what it shares with the host process."""
    found = []
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as memory:
        for line in maps:
            first, last, mode = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            if mode[0] != "r" or "[v" in line:
                continue
            first, last = int(first, 16), int(last, 16)
            pages = filled(pid, first, last)
            if "/dev/zero" in line:
                pages |= filled(host, first, last)
            for page in sorted(pages):
                memory.seek(page)
                found.append(memory.read(PAGE))
    return b"".join(found)


def inside_of(process):
    """The processes of a sandbox: PID 1 of another namespace and all with it, below the one that was started."""
    own = os.readlink("/proc/self/ns/pid")
    found, todo = [], [process.pid]
    while todo:
        pid = todo.pop()
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
        todo += [int(child) for child in children.split()]
        if os.readlink("/proc/%d/ns/pid" % pid) != own:
            found.append(pid)
    return found


class Leaks(Case):
    def search(self, name, data, seen_open=False):
        for kind, value in VALUES.items():
            self.assertFalse(value.encode() in data, "%s holds the %s value" % (name, kind))
        if seen_open:
            self.assertTrue(OPEN.encode() in data, name + ": the control was not found, so the search is blind")

    @as_everyone
    def test_a_run(self):
        need("curl")
        need_root("to read the memory of others")
        for guard in ("", ', createGuard = "supervisor"'):
            with self.subTest(guard=guard):
                self.run_and_search(guard)

    def run_and_search(self, guard):
        self.write("home/vault", VALUES["command"] + "\n", 0o600)
        file = self.write("home/file", VALUES["file"] + "\n", 0o600)
        env = {"GITHUB_TOKEN": VALUES["secret"], "MASKED": VALUES["masked"], "DENIED": VALUES["denied"], "OPEN": OPEN,
               "COPY": "x" + VALUES["masked"] + "y", "FILE": file}
        with Mirrored() as origin:
            policy = self.policy(POLICY % {"at": origin.at, "dir": self.dir, "guard": guard})
            process = self.start(["run", "--debug", policy, "--", "/usr/bin/python3", "-c", SCRIPT],
                                 env=dict(env, URL=origin.url), stdin=subprocess.PIPE)
            errors = []
            reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
            reader.start()
            out = process.stdout.readline()
            try:
                self.assertEqual(b"4\n", out)
                pids = inside_of(process)
                self.assertGreaterEqual(len(pids), 3 if guard else 2)
                for pid in pids:
                    with open("/proc/%d/cmdline" % pid, "rb") as cmdline:
                        name = "%d %r" % (pid, cmdline.read()[:60])
                    with open("/proc/%d/environ" % pid, "rb") as environ:
                        self.search("the environment of " + name, environ.read())
                    # All of them map the plan, which has the variable.
                    self.search("the memory of " + name, memory_of(pid, process.pid), seen_open=True)
                self.assertIn(VALUES["secret"].encode(), memory_of(process.pid, process.pid), "the search is blind")
            finally:
                process.stdin.close()
                out += process.stdout.read()
                process.stdout.close()
                reader.join()
                process.stderr.close()
            self.assertEqual(0, process.wait(20), errors)
            self.look_at_what_is_left(origin, out, errors[0])

    def look_at_what_is_left(self, origin, out, err):
        self.search("standard output", out)
        self.search("standard error", err)
        self.assertIn(b"asked POST", err)
        with open(self.path("w/kept"), "rb") as kept:
            answers = kept.read()
        self.search("what came back", answers)
        self.assertGreater(len(answers), 1000)
        for folder in (self.w, self.tmp):
            for path in subprocess.run(["find", folder, "-type", "f"], capture_output=True, text=True).stdout.split():
                with open(path, "rb") as file:
                    self.search(path, file.read())
        # The positive control of the traffic: they were sent where they may go.
        sent = repr(origin.seen)
        for kind in ("secret", "masked", "file", "command"):
            self.assertIn(VALUES[kind], sent, kind)
        self.assertNotIn(VALUES["denied"], sent)

    @as_everyone
    def test_no_other_process_of_the_user_reads_the_host_process(self):
        need_root("to be another user")
        process = self.start(["sh", "-c", "echo; read x"], 'return { secrets = { x = { env = "X", hosts = { "a.test" } } } }',
                             env={"X": VALUES["secret"]}, stdin=subprocess.PIPE)
        process.stdout.readline()
        try:
            if self.user == "user":
                for name in ("environ", "mem", "maps"):
                    with self.assertRaises(AssertionError):
                        self.sh("cat /proc/%d/%s >/dev/null" % (process.pid, name))
            limits = until(lambda: os.stat("/proc/%d/mem" % process.pid).st_uid == 0)
            self.assertTrue(limits)
        finally:
            process.communicate(b"\n")


main()
