# SPDX-License-Identifier: Apache-2.0
"""Without namespaces the agent makes the names: as the kernel would, and none of those that are protected."""
import json
import os
import subprocess

from lib import LONG, as_everyone, main, need
from running import Running
from test_create_guard import CALLS, MOVE, RACE

POLICY = '{ backend = "landlock", filesystem = { allowWrite = { "." }, denyWrite = { %s }, denyRead = { %s } } }'
PLAIN = POLICY % ("", "")
NO = POLICY % ('"no", "dir/no"', "")
CLOSED = POLICY % ('"keep", "keepfile"', '"secret"')

# Each line of it that could do something is printed.
TRICKS = r"""
import ctypes, glob, mmap, os, sys
c = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    if getattr(c, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), name)
def tried(what, action, *args, **more):
    try:
        action(*args, **more)
        print("done:", what, flush=True)
    except (OSError, ValueError):
        pass
def put(path, flags=os.O_WRONLY, **more):
    os.write(os.open(path, flags, **more), b"evil")
outside = sys.argv[1]
files = ("keep/f", "keepfile", "secret/f", ".git/config", "keep/deep/f", outside + "/f")
W, R, RDWR, CREAT = os.O_WRONLY, os.O_RDONLY, os.O_RDWR, os.O_CREAT
for f in files:
    folder, name = os.path.split(f)
    for form in (f, "./" + f, "sub/../" + f, "sub/.." + "//" + f, "/proc/self/cwd/" + f, "/proc/thread-self/cwd/" + f,
                 "/proc/self/root" + os.path.abspath(f), f + "/", f + "/.") if not f.startswith("/") else (f, "/proc/self/root" + f):
        for flags in (W, RDWR, W | CREAT, W | os.O_TRUNC, W | os.O_APPEND, R | os.O_TRUNC, R | os.O_TRUNC | CREAT, W | CREAT | os.O_EXCL):
            tried("open %o %s" % (flags, form), put, form, flags)
        tried("truncate " + form, os.truncate, form, 1)
        tried("unlink " + form, os.unlink, form)
        tried("rename away " + form, os.rename, form, "sub/away")
        tried("rename over " + form, os.rename, "sub/mine", form)
        tried("link " + form, os.link, form, "sub/linked")
        tried("exchange " + form, call, "renameat2", -100, b"sub/mine", -100, form.encode(), 2)
        tried("whiteout " + form, call, "renameat2", -100, form.encode(), -100, b"sub/white", 4)
    for flags in (R, os.O_PATH):
        try:
            fd = os.open(f, flags)
        except OSError:
            continue
        for path in ("/proc/self/fd/%d", "/dev/fd/%d", "/proc/thread-self/fd/%d", "/proc/%d/fd/%%d" % os.getpid()):
            tried("%s by %s %o" % (f, path, flags), put, path % fd)
            tried("%s by %s %o, O_CREAT" % (f, path, flags), put, path % fd, W | CREAT)
            tried("truncate %s by %s" % (f, path), os.truncate, path % fd, 0)
            tried("link %s by %s" % (f, path), call, "linkat", -100, (path % fd).encode(), -100, b"sub/byfd", 0x400)
        tried("link %s AT_EMPTY_PATH" % f, call, "linkat", fd, b"", -100, b"sub/byfd2", 0x1000)
        tried("ftruncate " + f, os.ftruncate, fd, 0)
        tried("map " + f, lambda: mmap.mmap(fd, 1, mmap.MAP_SHARED, mmap.PROT_WRITE))
    tried("symlink to " + f, lambda: (os.symlink(os.path.abspath(f), "sub/l" + name), put("sub/l" + name)))
    tried("symlink to %s, O_CREAT" % f, lambda: put("sub/l" + name, W | CREAT))
    tried("truncate by link", os.truncate, "sub/l" + name, 0)
for folder in ("keep", "keep/deep", "secret", ".git", outside):
    free = folder == ".git"
    for to in ("sub/moved", "moved", "sub/there/", "sub/empty"):
        tried("move %s to %s" % (folder, to), os.rename, folder, to)
        tried("exchange %s with %s" % (folder, to), call, "renameat2", -100, folder.encode(), -100, to.encode(), 2)
    tried("put into the place of " + folder, os.rename, "sub/empty", folder)
    tried("rmdir " + folder, os.rmdir, folder)
    if free: continue
    for name in ("new", "deep/../new"):
        path = os.path.join(folder, name)
        tried("make " + path, put, path, W | CREAT)
        tried("mkdir " + path, os.mkdir, path)
        tried("symlink " + path, os.symlink, "x", path)
        tried("mkfifo " + path, os.mkfifo, path)
        tried("move into " + path, os.rename, "sub/mine", path)
        tried("link into " + path, os.link, "sub/mine", path)
    tried("unnamed in " + folder, os.open, folder, RDWR | os.O_TMPFILE)
    try:
        at = os.open(folder, R | os.O_DIRECTORY)
    except OSError:
        try: at = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        except OSError: continue
    tried("openat in " + folder, put, "f", W, dir_fd=at)
    tried("creat at " + folder, put, "n", W | CREAT, dir_fd=at)
    tried("unlinkat " + folder, os.unlink, "f", dir_fd=at)
    tried("mkdirat " + folder, os.mkdir, "n", dir_fd=at)
    tried("renameat out of " + folder, os.rename, "f", "sub/gone", src_dir_fd=at)
    tried("by the folder's descriptor " + folder, put, "/proc/self/fd/%d/f" % at)
    here = os.getcwd()
    try:
        os.fchdir(at)
        tried("there: write", put, "f"); tried("there: make", put, "n", W | CREAT); tried("there: unlink", os.unlink, "f")
        os.chdir(here)
    except OSError:
        pass
for name in (".vscode", ".bashrc", ".git/hooks", ".mcp.json"):
    tried("mkdir " + name, os.mkdir, name)
    tried("creat " + name, put, name, W | CREAT)
    tried("symlink " + name, os.symlink, "sub", name)
    tried("rename to " + name, os.rename, "sub/empty", name)
    tried("link to " + name, os.link, "sub/mine", name)
    tried("by link", lambda: (os.symlink(os.path.abspath(name), "sub/to" + name[1:4]), put("sub/to" + name[1:4], W | CREAT)))
fd = os.open("sub", RDWR | os.O_TMPFILE)
for to in (b"keep/t", b".bashrc", b".git/hooks", (outside + "/t").encode()):
    tried("unnamed to %r" % to, call, "linkat", -100, b"/proc/self/fd/%d" % fd, -100, to, 0x400)
# What processes outside have open, and where they are.
for pid in [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]:
    for place in ("root" + os.path.abspath("keep/f"), "cwd/keep/f", "root" + outside + "/new", "root" + os.path.abspath("sub/n")):
        tried("/proc/%s/%s" % (pid, place), put, "/proc/%s/%s" % (pid, place), W | CREAT)
    for n in list(range(3)) + [5, 7, 9]:
        tried("/proc/%s/fd/%d" % (pid, n), os.open, "/proc/%s/fd/%d" % (pid, n), RDWR | CREAT)
tried("a layer of its own", call, "syscall", 444, 0, 0, 1)
tried("read", lambda: open("secret/f").read())
print("end")
"""

# Two threads: one makes a name mean something else, one opens it for writing.
SWAP = r"""
import ctypes, os, sys, threading
number, stop = int(sys.argv[1]), []
sys.setswitchinterval(1e-5)
path = ctypes.create_string_buffer(b"mine/f")
c = ctypes.CDLL(None, use_errno=True)
a, b = os.open("mine/f", os.O_RDONLY), os.open("keep/f", os.O_RDONLY)
os.dup2(a, 50)
os.symlink("mine", "via0"); os.symlink("keep", "via1"); os.symlink("mine", "via")
def rewrite():
    while not stop: ctypes.memmove(path, b"keep", 4); ctypes.memmove(path, b"mine", 4)
def switch():
    while not stop: os.dup2(b, 50); os.dup2(a, 50)
def exchange():
    while not stop: c.renameat2(-100, b"via", -100, b"via1", 2)
def opened(what):
    done = failed = 0
    for i in range(number):
        fd = c.open(what, os.O_WRONLY)
        if fd < 0: failed += 1; continue
        st = os.fstat(fd)
        if st.st_ino == keep: print("OPENED", what); return
        os.close(fd); done += 1
    print("ok" if done and failed else "no race", flush=True)
keep = os.stat("keep/f").st_ino
for other, what in ((rewrite, path), (switch, b"/proc/self/fd/50"), (exchange, b"via/f")):
    stop.clear(); thread = threading.Thread(target=other); thread.start()
    opened(what); stop.append(1); thread.join()
"""

REMOVED = r"""
import os
fd = os.open("keepfile", os.O_RDONLY)
print("open", flush=True)
input()
try: print(os.write(os.open("/proc/self/fd/%d" % fd, os.O_WRONLY), b"evil"))
except OSError: print("no")
new = os.open("sub", os.O_TMPFILE | os.O_RDWR)
os.link("/proc/self/fd/%d" % new, "sub/linked", src_dir_fd=new, follow_symlinks=True)
print(os.listdir("sub").count("linked") and "linked")
"""


class Names(Running):
    def tree(self):
        for name in ("keep/f", "keep/deep/f", "keepfile", "secret/f", "sub/mine", "mine/f"):
            self.write("w/" + name, "kept")
        self.write("out/f", "kept")
        self.sh("git init -q . && mkdir -p sub/empty sub/there && rm -r .git/hooks")

    @as_everyone
    def test_no_trick(self):
        need("git")
        self.tree()
        self.write("w/tricks.py", TRICKS)
        config = self.read("w/.git/config")
        got = self.run_srt(["python3", "tricks.py", self.path("out")], CLOSED)
        self.assertEqual("end\n", got.out, got)
        for name in ("w/keep/f", "w/keep/deep/f", "w/keepfile", "w/secret/f", "out/f"):
            self.assertEqual("kept", self.read(name), name)
        self.assertEqual(config, self.read("w/.git/config"))
        self.assertEqual(["deep", "f"], sorted(os.listdir(self.path("w/keep"))))
        self.assertEqual([], [n for n in (".vscode", ".bashrc", ".git/hooks", ".mcp.json") if os.path.lexists(self.path("w/" + n))])

    @as_everyone
    def test_git(self):
        need("git")
        self.sh("git init -q .; git config user.name n; git config user.email e")
        got = self.run_sh("""set -e; no() { if "$@" 2>/dev/null; then echo "made: $*"; exit 1; fi; }
            echo a >f; git add f; git commit -qm one; echo b >>f; git commit -qam two; git gc -q; git stash list
            git checkout -qb side HEAD~1; echo c >g; git add g; git commit -qm three; git rebase -q master 2>/dev/null || git rebase -q main
            git branch other; git tag t; git merge -q t; git reset -q --hard HEAD~1; git clean -qfdx; git worktree add -q t HEAD~1
            git init -q new; git clone -q . copy; git -C copy config user.x y
            no touch .git/hooks/post-commit; no git config user.x y; no mv .git g; no rm -rf .git/hooks; no touch .gitmodules
            mkdir -p d/e; echo 1 >d/e/f; mv d d2; cp -r d2 d3; rm -r d2 d3; echo x >new1; mv new1 f; sed -i s/x/y/ f; cat f
            printf '#!/bin/sh\\necho ran' >s; chmod +x s; ./s; : >o; echo to 3>o >/dev/fd/3; cat o; python3 -c 'import os; os.truncate("o", 1); open("o", "r+").write("t")'; cat o
            mkfifo p; (sleep .1; cat p) & echo fifo >p; wait""", PLAIN, timeout=120)
        self.assertEqual((0, "y\nran\nto\ntfifo\n"), (got.code, got.out), got)
        self.assertNotIn("made, renamed", got.err)

    @as_everyone
    def test_every_call(self):
        os.mkdir(self.path("w/dir"))
        self.own(self.w)
        for name, made in (("no", False), ("dir/no", False), ("yes", True)):
            got = self.run_srt(["python3", CALLS, "make", name], NO)
            answers = dict(line.split(": ", 1) for line in got.out.splitlines())
            self.assertGreater(len(answers), 25, got)
            wrong = [what for what, answer in answers.items() if (answer in ("EROFS", "EACCES") if made else answer == "ok")]
            self.assertEqual([], wrong, name)
            self.assertEqual(made, os.path.lexists(self.path("w", name)))

    @as_everyone
    def test_answers_are_the_kernels(self):
        """All that making names can be answered, compared with mounts: only where nothing may be written it differs."""
        got = []
        for policy in ('{ filesystem = { allowWrite = { "." } } }', PLAIN):
            self.fresh()
            self.sh("umask 022; python3 %s prepare" % CALLS)
            ran = self.run_srt(["python3", CALLS, "kernel"], policy)
            self.assertEqual(0, ran.code, ran)
            got.append([line.replace("EROFS", "EACCES") for line in ran.out.splitlines()
                        if not line.startswith("/proc/") and "by-fd" not in line and not (line.startswith("rename") and "out/x" in line)])
        self.assertGreater(len(got[0]), 800)
        self.assertEqual(*got)

    @as_everyone
    def test_races(self):
        self.tree()
        for name, text in (("race.py", RACE), ("move.py", MOVE), ("swap.py", SWAP)):
            self.write("w/" + name, text)
        many = 20 if LONG else 1
        got = self.run_sh("python3 race.py %d; mkdir dir; python3 move.py %d; rm -r x dir; python3 swap.py %d"
                          % (1500 * many, 500 * many, 700 * many), POLICY % ('"no", "dir/no", "keep"', ""), timeout=280)
        self.assertEqual("ok\n" * 5, got.out, got)
        self.assertEqual("kept", self.read("w/keep/f"))

    def test_removed_outside(self):
        """A file that lost its name meanwhile is not what the name's "(deleted)" says: it may have one elsewhere."""
        self.tree()
        os.link(self.path("w/keepfile"), self.path("out/backup"))
        run = self.popen("python3", "-c", REMOVED, policy=CLOSED, stdin=subprocess.PIPE)
        self.assertEqual(b"open\n", run.stdout.readline())
        os.unlink(self.path("w/keepfile"))
        out, err = run.communicate(b"go\n", timeout=30)
        self.assertEqual(b"no\nlinked\n", out, err)
        self.assertEqual("kept", self.read("out/backup"))

    @as_everyone
    def test_new_where_reading_is_denied_beside(self):
        self.tree()
        got = self.run_sh("""ls; ls keep; echo a >n; cat n; mkdir d; echo b >d/n; cat d/n; ls d; cat <n 4>m >/dev/fd/4; cat m; ln -s n l; cat l
            head -c1 /proc/self/fd/3 3<n; cat secret/f; ls secret; ln -s secret/f l2; cat l2; ln secret/f l3; cat l3; :""", CLOSED)
        self.assertEqual("keep keepfile mine secret sub deep f a b n a a a".split(), got.out.split(), got)
        self.assertIn("can't be executed: " + self.w, got.err)

    def test_without_an_agent(self):
        """Where no filter can ask, nothing is made beside what is denied, and that is said."""
        self.sh("mkdir sub")
        env = {"SRT_LUA_FAKE_MISSING": "seccomp_notify"}
        policy = '{ backend = "landlock", filesystem = { allowWrite = { "." }, denyWrite = { "no" } }, network = { enabled = false } }'
        got = self.run_sh("echo a >n; echo b >sub/n; cat sub/n", policy.replace(", network = { enabled = false }", ""), env=env)
        self.assertEqual("b\n", got.out, got)
        self.assertIn("nothing can be made, renamed or removed directly in " + self.w, got.err)

    def test_told_before_a_run(self):
        self.tree()
        policy = self.policy(CLOSED)
        told = {line.split("warning: ", 1)[1].strip() for line in self.run_srt(["run", policy, "--", "true"]).err.splitlines()}
        got = self.run_srt(["check", policy, "--json"])
        notes = {note.strip() for note in json.loads(got.out)["policies"][0]["notes"]}
        self.assertGreater(len(told), 3)
        self.assertEqual(set(), told - notes, got)
        for more, says in (('backend = "landlock"', "decideOpen is not there"), ("enableWeakerNestedSandbox = true", "nothing is run")):
            got = self.run_srt(["check", self.policy('{ %s, filesystem = { decideOpen = function() end } }' % more)])
            self.assertEqual(("backend" in more, True), (got.code == 1, says in got.out + got.err), got)

    @as_everyone
    def test_supervisor(self):
        """Names and patterns that are made later."""
        policy = PLAIN.replace("denyWrite = {  }", 'denyWrite = { "**/.env" }, createGuard = "supervisor"')
        got = self.run_sh("""mkdir -p a/b; for n in a/.env a/b/.env a/b/.bashrc .vscode; do mkdir $n; echo >$n; ln -s f $n; done 2>/dev/null
            mkdir x; touch x/env; mv x/env x/.env; ls -A a/b x; touch a/ok; ls -A a""", policy)
        self.assertEqual("a/b:\n\nx:\nenv\nb\nok\n", got.out, got)


if __name__ == "__main__":
    main()
