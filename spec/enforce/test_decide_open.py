# SPDX-License-Identifier: Apache-2.0
"""filesystem.decideOpen: what is granted can be opened, as granted, and nothing else ever is."""
import os
import signal
import subprocess

from lib import LONG, as_everyone, main
from running import until
from test_create_guard import agents
from test_observe import Observed

RACES = 100000 if LONG else 3000


def policy(body, more="", lists='denyRead = { "hid" }, denyWrite = { "no" }'):
    return ('return { %s filesystem = { allowWrite = { "." }, %s, decideOpen = function(open) %s end } }'
            % (more, lists, body))


GRANT = policy('return open.path:sub(-2) == "/f"')


class Base(Observed):
    def fresh(self):
        super().fresh()
        self.write("w/hid/g", "never"), self.write("w/hid/deep/f", "deep")


class Opens(Base):
    @as_everyone
    def test_reading_and_writing(self):
        got = self.told("""cat hid/f; echo; cat hid/deep/f; echo; cat hid/g || echo denied; echo more >>no/f; cat no/f
            : >no/f; wc -c <no/f; echo x >no/new || echo denied; echo x >no/g || echo denied; cat ok/f""", GRANT)
        self.assertEqual("hidden\ndeep\ndenied\nas it wasmore\n0\ndenied\ndenied\nfine", got.out, got)
        self.assertEqual("", self.read("w/no/f"))
        self.assertEqual(["hid/g", "no/g", "no/new"],
                         sorted({e["target"][len(self.w) + 1:] for e in got.events}), got.events)

    @as_everyone
    def test_each_answer(self):
        for body, wanted in (
                ("return true", "hidden"), ("return false", ""), ("return false, 'not today'", ""), ("return srt.pass", ""),
                ("return srt.allow()", "hidden"), ("return srt.allow { session = true }", "hidden"), ("return nil", ""),
                ("return srt.deny 'so'", ""), ("error 'x'", ""), ("return 1", ""), ("while true do end", ""),
                ("return srt.allow { setHeaders = {} }", ""), ("return srt.allow { session = 1 }", ""),
                ("return srt.respond { body = 'x' }", ""), ("srt.sleep(0.05) return true", "hidden"),
                ("return open.mode == 'read' and open.path == %r" % self.path("w/hid/f"), "hidden"),
                ("return open.process.pid > 1 and open.process.exe:find('/[%w]+$') ~= nil", "hidden"),
                ("return srt.ask('may it?')", "")):
            got = self.told("cat hid/f 2>/dev/null; true", policy(body))
            self.assertEqual(wanted, got.out, (body, got))
            told = [e for e in got.events if e["kind"] == "read"]
            if "false, 'not" in body:
                self.assertEqual(["not today"], [e["reason"] for e in told])
                self.assertEqual("filesystem.decideOpen", told[0]["rule"])
            if wanted:
                self.assertEqual([], told)

    @as_everyone
    def test_session(self):
        """A grant for the session is not asked for again, and counts for that path and mode."""
        text = policy('srt.log.info(open.mode .. " " .. open.path) return srt.allow { session = true }')
        got = self.told("cat hid/f hid/f; cat hid/f; cat hid/g; : >>hid/f", text)
        asked = [line.split("policy: ")[1] for line in got.err.splitlines() if "policy: " in line]
        self.assertEqual(["read %s/hid/f" % self.w, "read %s/hid/g" % self.w, "write %s/hid/f" % self.w], asked, got)

    @as_everyone
    def test_who_is_never_granted(self):
        """Whatever it answers: the policy, protected names, links, FIFOs, folders, names that are not there."""
        self.write("w/.git/config", "[core]\n"), self.write("w/.bashrc", "# mine\n")
        os.mkfifo(self.path("w/hid/p"))
        os.symlink("f", self.path("w/hid/l")), os.symlink("deep", self.path("w/hid/d"))
        text = policy('srt.log.info("asked " .. open.path) return true')
        got = self.told("""for f in ../policy.lua .git/config .bashrc hid/p; do echo x >>$f || echo "no $f"; done
            for f in hid/l hid/d/f hid/none hid hid/deep hid/p; do cat $f || echo "no $f"; done""", text)
        self.assertEqual("no ../policy.lua\nno .git/config\nno .bashrc\nno hid/p\nno hid/l\nno hid/d/f\nno hid/none\nno hid\n"
                         "no hid/deep\nno hid/p\n", got.out, got)
        self.assertNotIn("asked", got.err)
        self.assertEqual("# mine\n", self.read("w/.bashrc"))

    @as_everyone
    def test_credentials(self):
        self.write("home/token", "secret")
        text = policy("return true", 'credentials = { files = { { path = "~/token", mode = "deny" } } },')
        got = self.told("cat ~/token || echo denied", text)
        self.assertEqual("denied\n", got.out, got)

    @as_everyone
    def test_masked_credential(self):
        """Where its folder is denied to reading, nobody gets what is really in it."""
        self.write("w/hid/f", "REAL-SECRET")
        more = """network = { allowedDomains = { "example.com" }, tlsTerminate = {} },
            credentials = { files = { { path = "hid/f", mode = "mask", injectHosts = { "example.com" } } } },"""
        got = self.told("cat hid/f hid/g; true", policy("return true", more))
        self.assertEqual("never", got.out, got)

    @as_everyone
    def test_protected_names_outside(self):
        """What is protected where the lists allow writing is never granted elsewhere."""
        held = ("home/.bashrc", "home/.ssh/authorized_keys", "home/.config/fish/config.fish", "out/.profile",
                "out/a/b/c/d/.git/config", "out/.git/hooks/pre-commit", "out/.git/modules/m/config", "out/wt/.git",
                "out/bare/hooks/post-update", "out/bare/config", "out/.vscode/tasks.json", "out/mine/x")
        free = ("out/hooks/f", "out/config", "out/.ssh/authorized_keys", "out/.git/description", "out/bare/description")
        for name in held + free + ("out/bare/HEAD", "out/.git/modules/m/HEAD"):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            self.write(name, "as it was")
        for name in ("bare", ".git/modules/m"):
            os.makedirs(self.path("out/%s/refs" % name)), os.makedirs(self.path("out/%s/objects" % name))
        script = "for f in %s; do echo x >>../$f; cat ../$f >/dev/null || echo no; done 2>/dev/null; true" % " ".join(held + free)
        got = self.told(script, policy("return true", lists='protect = { "mine" }'))
        self.assertEqual("", got.out, got)
        self.assertEqual(list(free), [name for name in held + free if self.read(name) != "as it was"], got.events)

    @as_everyone
    def test_read_grant_stays_one(self):
        """By no way does a descriptor that was granted for reading come to write, or lead elsewhere."""
        got = self.python("""if True:
            import ctypes, errno, os
            fd = os.open("hid/f", os.O_RDONLY)
            own = "/proc/self/fd/%d" % fd
            def tried(f, *args, **more):
                try: f(*args, **more); return "DONE"
                except OSError as e: return errno.errorcode[e.errno]
            print(tried(os.open, own, os.O_RDWR), tried(os.open, own, os.O_WRONLY | os.O_TRUNC), tried(os.write, fd, b"x"),
                  tried(os.ftruncate, fd, 0), tried(os.truncate, own, 0), tried(os.fchmod, fd, 0o666), tried(os.chmod, own, 0o666),
                  tried(os.link, own, "stolen", follow_symlinks=True), tried(os.setxattr, fd, "user.a", b"x"),
                  tried(os.open, "..", os.O_RDONLY, dir_fd=fd), tried(os.open, own + "/../g", os.O_RDONLY))
            assert os.read(fd, 99) == b"hidden"
            assert not os.get_inheritable(fd)""", GRANT)
        self.assertNotIn("DONE", got.out)
        self.assertEqual("hidden", self.read("w/hid/f"))

    @as_everyone
    def test_flags(self):
        got = self.python("""if True:
            import fcntl, os
            for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_APPEND, os.O_WRONLY | os.O_NONBLOCK):
                fd = os.open("no/f", flags)
                assert (fcntl.fcntl(fd, fcntl.F_GETFL) ^ flags) & (os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK) == 0, flags
            for flags in (os.O_PATH, os.O_DIRECTORY, os.O_CREAT | os.O_EXCL | os.O_WRONLY, os.O_TMPFILE | os.O_RDWR):
                try: os.close(os.open("hid/f", flags)); assert flags == os.O_PATH
                except OSError: pass""", GRANT)
        self.assertEqual(0, got.code)

    @as_everyone
    def test_with_the_supervisor_and_without_observing(self):
        for more, lists in (('observe = "none",', 'denyRead = { "hid" }'),
                            ("", 'denyRead = { "hid" }, denyWrite = { "no" }, createGuard = "supervisor"')):
            text = policy('return open.path:sub(-2) == "/f"', more, lists)
            got = self.told("cat hid/f; echo; cat hid/g; echo x >new; cat new; echo more >>no/f; true", text)
            self.assertTrue(got.out.startswith("hidden\nx\n"), got)
            if more:
                # What a callback denies is told, whatever is observed.
                self.assertEqual([("read", "filesystem.decideOpen")], [(e["kind"], e["rule"]) for e in got.events])

    @as_everyone
    def test_what_is_denied_often_is_told_seldom(self):
        """Each open is asked about; of the same file the report has a count, and the file of violations few lines."""
        got = self.python("""if True:
            import os
            for i in range(500):
                try: os.open("hid/g", os.O_RDONLY)
                except OSError: pass""", policy('return false, "never"'))
        counts = [event.get("count", 1) for event in got.events if event["target"].endswith("w/hid/g")]
        self.assertEqual((500, [1] * 8, "never"), (sum(counts), counts[:8], got.events[0]["reason"]))
        self.assertLess(len(counts), 60)

    @as_everyone
    def test_nested_is_refused(self):
        got = self.told("true", policy("return true", "allowNestedUserNamespaces = true,"), wanted=125)
        self.assertIn("decideOpen can't be held" if self.user == "user" else "can't be held", got.err)


class Races(Base):
    @as_everyone
    def test_path_rewritten(self):
        """The path is rewritten while it is judged: what comes out is what was decided on."""
        got = self.python("""if True:
            import ctypes, os, threading
            C = ctypes.CDLL(None, use_errno=True)
            path, stop, got = ctypes.create_string_buffer(b"hid/f", 16), [], {}
            def flip():
                while not stop:
                    for i in range(500):
                        ctypes.memmove(path, b"hid/g", 5); ctypes.memmove(path, b"hid/f", 5)
            thread = threading.Thread(target=flip); thread.start()
            for i in range(%d):
                fd = C.open(path, os.O_RDONLY)
                word = os.read(fd, 99) if fd >= 0 else None
                if fd >= 0: os.close(fd)
                got[word] = got.get(word, 0) + 1
            stop.append(1); thread.join()
            print(sorted(map(str, got)), got.get(b"hidden", 0) > 0)""" % RACES,
                          policy('return srt.allow { session = open.path:sub(-2) == "/f" } and open.path:sub(-2) == "/f"'))
        self.assertIn("True", got.out)
        self.assertNotIn("never", got.out)

    @as_everyone
    def test_file_turned(self):
        """The name that was granted is turned to a link to what was not, from outside too."""
        self.write("w/open/f", "granted"), self.write("w/open/secret", "never")
        turner = self.outside("sh", "-c", "while :; do ln -sf secret open/f.new; mv -fT open/f.new open/f; "
                              "echo granted >open/f.new2; mv -fT open/f.new2 open/f; done")
        text = policy('return open.path:sub(-2) == "/f"', lists='denyRead = { "open" }')
        try:
            got = self.python("""if True:
                import os
                seen = set()
                for i in range(%d):
                    try: seen.add(open("open/f").read().strip())
                    except OSError: pass
                print(sorted(seen))""" % (RACES // 3), text)
        finally:
            turner.kill()
            turner.wait()
        self.assertNotIn("never", got.out)
        self.assertIn("granted", got.out)

    @as_everyone
    def test_killed(self):
        """Agent killed: opens fail. Callers killed while they wait, exec, signals, threads: all goes on."""
        process = self.popen("python3", "-c", """if True:
            import os, sys
            print(open("hid/f").read(), flush=True); sys.stdin.readline()
            try: os.open("hid/f", 0); print("GRANTED")
            except OSError as e: print(e.errno)""", policy=GRANT, stdin=subprocess.PIPE)
        self.assertEqual(b"hidden\n", process.stdout.readline())
        (agent,) = agents(process.pid)
        os.kill(agent, signal.SIGKILL)
        until(lambda: not agents(process.pid))
        out, err = process.communicate(b"go\n", timeout=30)
        self.assertEqual(b"38\n", out, err)

    @as_everyone
    def test_callers_come_and_go(self):
        text = policy('srt.sleep(0.02) return open.path:sub(-2) == "/f"')
        got = self.told("""for i in $(seq 40); do (while :; do cat hid/f hid/g; done) >/dev/null 2>&1 & kids="$kids $!"; done
            sleep 0.5; kill -9 $kids; wait 2>/dev/null; cat hid/f
            exec python3 -c 'if True:
                import os, signal, threading
                signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
                seen = []
                def work(i):
                    for j in range(3):
                        name = "hid/f" if i % 2 else "hid/g"
                        try: seen.append((name, open(name).read()))
                        except OSError: pass
                threads = [threading.Thread(target=work, args=(i,)) for i in range(300)]
                for t in threads: t.start()
                for t in threads: t.join()
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert set(seen) == {("hid/f", "hidden")}, set(seen)'""", text, timeout=120)
        self.assertTrue(got.out.startswith("hidden"), got)


if __name__ == "__main__":
    main()
