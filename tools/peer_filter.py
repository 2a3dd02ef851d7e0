# SPDX-License-Identifier: Apache-2.0
"""Rows of tools/compare-peer on the wire that need more: names that resolve somewhere, time, a filter of requests.

Labels begin with the numbers of the case table of the proxy, "200/247" where both of its set-ups with a filter have it."""
import contextlib
import ctypes
import json
import os
import socket
import subprocess
import tempfile

from peer_wire import (ADDRESS, CLOSE, H, HOST, U, Telling, TellingTls, connect, get, named, shape, talk, through)
from tls_origin import Authority

MOUNT_NEW, MOUNT_BIND, MOUNT_PRIVATE = 0x20000, 0x1000, 0x44000
HOSTS = """127.0.0.1 localhost app.localhost
127.0.0.2 loop.example.com
169.254.169.254 meta.example.com
0.0.0.0 zero.example.com
"""


def own_names():
    """This process and those to come have an /etc/hosts of their own. False: only root can."""
    libc = ctypes.CDLL(None, use_errno=True)
    with tempfile.NamedTemporaryFile("w", dir="/tmp", delete=False) as file:
        file.write(HOSTS)
    os.chmod(file.name, 0o644)
    ok = (libc.unshare(MOUNT_NEW) == 0 and libc.mount(None, b"/", None, MOUNT_PRIVATE, None) == 0 and
          libc.mount(file.name.encode(), b"/etc/hosts", None, MOUNT_BIND, None) == 0)
    os.unlink(file.name)
    return ok


class Everywhere(Telling):
    """Also at the address that localhost is."""

    def listen(self):
        return socket.create_server(("0.0.0.0", 0), backlog=128)


def names(both):
    """What names resolve to."""
    if not own_names():
        print("names: only root can put another /etc/hosts there")
        return

    def lists(port):
        return {"allowedDomains": [ADDRESS + ":%d" % port, "127.0.0.1:%d" % port, "localhost:%d" % port,
                                   *(name + ".example.com" for name in ("loop", "meta", "zero"))]}

    def to(host, path="head"):
        return "GET http://%s/%s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (host, path, host, CLOSE)

    rows = {"35 GET, loopback, its address allowed": [to("loop.example.com:{P}")],
            "37 CONNECT, metadata": [connect("meta.example.com:80")],
            "38 GET, 0.0.0.0": [to("zero.example.com:{P}")],
            "40 CONNECT, loopback, its address allowed": [connect("loop.example.com:{P}"), to("x").replace("http://x", "")],
            "41 GET localhost": [to("localhost:{P}")],
            "43 GET, loopback on another port": [to("loop.example.com:18070")],
            "44 CONNECT, loopback on another port": [connect("loop.example.com:18070")]}
    answers = list(talk(both, "http", list(rows.values()), Everywhere(), lists))
    for i, name in enumerate(rows):
        yield "names " + name, [shape(one[i]) for one in answers]
    hello = b"GET /s HTTP/1.0\r\n\r\n".hex()
    rows = {"172 SOCKS, loopback on another port": ["LOGIN", named("loop.example.com", "4696"), hello],
            "173 SOCKS, metadata": ["LOGIN", named("meta.example.com", "0050"), hello],
            "181 SOCKS without login, denied": ["050100", named("not.allowed.test", "01bb")],
            "197 SOCKS, byte by byte": ["LOGIN", *(named("localhost")[at:at + 2] for at in range(0, 28, 2)), "PORT", hello],
            "199 SOCKS, what is no HTTP": ["LOGIN", named("localhost"), "160301000568656c6c6f"]}
    answers = list(talk(both, "socks", list(rows.values()), Everywhere(), lists))
    for i, name in enumerate(rows):
        yield "names " + name, [{"exit": one[i][:30].encode("latin-1").hex(" "), "out": one[i][30:][-60:]} for one in answers]


class Silent(Telling):
    """Says nothing where the path says silent."""

    def answer(self, file, connection):
        if b"silent" in file.peek(200).split(b"\n")[0]:
            connection.recv(100000)
            connection.recv(1)
        else:
            super().answer(file, connection)


@contextlib.contextmanager
def deaf():
    """The port of a server that completes no handshake: its queue is full."""
    with socket.socket() as server, contextlib.ExitStack() as stack:
        server.bind((ADDRESS, 0))
        server.listen(0)
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield server.getsockname()[1]


def slow(both):
    """How long the proxy waits for whom; 80 seconds at most are waited here."""
    with deaf() as port:
        rows = {"142 keep-alive after a response": ["http", get("head", HOST)], "143 nothing is sent": ["http"],
                "145 the origin completes no handshake": ["http", get("x").replace("{P}", str(port))],
                "146 the origin never answers": ["http", get("silent", HOST)], "148 half a line": ["http", "GET http://"],
                "149 half a head": ["http", get("x", HOST)[:-2]],
                "151 half a body": ["http", get("x", HOST + "Content-Length: 100\r\n", "POST") + "hello"],
                "152 a greeting of SOCKS": ["socks", "\5\1\2"]}
        lists = {"allowedDomains": [ADDRESS]}
        answers = list(talk(both, "slow", list(rows.values()), Silent(), lists))
    for i, name in enumerate(rows):
        # To the second, not the fraction.
        yield "slow " + name, [{"exit": one[i].split("|")[0], "out": shape(one[i].split("|", 1)[1])["exit"]} for one in answers]


class Filtering:
    """One of the two sides, with the filter that a settings file can't have."""

    def __init__(self, side):
        self.side, self.command = side, side.command

    def __enter__(self):
        self.side.command = self.peer if self.side.name == "peer" else self.ours
        return self

    def __exit__(self, *_):
        self.side.command = self.command

    def peer(self, row):
        node, cli = self.side.words
        host = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_host.mjs")
        return [node, host, os.path.dirname(cli), self.side.settings(row), row["command"]]

    def ours(self, row):
        binary = os.path.join(os.path.dirname(self.side.words[0]), "srt-lua")
        text = subprocess.run([binary, "convert", self.side.settings(row)], capture_output=True, check=True, text=True,
                              cwd=self.side.dir + "/w").stdout
        path = self.side.dir + "/policy.lua"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("network = {", """network = { filterRequest = function(req)
                if req.path:find("^/deny") then return false, "path is denied by test" end
                return true
              end,""", 1))
        return [binary, "run", path, "--", "bash", "-c", row["command"]]


# By the numbers of the two set-ups: what the TLS client does, and its requests.
TARGET = {"to": H}
INSIDE = {
    "200/-": [TARGET, through("t")], "215/-": [{"to": H, "sni": ADDRESS}, through("ip")], "-/247": [TARGET, through("deny/x")],
    "202/248": [TARGET, through("deny/x", "Host: %s\r\nContent-Length: 5\r\n" % H, "POST") + "hello"],
    "203/-": [TARGET, through("hm", "Host: evil.test\r\n")], "-/250": [TARGET, through("hp", "Host: %s\r\n" % ADDRESS)],
    "205/251": [TARGET, through("2h", "Host: %s\r\nHost: evil.test\r\n" % H)], "206/-": [TARGET, through("nh", "")],
    "208/254": [TARGET, through("abs").replace(" /", " https://evil.test/")],
    "-/253": [TARGET, through("abs").replace(" /", " https://%s/" % H)],
    "209/256": [{"to": H, "sni": "evil.test"}, through("sni")], "211/257": [TARGET, through("nosni")],
    "212/-": [{"to": H, "sni": "HOST.test"}, through("usni")], "214/260": [{"to": H, "alpn": ["h2"]}, through("h2")],
    "-/259": [{"to": H, "alpn": ["h2", "http/1.1"]}, through("h2")],
    "217/263": [TARGET, through("k1", close="") + through("deny")], "-/262": [TARGET, through("k1", close=""), through("deny")],
    "218/-": [TARGET, through("a/../deny")], "-/265": [TARGET, through("a/%2e%2e/deny")],
    "220/266": [TARGET, through("/deny")], "221/-": [TARGET, through("\\deny")], "223/269": [TARGET, through("%64eny")],
    "224/-": [TARGET, through("t", method="TRACE")],
    "226/272": [TARGET, through("ws", "Host: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: "
                                "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" % H, close=""), "ping"],
    "227/-": [TARGET, through("up", "Host: %s\r\nTransfer-Encoding: chunked\r\n" % H, "POST") + "5\r\nhello\r\n0\r\n\r\n"],
    "229/275": [TARGET, through("e", "Host: %s\r\nExpect: 100-continue\r\nContent-Length: 5\r\n" % H, "POST"), "hello"],
    "230/-": [TARGET, through("head", "Host: %s\r\nX-Hop: 1\r\nTE: trailers\r\nKeep-Alive: 3\r\n" % H,
                              close="Connection: close, X-Hop\r\n")],
    "232/278": [TARGET, through("o", "Host: %s\r\nX: %s\r\n" % (H, "a" * 70000))], "233/-": [TARGET, "BAD\r\n\r\n"],
    "-/268": [TARGET, through("x#/deny")], "-/271": [TARGET, "CONNECT evil.test:443 HTTP/1.1\r\nHost: %s\r\n\r\n" % H],
    "-/274": [TARGET, through("both", "Host: %s\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n" % H, "POST") +
              "5\r\nhello\r\n0\r\n\r\n"],
    "-/277": [TARGET, through("h", method="HEAD")],
    "235/281": [{"to": ADDRESS + ":{Q}", "plain": True}, "GET /plain HTTP/1.1\r\nHost: x\r\n\r\n"],
    "236/-": [{"to": ADDRESS + ":{Q}", "plain": True}], "245/-": [{"to": H, "plain": True}],
    "-/280": [{"to": "localhost:{P}", "plain": True}, "hello"],
}
PLAIN = U.replace("{P}", "{Q}")
OUTSIDE = {
    "238/284": ["GET %s/x HTTP/1.1\r\nHost: evil.test\r\n%s\r\n" % (PLAIN, CLOSE)],
    "239/-": ["GET %s/a/../deny HTTP/1.1\r\n%s%s\r\n" % (PLAIN, HOST.replace("{P}", "{Q}"), CLOSE)],
    "-/283": ["GET %s/deny HTTP/1.1\r\n%s%s\r\n" % (PLAIN, HOST.replace("{P}", "{Q}"), CLOSE)],
    "241/287": ["GET https://%s/clear HTTP/1.1\r\n%s%s\r\n" % (H, HOST, CLOSE)],
    "242/-": [connect("denied.example.com:443")], "-/286": ["GET /srt.crl HTTP/1.1\r\nHost: x\r\n%s\r\n" % CLOSE],
}
SOCKS = {"-/289": ["LOGIN", "05010001" + "7f000002" + "PORT"]}
MORE = {"requireHostMatch": True, "refuseOpaqueTunnels": True, "stripResponseHeaders": ["x-origin"]}


TUNNELS = {"maxTunnels": 2, "handshakeTimeoutMs": 1500}


def asked(both, kind, rows, base, plain, more):
    """The answers of both, by row."""
    server = Telling() if kind == "http" else TellingTls(base)
    scripts = [[piece if isinstance(piece, str) else json.dumps(piece) for piece in row] for row in rows.values()]
    scripts = [[piece.replace("{Q}", str(plain)) for piece in script] for script in scripts]

    def lists(port):
        return {"allowedDomains": [ADDRESS + ":%d" % port, ADDRESS + ":%d" % plain, "localhost:%d" % port], **more}
    with contextlib.ExitStack() as stack:
        for side in both:
            stack.enter_context(Filtering(side))
        answers = list(talk(both, kind, scripts, server, lists,
                            {"NODE_EXTRA_CA_CERTS": more["tlsTerminate"]["extraCaCertPaths"][0]}))
    return {name: [one[i] for one in answers] for i, name in enumerate(rows)}


def filtered(both):
    """Both set-ups of the table that have a filter."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, Telling() as plain:
        os.chmod(folder, 0o755)
        root = Authority(folder, "root")
        base = root.issue("good", "IP:" + ADDRESS, kind="ec")
        terminate = {"extraCaCertPaths": [root.cert], "excludeDomains": ["localhost"]}
        for at, more in enumerate(({}, MORE)):
            for kind, rows in (("tls", INSIDE), ("http", OUTSIDE), ("socks", SOCKS)):
                rows = {name: row for name, row in rows.items() if name.split("/")[at] != "-"}
                got = asked(both, kind, rows, base, plain.port, {"tlsTerminate": terminate, **more}) if rows else {}
                for name, pair in got.items():
                    yield "filter %s, %s" % (name, ascii(rows[name][-1])[:70]), [
                        {"exit": one.encode("latin-1").hex(" ")} if kind == "socks" else shape(one) for one in pair]
        rows = {number: [connect(H)] for number in range(3)}
        got = asked(both, "http", rows, base, plain.port, {"tlsTerminate": {**terminate, **TUNNELS}})
        yield "filter 245, 290: three idle tunnels at once", [
            {"exit": " ".join(sorted(shape(got[number][i])["exit"] for number in rows)),
             "out": sorted(shape(got[number][i])["out"] for number in rows)} for i in range(2)]
