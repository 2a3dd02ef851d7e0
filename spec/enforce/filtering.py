# SPDX-License-Identifier: Apache-2.0
"""What tests of the request and response filters share: a scripted origin, and a client inside that speaks raw HTTP."""
import gzip
import socket
import threading
import time
import zlib

from server import ADDRESS, Listening

# Inside: each file named is a script of steps in Python literals, run one after the other; prints what came back.
CLIENT = r"""
import ast, socket, sys, time
def run(steps):
    s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(15)
    out, start = b"", time.monotonic()
    try:
        for step in steps:
            if isinstance(step, bytes):
                s.sendall(step)
            elif isinstance(step, float):
                time.sleep(step)
            elif step == "close":
                s.close()
                return out
            elif step == "reset":
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                s.close()
                return out
            elif step == "end":
                s.shutdown(socket.SHUT_WR)
            elif step[0] == "until":
                while step[1] not in out:
                    data = s.recv(65536)
                    if not data:
                        return out + b"<END>"
                    out += data
                out += b"<%.1f>" % (time.monotonic() - start) if len(step) > 2 else b""
            elif step[0] == "times":
                s.sendall(step[1] * step[2])
        while True:
            data = s.recv(65536)
            if not data:
                return out + b"<END>"
            out += data
    except OSError as error:
        return out + b"<%s>" % type(error).__name__.encode()
for name in sys.argv[1:]:
    print(ascii(run(ast.literal_eval(open(name).read()))))
"""


def raw_deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def bomb(size, layers=1):
    """A gzip of that many zeros, made of one piece many times, so without a checksum that fits; then gzipped again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    data = b"\x1f\x8b\x08" + bytes(7) + piece * (size >> 20) + packer.flush() + bytes(8)
    for _ in range(layers - 1):
        data = gzip.compress(data)
    return data


class Request:
    def __init__(self, head, body, trailers):
        lines = head.decode("latin-1").split("\r\n")
        self.line, self.body, self.trailers = lines[0], body, trailers
        self.method, self.target = self.line.split(" ")[:2]
        self.fields = [tuple(line.split(": ", 1)) for line in lines[1:] if line]

    def get(self, name):
        values = [v for n, v in self.fields if n.lower() == name.lower()]
        return ", ".join(values) if values else None


class Scripted(Listening):
    """An origin of raw bytes: answers[path] is bytes to send, or fn(connection, request); else it echoes the body."""

    def __init__(self, answers=None):
        self.answers, self.seen, self.lock = answers or {}, [], threading.Lock()

    @property
    def name(self):
        return "%s:%d" % (ADDRESS, self.port)

    def chunked(self, file):
        body, trailers = b"", b""
        while True:
            size = int(file.readline().split(b";")[0], 16)
            if not size:
                break
            body += file.read(size)
            file.readline()
        while (line := file.readline()) not in (b"\r\n", b""):
            trailers += line
        return body, trailers

    def request(self, connection, file):
        head = b""
        while (line := file.readline()) not in (b"\r\n", b""):
            head += line
        if not head:
            return None
        asked = Request(head, b"", b"")
        if asked.get("Expect"):
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if asked.get("Transfer-Encoding"):
            asked.body, asked.trailers = self.chunked(file)
        else:
            asked.body = file.read(int(asked.get("Content-Length") or 0))
        return asked

    def serve(self, connection):
        file = connection.makefile("rb")
        with connection:
            try:
                while asked := self.request(connection, file):
                    with self.lock:
                        self.seen.append(asked)
                    answer = self.answers.get(asked.target.split("?")[0])
                    if callable(answer):
                        answer(connection, asked)
                        return
                    connection.sendall(answer or b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (
                        len(asked.body), asked.body))
            except (OSError, ValueError):
                pass


def answer(body=b"", status="200 OK", *fields, length=True):
    """A response as bytes."""
    head = ["HTTP/1.1 " + status, *fields]
    if length:
        head.append("Content-Length: %d" % len(body))
    return "\r\n".join(head + ["", ""]).encode() + body


def chunks(*pieces, trailers=b""):
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece) + b"0\r\n" + trailers + b"\r\n"


def slowly(*steps):
    """An answer that sends pieces with pauses between."""
    def send(connection, _):
        for step in steps:
            if isinstance(step, bytes):
                connection.sendall(step)
            else:
                time.sleep(step)
    return send


def cut(data):
    """An answer that ends by a reset."""
    def send(connection, _):
        connection.sendall(data)
        time.sleep(0.2)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
    return send
