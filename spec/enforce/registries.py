# SPDX-License-Identifier: Apache-2.0
"""The public package registries and GitHub, played on loopback under their own names, with certificates of a CA of ours.

Tools inside ask for what they always ask for; a parent proxy leads these names to here.
"""
import hashlib
import http.server
import io
import json
import os
import ssl
import subprocess
import tarfile
import tempfile
import threading
import zipfile

import site_
from parents import Parent
from server import ADDRESS, Server
from tls_origin import Authority

HOSTS = ("registry.npmjs.org", "pypi.org", "files.pythonhosted.org", "index.crates.io", "static.crates.io", "proxy.golang.org",
         "github.com", "api.github.com")
APT = "deb.debian.org"


class Handler(site_.Handler):
    """A folder for each host, and git's smart protocol."""

    def do_GET(self):
        host = self.headers["Host"].split(":")[0]
        self.server.seen.append("%s %s%s" % (self.command, host, self.path))
        self.directory = os.path.join(self.server.folder, host)
        if "git-upload-pack" in self.path or "git-receive-pack" in self.path:
            return self.git()
        if self.command != "GET":
            return self.send_error(405)
        return http.server.SimpleHTTPRequestHandler.do_GET(self)

    do_POST = do_PATCH = do_DELETE = do_GET

    def git(self):
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.directory, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
               "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": "a", "REMOTE_ADDR": ADDRESS,
               "CONTENT_TYPE": self.headers.get("Content-Type", ""), "GIT_CONFIG_COUNT": "1",
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
               "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=True)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().split("\r\n"):
            self.send_header(*line.split(": ", 1))
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


class Secure(Server):
    def get_request(self):
        connection, address = super().get_request()
        return self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address


class Registries:
    """with Registries(folder) as there: there.network is part of a policy, there.seen what was asked for."""

    def __init__(self, folder):
        self.folder = folder
        self.ca = tempfile.mkdtemp(prefix="srt-registries-", dir="/tmp")
        os.chmod(self.ca, 0o755)
        self.root = Authority(self.ca, "root")
        self.cert = self.root.issue("public", ",".join("DNS:" + host for host in HOSTS), kind="ec")

    def place(self, host, more=""):
        """A site whose files are those of a host."""
        path = os.path.join(self.folder, host, more)
        os.makedirs(path, exist_ok=True)
        site = site_.Site(path)
        site.url = "https://" + host
        return site

    def __enter__(self):
        self.seen, self.servers = [], []
        for kind in (Secure, Server):
            server = kind((ADDRESS, 0), Handler)
            server.folder, server.seen = self.folder, self.seen
            server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            server.context.load_cert_chain(self.cert + ".pem", self.cert + ".key")
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.servers.append(server)
        secure, plain = (server.server_address for server in self.servers)
        self.parent = Parent(names={**{host + ":443": secure for host in HOSTS}, APT + ":80": plain})
        self.parent.__enter__()
        self.network = 'parentProxy = { http = "%s", https = "%s" }' % (self.parent.url, self.parent.url)
        self.trust = 'tlsTerminate = { extraCaCertPaths = { "%s" } }' % self.root.cert
        return self

    def __exit__(self, *_):
        self.parent.__exit__()
        for server in self.servers:
            server.shutdown()
            server.server_close()
        subprocess.run(["rm", "-rf", self.ca], check=True)

    def python(self):
        site = self.place("files.pythonhosted.org")
        site.pip()
        self.place("pypi.org").file("simple/tiny/index.html", '<a href="https://files.pythonhosted.org/simple/tiny/'
                                    'tiny-1.0-py3-none-any.whl">tiny</a>')

    def cargo(self):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as archive:
            for name, text in (("Cargo.toml", '[package]\nname = "tiny"\nversion = "1.0.0"\n'), ("src/lib.rs", "// from cargo\n")):
                info = tarfile.TarInfo("tiny-1.0.0/" + name)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
        self.place("static.crates.io").file("crates/tiny/1.0.0/download", data.getvalue())
        index = self.place("index.crates.io")
        index.file("config.json", json.dumps({"dl": "https://static.crates.io/crates", "api": "https://crates.io"}))
        index.file("ti/ny/tiny", json.dumps({"name": "tiny", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
                                             "cksum": hashlib.sha256(data.getvalue()).hexdigest()}) + "\n")

    def go(self):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as module:
            module.writestr("far.test/tiny@v1.0.0/go.mod", "module far.test/tiny\n")
            module.writestr("far.test/tiny@v1.0.0/t.go", "package tiny\n\nconst Said = \"from go\"\n")
        for name, text in (("v1.0.0.info", '{"Version": "v1.0.0"}'), ("v1.0.0.mod", "module far.test/tiny\n"),
                           ("list", "v1.0.0\n"), ("v1.0.0.zip", data.getvalue())):
            self.place("proxy.golang.org").file("far.test/tiny/@v/" + name, text)

    def apt(self):
        """A flat archive with a package "tiny"."""
        site = self.place(APT)
        script = """mkdir -p t/DEBIAN && printf 'Package: tiny\\nVersion: 1.0\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: t\\n' \
>t/DEBIAN/control && dpkg-deb -b t tiny.deb >&2 && { cat t/DEBIAN/control; echo Filename: ./tiny.deb; echo Size: $(stat -c %s tiny.deb); \
echo SHA256: $(sha256sum <tiny.deb | cut -d' ' -f1); } >Packages"""
        subprocess.run(["sh", "-ec", script], cwd=site.folder, check=True, capture_output=True)
