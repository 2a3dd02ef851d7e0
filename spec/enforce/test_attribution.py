# SPDX-License-Identifier: Apache-2.0
"""Whose connection it is: conn.process and req.process, by proxy variables and by redirect."""
import json
import os
import pathlib
import re

import world
from lib import Case, as_everyone, main, need, need_root

WORLD = None
PYTHON = "/usr/bin/python3"
BARE = "env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=$HOME "
# Answers with what it sees: pid, exe and the parents' programs.
TELL = """
local function tell(p)
  if not p then return "nobody" end
  local names = {}
  for i, parent in ipairs(p.parents) do names[i] = parent.pid .. "=" .. tostring(parent.exe) end
  return ("pid=%d host=%d exe=%s parents=%s"):format(p.pid, p.hostPid, tostring(p.exe), table.concat(names, ","))
end
"""
CONNECT = TELL + """return { network = { decideConnect = function(conn) return false, tell(conn.process) end } }"""
REQUEST = TELL + """return { network = { allowedDomains = { "up.test" }, filterRequest = function(req)
  return srt.respond { status = 200, body = tell(req.process) .. "\\n" .. tostring(req.process == req.process) .. " "
    .. tostring(req.conn.process.pid == req.process.pid) .. "\\n" } end } }"""
# In what runs inside: a request on the socket s, and who made it.
ASKS = """
s.sendall(b"GET http://up.test/ HTTP/1.1\\r\\nHost: up.test\\r\\nConnection: close\\r\\n\\r\\n")
while data := s.recv(4096): sys.stdout.write(data.decode())
print("my pid", os.getpid())
"""
SEEN = re.compile(r"pid=(\d+) host=(\d+) exe=(\S+) parents=(\S*)")


def setUpModule():
    global WORLD
    if os.geteuid() == 0:
        WORLD = world.World()


def exe_of(program):
    return os.path.realpath(need(program))


class Attribution(Case):
    def setUp(self):
        need_root("a network for the host")
        super().setUp()

    def assert_named(self, result):
        """Who asked by ASKS is whom the policy was told of."""
        self.assertEqual(re.search(r"my pid (\d+)", result.out)[1], self.seen(result)[0][0], result)

    def seen(self, result, count=1):
        found = SEEN.findall(result.out + result.err)
        self.assertEqual(count, len(found), result)
        return found

    def python(self, code, policy, **more):
        return self.run_srt([PYTHON, "-c", "import os, socket, subprocess, sys, threading, time\n" + code], policy, **more)


class Ways(Attribution):
    @as_everyone
    def test_by_proxy_variables(self):
        for way in ("http_proxy", "--socks5-hostname 127.0.0.1:1080"):
            command = "curl -sS http://x.test/" if way == "http_proxy" else "curl -sS %s http://x.test:81/" % way
            got = self.run_sh("sh -c '%s; :'; :" % command, CONNECT.replace("return false", "srt.log.warn(tell(conn.process)) return false"))
            pid, host, exe, parents = self.seen(got, 3 if way == "http_proxy" else 2)[0]
            self.assertEqual(exe_of("curl"), exe, got)
            shell = exe_of("sh")
            self.assertRegex(parents, r"^\d+=%s,\d+=%s$" % (shell, shell))
            self.assertNotEqual(pid, host)

    @as_everyone
    def test_of_requests_and_within_them(self):
        got = self.run_sh("curl -sS http://up.test/ http://up.test/again; :", REQUEST)
        found = self.seen(got, 2)
        self.assertEqual(found[0], found[1])
        self.assertEqual(exe_of("curl"), found[0][2])
        self.assertEqual(2, got.out.count("true true"), got)

    @as_everyone
    def test_redirected(self):
        for family in ("-4", "-6"):
            got = self.run_sh(BARE + "curl -sS %s http://up.test/; :" % family, REQUEST)
            pid, host, exe, parents = self.seen(got)[0]
            self.assertEqual(exe_of("curl"), exe)
            self.assertRegex(parents, "=%s$" % exe_of("sh"))

    @as_everyone
    def test_of_sockets_of_both_families(self):
        """As Java makes them: an IPv6 socket with an IPv4 address."""
        got = self.python("""
s = socket.socket(socket.AF_INET6); s.connect(("::ffff:127.0.0.1", int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1].strip("/"))))
""" + ASKS, REQUEST)
        self.assert_named(got)

    @as_everyone
    def test_of_responses(self):
        policy = TELL + """return { network = { allowedDomains = { "up.test" }, filterResponse = function(res, req)
          return srt.respond { status = 200, body = tell(req.process) } end } }"""
        got = self.run_sh("curl -sS http://up.test/; :", policy)
        self.assertEqual(exe_of("curl"), self.seen(got)[0][2])

    @as_everyone
    def test_reports_of_denials(self):
        policy = '{ network = { allowedDomains = { "up.test" }, deniedDomains = { "up.test:6379" } } }'
        for script, target in (("curl -sS http://x.test/", "x.test:80"), (BARE + "curl -sS http://up.test:6379/", "up.test:6379")):
            got = self.run_sh("%s >/dev/null 2>&1; :" % script, policy, options=["--report", "json"])
            told = json.loads(got.err.strip().splitlines()[-1])["violations"]
            found = [v["process"] for v in told if v["target"] == target]
            self.assertEqual(1, len(found), got)
            self.assertEqual(exe_of("curl"), found[0]["exe"])
            self.assertGreater(found[0]["pid"], 1)

    @as_everyone
    def test_reports_of_names(self):
        """Who waits for the resolver's answer, by UDP of either kind or TCP; who does not wait is nobody."""
        got = self.python("""
import struct
to = ("198.18.0.1", 53)
def query(name): return struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\\4" + name + b"\\4test\\0" + struct.pack(">HH", 1, 1)
s = socket.create_connection(to); s.sendall(struct.pack(">H", len(query(b"tcp4"))) + query(b"tcp4")); s.recv(99)
s = socket.socket(type=socket.SOCK_DGRAM); s.sendto(query(b"udp4"), to); s.recv(99)
s = socket.socket(type=socket.SOCK_DGRAM); s.connect(to); s.send(query(b"udpc")); s.recv(99)
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.sendto(query(b"udp6"), ("::ffff:198.18.0.1", 53)); s.recv(99)
subprocess.run(["getent", "hosts", "libc.test"])
print(os.getpid())""", '{ network = { allowedDomains = { "up.test" } } }', options=["--report", "json"])
        told = {v["target"]: v.get("process", {}) for v in json.loads(got.err.strip().splitlines()[-1])["violations"]}
        mine = {"pid": int(got.out), "exe": os.path.realpath(PYTHON)}
        self.assertEqual({name + ".test": mine for name in ("tcp4", "udp4", "udpc", "udp6")},
                         {name: who for name, who in told.items() if name != "libc.test"}, got)
        self.assertEqual(exe_of("getent"), told["libc.test"]["exe"])

    @as_everyone
    def test_decides(self):
        """What the docs show: git may, others may not."""
        policy = """
          local function is_git(process)
            if not process then return false end
            local git = (process.exe or ""):find("^/usr/.*/git")
            for _, parent in ipairs(process.parents) do git = git or parent.exe == "/usr/bin/git" end
            return git and true or false
          end
          return { network = { decideConnect = function(conn) return conn.host == "up.test" and is_git(conn.process), "only git" end },
            filesystem = { allowWrite = { "." } } }"""
        got = self.run_sh(BARE + "git clone -q git://up.test/r.git && cat r/README; " + BARE + "curl -sS http://up.test/ 2>&1; "
                          "curl -sS http://up.test/", policy)
        self.assertIn("from git\n", got.out, got)
        self.assertIn("only git", got.out)
        self.assertNotIn("GET / HTTP", got.out)


class Holders(Attribution):
    @as_everyone
    def test_the_one_nearest_to_the_command(self):
        got = self.python("""
s = socket.create_connection(("up.test", 80))
children = [subprocess.Popen(["sleep", "9"], pass_fds=[s.fileno()]) for _ in range(5)]
""" + ASKS + """
for child in children: child.kill()""", REQUEST)
        self.assert_named(got)

    @as_everyone
    def test_one_with_the_name_of_the_agent(self):
        got = self.python("""
import ctypes
ctypes.CDLL(None).prctl(15, b"srt-lua-guard", 0, 0, 0)
s = socket.create_connection(("up.test", 80))
""" + ASKS, REQUEST)
        self.assert_named(got)

    @as_everyone
    def test_one_that_inherited_it_where_the_other_is_gone(self):
        got = self.python("""
s = socket.create_connection(("up.test", 80))
if os.fork():
    os.close(s.fileno())
    os.wait()
else:
    time.sleep(0.2)
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: up.test\\r\\nConnection: close\\r\\n\\r\\n")
    while data := s.recv(4096): sys.stdout.write(data.decode())
    print("my pid", os.getpid(), flush=True)
    os._exit(0)""", REQUEST)
        self.assert_named(got)

    @as_everyone
    def test_an_orphan_has_no_parents(self):
        got = self.run_sh("(sh -c 'sleep 0.5; curl -sS http://up.test/ >out' &) ; sleep 0.1; while [ ! -s out ]; do sleep 0.1; done; "
                          "sleep 0.3; cat out", REQUEST.replace("return { network", "return { filesystem = { allowWrite = { '.' } }, network"))
        pid, _, exe, parents = self.seen(got)[0]
        self.assertEqual((exe_of("curl"), 1), (exe, parents.count("=")), got)

    @as_everyone
    def test_exec_in_between(self):
        """The program is the one that has the socket when it is asked."""
        got = self.python("""
s = socket.create_connection(("up.test", 80))
os.set_inheritable(s.fileno(), True)
os.execv("/bin/bash", ["bash", "-c", 'printf "GET / HTTP/1.1\\\\r\\\\nHost: up.test\\\\r\\\\nConnection: close\\\\r\\\\n\\\\r\\\\n" >&%d; '
  'while read -r line; do echo "$line"; done <&%d' % (s.fileno(), s.fileno())])""", REQUEST)
        self.assertEqual(exe_of("bash"), self.seen(got)[0][2], got)

    @as_everyone
    def test_who_hides(self):
        """/proc shows the descriptors of who is not dumpable to root only."""
        plain = REQUEST.replace('tostring(req.conn.process.pid == req.process.pid)', '""')
        got = self.python("""
import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
s = socket.create_connection(("up.test", 80))
s.sendall(b"GET / HTTP/1.1\\r\\nHost: up.test\\r\\nConnection: close\\r\\n\\r\\n")
while data := s.recv(4096): sys.stdout.write(data.decode())
print("exe=%s" % os.readlink("/proc/self/exe"))""", plain)
        self.write("w/unreadable", pathlib.Path(exe_of("curl")).read_bytes(), 0o111)
        other = self.run_sh("./unreadable -sS http://up.test/; :", plain)
        if self.user == "root":
            self.assertEqual(2, got.out.count("exe="), got)
            self.assertIn("/unreadable", self.seen(other)[0][2])
        else:
            self.assertIn("nobody", got.out, got)
            self.assertIn("nobody", other.out, other)

    @as_everyone
    def test_nobody_when_it_is_gone(self):
        policy = TELL + """return { network = { decideConnect = function(conn)
          srt.sleep(0.5) srt.log.warn("seen " .. tell(conn.process)) return false end } }"""
        got = self.python("""
s = socket.create_connection(("up.test", 7777)); os.close(s.detach())
s = socket.create_connection(("127.0.0.1", 3128)); s.sendall(b"CONNECT up.test:1 HTTP/1.1\\r\\nHost: up.test:1\\r\\n\\r\\n")
s.shutdown(socket.SHUT_WR); os.close(s.detach())
time.sleep(1)""", policy)
        self.assertNotIn("pid=", got.err, got)
        self.assertIn("seen nobody", got.err)

    @as_everyone
    def test_numbers_used_anew(self):
        """Children that connect and end at once: each answer is that child's or none, never another's."""
        got = self.run_srt([PYTHON, "-c", """
import os, socket, time
for i in range(120):
    if not os.fork():
        s = socket.create_connection(("127.0.0.1", 3128))
        s.sendall(b"GET http://up.test/%d HTTP/1.1\\r\\nHost: up.test\\r\\n\\r\\n" % os.getpid())
        if i % 3: s.recv(1000)
        os._exit(0)
    if i % 3: os.wait()
while True:
    try: os.wait()
    except ChildProcessError: break
time.sleep(0.5)"""], TELL + """return { network = { allowedDomains = { "up.test" }, filterRequest = function(req)
          srt.log.warn("asked" .. req.path .. " " .. tell(req.process)) return srt.respond { status = 200, body = "x" } end } }""",
                           timeout=200)
        lines = re.findall(r"asked/(\d+) (nobody|pid=(\d+))", got.err)
        self.assertGreater(len(lines), 90, got)
        for asked, answer, pid in lines:
            self.assertIn(pid, ("", asked), answer)
        self.assertGreater(sum(1 for line in lines if line[2]), 60)

    @as_everyone
    def test_among_many(self):
        """In a crowd it is found within its time, or nobody is; the command is served either way."""
        got = self.python("""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
crowd = []
for i in range(200):
    pid = os.fork()
    if not pid:
        for k in range(100): os.open("/dev/null", os.O_RDONLY)
        time.sleep(60); os._exit(0)
    crowd.append(pid)
time.sleep(0.3)
print(subprocess.run(["curl", "-sS", "http://up.test/"], capture_output=True).stdout.decode())
start = time.time()
s = socket.create_connection(("up.test", 80))
s.sendall(b"GET / HTTP/1.1\\r\\nHost: up.test\\r\\nConnection: close\\r\\n\\r\\n")
s.recv(100)
print("took", time.time() - start)
for pid in crowd: os.kill(pid, 9)""", REQUEST.replace('tostring(req.conn.process.pid == req.process.pid)', '""'), timeout=90)
        self.assertRegex(got.out, "pid=|nobody", got)
        self.assertLess(float(re.search(r"took ([\d.]+)", got.out)[1]), 5)


class Costs(Attribution):
    @as_everyone
    def test_nothing_where_nobody_asks(self):
        """The host process looks into no process."""
        policy = self.policy('{ network = { allowedDomains = { "up.test" }, filterRequest = function(req) return true end } }')
        need("strace")
        run = self.start(["sh", "-c", "curl -sS http://up.test/; curl -sS http://up.test/"], policy)
        out, err = run.communicate(timeout=30)
        self.assertEqual(2, out.count(b"GET / HTTP/1.1"), err)
        done = self.on_host(["strace", "-f", "-o", self.path("trace"), "-e", "trace=sendto,openat", *self.command(policy)])
        self.assertIn(b"GET / HTTP/1.1", done.stdout, done.stderr)
        self.assertNotIn("/children", self.read("trace"))

    def command(self, policy):
        import lib
        return [lib.BINARY, "run", policy, "--", "curl", "-sS", "http://up.test/"]


if __name__ == "__main__":
    main()
