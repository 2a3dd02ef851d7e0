# SPDX-License-Identifier: Apache-2.0
"""Bad input of any kind: a clear error or it works; never a crash, a hang or half a sandbox."""
import itertools
import json
import os
import resource
import signal
import subprocess
import time

from lib import BINARY, Case, as_everyone, main


class Refused(Case):
    def refused(self, got, *texts):
        """125, a message with each text, no traceback of ours, nothing ran."""
        self.assertEqual(125, got.code, got)
        for text in texts:
            self.assertIn(text, got.err)
        self.assertNotIn("internal error", got.err)
        self.assertNotIn("stack traceback:\n\t[C]", got.err)
        self.assertTrue(got.err.startswith("srt-lua: "), got)
        self.assertEqual([], self.leftovers())

    def run_policy(self, text, name="policy.lua", **more):
        path = self.write(name, text)
        return self.run_srt(["sh", "-c", "echo ran >ran"], path, **more)


class Policies(Refused):
    @as_everyone
    def test_broken(self):
        for text, wants in (
                ("return {\n  filesystem = {\n", ["policy.lua:"]), ("return {\n} }\n", ["policy.lua:2"]),
                ("local x = nil\nreturn x.y\n", ["policy.lua:2"]), ("error('my own')\n", ["my own"]),
                ("", ["must return a table"]), ("return nil", ["must return a table"]), ("return 5", ["number"]),
                ("return 'x'", ["string"]), ("return function() end", ["function"]),
                ("while true do end", ["instructions"]), ("local t = {} while true do t[#t + 1] = ('x'):rep(1e6) end", ["memory"]),
                ("\x1bLua", []), ("return { extends = { 'nosuch' } }", ["nosuch"]), ("return require('nosuch')", ["nosuch"]),
                ("return require('../../etc/passwd')", []), ("return { filesystem = { allowWrite = 'x' } }", ["filesystem.allowWrite"]),
                ("return { filesystem = { denyRead = { 1 } } }", ["filesystem.denyRead[1]"]),
                ("return { filesystem = { denyRead = { '' } } }", ["empty"]),
                ("return { filesystem = { denyRead = { 'a\\0b' } } }", ["NUL"]),
                ("return { network = { allowedDomains = { 'http://x' } } }", ["http://x"]),
                ("return { network = { allowedDomains = { 'x.test:99999' } } }", ["99999"]),
                ("return { network = { filterRequest = 1 } }", ["network.filterRequest"]),
                ("return { filesystem = { denyReed = {} } }", ["filesystem.denyReed", "filesystem.denyRead", "policy.lua:1"]),
                ("return { os.execute('touch ran') }", ["policy.lua:1"]), ("return { io.open('ran', 'w') }", ["policy.lua:1"])):
            self.refused(self.run_policy(text), *wants)
        self.assertFalse(os.path.exists(self.path("w/ran")))

    @as_everyone
    def test_all_errors_at_once(self):
        got = self.run_policy("""return {
  filesytem = {},
  filesystem = { denyRead = { 5 }, allowWrit = {} },
  network = { allowedDomains = "x", deniedDomains = { "a b" } },
  strict = "yes",
}\n""")
        self.refused(got, "filesytem", "filesystem?", "filesystem.denyRead[1]", "filesystem.allowWrit", "network.allowedDomains",
                     "network.deniedDomains[1]", "strict")
        self.assertGreaterEqual(len(got.err.splitlines()), 6)

    @as_everyone
    def test_what_is_not_there_yet_is_refused(self):
        for key in ("filesystem = { denyRead = { '**/.env' } }", "filesystem = { denyDelete = { 'x' } }",
                    "network = { tlsTerminate = {} }", "network = { allowUnixSockets = { '/x' } }", "secrets = { a = { env = 'A' } }",
                    "onViolation = function() end", "backend = 'bwrap'", "network = { publishPorts = { 3000 } }",
                    "network = { filterResponse = function() end }"):
            self.refused(self.run_policy("return { %s }" % key), key.split(" ")[0])
        self.refused(self.run_srt(["run", "-p", "3000", self.policy("{}"), "--", "true"]), "-p")

    @as_everyone
    def test_json(self):
        for text, wants in (('{', []), ('{"filesystem": {"allowWrite": ["."]},}', ["JSON"]),
                            ('{"filesystem":{"denyWriteTypo":["/x"]},"allowEverything":true}',
                             ["filesystem.denyWriteTypo", "filesystem.denyWrite", "allowEverything"]),
                            ('[]', []), ('null', []), ('{"a": 1, "a": 2}', []), ("", []), ("\xff\xfe", [])):
            self.refused(self.run_policy(text, "s.json"), *wants)
        got = self.run_policy('{"filesystem": {"allowWrite": ["."]}, "ripgrep": {"command": "rg"}}', "s.json")
        self.assertEqual(0, got.code, got)

    @as_everyone
    def test_files(self):
        self.refused(self.run_srt(["run", "/nonexistent.lua", "--", "true"]),
                     "/nonexistent.lua")
        self.refused(self.run_srt(["run", "/tmp", "--", "true"]), "/tmp")
        self.refused(self.run_srt(["run", "/dev/zero", "--", "true"]), "/dev/zero")
        fifo = self.path("fifo.lua")
        os.mkfifo(fifo)
        self.refused(self.run_srt(["run", fifo, "--", "true"]), "fifo.lua")
        if self.user == "user":
            self.write("secret.lua", "return {}", 0o000)
            self.refused(self.run_srt(["run", self.path("secret.lua"), "--", "true"]), "secret.lua")
        self.refused(self.run_policy("return {} --" + "x" * (20 << 20)))

    @as_everyone
    def test_ten_thousand_paths(self):
        os.mkdir(self.path("w/t"))
        for i in range(10000):
            os.close(os.open(self.path("w/t/f%d" % i), os.O_CREAT))
        self.own(self.w)
        text = "local l = {} for i = 0, 9999 do l[i + 1] = 't/f' .. i end return { filesystem = { allowWrite = { '.' }, denyRead = l } }"
        start = time.time()
        got = self.run_sh("cat t/f0 t/f9999; echo x >t/new && echo fine", text)
        self.assertEqual("fine\n", got.out)
        self.assertEqual(2, got.err.count("Permission denied"))
        self.assertLess(time.time() - start, 30)


class CommandLine(Refused):
    @as_everyone
    def test_wrong_words(self):
        policy = self.policy("{}")
        for words in ([], ["frobnicate"], ["run"], ["run", policy], ["run", policy, "--"], ["run", "--nosuch", policy, "--", "true"],
                      ["run", policy, "--keep-fd"], ["run", "--keep-fd", "x", policy, "--", "true"],
                      ["run", "--keep-fd", "1", policy, "--", "true"], ["run", policy, "-c"], ["run", policy, "-c", "true", "--", "true"],
                      ["run", "", "--", "true"], ["ru"]):
            got = self.run_srt(words)
            self.assertEqual(125, got.code, (words, got))
            self.assertIn("srt-lua", got.err)
            self.assertEqual("", got.out)
        for words in (["check"], ["compile"], ["compile", "--nosuch", policy], ["check", "--nosuch"]):
            self.assertEqual(2, self.run_srt(words).code, words)

    @as_everyone
    def test_help_and_version(self):
        for words in (["--help"], ["run", "--help"], ["check", "--help"], ["compile", "--help"], ["help"]):
            got = self.run_srt(words)
            self.assertEqual((0, ""), (got.code, got.err), words)
            self.assertIn("usage: srt-lua", got.out)
        self.assertRegex(self.run_srt(["--version"]).out, r"^srt-lua \d+\.\d+\.\d+\n$")

    @as_everyone
    def test_check_and_compile(self):
        policy = self.policy('{ filesystem = { allowWrite = { "." } }, network = { allowedDomains = { "a.test:443" } } }')
        data = json.loads(self.run_srt(["check", policy, "--json"]).out)
        self.assertTrue(data["policies"][0]["ok"])
        self.assertEqual(self.w, data["policies"][0]["profile"]["filesystem"]["allowWrite"][0]["path"])
        plan = json.loads(self.run_srt(["compile", policy, "--json"]).out)
        self.assertEqual("namespaces", plan["backend"])
        self.assertIn(self.w, [step.get("source") for step in plan["mounts"]])
        self.assertEqual(self.run_srt(["compile", policy]).out, self.run_srt(["compile", policy]).out)
        self.assertEqual(1, self.run_srt(["check", self.policy("{ nosuch = 1 }", "bad.lua")]).code)
        self.assertIn("mount:", self.run_srt(["true"], policy, options=["--debug"]).err)

    @as_everyone
    def test_commands_that_can_not_run(self):
        self.write("w/plain", "x")
        self.write("w/script", "#!/nonexistent/interpreter\n", 0o755)
        for command, status in ((["nosuch-command"], 127), (["./nosuch"], 127), (["./plain"], 126), (["/etc/passwd"], 126), (["/tmp"], 126),
                                (["./script"], 127), ([""], 127), (["./plain/x"], 126)):
            got = self.run_srt(command, "{}")
            self.assertEqual(status, got.code, (command, got))
            self.assertTrue(got.err.startswith("srt-lua: "), got)

    @as_everyone
    def test_arguments_and_environment_of_any_size(self):
        self.write("w/count.py", "import sys, os; print(sum(map(len, sys.argv[1:])), len(os.environ.get('BIG', '')))")
        many = ["x" * 1000] * 1000
        got = self.run_srt(["/usr/bin/python3", "count.py", *many], "{}", env={"BIG": "y" * 100000})
        self.assertEqual("1000000 100000\n", got.out, got)
        got = self.run_srt(["true", "x" * 120000, "\n", "\xff", ""], "{}", env={"ODD": "a=b\nc"})
        self.assertEqual(0, got.code, got)


class Surroundings(Refused):
    @as_everyone
    def test_working_directory(self):
        gone = self.path("gone")
        os.mkdir(gone)
        self.own(gone)

        def leave():
            os.rmdir(gone)
        got = self.run_srt(["true"], self.policy("{}"), cwd=gone, preexec=leave)
        self.refused(got, "working directory")
        got = self.run_srt(["pwd"], '{ filesystem = { denyRead = { ".." } } }')
        self.refused(got, "working directory")

    @as_everyone
    def test_closed_descriptors(self):
        policy = self.policy('{ filesystem = { allowWrite = { "." } } }')
        for closed in itertools.chain.from_iterable(itertools.combinations((0, 1, 2), n) for n in (1, 2, 3)):
            def close(closed=closed):
                for fd in closed:
                    os.close(fd)
            got = self.run_srt(["sh", "-c", "echo out; cat >/dev/null; echo fine >f; exit 3"], policy, preexec=close)
            self.assertEqual(3, got.code, (closed, got))
            self.assertEqual("fine\n", self.read("w/f"))
        with open("/dev/full", "w") as full:
            got = self.run_srt(["sh", "-c", "echo x; exit 5"], policy, stdout=full)
            self.assertEqual(5, got.code)

    @as_everyone
    def test_odd_environment(self):
        for env in ({"HOME": None}, {"HOME": ""}, {"PATH": None}, {"HOME": "relative"}, {"TERM": None}):
            got = self.run_srt(["/bin/echo", "ran"], "{}", env=env)
            self.assertEqual("ran\n", got.out, (env, got))
        got = self.run_srt(["true"], '{ filesystem = { denyRead = { "~/x" } } }', env={"HOME": None})
        self.assertIn(got.code, (0, 125))

    @as_everyone
    def test_signals_that_the_caller_ignores(self):
        def ignore():
            for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
        got = self.run_sh("sh -c true; exit 4", "{}", preexec=ignore, timeout=20)
        self.assertEqual(4, got.code, got)
        got = self.run_srt(["grep", "SigIgn", "/proc/self/status"], "{}", preexec=ignore, timeout=20)
        self.assertEqual(1 << 16 | 1 << 12 | 1, int(got.out.split()[1], 16), "they stay ignored inside")

    @as_everyone
    def test_missing_kernel_features(self):
        for feature, cure in (("userns", "namespaces"), ("map", "map"), ("mount_setattr", "5.15"), ("seccomp", "seccomp")):
            got = self.run_srt(["touch", "ran"], '{ filesystem = { allowWrite = { "." } } }', env={"SRT_LUA_FAKE_MISSING": feature})
            self.refused(got, cure)
            self.assertFalse(os.path.exists(self.path("w/ran")))

    @as_everyone
    def test_tight_limits(self):
        """Where memory, descriptors or processes run short: a clear end, or it works."""
        policy = self.policy('{ filesystem = { allowWrite = { "." } } }')
        for limit, values in ((resource.RLIMIT_NOFILE, (3, 4, 6, 8, 10, 12, 16)), (resource.RLIMIT_AS, (10 << 20, 50 << 20, 300 << 20)),
                              (resource.RLIMIT_FSIZE, (0,))):
            for value in values:
                got = self.run_srt(["/bin/echo", "ran"], policy, timeout=30,
                                   preexec=lambda limit=limit, value=value: resource.setrlimit(limit, (value, value)))
                self.assertTrue(got.code == 0 and got.out == "ran\n" or got.code in (125, 126, 127) or got.code < 0 or
                                limit != resource.RLIMIT_NOFILE, (limit, value, got))
                self.assertNotIn("internal error", got.err.replace("not enough memory", ""), (limit, value))
        deadline = time.time() + 5
        while self.leftovers() and time.time() < deadline:
            time.sleep(0.05)
        self.assertEqual([], self.leftovers())

    @as_everyone
    def test_nothing_runs_without_the_sandbox(self):
        """Whatever fails, the command does not run unprotected."""
        got = subprocess.run([BINARY, "run", self.policy("{}"), "--", "/bin/touch", self.path("w/escaped")], cwd=self.w,
                             env={"PATH": "/nonexistent"}, preexec_fn=self.preexec(), capture_output=True, timeout=20)
        self.assertNotEqual(0, got.returncode)
        self.assertFalse(os.path.exists(self.path("w/escaped")))


if __name__ == "__main__":
    main()
