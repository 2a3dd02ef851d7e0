# SPDX-License-Identifier: Apache-2.0
"""What a session holds besides: ports of the host, proxies of the user's own, and the bwrap backend."""
import signal
import socket
import subprocess
import threading

from lib import BINARY, CONTAINER, as_everyone, main, need
from server import ADDRESS, Origin
from sessions import Sessions
from test_landlock import knock, listening
from test_publish import ECHO, free_port, talk

# Gets out; then, given a port, does it get there, and elsewhere by the proxy?
LOOPBACK = """U=%s; curl -sS -m 20 $U; read port
curl -s -m 5 --noproxy '*' -o /dev/null -w '%%{http_code} ' http://127.0.0.1:$port/; echo $?
curl -s -m 9 -o /dev/null -w '%%{http_code}\\n' http://other.test/; exit 6"""
CONTAINED = """%(srt)s session %(policy)s --socket s.sock >out 2>err & session=$!
until grep -q session: out; do kill -0 $session || exit 99; sleep 0.05; done
%(srt)s exec --session $PWD/s.sock -- sh -c 'echo in; touch ../made; exit 5'; code=$?
kill $session; wait $session; exit $code"""


class Ways(Sessions):
    def serve(self, port, *options):
        """A server inside, at port 3000."""
        process = self.start(["exec", "--session", self.socket, *options, "--", "/usr/bin/python3", ECHO, "127.0.0.1", str(port)])
        self.assertEqual(b"ready\n", process.stdout.readline(), process.stderr)
        return process

    @as_everyone
    def test_ports(self):
        """Those of the policy and of exec lead to the command's own servers; each port to one command at a time."""
        port, other, own = free_port(), free_port(), free_port()
        process = self.session("{ network = { publishPorts = { \"%d:3000\" }, httpProxyPort = %d } }" % (port, own))
        first = self.serve(3000)
        self.assertEqual(b"hellobye", talk(port))
        got = self.exec("true")
        self.assertEqual(125, got.code)
        self.assertIn("port %d of 127.0.0.1 can't be published: it is in use" % port, got.err)
        first.kill()
        first.wait()
        second = self.serve(4000, "-p", "%d:4000" % other)
        self.assertEqual(b"hellobye", talk(other))
        # What leads in leads nowhere else, and a port that the proxy has is refused.
        second.send_signal(signal.SIGTERM)
        second.wait()
        self.assertRaises(ConnectionRefusedError, talk, other)
        self.assertIn("the proxy has it", self.exec("true", "-p", "3128").err)
        # A proxy of the user's own takes what commands ask the session's for.
        with socket.create_server(("127.0.0.1", own)) as server:
            def answer():
                client = server.accept()[0]
                self.seen = client.recv(9999)
                client.sendall(b"HTTP/1.1 204 theirs\r\nconnection: close\r\n\r\n")
                client.close()
            thread = threading.Thread(target=answer)
            thread.start()
            self.assertEqual("204", self.exec("curl -s -m 20 -w '%{http_code}' http://a.test/").out)
            thread.join()
        self.assertTrue(self.seen.startswith(b"GET http://a.test/ "), self.seen)
        self.assertNotIn("error", self.end(process))

    @as_everyone
    def test_bwrap(self):
        """The same by bubblewrap; nothing of it is left."""
        need("bwrap")
        secret = self.write("secret", "s")
        process = self.session('{ backend = "bwrap", filesystem = { allowWrite = { "." }, denyRead = { "%s" } },\n'
                               '  network = { allowedDomains = { "b.test" } } }' % secret)
        got = self.exec("echo x >new; cat new; cat %s; mount | grep -c srt-masks; kill -0 1; exit 5" % secret)
        self.assertEqual(5, got.code, repr(got))
        self.assertEqual("x\n0\n", got.out)
        self.assertIn("secret: Permission denied", got.err)
        running = [self.start(["exec", "--session", self.socket, "-c",
                               "curl -sS -m 20 http://%s.test/ >/dev/null; echo done; cat" % name], stdin=subprocess.PIPE)
                   for name in ("a", "b")]
        for one in running:
            out, err = one.communicate(timeout=60)
            self.assertEqual(b"done\n", out, err)
        self.assertEqual([], [name for name in self.leftovers() if name.endswith((".run", ".masks"))])
        self.assertNotIn("error", self.end(process))
        got = self.run_srt(["session", self.policy('{ backend = "seatbelt" }')])
        self.assertEqual(125, got.code)
        self.assertIn("can't be held in a session", got.err)

    @as_everyone
    def test_landlock(self):
        """Without namespaces proxies listen on the host, each for its command alone, also when the session has died."""
        with Origin() as origin:
            process = self.session('{ backend = "landlock", filesystem = { allowWrite = { "." } },\n'
                                   '  network = { allowedDomains = { "%s:%d" } } }' % (ADDRESS, origin.port))
            first, second = (self.start(["exec", "--session", self.socket, "--id", name, "-c", LOOPBACK % (
                "http://%s:%d/mine" % (ADDRESS, origin.port))], stdin=subprocess.PIPE) for name in ("one", "two"))
            for one in (first, second):
                self.assertEqual(b"hello from /mine\n", one.stdout.readline())
            ports = [sorted(listening(one.pid)) for one in (first, second)]
            self.assertFalse(set(ports[0]) & set(ports[1]) or [] in ports, ports)
            # Neither another program nor another command gets in.
            for port in ports[0] + ports[1]:
                self.assertEqual(b"", knock(port, "GET http://%s:%d/ HTTP/1.1\r\nHost: x\r\n\r\n" % (ADDRESS, origin.port)))
            out, err = second.communicate(b"%d\n" % ports[0][0], timeout=60)
            self.assertEqual(b"000 7\n403\n", out, err)
            found = self.line()(op="violations", id="two")["violations"]
            self.assertIn("other.test:80", [one["target"] for one in found])
            seen = len(origin.seen)
            process.kill()
            process.wait()
            # The port stays taken, and nothing behind it leads out.
            with socket.socket() as thief:
                self.assertRaises(OSError, thief.bind, ("127.0.0.1", ports[0][0]))
            out, err = first.communicate(b"%d\n" % origin.port, timeout=60)
            self.assertEqual((b"000 7\n403\n", 6, seen), (out, first.returncode, len(origin.seen)), err)

    @as_everyone
    def test_in_a_container(self):
        """Where namespaces can't be had, and the policy agrees; else not."""
        for weaker in (True, False):
            path = self.policy('{ enableWeakerNestedSandbox = %s, filesystem = { allowWrite = { "." } } }' % str(weaker).lower())
            done = self.on_host([CONTAINER, "sh", "-c", CONTAINED % {"srt": BINARY, "policy": path}], text=True, timeout=60)
            if weaker:
                self.assertEqual((5, "in\n"), (done.returncode, done.stdout), done.stderr)
                self.assertIn("not held as with namespaces", done.stderr)
                self.assertIn("write %s" % self.path("made"), done.stderr)
            else:
                self.assertEqual((125, ""), (done.returncode, done.stdout), done.stderr)
                self.assertIn("with enableWeakerNestedSandbox = true", done.stderr)
                self.assertNotIn("has ended", done.stderr)

    @as_everyone
    def test_what_might_be_less(self):
        """Agreeing to less than namespaces changes nothing where they are there, nor what else is asked for."""
        for more in ("strict = true", 'filesystem = { allowWrite = { "." }, decideOpen = function() return true end }'):
            path = self.policy("{ enableWeakerNestedSandbox = true, %s }" % more)
            script = CONTAINED % {"srt": BINARY, "policy": path}
            done = self.on_host(["sh", "-c", script], text=True, timeout=60)
            self.assertEqual((5, "in\n"), (done.returncode, done.stdout), done.stderr)
            self.assertNotIn("not held", done.stderr)
            done = self.on_host([CONTAINER, "sh", "-c", script], text=True, timeout=60)
            self.assertEqual((125, ""), (done.returncode, done.stdout), done.stderr)
            self.assertIn("strict = true" if more.startswith("strict") else "decideOpen", done.stderr)


if __name__ == "__main__":
    main()
