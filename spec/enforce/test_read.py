# SPDX-License-Identifier: Apache-2.0
"""What a policy says of reading is what the kernel answers, errno by errno."""
import os

from files import Files
from lib import as_everyone, main


class Reading(Files):
    @as_everyone
    def test_denied_folder(self):
        self.write("out/f", "secret")
        self.check('{ filesystem = { denyRead = { "../out" } } }', {
            "read ../out/f": ("EACCES", "ENOENT"), "list ../out": "EACCES", "stat ../out": "ok",
            "creat ../out/new": ("EACCES", "EROFS"), "mkdir ../out/d": ("EACCES", "EROFS"), "rmdir ../out": ("EBUSY",
            "EROFS"), "chmod ../out": "EROFS", "chown ../out": ("EROFS", "EPERM")})
        self.assertEqual(["f"], os.listdir(self.path("out")))

    @as_everyone
    def test_denied_file(self):
        self.write("out/f", "secret")
        self.write("out/g", "open")
        self.check('{ filesystem = { denyRead = { "../out/f" }, allowWrite = { "../out" } } }', {
            "read ../out/f": "EACCES", "write ../out/f": ("EACCES", "EROFS"), "append ../out/f": ("EACCES", "EROFS"),
            "trunc ../out/f": ("EACCES", "EROFS"), "unlink ../out/f": "EBUSY", "rename ../out/f ../out/x": "EBUSY",
            "rename ../out/g ../out/f": "EBUSY", "list ../out": "ok", "read ../out/g": "ok", "chmod ../out/f": "EROFS",
            "link ../out/f ../out/l": ("EXDEV", "EPERM")})
        self.assertEqual("secret", self.read("out/f"))
        got = self.run_sh("stat -c %F ../out/f", '{ filesystem = { denyRead = { "../out/f" } } }')
        self.assertEqual("regular empty file\n", got.out)

    @as_everyone
    def test_alternation(self):
        for name in ("pub/a", "priv/b", "pub/priv/k", "pub/priv/open/z"):
            self.write("out/" + name, "x")
        policy = """{ filesystem = { denyRead = { "../out", "../out/pub/priv" },
          allowRead = { "../out/pub", "../out/pub/priv/open" } } }"""
        self.check(policy, {
            "read ../out/pub/a": "ok", "list ../out/pub": "ok", "read ../out/priv/b": "ENOENT", "list ../out": "EACCES",
            "read ../out/pub/priv/k": "ENOENT", "list ../out/pub/priv": "EACCES", "read ../out/pub/priv/open/z": "ok",
            "list ../out/pub/priv/open": "ok", "stat ../out/nothing": "ENOENT", "write ../out/pub/a": "EROFS",
            "creat ../out/pub/n": "EROFS", "creat ../out/n": ("EACCES", "EROFS"),
            "write ../out/pub/priv/open/z": "EROFS"})

    @as_everyone
    def test_equal_and_above(self):
        self.write("out/a", "x")
        self.write("out/p/a", "x")
        self.check('{ filesystem = { denyRead = { "../out" }, allowRead = { "../out" } } }', {"read ../out/a": "ok"})
        self.check('{ filesystem = { denyRead = { "../out/p" }, allowRead = { "../out" } } }',
                   {"read ../out/a": "ok", "list ../out/p": "EACCES"})
        self.check('{ filesystem = { denyRead = { "../out/a" }, allowRead = { "../out" } } }', {"read ../out/a": "EACCES"})

    @as_everyone
    def test_one_file_of_a_denied_folder(self):
        self.write("out/a", "x")
        self.write("out/b", "x")
        self.check('{ filesystem = { denyRead = { "../out" }, allowRead = { "../out/a" } } }',
                   {"read ../out/a": "ok", "read ../out/b": "ENOENT", "list ../out": "EACCES", "write ../out/a": "EROFS"})

    @as_everyone
    def test_writable_below_denied(self):
        self.write("out/w/a", "x")
        self.write("out/b", "x")
        self.check('{ filesystem = { denyRead = { "../out" }, allowWrite = { "../out/w" } } }',
                   {"read ../out/w/a": "ok", "creat ../out/w/n": "ok", "read ../out/b": "ENOENT"})
        self.assertTrue(os.path.exists(self.path("out/w/n")))

    @as_everyone
    def test_denied_below_writable(self):
        self.write("w/sec/k", "x")
        self.check('{ filesystem = { denyRead = { "sec" }, allowWrite = { "." } } }', {
            "list sec": "EACCES", "creat sec/new": ("EACCES", "EROFS"), "rename sec sec2": "EBUSY", "rmdir sec": "EBUSY",
            "creat other": "ok"})
        self.assertEqual(["k"], os.listdir(self.path("w/sec")))

    @as_everyone
    def test_root_denied(self):
        self.write("w/a", "x")
        policy = """{ filesystem = { denyRead = { "/" }, allowWrite = { "." },
          allowRead = { "/usr", "/bin", "/lib", "/lib64", "/etc/passwd", "%s" } } }""" % os.path.dirname(
              os.path.realpath(self.probe_path()))
        self.check(policy, {
            "list /": "EACCES", "read a": "ok", "write a": "ok", "read /etc/passwd": "ok", "read /etc/hostname": "ENOENT",
            "list /root": "ENOENT", "list /usr": "ok", "list /proc": "ok", "write /dev/null": "ok", "list /tmp": "EACCES",
            "creat /new": ("EACCES", "EROFS")})

    def probe_path(self):
        import lib
        return lib.PROBE

    @as_everyone
    def test_spellings(self):
        self.write("out/p/k", "x")
        self.write("home/.ssh/id", "x")
        for entry in ("../out/p", "..//out/./p/../p/", self.path("out/p"), self.path("out/p") + "/"):
            self.check('{ filesystem = { denyRead = { "%s" } } }' % entry, {
                "read ../out/p/k": ("EACCES", "ENOENT"), "list ../out/p": "EACCES"})
        self.check('{ filesystem = { denyRead = { "~/.ssh" } } }', {"list ../home/.ssh": "EACCES"})

    @as_everyone
    def test_links(self):
        self.write("out/k", "x")
        self.sh("ln -s ../out lnk; ln -s ../out/k k2; ln -s nowhere dangling; ln -s l2 l1; ln -s l1 l2")
        policy = '{ filesystem = { denyRead = { "lnk" }, allowRead = { "k2" }, allowWrite = { "." } } }'
        self.check(policy, {"read lnk/k": ("EACCES", "ENOENT"), "list ../out": "EACCES", "read k2": ("EACCES", "ENOENT")})
        self.check('{ filesystem = { denyRead = { "../out/k" }, allowRead = { "k2" } } }',
                   {"read k2": "EACCES", "read lnk/k": "EACCES", "read ../out/k": "EACCES"})
        self.check('{ filesystem = { denyRead = { "dangling", "l1" }, denyWrite = { "l2" }, allowWrite = { "." } } }',
                   {"creat ok": "ok"})

    @as_everyone
    def test_awkward_rule_disables_nothing_else(self):
        self.write("real/sub/.env", "k")
        self.sh("ln -s ../real link; ln -s /usr/share ro")
        policy = '{ filesystem = { allowWrite = { "." }, denyRead = { "link/sub/.env", "ro/doc" } } }'
        self.check(policy, {"read link/sub/.env": "EACCES", "read ../real/sub/.env": "EACCES", "list ro/doc": "EACCES",
                            "list /usr/share/doc": "EACCES", "creat fine": "ok"})

    @as_everyone
    def test_a_denied_file_of_a_folder_allowed_both_ways(self):
        """The most specific entry wins, whichever lists the folder is in."""
        self.write("w/secret.txt", "s")
        self.check('{ filesystem = { allowRead = { "." }, allowWrite = { "." }, denyRead = { "secret.txt" } } }', {
            "read secret.txt": "EACCES", "write secret.txt": "EACCES", "unlink secret.txt": "EBUSY", "creat new": "ok"})

    @as_everyone
    def test_what_is_written_into_a_denied_folder_is_refused_not_swallowed(self):
        self.write("home/.ssh/id", "k")
        for more in ("", ', allowWrite = { "~", "." }'):
            got = self.run_sh("echo a >~/.ssh/f; echo rc=$?; ls ~/.ssh; cp -r ~/.ssh copy; cat copy/id",
                              '{ filesystem = { denyRead = { "~/.ssh" }%s } }' % more)
            self.assertNotIn("rc=0", got.out, got)
            self.assertNotIn("k\n", got.out, got)
            self.assertEqual(["id"], os.listdir(self.path("home/.ssh")))

    @as_everyone
    def test_a_denied_folder_above_the_working_directory(self):
        """The command stays where it was, or does not start and says why."""
        self.write("w/f", "x")
        got = self.run_sh("pwd; cat f", '{ filesystem = { denyRead = { ".." }, allowRead = { "." } } }')
        self.assertEqual(self.w + "\nx", got.out, got)
        got = self.run_sh("pwd", '{ filesystem = { denyRead = { ".." } } }')
        self.assertEqual((125, ""), (got.code, got.out), got)
        self.assertIn(self.w, got.err)

    @as_everyone
    def test_a_dangling_link_that_is_denied(self):
        self.sh("ln -s ../nowhere lnk")
        self.check('{ filesystem = { denyRead = { "lnk" }, allowWrite = { "." } } }', {
            "read lnk": "ENOENT", "creat ../nowhere": "EROFS", "creat fine": "ok"})


if __name__ == "__main__":
    main()
