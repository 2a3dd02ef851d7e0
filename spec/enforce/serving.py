# SPDX-License-Identifier: Apache-2.0
"""srt-lua proxy in tests: start one, learn where it listens, end it."""
import base64
import socket

from running import Running

TOKEN = "s3cret-token"


def basic(password, user="srt"):
    return "Basic " + base64.b64encode(("%s:%s" % (user, password)).encode()).decode()


def answer_to(port, head, address="127.0.0.1"):
    """Sends the lines of a request; the status, the fields by their name, and the body."""
    with socket.create_connection((address, port), 20) as client:
        client.sendall(("\r\n".join(head) + "\r\n\r\n").encode("latin-1"))
        reader = client.makefile("rb")
        status, fields = int(reader.readline().split()[1]), {}
        while line := reader.readline().strip():
            name, _, value = line.decode().partition(":")
            fields[name.lower()] = value.strip()
        return status, fields, reader.read(int(fields.get("content-length", 0))).decode()


class Serving(Running):
    def serve(self, policy, *options, told=1, env=None, **more):
        """A running proxy with self.said = {"proxy": [port, ...], "authz": ..., "ca": [path]}; told: lines to wait for."""
        process = self._kept(self.start(["proxy", self.policy(policy), *options], env=env, **more))
        self.said = {}
        for _ in range(told):
            line = process.stdout.readline().decode().strip()
            self.assertIn(": ", line, "it ended: " + (line or process.stderr.read().decode()))
            what, _, where = line.partition(": ")
            self.said.setdefault(what, []).append(where if what == "ca" else int(where.rpartition(":")[2]))
        return process
