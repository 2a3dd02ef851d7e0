# SPDX-License-Identifier: Apache-2.0
"""TLS termination with the real binary: what is seen, decided, passed on and refused, to nginx and scripted servers.

The servers are on an address that the policy names without a port, so there is no way to them but the proxy.
"""
import json
import os
import ssl
import time

from lib import Case, as_everyone, main, need
from server import ADDRESS
from tls_origin import Scripted, Site, read_head

SITE = Site()

# A client of TLS through the proxy for those tests that need bytes of their own.
CLIENT = """
import os, socket, ssl, sys, time
proxy = os.environ["https_proxy"].split("//")[1].split(":")
def tunnel(port, host="%s"):
    s = socket.create_connection((proxy[0], int(proxy[1])), timeout=20)
    s.sendall(b"CONNECT %%s:%%d HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" %% (host.encode(), port))
    head = b""
    while b"\\r\\n\\r\\n" not in head:
        more = s.recv(1)
        if not more: break
        head += more
    return s, head.decode()
def secure(port, name=None, host="%s", **more):
    s, head = tunnel(port, host)
    assert " 200 " in head, head
    c = ssl.create_default_context(cafile="%s")
    if name is None: c.check_hostname = False
    for key, value in more.items(): setattr(c, key, value)
    return c.wrap_socket(s, server_hostname=name)
def get(path, host, more=""):
    return ("GET %%s HTTP/1.1\\r\\nHost: %%s\\r\\n%%s\\r\\n" %% (path, host, more)).encode()
""" % (ADDRESS, ADDRESS, SITE.ours.cert)

FILTER = """filterRequest = function(req)
  srt.log.info(req.method, req.url, req.sni or "-", req.conn.protocol)
  if req.path:find("^/deny") then return false, "not this" end
  return srt.allow { setHeaders = { ["X-Added"] = "yes" } }
end"""


def setUpModule():
    SITE.__enter__()


def tearDownModule():
    SITE.__exit__()


class Base(Case):
    def policy_text(self, more=FILTER, tls="", hosts=()):
        entries = ", ".join('"%s"' % entry for entry in (ADDRESS, *hosts))
        return """{ network = { allowedDomains = { %s }, tlsTerminate = { caCertPath = "%s", caKeyPath = "%s",
  extraCaCertPaths = { "%s" }, %s }, %s } }""" % (entries, SITE.ours.cert, SITE.ours.key, SITE.root.cert, tls, more)

    def inside(self, script, more=FILTER, tls="", hosts=(), **other):
        return self.run_sh(script, self.policy_text(more, tls, hosts), timeout=60, **other)

    def python(self, script, more=FILTER, tls="", **other):
        self.write("w/client.py", CLIENT + script)
        return self.inside("/usr/bin/python3 client.py", more, tls, **other)

    def curl(self, *words):
        return need("curl") + " -sS --max-time 20 --cacert %s %s" % (SITE.ours.cert, " ".join(words))

    def good(self, got, *words):
        self.assertEqual(0, got.code, got)
        for word in words:
            self.assertIn(word, got.out, got)
        return got


class Tls(Base):
    @as_everyone
    def test_request(self):
        url = SITE.url("good", "/echo?a=1")
        got = self.good(self.inside(self.curl(url)), "GET /echo?a=1 host=%s:%d added=yes" % (ADDRESS, SITE.ports["good"]))
        self.assertIn("GET %s - connect" % url, got.err, got)

    @as_everyone
    def test_denied(self):
        got = self.good(self.inside(self.curl("-i", SITE.url("good", "/deny/x"))), "HTTP/1.1 403 Forbidden",
                        "X-Proxy-Error: blocked-by-policy", "not this")
        self.assertNotIn("added=", got.out)

    def test_versions(self):
        self.good(self.inside(self.curl(SITE.url("old"))), "added=yes")
        self.good(self.inside(self.curl(SITE.url("ec"))), "added=yes")
        self.good(self.inside(self.curl("-i", SITE.url("new"))), "HTTP/1.1 502 ", "X-Proxy-Error: upstream-failure",
                  "speaks only TLS 1.3", "network.tlsTerminate.excludeDomains")

    def test_bad_certificates(self):
        for kind, why in (("wrong", "for another name: other.test"), ("expired", "its certificate expired on "),
                          ("self", "network.tlsTerminate.extraCaCertPaths")):
            with self.subTest(kind=kind):
                got = self.good(self.inside(self.curl("-i", SITE.url(kind, host=ADDRESS))), "HTTP/1.1 502 ",
                                "X-Proxy-Error: upstream-failure", why,
                                "%s:%d can't be trusted: " % (ADDRESS, SITE.ports[kind]))
                # Other roots help against no wrong name or date.
                self.assertEqual(kind == "self", "extraCaCertPaths" in got.out, got)

    def test_failures_are_told(self):
        """A server that can't be trusted, one that can't be read, a program that does not trust us; not who hangs up."""
        self.write("w/client.py", CLIENT + """
tunnel(%d)[0].close()
try: ssl.create_default_context(cafile="%s").wrap_socket(tunnel(%d)[0], server_hostname="%s")
except ssl.SSLCertVerificationError: print("distrusted")""" % (SITE.ports["good"], SITE.root.cert, SITE.ports["good"], ADDRESS))
        got = self.inside("/usr/bin/python3 client.py; %s; %s" % (self.curl(SITE.url("expired", host=ADDRESS)), self.curl(SITE.url("new"))),
                          options=("--report", "json"))
        said = [(v["kind"], v["target"], v["rule"], v.get("advice"), v["reason"])
                for v in json.loads(got.err.splitlines()[-1])["violations"]]
        names = ["%s:%d" % (ADDRESS, SITE.ports[kind]) for kind in ("good", "expired", "new")]
        self.assertIn("distrusted", got.out, got)
        self.assertEqual([("connect", name, "network.tlsTerminate") for name in names], [row[:3] for row in said], got)
        self.assertEqual(['add "%s" to network.tlsTerminate.excludeDomains' % names[0], None, None], [row[3] for row in said])
        for row, words in zip(said, ("the program does not trust the CA of this run", "the server can't be trusted: ",
                                     "the server speaks only TLS 1.3")):
            self.assertIn(words, row[4], got)

    def test_client_certificates(self):
        # nginx says so itself; one that fails the handshake is told about by us.
        self.good(self.inside(self.curl("-i", SITE.url("mtls"))), "400 No required SSL certificate was sent")

    def test_excluded(self):
        exclude = 'excludeDomains = { "%s:%d" }' % (ADDRESS, SITE.ports["good"])
        curl = need("curl") + " -sS --cacert %s " % SITE.root.cert
        got = self.good(self.inside(curl + SITE.url("good"), tls=exclude), "added= ")
        self.assertNotIn("GET", got.err, got)
        # It is terminated on other ports, and may be refused.
        self.assertNotEqual(0, self.inside(curl + SITE.url("old"), tls=exclude).code)
        got = self.inside(self.curl("-v", SITE.url("good")), FILTER + ", refuseOpaqueTunnels = true", exclude)
        self.assertIn("< HTTP/1.1 403 ", got.err, got)
        self.assertIn("excludeDomains", got.err, got)

    def test_not_allowed(self):
        got = self.inside(self.curl("-v", "https://other.test/"))
        self.assertIn("403 other.test:443 is not in network.allowedDomains", got.err, got)

    def test_keep_alive(self):
        url = SITE.url("good")
        got = self.good(self.inside(self.curl(*[url] * 4)), *["conn=%d" % i for i in range(1, 5)])
        self.assertEqual(4, got.err.count("GET " + url), got)

    def test_upstream_is_kept(self):
        got = self.inside("for i in 1 2 3; do %s; done" % self.curl(SITE.url("good")))
        self.good(got, "conn=3")

    def test_big_both_ways(self):
        got = self.inside("%s | sha256sum; sha256sum < %s/www/big" % (self.curl(SITE.url("good", "/big")), SITE.folder))
        sums = got.out.split("\n")
        self.assertEqual(sums[0], sums[1], got)

    def test_bodies_and_responses(self):
        def serve(tls):
            head = read_head(tls)
            size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            body = b""
            while len(body) < size:
                body += tls.recv(size - len(body))
            tls.sendall(b"HTTP/1.1 200 OK\r\nX-Inner: 1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        with Scripted(SITE, serve) as server:
            got = self.inside(self.curl("-i", "-d name=value", "https://%s:%d/" % (ADDRESS, server.port)),
                              """filterRequest = function(req) return srt.allow { setBody = req:body():upper() } end,
  filterResponse = function(res, req) return srt.allow { removeHeaders = { "X-Inner" },
    setBody = req.url .. " " .. res:body() } end""")
        self.good(got, "https://%s:%d/ NAME=VALUE" % (ADDRESS, server.port))
        self.assertNotIn("X-Inner", got.out, got)

    def test_pipelined(self):
        got = self.python("""
s = secure(%d); host = "%s:%d"
s.sendall(get("/echo?1", host) + get("/deny", host) + get("/echo?2", host, "Connection: close\\r\\n"))
data = b""
while True:
    more = s.recv(10000)
    if not more: break
    data += more
print(data.decode())""" % (SITE.ports["good"], ADDRESS, SITE.ports["good"]))
        self.good(got, "GET /echo?1 ", " 403 Forbidden", "GET /echo?2 ")
        self.assertLess(got.out.index("/echo?1"), got.out.index("403 Forbidden"))

    def test_sni(self):
        got = self.python("""
s = secure(%d, "name.test")
print(s.getpeercert()["subjectAltName"], s.version(), s.selected_alpn_protocol())
s.sendall(get("/echo", "%s:%d")); print(s.recv(1000))
s.sendall(get("/echo", "name.test:%d")); print(s.recv(1000))"""
                          % (SITE.ports["good"], ADDRESS, SITE.ports["good"], SITE.ports["good"]))
        self.good(got, "(('DNS', 'name.test'),) TLSv1.2 None", "added=yes", "HTTP/1.1 421 ")
        self.assertIn("/echo name.test connect", got.err, got)

    def test_alpn(self):
        s = need("openssl") + " s_client -connect %s:%d -proxy ${https_proxy#http://} " % (ADDRESS, SITE.ports["good"])
        self.good(self.inside(s + "-alpn h2,http/1.1 </dev/null 2>/dev/null"), "ALPN protocol: http/1.1")
        got = self.inside(s + "-alpn h2 </dev/null")
        self.assertIn("no application protocol", got.err, got)
        got = self.inside(s + "-tls1_3 </dev/null")
        self.assertIn("alert protocol version", got.err, got)
        got = self.inside(s + "-tls1_1 -cipher ALL:@SECLEVEL=0 </dev/null")
        self.assertNotEqual(0, got.code, got)

    def test_client_resumes(self):
        got = self.inside(need("openssl") + " s_client -reconnect -tls1_2 -CAfile %s -connect %s:%d -proxy "
                          "${https_proxy#http://} </dev/null 2>&1 | grep -E '^(New|Reused), '"
                          % (SITE.ours.cert, ADDRESS, SITE.ports["good"]))
        self.assertEqual(1, got.out.count("New, "), got)
        self.assertEqual(5, got.out.count("Reused, "), got)

    def test_sessions_with_servers_are_resumed(self):
        resumed, ends = [], []

        def serve(tls):
            # OpenSSL forgets a session by how its connection ends, which depends on who is quicker.
            ends.append(tls._sslobj)  # pylint: disable=protected-access
            resumed.append(tls.session_reused)
            read_head(tls)
            tls.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")

        with Scripted(SITE, serve) as server:
            server.context.options |= ssl.OP_NO_TICKET
            url = "https://%s:%d/" % (ADDRESS, server.port)
            self.good(self.inside("; ".join([self.curl(url)] * 3), hosts=["%s:%d" % (ADDRESS, server.port)]), "okokok")
        self.assertEqual(resumed, [False, True, True])

    def test_renegotiation(self):
        got = self.inside("(sleep 1; echo R; sleep 1) | " + need("openssl") + " s_client -tls1_2 -connect %s:%d -proxy "
                          "${https_proxy#http://}" % (ADDRESS, SITE.ports["good"]))
        self.assertIn("no renegotiation", got.err, got)

    def test_plain_in_tunnel(self):
        url, denied = SITE.url("plain"), SITE.url("plain", "/deny")
        got = self.good(self.inside(self.curl("-p", url, denied)), "added=yes", "not this")
        self.assertIn("GET %s - connect" % url, got.err, got)

    def test_opaque(self):
        talk = """
s, head = tunnel(%d)
s.sendall(b"ABC DEF\\r\\n")
try: print("got", s.recv(100))
except OSError as e: print("failed", e)"""
        self.good(self.python(talk % SITE.ports["plain"]), "got b'HTTP/1.1 400")
        self.good(self.python(talk % SITE.ports["plain"], FILTER + ", refuseOpaqueTunnels = true"), "failed")

    def test_limits(self):
        got = self.python("""
a, b = tunnel(%d), tunnel(%d)
c = tunnel(%d)
print(c[1])
start = time.time()
try: print("end", a[0].recv(10))
except OSError as e: print("end", e)
print("after", time.time() - start < 5)
print(tunnel(%d)[1])""" % ((SITE.ports["good"],) * 4), tls="maxTunnels = 2, handshakeTimeoutMs = 1000")
        self.good(got, "HTTP/1.1 503 ", "X-Proxy-Error: too-many-tunnels", "after True", " 200 ")

    def test_dial_failure(self):
        got = self.inside(self.curl("-v", "https://%s:1/" % ADDRESS))
        self.assertIn("< HTTP/1.1 502 ", got.err, got)

    def test_socks(self):
        got = self.good(self.inside(self.curl("-x", "socks5h://${https_proxy#http://}", SITE.url("good"))), "added=yes")
        self.assertIn(" - socks5", got.err, got)

    def test_events_stream(self):
        def serve(tls):
            read_head(tls)
            tls.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            for i in range(4):
                tls.sendall(b"data: %d\n\n" % i)
                time.sleep(0.3)
            tls.unwrap()
        with Scripted(SITE, serve) as server:
            got = self.python("""
s = secure(%d); s.sendall(get("/events", "%s:%d")); start = time.time(); times = []
while True:
    data = s.recv(1000)
    if b"data:" in data: times.append(time.time() - start)
    if not data or data.endswith(b"0\\r\\n\\r\\n"): break
print(len(times), times[0] < 0.5, times[3] - times[0] > 0.6)""" % (server.port, ADDRESS, server.port))
        self.good(got, "4 True True")

    def test_truncated(self):
        def serve(tls):
            read_head(tls)
            tls.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf of it")
            tls.shutdown(2)
        with Scripted(SITE, serve) as server:
            got = self.inside(self.curl("https://%s:%d/" % (ADDRESS, server.port)))
        self.assertNotEqual(0, got.code, got)
        self.assertIn("half of it", got.out, got)

    def test_websocket(self):
        def serve(tls):
            head = read_head(tls)
            assert b"Upgrade: websocket" in head, head
            tls.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            while True:
                data = tls.recv(1000)
                if not data:
                    return
                tls.sendall(data.upper())
        with Scripted(SITE, serve) as server:
            got = self.python("""
s = secure(%d); s.sendall(get("/ws", "%s:%d", "Connection: Upgrade\\r\\nUpgrade: websocket\\r\\n"))
print(s.recv(1000)); s.sendall(b"frames"); print(s.recv(1000))""" % (server.port, ADDRESS, server.port))
        self.good(got, "101 Switching", "b'FRAMES'")

    def test_the_key_stays_outside(self):
        got = self.inside("cat %s; cat %s | head -1" % (SITE.ours.key, SITE.ours.cert))
        self.assertIn("Permission denied", got.err, got)
        self.assertNotIn("PRIVATE", got.out, got)
        self.assertIn("BEGIN CERTIFICATE", got.out, got)

    def test_bad_authority(self):
        path = self.write("bad.pem", "nothing")
        got = self.run_sh("true", '{ network = { allowedDomains = { "a.test" }, tlsTerminate = { caCertPath = "%s", '
                          'caKeyPath = "%s" } } }' % (path, path))
        self.assertEqual(125, got.code, got)
        self.assertIn("policy.lua:1: network.tlsTerminate.caCertPath: ", got.err, got)
        got = self.run_srt(["check", self.path("policy.lua")])
        self.assertEqual(1, got.code, got)
        self.assertIn("policy.lua:1: network.tlsTerminate.caCertPath: the CA of %s can't be used" % path, got.err, got)


class Clients(Base):
    """Real clients, told of the CA by hand."""

    def test_wget(self):
        self.good(self.inside(need("wget") + " -qO- --ca-certificate=%s %s" % (SITE.ours.cert, SITE.url("good"))), "added=yes")

    def test_node(self):
        self.write("w/get.js", """
const http = require("http"), tls = require("tls"), url = new URL(process.env.https_proxy), target = "%s:%d";
http.request({ host: url.hostname, port: url.port, method: "CONNECT", path: target }).on("connect", (res, socket) => {
  const s = tls.connect({ socket, servername: "", host: "%s" }, () => s.write("GET /echo HTTP/1.1\\r\\nHost: " + target
    + "\\r\\nConnection: close\\r\\n\\r\\n"));
  s.on("data", d => process.stdout.write(d)).on("error", e => console.log(e));
}).end();""" % (ADDRESS, SITE.ports["good"], ADDRESS))
        self.good(self.inside("NODE_EXTRA_CA_CERTS=%s %s get.js" % (SITE.ours.cert, need("node"))), "added=yes")

    def test_python(self):
        self.good(self.inside("SSL_CERT_FILE=%s /usr/bin/python3 -c 'import urllib.request as u; "
                              "print(u.urlopen(\"%s\").read())'" % (SITE.ours.cert, SITE.url("good"))), "added=yes")

    def test_git(self):
        self.sh("git init -q --bare %s/r.git && git init -q s && cd s && git config user.email a@b && git config user.name a"
                " && echo x > f && git add f && git commit -qm x && git push -q ../r.git HEAD:main && cd %s/r.git && "
                "git symbolic-ref HEAD refs/heads/main && git update-server-info" % (self.w, self.w))
        served = os.path.join(SITE.folder, "www", "r.git")
        os.system("rm -rf %s; cp -r %s/r.git %s; chmod -R a+rX %s" % (served, self.w, served, served))
        got = self.run_sh(need("git") + " -c http.sslCAInfo=%s clone -q %s c && cat c/f" % (SITE.ours.cert,
                                                                                          SITE.url("good", "/r.git")),
                          self.policy_text().replace("{ network", '{ filesystem = { allowWrite = { "." } }, network', 1),
                          timeout=60)
        self.good(got, "x\n")


if __name__ == "__main__":
    main()
