# SPDX-License-Identifier: Apache-2.0
"""srt-lua proxy --authz: nginx for real, configured as docs/authz.md says; Envoy, Traefik and Caddy by what they send."""
import os
import re
import subprocess

from lib import ROOT, as_everyone, main, need
from running import until
from server import ADDRESS, Origin
from serving import TOKEN, Serving, answer_to
from tls_origin import free_ports

POLICY = """{ network = { allowedDomains = { "example.com", "127.0.0.1", "127.0.0.2" }, deniedResolvedAddresses = { "10.0.0.0/8" },
  decideConnect = function(conn) return conn.host == "10.1.2.3" end,
  filterRequest = function(req)
    if req.path == "/secret" then return false, "no secrets" end
    if req.path == "/late" then return srt.deny { reason = "not now", status = 429, headers = { ["Retry-After"] = "9" } } end
    if req.path == "/login" then return srt.respond { status = 401, headers = { ["X-Way"] = "in" }, body = "who?" } end
    if req.path == "/made" then return srt.respond { status = 200, body = "made" } end
    if req.path == "/body" then return srt.allow { setBody = "other" } end
    if req.path == "/target" then return srt.allow { setTarget = "/elsewhere" } end
    if req.path == "/read" then return req:body() ~= nil end
    if req.path == "/team" then return srt.allow { setHeaders = { ["X-Team"] = "red" }, removeHeaders = { "Authorization" } } end
    if req.path == "/seen" then
      return false, "seen " .. req.method .. " " .. req.url .. " " .. tostring(req.headers["x-original-uri"])
        .. tostring(req.headers["x-forwarded-proto"]) .. tostring(req.headers["proxy-authorization"])
        .. tostring(req.headers.host) .. tostring(req.headers["x-own"])
    end
    return true end } }"""


def nginx(target, *more, host="example.com", method="GET", proto="https", take="-"):
    return ["GET /nginx/%s HTTP/1.0" % take, "Host: srt-lua", "Connection: close", "X-Original-Method: " + method,
            "X-Original-Host: " + host, "X-Original-URI: " + target, "X-Original-Proto: " + proto, *more]


def envoy(target, *more, method="GET", proto="https", take="-", host="example.com"):
    """With the fields that Envoy adds of its own."""
    return ["%s /envoy/%s%s HTTP/1.1" % (method, take, target), "host: " + host, "content-length: 0", "x-envoy-internal: true",
            "x-forwarded-for: 192.0.2.1", "x-envoy-expected-rq-timeout-ms: 2000", "x-forwarded-proto: " + proto, *more]


def forward(front, target, *more, method="GET", proto="https", take="-", host="example.com"):
    """Traefik asks by its own host, Caddy keeps its client's."""
    return ["GET /%s/%s HTTP/1.1" % (front, take), "Host: " + (host if front == "caddy" else "127.0.0.1:9191"),
            "User-Agent: curl/8", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Host: " + host, "X-Forwarded-Method: " + method,
            "X-Forwarded-Proto: " + proto, "X-Forwarded-Uri: " + target, "Accept-Encoding: gzip", *more]


KINDS = (nginx, envoy, lambda *a, **b: forward("traefik", *a, **b), lambda *a, **b: forward("caddy", *a, **b))
TEAM = "x-team,authorization,cookie"
SENT = ("Authorization: Bearer mine", "Cookie: a=1", "Cookie: b=2")


class Authz(Serving):
    def ask(self, head):
        return answer_to(self.said["authz"][0], head)

    def refused(self, status, part, *heads):
        for head in heads:
            got = self.ask(head)
            self.assertEqual(status, got[0], (head, got))
            self.assertIn(part, got[1]["x-srt-reason"], head)
            self.assertIn(part, got[2], head)

    def each_front(self):
        for ask in KINDS:
            status, fields, body = self.ask(ask("/ok?q=1"))
            self.assertEqual((200, {"content-length"}, ""), (status, set(fields) - {"connection"}, body))
            self.refused(403, "no secrets", ask("/secret?q=1"))
            self.refused(403, "other.test:443 was denied", ask("/ok", host="other.test"))
            self.refused(403, "example.com", ask("/ok", proto="http", host="example.com.evil.test"))
            self.refused(403, "network.deniedResolvedAddresses", ask("/ok", host="10.1.2.3"))
            self.refused(403, "an encoded slash", ask("/a%2fb")) if ask is nginx else self.refused(
                400, "an encoded slash", ask("/a%2fb"))
            self.refused(403, "answers it with 200 itself", ask("/made"))
            self.refused(403, "sets a body", ask("/body"))
            self.refused(403, "sets another target", ask("/target"))
            self.refused(403, "filterRequest", ask("/read"))
            self.refused(403, "changes the header", ask("/team", *SENT))
            # What was asked is judged as its client sent it, and shown without what is the front's.
            self.refused(403, "seen POST https://example.com/seen?q=1 nilnilnilexample.commine",
                         ask("/seen?q=1", "X-Own: mine", method="POST"))
            status, fields, body = self.ask(ask("/login"))
            self.assertEqual((401, "in", "who?"), (status, fields["x-way"], body))
            # A header that is taken from here is the client's own, where nothing changes it.
            status, fields, _ = self.ask(ask("/ok", *SENT, take=TEAM))
            self.assertEqual((200, "Bearer mine", "a=1; b=2"), (status, fields["authorization"], fields["cookie"]))
            self.assertNotIn("x-team", fields)

    def edits(self):
        for ask in KINDS[:3]:
            status, fields, _ = self.ask(ask("/team", *SENT, "X-Team: blue", take=TEAM))
            self.assertEqual((200, "red", "a=1; b=2"), (status, fields["x-team"], fields["cookie"]), fields)
            self.assertNotIn("authorization", fields)
            self.assertEqual("authorization" if ask is envoy else None, fields.get("x-envoy-auth-headers-to-remove"))
        self.refused(403, "which Caddy can't be told", KINDS[3]("/team", *SENT, take=TEAM))
        self.assertEqual((403, 429, 429, 429), tuple(self.ask(ask("/late"))[0] for ask in KINDS))
        self.assertEqual("9", self.ask(envoy("/late"))[1]["retry-after"])

    def unreadable(self):
        plain = nginx("/ok")
        twice = "is there twice"
        for one in plain[3:]:
            self.refused(400, twice, plain + [one])
            self.refused(400, "is missing", [line for line in plain if line != one])
        self.refused(400, twice, envoy("/ok", "X-Forwarded-Proto: http"), KINDS[2]("/ok", "X-Forwarded-Uri: /ok"))
        # Headers of another kind of front are a client's own, and say nothing.
        self.assertEqual(403, self.ask(envoy("/secret", *plain[3:]))[0])
        self.assertEqual(403, self.ask(KINDS[2]("/secret", *plain[3:]))[0])
        self.refused(400, "printable ASCII", *(nginx(target) for target in (
            "http://example.com/ok", "ok", "*", "/a#b", "/a b", "/\xe9", "/a\\b", "/a\tb")))
        self.refused(400, "host of the request", *(nginx("/", host=host) for host in (
            "a b", "user@example.com", "example.com:0", "example.com:99999", "example.com:x", "[::1", "a,b", "/")))
        self.refused(400, "neither http nor https", nginx("/", proto="ftp"), nginx("/", proto="HTTPS"))
        self.refused(400, "method can't be read", nginx("/", method="get"), nginx("/", method="GET /x"))
        self.refused(400, "CONNECT", nginx("/", method="CONNECT"))
        self.refused(400, "the path has to be", ["GET / HTTP/1.1", "Host: a"], ["GET /nginx HTTP/1.1", "Host: a"],
                     ["GET /other/- HTTP/1.1", "Host: a"], [nginx("/")[0].replace("/-", "/-/x"), *nginx("/")[1:]],
                     [nginx("/")[0].replace("/-", "/-?x"), *nginx("/")[1:]])
        self.refused(400, "belongs to the proxy", nginx("/", take="host"), nginx("/", take="x,connection"))
        self.refused(400, "is not a header name", nginx("/", take="a,,b"))
        for head in (["GET http://example.com/nginx/- HTTP/1.1", "Host: example.com"], ["CONNECT example.com:443 HTTP/1.1"],
                     ["GET /nginx/- HTTP/1.1"], ["\5\1\0"]):
            self.assertIn(self.ask(head)[0], (400, 405), head)

    @as_everyone
    def test_what_each_sends(self):
        process = self.serve(POLICY, "--authz", "127.0.0.1")
        self.each_front()
        self.edits()
        self.unreadable()
        report = self.end(process)
        self.assertIn("GET https://example.com:443/late (5 times): not now", report)
        self.assertIn("no secrets", self.run_srt(["violations"]).out)

    def nginx_of_the_docs(self, port, authz, origin):
        with open(ROOT / "docs/authz.md", encoding="utf-8") as file:
            text = re.search(r"```nginx\n(.*?)```", file.read(), re.S)[1]
        for old, new in (("127.0.0.1:8080", "%s:%d" % (ADDRESS, port)), ("127.0.0.1:9191", "127.0.0.1:%d" % authz),
                         ("127.0.0.1:8081", "%s:%d" % (ADDRESS, origin)), ("Bearer TOKEN", "Bearer " + TOKEN)):
            self.assertIn(old, text)
            text = text.replace(old, new)
        config = self.write("nginx.conf", "daemon off; master_process off; pid {0}/pid; error_log {0}/errors;\n"
                            "events {{ worker_connections 64; }}\nhttp {{ access_log off; client_body_temp_path {0}/b;\n"
                            "proxy_temp_path {0}/p; fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;\n"
                            "{1} }}\n".format(self.tmp, text))
        self._kept(subprocess.Popen(self.as_user([need("nginx"), "-p", self.tmp, "-c", config]),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

        def answers():
            try:
                return answer_to(port, ["GET /start HTTP/1.1", "Host: example.com", "Connection: close"], ADDRESS)
            except OSError:
                return None
        self.assertTrue(until(answers), "nginx does not start: " + self.errors())

    def errors(self):
        return self.read("tmp/errors") if os.path.exists(self.path("tmp/errors")) else "no log"

    @as_everyone
    def test_nginx(self):
        process = self.serve(POLICY, "--authz", "127.0.0.1", "--token", self.write("token", TOKEN + "\n"))
        with Origin() as origin:
            port = free_ports(1)[0]
            self.nginx_of_the_docs(port, self.said["authz"][0], origin.port)
            del origin.seen[:]

            def get(target, *more, method="GET", host="example.com"):
                return answer_to(port, ["%s %s HTTP/1.1" % (method, target), "Host: " + host, "Connection: close", *more],
                                 ADDRESS)
            self.assertEqual((200, "hello from /ok?q=1\n"), get("/ok?q=1", "Authorization: mine")[::2], self.errors())
            self.assertEqual("mine", origin.seen[-1][2]["Authorization"])
            self.assertEqual(200, get("/team", "Authorization: mine", "X-Team: blue")[0])
            self.assertEqual(("red", None), tuple(origin.seen[-1][2].get(name) for name in ("X-Team", "Authorization")))
            self.assertEqual("example.com", origin.seen[-1][2]["Host"])
            self.assertEqual(200, get("/ok", "Content-Length: 3", "", "abc", method="POST")[0], self.errors())
            self.assertEqual(("POST", b"abc"), (origin.seen[-1][0], origin.seen[-1][3]))
            served = len(origin.seen)
            # A client can't say what is asked about.
            lies = ("X-Original-URI: /ok", "X-Original-Method: GET", "X-Original-Host: example.com", "X-Original-Proto: https")
            self.assertEqual(403, get("/secret", *lies)[0])
            status, _, body = get("/secret")
            self.assertEqual(403, status)
            self.assertIn("no secrets", body)
            self.assertEqual(403, get("/ok", host="other.test")[0])
            self.assertEqual(403, get("/x/%2e%2e/ok")[0])
            self.assertEqual(403, get("//secret")[0])
            self.assertEqual(401, get("/login")[0])
            self.assertEqual(500, get("/a#b")[0])
            self.assertEqual(served, len(origin.seen), "something denied came through")
            status, fields, _ = self.ask(nginx("/ok"))
            self.assertEqual((401, 'Basic realm="srt"', None),
                             (status, fields.get("www-authenticate"), fields.get("proxy-authenticate")))
            self.assertEqual(401, self.ask(nginx("/ok", "Proxy-Authorization: Bearer no"))[0])
            self.end(process)
            # Without the service nothing passes.
            self.assertEqual(500, get("/ok")[0])
            self.assertEqual(served, len(origin.seen))

    @as_everyone
    def test_policies_it_cannot_hold(self):
        for key, part in (("network = { allowedDomains = { 'a.test' }, filterResponse = function() return true end }", "filterResponse"),
                          ("secrets = { t = { env = 'T', hosts = { 'a.test' } } }, network = { allowedDomains = { 'a.test' } }",
                           "secrets and credentials")):
            result = self.run_srt(["proxy", self.policy("{ %s }" % key), "--authz", "127.0.0.1"], env={"T": "tttttttttttt"})
            self.assertEqual((125, ""), (result.code, result.out), result)
            self.assertIn(part, result.err)


if __name__ == "__main__":
    main()
