# SPDX-License-Identifier: Apache-2.0
"""filterRequest with bodies and edits, on the wire: raw requests from inside, a scripted origin outside."""
import ast
import gzip
import resource
import socket
import time
import unittest
import zlib

from filtering import CLIENT, Scripted, answer, bomb, chunks, raw_deflate
from lib import Case, as_everyone, main
from server import ADDRESS

MIB = 1 << 20


class Filter(Case):
    def talk(self, origin, policy, *scripts, rest="", limits="", allowed="", **more):
        """What each script got back, as text; "{@}" in bytes stands for the origin's host and port."""
        where = origin.name.encode()
        self.write("client.py", CLIENT)
        names = []
        for i, script in enumerate(scripts):
            steps = [step.replace(b"{@}", where) if isinstance(step, bytes) else step for step in script]
            names.append(self.write("script%d" % i, repr(steps)))
        text = "return { network = { allowedDomains = { '%s' %s }, %s }, limits = { %s } %s }" % (
            origin.name, allowed, policy, limits, rest)
        got = self.run_srt(["/usr/bin/python3", self.path("client.py"), *names], text, **more)
        self.assertEqual(got.code, 0, repr(got))
        self.err = got.err
        return [ast.literal_eval(line).decode("latin-1") for line in got.out.splitlines()]

    @staticmethod
    def post(body, *fields, path="/echo", length=True, method="POST"):
        head = ["%s http://{@}%s HTTP/1.1" % (method, path), "Host: {@}", *fields]
        if length:
            head.append("Content-Length: %d" % len(body))
        return "\r\n".join(head + ["", ""]).encode() + body


class Origins(unittest.TestCase):
    def test_one_that_is_over_takes_nothing_more(self):
        """What waits in accept() when its socket is closed takes connections of the next one, once a signal has come."""
        with Scripted() as origin:
            pass
        self.assertFalse(origin.accepting.is_alive())
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((ADDRESS, origin.port))


SHOW = """filterRequest = function(req)
  local body, why = req:body(%s)
  return srt.respond { body = body and ("<" .. #body .. ":" .. body:sub(1, 60) .. ">") or "none: " .. why }
end"""


class Bodies(Filter):
    def shown(self, *messages, most="", **more):
        with Scripted() as origin:
            got = self.talk(origin, SHOW % most, *[[message, "end"] for message in messages], **more)
            self.assertEqual(origin.seen, [])
            return [text.partition("\r\n\r\n")[2].removesuffix("<END>") for text in got]

    @as_everyone
    def test_decoded(self):
        text, post = b"the quick brown fox", self.post
        twice = gzip.compress(gzip.compress(text))
        messages = [
            post(text), post(b""), post(b"", method="GET", length=False),
            post(chunks(text[:3], text[3:]), "Transfer-Encoding: chunked", length=False),
            post(gzip.compress(text), "Content-Encoding: gzip"), post(gzip.compress(text), "Content-Encoding: X-GZip"),
            post(zlib.compress(text), "Content-Encoding: deflate"), post(raw_deflate(text), "Content-Encoding: deflate"),
            post(gzip.compress(text[:5]) + gzip.compress(text[5:]), "Content-Encoding: gzip"),
            post(twice, "Content-Encoding: gzip, gzip"), post(twice, "Content-Encoding: gzip", "Content-Encoding: gzip"),
            post(zlib.compress(gzip.compress(text)), "Content-Encoding: gzip, identity, deflate"),
            post(chunks(gzip.compress(text)), "Content-Encoding: gzip", "Transfer-Encoding: chunked", length=False),
            post(b"", "Content-Encoding: gzip")]
        want = "<%d:%s>" % (len(text), text.decode())
        for i, (got, expected) in enumerate(zip(self.shown(*messages), [want, "<0:>", "<0:>"] + [want] * 10 + ["<0:>"])):
            self.assertEqual(got, expected, messages[i])

    @as_everyone
    def test_not_decoded(self):
        text, post, packed = b"x" * 500, self.post, gzip.compress(b"x" * 500)
        broken = packed[:20] + b"\0\0\0" + packed[23:]
        cases = [
            (post(packed[:-3], "Content-Encoding: gzip"), "it ends within its content coding"),
            (post(packed[:5], "Content-Encoding: gzip"), "it ends within its content coding"),
            (post(broken, "Content-Encoding: gzip"), "its content coding is broken"),
            (post(packed + b"more", "Content-Encoding: gzip"), "its content coding is broken"),
            (post(packed[:-8] + b"\0" * 8, "Content-Encoding: gzip"), "its content coding is broken"),
            (post(text, "Content-Encoding: gzip"), "its content coding is broken"),
            (post(zlib.compress(text) + b"more", "Content-Encoding: deflate"), "something follows the end of its coding"),
            (post(text, "Content-Encoding: br"), "its content coding is none of gzip and deflate"),
            (post(packed, "Content-Encoding: gzip, zstd"), "its content coding is none of gzip and deflate"),
            (post(packed, "Content-Encoding: gzip, gzip, gzip, gzip, gzip"), "it has too many content codings")]
        for (message, why), got in zip(cases, self.shown(*[message for message, _ in cases])):
            self.assertEqual(got, "none: " + why, message)

    @as_everyone
    def test_bounds(self):
        small, post = bomb(64 * MIB), self.post
        nested = bomb(256 * MIB, 3)
        started = time.monotonic()
        got = self.shown(post(b"x" * 1000), post(b"x" * 1001), post(small, "Content-Encoding: gzip"),
                         post(gzip.compress(b"x" * 5000), "Content-Encoding: gzip"),
                         post(nested, "Content-Encoding: gzip, gzip, gzip"),
                         post(chunks(b"x" * 600, b"x" * 600), "Transfer-Encoding: chunked", length=False), most="1000")
        long = "none: it is longer than 1000 bytes"
        self.assertEqual(got, ["<1000:%s>" % ("x" * 60), long, long, long, long, long])
        self.assertLess(time.monotonic() - started, 20)
        got = self.shown(post(b"x" * MIB), post(b"x" * (MIB + 1)), post(small, "Content-Encoding: gzip"),
                         post(nested, "Content-Encoding: gzip, gzip, gzip"), post(b"x" * (2 * MIB)))
        self.assertEqual(got[0], "<%d:%s>" % (MIB, "x" * 60))
        self.assertEqual(got[1:], ["none: it is longer than %d bytes (limits.bodyBytes)" % MIB] * 4)
        got = self.shown(post(b"x" * (MIB + 1)), post(b"x" * (2 * MIB + 1)), limits="bodyBytes = 2 << 20",
                         most="50 << 20")
        self.assertEqual(got[0], "<%d:%s>" % (MIB + 1, "x" * 60))
        self.assertIn("limits.bodyBytes", got[1])

    @as_everyone
    def test_ten_gibibytes(self):
        """A bomb is not even tried beyond what was asked for."""
        packed = bomb(10 << 30)
        # All of it would take ten times as long.
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        got = self.shown(self.post(packed[:900000], "Content-Encoding: gzip"), self.post(packed, "Content-Encoding: gzip"))
        self.assertEqual(got, ["none: it is longer than %d bytes (limits.bodyBytes)" % MIB] * 2)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before.ru_utime, 2)

    @as_everyone
    def test_forwarded_as_they_came(self):
        policy = """filterRequest = function(req)
          local body, why = req:body(2000)
          if body and body:find("secret") then return false, "it holds a secret" end
          return srt.allow { setHeaders = { ["X-Seen"] = tostring(body and #body or why) } } end"""
        packed, big = gzip.compress(b"plain text"), bytes(range(256)) * 4000
        with Scripted() as origin:
            got = self.talk(
                origin, policy, [self.post(packed, "Content-Encoding: gzip"), "end"],
                [self.post(gzip.compress(b"the secret"), "Content-Encoding: gzip"), "end"],
                [self.post(chunks(b"abc", b"def", trailers=b"X-Sum: 7\r\nX-Other: 8\r\n"), "Transfer-Encoding: chunked",
                           "Trailer: X-Sum", length=False), "end"],
                [self.post(big, "Connection: close"), ],
                [self.post(chunks(big[:1500], big[1500:90000], big[90000:]), "Transfer-Encoding: chunked", "Connection: close",
                           length=False)],
                [self.post(b"", method="GET", length=False), "end"])
            one, three, four, five, six = origin.seen
            self.assertEqual((one.body, one.get("Content-Encoding"), one.get("Content-Length"), one.get("X-Seen")),
                             (packed, "gzip", str(len(packed)), "10"))
            self.assertRegex(got[1], "(?s)^HTTP/1.1 403 .*it holds a secret")
            self.assertEqual((three.body, three.get("Transfer-Encoding"), three.trailers, three.get("X-Seen")),
                             (b"abcdef", "chunked", b"X-Sum: 7\r\n", "6"))
            self.assertEqual((four.body, four.get("Content-Length")), (big, str(len(big))))
            self.assertEqual(four.get("X-Seen"), "it is longer than 2000 bytes")
            self.assertEqual(five.body, big)
            self.assertEqual((six.get("Content-Length"), six.get("X-Seen")), (None, "0"))
            for i in (0, 2, 3, 4, 5):
                self.assertRegex(got[i], "^HTTP/1.1 200 ")

    @as_everyone
    def test_slow_ones_keep_nobody_waiting(self):
        policy = """filterRequest = function(req)
          if req.path == "/slow" then local body = req:body() return srt.respond { body = body } end
          return true end"""
        slow = [self.post(b"", path="/slow", length=False)[:-2] + b"Content-Length: 9\r\n\r\nabc", 2.5, b"def", 2.5, b"ghi",
                "end"]
        with Scripted() as origin:
            fast = [self.post(b"", path="/fast", method="GET", length=False), "end"]
            policy += ", decideConnect = function() return true end"
            # Both at once: a shell starts the clients.
            self.write("client.py", CLIENT)
            for name, steps in (("slow", slow), ("fast", fast)):
                self.write(name, repr([s.replace(b"{@}", origin.name.encode()) if isinstance(s, bytes) else s for s in steps]))
            script = "p=%s; python3 $p/client.py $p/slow > slow & sleep 0.4; for i in 1 2 3; do python3 $p/client.py $p/fast; done; " \
                     "test -s slow && echo early; wait; cat slow" % self.dir
            got = self.run_sh(script, "{ filesystem = { allowWrite = { '.' } }, network = { allowedDomains = { '%s' }, %s } }" %
                              (origin.name, policy))
            lines = got.out.splitlines()
            self.assertEqual(len(lines), 4, got)
            self.assertTrue(all("200 OK" in line for line in lines), got)
            self.assertIn("abcdefghi", lines[3])

    @as_everyone
    def test_expect(self):
        policy = """filterRequest = function(req)
          if req.path == "/no" then return false, "not at all" end
          if req.path == "/head" then return true end
          local body = req:body()
          return body ~= "bad", "bad body" end"""
        head = self.post(b"", "Expect: 100-continue", "Content-Length: 3", length=False)
        invited = ("until", b"100 Continue\r\n\r\n")
        with Scripted() as origin:
            ok, bad, early, no, streamed = self.talk(
                origin, policy, [head, invited, b"abc", "end"], [head, invited, b"bad", "end"], [head + b"abc", "end"],
                [head.replace(b"/echo", b"/no")], [head.replace(b"/echo", b"/head"), invited, b"abc", "end"])
            self.assertRegex(ok, r"(?s)^HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n.*abc<END>$")
            self.assertRegex(bad, r"(?s)^HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 .*bad body")
            self.assertRegex(early, r"(?s)^HTTP/1.1 200 OK\r\n.*abc<END>$")
            self.assertRegex(no, r"(?s)^HTTP/1.1 403 .*not at all.*<END>$")
            self.assertRegex(streamed, r"(?s)^HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n.*abc<END>$")
            self.assertEqual([seen.get("Expect") for seen in origin.seen], [None, None, "100-continue"])

    @as_everyone
    def test_clients_that_go_or_lie(self):
        policy = """filterRequest = function(req)
          if req.path == "/count" then return srt.respond { body = "seen " .. (srt.state.n or 0) } end
          req:body() srt.state.n = (srt.state.n or 0) + 1 return true end"""
        half = self.post(b"", "Content-Length: 9", length=False) + b"abc"
        broken = self.post(b"", "Transfer-Encoding: chunked", length=False) + b"3\r\nabc\r\n"
        with Scripted() as origin:
            got = self.talk(origin, policy, [half, 0.2, "close"], [half, 0.2, "reset"], [half, 0.2, "end"],
                            [broken, 0.2, b"nonsense\r\n", "end"],
                            [self.post(b"", path="/count", length=False), "end"], limits="waitingCallbacks = 3")
            self.assertEqual(got[2], "<END>")
            self.assertRegex(got[3], "(?s)^HTTP/1.1 400 .*chunk size")
            self.assertIn("seen 0", got[4])
            self.assertEqual(origin.seen, [])

    @as_everyone
    def test_pipelined(self):
        policy = """filterRequest = function(req)
          if req.method == "POST" then local body = req:body() return body ~= "no", "no" end
          return true end"""
        all = self.post(b"one") + self.post(b"no") + self.post(chunks(b"two"), "Transfer-Encoding: chunked", length=False) + \
            self.post(b"", path="/get", method="GET", length=False) + self.post(b"last", "Connection: close")
        with Scripted() as origin:
            all = all.replace(b"{@}", origin.name.encode())
            at_once, split = self.talk(origin, policy, [all], [*[all[i:i + 1] for i in range(len(all))]])
            for text in at_once, split:
                self.assertEqual([word for word in text.replace("\r\n", " ").split() if word in ("200", "403")],
                                 ["200", "403", "200", "200", "200"])
                self.assertTrue(text.endswith("last<END>"), text)
            self.assertEqual([seen.body for seen in origin.seen], [b"one", b"two", b"", b"last"] * 2)

    @as_everyone
    def test_budgets_and_misuse(self):
        policy = """filterRequest = function(req)
          if req.path == "/again" then
            local none, why = req:body(3)
            local all = req:body(10)
            return srt.respond { body = tostring(none) .. " " .. why .. " " .. all .. " " .. req:body(5) }
          elseif req.path == "/late" then
            srt.state.kept.headers = nil
          elseif req.path == "/keep" then
            srt.state.kept = req
            return srt.respond { body = req:body() }
          elseif req.path == "/kept" then
            return srt.respond { body = select(2, pcall(srt.state.kept.body, srt.state.kept)) }
          elseif req.path == "/zero" then
            req:body(0)
          elseif req.path == "/in" then
            return ("x"):gsub("x", function() return req:body() end)
          elseif req.path == "/find" then
            return req:body(2):find("x") ~= nil
          end
          req:body()
        end"""
        slow = self.post(b"", "Content-Length: 9", path="/spent", length=False)
        with Scripted() as origin:
            again, keep, kept, zero, inner, find, spent = self.talk(
                origin, policy, *[[self.post(b"abcde", path=path), "end"] for path in (
                    "/again", "/keep", "/kept", "/zero", "/in", "/find")], [slow, 2.0, "end"],
                limits="callbackTotalSeconds = 1")
            self.assertIn("nil it is longer than 3 bytes abcde abcde", again)
            self.assertIn("abcde", keep)
            self.assertIn("request is over", kept)
            self.assertRegex(zero, "(?s) 403 .*must be more than 0")
            self.assertRegex(inner, "(?s) 403 .*can't wait inside")
            self.assertRegex(find, "(?s) 403 .*nil")
            self.assertRegex(spent, r"(?s) 403 .*limits.callbackTotalSeconds: 1 seconds spent, the last of them in body\(\)")
            self.assertEqual(origin.seen, [])

    @as_everyone
    def test_held_for_all_together(self):
        with Scripted() as origin:
            got = self.talk(origin, SHOW % "", [self.post(b"x" * (3 * MIB)), "end"],
                            [self.post(b"abc"), "end"], limits="bodyBytes = 64 << 20, bufferBytes = 1 << 20")
            self.assertIn("too much is held for all connections together (limits.bufferBytes)", got[0])
            self.assertIn("<3:abc>", got[1])


class Edits(Filter):
    def edit(self, edits, message=None, answers=None, rest="", steps=("end",), **more):
        """The request that the origin saw, and what the client got."""
        with Scripted(answers) as origin:
            got = self.talk(origin, "filterRequest = function(req) return srt.allow { %s } end, %s" % (
                edits.replace("{@}", origin.name), rest), [message or self.post(b"body"), *steps], **more)[0]
            return (origin.seen[-1] if origin.seen else None), got

    @as_everyone
    def test_headers(self):
        seen, _ = self.edit("setHeaders = { ['X-Two'] = 'new', ['X-New'] = '1' }, removeHeaders = { 'x-gone', 'Accept' }",
                            self.post(b"body", "x-two: a", "X-Gone: 1", "X-Two: b", "accept: */*", "X-Stays: 1"))
        self.assertEqual([f for f in seen.fields if f[0].lower().startswith(("x-", "acc"))],
                         [("X-Stays", "1"), ("X-New", "1"), ("X-Two", "new")])
        for name in ("Content-Length", "transfer-encoding", "Connection", "Host", "TE", "Trailer", "Upgrade",
                     "Proxy-Authorization", "Keep-Alive", "Expect"):
            for how in ("setHeaders = { ['%s'] = 'x' }", "removeHeaders = { '%s' }"):
                seen, got = self.edit(how % name)
                self.assertIsNone(seen)
                self.assertRegex(got, "(?s)^HTTP/1.1 403 .*the header %s belongs to the proxy" % name)

    @as_everyone
    def test_body(self):
        digest = ("Content-Encoding: gzip", "Content-MD5: x", "Digest: y")
        seen, got = self.edit("setBody = 'another'", self.post(gzip.compress(b"x"), *digest))
        self.assertEqual((seen.body, seen.get("Content-Length"), seen.get("Content-Encoding"), seen.get("Digest"),
                          seen.get("Content-MD5")), (b"another", "7", None, None, None))
        self.assertTrue(got.endswith("another<END>"), got)
        seen, _ = self.edit("setBody = 'x', setHeaders = { ['Content-Encoding'] = 'br' }")
        self.assertEqual(seen.get("Content-Encoding"), "br")
        seen, _ = self.edit("setBody = ''")
        self.assertEqual((seen.body, seen.get("Content-Length")), (b"", "0"))
        seen, _ = self.edit("setBody = 'added'", self.post(b"", method="GET", length=False))
        self.assertEqual((seen.method, seen.body, seen.get("Content-Length")), ("GET", b"added", "5"))
        seen, _ = self.edit("setBody = 'x'", self.post(chunks(b"a", b"b", trailers=b"X-T: 1\r\n"), "Transfer-Encoding: chunked",
                                                       "Trailer: X-T", length=False))
        self.assertEqual((seen.body, seen.get("Transfer-Encoding"), seen.get("Trailer"), seen.trailers), (b"x", None, None, b""))
        seen, _ = self.edit("setBody = req:body():upper()")
        self.assertEqual(seen.body, b"BODY")
        seen, got = self.edit("setBody = 'x'", self.post(b"", "Expect: 100-continue", "Content-Length: 5000", length=False),
                              steps=())
        self.assertEqual((seen.body, seen.get("Expect")), (b"x", None))
        self.assertTrue(got.startswith("HTTP/1.1 200 OK") and got.endswith("x<END>"), got)
        seen, got = self.edit("setBody = 'x'", self.post(b"y" * (4 * MIB)))
        self.assertEqual(seen.body, b"x")
        self.assertTrue(got.startswith("HTTP/1.1 200 OK"), got)

    @as_everyone
    def test_target(self):
        seen, _ = self.edit("setTarget = '/other?a=b'", self.post(b"body", path="/first?q"))
        self.assertEqual((seen.line, seen.body), ("POST /other?a=b HTTP/1.1", b"body"))
        seen, _ = self.edit("setTarget = req.path .. '/more'", self.post(b"", path="/first?q"))
        self.assertEqual(seen.line, "POST /first/more HTTP/1.1")
        seen, _ = self.edit("setTarget = 'http://{@}?x'")
        self.assertEqual(seen.line, "POST /?x HTTP/1.1")
        for target, why in (("x", "neither a path nor a URL"), ("/a b", "has to be encoded"), ("/a\\r\\nX: y", "has to be"),
                            ("/ü", "has to be encoded"), ("https://a.test/", "can't change the scheme"),
                            ("http://u@a.test/", "can't be read"), ("http://a.test:0/", "can't be read"),
                            ("http://a.test:99999/", "can't be read"), ("http://[::1/", "can't be read"),
                            ("http://other.test/", "other.test:80 is not in network.allowedDomains"),
                            ("http://127.0.0.3:1/", "127.0.0.3:1 is not in network.allowedDomains")):
            seen, got = self.edit("setTarget = '%s'" % target)
            self.assertIsNone(seen, target)
            self.assertRegex(got, "(?s)^HTTP/1.1 403 .*" + why)

    @as_everyone
    def test_another_host(self):
        with Scripted() as first, Scripted() as second:
            policy = "filterRequest = function(req) return srt.allow { setTarget = 'http://%s/there' } end" % second.name
            got = self.talk(first, policy, [self.post(b"body"), "end"], allowed=", '%s'" % second.name)[0]
            self.assertRegex(got, "^HTTP/1.1 200 OK")
            self.assertEqual(first.seen, [])
            self.assertEqual((second.seen[0].line, second.seen[0].get("Host"), second.seen[0].body),
                             ("POST /there HTTP/1.1", second.name, b"body"))
            asked = "decideConnect = function(c) return c.port == %d, 'only one' end, " % second.port
            got = self.talk(first, asked + policy, [self.post(b"body"), "end"], allowed="")[0]
            # What a callback allows is still no address of this machine.
            self.assertRegex(got, "(?s)^HTTP/1.1 403 .*loopback")

    @as_everyone
    def test_observers(self):
        seen, got = self.edit("""onResponse = function(status, headers)
              srt.log.info("seen " .. status .. " " .. headers["X-Kind"] .. " " .. req_of) return false end""",
                              answers={"/echo": answer(b"all", "203 So", "X-Kind: a", "X-Kind: b")},
                              rest="decideConnect = (function() req_of = 'mine' end)()")
        self.assertTrue(got.startswith("HTTP/1.1 203 So\r\n") and got.endswith("all<END>"), got)
        self.assertIn("seen 203 a, b mine", self.err)
        for body in ("error('boom')", "while true do end", "return headers.x.y"):
            _, got = self.edit("onResponse = function(status, headers) %s end" % body)
            self.assertTrue(got.startswith("HTTP/1.1 200 OK"), got)

    @as_everyone
    def test_chain(self):
        self.write("base.lua", """return { network = { filterRequest = function(req)
            if req.path == "/stop" then return false, "base" end
            if req.path == "/answer" then return srt.respond { body = "base answers" } end
            if req.path == "/pass" then return srt.pass end
            return srt.allow { setHeaders = { A = "base", B = "base" }, removeHeaders = { "C" }, setBody = "base",
              setTarget = "/base", onResponse = function() srt.log.info("base observes") end } end } }""")
        own = """filterRequest = function(req)
            if req.path == "/own" then return srt.pass end
            return srt.allow { setHeaders = { b = "own", C = "own" }, removeHeaders = { "A" }, setBody = "own",
              onResponse = function() srt.log.info("own observes") end } end"""
        with Scripted() as origin:
            both, one, stop, said = self.talk(
                origin, own, *[[self.post(b"x", "A: 1", "B: 1", "C: 1", path=path), "end"] for path in (
                    "/x", "/own", "/stop", "/answer")], rest=', extends = { (require "base") }')
            seen = origin.seen[0]
            self.assertEqual((seen.line, seen.body, seen.get("A"), seen.get("B"), seen.get("C")),
                             ("POST /base HTTP/1.1", b"own", None, "own", "own"))
            self.assertIn("base observes\n", self.err)
            self.assertLess(self.err.index("base observes"), self.err.index("own observes"))
            seen = origin.seen[1]
            self.assertEqual((seen.line, seen.body, seen.get("A"), seen.get("B"), seen.get("C")),
                             ("POST /base HTTP/1.1", b"base", "base", "base", None))
            self.assertRegex(stop, "(?s)^HTTP/1.1 403 .*: base\n")
            self.assertTrue(said.endswith("base answers<END>"), said)
            self.assertEqual(len(origin.seen), 2)


class Fields(Filter):
    @as_everyone
    def test_request(self):
        policy = """filterRequest = function(req)
          local names = {}
          for _, field in ipairs(req:fields()) do names[#names + 1] = field.name .. "=" .. field.value end
          return srt.respond { body = table.concat({ req.method, req.scheme, req.host, req.port == %d and "port" or "?", req.path,
            req.query or "-", req.target, req.url, req.headers["x-TWO"], req:header("X-two"),
            table.concat(req:values("x-two"), "|"), #req:values("none"), table.concat(names, ","), tostring(req.sni),
            req.conn.protocol, tostring(pcall(function() req.path = "/x" end)) }, "\\n") } end,
          ambiguousRequestTarget = "normalize" """
        with Scripted() as origin:
            got = self.talk(origin, policy % origin.port,
                            [self.post(b"", "X-Two: b", "Other: 1", "x-two: a", path="/a/../%7Euser?q=%2e", method="GET",
                                       length=False), "end"])[0]
            url = "http://" + origin.name
            self.assertEqual(got.partition("\r\n\r\n")[2].removesuffix("<END>").split("\n"), [
                "GET", "http", ADDRESS, "port", "/%7Euser", "q=%2e", url + "/a/../%7Euser?q=%2e", url + "/%7Euser?q=%2e",
                "b, a", "b, a", "b|a", "0", "Host=%s,X-Two=b,Other=1,x-two=a" % origin.name, "nil", "http", "false"])

    @as_everyone
    def test_host_and_methods(self):
        with Scripted() as origin:
            other = self.post(b"", method="GET", length=False).replace(b"Host: {@}", b"Host: evil.test")
            trace = self.post(b"", method="TRACE", length=False)
            track = self.post(b"", method="TRACK", length=False)
            same = self.post(b"", method="GET", length=False)
            old = b"GET http://{@}/old HTTP/1.0\r\n\r\n"
            for policy in ("requireHostMatch = true", "filterRequest = function() return true end"):
                got = self.talk(origin, policy, [other], [trace], [track], [same, "end"], [old])
                self.assertEqual([text.split(" ")[1] for text in got], ["421", "405", "405", "200", "200"])


if __name__ == "__main__":
    main()
