# SPDX-License-Identifier: Apache-2.0
"""Runs a program as a rootless container would: rootless.py IDS MASKS PROGRAM…

In a user namespace in which the caller is root, alone or with IDS further ids (which takes root outside), with a PID
namespace, mounts and a /proc of its own; with MASKS = 1 parts of that are covered, as engines do it.
"""
import ctypes
import os
import sys

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x10000000, 0x20000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
HIDDEN = ("acpi", "asound", "interrupts", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list")
READ_ONLY = ("bus", "fs", "irq", "sys", "sysrq-trigger")
c = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    if result:
        raise OSError(ctypes.get_errno(), what)


def mount(source, target, kind, flags):
    must(c.mount(source.encode(), target.encode(), kind and kind.encode(), flags, None), target)


def cover():
    for name in filter(os.path.exists, ("/proc/" + name for name in HIDDEN)):
        if os.path.isdir(name):
            mount("none", name, "tmpfs", MS_RDONLY)
        else:
            mount("/dev/null", name, None, MS_BIND)
    for name in filter(os.path.exists, ("/proc/" + name for name in READ_ONLY)):
        mount(name, name, None, MS_BIND | MS_REC)
        mount("none", name, None, MS_BIND | MS_REMOUNT | MS_RDONLY)


def put_maps(pid, uid, gid, ids):
    for name, own in (("uid", uid), ("gid", gid)):
        if name == "gid" and not ids:
            with open("/proc/%d/setgroups" % pid, "w", encoding="ascii") as file:
                file.write("deny")
        with open("/proc/%d/%s_map" % (pid, name), "w", encoding="ascii") as file:
            file.write("0 %d 1\n" % own + ("1 100000 %d\n" % ids if ids else ""))


def main():
    ids, masks, program = int(sys.argv[1]), sys.argv[2] == "1", sys.argv[3:]
    uid, gid = os.geteuid(), os.getegid()
    (ready, tell), (mapped, go) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid:
        os.read(ready, 1)
        put_maps(pid, uid, gid, ids)
        os.write(go, b"x")
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    must(c.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID), "unshare")
    os.write(tell, b"x")
    os.read(mapped, 1)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    inner = os.fork()
    if inner:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]))
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", 0)
    if masks:
        cover()
    for fd in (ready, tell, mapped, go):
        os.close(fd)
    os.execvp(program[0], program)


main()
