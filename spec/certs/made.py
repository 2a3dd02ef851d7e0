# SPDX-License-Identifier: Apache-2.0
"""Certificates made by openssl for a test."""
import datetime
import os
import shutil
import subprocess
import tempfile
import unittest

CERTS = os.environ.get("SRT_CERTS", "certs")

EC = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
KINDS = {
    "p256": EC,
    "p384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "p521": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
    "rsa2048": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
    "rsa1024": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"],
    "rsa4096": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:4096"],
    "ed25519": ["-algorithm", "ED25519"],
    "k256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
}
CA = ("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign")
NOW = 1750000000  # 2025-06-15
DAY = 86400


def run(*command, data=None):
    done = subprocess.run(command, input=data, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr}")
    return done.stdout


def stamp(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y%m%d%H%M%SZ")


class Made:
    """One certificate with its key: .pem is its text, .key a file."""

    def __init__(self, lab, name, issuer, text, key):
        self.lab, self.name, self.issuer, self.pem, self.key = lab, name, issuer, text, key

    def __add__(self, other):
        return self.pem + (other if isinstance(other, str) else other.pem)

    def __radd__(self, other):
        return other + self.pem


class Lab:
    """A folder of keys and certificates."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="srt-certs-")
        self.count = 0
        self.keys = {}

    def close(self):
        shutil.rmtree(self.folder)

    def file(self, text, suffix=".pem"):
        self.count += 1
        path = f"{self.folder}/{self.count}{suffix}"
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def key(self, kind="p256", which=""):
        if (kind, which) not in self.keys:
            self.keys[kind, which] = self.file(run("openssl", "genpkey", *KINDS[kind]))
        return self.keys[kind, which]

    def make(self, name, issuer=None, extensions=(), key=None, start=NOW - DAY, end=NOW + DAY, digest="sha256",
             subject=None):
        """Signed by issuer, or by itself. openssl ca alone takes both dates."""
        key = key or self.key("p256", name)
        request = self.file(run("openssl", "req", "-new", "-key", key, "-subj", subject or f"/O=Test/CN={name}"))
        folder = f"{self.folder}/ca{self.count}"
        os.mkdir(folder)
        open(f"{folder}/index", "w", encoding="utf-8").close()
        has_names = "\n".join(extensions)
        config = self.file("[ca]\ndefault_ca=one\n[one]\n"
                           f"database={folder}/index\nnew_certs_dir={folder}\nrand_serial=yes\npolicy=any\n"
                           "unique_subject=no\n"
                           "[any]\nO=optional\nOU=optional\nCN=optional\n"
                           f"[x]\n{has_names}\n", ".cnf")
        signer = (["-selfsign", "-keyfile", key] if issuer is None
                  else ["-cert", self.file(issuer.pem), "-keyfile", issuer.key])
        text = run("openssl", "ca", "-batch", "-notext", "-config", config, "-extensions", "x", "-md", digest,
                   "-startdate", stamp(start), "-enddate", stamp(end), "-preserveDN", "-in", request, *signer)
        return Made(self, name, issuer, text, key)

    def ca(self, name, issuer=None, more=(), **options):
        return self.make(name, issuer, CA + tuple(more), **options)

    def leaf(self, issuer, host="a.test", more=("extendedKeyUsage=serverAuth",), **options):
        names = f"subjectAltName={'IP' if host.replace('.', '').isdigit() or ':' in host else 'DNS'}:{host}"
        return self.make(options.pop("name", "leaf"), issuer, (names,) + tuple(more), **options)


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()

    @classmethod
    def tearDownClass(cls):
        cls.lab.close()

    def certs(self, *args):
        """What the program says, and whether it went well."""
        done = subprocess.run([CERTS, *map(str, args)], capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout.rstrip("\n")

    def verify(self, roots, chain, host="a.test", now=NOW):
        text = "".join(part if isinstance(part, str) else part.pem for part in roots)
        chain = "".join(part if isinstance(part, str) else part.pem for part in chain)
        return self.certs("verify", self.lab.file(text or "\n"), host, self.lab.file(chain or "\n"), now)
