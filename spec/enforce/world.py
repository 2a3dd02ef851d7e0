# SPDX-License-Identifier: Apache-2.0
"""A world of its own for the tests' host: network and resolver, with a neighbour that serves and notes what is asked.

Entered for good by the test's process (root only), so whatever it starts lives in it. The neighbour is another process
with another network, at the end of a cable.
"""
import atexit
import contextlib
import ctypes
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import postgres

HOST, NEIGHBOUR = "10.77.0.1", "10.77.0.2"
HOST6, NEIGHBOUR6 = "2001:db8:77::1", "2001:db8:77::2"
NEWNS, NEWNET = 0x20000, 0x40000000
# Names that the neighbour's DNS knows: all others it does not.
NAMES = {"up.test": (NEIGHBOUR, None), "six.test": (None, NEIGHBOUR6), "other.test": (NEIGHBOUR, NEIGHBOUR6)}


def unshare(flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare")


def die_with_parent():
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL


def sh(script):
    subprocess.run(["sh", "-ec", script], check=True)


class World:
    """Where: World.enter() once; queries() and log() of what the neighbour saw since clear()."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="srt-world-", dir="/tmp"))
        atexit.register(subprocess.run, ["rm", "-rf", str(self.folder)])
        sh("""cd %s; git init -q w; cd w; echo from git >README; git add README
              git -c user.name=a -c user.email=a@b commit -qm one; git clone -q --bare . ../r.git""" % self.folder)
        unshare(NEWNS | NEWNET)
        sh("mount --make-rprivate /")
        self.start_neighbour()
        # The tests' own folders are beneath /tmp; what the run sees as the host's resolver is this.
        (self.folder / "resolv.conf").write_text("nameserver %s\noptions timeout:1 attempts:1\n" % NEIGHBOUR)
        sh("mount --bind %s/resolv.conf /etc/resolv.conf" % self.folder)

    def start_neighbour(self):
        self.neighbour = subprocess.Popen([sys.executable, __file__, str(self.folder)], stdout=subprocess.PIPE,
                                          preexec_fn=die_with_parent)
        atexit.register(self.stop)
        assert self.neighbour.stdout.readline() == b"new\n"
        sh("""ip link set lo up; ip link add near type veth peer name far; ip link set far netns %d
              ip addr add %s/24 dev near; ip -6 addr add %s/64 dev near nodad; ip link set near up"""
           % (self.neighbour.pid, HOST, HOST6))
        assert self.neighbour.stdout.readline() == b"up\n"

    def stop(self):
        self.neighbour.kill()
        self.neighbour.wait()
        self.neighbour.stdout.close()

    def clear(self):
        for name in ("queries", "clients"):
            (self.folder / name).write_text("")

    def lines(self, name):
        path = self.folder / name
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def queries(self):
        """Names that were asked of the host's DNS server."""
        return self.lines("queries")

    def clients(self):
        """Ports that were connected to."""
        return self.lines("clients")


def note(folder, name, text):
    with open(os.path.join(folder, name), "a", encoding="utf-8") as out:
        out.write(text + "\n")


def name_of(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1").lower())
        at += 1 + query[at]
    return ".".join(labels), struct.unpack_from(">H", query, at + 1)[0], at + 5


def dns(folder):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((NEIGHBOUR, 53))
    while True:
        query, client = server.recvfrom(4096)
        name, kind, end = name_of(query)
        note(folder, "queries", name)
        four, six = NAMES.get(name, (None, None))
        data = socket.inet_pton(socket.AF_INET, four) if kind == 1 and four else \
            socket.inet_pton(socket.AF_INET6, six) if kind == 28 and six else b""
        head = query[:2] + struct.pack(">HHHHH", 0x8180 | (0 if name in NAMES else 3), 1, 1 if data else 0, 0, 0)
        record = struct.pack(">HHHIH", 0xc00c, kind, 1, 0, len(data)) + data if data else b""
        server.sendto(head + query[12:end] + record, client)


def serve_one(client, port):
    """Tells what it is, then echoes; port 80 speaks HTTP, 5432 PostgreSQL, and 443 waits for its client."""
    with contextlib.suppress(ConnectionError), client:
        if port == 5432:
            postgres.serve(client)
            return
        if port == 80:
            head = b""
            while b"\r\n\r\n" not in head:
                more = client.recv(65536)
                if not more:
                    return
                head += more
            body = head.split(b"\r\n")[0] + b"\n"
            client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            return
        if port != 443:
            client.sendall(b"port %d\n" % port)
        while True:
            data = client.recv(65536)
            if not data:
                return
            client.sendall(data)


def serve(folder, port):
    server = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024)
    while True:
        client, _ = server.accept()
        note(folder, "clients", str(port))
        threading.Thread(target=serve_one, args=(client, port), daemon=True).start()


def neighbour(folder):
    unshare(NEWNET)
    print("new", flush=True)
    while not os.path.exists("/sys/class/net/far") and subprocess.run(["ip", "link", "show", "far"], capture_output=True).returncode:
        time.sleep(0.01)
    sh("""ip link set lo up; ip addr add %s/24 dev far; ip -6 addr add %s/64 dev far nodad; ip link set far up"""
       % (NEIGHBOUR, NEIGHBOUR6))
    for target, args in [(dns, (folder,))] + [(serve, (folder, port)) for port in (22, 80, 443, 5432, 6379, 7777)]:
        threading.Thread(target=target, args=args, daemon=True).start()
    program = subprocess.check_output(["git", "--exec-path"], text=True).strip() + "/git-daemon"
    daemon = subprocess.Popen([program, "--base-path=" + folder, "--export-all", "--reuseaddr"], preexec_fn=die_with_parent)
    time.sleep(0.3)
    assert daemon.poll() is None
    print("up", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    neighbour(sys.argv[1])
