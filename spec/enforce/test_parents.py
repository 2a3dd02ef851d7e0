# SPDX-License-Identifier: Apache-2.0
"""Leaving by another proxy: parents, a proxy on a Unix socket, proxies of the user's own."""
import shutil
import socket
import subprocess
import threading
import time

from lib import Case, as_everyone, main, need, skip
from parents import Parent
from running import until
from server import ADDRESS, Handler, Origin, Server


class Parents(Case):
    def policy_for(self, origin, rest="", allowed='"far.test:%d"'):
        allowed = allowed % origin.port if "%d" in allowed else allowed
        return "{ network = { allowedDomains = { %s }, %s } }" % (allowed, rest)

    def curl(self, arguments, policy, **more):
        need("curl")
        return self.run_sh("curl -sS --max-time 20 " + arguments, policy, **more)

    def parent(self, **more):
        more.setdefault("names", {"far.test": ADDRESS})
        return Parent(**more)


class Routes(Parents):
    @as_everyone
    def test_names_are_left_to_the_parent(self):
        """far.test exists for the parent only; plain HTTP in absolute form, tunnels by CONNECT, SOCKS too."""
        with Origin() as origin, self.parent() as parent:
            policy = self.policy_for(origin, 'parentProxy = { http = "%s" }' % parent.url)
            url = "http://far.test:%d" % origin.port
            for options, first in (("", "GET %s/x HTTP/1.1" % url), ("-p", "CONNECT far.test:%d HTTP/1.1" % origin.port),
                                   ("-x socks5h://127.0.0.1:1080", "CONNECT far.test:%d HTTP/1.1" % origin.port)):
                got = self.curl("%s %s/x" % (options, url), policy)
                self.assertEqual("hello from /x\n", got.out, got)
                self.assertEqual(first, parent.seen[-1].split("\r\n")[0])
                self.assertIn("Host: far.test:%d" % origin.port, parent.seen[-1])
                self.assertNotIn("Proxy-", parent.seen[-1])
            self.assertEqual(3, len(parent.seen))

    @as_everyone
    def test_environment_of_the_host(self):
        with Origin() as origin, self.parent() as parent:
            policy = self.policy_for(origin, allowed='"far.test:%d", "127.0.0.2"')
            url = "http://far.test:%d/x" % origin.port
            for env in ({"HTTP_PROXY": parent.url}, {"http_proxy": parent.url}, {"ALL_PROXY": parent.url}):
                for options in ("", "-p "):
                    got = self.curl(options + url, policy, env=env)
                    self.assertEqual("hello from /x\n", got.out, got)
            self.assertEqual(6, len(parent.seen))
            self.assertEqual("hello from /x\n", self.curl("-p " + url, policy, env={"HTTPS_PROXY": parent.url}).out)
            # Plain HTTP then goes its own way, and how soon a name server says that there is no far.test, nobody knows.
            got = self.curl("-o /dev/null -w '%{http_code}' " + url, "{ limits = { connectSeconds = 8 }, " + policy[1:],
                            env={"HTTPS_PROXY": parent.url})
            self.assertIn(got.out, ("502", "504"), got)
            self.assertEqual(7, len(parent.seen))
            # Inside, the variables are ours; the parent's address is in none of them.
            got = self.run_sh("env", policy, env={"HTTP_PROXY": "http://u:secret@%s:%d" % (ADDRESS, parent.port)})
            self.assertNotIn(":%d" % parent.port, got.out)
            self.assertNotIn("secret", got.out)

    @as_everyone
    def test_no_proxy(self):
        with Origin() as origin, self.parent() as parent:
            direct = "http://%s:%d/x" % (ADDRESS, origin.port)
            policy = self.policy_for(origin, allowed='"127.0.0.2", "far.test"')
            env = {"HTTP_PROXY": parent.url, "NO_PROXY": "other.test, 127.0.0.0/8"}
            self.assertEqual("hello from /x\n", self.curl(direct, policy, env=env).out)
            # Loopback is this machine: no parent is asked for it even without a rule.
            self.assertEqual("hello from /x\n", self.curl(direct, policy, env={"HTTP_PROXY": parent.url}).out)
            self.assertEqual([], parent.seen)

    @as_everyone
    def test_credentials_stay_here(self):
        with Origin() as origin, self.parent() as parent:
            url = "http://user:s%%3Acret@%s:%d" % (ADDRESS, parent.port)
            policy = self.policy_for(origin, 'parentProxy = { http = "%s" }' % url)
            target = "http://far.test:%d/x" % origin.port
            for options in ("", "-p"):
                got = self.curl("-H 'Proxy-Authorization: Basic AAAA' %s %s" % (options, target), policy, options=("--debug",))
                self.assertEqual("hello from /x\n", got.out, got)
                self.assertIn("Proxy-Authorization: Basic dXNlcjpzOmNyZXQ=", parent.seen[-1])
                self.assertNotIn("AAAA", parent.seen[-1])
                for secret in ("dXNlcjpzOmNyZXQ", "s:cret", "s%3Acret", "user:"):
                    self.assertNotIn(secret, got.err)
            self.assertNotIn("dXNlcjpzOmNyZXQ", str(origin.seen))
            path = self.policy(policy)
            for words in (["check", path], ["check", path, "--json"], ["compile", path, "--backend", "namespaces"]):
                got = self.run_srt(words)
                for secret in ("dXNlcjpzOmNyZXQ", "s:cret", "s%3Acret"):
                    self.assertNotIn(secret, got.out + got.err)
            self.assertIn("http leaves by http://%s:%d" % (ADDRESS, parent.port), self.run_srt(["check", path]).out)

    @as_everyone
    def test_lists_decide_still(self):
        with Origin() as origin, self.parent() as parent:
            policy = self.policy_for(origin, 'parentProxy = { http = "%s" }, decideConnect = function() return true end, '
                                     'deniedDomains = { "no.test" }' % parent.url)
            for host, code in (("no.test", "403"), ("169.254.169.254", "403"), ("[fe80::1]", "403"), ("0xa9fea9fe", "403")):
                for options in ("", "-p"):
                    got = self.curl("-g -o /dev/null -w '%%{http_code} %%{http_connect}' %s http://%s/" % (options, host), policy)
                    self.assertIn(code, got.out, (host, got))
            self.assertEqual([], parent.seen)


class Failures(Parents):
    @as_everyone
    def test_what_a_parent_says(self):
        rows = ((b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "502", "credentials"),
                (b"HTTP/1.1 403 Not here\r\nContent-Length: 0\r\n\r\n", "502", "403 Not here"),
                (b"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n", "504", "504 Gateway Timeout"),
                (b"HTTP/1.1 200 OK\nX: y\n\n", "502", "bare LF"), (b"SSH-2.0-x\r\n\r\n", "502", ""), (b"", "502", "closed the connection"),
                (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "502", "no final one"),
                (b"HTTP/1.1 100 Continue\r\n\r\n" * 40, "502", "no final one"))
        with Origin() as origin:
            for answer, code, text in rows:
                with self.parent(answer=answer) as parent:
                    policy = self.policy_for(origin, 'parentProxy = { https = "%s" }' % parent.url)
                    got = self.curl("-p -v http://far.test:%d/x" % origin.port, policy, options=("--debug",))
                    self.assertIn("HTTP/1.1 %s" % code, got.err, got)
                    self.assertIn("the parent proxy opened no tunnel to far.test:%d: " % origin.port, got.err)
                    self.assertIn(text, got.err)
            with self.parent(answer=rows[0][0]) as parent:
                policy = self.policy_for(origin, 'parentProxy = { http = "%s" }' % parent.url)
                got = self.curl("-w ' %%{http_code}' http://far.test:%d/x" % origin.port, policy)
                self.assertIn("wants other credentials", got.out)
                self.assertIn(" 502", got.out)

    @as_everyone
    def test_nobody_there(self):
        with socket.create_server((ADDRESS, 0)) as probe:
            port = probe.getsockname()[1]
        with Origin() as origin:
            policy = self.policy_for(origin, 'parentProxy = { http = "http://u:hunter2@%s:%d" }' % (ADDRESS, port))
            for options in ("", "-p", "-x socks5h://127.0.0.1:1080"):
                got = self.curl("%s http://far.test:%d/x" % (options, origin.port), policy, options=("--debug",))
                self.assertIn("parent proxy %s:%d can't be reached: connection refused" % (ADDRESS, port), got.err, got)
                self.assertNotIn("hunter2", got.err)
            self.assertEqual([], origin.seen)

    @as_everyone
    def test_silence_ends(self):
        with Origin() as origin, socket.create_server((ADDRESS, 0)) as silent:
            policy = "{ limits = { connectSeconds = 1 }, " + self.policy_for(
                origin, 'parentProxy = { http = "http://%s:%d" }' % silent.getsockname()[:2])[1:]
            start = time.time()
            got = self.curl("-p -v http://far.test:%d/x" % origin.port, policy)
            self.assertIn("HTTP/1.1 504", got.err, got)
            self.assertLess(time.time() - start, 8)

    @as_everyone
    def test_unusable_ones_end_the_run(self):
        for policy, env, text in (
                ('parentProxy = { https = "https://u:secret@p.test" }', {}, "TLS to a proxy is not served yet"),
                ("", {"HTTPS_PROXY": "https://u:secret@p.test"}, "TLS to a proxy is not served yet"),
                ("", {"ALL_PROXY": "socks5://u:secret@p.test:1"}, "only HTTP proxies are served as parents")):
            got = self.run_srt(["true"], '{ network = { allowedDomains = { "a.test" }, %s } }' % policy, env=env)
            self.assertEqual(125, got.code, got)
            self.assertIn(text, got.err)
            self.assertNotIn("secret", got.err)
        # Where nothing leaves, the environment is of no concern.
        self.assertEqual(0, self.run_srt(["true"], "{}", env={"HTTPS_PROXY": "https://p.test"}).code)
        policy = '{ network = { allowedDomains = { "a.test" }, parentProxy = { http = "", https = "" } } }'
        self.assertEqual(0, self.run_srt(["true"], policy, env={"HTTPS_PROXY": "https://p.test"}).code)

    @as_everyone
    def test_bytes_behind_the_answer(self):
        """A server that speaks first, through a parent that sends its first bytes along with the 200."""
        with Origin() as origin, self.parent(chatty=b"early ") as parent:
            policy = self.policy_for(origin, 'parentProxy = { https = "%s" }' % parent.url)
            code = """import socket
s = socket.create_connection(("127.0.0.1", 1080)); s.sendall(b"\\5\\1\\0\\5\\1\\0\\3\\x08far.test" + (%d).to_bytes(2, "big") + b"GET /x HTTP/1.0\\r\\n\\r\\n")
data = b""
while True:
    more = s.recv(4096)
    if not more: break
    data += more
print(data[:24])""" % origin.port
            got = self.run_srt(["/usr/bin/python3", "-c", code], policy)
            self.assertIn(r"\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00early HTTP", got.out, got)


class Mitm(Parents):
    @as_everyone
    def test_listed_domains_go_to_the_socket(self):
        with Origin() as origin, self.parent(path=self.path("m.sock")) as mitm, self.parent() as parent:
            policy = self.policy_for(origin, 'mitmProxy = { socketPath = "%s", domains = { "far.test" } }, parentProxy = { http = "%s" }'
                                     % (self.path("m.sock"), parent.url), allowed='"far.test:%d", "127.0.0.2"')
            for options in ("", "-p", "-x socks5h://127.0.0.1:1080"):
                got = self.curl("%s http://far.test:%d/x" % (options, origin.port), policy)
                self.assertEqual("hello from /x\n", got.out, got)
            self.assertEqual(3, len(mitm.seen))
            self.assertEqual([], parent.seen)
            got = self.curl("http://%s:%d/x" % (ADDRESS, origin.port), policy)
            self.assertEqual("hello from /x\n", got.out, got)
            self.assertEqual(3, len(mitm.seen))

    @as_everyone
    def test_nobody_at_the_socket(self):
        with Origin() as origin:
            policy = self.policy_for(origin, 'mitmProxy = { socketPath = "%s", domains = { "far.test" } }' % self.path("m.sock"))
            got = self.curl("http://far.test:%d/x" % origin.port, policy)
            self.assertIn("can't be reached: no such file or directory", got.out, got)


class HandedOver(Parents):
    @as_everyone
    def test_proxies_of_the_user(self):
        """Byte for byte: what the lists deny passes, and the other port stays under them."""
        own = self.parent()
        own.listen = lambda: socket.create_server(("127.0.0.1", 0))
        with Origin() as origin, own:
            policy = '{ network = { deniedDomains = { "far.test" }, httpProxyPort = %d } }' % own.port
            got = self.curl("http://far.test:%d/x" % origin.port, policy)
            self.assertEqual("hello from /x\n", got.out, got)
            self.assertIn("decide nothing there", got.err)
            self.assertIn("Proxy-Connection", own.seen[0])
            got = self.curl("-x socks5h://127.0.0.1:1080 http://far.test:%d/x" % origin.port, policy)
            self.assertEqual("", got.out)
            self.assertEqual(1, len(own.seen))
            swapped = policy.replace("httpProxyPort", "socksProxyPort")
            got = self.curl("-o /dev/null -w '%%{http_code}' http://far.test:%d/x" % origin.port, swapped)
            self.assertEqual("403", got.out, got)
            got = self.curl("-x http://127.0.0.1:1080 http://far.test:%d/x" % origin.port, swapped)
            self.assertEqual("hello from /x\n", got.out, got)

    @as_everyone
    def test_nobody_on_the_port(self):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        got = self.curl("http://far.test/; echo $?", "{ network = { httpProxyPort = %d } }" % port, options=("--debug",))
        # The reset may come while curl still connects.
        self.assertIn(got.out, ("7\n", "56\n"), got)
        self.assertIn("cannot connect to 127.0.0.1:%d: connection refused" % port, got.err)


class Tinyproxy(Parents):
    @as_everyone
    def test_a_real_parent(self):
        tinyproxy = shutil.which("tinyproxy") or skip("tinyproxy is not installed")
        with socket.create_server((ADDRESS, 0)) as probe:
            port = probe.getsockname()[1]
        # A name of this machine that is not localhost: ours leaves it to the parent, whatever it resolves to.
        name = socket.gethostname()
        origin = Server((socket.gethostbyname(name), 0), Handler)
        origin.seen = []
        target = "%s:%d" % (name, origin.server_address[1])
        threading.Thread(target=origin.serve_forever, daemon=True).start()
        self.addCleanup(origin.shutdown)
        config = self.write("tiny.conf", "Port %d\nListen %s\nBasicAuth user secret\nConnectPort %d\nTimeout 20\nMaxClients 10\n"
                            % (port, ADDRESS, origin.server_address[1]))
        server = subprocess.Popen(self.as_user([tinyproxy, "-d", "-c", config]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        with socket.socket() as probe:
            self.assertTrue(until(lambda: probe.connect_ex((ADDRESS, port)) == 0))
        # Wrong credentials are no reason for tinyproxy to say 407; what it says instead is passed on.
        for user, codes in (("user:secret@", ["200", "200"]), ("user:wrong@", ["401", "000"]), ("", ["502", "000"])):
            policy = '{ network = { allowedDomains = { "%s" }, parentProxy = { http = "http://%s%s:%d" } } }' % (
                target, user, ADDRESS, port)
            got = [self.curl("%s -o /dev/null -w '%%{http_code}' http://%s/x" % (options, target), policy).out
                   for options in ("", "-p")]
            self.assertEqual(codes, got)
        self.assertEqual(2, len(origin.seen))


if __name__ == "__main__":
    main()
