# SPDX-License-Identifier: Apache-2.0
"""The backend without namespaces: files, network, processes and signals by Landlock, seccomp and an agent."""
import os
import signal
import socket
import subprocess

from lib import BINARY, CONTAINER, Case, as_everyone, main
from running import processes, tag, until
from server import ADDRESS, Origin

LANDLOCK = 'backend = "landlock"'

# Asks the kernel for what there is of the network, a line each.
NETWORK = """
import os, socket, sys
def ask(name, action):
    try:
        print(name, action() or "ok")
    except OSError as error:
        print(name, error.strerror)
v4, tcp, udp = socket.AF_INET, socket.SOCK_STREAM, socket.SOCK_DGRAM
def get(port, target):
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.sendall(("GET %s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n" % (target, target[7:].split("/")[0])).encode())
        return s.makefile().readline().strip()
port, origin = int(sys.argv[1]), sys.argv[2]
ask("udp", lambda: socket.socket(v4, udp) and None)
ask("mptcp", lambda: socket.socket(v4, tcp, 262) and None)
ask("unix", lambda: socket.socket(socket.AF_UNIX) and None)
ask("bind", lambda: socket.socket(v4, tcp).bind(("127.0.0.1", 0)))
ask("listen", lambda: socket.socket(v4, tcp).listen())
ask("host", lambda: socket.create_connection(("127.0.0.1", port), 10) and None)
ask("any", lambda: socket.create_connection(("0.0.0.0", port), 10) and None)
ask("far", lambda: socket.create_connection(("192.0.2.1", 80), 10) and None)
ask("fast", lambda: socket.socket(v4, tcp).sendto(b"x", 0x20000000, ("127.0.0.1", port)) and None)
ask("six", lambda: socket.socket(socket.AF_INET6, tcp).connect(("::ffff:127.0.0.1", port)))
ask("proxy", lambda: get(3128, "http://%s/" % origin))
ask("denied", lambda: get(3128, "http://example.org/"))
s = socket.socket(v4, tcp); s.setblocking(False)
ask("late", lambda: s.connect_ex(("127.0.0.1", 3128)) not in (0, 115) or None)
"""


class Landlock(Case):
    @as_everyone
    def test_files(self):
        self.write("w/f", "x")
        self.write("w/keep/f", "x")
        self.write("w/sub/f", "x")
        self.write("secret/f", "x")
        self.write("plain/f", "x")
        self.sh("mkdir -p sub/deep")
        d = self.dir
        got = self.probe(
            "read f write f creat sub/n rename sub/n sub/m unlink sub/m mkdir sub/d rmdir sub/d rename sub/f sub/deep/f "
            "trunc sub/deep/f read keep/f write keep/f trunc keep/f unlink keep/f rename keep kept creat new link f sub/l "
            "creat keep/n read {0}/secret/f list {0}/secret read {0}/plain/f write {0}/plain/f trunc {0}/plain/f "
            "creat {0}/plain/n unlink {0}/plain/f link {0}/plain/f sub/l list {0} list {0}/plain read /proc/1/environ "
            "write /dev/null read /dev/urandom read /dev/kmsg ptrace {1} vmread {1}".format(d, os.getpid()),
            '{ %s, filesystem = { allowWrite = { "." }, denyWrite = { "keep" }, denyRead = { "%s/secret" } } }'
            % (LANDLOCK, d))
        denied = "EACCES"
        self.assertEqual({
            "read f": "ok", "write f": "ok", "creat sub/n": "ok", "rename sub/n sub/m": "ok", "unlink sub/m": "ok",
            "mkdir sub/d": "ok", "rmdir sub/d": "ok", "rename sub/f sub/deep/f": "ok", "trunc sub/deep/f": "ok",
            "read keep/f": "ok", "write keep/f": denied, "trunc keep/f": denied, "unlink keep/f": denied,
            "rename keep kept": denied, "creat new": "ok", "creat keep/n": denied, "link f sub/l": "ok",
            "read %s/secret/f" % d: denied, "list %s/secret" % d: denied, "read %s/plain/f" % d: "ok",
            "write %s/plain/f" % d: denied, "trunc %s/plain/f" % d: denied, "creat %s/plain/n" % d: denied,
            "unlink %s/plain/f" % d: denied, "link %s/plain/f sub/l" % d: "EXDEV", "list %s" % d: denied,
            "list %s/plain" % d: "ok", "read /proc/1/environ": denied, "write /dev/null": "ok",
            "read /dev/urandom": "ok", "read /dev/kmsg": denied, "ptrace %d" % os.getpid(): "EPERM",
            "vmread %d" % os.getpid(): "EPERM"}, got)
        self.assertEqual([], self.leftovers())

    @as_everyone
    def test_network(self):
        """No TCP but to the proxy, by its name; nobody else on the machine gets in there."""
        with Origin() as origin, socket.create_server(("127.0.0.1", 0)) as other:
            target = "%s:%d" % (ADDRESS, origin.port)
            policy = '{ %s, network = { allowedDomains = { "%s" } } }' % (LANDLOCK, target)
            port = str(other.getsockname()[1])
            result = self.run_srt(["/usr/bin/python3", "-c", NETWORK, port, target], policy)
            got = dict(line.split(" ", 1) for line in result.out.splitlines())
            self.assertEqual({
                "udp": "Address family not supported by protocol", "mptcp": "Address family not supported by protocol",
                "unix": "Operation not permitted", "bind": "Permission denied", "listen": "Operation not permitted",
                "host": "Connection refused", "any": "Connection refused", "far": "Network is unreachable",
                "fast": "Operation not supported", "six": "Connection refused", "proxy": "HTTP/1.1 200 OK",
                "denied": "HTTP/1.1 403 Forbidden", "late": "ok"}, got, repr(result))
            # The listener, as others see it.
            process = self.start(["sleep", "20"], policy)
            try:
                ports = until(lambda: list(listening(process.pid)))
                self.assertTrue(ports)
                for port in ports:
                    self.assertEqual(b"", knock(port, "GET http://%s/ HTTP/1.1\r\n\r\n" % target))
            finally:
                process.terminate()
                process.communicate()

    @as_everyone
    def test_the_end_of_a_run_is_the_end_of_all(self):
        word = tag()
        script = ("(setsid sh -c 'setsid sleep %s & sleep %s' &) ; nohup sleep %s >/dev/null 2>&1 & exit 7" % (word, word, word))
        result = self.run_sh(script, "{ %s }" % LANDLOCK)
        self.assertEqual(7, result.code, repr(result))
        self.assertEqual([], processes(word))
        # Whoever forks all the time gets no further.
        chain = "import os,sys,time\nwhile True:\n  if os.fork(): os._exit(0)\n  os.setsid()  # %s" % word
        self.assertEqual(0, self.run_sh('python3 -c "%s" & sleep .3' % chain, "{ %s }" % LANDLOCK).code)
        self.assertEqual([], processes(word))
        process = self.start(["sh", "-c", "setsid sleep %s & sleep %s; :" % (word, word)], "{ %s }" % LANDLOCK)
        self.assertTrue(until(lambda: len(processes("sleep\0" + word)) == 2))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.assertTrue(until(lambda: not processes(word)), processes(word))
        self.assertTrue(until(lambda: not self.leftovers()), self.leftovers())

    @as_everyone
    def test_signals_and_ids(self):
        outside = subprocess.Popen(self.as_user(["sleep", "30"]))
        try:
            got = self.probe("kill {0} 0 kill {0} 9 kill -1 0 socketpair dgram unshare user clone user".format(outside.pid),
                             "{ %s }" % LANDLOCK)
            self.assertEqual("EPERM", got["kill %d 9" % outside.pid])
            self.assertIsNone(outside.poll())
            self.write("w/f", "x")
            # Nor is it scheduled otherwise, nor is srt-lua; what is inside may be.
            script = ("import ctypes, os, sys\ndef io(p):\n  if ctypes.CDLL(None).syscall(%d, 1, p, 3 << 13): raise OSError\n"
                      "def idle(p): os.sched_setscheduler(p, os.SCHED_BATCH, os.sched_param(0))\n"
                      "def bound(p): os.sched_setaffinity(p, os.sched_getaffinity(p))\n"
                      "def param(p): os.sched_setparam(p, os.sched_param(0))\n"
                      "for p in (0, os.getppid(), int(sys.argv[1])):\n"
                      "  for f in (io, idle, bound, param):\n"
                      "    try: f(p); print('done')\n    except OSError: print('no')\n"
                      # A file could be of any of the user's groups.
                      "for mode in (0o755, 0o2755, 0o4755):\n"
                      "  try: os.chmod('f', mode); print('done')\n  except OSError: print('no')\n"
                      # Nor is a whole group, nor does Landlock know of this way to open.
                      "group = os.getpgid(int(sys.argv[1]))\ndef io_group(): assert not ctypes.CDLL(None).syscall(%d, 2, group, 4 << 13)\n"
                      "for f in (lambda: os.setpriority(os.PRIO_PGRP, group, 0), io_group, lambda: os.open('/dev/null', 3)):\n"
                      "  try: f(); print('done')\n  except (OSError, AssertionError): print('no')"
                      % (({"x86_64": 251, "aarch64": 30}[os.uname().machine],) * 2))
            result = self.run_srt(["python3", "-c", script, str(outside.pid)],
                                  '{ %s, filesystem = { allowWrite = { "." } } }' % LANDLOCK)
            self.assertEqual(["done"] * 4 + ["no"] * 8 + ["done"] + ["no"] * 5, result.out.split(), result)
            # Before ABI 6 that is not held, and said.
            result = self.run_srt(["true"], "{}", env={"SRT_LUA_FAKE_LANDLOCK_ABI": "5"}, options=("--backend", "landlock"))
            self.assertEqual(0, result.code)
            self.assertIn("signals: a command can end", result.err)
        finally:
            outside.kill()
            outside.wait()
        self.assertEqual(130, self.run_sh("kill -INT $$", "{ %s }" % LANDLOCK).code)

    def test_each_abi(self):
        """What an older kernel lacks is refused by other means, or said."""
        self.write("w/f", "full")
        self.write("w/sub/f", "x")
        self.write("plain/f", "full")
        policy = '{ %s, filesystem = { allowWrite = { "." } } }' % LANDLOCK
        for abi in range(1, 8):
            script = ("import os\nfor f in (lambda: os.truncate('{0}', 0), lambda: os.close(os.open('{0}', os.O_TRUNC)), "
                      "lambda: __import__('socket').socket().bind(('127.0.0.1', 0)), lambda: os.kill(-1, 0)):\n"
                      "  try: f(); print('done')\n  except OSError as e: print('no')\n").format(self.path("plain/f"))
            result = self.run_srt(["python3", "-c", script], policy, env={"SRT_LUA_FAKE_LANDLOCK_ABI": str(abi)})
            # From ABI 6 on it means who is inside.
            self.assertEqual(["no", "no", "no", "no" if abi < 6 else "done"], result.out.split(), (abi, result))
            self.assertEqual(abi < 2, "between two folders" in result.err, (abi, result.err))
            self.assertEqual(abi < 3, "O_TRUNC" in result.err)
            self.assertEqual("full", self.read("plain/f"))
        refused = self.run_srt(["true"], policy, env={"SRT_LUA_FAKE_LANDLOCK_ABI": "0"})
        self.assertEqual(125, refused.code)
        self.assertIn("no Landlock", refused.err)

    @as_everyone
    def test_which_backend(self):
        without = {"SRT_LUA_FAKE_MISSING": "userns"}
        for policy, env, code, says in (
                ("{}", without, 125, "enableWeakerNestedSandbox"),
                ("{ enableWeakerNestedSandbox = true }", None, 0, ""),
                ("{ enableWeakerNestedSandbox = true }", without, 0, "the backend is landlock (cannot make namespaces"),
                ("{ enableWeakerNestedSandbox = true }", {"SRT_LUA_FAKE_MISSING": "netns"}, 0, "(cannot make namespaces"),
                ('{ backend = "namespaces", enableWeakerNestedSandbox = true }', without, 125, "cannot make namespaces"),
                ("{ enableWeakerNestedSandbox = true, strict = true }", without, 125, "strict"),
                ("{ %s, strict = true }" % LANDLOCK, None, 125, "strict"),
                ('{ %s, network = { publishPorts = { "80" } } }' % LANDLOCK, None, 125, "publish another, as in -p 8080:80"),
                ('{ %s, network = { publishPorts = { "8080", "8081:8080" } } }' % LANDLOCK, None, 125, "once only"),
                ('{ %s, network = { publishPorts = { "8080" } } }' % LANDLOCK, {"SRT_LUA_FAKE_MISSING": "seccomp_notify"}, 125,
                 "publishPorts and -p need"),
                ('{ %s, filesystem = { decideOpen = function() end } }' % LANDLOCK, None, 125, "decideOpen"),
                ("{}", {"SRT_LUA_FAKE_MISSING": "machine"}, 125, "allowAllUnixSockets"),
                ("{ network = { allowAllUnixSockets = true } }", {"SRT_LUA_FAKE_MISSING": "machine"}, 0, "")):
            result = self.run_srt(["echo", "ran"], policy, env=env)
            self.assertEqual((code, "ran\n" if code == 0 else ""), (result.code, result.out), (policy, result))
            self.assertIn(says, result.err)
            if not says:
                self.assertEqual("", result.err)
        self.assertEqual([], self.leftovers())

    @as_everyone
    def test_in_a_container(self):
        """By Docker's default profile: no namespaces, no clone3, no pidfd_getfd."""
        with Origin() as origin:
            path = self.policy('{ enableWeakerNestedSandbox = true, filesystem = { allowWrite = { "." } }, '
                               'network = { allowedDomains = { "%s:%d" } } }' % (ADDRESS, origin.port))
            script = "echo hi >f; cat f; echo no >%s/x; curl -sS %s/" % (self.home, origin.url)
            done = self.on_host([CONTAINER, BINARY, "run", path, "--", "sh", "-c", script], text=True, timeout=60)
            self.assertEqual("hi\nhello from /\n", done.stdout, done.stderr)
            self.assertIn("the backend is landlock", done.stderr)
            self.assertNotIn("x", os.listdir(self.home))

    @as_everyone
    def test_inside_our_own(self):
        """Namespaces where the outer sandbox lets them be made, Landlock where it does not."""
        inner = self.write("w/inner.lua", 'return { enableWeakerNestedSandbox = true, filesystem = { allowWrite = { "x" } } }')
        self.sh("mkdir x")
        own = os.path.join(self.w, "tmp")
        self.sh("mkdir tmp")
        for key, weaker in (("", True), ("allowNestedUserNamespaces = true,", False)):
            if not weaker and self.user == "root":
                continue  # refused for root, which test_process.py sees to
            result = self.run_srt([BINARY, "run", inner, "--", "sh", "-c", "echo in >x/f; cat x/f; echo out >f"],
                                  '{ %s filesystem = { allowWrite = { "." } } }' % key, env={"TMPDIR": own})
            self.assertEqual("in\n", result.out, repr(result))
            self.assertEqual(weaker, "the backend is landlock" in result.err, repr(result))
            self.assertNotIn("f", os.listdir(self.w))

    @as_everyone
    def test_unix_sockets_where_all_are_allowed(self):
        """Their calls go on by themselves; those of TCP sockets still don't."""
        script = ("import socket,threading\ns=socket.socket(socket.AF_UNIX); s.bind('s'); s.listen()\n"
                  "c=socket.socket(socket.AF_UNIX); c.connect('s'); a=s.accept()[0]; c.send(b'x'); print(a.recv(1))\n"
                  # The agent knows so many sockets; what it has forgotten does not listen either.
                  "old=socket.socket()\nfor i in range(9000): socket.socket().close()\n"
                  "for f in (lambda: socket.socket().listen(), old.listen, lambda: socket.create_connection(('127.0.0.1', 9), 5)):\n"
                  "  try: f(); print('done')\n  except OSError as e: print(e.errno)\n")
        result = self.run_srt(["python3", "-c", script], '{ %s, filesystem = { allowWrite = { "." } }, '
                              'network = { allowAllUnixSockets = true } }' % LANDLOCK)
        self.assertEqual("b'x'\n1\n1\n111\n", result.out, repr(result))


def listening(pid):
    """Ports of 127.0.0.1 that a process listens on."""
    own = set()
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            own.add(os.stat("/proc/%d/fd/%s" % (pid, name)).st_ino)
        except OSError:
            pass  # closed meanwhile
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in list(file)[1:]:
            words = line.split()
            if words[3] == "0A" and words[1].startswith("0100007F:") and int(words[9]) in own:
                yield int(words[1].split(":")[1], 16)


def knock(port, text):
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        try:
            client.sendall(text.encode())
            return client.recv(100)
        except (ConnectionResetError, BrokenPipeError):
            return b""


if __name__ == "__main__":
    main()
