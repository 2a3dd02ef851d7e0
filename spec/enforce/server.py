# SPDX-License-Identifier: Apache-2.0
"""An origin server on a loopback address that is not the sandbox's own."""
import hashlib
import http.server
import socket
import threading

ADDRESS = "127.0.0.2"


class Listening:
    """A server of raw bytes on loopback: serve(connection) runs in a thread of its own for each."""

    def listen(self):
        return socket.create_server((ADDRESS, 0), backlog=128)

    def __enter__(self):
        self.socket = self.listen()
        self.port = self.socket.getsockname()[1] if self.socket.family != socket.AF_UNIX else None
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()
        return self

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def __exit__(self, *_):
        # Closing alone wakes nobody in accept(), and a signal restarts that by number: on the next server's socket.
        self.socket.shutdown(socket.SHUT_RDWR)
        self.accepting.join()
        self.socket.close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def note(self, body=b""):
        self.server.seen.append((self.command, self.path, dict(self.headers), body))

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                data += self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    return data
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self):
        self.note()
        if self.path == "/big":
            self.answer(200, self.server.big)
        elif self.path == "/close":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"until the end")
            self.close_connection = True
        else:
            self.answer(200, b"hello from %s\n" % self.path.encode(), X_Origin="yes")

    do_HEAD = do_DELETE = do_GET

    def do_POST(self):
        body = self.body()
        self.note(body)
        self.answer(200, hashlib.sha256(body).hexdigest().encode() + b"\n")

    do_PUT = do_POST

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients are killed on purpose."""


class Origin:
    """with Origin() as origin: origin.port, origin.url, origin.seen"""

    def __enter__(self):
        self.server = Server((ADDRESS, 0), Handler)
        self.server.seen = self.seen = []
        self.server.big = bytes(range(256)) * 20000
        self.port = self.server.server_address[1]
        self.url = "http://%s:%d" % (ADDRESS, self.port)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
