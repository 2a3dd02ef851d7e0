# SPDX-License-Identifier: Apache-2.0
"""createGuard = "supervisor": protected names are not made, and all others as the kernel makes them."""
import json
import os
import pathlib
import shutil
import signal
import subprocess

from lib import LONG, PUBLIC, as_everyone, as_only, has, main, need
from running import Running, tag, until

CALLS = shutil.copy(pathlib.Path(__file__).with_name("calls.py"), PUBLIC)
SUPERVISOR = '{ filesystem = { allowWrite = { "." }, denyWrite = { %s }, createGuard = "supervisor" } }'
GUARD = SUPERVISOR % '"no", "deep/er/secret", "dir/no"'
SCAN = '{ filesystem = { allowWrite = { "." } } }'
REFUSED = ("EROFS", "EEXIST", "EXDEV")


def agents(parent):
    """Pids of the agents beneath a run of srt-lua."""
    below, found = {parent}, []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            with open("/proc/%d/stat" % pid) as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if int(rest.split()[1]) in below:
            below.add(pid)
            if name == "srt-lua-guard":
                found.append(pid)
    return found


class Guard(Running):
    def works(self, script, policy=GUARD, **more):
        got = self.run_sh("set -e\n" + script, policy, timeout=120, **more)
        self.assertEqual(0, got.code, (self.user, got))
        return got

    def answers(self, path):
        got = self.run_srt(["python3", CALLS, "make", path], GUARD)
        self.assertEqual(0, got.code, (self.user, got))
        return dict(line.split(": ", 1) for line in got.out.splitlines())


class Refusals(Guard):
    @as_everyone
    def test_every_call(self):
        os.mkdir(self.path("w/dir"))
        self.own(self.w)
        for path in ("no", "dir/no"):
            with self.subTest(path=path):
                answers = self.answers(path)
                self.assertGreater(len(answers), 40 if "open 101" in answers else 25)
                for what, answer in answers.items():
                    if what in ("openat2", "io_uring"):
                        self.assertIn(answer, ("ENOSYS", "EPERM"))
                    elif what == "link by dirfd":
                        self.assertIn(answer, ("EROFS", "ENOENT"))
                    elif "RENAME" in what or what.endswith(" 2"):
                        # An exchange needs both.
                        self.assertIn(answer, ("EROFS", "ENOENT"), what)
                    elif what.endswith(" 4"):
                        self.assertIn(answer, ("EROFS", "EPERM", "EINVAL"), what)
                    else:
                        self.assertEqual("EROFS", answer, what)
                self.assertFalse(os.path.lexists(self.path("w", path)))

    @as_everyone
    def test_are_told(self):
        """By the rule that refuses, each once, and not what is there or only fails."""
        os.makedirs(self.path("w/dir")), os.makedirs(self.path("w/deep/er/secret"))
        self.own(self.w)
        script = """exec 2>/dev/null; echo >no; mkdir no; mkdir deep/er/secret; touch fine .vscode; ln -s x dir/no; mkdir ../x
            mkdir n n/sub; echo >n/a.key; mv n/a.key n/sub/a.pem; mkdir t; echo >t/no; rmdir dir; mv -T t dir; echo >none/x; mkdir fine; :"""
        lists = '"no", "deep/er/secret", "dir/no", "**/*.pem"'
        got = self.run_sh(script, SUPERVISOR % lists, options=("--report", "json"))
        told = {v["target"].replace(self.w + "/", ""): (v["kind"], v["count"], v["rule"])
                for v in json.loads(got.err.splitlines()[-1])["violations"]}
        denied = "filesystem.denyWrite[%d]: %s"
        self.assertEqual({
            "no": ("write", 2, denied % (1, "no")), ".vscode": ("write", 1, "protected name"),
            "dir/no": ("write", 1, denied % (3, "dir/no")), "n/sub/a.pem": ("write", 1, denied % (4, "**/*.pem")),
            "dir": ("write", 1, "filesystem.createGuard"), self.path("x"): ("write", 1, "nothing is writable unless an entry allows it")},
            told, got)
        got = self.run_sh(script, (SUPERVISOR % lists).replace("{", '{ observe = "none",', 1), options=("--report", "json"))
        self.assertEqual(0, json.loads(got.err.splitlines()[-1])["denied"], got)

    @as_everyone
    def test_the_same_calls_elsewhere(self):
        """The list above is one of calls that work."""
        answers = self.answers("yes")
        refused = [what for what, answer in answers.items() if answer in ("EROFS", "EACCES")]
        self.assertEqual([], refused)

    @as_everyone
    def test_no_placeholders(self):
        process = self.popen("sleep", tag(), policy=GUARD)
        self.assertTrue(until(lambda: agents(process.pid)))
        self.assertEqual([], os.listdir(self.w))
        process.terminate()
        process.wait()
        self.assertEqual([], os.listdir(self.w))

    @as_everyone
    def test_folders_on_the_way(self):
        got = self.works("""mkdir -p deep/er; mkdir deep/er/other; echo x >deep/er/file
            if mkdir deep/er/secret; then exit 1; fi
            rm -r deep
            if ln -s elsewhere deep; then exit 2; fi
            mkdir -p elsewhere/er deep; echo x >elsewhere/er/secret
            if ln -s ../elsewhere/er deep/er; then exit 3; fi
            ln -s elsewhere link
            if mv -T link deep/er; then exit 4; fi
            if ln link deep/er; then exit 5; fi
            if mv elsewhere/er deep/er; then exit 6; fi
            rmdir deep
            if mv elsewhere deep; then exit 7; fi
            mkdir deep
            if python3 -c 'import ctypes; exit(ctypes.CDLL(None).renameat2(-100, b"elsewhere", -100, b"deep", 2))'; then exit 8; fi
            ln -s deep via; mkdir via/er
            if echo x >via/er/secret; then exit 9; fi
            rm elsewhere/er/secret; rm -r deep; mv elsewhere deep; mv deep/er deep/re; mv deep/re deep/er; ls deep/er""")
        self.assertEqual("", got.out)
        self.assertEqual([], os.listdir(self.path("w/deep/er")))

    @as_everyone
    def test_what_is_there_is_there(self):
        """A name that the host makes meanwhile can be read, and answers as one that is there."""
        script = """until [ -e no ]; do sleep 0.01; done
            if mkdir no; then exit 1; fi; mkdir -p no; cat no/f; cat <>no/f
            if echo x >no/f; then exit 2; fi; if echo x >no/new; then exit 3; fi; if mkdir no/d; then exit 4; fi"""
        process = self.popen("sh", "-ec", script, policy=GUARD)
        self.assertTrue(until(lambda: agents(process.pid)))
        self.write("out/f", "hello ")
        os.rename(self.path("out"), self.path("w/no"))
        out, err = process.communicate(timeout=30)
        # <> opens for writing as well.
        self.assertEqual(b"hello ", out, err)
        self.assertEqual(["f"], os.listdir(self.path("w/no")))
        self.assertEqual("hello ", self.read("w/no/f"))

    @as_everyone
    def test_policy_keys(self):
        got = self.run_sh("true", '{ filesystem = { createGuard = "supervisor" }, allowNestedUserNamespaces = true }')
        self.assertEqual(125, got.code)
        self.assertIn("createGuard" if self.user == "user" else "allowNestedUserNamespaces", got.err)
        self.works("true", '{ filesystem = { createGuard = "supervisor" } }')

    @as_everyone
    def test_what_the_agent_could_not_know(self):
        """Landlock layers made inside, and filters that would answer in its place."""
        self.works("""python3 -c 'if True:
            import ctypes, errno
            c = ctypes.CDLL(None, use_errno=True)
            assert c.syscall(444, 0, 0, 1) == -1 and ctypes.get_errno() == errno.EOPNOTSUPP
            for request in (0x5000940e, 0x50009401, 0x50009418, 0x50009417):
                assert c.ioctl(0, request, 0) == -1 and ctypes.get_errno() == errno.ENOTTY'""")


# Two threads: one rewrites the path, one makes it.
RACE = """
import ctypes, os, sys, threading
c = ctypes.CDLL(None, use_errno=True)
path, number = ctypes.create_string_buffer(b"aa"), int(sys.argv[1])
stop = []
def rewrite():
    while not stop:
        ctypes.memmove(path, b"no", 2); ctypes.memmove(path, b"aa", 2)
thread = threading.Thread(target=rewrite); thread.start()
sys.setswitchinterval(1e-5)
made = refused = 0
for i in range(number):
    c.mkdir(path, 0o755)
    if os.path.lexists("no"): print("MADE"); break
    try: os.rmdir("aa"); made += 1
    except OSError: refused += 1
stop.append(1); thread.join()
print("ok" if made and refused else "no race")
"""

# One moves folders, one fills them.
MOVE = """
import os, sys, threading
stop = []
def fill():
    while not stop:
        for folder in ("x", "dir"):
            for name in ("no", "yes"):
                try: os.mkdir(folder + "/" + name)
                except OSError: pass
            for name in ("no", "yes"):
                try: os.rmdir(folder + "/" + name)
                except OSError: pass
os.mkdir("x"); thread = threading.Thread(target=fill); thread.start()
sys.setswitchinterval(1e-5)
for i in range(int(sys.argv[1])):
    for move in (("x", "dir"), ("dir", "x")):
        try: os.rename(*move)
        except OSError: pass
    if os.path.lexists("dir/no"): print("MADE"); break
stop.append(1); thread.join()
print("ok")
"""


class Tables(Guard):
    """Patterns and names."""

    POLICY = SUPERVISOR % '"**/.env", "keys/*.pem", "[kl]ocks/?", "a1/b/c"'

    def works(self, script, **more):
        return super().works(script, self.POLICY, **more)

    @as_everyone
    def test_names_and_patterns(self):
        self.works("""no() { if "$@" 2>/dev/null; then echo "made: $*"; exit 1; fi; }
            mkdir -p x/y keys locks kocks
            no mkdir .env; no mkdir x/y/.env; no touch x/.env; no ln -s f x/.env; no cp /etc/passwd x/y/.env
            no touch .bashrc; no mkdir x/.bashrc; no touch keys/a.pem; touch keys/a.pub; no touch locks/1; touch locks/12
            mkdir -p x/y/z node_modules/p; touch x/y/z/.bashrc node_modules/p/.bashrc; rm x/y/z/.bashrc; no ln /etc/hostname .bashrc; no mkfifo .bashrc
            mkdir .claude; no mkdir .claude/agents; mkdir .claude/other; mkdir x/.claude; no touch x/.claude/agents
            # A folder may not bring them.
            mkdir -p p/agents p/a q; no mv p q/.claude; rmdir p/agents; mv p q/.claude; no mv q/.claude/a q/.claude/agents
            mkdir -p new; touch new/a.pem new/k; rm -r keys; no mv new keys; no ln -s /dev/shm keys; rm new/a.pem; mv new keys
            ln -s /dev/shm link; mv keys k; no mv -T link keys; no mv -T link a1
            mkdir a1; no ln -s ../x a1/b; mkdir a1/b; no touch a1/b/c; mkdir -p m/b; ln -s x m/b/z; mv a1 n; no touch m/../n/../m/b/.env
            mv -T m a1; mv a1 m; ln -s x m/b/c; no mv m a1; rm m/b/c; rm -r m/b; ln -s ../x m/b; no mv m a1
            # Where the tree is another one, the pattern counts for what comes in.
            mkdir -p /dev/shm/in/sub; touch /dev/shm/in/sub/.env; no mv /dev/shm/in ./in; rm -rf /dev/shm/in
            mkdir big; cd big; python3 -c 'for i in range(500): open("f%d" % i, "w").close()'; cd ..; mv big locks/xx
            touch x/.envy x/bashrc; mv x x2; mv x2 x; mv x/y y""")

    @as_everyone
    def test_repository(self):
        """What git takes commands from can't be made in a repository that is there; git goes on working."""
        need("git")
        self.sh("git init -q .; git config user.name n; git config user.email e; rm -rf .git/hooks")
        self.works("""no() { if "$@" 2>/dev/null; then echo "made: $*"; exit 1; fi; }
            no mkdir .git/hooks; no touch .git/commondir; no ln -s /tmp .git/hooks; mkdir h; touch h/pre-commit; no mv h .git/hooks
            echo a >f; git add f; git commit -qm one; echo b >>f; git commit -qam two; git gc -q; git stash list
            git checkout -qb side HEAD~1; echo c >g; git add g; git commit -qm three; git rebase -q master 2>/dev/null || git rebase -q main
            git worktree add -q ../w/t HEAD~1; git init -q new; git clone -q . copy""")
        self.assertFalse(os.path.lexists(self.path("w/.git/hooks")))

    @as_everyone
    def test_exchange(self):
        self.works("""mkdir -p keys other; touch other/a.pem other/b
            cat >x.py <<-E
                import ctypes, errno
                c = ctypes.CDLL(None, use_errno=True)
                for a, b in ((b"keys", b"other"), (b"other", b"keys")):
                    assert c.renameat2(-100, a, -100, b, 2) == -1 and ctypes.get_errno() == errno.EROFS
            E
            sed -i 's/^ *//; s/^assert/    assert/' x.py; python3 x.py; rm other/a.pem
            python3 -c 'import ctypes; assert ctypes.CDLL(None).renameat2(-100, b"keys", -100, b"other", 2) == 0'; ls keys/b""")


class Races(Guard):
    @as_everyone
    def test_path_rewritten_in_flight(self):
        self.write("w/race.py", RACE)
        got = self.run_srt(["python3", "race.py", "100000" if LONG else "5000"], GUARD, timeout=280)
        self.assertEqual("ok\n", got.out, got)

    @as_everyone
    def test_folder_moved_in_flight(self):
        self.write("w/move.py", MOVE)
        got = self.run_srt(["python3", "move.py", "50000" if LONG else "2000"], GUARD, timeout=280)
        self.assertEqual("ok\n", got.out, got)
        self.assertFalse(os.path.lexists(self.path("w/dir/no")))


class Kernel(Guard):
    @as_everyone
    def test_all_answers_are_the_kernels(self):
        got = {}
        for name, policy in (("guard", GUARD), ("scan", SCAN)):
            self.fresh()
            self.sh("umask 022; python3 %s prepare" % CALLS)
            ran = self.run_srt(["python3", CALLS, "kernel"], policy)
            self.assertEqual(0, ran.code, ran)
            got[name] = ran.out.splitlines()
        self.assertGreater(len(got["scan"]), 800)
        self.assertEqual(got["scan"], got["guard"])

    @as_everyone
    def test_fifos(self):
        got = self.works("""mkfifo p; (sleep 0.2; cat p) & echo one >p; wait
            (echo two >p) & sleep 0.2; cat p; wait
            python3 -c 'if True:
                import os, signal, time, errno
                try: os.open("p", os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK); assert False
                except OSError as e: assert e.errno == errno.ENXIO
                os.close(os.open("p", os.O_RDONLY | os.O_CREAT | os.O_NONBLOCK))
                os.close(os.open("p", os.O_RDWR | os.O_CREAT))
                def late(*_): raise TimeoutError
                signal.signal(signal.SIGALRM, late); signal.setitimer(signal.ITIMER_REAL, 0.2)
                try: os.open("p", os.O_RDONLY | os.O_CREAT); assert False
                except TimeoutError: print("three")'
            # Those that wait don't keep others from anything, and end with their caller.
            for i in 1 2 3 4 5; do (echo x >p) & kids="$kids $!"; done; sleep 0.1; mkdir while-waiting; kill $kids
            wait || true; sleep 0.1; : >f; grep -l guard /proc/[0-9]*/comm | wc -l""")
        self.assertEqual("one\ntwo\nthree\n1\n", got.out)

    @as_everyone
    def test_lease(self):
        """One of the host's is waited for by a process apart; none can be taken inside."""
        holder = subprocess.Popen(self.as_user(["python3", "-c", """if True:
            import fcntl, os, signal
            open("f", "w").close(); fd = os.open("f", os.O_RDONLY)
            signal.signal(signal.SIGIO, lambda *_: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK))
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            print("held", flush=True)
            signal.pause()"""]), cwd=self.w, stdout=subprocess.PIPE)
        self.assertEqual(b"held\n", holder.stdout.readline())
        self.works("echo x >f")
        self.assertEqual(0, holder.wait(20))
        holder.stdout.close()

    @as_everyone
    def test_terminal(self):
        shell = self.shell(env={"G": self.policy(GUARD, "guard.lua")})
        shell.send("$S sh -c 'echo outer' >/dev/null; %s run $G -- sh -c 'echo he''llo >/dev/tty'\n" %
                   os.path.join(PUBLIC, "srt-lua"))
        shell.expect("hello")
        if has("script"):
            shell.send("%s run $G -- script -qc 'echo in''ner >/dev/tty' /dev/null\n" % os.path.join(PUBLIC, "srt-lua"))
            shell.expect("inner")

    @as_everyone
    def test_callers_that_hide(self):
        """A process that is not dumpable, one with few descriptors, threads with a folder of their own."""
        self.works("""python3 -c 'if True:
            import ctypes, errno, os, resource, threading
            c = ctypes.CDLL(None, use_errno=True)
            assert c.prctl(4, 0, 0, 0, 0) == 0
            os.mkdir("hidden"); open("hidden/f", "w").close(); os.rename("hidden/f", "hidden/g")
            with open("/proc/self/oom_score_adj") as f: pass
            def apart():
                assert c.unshare(0x200) == 0    # CLONE_FS
                os.chdir("hidden"); open("mine", "w").close(); os.umask(0o077)
                os.close(os.open("private", os.O_CREAT | os.O_WRONLY, 0o666))
            t = threading.Thread(target=apart); t.start(); t.join()
            assert os.path.exists("hidden/mine") and not os.path.exists("mine")
            assert os.stat("hidden/private").st_mode & 0o777 == 0o600
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
            try: os.open("few", os.O_CREAT | os.O_WRONLY); assert False
            except OSError as e: assert e.errno == errno.EMFILE, e'""")

    @as_only("root")
    def test_no_power_that_the_caller_gave_up(self):
        """A root caller's process that dropped its capabilities makes files as one without them."""
        os.mkdir(self.path("w/theirs"))
        os.chown(self.path("w/theirs"), 65000, 65000)
        self.works("""python3 -c 'if True:
            import ctypes, os
            open("theirs/before", "w").close()
            header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
            assert ctypes.CDLL(None).capset(header, data) == 0
            try: open("theirs/after", "w"); assert False
            except PermissionError: pass' && echo x >theirs/again""")
        self.assertEqual(["again", "before"], sorted(os.listdir(self.path("w/theirs"))))


class Agent(Guard):
    @as_everyone
    def test_killed_agent(self):
        script = """echo x >before; echo ready; read go; echo x >after || echo refused; mkdir d || echo refused
            mv before moved || echo refused; cat before; : 3<>new || echo refused"""
        process = self.popen("sh", "-c", script, policy=GUARD, stdin=subprocess.PIPE)
        self.assertEqual(b"ready\n", process.stdout.readline())
        (agent,) = agents(process.pid)
        os.kill(agent, signal.SIGKILL)
        until(lambda: not agents(process.pid))
        out, err = process.communicate(b"go\n", timeout=30)
        self.assertIn(b"refused\nrefused\nrefused\nx\n", out, err)
        self.assertEqual(["before"], os.listdir(self.w))

    @as_everyone
    def test_from_inside(self):
        """The agent can't be killed, traced or looked into by what it serves."""
        got = self.works("""agent=$(grep -l srt-lua-guard /proc/[0-9]*/comm | cut -d/ -f3)
            python3 -c 'if True:
                import ctypes, os, sys
                pid, c = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)
                for sig in (9, 19, 11, 15):
                    try: os.kill(pid, sig); assert False
                    except PermissionError: pass
                assert c.ptrace(16, pid, 0, 0) == -1
                for name in ("mem", "fd/0", "root", "cwd", "environ", "maps"):
                    try: os.open("/proc/%d/%s" % (pid, name), os.O_RDONLY); assert False, name
                    except OSError: pass
                for path in ("root/x", "cwd/x", "fd/1/x", "fd/2/x", "task/%d/root/x" % pid, "fd/3"):
                    for start in ("/proc/%d/" % pid, "/proc/self/../%d/" % pid):
                        try: os.open(start + path, os.O_CREAT | os.O_WRONLY); assert False, path
                        except OSError: pass
                    os.chdir("/proc/%d" % pid)
                    try: os.open(path, os.O_CREAT | os.O_WRONLY); assert False, path
                    except OSError: pass' $agent
            echo x >still""")
        self.assertTrue(os.path.exists(self.path("w/still")), got)

    @as_everyone
    def test_signals(self):
        """No call is made twice or lost where signals rain."""
        self.works("""python3 -c 'if True:
            import os, signal, time
            seen = []
            signal.signal(signal.SIGALRM, lambda *_: seen.append(1)); signal.siginterrupt(signal.SIGALRM, False)
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
            for i in range(2000): os.mkdir("d%d" % i)
            for i in range(2000): os.close(os.open("d%d/f" % i, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            signal.setitimer(signal.ITIMER_REAL, 0); assert seen, "no signals"'""")
        self.assertEqual(2000, len(os.listdir(self.w)))

    @as_everyone
    def test_killed_callers(self):
        self.works("""for i in $(seq 40); do (while :; do mkdir x$i; rmdir x$i; : >f; done) 2>/dev/null & kids="$kids $!"; done
            sleep 0.3; kill -9 $kids; wait 2>/dev/null || true; rm -rf x*; mkdir ok; : >done""")
        self.assertTrue(os.path.exists(self.path("w/done")))

    @as_everyone
    def test_many_threads_and_programs(self):
        self.works("""python3 -c 'if True:
            import os, subprocess, threading
            def many(n):
                for i in range(50):
                    p = "t%d-%d" % (n, i); os.mkdir(p); open(p + "/f", "w").close(); os.rename(p + "/f", p + "/g")
            threads = [threading.Thread(target=many, args=(n,)) for n in range(32)]
            [t.start() for t in threads]; [t.join() for t in threads]
            for i in range(100): subprocess.check_call(["sh", "-c", "echo $$ >p%d" % i])'""")
        self.assertEqual(32 * 50 + 100, len(os.listdir(self.w)))

    @as_only("user")
    def test_in_a_sandbox(self):
        """One of ours in one of ours, which has no openat2."""
        inner = self.write("inner.lua", "return " + GUARD)
        got = self.run_sh("%s run %s -- python3 %s make yes; ls" % (os.path.join(PUBLIC, "srt-lua"), inner, CALLS),
                          '{ filesystem = { allowWrite = { "." } }, allowNestedUserNamespaces = true }')
        self.assertEqual(0, got.code, got)
        answers = dict(line.split(": ", 1) for line in got.out.splitlines() if ": " in line)
        self.assertTrue(answers["openat 101"].endswith("00001"), got)
        self.assertFalse([what for what, answer in answers.items() if answer in ("EROFS", "EACCES")], got)

    def test_where_the_kernel_can_not(self):
        got = self.run_sh("true", GUARD, env={"SRT_LUA_FAKE_MISSING": "seccomp_notify"})
        self.assertEqual(125, got.code, got)
        self.assertIn("createGuard", got.err)


class Programs(Guard):
    @as_everyone
    def test_git(self):
        need("git")
        self.works("""git init -q r; cd r; git config user.name n; git config user.email e; echo a >f; git add f
            git commit -qm one; echo b >>f; git commit -qam two; git gc -q; git branch side; git checkout -q side
            git stash list; git worktree add -q ../t HEAD~1; cd ..; git clone -q r c; git -C c fsck --no-progress""")

    @as_everyone
    def test_tar(self):
        self.works("""mkdir a; for i in $(seq 300); do echo $i >a/$i; done; ln -s 1 a/l; ln a/1 a/h; mkfifo a/p
            tar cf a.tar a; mkdir b; tar xpf a.tar -C b; tar df a.tar -C b; cp -a a c; rm -r a b c""")

    @as_everyone
    def test_sqlite_make_venv(self):
        need("make")
        self.write("w/Makefile", "all: $(foreach n,1 2 3 4 5 6 7 8,o$(n))\no%:\n\techo $@ >$@.tmp; mv $@.tmp $@\n")
        self.works("""make -sj4; python3 -c 'if True:
            import sqlite3; db = sqlite3.connect("db"); db.execute("pragma journal_mode=wal"); db.execute("create table t (a)")
            db.execute("insert into t values (1)"); db.commit(); print(db.execute("select * from t").fetchall())'
            python3 -m venv --without-pip v; v/bin/python -c 'import sys; assert sys.prefix.endswith("/v")'""")

    @as_everyone
    def test_npm(self):
        need("npm"), need("node")
        self.write("w/pkg/package.json", '{ "name": "left", "version": "1.0.0", "main": "i.js", "bin": { "left": "i.js" } }')
        self.write("w/pkg/i.js", "#!/usr/bin/env node\nmodule.exports = 42;\n")
        self.write("w/package.json", '{ "name": "top", "version": "1.0.0", "private": true }')
        got = self.works("""export npm_config_cache=$PWD/.cache npm_config_offline=true npm_config_update_notifier=false
            npm pack ./pkg >/dev/null 2>&1; npm install --no-audit --no-fund ./left-1.0.0.tgz >/dev/null
            node -e 'const { Worker } = require("worker_threads"); const fs = require("fs");
              for (let i = 0; i < 4; i++) new Worker(`require("fs").writeFileSync("w${i}", "x")`.replace("${i}", i), { eval: true });
              fs.promises.writeFile("p", "x").then(() => console.log(require("left")))'""")
        self.assertEqual("42\n", got.out)
        self.assertTrue(all(os.path.exists(self.path("w/w%d" % i)) for i in range(4)))


if __name__ == "__main__":
    main()
