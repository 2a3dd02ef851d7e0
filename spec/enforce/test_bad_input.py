# SPDX-License-Identifier: Apache-2.0
"""Bad input: a clear error or it works; never a crash, a hang, or a half-made sandbox."""
import itertools
import json
import os
import resource
import signal
import socket
import subprocess
import time

from lib import BINARY, Case, as_everyone, as_only, main

WORK = '{ filesystem = { allowWrite = { "." } } }'
RAN = ["touch", "ran"]


class BadInput(Case):
    def refused(self, args, *words, code=125, **more):
        """Nothing ran, nothing is left, and the message says why in plain words."""
        got = self.run_srt(args, timeout=30, **more)
        self.assertEqual(code, got.code, got)
        for word in words:
            self.assertIn(word, got.err, got)
        self.assertTrue(got.err.startswith("srt-lua: "), got)
        self.assertNotIn("internal error", got.err)
        self.assertNotIn("traceback", got.err)
        self.assertEqual("", got.out)
        self.assertFalse(os.path.exists(self.path("w/ran")), "the command ran")
        self.assertEqual([], self.leftovers())
        return got

    def policy_refused(self, text, *words, name="p.lua"):
        """By run, check and compile alike."""
        path = self.write(name, text)
        got = self.refused(["run", path, "--", *RAN], *words)
        for command in ("check", "compile"):
            self.refused([command, path], *words, code=1)
        return got

    def not_held(self, text, *words):
        """Refused by run; check prints what it comes to, and says the same."""
        path = self.write("p.lua", text)
        self.refused(["run", path, "--", *RAN], *words)
        got = self.run_srt(["check", path])
        self.assertEqual(1, got.code, got)
        for word in words:
            self.assertIn(word, got.err)
        return got


class Policies(BadInput):
    @as_everyone
    def test_broken_lua_names_the_line(self):
        for text, line, word in (("return {\n  a = \n", 3, "unexpected symbol"),
                                 ("return {\n  filesystem = {\n}\n", 4, "'}' expected"),
                                 ("\n\nreturn 'x", 3, "unfinished string"),
                                 ("local x\n\nreturn { filesystem = x.y }", 3, "attempt to index a nil value"),
                                 ("\nerror('out of luck')", 2, "out of luck"),
                                 ("\nreturn { filesystem = io.open('x') }", 2, "io"),
                                 ("\nlocal m = require('nosuch')\nreturn {}", 2, "nosuch"),
                                 ("return require('../../etc/passwd')", 1, "passwd"),
                                 ("return { os.execute('touch ran') }", 1, "execute")):
            with self.subTest(text):
                got = self.policy_refused(text, "p.lua:%d:" % line, word)
                self.assertEqual(1, got.err.count("p.lua:"), got)

    @as_everyone
    def test_an_error_that_is_no_text(self):
        self.policy_refused("error({})", "p.lua")
        self.policy_refused("error()", "p.lua")
        self.policy_refused("error(setmetatable({}, { __tostring = function() error('x') end }))", "p.lua")

    @as_everyone
    def test_no_table(self):
        for text, found in (("", "nil"), ("local a = 1", "nil"), ("return 42", "42"), ("return 'x'", '"x"'),
                            ("return function() end", "a function"), ("return true", "true"), ("return nil, {}", "nil"),
                            ("-- only a comment", "nil")):
            with self.subTest(text):
                self.policy_refused(text, "must return a table", found)

    @as_everyone
    def test_what_is_no_readable_file(self):
        self.refused(["run", self.path("nosuch.lua"), "--", *RAN], "nosuch.lua", "No such file")
        self.refused(["run", self.path("w"), "--", *RAN], "a directory")
        self.refused(["run", "/dev/null", "--", *RAN], "a character device")
        self.refused(["run", "", "--", *RAN], "policy")
        self.refused(["run", self.write("f") + "/p.lua", "--", *RAN], "Not a directory")
        self.refused(["run", "/" + "x" * 5000, "--", *RAN], "File name too long")
        self.sh("mkfifo fifo; ln -s loop loop")
        self.refused(["run", self.path("w/fifo"), "--", *RAN], "a FIFO")
        self.refused(["run", self.path("w/loop"), "--", *RAN], "Too many levels")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path("sock"))
            self.refused(["run", self.path("sock"), "--", *RAN], "a socket")

    @as_only("user")
    def test_unreadable(self):
        path = self.write("p.lua", "return {}", mode=0)
        self.refused(["run", path, "--", *RAN], "p.lua", "Permission denied")
        path = self.write("shut/p.lua", "return {}")
        os.chmod(self.path("shut"), 0)
        self.refused(["run", path, "--", *RAN], "Permission denied")

    @as_everyone
    def test_huge(self):
        path = self.path("huge.lua")
        with open(path, "wb") as file:
            file.truncate(1 << 32)
        os.chmod(path, 0o644)
        self.refused(["run", path, "--", *RAN], "huge.lua", "too large")
        self.policy_refused("return {" + "{" * 100000, "p.lua", "overflow")
        self.policy_refused('{"filesystem":' + "[" * 100000, "p.json:1:", name="p.json")
        self.policy_refused("-- " + "x" * 2000000 + "\nreturn {}", "larger than 1 MiB")
        got = self.run_srt(["echo", "ran"], "-- " + "x" * 1000000 + "\nreturn {}")
        self.assertEqual((0, "ran\n"), (got.code, got.out), got)

    @as_everyone
    def test_no_binary_chunk(self):
        for text in (b"\x1bLua", b"\x1bLuaT\0\x19\x93\r\n\x1a\n" + b"\0" * 200):
            self.policy_refused(text, "p.lua", "binary chunk")

    @as_everyone
    def test_bytes_of_all_kinds(self):
        self.policy_refused(b"\xff\xfe\0r\0e\0t", "p.lua:1:")
        self.policy_refused(b"return \0 {}", "p.lua:1:")
        for text in (b"\xef\xbb\xbfreturn {}", b"#!/usr/bin/env srt-lua\nreturn {}", b"return {}\r\n"):
            with self.subTest(text):
                got = self.run_srt(["run", self.write("p.lua", text), "--", "echo", "ran"])
                self.assertEqual((0, "ran\n"), (got.code, got.out), got)

    @as_everyone
    def test_messages_hold_no_control_bytes(self):
        """What a policy names must not act on the user's terminal."""
        control = b"[\0-\x08\x0b-\x1f\x7f]"
        for text in ('return { ["\\27]0;x\\7"] = 1 }', 'error("\\27[2J")', 'error("a\\0b")'):
            with self.subTest(text):
                self.assertNotRegex(self.policy_refused(text).err_bytes, control)
        got = self.not_held('return { filesystem = { denyRead = { "\\27*/../x" } } }', "filesystem.denyRead[1]")
        self.assertNotRegex(got.out_bytes + got.err_bytes, control)

    @as_everyone
    def test_broken_json_names_the_line(self):
        for text, line in (('{\n"filesystem": {\n"allowWrite": ["."],\n}}', 4), ("", 1), ('{"a": 1} x', 1), ("{\n'a': 1}", 2),
                           ('{"filesystem": {}', 1), ('[\n1,\n', 3), ('{"a": tru}', 1), ('{"a": 01}', 1),
                           ('{"a": "\\x"}', 1), ('{"a": "\n"}', 1), ('{"env": {}, "env": {}}', 1), ('\xff', 1)):
            with self.subTest(text):
                self.policy_refused(text, "p.json:%d:" % line, name="p.json")
        self.policy_refused("null", "null", name="p.json")
        self.policy_refused("[]", "p.json", name="p.json")

    @as_everyone
    def test_unknown_keys_are_told_all_at_once(self):
        self.policy_refused("""return {
            filesytem = {},
            network = { allowedDomain = { "x.test" },
                filterRequst = 1 },
            filesystem = {
                denyreed = { "/x" }, allowWrite = "x", denyWrite = { 1 } },
            zzz = 1,
            [1] = 2,
        }""", "p.lua:2: filesytem: unknown key; did you mean filesystem?",
                            "p.lua:3: network.allowedDomain: unknown key; did you mean network.allowedDomains?",
                            "p.lua:4: network.filterRequst: unknown key; did you mean network.filterRequest?",
                            "p.lua:6: filesystem.denyreed: unknown key; did you mean filesystem.denyRead?",
                            'filesystem.allowWrite: expected a list of paths, found the string "x"',
                            "filesystem.denyWrite[1]", "zzz: unknown key")
        self.policy_refused('{"filesystem": {"denyWriteTypo": ["/x"]},\n"allowEverything": true}',
                            "p.json:1: filesystem.denyWriteTypo: unknown key; did you mean filesystem.denyWrite?",
                            "p.json:2: allowEverything: unknown key", name="p.json")

    @as_everyone
    def test_wrong_values(self):
        for text, *words in (('{ filesystem = 1 }', "filesystem", "1"),
                             ('{ filesystem = { denyRead = { "" } } }', "filesystem.denyRead[1]", "empty"),
                             ('{ filesystem = { denyRead = { "a\\0b" } } }', "filesystem.denyRead[1]"),
                             ('{ filesystem = { denyRead = { { path = 1 } } } }', "filesystem.denyRead[1]"),
                             ('{ network = { allowedDomains = { "ok.test:99999" } } }', "network.allowedDomains[1]", "99999"),
                             ('{ network = { allowedDomains = { "http://ok.test/" } } }', "network.allowedDomains[1]"),
                             ('{ network = { filterRequest = true } }', "network.filterRequest", "function"),
                             ('{ network = { deniedDomains = { a = 1 } } }', "network.deniedDomains"),
                             ('{ extends = { "nosuch" } }', "nosuch"),
                             ('{ limits = { nosuch = 1 } }', "limits.nosuch"),
                             ('{ env = { set = { ["A=B"] = "x" } } }', "env.set"),
                             ('{ backend = "magic" }', "backend", "magic"),
                             ('(function() local t = {} t.network = t return t end)()', "network")):
            with self.subTest(text):
                self.policy_refused("return " + text, *words)

    @as_everyone
    def test_what_can_not_be_held_yet_is_refused(self):
        self.not_held("""return {
            credentials = { envVars = { { name = "X", mode = "mask", extract = "a(b)" } } },
        }""", "credentials.envVars")
        self.refused(["run", self.write("p.lua", 'return { backend = "seatbelt" }'), "--", *RAN], "macOS")
        got = self.run_srt(["run", self.write("s.json", '{"ripgrep": {"command": "rg"}}'), "--", "echo", "ran"])
        self.assertEqual((0, "ran\n"), (got.code, got.out), got)

    @as_everyone
    def test_strict(self):
        """What is only warned of otherwise stops a run."""
        self.write("w/one", "x")
        os.link(self.path("w/one"), self.path("w/two"))
        weak = "filesystem = { denyRead = { 'one' } }"
        got = self.run_sh("echo ran", "{ %s }" % weak)
        self.assertEqual((0, "ran\n"), (got.code, got.out), got)
        self.assertIn("warning: ", got.err, got)
        got = self.run_sh("echo ran", "{ strict = true, %s }" % weak)
        self.assertEqual((125, ""), (got.code, got.out), got)
        self.assertIn("strict = true: nothing was run", got.err, got)
        got = self.run_sh("echo ran", "{ strict = true }", env={"SRT_LUA_FAKE_LANDLOCK_ABI": "3"})
        self.assertEqual((125, ""), (got.code, got.out), got)
        self.assertIn("Landlock", got.err, got)
        got = self.run_sh("echo ran", "{ strict = true, filesystem = { denyRead = { 'none' } } }")
        self.assertEqual((0, "ran\n"), (got.code, got.out), got)

    @as_everyone
    def test_policies_that_never_end(self):
        for text, word in (("while true do end", "budget"), ("while true do pcall(function() while true do end end) end",
                                                             "budget"),
                           ("local function f() return f() end f()", "budget"),
                           ("string.find(('a'):rep(1e5), '.-.-.-.-b$')", "budget"),
                           ("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(100) .. i end", "memory"),
                           ("local s = 'x' while true do s = s .. s end", "memory"),
                           ("local s = ('x'):rep(1 << 40)", ""),
                           ("local function f(n) return 1 + f(n) end f(1)", "overflow"),
                           ("setmetatable({}, { __gc = function() while true do end end })", "__gc")):
            with self.subTest(text):
                start = time.monotonic()
                self.refused(["run", self.write("p.lua", text + "\nreturn {}"), "--", *RAN], word)
                self.assertLess(time.monotonic() - start, 20)


class Options(BadInput):
    @as_everyone
    def test_help_and_version(self):
        for args in (["--help"], ["-h"], ["help"], ["run", "--help"], ["check", "--help"], ["compile", "--help"],
                     ["run", "-h"], ["check", "-h"], ["compile", "-h"]):
            with self.subTest(args):
                got = self.run_srt(args)
                self.assertEqual((0, ""), (got.code, got.err))
                self.assertTrue(got.out.startswith("usage: srt-lua"), got)
                self.assertIn(args[0] if len(args) > 1 else "check", got.out)
        got = self.run_srt(["--version"])
        self.assertEqual((0, ""), (got.code, got.err))
        self.assertRegex(got.out, r"^srt-lua \d+\.\d+\.\d+\n$")

    @as_everyone
    def test_wrong_usage_of_run(self):
        policy = self.policy(WORK)
        for args, word in (([], "no policy"), (["--", *RAN], "no policy"), ([policy], "no command"),
                           ([policy, "--"], "no command"), (["--bogus", policy, "--", *RAN], "unknown option --bogus"),
                           ([policy, "--keep-fd"], "--keep-fd needs a value"),
                           ([policy, "--keep-fd", "x", "--", *RAN], '"x"'), ([policy, "--keep-fd=", "--", *RAN], '""'),
                           ([policy, "--keep-fd", "1", "--", *RAN], "from 3 up"),
                           ([policy, "--keep-fd", "-1", "--", *RAN], "from 3 up"),
                           ([policy, "--keep-fd", "3.5", "--", *RAN], "from 3 up"),
                           ([policy, "--keep-fd", "9" * 30, "--", *RAN], "from 3 up"),
                           ([policy, "--keep-fd", "700", "--", *RAN], "descriptor 700 (--keep-fd) is not open"),
                           ([policy, "-p"], "-p needs a value"), ([policy, "-p", "70000", "--", *RAN], "-p 70000: a published"),
                           ([policy, "-p", "1.2.3.400:80:80", "--", *RAN], "no address"), ([policy, "-c"], "-c needs a value"),
                           ([policy, "-c", "touch ran", "--", *RAN], "both -c and a command"),
                           ([policy, "-x", *RAN], "unknown option -x")):
            with self.subTest(args):
                self.refused(["run", *args], word)

    @as_everyone
    def test_wrong_usage_otherwise(self):
        policy = self.policy(WORK)
        for args, code, word in (([], 125, "no command"), (["frob"], 125, 'unknown command "frob"'),
                                 (["chekc", policy], 125, "did you mean check?"), (["--bogus"], 125, 'unknown option "--bogus"'),
                                 (["check"], 125, "no policy"), (["compile"], 125, "no policy"),
                                 (["check", "--bogus", policy], 125, "--bogus"), (["compile", "--bogus", policy], 125, "--bogus"),
                                 (["compile", policy, "--backend"], 125, "--backend"),
                                 (["compile", policy, "--backend", "magic"], 125, 'no backend "magic"; this version has '
                                  "namespaces, bwrap, landlock, seatbelt, windows"),
                                 (["run", policy, "--backend", "windows", "--", *RAN], 125, "compiled only"),
                                 ([policy, *RAN], 125, "as in srt-lua run " + policy),
                                 (["compile", policy, policy], 125, "one policy")):
            with self.subTest(args):
                self.refused(args, word, code=code)
        # The help would bury what is wrong.
        self.assertEqual("srt-lua: run: unknown option --bogus\nusage: srt-lua run POLICY [OPTION…] [-c STRING | [--] "
                         "COMMAND ARG…]\nsrt-lua run --help tells more\n", self.run_srt(["run", "--bogus"]).err)

    @as_everyone
    def test_check_and_compile_are_readable(self):
        policy = self.policy('{ extends = { "no-system-secrets" }, network = { allowedDomains = { "a.test" } }, '
                             'filesystem = { denyRead = { "/nothing" } } }')
        got = self.run_srt(["check", policy]).out
        self.assertIn("/nothing does not exist", got)
        self.assertNotRegex(got, "no-system-secrets.*does not exist", "a list for all machines")
        self.assertRegex(got, "ignore proxy variables: .*  network.transparent\n")
        lines = [line for line in self.run_srt(["compile", policy]).out.splitlines() if line.startswith("seccomp: ")]
        self.assertIn("seccomp: openat → the agent by arguments", lines)
        self.assertIn("seccomp: mkdir → the agent", lines)
        self.assertEqual(sorted(set(lines)), sorted(lines))

    @as_everyone
    def test_no_program_name(self):
        code = ("import ctypes, sys\nnothing = (ctypes.c_char_p * 1)(None)\n"
                "ctypes.CDLL(None).execve(sys.argv[1].encode(), nothing, nothing)")
        got = subprocess.run(["/usr/bin/python3", "-c", code, BINARY], capture_output=True, timeout=20)
        self.assertEqual(125, got.returncode)
        self.assertIn(b"no command", got.stderr)

    @as_everyone
    def test_the_answer_is_lost(self):
        """check and --help on a full disk are no success."""
        policy = self.policy(WORK)
        for args in (["--help"], ["--version"], ["run", "--help"], ["check", policy], ["compile", policy],
                     ["check", "--json", policy]):
            with self.subTest(args), open("/dev/full", "w") as full:
                got = self.run_srt(args, stdout=full)
                self.assertEqual(125, got.code)
                self.assertIn("No space left", got.err)

    @as_everyone
    def test_json_is_json(self):
        policy = self.write("p.lua", 'return { filesystem = { denyRead = { "/\\27\\"\\u{e9}\\xff" } } }')
        for args in (["check", "--json", policy], ["compile", "--json", policy],
                     ["check", "--json", self.write("q.lua", "return {"), policy]):
            with self.subTest(args):
                got = self.run_srt(args)
                self.assertTrue(json.loads(got.out), got)

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
        self.assertIn("mount:", self.run_srt(["true"], policy, options=["--debug"]).err)


class Commands(BadInput):
    @as_everyone
    def test_not_found_and_not_executable(self):
        self.write("w/plain", "echo hi\n")
        self.write("w/script", "#!/nosuch/interpreter\n", mode=0o755)
        self.write("w/binary", b"\x7fELF" + bytes(100), mode=0o755)
        for command, code, word in (("nosuch_command", 127, "nosuch_command: command not found"),
                                    ("/nosuch/command", 127, "No such file"), ("./nosuch", 127, "No such file"),
                                    ("", 127, "not found"), ("./script", 126, "what it is run by is not there"),
                                    ("./plain", 126, "Permission denied"), ("/etc/passwd", 126, "Permission denied"),
                                    ("/tmp", 126, "Permission denied"), (".", 126, "Permission denied"),
                                    ("./plain/x", 126, "Not a directory"),
                                    ("/" + "x" * 5000, 126, "File name too long")):
            with self.subTest(command):
                got = self.refused(["run", self.policy(WORK), "--", command], word, code=code)
                self.assertEqual(1, got.err.count("\n"), got)
        # As execvp(3) does: /bin/sh is to read it.
        self.assertIn(self.run_srt(["./binary"], WORK).code, (2, 126, 127))

    @as_everyone
    def test_a_script_without_interpreter_line(self):
        """As the shell and execvp(3) do: /bin/sh runs it."""
        self.write("w/script", "echo hi $1\n", mode=0o755)
        got = self.run_srt(["./script", "you"], WORK)
        self.assertEqual((0, "hi you\n"), (got.code, got.out), got)

    @as_everyone
    def test_path_variable(self):
        self.write("w/bin/tool", "#!/bin/sh\necho tool\n", mode=0o755)
        for path, code in (("/nonexistent", 127), (self.path("w/bin"), 0), ("/nonexistent:" + self.path("w/bin"), 0),
                           ("", 127), ("bin", 0)):
            with self.subTest(path):
                self.assertEqual(code, self.run_srt(["tool"], WORK, env={"PATH": path}).code)
        self.assertEqual(0, self.run_srt(["/bin/true"], WORK, env={"PATH": None}).code)
        self.write("w/bin/moved", "#!/nosuch/python\n", mode=0o755)
        for path in (self.path("w/bin"), "/nonexistent:bin"):
            self.refused(["run", self.policy(WORK), "--", "moved"], "what it is run by is not there", code=126, env={"PATH": path})

    @as_everyone
    def test_many_and_long_arguments(self):
        got = self.run_srt(["sh", "-c", "echo $#; printf %s \"$*\" | md5sum", "x", *["a" * 999] * 1048], WORK)
        self.assertEqual("1048", got.out.split()[0], got)
        got = self.run_srt(["sh", "-c", "echo ${#1}", "x", "a" * 131000], WORK)
        self.assertEqual("131000\n", got.out, got)
        # One argument of more than 128 KiB can't even be given to us.
        with self.assertRaises(OSError):
            self.run_srt(["true", "a" * 140000], WORK)
        script = ":;" * 60000 + "echo end"
        got = self.run_srt(["run", self.policy(WORK), "-c", script])
        self.assertEqual((0, "end\n"), (got.code, got.out), got)

    @as_everyone
    def test_odd_arguments(self):
        got = self.run_srt(["printf", "%s|", "", "\n", "\udcff\udc80", "--", "-c", "\x1b"], WORK)
        self.assertEqual(b"|\n|\xff\x80|--|-c|\x1b|", got.out_bytes, got)

    @as_everyone
    def test_a_large_environment(self):
        got = self.run_srt(["sh", "-c", "env | wc -c"], WORK, env={"V%d" % i: "x" * 100000 for i in range(15)})
        self.assertGreater(int(got.out), 1500000, got)
        odd = {"A": "", "B": "a=b\n c", "_": "x", "é": "\udcff"}
        got = self.run_srt(["env", "-0"], WORK, env=odd)
        for name, value in odd.items():
            if name != "_":
                self.assertIn(("%s=%s" % (name, value)).encode("utf-8", "surrogateescape"), got.out_bytes.split(b"\0"))

    @as_everyone
    def test_an_odd_environment(self):
        """Entries without a name or a sign, and names given twice, pass or go, but break nothing."""
        code = ("import ctypes, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                "args = [a.encode() for a in sys.argv[1:]]\n"
                "env = [b'nosign', b'=noname', b'', b'X=1', b'X=2', b'PATH=/usr/bin:/bin']\n"
                "array = lambda list: (ctypes.c_char_p * (len(list) + 1))(*list, None)\n"
                "libc.execve(args[0], array(args), array(env))")
        got = self.on_host(["/usr/bin/python3", "-c", code, BINARY, "run", self.policy(WORK), "--", "echo", "ran"], timeout=20)
        self.assertEqual((0, b"ran\n"), (got.returncode, got.stdout), got.stderr)


class Surroundings(BadInput):
    def within(self, make, command, policy=None):
        """Runs srt-lua where the shell script `make` has put itself."""
        policy = policy or self.policy(WORK)
        return self.on_host(["sh", "-c", make + '; exec "$@"', "sh", BINARY, "run", policy, "--", *command], timeout=30)

    @as_everyone
    def test_a_deleted_working_directory(self):
        got = self.within("mkdir gone; cd gone; rmdir ../gone", ["true"])
        self.assertEqual((125, b""), (got.returncode, got.stdout), got.stderr)
        self.assertIn(b"the working directory was deleted", got.stderr)

    @as_everyone
    def test_an_unreadable_working_directory(self):
        policy = self.policy('{ filesystem = { allowWrite = { "%s" } } }' % self.w)
        for make in ("mkdir a; cd a; chmod 0 .", "mkdir -p b/c; cd b/c; chmod 0 ..", "mkdir d; cd d; chmod 111 ."):
            with self.subTest(make):
                got = self.within(make, ["echo", "ran"], policy)
                self.assertIn((got.returncode, got.stdout), ((0, b"ran\n"), (125, b"")), got.stderr)
                if got.returncode:
                    self.assertIn(b"working directory", got.stderr)
        self.assertEqual([], self.leftovers())

    @as_everyone
    def test_a_working_directory_that_the_policy_hides(self):
        self.refused(["run", self.policy('{ filesystem = { denyRead = { "%s" } } }' % self.dir), "--", *RAN],
                     "working directory")

    @as_everyone
    def test_output_to_a_full_device(self):
        with open("/dev/full", "w") as full:
            got = self.run_srt(["sh", "-c", "echo x; echo status $? >&2"], WORK, stdout=full)
            self.assertIn("status 1", got.err)
            got = self.run_srt(["nosuch"], WORK, stderr=full)
            self.assertEqual(127, got.code)

    @as_everyone
    def test_temporary_directory(self):
        self.write("file", "x")
        os.mkdir(self.path("shut"), 0o500)
        for value in ("/nonexistent", "relative", "", self.path("file"), "/dev/null", "/" + "x" * 5000):
            with self.subTest(value):
                got = self.run_srt(["sh", "-c", "mktemp >/dev/null && echo $TMPDIR"], WORK, env={"TMPDIR": value})
                self.assertEqual(0, got.code, got)
                self.assertTrue(got.out.startswith("/tmp/srt-lua-"), got)
                self.assertFalse(os.path.exists(got.out.strip()))
        if self.user == "user":
            got = self.run_srt(["mktemp"], WORK, env={"TMPDIR": self.path("shut")})
            self.assertEqual(0, got.code, got)

    @as_everyone
    def test_home(self):
        for value in (None, "", "/nonexistent", "relative", "/dev/null", "/" + "x" * 5000):
            with self.subTest(value):
                got = self.run_srt(["echo", "ran"], WORK, env={"HOME": value})
                self.assertEqual((0, "ran\n"), (got.code, got.out), got)
        got = self.run_srt(["echo", "ran"], '{ filesystem = { allowWrite = { "~/x" }, denyRead = { "~/y" } } }', env={"HOME": None})
        self.assertIn(got.code, (0, 125), got)

    @as_everyone
    def test_closed_streams(self):
        for closed in itertools.chain.from_iterable(itertools.combinations((0, 1, 2), n) for n in (1, 2, 3)):
            def close(closed=closed):
                for fd in closed:
                    os.close(fd)
            with self.subTest(closed=closed):
                got = self.run_sh("echo out; cat >/dev/null; echo fine >f; exit 3", WORK, preexec=close)
                self.assertEqual((3, "fine\n"), (got.code, self.read("w/f")), got)
                got = self.run_srt(["run", self.path("nosuch.lua"), "--", *RAN], preexec=close)
                self.assertEqual(125, got.code)

    @as_everyone
    def test_signals_that_the_caller_ignores(self):
        def ignore():
            for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
        got = self.run_sh("sh -c true; exit 4", "{}", preexec=ignore, timeout=20)
        self.assertEqual(4, got.code, got)
        got = self.run_srt(["grep", "SigIgn", "/proc/self/status"], "{}", preexec=ignore, timeout=20)
        self.assertEqual(1 << 16 | 1 << 12 | 1, int(got.out.split()[1], 16), "they stay ignored inside")

    @as_only("user")
    def test_descriptors_on_their_way(self):
        """Too many of the user's are in flight, so the kernel lets nobody hand one on: an end that says so, at once."""
        filled = subprocess.Popen(self.as_user(["/usr/bin/python3", "-c", """import array, os, socket, sys
fd, pairs = os.open("/dev/null", os.O_RDONLY), []
for _ in range(4):
    pairs.append(socket.socketpair())
    pairs[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd] * 200))])
print("filled", flush=True)
sys.stdin.read()"""]), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(b"filled\n", filled.stdout.readline())

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        for text in ("{}", WORK, '{ network = { allowedDomains = { "a.test" } } }', '{ backend = "landlock" }'):
            with self.subTest(text):
                got = self.run_srt(["true"], text, preexec=limit, timeout=20)
                self.assertIn((got.code, "Too many references" in got.err), ((125, True), (0, False)), got)
                self.assertEqual([], self.leftovers())
        filled.communicate(timeout=20)
        self.assertEqual(0, self.run_srt(["true"], "{}", preexec=limit).code)

    @as_everyone
    def test_tight_limits(self):
        """Where memory, descriptors or file sizes run short: a clear end, or it works."""
        policy = self.policy(WORK)
        for limit, values in ((resource.RLIMIT_NOFILE, (3, 4, 5, 6, 8, 10, 12, 16)),
                              (resource.RLIMIT_AS, (10 << 20, 20 << 20, 50 << 20, 300 << 20)),
                              (resource.RLIMIT_FSIZE, (0,)), (resource.RLIMIT_CORE, (0,))):
            for value in values:
                with self.subTest(limit=limit, value=value):
                    got = self.run_srt(["/bin/echo", "ran"], policy, timeout=30,
                                       preexec=lambda limit=limit, value=value: resource.setrlimit(limit, (value, value)))
                    self.assertTrue(got.code == 0 and got.out == "ran\n" or got.code in (125, 126, 127) or got.code < 0 or
                                    limit != resource.RLIMIT_NOFILE, got)
                    self.assertNotIn("internal error", got.err.replace("not enough memory", ""))
                    if limit == resource.RLIMIT_FSIZE:
                        self.assertEqual((125, ""), (got.code, got.out), got)
                        self.assertIn("ulimit -f", got.err)
        deadline = time.monotonic() + 5
        while self.leftovers() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual([], self.leftovers())

    @as_everyone
    def test_nothing_runs_without_the_sandbox(self):
        """Whatever fails, the command does not run unprotected."""
        got = subprocess.run(self.as_user([BINARY, "run", self.policy("{}"), "--", "/bin/touch", self.path("w/escaped")]),
                             cwd=self.w, env={"PATH": "/nonexistent"}, capture_output=True, timeout=20)
        self.assertNotEqual(0, got.returncode)
        self.assertFalse(os.path.exists(self.path("w/escaped")))

    @as_everyone
    def test_missing_kernel_features(self):
        for feature, *words in (("userns", "namespaces", "Operation not permitted", "try"),
                                ("netns", "namespaces", "Operation not permitted", "try"), ("map", "uid_map", "try"),
                                ("mount_setattr", "mount", "5.15"), ("seccomp", "seccomp", "5.15")):
            with self.subTest(feature):
                self.refused(["run", self.policy(WORK), "--", *RAN], *words, env={"SRT_LUA_FAKE_MISSING": feature})

    @as_everyone
    def test_every_landlock_there_may_be(self):
        for abi in range(9):
            with self.subTest(abi=abi):
                got = self.run_sh("echo ran; echo x >f; mkdir a b; mv f a/f; mv a/f b/f; rm -r a b; echo x >../f",
                                  WORK, env={"SRT_LUA_FAKE_LANDLOCK_ABI": str(abi)})
                self.assertEqual("ran\n", got.out)
                self.assertEqual(2, got.code, got)
                self.assertFalse(os.path.exists(self.path("f")))

    @as_everyone
    def test_ten_thousand_paths(self):
        count = 10000
        self.sh("mkdir many; cd many; seq -f f%%.0f %d | xargs touch" % count)
        make = "local t = {} for i = 1, %d do t[i] = 'many/f' .. i end " % count
        literal = "return { filesystem = { denyRead = { %s }, allowWrite = { '.' } } }" % ", ".join(
            "'many/f%d'" % i for i in range(1, count + 1))
        check = "cat many/f%d; echo >many/f%d; echo >many/new; ls many | wc -l" % (count, count)
        for name, policy, errors in (
                ("denyRead", make + "return { filesystem = { denyRead = t, allowWrite = { '.' } } }", "Permission denied"),
                ("written out", literal, "Permission denied"),
                ("denyWrite", make + "return { filesystem = { denyWrite = t, allowWrite = { '.' } } }", "Read-only file"),
                ("allowWrite", make + "return { filesystem = { allowWrite = t } }", "Read-only file")):
            with self.subTest(name):
                start = time.monotonic()
                got = self.run_sh(check, policy, timeout=60)
                took = time.monotonic() - start
                self.assertIn(errors, got.err)
                self.assertIn(got.out, ("%d\n" % (count + 1), "%d\n" % count))
                self.assertLess(took, 20)
                if os.environ.get("SRT_TIMES"):
                    print("10,000 paths in %s: %.2f s" % (name, took), flush=True)
        self.assertEqual([], self.leftovers())

    def test_names_that_would_draw(self):
        """A folder of anybody's has names that a terminal would take for more than names."""
        odd = self.path("w", "e\x1b[31m\nsrt-lua: forged")
        for name in (".vscode", ".git/hooks"):
            os.makedirs(os.path.join(odd, name))
        os.symlink("/nowhere", os.path.join(odd, "link"))
        policy = self.policy('{ filesystem = { allowWrite = { "%s" }, denyRead = { "%s/e*" } } }' % (self.w, self.w))
        runs = [self.run_srt(["compile", policy], cwd=odd), self.run_srt(["run", policy, "--debug", "--", "true"], cwd=odd),
                self.run_srt(["run", policy, "--", os.path.join(odd, "link")]),
                self.run_srt(["run", policy, "--violations", os.path.join(odd, "link", "x"), "--", "true"]),
                self.run_srt(["run", policy, "--", "true"], cwd=odd, env={"TMPDIR": os.path.join(odd, "none")})]
        folder = os.open(odd, os.O_RDONLY)
        runs.append(self.run_srt(["run", policy, "--", "true"], stdin=folder))
        os.close(folder)
        for got in runs:
            # As an ordinary user one may be in a folder that is denied, and can do nothing there.
            if os.geteuid() == 0 or got.code:
                self.assertIn("forged", got.out + got.err)
            self.assertNotIn("\x1b", got.out + got.err)
            self.assertNotIn("\nsrt-lua: forged", got.out + got.err)

    @as_everyone
    def test_nothing_is_left(self):
        before = {name for name in os.listdir("/tmp") if name.startswith("srt-lua-")}
        for command in (["true"], ["nosuch"], ["sh", "-c", "kill -9 $$"], ["sh", "-c", "sleep 100 & exit 3"]):
            self.run_srt(command, WORK)
        self.assertEqual([], self.leftovers())
        self.assertEqual(set(), {name for name in os.listdir("/tmp") if name.startswith("srt-lua-")} - before)


if __name__ == "__main__":
    main()
