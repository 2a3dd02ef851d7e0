# SPDX-License-Identifier: Apache-2.0
"""More real clients with nothing but the environment that they are given; each is tried where it is installed.

Some go to loopback by themselves whatever the environment says (Go and Ruby do), so the site is far.test, a name that only
a parent proxy knows: nobody gets there but through ours.
"""
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import zipfile

from lib import PATH, Case, as_everyone, main, need, skip
from parents import Parent
from server import ADDRESS
from site_ import Site

PYTHON = "/usr/bin/python3"
DENIED = "denied.test:80 is not in network.allowedDomains"


class Clients(Case):
    def tool(self, name):
        """Large ones need not be there, even where everything must work."""
        path = shutil.which(name, path=PATH)
        # What is below a private folder is not the ordinary user's.
        if not path or self.user == "user" and self.on_host(["test", "-x", path]).returncode:
            skip("%s is not installed for %s" % (name, self.user), allowed=True)
        return path

    def far(self):
        """A site by the name far.test; its url is what the sandbox calls it."""
        site = Site(self.path("site"))
        parent = Parent(names={"far.test": ADDRESS})
        for server in (site, parent):
            server.__enter__()
            self.addCleanup(server.__exit__)
        site.url = "http://far.test:%d" % site.port
        site.policy = ('{ network = { allowedDomains = { "far.test:%d" }, parentProxy = { http = "%s" } }, '
                       'filesystem = { allowWrite = { "." } } }' % (site.port, parent.url))
        self.own(self.path("site"))
        return site

    def reaches(self, site, script, want, **more):
        got = self.run_sh(script, site.policy, timeout=240, **more)
        self.assertEqual((0, want), (got.code, got.out.strip()), (got, site.seen))

    def fails(self, site, script, *words, **more):
        got = self.run_sh(script, site.policy, timeout=240, **more)
        self.assertNotEqual(0, got.code, got)
        for word in words:
            self.assertIn(word, got.out + got.err, got)

    def node_manager(self, install, told=DENIED):
        site = self.far()
        site.npm()
        self.write("home/.npmrc", "proxy=http://corp.test:1\nhttps-proxy=http://corp.test:1\nupdate-notifier=false\n")
        script = "mkdir %s; cd %s; echo '{\"name\": \"a\", \"version\": \"1.0.0\"}' >package.json; (" + install + \
            ") >&2 && node -p 'require(\"tiny\")'"
        self.reaches(site, script % ("a", "a", site.url), "from npm")
        self.assertIn("/tiny-1.0.0.tgz", site.seen)
        self.fails(site, script % ("b", "b", "http://denied.test"), told)

    @as_everyone
    def test_yarn(self):
        yarn = self.tool("yarn" if shutil.which("yarn", path=PATH) else "yarnpkg")
        # Debian's goes with Debian's node only.
        if subprocess.run([yarn, "--version"], capture_output=True, check=False).returncode:
            skip(yarn + " does not run here", allowed=True)
        self.node_manager(yarn + " add tiny --registry %s --cache-folder ./c --non-interactive --no-progress")

    @as_everyone
    def test_pnpm(self):
        self.node_manager(self.tool("pnpm") + " add tiny --registry %s --store-dir ./s --config.cache-dir=./c --config.fetch-retries=0",
                          "Forbidden - 403")

    @as_everyone
    def test_python_httpx_and_requests(self):
        code = """import sys
for name in ("httpx", "requests"):
    client = __import__(name)
    for url in sys.argv[1:]:
        got = client.get(url, timeout=20)
        print(name, got.status_code, got.text.splitlines()[0])
"""
        if subprocess.run([PYTHON, "-c", "import httpx, requests"], capture_output=True, check=False).returncode:
            skip("httpx or requests is not installed")
        self.write("w/get.py", code)
        site = self.far()
        self.reaches(site, PYTHON + " get.py %s/hello http://denied.test/ | cut -d';' -f1" % site.url, "\n".join(
            "%s 200 hello from the site\n%s 403 %s" % (name, name, DENIED) for name in ("httpx", "requests")))

    @as_everyone
    def test_go(self):
        go = self.tool("go")
        site = self.far()
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as module:
            module.writestr("far.test/tiny@v1.0.0/go.mod", "module far.test/tiny\n")
            module.writestr("far.test/tiny@v1.0.0/t.go", "package tiny\n\nconst Said = \"from go\"\n")
        for name, text in (("v1.0.0.info", '{"Version": "v1.0.0"}'), ("v1.0.0.mod", "module far.test/tiny\n"),
                           ("list", "v1.0.0\n"), ("v1.0.0.zip", data.getvalue())):
            site.file("far.test/tiny/@v/" + name, text)
        self.write("w/go.mod", "module a\n\nrequire far.test/tiny v1.0.0\n")
        script = "GOPROXY=%s GONOSUMDB='*' GOFLAGS=-mod=mod GOCACHE=$PWD/c GOPATH=$PWD/p " + go + \
            " mod download -x far.test/tiny 2>&1 | grep -v '^# get'; cat p/pkg/mod/far.test/tiny@v1.0.0/t.go | tail -1; chmod -R u+w p"
        self.reaches(site, script % site.url, 'const Said = "from go"')
        self.assertIn("/far.test/tiny/@v/v1.0.0.zip", site.seen)
        self.fails(site, "rm -rf p; " + (script % "http://denied.test").split("|")[0], "403 Forbidden")

    @as_everyone
    def test_cargo(self):
        cargo = self.tool("cargo")
        # A rustup below a home of its own finds its toolchain by that.
        rustup = {"RUSTUP_HOME": os.path.join(cargo.split("/.cargo/")[0], ".rustup")} if "/.cargo/" in cargo else {}
        version = subprocess.run([cargo, "--version"], capture_output=True, check=True, env=self.environment(rustup)).stdout.decode().split()[1]
        if tuple(int(part) for part in version.split(".")[:2]) < (1, 68):
            skip("this cargo has no registries over plain HTTP: " + version, allowed=True)
        site = self.far()
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as archive:
            for name, text in (("Cargo.toml", '[package]\nname = "tiny"\nversion = "1.0.0"\n'), ("src/lib.rs", "// from cargo\n")):
                info = tarfile.TarInfo("tiny-1.0.0/" + name)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
        site.file("crates/tiny/1.0.0/download", data.getvalue())
        site.file("index/config.json", json.dumps({"dl": site.url + "/crates"}))
        site.file("index/ti/ny/tiny", json.dumps({"name": "tiny", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
                                                  "cksum": hashlib.sha256(data.getvalue()).hexdigest()}) + "\n")
        self.write("w/Cargo.toml", '[package]\nname = "a"\nversion = "1.0.0"\n[dependencies]\ntiny = "1"\n')
        self.write("w/src/lib.rs", "")
        # What the user's file says of a proxy gives way.
        config = '[source.crates-io]\nreplace-with = "m"\n[source.m]\nregistry = "sparse+%s/index/"\n[http]\nproxy = "http://corp.test:1"\n' \
            '[net]\nretry = 0\n'
        script = "CARGO_HOME=$PWD/h %s fetch && cat h/registry/src/*/tiny-1.0.0/src/lib.rs" % cargo
        for url, fails in ((site.url, False), ("http://denied.test", True)):
            self.write("w/.cargo/config.toml", config % url)
            if fails:
                self.fails(site, "rm -rf h Cargo.lock; " + script, "403", env=rustup)
            else:
                self.reaches(site, script, "// from cargo", env=rustup)

    @as_everyone
    def test_gradle(self):
        gradle = self.tool("gradle")
        need("java")
        site = self.far()
        site.file("m2/t/lib/1/lib-1.pom", "<project><modelVersion>4.0.0</modelVersion><groupId>t</groupId>"
                  "<artifactId>lib</artifactId><version>1</version></project>")
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as jar:
            jar.writestr("said", "from gradle")
        site.file("m2/t/lib/1/lib-1.jar", data.getvalue())
        build = "repositories { maven { url '%s/m2' } }\nconfigurations { c }\ndependencies { c 't:lib:1' }\n" \
            "task show { doLast { configurations.c.each { println it.name } } }\n"
        for url, fails in ((site.url, False), ("http://denied.test", True)):
            self.write("w/build.gradle", build % url)
            script = "%s -q --no-daemon -g $PWD/g%d show" % (gradle, fails)
            if fails:
                self.fails(site, script, "403")
            else:
                self.reaches(site, script, "lib-1.jar")

    @as_everyone
    def test_docker(self):
        """The client; what its daemon does is not ours."""
        docker = self.tool("docker")
        site = self.far()
        site.file("_ping", "OK")
        site.file("v1.24/version", json.dumps({"Version": "from docker", "ApiVersion": "1.24", "MinAPIVersion": "1.12"}))
        script = "DOCKER_API_VERSION=1.24 DOCKER_HOST=tcp://%s " + docker + " version -f '{{.Server.Version}}'"
        self.reaches(site, script % site.url[7:], "from docker")
        self.fails(site, script % "denied.test:80", DENIED)

    @as_everyone
    def test_aws(self):
        aws = self.tool("aws")
        site = self.far()
        site.file("index.html", '<?xml version="1.0"?><ListAllMyBucketsResult><Buckets><Bucket><Name>from-aws</Name>'
                  "<CreationDate>2020-01-01T00:00:00.000Z</CreationDate></Bucket></Buckets></ListAllMyBucketsResult>")
        keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "1"}
        script = aws + " --endpoint-url %s s3 ls | cut -d' ' -f3"
        self.reaches(site, script % site.url, "from-aws", env=keys)
        self.fails(site, script.split("|")[0] % "http://denied.test", "403", env=keys)

    @as_everyone
    def test_gcloud(self):
        gcloud = self.tool("gcloud")
        site = self.far()
        site.file("v1/projects/p", json.dumps({"projectId": "p", "name": "from gcloud", "lifecycleState": "ACTIVE"}))
        self.write("w/token", "a")
        script = "CLOUDSDK_CONFIG=$PWD/c CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=$PWD/token CLOUDSDK_CORE_DISABLE_PROMPTS=1 " \
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER=%s/ " + gcloud + " projects describe p --format='value(name)'"
        self.reaches(site, script % site.url, "from gcloud")
        self.fails(site, script % "http://denied.test", "403")

    @as_everyone
    def test_ruby(self):
        ruby = need("ruby")
        site = self.far()
        script = ruby + " -rnet/http -ropen-uri -e 'puts Net::HTTP.get(URI(\"%s\")); puts URI.open(\"%s\").read'"
        self.reaches(site, script % ((site.url + "/hello",) * 2), "hello from the site\nhello from the site")
        self.fails(site, script % (("http://denied.test/",) * 2), DENIED, "403 Forbidden")

    @as_everyone
    def test_php(self):
        php = need("php")
        site = self.far()
        script = php + " -r '$c = curl_init(\"%s/hello\"); curl_exec($c); exit(curl_getinfo($c, CURLINFO_RESPONSE_CODE) == 200 ? 0 : 1);'"
        self.reaches(site, script % site.url, "hello from the site")
        self.fails(site, script % "http://denied.test", DENIED)

    @as_everyone
    def test_perl(self):
        """HTTP::Tiny is Perl's own, LWP is not."""
        perl = need("perl")
        site = self.far()
        script = perl + " -MHTTP::Tiny -e '$r = HTTP::Tiny->new->get(\"%s/hello\"); print $r->{content}; exit !$r->{success}'"
        self.reaches(site, script % site.url, "hello from the site")
        self.fails(site, script % "http://denied.test", DENIED)
        if subprocess.run([perl, "-MLWP::UserAgent", "-e1"], capture_output=True, check=False).returncode:
            skip("LWP is not installed")
        self.reaches(site, perl + " -MLWP::UserAgent -e 'print LWP::UserAgent->new(env_proxy => 1)->get(\"%s/hello\")->content'"
                     % site.url, "hello from the site")


if __name__ == "__main__":
    main()
