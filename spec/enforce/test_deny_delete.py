# SPDX-License-Identifier: Apache-2.0
"""filesystem.denyDelete: may be edited, can be neither unlinked nor renamed nor replaced."""
from lib import Case, as_everyone, main

EDITS = ["echo x >>%s", "echo y >%s", "touch %s", "chmod 600 %s"]
REMOVALS = ["rm -f %s", "mv %s other", "mv new %s", "ln -f new %s", "ln -sfn new %s",
            "python3 -c 'import os; os.replace(\"new\", \"%s\")'"]


class DenyDelete(Case):
    def attempts(self, policy, scripts):
        """Which of the scripts work, each after `new` was made."""
        lines = ["echo n >new; if (%s) 2>/dev/null; then echo ok; else echo no; fi" % script for script in scripts]
        return self.run_sh("\n".join(lines), policy).out.split()

    def keeps(self, lists, path):
        policy = '{ filesystem = { allowWrite = { "." }, denyDelete = { %s } } }' % lists
        self.assertEqual(["ok"] * len(EDITS), self.attempts(policy, [edit % path for edit in EDITS]))
        self.assertEqual(["no"] * len(REMOVALS), self.attempts(policy, [removal % path for removal in REMOVALS]))
        self.assertEqual("y\n", self.read("w/" + path))

    @as_everyone
    def test_a_file(self):
        self.sh("echo 1 >f")
        self.keeps('"f"', "f")

    @as_everyone
    def test_a_file_in_folders_that_stay_too(self):
        self.sh("mkdir -p a/b; echo 1 >a/b/f")
        self.keeps('"a/b/f"', "a/b/f")
        got = self.attempts('{ filesystem = { allowWrite = { "." }, denyDelete = { "a/b/f" } } }',
                            ["mv a/b a/c", "mv a c", "rm -r a", "echo 1 >a/b/g; rm a/b/g"])
        self.assertEqual(["no", "no", "no", "ok"], got)

    @as_everyone
    def test_a_pattern(self):
        self.sh("echo 1 >x.db; echo 1 >y.db; echo 1 >z.txt")
        self.keeps('"*.db"', "y.db")
        got = self.attempts('{ filesystem = { allowWrite = { "." }, denyDelete = { "*.db" } } }',
                            ["rm z.txt", "echo 1 >later.db; rm later.db"])
        self.assertEqual(["ok", "ok"], got)

    @as_everyone
    def test_all_that_is_in_a_folder(self):
        self.sh("mkdir -p d/e; echo 1 >d/f; echo 1 >d/e/g")
        self.keeps('"d/**"', "d/e/g")
        got = self.attempts('{ filesystem = { allowWrite = { "." }, denyDelete = { "d/**" } } }',
                            ["rm d/f", "rmdir d/e", "mv d e", "echo 1 >d/later; rm d/later"])
        self.assertEqual(["no", "no", "no", "ok"], got)

    @as_everyone
    def test_a_link_stays_and_so_does_what_it_leads_to(self):
        self.sh("echo 1 >f; ln -s f lnk")
        got = self.attempts('{ filesystem = { allowWrite = { "." }, denyDelete = { "lnk" } } }',
                            ["rm lnk", "ln -sfn new lnk", "rm f", "echo 2 >lnk"])
        self.assertEqual(["no", "no", "no", "ok"], got)

    @as_everyone
    def test_what_is_not_there_or_can_not_be_removed_anyway(self):
        self.write("out/f", "1")
        got = self.run_sh("echo 1 >nofile && rm nofile; rm ../out/f; echo done",
                          '{ filesystem = { allowWrite = { "." }, denyDelete = { "nofile", "../out/f", "/" } } }')
        self.assertEqual(("done\n", 0), (got.out, got.code), got)
        self.assertEqual("1", self.read("out/f"))

    @as_everyone
    def test_explain_says_so(self):
        self.sh("echo 1 >f")
        path = self.policy('{ filesystem = { allowWrite = { "." }, denyDelete = { "f" } } }')
        got = self.run_srt(["explain", path, "delete", "f"])
        self.assertEqual(1, got.code, got)
        self.assertIn("denyDelete[1]", got.out)
        self.assertEqual(0, self.run_srt(["explain", path, "write", "f"]).code)


main()
