# SPDX-License-Identifier: Apache-2.0
"""srt-lua connect, alone and as ssh's ProxyCommand, to a real sshd and real git."""
import hashlib
import os
import pwd
import shutil
import socket
import subprocess
import threading

import lib
from lib import BINARY, Case, as_everyone, main, need
from running import until
from server import ADDRESS, Listening, Origin

# ssh wants its user to have an account.
if os.geteuid() == 0:
    lib.ORDINARY = min(user.pw_uid for user in pwd.getpwall() if user.pw_uid > 0)

PROXIES = {"http": "http://127.0.0.1:3128", "socks5h": "socks5h://127.0.0.1:1080", "socks, user": "socks5://u:p@127.0.0.1:1080"}
REASON = "SSH is blocked here; use an https:// remote"


class Peer(Listening):
    """A TCP server that hands each connection to a function in a thread."""

    def __init__(self, answer):
        self.answer = answer

    def serve(self, connection):
        with connection:
            self.answer(connection)


def until_end(connection):
    data = b""
    while True:
        more = connection.recv(1 << 16)
        if not more:
            return data
        data += more


class Connect(Case):
    def connect(self, port, proxy, stdin=b"", host=ADDRESS, allowed=None, **more):
        policy = '{ network = { allowedDomains = { "%s" }, deniedDomains = { "*:22" }, deniedDomainReasons = { ["*:22"] = "%s" } } }' % (
            allowed or "%s:%d" % (ADDRESS, port), REASON)
        env = {"no_proxy": ""} if proxy is None else {"HTTPS_PROXY": proxy, "https_proxy": proxy}
        words = ["env", *("%s=%s" % pair for pair in env.items()), BINARY, "connect", host, str(port)]
        return self.run_srt(words, policy, stdin=stdin, **more)


class Tunnel(Connect):
    @as_everyone
    def test_exact_bytes_and_half_closing(self):
        """The answer comes only after our end, and ours after the server's: no end takes the other along."""
        data = os.urandom(3 << 20)

        def serve(connection):
            digest = hashlib.sha256(until_end(connection)).digest()
            connection.sendall(digest + data)

        for name, proxy in PROXIES.items():
            with self.subTest(proxy=name), Peer(serve) as peer:
                got = self.connect(peer.port, proxy, stdin=data)
                self.assertEqual(0, got.code, got.err)
                self.assertEqual(hashlib.sha256(data).digest() + data, got.out_bytes)

    @as_everyone
    def test_server_ends_first(self):
        """What we send after the server's end still arrives."""
        received = []
        done = threading.Event()

        def serve(connection):
            connection.sendall(b"banner\n")
            connection.shutdown(socket.SHUT_WR)
            received.append(until_end(connection))
            done.set()

        with Peer(serve) as peer:
            policy = '{ filesystem = { allowWrite = { "." } }, network = { allowedDomains = { "%s:%d" } } }' % (
                ADDRESS, peer.port)
            # cat ends when connect closes its output; only then the input is sent and ends.
            got = self.run_sh("mkfifo f; %s connect %s %d <f | { exec 3>f; cat; printf late >&3; }" % (
                BINARY, ADDRESS, peer.port), policy)
            self.assertTrue(done.wait(5), got)
            self.assertEqual("banner\n", got.out, got)
            self.assertEqual([b"late"], received)

    @as_everyone
    def test_reset_is_a_failure(self):
        def serve(connection):
            connection.recv(1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

        with Peer(serve) as peer:
            got = self.connect(peer.port, PROXIES["http"], stdin=b"x" * 10)
            self.assertEqual(1, got.code, got)
            self.assertIn("Connection reset by peer", got.err)


class Refusals(Connect):
    @as_everyone
    def test_reasons(self):
        with Origin() as origin:
            rows = (("http", 22, "is denied by network.deniedDomains"), ("http", 22, REASON), ("http", 9, "is not in network.allowedDomains"),
                    ("http", 1, "connection refused"), ("socks5h", 9, "the policy does not allow it"),
                    ("socks5h", 1, "the connection was refused"))
            for proxy, port, text in rows:
                got = self.connect(port, PROXIES[proxy], allowed="%s:1" % ADDRESS)
                self.assertEqual(1, got.code, got)
                self.assertEqual("", got.out)
                self.assertTrue(got.err.startswith("srt-lua: connect: %s:%d: " % (ADDRESS, port)), got.err)
                self.assertIn(text, got.err)
            self.assertEqual([], origin.seen)

    @as_everyone
    def test_denied_ssh_by_socks_says_why(self):
        got = self.connect(22, PROXIES["socks5h"])
        self.assertTrue(got.out_bytes.startswith(b"SSH-2.0-srt_lua\r\n"), got)
        self.assertIn(REASON, got.out)

    @as_everyone
    def test_wrong_usage_and_no_proxy(self):
        for words in ([], ["a"], ["a", "0"], ["a", "65536"], ["a", "http"], ["a b", "1"], ["a\r\nb", "1"], ["", "1"], ["a", "1", "2"]):
            got = self.run_srt(["connect", *words])
            self.assertEqual(125, got.code, words)
        self.assertEqual(0, self.run_srt(["connect", "--help"]).code)
        got = self.run_srt(["connect", "a.test", "1"])
        self.assertEqual(1, got.code)
        self.assertIn("HTTPS_PROXY and ALL_PROXY name no proxy", got.err)
        got = self.run_srt(["connect", "a.test", "1"], env={"HTTPS_PROXY": "https://u:secret@a.test:1"})
        self.assertIn("HTTPS_PROXY: https proxies are not served", got.err)
        self.assertNotIn("secret", got.err)

    @as_everyone
    def test_no_proxy_means_directly(self):
        with Peer(lambda connection: connection.sendall(b"direct")) as peer:
            env = {"HTTPS_PROXY": "http://127.0.0.1:1", "NO_PROXY": "127.0.0.0/8"}
            got = self.run_srt(["connect", ADDRESS, str(peer.port)], env=env)
            self.assertEqual((0, "direct"), (got.code, got.out), got)


class Ssh(Case):
    """A real sshd on a loopback address, and git over it."""

    def start_sshd(self):
        need("ssh")
        keygen = need("ssh-keygen")
        sshd = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin") or need("sshd")
        for key in ("host", "user"):
            subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", self.path(key)], check=True)
        shutil.copy(self.path("user.pub"), self.path("authorized"))
        with socket.create_server((ADDRESS, 0)) as probe:
            self.port = probe.getsockname()[1]
        config = self.write("sshd_config", "\n".join((
            "ListenAddress %s" % ADDRESS, "Port %d" % self.port, "HostKey %s" % self.path("host"), "PidFile none",
            "AuthorizedKeysFile %s" % self.path("authorized"), "StrictModes no", "UsePAM no",
            "Subsystem sftp internal-sftp", "PasswordAuthentication no", "PermitRootLogin prohibit-password", "AuthenticationMethods publickey")) + "\n")
        self.own(self.dir)
        # As root it changes to its own unprivileged user, and wants this folder.
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        server = subprocess.Popen([sshd, "-D", "-e", "-f", config], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        self.assertTrue(until(self.answers), "sshd did not start")

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex((ADDRESS, self.port)) == 0

    def options(self):
        """What has nothing to do with the way there."""
        return ("-F none -i %s -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
                "-o LogLevel=ERROR -o BatchMode=yes" % self.path("user"))

    def ssh(self, proxy="%s connect %%h %%p" % BINARY):
        return "ssh %s -o ControlPath=none -o ProxyCommand='%s'" % (self.options(), proxy)

    def network(self, rest=""):
        return '{ filesystem = { allowWrite = { "." } }, network = { allowedDomains = { "%s:%d" }, %s } }' % (
            ADDRESS, self.port, rest)


class GitOverSsh(Ssh):
    """sshd runs as who runs the tests, whatever the user inside is."""

    LOGIN = "root@" if os.geteuid() == 0 else ""

    def repository(self):
        """Its URL."""
        need("git")
        self.start_sshd()
        self.sh("git init -q --bare ../bare.git; git init -q seed; cd seed; git -c user.name=n -c user.email=e commit -q "
                "--allow-empty -m first; git push -q ../../bare.git HEAD:main; git -C ../../bare.git symbolic-ref HEAD refs/heads/main")
        if self.LOGIN:
            subprocess.run(["chown", "-R", "0:0", self.path("bare.git")], check=True)
        return "ssh://%s%s:%d%s" % (self.LOGIN, ADDRESS, self.port, self.path("bare.git"))

    @as_everyone
    def test_git_as_the_environment_has_it(self):
        """GIT_SSH_COMMAND is ours, behind what the caller's says of keys; denied, it says why."""
        url = self.repository()
        caller = {"GIT_SSH_COMMAND": "ssh " + self.options()}
        clone = "git clone -q %s got && git -C got log --format=%%s" % url
        # Without its port there is no other way to it than the proxy.
        policy = '{ filesystem = { allowWrite = { "." } }, network = { allowedDomains = { "%s" } } }' % ADDRESS
        got = self.run_sh(clone, policy, env=caller)
        self.assertEqual(("first\n", 0), (got.out, got.code), got)
        got = self.run_sh("GIT_SSH_COMMAND='ssh %s' %s" % (self.options(), clone.replace("got", "none")), policy)
        self.assertNotEqual(0, got.code, got)
        self.assertIn("Connection refused", got.err)
        for proxy in ("", "export https_proxy=%s HTTPS_PROXY=%s; " % ((PROXIES["socks5h"],) * 2)):
            denied = self.network('deniedDomains = { "*:%d" }, deniedDomainReasons = { ["*:%d"] = "%s" }' % (
                self.port, self.port, REASON))
            got = self.run_sh(proxy + clone.replace("got", "denied"), denied, env=caller)
            self.assertNotEqual(0, got.code, got)
            self.assertIn("the policy does not allow it" if proxy else REASON, got.err, got)
        self.assertFalse(os.path.exists(self.path("w/denied/.git")))

    @as_everyone
    def test_scp_and_sftp(self):
        need("scp")
        self.start_sshd()
        self.write("there", "copied\n")
        options = "%s -P %d -o ProxyCommand='%s connect %%h %%p'" % (self.options(), self.port, BINARY)
        place = "%s%s:%s" % (self.LOGIN, ADDRESS, self.path("there"))
        got = self.run_sh("scp -q {0} {1} got && cat got && sftp -q {0} {1} also && cat also".format(options, place), self.network())
        self.assertEqual(("copied\ncopied\n", 0), (got.out.replace("Fetching " + self.path("there") + " to also\n", ""), got.code), got)
        got = self.run_sh("scp -q %s %s no" % (options, place), '{ network = { allowedDomains = { "other.test" } } }')
        self.assertNotEqual(0, got.code)
        self.assertIn("%s:%d is not in network.allowedDomains" % (ADDRESS, self.port), got.err)

    @as_everyone
    def test_git(self):
        url = self.repository()
        script = ("export GIT_SSH_COMMAND=\"SSH\"; git clone -q URL NAME && cd NAME && git log --format=%s && "
                  "git -c user.name=n -c user.email=e commit -q --allow-empty -m second && git push -q origin HEAD:main"
                  ).replace("\"SSH\"", '"%s"' % self.ssh()).replace("URL", url)
        got = self.run_sh(script.replace("NAME", "got"), self.network())
        self.assertEqual(("first\n", 0), (got.out, got.code), got)
        self.assertEqual("second\n", self.sh("git -c safe.directory='*' -C ../bare.git log -1 --format=%s main"))
        got = self.run_sh(script.replace("NAME", "other"), '{ filesystem = { allowWrite = { "." } }, '
                          'network = { allowedDomains = { "other.test" } } }')
        self.assertNotEqual(0, got.code)
        self.assertIn("%s:%d is not in network.allowedDomains" % (ADDRESS, self.port), got.err)
        self.assertFalse(os.path.exists(self.path("w/other/.git")))


class Denied(Ssh):
    def setUp(self):
        super().setUp()
        need("ssh")
        self.port = 22

    @as_everyone
    def test_git_prints_the_reason(self):
        """With the environment as it is given, on ssh's own port; by SOCKS it is OpenSSH itself that says it."""
        need("git")
        policy = '{ network = { allowedDomains = { "%s:443" }, deniedDomains = { "*:22" }, deniedDomainReasons = { ["*:22"] = "%s" } } }' % (
            ADDRESS, REASON)
        caller = {"GIT_SSH_COMMAND": "ssh " + self.options()}
        for proxy, by_ssh in (("", False), ("export HTTPS_PROXY=%s https_proxy=%s; " % ((PROXIES["socks5h"],) * 2), True)):
            got = self.run_sh(proxy + "git ls-remote git@%s:a/b.git" % ADDRESS, policy, env=caller)
            self.assertEqual(128, got.code, got)
            self.assertIn(REASON, got.err)
            self.assertEqual(by_ssh, "Received disconnect from" in got.err, got)

    @as_everyone
    def test_ssh_prints_the_reason(self):
        """By SOCKS in the disconnect message, by HTTP from connect itself."""
        rest = 'deniedDomains = { "*:22" }, deniedDomainReasons = { ["*:22"] = "%s" }' % REASON
        policy = '{ network = { allowedDomains = { "%s:443" }, %s } }' % (ADDRESS, rest)
        for proxy in PROXIES.values():
            got = self.run_sh("https_proxy=%s HTTPS_PROXY=%s %s git@%s true; echo $?" % (
                proxy, proxy, self.ssh(), ADDRESS), policy)
            self.assertEqual("255\n", got.out, got)
            self.assertIn(REASON, got.err, proxy)
        got = self.run_sh("https_proxy=%s %s git@%s true" % (PROXIES["socks5h"], self.ssh(), ADDRESS), policy)
        self.assertIn("Received disconnect from", got.err)
        self.assertIn(":1: ", got.err)


if __name__ == "__main__":
    main()
