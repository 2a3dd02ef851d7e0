# SPDX-License-Identifier: Apache-2.0
"""backend = "bwrap": what bubblewrap and our PID 1 hold together, how it fails, and that nothing is left.

With SRT_LONG=1 the key tests of the namespaces backend run by it as well; SRT_TEST_BACKEND=bwrap does that to any one.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

from lib import BINARY, Case, LONG, as_everyone, main, need, skip
from running import SHELL, Inside, children, until

WARNED = "root is told what bubblewrap does not hold"
# Read by the namespaces backend's tests, which differ where bubblewrap does: file → tests, each with the reason.
KEY_TESTS = {
    "read": {}, "write": {}, "network": {}, "filter": {}, "seccomp": {}, "escape": {},
    "process": dict.fromkeys(("Descriptors.test_end_of_file_and_a_closed_pipe", "Descriptors.test_streams_pass_byte_for_byte",
                              "Endings.test_the_temporary_directory", "Hidden.test_pid_1_is_not_read"), WARNED),
    "transparent": {"Programs.test_java": WARNED, "Programs.test_redis": WARNED,
                    "Settings.test_a_kernel_without_nf_tables_and_notifications": "without nf_tables no agent leads there"},
    "globs": {"Telling.test_thousands": "3,000 masks are more than bubblewrap's 9,000 arguments"},
    "missing": {"Missing.test_a_folder_that_can_not_be_searched": WARNED,
                "Missing.test_a_folder_that_its_owner_closed": "root has no CAP_DAC_OVERRIDE"},
    "replaced": {"Replaced.test_nothing_is_said_where_nothing_protected_was_replaced": WARNED},
}


class Bwrap(Case):
    def setUp(self):
        need("bwrap")
        super().setUp()

    def bwrap(self, text, more=""):
        return 'return { backend = "bwrap", %s filesystem = { %s } }' % (more, text)

    def state(self):
        folder = self.path("home/.local/state/srt-lua")
        return sorted(name for name in os.listdir(folder) if name != "violations") if os.path.isdir(folder) else []

    @as_everyone
    def test_holds_files_network_and_processes(self):
        self.sh("mkdir -p deny shut/way hook; echo s >deny/k; echo s >k; echo w >shut/way/f; echo s >shut/k; "
                "echo x >../real; ln -s ../real link; echo g >a.pem")
        policy = self.bwrap('allowWrite = { "..", }, denyRead = { "deny", "k", "shut", "*.pem" }, allowRead = { "shut/way" },'
                            ' denyWrite = { "hook", "link", "later" }', 'network = { allowedDomains = { "a.test" } },')
        got = self.run_sh("""
            cat k; cat deny/k; ls deny; ls shut; cat shut/k; cat shut/way/f; cat a.pem; echo w >hook/x; echo w >>link
            rm link || echo linkstays; mkdir later || echo laterstays; echo ok >new && cat new; chmod 777 k
            echo /dev/*; echo x >/dev/null; chmod 0 /dev/null; stat -c %a:%F k deny /dev/shm /dev/pts/ptmx
            ls /dev/srt-masks /dev/pts; mount -t tmpfs none . || echo nomount; unshare -r true || echo nouserns
            grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; kill -0 -1; echo $$; exit 7""", policy)
        out = got.out.splitlines()
        self.assertEqual(7, got.code, got)
        self.assertEqual(["w", "linkstays", "laterstays", "ok"], out[:4], got)
        self.assertEqual("/dev/fd /dev/full /dev/null /dev/ptmx /dev/pts /dev/random /dev/shm /dev/stderr /dev/stdin "
                         "/dev/stdout /dev/tty /dev/urandom /dev/zero", out[4], got)
        self.assertEqual(["0:regular empty file", "0:directory", "1777:directory", "666:character special file", "/dev/pts:",
                          "ptmx", "nomount", "nouserns"], out[5:13], got)
        self.assertEqual({"0000000000000000"}, {line.split()[1] for line in out if line.startswith("Cap")}, got)
        self.assertIn("NoNewPrivs:\t1", out, got)
        self.assertIn("Seccomp:\t2", out, got)
        self.assertEqual("2", out[-1], got)
        self.assertNotIn("s", out, got)
        self.assertEqual(("x\n", []), (self.read("real"), os.listdir(self.path("w/hook"))))
        self.assertEqual(([], []), (self.leftovers(), self.state()), got)

    @as_everyone
    def test_a_denied_root_and_what_the_host_replaces(self):
        self.sh("echo a >f")
        policy = self.bwrap('denyRead = { "/" }, allowRead = { "/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "." },'
                            ' allowWrite = { "." }, denyWrite = { "f" }')
        process = self.start(["sh", "-c", SHELL], policy, stdin=subprocess.PIPE)
        inside = Inside(process)
        self.assertTrue(inside.can("test -e f"))
        self.assertFalse(inside.can("ls / /var 2>&1"))
        self.assertFalse(inside.can("echo w >f"))
        for _ in range(2):
            self.sh("echo b >new; mv new f")
            self.assertTrue(until(lambda: not inside.can("echo w >f"), 5))
        process.stdin.close()
        err = process.stderr.read().decode()
        self.assertEqual(0, process.wait(20), err)
        process.stdout.close()
        process.stderr.close()
        self.assertRegex(err, r"warning: \S*/w/f was .* from outside")

    @as_everyone
    def test_whoever_is_killed_nothing_stays(self):
        policy = self.bwrap('allowWrite = { "." }, denyRead = { "k" }, denyWrite = { "no" }')
        self.sh("echo s >k")
        for depth in (0, 1, 2, 3):
            run = self.start(["sh", "-c", "touch $TMPDIR/x ready; exec sleep 60"], policy)
            self.assertTrue(until(lambda: os.path.exists(self.path("w/ready")), 30), "it does not start")
            pids = [run.pid]
            while len(pids) < 5:
                pids.append(children(pids[-1])[0])
            os.kill(pids[depth], signal.SIGKILL)
            _, err = run.communicate(timeout=30)
            for pid in pids:
                self.assertTrue(until(lambda p=pid: not os.path.exists("/proc/%d" % p), 20), "%d %s" % (depth, err))
            if depth:
                self.assertEqual(125, run.returncode, err)
            # Without janitor and host the next run does it.
            if depth == 1:
                self.run_srt(["true"], policy)
            os.remove(self.path("w/ready"))
            self.assertTrue(until(lambda: not (self.leftovers() + self.state()), 20), (depth, self.leftovers(), self.state()))
            self.assertEqual(["k"], os.listdir(self.w), depth)

    def starts(self, janitor):
        try:
            return any(self.read("/proc/%d/comm" % pid) == "bwrap\n" for pid in children(janitor))
        except OSError:
            return False

    def test_the_janitor_killed_while_bubblewrap_starts(self):
        """Bubblewrap's first process would wait for ever for who has died, and the host process for it."""
        policy = self.bwrap('allowWrite = { "." }')
        for step in range(12):
            run = self.start(["sleep", "0.2"], policy)
            # Not the one of the sandbox that was prepared before the policy was known.
            janitor = until(lambda pid=run.pid: next((child for child in children(pid) if self.starts(child)), None))
            self.assertTrue(janitor, "it does not start")
            time.sleep(step * 0.001)
            os.kill(janitor, signal.SIGKILL)
            run.communicate(timeout=20)
        self.run_srt(["true"], policy)
        self.assertTrue(until(lambda: not (self.leftovers() + self.state())), (self.leftovers(), self.state()))

    def test_bubblewrap_that_is_missing_or_fails(self):
        fails = self.write("fails", "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n", 0o755)
        mute = self.write("mute", "#!/bin/sh\nexit 0\n", 0o755)
        inside = self.write("w/bwrap", "#!/bin/sh\nexit 0\n", 0o755)
        os.mkdir(self.path("w/bin"))
        os.symlink(mute, self.path("w/bin/bwrap"))
        for path, said in (("/nowhere/bwrap", r"/nowhere/bwrap is no program; install bubblewrap"),
                           (fails, r"No permissions to create new namespace; look whether .*another backend"),
                           (mute, r"bubblewrap does not start"), ("bwrap", r"bwrapPath: an absolute path"),
                           (inside, r"the command could replace \S+/w/bwrap"),
                           (self.path("w/bin/bwrap"), r"through the symbolic link \S+/w/bin/bwrap")):
            policy = self.bwrap('allowWrite = { "." }', 'bwrapPath = "%s",' % path)
            got = self.run_srt(["touch", "ran"], policy)
            self.assertEqual((125, ""), (got.code, got.out), got)
            self.assertRegex(got.err, said)
            told = self.run_srt(["check", self.policy(policy)])
            self.assertEqual(path in (fails, mute), told.code == 0, told)
            self.assertEqual(told.code == 0, not re.search(said, told.err), told)
        got = self.run_srt(["touch", "ran"], self.bwrap('allowWrite = { "." }'), env={"PATH": self.path("w/bin")})
        self.assertRegex(got.err, r"through the symbolic link \S+/w/bin/bwrap")
        got = self.run_srt(["touch", "ran"], self.bwrap('allowWrite = { "." }'), env={"PATH": "/nowhere"})
        self.assertEqual(125, got.code, got)
        self.assertIn("there is no bwrap on PATH; install bubblewrap", got.err)
        self.assertEqual((["bin", "bwrap"], [], []), (sorted(os.listdir(self.w)), self.leftovers(), self.state()))

    def test_what_is_replaced_while_bubblewrap_begins(self):
        """It takes paths: a link that another command makes meanwhile would lead its mounts elsewhere."""
        real = need("bwrap")
        for name, lists in (("writes", 'allowWrite = { "a/b/d" }'), ("reads", 'allowWrite = { "a/b/d" }, denyRead = { "a/b/k" }'),
                            ("shut", 'allowWrite = { "." }, denyRead = { "a/b/k", "a/b/d" }'),
                            ("stays", 'allowWrite = { "." }, denyWrite = { "a/b" }')):
            with self.subTest(name):
                self.sh("rm -rf * ../out; mkdir -p a/b/d ../out; echo s >a/b/k")
                swap = self.write("swap", "#!/bin/sh\ncd %s; mv a/b ../out/b; cp -a ../out/b ../out/c; ln -s ../../out/c a/b\n"
                                  "exec %s \"$@\"\n" % (self.w, real), 0o755)
                got = self.run_sh("echo w >%s; cat a/b/k; touch ran; echo ran" % self.path("out/c/d/x"),
                                  self.bwrap(lists, 'bwrapPath = "%s",' % swap))
                self.assertEqual((125, ""), (got.code, got.out), got)
                self.assertIn("was replaced while the sandbox was made", got.err)
                self.assertFalse(os.path.exists(self.path("out/c/d/x")))
        self.assertEqual(([], []), (self.leftovers(), self.state()))

    @as_everyone
    def test_with_the_create_guard(self):
        """Its agent wants a filter that PID 1 must not be under yet."""
        got = self.run_sh("mkdir -p a/b && mkdir a/b/.envrc || echo guarded",
                          self.bwrap('allowWrite = { "." }, createGuard = "supervisor"'))
        self.assertEqual((0, "guarded\n"), (got.code, got.out), got)

    def test_what_is_printed_and_what_is_refused(self):
        policy = self.policy(self.bwrap('allowWrite = { "." }'))
        got = self.run_srt(["compile", policy, "--json"])
        argv = json.loads(got.out)["bwrap"]["argv"]
        self.assertEqual(["--bind", self.w, self.w], argv[argv.index("--bind"):][:3])
        known = set(re.findall(r"--[a-z0-9-]+", subprocess.run(["bwrap", "--help"], capture_output=True, check=True,
                                                                 text=True).stdout))
        self.assertEqual(set(), {word for word in argv if word.startswith("--")} - known)
        self.assertIn("bwrap: --bind %s %s\n" % (self.w, self.w), self.run_srt(["compile", policy]).out)
        got = self.run_srt(["true"], self.bwrap("decideOpen = function() return true end"))
        self.assertEqual(125, got.code, got)
        self.assertIn("filesystem.decideOpen can't be held by backend = \"bwrap\"", got.err)

    def test_root_is_told_what_it_can_not_reach(self):
        """It has no capability inside, so what is closed to it by modes is; that shows before anything is begun."""
        if self.user != "root":
            skip("only root", allowed=True)
        self.sh("mkdir -p a/shut b; touch a/shut/k b/k; chmod 0 a/shut; chmod 0 b")
        os.chown(self.path("w/b"), 65124, 65124)
        for lists, path, shut in (('allowWrite = { "." }, denyWrite = { "a/shut/k" }', "a/shut/k", "a/shut"),
                                  ('denyRead = { "b/k" }', "b/k", "b"), ('denyRead = { "." }, allowRead = { "b/k" }', "b/k", "b"),
                                  # Bubblewrap gets to what is root's, and what it stands in is a scaffold inside.
                                  ('denyRead = { "a" }, allowRead = { "a/shut/k" }', None, None)):
            policy = self.policy(self.bwrap(lists))
            for words in (["check", policy], ["explain", policy, "stat", "a"], ["run", policy, "--", "cat", "a/shut/k"]):
                got = self.run_srt(words)
                said = path and "so %s can't be reached: %s can't be searched; allow that" % (self.path("w", path), self.path("w", shut))
                self.assertEqual((bool(path), bool(path)), (got.code in (1, 125), "can't be reached" in got.err), got)
                self.assertIn(said or "", got.err)

    def by_bwrap(self, *words):
        return subprocess.run([sys.executable, *words], cwd=os.path.dirname(os.path.abspath(__file__)),
                              env={**os.environ, "SRT_TEST_BACKEND": "bwrap", "SRT_LUA": BINARY}, capture_output=True,
                              text=True, timeout=1800, check=False)

    def test_the_key_tests_of_namespaces(self):
        if not LONG:
            skip("SRT_LONG=1 runs the key tests by bubblewrap as well", allowed=True)
        for name, differs in KEY_TESTS.items():
            done = self.by_bwrap("test_%s.py" % name)
            failed = {"%s.%s" % (cls, test) for test, cls in
                      re.findall(r"^(?:FAIL|ERROR): (\w+) \(\w+\.(\w+)", done.stderr, re.M)}
            self.assertEqual((set(differs), bool(differs)), (failed, done.returncode != 0), done.stderr[-4000:])

    def test_random_trees(self):
        if not LONG:
            skip("SRT_LONG=1 runs the key tests by bubblewrap as well", allowed=True)
        done = self.by_bwrap("property_files.py")
        self.assertEqual(0, done.returncode, done.stdout[-4000:])


if __name__ == "__main__":
    main()
