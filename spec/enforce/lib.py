# SPDX-License-Identifier: Apache-2.0
"""Runs the real binary against the real kernel: what the enforcement tests share.

In Python because it drives processes, terminals and sockets with nothing but
its standard library; the programs under test are run by it, not written in it.
"""
import atexit
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def public_copy():
    """Binary and probe where an ordinary user can run them: a checkout may be private."""
    folder = tempfile.mkdtemp(prefix="srt-enforce-bin-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, True)
    os.chmod(folder, 0o755)
    for variable, default in (("SRT_LUA", "srt-lua"), ("SRT_PROBE", "spec/probe"), ("SRT_PROBER", "spec/prober"),
                              ("SRT_CONTAINER", "spec/container"), ("SRT_BECOME", "spec/become"),
                              ("SRT_RESTLESS", "spec/restless")):
        source = os.environ.get(variable, str(ROOT / "build/release" / default))
        if os.path.exists(source):
            shutil.copy(source, os.path.join(folder, os.path.basename(default)))
    return folder


PUBLIC = public_copy()
BINARY = os.path.join(PUBLIC, "srt-lua")
PROBE = os.path.join(PUBLIC, "probe")
CONTAINER = os.path.join(PUBLIC, "container")
BECOME = os.path.join(PUBLIC, "become")
RESTLESS = os.path.join(PUBLIC, "restless")
MUST_WORK = os.environ.get("SRT_MUST_WORK") == "1"
# All runs by another backend than the policy's.
BACKEND = os.environ.get("SRT_TEST_BACKEND")
LONG = os.environ.get("SRT_LONG") == "1"
# Folders of programs to be tried that no package brought, before all others.
PATH = os.environ.get("SRT_CLIENTS", "") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PATH = PATH.lstrip(":")
# An ordinary user for a root caller; it needs no entry in any file.
ORDINARY = 65123
USERS = ALL_USERS = ("root", "user") if os.geteuid() == 0 else ("user",)
# A build with sanitizers is slow: once is enough there.
if os.environ.get("SRT_ONE_USER") == "1":
    USERS = USERS[:1]
# What is on the wire hardly depends on who asks: each such test has one of the users, unless there is time.
ONE_EACH = os.environ.get("SRT_ONE_USER") == "each" and not LONG


def skip(reason, allowed=False):
    """Skips a test; where everything must work, only what is allowed may be, and tools/test tells it."""
    if MUST_WORK and not allowed:
        raise AssertionError("must work, but would be skipped: " + reason)
    if os.environ.get("SRT_SKIPPED"):
        with open(os.environ["SRT_SKIPPED"], "a", encoding="utf-8") as told:
            told.write(reason + "\n")
    raise unittest.SkipTest(reason)


def need_root(why):
    """Skips where the test runner is not root, whoever the test is for."""
    if os.geteuid() != 0:
        skip("needs root: " + why, allowed=True)


def need(program):
    """The path of a program, or the test is skipped."""
    path = shutil.which(program)
    if not path:
        skip(program + " is not installed")
    return path


def has(program):
    """Is a program there that part of a test wants? Where everything must work it has to be."""
    path = shutil.which(program)
    if MUST_WORK and not path:
        raise AssertionError("must work, but %s is not installed" % program)
    return path


class Result:
    def __init__(self, code, out, err):
        self.code, self.out_bytes, self.err_bytes = code, out, err
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")

    def __repr__(self):
        return "exit %s\n--- out\n%s\n--- err\n%s" % (self.code, self.out, self.err)


def become_ordinary():
    os.setgroups([])
    os.setresgid(ORDINARY, ORDINARY, ORDINARY)
    os.setresuid(ORDINARY, ORDINARY, ORDINARY)


def heed_signals():
    """The test runner may have been started with signals ignored, which a handler of ours keeps from what it starts."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


heed_signals()


def drops(user):
    """Is a test as this user to give up what it has of root?"""
    return os.geteuid() == 0 and user == "user"


def as_user(command, user):
    """A command as subprocess is to run it for a user, "root" or "user"."""
    return [BECOME, str(ORDINARY), *command] if drops(user) else list(command)


def users_of(test):
    return USERS[zlib.crc32(test.__qualname__.encode()) % len(USERS):][:1] if ONE_EACH else USERS


def _as(test, users):
    @functools.wraps(test)
    def wrapper(self):
        for user in users:
            with self.subTest(user=user):
                self.user = user
                self.fresh()
                try:
                    test(self)
                finally:
                    self.clean()
    return wrapper


def as_everyone(test):
    """Runs a test method for each user there is; self.user says which."""
    return _as(test, users_of(test))


def as_only(user):
    """Runs a test method that means something for "root" or "user" alone, whatever by_turns would choose."""
    def wrap(test):
        if user in ALL_USERS:
            return _as(test, (user,))
        return functools.wraps(test)(lambda self: skip("only for " + user, allowed=True))
    return wrap


class Case(unittest.TestCase):
    """A fresh folder per test: self.dir, with self.w (work) and self.home in it."""

    user = USERS[0]
    maxDiff = None

    def setUp(self):
        self.user = USERS[0]
        self.dir = None
        self.fresh()

    def tearDown(self):
        self.clean()

    def fresh(self):
        self.clean()
        self.dir = tempfile.mkdtemp(prefix="srt-enforce-", dir="/tmp")
        self.w = os.path.join(self.dir, "w")
        self.home = os.path.join(self.dir, "home")
        self.tmp = os.path.join(self.dir, "tmp")
        for path in (self.w, self.home, self.tmp):
            os.mkdir(path)
        self.own(self.dir)

    def clean(self):
        if self.dir:
            if os.geteuid() != 0:
                subprocess.run(["chmod", "-R", "u+rwX", self.dir], stderr=subprocess.DEVNULL)
            shutil.rmtree(self.dir, ignore_errors=True)
        self.dir = None

    def own(self, *paths):
        """Gives paths, with all below them, to the user that the test runs as."""
        if os.geteuid() == 0:
            owner = 0 if self.user == "root" else ORDINARY
            for path in paths:
                os.lchown(path, owner, owner)
                if os.path.isdir(path) and not os.path.islink(path):
                    # By descriptors: a path may be too long for one call.
                    for _, folders, files, fd in os.fwalk(path):
                        for name in folders + files:
                            os.chown(name, owner, owner, dir_fd=fd, follow_symlinks=False)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, text="", mode=None):
        """Makes a file below self.dir (parents too), owned by the user; its path."""
        path = self.path(name)
        made = path
        while not os.path.exists(os.path.dirname(made)):
            made = os.path.dirname(made)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        if mode is not None:
            os.chmod(path, mode)
        self.own(made)
        return path

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read().decode("utf-8", "replace")

    def on_host(self, command, env=None, preexec=None, cwd=None, **more):
        """Runs a command outside, as the user of the test; subprocess's answer."""
        return subprocess.run(**self.launch(command, preexec), cwd=cwd or self.w, env=self.environment(env),
                              capture_output=True, **more)

    def sh(self, script, cwd=None):
        """Runs a script outside, which must not fail; what it wrote."""
        done = self.on_host(["sh", "-ec", script], cwd=cwd)
        if done.returncode:
            raise AssertionError("host script failed: %s\n%s" % (script, done.stderr.decode()))
        return done.stdout.decode()

    def java(self, name, source):
        """Compiles a class in self.w, once for all its runs; the command that runs it, without the work of a long life."""
        need("java")
        self.write("w/%s.java" % name, source)
        self.sh("javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC %s.java" % name)
        return "java -Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp . %s" % name

    def policy(self, text, name="policy.lua"):
        """Writes a policy outside the work folder; "return" may be left out."""
        text = text.strip()
        if text.startswith("{"):
            text = "return " + text
        return self.write(name, text + "\n")

    def environment(self, extra=None):
        env = {"PATH": PATH, "HOME": self.home,
               "TMPDIR": self.tmp, "LANG": "C.UTF-8", "TERM": "dumb"}
        for name in ("ASAN_OPTIONS", "SRT_LUA_PATH"):
            if name in os.environ:
                env[name] = os.environ[name]
        env.update(extra or {})
        return {name: value for name, value in env.items() if value is not None}

    def as_user(self, command):
        """A command for subprocess as the user of the test runs it."""
        return as_user(command, self.user)

    def launch(self, command, preexec=None):
        """What subprocess needs for that; preexec, called in the child, is dear, for all of Python is copied."""
        if not preexec:
            return {"args": self.as_user(command)}
        drop = drops(self.user)

        def run():
            if drop:
                become_ordinary()
            preexec()
        return {"args": command, "preexec_fn": run}

    def start(self, args, policy=None, env=None, cwd=None, preexec=None, options=(), **more):
        """A running srt-lua as Popen; policy is a path or a policy's text."""
        if policy is not None:
            path = policy if os.path.exists(policy) else self.policy(policy)
            args = ["run", *options, path, "--", *args]
        if BACKEND and args[0] == "run":
            args = ["run", "--backend", BACKEND, *args[1:]]
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(**self.launch([BINARY, *args], preexec), cwd=cwd or self.w, env=self.environment(env), **more)

    def run_srt(self, args, policy=None, stdin=None, env=None, cwd=None, timeout=60, **more):
        """Runs srt-lua to its end. stdin: bytes, a file, or None for /dev/null."""
        data = stdin if isinstance(stdin, bytes) else None
        if data is not None:
            more["stdin"] = subprocess.PIPE
        elif stdin is not None:
            more["stdin"] = stdin
        process = self.start(args, policy, env, cwd, **more)
        try:
            out, err = process.communicate(data, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError("hangs: %s\n%r" % (args, Result("timeout", out, err)))
        return Result(process.returncode, out or b"", err or b"")

    def run_sh(self, script, policy, **more):
        """Runs a shell script inside."""
        return self.run_srt(["sh", "-c", script], policy, **more)

    def probe(self, operations, policy, **more):
        """Runs probe operations inside; {"op path": "ok" or errno name}."""
        result = self.run_srt([PROBE, *operations.split()], policy, **more)
        answers = {}
        for line in result.out.splitlines():
            what, _, answer = line.partition(": ")
            answers[what] = answer.split(" ")[0]
        self.assertTrue(answers, repr(result))
        return answers

    def leftovers(self):
        """What is in the folder for temporary files."""
        return sorted(os.listdir(self.tmp))


def main():
    unittest.main(module="__main__", verbosity=2 if "-v" in sys.argv else 1)
