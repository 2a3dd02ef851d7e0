# SPDX-License-Identifier: Apache-2.0
"""srt.ask on a real terminal: the command stands still meanwhile, and finds its terminal as it was."""
import os
import re
import termios
import time

import terminal
from lib import BINARY, RESTLESS, as_everyone, main
from running import Running, until

# The answer is settled by what is typed once the question stands there.
PROMPT = r"Allow\? \[(y/N|Y/n)\] "
PAUSE = 0.3
ASK = """return { network = { decideConnect = function(conn)
  %s
  return srt.ask("reach " .. conn.host .. ":" .. conn.port .. "?")
end }, filesystem = { allowWrite = { "." } }, %s }"""

# In raw mode, it prints what it reads as hexadecimal, and counts how often it ran.
RAW = r"""
import os, select, sys, termios, threading, time, tty
old = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"RAW\r\n")
os.system("(sleep 0.3; curl -s http://a.test/ >/dev/null; echo $? >done) &")
ticks, longest, last, seen = 0, 0, time.monotonic(), b""
while not os.path.exists("done") or ticks < 20:
    if select.select([0], [], [], 0.02)[0]:
        seen += os.read(0, 100)
    now = time.monotonic()
    longest, last, ticks = max(longest, now - last), now, ticks + 1
raw = termios.tcgetattr(0)
os.write(1, ("\r\nSEEN=%s LONGEST=%.1f RAW=%s\r\n" % (seen.hex(), longest, not raw[3] & termios.ICANON)).encode())
b = os.read(0, 1)
os.write(1, ("\r\nNEXT=%s\r\n" % b.hex()).encode())
termios.tcsetattr(0, termios.TCSANOW, old)
"""


class Ask(Running):
    def on_terminal(self, args, body="", rest="", term="dumb"):
        """srt-lua on a terminal of its own, below a shell with job control."""
        policy = self.policy(ASK % (body, rest))
        quoted = " ".join("'%s'" % arg.replace("'", "'\\''") for arg in args)
        return self.typed("%s run %s %s; echo STATUS=$?" % (BINARY, policy, quoted), term)

    def say(self, shown, keys):
        time.sleep(PAUSE)
        shown.send(keys)

    def fetch(self, *ports):
        """Asks for ports; says the terminal's settings before and after."""
        return ["sh", "-c", "; ".join(["echo TTY=$(stty -g)", *("curl -sS http://a.test:%d/" % port for port in ports),
                                       "echo TTY=$(stty -g)"])]

    def same_settings(self, shown):
        settings = re.findall(rb"TTY=([\w:]+)", shown.seen)
        self.assertEqual(len(settings), 2)
        self.assertEqual(*settings)

    @as_everyone
    def test_answers(self):
        """Only y and yes allow; the terminal's settings are as before."""
        rows = [("y\r", True), ("yes\r", True), ("Y\n", True), ("YES\r", True), ("n\r", False), ("\r", False),
                ("yess\r", False), ("yyyyyyyyyyyy\r", False), ("x\r", False), ("\x03", False), ("\x04", False),
                ("y\x03", False), ("\x1a", False), ("\x1c", False), ("\x1b[A\r", False), ("x\x7fy\r", True),
                ("ny\r", False), (" \r", False), ("y\x00", False)]
        shown = self.on_terminal(self.fetch(*range(1, len(rows) + 1)))
        for port, (keys, allowed) in enumerate(rows, 1):
            shown.expect(r"reach a\.test:%d\?" % port)
            shown.expect(PROMPT)
            self.say(shown, keys)
            shown.expect(r"\((allowed|denied)\)")
            shown.expect(r"cannot resolve the host of a.test:%d\b" % port if allowed else
                         r"a.test:%d was denied by network.decideConnect .*: the user said no" % port)
        shown.expect("STATUS=0")
        shown.expect(terminal.PROMPT)
        self.same_settings(shown)
        shown.send("echo still $((1 + 1))\n")
        shown.expect("still 2")

    @as_everyone
    def test_typed_ahead_is_not_an_answer(self):
        shown = self.on_terminal(["sh", "-c", "echo go; sleep 1; curl -sS http://a.test/; read line; echo \"<$line>\""],
                                 "srt.sleep(0.5)")
        shown.expect("go")
        shown.send("y\ny\n")
        shown.expect(PROMPT)
        self.say(shown, "n\ry\ry\r")
        shown.expect("the user said no")
        # Nor is what was typed behind the answer for the command.
        time.sleep(PAUSE)
        shown.send("mine\n")
        shown.expect("<mine>")

    @as_everyone
    def test_what_does_not_stand_still_is_denied(self):
        """A yes counts only where nothing ran and the terminal stayed as it was; the default counts for nothing."""
        script = """curl -sS http://a.test:1/; %(restless)s 1 1000 & p=$!; sleep .1; curl -sS http://a.test:2/; kill -9 $p; wait $p
            %(restless)s 50 10 & p=$!; sleep .1; curl -sS http://a.test:3/; kill -9 $p; wait $p; curl -sS http://a.test:4/"""
        shown = self.on_terminal(["bash", "-c", script % {"restless": RESTLESS}],
                                 'do return srt.ask("reach " .. conn.port, { default = true }) end')
        shown.expect("reach 1\r")
        shown.expect(PROMPT)
        # As somebody outside of the sandbox would, so that "no" was an empty line, and back, which is seen at once.
        keys, old = termios.tcgetattr(shown.fd), termios.tcgetattr(shown.fd)
        keys[0] |= termios.ICRNL
        keys[3] |= termios.ICANON
        keys[6][termios.VERASE], keys[6][termios.VKILL] = b"n", b"o"
        termios.tcsetattr(shown.fd, termios.TCSANOW, keys)
        shown.send("no")
        time.sleep(0.1)
        termios.tcsetattr(shown.fd, termios.TCSANOW, old)
        shown.send("\r")
        shown.expect("a.test:1 was denied .*: another process set the terminal while the user was asked")
        shown.expect("reach 2\r")
        shown.expect(PROMPT)
        before = len(self.read("w/ran"))
        # Its timer has it continued only now, when the answer is awaited.
        self.assertTrue(until(lambda: len(self.read("w/ran")) > before))
        self.say(shown, "y\r")
        shown.expect("srt-lua: the command ran")
        shown.expect("a.test:2 was denied .*: the command ran while the user was asked")
        shown.expect("srt-lua: the command does not let itself be stopped, so nothing is asked; that is a no")
        shown.expect("a.test:3 was denied .*: the user was not asked, for the command did not let itself be stopped")
        # Who stands still is asked again.
        shown.expect("reach 4\r")
        shown.expect(PROMPT)
        self.say(shown, "\r")
        shown.expect("cannot resolve the host of a.test:4")
        shown.expect("STATUS=")
        self.assertEqual(shown.seen.count(b"Allow?"), 3)

    @as_everyone
    def test_time(self):
        shown = self.on_terminal(self.fetch(1, 2), """if conn.port == 2 then
            return srt.ask("default?", { seconds = 1, default = true }) end""", "limits = { askSeconds = 2 }")
        shown.expect(r"for 2 seconds at most")
        start = time.monotonic()
        shown.expect(r"\(no answer\)")
        shown.expect("the user did not answer in time")
        self.assertGreater(time.monotonic() - start, 1.5)
        shown.expect(r"for 1 seconds at most")
        shown.expect(r"\[Y/n\]")
        shown.expect(r"\(no answer\)")
        shown.expect("cannot resolve the host of a.test:2")
        shown.expect("STATUS=")

    @as_everyone
    def test_an_empty_line_is_the_default(self):
        shown = self.on_terminal(self.fetch(1, 2), 'do return srt.ask("d" .. conn.port, { default = true }) end')
        shown.expect(r"\[Y/n\] ")
        self.say(shown, "\r")
        shown.expect("cannot resolve the host of a.test:1")
        shown.expect(r"\[Y/n\] ")
        self.say(shown, "n\r")
        shown.expect("a.test:2 was denied")

    @as_everyone
    def test_the_time_to_answer_is_not_the_callback_s(self):
        shown = self.on_terminal(self.fetch(1), """srt.sleep(0.5) local yes = srt.ask("one?") srt.sleep(0.4)
            if yes then return false, "on time" end""", "limits = { callbackTotalSeconds = 1 }")
        shown.expect(PROMPT)
        time.sleep(1.5)
        self.say(shown, "y\r")
        shown.expect("on time")

    @as_everyone
    def test_the_queue(self):
        """One by one, in order; the same question once; the sandbox stands still all the time."""
        script = """( while :; do echo x >>ticks; sleep 0.02; done ) & t=$!; sleep 0.3
            for i in 1 2 3 2 2; do n=$((n+1)); curl -sS http://a.test:$i/ >out.$n & p="$p $!"; sleep 0.05; done; wait $p; sleep 0.3; kill $t; cat out.*"""
        # All five are there before the first one asks.
        shown = self.on_terminal(["bash", "-c", script], """srt.state.count = (srt.state.count or 0) + 1
            while srt.state.count < 5 do srt.sleep(0.05) end
            srt.sleep(0.2 * conn.port)""")
        shown.expect(PROMPT)
        time.sleep(PAUSE)
        before = len(self.read("w/ticks"))
        for port, keys in ((1, "n\r"), (2, "y\r"), (3, "n\r")):
            if port > 1:
                shown.expect(PROMPT)
            self.assertIn(b"reach a.test:%d?" % port, shown.seen[shown.seen.rindex(b"srt-lua:"):])
            time.sleep(PAUSE)
            self.assertEqual(len(self.read("w/ticks")), before)
            shown.send(keys)
        shown.expect("STATUS=")
        self.assertGreater(len(self.read("w/ticks")), before)
        self.assertEqual(shown.seen.count(b"Allow?"), 3)
        # Each is said by curl and by the summary of the run.
        self.assertEqual(shown.seen.count(b"the user said no"), 4)
        self.assertEqual(shown.seen.count(b"cannot resolve"), 3)

    @as_everyone
    def test_text_is_made_visible(self):
        shown = self.on_terminal(self.fetch(1), r'''do return srt.ask("a\27[2Jb\rc\nd\0e\127f\xc2\x9bg\xe2\x80\xaeh\xffi"
            .. "\u{e4}\u{20ac}j" .. ("k"):rep(5000)) end''')
        shown.expect(PROMPT)
        self.say(shown, "n\r")
        shown.expect("said no")
        self.assertIn("  a\\x1b[2Jb\\x0dc\\x0ad\\x00e\\x7ff\\xc2\\x9bg\\xe2\\x80\\xaeh\\xffi\u00e4\u20acjkkk",
                      shown.seen.decode("utf-8", "replace"))
        self.assertLess(shown.seen.count(b"k"), 1100)
        self.assertIn(b"(cut: these are the first 1000 bytes of 5029)", shown.seen)

    @as_everyone
    def test_an_answer_is_for_no_more_than_was_seen(self):
        """Texts that differ only behind what is shown are asked each by itself, the same one once."""
        shown = self.on_terminal(["sh", "-c", "for i in 1 2 1; do curl -sS http://a.test:$i/ & done; wait"],
                                 """srt.state.count = (srt.state.count or 0) + 1
            while srt.state.count < 3 do srt.sleep(0.05) end
            srt.sleep(0.1 * conn.port)
            do return srt.ask(("k"):rep(1000) .. conn.port) end""")
        for keys in ("y\r", "n\r"):
            shown.expect(r"\(cut: these are the first 1000 bytes of 1001\)\r?\nAllow\? \[y/N\] ")
            self.say(shown, keys)
        shown.expect("STATUS=")
        self.assertEqual(shown.seen.count(b"Allow?"), 2)
        self.assertEqual(shown.seen.count(b"cannot resolve the host of a.test:1"), 2)
        self.assertNotIn(b"cannot resolve the host of a.test:2", shown.seen)

    @as_everyone
    def test_raw_mode(self):
        """A full-screen program gets neither keys nor time, and its terminal back in raw mode."""
        self.write("w/raw.py", RAW)
        shown = self.on_terminal(["python3", "raw.py"])
        shown.expect("RAW")
        shown.expect(PROMPT)
        time.sleep(1)
        shown.send("\x03" if self.user == "root" else "n\r")
        found = shown.expect(r"SEEN=(\w*) LONGEST=([\d.]+) RAW=(\w+)")
        self.assertEqual((found[1], found[3]), (b"", b"True"))
        self.assertGreater(float(found[2]), 0.9)
        time.sleep(PAUSE)
        shown.send("\x03")
        shown.expect("NEXT=03")
        shown.expect("STATUS=0")

    @as_everyone
    def test_a_command_that_reads_at_the_same_time(self):
        """cat waits for a line in the foreground of a shell inside, whose group has the terminal."""
        shown = self.on_terminal(["bash", "--norc", "--noprofile", "-i"])
        shown.send("PS1='IN''> '\n")
        shown.expect("IN> ")
        shown.send("(sleep 1; curl -sS http://a.test/) & cat; echo back\n")
        shown.expect(PROMPT)
        inside = shown.foreground()
        self.say(shown, "n\r")
        shown.expect("the user said no")
        time.sleep(PAUSE)
        self.assertNotEqual(shown.foreground(), inside)
        shown.send("line for cat\n")
        shown.expect("line for cat")
        time.sleep(PAUSE)
        shown.send("\x04")
        shown.expect("back")
        # A job that the user had stopped stays stopped.
        shown.send("sleep 100\n")
        time.sleep(PAUSE)
        shown.send("\x1a")
        shown.expect("Stopped")
        shown.send("curl -sS http://b.test/\n")
        shown.expect(PROMPT)
        self.say(shown, "n\r")
        shown.expect("the user said no")
        shown.send("jobs; kill %1; fg; exit\n")
        shown.expect(r"Stopped +sleep 100")
        shown.expect("STATUS=")

    @as_everyone
    def test_signals(self):
        """A signal for the command is a no, and reaches it."""
        shown = self.on_terminal(["sh", "-c", "trap 'echo caught; echo TTY=$(stty -g); exit 3' TERM;"
                                        "echo TTY=$(stty -g); curl -sS http://a.test/; sleep 9 & wait"])
        shown.expect(PROMPT)
        time.sleep(PAUSE)
        os.kill(self.host(), 15)
        shown.expect(r"\(denied\)")
        shown.expect("caught")
        shown.expect("STATUS=3")
        self.same_settings(shown)

    def host(self):
        """The oldest srt-lua process of this test."""
        found = []
        for name in os.listdir("/proc"):
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    words = file.read().split(b"\0")
                with open("/proc/%s/stat" % name) as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if words[0].endswith(b"srt-lua") and self.path("policy.lua").encode() in words and fields[4] != "0":
                found.append((int(fields[19]), int(name)))
        return min(found)[1]

    @as_everyone
    def test_in_the_background(self):
        """The shell has the terminal, so nobody can be asked."""
        policy = self.policy(ASK % ("", ""))
        shown = self.terminal()
        shown.send("%s run %s sh -c 'sleep 0.5; curl -sS http://a.test/; echo rc=$?' &\n" % (BINARY, policy))
        shown.expect("no terminal to ask the user on")
        shown.expect("rc=0")
        shown.line("echo still $((1 + 1))", "still 2")

    @as_everyone
    def test_without_a_terminal(self):
        got = self.run_sh("curl -sS http://a.test/", ASK % ("", ""), start_new_session=True)
        self.assertIn("there is no terminal to ask the user on", got.out, repr(got))

    @as_everyone
    def test_an_unfinished_sequence_does_not_hide_the_question(self):
        shown = self.on_terminal(["sh", "-c", "printf '\\033]0;'; curl -sS http://a.test/"], term="xterm")
        shown.expect("\x18\x1b\\\\\x1b\\[0m\r?\nsrt-lua: the policy asks")
        shown.expect(PROMPT)
        self.say(shown, "n\r")
        shown.expect("STATUS=")


if __name__ == "__main__":
    main()
