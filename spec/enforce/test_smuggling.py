# SPDX-License-Identifier: Apache-2.0
"""What two readers could read in two ways: refused, or read by our filter, nginx and Node as the same requests."""
import json
import re

from lib import Case, as_everyone, main
from readers import CLIENT, Readers
from server import ADDRESS, Listening

HIDDEN = "GET http://{H}/{N}/smuggled HTTP/1.1\r\nHost: {H}\r\n\r\n"


def get(fields="", path="", line="GET http://{H}/{N}%s HTTP/1.1", host="Host: {H}\r\n"):
    return (line % path if "%s" in line else line) + "\r\n" + host + fields + "\r\n"


def post(fields, body="", path=""):
    return "POST http://{H}/{N}%s HTTP/1.1\r\nHost: {H}\r\n%s\r\n%s" % (path, fields, body)


def chunked(body, more=""):
    return post("Transfer-Encoding: chunked\r\n" + more, body)


# "{H}" stands for the reader's host and port, "{N}" for the number of the case.
REFUSED = {
    # Where a body ends
    "both lengths": post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"),
    "both lengths, other order": post("Transfer-Encoding: chunked\r\nContent-Length: 6\r\n", "0\r\n\r\nG"),
    "two lengths": post("Content-Length: 0\r\nContent-Length: 44\r\n", HIDDEN),
    "length list": post("Content-Length: 5, 5\r\n", "hello"),
    "length +5": post("Content-Length: +5\r\n", "hello"),
    "length -0": post("Content-Length: -0\r\n"),
    "length 0x5": post("Content-Length: 0x5\r\n", "hello"),
    "length 05": post("Content-Length: 05\r\n", "hello"),
    "length 5 with blank": post("Content-Length: 5 \r\n", "hello"),
    "length 5 with tab": post("Content-Length:\t5\r\n", "hello"),
    "length empty": post("Content-Length:\r\n", HIDDEN),
    "length too large": post("Content-Length: 18446744073709551621\r\n", "hello"),
    "length name with blank": post("Content-Length : 5\r\n", "hello"),
    "length name with tab": post("Content-Length\t: 5\r\n", "hello"),
    "length folded": post("Content-Length:\r\n 5\r\n", "hello"),
    "encoding name with blank": post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n" + HIDDEN),
    "encoding with tab": post("Transfer-Encoding:\tchunked\r\n", "0\r\n\r\n"),
    "encoding with vertical tab": post("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"),
    "encoding with trailing blank": post("Transfer-Encoding: chunked \r\n", "0\r\n\r\n"),
    "encoding folded": post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"),
    "encoding twice": post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    "encoding list": post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"),
    "encoding identity": post("Transfer-Encoding: identity\r\n"),
    "encoding gzip, chunked": post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
    "encoding chunked, identity": post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
    "encoding xchunked": post("Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n", "hello"),
    "encoding quoted": post('Transfer-Encoding: "chunked"\r\n', "0\r\n\r\n"),
    "encoding with parameter": post("Transfer-Encoding: chunked;q=1\r\n", "0\r\n\r\n"),
    "encoding empty": post("Transfer-Encoding:\r\nContent-Length: 5\r\n", "hello"),
    "encoding in HTTP/1.0": "POST http://{H}/{N} HTTP/1.0\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "encoding after NUL": post("X: a\0\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    "encoding behind bare CR": post("X: a\rTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    "encoding behind bare LF": post("X: a\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    "chunked GET": get("Transfer-Encoding: chunked\r\n") + "0\r\n\r\n",
    "chunked HEAD": get("Transfer-Encoding: chunked\r\n", line="HEAD http://{H}/{N}%s HTTP/1.1") + "0\r\n\r\n",
    # Chunks that are wrong in what comes along with the head
    "chunk size +5": chunked("+5\r\nhello\r\n0\r\n\r\n"),
    "chunk size 0x5": chunked("0x5\r\nhello\r\n0\r\n\r\n"),
    "chunk size with blank": chunked("5 \r\nhello\r\n0\r\n\r\n"),
    "chunk size after blank": chunked(" 5\r\nhello\r\n0\r\n\r\n"),
    "chunk size overflow": chunked("ffffffffffffffff1\r\nhello\r\n0\r\n\r\n"),
    "chunk size of 2^64": chunked("10000000000000000\r\nhello\r\n0\r\n\r\n"),
    "chunk size empty": chunked("\r\nhello\r\n0\r\n\r\n"),
    "chunk size ended by LF": chunked("5\nhello\r\n0\r\n\r\n"),
    "chunk size ended by CR": chunked("5\rhello\r\n0\r\n\r\n"),
    "chunk extension with LF": chunked("5;a\nb\r\nhello\r\n0\r\n\r\n"),
    "chunk extension with NUL": chunked("5;a\0\r\nhello\r\n0\r\n\r\n"),
    "chunk data too long": chunked("5\r\nhelloX\r\n0\r\n\r\n"),
    "chunk data ended by LF": chunked("5\r\nhello\n0\r\n\r\n"),
    "chunk data without end": chunked("5\r\nhello0\r\n\r\n"),
    "last chunk ended by LF": chunked("0\n\n" + HIDDEN),
    "trailer folded": chunked("0\r\nA: b\r\n c\r\n\r\n"),
    "trailer with blank": chunked("0\r\nA : b\r\n\r\n"),
    "trailer without colon": chunked("0\r\nhello\r\n\r\n"),
    "trailer with LF": chunked("0\r\nA: b\nC: d\r\n\r\n"),
    # Lines and fields
    "bare LF": get().replace("\r\n", "\n"),
    "LF behind the request line": get().replace("\r\n", "\n", 1),
    "empty line of LF": get()[:-2] + "\n" + HIDDEN,
    "bare CR in the line": get(line="GET http://{H}/{N}%s\rX HTTP/1.1"),
    "folded field": get("X: a\r\n b\r\n"),
    "first field folded": get(host=" X: a\r\nHost: {H}\r\n"),
    "blank before colon": get("X : a\r\n"),
    "no colon": get("hello\r\n"),
    "no name": get(": a\r\n"),
    "name with blank": get("X Y: a\r\n"),
    "name with NUL": get("X\0: a\r\n"),
    "name outside ASCII": get("X\xff: a\r\n"),
    "value with NUL": get("X: \0\r\n"),
    "value with ESC": get("X: \x1b\r\n"),
    "value with DEL": get("X: \x7f\r\n"),
    # The start line
    "two blanks": get(line="GET  http://{H}/{N}%s HTTP/1.1"),
    "tab": get(line="GET\thttp://{H}/{N}%s HTTP/1.1"),
    "blank before": get(line=" GET http://{H}/{N}%s HTTP/1.1"),
    "blank behind": get(line="GET http://{H}/{N}%s HTTP/1.1 "),
    "blank in the target": get(line="GET http://{H}/{N} x HTTP/1.1"),
    "no version": get(line="GET http://{H}/{N}%s"),
    "version 1.2": get(line="GET http://{H}/{N}%s HTTP/1.2"),
    "version 2.0": get(line="GET http://{H}/{N}%s HTTP/2.0"),
    "version 1.10": get(line="GET http://{H}/{N}%s HTTP/1.10"),
    "version http": get(line="GET http://{H}/{N}%s http/1.1"),
    "lower case": get(line="get http://{H}/{N}%s HTTP/1.1"),
    "method with colon": get(line="GE:T http://{H}/{N}%s HTTP/1.1"),
    "TRACE": get(line="TRACE http://{H}/{N}%s HTTP/1.1"),
    "preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    # The target
    "origin form": get(line="GET /{N}%s HTTP/1.1"),
    "asterisk": get(line="OPTIONS * HTTP/1.1"),
    "fragment": get(line="GET http://{H}/{N}%s#x HTTP/1.1"),
    "user information": get(line="GET http://evil.test\x40{H}/{N}%s HTTP/1.1"),
    "backslash": get(line="GET http://{H}/{N}\\..\\x HTTP/1.1"),
    "backslash in the host": get(line="GET http://{H}\\.evil.test/{N}%s HTTP/1.1"),
    "target outside ASCII": get(line="GET http://{H}/{N}\xe9 HTTP/1.1"),
    "target with NUL": get(line="GET http://{H}/{N}\0 HTTP/1.1"),
    "three slashes": get(line="GET http:///{H}/{N}%s HTTP/1.1"),
    "one slash": get(line="GET http:/{H}/{N}%s HTTP/1.1"),
    "https in clear text": get(line="GET https://{H}/{N}%s HTTP/1.1"),
    "ftp": get(line="GET ftp://{H}/{N}%s HTTP/1.1"),
    "percent in the host": get(line="GET http://%%31{H}/{N}%s HTTP/1.1"),
    # The paths that ambiguousRequestTarget speaks of
    "dot segments": get(path="/a/../b"),
    "encoded dot segments": get(path="/a/%2e%2e/b"),
    "encoded slash": get(path="/a%2fb"),
    "encoded backslash": get(path="/a%5c..%5cb"),
    "encoded twice": get(path="/a%252fb"),
    "encoded NUL": get(path="/a%00b"),
    "encoded line end": get(path="/a%0d%0aX:%20y"),
    "empty segment": get(path="//b"),
    "dot segment with parameters": get(path="/..;/b"),
    "encoded letter": get(path="/%61dmin"),
    "broken encoding": get(path="/a%zz"),
    # Host
    "no Host": get(host=""),
    "two Hosts": get("Host: evil.test\r\n"),
    "the same Host twice": get("Host: {H}\r\n"),
    "another Host": get(host="Host: evil.test\r\n"),
    "Host with another port": get(host="Host: {H}1\r\n"),
    "Host list": get(host="Host: {H}, evil.test\r\n"),
    "Host with user": get(host="Host: x\x40{H}\r\n"),
    "Host with a path": get(host="Host: {H}/x\r\n"),
    "Host folded": get(host="Host:\r\n {H}\r\n"),
    "Host with blank": get(host="Host : {H}\r\n"),
    "empty Host": get(host="Host:\r\n"),
    "Connection names nothing": get("Connection: a b\r\n"),
    "other expectation": post("Expect: x\r\nContent-Length: 0\r\n"),
}

# What they are read as: [(method, behind "/{N}", length of the body), …]. A request behind them shows that all readers
# agree on where they end.
READ = {
    "plain": (get(), [("GET", "", 0)]),
    "pipelined": (get(path="/1") + get(path="/2") + get(path="/3"), [("GET", "/1", 0), ("GET", "/2", 0), ("GET", "/3", 0)]),
    "length": (post("Content-Length: 5\r\n", "hello"), [("POST", "", 5)]),
    "length zero": (post("Content-Length: 0\r\n"), [("POST", "", 0)]),
    "same length twice": (post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), [("POST", "", 5)]),
    "GET with a body": (get("Content-Length: %d\r\n" % len(HIDDEN)) + HIDDEN, [("GET", "", None)]),
    "a request as body": (post("Content-Length: %d\r\n" % len(HIDDEN), HIDDEN), [("POST", "", None)]),
    "Connection names the length": (post("Connection: content-length\r\nContent-Length: 5\r\n", "hello"), [("POST", "", 5)]),
    "Connection names the encoding": (chunked("5\r\nhello\r\n0\r\n\r\n", "Connection: transfer-encoding\r\n"), [("POST", "", 5)]),
    "Connection names Host": (get("Connection: host\r\n"), [("GET", "", 0)]),
    "chunks": (chunked("5\r\nhello\r\n0\r\n\r\n"), [("POST", "", 5)]),
    "chunks in capitals": (chunked("A\r\n0123456789\r\n000\r\n\r\n"), [("POST", "", 10)]),
    "chunk extensions": (chunked('5;a=b;c="d;\r e"\r\nhello\r\n0;x\r\n\r\n'.replace("\r e", " e")), [("POST", "", 5)]),
    "encoding in capitals": (post("Transfer-Encoding: CHUNKED\r\n", "1\r\nx\r\n0\r\n\r\n"), [("POST", "", 1)]),
    "trailers": (chunked("5\r\nhello\r\n0\r\nX-T: v\r\nHost: evil.test\r\nContent-Length: 9\r\n\r\n", "Trailer: X-T\r\n"), [("POST", "", 5)]),
    "a request as trailer": (chunked("0\r\nGET: /smuggled HTTP/1.1\r\n\r\n"), [("POST", "", 0)]),
    "empty lines before": ("\r\n\r\n" + get(), [("GET", "", 0)]),
    "blanks around values": (get("X:  \t a b \t\r\n"), [("GET", "", 0)]),
    "value outside ASCII": (get("X: \xe9\xff\r\n"), [("GET", "", 0)]),
    "underscore twins": (get("Content_Length: 5\r\nTransfer_Encoding: chunked\r\n"), [("GET", "", 0)]),
    "Host without capitals": (get(host="hOsT: {H}\r\n"), [("GET", "", 0)]),
    "scheme in capitals": (get(line="GET HTTP://{H}/{N}%s HTTP/1.1"), [("GET", "", 0)]),
    "query": (get(path="?a=//../%2e%2f&b=http://x\x40y/"), [("GET", "?a=//../%2e%2f&b=http://x\x40y/", 0)]),
    "dots in names": (get(path="/..a/...b/c..d/.e"), [("GET", "/..a/...b/c..d/.e", 0)]),
    "encoded bytes": (get(path="/%20%C3%A9%40"), [("GET", "/%20%C3%A9%40", 0)]),
    "PUT and DELETE": ("PUT http://{H}/{N}/p HTTP/1.1\r\nHost: {H}\r\nContent-Length: 2\r\n\r\nhi"
                       "DELETE http://{H}/{N}/d HTTP/1.1\r\nHost: {H}\r\n\r\n", [("PUT", "/p", 2), ("DELETE", "/d", 0)]),
    "upgrade to h2c": (get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"),
                       [("GET", "", 0)]),
    "upgrade with a body": (post("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: %d\r\n" % len(HIDDEN), HIDDEN),
                            [("POST", "", None)]),
    "proxy's own fields": (get("Proxy-Connection: close\r\nProxy-Authorization: Basic x\r\nKeep-Alive: 1\r\nTE: trailers\r\n"),
                           [("GET", "", 0)]),
}

# Refused only when the body's end comes after its head went up: the readers never get to the end of the request.
LATE = {
    "late bad size": ([post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"), "+5\r\nhello\r\n0\r\n\r\n"]),
    "late bad end": ([post("Transfer-Encoding: chunked\r\n", "5\r\nhello"), "X\r\n0\r\n\r\n" + HIDDEN]),
    "late bad trailer": ([post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n"), " A: b\r\n\r\n"]),
}

POLICY = """{ network = { allowedDomains = { "%s" }, filterRequest = function(req)
  srt.log.info("FILTER " .. req.method .. " " .. req.path .. (req.query and "?" .. req.query or ""))
  return true end } }""" % ADDRESS

MARKER = "GET http://{H}/{N}/marker HTTP/1.1\r\nHost: {H}\r\nConnection: close\r\n\r\n"


class Wire(Case):
    def filled(self, text, number, port):
        """The text with its places filled in, and the length that HIDDEN then has."""
        def fill(part):
            return part.replace("{H}", "%s:%d" % (ADDRESS, port)).replace("{N}", str(number))
        hidden = len(fill(HIDDEN))
        return fill(text.replace("Content-Length: %d\r\n" % len(HIDDEN), "Content-Length: %d\r\n" % hidden)), hidden

    def ask(self, port, cases, marker=True):
        """Runs all cases over one sandbox; the answers, and what the filter saw by number of case."""
        sent = []
        for number, pieces in enumerate(cases):
            pieces = [pieces] if isinstance(pieces, str) else list(pieces)
            if marker:
                pieces[-1] += MARKER
            sent.append([self.filled(piece, number, port)[0] for piece in pieces])
        got = self.run_srt(["/usr/bin/python3", "-c", CLIENT], POLICY, stdin=json.dumps(sent).encode(), timeout=240)
        self.assertEqual(0, got.code, got)
        filtered = {}
        for method, url in re.findall(r"FILTER (\S+) (\S+)", got.err):
            filtered.setdefault(self.number_of(url), []).append((method, url))
        return json.loads(got.out), filtered

    def number_of(self, url):
        found = re.match(r"/(\d+)", url)
        return int(found.group(1)) if found else -1


class Smuggling(Wire):
    def seen_by_case(self, readers, name):
        seen = {}
        for request in readers.take():
            self.assertEqual(name, request["via"])
            self.assertNotIn("smuggled", request["url"])
            seen.setdefault(self.number_of(request["url"]), []).append(request)
        return seen

    @as_everyone
    def test_refused(self):
        with Readers() as readers:
            for name, port in readers.ports.items():
                answers, filtered = self.ask(port, REFUSED.values())
                seen = self.seen_by_case(readers, name)
                for number, case in enumerate(REFUSED):
                    with self.subTest(case, reader=name):
                        self.assertRegex(answers[number], r"^HTTP/1\.1 (400|405|417|421|501|505) ")
                        self.assertEqual(1 if "ambiguous-request-target" not in answers[number] else 2,
                                         len(re.findall(r"HTTP/1\.1 \d", answers[number])), answers[number])
                        urls = [request["url"] for request in seen.get(number, [])]
                        if "ambiguous-request-target" in answers[number]:
                            # A denial of the policy's: what follows on the connection is a request of its own.
                            self.assertEqual(["/%d/marker" % number], urls)
                        else:
                            self.assertEqual([], urls)
                            self.assertNotIn(number, filtered)
                self.assertNotIn(-1, seen)

    @as_everyone
    def test_read_alike(self):
        with Readers() as readers:
            for name, port in readers.ports.items():
                answers, filtered = self.ask(port, [request for request, _ in READ.values()])
                seen = self.seen_by_case(readers, name)
                for number, (case, (request, wanted)) in enumerate(READ.items()):
                    with self.subTest(case, reader=name):
                        hidden = self.filled(request, number, port)[1]
                        wanted = [(method, "/%d%s" % (number, url), hidden if length is None else length)
                                  for method, url, length in wanted + [("GET", "/marker", 0)]]
                        read = [(r["method"], r["url"], r["length"]) for r in seen.get(number, [])]
                        self.assertEqual(wanted, read, answers[number])
                        self.assertEqual([w[:2] for w in wanted], filtered[number])
                        self.assertEqual(["200"] * len(wanted), re.findall(r"HTTP/1\.1 (\d+) ", answers[number]))
                        for r in seen[number]:
                            self.assertEqual("%s:%d" % (ADDRESS, port), r["headers"]["host"])
                            self.assertLessEqual(set(r["trailers"]), {"x-t"})
                            for hop in ("upgrade", "proxy-authorization", "keep-alive", "http2-settings"):
                                self.assertNotIn(hop, r["headers"])
                self.assertNotIn(-1, seen)

    @as_everyone
    def test_refused_late(self):
        with Readers() as readers:
            for name, port in readers.ports.items():
                answers, _ = self.ask(port, LATE.values())
                self.assertEqual({}, self.seen_by_case(readers, name))
                for answer in answers:
                    self.assertRegex(answer, "^HTTP/1.1 400 ")
                    self.assertEqual(1, len(re.findall(r"HTTP/1\.1 \d", answer)))


OK = "HTTP/1.1 200 OK\r\n"
# Responses that no client gets to see.
BAD_RESPONSES = {
    "both lengths": OK + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "two lengths": OK + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "length list": OK + "Content-Length: 5, 5\r\n\r\nhello",
    "length -1": OK + "Content-Length: -1\r\n\r\nhello",
    "folded": OK + "X: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "blank before colon": OK + "Content-Length : 0\r\n\r\n",
    "bare LF": "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    "bare CR": OK + "X: a\rContent-Length: 5\r\n\r\n",
    "NUL": OK + "X: \0\r\nContent-Length: 0\r\n\r\n",
    "encoding gzip": OK + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "encoding twice": OK + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "encoding in 1.0": "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "status 99": "HTTP/1.1 99 Low\r\nContent-Length: 0\r\n\r\n",
    "status 2000": "HTTP/1.1 2000 High\r\nContent-Length: 0\r\n\r\n",
    "no status": "hello\r\n\r\n",
    "HTTP/0.9": "<html>hello</html>\r\n\r\n",
    "version 2.0": "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    "switched unasked": "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "many 1xx": "HTTP/1.1 103 Early Hints\r\n\r\n" * 100,
    "long head": OK + "X: " + "a" * 70000 + "\r\nContent-Length: 0\r\n\r\n",
    "ends in the head": OK + "Content-Le",
    "nothing": "",
}
# Cut off where they go wrong, so that the client can tell.
CUT_RESPONSES = {
    "short": OK + "Content-Length: 10\r\n\r\nhello",
    "chunk size": OK + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n+5\r\nhello\r\n0\r\n\r\n",
    "chunk end": OK + "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n",
    "no last chunk": OK + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
}
EVIL = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
# Bytes behind a response are never the response to the next request.
SURPLUS = {
    "length": OK + "Content-Length: 5\r\n\r\nhello" + EVIL,
    "chunks": OK + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + EVIL,
    "no content": "HTTP/1.1 204 No Content\r\n\r\n" + EVIL,
    "not modified": "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n" + EVIL,
}


class RawOrigin(Listening):
    """Answers a request for /NUMBER/… with the bytes of that number, any other with "fine"."""

    def __init__(self, answers):
        self.answers = answers

    def serve(self, connection):
        data = b""
        with connection:
            while True:
                while b"\r\n\r\n" not in data:
                    try:
                        more = connection.recv(65536)
                    except OSError:
                        return
                    if not more:
                        return
                    data += more
                head, _, data = data.partition(b"\r\n\r\n")
                found = re.match(rb"GET /(\d+) ", head)
                try:
                    if not found:
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
                        continue
                    answer = self.answers[int(found.group(1))].encode("latin-1")
                    connection.sendall(answer)
                    if not answer.endswith(b"evil"):
                        return
                except OSError:
                    return


class Responses(Wire):
    def answers_to(self, table):
        with RawOrigin(list(table.values())) as origin:
            return self.ask(origin.port, ["GET http://{H}/{N} HTTP/1.1\r\nHost: {H}\r\n\r\n"] * len(table))[0]

    @as_everyone
    def test_bad(self):
        for case, answer in zip(BAD_RESPONSES, self.answers_to(BAD_RESPONSES)):
            with self.subTest(case):
                final = re.sub(r"(HTTP/1\.1 103 Early Hints\r\n\r\n)*", "", answer, count=1)
                self.assertRegex(final, r"^HTTP/1\.1 502 Bad Gateway\r\n")
                self.assertIn("X-Proxy-Error: upstream-failure\r\n", final)
                self.assertEqual(1, len(re.findall(r"HTTP/1\.1 \d", final)))

    @as_everyone
    def test_cut(self):
        for case, answer in zip(CUT_RESPONSES, self.answers_to(CUT_RESPONSES)):
            with self.subTest(case):
                self.assertRegex(answer, r"(?s)^HTTP/1\.1 200 OK\r\n.*hello")
                self.assertEqual(1, len(re.findall(r"HTTP/1\.1 \d", answer)))
                self.assertFalse(answer.endswith("0\r\n\r\n"), answer)

    @as_everyone
    def test_surplus(self):
        for case, answer in zip(SURPLUS, self.answers_to(SURPLUS)):
            with self.subTest(case):
                self.assertNotIn("evil", answer)
                self.assertTrue(answer.endswith("fine"), answer)
                self.assertEqual(2, len(re.findall(r"HTTP/1\.1 \d", answer)), answer)


if __name__ == "__main__":
    main()
