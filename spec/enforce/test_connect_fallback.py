# SPDX-License-Identifier: Apache-2.0
"""Where nf_tables is missing: TCP that would leave is led to the proxy by the agent, under the same policy."""
import os
import signal
import subprocess

import test_transparent
import world
from lib import as_everyone, as_only, main, need
from running import until
from test_create_guard import agents
from test_transparent import BARE, POLICY

PYTHON = test_transparent.PYTHON
UNIX = '{ network = { allowUnixSockets = { "%s" }, allowedDomains = { "up.test" } }, filesystem = { allowWrite = { "." } } }'


def setUpModule():
    test_transparent.setUpModule()


class Led(test_transparent.Transparent):
    def environment(self, extra=None):
        return super().environment({"SRT_LUA_FAKE_MISSING": "nftables", **(extra or {})})


class Connections(Led, test_transparent.Connections):
    """The same as with nf_tables but for what is told here."""

    @as_everyone
    def test_go_where_they_should_and_know_it(self):
        """getpeername tells the proxy's address, as the docs say."""
        got = self.python("""
for family in (socket.AF_INET, socket.AF_INET6):
    for blocking in (True, False):
        to = socket.getaddrinfo("up.test", 7777, family, socket.SOCK_STREAM)[0][4]
        s = socket.socket(family); s.setblocking(blocking)
        error = s.connect_ex(to)
        assert error in ((0,) if blocking else (0, errno.EINPROGRESS)), error
        select.select([], [s], [], 5)
        assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        assert s.connect_ex(to) in (0, errno.EISCONN)
        assert s.connect_ex(to) == errno.EISCONN
        s.setblocking(True); s.settimeout(5)
        print(s.getpeername()[:2])
        s.sendall(b"echo")
        data = b""
        while len(data) < 14: data += s.recv(100)
        assert data == b"port 7777\\necho", data
        s.shutdown(socket.SHUT_WR); assert s.recv(10) == b""
""")
        self.assertEqual("('127.0.0.1', 3129)\n" * 2 + "('::1', 3129)\n" * 2, got.out, got)
        self.assertEqual({"up.test"}, set(test_transparent.WORLD.queries()))

    @as_everyone
    def test_only_as_the_policy_says(self):
        got = self.python("""
def end_of(host, port, family=0):
    s = socket.socket(family or socket.AF_INET); s.settimeout(10)
    try:
        s.connect((host, port))
        return s.recv(20)
    except OSError as error: return errno.errorcode[error.errno]
print(end_of("192.0.2.1", 80))
print([end_of("up.test", 6379), end_of("other.test", 443), end_of("six.test", 7777, socket.AF_INET6), end_of("up.test", 1)])
print(end_of("192.0.2.1", 80), end_of("10.77.0.2", 7777), end_of("2001:db8:77::2", 7777, socket.AF_INET6),
      end_of("::ffff:10.77.0.2", 7777, socket.AF_INET6))
print(end_of("127.0.0.1", 3129), end_of("127.0.0.1", 3), end_of("198.18.9.9", 7777), end_of("::1", 3129, socket.AF_INET6))
""", options=["--debug"])
        self.assertEqual(["ECONNRESET", "['ECONNRESET', 'ECONNRESET', b'port 7777\\n', 'ECONNRESET']",
                          "ECONNRESET ECONNRESET ECONNRESET ECONNRESET", "ECONNRESET ECONNREFUSED ECONNRESET ECONNRESET"],
                         got.out.splitlines(), got)
        self.assertEqual(["7777"], test_transparent.WORLD.clients())
        for line in ('up.test:6379: deny: up.test:6379 is denied by network.deniedDomains', "10.77.0.2:7777: deny: ",
                     "on its way to nowhere else"):
            self.assertIn(line, got.err)

    @as_everyone
    def test_by_address_where_the_policy_has_one(self):
        for address, family in ((world.NEIGHBOUR, "INET"), (world.NEIGHBOUR6, "INET6"), ("::ffff:" + world.NEIGHBOUR, "INET6")):
            plain = address.replace("::ffff:", "")
            got = self.python("s = socket.socket(socket.AF_%s); s.connect((%r, 7777)); print(s.recv(20))" % (
                family, address), '{ network = { allowedDomains = { "%s:7777" } } }' % ("[%s]" % plain if ":" in plain else plain))
            self.assertEqual("b'port 7777\\n'\n", got.out, got)

    @as_everyone
    def test_datagrams_elsewhere_fail_at_once(self):
        got = self.python("""
def send(to, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_DGRAM)
    start = time.time()
    try: s.sendto(b"x", to)
    except OSError as error: return errno.errorcode[error.errno], time.time() - start < 1
to = socket.getaddrinfo("up.test", 443, socket.AF_INET)[0][4]
print(send(("10.77.0.2", 53)), send(("2001:db8:77::2", 53), socket.AF_INET6), send(to))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print(errno.errorcode[s.connect_ex(to)])
""")
        self.assertEqual("('ENETUNREACH', True) ('ENETUNREACH', True) ('ENETUNREACH', True)\nENETUNREACH\n", got.out, got)

    @as_everyone
    def test_fast_open_is_refused_so_that_programs_connect(self):
        got = self.python("""
MSG_FASTOPEN = 0x20000000
to = socket.getaddrinfo("up.test", 7777, socket.AF_INET, socket.SOCK_STREAM)[0][4]
for send in (lambda s: s.sendto(b"x", MSG_FASTOPEN, to), lambda s: s.sendmsg([b"x"], [], MSG_FASTOPEN, to)):
    try: send(socket.socket())
    except OSError as error: print(errno.errorcode[error.errno])
s = socket.socket(); s.setsockopt(socket.IPPROTO_TCP, 30, 1); s.connect(to); s.sendall(b"y")  # TCP_FASTOPEN_CONNECT
data = b""
while len(data) < 11: data += s.recv(100)
print(data)
s = socket.socket(); s.connect(to); print(s.recv(100), s.sendto(b"z", MSG_FASTOPEN & 0, to), s.recv(100))""")
        self.assertEqual("ENOTSUP\nENOTSUP\nb'port 7777\\ny'\nb'port 7777\\n' 1 b'z'\n", got.out, got)

    @as_everyone
    def test_sockets_that_have_a_name_already(self):
        got = self.python("""
to = socket.getaddrinfo("up.test", 7777, socket.AF_INET, socket.SOCK_STREAM)[0][4]
for name, option in ((("127.0.0.1", 0), 0), (("", 4000), 0), (("198.18.0.1", 4001), 0), (("", 0), 24), (("127.0.0.3", 0), 24)):
    s = socket.socket()
    if option: s.setsockopt(socket.IPPROTO_IP, option, 1)  # IP_BIND_ADDRESS_NO_PORT
    s.bind(name); s.settimeout(5); s.connect(to)
    assert s.recv(20) == b"port 7777\\n"
    got = s.getsockname(); assert got[1] == name[1] or not name[1]; print(got[0])
s = socket.socket(); s.listen(); print(errno.errorcode[s.connect_ex(to)])
s = socket.socket(); s.connect(to); assert s.recv(20); print(errno.errorcode[s.connect_ex(("192.0.2.1", 1))])
for junk in (b"", b"\\2", b"\\2\\0" + b"\\0" * 4, b"\\x0a\\0" + b"\\0" * 14, b"\\x63\\0" + b"\\0" * 14):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True); s = socket.socket()
    print(libc.connect(s.fileno(), junk, len(junk)), errno.errorcode.get(ctypes.get_errno()), end=" ")
print(libc.connect(s.fileno(), 8, 16), errno.errorcode.get(ctypes.get_errno()), end=" ")
print(libc.connect(0, b"\\2\\0\\0\\1\\x7f\\0\\0\\1" + b"\\0" * 8, 16), errno.errorcode.get(ctypes.get_errno()), end=" ")
print(libc.connect(99, b"\\2\\0\\0\\1\\x7f\\0\\0\\1" + b"\\0" * 8, 16), errno.errorcode.get(ctypes.get_errno()))""")
        self.assertEqual(["127.0.0.1", "127.0.0.1", "198.18.0.1", "127.0.0.1", "127.0.0.3", "EISCONN", "EISCONN",
                          "-1 EINVAL -1 EINVAL -1 EINVAL -1 EAFNOSUPPORT -1 EAFNOSUPPORT -1 EFAULT -1 ENOTSOCK -1 EBADF"],
                         got.out.splitlines(), got)

    @as_everyone
    def test_memory_rewritten_meanwhile(self):
        """Whatever the address is by then: only what the policy allows answers."""
        got = self.python("""
import ctypes, threading
libc = ctypes.CDLL(None, use_errno=True)
good = socket.inet_aton(socket.gethostbyname("up.test")); bad = socket.inet_aton(%r)
memory = ctypes.create_string_buffer(struct.pack(">HH4s8x", 2 << 8, 7777, good), 16)
stop = False
def rewrite():
    while not stop:
        ctypes.memmove(ctypes.addressof(memory) + 4, bad, 4); ctypes.memmove(ctypes.addressof(memory) + 4, good, 4)
threading.Thread(target=rewrite, daemon=True).start()
seen = {}
for i in range(400):
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, 20, struct.pack("ll", 10, 0))  # SO_RCVTIMEO
    if libc.connect(s.fileno(), memory, 16): key = errno.errorcode[ctypes.get_errno()]
    else:
        try: key = s.recv(20)
        except OSError as error: key = errno.errorcode[error.errno]
    seen[key] = seen.get(key, 0) + 1
    s.close()
stop = True
print(*sorted(seen, key=str), sep="\\n")""" % world.NEIGHBOUR, timeout=120, options=["--debug"])
        self.assertLessEqual(set(got.out.splitlines()), {"b'port 7777\\n'", "ECONNRESET"}, got)
        allowed = got.err.count("up.test:7777: allow")
        self.assertEqual(allowed, len(test_transparent.WORLD.clients()))

    @as_everyone
    def test_a_thousand_threads(self):
        got = self.python(test_transparent.THREADS, timeout=200)
        self.assertEqual("1000 True\n", got.out, got)


class Together(Led):
    @as_everyone
    def test_with_unix_sockets_by_path(self):
        self.sh("mkdir -p %s/s" % self.dir)
        server = self.path("s", "server")
        code = """
import os, socket
s = socket.create_connection(("up.test", 7777)); print(s.recv(20))
u = socket.socket(socket.AF_UNIX); u.bind("own"); u.listen(); c = socket.socket(socket.AF_UNIX); c.connect("own"); print("own")
try: socket.socket(socket.AF_UNIX).connect(os.environ["THERE"])
except OSError as error: print(error.strerror)
try: socket.socket(socket.AF_UNIX).connect("/run/other")
except OSError as error: print(error.strerror)"""
        got = self.run_srt([PYTHON, "-c", code], UNIX % server, env={"THERE": server})
        self.assertEqual(["b'port 7777\\n'", "own", "No such file or directory", "No such file or directory"],
                         got.out.splitlines(), got)
        os.unlink(self.path("w/own"))
        got = self.run_srt(["env", "THERE=" + server, PYTHON, "-c", code.replace("/run/other", "own")],
                           UNIX.replace("allowUnixSockets = { \"%s\" }", "allowAllUnixSockets = true"))
        self.assertEqual(["b'port 7777\\n'", "own", "No such file or directory"], got.out.splitlines(), got)

    @as_everyone
    def test_with_names_held(self):
        got = self.run_sh("mkdir .git/hooks 2>/dev/null; touch fine && echo made; " + BARE + "curl -sS http://up.test/x",
                          POLICY.replace("{ network", '{ filesystem = { allowWrite = { "." }, createGuard = "supervisor" }, network', 1))
        self.assertIn("made\nGET /x HTTP/1.1", got.out, got)

    @as_everyone
    def test_signals_exec_and_a_killed_agent(self):
        """Blocked or raining signals and exec(2) while threads connect change nothing; without the agent connect(2) fails."""
        after = """import socket, sys
print(socket.create_connection(("up.test", 7777)).recv(20), flush=True); sys.stdin.readline()
print(socket.socket().connect_ex(("198.18.1.0", 7777)), socket.socket().connect_ex(("127.0.0.1", 3128)))"""
        code = """import os, signal, socket, sys, threading, time
def once(): return socket.create_connection(("up.test", 7777)).recv(20) == b"port 7777\\n"
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); assert once()
signal.pthread_sigmask(signal.SIG_UNBLOCK, range(1, 65)); seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1)); signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
assert all(once() for _ in range(40)) and seen
signal.setitimer(signal.ITIMER_REAL, 0)
def work():
    while True: once()
for _ in range(20): threading.Thread(target=work, daemon=True).start()
time.sleep(0.1); os.execv(%r, ["python3", "-c", %r])""" % (PYTHON, after)
        process = self.start([PYTHON, "-c", code], POLICY, stdin=subprocess.PIPE)
        try:
            self.assertEqual(b"b'port 7777\\n'\n", process.stdout.readline())
            for agent in agents(process.pid):
                os.kill(agent, signal.SIGKILL)
            until(lambda: not agents(process.pid))
            out, err = process.communicate(b"go\n", timeout=30)
        finally:
            process.kill()
            process.communicate()
        self.assertEqual((b"38 38\n", 0), (out, process.returncode), err)

    @as_only("user")
    def test_within_another(self):
        """There can be one listener only: the inner run goes without, as its debug log says, or says that it can't."""
        import lib
        outer = '{ network = { allowedDomains = { "up.test" } }, filesystem = { allowWrite = { "." } }, allowNestedUserNamespaces = true }'
        inner = self.policy('{ network = { allowedDomains = { "up.test" } } }', "inner.lua")
        needed = self.policy('{ network = { allowedDomains = { "up.test" }, transparent = true } }', "needed.lua")
        got = self.run_sh("%s run --debug %s -- sh -c 'echo runs; getent hosts up.test; echo $?'; %s run %s -- true; echo $?" % (
            lib.BINARY, inner, lib.BINARY, needed), outer)
        self.assertIn("runs\n2\n", got.out, got)
        self.assertIn("\n125\n", got.out, got)
        self.assertIn("network.transparent", got.err)


class Programs(Led):
    def check(self, script, want, policy=POLICY, **more):
        got = self.run_sh(script, policy, **more)
        self.assertIn(want, got.out + got.err, got)
        return got

    @as_everyone
    def test_that_ignore_proxies(self):
        for option in ("", "-4", "-6", "--tcp-fastopen"):
            self.check(BARE + "curl -sS %s http://up.test/path" % option, "GET /path HTTP/1.1\n")
        self.check(BARE + "git clone -q git://up.test/r.git && cat r/README", "from git\n",
                   POLICY.replace("{ network", '{ filesystem = { allowWrite = { "." } }, network', 1))
        need("node")
        self.check(BARE + """node -e 'require("net").connect(7777, "up.test").on("data", d => { console.log(String(d)); process.exit() })'""",
                   "port 7777\n")
        self.check(BARE + """perl -MIO::Socket::INET -e 'print IO::Socket::INET->new("up.test:7777")->getline'""", "port 7777\n")

    def test_java(self):
        test_transparent.Programs.test_java(self)

    @as_everyone
    def test_who_hides_connects_as_well(self):
        got = self.python("""
import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
print(socket.create_connection(("up.test", 7777)).recv(20))""")
        self.assertEqual("b'port 7777\\n'\n", got.out, got)


if __name__ == "__main__":
    main()
