# SPDX-License-Identifier: Apache-2.0
"""What our CA makes, read and judged by other programs; and which CAs of users it takes."""
import os
import re
import shutil
import time
import unittest

from made import CA, DAY, Case, run

HERE = os.path.dirname(os.path.abspath(__file__))
LONG = "a" * 60 + ".example.test"
LONGEST = ".".join(["b" * 63] * 3 + ["c" * 61])
HOSTS = ["a.test", "xn--bcher-kva.example", "_under.score.test", "127.0.0.2", "fd00::2", "::1", LONG, LONGEST]
NOW = int(time.time())


def need(program):
    path = shutil.which(program)
    if not path:
        if os.environ.get("SRT_MUST_WORK") == "1":
            raise AssertionError("must work, but there is no " + program)
        raise unittest.SkipTest(program + " is not installed")
    return path


def blocks(text):
    return re.findall("-----BEGIN CERTIFICATE-----\n.*?-----END CERTIFICATE-----\n", text, re.S)


class Minting(Case):
    def users(self, *args, **options):
        """A CA as a user has it: valid now."""
        more = options.pop("more", ["subjectKeyIdentifier=hash"])
        return self.lab.ca(*args, more=more, start=NOW - 3600, end=options.pop("end", NOW + 300 * DAY), **options)

    def mint(self, *hosts, cert="-", key="-"):
        """The CA's PEM, and each host's chain."""
        parts = re.split(r"^# (\S+) (\S+)\n", self.certs("mint", cert, key, *hosts) + "\n", flags=re.M)
        self.assertEqual(parts[1::3], list(hosts), parts[0])
        return parts[0], parts[3::3], parts[2::3]

    def refused(self, cert, key):
        key = self.lab.file(key) if "\n" in key else key or "-"
        return self.certs("mint", self.lab.file(cert) if cert else "-", key, "a.test")

    def judge(self, ca, chain, host):
        """By OpenSSL's strictest rules, with the name."""
        first, *rest = blocks(chain)
        name = "-verify_ip" if host.replace(".", "").isdigit() or ":" in host else "-verify_hostname"
        said = run("openssl", "verify", "-x509_strict", "-check_ss_sig", "-purpose", "sslserver", name, host, "-CAfile",
                   self.lab.file(ca), *(["-untrusted", self.lab.file("".join(rest))] if rest else []),
                   self.lab.file(first))
        self.assertTrue(said.endswith(": OK\n"), said)
        return run("openssl", "x509", "-noout", "-text", "-in", self.lab.file(first))


class Ours(Minting):
    def test_openssl(self):
        ca, chains, kinds = self.mint(*HOSTS)
        self.assertEqual(set(kinds), {"EC"})
        for host, chain in zip(HOSTS, chains):
            with self.subTest(host=host):
                self.assertEqual(len(blocks(chain)), 1)
                text = self.judge(ca, chain, host)
                self.assertIn("Version: 3", text)
                self.assertIn("ASN1 OID: prime256v1", text)
                self.assertIn("Basic Constraints: critical\n                CA:FALSE\n", text)
                self.assertIn("Key Usage: critical\n                Digital Signature\n", text)
                self.assertIn("Extended Key Usage: \n                TLS Web Server Authentication\n", text)
                self.assertRegex(text, r"Subject Key Identifier: \n +(..:){19}..\n")
                self.assertRegex(text, r"Authority Key Identifier: \n +(..:){19}..\n")
                long = len(host) > 64
                self.assertIn("Subject: \n" if long else f"Subject: CN = {host}\n", text)
                self.assertIn("Alternative Name: " + ("critical\n" if long else "\n"), text)

    def test_the_ca_itself(self):
        ca, _, _ = self.mint("a.test")
        text = run("openssl", "x509", "-noout", "-text", "-in", self.lab.file(ca))
        self.assertIn("CA:TRUE, pathlen:0", text)
        self.assertIn("Key Usage: critical\n                Certificate Sign, CRL Sign\n", text)
        self.assertNotIn("PRIVATE", ca)

    def test_each_run_has_its_own(self):
        one, two = self.mint("a.test"), self.mint("a.test")
        self.assertNotEqual(one[0], two[0])
        with self.assertRaises(RuntimeError):
            self.judge(one[0], two[1][0], "a.test")

    def test_names_are_right(self):
        ca, chains, _ = self.mint("a.test", "10.0.0.1")
        for chain, host in ((chains[0], "b.test"), (chains[1], "10.0.0.2")):
            with self.assertRaises(RuntimeError):
                self.judge(ca, chain, host)

    def test_serials(self):
        _, chains, _ = self.mint(*[f"h{i}.test" for i in range(200)])
        # One program reads them all.
        packed = run("openssl", "crl2pkcs7", "-nocrl", "-certfile", self.lab.file("".join(chains)))
        text = run("openssl", "pkcs7", "-print_certs", "-text", "-noout", data=packed)
        serials = re.findall(r"Serial Number:\s+(\S+)\n", text)
        self.assertEqual((200, 200), (len(serials), len(set(serials))))
        for serial in serials:
            self.assertRegex(serial, "^[4-7][0-9a-f](:[0-9a-f]{2}){15}$")

    def test_validity(self):
        _, chains, _ = self.mint("a.test")
        path = self.lab.file(chains[0])
        run("openssl", "x509", "-noout", "-checkend", str(6 * DAY), "-in", path)
        with self.assertRaises(RuntimeError):
            run("openssl", "x509", "-noout", "-checkend", str(8 * DAY), "-in", path)

    def test_no_host(self):
        for name in ("", "A.test", "a b", "*.test", "a" * 254, "a\ntest", "[::1]", "ä.test"):
            self.assertIn("the name is no host's", self.certs("mint", "-", "-", name))

    def test_cache(self):
        said = self.certs("keep", "a.test", 1000).splitlines()
        # The held one stays readable after the cache has let it go.
        self.assertEqual(said[:3], ["same", "other", "30"])

    def test_gnutls(self):
        need("certtool")
        ca, chains, _ = self.mint(*HOSTS)
        for host, chain in zip(HOSTS, chains):
            if ":" in host:  # certtool knows no IPv6 address there
                continue
            said = run("certtool", "--verify", "--verify-profile=high", "--verify-hostname", host,
                       "--load-ca-certificate", self.lab.file(ca), "--infile", self.lab.file(chain))
            self.assertIn("Chain verification output: Verified. The certificate is trusted.", said)

    def test_nss(self):
        need("certutil")
        ca, chains, _ = self.mint(*HOSTS)
        store = "sql:" + self.lab.folder + "/nss"
        os.mkdir(self.lab.folder + "/nss")
        run("certutil", "-N", "-d", store, "--empty-password")
        run("certutil", "-A", "-d", store, "-n", "ca", "-t", "C,,", "-i", self.lab.file(ca))
        for i, chain in enumerate(chains):
            run("certutil", "-A", "-d", store, "-n", f"leaf{i}", "-t", ",,", "-i", self.lab.file(chain))
            self.assertIn("certificate is valid", run("certutil", "-V", "-e", "-u", "V", "-d", store, "-n", f"leaf{i}"))

    def test_node(self):
        node = need("node")
        ca, chains, _ = self.mint(*HOSTS)
        script = """
            const { X509Certificate: C } = require("crypto"), fs = require("fs"), net = require("net");
            const [ca, ...rest] = process.argv.slice(1), root = new C(fs.readFileSync(ca));
            for (let i = 0; i < rest.length; i += 2) {
              const leaf = new C(fs.readFileSync(rest[i + 1])), host = rest[i];
              console.log(root.ca && !leaf.ca && leaf.checkIssued(root) && leaf.verify(root.publicKey)
                && (net.isIP(host) ? leaf.checkIP(host) : leaf.checkHost(host)) !== undefined);
            }"""
        args = [part for host, chain in zip(HOSTS, chains) for part in (host, self.lab.file(chain))]
        self.assertEqual(run(node, "-e", script, self.lab.file(ca), *args).split(), ["true"] * len(HOSTS))

    def test_java(self):
        java = need("java")
        ca, chains, _ = self.mint(*HOSTS)
        said = run(java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", HERE + "/Chain.java", "chain", self.lab.file(ca), *map(self.lab.file, chains)).split("\n")
        self.assertEqual(said[:4], ["ok " + host for host in HOSTS[:4]])
        self.assertEqual(len(said), len(HOSTS) + 1)


class Users(Minting):
    def test_kinds_and_forms(self):
        for kind in ("p256", "p384", "p521", "rsa2048", "rsa4096"):
            ca = self.users("Corp " + kind, key=self.lab.key(kind))
            form = "RSA" if kind.startswith("rsa") else "EC"
            traditional = self.lab.file(run("openssl", "pkey", "-traditional", "-in", ca.key))
            with open(traditional, encoding="utf-8") as file:
                self.assertIn(f"BEGIN {form} PRIVATE KEY", file.read())
            for key in (ca.key, traditional):
                with self.subTest(kind=kind, key=key):
                    pem, chains, kinds = self.mint("a.test", "fd00::2", cert=self.lab.file(ca.pem), key=key)
                    self.assertEqual((pem, kinds), (ca.pem, [form, form]))
                    for host, chain in zip(("a.test", "fd00::2"), chains):
                        self.judge(pem, chain, host)

    def test_one_below_another(self):
        more = ["subjectKeyIdentifier=hash", "authorityKeyIdentifier=keyid"]
        root = self.users("Corp root", more=more[:1])
        ca = self.users("Corp proxy", root, more=more)
        pem, chains, _ = self.mint("a.test", cert=self.lab.file(ca + root), key=ca.key)
        self.assertEqual(blocks(pem), [ca.pem, root.pem])
        # The root is not sent along; the one between is.
        self.assertEqual(blocks(chains[0])[1:], [ca.pem])
        self.judge(root.pem, chains[0], "a.test")

    def test_never_longer_than_the_ca(self):
        ca = self.users("Short", end=NOW + 3600)
        _, chains, _ = self.mint("a.test", cert=self.lab.file(ca.pem), key=ca.key)
        dates = [run("openssl", "x509", "-noout", "-dates", "-in", self.lab.file(text)) for text in (ca.pem, chains[0])]
        self.assertEqual(dates[0], dates[1])

    def test_after_2049(self):
        ca = self.users("Far", end=4102444800)
        _, chains, _ = self.mint("a.test", cert=self.lab.file(ca.pem), key=ca.key)
        self.judge(ca.pem, chains[0], "a.test")

    def test_key_in_the_same_file(self):
        ca = self.users("Both")
        with open(ca.key, encoding="utf-8") as key:
            both = self.lab.file(ca.pem + key.read())
        pem, _, _ = self.mint("a.test", cert=both, key=both)
        self.assertEqual(pem, ca.pem)

    def test_parameters_before_the_key(self):
        ca = self.users("Parameters")
        text = run("openssl", "ecparam", "-name", "prime256v1") + run("openssl", "pkey", "-traditional", "-in", ca.key)
        self.mint("a.test", cert=self.lab.file(ca.pem), key=self.lab.file(text))

    def test_refused(self):
        good, other = self.users("Good"), self.users("Other")
        with open(good.key, encoding="utf-8") as file:
            key = file.read()
        encrypted = [run("openssl", "pkcs8", "-topk8", "-passout", "pass:x", "-in", good.key),
                     run("openssl", "pkey", "-traditional", "-aes128", "-passout", "pass:x", "-in", good.key)]
        ed = self.users("Ed", key=self.lab.key("ed25519"))
        for cert, with_key, why in [
            (good.pem, other.key, "the key is not that of the CA's certificate"),
            (good.pem, self.lab.key("rsa2048"), "the key is not that of the CA's certificate"),
            (other + good, good.key, "the key is not that of the CA's certificate"),
            (good.pem, "", "a CA takes both a certificate and its key"),
            ("", good.key, "a CA takes both a certificate and its key"),
            ("no certificate\n", good.key, "no CERTIFICATE block in PEM"),
            (key, good.key, "no CERTIFICATE block in PEM"),
            (good.pem, "no key\n", "no private key in PEM stands there"),
            (good.pem, good.pem, "no private key in PEM stands there"),
            (good.pem, encrypted[0], "the private key is encrypted"),
            (good.pem, encrypted[1], "the private key is encrypted"),
            (good.pem, key.replace("M", "*", 1), "the private key is not in base64"),
            (good.pem, "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n", "the private key can't be read"),
            (good.pem.replace("MII", "MIJ", 1), good.key, "the CA's certificate is malformed"),
            (good.pem * 9, good.key, "too many certificates"),
            (ed.pem, ed.key, "the private key can't be read"),
        ]:
            with self.subTest(why=why):
                self.assertIn(why, self.refused(cert, with_key))

    def test_cas_that_are_none(self):
        now = {"start": NOW - 3600, "end": NOW + DAY}
        usage = "keyUsage=critical,keyCertSign"
        for extensions, options, why in [
            ([], now, "the certificate is not a CA's"),
            (["basicConstraints=CA:FALSE"], now, "the certificate is not a CA's"),
            (["basicConstraints=CA:TRUE", "keyUsage=digitalSignature"], now, "doesn't let it sign"),
            (["basicConstraints=CA:TRUE", usage, "extendedKeyUsage=clientAuth"], now, "doesn't let it sign"),
            (CA, {"start": NOW - DAY, "end": NOW - 10}, "the CA's certificate has expired"),
            (CA, {"start": NOW + 3600, "end": NOW + DAY}, "the CA's certificate is not valid yet"),
            (CA, dict(now, key=self.lab.key("rsa1024")), "less than 2048 bits"),
        ]:
            with self.subTest(why=why):
                made = self.lab.make("None", None, extensions, **options)
                self.assertIn(why, self.refused(made.pem, made.key))


if __name__ == "__main__":
    unittest.main()
