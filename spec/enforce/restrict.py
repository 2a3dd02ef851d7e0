# SPDX-License-Identifier: Apache-2.0
"""Puts a process where others put it: under a filter. For a container's there is container.c."""
import ctypes
import errno
import platform
import struct

SECCOMP = {"x86_64": 317, "aarch64": 277}[platform.machine()]
ALLOW, ERRNO = 0x7fff0000, 0x00050000
LOAD, EQUAL, GIVE = 0x20, 0x15, 0x06


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


def no_filters():
    """A kernel's answer that has no seccomp(2)."""
    install([(LOAD, 0, 0, 0), (EQUAL, 0, 1, SECCOMP), (GIVE, 0, 0, ERRNO | errno.ENOSYS), (GIVE, 0, 0, ALLOW)])
