# SPDX-License-Identifier: Apache-2.0
"""An MCP server from npm under srt, as in a client's configuration: its writes go where the settings let them."""
import atexit
import json
import os
import shutil
import subprocess
import tempfile

from lib import BINARY, Case, as_everyone, main, need, skip
from mcp_client import McpClient

PACKAGE = "@modelcontextprotocol/server-filesystem"


def install():
    """The package in a folder of its own, for all users; None where it can't be had."""
    folder = tempfile.mkdtemp(prefix="srt-enforce-mcp-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, True)
    os.chmod(folder, 0o755)
    done = subprocess.run([need("npm"), "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline",
                           "--prefix", folder, PACKAGE], capture_output=True, timeout=280)
    if done.returncode:
        skip("npm can't install %s: %s" % (PACKAGE, done.stderr.decode()[-300:]))
    return folder


class Mcp(Case):
    installed = None

    def server(self):
        """One server of a .mcp.json, and where a client starts it: beside the package, so that npx need not fetch it."""
        Mcp.installed = Mcp.installed or install()
        os.symlink(BINARY, self.path("srt"))
        # npx finds it there, as in a project that depends on it.
        os.symlink(os.path.join(Mcp.installed, "node_modules"), self.path("w/node_modules"))
        configuration = """{ "mcpServers": { "filesystem": {
          "command": "srt", "args": ["npx", "-y", "%s", "%s"] } } }""" % (PACKAGE, self.w)
        server = json.loads(configuration)["mcpServers"]["filesystem"]
        return dict(server, command=self.path(server["command"]))

    def client(self, settings):
        self.write("home/.srt-settings.json", json.dumps(settings))
        server = self.server()
        return McpClient(self.as_user([server["command"], *server["args"]]), cwd=self.w, env=self.environment())

    @as_everyone
    def test_filesystem_server(self):
        need("npx")
        self.sh("mkdir sensitive; echo old >sensitive/here; echo mine >notes")
        client = self.client({"filesystem": {"denyRead": ["./hidden"], "allowWrite": ["."], "denyWrite": ["./sensitive"]},
                              "network": {"allowedDomains": [], "deniedDomains": []}})
        try:
            self.assertIn("serverInfo", client.initialize()["result"])
            names = {tool["name"] for tool in client.ask("tools/list", {})["result"]["tools"]}
            self.assertLessEqual({"read_text_file", "write_file"}, names)
            self.assertEqual((False, "mine\n"), client.call("read_text_file", path=self.path("w/notes")))
            self.assertFalse(client.call("write_file", path=self.path("w/made"), content="by a tool")[0])
            for name in ("sensitive/here", "sensitive/made", ".mcp.json"):
                wrong, text = client.call("write_file", path=self.path("w", name), content="no")
                self.assertTrue(wrong, (name, text))
                self.assertRegex(text, "EROFS|EBUSY|EACCES|EISDIR|ENOTDIR|Read-only", name)
            self.assertEqual((False, "by a tool"), client.call("read_text_file", path=self.path("w/made")))
        finally:
            status, out, err = client.close()
        self.assertEqual((0, b""), (status, out), err)
        self.assertEqual("by a tool", self.read("w/made"))
        self.assertEqual("old\n", self.read("w/sensitive/here"))
        self.assertEqual(["here"], os.listdir(self.path("w/sensitive")))
        self.assertFalse(os.path.exists(self.path("w/.mcp.json")))
        # What was denied is told, and not on stdout: each line there was a message.
        self.assertIn(self.path("w/sensitive/here"), err)


if __name__ == "__main__":
    main()
