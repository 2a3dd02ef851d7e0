# SPDX-License-Identifier: Apache-2.0
"""As much of a PostgreSQL server as psql needs to log in without a password and ask one thing (protocol 3.0)."""
import struct

SSL, GSS = 80877103, 80877104


def message(kind, data=b""):
    return kind + struct.pack(">I", len(data) + 4) + data


def exactly(client, size):
    data = b""
    while len(data) < size:
        more = client.recv(size - len(data))
        if not more:
            raise ConnectionResetError
        data += more
    return data


def startup(client):
    """The client's parameters; encryption is refused, as a server without a certificate does."""
    while True:
        size, code = struct.unpack(">II", exactly(client, 8))
        rest = exactly(client, size - 8)
        if code not in (SSL, GSS):
            words = rest.decode().split("\0")
            return dict(zip(words[::2], words[1::2]))
        client.sendall(b"N")


def answer(query, user):
    """One row: who asked, and what."""
    row = b"".join(struct.pack(">I", len(value)) + value for value in (user.encode(), query))
    columns = b"".join(name + b"\0" + struct.pack(">IHIhih", 0, 0, 25, -1, -1, 0) for name in (b"who", b"what"))
    return message(b"T", struct.pack(">H", 2) + columns) + message(b"D", struct.pack(">H", 2) + row) \
        + message(b"C", b"SELECT 1\0")


def serve(client):
    user = startup(client).get("user", "?")
    ready = message(b"Z", b"I")
    client.sendall(message(b"R", struct.pack(">I", 0)) + message(b"S", b"server_version\x0015.0\0")
                   + message(b"S", b"client_encoding\0UTF8\0") + ready)
    while True:
        kind, size = struct.unpack(">cI", exactly(client, 5))
        data = exactly(client, size - 4)
        if kind == b"X":
            return
        client.sendall(answer(data.rstrip(b"\0"), user) + ready)
