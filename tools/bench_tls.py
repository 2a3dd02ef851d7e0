# SPDX-License-Identifier: Apache-2.0
"""The figures of `tools/bench tls`: HTTPS through termination with a filter, beside other proxies that terminate."""
import json
import os
import shutil
import subprocess
import sys

import bench_proxy
from bench_proxy import ORIGIN, TOP, free_port, tell, write

IDLE = 500
POLICY = """return {
  filesystem = { allowWrite = { "." } },
  network = {
    allowedDomains = { "%(origin)s" },
    tlsTerminate = { extraCaCertPaths = { "%(ca)s" }, maxTunnels = 4096 },
    filterRequest = function(req)
      if req.method ~= "GET" then return false, "read-only" end
      return true
    end,
  },
}
"""
# The peer takes a filter only from a program that embeds it.
PEER = """import { SandboxManager } from %(module)s
import { spawn } from 'node:child_process'
const config = { filesystem: { denyRead: [], allowWrite: ['.'], denyWrite: [] },
  network: { allowedDomains: [%(origin)s], deniedDomains: [], tlsTerminate: { extraCaCertPaths: [%(ca)s] },
    filterRequest: async r => r.method === 'GET' ? { action: 'allow' } : { action: 'deny', reason: 'read-only' } } }
await SandboxManager.initialize(config)
const wrapped = await SandboxManager.wrapWithSandbox(process.argv[2])
const child = spawn(wrapped, { shell: true, stdio: 'inherit' })
child.on('exit', async code => { await SandboxManager.reset(); process.exit(code ?? 1) })
"""
MITM_FILTER = """def request(flow):
    if flow.request.method != "GET":
        flow.kill()
"""


class Bench(bench_proxy.Bench):
    """Ways with different certificate authorities: each command says which file holds its own."""

    def certificates(self):
        def openssl(*argv):
            subprocess.run(["openssl", *argv], cwd=self.folder, check=True, capture_output=True)
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=bench CA")
        write(self.folder, "san", f"subjectAltName=IP:{ORIGIN}\n")
        openssl("req", *key, "-keyout", "origin.key", "-out", "origin.csr", "-subj", "/CN=origin")
        openssl("x509", "-req", "-in", "origin.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "san", "-out", "origin.pem")
        self.ca = os.path.join(self.folder, "ca.pem")

    def prepare(self):
        for program in ("nginx", "cc", "openssl"):
            if not shutil.which(program):
                return f"{program} is not there"
        write(self.folder, "k", "x" * 1024)
        with open(os.path.join(self.folder, "big"), "wb") as file:
            for _ in range(bench_proxy.BIG >> 20):
                file.write(b"x" * (1 << 20))
        self.inside = write(self.folder, "inside.py", bench_proxy.INSIDE)
        self.client = os.path.join(self.folder, "bench_tls_client")
        done = subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", self.client,
                               os.path.join(TOP, "tools", "bench_tls_client.c"), "-lssl", "-lcrypto", "-lpthread"],
                              capture_output=True, check=False)
        if done.returncode:
            return "tools/bench_tls_client.c can't be compiled: libssl-dev is needed"
        self.certificates()
        server = (f"ssl_certificate {self.folder}/origin.pem; ssl_certificate_key {self.folder}/origin.key; "
                  f"ssl_session_cache shared:s:1m; root {self.folder};")
        config = write(self.folder, "origin.conf", bench_proxy.NGINX % {
            "dir": self.folder, "name": "origin", "listen": f"{self.authority} ssl", "server": server})
        if not self.start(["nginx", "-c", config, "-e", "/dev/null"], ORIGIN, self.port):
            return "nginx does not start"
        self.policy = write(self.folder, "tls.lua", POLICY % {"origin": self.authority, "ca": self.ca})
        self.ways["srt-lua"] = lambda argv: [self.binary, "run", self.policy, "--", sys.executable, self.inside, *argv]
        self.others()
        return None

    def others(self):
        self.add_peer()
        if shutil.which("mitmdump"):
            port = free_port()
            home = os.path.join(self.folder, "mitm")
            script = write(self.folder, "mitm.py", MITM_FILTER)
            if self.start(["mitmdump", "-q", "--set", f"confdir={home}", "--listen-host", "127.0.0.1", "-p", str(port),
                           "--set", f"ssl_verify_upstream_trusted_ca={self.ca}", "--set", "stream_large_bodies=1m",
                           "-s", script], "127.0.0.1", port):
                ca = os.path.join(home, "mitmproxy-ca-cert.pem")
                self.ways["mitmproxy"] = lambda argv: [
                    arg.replace("@PORT@", str(port)).replace("@AUTH@", "").replace("@CA@", ca) for arg in argv]

    def add_peer(self):
        peer = os.environ.get("PEER_DIR")
        if not peer:
            return
        module = os.path.join(peer, "node_modules", "@anthropic-ai", "sandbox-runtime", "dist", "index.js")
        node = os.path.join(peer, "node_modules", ".bin", "node")
        node = node if os.path.exists(node) else shutil.which("node")
        script = write(self.folder, "peer.mjs", PEER % {"module": json.dumps(module), "origin": json.dumps(self.authority),
                                                        "ca": json.dumps(self.ca)})
        self.ways["peer"] = lambda argv: [node, script, bench_proxy.shlex.join([sys.executable, self.inside, *argv])]

    def run(self, argv, timeout=120):
        # The peer verifies upstream by Node's roots.
        os.environ["NODE_EXTRA_CA_CERTS"] = self.ca
        return super().run(argv, timeout)

    def all_ways(self, *words):
        """{way: command} of the client; the first two words of it are its mode and what comes behind the CA."""
        mode, *rest = words
        commands = {"direct": [self.client, mode, "0", self.authority, "", self.ca, *rest]}
        for way, wrap in self.ways.items():
            commands[way] = wrap([self.client, mode, "@PORT@", self.authority, "@AUTH@", "@CA@", *rest])
        return commands

    def figures(self):
        for connections, times in (("16", 10), ("1", 6)):
            tell(f"keep-alive requests through termination, 1 KiB, {connections} at a time, per second",
                 self.measure(self.all_ways("requests", connections, "3"), r"^(\d+)"), {"peer": times}, "{:.0f}")
        tell("new terminated connections with one request each, 8 at a time, per second",
             self.measure(self.all_ways("handshakes", "8", "3"), r"^(\d+)"), {"peer": 8}, "{:.0f}")
        got = self.measure(self.all_ways("download", "/big"), rf"{bench_proxy.BIG} (\d+)")
        tell("download of 256 MiB, MB/s", {way: value and value / 1e6 for way, value in got.items()}, {"peer": 4}, "{:.0f}")
        self.memory()

    def memory(self):
        one, many = (self.resident(count, "@CA@") for count in (1, IDLE))
        if one is None or many is None:
            print("memory of terminated connections: not measured: they could not be opened")
            return
        each = (many - one) / (IDLE - 1)
        print(f"memory: {each:.1f} KiB a terminated connection (of {IDLE} idle ones; wanted: 96 at most)")


def main(folder, binary, runs):
    return bench_proxy.show(Bench(folder, binary, runs))
