# SPDX-License-Identifier: Apache-2.0
"""Allowed names and where they lead: the host's own /etc/hosts is one of the test's, in a mount namespace of its own."""
import os

from lib import BINARY, Case, as_everyone, main, need_root
from server import ADDRESS, Origin
from site_ import Site

HOSTS = """127.0.0.1 localhost
%s loop.example.com app.test mixed.example.com
169.254.169.254 meta.example.com mixed.example.com
0.0.0.0 zero.example.com
fe80::1 link.example.com
::ffff:127.0.0.2 mapped.example.com
""" % ADDRESS


class OwnHosts(Case):
    def as_user(self, command):
        """Root makes the mount namespace, before it is given up; nobody else sees it."""
        script = 'mount --bind "$0" /etc/hosts; exec "$@"'
        return ["unshare", "-m", "sh", "-ec", script, self.path("hosts"), *super().as_user(command)]

    def begin(self, *allowed, rest=""):
        need_root("to put another /etc/hosts there")
        self.write("hosts", HOSTS)
        return '{ network = { allowedDomains = { %s }, %s } }' % (", ".join('"%s"' % entry for entry in allowed), rest)

    def ask(self, url, policy, options=""):
        return self.run_sh("curl -sSD- --max-time 20 %s %s" % (options, url), policy)


class Names(OwnHosts):
    @as_everyone
    def test_names_of_this_machine(self):
        """Rows 35, 40, 43, 44 and 172 of the wire's table: refused, unless the address itself is listed with that port."""
        with Origin() as origin:
            for name in ("loop.example.com", "mapped.example.com", "app.test"):
                url = "http://%s:%d/x" % (name, origin.port)
                closed = self.begin("*.example.com", "app.test", "%s:1" % ADDRESS)
                got = self.ask(url, closed)
                self.assertIn("HTTP/1.1 403 Forbidden", got.out, got)
                self.assertIn("%s resolved to a loopback address" % name, got.out)
                self.assertIn('add "%s:%d" to network.allowedDomains' % (ADDRESS, origin.port), got.out)
                got = self.ask(url, closed, "-p -v")
                self.assertIn("HTTP/1.1 403 %s resolved to a loopback address" % name, got.err, got)
                self.assertEqual(97, self.ask(url, closed, "-x socks5h://127.0.0.1:1080").code)
                self.assertEqual([], origin.seen)
                # The advice was right, and the port is part of it.
                got = self.ask(url, self.begin("*.example.com", "app.test", "%s:%d" % (ADDRESS, origin.port)))
                self.assertIn("hello from /x", got.out, got)
                del origin.seen[:]

    @as_everyone
    def test_addresses_that_no_name_may_have(self):
        """Rows 37, 38 and 173, with a callback that would allow anything, too."""
        rows = (("meta.example.com", "a link-local address"), ("zero.example.com", "an unspecified address"),
                ("link.example.com", "a link-local address"))
        for rest in ("", "decideConnect = function() return true end"):
            policy = self.begin("other.test" if rest else "*.example.com", rest=rest)
            for name, kind in rows:
                got = self.ask("http://%s/" % name, policy)
                self.assertIn("HTTP/1.1 403 Forbidden", got.out, got)
                self.assertIn("%s resolved to %s" % (name, kind), got.out)
                self.assertIn("403 %s resolved to %s" % (name, kind), self.ask("http://%s/" % name, policy, "-p -v").err)
        # Called as srt it has srt's token.
        os.symlink(BINARY, self.path("srt"))
        for words, token in (([self.path("srt"), "-s"], "sandbox-runtime"), ([BINARY, "run"], "policy")):
            got = self.on_host([*words, self.policy(policy), "--", "curl", "-sD-", "http://meta.example.com/"])
            self.assertIn(b"X-Proxy-Error: blocked-by-%s\r\n" % token.encode(), got.stdout, got)

    @as_everyone
    def test_localhost_by_the_proxy(self):
        """Row 41: an entry without a port is for clients of the proxy, and for that name only."""
        with Site(self.path("site"), "127.0.0.1") as site:
            policy = self.begin("localhost")
            for name in ("localhost", "LocalHost.", "0x7f.1"):
                got = self.ask("http://%s:%d/hello" % (name, site.port), policy, "--noproxy ''")
                want = "HTTP/1.1 403 Forbidden" if name == "0x7f.1" else "hello from the site"
                self.assertIn(want, got.out, (name, got))

    @as_everyone
    def test_what_passes_is_what_is_dialled(self):
        """Of two addresses only one may be had."""
        with Origin() as origin:
            policy = self.begin("mixed.example.com", "%s:%d" % (ADDRESS, origin.port))
            for options in ("", "-p", "-x socks5h://127.0.0.1:1080"):
                got = self.ask("http://mixed.example.com:%d/x" % origin.port, policy, options)
                self.assertIn("hello from /x", got.out, (options, got))
            got = self.ask("http://mixed.example.com:%d/x" % origin.port, self.begin("mixed.example.com"))
            self.assertIn("HTTP/1.1 403 Forbidden", got.out, got)

    @as_everyone
    def test_a_hosts_file_gives_no_way_to_a_denied_name(self):
        with Origin() as origin:
            policy = self.begin("*.example.com", "%s:%d" % (ADDRESS, origin.port), rest='deniedDomains = { "loop.example.com" }')
            for name in ("loop.example.com", "LOOP.example.COM.", "Loop.Example.com"):
                got = self.ask("http://%s:%d/x" % (name, origin.port), policy)
                self.assertIn("HTTP/1.1 403 Forbidden", got.out, got)
                self.assertIn("network.deniedDomains", got.out)
            self.assertEqual([], origin.seen)


if __name__ == "__main__":
    main()
