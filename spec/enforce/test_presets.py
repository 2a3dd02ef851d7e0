# SPDX-License-Identifier: Apache-2.0
"""Real tools under the ready-made policies, asking for the public names that these policies list."""
import os
import shutil
import subprocess

import test_connect
from lib import PATH, Case, as_everyone, main, need
from parents import Parent
from registries import APT, Registries
from running import until
from server import ADDRESS
from site_ import Site

PYTHON = "/usr/bin/python3"

# Each line of output is told by its first word.
SCRIPT = r"""
npm install --no-audit --loglevel=error --fetch-retries=0 tiny >&2 && echo npm $(node -p 'require("tiny")')
{python} -m pip install -q --target p tiny >&2 && echo pip $(PYTHONPATH=p {python} -c 'import tiny; print(tiny.said)')
git clone -q https://github.com/a/repo.git got && echo clone $(cat got/README)
cd got && git -c user.name=n -c user.email=e commit -q --allow-empty -m second
git push -q origin HEAD 2>&1 | sed 's/^/push /'; cd ..
curl -sS -o /dev/null -w 'get %{{http_code}}\n' https://api.github.com/repos
curl -sS -X PATCH https://api.github.com/repos | sed -n '1s/^/patch /p'
ls -A ~/.npm/_npx; cat ~/.npmrc 2>&1 | sed 's/.*: /npmrc /'; touch ~/.npm/_npx/x 2>&1 | sed 's/.*: /npx /'
"""

OPTIONAL = {
    "go": "go mod download far.test/tiny && echo go $(tail -1 ~/go/pkg/mod/far.test/tiny@v1.0.0/t.go); chmod -R u+w ~/go/pkg",
    "cargo": "(cd rust && cargo fetch -q) && echo cargo $(cat ~/.cargo/registry/src/*/tiny-1.0.0/src/lib.rs)",
}


class Packages(Case):
    def usable(self, name):
        path = shutil.which(name, path=PATH)
        return path and (self.user == "root" or os.stat(path).st_mode & 5 == 5 and not path.startswith("/root/"))

    def prepare(self, there):
        there.place("registry.npmjs.org").npm()
        there.python(), there.cargo(), there.go()
        there.place("github.com", "a").git()
        there.place("api.github.com").file("repos", "[]")
        for folder in (".npm/_npx", ".cache/pip", ".cache/go-build", "go/pkg", ".cargo/registry", ".cargo/git"):
            os.makedirs(os.path.join(self.home, folder))
        self.write("home/.npmrc", "//registry.npmjs.org/:_authToken=secret\n")
        self.write("w/go.mod", "module a\n\nrequire far.test/tiny v1.0.0\n")
        self.write("w/rust/Cargo.toml", '[package]\nname = "a"\nversion = "1.0.0"\n[dependencies]\ntiny = "1"\n')
        self.write("w/rust/src/lib.rs", "")
        self.own(self.dir)

    @as_everyone
    def test_install_and_clone(self):
        for tool in ("npm", "node", "git", "curl"):
            need(tool)
        with Registries(self.path("public")) as there:
            self.prepare(there)
            policy = '{ extends = { "workspace", "no-secrets", "npm", "pypi", "cargo", "go", "github-readonly" }, network = { %s, %s } }' % (
                there.trust, there.network)
            optional = [name for name in OPTIONAL if self.usable(name)]
            script = "\n".join([SCRIPT.format(python=PYTHON), *(OPTIONAL[name] for name in optional)])
            env = {"GOFLAGS": "-mod=mod", "GONOSUMDB": "*"}
            if "cargo" in optional and os.path.isdir("/root/.rustup"):
                env["RUSTUP_HOME"] = "/root/.rustup"
            got = self.run_sh(script, policy, timeout=240, env=env)
            told = {line.split(" ", 1)[0]: line for line in got.out.splitlines()}
            want = {"npm": "npm from npm", "pip": "pip from pip", "clone": "clone from git", "get": "get 200",
                    "npmrc": "npmrc Permission denied", "npx": "npx Read-only file system"}
            if "go" in optional:
                want["go"] = 'go const Said = "from go"'
            if "cargo" in optional:
                want["cargo"] = "cargo // from cargo"
            self.assertEqual(want, {name: told.get(name) for name in want}, got)
            self.assertIn("PATCH: GitHub is read-only here", told["patch"])
            self.assertIn("403", told["push"])
            self.assertIn("GET github.com/a/repo.git/info/refs?service=git-upload-pack", there.seen)
            self.assertFalse([line for line in there.seen if "receive-pack" in line or line.startswith("PATCH")], there.seen)

    @as_everyone
    def test_apt(self):
        need("apt-get"), need("dpkg-deb")
        with Registries(self.path("public")) as there:
            there.apt()
            policy = '{ extends = { "workspace", "apt-cache" }, network = { %s } }' % there.network
            # An archive of the test's own, and no other user than the caller, as there is no other inside.
            self.write("w/apt.conf", "\n".join((
                'Dir::State "%s/s";' % self.w, 'Dir::Cache "%s/c";' % self.w, 'Dir::Etc "%s";' % self.w,
                'APT::Sandbox::User "root";',
                'Dir::State::status "%s/s/status";' % self.w, 'Acquire::Retries "0";')) + "\n")
            self.write("w/sources.list", "deb [trusted=yes] http://%s/ ./\ndeb [trusted=yes] http://other.test/ ./\n" % APT)
            got = self.run_sh("mkdir -p s/lists/partial c/archives/partial; touch s/status; export APT_CONFIG=$PWD/apt.conf; "
                              "apt-get update 2>&1; apt-cache search tiny; apt-get download -q tiny && ls *.deb", policy)
            self.assertIn("\ntiny - t\n", got.out, got)
            self.assertIn("tiny_1.0_all.deb", got.out, got)
            self.assertIn("other.test", got.out)
            self.assertIn("403", got.out)


class Browser(Case):
    @as_everyone
    def test_a_page(self):
        """Its own sandbox in ours; what the page fetches elsewhere is denied, and the user's own profile unread."""
        browser = need("chromium-headless-shell")
        with Site(self.path("site")) as site, Parent(names={"far.test:80": (ADDRESS, site.port)}) as parent:
            site.file("page.html", "<p id=a></p><script>document.getElementById('a').textContent = 'sum ' + 6 * 7</script>"
                      "<img src=http://evil.test/x>")
            self.write("home/.config/chromium/Default/Cookies", "a")
            policy = """{ extends = { "browser-headless" },
              network = { allowedDomains = { "far.test:80" }, parentProxy = { http = "%s" } } }""" % parent.url
            got = self.run_sh('%s --headless %s --user-data-dir="$TMPDIR/profile" --dump-dom http://far.test/page.html 2>/dev/null; '
                              "cat ~/.config/chromium/Default/Cookies" % (browser, "--no-sandbox" if self.user == "root" else ""), policy)
            self.assertIn('<p id="a">sum 42</p>', got.out, got)
            self.assertIn("Cookies: Permission denied", got.err)
            self.assertIn("connect evil.test:80", got.err)


# As much of a container engine as its client asks for.
ENGINE = b"""HTTP/1.1 200 OK\r\nApi-Version: 1.40\r\nContent-Type: application/json\r\nConnection: close\r
Content-Length: 41\r\n\r\n{"Version":"made up","ApiVersion":"1.40"}"""


class Sockets(Case):
    LOGIN = test_connect.GitOverSsh.LOGIN
    start_sshd, answers = test_connect.Ssh.start_sshd, test_connect.Ssh.answers

    @as_everyone
    def test_ssh_and_docker(self):
        """git over ssh with keys that only the agent has, and a container engine's socket."""
        need("git"), need("ssh-agent"), need("ssh-add"), need("curl")
        test_connect.GitOverSsh.repository(self)
        agent, engine = self.path("agent.sock"), self.path("docker.sock")
        process = subprocess.Popen(self.as_user(["ssh-agent", "-D", "-a", agent]), stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        until(lambda: os.path.exists(agent))
        self.sh("SSH_AUTH_SOCK=%s ssh-add -q %s" % (agent, self.path("user")))
        with open(self.path("host.pub"), encoding="ascii") as file:
            known = "github.com " + file.read()
        self.write("home/.ssh/known_hosts", known)
        self.write("home/.ssh/id_ed25519", "not to be read")
        with Parent(names={"github.com:22": (ADDRESS, self.port)}) as parent, Parent(path=engine, answer=ENGINE):
            policy = """{ extends = { "workspace", "no-secrets", "git-ssh", "docker-client" },
              network = { parentProxy = { http = "%s", https = "%s" } } }""" % (parent.url, parent.url)
            ask = "docker version --format 'docker {{.Server.Version}}'" if shutil.which("docker", path=PATH) else "true"
            # ssh asks the user's entry for its home, not the environment.
            ssh = "GIT_SSH_COMMAND=\"$GIT_SSH_COMMAND -o UserKnownHostsFile=$HOME/.ssh/known_hosts -o BatchMode=yes\""
            got = self.run_sh("%s git clone -q ssh://%sgithub.com%s got && git -C got log --format='clone %%s'; cat ~/.ssh/id_ed25519; "
                              "curl -sS --unix-socket %s http://x/version; %s" % (ssh, self.LOGIN, self.path("bare.git"), engine, ask), policy,
                              env={"SSH_AUTH_SOCK": agent, "DOCKER_HOST": "unix://" + engine, "GIT_SSH_COMMAND": None})
            self.assertIn("clone first\n", got.out, got)
            self.assertIn("made up", got.out, got)
            self.assertIn("id_ed25519: No such file", got.err)
            self.assertTrue(any(head.startswith("CONNECT github.com:22 ") for head in parent.seen), parent.seen)
            for told in ("every key of the SSH agent", "as good as root"):
                self.assertIn(told, got.err)


if __name__ == "__main__":
    main()
