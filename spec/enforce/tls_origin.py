# SPDX-License-Identifier: Apache-2.0
"""HTTPS origins on loopback: nginx with good and bad certificates, and a scripted server; and the CAs that made them."""
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time

from lib import need
from server import ADDRESS, Listening

NAME = "localhost"


def openssl(*args):
    done = subprocess.run([need("openssl"), *args], capture_output=True)
    if done.returncode:
        raise AssertionError("openssl %s: %s" % (" ".join(args), done.stderr.decode()))


class Authority:
    """A CA in files: NAME.pem and NAME.key in a folder."""

    def __init__(self, folder, name, kind="ec"):
        self.folder, self.cert, self.key = folder, os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key")
        how = ["-newkey", "rsa:2048"] if kind == "rsa" else ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        openssl("req", "-x509", *how, "-nodes", "-keyout", self.key, "-out", self.cert, "-days", "3650", "-subj",
                "/CN=" + name, "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def issue(self, name, names, days=30, kind="rsa", usage="serverAuth"):
        """A certificate; its paths without the ending."""
        base = os.path.join(self.folder, name)
        how = ["-newkey", "rsa:2048"] if kind == "rsa" else ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        openssl("req", *how, "-nodes", "-keyout", base + ".key", "-out", base + ".csr", "-subj", "/CN=" + name)
        with open(base + ".ext", "w") as file:
            file.write("subjectAltName=%s\nextendedKeyUsage=%s\nbasicConstraints=critical,CA:false\n"
                       "keyUsage=critical,digitalSignature\n" % (names, usage))
        if days < 0:
            self.expired(base)
        else:
            openssl("x509", "-req", "-in", base + ".csr", "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial", "-days",
                    str(days), "-extfile", base + ".ext", "-out", base + ".pem")
        return base

    def expired(self, base):
        """openssl x509 of this version makes none of the past, openssl ca does."""
        with open(base + ".db", "w"):
            pass
        with open(base + ".cnf", "w") as file:
            file.write("[ca]\ndefault_ca=d\n[d]\ndatabase=%s.db\nnew_certs_dir=%s\ndefault_md=sha256\npolicy=p\n"
                       "rand_serial=yes\nunique_subject=no\n[p]\ncommonName=supplied\n" % (base, self.folder))
        openssl("ca", "-batch", "-config", base + ".cnf", "-cert", self.cert, "-keyfile", self.key, "-in", base + ".csr",
                "-out", base + ".pem", "-notext", "-startdate", "20200101000000Z", "-enddate", "20200201000000Z",
                "-extfile", base + ".ext")


def free_ports(count):
    held = [socket.create_server((ADDRESS, 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


SERVER = """server {{ listen {address}:{port} {ssl}; {rest}
  location /echo {{ default_type text/plain;
    return 200 "$request_method $request_uri host=$http_host added=$http_x_added conn=$connection_requests\\n"; }} }}
"""


class Site:
    """nginx: self.ports by kind, self.root is trusted by whoever shall trust it, self.ours is the proxy's own CA."""

    KINDS = {"good": "", "new": "ssl_protocols TLSv1.3;", "old": "ssl_protocols TLSv1.2;", "wrong": "", "expired": "",
             "self": "", "mtls": "ssl_verify_client on; ssl_client_certificate {ca};",
             "handshake-mtls": "ssl_verify_client on; ssl_client_certificate {ca}; ssl_protocols TLSv1.3;", "plain": "",
             "ec": ""}

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="srt-tls-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.root = Authority(self.folder, "root")
        self.ours = Authority(self.folder, "ours")
        os.chmod(self.ours.key, 0o644)
        names = "DNS:%s,IP:%s" % (NAME, ADDRESS)
        good = self.root.issue("good", names)
        certs = {"wrong": self.root.issue("wrong", "DNS:other.test"), "expired": self.root.issue("old", names, -1),
                 "self": Authority(self.folder, "self").issue("selfish", names),
                 "ec": self.root.issue("ec", names, kind="ec")}
        self.good = good
        self.ports = dict(zip(self.KINDS, free_ports(len(self.KINDS))))
        www = os.path.join(self.folder, "www")
        os.mkdir(www)
        with open(os.path.join(www, "big"), "wb") as file:
            file.write(os.urandom(1 << 20) * 64)
        servers = ""
        for kind, rest in self.KINDS.items():
            base = certs.get(kind, good)
            tls = "" if kind == "plain" else "ssl_certificate %s.pem; ssl_certificate_key %s.key;" % (base, base)
            servers += SERVER.format(address=ADDRESS, port=self.ports[kind], ssl="" if kind == "plain" else "ssl",
                                     rest=tls + rest.format(ca=self.root.cert))
        self.config = os.path.join(self.folder, "nginx.conf")
        with open(self.config, "w") as file:
            file.write("daemon off; master_process off; pid {0}/pid; error_log {0}/errors;\n"
                       "events {{ worker_connections 256; }}\nhttp {{ access_log {0}/log; root {0}/www;\n"
                       "client_body_temp_path {0}/b; proxy_temp_path {0}/p; fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u;"
                       "scgi_temp_path {0}/s; client_max_body_size 0;\n{1} }}\n".format(self.folder, servers))

    def url(self, kind, path="/echo", host=None):
        return "%s://%s:%d%s" % ("http" if kind == "plain" else "https", host or ADDRESS, self.ports[kind], path)

    def __enter__(self):
        self.process = subprocess.Popen([need("nginx"), "-p", self.folder, "-c", self.config],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                socket.create_connection((ADDRESS, self.ports["good"])).close()
                return self
            except OSError:
                time.sleep(0.05)
        raise AssertionError("nginx does not start: " + open(os.path.join(self.folder, "errors")).read())

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


class Scripted(Listening):
    """A TLS 1.2 server: talk(connection) in a thread for each."""

    def __init__(self, site, talk):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(site.good + ".pem", site.good + ".key")
        self.context.maximum_version = ssl.TLSVersion.TLSv1_2
        self.talk = talk

    def serve(self, connection):
        try:
            with self.context.wrap_socket(connection, server_side=True) as tls:
                self.talk(tls)
        except OSError:
            pass


def read_head(connection):
    head = b""
    while b"\r\n\r\n" not in head:
        more = connection.recv(1)
        if not more:
            break
        head += more
    return head
