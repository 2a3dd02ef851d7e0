# SPDX-License-Identifier: Apache-2.0
"""A client of the Model Context Protocol, as small as a test needs it: JSON-RPC, one message a line on stdio."""
import json
import subprocess


class McpClient:
    """Starts one server of a client's configuration ("mcpServers") and talks to it."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.last = 0
        self.lines = []

    def send(self, message):
        self.process.stdin.write(json.dumps(dict(message, jsonrpc="2.0")).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self):
        """The next message. Whatever else is on stdout is no JSON, and fails."""
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the server is gone: %r" % self.process.stderr.read())
        self.lines.append(line)
        return json.loads(line)

    def ask(self, method, params):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self.last and "method" not in message:
                return message
            if "id" in message:  # The server asks for something that we don't have.
                self.send({"id": message["id"], "error": {"code": -32601, "message": "not here"}})

    def initialize(self):
        answer = self.ask("initialize", {"protocolVersion": "2024-11-05", "capabilities": {},
                                         "clientInfo": {"name": "spec", "version": "0"}})
        self.send({"method": "notifications/initialized"})
        return answer

    def call(self, tool, **arguments):
        """What a tool answers: is it an error, and its text."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if "error" in answer:
            return True, answer["error"]["message"]
        result = answer["result"]
        return bool(result.get("isError")), "".join(part.get("text", "") for part in result["content"])

    def close(self):
        """Its end of input ends it; the exit status, what else it wrote, and what is on standard error."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err.decode("utf-8", "replace")
