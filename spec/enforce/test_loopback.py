# SPDX-License-Identifier: Apache-2.0
"""Destinations on the host's loopback that the policy names with a port are there inside, and no others."""
import socket

from echo import Echo
from lib import Case, as_everyone, main
from server import Origin

# Tells for each HOST PORT what a plain TCP client meets there.
CLIENT = """import errno, socket, sys
for host, port in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        with socket.create_connection((host, int(port)), 10) as c:
            c.sendall(b"x" * 300000)
            c.shutdown(socket.SHUT_WR)
            size = 0
            while data := c.recv(65536):
                size, last = size + len(data), data
            print(host, size, last[-3:].decode())
    except OSError as error:
        # ENOTCONN: the reset came before shutdown().
        name = errno.errorcode.get(error.errno)
        print(host, "reset" if name in ("ECONNRESET", "EPIPE", "ENOTCONN") else name)
"""


def allow(*entries, rest=""):
    return "{ network = { allowedDomains = { %s }, %s } }" % (", ".join('"%s"' % entry for entry in entries), rest)


class Loopback(Case):
    def client(self, policy, *targets, **more):
        words = [str(word) for target in targets for word in target]
        got = self.run_srt(["/usr/bin/python3", "-c", CLIENT, *words], policy, **more)
        self.assertEqual(0, got.code, got)
        return [line.split(" ", 1) for line in got.out.splitlines()]

    @as_everyone
    def test_by_each_of_its_names(self):
        there = "300003 bye"
        with Echo() as echo:
            policy = allow("localhost:%d" % echo.port)
            names = ("localhost", "127.0.0.1", "::1")
            self.assertEqual([[name, there] for name in names], self.client(policy, *((name, echo.port) for name in names)))
            self.assertEqual(3, echo.count)
            # Named by its address it is there by that one.
            got = self.client(allow("127.0.0.1:%d" % echo.port), ("127.0.0.1", echo.port), ("::1", echo.port))
            self.assertEqual([["127.0.0.1", there], ["::1", "ECONNREFUSED"]], got)
        with Echo("::1") as echo:
            got = self.client(allow("[::1]:%d" % echo.port), ("::1", echo.port), ("127.0.0.1", echo.port))
            self.assertEqual([["::1", there], ["127.0.0.1", "ECONNREFUSED"]], got)
            # By that name, too, if this host calls it so.
            if ("::1", echo.port) in [entry[4][:2] for entry in socket.getaddrinfo("localhost", echo.port)]:
                self.assertEqual([["::1", there]], self.client(allow("localhost:%d" % echo.port), ("::1", echo.port)))
        with Echo("127.9.8.7") as echo:
            self.assertEqual([["127.9.8.7", there]], self.client(allow("127.9.8.7:%d" % echo.port),
                                                                 ("127.9.8.7", echo.port)))

    @as_everyone
    def test_nothing_else_is(self):
        with Echo() as one, Echo() as other:
            one_port = "localhost:%d" % one.port
            denied = 'deniedDomains = { "%s:%d" }'
            closed = [["127.0.0.1", "ECONNREFUSED"]]
            for policy in ("{}", allow("a.test:80"), allow("localhost:%d" % other.port), allow("localhost"),
                           allow("127.0.0.1"), allow(one_port, rest=denied % ("*", one.port)),
                           allow(one_port, rest=denied % ("localhost", one.port)),
                           allow(one_port, rest=denied % ("127.0.0.1", one.port)),
                           allow("127.0.0.1:%d" % one.port, rest=denied % ("localhost", one.port)),
                           allow(one_port, rest="refuseOpaqueTunnels = true"),
                           "{ network = { decideConnect = function() return true end } }"):
                with self.subTest(policy):
                    self.assertEqual(closed, self.client(policy, ("127.0.0.1", one.port)))
            self.assertEqual(0, one.count)

    @as_everyone
    def test_the_decision_is_asked_for_each_connection(self):
        # The name may lead to loopback only: the guard of addresses stands behind it as behind all names.
        with Echo() as echo:
            policy = allow("localhost:%d" % echo.port, rest='deniedResolvedAddresses = { "127.0.0.1" }')
            self.assertEqual([["127.0.0.1", "reset"]], self.client(policy, ("127.0.0.1", echo.port)))
            self.assertEqual(0, echo.count)
            got = self.client(allow("localhost:%d" % echo.port), ("127.0.0.1", echo.port), options=["--debug"])
            self.assertEqual([["127.0.0.1", "300003 bye"]], got)

    @as_everyone
    def test_nobody_listens_on_the_host(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            port = server.getsockname()[1]
            got = self.client(allow("localhost:%d" % port), ("127.0.0.1", port), ("::1", port))
            self.assertEqual([["127.0.0.1", "reset"], ["::1", "reset"]], got)

    @as_everyone
    def test_a_server_that_speaks_first(self):
        with Echo(greeting=b"+OK ready\n") as echo:
            code = "import socket; print(socket.create_connection(('127.0.0.1', %d), 10).recv(100))" % echo.port
            got = self.run_srt(["/usr/bin/python3", "-c", code], allow("localhost:%d" % echo.port))
            self.assertEqual("b'+OK ready\\n'\n", got.out, got)

    @as_everyone
    def test_the_port_is_taken_inside(self):
        with Echo() as echo:
            code = "import socket\nfor port in (%d, 0): s = socket.socket(); s.bind(('127.0.0.1', port))" % echo.port
            got = self.run_srt(["/usr/bin/python3", "-c", code], allow("localhost:%d" % echo.port))
            self.assertIn("Address already in use", got.err, got)
            got = self.run_srt(["/usr/bin/python3", "-c", code], allow("a.test:80"))
            self.assertEqual(0, got.code, got)

    @as_everyone
    def test_the_port_of_our_proxy_is_the_policys_first(self):
        with Origin() as origin:
            policy = allow("127.0.0.1:3128", "127.0.0.2:%d" % origin.port)
            got = self.run_sh("echo $HTTP_PROXY; curl -s --max-time 20 %s/x" % origin.url, policy)
            self.assertEqual("http://127.0.0.1:3129\nhello from /x\n", got.out, got)

    @as_everyone
    def test_many_of_them(self):
        with Echo() as echo:
            ports = [port for port in range(20001, 20061) if port != echo.port][:59]
            policy = allow(*("localhost:%d" % port for port in ports), "localhost:%d" % echo.port)
            self.assertEqual([["::1", "300003 bye"]], self.client(policy, ("::1", echo.port)))
        refused = self.run_srt(["true"], allow(*("localhost:%d" % port for port in range(20001, 20062))))
        self.assertEqual(125, refused.code)
        self.assertIn('"localhost:20061"', refused.err)

    @as_everyone
    def test_servers_inside_stay_reachable(self):
        script = """/usr/bin/python3 -m http.server 3333 --bind 127.0.0.1 2>/dev/null & p=$!
for i in $(seq 100); do curl -s -o /dev/null http://127.0.0.1:3333/ && break; sleep 0.05; done
for host in 127.0.0.1 localhost; do curl -s -o /dev/null -w '%{http_code}\\n' http://$host:3333/; done; kill $p"""
        with Echo() as echo:
            for policy in ("{}", allow("a.test:80"), allow("localhost:%d" % echo.port), allow("10.0.0.1")):
                self.assertEqual("200\n200\n", self.run_sh(script, policy).out, policy)
                six = script.replace("--bind 127.0.0.1", "--bind ::1").replace("http://127.0.0.1:", "http://[::1]:")
                self.assertEqual("200\n", self.run_sh(six.replace("127.0.0.1 localhost", "[::1]"), policy).out, policy)

    @as_everyone
    def test_what_a_filter_has_to_see_goes_by_the_proxy(self):
        with Origin() as origin:
            filtered = allow("127.0.0.2:80", rest='filterRequest = function(r) return r.path ~= "/no", "because" end')
            filtered = filtered.replace("127.0.0.2:80", "localhost:%d" % origin.port)
            got = self.run_sh("curl -s --max-time 20 -w '%%{http_code}' http://localhost:%d/no" % origin.port, filtered)
            self.assertIn("because", got.out, got)
            self.assertTrue(got.out.endswith("403"), got)
            self.assertEqual([], origin.seen)

    @as_everyone
    def test_check_and_compile_tell(self):
        path = self.policy(allow("localhost:5432", "[::1]:3000"))
        got = self.run_srt(["compile", path])
        self.assertIn("loopback: [::1]:5432 inside leads to the host's localhost:5432", got.out, got)
        got = self.run_srt(["check", path])
        self.assertIn("localhost:5432", got.out.split("there inside")[1], got)
        self.assertIn("::1", got.out.split("there inside")[1], got)


if __name__ == "__main__":
    main()
