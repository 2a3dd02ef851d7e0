# SPDX-License-Identifier: Apache-2.0
"""Ways out that are no file's: other processes, mounts, namespaces, the kernel's hooks, descriptors that arrive, races."""
import os
import shutil
import socket
import stat
import subprocess
import threading

from lib import BINARY, ORDINARY, Case, as_everyone, main, need, need_root, skip

WRITABLE = '{ filesystem = { allowWrite = { "." } } }'
NESTED = '{ allowNestedUserNamespaces = true, filesystem = { allowWrite = { "." }, denyRead = { "sec" } } }'


def answers(result):
    """{"name": "answer"} of a program's lines."""
    return dict(line.rsplit(" ", 1) for line in result.out.splitlines())


class Processes(Case):
    OPENED = """import errno, os, sys
def attempt(name, act):
    try:
        act()
        print(name, "ok")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
target = sys.argv[1]
for pid in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
    who = "1" if pid == "1" else "self" if int(pid) == os.getpid() else "other"
    for link in ("root", "cwd"):
        attempt(who + " " + link, lambda: os.open("/proc/%s/%s%s" % (pid, link, target), os.O_WRONLY))
    attempt(who + " mem", lambda: os.open("/proc/%s/mem" % pid, os.O_RDWR))
    attempt(who + " fd", lambda: [os.open("/proc/%s/fd/%s" % (pid, fd), os.O_RDWR) for fd in os.listdir("/proc/%s/fd" % pid)])
"""

    @as_everyone
    def test_by_every_visible_process(self):
        """PID 1 can't be looked into at all; the rest are as confined as who asks."""
        got = answers(self.run_srt(["/usr/bin/python3", "-c", self.OPENED, self.write("out/f", "host's")], WRITABLE))
        self.assertEqual({"1 root": "EACCES", "1 cwd": "EACCES", "1 mem": "EACCES", "1 fd": "EACCES", "self root": "EROFS"},
                         {name: got[name] for name in ("1 root", "1 cwd", "1 mem", "1 fd", "self root")})
        self.assertEqual("ok", got["self mem"])

    @as_everyone
    def test_a_traced_helper_is_as_confined(self):
        """A tracer may make its child do what it likes; PID 1, the one with other rights, can't be traced."""
        code = """import ctypes, errno, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    try:
        os.open(sys.argv[1], os.O_WRONLY)
        os._exit(0)
    except OSError as error:
        os._exit(error.errno)
os.waitpid(child, os.WUNTRACED)
print("own", libc.ptrace(16, child, None, None))
os.waitpid(child, os.WUNTRACED)
libc.ptrace(17, child, None, None)
os.kill(child, signal.SIGCONT)
print("helper", errno.errorcode[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])])
print("first", libc.ptrace(16, 1, None, None) and errno.errorcode[ctypes.get_errno()])"""
        got = answers(self.run_srt(["/usr/bin/python3", "-c", code, self.write("out/f", "host's")], WRITABLE))
        self.assertEqual({"own": "0", "helper": "EROFS", "first": "EPERM"}, got)


class Rights(Case):
    def test_a_setuid_program_gives_none(self):
        need_root("to make one")
        self.user = "user"
        self.fresh()
        # On a mount where the bit counts outside; the sandbox's never let it.
        program = self.path("w/id")
        shutil.copy(need("id"), program)
        os.chown(program, 0, 0)
        os.chmod(program, 0o4755)
        outside = self.sh("./id -u").strip()
        if outside != "0":
            skip("set-id bits don't count in /tmp here", allowed=True)
        got = self.run_sh("./id -u", WRITABLE)
        self.assertEqual(str(ORDINARY), got.out.strip(), got)

    @as_everyone
    def test_hooks_of_the_kernel(self):
        """Opened, not written: each would run a program as root on the host."""
        hooks = {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/fs/binfmt_misc/register",
                 "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/sys/power/state"}
        hooks |= {os.path.join(folder, name) for folder, _, names in os.walk("/sys/fs/cgroup") for name in names
                  if name in ("release_agent", "notify_on_release", "cgroup.procs", "devices.allow")}
        hooks = sorted(filter(os.path.exists, hooks))[:60]
        self.assertIn("/proc/sys/kernel/core_pattern", hooks)
        got = self.probe(" ".join("wopen " + hook for hook in hooks), WRITABLE)
        self.assertLessEqual(set(got.values()), {"EROFS"} if self.user == "root" else {"EROFS", "EACCES"}, got)


class Mounts(Case):
    @as_everyone
    def test_nothing_is_mounted_over_or_moved(self):
        self.write("w/sec/k", "secret")
        want = {"bindmount . sec": "EPERM", "bindmount /tmp .": "EPERM", "umount sec": "EPERM", "umount /": "EPERM",
                "remount .": "EPERM", "remount /": "EPERM", "pivot .": "EPERM", "chroot .": "EPERM", "setns /proc/1/ns/mnt": "EACCES",
                "setns /proc/self/ns/mnt": "EPERM", "call 429": "EPERM", "call 428": "EPERM", "call 430": "EPERM", "call 442": "EPERM",
                "call 467": "EPERM", "clone3": "ENOSYS", "unshare 0x10020000": "EPERM", "call 167": "EPERM", "call 163": "EPERM",
                "call 179": "EPERM", "call 443": "EPERM", "handle /etc/passwd": "EPERM"}
        if os.uname().machine != "x86_64":
            skip("numbers of x86-64", allowed=True)
        got = self.probe(" ".join(want), '{ filesystem = { allowWrite = { "." }, denyRead = { "sec" } } }')
        self.assertEqual(want, got)

    def test_they_are_possible_where_nobody_refuses_them(self):
        """The positive control: root, in mounts of its own."""
        need_root("what it does, only root may")
        from lib import PROBE
        self.sh("mkdir a b")
        done = subprocess.run([need("unshare"), "-m", PROBE, "bindmount", "a", "b", "umount", "b", "chroot", ".", "handle", "."],
                              cwd=self.w, capture_output=True, text=True)
        self.assertEqual(4, done.stdout.count(": ok"), done)

    @as_everyone
    def test_fanotify_decides_nothing(self):
        """A listener that may refuse other programs' opens needs a capability that nobody inside has."""
        code = """import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for name, flags in (("content", 4), ("pre", 8)):
    print(name, libc.fanotify_init(flags, 0) < 0 and errno.errorcode[ctypes.get_errno()])"""
        got = answers(self.run_srt(["/usr/bin/python3", "-c", code], WRITABLE))
        self.assertEqual({"content": "EPERM", "pre": "EPERM"}, got)

    def test_the_hosts_later_mounts_do_not_show(self):
        need_root("what it does, only root may")
        self.sh("mkdir m")
        policy = self.policy(WRITABLE)
        script = """'%s' run '%s' -- sh -c 'touch ready; while [ ! -e go ]; do sleep 0.02; done; ls m; touch m/inside' &
            while [ ! -e ready ]; do sleep 0.02; done; mount -t tmpfs none m; touch m/host go; wait $!; ls m""" % (BINARY, policy)
        done = subprocess.run([need("unshare"), "-m", "--propagation", "shared", "sh", "-ec", script], cwd=self.w,
                              env=self.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual("host\n", done.stdout, done)
        self.assertEqual(["inside"], os.listdir(self.path("w/m")))


class Nested(Case):
    """With allowNestedUserNamespaces, a command is root in mounts of its own, and gains nothing outside of what it had."""

    SCRIPT = """mount --bind "$1" mnt && echo bound; (echo stolen >mnt/f) 2>/dev/null && echo "wrote bound"
mount -o remount,bind,rw mnt 2>/dev/null && (echo stolen >mnt/f) 2>/dev/null && echo "wrote remounted"
mount -o remount,bind,rw / 2>/dev/null && (echo stolen >"$1/f") 2>/dev/null && echo "wrote root"
umount -l sec 2>/dev/null; cat sec/k 2>/dev/null && echo "read mask"
mount --rbind / all 2>/dev/null; umount -l all"$2/sec" 2>/dev/null; cat all"$2/sec/k" 2>/dev/null && echo "read below"
mount --bind / all 2>/dev/null; cat all"$2/sec/k" 2>/dev/null && echo "read plain bind"
(echo stolen >all"$1/f") 2>/dev/null && echo "wrote below"
chroot all sh -c 'echo stolen >"$0/f"' "$1" 2>/dev/null && echo "wrote in chroot"
mount -t tmpfs none own && echo x >own/x && echo "own tmpfs"
echo x >here && echo "wrote here" """

    def test_bind_mounts_of_its_own(self):
        self.user = "user"
        self.fresh()
        self.write("out/f", "host's")
        self.write("w/sec/k", "secret")
        self.sh("mkdir mnt all own")
        script = self.write("s.sh", self.SCRIPT)
        got = self.run_srt([need("unshare"), "-Urm", "sh", script, self.path("out"), self.w], NESTED)
        self.assertEqual(["bound", "own tmpfs", "wrote here"], got.out.splitlines(), got)
        self.assertEqual("host's", self.read("out/f"))
        self.assertFalse(os.path.exists(self.path("w/own/x")))


class Arriving(Case):
    """Descriptors that somebody outside sends in through a socket that was kept: its owner's to choose, and yet."""

    CODE = """import errno, os, socket, sys
sock = socket.socket(fileno=int(sys.argv[1]))
_, fds, _, _ = socket.recv_fds(sock, 1, 2)
folder, file = fds
def attempt(name, act):
    try:
        act()
        print(name, "ok")
    except OSError as error:
        print(name, errno.errorcode[error.errno])
attempt("write", lambda: os.open("f", os.O_WRONLY, dir_fd=folder))
attempt("create", lambda: os.open("n", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
attempt("mkdir", lambda: os.mkdir("d", dir_fd=folder))
attempt("unlink", lambda: os.unlink("f", dir_fd=folder))
attempt("rename", lambda: os.rename("f", "g", src_dir_fd=folder, dst_dir_fd=folder))
attempt("rename in", lambda: os.rename("own", "g", dst_dir_fd=folder))
attempt("truncate", lambda: os.truncate("/proc/self/fd/%d/f" % folder, 1))
attempt("reopen", lambda: os.open("/proc/self/fd/%d" % file, os.O_WRONLY))
attempt("here", lambda: os.open("own", os.O_WRONLY))
"""

    @as_everyone
    def test_a_folder_and_a_file_sent_in(self):
        """Landlock holds where no mount can: a folder of the host's own mount, and no write by it."""
        self.write("out/f", "host's")
        self.write("w/own", "x")
        ours, theirs = socket.socketpair()
        folder, file = os.open(self.path("out"), os.O_RDONLY), os.open(self.path("out/f"), os.O_RDONLY)

        def send():
            socket.send_fds(ours, [b"x"], [folder, file])
        thread = threading.Thread(target=send)
        thread.start()
        got = self.run_srt(["/usr/bin/python3", "-c", self.CODE, str(theirs.fileno())], WRITABLE,
                           pass_fds=[theirs.fileno()], options=["--keep-fd", str(theirs.fileno())])
        thread.join()
        for fd in (folder, file):
            os.close(fd)
        ours.close()
        theirs.close()
        want = dict.fromkeys(("write", "create", "mkdir", "unlink", "rename", "truncate", "reopen"), "EACCES")
        self.assertEqual(want | {"rename in": "EXDEV", "here": "ok"}, answers(got), got)
        self.assertEqual((["f"], "host's"), (os.listdir(self.path("out")), self.read("out/f")))


class Races(Case):
    @as_everyone
    def test_a_folder_and_a_link_change_places_all_the_time(self):
        """Whatever the name is when the write happens, it lands where writing is allowed."""
        self.write("out/f", "host's")
        self.sh("mkdir d; ln -s %s l; ln -s ../out r" % self.path("out"))
        code = """import ctypes, os, time
libc = ctypes.CDLL(None)
stop = time.monotonic() + 2
if os.fork() == 0:
    while time.monotonic() < stop:
        for name in (b"l", b"r"):
            libc.renameat2(-100, b"d", -100, name, 2)
    os._exit(0)
if os.fork() == 0:
    while time.monotonic() < stop:
        for act in (lambda: os.rename("d/x", "d/y"), lambda: os.unlink("d/f"), lambda: os.chmod("d/f", 0o777),
                    lambda: os.link("d/f", "stolen-%f" % time.monotonic())):
            try:
                act()
            except OSError:
                pass
    os._exit(0)
wrote = refused = 0
while time.monotonic() < stop:
    try:
        with open("d/x", "w") as file:
            file.write("stolen")
        wrote += 1
    except OSError:
        refused += 1
os.wait(), os.wait()
print("wrote" if wrote else "never", "refused" if refused else "never")"""
        got = self.run_srt(["/usr/bin/python3", "-c", code], WRITABLE)
        self.assertEqual("wrote refused\n", got.out, got)
        self.assertEqual((["f"], "host's", 0o644),
                         (os.listdir(self.path("out")), self.read("out/f"), stat.S_IMODE(os.stat(self.path("out/f")).st_mode)))
        self.assertEqual(1, os.stat(self.path("out/f")).st_nlink)

    @as_everyone
    def test_a_protected_file_in_a_folder_that_is_moved_about(self):
        self.write("w/a/b/f", "host's")
        self.sh("mkdir c")
        code = """import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
stop = time.monotonic() + 2
if os.fork() == 0:
    while time.monotonic() < stop:
        for one, two in ((b"a", b"c"), (b"a/b", b"c"), (b"a/b/f", b"c")):
            if libc.renameat2(-100, one, -100, two, 2) == 0:
                print("moved", one)
    os._exit(0)
while time.monotonic() < stop:
    for name in ("a/b/f", "c/b/f", "c/f", "c"):
        try:
            with open(name, "r+") as file:
                file.write("stolen")
        except OSError:
            pass
os.wait()
print("end")"""
        got = self.run_srt(["/usr/bin/python3", "-c", code], '{ filesystem = { allowWrite = { "." }, denyWrite = { "a/b/f" } } }')
        self.assertEqual(("end\n", "host's"), (got.out, self.read("w/a/b/f")), got)


if __name__ == "__main__":
    main()
