# SPDX-License-Identifier: Apache-2.0
"""The program of macOS, built on Linux of the very sources: all of a run but what the system's own programs do there, for
which those in mac/ stand in. So nothing is confined here: what the profile says is asked of the interpreter of spec/lua."""
import json
import os
import re
import signal
import subprocess
import time

import lib
from lib import ROOT, Case, main
from server import Origin
from terminal import Terminal

lib.BINARY = os.environ.get("SRT_MAC", str(ROOT / "build/release/srt-lua-seatbelt"))

# What a command finds.
CLIENT = r"""
import os, re, shlex, ssl, subprocess, sys, urllib.error, urllib.request
def ask(proxy, url=sys.argv[1]):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy}))
    try:
        return opener.open(url, timeout=10).status
    except urllib.error.HTTPError as error:
        return "%d %s" % (error.code, error.headers["X-Proxy-Error"])
own = os.environ["HTTP_PROXY"]
print(ask(own), "|", ask(re.sub("//.*@", "//", own)), "|", ask(own, "http://denied.test/"))
bundle = os.environ["SSL_CERT_FILE"]
print(len(ssl.create_default_context(cafile=bundle).get_ca_certs()) > 0, oct(os.stat(bundle).st_mode & 0o777), bundle)
print(os.environ["TMPDIR"], os.path.isdir(os.environ["TMPDIR"]), os.getcwd())
print(sorted(fd for fd in map(int, os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd/%d" % fd)))
way = shlex.split(os.environ["GIT_SSH_COMMAND"])[-1].partition("=")[2]
host, port = sys.argv[1].split("/")[2].split(":")
done = subprocess.run(way.replace("%h", host).replace("%p", port), shell=True, input=b"GET / HTTP/1.0\r\n\r\n",
                      capture_output=True)
print(done.returncode, done.stdout[:15].decode())
sys.exit(7)
"""
POLICY = """return { filesystem = { allowWrite = { "." }, denyRead = { "**/.env" } },
  network = { allowedDomains = { "%s" }, tlsTerminate = {} } }"""
DENIED = "cat(7) deny(1) file-read-data /private/w/.env"
COUNT = """trap 'n=$((n+1))' %s; n=0; sleep 60 >/dev/null 2>&1 & echo ready
while [ $n = 0 ]; do wait; done; for i in 1 2 3; do sleep 0.1; done; kill $! 2>/dev/null; echo n=$n; exit 5"""


def until(check):
    for _ in range(500):
        if check():
            return True
        time.sleep(0.02)
    return False


class Mac(Case):
    def environment(self, extra=None):
        return super().environment({"XDG_STATE_HOME": self.home, **(extra or {})})

    def asked(self, profile, *questions):
        """Of the profile that sandbox-exec was given."""
        done = subprocess.run(["lua5.4", str(ROOT / "spec/enforce/mac/ask.lua"), *map(str, questions)], check=True,
                              input=profile, capture_output=True, text=True)
        return done.stdout.split()

    def test_a_run(self):
        """From the policy to the exit status."""
        told = self.path("told")
        with Origin() as origin:
            got = self.run_srt(["python3", "-c", CLIENT, origin.url + "/"], POLICY % origin.url[len("http://"):],
                               env={"MAC_TOLD": told, "MAC_LOG": DENIED, "https_proxy": "http://caller.test"})
        self.assertEqual(7, got.code, got)
        lines = got.out.splitlines()
        self.assertEqual("200 | 407 login-needed | 403 blocked-by-policy", lines[0], got)
        temp, there, cwd = lines[2].split()
        self.assertEqual(("True", self.w), (there, cwd))
        self.assertEqual("True 0o444 %s/.srt-lua/ca-bundle.pem" % temp, lines[1])
        self.assertEqual(["[0, 1, 2]", "0 HTTP/1.1 200 OK"], lines[3:])
        self.assertTrue(temp.startswith(self.tmp + "/srt-lua-"))
        self.assertEqual([], self.leftovers())
        for line in ("read /private/w/.env: macOS denied file-read-data", "denied.test:80",
                     "not held:\nsrt-lua: warning:   network.tlsTerminate"):
            self.assertIn(line, got.err)
        with open(told, encoding="utf-8") as file:
            given = json.load(file)
        self.assertEqual(["python3", "-c", CLIENT, origin.url + "/"], given["command"])
        ports = [int(port) for port in re.findall(r'\(remote tcp "localhost:(\d+)"\)', given["profile"])]
        self.assertEqual(2, len(set(ports)), given["profile"])
        real = "/private" + self.w
        self.assertEqual(["allow", "deny", "deny", "allow", "deny", "allow", "deny"], self.asked(
            given["profile"], "file-write-data", "path", real + "/x", "file-write-data", "path", "/private/etc/x",
            "file-read-data", "path", real + "/a/.env", "file-write-create", "path", "/private" + temp + "/x",
            "file-write-data", "path", "/private" + temp + "/.srt-lua/ca-bundle.pem",
            "network-outbound", "port", ports[0], "network-outbound", "port", 1))

    def test_statuses(self):
        run = lambda *command, **more: self.run_srt(list(command), POLICY % "a.test", **more)
        self.assertEqual(127, run("no-such-program").code)
        self.assertEqual(127, run("./no-such-program").code)
        self.assertEqual(128 + 9, run("sh", "-c", "kill -9 $$").code)
        with open(self.write("w/in", "by 5\n"), "rb") as file:
            read = file.fileno()
            got = self.run_srt(["sh", "-c", "cat <&%d; pwd; exit 3" % read], POLICY % "a.test", options=["--keep-fd", str(read)],
                               pass_fds=[read])
        self.assertEqual((3, "by 5\n%s\n" % self.w), (got.code, got.out), got)

    def test_what_is_not_there(self):
        """Linux's backends and commands are refused in words, and with strict = true what macOS does not hold."""
        for args, text in (
                (["run", "--backend", "landlock", self.policy("{}"), "--", "true"], 'the backend "landlock" is Linux\'s; on macOS'),
                (["run", self.policy('{ backend = "namespaces" }', "n.lua"), "--", "true"], 'the backend "namespaces" is Linux\'s'),
                (["run", self.policy('{ backend = "windows" }', "w.lua"), "--", "true"], "enforced on Windows only"),
                (["run", self.policy('{ strict = true, network = { transparent = true, allowedDomains = { "a.test" } } }', "s.lua"), "--", "touch", "x"],
                 "macOS does not hold all of the policy: network.transparent"),
                (["run", "-p", "8080", self.policy("{}"), "--", "true"], "network.allowLocalBinding"),
                (["doctor"], "is there on Linux only"), (["session", self.policy("{}")], "is there on Linux only")):
            got = self.run_srt(args)
            self.assertEqual(125, got.code, got)
            self.assertIn(text, got.err)
        self.assertEqual([], os.listdir(self.w))
        got = self.run_srt(["check", self.policy('{ network = { transparent = true, allowedDomains = { "a.test" } } }')])
        self.assertIn("network.transparent: programs that ignore proxies reach nothing", got.out + got.err)
        got = self.run_srt(["compile", self.policy('return { env = { set = { SYSTEM = srt.platform } } }')])
        self.assertTrue(got.out.startswith("(version 1)\n"), got)
        got = self.run_srt(["sh", "-c", "echo $SYSTEM"], 'return { env = { set = { SYSTEM = srt.platform } } }')
        self.assertEqual("macos\n", got.out, got)

    def test_signals(self):
        """What the host process gets the command gets, once: by itself where it was for the whole group."""
        runs = []
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            for send in (os.kill, os.killpg):
                process = self.start(["bash", "-c", COUNT % signal.Signals(number).name[3:]], POLICY % "a.test", process_group=0)
                self.assertEqual(b"ready\n", process.stdout.readline())
                send(process.pid, number)
                runs.append(process)
        for process in runs:
            out, err = process.communicate(timeout=30)
            self.assertEqual((5, b"n=1\n"), (process.returncode, out), err)

    def test_a_killed_run(self):
        """The command ends with the host process, and with the one in between; what is left on the host the next run removes."""
        def begin():
            process = self.start(["sh", "-c", "echo $$; exec sleep 300"], POLICY % "a.test")
            return process, int(process.stdout.readline())
        process, command = begin()
        with open("/proc/%d/stat" % command, encoding="ascii") as file:
            os.kill(int(file.read().split()[3]), signal.SIGKILL)
        self.assertIn(b"was killed from outside", process.communicate(timeout=30)[1])
        self.assertEqual(125, process.returncode)
        self.assertTrue(until(lambda: not os.path.exists("/proc/%d" % command)), "nobody watches over it")
        process, command = begin()
        logs = lambda: self.on_host(["pgrep", "-g", str(log)]).stdout
        log = next(int(pid) for pid in self.on_host(["pgrep", "-P", str(process.pid)]).stdout.split()
                   if os.getpgid(int(pid)) == int(pid))
        process.kill()
        process.communicate()
        self.assertTrue(until(lambda: not os.path.exists("/proc/%d" % command)), "outlives the host process")
        self.assertTrue(until(lambda: not logs()), "the log is read for nobody")
        self.assertEqual(1, len(self.leftovers()))
        self.assertEqual(0, self.run_srt(["true"], POLICY % "a.test").code)
        self.assertEqual([], self.leftovers())

    def test_a_job(self):
        """Ctrl-Z stops it, fg has it go on, and Ctrl-C ends it."""
        env = self.environment({"PS1": "OUT> "})
        shell = Terminal(["bash", "--norc", "--noprofile", "-i"], env, self.w)
        shell.expect("OUT> ")
        shell.line("%s run %s -- sh -c 'echo up; exec sleep 300'" % (lib.BINARY, self.policy(POLICY % "a.test")), "up")
        shell.send("\x1a")
        shell.expect("Stopped")
        shell.expect("OUT> ")
        shell.line("fg", "run")
        self.assertTrue(until(lambda: shell.foreground() != shell.pid))
        time.sleep(0.1)
        shell.send("\x03")
        shell.expect("OUT> ")
        shell.line("echo rc=$?", "rc=130", "OUT> ")
        shell.line("exit")
        self.assertEqual(0, shell.ended())


if __name__ == "__main__":
    main()
