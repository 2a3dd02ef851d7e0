# SPDX-License-Identifier: Apache-2.0
"""Runs outside: listens at PATH and says WORD to whoever connects; with "listens", once it was told something."""
import socket
import sys


def main():
    path, word = sys.argv[1:3]
    kind = socket.SOCK_SEQPACKET if "seqpacket" in sys.argv else socket.SOCK_STREAM
    with socket.socket(socket.AF_UNIX, kind) as server:
        server.bind("\0" + path[1:] if path.startswith("@") else path)
        server.listen(int(sys.argv[3]) if sys.argv[3:] and sys.argv[3].isdigit() else 128)
        print("listening", flush=True)
        if "deaf" in sys.argv:
            sys.stdin.read()
            return
        while True:
            peer = server.accept()[0]
            try:
                if "listens" in sys.argv:
                    peer.recv(4096)
                peer.sendall(word.encode())
            except OSError:
                pass
            peer.close()


if __name__ == "__main__":
    main()
