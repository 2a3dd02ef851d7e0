# SPDX-License-Identifier: Apache-2.0
"""Protected names that do not exist, and the places that hold them."""
import os
import signal
import stat
import time

from files import Files
from lib import BACKEND, as_everyone, main, need_root
from running import children, parts


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
        need_root("what it does, only root may")
        self.sh("mkdir ../ro ../ro2")
        policy = self.policy('{ filesystem = { allowWrite = { ".", "../ro" }, denyWrite = { "../ro/no", "../ro/a/b" } } }')
        done = self.with_mounts("mount --bind ../ro2 ../ro && mount -o remount,ro,bind ../ro", policy, "echo ok; mkdir ../ro/no")
        self.assertEqual("ok\n", done.stdout, done)
        self.assertEqual([], os.listdir(self.path("ro2")))

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
        # Below the janitor, or beside it; bubblewrap's own process comes between them.
        tree = ((0, "bwrap"), (1, "PID 1"), (2, "the command")) if BACKEND == "bwrap" else ((0, "PID 1"), (1, "the command"))
        for depth, name in tree:
            run = self.start(["sh", "-c", "mkdir -p $TMPDIR/a/b; touch $TMPDIR/ready; sleep 60"], policy)
            self.await_path("w/no")
            _, pid = parts(run.pid)
            deadline = time.time() + 10
            while depth:
                below = children(pid)
                if below:
                    pid, depth = below[0], depth - 1
                self.assertLess(time.time(), deadline)
            os.kill(pid, signal.SIGKILL)
            run.communicate(timeout=20)
            self.assertEqual(137 if name == "the command" else 125, run.returncode, name)
            self.assertEqual(([], []), (os.listdir(self.w), self.leftovers()), name)

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

    @as_everyone
    def test_its_folder_stays_and_is_otherwise_free(self):
        self.write("w/p/a", "x")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "p/r" } } }', {
            "rename p p2": "EBUSY", "rmdir p": "EBUSY", "write p/a": "ok", "creat p/new": "ok", "rename p/a p/b": "ok",
            "creat p/r": "EEXIST", "rename p/new p/r": "EISDIR"})
        self.assertEqual(["b", "new"], sorted(os.listdir(self.path("w/p"))))

    @as_everyone
    def test_one_place_for_names_that_share_a_missing_folder(self):
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "p/a", "p/b", "p" } } }', {
            "mkdir p": "EEXIST", "creat p": "EEXIST", "mkdir p/a": "EROFS", "creat p/b": "EROFS"})
        self.assertEqual([], os.listdir(self.w))

    @as_everyone
    def test_the_host_sees_an_empty_folder_that_nobody_can_fill_by_mistake(self):
        run = self.start_killed(["sleep", "60"], self.policy('{ filesystem = { allowWrite = { "." }, denyWrite = { "no" } } }'))
        self.await_path("w/no")
        st = os.lstat(self.path("w/no"))
        self.assertEqual((True, 0o555, []), (stat.S_ISDIR(st.st_mode), st.st_mode & 0o777, os.listdir(self.path("w/no"))))
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=20)
        self.await_gone()
        self.assertEqual([], os.listdir(self.w))


if __name__ == "__main__":
    main()
