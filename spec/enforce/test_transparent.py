# SPDX-License-Identifier: Apache-2.0
"""Programs that ignore proxies: redirected, with names from a resolver of ours, under the same policy."""
import os
import shutil
import subprocess
import time

import world
from lib import BINARY, Case, as_everyone, main, need, need_root, skip

WORLD = None
PYTHON = "/usr/bin/python3"
# Nothing tells these programs of a proxy.
BARE = "env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=$HOME "
POLICY = """{ network = { allowedDomains = { "up.test", "six.test:7777", "other.test:80", "nowhere.test" },
  deniedDomains = { "up.test:22", "up.test:6379" }, deniedDomainReasons = { ["up.test:22"] = "use https" } } }"""
OWN, FIRST, FIRST6 = "198.18.0.1", "198.18.1.0", "fd73:7274:6c75::100"


# A thousand threads that connect at once, each its own.
THREADS = """
import threading
threading.stack_size(65536 * 2)
to = socket.getaddrinfo("up.test", 7777, socket.AF_INET, socket.SOCK_STREAM)[0][4]
start, good = threading.Barrier(1000), []
def one(i):
    start.wait()
    s = socket.socket(); s.settimeout(60); s.connect(to)
    text = b"%d" % i
    s.sendall(text)
    data = b""
    while len(data) < 10 + len(text): data += s.recv(100)
    good.append(data == b"port 7777\\n" + text)
    s.close()
threads = [threading.Thread(target=one, args=(i,)) for i in range(1000)]
for t in threads: t.start()
for t in threads: t.join()
print(len(good), all(good))"""


def setUpModule():
    global WORLD
    if os.geteuid() == 0:
        WORLD = world.World()


class Transparent(Case):
    def setUp(self):
        need_root("a network for the host")
        super().setUp()

    def fresh(self):
        super().fresh()
        if WORLD:
            WORLD.clear()

    def python(self, code, policy=POLICY, **more):
        return self.run_srt(["env", "-i", PYTHON, "-c", "import errno, os, select, socket, struct, time\n" + code], policy, **more)


class Names(Transparent):
    @as_everyone
    def test_have_made_up_addresses_that_stay(self):
        got = self.run_sh("for name in up.test UP.Test. six.test up.test; do getent ahostsv4 $name; getent ahostsv6 $name; done "
                          "| awk '/STREAM/ {print $1}'; getent hosts %s %s" % (FIRST, FIRST6), POLICY)
        second, second6 = "198.18.1.1", "fd73:7274:6c75::101"
        self.assertEqual([FIRST, FIRST6, FIRST, FIRST6, second, second6, FIRST, FIRST6, FIRST, "up.test", FIRST6, "up.test"],
                         got.out.split(), got)
        self.assertEqual([], WORLD.queries())

    @as_everyone
    def test_that_are_denied_fail_at_once_and_no_query_leaves(self):
        start = time.time()
        got = self.run_sh("for name in evil.test secret-data.evil.test. 1.evil.test x up.test.evil.test; do %s getent hosts $name; "
                          "echo $?; done; %s curl -sS http://evil.test/; %s python3 -c 'import socket; socket.getaddrinfo(\"evil.test\", 1)'"
                          % (BARE, BARE, BARE), POLICY)
        self.assertEqual("2\n" * 5, got.out)
        self.assertIn("Could not resolve host: evil.test", got.err)
        self.assertIn("Name or service not known", got.err)
        self.assertLess(time.time() - start, 5)
        self.assertEqual([], WORLD.queries())

    @as_everyone
    def test_nothing_leaves_when_a_name_is_only_looked_up(self):
        got = self.run_sh("getent ahosts up.test; getent ahosts nowhere.test; getent hosts localhost a.localhost", POLICY)
        self.assertIn("nowhere.test", got.out)
        self.assertIn("::1", got.out)
        self.assertEqual([], WORLD.queries())

    @as_everyone
    def test_address_families_are_there_for_who_asks_for_configured_ones(self):
        got = self.python("""
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNSPEC):
    print(len(socket.getaddrinfo("up.test", 80, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)))""")
        self.assertEqual("1\n1\n2\n", got.out, got)

    @as_everyone
    def test_on_the_wire(self):
        code = """
def ask(name, kind, tcp=False, tail=b"", count=0, flags=0x100):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split(".") if l) + b"\\0"
    query = struct.pack(">HHHHHH", 7, flags, 1, 0, 0, count) + labels + struct.pack(">HH", kind, 1) + tail
    if tcp:
        s = socket.create_connection((SERVER, 53)); s.settimeout(5)
        whole = struct.pack(">H", len(query)) + query
        for byte in whole * 2: s.sendall(bytes([byte]))
        answer = b""
        while len(answer) < 2 or len(answer) < 2 * (2 + struct.unpack(">H", answer[:2])[0]): answer += s.recv(4096)
        answer = answer[2:]
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect((SERVER, 53)); s.settimeout(5); s.send(query)
        answer = s.recv(4096)
    head = struct.unpack(">HHHHHH", answer[:12])
    return head[1] & 15, head[3], answer
for kind in (1, 28, 15, 16, 33, 64, 65, 2, 255, 252):
    print(kind, ask("up.test", kind)[:2], ask("evil.test", kind)[:2], ask("up.test", kind, True)[:2])
opt = b"\\0\\0\\x29\\x04\\xd0\\0\\0\\0\\0\\0\\0"
print(b"is not in network.allowedDomains" in ask("evil.test", 1, tail=opt, count=1)[2])
print(ask("up.test", 1, tail=b"x")[0], ask("up.test", 1, flags=0x2900)[0], ask("a b.up.test", 1)[0])
print(ask("0.1.18.198.in-addr.arpa", 12)[1], ask("9.9.9.9.in-addr.arpa", 12)[:2], ask("1.0.0.127.in-addr.arpa", 12)[1])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect((SERVER, 53)); s.settimeout(0.3)
for junk in (b"", b"x", b"\\0" * 11, b"\\x81" * 40, b"\\xff" * 4000):
    s.send(junk)
    try: print("answered", s.recv(4096)[3] & 15)
    except TimeoutError: print("silent")
s = socket.create_connection((SERVER, 53)); s.settimeout(5); s.sendall(b"\\xff\\xff" + b"x" * 100)
try: print(s.recv(10))
except ConnectionError: print(b"")
""".replace("SERVER", repr(OWN))
        got = self.python(code)
        lines = got.out.splitlines()
        for kind in (1, 28):
            self.assertIn("%d (0, 1) (3, 0) (0, 1)" % kind, lines, got)
        for kind in (15, 16, 33, 64, 65, 2):
            self.assertIn("%d (0, 0) (3, 0) (0, 0)" % kind, lines, got)
        for kind in (255, 252):
            self.assertIn("%d (5, 0) (5, 0) (5, 0)" % kind, lines, got)
        self.assertEqual(["True", "1 4 3", "1 (3, 0) 1", "silent", "silent", "silent", "silent", "silent", "b''"], lines[10:], got)
        self.assertEqual([], WORLD.queries())

    @as_everyone
    def test_many_at_once_from_the_start(self):
        got = self.run_sh("for i in $(seq 12); do getent ahostsv4 n$i.up2.test & done; wait",
                          '{ network = { allowedDomains = { "*.up2.test" } } }')
        self.assertEqual(12, len({line.split()[0] for line in got.out.splitlines() if "STREAM" in line}), got)


class Connections(Transparent):
    @as_everyone
    def test_go_where_they_should_and_know_it(self):
        got = self.python("""
for family in (socket.AF_INET, socket.AF_INET6):
    for blocking in (True, False):
        to = socket.getaddrinfo("up.test", 7777, family, socket.SOCK_STREAM)[0][4]
        s = socket.socket(family); s.setblocking(blocking)
        error = s.connect_ex(to)
        assert error in ((0,) if blocking else (0, errno.EINPROGRESS)), error
        select.select([], [s], [], 5)
        assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        s.setblocking(True); s.settimeout(5)
        assert s.getpeername() == to, s.getpeername()
        s.sendall(b"echo")
        data = b""
        while len(data) < 14: data += s.recv(100)
        print(data)
        s.shutdown(socket.SHUT_WR); assert s.recv(10) == b""
""")
        self.assertEqual("b'port 7777\\necho'\n" * 4, got.out, got)
        self.assertEqual({"up.test"}, set(WORLD.queries()))

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
print(end_of("192.0.2.1", 80), end_of("10.77.0.2", 7777), end_of("2001:db8:77::2", 7777, socket.AF_INET6))
print(end_of("127.0.0.1", 3129), end_of("127.0.0.1", 3), end_of("198.18.9.9", 7777))
""", options=["--debug"])
        self.assertEqual(["ENETUNREACH", "['ECONNRESET', 'ECONNRESET', b'port 7777\\n', 'ECONNRESET']",
                          "ECONNRESET ECONNRESET ECONNRESET", "ECONNRESET ECONNREFUSED ECONNRESET"], got.out.splitlines(), got)
        self.assertEqual(["7777"], WORLD.clients())
        for line in ('up.test:6379: deny: up.test:6379 is denied by network.deniedDomains', "10.77.0.2:7777: deny: "):
            self.assertIn(line, got.err)

    @as_everyone
    def test_by_address_where_the_policy_has_one(self):
        for address, family in ((world.NEIGHBOUR, "INET"), (world.NEIGHBOUR6, "INET6")):
            got = self.python("s = socket.socket(socket.AF_%s); s.connect((%r, 7777)); print(s.recv(20), s.getpeername()[0])" % (
                family, address), '{ network = { allowedDomains = { "%s:7777" } } }' % (
                    "[%s]" % address if ":" in address else address))
            self.assertEqual("b'port 7777\\n' %s\n" % address, got.out, got)

    @as_everyone
    def test_ask_the_callback(self):
        policy = """{ network = { decideConnect = function(conn)
          if conn.protocol ~= "transparent" then return false, "a proxy's client" end
          return conn.host == "up.test" and conn.port == 7777 or conn.host == "%s" end } }""" % world.NEIGHBOUR
        got = self.python("""
for host in ("up.test", "other.test", %r):
    try: print(socket.create_connection((host, 7777)).recv(20))
    except OSError as error: print(errno.errorcode[error.errno])""" % world.NEIGHBOUR, policy)
        self.assertEqual("b'port 7777\\n'\nECONNRESET\nb'port 7777\\n'\n", got.out, got)

    @as_everyone
    def test_a_thousand(self):
        got = self.python("""
import threading
good = []
def some():
    for i in range(20):
        s = socket.create_connection(("up.test", 7777)); s.settimeout(20)
        text = ("%d %d" % (threading.get_ident(), i)).encode()
        s.sendall(text)
        data = b""
        while len(data) < 10 + len(text): data += s.recv(100)
        good.append(data == b"port 7777\\n" + text)
        s.close()
threads = [threading.Thread(target=some) for _ in range(50)]
for t in threads: t.start()
for t in threads: t.join()
print(len(good), all(good))""", timeout=120)
        self.assertEqual("1000 True\n", got.out, got)

    @as_everyone
    def test_a_thousand_threads(self):
        got = self.python(THREADS, timeout=200)
        self.assertEqual("1000 True\n", got.out, got)

    @as_everyone
    def test_loopback_and_own_addresses_stay_inside(self):
        got = self.python("""
socket.getaddrinfo("up.test", 1)
for family, any_, addresses in ((socket.AF_INET, "0.0.0.0", ("127.0.0.1", "127.9.9.9", OWN)), (socket.AF_INET6, "::", ("::1", OWN6))):
    server = socket.socket(family); server.bind((any_, 0)); server.listen()
    datagrams = socket.socket(family, socket.SOCK_DGRAM); datagrams.bind(server.getsockname()[:2]); datagrams.settimeout(5)
    for address in addresses:
        client = socket.socket(family); client.connect((address, server.getsockname()[1])); peer, _ = server.accept()
        client.sendall(b"x"); assert peer.recv(1) == b"x"
        sender = socket.socket(family, socket.SOCK_DGRAM); sender.sendto(b"y", (address, server.getsockname()[1]))
        assert datagrams.recv(1) == b"y"
        print(address)""".replace("OWN6", "'fd73:7274:6c75::1'").replace("OWN", repr(OWN)))
        self.assertEqual("127.0.0.1\n127.9.9.9\n%s\n::1\nfd73:7274:6c75::1\n" % OWN, got.out, got)

    @as_everyone
    def test_datagrams_elsewhere_fail_at_once(self):
        got = self.python("""
def send(to, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_DGRAM)
    start = time.time()
    try: s.sendto(b"x", to)
    except OSError as error: return errno.errorcode[error.errno], time.time() - start < 1
print(send(("10.77.0.2", 53)), send(("2001:db8:77::2", 53), socket.AF_INET6))
to = socket.getaddrinfo("up.test", 443, socket.AF_INET)[0][4]
print(send(("10.77.0.2", 53)), send(("2001:db8:77::2", 53), socket.AF_INET6), send(to))
""")
        self.assertEqual("('ENETUNREACH', True) ('ENETUNREACH', True)\n" + "('EPERM', True) ('EPERM', True) ('EPERM', True)\n",
                         got.out, got)
        self.assertEqual([], WORLD.queries())

    @as_everyone
    def test_clients_of_the_proxy_are_served_as_before(self):
        got = self.run_sh("curl -sS http://up.test/a; curl -sS --socks5-hostname 127.0.0.1:1080 http://up.test/b; curl -sS http://evil.test/",
                          POLICY)
        self.assertIn("GET /a HTTP/1.1\nGET /b HTTP/1.1\n", got.out, got)
        self.assertIn("evil.test:80 is not in network.allowedDomains", got.out)
        self.assertEqual({"up.test"}, set(WORLD.queries()))


class Programs(Transparent):
    def check(self, script, want, policy=POLICY, **more):
        got = self.run_sh(script, policy, **more)
        self.assertIn(want, got.out + got.err, got)
        return got

    @as_everyone
    def test_curl(self):
        need("curl")
        for option in ("", "-4", "-6"):
            self.check(BARE + "curl -sS %s http://up.test/path" % option, "GET /path HTTP/1.1\n")
        self.check(BARE + "curl -sS http://six.test/", "curl: (")

    @as_everyone
    def test_nc(self):
        need("nc")
        got = self.run_sh("for to in '-4 up.test 7777' '-6 up.test 7777' 'up.test 6379' 'evil.test 7777' '192.0.2.1 7777'; do echo hello | "
                          + BARE + "nc -Nvw 9 $to 2>&1; echo $?; done", POLICY)
        self.assertEqual(2, got.out.count(" succeeded!\nport 7777\nhello\n0\n"), got)
        self.assertIn('nc: getaddrinfo for host "evil.test" port 7777: Name or service not known\n1\n', got.out)
        self.assertEqual((["7777"] * 2, {"up.test"}), (WORLD.clients(), set(WORLD.queries())))

    def test_ssh(self):
        # As root: it wants to find its user in /etc/passwd.
        need("ssh")
        options = " ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
        got = self.check(BARE + options + "up.test true", "up.test:22 is denied by network.deniedDomains")
        self.assertIn("use https", got.err)
        # Its own greeting comes back to it, so it waits.
        self.check(BARE + "timeout 3" + options + "-p 7777 up.test true", "")
        self.assertEqual(["7777"], WORLD.clients())

    @as_everyone
    def test_git(self):
        self.check(BARE + "git clone -q git://up.test/r.git && cat r/README", "from git\n",
                   POLICY.replace("{ network", '{ filesystem = { allowWrite = { "." } }, network', 1))

    @as_everyone
    def test_psql(self):
        """libpq's own encryption request goes through, and the query's answer comes back; denied, nothing leaves."""
        need("psql")
        query = BARE + "PGCONNECT_TIMEOUT=9 psql -XwAtU somebody -d db -h %s -c 'select 6 * 7' 2>&1; "
        got = self.run_sh(query % "up.test" + query % "evil.test" + query % "other.test", POLICY)
        lines = got.out.splitlines()
        self.assertEqual("somebody|select 6 * 7", lines[0], got)
        self.assertIn('could not translate host name "evil.test" to address', lines[1], got)
        self.assertIn('connection to server at "other.test"', lines[2], got)
        self.assertNotIn("select 6", "".join(lines[1:]), got)
        self.assertEqual((["5432"], {"up.test"}), (WORLD.clients(), set(WORLD.queries())))

    def test_redis(self):
        need("redis-cli")
        # Debian's tools have the server's program in them by another name, and start none.
        server = subprocess.Popen(["nsenter", "-t", str(WORLD.neighbour.pid), "-n", "sh", "-c",
                                   "exec bash -c 'exec -a redis-server redis-check-rdb --port 6380 --bind %s --protected-mode no --save \"\"'"
                                   % world.NEIGHBOUR], stdout=subprocess.PIPE, cwd=self.tmp)
        try:
            while b"Ready to accept" not in server.stdout.readline():
                self.assertIsNone(server.poll())
            self.check(BARE + "sh -c 'redis-cli -h up.test -p 6380 set k from-redis; redis-cli -h up.test -p 6380 get k; "
                       "redis-cli -h evil.test -p 6380 ping'", "OK\nfrom-redis\nCould not connect to Redis at evil.test:6380")
        finally:
            server.kill()
            server.communicate()

    def test_go(self):
        """Its own resolver, in a static program."""
        go = shutil.which("go") or skip("go is not installed", allowed=True)
        self.write("w/main.go", """package main
            import ("context"; "fmt"; "io"; "net"; "time")
            func main() {
              r := net.Resolver{PreferGo: true}
              begun := time.Now()
              _, err := r.LookupHost(context.Background(), "evil.test")
              fmt.Println(err.(*net.DNSError).IsNotFound, time.Since(begun) < time.Second)
              found, err := r.LookupHost(context.Background(), "up.test")
              fmt.Println(found, err)
              d := net.Dialer{Resolver: &r, Timeout: 20 * time.Second}
              c, err := d.Dial("tcp", "up.test:7777")
              if err != nil { panic(err) }
              b := make([]byte, 10)
              io.ReadFull(c, b)
              fmt.Print(string(b)) }""")
        self.sh("CGO_ENABLED=0 GO111MODULE=off GOCACHE=$PWD/c %s build -o m main.go; rm -r c" % go)
        self.check(BARE + "./m", "true true\n[%s %s] <nil>\nport 7777\n" % (FIRST, FIRST6))

    @as_everyone
    def test_dns_as_go_speaks_it(self):
        """A and AAAA at once, each from a socket of its own that is connected, with EDNS0."""
        got = self.python("""
            def ask(name, kind, number):
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10); s.connect(("%s", 53))
                labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
                s.send(struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 1) + labels + b"\\0" + struct.pack(">HH", kind, 1)
                       + b"\\0" + struct.pack(">HHIH", 41, 1232, 0, 0))
                return s
            for name in ("up.test", "evil.test"):
                for s in [ask(name, 1, 7), ask(name, 28, 8)]:
                    head = struct.unpack(">HHHHHH", s.recv(1232)[:12])
                    print(head[0], head[1] & 15, head[3])""".replace("\n            ", "\n") % OWN)
        self.assertEqual("7 0 1\n8 0 1\n7 3 0\n8 3 0\n", got.out, got)

    @as_everyone
    def test_java(self):
        java = self.java("Get", """import java.net.*;
            class Get { public static void main(String[] a) throws Exception {
              try (Socket s = new Socket("up.test", 7777)) {
                System.out.print(new String(s.getInputStream().readNBytes(10)));
                System.out.println(s.getInetAddress().getHostName() + " " + s.getPort()); }
              System.out.print(new String(new URL("http://up.test/j").openStream().readAllBytes()));
              try { new Socket("evil.test", 80); } catch (UnknownHostException e) { System.out.println("unknown"); } } }""")
        got = self.check(BARE + java, "port 7777\nup.test 7777\nGET /j HTTP/1.1\nunknown\n", timeout=120,
                         options=("--report", "none"))
        self.assertEqual("", got.err)

    @as_everyone
    def test_node_and_perl(self):
        need("node")
        self.check(BARE + """node -e '
            const net = require("net"), dns = require("dns").promises;
            (async () => {
              console.log(await dns.resolve4("up.test"), await dns.resolve6("up.test"));
              console.log(await dns.resolve4("evil.test").catch(e => e.code));
              console.log(await (await fetch("http://up.test/n")).text());
              net.connect(7777, "up.test").on("data", d => { console.log(String(d)); process.exit() });
            })()'""", "[ '%s' ] [ '%s' ]\nENOTFOUND\nGET /n HTTP/1.1\n\nport 7777\n" % (FIRST, FIRST6))
        self.check(BARE + """perl -MIO::Socket::INET -e 'print IO::Socket::INET->new("up.test:7777")->getline'""", "port 7777\n")

    @as_everyone
    def test_static_musl(self):
        need("musl-gcc")
        self.write("w/m.c", """#include <netdb.h>
            #include <stdio.h>
            #include <unistd.h>
            int main(void) { struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found; char text[20]; int fd;
              printf("%d\\n", getaddrinfo("evil.test", "80", &hints, &found));
              if (getaddrinfo("up.test", "7777", &hints, &found)) return 1;
              fd = socket(found->ai_family, SOCK_STREAM, 0);
              if (connect(fd, found->ai_addr, found->ai_addrlen)) return 2;
              printf("%.*s", (int)read(fd, text, 20), text); return 0; }""")
        self.sh("musl-gcc -static -o m m.c")
        self.check("./m", "-2\nport 7777\n")


class Filtered(Transparent):
    @as_everyone
    def test_requests_of_programs_that_ignore_proxies(self):
        policy = """{ network = { allowedDomains = { "up.test" }, tlsTerminate = {}, filterRequest = function(req)
          if req.path == "/no" then return false, req.conn.protocol .. " may not" end return true end } }"""
        unset = "".join("-u %s -u %s " % (name, name.upper()) for name in ("http_proxy", "https_proxy", "all_proxy"))
        got = self.run_sh("u='env %s'; for s in http https; do $u curl -sS $s://up.test/no; done; $u curl -sS http://up.test/yes; "
                          "env -i %s -c 'import socket; print(socket.create_connection((\"up.test\", 7777)).recv(20))'"
                          % (unset, PYTHON), policy)
        self.assertEqual(2, got.out.count("transparent may not"), got)
        self.assertIn("GET /yes HTTP/1.1\nb'port 7777\\n'", got.out)
        self.assertEqual(["80", "443", "80", "7777"], WORLD.clients())


class Settings(Transparent):
    @as_everyone
    def test_off(self):
        policy = POLICY.replace("network = {", "network = { transparent = false, ", 1)
        got = self.run_sh("cat /etc/resolv.conf; getent hosts up.test; echo $?; " + BARE + "curl -sS http://10.77.0.2/ 2>&1; "
                          "curl -sS http://up.test/", policy)
        self.assertIn("nameserver 10.77.0.2", got.out)
        self.assertIn("\n2\n", got.out)
        self.assertIn("GET / HTTP/1.1", got.out)

    @as_everyone
    def test_a_kernel_without_nf_tables_and_notifications(self):
        missing = {"SRT_LUA_FAKE_MISSING": "nftables,seccomp_notify"}
        start = time.time()
        got = self.run_sh("getent hosts up.test; echo $?; curl -sS http://up.test/; getent hosts localhost", POLICY, env=missing,
                          options=["--debug"])
        self.assertEqual(0, got.code, got)
        self.assertIn("2\nGET / HTTP/1.1\n::1", got.out)
        self.assertIn("programs that ignore proxies can't be served", got.err)
        self.assertLess(time.time() - start, 20)
        got = self.run_sh("true", POLICY.replace("network = {", "network = { transparent = true, ", 1), env=missing)
        self.assertEqual(125, got.code, got)
        self.assertIn("network.transparent, without nf_tables in the kernel, can't be held here", got.err)
        got = self.run_srt(["check", self.policy(POLICY)], env=missing)
        self.assertIn("served, by an agent inside", got.out)

    @as_everyone
    def test_from_the_start_where_asked_for(self):
        policy = POLICY.replace("network = {", "network = { transparent = true, ", 1)
        got = self.python("""
try: socket.create_connection(("192.0.2.1", 80)).recv(1)
except OSError as error: print(errno.errorcode[error.errno])""", policy)
        self.assertEqual("ECONNRESET\n", got.out, got)
        got = self.run_srt(["check", self.policy(policy)])
        self.assertIn("programs that ignore proxy variables: served from the start", got.out)

    @as_everyone
    def test_hosts_with_other_resolvers(self):
        setups = {
            "none": "rm /tmp/etc/resolv.conf",
            "a link": "rm /tmp/etc/resolv.conf; mkdir -p /tmp/etc/sub; echo nameserver 127.0.0.53 >/tmp/etc/sub/stub.conf; "
                      "ln -s sub/stub.conf /tmp/etc/resolv.conf",
            "a dangling link": "rm /tmp/etc/resolv.conf; ln -s nothing/there /tmp/etc/resolv.conf",
            "resolved": "sed -i 's/^hosts:.*/hosts: files mdns4_minimal [NOTFOUND=return] resolve [!UNAVAIL=return] dns/' "
                        "/tmp/etc/nsswitch.conf",
        }
        for name, setup in setups.items():
            with self.subTest(host=name):
                folder = self.path("e" + str(len(name)))
                script = "cp -a /etc %s; %s; mount --bind %s /etc; exec %s" % (
                    folder, setup.replace("/tmp/etc", folder), folder, '"$@"')
                if os.geteuid() == 0 and self.user == "user":
                    script = script.replace("exec ", "exec setpriv --reuid 65123 --regid 65123 --clear-groups ")
                done = subprocess.run(["unshare", "-m", "sh", "-ec", script, "sh", BINARY, "run", self.policy(POLICY), "--", "sh", "-c",
                                       "getent ahostsv4 up.test; grep ^hosts: /etc/nsswitch.conf; " + BARE + "curl -sS http://up.test/"],
                                      cwd=self.w, env=self.environment(), capture_output=True, text=True)
                subprocess.run(["rm", "-rf", folder])
                self.assertIn(FIRST, done.stdout, done.stderr)
                self.assertIn("hosts: files dns\n", " ".join(done.stdout.split(" ")).replace("          ", " "), done)
                if name == "resolved":  # the others leave the host itself without a resolver
                    self.assertIn("GET / HTTP/1.1", done.stdout, done.stderr)


if __name__ == "__main__":
    main()
