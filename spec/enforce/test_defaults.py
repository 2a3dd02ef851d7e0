# SPDX-License-Identifier: Apache-2.0
"""What every run has: the policy protects itself, settings are told, a temporary directory, /dev."""
import errno
import os
import stat
import subprocess
import time

from files import Files
from lib import Case, as_everyone, main, need_root, skip


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

    @as_everyone
    def test_other_programs_ways_of_naming_one(self):
        """CLAUDE_TMPDIR says nothing here: what TMPDIR names inside can be written."""
        self.sh("mkdir ../ct")
        got = self.run_sh("mktemp", "{}", env={"CLAUDE_TMPDIR": self.path("ct")})
        self.assertEqual(0, got.code, got)
        self.assertTrue(got.out.startswith(self.tmp + "/srt-lua-"), got)
        self.assertEqual([], os.listdir(self.path("ct")))


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
        shown = {}
        for line in got.out.splitlines():
            fields = line.split()
            point, flags = fields[4], fields[5].split(",")
            self.assertIn("nosuid", flags, line)
            if point != "/dev" and not point.startswith("/dev/"):
                self.assertIn("nodev", flags, line)
            shown[point] = set(flags)  # What comes later covers it.
        for name in ("", "/null", "/zero", "/full", "/random", "/urandom", "/tty"):
            self.assertLessEqual({"ro", "noexec"}, shown["/dev" + name], name)
        self.assertLessEqual({"rw", "noexec"}, shown["/dev/pts"])
        self.assertLessEqual({"rw", "nodev"}, shown["/dev/shm"])

    def test_device_nodes_of_root_are_dead(self):
        need_root("what it does, only root may")
        node = self.path("w/node")
        try:
            os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            skip("this root can't make device nodes", allowed=True)
        self.check('{ filesystem = { allowWrite = { "." } } }', {
            "read node": "EACCES", "write node": "EACCES", "mkdev n2": "EPERM"})

    def test_another_users_workspace(self):
        need_root("what it does, only root may")
        self.write("w/f", "x")
        subprocess.run(["chown", "-R", "1234:1234", self.w], check=True)
        got = self.run_sh("echo y >>f && echo n >new && chown 1234:1234 new && chmod 600 f && tar cf t.tar f && mkdir d && "
                          "tar xpf t.tar -C d && stat -c %u d/f", '{ filesystem = { allowWrite = { "." } } }')
        self.assertEqual("1234\n", got.out, got)
        self.assertEqual(1234, os.stat(self.path("w/new")).st_uid)

    def test_place_holders_in_another_users_workspace(self):
        need_root("what it does, only root may")
        os.chmod(self.w, 0o755)
        subprocess.run(["chown", "-R", "1234:1234", self.w], check=True)
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { ".gitconfig" } } }', {
            "creat .gitconfig": ("EEXIST", "EISDIR"), "creat n": "ok"})
        self.assertEqual(["n"], os.listdir(self.w))

    def test_masks_hold_for_root(self):
        need_root("what it does, only root may")
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
