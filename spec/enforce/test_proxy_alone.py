# SPDX-License-Identifier: Apache-2.0
"""srt-lua proxy --listen: the filtering proxy without a sandbox: what it lets through, whom it hears, how it ends."""
import json
import os
import re
import signal
import socket
import ssl
import tempfile
import time

from lib import as_everyone, main
from server import ADDRESS, Listening, Origin
from serving import TOKEN, Serving, answer_to, basic
from tls_origin import Authority

POLICY = """{ network = { allowedDomains = { "127.0.0.2" }, filterRequest = function(req)
    if req.headers["proxy-authorization"] then return false, "it saw the token" end
    return req.path ~= "/no", "not that" end%s } }"""


class Greeter(Listening):
    """A TLS server that answers whatever it is asked."""

    def __init__(self, base):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(base + ".pem", base + ".key")

    def serve(self, connection):
        try:
            with self.context.wrap_socket(connection, server_side=True) as tls:
                tls.recv(4096)
                tls.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        except OSError:
            pass


def socks5(port, to, user=None, password=""):
    """What the proxy says to a client that asks for a tunnel; its greeting, its word on the password, its reply."""
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        reader, said = client.makefile("rb"), []
        client.sendall(b"\5\1\2" if user else b"\5\1\0")
        said.append(reader.read(2)[1:])
        if user and said == [b"\2"]:
            client.sendall(b"\1%c%s%c%s" % (len(user), user.encode(), len(password), password.encode()))
            said.append(reader.read(2)[1:])
        if said[-1] == b"\0":
            client.sendall(b"\5\1\0\1" + socket.inet_aton(ADDRESS) + to.to_bytes(2, "big"))
            said.append(reader.read(10)[1:2])
        return b"".join(said)


class Alone(Serving):
    def get(self, url, *more, at=0):
        return answer_to(self.said["proxy"][at], ["GET %s HTTP/1.1" % url, "Host: " + url.split("/")[2], "Connection: close",
                                                  *more])

    @as_everyone
    def test_it_filters(self):
        process = self.serve(POLICY % "", "--listen", "127.0.0.1", "--listen", "[::1]", "--violations",
                             self.path("w/denied"), told=2)
        with Origin() as origin:
            self.assertEqual((200, "hello from /yes\n"), self.get(origin.url + "/yes")[::2])
            status, fields, body = self.get(origin.url + "/no")
            self.assertEqual((403, "blocked-by-policy"), (status, fields["x-proxy-error"]))
            self.assertIn("not that", body)
            self.assertEqual(403, self.get("http://127.0.0.3:%d/" % origin.port)[0])
            self.assertEqual(b"\0\0", socks5(self.said["proxy"][0], origin.port))
            status, _, body = answer_to(self.said["proxy"][1], ["GET %s/six HTTP/1.1" % origin.url, "Host: 127.0.0.2:%d"
                                                                % origin.port, "Connection: close"], "::1")
            self.assertEqual((200, "hello from /six\n"), (status, body))
            self.assertEqual(["/yes", "/six"], [one[1] for one in origin.seen])
            # Nobody's path is asked for without a proxy's way to ask.
            self.assertEqual(400, answer_to(self.said["proxy"][0], ["GET / HTTP/1.1", "Host: 127.0.0.2"])[0])
        self.assertIn("denied: 2 attempts", self.end(process))
        kinds = [json.loads(line)["kind"] for line in self.read("w/denied").splitlines()]
        self.assertEqual(["request", "connect"], kinds)

    @as_everyone
    def test_whom_it_hears(self):
        process = self.serve(POLICY % "", "--listen", "0.0.0.0", "--token-env", "TOKEN", env={"TOKEN": TOKEN})
        port = self.said["proxy"][0]
        with Origin() as origin:
            def status(*values):
                return self.get(origin.url + "/yes", *("Proxy-Authorization: " + value for value in values))[0]
            self.assertEqual((200, 200, 200), (status(basic(TOKEN)), status("Bearer " + TOKEN), status("bEARER " + TOKEN)))
            for wrong in ((), (basic("no"),), (basic(TOKEN, "else"),), ("Bearer " + TOKEN + "x",), ("Bearer ",), ("Basic ",),
                          (TOKEN,), ("Digest " + TOKEN,), ("Bearer " + TOKEN, "Bearer " + TOKEN)):
                self.assertEqual(407, status(*wrong), wrong)
            fields = self.get(origin.url + "/yes")[1]
            self.assertEqual('Basic realm="srt"', fields["proxy-authenticate"])
            self.assertEqual(407, answer_to(port, ["CONNECT 127.0.0.2:%d HTTP/1.1" % origin.port, "Host: x"])[0])
            self.assertEqual(3, len(origin.seen))
            self.assertFalse([name for one in origin.seen for name in one[2] if "proxy" in name.lower()])
            self.assertEqual((b"\2\0\0", b"\2\1", b"\xff"), (socks5(port, origin.port, "srt", TOKEN),
                                                             socks5(port, origin.port, "srt", "no"), socks5(port, origin.port)))
        told = self.end(process, signal.SIGTERM)
        self.assertNotIn(TOKEN, told)

    @as_everyone
    def test_tls(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            os.chmod(folder, 0o755)
            root = Authority(folder, "root")
            base = root.issue("good", "IP:" + ADDRESS, kind="ec")
            with Greeter(base) as origin:
                policy = POLICY % (', tlsTerminate = { extraCaCertPaths = { "%s" } }' % root.cert)
                process = self.serve(policy, "--listen", "127.0.0.1", told=2)
                ca, = self.said["ca"]
                context = ssl.create_default_context(cafile=ca)

                def ask(path):
                    with socket.create_connection(("127.0.0.1", self.said["proxy"][0]), 20) as plain:
                        plain.sendall(b"CONNECT %s:%d HTTP/1.1\r\n\r\n" % (ADDRESS.encode(), origin.port))
                        while not (got := plain.recv(4096)).endswith(b"\r\n\r\n"):
                            self.assertTrue(got)
                        with context.wrap_socket(plain, server_hostname=ADDRESS) as tls:
                            tls.sendall(b"GET %s HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n\r\n"
                                        % (path, ADDRESS.encode(), origin.port))
                            return tls.makefile("rb").read()
                self.assertTrue(ask(b"/yes").endswith(b"hi"))
                self.assertIn(b"not that", ask(b"/no"))
                self.end(process)
                self.assertFalse(os.path.exists(ca))
        self.assertEqual([], self.leftovers())

    def told(self, process, part):
        for line in process.stderr:
            if part in line.decode():
                return line.decode()
        return self.fail("not told: " + part)

    @as_everyone
    def test_signals_are_the_first_threads(self):
        """Those that look names up never take one, so that however many come it ends by itself."""
        for _ in range(3):
            process = self.serve('{ network = { allowedDomains = { "name.invalid" } } }', "--listen", "127.0.0.1")
            self.assertEqual(502, self.get("http://name.invalid/")[0])
            threads = sorted(os.listdir("/proc/%d/task" % process.pid), key=int)
            self.assertGreater(len(threads), 1, "no name was looked up")
            for thread in threads[1:]:
                with open("/proc/%d/task/%s/status" % (process.pid, thread), encoding="utf-8") as status:
                    blocked = int(re.search(r"SigBlk:\s*(\w+)", status.read())[1], 16)
                self.assertTrue(blocked >> signal.SIGTERM - 1 & 1)
            deadline = time.monotonic() + 20
            while process.poll() is None and time.monotonic() < deadline:
                process.send_signal(signal.SIGTERM)
            self.assertEqual(0, process.returncode, process.stderr.read())

    @as_everyone
    def test_new_policies(self):
        """By a file that changes and by a descriptor, without a command: lists, and the limits of terminated tunnels."""
        text = '{ network = { allowedDomains = { "127.0.0.2", "%s" }, tlsTerminate = { %s } }, filesystem = { denyRead = { "/%s" } } }'
        reading, writing = os.pipe()
        process = self.serve(text % ("127.0.0.9", "", "a"), "--listen", "127.0.0.1", "--watch", "--control-fd", str(reading),
                             "--debug", told=2, pass_fds=[reading])
        os.close(reading)
        with Origin() as origin:
            def tunnel():
                client = socket.create_connection(("127.0.0.1", self.said["proxy"][0]), 20)
                client.sendall(b"CONNECT 127.0.0.2:%d HTTP/1.1\r\n\r\n" % origin.port)
                return client, client.recv(4096).split()[1]

            def put(text):
                os.rename(self.write("new", "return " + text), self.path("policy.lua"))
            put(text % ("127.0.0.3", "maxTunnels = 1", "b"))
            # Of files nothing is held here, and nothing is told.
            self.assertIn("0 connections were cut", self.told(process, "policy"))
            (one, first), (two, second) = tunnel(), tunnel()
            self.assertEqual((b"200", b"503"), (first, second))
            put(text % ("127.0.0.3", "maxTunnels = 2, handshakeTimeoutMs = 300", "b"))
            self.told(process, "a new policy is in force")
            two.close()
            two, second = tunnel()
            self.assertEqual(b"200", second)
            two.settimeout(5) # ten seconds unless told
            with self.assertRaises(ConnectionResetError):
                two.recv(10)
            two.close()
            put(text % ("127.0.0.3", 'extraCaCertPaths = { "/etc/hosts" }', "b"))
            self.assertRegex(self.told(process, "as they were"), "when the proxy started: network.tlsTerminate.extraCaCertPaths$")
            for bad, why in (("return {", "expected"), ('return { network = { httpProxyPort = 80 } }', "nothing to filter")):
                os.rename(self.write("new", bad), self.path("policy.lua"))
                self.told(process, "ignored, the policy before it is still in force")
                self.told(process, why)
            os.write(writing, json.dumps({"network": {"allowedDomains": ["127.0.0.3"], "deniedDomains": []},
                                          "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}).encode() + b"\n")
            self.told(process, "whether there is a network.tlsTerminate")
            three, third = tunnel()
            self.assertEqual(b"403", third)
            one.close()
            three.close()
        os.close(writing)
        self.end(process)

    @as_everyone
    def test_what_it_refuses(self):
        policy = self.policy(POLICY % "")
        taken = socket.create_server(("127.0.0.1", 0))
        for options, part in (
                (["--listen", "0.0.0.0:0"], "others can reach 0.0.0.0"), (["--authz", "[::]"], "others can reach ::"),
                (["--listen", "::ffff:127.0.0.1"], "others can reach"), ([], "say where"),
                (["--listen", "127.0.0.1", "--token", "/nowhere"], "the token can't be read"),
                (["--listen", "127.0.0.1", "--token-env", "NONE"], "the variable NONE is not set"),
                (["--listen", "127.0.0.1", "--token", self.write("empty", "\n")], "printable ASCII"),
                (["--listen", "0.0.0.0", "--token", policy, "--no-token"], "both a token and --no-token"),
                (["--listen", "host.test"], "takes ADDRESS"), (["--listen", "127.0.0.1:70000"], "takes ADDRESS"),
                (["--listen", "127.0.0.1", "--", "true"], "no command is run here"),
                (["--listen", "127.0.0.1", "--control-fd", "77"], "it is not open"),
                (["--listen", "127.0.0.1:%d" % taken.getsockname()[1]], "can't listen at 127.0.0.1")):
            result = self.run_srt(["proxy", policy, *options])
            self.assertEqual((125, ""), (result.code, result.out), (options, result))
            self.assertIn(part, result.err, options)
        taken.close()
        mine = self.write("mine.key", "-----BEGIN PRIVATE KEY-----\n")
        for text, options, part in (("{ network = { httpProxyPort = 8080 } }", (), "httpProxyPort"),
                                    ("{ network = { tlsTerminate = {} } }", ("--ca-file", mine), "is there already")):
            result = self.run_srt(["proxy", self.policy(text, "other.lua"), "--listen", "127.0.0.1", *options])
            self.assertEqual((125, ""), (result.code, result.out), result)
            self.assertIn(part, result.err)
        self.assertTrue(os.path.exists(mine))
        self.assertIn("--authz", self.run_srt(["proxy", "--help"]).out)


if __name__ == "__main__":
    main()
