# SPDX-License-Identifier: Apache-2.0
"""Links on the way to what a policy names."""
import os

from files import Files
from lib import as_everyone, main


class Links(Files):
    """A link on the way to a protected path is as protected as what it leads to."""

    @as_everyone
    def test_they_can_not_be_replaced(self):
        self.write("real.d/f", "x")
        self.write("real.f", "x")
        self.sh("ln -s ../real.f rc; ln -s ../real.d hooks; ln -s ../real.d cfg; ln -s /dev/null nul; mkdir other")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "rc", "hooks", "nul", "cfg/f" } } }', {
            "write rc": "EROFS", "unlink rc": "EBUSY", "rename rc x": "EBUSY", "rename other hooks": ("EBUSY", "ENOTDIR"),
            "exchange other hooks": "EBUSY", "symlink /tmp hooks": "EEXIST", "creat hooks/n": "EROFS", "unlink cfg": "EBUSY",
            "write cfg/f": "EROFS", "unlink nul": "EBUSY", "chown rc": "EROFS", "read rc": "ok", "list hooks": "ok",
            "link rc l2": ("EXDEV", "EPERM"), "creat fine": "ok"})
        links = {name: os.readlink(self.path("w", name)) for name in ("rc", "hooks", "cfg", "nul")}
        self.assertEqual({"rc": "../real.f", "hooks": "../real.d", "cfg": "../real.d", "nul": "/dev/null"}, links)

    @as_everyone
    def test_every_link_of_a_chain_and_the_folders_above(self):
        self.write("w/a/deep/f", "x")
        self.sh("mkdir l; ln -s ../a l/one; ln -s one/deep l/two; ln -s l/two three")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "three/f" } } }', {
            "unlink three": "EBUSY", "unlink l/two": "EBUSY", "unlink l/one": "EBUSY", "rename l m": "EBUSY",
            "rename a b": "EBUSY", "rename a/deep a/x": "EBUSY", "write three/f": "EROFS", "write a/deep/f": "EROFS",
            "creat l/new": "ok", "creat a/deep/new": "ok"})

    @as_everyone
    def test_of_denied_reads(self):
        self.write("out/k", "secret")
        self.sh("ln -s ../out/k k; ln -s ../out o")
        self.check('{ filesystem = { allowWrite = { "." }, denyRead = { "k", "o/k" } } }', {
            "read k": "EACCES", "read o/k": "EACCES", "read ../out/k": "EACCES", "unlink k": "EBUSY", "unlink o": "EBUSY"})

    @as_everyone
    def test_dangling(self):
        self.sh("ln -s nowhere in; ln -s ../out/nowhere out; ln -s in again; mkdir ../out")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "again", "out" } } }', {
            "unlink again": "EBUSY", "unlink in": "EBUSY", "unlink out": "EBUSY", "mkdir nowhere": "EEXIST",
            "rmdir nowhere": "EBUSY", "creat nowhere/x": "EROFS", "creat fine": "ok"})
        self.assertEqual(["again", "fine", "in", "out"], sorted(os.listdir(self.w)))
        self.assertEqual([], os.listdir(self.path("out")))

    @as_everyone
    def test_loops(self):
        self.sh("ln -s l2 l1; ln -s l1 l2; ln -s self self")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "l1", "self" } } }', {
            "creat fine": "ok", "read l1": "ELOOP", "unlink l1": "EBUSY", "unlink l2": "EBUSY", "unlink self": "EBUSY"})

    @as_everyone
    def test_allowed_entries_do_not_hold_theirs(self):
        self.sh("mkdir d; ln -s d l; ln -s gone dangling")
        self.check('{ filesystem = { allowWrite = { "." }, allowRead = { "l", "dangling" } } }',
                   {"unlink l": "ok", "unlink dangling": "ok"})

    @as_everyone
    def test_a_second_hard_link_from_before_the_run(self):
        """It is not the name that a policy knows: so the docs say, and so it is."""
        self.write("out/o", "x")
        self.write("w/f", "x")
        self.sh("ln ../out/o alias; ln f f2")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "f" } } }', {
            "write alias": "ok", "write ../out/o": "EROFS", "write f": "EROFS", "write f2": "ok", "link f f3": "EXDEV",
            "rename f2 f": "ok", "rename alias f": "EBUSY"})


if __name__ == "__main__":
    main()
