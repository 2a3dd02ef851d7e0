# SPDX-License-Identifier: Apache-2.0
"""What servers take for TLS or HTTP, and a hasty look would not: nothing of it leaves a tunnel that is read."""
import struct

from lib import Case, as_everyone, main
from server import ADDRESS, Listening

# As OpenSSL 3 and GnuTLS still take it: TLS 1.2 offered in the form of SSL 2.0.
SSL2 = bytes([1, 3, 3]) + struct.pack(">HHH", 6, 0, 32) + bytes.fromhex("00009c00009d") + bytes(range(32))
TLS = bytes.fromhex("160301002d0100002903030000000000000000000000000000000000000000000000000000000000000000000002009c0100")
REQUEST = b"GET /denied HTTP/1.1\r\nHost: a\r\n\r\n"

FIRST_BYTES = {
    "SSL 2.0": struct.pack(">H", 0x8000 | len(SSL2)) + SSL2,
    "SSL 2.0, padded": struct.pack(">HB", len(SSL2), 0) + SSL2,
    "another record first": b"\x14\x03\x03\0\1\1" + TLS,  # GnuTLS
    "a method of any length": b"A" * 100 + b" / HTTP/1.1\r\nHost: a\r\n\r\n" + REQUEST,  # Go
    "empty lines without end": b"\r\n" * 5000 + REQUEST,  # nginx
    "a line of white space": b" \r\n" + REQUEST,
    "an odd target without end": b"GET ftp://a/" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",  # Go
}

CLIENT = """
import os, socket, sys
proxy = os.environ["https_proxy"].split("//")[1].split(":")
s = socket.create_connection((proxy[0], int(proxy[1])), timeout=8)
s.sendall(b"CONNECT %%s:%%s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" %% (sys.argv[1].encode(), sys.argv[2].encode()))
head = b""
while b"\\r\\n\\r\\n" not in head: head += s.recv(1)
print(head.decode())
s.sendall(bytes.fromhex(sys.argv[3]))
try:
    s.settimeout(2)
    while s.recv(4096): pass
except OSError: pass
""".replace("%%", "%")

POLICY = """{ network = { allowedDomains = { "%s" }, tlsTerminate = {},
  filterRequest = function(req) return false, "nothing" end } }""" % ADDRESS


class Heard(Listening):
    """Answers nothing, and keeps what it is sent."""

    def __init__(self):
        self.bytes = b""

    def serve(self, connection):
        with connection:
            while more := connection.recv(4096):
                self.bytes += more


class LookAlikes(Case):
    def send(self, data):
        with Heard() as server:
            self.write("w/client.py", CLIENT)
            got = self.run_srt(["/usr/bin/python3", "client.py", ADDRESS, str(server.port), data.hex()], POLICY)
            self.assertIn(" 200 ", got.out, got)
            return server.bytes

    @as_everyone
    def test_none_gets_through(self):
        for name, data in FIRST_BYTES.items():
            with self.subTest(name):
                self.assertEqual(b"", self.send(data)[:40])

    @as_everyone
    def test_other_protocols_do(self):
        for data in (b"\0\0\0\x08\4\xd2\x16\x2f", b'{"jsonrpc":"2.0","method":"x","params":[]}', b"PING\r\n"):
            self.assertEqual(data, self.send(data))


main()
