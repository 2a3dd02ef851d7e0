# SPDX-License-Identifier: Apache-2.0
"""The proxy under load and fault: the right error, bounded memory, and other connections unhurt."""
import os
import resource
import socket
import time

from lib import Case, as_everyone, main
from server import ADDRESS, Listening, Origin

# Inside: helpers of the scripts below. fine() is a whole request by somebody else, with the time that it took.
PRELUDE = r"""
import os, resource, select, socket, struct, sys, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
host = sys.argv[1]
def dial(): return socket.create_connection(("127.0.0.1", 3128), 10)
def get(path="/x"): return ("GET http://%s%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (host, path, host)).encode()
def rest(s):
    data = b""
    try:
        while chunk := s.recv(65536): data += chunk
    except OSError as e: data += b"<%s>" % type(e).__name__.encode()
    return data
def fine():
    start = time.time()
    with dial() as s:
        s.sendall(get())
        assert b"hello from /x" in rest(s)
    return time.time() - start
def tunnel():
    s = dial()
    s.sendall(("CONNECT %s HTTP/1.1\r\n\r\n" % host).encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        more = s.recv(1)
        if not more: break
        head += more
    return s, head
"""
SANITIZED = any(word in os.environ.get("SRT_LUA", "") for word in ("/dev/", "asan"))


class Silent(Listening):
    """Accepts, reads nothing, answers nothing."""

    def __init__(self):
        self.kept = []

    def listen(self):
        return socket.create_server((ADDRESS, 0), backlog=4096)

    def accept(self):
        while True:
            try:
                self.kept.append(self.socket.accept()[0])
            except OSError:
                return

    def __exit__(self, *_):
        super().__exit__()
        for connection in self.kept:
            connection.close()


class Load(Case):
    def begin(self, origin, script, limits="", more="", **options):
        policy = ('{ network = { allowedDomains = { "%s" } }, limits = { %s } }' % (ADDRESS, limits))
        return self.start(["/usr/bin/python3", "-c", PRELUDE + script, "%s:%d" % (ADDRESS, origin.port), more], policy, **options)

    def outcome(self, run, timeout=60):
        out, err = run.communicate(timeout=timeout)
        self.assertEqual(0, run.returncode, err.decode())
        return out.decode().split("\n")

    def resident(self, run):
        with open("/proc/%d/status" % run.pid) as file:
            return [int(line.split()[1]) for line in file if line.startswith("VmRSS")][0]

    def ticks(self, run):
        with open("/proc/%d/stat" % run.pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    @as_everyone
    def test_slow_heads(self):
        """Slowloris: each is told in time, whoever else asks is served meanwhile, not behind them."""
        script = """
slow = [dial() for _ in range(200)]
start = time.time()
for s in slow: s.send(b"GET http://a/ HTTP/1.1\\r\\nX: ")
for _ in range(5): fine()
told = select.select(slow, [], [], 0)[0]
first = not told or time.time() - start > 1.9 # a machine as busy as that tells nothing
for _ in range(15):
    for s in slow:
        try: s.send(b"a")
        except OSError: pass
    time.sleep(0.2)
answers = [rest(s) for s in slow]
print(sum(a.startswith(b"HTTP/1.1 408 ") for a in answers), first)"""
        with Origin() as origin:
            self.assertEqual("200 True", self.outcome(self.begin(origin, script, "headerSeconds = 2"))[0])

    @as_everyone
    def test_no_answer(self):
        script = """
s = dial(); start = time.time(); s.sendall(get()); print(rest(s).split(b"\\r\\n")[0].decode(), 0.8 < time.time() - start < 8)"""
        with Silent() as origin:
            run = self.begin(origin, script, "answerSeconds = 1")
            self.assertEqual("HTTP/1.1 504 Gateway Timeout True", self.outcome(run)[0])

    @as_everyone
    def test_idle_connections_end(self):
        script = """
s = dial(); t, head = tunnel(); start = time.time()
print(rest(s), head.split()[1]); print(rest(t) in (b"", b"<ConnectionResetError>"), time.time() - start < 8)"""
        with Silent() as origin:
            run = self.begin(origin, script, "idleSeconds = 1")
            self.assertEqual(["b'' b'200'", "True True"], self.outcome(run)[:2])

    @as_everyone
    def test_tunnel_limit(self):
        script = """
kept = [tunnel() for _ in range(12)]
print([head.split()[1].decode() for _, head in kept].count("200"), kept[-1][1].split(b"\\r\\n")[0].decode())
print(fine() < 5)
for s, _ in kept: s.close()
time.sleep(0.3)
print(tunnel()[1].split()[1].decode())"""
        with Origin() as origin:
            run = self.begin(origin, script, "tunnels = 10")
            self.assertEqual(["10 HTTP/1.1 503 Service Unavailable", "True", "200"], self.outcome(run)[:3])

    @as_everyone
    def test_a_client_that_sends_for_ever(self):
        """Into a head, a body that nobody reads, and a tunnel that nobody reads."""
        script = """
def pour(s, first):
    s.sendall(first); s.setblocking(False); sent, idle = 0, time.time()
    while time.time() - idle < 1 and sent < 200 << 20:
        try: sent += s.send(b"a" * 65536); idle = time.time()
        except BlockingIOError: time.sleep(0.01)
        except OSError: break
    return sent
head = dial(); pour(head, b"GET http://a/ HTTP/1.1\\r\\nX: "); head.setblocking(True)
print(rest(head)[:13])
body = dial()
print(pour(body, ("POST http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\nContent-Length: 999999999999\\r\\n\\r\\n" % (host, host)).encode()) < 64 << 20)
s, answer = tunnel()
print(pour(s, b"") < 64 << 20)
print("filled", flush=True); sys.stdin.readline(); print("gone")"""
        with Silent() as origin:
            run = self.begin(origin, script, stdin=-1)
            lines = [run.stdout.readline().decode().strip() for _ in range(4)]
            if not SANITIZED:
                self.assertLess(self.resident(run), 16 << 10)
            run.stdin.write(b"\n")
            run.stdin.close()
            run.stdin = None
            self.outcome(run)
            self.assertIn(lines[0], ("b'HTTP/1.1 431 '", "b'<ConnectionRe'"))
            self.assertEqual(["True", "True", "filled"], lines[1:])

    @as_everyone
    def test_ends_and_resets(self):
        """Half a connection ends and the other goes on; a reset arrives as one."""
        script = """
s, _ = tunnel(); s.sendall(b"GET /x HTTP/1.0\\r\\n\\r\\n"); s.shutdown(socket.SHUT_WR); print(b"hello from /x" in rest(s))
for how in range(50):
    s, _ = tunnel(); s.sendall(b"GET /big HTTP/1.0\\r\\n\\r\\n"); s.recv(1000)
    if how % 2: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
    s = dial(); s.sendall(get("/big")); s.recv(1000); s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); s.close()
print(fine() < 5); print("ready", flush=True); sys.stdin.readline()"""
        with Origin() as origin:
            run = self.begin(origin, script, stdin=-1)
            self.assertEqual([b"True\n", b"True\n", b"ready\n"], [run.stdout.readline() for _ in range(3)])
            time.sleep(0.5)
            self.assertLess(len(os.listdir("/proc/%d/fd" % run.pid)), 30)
            run.communicate(b"\n", timeout=20)

    @as_everyone
    def test_no_descriptors_left(self):
        """Accepting stops without a busy loop, goes on by itself, and those inside are served."""
        script = """
held = dial(); held.sendall(get()[:10]); time.sleep(0.2)
many = [dial() for _ in range(50)]  # the same limit holds here
print("full", flush=True); sys.stdin.readline()
for s in many: s.close()
held.sendall(get()[10:]); print(b"hello from /x" in rest(held), fine() < 5)"""

        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
        with Origin() as origin:
            run = self.begin(origin, script, preexec=few, stdin=-1)
            self.assertEqual(b"full\n", run.stdout.readline(), run.poll())
            before = self.ticks(run)
            time.sleep(1.5)
            self.assertLess(self.ticks(run) - before, 30)
            run.stdin.write(b"\n")
            run.stdin.close()
            run.stdin = None
            self.assertEqual("True True", self.outcome(run)[0])

    @as_everyone
    def test_idle_tunnels_are_small(self):
        count = min(2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 3)
        script = """
print("up", flush=True); sys.stdin.readline()
kept = [tunnel() for _ in range(int(sys.argv[2]))]
print(all(head.startswith(b"HTTP/1.1 200") for _, head in kept), fine() < 5, flush=True); sys.stdin.readline()"""

        def many():
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        try:
            with Origin() as origin, Silent() as silent:
                # One for the tunnels, which no thread shall serve, one for the request of somebody else.
                script = script.replace("tunnel()", "tunnel_to()").replace("kept =", """
other = "%s:%d"
def tunnel_to():
    global host
    was, host = host, other
    made = tunnel(); host = was
    return made
kept =""" % (ADDRESS, silent.port))
                run = self.begin(origin, script, more=str(count), preexec=many, stdin=-1)
                self.assertEqual(b"up\n", run.stdout.readline())
                before = self.resident(run)
                run.stdin.write(b"\n")
                run.stdin.flush()
                self.assertEqual(b"True True\n", run.stdout.readline())
                if not SANITIZED:
                    # 80 MiB for 8,000 are 10 KiB each.
                    self.assertLess((self.resident(run) - before) * 1024 / count, 10 << 10)
                run.communicate(b"\n", timeout=30)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


if __name__ == "__main__":
    main()
