# SPDX-License-Identifier: Apache-2.0
"""Real clients behind the proxy with nothing but the environment that they are given: allowed, denied, and servers inside.

The site is on an address that the policy names without a port, so there is no way to it but the proxy.
"""
import re
import subprocess

from lib import Case, as_everyone, main, need, skip
from server import ADDRESS
from site_ import Site

PYTHON = "/usr/bin/python3"

GET_JAVA = """import java.net.*;
import java.net.http.*;
public class Get {
  public static void main(String[] a) throws Exception {
    for (String url : a) {
      HttpURLConnection old = (HttpURLConnection) new URL(url).openConnection();
      int status = old.getResponseCode();
      java.io.InputStream in = status < 400 ? old.getInputStream() : old.getErrorStream();
      System.out.println("old " + status + " " + new String(in.readAllBytes()).trim());
      HttpResponse<String> got = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(url))
          .version(HttpClient.Version.HTTP_1_1).build(), HttpResponse.BodyHandlers.ofString());
      System.out.println("new " + got.statusCode() + " " + got.body().trim());
    }
  }
}
"""

# What a client that shows the body of a refusal shows.
DENIED = ['denied.test:80 is not in network.allowedDomains; add "denied.test:80" to the policy to allow it',
          "denied: GET http://denied.test/", "rule: network.allowedDomains"]


class Clients(Case):
    def policy_text(self, *more):
        entries = ", ".join('"%s"' % entry for entry in (ADDRESS, *more))
        return '{ network = { allowedDomains = { %s } }, filesystem = { allowWrite = { "." } } }' % entries

    def site(self):
        return Site(self.path("site"))

    def inside(self, script, *allowed, timeout=120, **more):
        return self.run_sh(script, self.policy_text(*allowed), timeout=timeout, **more)

    def reaches(self, script, want, **more):
        got = self.inside(script, **more)
        self.assertEqual((0, want), (got.code, got.out.strip()), got)
        return got

    def fails(self, script, *words, **more):
        got = self.inside(script, **more)
        self.assertNotEqual(0, got.code, got)
        for word in words:
            self.assertIn(word, got.out + got.err, got)

    # A server inside on loopback port 3333, that is there when $1 runs.
    SERVER = PYTHON + """ -m http.server -d %s 3333 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!
until curl -sf -o /dev/null http://127.0.0.1:3333/hello; do sleep 0.05; done
%s; status=$?; kill $server; exit $status"""

    def own_server(self, site, script):
        need("curl")
        return self.SERVER % (site.folder, script)

    @as_everyone
    def test_curl(self):
        need("curl")
        with self.site() as site:
            self.reaches("curl -sf %s/hello" % site.url, "hello from the site")
            self.fails("curl -sS --fail-with-body http://denied.test/x", "denied.test:80 is not in network.allowedDomains",
                       'add "denied.test:80" to the policy')
            self.fails("curl -sSv https://denied.test/x", "403 denied.test:443 is not in network.allowedDomains")
            self.reaches(self.own_server(site, "curl -sf http://localhost:3333/hello"), "hello from the site")

    @as_everyone
    def test_wget(self):
        need("wget")
        with self.site() as site:
            self.reaches("wget -qO- %s/hello" % site.url, "hello from the site")
            self.fails("wget -O- http://denied.test/x", "403")
            self.fails("wget -O- https://denied.test/x", "denied.test:443 is not in network.allowedDomains")
            self.reaches(self.own_server(site, "wget -qO- http://localhost:3333/hello"), "hello from the site")

    @as_everyone
    def test_git(self):
        need("git")
        with self.site() as site:
            site.git()
            self.reaches("git clone -q %s/repo.git r && cat r/README" % site.url, "from git")
            # Of the user's own settings none leads another way.
            self.write("home/.gitconfig", "[http]\n\tproxy = http://corp.test:1\n")
            self.reaches("git clone -q %s/repo.git s && cat s/README" % site.url, "from git")
            self.fails("git ls-remote http://denied.test/repo.git", "403")
            self.fails("git ls-remote https://denied.test/repo.git", "403")
            self.reaches(self.own_server(site, "git clone -q http://127.0.0.1:3333/repo.git i && cat i/README"), "from git")
            self.assertIn("/repo.git/info/refs?service=git-upload-pack", site.seen)

    @as_everyone
    def test_npm(self):
        need("npm")
        with self.site() as site:
            site.npm()
            # Neither a proxy in the user's file nor one of the host's leads another way.
            self.write("home/.npmrc", "proxy=http://corp.test:1\nhttps-proxy=http://corp.test:1\nupdate-notifier=false\n")
            npm = "mkdir %s; cd %s; npm install --no-audit --no-fund --loglevel=error --fetch-retries=0 --cache=./c " \
                "--registry=%s tiny >&2 && node -p 'require(\"tiny\")'"
            self.reaches(npm % ("a", "a", site.url), "from npm", env={"npm_config_https_proxy": "http://corp.test:1"})
            self.assertIn("/tiny-1.0.0.tgz", site.seen)
            self.fails(npm % ("b", "b", "http://denied.test"), "403", "denied.test:80 is not in network.allowedDomains")
            del site.seen[:]
            site.url = "http://127.0.0.1:3333"
            site.npm()
            self.reaches(self.own_server(site, "(%s)" % npm % ("d", "d", "http://127.0.0.1:3333")), "from npm")
            self.assertEqual([], site.seen)

    @as_everyone
    def test_node(self):
        need("node")
        version = subprocess.run(["node", "--version"], capture_output=True, check=True, env=self.environment()).stdout.decode()
        major, minor = (int(part) for part in re.match(r"v(\d+)\.(\d+)", version).groups())
        if (major, minor) < (22, 21) or (24, 0) > (major, minor) >= (23, 0):
            skip("this Node has no NODE_USE_ENV_PROXY", allowed=True)
        code = "node -e 'fetch(\"%s\").then(async r => console.log(r.status, (await r.text()).trim()))'"
        with self.site() as site:
            self.reaches(code % (site.url + "/hello"), "200 hello from the site")
            # It asks for a tunnel also where the URL is http.
            self.fails(code % "http://denied.test/", "403")
            self.reaches(self.own_server(site, code % "http://127.0.0.1:3333/hello"), "200 hello from the site")

    def with_pip(self):
        if subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
            skip("pip is not installed")

    @as_everyone
    def test_pip(self):
        self.with_pip()
        with self.site() as site:
            site.pip()
            pip = PYTHON + " -m pip install -q --disable-pip-version-check --no-cache-dir --retries 0 --target %s " \
                "--trusted-host %s --index-url %s/simple tiny && PYTHONPATH=%s " + PYTHON + " -c 'import tiny; print(tiny.said)'"
            self.reaches(pip % ("a", ADDRESS, site.url, "a"), "from pip")
            self.fails(pip % ("b", "denied.test", "http://denied.test", "b"), "No matching distribution found")
            self.fails(pip.replace("-q", "-vv") % ("b", "denied.test", "https://denied.test", "b"),
                       "403 denied.test:443 is not in network.allowedDomains")
            self.reaches(self.own_server(site, pip % ("c", "localhost", "http://localhost:3333", "c")), "from pip")

    @as_everyone
    def test_python_libraries(self):
        self.with_pip()
        code = """import sys, urllib.request
from pip._vendor import requests
for url in sys.argv[1:]:
    got = requests.get(url, timeout=20)
    print(got.status_code, got.text.strip())
    try:
        print(urllib.request.urlopen(url, timeout=20).read().decode().strip())
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode().strip())
"""
        self.write("w/get.py", code)
        with self.site() as site:
            got = self.inside(PYTHON + " get.py %s/hello http://denied.test/" % site.url)
            lines = got.out.splitlines()
            self.assertEqual(["200 hello from the site", "hello from the site"], lines[:2], got)
            self.assertEqual(["403 " + DENIED[0], *DENIED[1:]] * 2, lines[2:], got)
            self.reaches(self.own_server(site, PYTHON + " get.py http://localhost:3333/hello"),
                         "200 hello from the site\nhello from the site")

    @as_everyone
    def test_java(self):
        java = self.java("Get", GET_JAVA) + " "
        hello = "old 200 hello from the site\nnew 200 hello from the site"
        with self.site() as site:
            got = self.inside(java + "%s/hello http://denied.test/" % site.url, env={"JAVA_TOOL_OPTIONS": "-Da.b=c"})
            lines = got.out.splitlines()
            self.assertEqual(hello.splitlines(), lines[:2], got)
            self.assertEqual(["old 403 " + DENIED[0], *DENIED[1:], "new 403 " + DENIED[0], *DENIED[1:]], lines[2:], got)
            self.assertRegex(got.err, "-Da.b=c -Djava.io.tmpdir=%s/[^ ]* -Dhttp.proxyHost=127.0.0.1" % self.tmp)
        # Named with its port the site is there inside, and so are servers inside.
        with Site(self.path("site"), "127.0.0.1") as site:
            policy = self.policy_text().replace(ADDRESS, "localhost:%d" % site.port)
            script = self.own_server(site, java + "http://localhost:3333/hello http://localhost:%d/hello" % site.port)
            got = self.run_sh(script, policy, timeout=120)
            self.assertEqual(hello + "\n" + hello, got.out.strip(), got)
            self.assertEqual(["/hello", "/hello"], site.seen)

    @as_everyone
    def test_maven(self):
        need("mvn")
        self.write("w/pom.xml", "<project><modelVersion>4.0.0</modelVersion><parent><groupId>t</groupId>"
                   "<artifactId>parent</artifactId><version>1</version></parent><artifactId>a</artifactId>"
                   "<packaging>pom</packaging></project>")
        # The repository has to be https for Maven, unless its own rule is taken back.
        settings = "<settings><localRepository>%s/m2</localRepository><mirrors><mirror><id>maven-default-http-blocker</id>" \
            "<mirrorOf>none</mirrorOf><url>http://0.0.0.0/</url></mirror><mirror><id>m</id><mirrorOf>*</mirrorOf>" \
            "<url>%s/m2</url></mirror></mirrors></settings>"
        with self.site() as site:
            site.maven()
            for url, code in ((site.url, 0), ("http://denied.test", 1)):
                self.write("w/s.xml", settings % (self.w, url))
                got = self.inside("rm -rf m2; mvn -B -q -s s.xml validate", env={"MAVEN_OPTS": "-Xshare:auto"})
                self.assertEqual(code, got.code, got)
                if code:
                    self.assertIn("403", got.out)
            self.assertIn("/m2/t/parent/1/parent-1.pom", site.seen)


if __name__ == "__main__":
    main()
