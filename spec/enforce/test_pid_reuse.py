# SPDX-License-Identifier: Apache-2.0
"""A process ends while somebody decides about its call, and the next one gets its number: never its answer, nor its name."""
import json
import os
import subprocess
import time

from lib import as_everyone, main, need, need_root
from running import parts
from test_create_guard import agents
from test_observe import Observed

# Starts one program after the other, of which nobody else has a number; ends the last one.
CONDUCTOR = """
import os, sys
out = os.open("out", os.O_WRONLY | os.O_APPEND)
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "run":
        program = rest.split("|")
        pid = os.posix_spawn(program[0], program, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
    elif word == "kill":
        os.kill(pid, 9)
    elif word == "wait":
        os.waitpid(pid, 0)
    print(pid, flush=True)
"""
PYTHON, PERL = os.path.realpath("/usr/bin/python3"), "/usr/bin/perl"
# What it gets, and what descriptors it has when all answers are there.
OPENS = """import errno, os, time
try: print("opened", os.read(os.open("hid/g", os.O_RDONLY), 99))
except OSError as e: print(errno.errorcode[e.errno])
time.sleep(0.5)
print(sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1])"""
SLOW = """return { filesystem = { allowWrite = { "." }, denyRead = { "hid" }, decideOpen = function(open)
  if open.path:sub(-2) ~= "/f" then return false end srt.sleep(0.35) srt.log.warn("granted") return true end } }"""


class Reuse(Observed):
    def setUp(self):
        need_root("to choose the next process id of a sandbox")
        super().setUp()

    def begin(self, policy):
        self.write("w/out"), self.write("w/hid/g", "never")
        self.run = self.popen("python3", "-c", CONDUCTOR, policy=policy, stdin=subprocess.PIPE,
                              options=("--violations", self.path("violations"), "--report", "none"))

    def tell(self, line):
        self.run.stdin.write(line.encode() + b"\n")
        self.run.stdin.flush()
        return int(self.run.stdout.readline())

    def instead(self, first, second, waits=0.15):
        """Starts a program, kills it when it waits, and starts another with its number; which it was."""
        pid = self.tell("run " + "|".join(first))
        time.sleep(waits)
        self.tell("kill"), self.tell("wait")
        _, init = parts(self.run.pid)
        subprocess.run(["nsenter", "-t", str(init), "-p", "sh", "-c", "echo %d >/proc/sys/kernel/ns_last_pid" % (pid - 1)], check=True)
        self.assertEqual(pid, self.tell("run " + "|".join(second)))
        self.tell("wait")
        return pid

    def end(self):
        _, err = self.run.communicate(timeout=30)
        self.assertEqual(0, self.run.returncode, err)
        return err.decode()

    @as_everyone
    def test_a_grant(self):
        """The file is opened for who asked, and that is nobody any more; the other's own call has its own answer."""
        self.begin(SLOW)
        self.write("w/opens.py", OPENS)
        self.instead(("/usr/bin/cat", "hid/f"), (PYTHON, "opens.py"))
        self.assertIn("granted", self.end())
        self.assertEqual("EACCES\n[0, 1, 2]\n", self.read("w/out"))

    @as_everyone
    def test_a_grant_and_exec(self):
        """The same where a thread makes another program of the process."""
        self.write("w/opens.py", OPENS)
        got = self.python("""if True:
            import os, threading, time
            def work():
                time.sleep(0.15)
                os.execv("/usr/bin/python3", ["python3", "opens.py"])
            threading.Thread(target=work).start()
            os.open("hid/f", os.O_RDONLY)""", SLOW)
        self.assertIn("granted", got.err)
        self.assertEqual("EACCES\n[0, 1, 2]\n", got.out)

    @as_everyone
    def test_a_violation(self):
        """Between the agent's looks at a call its caller ends: the one that has its number then is not blamed."""
        need("strace")
        self.begin('{ filesystem = { allowWrite = { "." }, denyWrite = { "no" } } }')
        self.tell("run /usr/bin/mkdir|made"), self.tell("wait")
        (agent,) = agents(self.run.pid)
        tracer = subprocess.Popen(["strace", "-p", str(agent), "-o", self.path("trace"), "-e", "trace=process_vm_readv",
                                   "-e", "inject=process_vm_readv:delay_exit=400000"], stderr=subprocess.PIPE)
        self.addCleanup(tracer.communicate)
        self.addCleanup(tracer.kill)
        self.assertIn(b"attached", tracer.stderr.readline())
        pid = self.instead(("/usr/bin/mkdir", self.path("w/no/d")), ("/usr/bin/sleep", "0.5"))
        self.tell("run /usr/bin/mkdir|" + self.path("w/no/e")), self.tell("wait")
        self.end()
        events = [(os.path.basename(e["target"]), os.path.basename(e["process"].get("exe", "")))
                  for e in map(json.loads, self.read("violations").splitlines())]
        self.assertEqual([("e", "mkdir")], events, (pid, self.read("trace")))

    @as_everyone
    def test_a_request(self):
        """Who asked is gone when the policy wants to know who it was."""
        self.begin("""return { filesystem = { allowWrite = { "." } }, network = { allowedDomains = { "up.test" },
          filterRequest = function(req)
            if req.path == "/a" then srt.sleep(0.5) end
            srt.log.warn(("asked %s %s"):format(req.path, req.process and req.process.pid .. " " .. req.process.exe or "nobody"))
            return srt.respond { status = 200, body = "for " .. req.path } end } }""")
        ask = "GET http://up.test/%s HTTP/1.1\\r\\nHost: up.test\\r\\nConnection: close\\r\\n\\r\\n"
        self.write("w/a.py", "import socket, time; s = socket.create_connection(('127.0.0.1', 3128)); s.sendall(b'%s'); time.sleep(9)"
                   % ask % "a")
        self.write("w/b.pl", "use IO::Socket::INET; $s = IO::Socket::INET->new('127.0.0.1:3128'); print $s \"%s\"; print <$s>; sleep 1"
                   % ask % "b")
        pid = self.instead((PYTHON, "a.py"), (PERL, "b.pl"), 0.4)
        told = [line.split("asked ")[1] for line in self.end().splitlines() if "asked " in line]
        self.assertIn("/b %d %s" % (pid, os.path.realpath(PERL)), told)
        self.assertEqual([], [line for line in told if line.startswith("/a") and line != "/a nobody"])
        self.assertEqual("for /b", self.read("w/out").split("\r\n\r\n")[1])


if __name__ == "__main__":
    main()
