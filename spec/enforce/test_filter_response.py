# SPDX-License-Identifier: Apache-2.0
"""filterResponse, stripResponseHeaders, and what streams, on the wire."""
import gzip
import re

from filtering import Scripted, answer, bomb, chunks, cut, slowly
from lib import as_everyone, has, main, need
from test_filter import Filter

MIB = 1 << 20


class Responses(Filter):
    def judge(self, body, answers, *paths, rest="", limits="", chain="", method="GET", **more):
        """What a filterResponse of that body makes of each path: (status, headers as text, body)."""
        policy = "filterResponse = function(res, req) %s end, %s" % (body, rest)
        with Scripted(answers) as origin:
            scripts = [[self.post(b"", path=path, method=method, length=False), "end"] for path in paths or answers]
            got = self.talk(origin, policy, *scripts, limits=limits, rest=chain, **more)
            self.seen = origin.seen
        return [self.split(text) for text in got]

    @staticmethod
    def split(text):
        head, _, body = text.partition("\r\n\r\n")
        return head.split(" ")[1] if " " in head else head, head, body

    @as_everyone
    def test_answers(self):
        cases = {  # what it answers: status, and what is in the response
            "return true": ("200", "<END>"), "return srt.allow()": ("200", "body"), "return srt.pass": ("200", "body"),
            "return false, 'why'": ("502", "the response to GET http"), "return false": ("502", "network.filterResponse"),
            "return srt.deny { reason = 'no', status = 451, headers = { A = 'b' } }": ("451", "A: b\r\n"),
            "return srt.deny 'because'": ("502", ": because\n"), "return srt.deny { body = 'mine' }": ("502", "mine<END>"),
            "return srt.respond { status = 203, headers = { A = 'b' }, body = 'new' }": ("203", "new<END>"),
            "return srt.respond { body = '' }": ("200", "Content-Length: 0\r\n"),
            "return srt.allow { status = 404 }": ("404", "Not Found\r\n"),
            "return srt.allow { setHeaders = { ['X-Kind'] = 'c' } }": ("200", "X-Kind: c\r\n"),
            "return srt.allow { removeHeaders = { 'x-kind' } }": ("200", "body"),
            "return srt.allow { setBody = 'other' }": ("200", "Content-Length: 5\r\n"),
            "return nil": ("502", "nil"), "return 1": ("502", "1"), "return {}": ("502", "not srt.allow"),
            "error('boom')": ("502", "boom"), "return req.nosuch": ("502", "nosuch"), "res.status = 1": ("502", "read-only"),
            "while true do end": ("502", "instructions"), "return srt.allow { setTarget = '/' }": ("502", "takes no setTarget"),
            "return srt.allow { setHeaders = { ['Content-Length'] = '1' } }": ("502", "belongs to the proxy"),
            "return srt.allow { status = 99 }": ("502", "status"), "return srt.allow { status = 204, setBody = 'x' }": ("502", "204"),
            "return req:body()": ("502", "body() is for"), "return srt.allow { setBody = 5 }": ("502", "setBody must be"),
        }
        body = " ".join("if req.path == '/%d' then %s end" % (i, "do %s end" % text) for i, text in enumerate(cases))
        answers = {"/%d" % i: answer(b"body", "200 OK", "X-Kind: a", "X-Kind: b") for i in range(len(cases))}
        for (text, (status, part)), got in zip(cases.items(), self.judge(body, answers)):
            self.assertEqual(got[0], status, (text, got))
            self.assertIn(part, got[1] + "\r\n\r\n" + got[2], text)
            whole = got[1] + got[2]
            self.assertEqual("a\r\nX-Kind: b" in whole, "200" == status and "X-Kind" not in text.title() and
                             "respond" not in text or status == "404", (text, whole))
            self.assertIn(got[2].count("<END>"), (1,))
            if status == "502" and "body = 'mine'" not in text:
                self.assertIn("X-Proxy-Error: blocked-by-policy", got[1], text)

    @as_everyone
    def test_subject(self):
        got = self.judge("""return srt.respond { body = table.concat({ res.status, res.headers["set-COOKIE"],
            table.concat(res:values("set-cookie"), "|"), res:header("a"), #res:fields(), req.method, req.path, req.query,
            req:header("host"), req.conn.host, tostring(pcall(function() res.status = 1 end)) }, "\\n") }""",
                         {"/x": answer(b"", "404 No", "Set-Cookie: a=1, b", "A: 1", "Set-Cookie: c")}, "/x?q=1")[0]
        self.assertEqual(got[2].removesuffix("<END>").split("\n"), [
            "404", "a=1, b, c", "a=1, b|c", "1", "4", "GET", "/x", "q=1", re.search("http://([^/ ]*)", repr(
                self.seen[0].fields) + "http://" + self.seen[0].get("Host")).group(1), "127.0.0.2", "false"])

    @as_everyone
    def test_bodies(self):
        text, show = b"the text", "return srt.respond { body = tostring(%s) }"
        packed, until = gzip.compress(text), "HTTP/1.1 200 OK\r\n\r\n".encode()
        chunked = answer(b"", "200 OK", "Transfer-Encoding: chunked", length=False)
        answers = {
            "/plain": answer(text), "/gzip": answer(packed, "200 OK", "Content-Encoding: gzip"),
            "/chunked": chunked + chunks(b"the ", b"text"), "/slow": slowly(chunked, 0.3, chunks(b"the text")[:9], 0.3,
                                                                           chunks(b"the text")[9:]),
            "/close": slowly(until + text), "/slowclose": slowly(until, 0.3, b"the ", 0.3, b"text"),
            "/chunkedgzip": answer(b"", "200 OK", "Transfer-Encoding: chunked", "Content-Encoding: gzip", length=False) +
            chunks(packed[:4], packed[4:])}
        for path, got in zip(answers, self.judge(show % "res:body()", answers)):
            self.assertEqual(got[2], "the text<END>", (path, got))
        answers = {"/none": answer(b"", "204 No", length=False), "/not": answer(b"", "304 No", "Content-Length: 50", length=False),
                   "/empty": answer(b"")}
        for path, got in zip(answers, self.judge("return srt.respond { body = '<' .. #res:body() .. '>' }", answers)):
            self.assertEqual(got[2], "<0><END>", (path, got))
        answers = {"/bomb": answer(bomb(10 << 30)[:50000], "200 OK", "Content-Encoding: gzip"),
                   "/cut": answer(packed[:-2], "200 OK", "Content-Encoding: gzip"), "/long": answer(b"x" * (MIB + 1)),
                   "/endless": slowly(until, *[b"x" * 65536] * 200), "/br": answer(packed, "200 OK", "Content-Encoding: br")}
        why = ["longer than %d bytes" % MIB, "ends within", "longer than", "longer than", "none of gzip and deflate"]
        for reason, got in zip(why, self.judge(show % "select(2, res:body())", answers)):
            self.assertIn(reason, got[2])

    @as_everyone
    def test_passed_on_as_they_came(self):
        """What a callback has read goes down as upstream sent it, framing and all."""
        big, packed = bytes(range(256)) * 8000, gzip.compress(b"text")
        chunked = answer(b"", "200 OK", "Transfer-Encoding: chunked", "Trailer: X-T", length=False)
        answers = {"/gzip": answer(packed, "200 OK", "Content-Encoding: gzip"), "/big": answer(big),
                   "/chunks": chunked + chunks(b"ab", b"cd", trailers=b"X-T: 1\r\n"),
                   "/bigchunks": chunked + chunks(big[:70000], big[70000:], trailers=b"X-T: 1\r\n"),
                   "/close": slowly(b"HTTP/1.1 200 OK\r\n\r\n", b"ab", 0.2, b"cd")}
        gz, whole, parts, many, close = self.judge("local body = res:body(1000) return true", answers)
        self.assertEqual((gz[2].encode("latin-1"), whole[2].encode("latin-1")), (packed + b"<END>", big + b"<END>"))
        self.assertIn("Content-Encoding: gzip", gz[1])
        self.assertEqual(parts[2], "4\r\nabcd\r\n0\r\nX-T: 1\r\n\r\n<END>")
        self.assertEqual(close[2], "4\r\nabcd\r\n0\r\n\r\n<END>")
        pieces, data = many[2].encode("latin-1"), b""
        while size := int(pieces.split(b"\r\n", 1)[0], 16):
            pieces = pieces.split(b"\r\n", 1)[1]
            data, pieces = data + pieces[:size], pieces[size + 2:]
        self.assertEqual((data, pieces), (big, b"0\r\nX-T: 1\r\n\r\n<END>"))

    @as_everyone
    def test_edited_framing(self):
        chunked = answer(b"", "200 OK", "Transfer-Encoding: chunked", "Trailer: X-T", "Content-Encoding: gzip", "Digest: x",
                         length=False) + chunks(b"ab", trailers=b"X-T: 1\r\n")
        answers = {"/c": chunked, "/none": answer(b"", "204 No", length=False), "/body": answer(b"body"),
                   "/not": answer(b"", "304 No", "ETag: x", length=False)}
        for got in self.judge("return srt.allow { setBody = 'new' }", answers, "/c", "/body"):
            self.assertEqual(got[2], "new<END>")
            for name in ("chunked", "Trailer", "Content-Encoding", "Digest"):
                self.assertNotIn(name, got[1])
            self.assertIn("Content-Length: 3", got[1])
        got = self.judge("return srt.allow { status = 200 }", answers)
        self.assertEqual([(g[0], g[2]) for g in got][1:], [("200", "<END>"), ("200", "body<END>"), ("200", "<END>")])
        self.assertIn("Content-Length: 0", got[1][1])
        for got in self.judge("return srt.allow { status = 304 }", answers):
            self.assertEqual((got[0], got[2]), ("304", "<END>"))
            self.assertNotIn("Content-Length", got[1])
        got = self.judge("return srt.allow { setHeaders = { A = '1' } }", answers, "/c")[0]
        self.assertEqual(got[2], "2\r\nab\r\n0\r\n\r\n<END>")
        got = self.judge("return srt.allow { setBody = 'new' }", {"/h": answer(b"", "200 OK", "Content-Length: 9", length=False)},
                         method="HEAD")[0]
        self.assertEqual((got[0], got[2]), ("200", "<END>"))
        self.assertIn("Content-Length: 3", got[1])
        got = self.judge("return true", {"/h": answer(b"", "200 OK", "Content-Length: 9", length=False)}, method="HEAD")[0]
        self.assertIn("Content-Length: 9", got[1])

    @as_everyone
    def test_connections_go_on(self):
        """After each kind of answer the next request of the same client is served, and read right."""
        body = """if req.path == "/deny" then return false, "denied" elseif req.path == "/new" then
              return srt.allow { setBody = "new" } elseif req.path == "/respond" then return srt.respond { body = "said" }
              elseif req.path == "/read" then res:body() return true end return true"""
        answers = {"/deny": answer(b"x" * 100000), "/new": answer(b"y" * 100000), "/respond": answer(b"z"), "/read": answer(b"read")}
        policy = "filterResponse = function(res, req) %s end" % body
        with Scripted(answers) as origin:
            paths = ["/deny", "/new", "/respond", "/read", "/echo", "/deny", "/echo"]
            got = self.talk(origin, policy, [b"".join(self.post(b"<%d>" % i, path=path) for i, path in enumerate(paths)),
                                             ("until", b"<6>"), "end"])[0]
            self.assertEqual([word for word in got.replace("\r\n", " ").split() if word in ("200", "502")],
                             ["502", "200", "200", "200", "200", "502", "200"])
            for part in ("denied\n", "new", "said", "read", "<4>", "<6>"):
                self.assertIn(part, got)
            self.assertEqual([seen.body for seen in origin.seen], [b"<%d>" % i for i in range(7)])

    @as_everyone
    def test_interim_and_upgrades(self):
        hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 P\r\n\r\n"
        answers = {"/hints": hints + answer(b"body")}
        self.assertEqual(self.judge("return true", answers)[0][0], "200")
        ws = lambda path: self.post(b"", "Connection: Upgrade", "Upgrade: websocket", path=path, method="GET", length=False)

        def upgrade(connection, _):
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-A: 1\r\n\r\nhi")
            while data := connection.recv(100):
                connection.sendall(data.upper())

        body = """if req.path == "/no" then return res.status ~= 101, "no tunnels" end
            if req.path == "/bad" then return srt.allow { status = 200 } end
            if req.path == "/new" then return srt.respond { body = "no" } end
            return srt.allow { setHeaders = { ["X-A"] = tostring(#res:body()) } }"""
        for filters in ("filterResponse = function(res, req) %s end" % body,
                        "filterRequest = function(req) return true end"):
            with Scripted({path: upgrade for path in ("/ws", "/no", "/bad", "/new")}) as origin:
                ok, no, bad, new = self.talk(origin, filters, [ws("/ws"), ("until", b"hi"), b"ping", ("until", b"PING"), "end"],
                                             *[[ws(path), ("until", b"\r\n\r\n"), "end"] for path in ("/no", "/bad", "/new")])
                self.assertRegex(ok, r"(?s)^HTTP/1.1 101 .*\r\n\r\nhiPING<END>$")
                if "Response" in filters:
                    self.assertIn("X-A: 0\r\n", ok)
                    self.assertRegex(no, "(?s)^HTTP/1.1 502 .*no tunnels")
                    self.assertRegex(bad, "(?s)^HTTP/1.1 502 .*bad-verdict.*switches protocols")
                    self.assertRegex(new, r"(?s)^HTTP/1.1 200 .*no<END>$")

    @as_everyone
    def test_upstreams_that_go_or_lie(self):
        head = answer(b"", "200 OK", "Content-Length: 100", length=False)
        chunked = answer(b"", "200 OK", "Transfer-Encoding: chunked", length=False)
        answers = {"/short": slowly(head + b"abc", 0.2), "/reset": cut(head + b"abc"), "/bad": slowly(chunked + b"3\r\nabc\r\nzz\r\n"),
                   "/badlate": slowly(chunked + b"3\r\nabc\r\n", 0.3, b"zz\r\n"), "/nothing": slowly(), "/head": slowly(b"HTTP/1.1 2")}
        got = self.judge("srt.state.n = (srt.state.n or 0) + 1 res:body() return false, 'judged'", answers, *answers,
                         limits="waitingCallbacks = 2")
        for path, (status, head, body) in zip(answers, got):
            self.assertEqual(status, "502", path)
            self.assertIn("upstream-failure", head, path)
            self.assertNotIn("judged", body, path)

    @as_everyone
    def test_budgets(self):
        head = answer(b"", "200 OK", "Content-Length: 100", length=False)
        got = self.judge("srt.sleep(0.1) res:body() return true", {"/slow": slowly(head + b"x", 2.5), "/fast": answer(b"x")},
                         limits="callbackTotalSeconds = 1")
        self.assertRegex(got[0][2], r"limits.callbackTotalSeconds: 1 seconds spent, the last of them in body\(\)")
        self.assertEqual(got[1][2], "x<END>")
        got = self.judge("res:body() return true", {"/slow": slowly(head + b"x", 3)}, limits="idleSeconds = 1")[0]
        self.assertEqual(got[0], "504")

    @as_everyone
    def test_chain(self):
        self.write("base.lua", """return { network = { filterResponse = function(res, req)
            if req.path == "/stop" then return false, "base" end
            if req.path == "/pass" then return srt.pass end
            return srt.allow { status = 201, setHeaders = { A = "base", B = "base" }, removeHeaders = { "C" }, setBody = "base" }
            end } }""")
        own = """if req.path == "/own" or req.path == "/pass" then return srt.pass end
            return srt.allow { setHeaders = { b = "own", C = "own" }, removeHeaders = { "A" }, setBody = "own" }"""
        response = answer(b"x", "200 OK", "A: 1", "B: 1", "C: 1")
        both, base, stop, passed = self.judge(own, {path: response for path in ("/x", "/own", "/stop", "/pass")},
                                              chain=', extends = { (require "base") }')
        self.assertEqual((both[0], both[2]), ("201", "own<END>"))
        self.assertIn("\r\nb: own\r\nC: own\r\n", both[1])
        self.assertNotIn("A: ", both[1])
        self.assertEqual((base[0], base[2]), ("201", "base<END>"))
        self.assertNotIn("C: ", base[1])
        self.assertEqual((stop[0], passed[0], passed[2]), ("502", "200", "x<END>"))
        self.assertIn(": base\n", stop[2])

    @as_everyone
    def test_strip(self):
        fields = ("Server: x", "X-Secret: 1", "x-secret: 2", "X-Stays: 3")
        chunked = answer(b"", "200 OK", "Transfer-Encoding: chunked", "Trailer: X-Secret", *fields, length=False)
        answers = {"/a": answer(b"x", "200 OK", *fields), "/c": chunked + chunks(b"x", trailers=b"X-Secret: 4\r\nX-T: 5\r\n"),
                   "/i": b"HTTP/1.1 103 H\r\nServer: x\r\nLink: y\r\n\r\n" + answer(b"x")}
        policy = 'stripResponseHeaders = { "server", "X-SECRET" }'
        with Scripted(answers) as origin:
            got = self.talk(origin, policy, *[[self.post(b"", path=path, method="GET", length=False), "end"] for path in answers])
            for text in got:
                self.assertNotIn("server:", text.lower())
                self.assertNotIn("x-secret:", text.lower())
            self.assertIn("X-Stays: 3", got[0])
            self.assertIn("0\r\nX-T: 5\r\n", got[1])
            self.assertIn("Link: y", got[2])
        seen, kept = self.judge("return srt.allow { setHeaders = { Server = res.headers['X-Secret'] } }", answers, "/a",
                                rest=policy)[0], self.judge("return srt.respond { headers = { Server = 'mine' } }", answers, "/a",
                                                            rest=policy)[0]
        self.assertIn("Server: 1, 2\r\n", seen[1] + "\r\n")
        self.assertIn("Server: mine", kept[1])
        for name in ("Content-Length", "Transfer-Encoding", "a b", ""):
            got = self.run_srt(["true"], '{ network = { stripResponseHeaders = { "%s" } } }' % name)
            self.assertEqual(got.code, 125, name)
            self.assertIn("network.stripResponseHeaders[1]", got.err)

    @as_everyone
    def test_streams_at_once(self):
        """Server-sent events and long polls: each piece is there before the next one is sent."""
        events = answer(b"", "200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked", length=False)
        piece = lambda text: chunks(text)[:-5]
        answers = {"/events": slowly(events, 0.5, piece(b"data: 1\n\n"), 0.5, piece(b"data: 2\n\n"), 0.5, b"0\r\n\r\n"),
                   "/poll": slowly(1.0, answer(b"polled")), "/close": slowly(b"HTTP/1.1 200 OK\r\n\r\none", 0.5, b"two")}
        script = lambda path, *marks: [self.post(b"", path=path, method="GET", length=False), *[
            ("until", mark, True) for mark in marks], "end"]
        for policy in ("filterResponse = function(res) return true end", "filterRequest = function() return true end",
                       "filterResponse = function(res) srt.sleep(0.01) return srt.allow { setHeaders = { A = '1' } } end"):
            with Scripted(answers) as origin:
                sse, poll, close = self.talk(origin, policy, script("/events", b"\r\n\r\n", b"data: 1", b"data: 2"),
                                             script("/poll", b"polled"), script("/close", b"one", b"two"))
                times = [float(t) for t in re.findall(r"<(\d+\.\d)>", sse)]
                self.assertLess(times[0], 0.45)
                self.assertLess(times[1], 0.95)
                self.assertLess(times[2], 1.45)
                self.assertIn("polled", poll)
                self.assertLess(float(re.findall(r"<(\d+\.\d)>", close)[0]), 0.45)

    @as_everyone
    def test_real_clients(self):
        need("curl")
        page = gzip.compress(b"the page says hello\n")
        answers = {"/page": answer(page, "200 OK", "Content-Encoding: gzip", "Content-Type: text/plain")}
        policy = """{ filesystem = { allowWrite = { "." } }, network = { allowedDomains = { "%s" },
          filterRequest = function(req)
            if req.method == "POST" and req:body():find("password", 1, true) then return false, "no passwords" end
            return true end,
          filterResponse = function(res, req)
            local body, why = res:body()
            if not body then return false, why end
            if body:find("virus", 1, true) then return false, "a virus" end
            return srt.allow { setBody = body:gsub("hello", "goodbye") .. "" } end } }"""
        node = "" if not has("node") else """; node -e '
            const http = require("http"), u = new URL(process.env.HTTP_PROXY);
            const r = http.request({ host: u.hostname, port: u.port, path: "http://{@}/echo", method: "POST",
              headers: { Host: "{@}", "Transfer-Encoding": "chunked" } }, res => { let s = "";
              res.on("data", d => s += d); res.on("end", () => console.log(res.statusCode, s.trim())) });
            r.write("from "); r.end("node hello")'"""
        with Scripted(answers) as origin:
            script = """curl -sS --compressed http://{@}/page; curl -sS -d 'my password' http://{@}/echo | head -n 1
                curl -sS -d 'say hello' http://{@}/echo; echo; head -c 3000000 /dev/zero | curl -sS -T - http://{@}/echo | head -n 1
                python3 -c 'import urllib.request as u; print(u.urlopen("http://{@}/echo", b"py hello").read().decode())'""" + node
            got = self.run_sh(script.replace("{@}", origin.name), policy % origin.name)
            lines = got.out.splitlines()
            self.assertEqual(lines[0], "the page says goodbye", got)
            self.assertIn("no passwords", lines[1])
            self.assertEqual(lines[2], "say goodbye")
            self.assertIn("longer than 1048576 bytes", lines[3])
            self.assertEqual(lines[4:], ["py goodbye"] + (["200 from node goodbye"] if node else []), got)


class Cost(Filter):
    @as_everyone
    def test_many_at_once(self):
        """Hundreds of bodies awaited together; others are served, and all come out right."""
        client = """
import socket, threading
def one(i):
    s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(40)
    body = b"%%06d" %% i * 2000
    s.sendall(b"POST http://{@}/echo HTTP/1.1\\r\\nHost: {@}\\r\\nConnection: close\\r\\nContent-Length: %%d\\r\\n\\r\\n" %% len(body))
    for at in range(0, len(body), 4000):
        s.sendall(body[at:at + 4000])
    got = b""
    while data := s.recv(65536):
        got += data
    good[i] = got.endswith(body)
good = {}
threads = [threading.Thread(target=one, args=(i,)) for i in range(%d)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(good.values()))
"""
        count = 300
        with Scripted() as origin:
            self.write("many.py", client.replace("{@}", origin.name) % count)
            got = self.run_srt(["/usr/bin/python3", self.path("many.py")], """{ network = { allowedDomains = { "%s" },
              filterRequest = function(req) return #req:body() == 12000 end,
              filterResponse = function(res) return #res:body() == 12000 end } }""" % origin.name, timeout=120)
            self.assertEqual(got.out, "%d\n" % count, got)


if __name__ == "__main__":
    main()
