# SPDX-License-Identifier: Apache-2.0
"""What a policy says of files is what the kernel answers, errno by errno."""
import os
import signal
import stat
import subprocess
import time

from lib import Case, as_everyone, main, USERS, skip


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
    def test_parallel_runs_share_a_place(self):
        policy = self.policy('{ filesystem = { allowWrite = { "." }, denyWrite = { "no" } } }')
        long = self.start(["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; mkdir no/x; mkdir no; echo $?"], policy)
        self.await_path("w/no")
        short = self.run_sh("mkdir no/x", policy)
        self.assertNotEqual(0, short.code)
        self.assertTrue(os.path.isdir(self.path("w/no")), "a run took the other's place away")
        self.write("w/go")
        out, err = long.communicate(timeout=20)
        self.assertEqual(b"1\n", out, err)
        self.assertEqual(["go"], os.listdir(self.w))

    @as_everyone
    def test_killed_run_leaves_nothing(self):
        policy = self.policy('{ filesystem = { allowWrite = { "." }, denyWrite = { "no" } } }')
        run = self.start(["sleep", "60"], policy)
        self.await_path("w/no")
        run.send_signal(signal.SIGKILL)
        run.communicate()
        deadline = time.time() + 10
        while time.time() < deadline and (os.listdir(self.w) or self.leftovers()):
            time.sleep(0.05)
        self.assertEqual(([], []), (os.listdir(self.w), self.leftovers()))

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
i=0; while [ $i -lt 700 ]; do mkdir ddddddddddddddddddddddd; cd ddddddddddddddddddddddd; i=$((i+1)); done 2>/dev/null
chmod 0 $TMPDIR; true""" % self.path("out")
        got = self.run_sh(script, "{}")
        self.assertEqual(0, got.code, got)
        self.assertEqual([], self.leftovers())
        self.assertEqual("x", self.read("out/keep"))

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

    def test_masks_hold_for_root(self):
        if USERS[0] != "root":
            skip("only for root", allowed=True)
        self.write("out/f", "x")
        got = self.run_sh("stat -c %u ../out; chown 0 ../out; chmod 755 ../out; ls ../out; cat ../g",
                          '{ filesystem = { denyRead = { "../out", "../g" } } }')
        self.assertNotEqual("0", got.out.split()[0])
        self.assertNotIn("f\n", got.out)


if __name__ == "__main__":
    main()
