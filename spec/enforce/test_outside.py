# SPDX-License-Identifier: Apache-2.0
"""Processes of the host can't be signalled, traced or seen."""
import os
import signal
import subprocess
import time

from lib import BINARY, Case, as_everyone, main, need, skip


class Outside(Case):
    """Processes of the host can't be signalled, traced or seen."""

    @as_everyone
    def test_everyone_is_only_everyone_inside(self):
        victim = subprocess.Popen(self.as_user(["sleep", "300"]), start_new_session=True)
        try:
            got = self.run_srt(["/usr/bin/python3", "-c", """import os, signal, time
child = os.fork()
if child == 0:
    time.sleep(60)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(-1, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"""], "{}")
            self.assertEqual("-15\n", got.out, got)
            self.assertIsNone(victim.poll())
        finally:
            victim.kill()
            victim.wait()

    @as_everyone
    def test_priority_of_the_callers_group(self):
        """setpriority(2) and ioprio_set(2) know the group, which is the caller's."""
        code = """import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name, answer in (("setpriority", libc.setpriority(1, 0, 5)), ("ioprio_set", libc.syscall(251, 2, 0, 3 << 13))):
    print(name, answer, ctypes.get_errno())
os.setpriority(os.PRIO_PROCESS, 0, 3)"""
        if os.uname().machine != "x86_64":
            skip("numbers of x86-64", allowed=True)
        got = self.run_srt(["/usr/bin/python3", "-c", code], "{}", preexec=os.setsid)
        self.assertEqual("setpriority -1 1\nioprio_set -1 1\n", got.out, got)

    @as_everyone
    def test_by_descriptors_for_reading(self):
        """Leases, for which an open of the host's would wait; snapshots, which have what mounts cover; locks on files of other runs.

        Of ioctl(2) the descriptor is none, so that it is the filter which answers.
        """
        self.write("out/f", "x")
        code = """import errno, fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for command in (fcntl.F_SETLEASE, 1024 | 1 << 32, 1040):
    for kind in (fcntl.F_RDLCK, fcntl.F_WRLCK):
        libc = __import__("ctypes").CDLL(None, use_errno=True)
        print(libc.syscall(%d, fd, __import__("ctypes").c_long(command), kind), errno.errorcode[__import__("ctypes").get_errno()])
for request in (0x50009401, 0x50009417, 0x5000940f, 0x5000943f, 0x4020bc10, 0x4020bc11, 0xc0506617, 0xc0406618):
    try: fcntl.ioctl(sys.stdin.fileno() + 100, request, bytearray(4096))
    except OSError as error: print(errno.errorcode[error.errno])
for name in (sys.argv[2], sys.argv[2] + "/violations"):
    try: print(os.listdir(name))
    except PermissionError: print("closed")""" % (72 if os.uname().machine == "x86_64" else 25)
        got = self.run_srt(["/usr/bin/python3", "-c", code, self.path("out/f"), self.home + "/.local/state/srt-lua"],
                           '{ filesystem = { allowWrite = { "." } } }')
        self.assertEqual(["-1 EACCES"] * 6 + ["ENOTTY"] * 8 + ["closed"] * 2, got.out.splitlines(), got)

    @as_everyone
    def test_descriptors_of_pid_1(self):
        code = """import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd = os.pidfd_open(1)
for number in range(12):
    if libc.syscall(438, fd, number, 0) >= 0:
        print("took", number)
print("end", ctypes.get_errno())"""
        got = self.run_srt(["/usr/bin/python3", "-c", code], "{}")
        self.assertEqual("end 1\n", got.out, got)

    @as_everyone
    def test_signals(self):
        victim = subprocess.Popen(self.as_user(["sleep", "300"]), start_new_session=True)
        try:
            got = self.run_sh("kill -9 %d; kill -9 -%d; kill -9 -1; echo end" % (victim.pid, victim.pid), "{}")
            self.assertIsNone(victim.poll(), got)
        finally:
            victim.kill()
            victim.wait()

    @as_everyone
    def test_the_callers_process_group(self):
        """kill(0) reaches the caller's group where nothing holds it."""
        script = "sleep 300 & '%s' run '%s' -- sh -c 'kill -9 0' ; sleep 0.2; kill -0 $! && echo peer lives; kill $!"
        done = self.on_host(["sh", "-c", script % (BINARY, self.policy("{}"))], start_new_session=True, timeout=30)
        self.assertEqual(b"peer lives\n", done.stdout, done)

    @as_everyone
    def test_no_keys_or_shared_memory_of_the_host(self):
        got = self.run_sh("ipcs -m | grep -c 0x; ls /dev/shm | wc -l", "{}")
        self.assertEqual("0\n0\n", got.out, got)

    @as_everyone
    def test_tracing_the_host_process(self):
        run = self.start(["sleep", "20"], "{}")
        time.sleep(0.3)
        got = self.run_sh("kill -0 %d; cat /proc/%d/environ" % (run.pid, run.pid), "{}")
        self.assertNotIn("HOME", got.out)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=10)

    @as_everyone
    def test_nothing_of_the_host_processes_memory_is_inherited(self):
        """PID 1 is a fork of the host process: its memory may hold secrets."""
        need("python3")
        code = """import glob
for path in glob.glob("/proc/[0-9]*/mem") + glob.glob("/proc/[0-9]*/maps"):
    try:
        open(path, "rb").read(1)
        print("opened", path)
    except OSError:
        pass"""
        got = self.run_srt(["/usr/bin/python3", "-c", code], "{}")
        self.assertNotIn("/proc/1/", got.out, got)


if __name__ == "__main__":
    main()
