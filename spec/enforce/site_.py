# SPDX-License-Identifier: Apache-2.0
"""A web site for package managers: plain files that are a git repository, an npm registry, a pip index, a Maven repository."""
import base64
import hashlib
import http.server
import io
import json
import os
import pathlib
import subprocess
import tarfile
import threading
import zipfile

from server import ADDRESS, Server


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *args, **more):
        super().__init__(*args, directory=None, **more)

    def do_GET(self):
        # The tests' own parent proxy rewrites only the first target of a connection.
        if self.path.startswith("http://"):
            self.path = "/" + self.path.split("/", 3)[3]
        self.server.seen.append(self.path)
        self.directory = self.server.folder
        super().do_GET()

    def log_message(self, *_):
        pass


class Site:
    """with Site(folder) as site: site.url, site.port, site.seen"""

    def __init__(self, folder, address=ADDRESS):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.address = address

    def __enter__(self):
        self.server = Server((self.address, 0), Handler)
        self.server.folder = str(self.folder)
        self.server.seen = self.seen = []
        self.port = self.server.server_address[1]
        self.url = "http://%s:%d" % (self.address, self.port)
        self.file("hello", "hello from the site\n")
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def file(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)

    def git(self):
        """repo.git, which holds README; for git's plain ("dumb") protocol."""
        work = self.folder / "work"
        script = """git init -q work && cd work && echo from git >README && git add README &&
git -c user.name=a -c user.email=a@b commit -qm one && cd .. && git clone -q --bare work repo.git &&
git -C repo.git update-server-info && rm -rf work"""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["sh", "-c", script], cwd=self.folder, env=environment, check=True, capture_output=True)
        assert not work.exists()

    def npm(self):
        """A package "tiny" of version 1.0.0."""
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as archive:
            for name, text in (("package.json", '{"name": "tiny", "version": "1.0.0", "main": "i.js"}'),
                               ("i.js", "module.exports = 'from npm'\n")):
                info = tarfile.TarInfo("package/" + name)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
        tarball = data.getvalue()
        self.file("tiny-1.0.0.tgz", tarball)
        sum_ = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
        self.file("tiny", json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "tiny", "version": "1.0.0", "main": "i.js",
            "dist": {"tarball": self.url + "/tiny-1.0.0.tgz", "integrity": sum_}}}}))

    def pip(self):
        """A package "tiny" of version 1.0, below simple/."""
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as wheel:
            wheel.writestr("tiny.py", "said = 'from pip'\n")
            info = "tiny-1.0.dist-info/"
            wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
            wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(info + "RECORD", "tiny.py,,\n%sMETADATA,,\n%sWHEEL,,\n%sRECORD,,\n" % (info, info, info))
        self.file("simple/tiny/tiny-1.0-py3-none-any.whl", data.getvalue())
        self.file("simple/tiny/index.html", '<a href="tiny-1.0-py3-none-any.whl">tiny</a>')

    def maven(self):
        """A parent POM that a build needs."""
        self.file("m2/t/parent/1/parent-1.pom", "<project><modelVersion>4.0.0</modelVersion><groupId>t</groupId>"
                  "<artifactId>parent</artifactId><version>1</version><packaging>pom</packaging></project>")
