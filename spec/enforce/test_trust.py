# SPDX-License-Identifier: Apache-2.0
"""Whom the command trusts under network.tlsTerminate: real clients, what stands in the bundle, and what never gets inside.

The server is on an address that the policy names without a port, so there is no way to it but the proxy.
"""
import http.server
import os
import re
import shutil
import ssl
import sys
import threading

from lib import Case, as_everyone, main, need
from server import ADDRESS, Server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "certs"))
from made import CERTS_NOW, DAY, Lab

PYTHON = "/usr/bin/python3"
BUNDLE, STORE = "/dev/srt-lua/ca-bundle.pem", "/dev/srt-lua/ca-bundle.jks"
SYSTEM, CACERTS = "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/java/cacerts"
HELLO = "hello over TLS"
REFS = "1234567890" * 4 + "\trefs/heads/main\n"

NODE = """
const http = require("http"), tls = require("tls"), [host, port] = process.argv.slice(1);
const proxy = new URL(process.env.https_proxy);
http.request({ host: proxy.hostname, port: proxy.port, method: "CONNECT", path: host + ":" + port })
  .on("connect", (_, socket) => {
    const secure = tls.connect({ socket, host }, () => {
      secure.write("GET / HTTP/1.1\\r\\nHost: " + host + ":" + port + "\\r\\nConnection: close\\r\\n\\r\\n");
    });
    secure.on("error", e => console.log(e.message));
    let text = "";
    secure.setEncoding("utf8").on("data", more => text += more).on("end", () => console.log(text.split("\\r\\n\\r\\n")[1]));
  }).end();
"""

JAVA = """import java.net.*;
public class Get {
  public static void main(String[] a) throws Exception {
    HttpURLConnection c = (HttpURLConnection) new URL(a[0]).openConnection();
    System.out.println(new String(c.getInputStream().readAllBytes()).trim());
  }
}
"""

# Everything that Python 3.13 checks by default.
STRICT = """
import ssl, sys, urllib.request
context = ssl.create_default_context()
context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
print(urllib.request.urlopen(sys.argv[1], context=context).read().decode())
"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = (REFS if self.path.startswith("/repo/info/refs") else HELLO).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Origin:
    """An HTTPS server whose certificate a CA of its own made: .root, .port"""

    def __init__(self):
        self.lab = Lab()
        os.chmod(self.lab.folder, 0o755)
        dates = {"start": CERTS_NOW - DAY, "end": CERTS_NOW + DAY}
        ca = self.lab.ca("Origin CA", more=["subjectKeyIdentifier=hash"], **dates)
        leaf = self.lab.make("origin", ca, [f"subjectAltName=DNS:localhost,IP:{ADDRESS}", "extendedKeyUsage=serverAuth",
                                            "authorityKeyIdentifier=keyid"], **dates)
        self.root, self.ca = self.lab.file(ca.pem), ca
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.lab.file(leaf.pem), leaf.key)
        self.server = Server((ADDRESS, 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"https://{ADDRESS}:{self.port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.lab.close()


ORIGIN = None


def setUpModule():
    global ORIGIN
    ORIGIN = Origin()


def tearDownModule():
    ORIGIN.close()


def blocks(text):
    return re.findall("-----BEGIN CERTIFICATE-----\n.*?-----END CERTIFICATE-----\n", text, re.S)


class Base(Case):
    def text(self, tls="", filesystem="", extra=True):
        more = '"%s"' % ORIGIN.root if extra else ""
        return ('{ network = { allowedDomains = { "%s", "localhost" }, tlsTerminate = { extraCaCertPaths = { %s }, %s } }, '
                'filesystem = { allowWrite = { "." }, %s } }' % (ADDRESS, more, tls, filesystem))

    def inside(self, script, timeout=120, env=None, **more):
        return self.run_sh(script, self.text(**more), timeout=timeout, env=env)

    def good(self, script, want=HELLO, **more):
        got = self.inside(script, **more)
        self.assertEqual((0, want), (got.code, got.out.strip()), got)
        return got


class Clients(Base):
    @as_everyone
    def test_curl(self):
        self.good("%s -sS %s" % (need("curl"), ORIGIN.url))

    @as_everyone
    def test_without_mounts(self):
        """Under Landlock alone the bundle is in the temporary folder, and ends with it."""
        policy = self.text().replace("{", '{ backend = "landlock",', 1)
        got = self.run_sh("%s -sS %s; %s ls-remote %srepo; echo $SSL_CERT_FILE" % (need("curl"), ORIGIN.url, need("git"), ORIGIN.url),
                          policy, timeout=120)
        self.assertEqual(HELLO + REFS, got.out[:len(HELLO + REFS)].replace(HELLO + "\n", HELLO), got)
        self.assertTrue(got.out.strip().endswith("/files/ca-bundle.pem"), got)
        self.assertIn("does not trust the run's CA", got.err)
        self.assertEqual([], self.leftovers())

    @as_everyone
    def test_curl_without_its_environment(self):
        self.good("env -i %s -sS -x $https_proxy %s" % (need("curl"), ORIGIN.url))

    @as_everyone
    def test_wget(self):
        self.good("%s -q -O - %s" % (need("wget"), ORIGIN.url))
        self.good("env -i https_proxy=$https_proxy %s -q -O - %s" % (need("wget"), ORIGIN.url))

    @as_everyone
    def test_openssl(self):
        script = ("%s s_client -proxy ${https_proxy#http://} -connect %s:%d -verify_return_error -verify_ip %s -x509_strict "
                  "</dev/null 2>&1 | grep -oE '^issuer.*|Verify return code: 0.*'")
        host = (need("openssl"), ADDRESS, ORIGIN.port, ADDRESS)
        want = "issuer=O = srt-lua, CN = srt-lua CA of one run\nVerify return code: 0 (ok)"
        self.good(script % host, want)
        self.good("proxy=$https_proxy; env -i PATH=$PATH https_proxy=$proxy sh -c '%s'"
                  % (script % host).replace("'", "'\\''"), want)

    @as_everyone
    def test_python(self):
        self.write("w/strict.py", STRICT)
        self.good("%s strict.py %s" % (PYTHON, ORIGIN.url))
        self.good("env -i https_proxy=$https_proxy %s strict.py %s" % (PYTHON, ORIGIN.url))

    @as_everyone
    def test_pip(self):
        """pip has roots of its own; a page without packages is what it gets to see."""
        # As ensurepip would, but for the compiling of all of it.
        self.sh("%s -m venv --without-pip venv; for whl in /usr/share/python-wheels/pip-*.whl /usr/lib/python3*/ensurepip/_bundled/"
                "pip-*.whl; do [ ! -e $whl ] || break; done; %s -m zipfile -e $whl venv/lib/python3*/site-packages" % (PYTHON, PYTHON))
        got = self.inside("venv/bin/python -m pip download --disable-pip-version-check --retries 0 -i %s tiny" % ORIGIN.url)
        self.assertNotIn("SSL", got.err, got)
        self.assertIn("No matching distribution", got.err, got)

    @as_everyone
    def test_git(self):
        self.good("%s ls-remote %srepo" % (need("git"), ORIGIN.url), REFS.strip())

    @as_everyone
    def test_node(self):
        self.write("w/get.js", NODE)
        self.good("%s -e \"$(cat get.js)\" %s %d" % (need("node"), ADDRESS, ORIGIN.port))

    @as_everyone
    def test_java(self):
        java = self.java("Get", JAVA)
        self.good("%s %s" % (java, ORIGIN.url))
        self.good("%s %s" % (java, ORIGIN.url), env={"JAVA_TOOL_OPTIONS": "-Djavax.net.ssl.trustStore=/none "
                                                     "-Djavax.net.ssl.trustStorePassword=other"})
        if os.path.exists(CACERTS):
            given = "java -Dhttps.proxyHost=${proxy%:*} -Dhttps.proxyPort=${proxy#*:} -Dhttp.nonProxyHosts="
            self.good("proxy=${https_proxy#http://}; unset JAVA_TOOL_OPTIONS; %s %s" % (java.replace("java", given, 1), ORIGIN.url))


class Bundle(Base):
    @as_everyone
    def test_what_it_holds(self):
        """The CA of the run, the host's roots, the policy's: their CERTIFICATE blocks and nothing else."""
        with open(ORIGIN.ca.key, encoding="utf-8") as key:
            extra = self.write("extra.pem", "a comment\n" + ORIGIN.ca.pem + key.read())
        got = self.run_sh("cat " + BUNDLE, self.text().replace(ORIGIN.root, extra))
        inside = blocks(got.out)
        self.assertEqual("".join(inside), got.out)
        with open(SYSTEM, encoding="utf-8") as file:
            host = blocks(file.read())
        self.assertEqual(inside[1:], host + [ORIGIN.ca.pem])
        self.assertNotIn(inside[0], host)

    @as_everyone
    def test_nothing_of_it_can_be_changed(self):
        got = self.inside("for f in %s %s %s; do echo x >>$f; rm $f; mv $f $f.old; done 2>&1; ls /dev/srt-lua"
                          % (BUNDLE, STORE, SYSTEM))
        self.assertEqual(["ca-bundle.jks", "ca-bundle.pem"], got.out.split()[-2:], got)
        self.assertIn("Read-only file system", got.out)

    @as_everyone
    def test_the_system_has_it_too(self):
        before = os.stat(SYSTEM)
        got = self.inside("cmp %s %s && echo same; stat -c %%a %s" % (BUNDLE, SYSTEM, SYSTEM))
        self.assertEqual("same\n644\n", got.out, got)
        self.assertEqual(before, os.stat(SYSTEM))
        if os.path.exists(CACERTS):
            self.assertEqual("same\n", self.inside("cmp %s %s && echo same" % (STORE, CACERTS)).out)

    @as_everyone
    def test_java_reads_the_store(self):
        """With the usual password, which checks it, and without one."""
        with open(os.path.join(os.path.dirname(__file__), "../certs/Chain.java"), encoding="utf-8") as source:
            java = self.java("Chain", source.read())
        for password in ("changeit", "-"):
            got = self.inside("grep -c BEGIN %s; %s store %s %s | head -1" % (BUNDLE, java, STORE, password))
            count, entries = got.out.split()
            self.assertEqual(count, entries, got)
        got = self.inside("%s store %s wrong" % (java, STORE))
        self.assertNotEqual(0, got.code)

    @as_everyone
    def test_a_new_ca_for_each_run(self):
        first, second = (self.inside("openssl x509 -noout -fingerprint -in " + BUNDLE).out for _ in range(2))
        self.assertIn("Fingerprint", first)
        self.assertNotEqual(first, second)

    @as_everyone
    def test_without_termination(self):
        got = self.run_sh("ls /dev/srt-lua; cat %s; echo $SSL_CERT_FILE" % SYSTEM, '{ network = { allowedDomains = { "a.test" } } }',
                          env={"SSL_CERT_FILE": "/corp.pem"})
        with open(SYSTEM, encoding="utf-8") as file:
            self.assertEqual(file.read() + "/corp.pem\n", got.out)

    @as_everyone
    def test_denied_places_stay_denied(self):
        got = self.inside("cat %s 2>&1; %s -sS %s" % (SYSTEM, need("curl"), ORIGIN.url), filesystem='denyRead = { "/etc/ssl" }')
        self.assertIn("Permission denied", got.out, got)
        self.assertIn(HELLO, got.out, got)


class Roots(Base):
    @as_everyone
    def test_the_callers(self):
        """SSL_CERT_FILE adds to the system's roots, inside and towards servers, tunnelled ones too."""
        curl = need("curl")
        env = {"SSL_CERT_FILE": ORIGIN.root}
        self.good("%s -sS %s" % (curl, ORIGIN.url), extra=False, env=env)
        self.good("%s -sS %s" % (curl, ORIGIN.url), extra=False, env=env, tls='excludeDomains = { "%s" }' % ADDRESS)
        self.good("%s -sSv %s 2>&1 | grep -o 'issuer: .*'" % (curl, ORIGIN.url), "issuer: O=Test; CN=Origin CA", extra=False,
                  env=env, tls='excludeDomains = { "%s" }' % ADDRESS)
        folder = os.path.dirname(self.write("roots/one.pem", ORIGIN.ca.pem))
        self.good("%s -sS %s" % (curl, ORIGIN.url), extra=False, env={"SSL_CERT_DIR": "/none:" + folder})

    @as_everyone
    def test_unknown(self):
        got = self.inside("%s -sS %s" % (need("curl"), ORIGIN.url), extra=False)
        self.assertIn("502", self.inside("%s -s -o /dev/null -w '%%{http_code}' %s" % (need("curl"), ORIGIN.url),
                                         extra=False).out)
        self.assertNotIn(HELLO, got.out)

    @as_everyone
    def test_the_run_has_no_trust_in_its_own_ca(self):
        """A server that shows a certificate of the user's CA for the proxy is nobody's."""
        proxy = ORIGIN.lab.ca("Proxy CA", start=CERTS_NOW - DAY, end=CERTS_NOW + DAY)
        cert, key = self.write("ca.pem", proxy.pem), self.path("ca.key")
        shutil.copy(proxy.key, key)
        self.own(self.dir)
        got = self.inside("openssl x509 -noout -subject -in %s; %s -sS %s" % (BUNDLE, need("curl"), ORIGIN.url),
                          tls='caCertPath = "%s", caKeyPath = "%s"' % (cert, key))
        self.assertEqual("subject=O = Test, CN = Proxy CA\n" + HELLO, got.out, got)

    @as_everyone
    def test_refused(self):
        broken = self.write("broken.pem", ORIGIN.ca.pem + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        none = self.write("none.pem", "nothing\n")
        for path, why in [(broken, "broken.pem can't be used: it is no certificate"), ("/no/such", "/no/such can't be read"),
                          (none, "none.pem can't be used: it holds no certificate")]:
            got = self.run_sh("echo ran", self.text().replace(ORIGIN.root, path))
            self.assertEqual((125, ""), (got.code, got.out), got)
            self.assertIn(why, got.err)
        got = self.inside("echo ran", env={"SSL_CERT_FILE": "/no/such"})
        self.assertEqual((125, ""), (got.code, got.out), got)
        self.assertIn("SSL_CERT_FILE: /no/such can't be read", got.err)

    @as_everyone
    def test_what_one_tool_trusted_is_told(self):
        got = self.inside("echo ran", env={"NODE_EXTRA_CA_CERTS": "/corp.pem", "CURL_CA_BUNDLE": SYSTEM})
        self.assertIn("NODE_EXTRA_CA_CERTS is /corp.pem, whose roots are not trusted", got.err, got)
        self.assertNotIn("CURL_CA_BUNDLE", got.err)


class Key(Base):
    @as_everyone
    def test_never_inside(self):
        proxy = ORIGIN.lab.ca("Proxy CA", start=CERTS_NOW - DAY, end=CERTS_NOW + DAY)
        cert, key, extra = self.write("w/ca.pem", proxy.pem), self.path("w/ca.key"), self.write("w/extra.pem", ORIGIN.ca.pem)
        shutil.copy(proxy.key, key)
        self.own(self.dir)
        text = self.text(tls='caCertPath = "ca.pem", caKeyPath = "ca.key"',
                         filesystem='allowRead = { ".", "ca.key" }').replace(ORIGIN.root, extra)
        got = self.run_sh("cat ca.key; head -1 ca.pem; for f in ca.key ca.pem extra.pem; do echo x >$f; mv $f away; done", text)
        self.assertEqual("-----BEGIN CERTIFICATE-----\n", got.out, got)
        self.assertIn("ca.key: Permission denied", got.err)
        for name, want in ((cert, proxy.pem), (extra, ORIGIN.ca.pem)):
            with open(name, encoding="utf-8") as file:
                self.assertEqual(want, file.read())


if __name__ == "__main__":
    main()
