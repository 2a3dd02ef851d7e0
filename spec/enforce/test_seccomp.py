# SPDX-License-Identifier: Apache-2.0
"""The system call filter as a process inside meets it."""
import os
import shutil
import socket

from lib import Case, as_everyone, main, need, skip

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
        if shutil.which("ip"):
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
        if shutil.which("bwrap"):
            got = self.run_sh("bwrap --ro-bind / / true && echo ok; bwrap --bind / / sh -c 'echo x >../f'; cat /etc/hostname >f",
                              '{ allowNestedUserNamespaces = true, filesystem = { allowWrite = { "." } } }')
            self.assertIn("ok", got.out, got)
            self.assertFalse(os.path.exists(self.path("f")), "the inner one can loosen nothing")

    def test_nesting_as_root_is_refused_with_its_reason(self):
        if os.geteuid() != 0:
            skip("only for root", allowed=True)
        got = self.run_srt(["true"], "{ allowNestedUserNamespaces = true }")
        self.assertEqual(125, got.code)
        self.assertIn("/proc", got.err)


if __name__ == "__main__":
    main()
