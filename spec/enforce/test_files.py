# SPDX-License-Identifier: Apache-2.0
"""What a policy says of files is what the kernel answers, errno by errno."""
import errno
import os
import signal
import socket
import stat
import subprocess
import time

from lib import BINARY, Case, as_everyone, main, need, skip, USERS


class Files(Case):
    def check(self, policy, want, **more):
        """want: {"op path": answer}; a tuple where several answers are right."""
        got = self.probe(" ".join(want), policy, **more)
        for what, answer in want.items():
            answers = answer if isinstance(answer, tuple) else (answer,)
            self.assertIn(got.get(what), answers, "%s as %s: %s" % (what, self.user, got))


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

    @as_everyone
    def test_mounts_below(self):
        """A mount in a denied or an allowed folder is held as the folder is."""
        if self.user != "root":
            return
        self.sh("mkdir -p a/m d/m ../store; echo x >../store/f")
        policy = self.policy('{ filesystem = { allowWrite = { "a" }, denyWrite = { "a/m/f" }, denyRead = { "d" } } }')
        done = Missing.with_mounts(self, "mount --bind ../store a/m; mount --bind ../store d/m", policy,
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


class Missing(Files):
    @as_everyone
    def test_protected_names_are_held(self):
        self.write("w/f", "x")
        policy = '{ filesystem = { allowWrite = { "." }, denyWrite = { "no", ".tool/commands", "f/x", "p/a", "p/b" } } }'
        self.check(policy, {
            "creat no": ("EEXIST", "EISDIR"), "mkdir no": "EEXIST", "symlink f no": "EEXIST", "rename f no": ("EBUSY", "EISDIR"),
            "rmdir no": "EBUSY", "rename no x": "EBUSY", "creat no/x": "EROFS", "chmod no": "EROFS",
            "mkdir .tool/commands": "EROFS", "mkdir p/a": "EROFS", "creat fine": "ok"})
        self.assertEqual(["f", "fine"], sorted(os.listdir(self.w)))

    @as_everyone
    def test_no_place_where_nothing_can_be_made(self):
        self.check('{ filesystem = { denyWrite = { "no", "a/b" }, denyRead = { "nothing" }, allowWrite = { "nodir" } } }',
                   {"mkdir nodir": "EROFS", "creat no": "EROFS"})
        self.assertEqual([], os.listdir(self.w))

    @as_everyone
    def test_a_file_where_a_folder_would_have_to_be(self):
        self.write("w/f", "x")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "f/x/y" } } }', {
            "write f": "ok", "trunc f": "ok", "unlink f": "EBUSY", "rename f g": "EBUSY", "mkdir f": "EEXIST",
            "creat f/x": "ENOTDIR"})
        self.assertEqual(["f"], os.listdir(self.w))

    @as_everyone
    def test_a_folder_that_its_owner_closed(self):
        """The command could open it again."""
        self.sh("mkdir ro; chmod 555 ro")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "ro/no" } } }', {
            "rename ro r2": "EBUSY", "mkdir ro/no": "EEXIST", "creat ro/n": "ok" if self.user == "root" else "EACCES"})
        policy = '{ filesystem = { allowWrite = { "." }, denyWrite = { "ro/no" } } }'
        got = self.run_sh("stat -c %a ro; chmod 755 ro; mkdir ro/no || echo refused; rm -f ro/n; chmod 555 ro", policy)
        self.assertEqual("555\nrefused\n", got.out, got)
        self.assertEqual([], os.listdir(self.path("w/ro")))
        self.assertEqual(0o555, os.stat(self.path("w/ro")).st_mode & 0o7777)

    @as_everyone
    def test_a_folder_that_can_not_be_searched(self):
        self.write("w/shut/k", "secret")
        self.sh("chmod 000 shut")
        for policy in ('{ filesystem = { allowWrite = { "." }, denyRead = { "shut/k" }, denyWrite = { "shut/no/x" } } }',
                       '{ filesystem = { allowWrite = { "." }, denyRead = { "shut/k" } } }'):
            got = self.run_sh("chmod 755 shut; cat shut/k; mkdir -p shut/no/x; rm -rf shut; echo end", policy)
            self.assertEqual("end\n", got.out, got)
        self.assertEqual("secret", self.read("w/shut/k") if self.user == "root" else self.sh("chmod 755 shut; cat shut/k"))

    def test_a_read_only_mount(self):
        if USERS[0] != "root":
            skip("only for root", allowed=True)
        self.sh("mkdir ../ro ../ro2")
        policy = self.policy('{ filesystem = { allowWrite = { ".", "../ro" }, denyWrite = { "../ro/no", "../ro/a/b" } } }')
        done = self.with_mounts("mount --bind ../ro2 ../ro && mount -o remount,ro,bind ../ro", policy, "echo ok; mkdir ../ro/no")
        self.assertEqual("ok\n", done.stdout, done)
        self.assertEqual([], os.listdir(self.path("ro2")))

    def with_mounts(self, mounts, policy, script):
        """Runs a script inside, from a mount namespace with mounts of the test's own."""
        return subprocess.run([need("unshare"), "-m", "sh", "-ec", mounts + '; exec "$@"', "sh", BINARY, "run", policy,
                               "--", "sh", "-c", script], cwd=self.w, env=self.environment(), capture_output=True, text=True)

    @as_everyone
    def test_a_folder_that_looks_like_a_placeholder_stays(self):
        self.sh("mkdir -m 555 no")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "no" } } }', {"creat no/x": "EROFS", "rmdir no": "EBUSY"})
        self.assertEqual(["no"], os.listdir(self.w))

    @as_everyone
    def test_many_runs_at_once_some_killed(self):
        policy = self.policy('{ filesystem = { allowWrite = { "." }, denyWrite = { "no", "p/q" } } }')
        runs = []
        for number in range(8):
            runs.append(self.start(["sh", "-c", "mkdir no/x || mkdir no || mkdir p; sleep 0.%d" % number], policy))
        for run in runs[::3]:
            time.sleep(0.02)
            run.kill()
        for run in runs:
            run.communicate(timeout=30)
        self.await_gone()
        self.assertEqual(([], []), (os.listdir(self.w), self.leftovers()))

    @as_everyone
    def test_pid_1_or_the_command_killed_from_outside(self):
        policy = self.policy('{ filesystem = { allowWrite = { "." }, denyWrite = { "no" } } }')
        for depth, name in ((2, "PID 1"), (3, "the command")):
            run = self.start(["sh", "-c", "mkdir -p $TMPDIR/a/b; touch $TMPDIR/ready; sleep 60"], policy)
            self.await_path("w/no")
            pid = run.pid
            deadline = time.time() + 10
            while depth:
                children = self.children(pid)
                if children:
                    pid, depth = children[0], depth - 1
                self.assertLess(time.time(), deadline)
            os.kill(pid, signal.SIGKILL)
            run.communicate(timeout=20)
            self.assertEqual(125 if name == "PID 1" else 137, run.returncode, name)
            self.assertEqual(([], []), (os.listdir(self.w), self.leftovers()), name)

    @staticmethod
    def children(pid):
        try:
            with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
                return [int(word) for word in file.read().split()]
        except OSError:
            return []

    @as_everyone
    def test_parallel_runs_share_a_place(self):
        policy = self.policy('{ filesystem = { allowWrite = { "." }, denyWrite = { "no" } } }')
        long = self.start_killed(["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; mkdir no/x; mkdir no; echo $?"], policy)
        self.await_path("w/no")
        short = self.run_sh("mkdir no/x", policy)
        self.assertNotEqual(0, short.code)
        self.assertTrue(os.path.isdir(self.path("w/no")), "a run took the other's place away")
        self.write("w/go")
        out, err = long.communicate(timeout=20)
        self.assertEqual(b"1\n", out, err)
        self.assertEqual(["go"], os.listdir(self.w))

    def start_killed(self, *args):
        """A run that does not outlive the test, however that ends."""
        run = self.start(*args)

        def end():
            if run.poll() is None:
                run.kill()
                run.communicate()
        self.addCleanup(end)
        return run

    @as_everyone
    def test_a_place_stays_when_the_run_that_made_it_ends(self):
        policy = self.policy('{ filesystem = { allowWrite = { "." }, denyWrite = { "no", "p/q" } } }')
        wait = "touch $0; while [ ! -e go$0 ]; do sleep 0.02; done; mkdir no 2>/dev/null || mkdir -p p/q 2>/dev/null || echo held"
        first = self.start_killed(["sh", "-c", wait, "1"], policy)
        self.await_path("w/1")
        second = self.start_killed(["sh", "-c", wait, "2"], policy)
        self.await_path("w/2")
        for run, name in ((first, "go1"), (second, "go2")):
            self.write("w/" + name)
            out, err = run.communicate(timeout=20)
            self.assertEqual(b"held\n", out, err)
        self.assertEqual(["1", "2", "go1", "go2"], sorted(os.listdir(self.w)))

    @as_everyone
    def test_killed_run_leaves_nothing(self):
        policy = self.policy('{ filesystem = { allowWrite = { "." }, denyWrite = { "no" } } }')
        run = self.start(["sleep", "60"], policy)
        self.await_path("w/no")
        run.send_signal(signal.SIGKILL)
        run.communicate()
        self.await_gone()
        self.assertEqual(([], []), (os.listdir(self.w), self.leftovers()))

    def await_gone(self):
        deadline = time.time() + 10
        while time.time() < deadline and (os.listdir(self.w) or self.leftovers()):
            time.sleep(0.05)

    @as_everyone
    def test_what_the_user_makes_meanwhile_stays(self):
        policy = self.policy('{ filesystem = { allowWrite = { "." }, denyWrite = { "no" } } }')
        run = self.start(["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done"], policy)
        self.await_path("w/no")
        os.chmod(self.path("w/no"), 0o755)
        self.write("w/no/mine", "precious")
        self.write("w/go")
        run.communicate(timeout=20)
        self.assertEqual("precious", self.read("w/no/mine"))

    def await_path(self, name):
        deadline = time.time() + 10
        while not os.path.exists(self.path(name)):
            self.assertLess(time.time(), deadline, name + " does not come")
            time.sleep(0.01)


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


class Policy(Files):
    @as_everyone
    def test_the_policy_protects_itself(self):
        self.write("w/sub/part.lua", 'return { "." }\n')
        self.write("w/conf/data.txt", "x")
        policy = self.write("w/sub/p.lua", """srt.read(srt.here .. "/../conf/data.txt")
return { filesystem = { allowWrite = { "/" }, allowRead = require("part") } }\n""")
        if self.user == "user":
            policy = self.write("w/sub/p.lua", """srt.read(srt.here .. "/../conf/data.txt")
return { filesystem = { allowWrite = require("part") } }\n""")
        self.check(policy, {
            "write sub/p.lua": "EROFS", "unlink sub/p.lua": "EBUSY", "rename sub sub2": "EBUSY", "write sub/part.lua": "EROFS",
            "rename sub/part.lua x": ("EBUSY", "EXDEV"), "write conf/data.txt": "EROFS", "rename conf c2": "EBUSY",
            "creat sub/other": "ok"})

    @as_everyone
    def test_json_settings_protect_themselves(self):
        policy = self.write("w/s.json", '{"filesystem": {"allowWrite": ["."]}}')
        self.check(policy, {"write s.json": "EROFS", "creat n": "ok"})

    @as_everyone
    def test_nothing_can_be_planted_for_the_next_run(self):
        """A module that is looked for and not there decides as well."""
        self.write("w/sub/part/init.lua", 'return { "." }\n')
        self.write("w/real/data", "x")
        self.sh("ln -s real conf")
        policy = self.write("w/sub/p.lua", """pcall(require, "optional")
srt.read(srt.here .. "/../conf/data")
return { filesystem = { allowWrite = require("part") } }\n""")
        for _ in range(2):
            self.check(policy, {
                "creat sub/part.lua": ("EEXIST", "EISDIR"), "creat sub/optional.lua": ("EEXIST", "EISDIR"),
                "mkdir sub/optional": "EEXIST", "creat sub/other": "ok", "unlink sub/other": "ok", "unlink conf": "EBUSY",
                "write real/data": "EROFS", "rename real r2": "EBUSY"})
        self.assertEqual(["p.lua", "part"], sorted(os.listdir(self.path("w/sub"))))

    @as_everyone
    def test_a_link_to_the_policy_that_can_be_moved(self):
        self.policy('{ filesystem = { allowWrite = { "." } } }')
        self.sh("ln -s ../policy.lua l.lua")
        got = self.run_srt(["true"], os.path.join(self.w, "l.lua"))
        self.assertEqual(125, got.code)
        self.assertIn("symbolic link", got.err)


class Temporary(Files):
    @as_everyone
    def test_private_and_gone(self):
        got = self.run_sh('echo $TMPDIR; stat -c "%a %u" $TMPDIR; mktemp >/dev/null && echo made; echo "${TMPPREFIX%/*}"', "{}")
        lines = got.out.splitlines()
        self.assertEqual(0, got.code, got)
        self.assertTrue(lines[0].startswith(self.tmp + "/"), got)
        self.assertEqual("700", lines[1].split()[0])
        self.assertEqual(["made", lines[0]], lines[2:])
        self.assertEqual([], self.leftovers())

    @as_everyone
    def test_hostile_content(self):
        self.write("out/keep", "x")
        script = """cd $TMPDIR; ln -s %s out; ln -s / root; mkdir -p a/b; touch a/b/c; chmod 000 a/b a
i=0; while [ $i -lt 60 ]; do mkdir ddddddddddddddddddddddd; cd ddddddddddddddddddddddd; i=$((i+1)); done 2>/dev/null
chmod 0 $TMPDIR; true""" % self.path("out")
        got = self.run_sh(script, "{}")
        self.assertEqual(0, got.code, got)
        self.assertEqual([], self.leftovers())
        self.assertEqual("x", self.read("out/keep"))

    @as_everyone
    def test_a_deep_tree(self):
        code = """import os
os.chdir(os.environ["TMPDIR"])
for level in range(3000):
    name = "d" + str(level % 3)
    os.mkdir(name)
    os.symlink("KEEP", "link")
    if level % 500 == 0:
        os.makedirs("locked/in")
        os.chmod("locked/in", 0)
        os.chmod("locked", 0)
        os.mkfifo("fifo")
    os.chdir(name)
""".replace("KEEP", self.write("out/keep", "x"))
        got = self.run_srt(["/usr/bin/python3", "-c", code], "{}")
        self.assertEqual(0, got.code, got)
        self.assertEqual(([], "x"), (self.leftovers(), self.read("out/keep")))

    @as_everyone
    def test_killed_while_it_fills(self):
        self.write("out/keep", "x")
        script = "cd $TMPDIR; ln -s ../../out out; while :; do mkdir -p a/b/c; touch a/b/c/f; chmod 0 a/b; mv a $$.$((i+=1)); done"
        for delay in (0.1, 0.3):
            run = self.start(["sh", "-c", script], "{}")
            time.sleep(delay)
            run.kill()
            run.communicate()
        deadline = time.time() + 10
        while time.time() < deadline and self.leftovers():
            time.sleep(0.05)
        self.assertEqual(([], "x"), (self.leftovers(), self.read("out/keep")))

    @as_everyone
    def test_not_movable_in_a_writable_place(self):
        got = self.run_sh('mv $TMPDIR x; echo $?; rmdir $TMPDIR; touch $TMPDIR/f && echo fine',
                          '{ filesystem = { allowWrite = { ".." } } }')
        self.assertIn("fine", got.out, got)
        self.assertEqual([], self.leftovers())

    @as_everyone
    def test_killed_at_any_time(self):
        for delay in [i * 0.004 for i in range(15)]:
            run = self.start(["sh", "-c", "mkdir $TMPDIR/d; sleep 60"], "{}")
            time.sleep(delay)
            run.kill()
            run.communicate()
        deadline = time.time() + 10
        while time.time() < deadline and self.leftovers():
            time.sleep(0.05)
        self.assertEqual([], self.leftovers())

    @as_everyone
    def test_bad_folder_for_it(self):
        for value in ("/nonexistent", "relative", "", None):
            got = self.run_sh("mktemp", "{}", env={"TMPDIR": value})
            self.assertEqual(0, got.code, got)
            self.assertTrue(got.out.startswith("/tmp/srt-lua-"), got)
            self.assertFalse(os.path.exists(os.path.dirname(got.out.strip())))


class Devices(Files):
    @as_everyone
    def test_minimal_dev(self):
        got = self.run_sh("ls /dev; ls -d /dev/pts/*; echo x >/dev/shm/s; cat /dev/shm/s; echo y >/dev/null; "
                          "head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; cat </dev/null; ls /dev/fd >/dev/null; "
                          "head -c 1 /dev/zero >/dev/full", "{}")
        names = got.out.split("/dev/pts/ptmx")[0].split()
        for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd"):
            self.assertIn(name, names)
        self.assertLessEqual(set(names), {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd",
                                          "stdin", "stdout", "stderr", "console"})
        self.assertTrue(got.out.endswith("x\n4\n4\n"), got)
        self.assertIn("No space left", got.err)
        self.assertFalse(os.path.exists("/dev/shm/s"))

    @as_everyone
    def test_the_hosts_nodes_stay_as_they_are(self):
        """They are the host's. Tried with the mode and owner they have: should it work, nothing changes."""
        code = """import os
for name in ("null", "zero", "full", "random", "urandom", "tty"):
    path = "/dev/" + name
    st = os.stat(path)
    for change in (lambda: os.chmod(path, st.st_mode & 0o777), lambda: os.chown(path, st.st_uid, st.st_gid), lambda: os.utime(path)):
        try:
            change()
            print("changed", path)
        except OSError as error:
            print(error.errno)"""
        got = self.run_srt(["/usr/bin/python3", "-c", code], "{}")
        # The owner is not mapped for an ordinary user, which is what chown(2) finds first.
        allowed = {str(errno.EROFS)} if self.user == "root" else {str(errno.EROFS), str(errno.EINVAL), str(errno.EOVERFLOW)}
        self.assertEqual(18, len(got.out.splitlines()), got)
        self.assertLessEqual(set(got.out.splitlines()), allowed, got)

    @as_everyone
    def test_mount_flags(self):
        got = self.run_sh("cat /proc/self/mountinfo", '{ filesystem = { allowWrite = { "." } } }')
        for line in got.out.splitlines():
            fields = line.split()
            point, flags = fields[4], fields[5].split(",")
            self.assertIn("nosuid", flags, line)
            if point != "/dev" and not point.startswith("/dev/"):
                self.assertIn("nodev", flags, line)

    def test_device_nodes_of_root_are_dead(self):
        if USERS[0] != "root":
            skip("only for root", allowed=True)
        node = self.path("w/node")
        try:
            os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            skip("this root can't make device nodes", allowed=True)
        self.check('{ filesystem = { allowWrite = { "." } } }', {
            "read node": "EACCES", "write node": "EACCES", "mkdev n2": "EPERM"})

    def test_another_users_workspace(self):
        if USERS[0] != "root":
            skip("only for root", allowed=True)
        self.write("w/f", "x")
        subprocess.run(["chown", "-R", "1234:1234", self.w], check=True)
        got = self.run_sh("echo y >>f && echo n >new && chown 1234:1234 new && chmod 600 f && tar cf t.tar f && mkdir d && "
                          "tar xpf t.tar -C d && stat -c %u d/f", '{ filesystem = { allowWrite = { "." } } }')
        self.assertEqual("1234\n", got.out, got)
        self.assertEqual(1234, os.stat(self.path("w/new")).st_uid)

    def test_place_holders_in_another_users_workspace(self):
        if USERS[0] != "root":
            skip("only for root", allowed=True)
        os.chmod(self.w, 0o755)
        subprocess.run(["chown", "-R", "1234:1234", self.w], check=True)
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { ".gitconfig" } } }', {
            "creat .gitconfig": ("EEXIST", "EISDIR"), "creat n": "ok"})
        self.assertEqual(["n"], os.listdir(self.w))

    def test_masks_hold_for_root(self):
        if USERS[0] != "root":
            skip("only for root", allowed=True)
        self.write("out/f", "x")
        got = self.run_sh("stat -c %u ../out; chown 0 ../out; chmod 755 ../out; ls ../out; cat ../g",
                          '{ filesystem = { denyRead = { "../out", "../g" } } }')
        self.assertNotEqual("0", got.out.split()[0])
        self.assertNotIn("f\n", got.out)


class Settings(Files):
    @as_everyone
    def test_nothing_is_dropped_silently(self):
        for text, word in (('{ filesystem = { denyreed = { "x" } } }', "denyRead"), ('{ filesystem = { denyRead = { "" } } }', "empty"),
                           ('{ filesystem = { denyRead = "x" } }', "denyRead"), ('{ allowEverything = true }', "allowEverything"),
                           ('{ filesystem = { allowWrite = { "$TMPDIR" } } }', "srt.env.TMPDIR")):
            got = self.run_srt(["touch", "ran"], text)
            self.assertEqual(125, got.code, (text, got))
            self.assertIn(word, got.err)
        self.assertEqual([], os.listdir(self.w))

    @as_everyone
    def test_entries_without_effect_are_told(self):
        got = self.run_sh("true", '{ filesystem = { allowWrite = { "nodir" } } }')
        self.assertIn("nodir", got.err, got)

    @as_everyone
    def test_second_names_are_told(self):
        self.write("out/k", "x")
        self.write("w/f", "x")
        self.sh("ln ../out/k k2; ln f f2")
        got = self.run_sh("true", '{ filesystem = { allowWrite = { "." }, denyRead = { "../out/k" }, denyWrite = { "f" } } }')
        self.assertEqual(2, got.err.count("hard links"), got)
        got = self.run_sh("true", '{ filesystem = { denyWrite = { "f" } } }')
        self.assertEqual("", got.err, got)

    @as_everyone
    def test_no_folder_is_writable_by_convention(self):
        made = not os.path.exists("/tmp/claude")
        if made:
            os.mkdir("/tmp/claude", 0o777)
        self.sh("mkdir -p ../home/.npm/_logs ../home/.claude/debug ../home/.cache")
        try:
            self.check("{}", {"creat ../home/%s/x" % name: "EROFS" for name in (".npm/_logs", ".claude/debug", ".npm", ".cache")}
                       | {"creat /tmp/claude/srt-enforce": "EROFS"})
        finally:
            if made:
                os.rmdir("/tmp/claude")


class Disabled(Case):
    @as_everyone
    def test_turns_file_rules_off(self):
        self.write("out/f", "1")
        self.write("home/.bashrc", "1")
        got = self.run_sh('echo 2 >../out/f && echo 2 >../home/.bashrc && cat ../out/f; echo "TMPDIR=$TMPDIR"',
                          '{ filesystem = { disabled = true, denyRead = { "../out" }, denyWrite = { "../home" } } }')
        self.assertEqual("2\nTMPDIR=%s\n" % self.tmp, got.out, got)
        self.assertIn("filesystem.disabled", got.err)

    @as_everyone
    def test_but_for_the_policy_and_the_kernel(self):
        # The value that it has: nothing happens if it works.
        got = self.run_sh("echo >>../policy.lua; v=$(cat /proc/sys/vm/swappiness); echo $v >/proc/sys/vm/swappiness",
                          '{ filesystem = { disabled = true } }')
        self.assertNotEqual(0, got.code)
        self.assertNotIn("\n\n", self.read("policy.lua"))
        self.assertEqual(2, got.err.count("cannot create"), got)


if __name__ == "__main__":
    main()
