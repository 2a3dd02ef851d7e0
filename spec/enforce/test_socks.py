# SPDX-License-Identifier: Apache-2.0
"""SOCKS on the wire: real clients and raw bytes, the rows of the case table about it."""
import os
import socket
import threading

from lib import Case, as_everyone, main, need
from server import ADDRESS, Origin

FOUR = socket.inet_aton(ADDRESS)
# Inside: sends pieces, with a pause between them, and prints all that comes, in hex.
CLIENT = """import socket, sys, time
port, *pieces = sys.argv[1:]
s = socket.create_connection(("127.0.0.1", int(port))); s.settimeout(5)
for piece in pieces:
    if piece == "END": s.shutdown(socket.SHUT_WR)
    else: s.sendall(bytes.fromhex(piece))
    time.sleep(0.02)
data = b""
try:
    while True:
        more = s.recv(65536)
        if not more: break
        data += more
    print(data.hex() + " end")
except TimeoutError: print(data.hex() + " open")
except ConnectionError: print(data.hex() + " reset")
"""
GREETING, CHOSEN = b"\5\1\0", b"\5\0"
REQUEST = b"GET /s HTTP/1.0\r\n\r\n"


def reply(code):
    return bytes((5, code, 0, 1, 0, 0, 0, 0, 0, 0))


def named(name, port, command=1):
    return bytes((5, command, 0, 3, len(name))) + name + port.to_bytes(2, "big")


def four(port, address=FOUR):
    return b"\5\1\0\1" + address + port.to_bytes(2, "big")


class Socks(Case):
    def talk(self, policy, pieces, port=1080):
        words = [piece if piece == "END" else piece.hex() for piece in pieces]
        got = self.run_srt(["/usr/bin/python3", "-c", CLIENT, str(port), *words], policy)
        self.assertEqual(0, got.code, got)
        data, _, how = got.out.strip().rpartition(" ") if " " in got.out.strip() else ("", "", got.out.strip())
        return bytes.fromhex(data), how

    def policy_for(self, origin, rest=""):
        return '{ network = { allowedDomains = { "%s:%d", "localhost:%d", "%s:1", "a.test:80" }, %s } }' % (
            ADDRESS, origin.port, origin.port, ADDRESS, rest)


class Wire(Socks):
    @as_everyone
    def test_spellings_of_an_allowed_destination(self):
        with Origin() as origin:
            policy = self.policy_for(origin)
            port = origin.port
            mapped = b"\5\1\0\4" + bytes(10) + b"\xff\xff" + FOUR + port.to_bytes(2, "big")
            for request in (four(port), mapped, named(ADDRESS.encode(), port), named(b"127.2", port), named(b"2130706434", port),
                            named(b"0x7f.2", port), named(b"127.0.0.2.", port), named(b"::ffff:127.0.0.2", port)):
                data, how = self.talk(policy, [GREETING, request, REQUEST])
                self.assertTrue(data.startswith(CHOSEN + reply(0) + b"HTTP/1.1 200"), (request, data))
                self.assertTrue(data.endswith(b"hello from /s\n"), data)
                self.assertEqual("end", how)

    @as_everyone
    def test_everything_in_one_packet_and_byte_by_byte(self):
        with Origin() as origin:
            policy = self.policy_for(origin)
            user = b"\5\1\2" + b"\1\4user\4pass"
            for start, chosen in ((GREETING, CHOSEN), (user, b"\5\2\1\0"), (b"\5\2\2\0", CHOSEN), (b"\5\1\2\1\0\0", b"\5\2\1\0")):
                whole = start + four(origin.port) + REQUEST
                for pieces in ([whole], [bytes((one,)) for one in whole], [whole, "END"]):
                    data, _ = self.talk(policy, pieces)
                    self.assertTrue(data.startswith(chosen + reply(0) + b"HTTP/1.1 200"), (pieces, data))
            old = b"\4\1" + origin.port.to_bytes(2, "big") + FOUR + b"user\0" + REQUEST
            old_named = b"\4\1" + origin.port.to_bytes(2, "big") + b"\0\0\0\1\0" + ADDRESS.encode() + b"\0" + REQUEST
            for whole in (old, old_named):
                for pieces in ([whole], [bytes((one,)) for one in whole]):
                    data, _ = self.talk(policy, pieces)
                    self.assertTrue(data.startswith(b"\0\x5a\0\0\0\0\0\0HTTP/1.1 200"), (pieces, data))

    @as_everyone
    def test_refusals_are_whole_replies(self):
        with Origin() as origin:
            policy = self.policy_for(origin, 'deniedDomains = { "%s:9", "*:22" }' % ADDRESS)
            port = origin.port
            rows = ((named(b"not.allowed.test", 443), 2), (four(9), 2), (four(port, b"\x7f\0\0\3"), 2), (named(b"localhost\r\nX: y", port), 2),
                    (named(b"[::1]", port), 2), (named("münchen.de".encode(), 80), 2), (named(b"fe80::1%lo", port), 2),
                    (named(b"a\0.a.test", 80), 2), (named(b"", 80), 2), (named(b"localhost..", port), 2), (four(0), 2),
                    (named(ADDRESS.encode(), port, 2), 7), (b"\5\3\0\1\0\0\0\0\0\0", 7), (b"\5\1\0\2\0\0\0\0\0\0", 8),
                    (b"\5\1\1\1" + FOUR + port.to_bytes(2, "big"), 1), (four(1), 5), (named(b"a.test", 80), 4))
            for request, code in rows:
                data, how = self.talk(policy, [GREETING, request])
                self.assertEqual((CHOSEN + reply(code), "end"), (data, how), request)
            for start, answer in ((b"\5\1\1", b"\5\xff"), (b"\5\0", b"\5\xff"), (b"\5\1\2\5\1u\1p", b"\5\2\1\1")):
                self.assertEqual((answer, "end"), self.talk(policy, [start]))
            for start in (b"\4\2\0\x50\x7f\0\0\2\0", b"\4\1\0\x50\x7f\0\0\3\0", b"\4\1\0\x50\0\0\0\1\0no.test\0"):
                self.assertEqual((b"\0\x5b\0\0\0\0\0\0", "end"), self.talk(policy, [start]))
            self.assertEqual([], origin.seen)

    @as_everyone
    def test_opaque_tunnels_can_be_refused(self):
        with Origin() as origin:
            policy = self.policy_for(origin, "refuseOpaqueTunnels = true")
            self.assertEqual((CHOSEN + reply(2), "end"), self.talk(policy, [GREETING, four(origin.port)]))

    @as_everyone
    def test_callbacks_know_the_protocol(self):
        policy = ('{ network = { decideConnect = function(c) return false, "seen " .. c.protocol .. " " .. c.host end } }')
        for pieces, seen, answer in (([GREETING, named(b"A.test.", 80)], "seen socks5 a.test", CHOSEN + reply(2)),
                                     ([b"\4\1\0\x50\0\0\0\1\0a.test\0"], "seen socks4a a.test", b"\0\x5b\0\0\0\0\0\0")):
            words = [piece.hex() for piece in pieces]
            got = self.run_srt(["/usr/bin/python3", "-c", CLIENT, "1080", *words], policy, options=("--debug",))
            self.assertEqual(answer.hex() + " end\n", got.out, got)
            self.assertIn(seen, got.err)

    @as_everyone
    def test_what_a_callback_allows_is_guarded(self):
        with Origin() as origin:
            policy = "{ network = { decideConnect = function() return true end } }"
            self.assertEqual((CHOSEN + reply(2), "end"), self.talk(policy, [GREETING, four(origin.port)]))
            self.assertEqual((CHOSEN + reply(2), "end"), self.talk(policy, [GREETING, named(b"localhost", origin.port)]))
            self.assertEqual([], origin.seen)

    @as_everyone
    def test_slow_ones_are_cut(self):
        with Origin() as origin:
            policy = "{ limits = { headerSeconds = 1 }, " + self.policy_for(origin)[1:]
            for pieces in ([b"\5"], [b"\5\1\2"], [GREETING, b"\5\1\0"], [b"\4\1"]):
                data, how = self.talk(policy, pieces)
                self.assertEqual("end", how, pieces)
            for pieces in ([b"\5", "END"], [GREETING, b"\5\1", "END"], [b"\4", "END"]):
                self.assertEqual("end", self.talk(self.policy_for(origin), pieces)[1])

    @as_everyone
    def test_both_ports_serve_both(self):
        with Origin() as origin:
            policy = self.policy_for(origin)
            data, _ = self.talk(policy, [GREETING + four(origin.port) + REQUEST], port=3128)
            self.assertIn(b"hello from /s\n", data)
            data, _ = self.talk(policy, [b"GET %s/s HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n\r\n" % (
                origin.url.encode(), ADDRESS.encode(), origin.port)], port=1080)
            self.assertIn(b"hello from /s\n", data)
            # Only the first byte of a connection can say SOCKS.
            data, _ = self.talk(policy, [b"HEAD %s/s HTTP/1.1\r\nHost: %s:%d\r\n\r\n" % (
                origin.url.encode(), ADDRESS.encode(), origin.port) + GREETING + four(origin.port) + REQUEST])
            self.assertIn(b"HTTP/1.1 400", data)
            self.assertNotIn(b"hello", data)


class Clients(Socks):
    @as_everyone
    def test_curl(self):
        need("curl")
        with Origin() as origin:
            policy = self.policy_for(origin)
            for scheme in ("socks5h", "socks5", "socks4a", "socks4"):
                got = self.run_sh("curl -sS -x %s://127.0.0.1:1080 %s/c" % (scheme, origin.url), policy)
                self.assertEqual("hello from /c\n", got.out, got)
            got = self.run_sh("curl -sS -x socks5h://127.0.0.1:1080 http://no.test/", policy)
            self.assertEqual(97, got.code, got)
            got = self.run_sh("curl -sS -U any:thing --socks5-hostname 127.0.0.1:1080 %s/c" % origin.url, policy)
            self.assertEqual("hello from /c\n", got.out, got)

    @as_everyone
    def test_half_closing_keeps_the_answer(self):
        data = os.urandom(1 << 20)

        def serve(listener):
            connection, _ = listener.accept()
            with connection:
                size = 0
                while more := connection.recv(65536):
                    size += len(more)
                connection.sendall(b"%d" % size)

        with Origin() as origin, socket.create_server((ADDRESS, 0)) as listener:
            threading.Thread(target=serve, args=(listener,), daemon=True).start()
            port = listener.getsockname()[1]
            policy = '{ network = { allowedDomains = { "%s:%d" } } }' % (ADDRESS, port)
            self.write("w/data", data)
            code = CLIENT.replace("for piece in pieces:", "pieces.insert(2, open('data', 'rb').read().hex())\nfor piece in pieces:")
            got = self.run_srt(["/usr/bin/python3", "-c", code, "1080", GREETING.hex(), four(port).hex(), "END"], policy)
            self.assertEqual((CHOSEN + reply(0) + b"1048576").hex() + " end\n", got.out, got)
            self.assertEqual([], origin.seen)


if __name__ == "__main__":
    main()
