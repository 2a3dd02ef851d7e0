# SPDX-License-Identifier: Apache-2.0
"""What `srt-lua explain` says is what the kernel answers: random trees, random policies.

A prober tries operations on many paths, first outside, as the same user, then in
the sandbox. Where the policy leads to an errno, that is the answer inside; where
it does not, inside and outside are told the same. The oracle is the program's
own decision module; nothing here has an opinion on what a policy means.

  property_files.py [--seed N] [--cases N] [--seconds N]     SRT_LONG=1: minutes
  property_files.py --replay FILE                            a case as printed
"""
import argparse
import collections
import ctypes
import json
import os
import pickle
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

import lib
from property_case import LISTS, Case, make

PROBER = os.path.join(lib.PUBLIC, "prober")
CLONE_NEWNS = 0x20000
OTHER = 65124


# The policy's own; explain has to tell what this one answers.
BACKEND = lib.BACKEND
# The capabilities that root keeps there: to be compared with, it has no others outside.
POWERS = {"bwrap": "-all", "landlock": "-all,+dac_override"}.get(BACKEND)
USERS = lib.USERS


class Failure(Exception):
    """An answer inside is not the one that was told, or a program failed; kind is the same for like failures."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def in_folder(act, path):
    """As a run does it: also in a folder of ours that is closed to writing."""
    try:
        act(path)
    except PermissionError:
        folder = os.path.dirname(path)
        mode = stat.S_IMODE(os.stat(folder).st_mode)
        os.chmod(folder, mode | stat.S_IWUSR | stat.S_IXUSR)
        try:
            act(path)
        finally:
            os.chmod(folder, mode)


class World:
    """A case's tree, built; everything is done in a process of its own, with mounts that end with it."""

    def __init__(self, case, top):
        self.case, self.top = case, os.path.join(top, b"top")
        # A run's own folder, where no policy reaches: below HOME the first run would make it, and explain could not know.
        self.state = os.path.join(top, b"state")
        self.owner = 0 if case.user == "root" and os.geteuid() == 0 else lib.ORDINARY if os.geteuid() == 0 else os.geteuid()

    def real(self, path):
        """A path of the case in this world."""
        return re.sub(rb"^(TOP|PUBLIC)(?=/|$)", lambda m: self.top if m[1] == b"TOP" else lib.PUBLIC.encode(), path)

    def own(self, path, whose="own"):
        if os.geteuid() == 0:
            owner = self.owner if whose == "own" else OTHER if self.owner == 0 else 0
            os.chown(path, owner, owner, follow_symlinks=False)

    def build(self):
        os.chmod(os.path.dirname(self.top), 0o755)
        for path in (self.state, self.top, *(os.path.join(self.top, name) for name in (b"w", b"out", b"home", b"tmp"))):
            os.mkdir(path)
            self.own(path)
        modes = []
        for step in self.case.steps:
            try:
                self.step(step[0], self.real(step[1]), step[2:], modes)
            except OSError:
                pass  # its folder fell away when the case shrank, or is a link that leads nowhere
        self.close(modes)

    @staticmethod
    def close(modes):
        """Modes come late, so that an ordinary user can build below a folder that they close."""
        while modes:
            os.chmod(*modes.pop())

    def step(self, kind, path, more, modes):
        if kind == "dir":
            os.mkdir(path, 0o755)
        elif kind == "file":
            with open(path, "xb") as file:
                file.write(b"prober")
        elif kind == "fifo":
            os.mkfifo(path)
        elif kind == "link":
            os.symlink(self.real(more[0]), path)
            self.own(path)
        elif kind == "hard":
            os.link(self.real(more[0]), path, follow_symlinks=False)
        else:
            self.close(modes)
            self.mount(kind, path, self.real(more[0]))
        if kind in ("dir", "file", "fifo"):
            self.own(path, more[1])
            modes.append((path, more[0]))

    def mount(self, kind, path, other):
        if kind == "overlay":
            store = os.path.join(self.top, b"store")
            if not os.path.exists(store):
                os.mkdir(store)
                self.command("mount", "-t", "tmpfs", "none", store)
            lower, upper, work = (tempfile.mkdtemp(dir=store) for _ in range(3))
            self.keep(lower)
            os.chmod(upper, 0o755)
            self.own(upper)
            self.command("mount", "-t", "overlay", "none", path, "-o",
                         b"lowerdir=%s,upperdir=%s,workdir=%s" % (lower, upper, work))
        elif kind == "bind":
            self.keep(other)
            self.command("mount", "--bind", other, path)
        elif kind == "tmpfs":
            self.command("mount", "-t", "tmpfs", "none", path, "-o", "mode=755,uid=%d,gid=%d" % (self.owner, self.owner))
        elif self.command("mount", "--bind", path, path):
            self.command("mount", "-o", "remount,bind,ro", path)

    def keep(self, folder):
        """Takes care that a folder is not removed and made again: a mount of it would be of the one that was."""
        path = os.path.join(folder, b"keep")
        with open(path, "xb") as file:
            file.write(b"prober")
        self.own(path)

    @staticmethod
    def command(*words):
        return subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 0

    def entry(self, entry):
        glob, path = entry.startswith(b"GLOB"), self.real(entry.removeprefix(b"GLOB"))
        text = '"%s"' % "".join(chr(c) if chr(c).isalnum() and c < 128 or chr(c) in "/._-~" else "\\%03d" % c for c in path)
        if glob:
            return text
        return "{ path = %s, literal = true }" % text if re.search(rb"[*?\[\]]", path) else text

    def policy(self):
        lists = ["%s = { %s }" % (name, ", ".join(map(self.entry, self.case.lists[name]))) for name in LISTS]
        path = os.path.join(self.top, b"policy.lua")
        with open(path, "w") as file:
            backend = 'backend = "%s", ' % BACKEND if BACKEND else ""
            guard = 'createGuard = "supervisor",' if self.case.guard else ""
            file.write("return { %sfilesystem = { %s\n  %s,\n} }\n" % (backend, guard, ",\n  ".join(lists)))
        self.own(path)
        return path

    def run(self, *words, data):
        env = {"PATH": "/usr/bin:/bin", "HOME": os.fsdecode(self.top + b"/home"), "TMPDIR": os.fsdecode(self.top + b"/tmp"),
               "XDG_STATE_HOME": os.fsdecode(self.state)}
        if BACKEND == "landlock":
            env["PROBER_KEEPS_LINKED"] = "1"
        if POWERS:
            env["PROBER_WITHOUT_POWERS"] = "1"
        for name in ("ASAN_OPTIONS", "SRT_LUA_PATH"):
            if name in os.environ:
                env[name] = os.environ[name]
        return subprocess.run(lib.as_user(words, self.case.user), cwd=self.top + b"/w", env=env, input=data, capture_output=True,
                              timeout=120)

    def hold(self, policy):
        """Makes the placeholders of the plan, so that outside shows them too; their paths."""
        done = self.run(lib.BINARY, "compile", policy, "--json", data=b"")
        made = []
        for path in json.loads(done.stdout)["placeholders"]:
            path = re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), path.encode())
            if not os.path.lexists(path):
                in_folder(os.mkdir, path)
                os.chmod(path, 0o1555)
                self.own(path)
                made.append(path)
        return made

    def questions(self):
        """The first asks for the working directory, which a run needs."""
        return [("stat", self.top + b"/w/."), *((q[0], *map(self.real, q[1:])) for q in self.case.questions)]

    def answers(self):
        """(question, explain's answer, outside, inside) of each; None where the run is refused as explain foretells."""
        policy, questions = self.policy(), self.questions()
        data = b"".join(b"\0".join((q[0].encode(), *q[1:])) + b"\0" for q in questions)
        told = self.run(lib.BINARY, "explain", policy, "--stdin", data=data)
        if told.returncode not in (0, 1):
            inside = self.run(lib.BINARY, "run", policy, "--", "true", data=b"")
            if inside.returncode != 125:
                raise Failure("explain", "explain fails and run does not: %s" % told.stderr.decode("utf-8", "replace"))
            return None
        told = [json.loads(line) for line in told.stdout.splitlines()]
        places = self.hold(policy)
        less = ("setpriv", "--bounding-set", POWERS, "--inh-caps", "-all") if POWERS and self.owner == 0 else ()
        outside = self.run(*less, PROBER, data=data)
        for place in reversed(places):
            in_folder(os.rmdir, place)
        inside = self.run(lib.BINARY, "run", policy, "--", PROBER, data=data)
        if inside.returncode == 125 and told[0]["decision"] == "deny":
            return None
        for name, done in (("outside", outside), ("inside", inside)):
            # No mount keeps an entry of allowWrite where it is: what can't be searched may go, and not come back. The rest is not asked.
            if name == "inside" and lib.BACKEND == "landlock" and b"can't put back" in done.stderr:
                continue
            if done.returncode or len(done.stdout.splitlines()) != len(questions):
                raise Failure("prober " + name, "the prober %s: exit %d, %d answers\n%s" % (
                    name, done.returncode, len(done.stdout.splitlines()), done.stderr.decode("utf-8", "replace")))
        return list(zip(questions, told, outside.stdout.decode().split(), inside.stdout.decode().split()))


def right(told, outside):
    """The answers that are right inside."""
    if "errno" in told:
        if (told["action"], told["errno"]) == ("truncate", "EACCES"):
            outside = outside if outside != "ok" else "EROFS"  # before Linux 6.13
        return {told["errno"]} | ({outside} - {"ok"})
    return {outside}


def agrees(told, outside, inside):
    if BACKEND == "landlock" and told["decision"] == "deny":
        # Of several reasons any may come first; and what is not held is said so.
        return inside != "ok" or told.get("unheld", False)
    if BACKEND == "landlock" and outside != "ok" and told.get("errno") == outside:
        return inside != "ok"  # of two reasons that are none of the policy's, the agent may meet the other one first
    if BACKEND == "bwrap" and (told["decision"], outside, inside) == ("allow", "EACCES", "ok"):
        return True  # a scaffold stands there for a folder that root without capabilities can't search
    return inside in right(told, outside)


def judge(world, seen):
    answers = world.answers()
    if answers is None:
        seen["refused", "run"] += 1
        return
    for question, told, outside, inside in answers:
        seen[told["decision"], question[0]] += 1
        if not agrees(told, outside, inside):
            kind = (question[0], told.get("errno", told["decision"]), outside, inside)
            raise Failure(kind, "%s: told %s, outside %s, inside %s\n  %s" % (
                " ".join(map(repr, question)), *kind[1:], json.dumps(told)))


def mounts(case):
    """Does it take root?"""
    return any(step[0] in ("bind", "tmpfs", "overlay", "readonly") for step in case.steps)


def in_child(case):
    """Runs a case in a process of its own; (message or None, its kind, what was seen)."""
    top = os.fsencode(tempfile.mkdtemp(prefix="srt-property-", dir="/tmp"))
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        seen, message, kind = collections.Counter(), None, None
        try:
            if mounts(case):
                if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
                    raise OSError(ctypes.get_errno(), "unshare")
                subprocess.run(["mount", "--make-rprivate", "/"], check=True)
            world = World(case, top)
            world.build()
            judge(world, seen)
        except Failure as failure:
            message, kind = str(failure), failure.kind
        except BaseException as error:  # pylint: disable=broad-except
            message = "the test itself: %r" % error
        with os.fdopen(theirs, "wb") as pipe:
            pickle.dump((message, kind, seen), pipe)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    subprocess.run([b"chmod", b"-R", b"u+rwX", top], stderr=subprocess.DEVNULL)
    shutil.rmtree(top, ignore_errors=True)
    return pickle.loads(data)


def shrink(case, kind, deadline):
    """A smaller case that fails in the same way, in the given time."""
    smaller = True
    while smaller and time.monotonic() < deadline:
        smaller = False
        for part, length in case.parts():
            size = max(1, length // 2)
            while size and time.monotonic() < deadline:
                index = 0
                while index < dict(case.parts())[part] and time.monotonic() < deadline:
                    less = case
                    for _ in range(min(size, dict(case.parts())[part] - index)):
                        less = less.without(part, index)
                    message, found, _ = in_child(less)
                    if message and found == kind:
                        case, smaller = less, True
                    else:
                        index += size
                size //= 2
    return case


def report(case, message, kind, seed):
    print("FAILED: seed %s, as %s\n%s\nshrinking ..." % (seed, case.user, message), flush=True)
    small = shrink(case, kind, time.monotonic() + (600 if lib.LONG else 60))
    print("%s\n%s\n\nreproduce: python3 spec/enforce/property_files.py --replay FILE, with the Case above in FILE"
          % (small, in_child(small)[0]), flush=True)


# What a run of the test has to have seen of each operation, so that agreeing is more than nothing to disagree on.
def enough(seen):
    from property_case import NEW, ONE, TWO
    missing = [(decision, name) for name in ONE + NEW + TWO for decision in ("allow", "deny")
               if name != "stat" and not seen[decision, name]]
    return missing


def fixed():
    """The message of a fixed case that fails."""
    from property_fixed import FIXED
    for case in FIXED:
        if case.user in USERS and (os.geteuid() == 0 or not mounts(case)):
            message = in_child(case)[0]
            if message:
                return "%s\n%s" % (case, message)
    return None


def main():
    parser = argparse.ArgumentParser()
    # The same cases each time, on a fast machine too, but for long runs.
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big") if lib.LONG else 20261129)
    parser.add_argument("--cases", type=int, default=10**9 if lib.LONG else 110)
    parser.add_argument("--seconds", type=float, default=300 if lib.LONG else 45)
    parser.add_argument("--replay")
    options = parser.parse_args()
    if options.replay:
        with open(options.replay) as file:
            message = in_child(eval(file.read(), {"Case": Case}))[0]  # pylint: disable=eval-used
        print(message or "as told")
        return 1 if message else 0
    print("seed %d, for %d s" % (options.seed, options.seconds), flush=True)
    message = fixed()
    if message:
        print("FAILED: a fixed case\n%s" % message)
        return 1
    seen, number = collections.Counter(), 0
    deadline = time.monotonic() + options.seconds
    while number < options.cases and time.monotonic() < deadline:
        seed = options.seed + number
        case = make(seed, USERS[seed % len(USERS)], os.geteuid() == 0)
        message, kind, found = in_child(case)
        if message:
            report(case, message, kind, seed)
            return 1
        seen += found
        number += 1
    print("%d cases, %d answers; %d runs refused as told" % (number, sum(seen.values()), seen["refused", "run"]))
    missing = enough(seen)
    if missing and number >= 200:
        print("FAILED: never seen: %s" % missing)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
