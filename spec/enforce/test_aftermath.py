# SPDX-License-Identifier: Apache-2.0
"""Nothing is left behind: not by the run, and nothing by the command that the host would run."""
import fcntl
import json
import os
import signal
import subprocess
import time

from lib import BINARY, Case, as_everyone, drops, main, need
from running import Running, children, name, parts, until

WORK = '{ filesystem = { allowWrite = { "." } } }'
ASIDE = ".quarantined-by-srt-lua"
GIT = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main "
# What a person or a prompt does in a repository.
LOOK = ("for d in . */; do (cd $d; %s status; %s diff; %s log; %s commit -q --allow-empty -m x; %s fetch;"
        " %s checkout -q -b b$$; %s stash; %s gc -q) >/dev/null 2>&1 </dev/null || true; done" % ((GIT,) * 8))


def end(pids):
    """Kills each; one may have ended since the one before did."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Aftermath(Case):
    def plant(self, script, policy=WORK, **more):
        """Runs a script inside; $RUN is a command that leaves a trace where it runs."""
        got = self.run_sh("set -e; RUN='touch %s/RAN; false'; " % self.tmp + script, policy, **more)
        self.assertEqual(0, got.code, (self.user, got))
        self.assertEqual([], self.leftovers())
        return got

    def harmless(self, where="."):
        self.sh("cd %s; %s" % (where, LOOK))
        self.assertEqual([], self.leftovers(), self.sh("find . | grep -v sample"))

    def tree(self):
        return self.sh("find . -path ./.git -prune -o -print | sort").split()


class Names(Aftermath):
    @as_everyone
    def test_deeper_ones_are_put_aside(self):
        self.write("w/a/known/.envrc", "mine")
        got = self.plant("""mkdir -p a/b/.vscode; echo x > a/.envrc; echo y > a/b/.vscode/tasks.json; ln -s /etc a/.bashrc;
          echo ok > a/fine; mkdir d; echo x > d/.envrc; chmod 555 d; mkdir -p a/.claude/commands; echo > a/.claude/x;
          chmod 1777 .""")
        for name in ("a/.envrc", "a/b/.vscode", "a/.bashrc", "d/.envrc", "a/.claude/commands"):
            self.assertTrue(os.path.lexists(self.path("w", name + ASIDE)), (name, self.tree()))
            self.assertFalse(os.path.lexists(self.path("w", name)), name)
            self.assertIn("/w/%s was made while the command ran" % name, got.err)
        self.assertEqual("mine", self.read("w/a/known/.envrc"))
        self.assertEqual("ok\n", self.read("w/a/fine"))
        self.assertEqual(0o555, os.stat(self.path("w/d")).st_mode & 0o777)
        self.assertEqual("/etc", os.readlink(self.path("w/a/.bashrc" + ASIDE)))

    @as_everyone
    def test_where_everybody_makes_files(self):
        """Of a folder like /tmp it is only told: what is new there is mostly others'. Not what the command makes one."""
        os.mkdir(self.path("shared"))
        os.chmod(self.path("shared"), 0o1777)
        self.sh("mkdir ../shared/mine; chmod 1777 .")
        got = self.plant("mkdir a; echo x >a/.envrc; cd ../shared/mine; echo x >.envrc; git init -q r; echo x >r/.bashrc",
                         '{ filesystem = { allowWrite = { ".", "../shared" } } }')
        # What an earlier run could have made one is none; root's could have made this one.
        self.assertTrue(os.path.exists(self.path("w/a/.envrc" + ASIDE)), got)
        mine = not drops(self.user)
        for name in ("mine/.envrc", "mine/r/.bashrc"):
            self.assertEqual(mine, os.path.exists(self.path("shared", name + ASIDE)), got)
        said = "new in %s, 2 of them, one is %s/mine/" % ((self.path("shared"),) * 2)
        self.assertEqual(not mine, said in got.err, got)

    @as_everyone
    def test_is_a_violation(self):
        """Told once to people; to programs and to the policy as the others are."""
        text = WORK.replace("{", "{ onViolation = function(v) srt.log.info(v.kind, v.target, v.rule) end, ", 1)
        script = "mkdir a; echo x > a/.envrc; git init -q b; echo x > b/.git/hooks/pre-commit; chmod 755 b/.git/hooks/pre-commit"
        need("git")
        for how in ("text", "json"):
            got = self.plant(script, text, options=("--report", how))
            for name in ("a/.envrc", "b/.git/hooks/pre-commit"):
                self.assertEqual(1, got.err.count("%s was made while the command ran" % name), got)
                self.assertIn("write %s filesystem.protect" % self.path("w", name), got.err)
            self.assertNotIn("denied:", got.err)
            self.sh("rm -rf a b")
        said = json.loads(got.err.splitlines()[-1])
        self.assertEqual((2, {self.path("w/a/.envrc"), self.path("w/b/.git/hooks/pre-commit")}),
                         (said["denied"], {v["target"] for v in said["violations"]}), got)
        self.assertIn("it is called .envrc%s now" % ASIDE, said["violations"][0]["reason"])

    @as_everyone
    def test_nothing_is_overwritten(self):
        self.write("w/a/.envrc" + ASIDE, "first")
        self.write("w/a/.envrc%s.2" % ASIDE, "second")
        self.plant("echo third > a/.envrc")
        self.assertEqual(["first", "second", "third\n"],
                         [self.read("w/a/.envrc" + ASIDE + end) for end in ("", ".2", ".3")])

    @as_everyone
    def test_the_status_stays(self):
        for script, code in (("exit 3", 3), ("kill -TERM $$", 143), ("true", 0), ("no-such-command", 127)):
            got = self.run_sh("mkdir -p a; echo > a/.envrc; " + script, WORK)
            self.assertEqual(code, got.code, got)
            self.assertEqual([".envrc" + ASIDE], os.listdir(self.path("w/a")))
            self.sh("rm -r a")

    @as_everyone
    def test_at_home(self):
        self.plant("echo x > ~/.gitconfig; mkdir -p ~/.config/autostart ~/.config/fish ~/.config/other; echo x > ~/.config/other/f",
                   '{ filesystem = { allowWrite = { "~", "." } } }')
        left = self.sh("cd ~; find . | sort").split()
        self.assertIn("./.gitconfig" + ASIDE, left)
        self.assertIn("./.config/autostart" + ASIDE, left)
        self.assertIn("./.config/fish" + ASIDE, left)
        self.assertIn("./.config/other/f", left)
        self.assertNotIn("./.gitconfig", left)

    @as_everyone
    def test_a_folder_closed_to_reading_hides_nothing(self):
        need("git")
        self.plant("mkdir -p c/d; echo x > c/d/.envrc; git init -q c/r; echo $RUN > c/r/.git/hooks/pre-commit;"
                   "chmod 755 c/r/.git/hooks/pre-commit; chmod 311 c/r/.git c/d c")
        self.assertEqual(0o311, os.stat(self.path("w/c")).st_mode & 0o777)
        self.sh("chmod 755 c c/d c/r/.git")
        self.assertTrue(os.path.exists(self.path("w/c/d/.envrc" + ASIDE)), self.tree())
        self.assertTrue(os.path.exists(self.path("w/c/r/.git/hooks/pre-commit" + ASIDE)), self.tree())

    @as_everyone
    def test_long_and_odd_names(self):
        name = "x" * 250
        policy = '{ filesystem = { allowWrite = { "." }, protect = { "%s" } } }' % name
        got = self.plant("mkdir -p \"a\n\033b\"; echo x > \"a\n\033b/%s\"" % name, policy)
        self.assertNotIn("\033", got.err)
        self.assertEqual([("x" * 250)[:255 - len(ASIDE)] + ASIDE], os.listdir(self.path("w/a\n\033b")))

    @as_everyone
    def test_what_the_command_could_not_write_is_left_alone(self):
        os.makedirs(self.path("w/ro"))
        self.own(self.path("w/ro"))
        run = self.start(["sh", "-c", "touch ready; while [ ! -e go ]; do sleep 0.05; done"],
                         '{ filesystem = { allowWrite = { "." }, denyWrite = { "ro" } } }')
        self.assertTrue(until(lambda: os.path.exists(self.path("w/ready"))))
        self.write("w/ro/.envrc", "mine")
        self.write("w/go")
        _, err = run.communicate(timeout=20)
        self.assertEqual((0, b""), (run.returncode, err))
        self.assertEqual("mine", self.read("w/ro/.envrc"))


class Repositories(Aftermath):
    def setUp(self):
        super().setUp()
        need("git")

    @as_everyone
    def test_hooks(self):
        self.plant("""git init -q r; for h in pre-commit post-checkout reference-transaction; do
          printf '#!/bin/sh\\n%s\\n' "$RUN" > r/.git/hooks/$h; chmod 755 r/.git/hooks/$h; done; git init -q l; rm -r l/.git/hooks;
          mkdir h; cp r/.git/hooks/pre-commit h; ln -s ../../h l/.git/hooks; echo no > r/.git/hooks/post-commit""")
        self.harmless()
        self.assertTrue(os.path.exists(self.path("w/r/.git/hooks/post-commit")))
        self.assertTrue(os.path.lexists(self.path("w/l/.git/hooks" + ASIDE)))

    @as_everyone
    def test_configuration(self):
        settings = {"core.fsmonitor": "$RUN", "core.hooksPath": "../h", "core.pager": "$RUN", "core.sshCommand": "$RUN",
                    "alias.x": "!$RUN", "include.path": "../../evil", "filter.f.clean": "$RUN", "diff.external": "$RUN",
                    "credential.https://a.test.helper": "!$RUN", "gpg.program": "$RUN", "remote.origin.uploadpack": "$RUN"}
        for key, value in settings.items():
            got = self.plant("""mkdir h; printf '#!/bin/sh\\n%%s\\n' "$RUN" > h/pre-commit; chmod 755 h/*
              git init -q r; printf '[core]\\n\\tfsmonitor = %%s\\n' "$RUN" > evil; git -C r config '%s' "%s"
              git -C r config user.name kept; echo '* filter=f' > r/.gitattributes; touch r/f""" % (key, value))
            self.assertIn("it sets " + key.lower()[:4], got.err.lower(), got)
            self.harmless()
            self.assertEqual("kept\n", self.sh("git -C r config user.name"))
            self.assertNotEqual("", self.read("w/r/.git/config" + ASIDE))
            self.assertEqual(1, subprocess.run(["git", "config", "-f", self.path("w/r/.git/config"), key]).returncode, key)
            self.sh("rm -rf r h evil")

    @as_everyone
    def test_configuration_that_can_be_read_in_two_ways(self):
        for text in ("[core] fsmonitor = $RUN", "[core]\\n\\tfsmon\\\\\\nitor = x\\n\\tfsmonitor = a\\\\\\n$RUN",
                     "[core]\\r\\n\\tfsmonitor = $RUN", "[core.x]\\n a = b", "[core]\\n\\tfsmonitor = \\\"$RUN"):
            self.plant("git init -q r; printf \"%s\" >> r/.git/config" % text)
            self.assertFalse(os.path.exists(self.path("w/r/.git/config")), text)
            self.assertTrue(os.path.exists(self.path("w/r/.git/config" + ASIDE)), text)
            self.harmless()
            self.sh("rm -rf r")

    @as_everyone
    def test_bare_repositories(self):
        self.plant("""git init -q --bare b; git -C b config core.fsmonitor "$RUN"; git -C b config core.bare false
          git -C b config core.worktree ..; mkdir -p c/x/y/z; git init -q --bare c/x/y/z/deep;
          git -C c/x/y/z/deep config core.fsmonitor "$RUN"; git -C c/x/y/z/deep config core.bare false
          echo 'ref: refs/heads/main' > c/HEAD; echo x/y/z/deep > c/commondir""")
        self.harmless()
        self.assertTrue(os.path.exists(self.path("w/c/commondir" + ASIDE)))
        self.assertTrue(os.path.exists(self.path("w/b/config" + ASIDE)))

    @as_everyone
    def test_commondir_in_a_known_repository(self):
        """fs.md 136"""
        self.sh("%s init -q .; %s commit -q --allow-empty -m i" % (GIT, GIT))
        self.plant("""mkdir evil; cp -r .git/objects .git/refs evil/; printf '[core]\\n\\trepositoryformatversion = 0
          bare = false\\n\\tfsmonitor = %s\\n' "$RUN" > evil/config; echo ../evil > .git/commondir""")
        self.harmless()
        self.assertTrue(os.path.exists(self.path("w/.git/commondir" + ASIDE)))

    @as_everyone
    def test_worktree_configuration(self):
        self.sh("%s init -q .; %s commit -q --allow-empty -m i; git config extensions.worktreeConfig true" % (GIT, GIT))
        self.plant("""printf '[core]\\n\\tfsmonitor = %s\\n' "$RUN" > .git/config.worktree; git worktree add -q t 2>/dev/null || true
          rm .git/config.worktree; git worktree add -q t2; printf '[core]\\n\\tfsmonitor = %s\\n' "$RUN" |
          tee .git/worktrees/*/config.worktree > .git/config.worktree""")
        self.harmless()

    @as_everyone
    def test_pointers(self):
        self.plant("""mkdir a b c; git init -q deep; mkdir -p 1/2/3/4; mv deep/.git 1/2/3/4/g; git --git-dir=1/2/3/4/g config \
          core.fsmonitor "$RUN"; echo "gitdir: ../1/2/3/4/g" > a/.git; echo "gitdir: ../nowhere" > b/.git
          ln -s ../1/2/3/4/g c/.git""")
        self.harmless()
        self.assertFalse(os.path.lexists(self.path("w/b/.git")))
        self.assertFalse(os.path.lexists(self.path("w/c/.git")))

    @as_everyone
    def test_a_forged_pointer_to_elsewhere(self):
        self.sh("%s init -q ../other; git -C ../other config core.fsmonitor 'touch %s/RAN; false'" % (GIT, self.tmp))
        self.plant("mkdir a; echo 'gitdir: ../../other/.git' > a/.git")
        self.harmless()

    @as_everyone
    def test_modes(self):
        script = "git init -q r; git -C r config core.pager x; printf '#!/bin/sh' > r/.git/hooks/pre-push; chmod 755 r/.git/hooks/pre-push"
        for mode, told, moved in (("quarantine", True, True), ("report", True, False), ("allow", False, False)):
            got = self.plant(script, '{ filesystem = { allowWrite = { "." }, newRepositories = "%s" } }' % mode)
            self.assertEqual(told, "pre-push was made" in got.err, mode)
            self.assertEqual(moved, os.path.exists(self.path("w/r/.git/config" + ASIDE)), mode)
            self.assertEqual(moved, not os.path.exists(self.path("w/r/.git/hooks/pre-push")), mode)
            self.sh("rm -r r")

    @as_everyone
    def test_a_clone_stays_as_it_is(self):
        self.sh("%s init -q ../src; cd ../src; %s commit -q --allow-empty -m i" % (GIT, GIT))
        got = self.plant("git clone -q ../src c; git -C c config pull.rebase true")
        self.assertEqual("", got.err)
        self.assertEqual("", self.sh("find . -name '*quarantined*'; %s -C c pull -q" % GIT))


class Killed(Running):
    """Whoever is killed: nothing stays, at the latest after the next run or doctor --clean."""

    PLANT = "mkdir -p a $TMPDIR/x/y; echo x > a/.envrc; touch a/ready; exec sleep 60"

    def begin(self, policy=WORK, script=PLANT, **more):
        run = self.popen("sh", "-c", script, policy=policy, **more)
        self.assertTrue(until(lambda: os.path.exists(self.path("w/a/ready"))), "does not start")
        self.assertIn(".bashrc", os.listdir(self.w))
        janitor, init = parts(run.pid)
        return run, {"host": run.pid, "janitor": janitor, "PID 1": init}

    def states(self):
        folder = self.path("home/.local/state/srt-lua")
        # What was denied is kept there, too.
        return [name for name in os.listdir(folder) if name != "violations"] if os.path.exists(folder) else []

    def told(self, name, file="home/.local/state/srt-lua/violations/violations.jsonl"):
        """What the file of violations says of it, which is then removed."""
        events = [json.loads(line) for line in self.read(file).splitlines()]
        os.unlink(self.path(file))
        for event in events:
            self.assertEqual((self.path("policy.lua"), "it is called %s now" % os.path.basename(name + ASIDE)),
                             (event["policy"], event["reason"].split("; ")[1]))
        return [(e["kind"], e["rule"], e["command"].split("sh -c ")[1]) for e in events if e["target"] == self.path("w", name)]

    def is_clean(self, wait):
        if wait:
            until(lambda: sorted(os.listdir(self.w)) == ["a"] and not self.leftovers() and
                  ".envrc" + ASIDE in os.listdir(self.path("w/a")))
        self.assertEqual(["a"], os.listdir(self.w))
        self.assertEqual(["ready", ".envrc" + ASIDE], sorted(os.listdir(self.path("w/a")), reverse=True), wait)
        self.assertEqual([], self.leftovers())

    @as_everyone
    def test_one_of_them(self):
        for who in ("host", "janitor", "PID 1"):
            run, pids = self.begin()
            os.kill(pids[who], signal.SIGKILL)
            if who == "janitor":
                # The command goes on: its host process has it still, and does the rest when it ends.
                self.assertIsNone(run.poll())
                run.terminate()
            _, err = run.communicate(timeout=20)
            self.is_clean(True)
            if who == "host":
                self.assertTrue(until(lambda: any(name.endswith(".said") for name in self.states())))
                err = self.run_sh("true", WORK).err.encode()
            self.assertIn(b"a/.envrc was made while the command ran", err, who)
            self.assertEqual([], self.states(), who)
            self.assertEqual([("write", "filesystem.protect", self.PLANT)], self.told("a/.envrc"), who)
            self.sh("rm -r a")

    @as_everyone
    def test_the_janitor_and_then_pid_1(self):
        """What PID 1 was ends with it, and is the host's to wait for; nothing stays of it either."""
        for pause in (0, 0.002, 0.02):
            run, pids = self.begin()
            os.kill(pids["janitor"], signal.SIGKILL)
            time.sleep(pause)
            inside = children(pids["PID 1"])
            os.kill(pids["PID 1"], signal.SIGKILL)
            _, err = run.communicate(timeout=20)
            self.assertEqual(125, run.returncode, err)
            self.assertEqual([], [pid for pid in (*pids.values(), *inside) if os.path.exists("/proc/%d" % pid)])
            self.is_clean(True)
            self.assertIn(b"a/.envrc was made while the command ran", err)
            self.assertEqual([], self.states())
            self.told("a/.envrc")
            self.sh("rm -r a")

    @as_everyone
    def test_children_that_are_not_ours(self):
        """A shell that executes us leaves us its jobs: they are nothing of a run's, however that begins or ends."""
        for limit, janitor_dies in (("ulimit -n 5;", False), ("", False), ("", True)):
            run = self.outside("bash", "-c", "sleep 60 & echo $!; %s exec %s run %s -- sleep 0.5" % (limit, BINARY, self.policy(WORK)))
            job = int(run.stdout.readline())
            if janitor_dies:
                self.assertTrue(until(lambda: "srt-lua-janitor" in map(name, children(run.pid)) and
                                      "sleep" in map(name, children(parts(run.pid)[1]))))
                os.kill(parts(run.pid)[0], signal.SIGKILL)
            # The job has the pipes, too.
            self.assertEqual(125 if limit else 0, run.wait(20))
            self.assertTrue(os.path.exists("/proc/%d" % job), (limit, janitor_dies))
            os.kill(job, signal.SIGKILL)

    @as_everyone
    def test_all_at_once(self):
        for clean in ("run", "doctor"):
            run, pids = self.begin()
            for who in ("janitor", "host", "PID 1"):
                os.kill(pids[who], signal.SIGSTOP)
            end(pids.values())
            run.communicate(timeout=20)
            self.assertIn(".bashrc", os.listdir(self.w))
            self.assertEqual(1, len(self.states()))
            until(lambda: not os.path.exists("/proc/%d" % pids["PID 1"]))
            got = self.run_sh("true", WORK) if clean == "run" else self.run_srt(["doctor", "--clean"])
            self.assertEqual(0, got.code, got)
            self.assertIn("a/.envrc was made", got.err + got.out)
            self.is_clean(False)
            self.assertEqual([], self.states())
            self.assertEqual([("write", "filesystem.protect", self.PLANT)], self.told("a/.envrc"), clean)
            self.sh("rm -r a")
        self.assertEqual("nothing was left behind\n", self.run_srt(["doctor", "--clean"]).out)

    @as_everyone
    def test_what_is_told_is_what_the_run_wanted(self):
        """Its own file, its names for the command, and nothing of what it ignores or where it wants none."""
        ignoring = WORK.replace("{", '{ ignoreViolations = { ["a thing"] = { ".vscode" } },', 1)
        for file in (self.path("mine"), "none"):
            run, pids = self.begin(ignoring, self.PLANT.replace("touch", "mkdir a/.vscode; touch", 1),
                                   options=("--violations", file, "--command-id", "7", "--command-text", "a thing"))
            end(pids.values())
            run.communicate(timeout=20)
            until(lambda: not os.path.exists("/proc/%d" % pids["PID 1"]))
            got = self.run_srt(["doctor", "--clean"])
            self.assertIn("a/.envrc was made", got.out)
            if file != "none":
                self.assertEqual([(self.path("w/a/.envrc"), "7", "a thing")], [
                    (e["target"], e["commandId"], e["command"]) for e in map(json.loads, self.read("mine").splitlines())])
            self.sh("rm -r a")
        self.assertFalse(os.path.exists(self.path("home/.local/state/srt-lua/violations")))

    def test_at_any_time(self):
        for step in range(24):
            run = self.start(["sh", "-c", "sleep 60"], WORK)
            time.sleep(step * 0.002)
            end((run.pid, *self.family(run.pid)) if step % 2 else (run.pid,))
            run.communicate()
        until(lambda: not os.listdir(self.w) and not self.leftovers(), 2)
        self.assertEqual(0, self.run_srt(["doctor", "--clean"]).code)
        until(lambda: not os.listdir(self.w) and not self.leftovers(), 2)
        self.assertEqual(([], [], []), (os.listdir(self.w), self.leftovers(), self.states()))

    @as_everyone
    def test_as_soon_as_there_is_a_temporary_directory(self):
        for backend in ("namespaces", "bwrap", "landlock"):
            for _ in range(6):
                run = self.start(["sleep", "60"], WORK.replace("{", '{ backend = "%s",' % backend, 1))
                if not until(self.leftovers, pause=0):
                    self.fail("%s: %s" % (backend, run.communicate(timeout=5)))
                run.kill()
                run.communicate()
                self.assertTrue(until(lambda: not self.leftovers(), 5), (backend, self.leftovers()))
        # Also as soon as there is a state file, which comes first.
        for pause in range(24):
            run = self.start(["sleep", "60"], '{ network = { allowedDomains = { "a.test" } } }')
            until(lambda: self.leftovers() or pause % 2 and self.states(), pause=0)
            time.sleep(pause // 2 / 10000)
            run.kill()
            run.communicate()
            # Nothing else was listed, so the state file goes with it.
            self.assertTrue(until(lambda: not self.leftovers() and not self.states(), 5), (self.leftovers(), self.states()))

    def family(self, pid):
        mine = children(pid)
        return mine + [grandchild for child in mine for grandchild in self.family(child)]

    @as_everyone
    def test_what_the_user_made_meanwhile(self):
        for kill in (False, True):
            run, pids = self.begin(script="mkdir a; touch a/ready; while [ ! -e a/go ]; do sleep 0.02; done")
            self.sh("chmod 755 .vscode; echo mine > .vscode/settings.json; rmdir .idea .bashrc; echo mine > .bashrc")
            if kill:
                end(pids.values())
                run.communicate(timeout=20)
                until(lambda: not os.path.exists("/proc/%d" % pids["PID 1"]))
                self.run_srt(["doctor", "--clean"])
            else:
                self.write("w/a/go")
                run.communicate(timeout=20)
            self.assertEqual("mine\n", self.read("w/.vscode/settings.json"))
            # Somebody cleared the place, so it may have come from inside as well.
            self.assertEqual("mine\n", self.read("w/.bashrc" + ASIDE))
            self.assertEqual([".bashrc" + ASIDE, ".vscode", "a"], sorted(os.listdir(self.w)))
            self.sh("rm -r a .vscode .bashrc*")

    def test_a_placeholder_that_others_have_locked(self):
        """Whoever can read it can lock it: nobody waits for that without an end, and a run does not begin."""
        run, pids = self.begin()
        place = os.open(self.path("w/.bashrc"), os.O_RDONLY)
        fcntl.flock(place, fcntl.LOCK_SH)
        run.kill()
        run.communicate(timeout=20)
        self.assertTrue(until(lambda: not os.path.exists(self.path("w/.bash_profile")), 20))
        # A lock that can't be had at once is lost, so not before the last of the run has ended.
        self.assertTrue(until(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in pids.values()), 20))
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        got = self.run_srt(["true"], WORK)
        self.assertEqual(125, got.code, got)
        self.assertRegex(got.err, r"cannot hold the place of \S+/w/\.bashrc, which another process keeps locked \(lslocks\)")
        os.close(place)
        self.assertEqual(0, self.run_srt(["true"], WORK).code)
        self.assertNotIn(".bashrc", os.listdir(self.w))

    @as_everyone
    def test_parallel_runs(self):
        first, pids = self.begin()
        second = self.popen("sh", "-c", "touch a/second; while [ ! -e a/go ]; do sleep 0.02; done; echo x > .zshrc; echo $?",
                            policy=WORK)
        self.assertTrue(until(lambda: os.path.exists(self.path("w/a/second"))))
        end(pids.values())
        first.communicate()
        until(lambda: not os.path.exists("/proc/%d" % pids["PID 1"]))
        self.run_srt(["doctor", "--clean"])
        self.assertIn(".zshrc", os.listdir(self.w))
        self.write("w/a/go")
        out, _ = second.communicate(timeout=20)
        self.assertNotEqual(b"0\n", out)
        self.assertEqual(["a"], os.listdir(self.w))
        self.assertEqual([], self.states())

    @as_everyone
    def test_states_of_others_are_not_believed(self):
        folder = self.path("home/.local/state/srt-lua")
        text = b"temp\0" + self.path("tmp/srt-lua-" + "0" * 32).encode() + b"\0place\0" + self.w.encode() + b"\0"
        victim = self.path("tmp/srt-lua-" + "0" * 32)
        os.makedirs(victim)
        self.write("home/.local/state/srt-lua/" + "a" * 32 + ".run", text, 0o666)
        self.own(self.dir)
        os.chmod(folder, 0o700)
        self.run_sh("true", WORK)
        self.assertTrue(os.path.exists(victim))
        os.chmod(os.path.join(folder, "a" * 32 + ".run"), 0o600)
        os.chmod(folder, 0o777)
        got = self.run_sh("true", WORK)
        self.assertEqual(0, got.code, got)
        self.assertTrue(os.path.exists(victim))
        os.chmod(folder, 0o700)
        self.run_sh("true", WORK)
        self.assertFalse(os.path.exists(victim))
        self.assertTrue(os.path.exists(self.w))

    @as_everyone
    def test_a_state_that_a_power_cut_has_left(self):
        for text in (b"", b"temp", b"temp\0/\0place\0/\0place\0relative\0base\0x:/\0base\0003:/nowhere\0\0\0x"):
            self.write("home/.local/state/srt-lua/" + "b" * 32 + ".run", text, 0o600)
            os.chmod(self.path("home/.local/state/srt-lua"), 0o700)
            got = self.run_sh("true", WORK)
            self.assertEqual(0, got.code, got)
            self.assertEqual([], self.states())

    @as_everyone
    def test_where_there_is_no_home(self):
        for env in ({"HOME": "/nonexistent"}, {"HOME": "/dev/null"}, {"XDG_STATE_HOME": self.path("tmp")}):
            got = self.run_sh("ls -A $TMPDIR", WORK, env=env)
            self.assertEqual((0, ""), (got.code, got.out), got)
            self.sh("cd %s; rmdir srt-lua/violations srt-lua 2>/dev/null || true" % self.tmp)
            self.assertEqual([], self.leftovers(), env)


if __name__ == "__main__":
    main()
