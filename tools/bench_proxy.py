# SPDX-License-Identifier: Apache-2.0
"""The figures of `tools/bench proxy`: requests, tunnels and memory of the proxy, beside other ways."""
import json
import os
import re
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ORIGIN = "127.0.0.2"
BIG = 256 << 20
IDLE = 8000
LUA_SCRIPT = """local url, auth = os.getenv("BENCH_URL"), os.getenv("BENCH_AUTH")
local headers = { Host = url:match("//([^/]+)") }
if auth and auth ~= "" then headers["Proxy-Authorization"] = auth end
local text
function request()
  text = text or wrk.format("GET", url, headers)
  return text
end
"""
# Inside: finds the proxy in the environment, then becomes what measures.
INSIDE = """import base64, os, sys
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["HTTP_PROXY"])
auth = ""
if proxy.password:
    auth = "Basic " + base64.b64encode(("%s:%s" % (proxy.username, proxy.password)).encode()).decode()
os.environ["BENCH_AUTH"] = auth
known = {"@PORT@": str(proxy.port), "@AUTH@": auth, "@CA@": os.environ.get("SSL_CERT_FILE", "")}
argv = [known.get(arg, arg.replace("@PORT@", known["@PORT@"])) for arg in sys.argv[1:]]
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
os.execvp(argv[0], argv)
"""
POLICY = """return {
  filesystem = { allowWrite = { "." } },
  network = {
    allowedDomains = { "%(origin)s", "api.github.com:443", "*.npmjs.org" },
    deniedDomains = { "*:22" },
    filterRequest = function(req)
      if req.host == "api.github.com" and req.method ~= "GET" then return false, "read-only" end
      return true
    end,
  },
}
"""
NGINX = """daemon off; worker_processes 1; worker_rlimit_nofile 20000; pid %(dir)s/%(name)s.pid; error_log /dev/null crit;
events { worker_connections 20000; }
http { access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; client_header_timeout 600s; sendfile on;
  open_file_cache max=16 inactive=600s; open_file_cache_valid 600s;
  client_body_temp_path %(dir)s/b; proxy_temp_path %(dir)s/p; fastcgi_temp_path %(dir)s/f; uwsgi_temp_path %(dir)s/u;
  scgi_temp_path %(dir)s/s;
  server { listen %(listen)s backlog=4096; %(server)s } }
"""
FORWARD = "resolver 127.0.0.1; location / { proxy_pass http://$http_host$request_uri; proxy_http_version 1.1; " \
          "proxy_set_header Connection \"\"; proxy_set_header Host $http_host; }"


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def free_port(address="127.0.0.1"):
    with socket.socket() as s:
        s.bind((address, 0))
        return s.getsockname()[1]


def wait_for(address, port):
    end = time.time() + 10
    while time.time() < end:
        try:
            socket.create_connection((address, port)).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


class Bench:
    def __init__(self, folder, binary, runs):
        self.folder, self.binary, self.runs = folder, binary, runs
        self.processes, self.ways = [], {}
        self.port = free_port(ORIGIN)
        self.authority = f"{ORIGIN}:{self.port}"
        os.chmod(folder, 0o755)

    def start(self, argv, address, port):
        self.processes.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return wait_for(address, port)

    def nginx(self, name, address, port, server):
        config = write(self.folder, name + ".conf", NGINX % {
            "dir": self.folder, "name": name, "listen": f"{address}:{port}", "server": server})
        return self.start(["nginx", "-c", config, "-e", "/dev/null"], address, port)

    def prepare(self):
        """What there is to measure with; a reason where that is too little."""
        for program in ("wrk", "nginx", "cc"):
            if not shutil.which(program):
                return f"{program} is not there"
        write(self.folder, "k", "x" * 1024)
        with open(os.path.join(self.folder, "big"), "wb") as file:
            for _ in range(BIG >> 20):
                file.write(b"x" * (1 << 20))
        self.script = write(self.folder, "wrk.lua", LUA_SCRIPT)
        self.inside = write(self.folder, "inside.py", INSIDE)
        self.client = os.path.join(self.folder, "bench_client")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", self.client, os.path.join(TOP, "tools", "bench_client.c")],
                       check=True)
        if not self.nginx("origin", ORIGIN, self.port, f"root {self.folder};"):
            return "nginx does not start"
        self.policy = write(self.folder, "proxy.lua", POLICY % {"origin": self.authority})
        self.ways["srt-lua"] = lambda argv: [self.binary, "run", self.policy, "--", sys.executable, self.inside, *argv]
        self.others()
        return None

    def others(self):
        port = free_port()
        if self.nginx("forward", "127.0.0.1", port, FORWARD):
            self.ways["nginx as proxy"] = self.outside(port)
        if shutil.which("tinyproxy"):
            port = free_port()
            config = write(self.folder, "tiny.conf", f"Port {port}\nListen 127.0.0.1\nAllow 127.0.0.1\nMaxClients 500\n"
                           f"LogLevel Critical\nTimeout 600\nConnectPort {self.port}\n")
            if self.start(["tinyproxy", "-d", "-c", config], "127.0.0.1", port):
                self.ways["tinyproxy"] = self.outside(port)
        self.add_peer()

    def outside(self, port):
        return lambda argv: [arg.replace("@PORT@", str(port)).replace("@AUTH@", "") for arg in argv]

    def add_peer(self):
        peer = os.environ.get("PEER_DIR")
        if not peer:
            return
        package = os.path.join(peer, "node_modules", "@anthropic-ai", "sandbox-runtime")
        with open(os.path.join(package, "package.json"), encoding="utf-8") as text:
            entry = json.load(text)["bin"]
        script = os.path.join(package, entry if isinstance(entry, str) else entry["srt"])
        node = os.path.join(peer, "node_modules", ".bin", "node")
        node = node if os.path.exists(node) else shutil.which("node")
        settings = write(self.folder, "peer.json", json.dumps({
            "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []},
            "network": {"allowedDomains": [self.authority], "deniedDomains": []}}))
        self.ways["peer"] = lambda argv: [node, script, "--settings", settings, "-c",
                                           shlex.join([sys.executable, self.inside, *argv])]

    def run(self, argv, timeout=120):
        """Standard output of a command, or "" where it fails."""
        env = dict(os.environ, BENCH_URL=f"http://{self.authority}/k")
        try:
            done = subprocess.run(argv, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout.decode() if done.returncode == 0 else ""

    def measure(self, commands, pattern):
        """{way: median} of what the pattern finds, all ways in turns."""
        found = {way: [] for way in commands}
        for _ in range(self.runs):
            for way, argv in commands.items():
                got = re.search(pattern, self.run(argv))
                if got:
                    found[way].append(float(got.group(1)))
        return {way: statistics.median(values) if values else None for way, values in found.items()}

    def requests(self):
        wrk = ["wrk", "-t1", "-c16", "-d3s"]
        commands = {"direct": [*wrk, f"http://{self.authority}/k"]}
        for way, wrap in self.ways.items():
            commands[way] = wrap([*wrk, "-s", self.script, "http://127.0.0.1:@PORT@/"])
        got = self.measure(commands, r"Requests/sec:\s+([\d.]+)")
        tell("plain HTTP, keep-alive, 1 KiB, 16 connections, requests/s", got,
             {"peer": 15, "nginx as proxy": 0.7}, "{:.0f}")

    def tunnel(self):
        client = [self.client, "tunnel", "@PORT@", self.authority, "@AUTH@", "/big"]
        commands = {"direct": [self.client, "tunnel", "0", self.authority, "", "/big"]}
        for way, wrap in self.ways.items():
            if way != "nginx as proxy":
                commands[way] = wrap(client)
        got = self.measure(commands, rf"{BIG} (\d+)")
        tell("one CONNECT tunnel, 256 MiB, MB/s", {way: v and v / 1e6 for way, v in got.items()},
             {"peer": 5, "direct": 0.7}, "{:.0f}")

    def connects(self):
        client = [self.client, "connects", "@PORT@", self.authority, "@AUTH@", "3", "16"]
        commands = {way: wrap(client) for way, wrap in self.ways.items() if way != "nginx as proxy"}
        tell("new CONNECTs, 16 at a time, per second", self.measure(commands, r"^(\d+)"), {"peer": 10}, "{:.0f}")

    def filter(self):
        module = os.path.join(os.path.dirname(self.binary), "spec", "srt_c.so")
        if not os.path.exists(module) or not shutil.which("lua5.4"):
            print("filterRequest: not measured: no lua5.4, or no build with tests beside the binary")
            return
        policy = write(self.folder, "filter.lua", POLICY % {"origin": "127.0.0.2:18080"})
        out = self.run(["lua5.4", os.path.join(TOP, "tools", "bench_filter.lua"), TOP, module, policy, "20000"])
        part = dict(line.split() for line in out.splitlines())
        print(f"filterRequest: {part.get('call')} us a call into the policy's box (wanted: 5 at most),"
              f" {part.get('decision')} us the whole decision with building the question (by Debian's lua5.4)")

    def resident(self, count, *words):
        """KiB of the host process while the client holds that many connections; None where it can't open them."""
        argv = self.ways["srt-lua"]([self.client, "idle", "@PORT@", self.authority, "@AUTH@", *words, str(count)])
        process = subprocess.Popen(argv, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        try:
            if process.stdout.readline() != b"open %d\n" % count:
                return None
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
                return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))
        finally:
            process.stdin.close()
            process.wait()

    def idle(self):
        resident = self.resident(IDLE)
        if resident is None:
            print("idle tunnels: not measured: they could not be opened (ulimit -Hn 20000 is needed)")
            return
        print(f"{IDLE} idle tunnels: {resident / 1024:.1f} MiB resident in the host process (wanted: 80 at most)")

    def figures(self):
        self.requests()
        self.tunnel()
        self.connects()
        self.filter()
        self.idle()

    def close(self):
        for process in self.processes:
            process.terminate()
            process.wait()


def tell(title, got, wanted, form):
    """One figure of all ways, ours as a multiple of each, and what is wanted."""
    ours = got.get("srt-lua")
    print(title + ":")
    for way, value in got.items():
        if value is None:
            print(f"  {way:<16} not measured: it fails here")
            continue
        note = f"   ours is {ours / value:.2f}x" if ours and way != "srt-lua" else ""
        if way in wanted:
            note += f" (wanted: {wanted[way]} at least)"
        print(f"  {way:<16} {form.format(value):>10}{note}")


def show(bench):
    """Prints all figures; a problem where nothing can be measured."""
    try:
        problem = bench.prepare()
        if problem:
            return problem
        print(f"medians of {bench.runs} runs in turns:")
        bench.figures()
    finally:
        bench.close()
    return None


def main(folder, binary, runs):
    return show(Bench(folder, binary, runs))
