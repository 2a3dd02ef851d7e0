# SPDX-License-Identifier: Apache-2.0
"""The proxy on the wire, scenario by scenario: spellings, framing, headers, answers of servers, ends of connections.

The numbers are those of a table of scenarios that was made by watching another proxy; what is wanted is ours."""
import json
import re
import time

from lib import Case, as_everyone, main
from readers import CLIENT
from server import ADDRESS, Listening

H = "%s:{P}" % ADDRESS
U = "http://" + H
HOST = "Host: %s\r\n" % H
CLOSE = "Connection: close\r\n"


def get(path="", fields=HOST + CLOSE, method="GET", version="1.1"):
    return "%s %s/%s HTTP/%s\r\n%s\r\n" % (method, U, path, version, fields)


def connect(target, fields="", version="1.1"):
    return "CONNECT %s HTTP/%s\r\n%s\r\n" % (target, version, fields)


CREDENTIALS = "Proxy-Authorization: Basic c3J0Ong=\r\n"
# The server tells what it was sent of such.
NO_CREDENTIALS = r"(?s:.*)body=$"
IN = "GET /in HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
TUNNEL = r"^HTTP/1\.1 200 Connection established\r\n\r\nHTTP/1\.1 200 OK\r\n"
OK, BAD = r"^HTTP/1\.1 200 OK\r\n", r"(?s)^HTTP/1\.1 400 Bad Request\r\n.*X-Proxy-Error: bad-request\r\n.*Connection: close\r\n"
DENIED = r"(?s)^HTTP/1\.1 403 Forbidden\r\n.*X-Proxy-Error: blocked-by-policy\r\n.*"
WS = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"

# number: (what is sent, what the client gets, the first line that the server saw or None)
CASES = {
    1: ([get("a?q=1")], OK, "GET /a?q=1 HTTP/1.1"),
    2: ([get("a", HOST), "<FIN>"], OK, "GET /a HTTP/1.1"),
    # Nobody has to log in: credentials of whatever kind are neither asked for nor passed on.
    5: ([get("a", HOST + CREDENTIALS + CLOSE)], OK + NO_CREDENTIALS, "GET /a HTTP/1.1"),
    7: ([get("a", HOST + "Proxy-Authorization: Bearer x\r\n" + CLOSE)], OK + NO_CREDENTIALS, "GET /a HTTP/1.1"),
    8: ([get("a", HOST + CREDENTIALS * 2 + CLOSE)], OK + NO_CREDENTIALS, "GET /a HTTP/1.1"),
    10: (["GET http://not.allowed.test/ HTTP/1.1\r\nHost: not.allowed.test\r\n\r\n", "<FIN>"],
         DENIED + "not.allowed.test:80 is not in network.allowedDomains", None),
    11: (["GET http://denied.example.com/ HTTP/1.1\r\nHost: denied.example.com\r\n\r\n", "<FIN>"],
         DENIED + r"Use the mirror instead\n", None),
    13: (["GET http://%s:1/ HTTP/1.1\r\nHost: %s:1\r\n\r\n" % (ADDRESS, ADDRESS), "<FIN>"],
         DENIED + r"rule: network.deniedDomains \"127.0.0.2:1\" \(.*policy.lua:\d+\)\n", None),
    14: ([connect("not.allowed.test:443")], r"^HTTP/1\.1 403 not\.allowed\.test:443 is not in network\.allowedDomains", None),
    16: ([connect("github.com:22")], r"^HTTP/1\.1 403 github\.com:22 is denied .*: SSH is blocked; use https\r\n", None),
    17: ([connect(H, HOST), "GET /in HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n"], TUNNEL, "GET /in HTTP/1.1"),
    19: ([connect(H, version="1.0"), IN], TUNNEL, "GET /in HTTP/1.1"),
    20: ([connect(ADDRESS)], BAD + ".*port is missing", None),
    22: ([connect(ADDRESS + ":83617")], BAD, None),
    23: ([connect(U + "/")], BAD, None),
    25: ([connect("127.2:{P}"), IN], TUNNEL, "GET /in HTTP/1.1"),
    26: ([connect("0x7f000002:{P}"), IN], TUNNEL, "GET /in HTTP/1.1"),
    27: ([connect("2130706434:{P}"), IN], TUNNEL, "GET /in HTTP/1.1"),
    28: ([connect("[::ffff:127.0.0.2]:{P}"), IN], TUNNEL, "GET /in HTTP/1.1"),
    29: ([connect("127.0.0.1\0.allowed.com:80")], BAD, None),
    31: ([connect("[::1%lo]:80")], BAD, None),
    32: ([connect(ADDRESS + ":2")], r"(?s)^HTTP/1\.1 502 Bad Gateway\r\n.*X-Proxy-Error: upstream-failure\r\n.*refused", None),
    34: (["GET http://nosuch.invalid/ HTTP/1.1\r\nHost: nosuch.invalid\r\n\r\n", "<FIN>"],
         r"(?s)^HTTP/1\.1 50[24] .*X-Proxy-Error: upstream-failure", None),
    46: ([get(fields="")], BAD + ".*Host is missing", None),
    47: ([connect(H), IN], TUNNEL, "GET /in HTTP/1.1"),
    49: ([get(fields="Host: evil.test\r\n")], BAD.replace("400 Bad", "421 Misdirected"), None),
    50: ([get(fields=HOST + "Host: evil.test\r\n")], BAD, None),
    52: (["GET /x HTTP/1.1\r\n" + HOST + "\r\n"], BAD + ".*absolute URL", None),
    53: (["GET /x HTTP/1.1\r\n" + HOST + CLOSE + "\r\n"], BAD + ".*absolute URL", None),
    55: (["GET https://%s/x HTTP/1.1\r\n%s\r\n" % (H, HOST)], BAD + ".*use CONNECT", None),
    56: (["GET ftp://%s/x HTTP/1.1\r\n%s\r\n" % (H, HOST)], BAD, None),
    58: (["GET file:///etc/passwd HTTP/1.1\r\n%s\r\n" % HOST], BAD, None),
    59: (["GET x:127.0.0.1 HTTP/1.1\r\n%s\r\n" % HOST], BAD, None),
    61: (["GET http://not.allowed.test@%s/ui HTTP/1.1\r\n%s\r\n" % (H, HOST)], BAD, None),
    62: (["GET http://u:p@%s/ui HTTP/1.1\r\n%s\r\n" % (H, HOST)], BAD, None),
    64: (["GET http://%s#@not.allowed.test/ HTTP/1.1\r\n%s\r\n" % (H, HOST)], BAD, None),
    65: (["GET http://%s\t:{P}/ HTTP/1.1\r\n%s\r\n" % (ADDRESS, HOST)], BAD, None),
    67: (["GET http://%%EF%%BC%%91.0.0.1:{P}/ HTTP/1.1\r\n%s\r\n" % HOST], BAD, None),
    68: ([get("a/../b/c?x")], OK, "GET /a/../b/c?x HTTP/1.1"),
    70: (["GET http:///%s/3 HTTP/1.1\r\n%s\r\n" % (H, HOST)], BAD, None),
    71: (["GET http:/%s/1 HTTP/1.1\r\n%s\r\n" % (H, HOST)], BAD, None),
    73: (["GET http://%s:99999/ HTTP/1.1\r\nHost: %s:99999\r\n\r\n" % (ADDRESS, ADDRESS)], BAD, None),
    74: ([get(method="get")], BAD, None),
    76: ([get("tr", method="TRACE")], r"(?s)^HTTP/1\.1 405 Method Not Allowed\r\n.*\r\nAllow: GET", None),
    77: (["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], r"^HTTP/1\.1 505 ", None),
    79: ([get(version="1.2")], r"^HTTP/1\.1 505 ", None),
    80: ([get(version="3.0")], r"^HTTP/1\.1 505 ", None),
    82: ([get().replace("\r\n", "\n")], BAD, None),
    83: ([get(fields=HOST + "X-A: 1\nX-B: 2\r\n")], BAD, None),
    85: ([get(fields=HOST + "X-A: 1\r\n folded\r\n")], BAD, None),
    86: ([get(fields=HOST + "X-A : 1\r\n")], BAD, None),
    88: ([get("hi", HOST + "X-A: \xff\xfe\r\n" + CLOSE)], OK, "GET /hi HTTP/1.1"),
    89: (["\r\n\r\n" + get("lead")], OK, "GET /lead HTTP/1.1"),
    91: ([get("big", HOST + "X-Big: %s\r\n" % ("a" * 16000) + CLOSE)], OK, "GET /big HTTP/1.1"),
    92: ([get("u" * 70000)], r"^HTTP/1\.1 431 ", None),
    94: ([get("many", HOST + "".join("X-%d: 1\r\n" % i for i in range(200)) + CLOSE)], OK, "GET /many HTTP/1.1"),
    95: ([get("many", HOST + "".join("%x:\r\n" % i for i in range(3000)))], r"^HTTP/1\.1 431 ", None),
    97: ([get("te", HOST + "Transfer-Encoding: chunked\r\n" + CLOSE, "POST") + "5\r\nhello\r\n0\r\n\r\n"], OK + r"(?s:.*)body=hello$",
         "POST /te HTTP/1.1"),
    98: ([get("te", HOST + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n" + CLOSE, "POST") + "5;ext=1\r\nhello\r\n0\r\nX-T: v\r\n\r\n"],
         OK + r"(?s:.*)body=hello$", "POST /te HTTP/1.1"),
    100: ([get("b", HOST + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "POST") + "5\r\nhello\r\n0\r\n\r\n"], BAD, None),
    101: ([get("2cl", HOST + "Content-Length: 5\r\nContent-Length: 6\r\n", "POST") + "hello!"], BAD, None),
    103: ([get("cll", HOST + "Content-Length: 5, 5\r\n", "POST") + "hello"], BAD, None),
    104: ([get("clp", HOST + "Content-Length: +5\r\n", "POST") + "hello"], BAD, None),
    106: ([get("gz", HOST + "Transfer-Encoding: gzip, chunked\r\n", "POST") + "0\r\n\r\n"], r"^HTTP/1\.1 501 ", None),
    107: ([get("cgz", HOST + "Transfer-Encoding: chunked, gzip\r\n", "POST") + "0\r\n\r\n"], r"^HTTP/1\.1 (400|501) ", None),
    109: ([get("cc", HOST + "Transfer-Encoding: chunked\r\n" * 2, "POST") + "0\r\n\r\n"], r"^HTTP/1\.1 (400|501) ", None),
    110: ([get("old", HOST + "Transfer-Encoding: chunked\r\n", "POST", "1.0") + "0\r\n\r\n"], BAD, None),
    112: ([get("bo", HOST + "Transfer-Encoding: chunked\r\n", "POST") + "ffffffffffffffff1\r\nhello\r\n0\r\n\r\n"], BAD, None),
    113: ([get("blf", HOST + "Transfer-Encoding: chunked\r\n", "POST") + "5\nhello\r\n0\r\n\r\n"], BAD, None),
    115: ([get("gcl", HOST + "Content-Length: 5\r\n" + CLOSE) + "hello"], OK + r"(?s:.*)body=hello$", "GET /gcl HTTP/1.1"),
    116: ([get("ccl", HOST + "Content-Length: 5\r\nConnection: close, content-length\r\n", "POST") + "hello"],
          OK + r"(?s:.*)body=hello$", "POST /ccl HTTP/1.1"),
    118: ([get("cut", HOST + "Content-Length: 50\r\n", "POST") + "hello", "<FIN>"], "^(HTTP/1.1 400 |$)", "any"),
    119: ([get("slow"), "<FIN>"], OK + "(?s:.*)slow but there$", "GET /slow HTTP/1.1"),
    121: (["POST http://not.allowed.test/ HTTP/1.1\r\nHost: not.allowed.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
           "hello"], DENIED, None),
    122: ([get("e", HOST + "Expect: x\r\nContent-Length: 5\r\n", "POST") + "hello"], r"^HTTP/1\.1 417 ", None),
    123: ([get("c", HOST + "Expect: 100-continue\r\nContent-Length: 5\r\n" + CLOSE, "POST"), "hello"],
          r"^HTTP/1\.1 100 Continue\r\n\r\nHTTP/1\.1 200 OK\r\n(?s:.*)body=hello$", "POST /c HTTP/1.1"),
    124: ([get("ws", HOST + WS), "ping", "<FIN>"], r"(?s)^HTTP/1\.1 101 Switching Protocols\r\n.*Upgrade: websocket\r\n\r\nECHO:ping",
          "GET /ws HTTP/1.1"),
    125: ([connect(H), get("ws", "Host: x\r\n" + WS).replace(U, ""), "ping", "<FIN>"],
          r"(?s)^HTTP/1\.1 200 Connection established\r\n\r\nHTTP/1\.1 101 .*Upgrade: websocket\r\n\r\nECHO:ping", "GET /ws HTTP/1.1"),
    127: ([get("k1", HOST), "GET http://not.allowed.test/ HTTP/1.1\r\nHost: not.allowed.test\r\nConnection: close\r\n\r\n"],
          r"(?s)^HTTP/1\.1 200 OK\r\n.*HTTP/1\.1 403 Forbidden\r\n", "GET /k1 HTTP/1.1"),
    130: ([get("chunked", HOST + "TE: trailers\r\n" + CLOSE)], OK + r"(?s:.*)\r\n\r\n5\r\nhello\r\n0\r\nX-T: v\r\n\r\n$", "GET /chunked HTTP/1.1"),
    131: ([get("bad99")], r"^HTTP/1\.1 502 ", "GET /bad99 HTTP/1.1"),
    133: ([get("short")], OK + r"(?s:.*)\r\n\r\nabc$", "GET /short HTTP/1.1"),
    134: ([get("long")], OK + r"(?s:.*)\r\n\r\nabc$", "GET /long HTTP/1.1"),
    136: ([get("100twice")], r"^(HTTP/1\.1 100 Continue\r\n\r\n){2}HTTP/1\.1 200 OK\r\n(?s:.*)ok$", "GET /100twice HTTP/1.1"),
    137: ([get("close")], r"^HTTP/1\.1 502 ", "GET /close HTTP/1.1"),
    139: ([connect(H) + IN, "<FIN>"], TUNNEL, "GET /in HTTP/1.1"),
    140: (["\x04\x01F\xa1\x7f\x00\x00\x02\x00"], "^(HTTP/1.1 400 |$|\\0)", "any"),
}

POLICY = """{ network = { allowedDomains = { "%s", "nosuch.invalid" }, deniedDomains = { "%s:1", "denied.example.com", "*:22" },
  deniedDomainReasons = { ["denied.example.com"] = "Use the mirror instead", ["*:22"] = "SSH is blocked; use https" },
} }""" % (ADDRESS, ADDRESS)

CANNED = {
    b"/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5\r\nhello\r\n0\r\nX-T: v\r\n\r\n",
    b"/bad99": b"HTTP/1.1 99 Low\r\n\r\n", b"/close": b"",
    b"/short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
    b"/long": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef",
    b"/100twice": b"HTTP/1.1 100 Continue\r\n\r\n" * 2 + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
}


class Server(Listening):
    """Reads one request a connection, with a plain or chunked body, and answers by its path."""

    def __init__(self):
        self.seen = []

    def serve(self, connection):
        with connection, connection.makefile("rwb") as file:
            try:
                self.answer(file, connection)
            except (OSError, ValueError, IndexError):
                pass

    def answer(self, file, connection):
        line = file.readline().strip()
        if not line:
            return
        head = {}
        while field := file.readline().strip():
            name, _, value = field.partition(b":")
            head[name.lower()] = value.strip()
        self.seen.append(line.decode("latin-1"))
        path = line.split()[1].split(b"?")[0]
        if path in CANNED:
            file.write(CANNED[path])
            return
        if path == b"/ws":
            file.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            file.flush()
            while data := connection.recv(1000):
                connection.sendall(b"ECHO:" + data)
            return
        if head.get(b"expect"):
            file.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            file.flush()
        body = file.read(int(head.get(b"content-length", 0)))
        while head.get(b"transfer-encoding") and (size := int(file.readline(), 16)):
            body += file.read(size)
            file.readline()
        if path == b"/slow":
            time.sleep(0.8)
            body = b"slow but there"
        else:
            body = b"body=" + body + head.get(b"proxy-authorization", b"")
        file.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


class Cases(Case):
    @as_everyone
    def test_on_the_wire(self):
        with Server() as server:
            sent = [[piece.replace("{P}", str(server.port)) for piece in case[0]] for case in CASES.values()]
            got = self.run_srt(["/usr/bin/python3", "-c", CLIENT], POLICY,
                               stdin=json.dumps(sent).encode(), timeout=240)
            self.assertEqual(0, got.code, got)
            answers = dict(zip(CASES, json.loads(got.out)))
            seen = list(server.seen)
        for number, (pieces, wanted, line) in CASES.items():
            with self.subTest(number, sent=pieces[0][:80]):
                self.assertRegex(answers[number], wanted)
                self.assertNotIn("<", answers[number][-20:], "still open")
        wanted = [line for _, _, line in CASES.values() if line not in (None, "any")]
        self.assertEqual(sorted(wanted), sorted(line for line in seen if not re.match("POST /cut", line)))


if __name__ == "__main__":
    main()
