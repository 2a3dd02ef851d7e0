# SPDX-License-Identifier: Apache-2.0
"""The user's terminal: keys, jobs, who has it, and that it comes back."""
import os
import time

from lib import as_everyone, main
from running import COUNT, Running, processes, sleeper, state, tag, until


class Terminals(Running):
    """What a user at a terminal does; OUT> is the prompt of the shell outside, IN> of one inside."""

    def runs(self, shell, word):
        """Waits until the command is there and has the terminal."""
        self.assertTrue(until(lambda: sleeper(word) and state(sleeper(word)) == "S"
                              and os.getpgid(sleeper(word)) == shell.foreground()), "never in the foreground")

    def resume(self, shell):
        """Brings a stopped job back and waits until it has the terminal."""
        shell.line("fg", "\n")
        self.assertTrue(until(lambda: shell.foreground() not in (0, shell.pid)))
        job = shell.foreground()
        time.sleep(0.05)
        self.assertEqual(shell.foreground(), job, "stopped again")

    def sleeps(self, shell, word):
        shell.line("$S sleep " + word)
        self.runs(shell, word)

    def ends(self, shell, key, prompt="OUT> "):
        shell.send(key)
        shell.expect(prompt)

    def stop(self, shell, prompt="OUT> "):
        shell.send("\x1a")
        shell.expect("Stopped")
        shell.expect(prompt)

    def status(self, shell, status, prompt="OUT> "):
        shell.line("echo rc=$?", "rc=%d\r\n" % status, prompt)

    @as_everyone
    def test_interrupt(self):
        shell, word = self.shell(), tag()
        for key, status in (("\x03", 130), ("\x1c", 131)):
            self.sleeps(shell, word)
            self.ends(shell, key)
            self.status(shell, status)
            self.gone(word)

    @as_everyone
    def test_interrupt_of_a_script(self):
        """It ends with what it runs, but where that took the interrupt for itself."""
        for command, ends in (("sleep %s", True), ("bash -c \"trap \\\"exit 130\\\" INT; sleep %s & wait\"", False)):
            shell, word = self.shell(), tag()
            shell.line("bash -c 'for i in 1 2; do $S %s; echo on$i; done'" % (command % word))
            for number in (1,) if ends else (1, 2):
                self.runs(shell, word)
                shell.send("\x03")
                if not ends:
                    shell.expect("on%d\r\n" % number)
            shell.expect("OUT> ")
            self.status(shell, 130 if ends else 0)
            self.assertEqual(not ends, b"on1\r\n" in shell.seen)

    @as_everyone
    def test_interrupt_runs_a_trap_once(self):
        shell = self.shell()
        shell.line("$S bash -c \"%s\"" % (COUNT % "INT").replace("$", "\\$").replace("\n", ";"), "ready")
        shell.send("\x03")
        shell.expect("n=1\r\n.*OUT> ")
        self.status(shell, 5)

    @as_everyone
    def test_stop_and_go_on(self):
        shell, word = self.shell(), tag()
        shell.line("$S sleep " + word)
        for resume in ("fg", "bg; sleep 0.1; fg", "fg"):
            self.runs(shell, word)
            shell.send("\x1a")
            shell.expect("Stopped")
            shell.expect("OUT> ")
            self.assertEqual(state(sleeper(word)), "T")
            shell.line("jobs", "Stopped", "OUT> ")
            shell.line(resume)
        self.runs(shell, word)
        self.ends(shell, "\x03")
        self.status(shell, 130)

    @as_everyone
    def test_cat_reads_on_after_a_stop(self):
        shell = self.shell()
        shell.line("$S sh -c 'echo go; exec cat'", "go\r\n")
        shell.line("one", "one\r\n")
        self.stop(shell)
        self.resume(shell)
        shell.line("two", "two\r\n")
        self.ends(shell, "\x04")
        self.status(shell, 0)

    @as_everyone
    def test_a_reader_in_the_background_stops_once(self):
        shell = self.shell()
        shell.line("$S cat &", "OUT> ")
        shell.line("until jobs | grep -q Stopped; do sleep 0.02; done", "OUT> ", timeout=20)
        self.resume(shell)
        shell.line("text", "text\r\n")
        self.ends(shell, "\x04")

    @as_everyone
    def test_a_writer_in_the_background_stops_with_tostop(self):
        shell = self.shell()
        shell.line("stty tostop; $S sh -c 'echo written; exit 3' &", "OUT> ")
        shell.line("until jobs | grep -q Stopped; do sleep 0.02; done; stty -tostop", "OUT> ", timeout=20)
        shell.line("fg", "written", "OUT> ")
        self.status(shell, 3)

    def inner(self, shell):
        shell.line("$S env PS1='IN> ' bash --norc --noprofile -i", "IN> ")

    @as_everyone
    def test_job_control_in_a_shell_inside(self):
        shell, word = self.shell(), tag()
        self.inner(shell)
        shell.line("sleep " + word)
        self.runs(shell, word)
        self.stop(shell, "IN> ")
        shell.line("bg", "IN> ")
        shell.line("jobs", "Running", "IN> ")
        shell.line("fg", "sleep")
        self.runs(shell, word)
        self.ends(shell, "\x03", "IN> ")
        self.status(shell, 130, "IN> ")
        shell.line("exit 7", "OUT> ")
        self.status(shell, 7)

    @as_everyone
    def test_a_shell_inside_is_suspended(self):
        shell = self.shell()
        self.inner(shell)
        for i in range(3):
            shell.line("suspend", "Stopped", "OUT> ")
            shell.line("echo $((40+%d))" % i, "4%d\r\n" % i, "OUT> ")
            shell.line("fg", "bash")
            shell.line("echo $((50+%d))" % i, "5%d\r\n" % i, "IN> ")
        shell.line("exit 7", "OUT> ")

    @as_everyone
    def test_job_killed_while_stopped(self):
        shell, word = self.shell(), tag()
        self.sleeps(shell, word)
        self.stop(shell)
        shell.line("kill -9 %1; wait", "OUT> ")
        self.gone(word)

    @as_everyone
    def test_the_terminal_comes_back(self):
        """From commands that took it and ended, were killed, or left it to a child."""
        take = ("import os, signal, time; signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
                "if os.fork() == 0:\n os.setpgid(0, 0); os.tcsetpgrp(0, os.getpgid(0)); os.write(1, b'taken\\n')\n"
                " time.sleep(60)\n"
                "while os.tcgetpgrp(0) in (0, os.getpgrp()) and os.getpgrp() != 0: time.sleep(0.01)\n"
                "time.sleep(0.3); %s")
        for name, ending in (("ends", "os._exit(3)"), ("dies", "os.kill(os.getpid(), 9)"),
                             ("stops", "os.kill(os.getpid(), signal.SIGSTOP)")):
            with self.subTest(name), open(self.w + "/take.py", "w") as file:
                file.write(take % ending)
                file.flush()
                shell = self.shell()
                shell.line("$S /usr/bin/python3 take.py; read x; echo got=$x", "taken")
                self.assertTrue(until(lambda: os.getpgid(shell.pid) == shell.foreground() or name != "stops"))
                if name == "stops":
                    shell.expect("Stopped")
                else:
                    time.sleep(0.5)
                shell.line("hello", "got=hello", "OUT> ")
                shell.close()

    @as_everyone
    def test_a_script_reads_on_after_the_run(self):
        shell = self.shell()
        self.write("w/script.sh", "$S bash --norc -ic 'sleep 0.1; exit 3'; echo rc=$?; read x; echo got=$x\n")
        shell.line("export S; bash script.sh", "rc=3")
        shell.line("hello", "got=hello", "OUT> ")

    @as_everyone
    def test_pipelines(self):
        shell = self.shell()
        shell.line("$S seq 100000 | TERM=xterm less", "\n23\r\n")
        self.ends(shell, "q")
        shell.line("seq 100000 | TERM=xterm $S less", "\n23\r\n")
        self.ends(shell, "q")
        shell.line("seq 10 | $S cat | $S tail -1 | $S sed s/^/last=/", "last=10\r\n", "OUT> ")

    @as_everyone
    def test_window_size(self):
        shell = self.shell(rows=31, cols=91)
        shell.line("$S stty size", "31 91\r\n", "OUT> ")
        shell.line("$S bash -c 'trap \"stty size; exit 4\" WINCH; echo rdy; while :; do sleep 0.02; done'", "rdy\r\n")
        shell.resize(50, 90)
        shell.expect("50 90\r\n")
        shell.expect("OUT> ")
        self.status(shell, 4)

    @as_everyone
    def test_the_command_is_in_our_session_and_group(self):
        shell, word = self.shell(), tag()
        self.sleeps(shell, word)
        inner = sleeper(word)
        self.assertEqual(os.getsid(inner), shell.pid)
        host = [pid for pid in processes(word) if os.getpgid(pid) == pid and os.getsid(pid) == shell.pid]
        self.assertEqual([os.getpgid(inner)], host, "its group is not the host process's")

    @as_everyone
    def test_ttyname(self):
        shell = self.shell()
        shell.line("$S tty", "/dev/[a-z0-9/]+\r\n", "OUT> ")
        shell.line("$S sh -c 'test -t 0 && echo yes >/dev/tty'", "yes\r\n", "OUT> ")

    @as_everyone
    def test_no_keys_are_pushed_to_the_terminal(self):
        self.write("w/push.py", """
import errno, fcntl, os
for name, request, value in (("TIOCSTI", 0x5412, b"x"), ("TIOCSTI2", 0x5412 | 1 << 32, b"x"), ("TIOCLINUX", 0x541c, b"\\x03"),
                             ("TIOCEXCL", 0x540c, None)):
    for path in (0, "/dev/tty"):
        fd = path or 0
        try:
            fd = os.open(path, os.O_RDWR) if path else 0
            libc = __import__("ctypes").CDLL(None, use_errno=True)
            c = __import__("ctypes")
            got = libc.syscall(16, c.c_long(fd), c.c_ulong(request), value)
            print(name, path, errno.errorcode.get(c.get_errno()) if got else "DONE")
        except OSError as error:
            print(name, path, error)
""")
        shell = self.shell()
        shell.line("$S /usr/bin/python3 push.py; echo end", r"end\r\n")
        text = shell.seen.decode()
        self.assertNotIn("DONE", text)
        self.assertEqual(text.count("EPERM"), 8, text)

    @as_everyone
    def test_stopped_output_goes_on(self):
        """tcflow(3) would have whoever writes next wait for ever, srt-lua first."""
        shell = self.shell()
        shell.line("$S python3 -c 'import termios; termios.tcflow(0, termios.TCOOFF)'", "OUT> ")
        self.status(shell, 0)

    @as_everyone
    def test_vim(self):
        shell = self.shell()
        shell.line("TERM=xterm $S vim -u NONE -N -n", "VIM - Vi IMproved|\x1b\\[")
        shell.send("itext\x1b:w out\r")
        shell.expect("written|1L")
        self.stop(shell)
        shell.line("fg", "text")
        self.ends(shell, ":q!\r")
        shell.line("echo rc=$? $(cat out)", "rc=0 text", "OUT> ")

    @as_everyone
    def test_the_terminal_goes_away(self):
        shell, word = self.shell(), tag()
        shell.line("$S sh -c 'sleep %s & exec sleep %s'" % (word, word))
        until(lambda: sleeper(word))
        shell.close()
        self.gone(word)


if __name__ == "__main__":
    main()
