# SPDX-License-Identifier: Apache-2.0
"""Runs inside: the raw system calls that make names, each answer a word.

``python3 calls.py prepare`` makes a tree in the working directory, on the host. ``python3 calls.py kernel`` tries on it all
that the calls can be asked for, and prints each answer, then the tree. With a guard and without it must print the same.
``python3 calls.py make PATH`` tries to make PATH in every way there is, and prints the answers.
"""
import ctypes
import errno
import os
import platform
import re
import stat
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = {"open": 2, "creat": 85, "mkdir": 83, "mknod": 133, "symlink": 88, "link": 86, "rename": 82, "renameat": 264,
       "openat": 257, "mkdirat": 258, "mknodat": 259, "symlinkat": 266, "linkat": 265, "renameat2": 316, "openat2": 437,
       "io_uring_setup": 425}
ARM = {"openat": 56, "mkdirat": 34, "mknodat": 33, "symlinkat": 36, "linkat": 37, "renameat": 38, "renameat2": 276,
       "openat2": 437, "io_uring_setup": 425}
NUMBERS = X86 if platform.machine() == "x86_64" else ARM
AT, HERE = -100, os.getcwd()
C, W, R, X, T = os.O_CREAT, os.O_WRONLY, os.O_RDWR, os.O_EXCL, os.O_TRUNC
FIFO, REG = stat.S_IFIFO, stat.S_IFREG
PATH_MAX = 4096


def call(name, *args):
    """The result, or the errno's name; None where the machine has no such call."""
    if name not in NUMBERS:
        return None
    values = [ctypes.c_char_p(os.fsencode(a)) if isinstance(a, str) else ctypes.c_long(a) for a in args]
    result = LIBC.syscall(ctypes.c_long(NUMBERS[name]), *values)
    if result >= 0:
        return result
    return errno.errorcode[ctypes.get_errno()]


def opened(result):
    """Closes what was opened: a descriptor's number is no answer."""
    if not isinstance(result, int):
        return result
    link = os.readlink("/proc/self/fd/%d" % result).replace(HERE, "")
    flags = open("/proc/self/fdinfo/%d" % result).read().split("flags:\t")[1].split("\n")[0]
    os.close(result)
    return "%s %s" % (re.sub("#[0-9]+", "#", link) if link.startswith("/w") else "", flags)


def prepare():
    for folder in ("w", "w/d", "w/d/e", "w/full", "w/full/x", "w/sticky", "w/setgid", "w/closed", "w/noexec", "w/gone"):
        os.mkdir(folder)
    os.chmod("w/sticky", 0o1777)
    os.chmod("w/setgid", 0o2775)
    for file in ("w/f", "w/g", "w/d/f", "w/full/f"):
        with open(file, "w") as out:
            out.write("0123456789")
    os.chmod("w/g", 0o400)
    os.chmod("w/closed", 0o500)
    os.chmod("w/noexec", 0o600)
    for name, target in (("lf", "f"), ("ld", "d"), ("dangling", "made-by-link"), ("chain", "dangling2"), ("out", "/etc"),
                         ("dangling2", "d/made-by-chain"), ("loop", "loop2"), ("loop2", "loop"), ("up", "../w/d"),
                         ("absolute", HERE + "/w/made-absolute"), ("nowhere", "no/such"), ("slash", "d/"),
                         ("self", "/proc/self/cwd/w/made-by-self"), ("sticky/l", "made")):
        os.symlink(target, "w/" + name)
    os.mkfifo("w/fifo")


def kernel_cases():
    d, o_path, f = os.open("w/d", os.O_RDONLY), os.open("w/d", os.O_PATH), os.open("w/f", os.O_RDONLY)
    gone = os.open("w/gone", os.O_RDONLY)
    os.rmdir("w/gone")
    long, longer = "x" * 255, "x" * 256
    for name in ("f", "new1", "lf", "ld", "dangling", "chain", "loop", "absolute", "nowhere", "slash", "d", "d/", "new2/",
                 "no/such", "f/x", "closed/x", "noexec/x", "g", ".", "..", "d/.", "d/..", "lf/x", "ld/new3", "up/new4",
                 "out/srt-lua-test", "sticky/l", "sticky/n", "setgid/n", long, longer, "d//new5", "./d/../new6", "self"):
        path = "w/" + name
        for flags in (C | W, C | R | X, C | W | os.O_NOFOLLOW, C | os.O_RDONLY, C | W | T, C | R | os.O_APPEND | os.O_CLOEXEC,
                      C | W | os.O_DIRECTORY, C | os.O_PATH, C | R | os.O_NONBLOCK | os.O_SYNC):
            yield "openat %s %o" % (name[:20], flags), opened(call("openat", AT, path, flags, 0o666))
        yield "open " + name[:20], opened(call("open", path, C | W, 0o640))
        yield "creat " + name[:20], opened(call("creat", path, 0o600))
    for name in ("m1", "m2/", "f", "f/", "d", "d/", ".", "..", "lf", "dangling", "dangling/", "no/such", "f/x", "closed/x",
                 "ld/m3", "loop/x", longer, "", "setgid/m", "out/srt-lua-test", "m4/."):
        path = name and "w/" + name
        yield "mkdir " + name[:20], call("mkdir", path, 0o777)
        yield "mkdirat " + name[:20], call("mkdirat", AT, path, 0o1755)
        yield "mknod " + name[:20], call("mknod", path, REG | 0o644, 0)
        yield "mknodat " + name[:20], call("mknodat", AT, path + "n", FIFO | 0o644, 0)
        yield "mknodat char " + name[:20], call("mknodat", AT, path + "c", stat.S_IFCHR | 0o644, 0x103)
        yield "mknodat bad " + name[:20], call("mknodat", AT, path + "b", stat.S_IFLNK | 0o644, 0)
        yield "symlink " + name[:20], call("symlink", "some where", path + "s")
        yield "symlinkat " + name[:20], call("symlinkat", "t", AT, path)
        yield "symlink empty " + name[:20], call("symlink", "", path + "e")
        yield "link " + name[:20], call("link", "w/f", path + "l")
        yield "linkat " + name[:20], call("linkat", AT, "w/lf", AT, path + "h", 0)
        yield "linkat follow " + name[:20], call("linkat", AT, "w/lf", AT, path + "k", 0x400)
        yield "linkat bad " + name[:20], call("linkat", AT, "w/f", AT, path + "z", 0x8)
        yield "link dir " + name[:20], call("link", "w/d", path + "y")
    for dir, name in ((d, "at1"), (o_path, "at2"), (f, "at3"), (999, "at4"), (-7, "at5"), (gone, "at6"), (d, ""),
                      (d, HERE + "/w/at7"), (999, HERE + "/w/at8"), (d, "../at9"), (d, "e/at10"), ((1 << 32) + d, "at11")):
        for act in ("mkdirat", "openat"):
            args = (0o700,) if act == "mkdirat" else (C | W | X, 0o644)
            got = call(act, dir, name + act if name else name, *args)
            yield "%s %s" % (act, name.replace(HERE, "")), opened(got) if act == "openat" else got
        yield "symlinkat at " + name.replace(HERE, ""), call("symlinkat", "t", dir, name and name + "s")
    yield "tmpfile", opened(call("openat", AT, "w", os.O_TMPFILE | R, 0o600))
    yield "tmpfile creat", opened(call("openat", AT, "w", os.O_TMPFILE | R | C, 0o600))
    temp = call("openat", AT, "w", os.O_TMPFILE | R, 0o644)
    for at in ("w/linked1", "w/linked2", "w/f"):
        yield "link tmpfile " + at, call("linkat", AT, "/proc/self/fd/%d" % temp, AT, at, 0x400)
    yield "link unfollowed", call("linkat", AT, "/proc/self/fd/%d" % temp, AT, "w/linked3", 0)
    yield "link by dirfd", call("linkat", temp, "", AT, "w/linked4", 0x1000) in (0, "ENOENT")
    if os.path.exists("w/linked4"):
        os.unlink("w/linked4")
    os.close(temp)
    yield "pointers", [call("openat", AT, 8, C | W, 0o644), call("mkdirat", AT, 0, 0o755), call("renameat2", AT, "w/f", AT, 8, 0),
                       call("linkat", AT, 8, AT, "w/p", 0), call("symlinkat", 8, AT, "w/p")]
    deep = "w/" + "./" * 2046 + "d"
    yield "long path", [call("mkdirat", AT, deep[:4095], 0o700), call("mkdirat", AT, "w/" + "./" * 2047, 0o700),
                        call("mkdirat", AT, "/" * 4094 + "x", 0o700) in ("EROFS", "EACCES", 0)]
    if os.path.exists("/x"):
        os.rmdir("/x")
    yield "empty open", call("openat", AT, "", C | W, 0o644)
    for old, new in (("f", "r1"), ("r1", "f"), ("d", "r2"), ("r2/", "d/"), ("f", "d"), ("d", "f"), ("d", "full"), ("d", "d/e/x"),
                     ("f/", "r3"), ("f", "r3/"), ("none", "r4"), (".", "r5"), ("d/..", "r6"), ("d", "r7/."), ("lf", "r8"),
                     ("r8", "lf"), ("f", "f"), ("d", "d"), ("f", "no/such"), ("f", "g"), ("fifo", "r9"), ("r9", "fifo"),
                     ("f", "out/x"), ("closed", "r10"), ("r10", "closed"), ("f", longer), ("ld/", "r11")):
        for act, flags in (("rename", ()), ("renameat", None), ("renameat2", 0), ("renameat2", 1), ("renameat2", 2),
                           ("renameat2", 3), ("renameat2", 64)):
            if flags == ():
                got = call(act, "w/" + old, "w/" + new)
            elif flags is None:
                got = call(act, AT, "w/" + old, AT, "w/" + new)
            else:
                got = call(act, AT, "w/" + old, AT, "w/" + new, flags)
            yield "%s %s %s %s" % (act, old, new[:20], flags), got
    os.chdir("w/d")
    yield "relative", [call("mkdirat", AT, "rel", 0o700), call("openat", AT, "../rel2", C | X | W, 0o600) and 1]
    os.mkdir("lost")
    os.chdir("lost")
    os.rmdir("../lost")
    yield "lost", [call("mkdirat", AT, "x", 0o700), call("mkdirat", AT, "../back", 0o700), call("openat", AT, "x", C | W, 0o600)]
    os.chdir(HERE)
    for mask in (0o022, 0o077, 0, 0o777, 0o7):
        os.umask(mask)
        yield "umask %o" % mask, [call("mkdirat", AT, "w/um-d%o" % mask, 0o777), opened(call("openat", AT, "w/um-f%o" % mask, C | W, 0o666)),
                                  call("mknodat", AT, "w/um-n%o" % mask, FIFO | 0o666, 0)]
    os.umask(0o022)
    for path in ("/proc/self/oom_score_adj", "/proc/thread-self/comm", "/proc/self/task/%d/comm" % os.getpid(), "/dev/null",
                 "/proc/self/fd/%d" % f, "/dev/fd/%d" % f, "/proc/self/nothing", "/proc/self", "/proc/self/fd/990",
                 "/proc/self/cwd/w/by-cwd", "/proc/self/fd/%d/by-fd" % d, "/dev/fd/%d/../by-fd2" % d, "/proc/self/root/%s/w/by-root" % HERE,
                 "/proc/thread-self/cwd/w/by-thread", "/proc/%d/cwd/w/by-pid" % os.getpid(), "/proc/self/exe/x", "/proc/1/cwd/x",
                 "/dev/zero/x", "/dev/stdin/x"):
        got = opened(call("openat", AT, path, C | W, 0o644))
        yield path.replace(HERE, "").replace(str(os.getpid()), "PID"), got
    yield "comm", open("/proc/self/comm").read()


def tree():
    for folder, dirs, files in os.walk("w"):
        for name in sorted(dirs + files):
            path = os.path.join(folder, name)
            st = os.lstat(path)
            yield "%s %o %d %d %s" % (path[:60], st.st_mode, st.st_nlink if not stat.S_ISDIR(st.st_mode) else 0,
                                      st.st_size if stat.S_ISREG(st.st_mode) else 0,
                                      os.readlink(path).replace(HERE, "") if stat.S_ISLNK(st.st_mode) else "")


def kernel():
    os.umask(0o022)
    for what, answer in kernel_cases():
        print("%s: %s" % (what, answer))
    print("\n".join(sorted(tree())))


def make(path):
    """Every way to make a name; each beside it, moved or linked there as well."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    name, answers = os.path.basename(path), {}
    plain = os.path.join(os.path.dirname(path), "plain")
    for kind, other in (("dir", "other-d"), ("file", "other-f"), ("link", "other-l")):
        made = os.path.join(os.path.dirname(path), other)
        {"dir": os.mkdir, "file": lambda p: open(p, "w").close(), "link": lambda p: os.symlink("x", p)}[kind](made)
        answers["rename " + kind] = call("rename", made, path)
        answers["renameat " + kind] = call("renameat", folder, other, folder, name)
        for flags in (0, 1, 2, 4):
            answers["renameat2 %s %d" % (kind, flags)] = call("renameat2", AT, made, folder, name, flags)
        if kind == "file":
            answers["link"], answers["linkat"] = call("link", made, path), call("linkat", folder, other, folder, name, 0)
        # An exchange may have left another kind there.
        if os.path.lexists(made):
            os.unlink(made) if os.path.islink(made) or not os.path.isdir(made) else os.rmdir(made)
    temp = os.open(os.path.dirname(path), os.O_TMPFILE | os.O_RDWR)
    answers["link tmpfile"] = call("linkat", AT, "/proc/self/fd/%d" % temp, AT, path, 0x400)
    answers["link by dirfd"] = call("linkat", temp, "", folder, name, 0x1000)
    for flags in (C | W, C | os.O_RDONLY, C | R | X, C | T | W | os.O_NOFOLLOW):
        answers["open %o" % flags] = opened(call("open", path, flags, 0o644))
        answers["openat %o" % flags] = opened(call("openat", folder, name, flags, 0o644))
        answers["openat high %o" % flags] = opened(call("openat", (1 << 32) | folder, name, (1 << 32) | flags, 0o644))
    answers["creat"] = opened(call("creat", path, 0o644))
    answers["mkdir"], answers["mkdirat"] = call("mkdir", path + "/", 0o755), call("mkdirat", folder, "./" + name, 0o755)
    answers["mknod"], answers["mknodat"] = call("mknod", path, REG | 0o644, 0), call("mknodat", folder, name, FIFO | 0o644, 0)
    answers["symlink"], answers["symlinkat"] = call("symlink", "x", path), call("symlinkat", "x", folder, name)
    os.symlink(name, plain)
    answers["open by link"] = opened(call("openat", AT, plain, C | W, 0o644))
    answers["open by fd"] = opened(call("openat", AT, "/proc/self/fd/%d/%s" % (folder, name), C | W, 0o644))
    answers["mkdir by cwd"] = call("mkdirat", AT, "/proc/self/cwd/" + os.path.relpath(path), 0o755)
    answers["mkdir by root"] = call("mkdirat", AT, "/proc/self/root" + os.path.abspath(path), 0o755)
    answers["mkdir dots"] = call("mkdirat", AT, os.path.dirname(path) + "/./../%s/%s" %
                                 (os.path.basename(os.path.dirname(path)), name), 0o755)
    answers["openat2"] = call("openat2", AT, path, 0, 24)
    answers["io_uring"] = call("io_uring_setup", 8, 0)
    os.unlink(plain)
    for what, answer in answers.items():
        if answer is not None:
            print("%s: %s" % (what, answer))


{"prepare": prepare, "kernel": kernel, "make": lambda: make(os.path.abspath(sys.argv[2]))}[sys.argv[1]]()
