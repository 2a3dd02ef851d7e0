# SPDX-License-Identifier: Apache-2.0
"""Glob patterns in the path lists, through the real binary and kernel."""
import json
import os

from lib import Case, USERS, as_everyone, main, skip


class Globs(Case):
    def check(self, policy, want, **more):
        """want: {"op path": answer}; a tuple where several answers are right."""
        got = self.probe(" ".join(want), policy, **more)
        for what, answer in want.items():
            answers = answer if isinstance(answer, tuple) else (answer,)
            self.assertIn(got.get(what), answers, "%s as %s: %s" % (what, self.user, got))

    def refused(self, policy, *words):
        got = self.run_srt(["echo", "ran"], policy)
        self.assertEqual((125, ""), (got.code, got.out), got)
        for word in words:
            self.assertIn(word, got.err)

    def checked(self, policy):
        """What check --json says of a policy."""
        got = self.run_srt(["check", "--json", self.policy(policy)])
        return json.loads(got.out)["policies"][0]


class Reading(Globs):
    @as_everyone
    def test_denied_at_any_depth(self):
        for name in (".env", "a/.env", "a/b/.env", "a/x.env", "a/b/.env.d"):
            self.write("w/" + name, "x")
        self.check('{ filesystem = { denyRead = { "**/.env" }, allowWrite = { "." } } }', {
            "read .env": "EACCES", "read a/.env": "EACCES", "read a/b/.env": "EACCES", "read a/x.env": "ok",
            "read a/b/.env.d": "ok", "write .env": ("EACCES", "EROFS"), "unlink a/.env": "EBUSY",
            "rename a/b a/c": "EBUSY", "creat a/b/new": "ok"})

    @as_everyone
    def test_named_later(self):
        """A denial by a pattern holds for what is there at start, and in folders that matched; the documents say so."""
        self.write("w/a/.env", "secret")
        self.write("w/keys.d/k", "secret")
        policy = '{ filesystem = { denyRead = { "**/.env", "*.d" }, allowWrite = { "." } } }'
        got = self.run_sh("mkdir c; echo mine >c/.env; cat c/.env; cat a/.env 2>&1; echo x >keys.d/new; ls keys.d", policy)
        self.assertIn("mine\n", got.out)
        self.assertIn("a/.env: Permission denied", got.out)
        self.assertIn("keys.d/new", got.err)
        self.assertEqual(["k"], os.listdir(self.path("w/keys.d")))
        self.assertTrue(any("a new file elsewhere is not held" in note for note in self.checked(policy)["notes"]))
        # At the next start it is there, and held.
        self.check(policy, {"read c/.env": "EACCES"})

    @as_everyone
    def test_folders_at_the_end(self):
        self.write("w/a/build/o", "x")
        self.write("w/b/c/build/o", "x")
        self.write("w/build", "a file")
        for pattern in ("**/build/**", "**/build/", "**/build/**/"):
            self.check('{ filesystem = { denyRead = { "%s" }, allowWrite = { "." } } }' % pattern, {
                "list a/build": "EACCES", "read a/build/o": ("EACCES", "ENOENT"), "creat a/build/n": ("EACCES", "EROFS"),
                "list b/c/build": "EACCES", "read build": "ok"})

    @as_everyone
    def test_empty_folder_is_held(self):
        """The peer gave an empty folder no mount, and writes reached the host."""
        os.makedirs(self.path("w/b/build"))
        self.own(self.path("w"))
        self.check('{ filesystem = { denyRead = { "**/build/**" }, allowWrite = { "." } } }',
                   {"list b/build": "EACCES", "creat b/build/new": ("EACCES", "EROFS")})
        self.assertEqual([], os.listdir(self.path("w/b/build")))

    @as_everyone
    def test_allowed_again(self):
        for name in ("a/pub/x", "a/priv/x", "b/pub/x", "c.txt"):
            self.write("out/" + name, "x")
        self.check('{ filesystem = { denyRead = { "../out" }, allowRead = { "../out/*/pub", "../out/*.txt" } } }', {
            "read ../out/a/pub/x": "ok", "read ../out/b/pub/x": "ok", "read ../out/c.txt": "ok",
            "read ../out/a/priv/x": ("EACCES", "ENOENT"), "list ../out": "EACCES", "write ../out/a/pub/x": "EROFS"})

    @as_everyone
    def test_pattern_and_name(self):
        for name in ("[x]*", "xa", "y", "a*b", "acb"):
            self.write("w/" + name, "x")
        self.check('{ filesystem = { denyRead = { "[x]*", { path = "a*b", literal = true } } } }', {
            "read [x]*": "EACCES", "read xa": "EACCES", "read y": "ok", "read a*b": "EACCES", "read acb": "ok"})

    @as_everyone
    def test_characters(self):
        for name in ("file.txt", "file1.txt", "file12.txt", "b", "!", "a", "^"):
            self.write("w/" + name, "x")
        self.check('{ filesystem = { denyRead = { "file[0-9].txt", "[!a]", "?" , "fil?.txt"} } }', {
            "read file.txt": "EACCES", "read file1.txt": "EACCES", "read file12.txt": "ok", "read !": "EACCES",
            "read b": "EACCES", "read ^": "EACCES"})
        self.check('{ filesystem = { denyRead = { "[!a]" } } }', {"read !": "EACCES", "read a": "EACCES", "read b": "ok"})

    @as_everyone
    def test_odd_names(self):
        names = ["new\nline", "\udcff\udcfe", "😀", " ", "*"]
        for name in names:
            self.write("w/" + name + "/k.pem", "x")
        got = self.run_sh("for d in *; do cat \"$d/k.pem\" && echo open; done", '{ filesystem = { denyRead = { "**/*.pem" } } }')
        self.assertNotIn("open", got.out)
        self.assertEqual(5, got.err.count("Permission denied"), got)

    @as_everyone
    def test_home_and_allowed_roots(self):
        for name in ("home/.a/x.key", "out/d/x.key", "other/x.key", "w/x.key"):
            self.write(name, "x")
        self.check('{ filesystem = { denyRead = { "~/.a/*.key", "**/x.key" }, allowWrite = { "../out" } } }', {
            "read ../home/.a/x.key": "EACCES", "read ../out/d/x.key": "EACCES", "read x.key": "EACCES",
            "read ../other/x.key": "ok"})

    @as_everyone
    def test_links(self):
        self.write("out/k", "x")
        self.write("real/k.pem", "x")
        self.sh("ln -s ../out/k lnk.pem; ln -s ../real d; ln -s loop loop")
        self.check('{ filesystem = { denyRead = { "*.pem" }, allowWrite = { "." } } }', {
            "read lnk.pem": "EACCES", "read ../out/k": "EACCES", "read d/k.pem": "ok",
            # Nor can the link be led elsewhere.
            "unlink lnk.pem": ("EBUSY", "EROFS"), "rename lnk.pem l2": ("EBUSY", "EROFS")})
        self.check('{ filesystem = { denyRead = { "d/*.pem", "loop/*" } } }',
                   {"read d/k.pem": "EACCES", "read ../real/k.pem": "EACCES"})
        # A link that a command could have made gives nothing.
        self.check('{ filesystem = { denyRead = { "../out" }, allowRead = { "*.pem" } } }',
                   {"read lnk.pem": ("EACCES", "ENOENT"), "read ../out/k": ("EACCES", "ENOENT")})


class Writing(Globs):
    @as_everyone
    def test_denied(self):
        for name in ("a.lock", "sub/b.lock", "c.txt"):
            self.write("w/" + name, "x")
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "**/*.lock" } } }', {
            "write a.lock": "EROFS", "unlink a.lock": "EBUSY", "rename a.lock b": "EBUSY", "write sub/b.lock": "EROFS",
            "rename c.txt a.lock": "EBUSY", "write c.txt": "ok", "creat new.lock": "ok"})

    @as_everyone
    def test_denied_folder_holds_what_is_made_later(self):
        os.makedirs(self.path("w/p/hooks"))
        self.own(self.path("w"))
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "*/hooks" } } }', {
            "creat p/hooks/n": "EROFS", "mkdir p/hooks/d": "EROFS", "rmdir p/hooks": "EBUSY", "rename p q": "EBUSY",
            "creat p/n": "ok"})

    @as_everyone
    def test_allowed(self):
        for name in ("p/one/dist/o", "p/two/dist/o", "p/two/src", "p/note.md"):
            self.write("w/" + name, "x")
        self.check('{ filesystem = { allowWrite = { "p/*/dist", "**/*.md", "none/*" } } }', {
            "write p/one/dist/o": "ok", "creat p/two/dist/new": "ok", "write p/two/src": "EROFS", "write p/note.md": "ok",
            "creat p/new.md": "EROFS", "mkdir p/three": "EROFS", "mkdir none": "EROFS"})

    @as_everyone
    def test_trailing_stars_are_the_folder(self):
        self.write("w/sub/a", "x")
        self.check('{ filesystem = { allowWrite = { "sub/**" } } }', {"creat sub/n": "ok", "creat n": "EROFS"})
        self.check('{ filesystem = { allowWrite = { "." }, denyWrite = { "sub/**" } } }',
                   {"write sub/a": "EROFS", "creat sub/m": "EROFS", "creat n": "ok"})

    @as_everyone
    def test_denied_beats_allowed(self):
        self.write("w/d/ok/a", "x")
        self.check('{ filesystem = { allowWrite = { "**/ok" }, denyWrite = { "?" } } }', {"write d/ok/a": "EROFS"})


class Unseen(Globs):
    def test_unreadable_folder(self):
        """What an ordinary user's pattern can't see is denied whole, and said."""
        if "user" not in USERS:
            skip("runs as root only", allowed=True)
        self.user = "user"
        self.fresh()
        self.write("out/shut/.env", "x")
        self.write("out/open/.env", "x")
        os.chmod(self.path("out/shut"), 0o311)
        policy = '{ filesystem = { denyRead = { "../out/**/.env" } } }'
        self.check(policy, {"read ../out/open/.env": "EACCES", "read ../out/shut/.env": ("EACCES", "ENOENT"),
                            "chmod ../out/shut": "EROFS"})
        self.check('{ filesystem = { denyRead = { "../out/*/none" } } }',
                   {"read ../out/open/.env": "ok", "read ../out/shut/.env": ("EACCES", "ENOENT")})
        got = self.run_srt(["true"], policy)
        self.assertIn("denied as a whole: %s [pattern]\n" % self.path("out/shut"), got.err)
        result = self.checked(policy)
        self.assertEqual([self.path("out/shut")], result["profile"]["filesystem"]["globs"][0]["unseen"])
        # To an allow list it gives nothing.
        self.check('{ filesystem = { allowWrite = { "../out/*/.env" } } }',
                   {"write ../out/open/.env": "ok", "write ../out/shut/.env": "EROFS"})
        os.chmod(self.path("out/shut"), 0o755)

    def test_unreadable_writable_folder(self):
        """Its owner could open it to reading again."""
        if "user" not in USERS:
            skip("runs as root only", allowed=True)
        self.user = "user"
        self.fresh()
        self.write("w/shut/a.lock", "x")
        os.chmod(self.path("w/shut"), 0)
        got = self.run_sh("chmod 755 shut; echo y >shut/a.lock; rm -rf shut; mv shut other",
                          '{ filesystem = { allowWrite = { "." }, denyWrite = { "**/*.lock" } } }')
        os.chmod(self.path("w/shut"), 0o755)
        self.assertEqual("x", self.read("w/shut/a.lock"), got)


class Telling(Globs):
    @as_everyone
    def test_check(self):
        for i in range(8):
            self.write("w/f%d" % i, "x")
        policy = '{ filesystem = { denyRead = { "f?", "z*" }, allowWrite = { "." } } }'
        glob = self.checked(policy)["profile"]["filesystem"]["globs"][0]
        self.assertEqual(("denyRead", "f?", 8, [self.path("w/f%d" % i) for i in range(5)]),
                         (glob["list"], glob["given"], glob["count"], glob["paths"]))
        got = self.run_srt(["check", self.policy(policy)])
        self.assertEqual(0, got.code, got)
        self.assertIn("= 8 paths: %s, " % self.path("w/f0"), got.out)
        self.assertIn(" and 3 more", got.out)
        self.assertIn("= 0 paths", got.out)

    @as_everyone
    def test_names_do_not_reach_the_terminal(self):
        self.write("w/\x1b]0;x\x07/k", "x")
        policy = '{ filesystem = { denyRead = { "*" }, denyWrite = { "*/k" } } }'
        for args in (["check", self.policy(policy)], ["run", self.policy(policy), "--debug", "--", "true"]):
            got = self.run_srt(args)
            self.assertNotRegex(got.out_bytes + got.err_bytes, b"[\0-\x08\x0b-\x1f\x7f]")
            self.assertIn("\\x1b]0;x", got.out + got.err)

    @as_everyone
    def test_refused(self):
        self.write("w/a/b", "x")
        self.refused('{ filesystem = { denyRead = { "*/../b" } } }', "filesystem.denyRead[1]", "can't follow a pattern")
        self.refused('{ filesystem = { denyRead = { "**" , "*/*" } }, limits = { globMatches = 0 } }', "globMatches")
        self.write("w/a/c", "x")
        self.refused('{ filesystem = { denyRead = { "*/*" } }, limits = { globMatches = 1 } }', "filesystem.denyRead[1]",
                     "limits.globMatches is 1")
        self.refused('{ filesystem = { denyRead = { "/usr/**/*.nothing" } }, limits = { walkEntries = 1000 } }',
                     "more than 1000 names", "limits.walkEntries")

    @as_everyone
    def test_policies_can_ask(self):
        for name in ("a/package.json", "b/package.json", "c"):
            self.write("w/" + name, "x")
        policy = """local found = {}
        for i, path in ipairs(srt.glob("*/package.json")) do found[i] = path:match("^(.*)/") end
        return { filesystem = { allowWrite = found } }"""
        self.check(policy, {"creat a/n": "ok", "creat b/n": "ok", "creat n": "EROFS"})

    @as_everyone
    def test_thousands(self):
        for i in range(3000):
            os.makedirs(self.path("w/d%d" % (i % 50)), exist_ok=True)
            with open(self.path("w/d%d/k%d.pem" % (i % 50, i)), "w", encoding="utf-8") as file:
                file.write("x")
        self.own(self.path("w"))
        got = self.run_sh("cat d*/*.pem 2>/dev/null | wc -c; ls d*/*.pem | wc -l",
                          '{ filesystem = { denyRead = { "**/*.pem" }, allowWrite = { "." } } }')
        self.assertEqual(["0", "3000"], got.out.split(), got)


if __name__ == "__main__":
    main()
