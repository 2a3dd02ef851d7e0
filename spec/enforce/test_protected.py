# SPDX-License-Identifier: Apache-2.0
"""Protected names can't be written, made, moved or replaced, and git works all the same."""
import os

from lib import Case, as_everyone, main, need

WORK = '{ filesystem = { allowWrite = { "." } } }'
REFUSED = ("EROFS", "EACCES", "EBUSY", "EEXIST", "EISDIR", "EPERM", "EXDEV", "ENOTEMPTY")
NAMES = """.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshenv .zshrc .zprofile .zlogin
  .zlogout .envrc .gitconfig .gitmodules .ripgreprc .mcp.json .vscode .idea .cursor .devcontainer .husky""".split()
GIT = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main "


class Protected(Case):
    def refused(self, operations, policy=WORK, **more):
        """Every operation is refused; what is asked for with a good name works."""
        got = self.probe("creat control " + " ".join(operations), policy, **more)
        control = os.path.join(more.get("cwd", self.w), "control")
        self.assertEqual("ok", got.pop("creat control"), got)
        self.assertTrue(os.path.exists(control), got)
        os.unlink(control)
        self.assertEqual(len(operations), len(got), (operations, got))
        for what, answer in got.items():
            self.assertIn(answer, REFUSED, "%s as %s: %s" % (what, self.user, got))

    def works(self, operations, policy=WORK, **more):
        got = self.probe(" ".join(operations), policy, **more)
        self.assertEqual(["ok"] * len(operations), list(got.values()), (self.user, got))


class Missing(Protected):
    @as_everyone
    def test_none_can_be_made(self):
        self.refused([operation.replace("NAME", name) for name in NAMES + [".claude"] for operation in (
            "creat NAME", "mkdir NAME", "rename control NAME", "symlink /etc/passwd NAME", "rename NAME away", "rmdir NAME",
            "mkdir NAME/x", "chmod NAME")])
        self.assertEqual([], os.listdir(self.w))

    @as_everyone
    def test_in_parts(self):
        self.refused(["mkdir .claude/commands", "creat .claude/settings.json", "creat .claude/x"])
        os.mkdir(self.path("w/.claude"))
        self.own(self.path("w/.claude"))
        self.refused(["mkdir .claude/commands", "mkdir .claude/agents", "creat .claude/settings.json",
                      "creat .claude/settings.local.json", "rename .claude c"])
        self.works(["creat .claude/x"])
        self.assertEqual(["x"], os.listdir(self.path("w/.claude")))

    @as_everyone
    def test_nothing_is_held_where_nothing_is_allowed(self):
        got = self.run_sh("ls -A; ls -A ~", '{ filesystem = { allowWrite = { "sub" } } }')
        self.assertEqual((0, ""), (got.code, got.out.replace(".local\n", "")), got)

    @as_everyone
    def test_at_home_and_between(self):
        os.makedirs(self.path("home/a/b"))
        self.own(self.path("home"))
        self.refused(["creat ~/%s".replace("~", self.home) % name for name in
                      (".bashrc", ".zshenv", ".ssh/authorized_keys", ".vimrc", "a/.envrc", "a/.vscode", "a/b/.envrc")],
                     '{ filesystem = { allowWrite = { "~" } } }', cwd=self.path("home/a/b"))
        self.assertEqual([], os.listdir(self.path("home/a/b")))
        self.assertEqual(["b"], os.listdir(self.path("home/a")))

    @as_everyone
    def test_programs_find_their_folders(self):
        """Nothing at ~/.gitconfig and ~/.config, since programs would fail by it."""
        need("git")
        got = self.run_sh("git config -l >/dev/null; echo $?; mkdir -p ~/.config/x && echo made",
                          '{ filesystem = { allowWrite = { "~", "." } } }')
        self.assertEqual("0\nmade\n", got.out, got)


class Existing(Protected):
    @as_everyone
    def test_files_and_folders(self):
        files = (".bashrc", ".envrc", ".mcp.json", ".gitmodules", "a/.profile", "a/b/.zshrc")
        folders = (".vscode", "a/.idea", ".claude/commands", "a/b/.husky")
        there = [*files, *(name + "/f" for name in folders)]
        for name in there:
            self.write("w/" + name, "old")
        self.refused(["%s %s" % (operation, name) for name in files for operation in (
            "write", "append", "trunc", "unlink", "rename control", "chmod")]
                     + ["%s %s x" % (operation, name) for name in files for operation in ("rename", "link")]
                     + [operation % name for name in folders for operation in (
                         "write %s/f", "creat %s/n", "unlink %s/f", "rename %s x", "mkdir %s/d")])
        for name in there:
            self.assertEqual("old", self.read("w/" + name))

    @as_everyone
    def test_depth(self):
        names = [prefix + ".bashrc" for prefix in ("", "a/", "a/b/", "a/b/c/", "a/b/c/d/", "a/b/c/d/e/")]
        for name in names:
            self.write("w/" + name, "o")
        for depth in (1, 3, 5):
            policy = '{ filesystem = { allowWrite = { "." } }, mandatoryDenySearchDepth = %d }' % depth
            self.refused(["write " + name for name in names[:depth]], policy)
            self.works(["write " + name for name in names[depth:]], policy)

    @as_everyone
    def test_empty_nested_folder_counts(self):
        os.makedirs(self.path("w/a/.vscode"))
        self.own(self.path("w"))
        self.refused(["creat a/.vscode/tasks.json", "rename a/.vscode x", "rename a b"])

    @as_everyone
    def test_node_modules_is_not_searched(self):
        self.write("w/node_modules/p/.bashrc", "o")
        self.works(["write node_modules/p/.bashrc"])
        self.refused(["creat node_modules/../.bashrc"])
        got = self.run_srt(["check", self.policy(WORK)])
        self.assertIn("node_modules", got.out)

    @as_everyone
    def test_ancestors_stay(self):
        self.write("w/a/b/.bashrc", "o")
        self.write("w/a/f", "o")
        self.refused(["rename a x", "rename a/b x", "rmdir a/b"])
        self.works(["write a/f", "rename a/f a/g"])

    @as_everyone
    def test_through_links(self):
        self.write("real.f", "old")
        self.write("real.d/f", "old")
        os.symlink("../real.f", self.path("w/.bashrc"))
        os.symlink("../real.d", self.path("w/.vscode"))
        os.symlink("/dev/null", self.path("w/.profile"))
        os.symlink("../real.c", self.path("w/.claude"))
        self.write("real.c/commands/f", "old")
        self.own(self.dir)
        policy = '{ filesystem = { allowWrite = { ".", "../real.f", "../real.d", "../real.c" } } }'
        self.refused(["write .bashrc", "write ../real.f", "unlink .bashrc", "creat .vscode/x", "creat ../real.d/x",
                      "rename .vscode x", "unlink .profile", "creat .claude/commands/x", "rename .claude x",
                      "mkdir .claude/agents"], policy)
        got = self.run_sh("echo ok; echo > /dev/null && echo still", policy)
        self.assertEqual("ok\nstill\n", got.out, got)

    @as_everyone
    def test_by_another_hard_link(self):
        path = self.write("w/a/.bashrc", "old")
        os.link(path, self.path("w/alias"))
        os.makedirs(self.path("w/x/y/z/q"))
        os.link(path, self.path("w/x/y/z/q/alias"))
        self.own(self.w)
        self.refused(["write alias", "write x/y/z/q/alias", "append alias"])
        os.link(path, self.path("out"))
        got = self.run_sh("true", WORK)
        self.assertIn("1 more names", got.err)
        self.assertEqual("old", self.read("w/alias"))

    @as_everyone
    def test_an_allowed_path_is_a_protected_one(self):
        self.write("w/.vscode/ext/f", "old")
        self.write("w/.claude/x", "old")
        self.write("w/.claude/settings.json", "old")
        self.write("w/.bashrc", "old")
        policy = '{ filesystem = { allowWrite = { "ok", ".vscode/ext", ".bashrc", ".claude" } } }'
        os.mkdir(self.path("w/ok"))
        self.own(self.w)
        got = self.probe("creat ok/f write .claude/x write .vscode/ext/f write .bashrc write .claude/settings.json "
                         "mkdir .claude/commands", policy)
        self.assertEqual(["ok", "ok"], list(got.values())[:2], got)
        self.assertTrue(all(answer in REFUSED for answer in list(got.values())[2:]), got)

    @as_everyone
    def test_a_folder_closed_to_reading(self):
        self.write("w/a/.bashrc", "old")
        os.chmod(self.path("w/a"), 0o300)
        self.refused(["write a/.bashrc"])
        os.chmod(self.path("w/a"), 0o700)

    @as_everyone
    def test_more_by_policy(self):
        self.write("w/a/.tool/f", "old")
        policy = '{ filesystem = { allowWrite = { "." }, protect = { ".tool/", "Makefile", "bin/run" } } }'
        self.refused(["write a/.tool/f", "creat Makefile", "mkdir .tool", "creat bin/run"], policy)
        for wrong in ("", "/etc", "a/../b", "*.sh", ".git"):
            got = self.run_sh("true", '{ filesystem = { protect = { "%s" } } }' % wrong)
            self.assertEqual(125, got.code, got)
            self.assertIn("protect", got.err)

    @as_everyone
    def test_the_state_of_runs(self):
        got = self.run_sh("ls ~/.local/state/srt-lua; for f in ~/.local/state/srt-lua/*; do echo x >> $f; rm -f $f; done;"
                          " mv ~/.local x; ls ~/.local/state/srt-lua | wc -l", '{ filesystem = { allowWrite = { "~" } } }')
        self.run_sh("true", WORK)
        self.assertIn("Read-only", got.err)


class Git(Protected):
    def git(self, script, policy=WORK, **more):
        got = self.run_sh("set -e; git() { command %s \"$@\"; }; " % GIT + script, policy, **more)
        self.assertEqual(0, got.code, (self.user, got))
        return got

    def repository(self, name="."):
        self.sh(GIT + "init -q %s; cd %s; %s commit -q --allow-empty -m first" % (name, name, GIT))

    @as_everyone
    def test_what_is_closed(self):
        need("git")
        self.repository()
        self.write("w/.git/hooks/pre-commit", "#!/bin/sh\n")
        self.refused(["write .git/config", "creat .git/hooks/n", "write .git/hooks/pre-commit",
                      "unlink .git/hooks/pre-commit", "rename .git/hooks .git/h2", "rename .git g2", "unlink .git/config",
                      "rename control .git/config"])
        self.works(["creat .git/info/new", "write .git/HEAD"])

    @as_everyone
    def test_missing_hooks(self):
        need("git")
        self.repository()
        self.sh("rm -rf .git/hooks")
        self.refused(["mkdir .git/hooks", "rename control .git/hooks", "rmdir .git/hooks", "creat .git/hooks/x"])
        self.git("git status -s; git commit -q --allow-empty -m x")
        self.assertFalse(os.path.exists(self.path("w/.git/hooks")))

    @as_everyone
    def test_work_goes_on(self):
        need("git")
        self.repository()
        self.write("w/f", "1\n")
        self.git("""git add f; git commit -qm f; git branch side; git checkout -q side; echo 2 > f; git commit -qam side;
          git checkout -q main; echo 3 > g; git add g; git commit -qm g; git rebase -q side; echo 4 > f; git stash -q;
          git stash pop -q; git checkout -q f; git gc -q; git tag v1; git merge -q side; git reset -q --hard HEAD;
          git worktree add -q tree -b other; git -C tree commit -q --allow-empty -m t;
          git worktree remove tree; git branch -qD other; git status -s; git fsck; git log --oneline | wc -l""")
        self.assertEqual("", self.sh("git status --porcelain; find . -name '*.lock' -o -name '*quarantined*'"))

    @as_everyone
    def test_new_repositories(self):
        need("git")
        self.repository("src")
        got = self.git("""git init -q n; git clone -q ./src c; cd c; git checkout -q -b x; git commit -q --allow-empty -m i;
          git push -q -u origin x; git worktree add -q ../cw -b y; cd ../cw; git commit -q --allow-empty -m w; cd ..;
          git init -q --bare b.git; git clone -q --separate-git-dir sep.git ./src s; git -C s status -s""")
        self.assertNotIn("quarantined", got.err)
        self.assertIn("[remote", self.read("w/c/.git/config"))
        self.assertEqual("", self.sh("git -C c status -s; git -C cw status -s; git -C s status -s"))

    @as_everyone
    def test_config_on_request(self):
        need("git")
        self.repository()
        got = self.run_sh("git config user.name x", WORK)
        self.assertNotEqual(0, got.code)
        self.assertEqual("", self.sh("find . -name '*.lock'"))
        self.git("git config user.name x; git config --worktree user.email y; ! echo > .git/hooks/x",
                 '{ filesystem = { allowWrite = { "." }, allowGitConfig = true } }')
        self.assertEqual("x\n", self.sh("git config user.name"))

    @as_everyone
    def test_worktrees_and_submodules(self):
        need("git")
        self.repository("main")
        self.repository("lib")
        self.sh("cd main; %s -c protocol.file.allow=always submodule --quiet add ../lib sub; %s commit -qm s; "
                "git worktree add -q ../tree -b t" % (GIT, GIT))
        self.refused(["write tree/.git", "unlink tree/.git", "rename tree/.git x", "write main/sub/.git",
                      "write main/.git/modules/sub/config", "creat main/.git/modules/sub/hooks/x",
                      "write main/.git/worktrees/tree/commondir", "rename main/.git/modules/sub x", "write main/.gitmodules"])
        self.git("cd tree; git commit -q --allow-empty -m x; cd ../main/sub; git commit -q --allow-empty -m y; git status -s")

    @as_everyone
    def test_a_linked_worktree_as_the_folder(self):
        """R16: hooks and configuration of the repository hold also where it is reached by a .git file only."""
        need("git")
        self.repository("../deep/1/2/3/4/main")
        self.sh("git -C ../deep/1/2/3/4/main worktree add -q %s/tree -b t" % self.w)
        policy = '{ filesystem = { allowWrite = { ".", "../../deep" } } }'
        main_git = "../../deep/1/2/3/4/main/.git/"
        self.refused(["write %sconfig" % main_git, "creat %shooks/x" % main_git, "write .git"], policy,
                     cwd=self.path("w/tree"))
        self.git("git commit -q --allow-empty -m x", policy, cwd=self.path("w/tree"))

    @as_everyone
    def test_bare_repository(self):
        need("git")
        self.sh("git init -q --bare repo.git; rm -r repo.git/hooks")
        self.refused(["write repo.git/config", "mkdir repo.git/hooks"])
        self.sh("git init -q --bare repo.git")
        self.refused(["creat hooks/x", "write config"], cwd=self.path("w/repo.git"))

    @as_everyone
    def test_where_the_configuration_leads(self):
        """Hooks in a folder of the project that the host's git runs are as good as .git/hooks."""
        need("git")
        self.repository("a")
        self.repository("b")
        self.write("w/a/tools/hooks/pre-commit", "#!/bin/sh\n", 0o755)
        self.sh("git -C a config core.hooksPath tools/hooks; git -C a config --add include.path ../more;"
                "git config --global core.hooksPath .my")
        self.refused(["write a/tools/hooks/pre-commit", "creat a/tools/hooks/x", "rename a/tools t", "creat a/more",
                      "mkdir b/.my", "creat b/.my/x", "rename a/tools/hooks x"])
        self.works(["creat a/tools/x", "creat b/x"])

    @as_everyone
    def test_an_allowance_without_effect_is_told(self):
        os.mkdir(self.path("w/.vscode"))
        self.own(self.w)
        got = self.run_sh("true", '{ filesystem = { allowWrite = { ".vscode" } } }')
        self.assertIn("can't be written", got.err)

    @as_everyone
    def test_no_repository_is_invented(self):
        need("git")
        self.repository()
        os.mkdir(self.path("w/sub"))
        self.own(self.path("w/sub"))
        got = self.run_sh("git rev-parse --show-toplevel", WORK, cwd=self.path("w/sub"))
        self.assertEqual(self.w + "\n", got.out, got)

    @as_everyone
    def test_per_worktree_configuration(self):
        """R04: what git reads there must not become unreadable."""
        need("git")
        self.repository("a")
        self.sh("git -C a config extensions.worktreeConfig true; git -C a worktree add -q ../wt")
        self.git("git -C wt status; git -C a status")
        self.assertEqual("1\n", self.sh("git -C a config x.y 1; git -C a config x.y"))


class Figures(Case):
    def test_places_are_few(self):
        """No more than one for each name."""
        got = self.run_srt(["compile", self.policy(WORK), "--backend", "namespaces"])
        self.assertEqual(22, got.out.count("placeholder"), got)


class Parallel(Case):
    @as_everyone
    def test_short_runs_in_one_folder(self):
        # Each sees places that another one is about to take away.
        policy = self.policy('{ filesystem = { allowWrite = { "." }, denyWrite = { "nofile" } } }')
        for _ in range(10):
            running = [self.start(["run", policy, "--", "true"]) for _ in range(4)]
            for process in running:
                _, err = process.communicate(timeout=60)
                self.assertEqual((0, b""), (process.returncode, err))
        self.assertEqual([], os.listdir(self.w))


if __name__ == "__main__":
    main()
