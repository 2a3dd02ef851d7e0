# SPDX-License-Identifier: Apache-2.0
"""What a policy says of writing is what the kernel answers, errno by errno."""
import os
import socket

from files import Files
from lib import as_everyone, as_only, main


class Writing(Files):
    @as_everyone
    def test_nothing_by_default(self):
        self.write("w/a", "x")
        self.check("{}", {
            "write a": "EROFS", "creat n": "EROFS", "mkdir d": "EROFS", "unlink a": "EROFS", "rename a b": "EROFS",
            "chmod a": "EROFS", "utime a": "EROFS", "trunc a": "EROFS", "symlink a l": "EROFS", "link a l": "EROFS",
            "mkfifo p": "EROFS", "tmpfile .": "EROFS", "mmapwrite a": "EROFS", "setxattr a": ("EROFS", "EOPNOTSUPP"),
            "creat /tmp/srt-enforce-x": "EROFS", "creat /dev/x": ("EROFS", "EACCES"), "creat ../home/x": "EROFS",
            "creat /etc/x": ("EROFS", "EACCES"), "creat /usr/x": ("EROFS", "EACCES"), "creat /var/x": ("EROFS", "EACCES"),
            "creat /x": ("EROFS", "EACCES"), "creat /sys/x": ("EROFS", "EACCES", "EPERM"), "creat /proc/x": (
                "ENOENT", "EACCES", "EROFS")})
        self.assertEqual("x", self.read("w/a"))

    @as_everyone
    def test_allowed(self):
        self.write("w/a", "x")
        self.check('{ filesystem = { allowWrite = { "." } } }', {
            "write a": "ok", "append a": "ok", "creat new": "ok", "mkdir d": "ok", "rename new d/n2": "ok", "link a hard": "ok",
            "unlink d/n2": "ok", "rmdir d": "ok", "chmod a": "ok", "utime a": "ok", "trunc a": "ok", "symlink a l": "ok",
            "mkfifo p": "ok", "tmpfile .": "ok", "chown a": "ok", "exchange a hard": "ok"})
        for entry in ("$$//w/../w/./", "$$/w/**"):
            self.check('{ filesystem = { allowWrite = { "%s" } } }' % entry.replace("$$", self.dir), {"creat x": "ok"})
            os.unlink(self.path("w/x"))

    @as_everyone
    def test_denied_file_in_allowed_folder(self):
        self.write("w/f", "a")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "f" } } }', {
            "read f": "ok", "write f": "EROFS", "trunc f": "EROFS", "unlink f": "EBUSY", "rename f g": "EBUSY",
            "chmod f": "EROFS", "utime f": "EROFS", "mmapwrite f": "EROFS", "creat other": "ok", "rename other f": "EBUSY",
            "link f alias": "EXDEV", "exchange f other": "EBUSY", "setxattr f": ("EROFS", "EOPNOTSUPP")})
        self.assertEqual("a", self.read("w/f"))

    @as_everyone
    def test_deny_wins(self):
        self.write("w/d/ok/a", "x")
        for lists in ('allowWrite = { ".", "d/ok" }, denyWrite = { "d" }', 'allowWrite = { "d" }, denyWrite = { "d" }',
                      'allowWrite = { "/", "." }, denyWrite = { "/" }'):
            self.check("{ filesystem = { %s } }" % lists, {"write d/ok/a": "EROFS", "creat d/ok/n": "EROFS"})
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "d/**" } } }', {"write d/ok/a": "EROFS"})

    @as_everyone
    def test_allowed_folders_above_a_protected_path_stay(self):
        """An entry that changes nothing must not end the row of pinned folders."""
        for allowed in ('allowWrite = { ".", "p" }', 'allowWrite = { ".", "p", "p/q" }', 'allowWrite = { "." }, allowRead = { "p/q" }'):
            self.fresh()
            self.write("w/p/q/r", "x")
            self.check('{ filesystem = { %s, denyWrite = { "p/q/r" } } }' % allowed, {
                "rename p p2": "EBUSY", "rename p/q p/z": "EBUSY", "write p/q/r": "EROFS", "creat p/q/n": "ok"})

    @as_everyone
    def test_odd_ways_to_a_protected_path(self):
        self.write("w/d/f", "x")
        self.sh("mkdir e")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "d/f" } } }', {
            "write e/../d/f": "EROFS", "write ./d//f": "EROFS", "write ../w/d/f": "EROFS", "write /proc/self/cwd/d/f": "EROFS",
            "write /proc/self/root%s/w/d/f" % self.dir: "EROFS", "rename e d/f": "EXDEV", "write /proc/self/fd/../cwd/d/f":
            "EROFS"})

    @as_only("root")
    def test_mounts_below(self):
        """A mount in a denied or an allowed folder is held as the folder is."""
        self.sh("mkdir -p a/m d/m ../store; echo x >../store/f")
        policy = self.policy('{ filesystem = { allowWrite = { "a" }, denyWrite = { "a/m/f" }, denyRead = { "d" } } }')
        done = self.with_mounts("mount --bind ../store a/m; mount --bind ../store d/m", policy,
                                   "echo y >a/m/f; echo n >a/m/n; cat d/m/f; echo z >/proc/self/cwd/a/m/f")
        self.assertEqual(("x\n", "", ["f", "n"]), (self.read("store/f"), done.stdout, sorted(os.listdir(self.path("store")))), done)

    @as_everyone
    def test_parents_of_a_protected_path_stay(self):
        self.write("w/p/q/r", "x")
        self.sh("mkdir b c")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "p/q/r" } } }', {
            "rename p p2": "EBUSY", "rename p/q p/z": "EBUSY", "exchange p b": "EBUSY", "exchange b c": "ok",
            "creat p/new": "ok", "creat p/q/new": "ok", "rename p/new p/newer": "ok", "unlink p/newer": "ok"})
        self.check('{ filesystem = { allowWrite = { "." }, denyRead = { "p/q/r" } } }', {"rename p p2": "EBUSY"})

    @as_everyone
    def test_allowed_root_itself_stays(self):
        self.check('{ filesystem = { allowWrite = { "." } } }', {"rename ../w ../w2": ("EROFS", "EBUSY")})

    @as_everyone
    def test_single_file(self):
        self.write("w/cfg", "1")
        self.check('{ filesystem = { allowWrite = { "cfg" } } }', {
            "write cfg": "ok", "trunc cfg": "ok", "creat t": "EROFS", "unlink cfg": ("EBUSY", "EROFS")})

    @as_everyone
    def test_between_allowed_folders(self):
        self.sh("mkdir a b")
        got = self.run_sh("echo 1 >a/t; mv a/t b/t; : >b/t; mkdir a/d; mv a/d b/d; ls b",
                          '{ filesystem = { allowWrite = { "a", "b" } } }')
        self.assertEqual(("d\nt\n", 0), (got.out, got.code), got)

    @as_everyone
    def test_links_lead_nowhere(self):
        self.write("out/o", "x")
        self.sh("ln -s ../out lnk; ln -s / rootlink; ln -s ../out/o f")
        self.check('{ filesystem = { allowWrite = { "lnk", "rootlink" } } }',
                   {"creat lnk/n": "EROFS", "creat ../out/m": "EROFS", "creat rootlink/tmp/srt-enforce-x": "EROFS"})
        self.check('{ filesystem = { allowWrite = { "." } } }', {
            "write f": "EROFS", "creat lnk/n": "EROFS", "link ../out/o alias": "EXDEV", "rename ../out/o here": ("EROFS", "EXDEV")})
        self.assertEqual(["o"], os.listdir(self.path("out")))

    @as_everyone
    def test_folder_replaced_by_a_link(self):
        self.write("out/o", "x")
        got = self.run_sh("mkdir d; rmdir d; ln -s ../../out d; ln -s ../out e; echo y >d/n; echo y >e/n; echo y >e/o",
                          '{ filesystem = { allowWrite = { "." } } }')
        self.assertEqual(["o"], os.listdir(self.path("out")), got)
        self.assertEqual("x", self.read("out/o"))

    @as_everyone
    def test_denied_links(self):
        self.write("real.f", "x")
        self.sh("mkdir ../real.d; ln -s ../real.f rc; ln -s ../real.d hooks; ln -s /dev/null nul")
        got = self.run_sh("echo hi; echo y >>rc; touch hooks/a; echo >/dev/null && echo null; echo >>nul && echo nul",
                          '{ filesystem = { allowWrite = { ".." }, denyWrite = { "rc", "hooks", "nul" } } }')
        self.assertEqual("hi\nnull\nnul\n", got.out, got)
        self.assertEqual(("x", []), (self.read("real.f"), os.listdir(self.path("real.d"))))

    @as_everyone
    def test_a_denied_name_where_nothing_is_allowed(self):
        self.write("out/x", "x")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "../out/x", "../out/y" } } }', {
            "write ../out/x": "EROFS", "creat ../out/y": "EROFS", "creat n": "ok"})

    @as_everyone
    def test_save_by_rename_over_a_single_file(self):
        """It is a mount point; the folder has to be allowed for that, and explain says so much."""
        self.write("w/cfg", "1")
        self.write("w/d/x", "1")
        policy = self.policy('{ filesystem = { allowWrite = { "cfg", "d" } } }')
        got = self.run_sh("echo 2 >cfg; echo 3 >d/new; mv d/new cfg; cat cfg", policy)
        self.assertEqual("2\n", self.sh("cat cfg"), got)
        self.check(policy, {"rename d/x cfg": "EXDEV", "unlink cfg": "EROFS", "write cfg": "ok"})

    @as_everyone
    def test_everything_else_of_the_system(self):
        self.check('{ filesystem = { allowWrite = { "." } } }', {
            "creat /root/x": "EROFS" if self.user == "root" else ("EACCES", "EROFS"), "wopen /sys/power/state": ("EROFS", "EACCES"),
            "wopen /etc/passwd": ("EROFS", "EACCES"), "chmod /usr": ("EROFS", "EPERM"), "rename /etc/passwd x": ("EXDEV", "EROFS"),
            "read /etc/shadow": "ok" if self.user == "root" else "EACCES"})


class Special(Files):
    """A read-only mount does not stop writers of FIFOs and sockets."""

    @as_everyone
    def test_fifos(self):
        self.sh("mkfifo p; mkfifo ../outside; mkfifo open")
        readers = [os.open(self.path(name), os.O_RDONLY | os.O_NONBLOCK) for name in ("w/p", "outside", "w/open")]
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "p" } } }', {
            "write p": "EACCES", "write ../outside": "EACCES", "write open": "ok", "unlink p": "EBUSY", "read ../outside": "ok"})
        for reader, want in zip(readers, (b"", b"", b"w")):
            self.assertEqual(want, os.read(reader, 10))
            os.close(reader)

    @as_everyone
    def test_sockets(self):
        for name in ("w/denied", "w/open"):
            server = socket.socket(socket.AF_UNIX)
            self.addCleanup(server.close)
            server.bind(self.path(name))
            server.listen()
        self.own(self.w)
        self.check("""{ filesystem = { allowWrite = { "." }, denyWrite = { "denied" } },
          network = { allowAllUnixSockets = true } }""", {"connect denied": "EACCES", "connect open": "ok"})


if __name__ == "__main__":
    main()
