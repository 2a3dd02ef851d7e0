# SPDX-License-Identifier: Apache-2.0
"""The system call filter as a process inside meets it."""
import os
import socket

from lib import Case, as_everyone, has, main, need, need_root, skip

UNIX, INET, INET6, NETLINK, PACKET, ALG, VSOCK = 1, 2, 10, 16, 17, 38, 40
STREAM, DGRAM, RAW, SEQPACKET = 1, 2, 3, 5


class Calls(Case):
    def answers(self, want, policy="{}", **more):
        got = self.probe(" ".join(want), policy, **more)
        for what, answer in want.items():
            self.assertEqual(answer, got.get(what), (self.user, what))

    @as_everyone
    def test_sockets(self):
        self.answers({
            "socket %d %d 0" % (INET, STREAM): "ok", "socket %d %d 0" % (INET, DGRAM): "ok",
            "socket %d %d 0" % (INET6, STREAM): "ok", "socket %d %d 0" % (NETLINK, RAW): "ok",
            "socket %d %d 9" % (NETLINK, RAW): "EPERM", "socket %d %d 15" % (NETLINK, DGRAM): "EPERM",
            "socket %d %d 0" % (UNIX, STREAM): "EPERM", "socket %d %d 0" % (UNIX, DGRAM): "EPERM",
            "socket %d %d 0" % (VSOCK, STREAM): "EAFNOSUPPORT", "socket %d %d 0" % (PACKET, RAW): "EAFNOSUPPORT",
            "socket %d %d 0" % (ALG, SEQPACKET): "EAFNOSUPPORT", "socket %d %d 1" % (INET, RAW): "EPERM",
            "socket_high %d" % STREAM: "EPERM", "socketpair %d" % STREAM: "ok", "socketpair %d" % SEQPACKET: "ok",
            "socketpair %d" % DGRAM: "EPERM", "socketpair %d" % RAW: "EPERM"})

    @as_everyone
    def test_all_unix_sockets_opens_nothing_else(self):
        self.answers({
            "socket %d %d 0" % (UNIX, STREAM): "ok", "socketpair %d" % DGRAM: "ok",
            "socket %d %d 0" % (VSOCK, STREAM): "EAFNOSUPPORT", "call 425": "EPERM",
            "socket %d %d 0" % (PACKET, RAW): "EAFNOSUPPORT"}, "{ network = { allowAllUnixSockets = true } }")

    @as_everyone
    def test_host_sockets_by_path_and_name(self):
        named, abstract = self.path("w/s.sock"), "\0srt-enforce-%d" % os.getpid()
        servers = []
        for kind, address in ((socket.SOCK_STREAM, named), (socket.SOCK_DGRAM, named + ".d"), (socket.SOCK_STREAM, abstract)):
            server = socket.socket(socket.AF_UNIX, kind)
            server.bind(address)
            servers.append(server)
            if kind == socket.SOCK_STREAM:
                server.listen(4)
        self.own(self.w)
        policy = '{ filesystem = { allowWrite = { "." } } }'
        self.answers({"connect s.sock": "EPERM", "pairsend s.sock.d": "EPERM"}, policy)
        servers[1].setblocking(False)
        self.assertRaises(BlockingIOError, servers[1].recv, 10)
        code = ("import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect(%r)" % abstract)
        got = self.run_srt(["/usr/bin/python3", "-c", code], "{ network = { allowAllUnixSockets = true } }")
        self.assertIn("ConnectionRefused", got.err, "abstract sockets belong to the host's network namespace")
        for server in servers:
            server.close()

    @as_everyone
    def test_the_upper_half_of_a_register(self):
        """The kernel takes ints: a filter that compares 64 bits would let these through."""
        if os.uname().machine != "x86_64":
            skip("numbers of x86-64", allowed=True)
        code = """import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *args):
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number), *(ctypes.c_ulong(arg) for arg in args))
    print(number, answer, ctypes.get_errno())
pair = ctypes.addressof((ctypes.c_int * 2)())
high = 1 << 32
for args in ((41, high | 1, 1, 0), (41, high | 1, high | 2, high), (41, 16, 3, high | 9), (53, high | 1, high | 2, 0, pair),
             (53, 1, high | 2, 0, pair), (272, high | 0x10000000), (90, 0, high | 0o4755), (91, 0, high | 0o4755), (16, 0, high | 0x5412, pair)):
    call(*args)
"""
        got = self.run_srt(["/usr/bin/python3", "-c", code], "{}")
        self.assertEqual([["-1", "1"]] * 9, [line.split()[1:] for line in got.out.splitlines()], got)

    @as_everyone
    def test_programs_that_make_namespaces(self):
        for program in ("unshare -Ur true", "unshare -m true", "unshare -n true", "nsenter -t 1 -m true",
                        "bwrap --ro-bind / / true", "chroot / true"):
            if has(program.split()[0]):
                got = self.run_sh(program + "; echo $?", "{}")
                self.assertNotEqual("0", got.out.strip(), (program, got))

    @as_everyone
    def test_calls_that_are_refused(self):
        want = {"call %d" % number: "EPERM" for number in (
            321, 298, 323, 425, 426, 427, 246, 320, 175, 313, 176, 164, 227, 305, 159, 248, 249, 250, 304, 167, 168, 169,
            103, 163, 165, 166, 155, 428, 429, 430, 431, 432, 433, 442, 467, 308)}
        if os.uname().machine != "x86_64":
            skip("numbers of x86-64", allowed=True)
        want.update({"clone3": "ENOSYS", "call 437": "ENOSYS", "call 470": "ENOSYS", "call 600": "ENOSYS", "keyctl": "EPERM",
                     "handle /etc/passwd": "EPERM"})
        self.answers(want)

    @as_everyone
    def test_namespaces_and_mounts(self):
        want = {"unshare 0x%x" % flag: "EPERM" for flag in (
            0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80)}
        want.update({"clone 0x%x" % flag: "EPERM" for flag in (0x20000, 0x10000000, 0x40000000, 0x20000000)})
        want.update({"unshare 0x200": "ok", "clone 0x0": "ok", "setns /proc/self/ns/mnt": "EPERM", "chroot /": "EPERM",
                     "bindmount /tmp /tmp": "EPERM", "umount /proc": "EPERM", "umount .": "EPERM", "remount .": "EPERM",
                     "pivot .": "EPERM"})
        self.answers(want, '{ filesystem = { allowWrite = { "." } } }')

    @as_everyone
    def test_set_id_bits(self):
        self.write("w/f", "x")
        want = {"%s %s" % (operation, name): "EPERM" for operation, name in (
            ("setuid_chmod", "f"), ("setuid_fchmod", "f"), ("setuid_fchmodat2", "f"), ("setuid_open", "n1"),
            ("setuid_creat", "n2"), ("setuid_mknod", "n3"), ("setuid_tmpfile", "."), ("setuid_mkdir", "n4"), ("setuid_high", "f"))}
        want["setgid_chmod f"] = "EPERM" if self.user == "root" else "ok"
        want["creat plain"] = "ok"
        self.answers(want, '{ filesystem = { allowWrite = { "." } } }')
        self.assertEqual(["f", "plain"], sorted(os.listdir(self.w)))

    @as_everyone
    def test_terminal_injection(self):
        self.answers({"ioctl 0x5412": "EPERM", "ioctl 0x541c": "EPERM", "ioctl 0x100005412": "EPERM"})

    @as_everyone
    def test_netlink_reads_and_changes_nothing(self):
        code = "import socket; print(socket.if_nameindex())"
        got = self.run_srt(["/usr/bin/python3", "-c", code], "{}")
        self.assertEqual("[(1, 'lo')]\n", got.out, got)
        if has("ip"):
            got = self.run_sh("ip link add d type dummy; echo $?; ip addr add 10.9.9.9/8 dev lo; echo $?", "{}")
            self.assertNotIn("0\n", got.out.replace("10", ""), got)

    @as_everyone
    def test_foreign_abis(self):
        if os.uname().machine != "x86_64":
            skip("x32 is of x86-64", allowed=True)
        source = self.write("x32.c", """#include <unistd.h>
#include <sys/syscall.h>
int main(void) { return syscall(0x40000000 + 41, 1, 1, 0) < 0; }\n""")
        need("cc")
        self.sh("cc -o ../x32 %s" % source)
        got = self.run_srt([self.path("x32")], "{}")
        self.assertEqual(128 + 31, got.code, "the process is killed (SIGSYS): " + repr(got))

    @as_everyone
    def test_calls_by_the_old_interrupt(self):
        if os.uname().machine != "x86_64":
            skip("int 0x80 is of x86", allowed=True)
        source = self.write("int80.c", """int main(void) {
	long answer = 359; /* socket(AF_UNIX, SOCK_STREAM, 0) of i386 */
	__asm__ volatile("int $0x80" : "+a"(answer) : "b"(1), "c"(1), "d"(0) : "memory");
	return answer < 0;
}\n""")
        need("cc")
        self.sh("cc -o ../int80 %s" % source)
        got = self.run_srt([self.path("int80")], "{}")
        self.assertIn(got.code, (128 + 31, 128 + 11), "SIGSYS, or SIGSEGV where the kernel knows no such call: " + repr(got))

    @as_everyone
    def test_ordinary_calls_work(self):
        """A filter that refuses too much breaks programs in odd ways."""
        code = """import asyncio, fcntl, multiprocessing, os, select, signal, socket, subprocess, threading
os.memfd_create("x"); os.eventfd(0); os.pipe2(os.O_CLOEXEC); select.epoll(); os.getrandom(4); os.sched_getaffinity(0)
os.chmod("f", 0o600); os.mkdir("d", 0o700); os.mkfifo("p"); os.posix_fallocate(os.open("f", os.O_RDWR), 0, 10); os.sync()
os.setpgid(os.fork() or os.kill(os.getpid(), 9) or 0, 0)
a, b = socket.socketpair(); socket.send_fds(a, [b"x"], [0]); assert socket.recv_fds(b, 1, 1)[1]
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); c = socket.create_connection(s.getsockname()); c.close()
t = threading.Thread(target=lambda: None); t.start(); t.join()
assert subprocess.run(["true"]).returncode == 0
with multiprocessing.get_context("fork").Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
asyncio.run(asyncio.sleep(0)); fcntl.flock(os.open("f", os.O_RDWR), fcntl.LOCK_EX); signal.pthread_kill(threading.get_ident(), 0)
print("fine")"""
        self.write("w/f", "x")
        got = self.run_srt(["/usr/bin/python3", "-c", code], '{ filesystem = { allowWrite = { "." } } }')
        self.assertEqual("fine\n", got.out, got)

    def test_nested_sandboxes(self):
        self.user = "user"
        self.fresh()
        import lib
        inner = self.policy("{}", "inner.lua")
        got = self.run_srt([lib.BINARY, "run", inner, "--", "true"], "{}")
        self.assertEqual(125, got.code)
        self.assertIn("cannot make namespaces", got.err)
        got = self.run_srt([lib.BINARY, "run", inner, "--", "sh", "-c", "echo inside; echo x >f"],
                           '{ allowNestedUserNamespaces = true, filesystem = { allowWrite = { "." } } }')
        self.assertEqual("inside\n", got.out, got)
        self.assertFalse(os.path.exists(self.path("w/f")), "the inner one may not write")
        if has("bwrap"):
            got = self.run_sh("bwrap --ro-bind / / true && echo ok; bwrap --bind / / sh -c 'echo x >../f'; cat /etc/hostname >f",
                              '{ allowNestedUserNamespaces = true, filesystem = { allowWrite = { "." } } }')
            self.assertIn("ok", got.out, got)
            self.assertFalse(os.path.exists(self.path("f")), "the inner one can loosen nothing")

    def test_nesting_as_root_is_refused_with_its_reason(self):
        need_root("what it does, only root may")
        got = self.run_srt(["true"], "{ allowNestedUserNamespaces = true }")
        self.assertEqual(125, got.code)
        self.assertIn("/proc", got.err)


if __name__ == "__main__":
    main()
