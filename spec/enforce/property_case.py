# SPDX-License-Identifier: Apache-2.0
"""Random trees, policies and questions for property_files.py: plain data, by a seed."""
import random

LISTS = ("denyRead", "allowRead", "allowWrite", "denyWrite", "denyDelete")
NAMES = [b"a", b"b", b"c", b"a-b", b"deep", b".git", b".envrc", b".vscode", b"config", b"hooks", b"n\nl", b"\xff\xfe", b"*", b"[x]y", b"q'\"\\", b"\xc3\xa9 z", b"x" * 200]
ONE = ("read", "list", "stat", "write", "append", "mmap", "truncate", "chmod", "chown", "utime", "setxattr", "tmpfile",
       "unlink", "rmdir")
NEW = ("create", "mkdir", "mknod", "symlink")
TWO = ("rename", "link")
DIR_MODES = [0o755] * 8 + [0o700, 0o555, 0o500, 0o311, 0o644, 0o000]
FILE_MODES = [0o644] * 6 + [0o600, 0o444, 0o400, 0o000]
# Enough of the system for the prober to start where all of "/" is denied.
SYSTEM = [b"/usr", b"/bin", b"/lib", b"/lib64", b"/etc", b"/sbin"]


class Case:
    """steps build the tree; lists are the policy, guard its createGuard; questions are asked of it.

    Paths below the case's folder begin with "TOP/"; others are meant as they are.
    """

    def __init__(self, user, steps, lists, questions, guard=False):
        self.user, self.steps, self.lists, self.questions, self.guard = user, steps, lists, questions, guard

    def without(self, part, index):
        """The same case without one step, entry or question; part is "steps", a list's name or "questions"."""
        lists = {name: list(entries) for name, entries in self.lists.items()}
        steps, questions = list(self.steps), list(self.questions)
        {"steps": steps, "questions": questions, **lists}[part].pop(index)
        return Case(self.user, steps, lists, questions, self.guard)

    def parts(self):
        """(part, length) of all that can be taken away."""
        return [("questions", len(self.questions)), *((name, len(self.lists[name])) for name in LISTS),
                ("steps", len(self.steps))]

    def __repr__(self):
        return "Case(%r,\n  steps=%r,\n  lists=%r,\n  questions=%r,\n  guard=%r)" % (
            self.user, self.steps, self.lists, self.questions, self.guard)


class Maker:
    def __init__(self, seed, user, mounts):
        self.random = random.Random(seed)
        self.user, self.mounts = user, mounts
        self.dirs = [b"TOP/w", b"TOP/out", b"TOP/home", b"TOP"]
        self.files, self.links, self.steps = [], [], []

    def pick(self, items):
        return self.random.choice(items)

    def name(self):
        return self.pick(NAMES if self.random.random() < 0.3 else NAMES[:5])

    def fresh(self):
        """A path in a folder that nothing has yet."""
        for _ in range(20):
            path = self.pick(self.dirs[:-1] if self.random.random() < 0.95 else self.dirs) + b"/" + self.name()
            if path.count(b"/") < 6 and path not in self.dirs + self.files + self.links:
                return path
        return self.pick(self.dirs[:3]) + b"/" + b"f%d" % len(self.steps)

    def any(self):
        """A path that is there."""
        pool = self.pick([self.dirs, self.files or self.dirs, self.links or self.dirs])
        return self.pick(pool)

    def owner(self):
        """Mostly the user's own."""
        return "other" if self.random.random() < 0.08 else "own"

    def target(self):
        """Where a link leads: absolute, relative, dangling, to itself."""
        roll = self.random.random()
        if roll < 0.15:
            return self.fresh()
        if roll < 0.2:
            return b"../" + self.name()
        if roll < 0.25:
            return self.name()
        return self.any()

    def add_step(self):
        path = self.fresh()
        kind = self.pick(["dir"] * 4 + ["file"] * 4 + ["link"] * 3 + ["hard", "fifo"])
        if kind == "dir":
            self.dirs.append(path)
            self.steps.append((kind, path, self.pick(DIR_MODES), self.owner()))
        elif kind in ("file", "fifo"):
            self.files.append(path)
            self.steps.append((kind, path, self.pick(FILE_MODES), self.owner()))
        elif kind == "link":
            self.links.append(path)
            self.steps.append((kind, path, self.target()))
        elif self.files:
            source = self.pick(self.files)
            self.files.append(path)
            self.steps.append((kind, path, source))

    def add_mount(self):
        if len(self.dirs) < 6:
            return
        target = self.pick(self.dirs[4:])
        kind = self.pick(["bind", "tmpfs", "overlay", "readonly"])
        self.steps.append((kind, target, self.pick(self.dirs[1:])))
        for _ in range(self.random.randrange(3)):
            self.add_step()

    def spelled(self, path):
        """A path as somebody may write it: by a link, relative, with dots."""
        roll = self.random.random()
        if roll < 0.15 and self.links:
            path = self.pick(self.links) + b"/" + self.name()
        elif roll < 0.25:
            head, _, tail = path.rpartition(b"/")
            path = b"%s/%s/../%s" % (head, tail if self.random.random() < 0.5 else self.name(), tail)
        elif roll < 0.3:
            path += b"/"
        elif roll < 0.33:
            path = path.replace(b"/", b"//")
        if self.random.random() < 0.3 and path.startswith(b"TOP/"):
            return b"../" + path[4:]
        return path

    def entry(self):
        roll = self.random.random()
        path = self.any() if roll < 0.75 else self.fresh() if roll < 0.9 else self.fresh() + b"/" + self.name()
        if path.startswith(b"TOP/home/") and self.random.random() < 0.5:
            return b"~" + path[8:]
        return self.spelled(path)

    def lists(self):
        lists = {name: [self.entry() for _ in range(self.pick([0, 0, 1, 1, 2, 3]))] for name in LISTS[:4]}
        lists["denyDelete"] = [self.entry() for _ in range(self.pick([0, 0, 0, 1]))]
        if self.random.random() < 0.7:
            lists["allowWrite"].append(self.pick([b".", b"TOP/w", b"TOP/w", b"TOP/out", b"TOP"]))
        if self.random.random() < 0.1:
            self.alternate(lists)
        if self.random.random() < 0.15:
            lists[self.pick(["denyRead", "denyWrite"])].append(self.pattern())
        if self.random.random() < 0.04:
            lists["allowWrite"].append(b"/")
        elif self.random.random() < 0.04:
            lists["denyRead"].append(b"/")
            lists["allowRead"] += [b"PUBLIC", b"TOP/w", *SYSTEM]
        return lists

    def pattern(self):
        """Not the name of anything: what "*" stands for in it is found in the tree."""
        return b"GLOB" + self.pick([b"**/", b"TOP/out/*/", b"TOP/**/", b"*/", b"TOP/w/?/"]) + self.pick([b"a*", b"[bc]", b"deep", b"?", b"*"])

    def alternate(self, lists):
        """Deny in allow in deny, down a row of folders."""
        deepest = max(self.dirs, key=lambda path: path.count(b"/"))
        parts = deepest.split(b"/")
        for depth in range(2, len(parts) + 1):
            lists[self.pick(["denyRead", "allowRead", "denyWrite", "allowWrite"])].append(b"/".join(parts[:depth]))

    def question(self, lists):
        entries = [entry for name in LISTS for entry in lists[name] if entry.startswith((b"TOP", b".."))]
        pool = self.random.random()
        path = self.pick(entries) if entries and pool < 0.35 else self.any()
        if self.random.random() < 0.15:
            path += b"/" + self.name()
        path = self.spelled(path)
        roll = self.random.random()
        if roll < 0.65:
            return (self.pick(ONE), path)
        new = self.pick(self.dirs) + b"/new"
        if roll < 0.8:
            return (self.pick(NEW), new if self.random.random() < 0.7 else path)
        if roll < 0.95:
            return (self.pick(TWO), path, new)
        return ("exchange", path, self.any())

    def make(self, count):
        for _ in range(self.random.randrange(6, 22)):
            self.add_step()
        if self.mounts and self.random.random() < 0.35:
            for _ in range(self.random.randrange(1, 3)):
                self.add_mount()
        lists = self.lists()
        questions = [self.question(lists) for _ in range(count)]
        return Case(self.user, self.steps, lists, questions, self.random.random() < 0.2)


def make(seed, user, mounts, count=150):
    """The case of a seed.

    user: "root" or "user"; mounts: may the tree hold mounts of its own?
    """
    return Maker(seed, user, mounts).make(count)
