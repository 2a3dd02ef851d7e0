# SPDX-License-Identifier: Apache-2.0
"""An origin that answers with all that it was sent, in one piece, in chunks of any size, or compressed."""
import base64
import gzip
import ssl
import threading
import time

from server import ADDRESS, Handler, Server


class Mirror(Handler):
    def do_GET(self):
        body = self.body()
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        text = "%s %s\n%s\n" % (self.command, self.path, self.headers)
        authorization = self.headers.get("Authorization", "")
        if authorization.startswith("Basic "):
            text += "decoded: %s\n" % base64.b64decode(authorization[6:] + "==").decode()
        text = text.encode() + body
        if self.path.startswith("/gzip"):
            self.answer(200, gzip.compress(text), Content_Encoding="gzip")
        elif self.path.startswith("/twice"):
            self.answer(200, gzip.compress(text), Content_Encoding="identity", content_encoding="gzip")
        elif self.path.startswith("/chunks"):
            self.chunks(text, int(self.path[7:].split("?")[0]))
        elif self.path.startswith("/head"):
            self.answer(200, b"", X_Echo=authorization, Location="http://other.test/?t=" + authorization)
        elif self.path.startswith("/to/"):
            self.answer(302, text, Location="http://" + self.path[4:].replace("?", "/?"))
        elif self.path.startswith("/base64"):
            self.answer(200, b"".join(base64.b64encode(b"x" * i + text) + b"\n" for i in range(3)))
        else:
            self.answer(200, text)

    do_POST = do_PUT = do_GET

    def chunks(self, text, size):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(0, len(text), size):
            piece = text[i:i + size]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            time.sleep(0.0005)
        self.wfile.write(b"0\r\n\r\n")


class Mirrored:
    """with Mirrored() as origin: origin.url, origin.at (HOST:PORT), origin.seen

    base: of a certificate and its key, without the endings: the origin speaks TLS.
    """

    def __init__(self, base=None):
        self.base = base

    def __enter__(self):
        self.server = Server((ADDRESS, 0), Mirror)
        self.server.seen = self.seen = []
        if self.base:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.base + ".pem", self.base + ".key")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                     do_handshake_on_connect=False)
        self.at = "%s:%d" % (ADDRESS, self.server.server_address[1])
        self.url = ("https://" if self.base else "http://") + self.at
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
