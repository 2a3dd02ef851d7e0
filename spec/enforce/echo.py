# SPDX-License-Identifier: Apache-2.0
"""A TCP server that sends back what it gets and "bye" at its end; as a program: echo.py ADDRESS PORT [GREETING]."""
import socket
import sys
import threading


class Echo:
    """with Echo("127.0.0.1") as echo: echo.port, echo.count (connections so far)"""

    def __init__(self, address="127.0.0.1", port=0, greeting=b""):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, port))
        self.socket.listen(4096)
        self.port = self.socket.getsockname()[1]
        self.greeting = greeting
        self.count = 0

    def serve(self, peer):
        with peer:
            try:
                peer.sendall(self.greeting)
                while data := peer.recv(65536):
                    peer.sendall(data)
                peer.sendall(b"bye")
            except OSError:
                pass

    def accept(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def main():
    server = Echo(sys.argv[1], int(sys.argv[2]), b"".join(word.encode() for word in sys.argv[3:]))
    print("ready", flush=True)
    server.accept()


if __name__ == "__main__":
    main()
