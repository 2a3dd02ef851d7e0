# SPDX-License-Identifier: Apache-2.0
"""Second readers of what the proxy forwards: Node, and nginx in front of Node; each request that they read is noted."""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from lib import need
from server import ADDRESS

NODE = """
const http = require('http');
const server = http.createServer((request, response) => {
  let length = 0;
  request.on('data', piece => { length += piece.length; });
  request.on('end', () => {
    console.log(JSON.stringify({ via: request.headers['x-via'] || 'node', method: request.method, url: request.url, length,
      headers: request.headers, trailers: request.trailers }));
    response.end('read');
  });
});
server.keepAliveTimeout = 60000;
server.listen(0, process.argv[1], () => console.log(server.address().port));
"""

NGINX = """daemon off; worker_processes 1; pid %(dir)s/pid; error_log %(dir)s/error;
events { worker_connections 512; }
http {
  access_log off; client_body_temp_path %(dir)s/body; proxy_temp_path %(dir)s/proxy; fastcgi_temp_path %(dir)s/f;
  uwsgi_temp_path %(dir)s/u; scgi_temp_path %(dir)s/s;
  server {
    listen %(address)s:%(port)d; merge_slashes off; underscores_in_headers on; client_max_body_size 0;
    location / { proxy_pass http://%(address)s:%(node)d; proxy_set_header X-Via nginx; proxy_set_header Host $http_host; }
  }
}
"""


def free_port():
    with socket.socket() as s:
        s.bind((ADDRESS, 0))
        return s.getsockname()[1]


class Readers:
    """with Readers() as readers: readers.ports = {"node": port, "nginx": port}; readers.take() = what was read since"""

    def __enter__(self):
        node, nginx = os.path.realpath(need("node")), need("nginx")
        self.dir = tempfile.mkdtemp(prefix="srt-readers-", dir="/tmp")
        os.chmod(self.dir, 0o755)
        self.seen, self.lock, self.processes = [], threading.Lock(), []
        self.node = subprocess.Popen([node, "-e", NODE, ADDRESS], stdout=subprocess.PIPE)
        self.processes.append(self.node)
        self.ports = {"node": int(self.node.stdout.readline()), "nginx": free_port()}
        threading.Thread(target=self.read, daemon=True).start()
        config = os.path.join(self.dir, "nginx.conf")
        with open(config, "w") as file:
            file.write(NGINX % {"dir": self.dir, "address": ADDRESS, "port": self.ports["nginx"], "node": self.ports["node"]})
        self.processes.append(subprocess.Popen([nginx, "-c", config, "-e", os.path.join(self.dir, "error")]))
        self.wait_for(self.ports["nginx"])
        return self

    def wait_for(self, port):
        deadline = time.time() + 10
        while time.time() < deadline:
            try:
                socket.create_connection((ADDRESS, port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("nginx does not start")

    def read(self):
        for line in self.node.stdout:
            with self.lock:
                self.seen.append(json.loads(line))

    def take(self):
        time.sleep(0.3)
        with self.lock:
            seen, self.seen = self.seen, []
        return seen

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
            process.wait()
        self.node.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)


# Inside the sandbox: [[piece, …], …] of latin-1 text on standard input, each list over a connection of its own; pieces
# are sent with a pause between; <FIN> ends our side. Prints a list of all that came back.
CLIENT = r"""
import json, socket, sys, time
out = []
for pieces in json.load(sys.stdin):
    s = socket.create_connection(("127.0.0.1", 3128), 5)
    got = b""
    try:
        for i, piece in enumerate(pieces):
            if i: time.sleep(0.15)
            if piece == "<FIN>": s.shutdown(socket.SHUT_WR)
            else: s.sendall(piece.encode("latin-1"))
        s.settimeout(4)
        while chunk := s.recv(65536): got += chunk
    except OSError as e:
        got += b"" if isinstance(e, ConnectionResetError) else b"<%s>" % str(e).encode()
    s.close()
    out.append(got.decode("latin-1"))
print(json.dumps(out))
"""
