# SPDX-License-Identifier: Apache-2.0
"""Descriptors that a command is given lead past the mounts, to the host's own."""
import os
import subprocess

from lib import BINARY, Case, as_everyone, main, need, need_root

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
        need_root("what it does, only root may")
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


if __name__ == "__main__":
    main()
