# SPDX-License-Identifier: Apache-2.0
"""Signals: what the host process gets, the command gets, once, with its default action or its own."""
import fcntl
import os
import random
import signal
import time

from lib import as_everyone, main
from running import COUNT, Running, children, parts, sleeper, state, tag, until

FORWARDED = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT,
             signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH]
WAYS = {"pid": os.kill, "group": os.killpg}


def short(number):
    return signal.Signals(number).name[3:]


class Signals(Running):
    def ready(self, *command, **how):
        """A sandbox in a process group of its own, once its command has said that it is ready."""
        process = self.popen(*command, process_group=0, **how)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def ends(self, process, status, output=b""):
        out, err = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out), (status, output), err)

    def each(self, command, check, signals=FORWARDED, **how):
        """Sends each signal, to the host process and to its group, to a run of its own, all at once."""
        runs = [(number, way, self.ready(*command(number), **how)) for number in signals for way in WAYS]
        for number, way, process in runs:
            WAYS[way](process.pid, number)
        for number, way, process in runs:
            with self.subTest(signal=short(number), to=way):
                check(process, number)

    @as_everyone
    def test_default_action_ends_the_command(self):
        word = tag()
        # A shell's script goes on after a program that only says that it was interrupted.
        self.each(lambda _: ("sh", "-c", "sleep %s & echo ready; exec sleep %s" % (word, word)),
                  lambda process, number: self.ends(process, -number if number == signal.SIGINT else 128 + number),
                  [number for number in FORWARDED if number != signal.SIGWINCH])
        self.gone(word)

    @as_everyone
    def test_a_trap_runs_once(self):
        self.each(lambda number: ("bash", "-c", COUNT % short(number)),
                  lambda process, _: self.ends(process, 5, b"n=1\n"))

    @as_everyone
    def test_a_command_may_ignore(self):
        self.each(lambda number: ("bash", "-c", "trap '' %s; echo ready; sleep 0.5; exit 9" % short(number)),
                  lambda process, _: self.ends(process, 9))

    @as_everyone
    def test_what_the_caller_ignores_stays_ignored(self):
        ignored = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)

        def ignore():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
        self.each(lambda _: ("sh", "-c", "echo ready; sleep 0.5; exit 9"), lambda process, _: self.ends(process, 9),
                  ignored, preexec=ignore)

    @as_everyone
    def test_nohup(self):
        process = self.ready("nohup", "sh", "-c", "echo ready; sleep 0.3; exit 9")
        os.killpg(process.pid, signal.SIGHUP)
        self.ends(process, 9)

    @as_everyone
    def test_the_signals_mask_is_the_callers(self):
        process = self.popen("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status",
                             preexec=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR1}))
        self.ends(process, 0, b"SigBlk:\t0000000000000200\nSigIgn:\t0000000000000000\n")

    @as_everyone
    def test_what_is_not_handed_on_ends_the_run(self):
        """As it would end any program, early or late, and nothing goes on inside."""
        word = tag()
        for number in (signal.SIGPROF, signal.SIGVTALRM, signal.SIGRTMIN + 1):
            for pause in (0.001, 0.003, 0.005, 0.3):
                process = self.popen("sleep", word, process_group=0)
                time.sleep(pause)
                os.killpg(process.pid, number)
                process.communicate(timeout=20)
                self.assertIn(process.returncode, (-number, 128 + number), (number, pause))
        self.gone(word)

    @as_everyone
    def test_dispositions_are_the_callers(self):
        """All of them: the host process has caught, held back and ignored some, and they are nobody's but the caller's."""
        numbers = [number for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP)]
        policy = '{ network = { allowedDomains = { "a.test" } }, env = { set = { A = ("x"):rep(9) } } }'
        show = ["sed", "-n", "s/^Sig[BIC][lg][knt]://p", "/proc/self/status"]
        for count in (0, 9, 30, len(numbers)):
            ignored = random.sample(numbers, count)

            def ignore(ignored=ignored):
                for number in signal.valid_signals():
                    if number not in (signal.SIGKILL, signal.SIGSTOP):
                        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
            bits = sum(1 << number - 1 for number in ignored)
            self.ends(self.popen(*show, policy=policy, preexec=ignore), 0, b"\t%016x\n\t%016x\n\t%016x\n" % (0, bits, 0))

    @as_everyone
    def test_the_commands_own_status_after_an_interrupt(self):
        process = self.ready("bash", "-c", "trap 'exit 6' INT; echo ready; for i in $(seq 400); do sleep 0.02; done")
        os.kill(process.pid, signal.SIGINT)
        self.ends(process, 6)

    @as_everyone
    def test_sigpipe_does_not_disturb(self):
        word = tag()
        process = self.ready("sh", "-c", "sleep %s & echo ready; sleep 0.2; exit 4" % word)
        os.kill(process.pid, signal.SIGPIPE)
        self.ends(process, 4)
        self.gone(word)

    @as_everyone
    def test_many_signals_none_lost_none_doubled(self):
        script = ("import os, signal, sys, time\nn = 0\n"
                  "def got(*_):\n global n\n n += 1\n os.write(1, b'%d\\n' % n)\n"
                  "signal.signal(signal.SIGUSR1, got)\nprint('ready', flush=True)\n"
                  "while n < 40: time.sleep(0.01)\nsys.exit(5)")
        process = self.ready("/usr/bin/python3", "-c", script)
        for i in range(40):
            (os.kill if i % 2 else os.killpg)(process.pid, signal.SIGUSR1)
            self.assertEqual(process.stdout.readline(), b"%d\n" % (i + 1))
            # Standard signals do not queue: let the host process read this one.
            time.sleep(0.06)
        self.ends(process, 5)

    @as_everyone
    def test_an_interrupt_at_any_moment(self):
        """Who started it has to see that it died of it, also where the command has heard of it before the host process looks."""
        for i in range(60):
            process = self.popen("sleep", "0.1", process_group=0)
            time.sleep(0.002 + i * 0.0003)
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=20)
            self.assertEqual(-signal.SIGINT, process.returncode, i)

    @as_everyone
    def test_a_command_in_a_group_of_its_own(self):
        script = ("import os, signal, sys, time\nos.setpgid(0, 0)\nn = 0\n"
                  "def got(*_):\n global n\n n += 1\n"
                  "signal.signal(signal.SIGTERM, got)\nprint('ready', flush=True)\n"
                  "while not n: time.sleep(0.01)\ntime.sleep(0.1)\nsys.exit(10 + n)")
        for way, send in WAYS.items():
            with self.subTest(to=way):
                process = self.ready("/usr/bin/python3", "-c", script)
                send(process.pid, signal.SIGTERM)
                self.ends(process, 11)

    @as_everyone
    def test_by_name(self):
        """As pkill(1) sends it, by the program's name or its command line, to whatever of the run has that."""
        for part in ("comm", "cmdline"):
            process = self.ready("sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done")
            named = []
            for pid in [process.pid, *parts(process.pid)]:
                with open("/proc/%d/%s" % (pid, part), encoding="utf-8") as file:
                    named += [pid] if "srt-lua" in file.read() else []
            self.assertIn(process.pid, named)
            for pid in named:
                os.kill(pid, signal.SIGTERM)
            self.ends(process, 7)

    @as_everyone
    def test_a_signal_while_it_is_set_up(self):
        for i in range(30):
            word = tag()
            process = self.popen("sleep", word, process_group=0)
            time.sleep(random.uniform(0, 0.03))
            (os.kill if i % 2 else os.killpg)(process.pid, signal.SIGTERM)
            # Python tells a death by the signal itself as its negative number.
            self.assertIn(process.wait(20), (143, -signal.SIGTERM))
            self.gone(word)

    @as_everyone
    def test_stop_and_continue_without_a_terminal(self):
        for name, send, number in (("TSTP to pid", os.kill, signal.SIGTSTP),
                                   ("TSTP to group", os.killpg, signal.SIGTSTP),
                                   ("STOP to group", os.killpg, signal.SIGSTOP)):
            with self.subTest(name):
                word = tag()
                process = self.popen("sleep", word, process_group=0)
                inner = until(lambda: sleeper(word))
                send(process.pid, number)
                self.assertTrue(until(lambda: state(process.pid) == "T"), "the host process did not stop")
                self.assertTrue(until(lambda: state(inner) == "T"), "the command did not stop")
                send(process.pid, signal.SIGCONT)
                self.assertTrue(until(lambda: state(inner) == "S"), "the command did not go on")
                self.assertTrue(until(lambda: state(process.pid) == "S"), "the host process did not go on")
                send(process.pid, signal.SIGTERM)
                self.ends(process, 143)

    @as_everyone
    def test_stop_while_it_is_set_up(self):
        """A stop that comes at any moment is not lost, nor does it hold the run for ever."""
        for _ in range(60):
            process = self.popen("sh", "-c", "exit 7", process_group=0)
            time.sleep(random.uniform(0, 0.015))
            os.killpg(process.pid, signal.SIGTSTP)
            self.assertTrue(until(lambda: state(process.pid) in "TZ"), "the host process did not stop")
            if state(process.pid) == "T":
                os.killpg(process.pid, signal.SIGCONT)
            self.ends(process, 7)

    @as_everyone
    def test_stop_before_the_command_is_there(self):
        """All is made, and the host process waits for somebody to read its warnings."""
        policy = '{ filesystem = { allowWrite = { "." } }, network = { allowedDomains = { "a.test" }, deniedDomains = { "a.test" } } }'
        full, err = os.pipe()
        fcntl.fcntl(err, fcntl.F_SETPIPE_SZ, 4096)
        os.write(err, b"x" * 4096)
        process = self.popen("sh", "-c", "exit 7", policy=policy, process_group=0, stderr=err)
        os.close(err)
        self.assertTrue(until(lambda: len(children(process.pid)) == 2))
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGTSTP)
        time.sleep(0.1)
        self.assertIsNone(process.poll())
        with open(full, "rb", buffering=0) as reader:
            reader.read(4096)
            # So short a command may have ended before it stops.
            self.assertTrue(until(lambda: state(process.pid) in "TZ"), "the host process did not stop")
            os.killpg(process.pid, signal.SIGCONT)
            self.assertEqual(7, process.wait(20))
            self.assertIn(b"a.test", reader.read(4096))


if __name__ == "__main__":
    main()
