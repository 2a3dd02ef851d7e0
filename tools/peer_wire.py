# SPDX-License-Identifier: Apache-2.0
"""Rows of tools/compare-peer on the wire, and of signals to the program itself; each gives (name, [of peer, ours])."""
import json
import os
import re
import shlex
import signal
import ssl
import subprocess
import tempfile
import time

from running import until
from server import ADDRESS
from tls_origin import Authority
from test_proxy_cases import CASES, Server, connect, get, H, HOST, CLOSE, U

# What the proxy adds, removes or rewrites: the server sends back what it read.
MORE = {
    "headers": [get("head",
    HOST + "Accept: */*\r\nX-A: 1\r\nX-A: 2\r\nTE: trailers\r\nKeep-Alive: 5\r\nX-Forwarded-For: a\r\nVia: b\r\n" + CLOSE)],
    "hop by hop": [get("head",
    HOST + "X-A: 1\r\nX-B: 2\r\nConnection: close, X-A\r\nProxy-Connection: keep-alive\r\nUpgrade: h2c\r\n\r\n")],
    "empty path": ["GET %s HTTP/1.1\r\n%s\r\n" % (U, HOST + CLOSE)], "query only": ["GET %s?head HTTP/1.1\r\n%s\r\n" % (U,
    HOST + CLOSE)],
    "case of names": [get("head", "hOST: %s\r\nx-lower: A\r\n%s" % (H, CLOSE))], "HTTP/1.0": [get("head", HOST, version="1.0")],
    "HTTP/1.0 without Host": [get("head", "", version="1.0")], "OPTIONS *": ["OPTIONS * HTTP/1.1\r\n%s\r\n" % (HOST + CLOSE)],
    "HEAD": [get("x", HOST + CLOSE, method="HEAD")], "PATCH": [get("x", HOST + CLOSE, method="PATCH")],
    "unknown method": [get("x", HOST + CLOSE, method="BREW")], "DELETE with body": [get("x",
    HOST + "Content-Length: 2\r\n" + CLOSE, "DELETE") + "hi"],
    "upper-case host": ["GET http://LOCALHOST:{P}/head HTTP/1.1\r\nHost: x\r\n%s\r\n" % CLOSE],
    "pipelined": [get("1", HOST) + get("2", HOST + CLOSE)], "fragment": [get("head#f", HOST + CLOSE)],
    "not HTTP": ["hello\r\n\r\n"], "TLS hello": ["\x16\x03\x01\x00\x05hello"], "no target": ["GET\r\n\r\n"],
    "CONNECT with body": [connect(H, "Content-Length: 3\r\n") + "abc"], "CONNECT other port": [connect(ADDRESS + ":81")],
    "CONNECT, no such name": [connect("nosuch.invalid:80")], "CONNECT, empty host": [connect(":80")],
    "CONNECT port 0": [connect(ADDRESS + ":0")],
    "CONNECT, trailing dot": [connect("localhost.:{P}"), "GET /in HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
}
MORE = {name: [piece.replace("close\r\n\r\n\r\n", "close\r\n\r\n") for piece in pieces] for name, pieces in MORE.items()}

# As readers.CLIENT, but many at a time, and with the login that the peer wants.
CLIENT = r"""
import base64, concurrent.futures as f, json, os, re, socket, sys, time, urllib.parse as u
url = u.urlparse(os.environ["HTTP_PROXY"])
user, password = u.unquote(url.username or ""), url.password or ""
login = "Proxy-Authorization: Basic %s\r\n" % base64.b64encode(("%s:%s" % (user, password)).encode()).decode() if user else ""
def http(pieces):
    s, got, tunnel = socket.create_connection(("127.0.0.1", 3128), 5), b"", False
    try:
        for i, piece in enumerate(pieces):
            if i: time.sleep(0.4)
            if piece == "<FIN>": s.shutdown(socket.SHUT_WR); continue
            if not tunnel: piece = re.sub(r"((?:^|\r\n\r\n)\S+ \S+ HTTP/\d\.\d\r?\n)", lambda m: m[1] + login, piece)
            tunnel = tunnel or piece.startswith("CONNECT")
            s.sendall(piece.encode("latin-1"))
        s.settimeout(3)
        while chunk := s.recv(65536): got += chunk
    except OSError as e:
        got += b"<reset>" if isinstance(e, ConnectionError) else b"<open>"
    s.close()
    return got.decode("latin-1")
def socks(pieces):
    s, got = socket.create_connection(("127.0.0.1", 1080), 5), b""
    try:
        for i, piece in enumerate(pieces):
            if piece.startswith("LOGIN"):
                s.sendall(b"\5\1\2" if piece == "LOGIN ALONE" else b"\5\2\0\2")
                if s.recv(2) == b"\5\2":
                    s.sendall(b"\1%c%s%c%s" % (len(user), user.encode(), len(password), password.encode())); s.recv(2)
                continue
            s.sendall(bytes.fromhex(piece)); time.sleep(0.3)
        s.settimeout(3)
        while chunk := s.recv(65536): got += chunk
    except OSError as e:
        got += b"<reset>" if isinstance(e, ConnectionError) else b"<open>"
    s.close()
    return got.decode("latin-1")
def slow(pieces):
    s, got, start = socket.create_connection(("127.0.0.1", 3128 if pieces[0] == "http" else 1080), 5), b"", time.time()
    s.settimeout(1)
    for piece in pieces[1:]:
        s.sendall(re.sub(r"(^\S+ \S+ HTTP/\d\.\d\r\n)", lambda m: m[1] + login, piece).encode("latin-1"))
    how = "open after 80 s"
    while time.time() < start + 80:
        try:
            if not (chunk := s.recv(65536)): raise ConnectionError
            got += chunk
        except TimeoutError: pass
        except OSError:
            how = "closed after %d s" % (time.time() - start)
            break
    return how + "|" + got.decode("latin-1")
def tls(pieces):
    import ssl
    options, got = json.loads(pieces[0]), b""
    s = socket.create_connection(("127.0.0.1", 3128), 5)
    try:
        s.sendall(("CONNECT %s HTTP/1.1\r\n%s\r\n" % (options["to"], login)).encode()); s.settimeout(5)
        while not got.endswith(b"\r\n\r\n"): got += s.recv(1)
        got = b""
        if not options.get("plain"):
            context = ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE"))
            context.check_hostname = False
            if "alpn" in options: context.set_alpn_protocols(options["alpn"])
            if "most" in options: context.maximum_version = getattr(ssl.TLSVersion, options["most"])
            s = context.wrap_socket(s, server_hostname=options.get("sni"))
            got = ("[%s for %s]" % (s.selected_alpn_protocol(), [n[1] for n in s.getpeercert()["subjectAltName"]])).encode()
        for i, piece in enumerate(pieces[1:]):
            if i: time.sleep(0.4)
            s.sendall(piece.encode("latin-1"))
        s.settimeout(3)
        while chunk := s.recv(65536): got += chunk
    except OSError as e:
        got += b"<%s>" % (b"reset" if isinstance(e, ConnectionError) else (getattr(e, "reason", None) or "open").encode())
    s.close()
    return got.decode("latin-1")
with f.ThreadPoolExecutor(8) as pool:
    print(json.dumps(list(pool.map(globals()[sys.argv[1]], json.load(sys.stdin)))))
"""


class Telling(Server):
    """Sends back the head where the path says head."""

    def answer(self, file, connection):
        if b"head" not in file.peek(200).split(b"\n")[0]:
            super().answer(file, connection)
            return
        head = b""
        while (line := file.readline()).strip():
            name, colon, value = line.partition(b": ")
            # How names are spelled, and what the next connection is like, is no difference to a server.
            head += name.lower() + colon + value if name.lower() != b"connection" else b""
        file.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(head), head))


class TellingTls(Telling):
    def __init__(self, base):
        super().__init__()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(base + ".pem", base + ".key")

    def serve(self, connection):
        try:
            super().serve(self.context.wrap_socket(connection, server_side=True))
        except OSError:
            pass


def talk(both, kind, scripts, made=None, more=None, env=None):
    """What each script got, by program."""
    with made or Telling() as server:
        text = json.dumps([[piece.replace("{P}", str(server.port)).replace("PORT", "%04x" % server.port) for piece in script]
                           for script in scripts])
        names = [ADDRESS + ":%d" % server.port, "localhost:%d" % server.port, ADDRESS + ":2", "nosuch.invalid:80"]
        network = {"allowedDomains": names + ["nosuch.invalid"], "deniedDomains": [ADDRESS + ":1", "denied.example.com",
            "*:22"],
                   "deniedDomainReasons": {"denied.example.com": "Use the mirror instead", "*:22": "SSH is blocked; use https"},
                   **(more(server.port) if callable(more) else more or {})}
        row = {"settings": {"network": network}, "command": "/usr/bin/python3 -c %s %s" % (shlex.quote(CLIENT), kind),
            "stdin": text, "timeout": 280, "env": env or {}}
        for side in both:
            got = side.run(row)
            try:
                yield [one.replace(str(server.port), "{P}") for one in json.loads(got["out"])]
            except ValueError:
                raise SystemExit("%s: %s" % (side.name, got)) from None


def shape(text):
    """Of an answer what a client goes by: status, what was refused, the end of the last body, how the connection ended."""
    heads = re.findall(r"HTTP/1\.1 (\d+)|(?i:X-Proxy-Error: )(?!bad-request|upstream-failure)([\w-]+)",
        text) # those the peer has not
    body = text.rsplit("\r\n\r\n", 1)[-1]
    return {"exit": " ".join(a or b for a, b in heads), "out": body[-700:].replace("\r\n", "\n") if heads[-1:] == [("200",
        "")] else text[-7:] if "<" in text[-7:] else ""}


def wire(both):
    rows = {**{"wire %d" % number: case[0] for number, case in CASES.items()}, **{"wire, " + name: case for name,
        case in MORE.items()}}
    answers = list(talk(both, "http", list(rows.values())))
    for i, (name, pieces) in enumerate(rows.items()):
        yield name + " " + ascii(pieces[0][:90]), [shape(one[i]) for one in answers]


def named(name, port="PORT", command="01"):
    return "05%s0003%02x%s%s" % (command, len(name), name.encode("latin-1").hex(), port)


def socks(both):
    four, payload = "05010001" + "7f000002", b"GET /s HTTP/1.0\r\n\r\n".hex()
    targets = {"IPv4": four + "PORT", "mapped": "05010004" + "00" * 10 + "ffff7f000002PORT", "name": named("localhost"),
        "literal": named("127.0.0.2"),
               "127.2": named("127.2"), "number": named("2130706434"), "dot": named("localhost."),
               "CRLF": named("localhost\r\nX: y"),
               "brackets": named("[::1]"), "IDN": named("m\xc3\xbcnchen.de"), "zone": named("fe80::1%lo"),
               "other port": named("localhost", "0009"),
               "denied": four + "0001", "denied, reason": named("github.com", "0016"), "refused": four + "0002",
               "no name": named("nosuch.invalid", "0050"),
               "BIND": named("localhost", command="02"), "UDP": "05030001000000000000", "kind 2": "05010002000000000000",
               "RSV": "05010101" + "7f000002PORT",
               "port 0": four + "0000", "not listed": named("not.allowed.test", "01bb")}
    rows = {"socks, " + name: ["LOGIN", target, payload] for name, target in targets.items()}
    rows["socks, reason without login"] = ["050100", named("github.com", "0016")]
    rows["socks, login alone offered"] = ["LOGIN ALONE", four + "PORT", payload]
    rows["socks, BIND without login"] = ["050100", named("localhost", command="02")]
    rows["socks, GSSAPI only"] = ["050101"]
    rows["socks, version 4"] = ["0401PORT7f00000200"]
    rows["socks, no method"] = ["0500"]
    rows["socks, one packet"] = ["LOGIN", four + "PORT" + payload]
    answers = list(talk(both, "socks", list(rows.values())))
    for i, name in enumerate(rows):
        yield name, [{"exit": one[i][:30].encode("latin-1").hex(" "), "out": one[i][30:][-60:]} for one in answers]


def through(path="head", fields="Host: %s\r\n" % H, method="GET", close=CLOSE, version="1.1"):
    return "%s /%s HTTP/%s\r\n%s%s\r\n" % (method, path, version, fields, close)


def tls(both):
    named_host = {"to": H, "sni": "host.test"}
    rows = {"GET": (named_host, through()), "Host of another": (named_host, through(fields="Host: evil.test\r\n")),
            "two Hosts": (named_host, through(fields="Host: %s\r\nHost: evil.test\r\n" % H)), "no Host": (named_host,
            through(fields="")),
            "absolute, of another": (named_host, through().replace(" /", " https://evil.test/")),
            "absolute": (named_host, through().replace(" /", " https://%s/" % H)), "SNI of another": ({"to": H,
            "sni": "evil.test"}, through()),
            "no SNI": ({"to": H}, through()), "upper-case SNI": ({"to": H, "sni": "HOST.test"}, through()), "h2": ({"to": H,
            "alpn": ["h2"]}, through()),
            "h2 and http/1.1": ({"to": H, "alpn": ["h2", "http/1.1"]}, through()), "TLS 1.2": ({"to": H, "most": "TLSv1_2"},
            through()),
            "pipelined": (named_host, through(close="") + through("2")), "TRACE": (named_host, through(method="TRACE")),
            "websocket": (named_host, through("ws",
            "Host: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                          "Sec-WebSocket-Version: 13\r\n" % H, close=""), "ping"),
            "chunked": (named_host, through("x", "Host: %s\r\nTransfer-Encoding: chunked\r\n" % H,
            "POST") + "5\r\nhello\r\n0\r\n\r\n"),
            "Expect": (named_host, through("x", "Host: %s\r\nExpect: 100-continue\r\nContent-Length: 5\r\n" % H, "POST"),
            "hello"),
            "HTTP/1.0": (named_host, through(version="1.0", close="")), "dots": (named_host, through("a/../head")),
            "plain text": ({"to": H, "plain": True}, "hello\r\n\r\n"),
            "plain HTTP": ({"to": H, "plain": True}, through()), "CL and TE": (named_host, through("x",
            "Host: %s\r\nContent-Length: 5\r\nTransfer-Encoding: "
                                                                                          "chunked\r\n" % H,
                                                                                          "POST") + "0\r\n\r\n"),
            "denied inside": (named_host, through("x", "Host: denied.example.com\r\n"))}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        root = Authority(folder, "root")
        server = TellingTls(root.issue("good", "IP:" + ADDRESS, kind="ec"))
        scripts = [[json.dumps(options), *pieces] for options, *pieces in rows.values()]
        answers = list(talk(both, "tls", scripts, server, {"tlsTerminate": {"extraCaCertPaths": [root.cert]}},
                            {"NODE_EXTRA_CA_CERTS": root.cert})) # which the peer verifies by
    for i, name in enumerate(rows):
        yield "tls, " + name, [{**shape(one[i]), "after": "".join(re.findall(r"^\[[^]]*\]\]|<[^>]*>$",
            one[i]))} for one in answers]


SIGNALS = (("SIGTERM", "sleep 7", False), ("SIGTERM", "trap 'exit 5' TERM; sleep 7 & wait", False), ("SIGTERM",
    "trap '' TERM; sleep 3; exit 9", False),
           ("SIGTERM", "trap 'exit 5' TERM; sleep 7 & wait", True), ("SIGINT", "trap 'exit 6' INT; sleep 7 & wait", False),
           ("SIGINT", "trap 'exit 6' INT; sleep 7 & wait", True), ("SIGHUP", "sleep 7", False), ("SIGQUIT", "sleep 7", False),
           ("SIGKILL", "sleep 7", False), ("SIGUSR1", "sleep 3", False), ("SIGPIPE", "sleep 3", False), ("SIGTSTP", "sleep 3",
           False))


def signalled(side, name, command, group):
    process = side.start({"command": "echo >ready; %s; c=$?; echo >late; exit $c" % command}, stdin=subprocess.DEVNULL)
    until(lambda: os.path.exists(side.dir + "/w/ready"), 30)
    time.sleep(0.3)
    start = time.time()
    (os.killpg if group else os.kill)(process.pid, getattr(signal, name))
    try:
        code = process.wait(12)
    except subprocess.TimeoutExpired:
        code = "runs on"
    took = time.time() - start
    time.sleep(max(0, 8 - took) if name in ("SIGHUP", "SIGQUIT", "SIGKILL") else 0)
    late = os.path.exists(side.dir + "/w/late")
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    process.wait()
    process.stdout.close()
    process.stderr.close()
    side.clean()
    return {"exit": code, "out": "at once" if took < 2 else "later", "after": "the command went on" if late else ""}


def signals(both):
    for name, command, group in SIGNALS:
        yield "%s to %s: %s" % (name, "all" if group else "the program", command), [signalled(side, name, command,
            group) for side in both]
