# SPDX-License-Identifier: Apache-2.0
"""Callbacks that wait, through the real binary: others go on, clients may leave, budgets hold."""
import os
import socket
import threading
import time

from lib import Case, as_everyone, main
from server import ADDRESS, Origin

# Asks for PORT at the proxy and prints the first line of the answer's body; many at once in one process.
CLIENT = r"""
import os, selectors, socket, sys, time
host, port = os.environ["HTTP_PROXY"].rpartition("/")[2].split(":")
start, chosen = time.monotonic(), selectors.DefaultSelector()
for line in sys.argv[1:]:
    target, count = line.split("*")
    for _ in range(int(count)):
        s = socket.create_connection((host, int(port)))
        s.sendall(("GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (target, target)).encode())
        chosen.register(s, selectors.EVENT_READ, [target, b""])
while chosen.get_map():
    for key, _ in chosen.select():
        data = key.fileobj.recv(65536)
        key.data[1] += data
        if not data:
            chosen.unregister(key.fileobj)
            key.fileobj.close()
            text = key.data[1].decode()
            print("%s %s %.2f %s" % (key.data[0], text.split(" ")[1], time.monotonic() - start,
                                     text.partition("\r\n\r\n")[2].splitlines()[0]))
"""


class Decider:
    """A Unix or TCP server on the host that answers each line with fn(line)."""

    def __init__(self, where, fn):
        if isinstance(where, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.bind(where)
            os.chmod(where, 0o777)
        else:
            self.socket = socket.socket()
            self.socket.bind(where)
        self.socket.listen(64)
        self.fn, self.gone = fn, 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client = self.socket.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.answer, args=(client,), daemon=True).start()

    def answer(self, client):
        with client:
            line = client.makefile("rb").readline()
            text = self.fn(line)
            if text is not None:
                client.sendall(text)
            elif not client.recv(1):
                self.gone += 1

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Waiting(Case):
    def ask(self, body, *targets, rest="", **more):
        """Lines "host:port status seconds body" for targets "host:port*count"."""
        policy = "return { network = { decideConnect = function(conn) %s end }, %s }" % (body, rest)
        self.write("client.py", CLIENT)
        got = self.run_srt(["python3", self.path("client.py"), *targets], policy, **more)
        self.assertEqual(got.code, 0, repr(got))
        return [line.split(" ", 3) for line in got.out.splitlines()]

    @as_everyone
    def test_others_go_on(self):
        got = self.ask("if conn.host == 'slow.test' then srt.sleep(2) return false, 'slept' end return false, 'at once'",
                       "slow.test:80*20", "fast.test:80*20")
        self.assertEqual(len(got), 40)
        for target, status, seconds, text in got:
            self.assertEqual(status, "403")
            if target == "slow.test:80":
                self.assertGreater(float(seconds), 1.9)
                self.assertTrue(text.endswith("slept"), text)
            else:
                self.assertLess(float(seconds), 1.5)
                self.assertTrue(text.endswith("at once"), text)

    @as_everyone
    def test_a_thousand(self):
        got = self.ask("srt.sleep(2) srt.state.n = (srt.state.n or 0) + 1 return false, 'number ' .. srt.state.n",
                       "a.test:80*1000")
        self.assertEqual(sorted(int(line[3].rpartition(" ")[2]) for line in got), list(range(1, 1001)))
        self.assertGreater(min(float(line[2]) for line in got), 1.9)
        self.assertLess(max(float(line[2]) for line in got), 20)

    @as_everyone
    def test_an_allowed_one_goes_through(self):
        with Origin() as origin:
            policy = """return { network = { allowedDomains = { "%s:%d" }, filterRequest = function(req)
              srt.sleep(0.05)
              local list = srt.resolve("127.0.0.9")
              return srt.allow { setHeaders = { X_Seen = list[1], ["X-Seen"] = req.path } } end } }""" % (
                  ADDRESS, origin.port)
            got = self.run_sh("curl -sS %s/a %s/b -d body %s/c" % ((origin.url,) * 3), policy)
            self.assertEqual(got.code, 0, repr(got))
            self.assertEqual([(m, p, h["X-Seen"]) for m, p, h, _ in origin.seen],
                             [("POST", "/a", "/a"), ("POST", "/b", "/b"), ("POST", "/c", "/c")])

    @as_everyone
    def test_chain(self):
        """Base policies first; each may wait; a denial ends it."""
        self.write("base.lua", """return { network = { decideConnect = function(conn)
            srt.state.order = "base" srt.sleep(0.1) srt.state.order = srt.state.order .. " slept"
            if conn.port == 81 then return false, srt.state.order end return srt.pass end } }""")
        got = self.ask("""srt.state.order = srt.state.order .. " own" srt.sleep(0.1)
            return false, srt.state.order""", "a.test:80*1", rest='extends = { (require "base") }')
        self.assertTrue(got[0][3].endswith(": base slept own"), got)
        got = self.ask("""error("never asked")""", "a.test:81*1", rest='extends = { (require "base") }')
        self.assertTrue(got[0][3].endswith(": base slept"), got)

    @as_everyone
    def test_deciders(self):
        path = self.path("tmp", "decider")
        asked = []

        def decide(line):
            asked.append(line)
            return None if b"silent" in line else b"yes\n" if b"a.test" in line else b"no, never\n"
        unix, tcp = Decider(path, decide), Decider(("127.0.0.1", 0), decide)
        port = tcp.socket.getsockname()[1]
        self.addCleanup(unix.close)
        self.addCleanup(tcp.close)
        body = """local where = conn.port == 80 and "%s" or "localhost:%d"
          local answer, message = srt.query(where, srt.json.encode { host = conn.host }, 1)
          return false, "<" .. (answer or message) .. ">" """ % (path, port)
        got = self.ask(body, "a.test:80*1", "b.test:80*1", "a.test:81*1", "silent.test:80*1", "silent.test:81*1")
        self.assertEqual({line[0]: line[3].rpartition(": ")[2] for line in got},
                         {"a.test:80": "<yes>", "b.test:80": "<no, never>", "a.test:81": "<yes>",
                          "silent.test:80": "<timed out>", "silent.test:81": "<timed out>"})
        self.assertIn(b'{"host":"a.test"}\n', asked)

    @as_everyone
    def test_clients_that_leave(self):
        """Their wait ends: the decider sees its connection closed, and the places are free again."""
        path = self.path("tmp", "decider")
        decider = Decider(path, lambda line: None if b"silent" in line else b"yes\n")
        self.addCleanup(decider.close)
        leave = """
import os, socket, time
host, port = os.environ["HTTP_PROXY"].rpartition("/")[2].split(":")
def ask(name):
    s = socket.create_connection((host, int(port)))
    s.sendall(("GET http://%s.test/ HTTP/1.1\\r\\nHost: %s.test\\r\\n\\r\\n" % (name, name)).encode())
    return s
for _ in range(10):
    all = [ask("silent") for _ in range(20)]
    time.sleep(0.3)
    for s in all:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
        s.close()
time.sleep(0.5)
print(ask("a").recv(9999).decode().partition("\\r\\n" * 2)[2].splitlines()[0])
"""
        self.write("leave.py", leave)
        got = self.run_srt(["python3", self.path("leave.py")], """return { network = { decideConnect = function(conn)
            srt.query("%s", conn.host, 50) return false, "free" end }, limits = { waitingCallbacks = 30 } }""" % path)
        self.assertTrue(got.out.endswith("free\n"), repr(got))
        deadline = time.monotonic() + 5
        while decider.gone < 200 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(decider.gone, 200)

    @as_everyone
    def test_budgets(self):
        rest = "limits = { callbackTotalSeconds = 1, callbackInstructions = 100000, waitingCallbacks = 5 }"
        got = self.ask("""
            if conn.port == 1 then while true do pcall(srt.sleep, 0.01) end end
            if conn.port == 2 then srt.sleep(0.1) while true do pcall(error) end end
            if conn.port == 3 then return pcall(string.gsub, "a", "a", function() srt.sleep(0) end) end
            if conn.port == 4 then srt.sleep(0.5) return true end
            if conn.port == 5 then return srt.read("/etc/passwd") end
            srt.sleep(2)""", "a.test:1*1", "a.test:2*1", "a.test:3*1", "a.test:5*1", "a.test:6*1", rest=rest)
        self.assertEqual({line[1] for line in got}, {"403"}, got)
        text = {line[0]: line[3] for line in got}
        self.assertIn("limits.callbackTotalSeconds: 1 seconds spent", text["a.test:1"])
        self.assertIn("budget of 100000 instructions spent", text["a.test:2"])
        self.assertIn("srt.sleep can't wait inside", text["a.test:3"])
        self.assertIn("srt.read works while the policy is loaded only", text["a.test:5"])
        self.assertIn("1 seconds in all (limits.callbackTotalSeconds)", text["a.test:6"])
        got = self.ask("srt.sleep(0.5) return false, 'slept'", "a.test:1*20", rest=rest)
        self.assertEqual(sorted("5 callbacks wait already" in line[3] for line in got), [False] * 5 + [True] * 15)

    @as_everyone
    def test_the_end_of_a_run(self):
        """A command that ends does not wait for those that wait."""
        start = time.monotonic()
        got = self.run_sh("""for i in 1 2 3; do curl -s http://a.test:$i/ & done; sleep 0.5; exit 7""",
                          """return { network = { decideConnect = function(conn)
              if conn.port == 1 then srt.sleep(50) elseif conn.port == 2 then srt.query("127.0.0.1:1", "x")
              else srt.resolve("localhost") srt.sleep(50) end end } }""", options=("--report", "none"))
        self.assertEqual(got.code, 7, repr(got))
        self.assertEqual(got.err, "")
        self.assertLess(time.monotonic() - start, 15)


if __name__ == "__main__":
    main()
