# SPDX-License-Identifier: Apache-2.0
"""A small forward proxy of the tests' own: CONNECT and absolute form, over TCP or a Unix socket."""
import os
import select
import socket

from server import ADDRESS, Listening


def head_of(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(4096)
        if not more:
            return None, b""
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    return head.decode("latin-1"), rest


def pump(one, two):
    """Until both have ended; each end is passed on."""
    others = {one: two, two: one}
    while others:
        for source in select.select(list(others), [], [], 30)[0] or list(others):
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            if data:
                others[source].sendall(data)
            else:
                try:
                    others.pop(source).shutdown(socket.SHUT_WR)
                except OSError:
                    pass


class Parent(Listening):
    """with Parent() as parent: parent.url, parent.seen (heads). names: {name: address} it resolves itself, or {"name:port": (address, port)}.

    answer: what it says instead of doing anything."""

    def __init__(self, names=None, path=None, answer=None, chatty=b""):
        self.names, self.path, self.answer, self.chatty = names or {}, path, answer, chatty
        self.seen = []

    def listen(self):
        if not self.path:
            return super().listen()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        os.chmod(self.path, 0o666)
        listener.listen(16)
        return listener

    @property
    def url(self):
        return "http://%s:%d" % (ADDRESS, self.port)

    def reach(self, authority):
        host, _, port = authority.rpartition(":")
        address = self.names.get(authority) or self.names.get(host, host.strip("[]"))
        return socket.create_connection(address if isinstance(address, tuple) else (address, int(port)))

    def serve(self, client):
        with client:
            head, rest = head_of(client)
            if head is None:
                return
            self.seen.append(head)
            if self.answer is not None:
                client.sendall(self.answer)
                return
            method, target, _ = head.split("\r\n")[0].split(" ")
            authority = target if method == "CONNECT" else target.split("/")[2]
            authority += "" if ":" in authority else ":80"
            with self.reach(authority) as origin:
                if method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 OK\r\nX-Parent: yes\r\n\r\n" + self.chatty)
                    origin.sendall(rest)
                else:
                    line = "%s /%s HTTP/1.1" % (method, target.split("/", 3)[3])
                    lines = [line, *(one for one in head.split("\r\n")[1:] if not one.lower().startswith("proxy-"))]
                    origin.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + rest)
                pump(client, origin)
