# SPDX-License-Identifier: Apache-2.0
"""Chains of servers, as openssl makes them, and what our verifier says."""
import unittest

from made import DAY, NOW, Case

OK = "ok EC sign exchange"


class Verify(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = cls.lab.ca("Root")
        cls.middle = cls.lab.ca("Middle", cls.root)
        cls.leaf = cls.lab.leaf(cls.middle)

    def good(self, chain, roots=None, host="a.test", want=OK, now=NOW):
        self.assertEqual(self.verify(roots or [self.root], chain, host, now), want)

    def bad(self, why, chain, roots=None, host="a.test", now=NOW):
        self.assertRegex(self.verify(roots if roots is not None else [self.root], chain, host, now), why)


class Chains(Verify):
    def test_plain(self):
        self.good([self.leaf, self.middle])
        self.good([self.leaf, self.middle, self.root])
        self.good([self.lab.leaf(self.root)])

    def test_incomplete(self):
        self.bad("^its issuer Middle is unknown: neither among the 1 roots nor sent along$", [self.leaf])
        self.bad("^its issuer Root is unknown", [self.leaf, self.middle], [self.lab.ca("Other")])
        self.bad("^it sent no certificate$", [])
        self.bad("^its issuer Root is unknown: neither among the 0 roots", [self.leaf, self.middle], [])

    def test_root_sent_along_is_no_root_of_ours(self):
        self.bad("^it leads to the root Root, which is not among ours$", [self.leaf, self.middle, self.root],
                 [self.lab.ca("Other")])

    def test_a_middle_one_that_is_trusted_ends_the_chain(self):
        self.good([self.leaf], [self.middle])

    def test_out_of_order_and_superfluous(self):
        lower = self.lab.ca("Lower", self.middle)
        leaf = self.lab.leaf(lower)
        stray = self.lab.leaf(self.root, "b.test", name="stray")
        self.good([leaf, self.root, stray, self.middle, lower])
        self.good([leaf, self.middle, stray, lower, lower])
        self.bad("another name: b.test", [stray, leaf, self.middle, lower])

    def test_cross_signed(self):
        """The same CA, certified by an expired root and by one that we know."""
        key = self.lab.key("p256", "cross")
        old = self.lab.ca("Old", end=NOW - 1)
        new_by_old = self.lab.ca("New", old, key=key)
        new = self.lab.ca("New", key=key)
        leaf = self.lab.leaf(new)
        self.good([leaf, new_by_old, old], [new])
        self.good([leaf, new_by_old, old], [old, new])
        self.bad("^the certificate of Old expired on", [leaf, new_by_old, old], [old])
        # One of two roots of a name has another key.
        self.good([leaf], [self.lab.ca("New", key=self.lab.key("p256", "imposter")), new])
        self.bad("^it was not signed by the New that is known$", [leaf],
                 [self.lab.ca("New", key=self.lab.key("p256", "imposter"))])

    def test_two_cas_that_sign_each_other(self):
        one, two = self.lab.key("p256", "one"), self.lab.key("p256", "two")
        a_self, b_self = self.lab.ca("A", key=one), self.lab.ca("B", key=two)
        a_by_b, b_by_a = self.lab.ca("A", b_self, key=one), self.lab.ca("B", a_self, key=two)
        leaf = self.lab.leaf(a_self)
        self.bad("is unknown", [leaf, a_by_b, b_by_a])
        self.good([leaf, a_by_b, b_by_a], [b_self])

    def test_many_ways_end(self):
        """Each of ten is a way, and none leads anywhere: signatures are counted."""
        key = self.lab.key("p256", "many")
        tangle = [self.lab.ca("Many", self.lab.ca("Many", key=key), key=key, more=[f"nsComment=n{i}"])
                  for i in range(10)]
        leaf = self.lab.leaf(tangle[0])
        self.bad("^its chain has too many ways to a root$", [leaf, *tangle])

    def test_too_much(self):
        self.bad("^it sent more certificates than are looked at$", [self.leaf] + [self.middle] * 12)
        self.good([self.leaf] + [self.middle] * 11)
        big = self.lab.ca("Big", more=["nsComment=" + "x" * 12000])
        self.bad("^it sent more certificates than are looked at$", [self.leaf] + [big] * 6 + [self.middle])

    def test_self_signed(self):
        alone = self.lab.leaf(None)
        self.bad("^it is self-signed and not among the roots$", [alone])
        self.good([alone], [alone])
        self.bad("another name", [alone], [alone], host="b.test")
        self.bad("^its certificate expired on", [alone], [alone], now=NOW + 2 * DAY)

    def test_a_trusted_server_vouches_for_none(self):
        server = self.lab.make("Server", None, ["basicConstraints=CA:FALSE", "subjectAltName=DNS:s.test"])
        self.bad("^the certificate of Server can't vouch for it: it is not a CA's$", [self.lab.leaf(server)], [server])
        self.bad("^the certificate of Middle can't vouch for it: its keyUsage", [self.lab.leaf(self.lab.make(
            "Middle", self.root, ["basicConstraints=critical,CA:TRUE", "keyUsage=cRLSign"], key=self.middle.key)),
            self.lab.make("Middle", self.root, ["basicConstraints=critical,CA:TRUE", "keyUsage=cRLSign"],
                          key=self.middle.key)])

    def test_path_length(self):
        short = self.lab.make("Short", self.root, ["basicConstraints=critical,CA:TRUE,pathlen:0"])
        self.good([self.lab.leaf(short), short])
        below = self.lab.ca("Below", short)
        self.bad("^the certificate of Short allows no chain of this length$", [self.lab.leaf(below), below, short])
        # The same CA under a new key counts for nothing (RFC 5280 4.2.1.9).
        renewed = self.lab.ca("Short", short, key=self.lab.key("p256", "renewed"))
        self.good([self.lab.leaf(renewed), renewed, short])

    def test_times(self):
        self.bad("^its certificate expired on 2025-06-16 15:06:40 UTC$", [self.leaf, self.middle], now=NOW + DAY + 1)
        self.good([self.leaf, self.middle], now=NOW + DAY)
        self.bad("^its certificate is not valid before 2025-06-14 15:06:40 UTC$", [self.leaf, self.middle],
                 now=NOW - DAY - 1)
        late = self.lab.ca("Middle", self.root, key=self.middle.key, start=NOW + 60)
        self.bad("^the certificate of Middle is not valid before", [self.leaf, late])
        # Of two, the good one is taken.
        self.good([self.leaf, late, self.middle])
        far = self.lab.leaf(self.lab.ca("Far", end=4102444800), end=4102444800)
        self.good([far], [self.lab.ca("Far", key=far.issuer.key, end=4102444800)], now=NOW)

    def test_damaged(self):
        lines = self.leaf.pem.splitlines()
        lines[-3] = lines[-3][::-1]
        self.assertNotIn("ok", self.verify([self.root], ["\n".join(lines) + "\n", self.middle]))
        # What nobody needs may be unreadable.
        junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        self.good([self.leaf, junk, self.middle])
        self.bad("^its certificate can't be read: it is no certificate", [junk, self.leaf, self.middle])


class Names(Verify):
    def test_dns(self):
        wild = self.lab.leaf(self.root, "*.a.test")
        for host, leaf, good in [
            ("a.test", self.leaf, True), ("A.Test", self.leaf, True), ("a.test.", self.leaf, True),
            ("x.a.test", self.leaf, False), ("xa.test", self.leaf, False), ("test", self.leaf, False),
            ("x.a.test", wild, True), ("a.test", wild, False), ("x.y.a.test", wild, False), (".a.test", wild, False),
            ("*.a.test", wild, False),
        ]:
            with self.subTest(host=host):
                chain = [leaf, self.middle]
                (self.good if good else lambda c, host: self.bad("another name", c, host=host))(chain, host=host)

    def test_wildcards_that_are_none(self):
        for pattern, host in [("*.test", "a.test"), ("*", "test"), ("a*.a.test", "ab.a.test"), ("*a.b.test", "a.b.test"),
                              ("x.*.test", "x.a.test"), ("*.*.test", "x.a.test"), ("**.a.test", "x.a.test")]:
            with self.subTest(pattern=pattern):
                self.bad("another name", [self.lab.leaf(self.root, pattern)], host=host)

    def test_addresses(self):
        four, six = self.lab.leaf(self.root, "127.0.0.2"), self.lab.leaf(self.root, "fd00::2")
        self.good([four], host="127.0.0.2")
        self.good([six], host="fd00::2")
        self.good([six], host="FD00:0::2")
        self.bad("^its certificate is for another name: 127.0.0.2$", [four], host="127.0.0.3")
        self.bad("another name: fd00::2", [six], host="fd00::3")
        self.bad("another name", [four], host="::ffff:127.0.0.2")
        as_name = self.lab.make("leaf", self.root, ["subjectAltName=DNS:127.0.0.2"])
        self.bad("another name", [as_name], host="127.0.0.2")

    def test_no_common_name(self):
        named = self.lab.make("a.test", self.root)
        self.bad("^its certificate names no host: it has no subjectAltName, and the subject a.test", [named])
        address = self.lab.make("127.0.0.2", self.root)
        self.bad("names no host", [address], host="127.0.0.2")
        both = self.lab.make("a.test", self.root, ["subjectAltName=DNS:b.test"])
        self.bad("another name: b.test", [both])

    def test_many_names_are_cut(self):
        many = self.lab.make("leaf", self.root, ["subjectAltName=" + ",".join(f"DNS:h{i}.test" for i in range(9))])
        self.bad(r"^its certificate is for another name: h0.test, h1.test, h2.test, h3.test, \.\.\.$", [many])
        self.good([many], host="h8.test")

    def test_control_bytes_are_not_shown(self):
        odd = self.lab.make("x", self.root, ["subjectAltName=DNS:evil\x1b[31m.test"])
        self.bad(r"^its certificate is for another name: evil\?\[31m.test$", [odd])


class Constraints(Verify):
    def below(self, constraints, names, subject=None, critical="critical,"):
        ca = self.lab.ca("Bound", self.root, more=[f"nameConstraints={critical}{constraints}"])
        leaf = self.lab.make("leaf", ca, [f"subjectAltName={names}"], subject=subject)
        return [leaf, ca]

    def test_within_and_outside(self):
        refusal = "^the certificate of Bound doesn't let it vouch for this name$"
        for constraints, names, good in [
            ("permitted;DNS:a.test", "DNS:a.test", True),
            ("permitted;DNS:test", "DNS:a.test", True),
            ("permitted;DNS:.test", "DNS:a.test", True),
            ("permitted;DNS:.a.test", "DNS:a.test", False),
            ("permitted;DNS:b.test", "DNS:a.test", False),
            ("permitted;DNS:b.test,permitted;DNS:a.test", "DNS:a.test", True),
            ("permitted;DNS:a.test", "DNS:a.test,DNS:b.test", False),
            ("permitted;DNS:est", "DNS:a.test", False),
            ("excluded;DNS:a.test", "DNS:a.test", False),
            ("excluded;DNS:test", "DNS:a.test", False),
            ("excluded;DNS:b.test", "DNS:a.test", True),
            ("excluded;DNS:x.a.test", "DNS:a.test,DNS:*.a.test", False),
            ("permitted;IP:10.0.0.0/255.0.0.0", "DNS:a.test", True),
            ("permitted;IP:10.0.0.0/255.0.0.0", "DNS:a.test,IP:11.0.0.1", False),
            ("excluded;IP:0.0.0.0/0.0.0.0", "DNS:a.test,IP:11.0.0.1", False),
            ("permitted;email:test", "DNS:a.test", True),
            ("permitted;email:test", "DNS:a.test,email:x@test", False),
            ("permitted;URI:.test", "DNS:a.test,URI:http://b.test/", False),
        ]:
            for critical in ("critical,", ""):
                with self.subTest(constraints=constraints, names=names, critical=critical):
                    chain = self.below(constraints, names, critical=critical)
                    (self.good if good else lambda c: self.bad(refusal, c))(chain)

    def test_addresses(self):
        chain = self.below("permitted;IP:10.0.0.0/255.0.0.0", "IP:10.1.2.3")
        self.good(chain, host="10.1.2.3")

    def test_directory_names(self):
        inside = self.lab.ca("Bound", self.root, more=["nameConstraints=critical,permitted;dirName:d", "[d]", "O=Test"])
        self.good([self.lab.leaf(inside), inside])
        other = self.lab.leaf(inside, subject="/O=Else/CN=leaf")
        self.bad("doesn't let it vouch", [other, inside])

    def test_of_the_root_hold(self):
        root = self.lab.ca("Root", key=self.root.key, more=["nameConstraints=critical,permitted;DNS:b.test"])
        self.bad("^the certificate of Root doesn't let it vouch", [self.leaf, self.middle], [root])


class Extensions(Verify):
    def leaf_with(self, *more, **options):
        return self.lab.leaf(self.root, more=more, **options)

    def test_purposes(self):
        self.good([self.leaf_with()])
        self.good([self.leaf_with("extendedKeyUsage=critical,serverAuth,clientAuth")])
        self.bad(r"^its certificate is not one for servers \(extKeyUsage\)$",
                 [self.leaf_with("extendedKeyUsage=clientAuth")])
        self.bad("not one for servers", [self.leaf_with("extendedKeyUsage=anyExtendedKeyUsage")])
        for usage, good in [("serverAuth", True), ("anyExtendedKeyUsage", True), ("clientAuth", False)]:
            ca = self.lab.ca("Purpose", self.root, more=[f"extendedKeyUsage={usage}"])
            chain = [self.lab.leaf(ca), ca]
            (self.good if good else lambda c: self.bad("its extKeyUsage doesn't let it", c))(chain)

    def test_key_usage(self):
        self.good([self.leaf_with("keyUsage=digitalSignature")], want="ok EC sign")
        self.good([self.leaf_with("keyUsage=keyAgreement")], want="ok EC exchange")
        self.bad(r"^its certificate is not one for TLS \(keyUsage\)$", [self.leaf_with("keyUsage=nonRepudiation")])
        rsa = self.lab.key("rsa2048")
        self.good([self.leaf_with("keyUsage=keyEncipherment", key=rsa)], want="ok RSA exchange")
        self.good([self.leaf_with(key=rsa)], want="ok RSA sign exchange")

    def test_critical_ones(self):
        unknown = "1.2.3.4=critical,ASN1:NULL"
        self.bad("^its certificate has a critical extension that is not understood$", [self.leaf_with(unknown)])
        self.good([self.leaf_with("1.2.3.4=ASN1:NULL")])
        ca = self.lab.ca("Odd", self.root, more=[unknown])
        self.bad("^the certificate of Odd can't vouch for it: it has a critical", [self.lab.leaf(ca), ca])
        # A precertificate is none (RFC 6962 3.1).
        self.bad("critical extension", [self.leaf_with("1.3.6.1.4.1.11129.2.4.3=critical,ASN1:NULL")])

    def test_policies_are_passed_over(self):
        self.good([self.leaf_with("certificatePolicies=critical,1.2.3.4")])
        self.bad("critical extension", [self.leaf_with("policyConstraints=critical,requireExplicitPolicy:0")])

    def test_odd_content(self):
        """A second pathLenConstraint, an empty list, and the like are no certificate."""
        for extension in ["basicConstraints=DER:30:06:01:01:00:02:01:00", "extendedKeyUsage=DER:30:00",
                          "keyUsage=DER:03:02:07:81"]:
            with self.subTest(extension=extension):
                self.bad("can't be read: it is malformed", [self.leaf_with(extension)])
        for names in ["30:00", "30:06:87:04:7f:00:00:02:00", "30:05:87:03:7f:00:00", "30:80:00:00", "30:81:03:82:01:61"]:
            with self.subTest(names=names):
                leaf = self.lab.make("leaf", self.root, [f"subjectAltName=DER:{names}"])
                self.bad("can't be read: it is malformed", [leaf])

    def test_a_zero_byte_ends_no_name(self):
        # dNSName "a.test\0.b.test"
        name = "a.test\0.b.test".encode().hex(":")
        leaf = self.lab.make("leaf", self.root, [f"subjectAltName=DER:30:10:82:0e:{name}"])
        self.bad("another name: a.test[?].b.test", [leaf])


class Keys(Verify):
    def test_kinds(self):
        for kind in ("p256", "p384", "p521", "rsa2048", "rsa4096"):
            with self.subTest(kind=kind):
                root = self.lab.ca("Root", key=self.lab.key(kind))
                leaf = self.lab.leaf(root, key=self.lab.key(kind, "leaf"))
                self.good([leaf], [root], want=f"ok {'RSA' if 'rsa' in kind else 'EC'} sign exchange")

    def test_digests(self):
        for digest, good in [("sha256", True), ("sha384", True), ("sha512", True), ("sha1", False), ("sha224", False)]:
            for kind in ("p256", "rsa2048"):
                with self.subTest(digest=digest, kind=kind):
                    root = self.lab.ca("Root", key=self.lab.key(kind))
                    chain = [self.lab.leaf(root, digest=digest)]
                    (self.good if good else lambda c, r: self.bad(
                        "^a certificate signed by Root is signed with", c, r))(chain, [root])

    def test_weak(self):
        weak = self.lab.key("rsa1024")
        self.bad("^its certificate is no good: its RSA key has less than 2048 bits$",
                 [self.lab.leaf(self.root, key=weak)])
        root = self.lab.ca("Root", key=weak)
        self.bad("^the certificate of Root is no good: its RSA key has less", [self.lab.leaf(root)], [root])

    def test_other_kinds(self):
        for kind in ("ed25519", "k256"):
            self.bad("^its certificate is no good: its key is of a kind that is not supported$",
                     [self.lab.leaf(self.root, key=self.lab.key(kind))])


class Roots(Verify):
    def test_what_is_counted(self):
        broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        text = "# a comment\n" + self.root.pem + broken + self.middle.pem + self.root.pem
        with open(self.root.key, encoding="utf-8") as key:
            text += key.read()
        said = self.certs("roots", self.lab.file(text)).splitlines()[0]
        self.assertEqual(said, "2 added, 1 known, 1 broken: it is no certificate, or not in DER")

    def test_forms_of_text(self):
        for change, want in [
            (lambda t: t.replace("\n", "\r\n"), "1 added, 0 known, 0 broken"),
            (lambda t: t.rstrip("\n"), "1 added, 0 known, 0 broken"),
            (lambda t: "text before " + t, "0 added, 0 known, 0 broken"),
            (lambda t: t.replace("-----END", "----END"), "1 broken: it is not in base64"),
            (lambda t: t.replace("CERTIFICATE", "TRUSTED CERTIFICATE"), "0 added, 0 known, 0 broken"),
            (lambda t: t.replace("MII", "M*I"), "1 broken: it is not in base64"),
        ]:
            said = self.certs("roots", self.lab.file(change(self.root.pem)))
            self.assertIn(want, said)


if __name__ == "__main__":
    unittest.main()
