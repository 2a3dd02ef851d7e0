# SPDX-License-Identifier: Apache-2.0
"""Tricks to change a file that may only be read: each fails with the errno that SECURITY.md promises.

And each succeeds, or fails otherwise, on a file that may be written: what can't work anywhere tests nothing.
"""
import os
import pathlib

from lib import Case, as_everyone, main, skip

SOURCE = (pathlib.Path(__file__).parent / "tricks.py").read_text()

# name: (errno on a protected file, what the same gives on a writable one)
TRICKS = {
    "root_of_self": ("EROFS", "ok"),
    "root_of_thread": ("EROFS", "ok"),
    "root_of_a_child": ("EROFS", "ok"),
    "cwd_of_self": ("EROFS", "ok"),
    "reopen_fd": ("EROFS", "ok"),
    "reopen_dev_fd": ("EROFS", "ok"),
    "reopen_o_path": ("EROFS", "ok"),
    "reopen_folder": ("EROFS", "ok"),
    "fchmod": ("EROFS", "ok"),
    "fchmod_by_o_path": ("EROFS", "ok"),
    "fchmodat2_empty": ("EROFS", "ok"),
    "fchown": ("EROFS", "ok"),
    "futimens": ("EROFS", "ok"),
    "fsetxattr": ("EROFS", "ok"),
    "fremovexattr": ("EROFS", "ok"),
    "setflags": ("EROFS", "ok"),
    "fssetxattr": ("EROFS", "ok"),
    "truncate_by_fd": ("EROFS", "ok"),
    # A descriptor for reading stays one; a writable file's is no better.
    "ftruncate": ("EINVAL", "EINVAL"),
    "fallocate": ("EBADF", "EBADF"),
    "write_fd": ("EBADF", "EBADF"),
    "copy_file_range": ("EBADF", "EBADF"),
    "sendfile": ("EBADF", "EBADF"),
    "splice": ("EBADF", "EBADF"),
    "ficlone": ("EBADF", "EBADF"),
    "mmap_shared": ("EACCES", "EACCES"),
    "mprotect_shared": ("EACCES", "EACCES"),
    "own_memory": ("EIO", "EIO"),
    "hard_link": ("EXDEV", "ok"),
    "link_by_fd": ("EXDEV", "ok"),
    "renamed_over": (("EBUSY", "EXDEV"), "ok"),
    "exchanged": (("EBUSY", "EXDEV"), "ok"),
    "removed": (("EBUSY", "EROFS"), "ok"),
    "openat2": ("ENOSYS", "ENOSYS"),
    "setxattrat": ("EROFS", "ok"),
    "file_setattr": ("EROFS", "ok"),
    "by_handle": ("EPERM", "EPERM"),
}
# Those that need the folder, not the file.
FOLDER = {
    "unnamed_file_linked_in": (("EROFS", "EXDEV"), "ok"),
    "unnamed_file_made_there": ("EROFS", "ok"),
}
# The kernel, or the file system, may not know these at all.
UNKNOWN = ("ENOSYS", "ENOTTY", "EOPNOTSUPP")
OPTIONAL = ("setflags", "fssetxattr", "fsetxattr", "fremovexattr", "setxattrat", "file_setattr", "unnamed_file_made_there",
            "unnamed_file_linked_in", "fchmodat2_empty")


class Tricks(Case):
    POLICY = '{ filesystem = { allowWrite = { "." }, denyWrite = { "f", "d" } } }'

    def answers(self, target, tricks, **more):
        done = self.run_srt(["/usr/bin/python3", "-c", SOURCE, target, self.path("w/scratch"), *tricks], self.POLICY, **more)
        got = dict(line.split() for line in done.out.splitlines())
        self.assertEqual(set(tricks), set(got), done)
        return got

    def state(self, path):
        """All of a file that a trick could change."""
        st = os.lstat(path)
        with open(path, "rb") as file:
            return file.read(), st.st_mode, st.st_uid, st.st_mtime_ns, st.st_ctime_ns, st.st_ino, st.st_nlink

    def check(self, target, tricks):
        before, names = self.state(target), sorted(os.listdir(os.path.dirname(target)))
        got = self.answers(target, tricks)
        for trick, (want, _) in tricks.items():
            wanted = want if isinstance(want, tuple) else (want,)
            self.assertIn(got[trick], wanted + (UNKNOWN if trick in OPTIONAL else ()), (trick, target, got))
        self.assertEqual((before, names), (self.state(target), sorted(os.listdir(os.path.dirname(target)))))
        self.assertFalse({"alias", "by-fd"} & set(os.listdir(self.path("w/scratch"))))

    def prepare(self):
        os.mkdir(self.path("w/scratch"))
        self.own(self.path("w/scratch"))
        if os.uname().machine != "x86_64":
            skip("numbers of x86-64", allowed=True)

    @as_everyone
    def test_a_file_outside(self):
        self.prepare()
        self.check(self.write("out/f", "host's"), TRICKS | FOLDER)

    @as_everyone
    def test_a_protected_file_of_a_writable_folder(self):
        self.prepare()
        self.check(self.write("w/f", "host's"), TRICKS)

    @as_everyone
    def test_a_file_of_a_protected_folder(self):
        self.prepare()
        self.check(self.write("w/d/f", "host's"), TRICKS | FOLDER)

    @as_everyone
    def test_they_work_where_writing_is_allowed(self):
        self.prepare()
        tricks = TRICKS | FOLDER
        for trick in tricks:
            self.write("w/open/%s/f" % trick, "host's")
        got = self.answers(self.path("w/open/{}/f"), tricks)
        for trick, (_, want) in tricks.items():
            self.assertIn(got[trick], (want, *(UNKNOWN if trick in OPTIONAL else ())), (trick, got))


if __name__ == "__main__":
    main()
