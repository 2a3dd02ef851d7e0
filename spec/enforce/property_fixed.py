# SPDX-License-Identifier: Apache-2.0
"""Cases that once disagreed, each for its whole kind: property_files.py begins with them."""
from property_case import LISTS, Case


def _case(user, steps, lists, questions, guard=False):
    return Case(user, steps, {name: lists.get(name, []) for name in LISTS}, questions, guard)


# What may not stand at a name is refused however it comes there: as a link on the way to what is protected, or within a folder.
BROUGHT = dict(
    steps=[("link", b"TOP/out/c", b"TOP/out"), ("dir", b"TOP/out/d", 0o755, "own"), ("dir", b"TOP/out/d/sub", 0o755, "own"),
           ("file", b"TOP/out/d/sub/no", 0o644, "own"), ("dir", b"TOP/out/g", 0o755, "own"),
           ("file", b"TOP/out/g/k.pem", 0o644, "own"), ("dir", b"TOP/out/e", 0o755, "own")],
    lists={"allowWrite": [b"TOP"], "denyWrite": [b"TOP/new/no", b"TOP/new/sub/no", b"GLOBTOP/out/e/*.pem"]},
    questions=[("exchange", b"TOP/w", b"TOP/out/c"), ("exchange", b"TOP/out/c", b"TOP/w"), ("rename", b"TOP/out/c", b"TOP/new"),
               ("link", b"TOP/out/c", b"TOP/new"), ("symlink", b"TOP/new"), ("mkdir", b"TOP/new"), ("create", b"TOP/new/no"),
               ("rename", b"TOP/out/d", b"TOP/new"), ("rename", b"TOP/out/d/sub", b"TOP/new"), ("rename", b"TOP/out/d", b"TOP/w/d"),
               ("rename", b"TOP/out/g", b"TOP/out/e/g"), ("rename", b"TOP/out/g/k.pem", b"TOP/out/e/l.pem"),
               ("exchange", b"TOP/out/e", b"TOP/out/g"), ("exchange", b"TOP/out/g", b"TOP/out/e"),
               ("rename", b"TOP/out/g/k.pem", b"TOP/out/k.pem"), ("exchange", b"TOP/out/d", b"TOP/out/c")])
LINKED = dict(steps=BROUGHT["steps"][:1], lists={"allowWrite": [b"TOP"]}, questions=BROUGHT["questions"][:2])
# A folder that can't be searched is said before what the supervisor refuses.
CLOSED = dict(
    steps=[("dir", b"TOP/w/a", 0o755, "own"), ("dir", b"TOP/w/a/hooks", 0o500, "other"), ("dir", b"TOP/out/a", 0, "own"),
           ("dir", b"TOP/w/shut", 0o644, "own"), ("file", b"TOP/w/f", 0o644, "own")],
    lists={"allowWrite": [b"TOP/w"], "denyWrite": [b"GLOBTOP/out/*/deep", b"TOP/w/shut/no"]},
    questions=[("exchange", b"TOP/out/a/b", b"TOP/w/a/hooks"), ("exchange", b"TOP/w/a/hooks", b"TOP/out/a/b"),
               ("mkdir", b"TOP/w/shut/no"), ("symlink", b"TOP/w/shut/no"), ("rename", b"TOP/w/f", b"TOP/w/shut/no"),
               ("link", b"TOP/w/f", b"TOP/w/shut/no"), ("create", b"TOP/w/shut/no")])
# Allowed again within what is denied: under Landlock the agent makes the names outside, and the kernel those in it.
APART = dict(
    steps=[("file", b"TOP/w/f", 0o644, "own"), ("dir", b"TOP/out/again", 0o755, "own"), ("file", b"TOP/out/again/g", 0o644, "own"),
           ("dir", b"TOP/out/more", 0o755, "own"), ("dir", b"TOP/out/more/d", 0o755, "own"), ("dir", b"TOP/out/blind", 0o755, "own"),
           ("file", b"TOP/out/blind/h", 0o644, "own")],
    lists={"allowWrite": [b"TOP"], "denyRead": [b"TOP/out"], "allowRead": [b"TOP/out/again", b"TOP/out/more"]},
    questions=[(action, a, b + b"/new") for action in ("rename", "link", "exchange")
               for a in (b"TOP/w/f", b"TOP/out/again/g", b"TOP/out/more/d", b"TOP/out/blind/h")
               for b in (b"TOP/w", b"TOP/out/again", b"TOP/out/more", b"TOP/out/blind", b"TOP/out")]
    + [("exchange", b"TOP/w/f", b"TOP/out/again/g"), ("exchange", b"TOP/out/more/d", b"TOP/out/again/g")])
# No folder, with a slash: the kernel refuses to move it, so nothing is judged.
SLASHED = dict(
    steps=[("link", b"TOP/w/b", b"TOP/home/deep/a-b"), ("file", b"TOP/w/f", 0o644, "own")],
    lists={"allowWrite": [b"TOP"], "denyWrite": [b"../w/b/c"]},
    questions=[(action, a, b) for action in ("rename", "exchange") for a in (b"TOP/w/b/", b"TOP/w/f/") for b in (b"TOP/home", b"TOP/w/.git")])
# What can't be looked into, by modes that root without capabilities heeds as well, or by a cover: in any order of the entries.
SHUT = dict(
    steps=[("dir", b"TOP/out/b", 0o755, "own"), ("dir", b"TOP/home/deep", 0o755, "own"), ("dir", b"TOP/home/q", 0o755, "own"),
           ("dir", b"TOP/w/v", 0o755, "own"), ("dir", b"TOP/w/v/m", 0o755, "own"), ("dir", b"TOP/w/v/m/no", 0o755, "own"),
           ("dir", b"TOP/w/u", 0o755, "own"), ("dir", b"TOP/w/u/m", 0o755, "own"), ("dir", b"TOP/w/u/m/deep", 0o755, "own")]
    + [("dir", b"TOP/home/%s/%s" % (where, name), 0, "own") for where in (b".", b"q") for name in (b"a", b"b", b"y", b"z")],
    lists={"allowWrite": [b"TOP"], "denyRead": [b"GLOBTOP/out/**/deep", b"TOP/w/v/m", b"TOP/w/u/m"], "denyWrite": [b"TOP/new/m/no"]},
    questions=[("exchange", b"TOP/home", b"TOP/out/b"), ("rename", b"TOP/home", b"TOP/out/c"), ("rename", b"TOP/home/q", b"TOP/out/c"),
               ("exchange", b"TOP/home/q", b"TOP/out/b"), ("rename", b"TOP/w/v", b"TOP/new"), ("rename", b"TOP/w/u", b"TOP/new"),
               ("rename", b"TOP/w/u", b"TOP/out/c"), ("exchange", b"TOP/w/u", b"TOP/out/b")])
# What is denied beneath a folder that root without capabilities can't search: it is refused as told, or held.
BEYOND = dict(
    steps=[("dir", b"TOP/w/b", 0, "own"), ("file", b"TOP/w/b/.envrc", 0o644, "own"), ("dir", b"TOP/out/b", 0o700, "other"),
           ("file", b"TOP/out/b/c", 0o644, "own")],
    lists={"allowWrite": [b"TOP/w"], "denyRead": [b"TOP/out/b/c"]}, questions=[("write", b"TOP/w/b/.envrc"), ("read", b"TOP/out/b/c")])
# A slash behind what may not be made: there, or to be a folder by it alone, before it is denied.
ENDED = dict(
    steps=[("dir", b"TOP/out/b", 0o755, "own"), ("file", b"TOP/out/b/a", 0o644, "own"), ("dir", b"TOP/out/b/d", 0o755, "own"),
           ("file", b"TOP/w/f", 0o644, "own")],
    lists={"allowWrite": [b"TOP/w"], "denyWrite": [b"GLOBTOP/out/*/*", b"TOP/w/no"]},
    questions=[(action, path) for action in ("mknod", "mkdir", "symlink", "create")
               for path in (b"TOP/out/b/a/", b"TOP/out/b/d", b"TOP/out/b/d/", b"TOP/out/b/n/", b"TOP/w/no/", b"TOP/w/f/", b"TOP/out/b/./")]
    + [("link", b"TOP/w/f", path) for path in (b"TOP/out/b/a/", b"TOP/out/b/n/", b"TOP/w/no/", b"TOP/w/f/")])
# A hidden name of one letter hides nothing but itself.
LETTER = dict(
    steps=[("dir", b"TOP/out/b", 0o500, "own")], lists={"allowWrite": [b"TOP"], "denyRead": [b"TOP/out/b"]},
    questions=[("exchange", b"TOP/w", b"TOP/out"), ("rename", b"TOP/out", b"TOP/w/x")])
# What has to be covered, in a folder that its own user can't search.
UNREACHED = dict(
    steps=[("dir", b"TOP/out/b", 0o644, "own"), ("fifo", b"TOP/out/b/b", 0o600, "own")],
    lists={"allowWrite": [b"TOP"], "denyWrite": [b"TOP/out"]}, questions=[("write", b"TOP/out/b/b"), ("read", b"TOP/w")])
# The folder above, by the name that each folder has for it.
UPWARD = dict(
    steps=[("dir", b"TOP/out/s", 0o755, "own"), ("dir", b"TOP/w/d", 0o755, "own")],
    lists={"allowWrite": [b"TOP"], "denyRead": [b"TOP/out/s"]},
    questions=[(action, path) for action in ("list", "read") for path in (b"..", b"../", b".", b"TOP/w/d/..", b"TOP/out/s/..", b"TOP/out/..", b"../..")])
# A link to itself, with a slash: no folder either.
LOOPED = dict(
    steps=[("dir", b"TOP/w/b", 0o700, "own"), ("link", b"TOP/w/l", b"TOP/w/l"), ("fifo", b"TOP/w/b/p", 0o644, "own")],
    lists={"denyWrite": [b"GLOB**/[bc]"]},
    questions=[(action, b"TOP/w/l/", b"TOP/w/b/new") for action in ("rename", "exchange")] + [("rename", b"TOP/w/l/", b"TOP/out/b")])
# What opens a FIFO changes nothing of the file system, be that read-only on the host.
PIPED = dict(
    steps=[("dir", b"TOP/w/a", 0o755, "own"), ("fifo", b"TOP/w/a/p", 0o644, "own"), ("readonly", b"TOP/w/a", b"TOP/home")],
    lists={"allowWrite": [b"TOP/w"]}, questions=[(action, b"TOP/w/a/p") for action in ("mmap", "write", "append", "chmod")])
FIXED = [case for user in ("user", "root") for case in (
    _case(user, **BROUGHT, guard=True), _case(user, **LINKED), _case(user, **CLOSED, guard=True), _case(user, **SLASHED, guard=True), _case(user, **APART),
    _case(user, **SHUT, guard=True), _case(user, **BEYOND), _case(user, **ENDED, guard=True), _case(user, **LETTER, guard=True), _case(user, **UNREACHED), _case(user, **UPWARD), _case(user, **LOOPED, guard=True),
    _case(user, **PIPED))]
