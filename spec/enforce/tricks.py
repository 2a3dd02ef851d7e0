# SPDX-License-Identifier: Apache-2.0
"""Known tricks to change a file that may only be read. Runs inside: python3 -c THIS TARGET SCRATCH NAME...

Each trick gets the file ("{}" in its path stands for the trick's name) and a writable folder for what it needs. "NAME ok" says that the
kernel let it; else "NAME ERRNO". A trick that changes nothing visible is still refused.
"""
import ctypes
import errno
import fcntl
import mmap
import os
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
AT_FDCWD, AT_EMPTY_PATH, AT_SYMLINK_FOLLOW = -100, 0x1000, 0x400
SYS_openat2, SYS_fchmodat2, SYS_setxattrat, SYS_file_setattr = 437, 452, 463, 469
FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_NODUMP = 0x80086601, 0x40086602, 0x40
FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR, FICLONE = 0x801C581F, 0x401C5820, 0x40049409


def call(number, *args):
    """A system call by number; bytes are passed as pointers."""
    if LIBC.syscall(ctypes.c_long(number), *(ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def reading(target):
    return os.open(target, os.O_RDONLY)


def by_fd(fd):
    return "/proc/self/fd/%d" % fd


def content(path):
    os.close(os.open(path, os.O_WRONLY))


def made(scratch, name="made", text=b"stolen"):
    path = os.path.join(scratch, "%s-%d" % (name, os.getpid()))
    with open(path, "wb") as file:
        file.write(text)
    return path


# Other names of the same file.
def root_of_self(target, _):
    content("/proc/self/root" + target)


def root_of_thread(target, _):
    content("/proc/thread-self/root" + target)


def cwd_of_self(target, _):
    os.chdir(os.path.dirname(target))
    content("/proc/self/cwd/" + os.path.basename(target))


def root_of_a_child(target, _):
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(ready, 1)
        os._exit(0)
    try:
        content("/proc/%d/root%s" % (child, target))
    finally:
        os.close(go)
        os.waitpid(child, 0)


# A descriptor opened for reading, opened again or changed through.
def reopen_fd(target, _):
    content(by_fd(reading(target)))


def reopen_dev_fd(target, _):
    content("/dev/fd/%d" % reading(target))


def reopen_o_path(target, _):
    content(by_fd(os.open(target, os.O_PATH)))


def reopen_folder(target, _):
    folder = os.open(os.path.dirname(target), os.O_PATH)
    os.close(os.open(os.path.basename(target), os.O_WRONLY, dir_fd=folder))


def fchmod(target, _):
    os.fchmod(reading(target), 0o640)


def fchmod_by_o_path(target, _):
    os.chmod(by_fd(os.open(target, os.O_PATH)), 0o640)


def fchmodat2_empty(target, _):
    call(SYS_fchmodat2, os.open(target, os.O_PATH), b"", 0o640, AT_EMPTY_PATH)


def fchown(target, _):
    os.fchown(reading(target), os.geteuid(), os.getegid())


def futimens(target, _):
    os.utime(reading(target))


def fsetxattr(target, _):
    os.setxattr(reading(target), "user.trick", b"x")


def fremovexattr(target, _):
    try:
        os.removexattr(reading(target), "user.trick")
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise


def setflags(target, _):
    fd = reading(target)
    flags = struct.unpack("l", fcntl.ioctl(fd, FS_IOC_GETFLAGS, bytes(8)))[0]
    fcntl.ioctl(fd, FS_IOC_SETFLAGS, struct.pack("l", flags ^ FS_NODUMP))


def fssetxattr(target, _):
    fd = reading(target)
    fcntl.ioctl(fd, FS_IOC_FSSETXATTR, fcntl.ioctl(fd, FS_IOC_FSGETXATTR, bytes(28)))


def truncate_by_fd(target, _):
    os.truncate(by_fd(reading(target)), 1)


def ftruncate(target, _):
    os.ftruncate(reading(target), 1)


def fallocate(target, _):
    os.posix_fallocate(reading(target), 0, 100)


def write_fd(target, _):
    os.pwrite(reading(target), b"s", 0)


def copy_file_range(target, scratch):
    os.copy_file_range(reading(made(scratch)), reading(target), 6)


def sendfile(target, scratch):
    os.sendfile(reading(target), reading(made(scratch)), 0, 6)


def splice(target, _):
    end, start = os.pipe()
    os.write(start, b"stolen")
    os.splice(end, reading(target), 6)


def ficlone(target, scratch):
    fcntl.ioctl(reading(target), FICLONE, reading(made(scratch)))


def mmap_shared(target, _):
    mmap.mmap(reading(target), 6, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)


def mprotect_shared(target, _):
    LIBC.mmap.restype = ctypes.c_void_p
    LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    place = LIBC.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, reading(target), 0)
    if LIBC.mprotect(ctypes.c_void_p(place), 4096, mmap.PROT_READ | mmap.PROT_WRITE):
        raise OSError(ctypes.get_errno(), "mprotect")


def own_memory(target, _):
    """/proc/self/mem writes through page protections, but not into a shared mapping of what was opened for reading."""
    LIBC.mmap.restype = ctypes.c_void_p
    LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    place = LIBC.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, reading(target), 0)
    os.pwrite(os.open("/proc/self/mem", os.O_RDWR), b"stolen", place)


# Other names made for it, or others put in its place.
def hard_link(target, scratch):
    os.link(target, os.path.join(scratch, "alias"))


def link_by_fd(target, scratch):
    call(265, AT_FDCWD, by_fd(reading(target)).encode(), AT_FDCWD, os.path.join(scratch, "by-fd").encode(), AT_SYMLINK_FOLLOW)


def unnamed_file_linked_in(target, scratch):
    fd = os.open(scratch, os.O_TMPFILE | os.O_WRONLY)
    name = target + ".new"
    call(265, AT_FDCWD, by_fd(fd).encode(), AT_FDCWD, name.encode(), AT_SYMLINK_FOLLOW)
    os.unlink(name)


def unnamed_file_made_there(target, _):
    os.close(os.open(os.path.dirname(target), os.O_TMPFILE | os.O_WRONLY))


def renamed_over(target, scratch):
    os.rename(made(scratch), target)


def exchanged(target, scratch):
    call(316, AT_FDCWD, made(scratch).encode(), AT_FDCWD, target.encode(), 2)


def removed(target, _):
    os.unlink(target)


# System calls that the filter can't judge, or that others forget.
def openat2(target, _):
    call(SYS_openat2, AT_FDCWD, target.encode(), struct.pack("QQQ", os.O_WRONLY, 0, 0), 24)


def setxattrat(target, _):
    value = ctypes.create_string_buffer(b"x")
    call(SYS_setxattrat, AT_FDCWD, target.encode(), 0, b"user.trick", struct.pack("PII", ctypes.addressof(value), 1, 0), 16)


def file_setattr(target, _):
    call(SYS_file_setattr, AT_FDCWD, target.encode(), bytes(24), 24, 0)


def by_handle(target, _):
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call(303, AT_FDCWD, target.encode(), handle, ctypes.byref(mount), 0)
    folder = os.open(os.path.dirname(target), os.O_RDONLY)
    call(304, folder, handle, os.O_WRONLY)


def main():
    target, scratch = sys.argv[1:3]
    for name in sys.argv[3:]:
        try:
            globals()[name](target.replace("{}", name), scratch)
            print(name, "ok", flush=True)
        except OSError as error:
            print(name, errno.errorcode.get(error.errno, error.errno), flush=True)


main()
