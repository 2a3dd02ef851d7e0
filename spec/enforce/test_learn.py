# SPDX-License-Identifier: Apache-2.0
"""learn: a policy is written by which the same command works again, and that says what it gives."""
import http.server
import os
import signal
import threading

from lib import as_everyone, as_only, main, need
from running import Running, sleeper, tag, until


class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


class Learning(Running):
    def fresh(self):
        super().fresh()
        self.out = self.path("learned.lua")

    def learn(self, command, *options, code=0, write=True, **more):
        """Learns from a script or a command; the policy's text."""
        command = ["sh", "-c", command] if isinstance(command, str) else command
        if os.path.exists(self.out):
            os.unlink(self.out)
        options = (*(("--write", self.dir) if write else ()), "-o", self.out, *options)
        self.got = self.run_srt(["learn", *options, "--", *command], **more)
        self.assertEqual(code, self.got.code, self.got)
        with open(self.out, "rb") as file:
            text = file.read().decode("utf-8")
        checked = self.run_srt(["check", self.out])
        self.assertEqual(0, checked.code, (text, checked))
        return text

    def again(self, command, code=0, **more):
        """Runs under what was learned."""
        command = ["sh", "-c", command] if isinstance(command, str) else command
        got = self.run_srt(["run", self.out, "--", *command], **more)
        self.assertEqual(code, got.code, (got, self.read("learned.lua")))
        return got

    def both(self, script, before="true", *options, **more):
        """Learns from a script, and runs it again in a tree as it was."""
        self.sh(before)
        text = self.learn(script, *options, **more)
        self.sh("rm -rf ./* ./.[!.]*; " + before)
        self.again(script)
        return text

    def server(self):
        """A web server on the host's loopback; its port."""
        served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
        threading.Thread(target=served.serve_forever, daemon=True).start()
        self.addCleanup(served.server_close)
        self.addCleanup(served.shutdown)
        return served.server_port


class Files(Learning):
    @as_everyone
    def test_project_and_cache(self):
        os.mkdir(self.path("home/.cache"))
        self.own(self.home)
        text = self.both("set -e; echo x >f; mkdir -p a/b; echo x >a/b/c; mv f g; chmod 600 g; rm g; ln -s a l;"
                         "mkdir -p ~/.cache/tool; echo x >~/.cache/tool/f")
        self.assertIn('"workspace", --', text)
        self.assertIn('"~/.cache/tool", --', text)
        self.assertEqual(1, text.count("~/"), text)
        self.assertNotIn(self.home, text)
        got = self.run_srt(["run", self.out, "--", "sh", "-c", "echo x >../other"])
        self.assertNotEqual(0, got.code)

    @as_everyone
    def test_what_is_named(self):
        """Files that were there, by themselves; what was made by its folder; nothing for what was only read."""
        for name in ("data/one", "data/two", "deep/x/y", "home/.toolrc", "home/.config/tool/a", "many/1", "many/2", "many/3"):
            self.write(name, "x")
        text = self.learn("cd ..; echo x >data/one; cat data/two; : >deep/x/new; echo y >>~/.toolrc;"
                          "echo y >~/.config/tool/a; for i in 1 2 3; do echo >many/$i; done; echo x >$TMPDIR/t")
        for entry in ('"%s/data/one"' % self.dir, '"%s/deep/x"' % self.dir, '"~/.toolrc"', '"~/.config/tool/a"',
                      '"%s/many"' % self.dir):
            self.assertIn("      %s, --" % entry, text)
        self.assertEqual(5, text.count(", by dash\n"), text)
        self.assertNotIn("data/two", text)

    @as_everyone
    def test_never_all_of_home(self):
        script = "echo x >~/made; echo x >~/gone; rm ~/gone; mkdir ~/.tool; echo x >~/.tool/f"
        text = self.learn(script)
        self.assertIn('      "~/made", --', text)
        self.assertIn('      "~/.tool", --', text)
        self.assertIn('      -- "~/gone", --', text)
        for line in text.splitlines():
            self.assertNotIn(line.strip().split(",")[0], ('"~"', '"%s"' % self.home, '"/"', '"/home"'))
        self.again("echo x >~/made && echo x >~/.tool/g")

    @as_everyone
    def test_tools_folders(self):
        """What is in node_modules, target or .git is the project's."""
        self.sh("mkdir -p sub node_modules/a target/debug .git")
        self.learn("cd ..; echo x >node_modules/a/f; echo x >target/debug/f", cwd=self.path("w/sub"))
        text = self.read("learned.lua")
        self.assertIn('      "%s", --' % self.w, text)
        self.assertEqual(1, text.count(" written, by"), text)

    @as_everyone
    def test_strange_names(self):
        names = [b"new\nline", b'quo"te\'s\\', b"inv\xff\xfealid", b"glob*[x]?", b"~tilde", b"$dollar", b"-dash",
                 b"]] --[[", "bidi\u202e".encode(), "\u00fcml\u00e4ut".encode(), b"\r\x1b[31m", b"%s"]
        for i, name in enumerate(names):
            folder = os.path.join(os.fsencode(self.w), b"d%d" % i, name)
            os.makedirs(folder)
            with open(os.path.join(folder, name), "wb"):
                pass
        self.own(self.w)
        # Too few in each folder to be folded, and no project.
        script = 'for d in ../w/d*; do for e in "$d"/* "$d"/.[!.]*; do [ -d "$e" ] || continue;' \
                 'for f in "$e"/* ; do echo x >"$f" || exit 1; done; done; done'
        os.mkdir(self.path("cwd"))
        self.own(self.path("cwd"))
        text = self.learn(script.replace("../w", self.w), cwd=self.path("cwd"))
        self.assertEqual(len(names), text.count('", -- written') + text.count("}, -- written"), text)
        self.assertFalse(set(text) & set("\r\x1b\u202e"), text)
        self.again(script.replace("../w", self.w), cwd=self.path("cwd"))
        # Relative ones.
        text = self.learn("rm -rf ./*/* && " + script.replace("../w/d*", "d0 d4 d5"), "--force")
        self.again("true")

    @as_everyone
    def test_git(self):
        need("git")
        script = "set -e; git init -q .; echo x >f; git add f; git -c user.name=n -c user.email=e@x commit -qm m"
        text = self.both(script)
        self.assertIn('"workspace"', text)
        self.assertIn("git", text)

    @as_everyone
    def test_npm(self):
        need("npm")
        pack = ("mkdir -p p/package && echo '{\"name\":\"p\",\"version\":\"1.0.0\"}' >p/package/package.json &&"
                "tar czf p.tgz -C p package && echo '{\"name\":\"w\",\"version\":\"1.0.0\"}' >package.json")
        text = self.both("npm install --offline --no-audit ./p.tgz >/dev/null", pack, timeout=120)
        self.assertIn('"workspace"', text)
        self.assertTrue(os.path.exists(self.path("w/node_modules/p/package.json")))

    @as_everyone
    def test_nothing(self):
        text = self.learn("true")
        self.assertNotIn("allow", text)
        self.again("true")
        self.assertNotEqual(0, self.run_srt(["run", self.out, "--", "sh", "-c", ": >x"]).code)

    @as_only("user")
    def test_everything_may_be_written(self):
        """Without --write; as root this would hold places in / for all who use this machine now."""
        self.write("more/mine", "x")
        text = self.learn("echo x >f; echo x >../more/other; (: >/etc/passwd) 2>/dev/null; true", write=False)
        self.assertEqual("x\n", self.read("more/other"))
        self.assertIn('"workspace"', text)
        self.assertIn('"%s/more", --' % self.dir, text)
        self.assertNotIn("/etc", text)

    @as_everyone
    def test_tar(self):
        """Its way to make files is not observed otherwise."""
        need("tar")
        self.sh("mkdir -p t/d; : >t/d/a; tar cf ../t.tar -C t d/a; mkdir ../into ../into/d; rm -r t")
        for options in ((), ("--no-reads",)):
            text = self.learn("tar xf ../t.tar -C ../into", *options)
            self.assertIn('"%s/into/d", --' % self.dir, text)
            self.sh("rm ../into/d/a")
            self.again("tar xf ../t.tar -C ../into")
            self.sh("rm ../into/d/a")

    @as_everyone
    def test_many_paths(self):
        """None is lost, though many come at once."""
        text = self.learn(["python3", "-c", "for i in range(8000): open('f%d' % i, 'w').close()"], timeout=120)
        self.assertNotIn("COMPLETE", text)
        self.assertIn("8000 written", text)


class Credentials(Learning):
    def lines_before(self, text, entry):
        lines = text.splitlines()
        (at,) = [i for i, line in enumerate(lines) if line.strip().startswith(entry)]
        return lines[at], lines[at - 1]

    @as_everyone
    def test_read(self):
        for name in (".netrc", ".ssh/id", ".aws/credentials"):
            self.write("home/" + name, "secret")
        self.write("w/.env", "secret")
        text = self.learn("cat ~/.netrc .env; cd ~/.ssh; cat id")
        for entry in ('-- "~/.netrc"', '-- ".env"', '-- "~/.ssh"'):
            self.assertIn("!!! CREDENTIALS were READ, by cat", self.lines_before(text, entry)[1])
        self.assertIn('\n      "~/.aws",', text)
        self.again("cat ~/.netrc .env ~/.ssh/id")
        self.assertNotEqual(0, self.run_srt(["run", self.out, "--", "sh", "-c", "cat ~/.aws/credentials"]).code)

    @as_everyone
    def test_by_a_link(self):
        self.write("home/dotfiles/aws/credentials", "secret")
        os.symlink("dotfiles/aws", self.path("home/.aws"))
        self.own(self.home)
        text = self.learn("cat ~/.aws/credentials")
        self.assertIn("CREDENTIALS were READ", text)
        self.assertIn('-- "~/.aws"', text)

    @as_everyone
    def test_written(self):
        for name in (".netrc", ".cargo/credentials.toml", ".docker/config.json"):
            self.write("home/" + name, "secret")
        text = self.learn("echo x >>~/.netrc; mkdir ~/.cargo/registry; echo x >~/.docker/config.json")
        for entry in ('"~/.netrc"', '"~/.docker/config.json"'):
            self.assertIn("!!! CREDENTIALS", self.lines_before(text, entry)[1])
        self.assertIn('      "~/.cargo", --', text)
        # Within what is allowed, and not touched.
        self.assertIn('      "~/.cargo/credentials.toml",\n', text)
        self.again("echo x >>~/.netrc; echo x >>~/.docker/config.json")
        got = self.run_srt(["run", self.out, "--", "sh", "-c", "echo x >>~/.cargo/credentials.toml"])
        self.assertNotEqual(0, got.code)

    @as_everyone
    def test_not_watched(self):
        self.write("home/.netrc", "secret")
        text = self.learn("cat ~/.netrc", "--no-reads")
        self.assertIn("was read was not watched", text)
        self.assertNotIn("netrc", text)

    @as_everyone
    def test_arguments_stay_out(self):
        self.assertNotIn("TOKEN", self.learn(["sh", "-c", ": TOKEN", "TOKEN"]))


class Network(Learning):
    FETCH = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=20).read())"

    def fetch(self, url):
        return ["python3", "-c", self.FETCH, url]

    @as_everyone
    def test_loopback(self):
        port = self.server()
        for host, also in (("127.0.0.1", ""), ("localhost", "")):
            with self.subTest(host=host):
                text = self.learn(self.fetch("http://%s:%d/" % (host, port)))
                self.assertIn("hello", self.got.out)
                self.assertIn('      "127.0.0.1:%d", --' % port, text)
                self.assertIn("python3", text)
                self.assertIn("hello", self.again(self.fetch("http://%s:%d/" % (host, port))).out)
                other = self.server()
                self.assertNotEqual(0, self.run_srt(["run", self.out, "--", *self.fetch("http://127.0.0.1:%d/" % other)]).code)

    @as_everyone
    def test_without_a_proxy(self):
        port = self.server()
        command = ["python3", "-c", "import socket; s = socket.create_connection(('127.0.0.1', %d), 20);"
                   "s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); print(s.makefile('rb').read())" % port]
        self.assertIn('"127.0.0.1:%d", -- loopback' % port, self.learn(command))
        self.assertIn("200", self.again(command).out)

    @as_everyone
    def test_own_servers(self):
        """What the command serves itself is not the host's."""
        text = self.learn(["python3", "-c", "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen();"
                           "socket.create_connection(s.getsockname()).close()"])
        self.assertNotIn("allowedDomains", text)

    @as_everyone
    def test_metadata(self):
        for host in ("169.254.169.254", "metadata.google.internal"):
            text = self.learn(self.fetch("http://%s/latest" % host), code=1)
            self.assertNotIn("allowedDomains", text)
            self.assertIn("--   connect %s:80: " % host, text)

    @as_everyone
    def test_sockets(self):
        text = self.learn(["python3", "-c", "import socket\ntry: socket.socket(socket.AF_UNIX)\nexcept OSError: pass"])
        self.assertIn('      -- "/path/of/the/socket", -- a Unix socket was tried', text)


class TheCommand(Learning):
    @as_everyone
    def test_exit_status(self):
        text = self.learn("echo x >f; exit 3", code=3)
        self.assertIn('"workspace"', text)
        self.learn("kill -9 $$", code=137)

    @as_everyone
    def test_not_run(self):
        got = self.run_srt(["learn", "-o", self.out, "--write", self.w, "--", "no-such-command"])
        self.assertEqual(127, got.code)
        self.assertFalse(os.path.exists(self.out))

    @as_everyone
    def test_interrupted(self):
        word = tag()
        process = self._kept(self.start(["learn", "-o", self.out, "--write", self.w, "--", "sh", "-c",
                                         "echo x >f; sleep " + word], start_new_session=True))
        self.assertTrue(until(lambda: sleeper(word)))
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(-signal.SIGINT, process.wait(30))
        self.assertIn('"workspace"', self.read("learned.lua"))

    @as_everyone
    def test_where_it_goes(self):
        learn = ["learn", "--write", self.dir]
        got = self.run_srt([*learn, "sh", "-c", "echo mine"])
        self.assertEqual((0, "mine\n"), (got.code, got.out))
        before = self.read("w/policy.lua")
        got = self.run_srt([*learn, "touch", "made"])
        self.assertEqual(125, got.code)
        self.assertIn("policy.lua is there already", got.err)
        self.assertFalse(os.path.exists(self.path("w/made")))
        self.assertEqual(0, self.run_srt([*learn, "--force", "touch", "made"]).code)
        self.assertNotEqual(before, self.read("w/policy.lua"))

    @as_everyone
    def test_planted(self):
        """What the command puts in the policy's place is not followed, and not overwritten."""
        self.write("precious", "mine")
        for script in ("ln -s %s out.lua" % self.path("precious"), "echo theirs >out.lua", "mkdir out.lua"):
            self.sh("rm -rf out.lua")
            got = self.run_srt(["learn", "--write", self.dir, "-o", "out.lua", "sh", "-c", script])
            self.assertEqual(125, got.code, got)
            self.assertIn("came to be while the command ran", got.err)
            self.assertIn('"workspace"', got.err)
        self.assertEqual("mine", self.read("precious"))

    @as_everyone
    def test_usage(self):
        for args in ([], ["--what", "true"], ["-o"], ["--write", "/no/such", "true"], ["-o", "no/such/dir", "true"],
                     ["-o", "-", "true"], ["-c", "true", "--", "true"]):
            self.assertEqual(125, self.run_srt(["learn", *args]).code, args)
        self.assertEqual(0, self.run_srt(["learn", "--help"]).code)


class Protected(Learning):
    @as_everyone
    def test_told(self):
        """Protected names stay closed, and the policy says so."""
        text = self.learn("echo x >f; (echo x >.envrc) 2>/dev/null; true")
        self.assertIn("--   write %s/.envrc: " % self.w, text)
        self.assertFalse(os.path.exists(self.path("w/.envrc")))

    @as_everyone
    def test_elsewhere(self):
        """With --write the rest is denied, and told."""
        text = self.learn("(echo x >../out) 2>/dev/null; echo x >f", "--write", self.w, write=False)
        self.assertIn("--   write %s/out: " % self.dir, text)


if __name__ == "__main__":
    main()
