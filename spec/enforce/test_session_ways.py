# SPDX-License-Identifier: Apache-2.0
"""What a session holds besides: ports of the host, proxies of the user's own, and the bwrap backend."""
import signal
import socket
import subprocess
import threading

from lib import as_everyone, main, need
from sessions import Sessions
from test_publish import ECHO, free_port, talk


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
        for backend, why in (("landlock", "can't be held in a session"), ("seatbelt", "can't be held")):
            got = self.run_srt(["session", self.policy('{ backend = "%s" }' % backend)])
            self.assertEqual(125, got.code)
            self.assertIn(why, got.err)


if __name__ == "__main__":
    main()
