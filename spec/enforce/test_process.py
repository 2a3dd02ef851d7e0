#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Processes: endings, descriptors, and what inside can see of PID 1."""
import hashlib
import os
import random
import signal
import socket
import subprocess
import tempfile
import time

from lib import BINARY, as_everyone, main
from running import WORK, Running, processes, sleeper, tag, until


class Endings(Running):
    @as_everyone
    def test_status(self):
        for script, status in (("exit 0", 0), ("exit 1", 1), ("exit 125", 125), ("exit 255", 255),
                               ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("kill -INT $$", 130),
                               ("kill -SEGV $$", 139), ("kill -ABRT $$", 134),
                               ("sh -c 'kill -9 $$'; exit 3", 3)):
            with self.subTest(script):
                process = self.popen("sh", "-c", script)
                process.communicate(timeout=20)
                self.assertEqual(process.returncode, status)

    @as_everyone
    def test_arguments_arrive_as_they_are(self):
        process = self.popen("printf", "%s\\n", "a b", "$HOME", "*", "", "--help", "-c")
        self.assertEqual(process.communicate(timeout=20)[0], b"a b\n$HOME\n*\n\n--help\n-c\n")

    @as_everyone
    def test_processors(self):
        """The caller's, though PID 1 is made to begin on another one."""
        ours = os.sched_getaffinity(0)
        for allowed in (ours, {min(ours)}, {max(ours)}):
            process = self.start(["/usr/bin/python3", "-c", "import os; print(os.sched_getaffinity(0))"], WORK,
                                 preexec=lambda allowed=allowed: os.sched_setaffinity(0, allowed))
            self.assertEqual("%s\n" % allowed, process.communicate(timeout=20)[0].decode())

    @as_everyone
    def test_background_children_end_with_the_command(self):
        for name, script in (("plain", "sleep %s & echo started"),
                             ("setsid", "setsid nohup sleep %s >/dev/null 2>&1 & sleep 0.1; echo started"),
                             ("double fork", "(setsid sh -c 'sleep %s & :' &) >/dev/null 2>&1; sleep 0.1; echo started"),
                             ("stubborn", "(trap '' TERM HUP INT; exec sleep %s) & sleep 0.1; echo started"),
                             ("stopped", "sleep %s & sleep 0.1; kill -STOP $!; echo started")):
            with self.subTest(name):
                word, start = tag(), time.monotonic()
                process = self.popen("sh", "-c", script % word)
                self.assertEqual(process.communicate(timeout=20)[0], b"started\n")
                self.assertLess(time.monotonic() - start, 3, "it waited for the background process")
                self.assertEqual(processes(word), [], "left running when the run had ended")

    @as_everyone
    def test_the_host_process_killed_at_any_time(self):
        for i in range(36):
            word = tag()
            script = "sleep %s & setsid nohup sleep %s & echo $TMPDIR; exec sleep %s" % (word, word, word)
            process = self.popen("sh", "-c", script)
            time.sleep(random.uniform(0, 0.05) if i < 30 else random.uniform(0.05, 0.3))
            process.kill()
            process.wait()
            self.gone(word)
        self.assertEqual(self.leftovers(), [])

    @as_everyone
    def test_the_host_process_dies_of_another_signal(self):
        for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGALRM):
            with self.subTest(signal=number.name):
                word = tag()
                process = self.popen("sh", "-c", "setsid sleep %s & sleep %s" % (word, word))
                until(lambda: sleeper(word))
                process.send_signal(number)
                process.wait(20)
                self.gone(word)
                self.assertTrue(until(lambda: not self.leftovers()), "the temporary directory is left")

    @as_everyone
    def test_the_temporary_directory(self):
        script = ("stat -c %a $TMPDIR; cd $TMPDIR; mktemp >/dev/null; mkdir -p a/b/c .hidden 'x y'; touch a/b/c/f;"
                  "ln -s / slash; mkfifo p; mkdir shut; touch shut/f; chmod 0 shut; echo $TMPDIR")
        process = self.popen("sh", "-c", script)
        out, err = process.communicate(timeout=20)
        mode, path = out.split()
        self.assertEqual((mode, err), (b"700", b""))
        self.assertEqual(os.path.dirname(path).decode(), self.tmp)
        self.assertFalse(os.path.lexists(path))

    @as_everyone
    def test_orphans_are_reaped(self):
        script = ("count() { set -- /proc/[0-9]*; echo $#; }; dead() { ps -eo stat | grep -c ^Z; };"
                  "mkfifo p; exec 3<>p; for i in $(seq 200); do (read x <&3 &); done; [ $(count) -gt 200 ] && seq 200 >&3;"
                  "for i in $(seq 100); do [ $(count) -lt 10 ] && [ $(dead) = 0 ] && break; sleep 0.05; done; dead")
        process = self.popen("sh", "-c", script)
        self.assertEqual(process.communicate(timeout=60)[0], b"0\n")

    @as_everyone
    def test_children_that_the_caller_left_us(self):
        script = "(exec %s run %s -- sh -c 'sleep 0.4; exit 3') < <(sleep 0.1)" % (BINARY, self.policy(WORK))
        process = self.outside("bash", "-c", script)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 3)


class Descriptors(Running):
    @as_everyone
    def test_streams_pass_byte_for_byte(self):
        data = os.urandom(1 << 20) * 5
        digest = hashlib.sha256(data).digest()
        for script, stream in (("cat", "out_bytes"), ("cat >&2", "err_bytes")):
            got = self.run_sh(script, WORK, stdin=data)
            self.assertEqual(hashlib.sha256(getattr(got, stream)).digest(), digest)

    @as_everyone
    def test_files_pass_byte_for_byte(self):
        data = bytes(range(256)) * 4096
        with tempfile.TemporaryFile(dir=self.w) as source, tempfile.TemporaryFile(dir=self.w) as target:
            source.write(data)
            source.seek(100)
            process = self.popen("cat", stdin=source, stdout=target)
            process.wait(20)
            target.seek(0)
            self.assertEqual(hashlib.sha256(target.read()).digest(), hashlib.sha256(data[100:]).digest())

    @as_everyone
    def test_end_of_file_and_a_closed_pipe(self):
        process = self.popen("cat")
        self.assertEqual(process.communicate(timeout=20), (b"", b""))
        process = self.popen("sh", "-c", "while echo line; do :; done 2>/dev/null; exit 8")
        process.stdout.readline()
        process.stdout.close()
        # With SIGPIPE as it is by default the shell dies of it.
        self.assertEqual(process.wait(20), 128 + signal.SIGPIPE)

    @as_everyone
    def test_a_reader_sees_the_end_at_once(self):
        """Nobody of ours keeps the standard streams open."""
        process = self.popen("sh", "-c", "exec >/dev/null; echo err >&2; sleep 5")
        start = time.monotonic()
        self.assertEqual(process.stdout.read(), b"")
        self.assertLess(time.monotonic() - start, 3)

    @as_everyone
    def test_closed_streams(self):
        for closed in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
            with self.subTest(closed=closed):
                def close(closed=closed):
                    for fd in closed:
                        os.close(fd)
                process = self.popen("sh", "-c", "ls /proc/self/fd >fds; exit 4", preexec=close)
                process.communicate(timeout=20)
                self.assertEqual(process.returncode, 4)
                with open(self.w + "/fds") as file:
                    self.assertEqual(file.read().split(), ["0", "1", "2", "3"])  # 3: the directory itself

    @as_everyone
    def test_other_descriptors_are_closed(self):
        first, second = socket.socketpair()
        with first, second, open("/etc/passwd") as file:
            process = self.popen("ls", "/proc/self/fd", pass_fds=(first.fileno(), file.fileno()))
            out, err = process.communicate(timeout=20)
        self.assertEqual(out.split(), [b"0", b"1", b"2", b"3"], err)

    @as_everyone
    def test_keep_fd(self):
        read, write = os.pipe()
        other = os.pipe()
        script = "ls /proc/self/fd >fds; cat <&%d; echo over >&%d" % (read, other[1])
        script += "; exec %d>&-; sleep 1.5" % other[1]
        process = self.popen("sh", "-c", script, pass_fds=(read, other[1]),
                             options=["--keep-fd", str(read), "--keep-fd=%d" % other[1]])
        os.close(other[1])
        os.write(write, b"through")
        os.close(write)
        self.assertEqual(os.read(other[0], 100), b"over\n")
        self.assertEqual(os.read(other[0], 100), b"", "the host process holds the pipe open")
        self.assertIsNone(process.poll())
        out, err = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out), (0, b"through"), err)
        with open(self.w + "/fds") as file:
            there = set(map(int, file.read().split()))
        self.assertLessEqual({0, 1, 2, read, other[1]}, there)
        self.assertEqual(len(there), 6)  # the sixth: the directory itself
        for fd in (read, *other[:1]):
            os.close(fd)

    @as_everyone
    def test_keep_fd_gives_only_what_the_caller_has(self):
        """Numbers that are free when we start are then taken by our own descriptors."""
        for fd in range(3, 12):
            with self.subTest(fd=fd):
                got = self.run_srt(["ls", "/proc/self/fd"], WORK, options=["--keep-fd", str(fd)])
                self.assertEqual((got.code, got.out), (125, ""))
                self.assertIn("descriptor %d (--keep-fd) is not open" % fd, got.err)

    @as_everyone
    def test_refused_descriptors(self):
        directory = os.open("/tmp", os.O_RDONLY)
        plain = os.open("/etc/passwd", os.O_PATH)
        with socket.socket() as tcp, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as loose:
            for name, fd, word in (("directory", directory, b"directory"), ("O_PATH", plain, b"O_PATH"),
                                   ("TCP", tcp, b"network socket"), ("datagram", loose, b"Unix socket")):
                for stream in ("stdin", "stdout", "stderr"):
                    with self.subTest(kind=name, stream=stream):
                        others = {s: subprocess.PIPE for s in ("stdout", "stderr")}
                        process = self.popen("touch", "ran", **{**others, stream: fd})
                        err = process.communicate(timeout=20)[1]
                        self.assertEqual(process.returncode, 125)
                        self.assertFalse(os.path.exists(self.w + "/ran"))
                        if stream != "stderr":
                            self.assertIn(word, err)
        os.close(directory)
        os.close(plain)

    @as_everyone
    def test_a_connected_socket_as_stdin(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = self.popen("sh", "-c", "read x; echo got $x >&0", stdin=theirs)
            ours.sendall(b"hello\n")
            self.assertEqual(ours.recv(100), b"got hello\n", process.communicate(timeout=20))


class Hidden(Running):
    """PID 1 and the host process are out of reach."""

    def says(self, script, **how):
        process = self.popen("bash", "-c", script, **how)
        out, err = process.communicate(timeout=20)
        return out.decode() + err.decode()

    @as_everyone
    def test_pid_1_does_not_die(self):
        script = ("for s in TERM KILL STOP SEGV HUP USR1 INT; do kill -$s 1 2>/dev/null; done; sleep 0.1;"
                  "grep ^State /proc/1/status; kill -0 1 2>/dev/null || echo refused; exit 0")
        said = self.says(script)
        self.assertRegex(said, r"^State:\s+[SR]")

    @as_everyone
    def test_pid_1_is_not_read(self):
        said = self.says("""
            for f in environ maps mem auxv stack syscall smaps pagemap io personality; do
                [ $(head -c1 /proc/1/$f 2>/dev/null | wc -c) = 0 ] || echo read $f; done
            for f in root cwd exe ns/mnt ns/user fd/0 fd/3 fd/4 fd/5 task/1/root; do
                readlink /proc/1/$f && echo followed $f; ls /proc/1/$f/ 2>/dev/null && echo listed $f; done
            for f in mem uid_map gid_map setgroups timerslack_ns clear_refs; do
                (echo 0 >/proc/1/$f) 2>/dev/null && echo wrote $f; done; echo end""")
        self.assertEqual("end\n", said)

    @as_everyone
    def test_pid_1_is_not_traced(self):
        script = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def result(value):
    return "DONE" if value == 0 else os.strerror(ctypes.get_errno())
for request in (16, 0x4206):
    print("ptrace", result(libc.ptrace(request, 1, 0, 0)))
buf = ctypes.create_string_buffer(8)
class iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
v = iovec(ctypes.addressof(buf), 8)
print("vm_readv", "DONE" if libc.process_vm_readv(1, ctypes.byref(v), 1, ctypes.byref(v), 1, 0) > 0 else "refused")
fd = libc.syscall(434, 1, 0)
print("pidfd_getfd", "DONE" if fd >= 0 and libc.syscall(438, fd, 3, 0) >= 0 else "refused")
none = iovec(0, 0)
print("prlimit", "DONE" if libc.prlimit(1, 7, ctypes.byref(none), None) == 0 else "refused")
print("kcmp", "DONE" if libc.syscall(312, 1, os.getpid(), 0, 0, 0) >= 0 else "refused")
"""
        process = self.popen("/usr/bin/python3", "-c", script)
        out, err = process.communicate(timeout=20)
        self.assertNotIn(b"DONE", out)
        self.assertEqual(out.count(b"\n"), 6, err)

    @as_everyone
    def test_host_processes_are_not_seen(self):
        word = tag()
        outside = subprocess.Popen(["sleep", word])
        try:
            said = self.says("ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; "
                             "kill -0 %d && echo REACH''ED; exit 0" % outside.pid)
            self.assertNotIn(word, said)
            self.assertNotIn("REACHED", said)
            self.assertLess(int(said.split()[0]), 8)
            self.assertIsNone(outside.poll())
        finally:
            outside.kill()
            outside.wait()

    @as_everyone
    def test_kill_all_stays_inside(self):
        process = self.popen("bash", "-c", "trap '' TERM; kill -TERM -1; kill -TERM 0; exit 6",
                             process_group=0)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 6)

    @as_everyone
    def test_own_children_can_be_traced_and_signalled(self):
        said = self.says("sleep 50 & kill -0 $! && kill -TERM $! ; wait $!; echo $?")
        self.assertIn("143", said)


if __name__ == "__main__":
    main()
