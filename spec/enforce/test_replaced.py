# SPDX-License-Identifier: Apache-2.0
"""What the host replaces while a command runs: the kernel drops the sandbox's mount, PID 1 puts it back."""
import contextlib
import os
import re
import subprocess
import time

from lib import Case, as_everyone, main, need, need_root
from running import SHELL, Inside, parts, until

class Replaced(Case):
    @contextlib.contextmanager
    def inside(self, policy, env=None):
        process = self.start(["sh", "-c", SHELL], policy, stdin=subprocess.PIPE, env=env)
        inside = Inside(process)
        self.assertTrue(inside.can("true"), "it does not start")
        try:
            yield inside
        finally:
            process.stdin.close()
            self.err = process.stderr.read().decode()
            process.stdout.close()
            process.stderr.close()
            self.assertEqual(0, process.wait(20), self.err)

    def holds(self, policy, before, replace, attempts, named, env=None, then="true"):
        """Each attempt fails before, and again soon after the host replaced what the policy protects, and did `then`."""
        self.sh(before)
        with self.inside(policy, env) as inside:
            for attempt in attempts:
                self.assertFalse(inside.can(attempt), "allowed from the start: " + attempt)
            for _ in range(3):
                self.sh(replace)
                for attempt in attempts:
                    self.assertTrue(until(lambda a=attempt: not inside.can(a), 5), "open: " + attempt)
                self.sh(then)
                for attempt in attempts * 5:
                    self.assertFalse(inside.can(attempt), "open again: " + attempt)
        self.assertRegex(self.err, r"warning: \S*%s was .* from outside" % re.escape(named))

    def deny(self, **lists):
        lists = ", ".join("%s = { %s }" % (name, ", ".join('"%s"' % path for path in paths))
                          for name, paths in lists.items())
        return '{ filesystem = { allowWrite = { "." }, %s } }' % lists

    @as_everyone
    def test_names_are_not_watched_from_the_start(self):
        """Marks of inotify make a run's end wait for all other marks: a short run has none."""
        need_root("PID 1 lets nobody else look")
        def watches(process):
            folder = "/proc/%d/fdinfo/" % parts(process.pid)[1]
            return any("inotify wd:" in self.read(folder + name) for name in os.listdir(folder))
        self.sh("echo a >f")
        for _ in range(20):
            with self.inside(self.deny(denyWrite=["f"])) as inside:
                if not watches(inside.process):
                    self.assertTrue(until(lambda: watches(inside.process)))
                    return
        self.fail("each does so at once")

    @as_everyone
    def test_a_read_only_file_by_rename(self):
        self.holds(self.deny(denyWrite=["f"]), "echo a >f", "echo b >new; mv new f",
                   ["echo w >f", "rm f", "mv f g"], "/w/f", then="echo b >f")
        self.assertEqual("b\n", self.read("w/f"))

    @as_everyone
    def test_a_read_only_file_that_is_removed_and_made_again(self):
        self.holds(self.deny(denyWrite=["f"]), "echo a >f", "rm f; echo b >f", ["echo w >>f"], "/w/f", then="echo b >f")
        self.assertEqual("b\n", self.read("w/f"))

    @as_everyone
    def test_a_file_that_comes_back_later(self):
        self.sh("echo a >f")
        with self.inside(self.deny(denyWrite=["f"])) as inside:
            self.sh("rm f; sleep 0.3; echo b >f")
            self.assertTrue(until(lambda: not inside.can("echo w >>f"), 5))
            self.assertTrue(inside.can("echo x >other"))
        self.assertIn("removed and made again", self.err)

    @as_everyone
    def test_a_read_only_folder(self):
        self.holds(self.deny(denyWrite=["d"]), "mkdir d; echo a >d/f", "rm -rf old; mv d old; mkdir d; echo b >d/f",
                   ["echo w >d/f", "touch d/n", "rmdir d", "mv d e"], "/w/d")

    @as_everyone
    def test_an_unreadable_file(self):
        self.holds(self.deny(denyRead=["s"]), "echo secret >s", "echo new >s.new; mv s.new s", ["cat s", "echo w >s"],
                   "/w/s")

    @as_everyone
    def test_an_unreadable_folder(self):
        self.holds(self.deny(denyRead=["s"]), "mkdir s; echo secret >s/k",
                   "rm -rf old; mv s old; rm -r old; mkdir s; echo new >s/k", ["cat s/k", "ls s", "touch s/n"], "/w/s")

    @as_everyone
    def test_a_file_in_place_of_a_folder(self):
        self.holds(self.deny(denyRead=["s"]), "mkdir s; echo secret >s/k",
                   "if [ -d s ]; then rm -r s; echo new >s; else rm s; mkdir s; echo new >s/k; fi",
                   ["cat s", "cat s/k"], "/w/s")

    @as_everyone
    def test_an_unreadable_folder_with_a_way_through(self):
        self.holds(self.deny(denyRead=["s"], allowRead=["s/pub"]), "mkdir -p s/pub; echo secret >s/k",
                   "rm -rf old; mv s old; rm -r old; mkdir -p s/pub; echo new >s/k", ["cat s/k", "ls s"], "/w/s")

    @as_everyone
    def test_a_folder_on_the_way_to_a_protected_name(self):
        self.holds(self.deny(denyWrite=["a/b/f"]), "mkdir -p a/b; echo 1 >a/b/f",
                   "rm -rf old; mv a old; mkdir -p a/b; echo 2 >a/b/f",
                   ["echo w >a/b/f", "mv a/b a/c", "mv a c"], "/w/a/b/f")

    @as_everyone
    def test_a_folder_far_above(self):
        self.sh("mkdir -p ../out/a/b; echo secret >../out/a/b/s")
        self.holds(self.deny(denyRead=["../out/a/b/s"]), "true",
                   "rm -rf ../out/old; mv ../out/a ../out/old; mkdir -p ../out/a/b; echo new >../out/a/b/s",
                   ["cat ../out/a/b/s"], "/out/a/b/s")

    @as_everyone
    def test_without_room_for_watches(self):
        self.holds(self.deny(denyWrite=["d"]), "mkdir d; echo a >d/f", "rm -rf old; mv d old; mkdir d; echo b >d/f",
                   ["echo w >d/f"], "/w/d", env={"SRT_LUA_FAKE_MISSING": "inotify"})

    @as_everyone
    def test_a_folder_that_is_made_again(self):
        """Step by step, and at once: whoever waits for a name in it waits in another folder then."""
        self.sh("mkdir -p ../q/sub; echo secret >../q/sub/s")
        with self.inside(self.deny(denyRead=["../q/sub/s"])) as inside:
            for script in ("cd ../q; rm sub/s; sleep 0.1; rmdir sub; sleep 0.1; mkdir sub; sleep 0.1; echo new >sub/s",
                           "cd ../q; rm -r sub; mkdir sub; echo new >sub/s",
                           "rm ../q/sub/s; sleep 0.1; rm -r ../q; sleep 0.1; mkdir -p ../q/sub; echo new >../q/sub/s"):
                self.sh(script)
                self.assertTrue(until(lambda: not inside.can("cat ../q/sub/s"), 5), script)

    @as_everyone
    def test_a_storm_of_renames(self):
        """However many the command makes beside thousands of protected names, PID 1 does what it is for."""
        self.sh("mkdir d; cd d; seq -f f%g 5000 | xargs touch")
        storm = ("import os, sys\nfor name in 'abc':\n  if os.fork() == 0:\n    open('d/x' + name, 'w').close()\n"
                 "    while True: os.rename('d/x' + name, 'd/y' + name); os.rename('d/y' + name, 'd/x' + name)\n"
                 "print('ready', flush=True)\n"
                 "while True:\n  try: open('d/f1', 'a').write('evil')\n  except OSError: pass")
        process = self.start(["/usr/bin/python3", "-c", storm], self.deny(denyWrite=["d/f%d" % i for i in range(1, 5001)]))
        self.addCleanup(process.kill)
        self.assertEqual(b"ready\n", process.stdout.readline())
        time.sleep(0.3)
        self.sh("echo new >d/new; mv d/new d/f1")
        size, seen = -1, 0
        while seen != size:
            time.sleep(0.3)
            size, seen = seen, os.path.getsize(self.path("w/d/f1"))
            self.assertLess(size, 1 << 20, "it stays open")
        process.terminate()
        self.assertEqual(143, process.wait(5))
        process.communicate()

    @as_everyone
    def test_one_instance_of_inotify(self):
        """From the start, before a command can take all, and however often something is put back; the kernel ends it in its time."""
        def left():
            code = "import ctypes; c = ctypes.CDLL(None); n = 0\nwhile c.inotify_init() >= 0: n += 1\nprint(n)"
            return int(self.on_host(["/usr/bin/python3", "-c", code]).stdout)
        before = []
        self.assertTrue(until(lambda: before.append(left()) or before[-2:-1] == before[-1:], 5))
        self.sh("echo a >f")
        with self.inside(self.deny(denyWrite=["f"])) as inside:
            self.assertEqual(before[-1] - 1, left())
            self.sh("for i in $(seq 150); do echo b >new; mv new f; done")
            self.assertTrue(until(lambda: not inside.can("echo w >f"), 5))
            self.assertEqual(before[-1] - 1, left())
        self.assertTrue(until(lambda: left() == before[-1], 5), "it is left")

    @as_everyone
    def test_moved_while_pid_1_looks(self):
        """What goes between its look and its hearing of names would never be seen: something else is lost just before."""
        self.sh("for i in $(seq 200); do mkdir k$i; : >k$i/f; done; : >a; mkdir -p z/d new")
        policy = self.deny(denyWrite=["a", "z/d", *("k%d/f" % i for i in range(1, 201))])
        for delay in range(10):
            with self.inside(policy) as inside:
                os.unlink(self.path("w/a"))
                time.sleep(delay * 0.0003)
                os.rename(self.path("w/z/d"), self.path("w/old%d" % delay))
                os.rename(self.path("w/new"), self.path("w/z/d"))
                self.assertTrue(until(lambda: not inside.can("touch z/d/n && rm z/d/n"), 5), "it stays open")
            self.sh(": >a; mkdir new")

    @as_everyone
    def test_a_placeholder(self):
        self.holds(self.deny(denyWrite=["nofile"]), "true",
                   "rmdir nofile 2>/dev/null || rm -rf nofile; echo host >nofile", ["echo w >>nofile", "rm nofile"],
                   "/w/nofile")
        # While nothing held the place a command could have made it, or written: put aside, and not lost.
        self.assertTrue(self.read("w/nofile.quarantined-by-srt-lua").startswith("host\n"))

    @as_everyone
    def test_a_link_on_the_way(self):
        self.holds(self.deny(denyWrite=["lnk/f"]), "mkdir real; echo 1 >real/f; ln -s real lnk",
                   "ln -s real new; mv -T new lnk", ["rm lnk", "ln -sfn /tmp lnk", "echo w >lnk/f"], "/w/lnk")

    @as_everyone
    def test_the_policy_itself(self):
        policy = self.write("w/policy.lua", "return " + self.deny(denyWrite=["x"]) + "\n")
        self.holds(policy, "true", "cp policy.lua new; mv new policy.lua", ["echo >>policy.lua", "rm policy.lua"],
                   "/w/policy.lua")

    @as_everyone
    def test_git_config_on_the_host(self):
        need("git")
        self.holds(self.deny(denyWrite=[".git/config"]), "git init -q .", "git config user.name x",
                   ["git config core.fsmonitor evil", "echo >>.git/config", "mv .git git"], "/w/.git/config")
        self.assertNotIn("evil", self.read("w/.git/config"))

    @as_everyone
    def test_many_replacements_in_a_row(self):
        self.sh("echo a >f; echo a >g")
        with self.inside(self.deny(denyWrite=["f"], denyRead=["g"])) as inside:
            self.sh("for i in $(seq 200); do echo b >new; mv new f; echo c >new; mv new g; done")
            self.assertTrue(until(lambda: not inside.can("echo w >f"), 5))
            self.assertTrue(until(lambda: not inside.can("cat g"), 5))
            self.assertTrue(inside.can("echo x >other"))

    @as_everyone
    def test_names_that_the_kernel_escapes(self):
        self.sh(r"printf a >'a b\c'; printf a >'d	e'")
        with self.inside(self.deny(denyWrite=[r"a b\\c", "d\te"])) as inside:
            self.sh(r"printf b >new; mv new 'a b\c'; printf b >new; mv new 'd	e'")
            for name in (r"a b\c", "d\te"):
                # The shell inside reads a line with read -r.
                self.assertTrue(until(lambda n=name: not inside.can("printf w >'%s'" % n), 5), name)

    @as_everyone
    def test_nothing_is_said_where_nothing_protected_was_replaced(self):
        self.sh("echo a >f; echo a >g")
        with self.inside(self.deny(denyWrite=["f"])) as inside:
            self.sh("echo b >new; mv new g; echo b >>f")
            self.assertFalse(inside.can("echo w >f"))
            self.assertTrue(inside.can("echo w >g"))
        self.assertNotIn("warning", self.err)


main()
