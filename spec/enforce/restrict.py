# SPDX-License-Identifier: Apache-2.0
"""Puts a process where others put it: under a filter like that of a container."""
import ctypes
import errno
import platform
import struct

# clone, unshare, clone3, seccomp; by architecture
CALLS = {"x86_64": (56, 272, 435, 317), "aarch64": (220, 97, 435, 277)}[platform.machine()]
NEW_NAMESPACES = 0x7e020080
ALLOW, ERRNO = 0x7fff0000, 0x00050000
LOAD, EQUAL, ANY_BIT, GIVE = 0x20, 0x15, 0x45, 0x06


def install(program):
    """For good, as an ordinary user may."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    memory = ctypes.create_string_buffer(code)
    fprog = struct.pack("HxxxxxxP", len(program), ctypes.addressof(memory))
    zero = ctypes.c_ulong(0)
    if libc.prctl(38, ctypes.c_ulong(1), zero, zero, zero):  # PR_SET_NO_NEW_PRIVS
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if libc.prctl(22, ctypes.c_ulong(2), fprog, zero, zero):  # PR_SET_SECCOMP
        raise OSError(ctypes.get_errno(), "seccomp")


def like_docker():
    """Docker's default for a container without CAP_SYS_ADMIN: no namespaces; clone3 as if it were not there, since
    a filter can't see its flags."""
    clone, unshare, clone3, _ = CALLS
    install([(LOAD, 0, 0, 0),
             (EQUAL, 0, 1, clone3), (GIVE, 0, 0, ERRNO | errno.ENOSYS),
             (EQUAL, 0, 1, unshare), (GIVE, 0, 0, ERRNO | errno.EPERM),
             (EQUAL, 0, 3, clone), (LOAD, 0, 0, 16),
             (ANY_BIT, 0, 1, NEW_NAMESPACES), (GIVE, 0, 0, ERRNO | errno.EPERM),
             (GIVE, 0, 0, ALLOW)])


def no_filters():
    """A kernel's answer that has no seccomp(2)."""
    install([(LOAD, 0, 0, 0), (EQUAL, 0, 1, CALLS[3]), (GIVE, 0, 0, ERRNO | errno.ENOSYS), (GIVE, 0, 0, ALLOW)])
