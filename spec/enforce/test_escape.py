# SPDX-License-Identifier: Apache-2.0
"""Known tricks to get a write, a read or a signal out. Each uses files of its own."""
import os
import signal
import subprocess
import time

from lib import BINARY, Case, as_everyone, main, need, skip

WRITABLE = '{ filesystem = { allowWrite = { "." } } }'


class Descriptors(Case):
    """A descriptor leads to the host's own mounts, past the sandbox's."""

    def reopened(self, path, policy, mode="rb"):
        with open(path, mode) as file:
            return self.run_sh("(echo stolen >/proc/self/fd/0) 2>&1; (echo stolen >>/dev/stdin) 2>&1; "
                               "(: >/dev/fd/0) 2>&1; cat >/dev/null; echo done", policy, stdin=file)

    @as_everyone
    def test_file_outside(self):
        path = self.write("out/f", "host's")
        got = self.reopened(path, WRITABLE)
        self.assertEqual("host's", self.read("out/f"), got)
        self.assertTrue(got.out.endswith("done\n"), got)

    @as_everyone
    def test_protected_file_inside_a_writable_folder(self):
        path = self.write("w/f", "host's")
        got = self.reopened(path, '{ filesystem = { allowWrite = { "." }, denyWrite = { "f" } } }')
        self.assertEqual("host's", self.read("w/f"))
        self.assertEqual(125, got.code, got)
        self.assertIn("use a pipe", got.err)

    @as_everyone
    def test_file_that_may_be_written_anyway(self):
        path = self.write("w/f", "x")
        got = self.reopened(path, WRITABLE)
        self.assertEqual(("done\n", 0), (got.out, got.code), got)

    @as_everyone
    def test_output_file_that_may_not_be_read(self):
        path = self.write("out/f", "secret")
        with open(path, "ab") as file:
            got = self.run_sh("cat /proc/self/fd/1 >&2", '{ filesystem = { denyRead = { "../out" } } }', stdout=file)
        self.assertEqual(125, got.code)
        self.assertNotIn("secret", got.err)

    @as_everyone
    def test_output_file_by_name(self):
        path = self.write("out/log", "")
        with open(path, "ab") as file:
            got = self.run_sh("echo one; echo two >>/dev/stdout; echo three >>/proc/self/fd/1", "{}", stdout=file)
        self.assertEqual("one\ntwo\nthree\n", self.read("out/log"), got)

    CHANGES = """import os, sys
log = open("log", "w")
def attempt(name, change):
    try:
        change()
        print("changed", fd, name, file=log)
    except OSError:
        pass
for fd in map(int, sys.argv[1]):
    path = "/proc/self/fd/%d" % fd
    attempt("mode", lambda: os.fchmod(fd, os.fstat(fd).st_mode & 0o777))
    attempt("mode by name", lambda: os.chmod(path, os.fstat(fd).st_mode & 0o777))
    attempt("times", lambda: os.utime(fd))
    attempt("times by name", lambda: os.utime(path))
    attempt("owner", lambda: os.fchown(fd, os.fstat(fd).st_uid, os.fstat(fd).st_gid))
    attempt("attribute", lambda: os.setxattr(fd, "user.probe", b"x"))
    if "file" in sys.argv:
        attempt("length", lambda: os.truncate(path, 1))
        attempt("content", lambda: os.open(path, os.O_WRONLY))
print("end", file=log)
"""

    @as_everyone
    def test_mode_times_and_attributes_of_an_input_file(self):
        """No Landlock right is about these: only the mount holds them."""
        path = self.write("out/f", "host's")
        before = os.stat(path)
        for abi in (None, "2", "3"):
            with open(path, "rb") as file:
                got = self.run_srt(["/usr/bin/python3", "-c", self.CHANGES, "0", "file"], WRITABLE, stdin=file,
                                   env={"SRT_LUA_FAKE_LANDLOCK_ABI": abi})
            self.assertEqual((0, "end\n"), (got.code, self.read("w/log")), (abi, got))
        after = os.stat(path)
        self.assertEqual((before.st_mode, before.st_mtime_ns, before.st_ctime_ns), (after.st_mode, after.st_mtime_ns, after.st_ctime_ns))

    @as_everyone
    def test_the_hosts_null_device_as_a_stream(self):
        """With the mode and owner it has: should it be open, nothing changes."""
        with open("/dev/null", "r+b", buffering=0) as null:
            got = self.run_srt(["/usr/bin/python3", "-c", self.CHANGES, "012"], WRITABLE, stdin=null, stdout=null, stderr=null)
        self.assertEqual((0, "end\n"), (got.code, self.read("w/log")))

    @as_everyone
    def test_an_input_file_goes_on_where_it_was(self):
        path = self.write("out/f", "one two")
        with open(path, "rb", buffering=0) as file:
            file.read(4)
            got = self.run_sh("cat; stat -L -c %i /dev/stdin", WRITABLE, stdin=file)
        self.assertEqual("two%d\n" % os.stat(path).st_ino, got.out, got)

    @as_everyone
    def test_an_input_file_that_is_not_to_be_had_inside(self):
        path = self.write("out/f", "secret")
        for name, policy in ((path, '{ filesystem = { denyRead = { "../out" } } }'), ("/proc/version", "{}")):
            with open(name, "rb") as file:
                got = self.run_sh("cat", policy, stdin=file)
            self.assertEqual((125, ""), (got.code, got.out), got)
            self.assertIn("use a pipe", got.err)

    def test_an_input_file_by_another_mount(self):
        """Landlock knows a folder by whatever mount: here the mount must hold."""
        if os.geteuid() != 0:
            skip("only for root", allowed=True)
        self.write("data/f", "host's")
        self.sh("mkdir ../alias")
        policy = self.policy('{ filesystem = { allowWrite = { "../data", "." }, denyWrite = { "../data/f" } } }')
        script = "mount --bind ../data ../alias; exec '%s' run '%s' -- sh -c '%s' <../alias/f" % (
            BINARY, policy, "echo stolen >/proc/self/fd/0; chmod 777 /proc/self/fd/0; cat; echo end")
        done = subprocess.run([need("unshare"), "-m", "sh", "-ec", script], cwd=self.w, env=self.environment(),
                              capture_output=True, text=True)
        self.assertEqual(("host'send\n", "host's"), (done.stdout, self.read("data/f")), done)

    @as_everyone
    def test_folders_and_path_descriptors(self):
        for flags in (os.O_RDONLY | os.O_DIRECTORY, os.O_PATH, os.O_PATH | os.O_DIRECTORY):
            for number in (0, 1, 2):
                fd = os.open("/tmp", flags)
                streams = {0: "stdin", 1: "stdout", 2: "stderr"}
                got = self.run_srt(["true"], WRITABLE, **{streams[number]: fd})
                os.close(fd)
                self.assertEqual(125, got.code, (number, flags, got))

    @as_everyone
    def test_fifo(self):
        path = self.path("out.fifo")
        os.mkfifo(path)
        self.own(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        got = self.run_sh("timeout 2 sh -c 'echo stolen >/proc/self/fd/0' 2>&1; timeout 2 sh -c 'echo stolen >%s' 2>&1; true" % path,
                          WRITABLE, stdin=reader)
        self.assertEqual(0, got.code, got)
        os.set_blocking(reader, False)
        self.assertEqual(b"", os.read(reader, 100))
        os.close(reader)

    @as_everyone
    def test_deleted_file_still_works(self):
        path = self.write("out/f", "data")
        with open(path, "rb") as file:
            os.unlink(path)
            got = self.run_srt(["cat"], "{}", stdin=file)
        self.assertEqual(("data", 0), (got.out, got.code), got)

    @as_everyone
    def test_network_socket_as_input(self):
        import socket
        with socket.socket() as inet, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram, \
                socket.socket(socket.AF_UNIX) as loose:
            for sock in (inet, datagram, loose):
                got = self.run_srt(["true"], "{}", stdin=sock)
                self.assertEqual(125, got.code, got)
        first, second = socket.socketpair()
        second.sendall(b"hello")
        second.close()
        got = self.run_srt(["cat"], "{}", stdin=first)
        first.close()
        self.assertEqual("hello", got.out, got)

    @as_everyone
    def test_descriptors_above_two(self):
        path = self.write("out/f", "secret")
        fd = os.open(path, os.O_RDWR)
        os.set_inheritable(fd, True)
        got = self.run_sh("ls /proc/self/fd; cat <&%d" % fd, "{}", pass_fds=[fd])
        self.assertNotIn("secret", got.out)
        got = self.run_sh("cat <&%d" % fd, "{}", pass_fds=[fd], options=["--keep-fd", str(fd)])
        self.assertEqual("secret", got.out, got)
        got = self.run_srt(["true"], "{}", options=["--keep-fd", "99"])
        self.assertEqual(125, got.code)
        folder = os.open("/tmp", os.O_RDONLY)
        got = self.run_srt(["true"], "{}", pass_fds=[folder], options=["--keep-fd", str(folder)])
        self.assertEqual(125, got.code, got)
        os.close(fd)
        os.close(folder)

    @as_everyone
    def test_without_the_landlock_layer(self):
        path = self.write("out/f", "host's")
        for fake in ({"SRT_LUA_FAKE_LANDLOCK_ABI": "1"}, {"SRT_LUA_FAKE_LANDLOCK_ABI": "0"}):
            with open(path, "rb") as file:
                got = self.run_sh("echo stolen >/proc/self/fd/0", WRITABLE, stdin=file, env=fake)
            self.assertEqual(125, got.code, got)
            got = self.run_sh("kill -TERM 0; echo alive; mkdir a b; touch a/f; mv a/f b/f && echo moved", WRITABLE, env=fake)
            self.assertEqual("alive\nmoved\n", got.out, got)
            subprocess.run(["rm", "-rf", self.path("w/a"), self.path("w/b")], check=True)
        self.assertEqual("host's", self.read("out/f"))


class Paths(Case):
    @as_everyone
    def test_by_proc(self):
        self.write("out/f", "host's")
        target = self.path("out/f")
        got = self.run_sh("""for p in /proc/self/root /proc/1/root /proc/thread-self/root /proc/$$/root /proc/self/cwd/..; do
            (echo stolen >$p%s) 2>/dev/null; (echo stolen >$p/out/f) 2>/dev/null; done
            for p in /proc/[0-9]*; do (echo stolen >$p/root%s) 2>/dev/null; ls $p/cwd/ >/dev/null 2>&1; done; echo end""" % (
                target, target), WRITABLE)
        self.assertEqual(("end\n", "host's"), (got.out, self.read("out/f")), got)

    @as_everyone
    def test_kernel_hooks(self):
        marker = self.path("out")
        got = self.run_sh("""for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/hotplug \
              /sys/kernel/uevent_helper /proc/sys/fs/binfmt_misc/register /proc/sysrq-trigger; do
            [ -e $f ] && v=$(cat $f 2>/dev/null) && (printf '%s\\n' "$v" >$f) 2>/dev/null && echo "wrote $f"; done
            for f in $(find /sys/fs/cgroup -name release_agent -o -name notify_on_release -o -name cgroup.procs 2>/dev/null | head -50); do
            ( : >>$f ) 2>/dev/null && echo "opened $f"; done; echo end""", WRITABLE)
        self.assertEqual("end\n", got.out, got)
        self.assertFalse(os.path.exists(marker))

    @as_everyone
    def test_cover_can_not_be_taken_off(self):
        self.write("w/sec/k", "secret")
        policy = '{ filesystem = { allowWrite = { "." }, denyRead = { "sec" } } }'
        got = self.run_sh("""umount sec; umount -l sec; mount --bind . sec; rmdir sec; mv sec x; rm -rf sec
            unshare -Urm sh -c 'umount sec; cat sec/k'; chmod 777 sec; cat sec/k; ls sec""", policy)
        self.assertNotIn("secret", got.out + got.err)
        self.assertEqual("secret", self.read("w/sec/k"))

    @as_everyone
    def test_hard_link_of_a_denied_file(self):
        self.write("w/k", "secret")
        policy = '{ filesystem = { allowWrite = { "." }, denyRead = { "k" }, denyWrite = { "k" } } }'
        answers = self.probe("link k alias rename k other read alias exchange k fresh", policy)
        self.assertIn(answers["link k alias"], ("EXDEV", "EPERM"))
        self.assertEqual("ENOENT", answers["read alias"])

    @as_everyone
    def test_the_root_of_other_processes(self):
        """A process inside that is the caller's own leads nowhere else either."""
        self.write("out/f", "host's")
        got = self.run_sh("""sleep 5 & for link in root cwd exe fd/0 fd/1; do for p in self $! 1; do
            (echo stolen >/proc/$p/$link%s) 2>/dev/null; (echo stolen >/proc/$p/$link/../out/f) 2>/dev/null; done; done
            kill $!; ln -s /proc/self/root%s here; (echo stolen >here) 2>/dev/null; chmod 777 /proc/self/root%s 2>/dev/null; echo end""" % (
                (self.path("out/f"),) * 3), WRITABLE)
        self.assertEqual(("end\n", "host's"), (got.out, self.read("out/f")), got)
        self.assertEqual(0o644, os.stat(self.path("out/f")).st_mode & 0o777)

    @as_everyone
    def test_a_mount_is_carried_away_by_none_of_its_parents(self):
        self.write("w/a/b/c/f", "host's")
        policy = '{ filesystem = { allowWrite = { "." }, denyWrite = { "a/b/c/f" }, denyRead = { "a/b/k" } } }'
        self.write("w/a/b/k", "secret")
        got = self.run_sh("""mkdir x; for d in a a/b a/b/c; do mv $d x/; mv $d q; done
            mkdir -p a/b/c; echo stolen >a/b/c/f; rm -rf a; cp -r a copy; cat copy/b/k; cat a/b/k; tar cf t.tar a; tar xOf t.tar""",
                          policy)
        self.assertNotIn("secret", got.out)
        self.assertEqual(("host's", "secret"), (self.read("w/a/b/c/f"), self.read("w/a/b/k")), got)

    def test_raw_devices_of_root(self):
        if os.geteuid() != 0:
            skip("only for root", allowed=True)
        got = self.run_sh("find / -xdev -type b 2>/dev/null | head; mknod d b 259 0; mknod c c 1 3; ls", WRITABLE)
        self.assertEqual("", got.out, got)


class Found(Case):
    """What an attack on an earlier version found."""

    @as_everyone
    def test_temporary_directory_in_dev(self):
        name = "/dev/shm/srt-enforce-%d" % os.getpid()
        with open(name, "w") as file:
            file.write("host's")
        os.chmod(name, 0o666)
        try:
            for base in ("/dev/shm", "/dev", "/proc/self"):
                got = self.run_sh("echo stolen >%s; echo x >/dev/null; touch /dev/made; ls /dev/shm; echo $TMPDIR" % name, "{}",
                                  env={"TMPDIR": base})
                self.assertEqual(0, got.code, got)
                self.assertIn("\n/tmp/srt-lua-", "\n" + got.out)
                with open(name) as file:
                    self.assertEqual("host's", file.read())
        finally:
            os.unlink(name)
        self.assertFalse(os.path.exists("/dev/made"))

    @as_everyone
    def test_allowed_folder_swapped_for_a_link_while_a_run_starts(self):
        self.write("victim/keep", "x")
        self.sh("mkdir out")
        policy = self.policy('{ filesystem = { allowWrite = { ".", "out" } } }')
        swapper = self.start(["/usr/bin/python3", "-c", """import os
while not os.path.exists("stop"):
    try:
        os.rename("out", "x"); os.symlink("../victim", "out"); os.unlink("out"); os.rename("x", "out")
    except OSError:
        pass"""], self.policy(WRITABLE, "swapper.lua"))
        for number in range(40):
            self.run_sh("echo x >../victim/pwned-%d" % number, policy)
        self.write("w/stop")
        swapper.communicate(timeout=20)
        self.assertEqual(["keep"], os.listdir(self.path("victim")))

    @as_everyone
    def test_links_to_the_way_there(self):
        """A root named through a link is compared by where it really is."""
        self.write("data/proj/out/f", "x")
        self.write("victim/f", "x")
        self.sh("ln -s ../data link; rm -r ../data/proj/out; ln -s ../../victim ../data/proj/out")
        top = self.path("w/link/proj")
        got = self.run_sh("echo stolen >%s/out/f" % top, '{ filesystem = { allowWrite = { "%s", "%s/out" } } }' % (top, top),
                          cwd="/")
        self.assertEqual("x", self.read("victim/f"), got)

    @as_everyone
    def test_a_path_too_long_to_look_at(self):
        name = "d" * 200
        made = os.open(self.w, os.O_PATH)
        for _ in range(21):
            os.mkdir(name, dir_fd=made)
            inner = os.open(name, os.O_PATH, dir_fd=made)
            os.close(made)
            made = inner
        os.close(made)
        self.own(self.w)
        got = self.run_srt(["true"], '{ filesystem = { denyRead = { "%s/secret" } } }' % "/".join([name] * 21))
        self.assertEqual(125, got.code, got)
        self.assertIn("can't be protected", got.err)

    @as_everyone
    def test_the_callers_group_keeps_its_priority(self):
        code = "import os; print(os.getpriority(os.PRIO_PROCESS, 0)); os.setpriority(os.PRIO_PGRP, 0, 15)"
        got = self.run_srt(["/usr/bin/python3", "-c", code], "{}")
        self.assertIn("PermissionError", got.err)

    @as_everyone
    def test_nested_namespaces_are_warned_of(self):
        if self.user == "root":
            return
        got = self.run_srt(["true"], '{ allowNestedUserNamespaces = true, filesystem = { allowWrite = { "." } } }')
        self.assertIn("allowNestedUserNamespaces", got.err)


class Outside(Case):
    """Processes of the host can't be signalled, traced or seen."""

    @as_everyone
    def test_everyone_is_only_everyone_inside(self):
        victim = subprocess.Popen(["sleep", "300"], preexec_fn=self.preexec(os.setsid))
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
        victim = subprocess.Popen(["sleep", "300"], preexec_fn=self.preexec(os.setsid))
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
        done = subprocess.run(["sh", "-c", script % (BINARY, self.policy("{}"))], cwd=self.w, env=self.environment(),
                              preexec_fn=self.preexec(os.setsid), capture_output=True, timeout=30)
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
