# SPDX-License-Identifier: Apache-2.0
"""Runs inside: all calls that change a file's mode, owner, times or attributes, by path and by descriptor; and races."""
import ctypes
import errno
import os
import platform
import sys
import threading

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
NUMBERS = dict(fchmodat2=452, setxattrat=463, removexattrat=466, file_setattr=469)
NUMBERS.update(dict(
    chmod=90, fchmod=91, chown=92, fchown=93, lchown=94, utime=132, setxattr=188, lsetxattr=189, fsetxattr=190,
    removexattr=197, lremovexattr=198, fremovexattr=199, utimes=235, fchownat=260, futimesat=261, fchmodat=268,
    utimensat=280, ioctl=16) if X86 else dict(
    setxattr=5, lsetxattr=6, fsetxattr=7, removexattr=14, lremovexattr=15, fremovexattr=16, ioctl=29, fchmod=52,
    fchmodat=53, fchownat=54, fchown=55, utimensat=88))
EMPTY, NOFOLLOW = 0x1000, 0x100


def call(name, *args):
    args = [ctypes.c_void_p(arg) if isinstance(arg, int) else arg for arg in args]
    ctypes.set_errno(0)
    return "ok" if LIBC.syscall(NUMBERS[name], *args) == 0 else errno.errorcode[ctypes.get_errno()]


def calls(path):
    """Each call as (name, arguments)."""
    name, folder = os.fsencode(path), os.open(os.path.dirname(path) or ".", os.O_PATH)
    last, opened, only = os.fsencode(os.path.basename(path)), os.open(path, os.O_RDONLY), os.open(path, os.O_PATH)
    longs, ids = lambda *values: (ctypes.c_long * len(values))(*values), (os.getuid(), os.getgid())
    fd, value = b"/proc/self/fd/%d" % opened, ctypes.create_string_buffer(b"v")
    yield from (("fchmod", opened, 0o740), ("fchown", opened, *ids), ("fchmodat", folder, last, 0o740),
                ("fchmodat2", folder, last, 0o740, 0), ("fchmodat2", only, b"", 0o740, EMPTY), ("fchmodat", -100, fd, 0o740),
                ("fchownat", folder, last, *ids, 0), ("fchownat", only, b"", *ids, EMPTY), ("fchownat", folder, last, *ids, NOFOLLOW),
                ("utimensat", folder, last, longs(1, 0, 2, 0), 0), ("utimensat", opened, 0, longs(1, 0, 2, 0), 0),
                ("utimensat", only, b"", 0, EMPTY), ("setxattr", name, b"user.a", value, 1, 0),
                ("fsetxattr", opened, b"user.b", value, 1, 0), ("lsetxattr", name, b"user.c", value, 1, 0),
                ("removexattr", name, b"user.a"), ("fremovexattr", opened, b"user.b"), ("lremovexattr", name, b"user.c"))
    if X86:
        yield from (("chmod", name, 0o740), ("chown", name, *ids), ("lchown", name, *ids), ("utime", name, longs(1, 2)),
                    ("utimes", name, longs(1, 0, 2, 0)), ("utimes", name, 0), ("futimesat", folder, last, longs(1, 0, 2, 0)),
                    ("futimesat", opened, 0, longs(1, 0, 2, 0)))
    yield from (("setxattrat", -100, name, 0, b"user.a", value, 16), ("removexattrat", -100, name, 0, b"user.a"),
                ("file_setattr", -100, name, value, 8, 0), ("ioctl", opened, 0x40086602, longs(0x40)),
                ("ioctl", opened, 0x401c5820, longs(0, 0, 0, 0)))


def race(rounds, good, bad):
    """A path in memory, a descriptor's number and a link, each exchanged all the time; how often it was done."""
    memory, stop = ctypes.create_string_buffer(good), []
    files = [os.open(path, os.O_RDONLY) for path in (good, bad)]
    held = os.dup(files[0])
    os.symlink(good, "one")
    os.symlink(bad, "two")

    def swap(turn):
        while not stop:
            turn(0)
            turn(1)
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=swap, args=(turn,)) for turn in (
        lambda i: ctypes.memmove(memory, (good, bad)[i], len(good)), lambda i: os.dup2(files[i], held),
        lambda i: LIBC.renameat2(-100, b"one", -100, b"two", 2))]
    [thread.start() for thread in threads]
    done = [0, 0, 0]
    for _ in range(rounds):
        done[0] += call("fchmodat", -100, memory, 0o606) == "ok"
        done[1] += call("fchmod", held, 0o606) == "ok"
        done[2] += call("fchmodat", -100, b"one", 0o606) == "ok"
    stop.append(1)
    [thread.join() for thread in threads]
    return [0 < count for count in done]


def main():
    if sys.argv[1] == "race":
        print(*race(int(sys.argv[2]), *map(os.fsencode, sys.argv[3:5])))
        return
    for path in sys.argv[1:]:
        print(path, *("%s=%s" % (name, call(name, *args)) for name, *args in calls(path)))


if __name__ == "__main__":
    main()
