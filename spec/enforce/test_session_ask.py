# SPDX-License-Identifier: Apache-2.0
"""srt.ask in a session: on the terminal of the command, or by the client that said it answers."""
import json
import subprocess
import time

import terminal
from lib import BINARY, as_everyone, main
from sessions import Sessions
from test_ask import PAUSE, PROMPT

POLICY = """{ network = { decideConnect = function(conn)
  if conn.port == 1 then srt.sleep(0.7) end
  if conn.port == 4 then return srt.ask("choose", { choices = { "once", "session" } }) and true end
  return srt.ask("reach " .. conn.host .. ":" .. conn.port .. "?", { seconds = conn.port == 5 and 1 or nil })
end }, filesystem = { allowWrite = { "." } } }"""
GET = "for i in %s; do curl -sS -m 20 http://a.test:$i/; done"


class SessionAsk(Sessions):
    @as_everyone
    def test_on_its_own_terminal(self):
        """Each command's question stands on its terminal; where it has none the answer is no."""
        process = self.session(POLICY)
        shown = [self.terminal(), self.terminal()]
        # The first one waits before it asks, and the second is there first.
        for one, ports in zip(shown, ("1", "2 4 3")):
            one.send("%s exec --session %s --report none -c '%s'; echo STATUS=$?\n" % (BINARY, self.socket, GET % ports))
        time.sleep(0.3)
        got = self.exec(GET % "9", start_new_session=True)
        self.assertIn("a.test:9 was denied by network.decideConnect", got.out, repr(got))
        self.assertIn("there is no terminal to ask the user on", got.out)
        for one, port, keys, says in ((shown[1], 2, "y\r", "cannot resolve the host of a.test:2"),
                                      (shown[0], 1, "n\r", "a.test:1 was denied .*: the user said no"),
                                      (shown[1], 4, "s\r", "cannot resolve the host of a.test:4"),
                                      (shown[1], 3, "\x03", "a.test:3 was denied .*: the user said no")):
            one.expect("reach a.test:%d" % port if port != 4 else r"choose\r\nAllow\? \[No, once, session\]")
            if port != 4:
                one.expect(PROMPT)
            time.sleep(PAUSE)
            one.send(keys)
            one.expect(says)
        for one in shown:
            one.expect("STATUS=0")
            one.expect(terminal.PROMPT)
        self.end(process)

    @as_everyone
    def test_another_command_on_its_terminal(self):
        """It is not stopped, but where it sets the terminal the answer is no."""
        process = self.session(POLICY)
        shown = self.terminal()
        # Whoever ignores that signal may set the terminal from the background.
        shown.send("%(exec)s \"trap '' TTOU; until [ -e w ]; do sleep .05; done; stty icanon </dev/tty; echo SET\" & "
                   "%(exec)s '%(get)s'; echo STATUS=$?\n"
                   % {"exec": "%s exec --session %s --report none -c" % (BINARY, self.socket), "get": GET % "2"})
        shown.expect(PROMPT)
        self.write("w/w", "")
        shown.expect("a.test:2 was denied .*: another process set the terminal while the user was asked")
        shown.expect("STATUS=0")
        self.end(process)

    @as_everyone
    def test_by_a_client(self):
        """A client that declares it is asked of all commands, first; without it, or its answer, it is no."""
        process = self.session(POLICY)
        say = self.line()
        self.assertTrue(say(op="ask", policy=True)["ok"])
        running = self.start(["exec", "--session", self.socket, "--id", "I", "--report", "none", "-c", GET % "2 3 4 4 5 6"])
        rows = [(2, {"allow": True}, "cannot resolve the host of a.test:2"),
                (3, {"allow": 1}, "the user said no"),
                (4, {"allow": True, "choice": "session"}, "cannot resolve the host of a.test:4"),
                (4, {"allow": True}, "a.test:4 was denied"),
                (5, None, "did not answer in time")]
        for port, answer, _ in rows:
            asked = json.loads(say.process.stdout.readline())
            self.assertEqual(("ask", "I", port == 4 and ["once", "session"] or None),
                             (asked["event"], asked["commandId"], asked.get("choices")))
            self.assertEqual("choose" if port == 4 else "reach a.test:%d?" % port, asked["text"])
            if answer:
                say.process.stdin.write(json.dumps({"op": "answer", "n": asked["n"], **answer}).encode() + b"\n")
                say.process.stdin.flush()
        # It goes while it is asked.
        self.assertEqual("reach a.test:6?", json.loads(say.process.stdout.readline())["text"])
        say.process.stdin.close()
        out, err = running.communicate(timeout=60)
        lines = [line for line in out.decode().split("\n") if line.startswith(("a.test:", "cannot "))]
        for (*_, expected), line in zip((*rows, (6, None, "no terminal to ask")), lines, strict=True):
            self.assertIn(expected, line, out + err)
        # One that is killed while its question stands, and a client that answers what it was not asked.
        say, other = self.line(), self.line()
        self.assertTrue(say(op="ask", policy=True)["ok"])
        self.assertFalse(other(op="ask")["ok"])
        running = self.start(["exec", "--session", self.socket, "-c", GET % "2"], stdin=subprocess.DEVNULL)
        asked = json.loads(say.process.stdout.readline())
        other.process.stdin.write(json.dumps({"op": "answer", "n": asked["n"], "allow": True}).encode() + b"\n")
        running.kill()
        running.wait()
        self.assertTrue(other(op="status")["ok"])
        self.assertTrue(say.raw(json.dumps({"op": "answer", "n": asked["n"], "allow": True}).encode() +
                                b'\n{"op":"status"}\n')["ok"])
        self.assertEqual("", self.end(process))


if __name__ == "__main__":
    main()
