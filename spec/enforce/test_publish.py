# SPDX-License-Identifier: Apache-2.0
"""Published ports: the host reaches a server inside, by what was published and by nothing else."""
import os
import pathlib
import shutil
import socket
import struct
import threading
import time

from echo import Echo
from lib import PUBLIC, as_everyone, main
from running import Running, until

ECHO = os.path.join(PUBLIC, "echo.py")
shutil.copy(pathlib.Path(__file__).with_name("echo.py"), ECHO)


def free_port(address="127.0.0.1"):
    """One that nothing listens on now; another program could take it, which no test here has seen."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


def talk(port, data=b"hello", address="127.0.0.1", timeout=20):
    """Sends, ends its side, and reads to the end."""
    with socket.create_connection((address, port), timeout) as client:
        client.sendall(data)
        try:
            client.shutdown(socket.SHUT_WR)
        except OSError as error:
            # It was reset already.
            raise ConnectionResetError(error.errno, error.strerror) from error
        got = b""
        while piece := client.recv(1 << 20):
            got += piece
        return got


class Publish(Running):
    def serve(self, *options, policy="{}", inside=("127.0.0.1", 3000), greeting=()):
        words = [word for option in options for word in ("-p", option)]
        process = self.popen("/usr/bin/python3", ECHO, inside[0], str(inside[1]), *greeting, policy=policy, options=words)
        self.assertEqual(b"ready\n", process.stdout.readline(), process.stderr)
        return process

    @as_everyone
    def test_where_namespaces_are_refused(self):
        """The server inside gets the port itself, which was the host's for the first attempt."""
        port = free_port()
        process = self.popen("/usr/bin/python3", ECHO, "127.0.0.1", str(port), policy="{ enableWeakerNestedSandbox = true }",
                             options=["-p", str(port)], env={"SRT_LUA_FAKE_MISSING": "userns"})
        self.assertEqual(b"ready\n", process.stdout.readline())
        self.assertEqual(b"hellobye", talk(port))

    @as_everyone
    def test_each_spelling(self):
        port = free_port()
        self.serve(str(port), inside=("127.0.0.1", port))
        self.assertEqual(b"hellobye", talk(port))
        other, third = free_port(), free_port()
        self.serve("%d:3000" % other, "127.0.0.2:%d:3000" % third)
        self.assertEqual(b"hellobye", talk(other))
        self.assertEqual(b"hellobye", talk(third, address="127.0.0.2"))
        self.assertRaises(ConnectionRefusedError, talk, third)
        self.assertRaises(ConnectionRefusedError, talk, other, address="127.0.0.2")
        six = free_port("::1")
        self.serve("[::1]:%d:3000" % six)
        self.assertEqual(b"hellobye", talk(six, address="::1"))
        self.assertRaises(ConnectionRefusedError, talk, six)

    @as_everyone
    def test_by_the_policy(self):
        port, other = free_port(), free_port()
        policy = '{ network = { publishPorts = { "%d:3000" } } }' % port
        self.serve("%d:3000" % other, policy=policy)
        self.assertEqual(b"hellobye", talk(port))
        self.assertEqual(b"hellobye", talk(other))
        checked = self.run_srt(["check", self.policy(policy)])
        self.assertIn("127.0.0.1:%d → port 3000 inside" % port, checked.out, checked)

    @as_everyone
    def test_servers_on_ipv6_alone(self):
        port = free_port()
        self.serve("%d:3000" % port, inside=("::1", 3000))
        self.assertEqual(b"hellobye", talk(port))

    @as_everyone
    def test_network_open_as_well(self):
        port = free_port()
        with Echo() as outside:
            policy = '{ network = { allowedDomains = { "localhost:%d" } } }' % outside.port
            self.serve("%d:3000" % port, policy=policy)
            self.assertEqual(b"hellobye", talk(port))
            self.assertEqual(0, outside.count)

    @as_everyone
    def test_nothing_listens_inside(self):
        port = free_port()
        self.serve("%d:3001" % port)
        start = time.monotonic()
        # At once, as where nobody listens; connecting itself succeeds.
        self.assertRaises(ConnectionResetError, talk, port)
        self.assertLess(time.monotonic() - start, 5)

    @as_everyone
    def test_later_servers_are_found(self):
        port = free_port()
        process = self.popen("sh", "-c", "read x; exec /usr/bin/python3 %s 127.0.0.1 3000" % ECHO, policy="{}",
                             options=["-p", "%d:3000" % port], stdin=-1)
        until(lambda: self.listens(port))
        self.assertRaises(ConnectionResetError, talk, port)
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(b"ready\n", process.stdout.readline())
        self.assertEqual(b"hellobye", talk(port))

    @staticmethod
    def listens(port):
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            return True
        except ConnectionResetError:
            # By who listens, before the connection was told to be there.
            return True
        except ConnectionRefusedError:
            return False

    @as_everyone
    def test_two_runs(self):
        ports = [free_port(), free_port()]
        for i, port in enumerate(ports):
            self.serve("%d:3000" % port, greeting=("run%d." % i,))
        self.assertEqual([b"run0.xbye", b"run1.xbye"], [talk(port, b"x") for port in ports])

    def refused(self, word, *options, policy="{}"):
        words = [w for option in options for w in ("-p", option)]
        got = self.run_srt(["touch", "ran"], policy.replace("{}", '{ filesystem = { allowWrite = { "." } } }'),
                           options=words)
        self.assertEqual(125, got.code, got)
        self.assertIn(word, got.err)
        self.assertEqual(1, len(got.err.splitlines()), got)
        self.assertFalse(os.path.exists(self.path("w/ran")))

    @as_everyone
    def test_what_can_not_be_published(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.refused("port %d of 127.0.0.1 can't be published: it is in use on the host" % port, "%d:3000" % port)
        free = free_port()
        self.refused("published twice", "%d:3000" % free, "%d:3001" % free)
        self.refused("no such address", "192.0.2.1:%d:3000" % free)
        # The proxy is for the command alone, and the host's own port would lead to itself.
        allow = '{ network = { allowedDomains = { "%s" } } }'
        self.refused("the proxy has it", "%d:3128" % free, policy=allow % "a.test:80")
        self.refused("the host's own", "%d:%d" % (free, free), policy=allow % ("localhost:%d" % free))
        if self.user == "user":
            self.refused("ports below 1024", "80:3000")

    @as_everyone
    def test_many_connections(self):
        port = free_port()
        self.serve("%d:3000" % port)
        for _ in range(200):
            self.assertEqual(b"xbye", talk(port, b"x"))
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(talk(port, b"y" * 50000))) for _ in range(150)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual([b"y" * 50000 + b"bye"] * 150, answers)

    @as_everyone
    def test_much_data_both_ways(self):
        port = free_port()
        self.serve("%d:3000" % port)
        data = os.urandom(1 << 16) * 256
        with socket.create_connection(("127.0.0.1", port), 20) as client:
            writer = threading.Thread(target=lambda: (client.sendall(data), client.shutdown(socket.SHUT_WR)))
            writer.start()
            got = bytearray()
            while piece := client.recv(1 << 20):
                got += piece
            writer.join()
        self.assertTrue(bytes(got) == data + b"bye")

    @as_everyone
    def test_clients_that_reset(self):
        port = free_port()
        process = self.serve("%d:3000" % port)
        for _ in range(100):
            client = socket.create_connection(("127.0.0.1", port), 20)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        self.assertEqual(b"hellobye", talk(port))
        fds = "/proc/%d/fd" % process.pid
        self.assertTrue(until(lambda: len(os.listdir(fds)) < 40), os.listdir(fds))

    @as_everyone
    def test_a_server_that_never_accepts(self):
        port = free_port()
        code = "import socket, time\ns = socket.socket(); s.bind(('127.0.0.1', 3000)); s.listen(0); print('ready', flush=True)" \
            "\ntime.sleep(60)"
        process = self.popen("/usr/bin/python3", "-c", code, policy="{}", options=["-p", "%d:3000" % port])
        process.stdout.readline()
        clients = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(200)]
        # PID 1 has as many on their way as it may; it still hears signals.
        time.sleep(0.5)
        process.terminate()
        self.assertEqual(143, process.wait(10))
        for client in clients:
            client.close()

    @as_everyone
    def test_the_command_ends_while_connections_are_open(self):
        port = free_port()
        process = self.serve("%d:3000" % port)
        clients = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(20)]
        for client in clients:
            client.sendall(b"x")
            self.assertEqual(b"x", client.recv(10))
        process.terminate()
        self.assertEqual(143, process.wait(10))
        for client in clients:
            try:
                self.assertEqual(b"", client.recv(10).replace(b"bye", b""))
            except ConnectionResetError:
                pass
            client.close()
        self.assertRaises(ConnectionRefusedError, talk, port)
        self.serve("%d:3000" % port)
        self.assertEqual(b"hellobye", talk(port))


if __name__ == "__main__":
    main()
