# SPDX-License-Identifier: Apache-2.0
"""Real programs do their real work under a policy."""
import os
import subprocess

from lib import BINARY, Case, as_everyone, has, main, need, need_root

WORK = '{ filesystem = { allowWrite = { "." } } }'


class Programs(Case):
    def works(self, script, want=None, policy=WORK, **more):
        got = self.run_sh("set -e\n" + script, policy, timeout=180, **more)
        self.assertEqual(0, got.code, (self.user, got))
        if want is not None:
            self.assertEqual(want, got.out, got)
        return got

    @as_everyone
    def test_git(self):
        need("git")
        self.works("""git init -q r; cd r; git config user.name n; git config user.email e; echo a >f; git add f
            git commit -qm one; echo b >>f; git diff --stat | cat; git commit -qam two; git gc -q; git branch side
            git checkout -q side; git rebase -q master 2>/dev/null || git rebase -q main; git stash list; cd ..
            git clone -q r c; git -C c log --oneline | wc -l; git -C c fsck --no-progress""")
        self.assertTrue(os.path.exists(self.path("w/c/f")))

    @as_everyone
    def test_git_with_protected_hooks(self):
        need("git")
        self.sh("git init -q .; git config user.name n; git config user.email e")
        got = self.works("""echo a >f; git add f; git commit -qm one; git gc -q; git log --oneline | wc -l
            (echo x >.git/hooks/pre-commit) 2>/dev/null || echo refused; git config x.y 1 2>/dev/null || echo refused""",
                         policy='{ filesystem = { allowWrite = { "." }, denyWrite = { ".git/hooks", ".git/config" } } }')
        self.assertEqual("1\nrefused\nrefused\n", got.out)
        self.sh("git config x.y 1; git status --porcelain")

    @as_everyone
    def test_c_build(self):
        need("make"), need("cc")
        self.write("w/Makefile", "all: prog\n\t./prog\nprog: a.o b.o\n\tcc -o $@ $^\n%.o: %.c\n\tcc -c $<\nclean:\n\trm -f *.o prog\n")
        self.write("w/a.c", "#include <stdio.h>\nint b(void);\nint main(void) { printf(\"%d\\n\", b()); return 0; }\n")
        self.write("w/b.c", "int b(void) { return 42; }\n")
        got = self.works("make -j2 2>&1; make clean >/dev/null")
        self.assertTrue(got.out.endswith("42\n"), got)

    @as_everyone
    def test_python(self):
        code = """import multiprocessing, os, sqlite3, subprocess, tempfile, threading
def square(n): return n * n
if __name__ == "__main__":
    print(subprocess.run(["echo", "sub"], capture_output=True, text=True).stdout.strip())
    threads = [threading.Thread(target=print, args=("thread",)) for _ in range(2)]
    [t.start() for t in threads]; [t.join() for t in threads]
    with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(square, [1, 2, 3]))
    db = sqlite3.connect("db"); db.execute("create table t (a)"); db.execute("insert into t values (1)"); db.commit()
    print(db.execute("select * from t").fetchall())
    with tempfile.TemporaryDirectory() as d: open(os.path.join(d, "f"), "w").close(); print("temp")"""
        self.write("w/p.py", code)
        self.works("/usr/bin/python3 p.py", "sub\nthread\nthread\n[1, 4, 9]\n[(1,)]\ntemp\n")

    @as_everyone
    def test_python_venv(self):
        python = "/usr/bin/python3"
        self.works("%s -m venv --without-pip v; v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'" % python, "True\n")

    @as_everyone
    def test_node(self):
        node = need("node")
        self.write("w/t.js", """const { Worker, isMainThread, parentPort } = require('worker_threads');
const fs = require('fs'), os = require('os'), { execSync } = require('child_process');
if (!isMainThread) parentPort.postMessage('worker'); else {
  console.log(execSync('echo child').toString().trim(), Object.keys(os.networkInterfaces()).join());
  fs.writeFileSync('out', 'x'); fs.promises.readFile('out').then(() => new Worker(__filename)
    .on('message', console.log)); }\n""")
        self.works("'%s' t.js" % os.path.realpath(node), "child lo\nworker\n")

    @as_everyone
    def test_npm_install_from_a_tarball(self):
        need("npm")
        self.write("pkg/package.json", '{"name": "tiny", "version": "1.0.0", "main": "i.js"}')
        self.write("pkg/i.js", "module.exports = 7;\n")
        self.sh("tar czf tiny.tgz -C .. --transform s/^pkg/package/ pkg")
        self.write("w/package.json", '{"name": "user", "version": "1.0.0"}')
        self.works("npm install --offline --no-audit --no-fund --cache ./cache ./tiny.tgz >/dev/null; "
                   "node -e \"console.log(require('tiny'))\"", "7\n")

    @as_everyone
    def test_tar(self):
        self.write("w/d/f", "x" * 100000)
        self.sh("ln -s f d/l; ln d/f d/h; chmod 640 d/f")
        self.works("tar czf t.tgz d; mkdir o; tar xzpf t.tgz -C o; cmp d/f o/d/f; stat -c %a o/d/f; readlink o/d/l; cp -a d e; "
                   "stat -c %h e/f", "640\nf\n2\n")

    def test_tar_keeps_owners_for_root(self):
        need_root("what it does, only root may")
        self.write("w/d/f", "x")
        subprocess.run(["chown", "1234:4321", self.path("w/d/f")], check=True)
        self.works("tar cf t.tar d; mkdir o; tar xpf t.tar -C o; stat -c %u:%g o/d/f; chown 5:6 d/f; stat -c %u:%g d/f",
                   "1234:4321\n5:6\n")

    def test_a_workspace_of_another_user_for_root(self):
        """A bind-mounted folder in a container: root works in what belongs to somebody else."""
        need_root("what it does, only root may")
        need("git")
        self.write("w/d/f", "x")
        subprocess.run(["chown", "-R", "1000:1000", self.w], check=True)
        os.chmod(self.path("w/d"), 0o700)
        os.chmod(self.path("w/d/f"), 0o600)
        self.works("""cat d/f; echo y >>d/f; touch new d/new; chown 1000:1000 new; chmod 600 d/f; mv d/f d/g; ln d/g d/h
            rm -r d; mkdir e; chown 1234 e; touch e/f; stat -c %u e; git init -q r; cd r; git config user.name n
            git config user.email e; echo a >f; git add f; git commit -qm one; git log --oneline | wc -l""", "x1234\n1\n")
        self.assertEqual(1000, os.stat(self.path("w/new")).st_uid)

    @as_everyone
    def test_find_everything(self):
        """Whatever is mounted where: no crash, no hang, nothing lost."""
        got = self.run_sh("find / -xdev 2>/dev/null | wc -l; exit 0", "{}", timeout=300)
        outside = int(self.sh("find / -xdev 2>/dev/null | wc -l"))
        self.assertEqual(0, got.code, got)
        self.assertGreater(int(got.out), outside * 0.95)

    @as_everyone
    def test_here_documents(self):
        script = "cat <<E; cat <<<word\nhere\nE\n"
        self.write("w/doc.sh", script)
        self.works("bash doc.sh", "here\nword\n")
        if has("zsh"):
            self.works("zsh -f doc.sh; zsh -fc 'echo $TMPPREFIX | grep -c srt-lua'", "here\nword\n1\n")

    @as_everyone
    def test_copies(self):
        self.sh("mkdir -p d/e; echo x >d/e/f; ln -s e/f d/l; chmod 750 d/e; touch -d '2001-02-03 04:05:06' d/e/f")
        self.works("cp -a d c; stat -c '%a %Y' d/e d/e/f | md5sum; stat -c '%a %Y' c/e c/e/f | md5sum; readlink c/l; diff -r d c")
        if has("rsync"):
            self.works("rsync -a d/ r/; diff -r d r")

    @as_everyone
    def test_shells(self):
        self.works("bash -c 'cat <<<here; cat < <(echo process); echo $((6*7))'", "here\nprocess\n42\n")
        if has("zsh"):
            self.works("zsh -fc 'cat <<<x; cat <(echo y)'", "x\ny\n")
        self.works("mktemp >/dev/null; d=$(mktemp -d); touch $d/f; rm -r $d; printf '%s\\n' 'a b' '$HOME' '*'", "a b\n$HOME\n*\n")

    @as_everyone
    def test_arguments_are_not_parsed_again(self):
        got = self.run_srt(["printf", "%s\\n", "a b", "$HOME", "*", "", "-x", "--"], "{}")
        self.assertEqual("a b\n$HOME\n*\n\n-x\n--\n", got.out)
        got = self.run_srt(["run", self.policy("{}"), "-c", "echo $((1+1)); exit 7"])
        self.assertEqual(("2\n", 7), (got.out, got.code))

    @as_everyone
    def test_ssh_keygen(self):
        need("ssh-keygen")
        if self.user == "user":
            # ssh-keygen wants its user to have an entry.
            return
        self.works("ssh-keygen -q -t ed25519 -N '' -f key; test -s key.pub; ssh -V 2>&1 | cut -c1-7", "OpenSSH\n")

    @as_everyone
    def test_interactive_shell_in_tmux(self):
        tmux = need("tmux")
        name = "srt-enforce-%d-%s" % (os.getpid(), self.user)
        command = "%s run %s -- bash --norc -i" % (BINARY, self.policy(WORK))
        socket = self.path("tmux.sock")

        def tell(*words):
            return self.on_host([tmux, "-S", socket, *words], {"TERM": "screen"}, text=True)

        started = tell("-f", "/dev/null", "new-session", "-d", "-s", name, "-x", "100", "-y", "30", command)
        self.assertEqual(0, started.returncode, started.stderr)
        try:
            import time
            tell("send-keys", "-t", name, "echo in$((40+2))side; stty size; touch made; sleep 100", "Enter")
            deadline = time.time() + 15
            while "in42side" not in (screen := tell("capture-pane", "-p", "-t", name).stdout) and time.time() < deadline:
                time.sleep(0.1)
            self.assertIn("in42side", screen)
            # Between two commands the terminal has no group that could be interrupted.
            while tell("display", "-p", "-t", name, "#{pane_current_command}").stdout != "sleep\n" and time.time() < deadline:
                time.sleep(0.1)
            tell("send-keys", "-t", name, "C-c")
            tell("send-keys", "-t", name, "echo after$?", "Enter")
            while "after130" not in (screen := tell("capture-pane", "-p", "-t", name).stdout) and time.time() < deadline:
                time.sleep(0.1)
            self.assertIn("after130", screen)
            self.assertIn("30 100", screen)
            tell("send-keys", "-t", name, "exit 3", "Enter")
            while tell("has-session", "-t", name).returncode == 0 and time.time() < deadline:
                time.sleep(0.1)
            self.assertNotEqual(0, tell("has-session", "-t", name).returncode)
        finally:
            tell("kill-server")
        self.assertTrue(os.path.exists(self.path("w/made")))


if __name__ == "__main__":
    main()
