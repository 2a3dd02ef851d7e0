# SPDX-License-Identifier: Apache-2.0
"""The backend for macOS on Linux: it is printed and not run. What its proxy needs, a token, is tried with a sandbox of ours."""
import json
import os

from lib import BINARY, ROOT, Case, as_everyone, main
from server import Origin

POLICY = 'return { backend = "seatbelt", filesystem = { allowWrite = { "." }, denyRead = { "**/.env" } } }'
# The listeners of a sandbox, with a token as on macOS.
TOKEN = """
local compile = namespaces.compile
function namespaces.compile(profile, rules, ctx)
  local plan, message = compile(profile, rules, ctx)
  if not plan then return plan, message end
  plan.login = { user = "srt", password = "t0k", authorization = "Basic c3J0OnQwaw==" }
  plan.env = require("srt.environment").of(profile, { env = ctx.env, tempDir = plan.tempDir, binary = ctx.binary(),
    token = "t0k" }, plan.listen)
  return plan
end

return namespaces
"""

CLIENT = r"""
import os, re, socket, subprocess, sys, urllib.error, urllib.request
url, program = sys.argv[1:]
def ask(proxy):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy}))
    try:
        return opener.open(url, timeout=10).status
    except urllib.error.HTTPError as error:
        return "%d %s" % (error.code, error.headers["X-Proxy-Error"])
own = os.environ["HTTP_PROXY"]
print(ask(own), "|", ask(re.sub("//.*@", "//", own)), "|", ask(own.replace("t0k", "tok")))
for way in (os.environ["HTTPS_PROXY"], os.environ["SOCKS_PROXY"]):
    for login in (way, re.sub("//.*@", "//", way)):
        host, port = url.split("/")[2].split(":")
        done = subprocess.run([program, "connect", host, port], env={"HTTPS_PROXY": login}, capture_output=True,
                              input=b"GET / HTTP/1.0\r\n\r\n")
        print(done.returncode, done.stdout[:15].decode())
"""


class Seatbelt(Case):
    @as_everyone
    def test_is_printed_and_not_run(self):
        path = self.policy(POLICY)
        got = self.run_srt(["run", path, "--", "touch", "ran"])
        self.assertEqual(125, got.code, got)
        self.assertIn("nothing was run", got.err)
        self.assertIn("compile --backend seatbelt", got.err)
        self.assertEqual([], os.listdir(self.w))
        for args in ([], ["--backend", "seatbelt"]):
            got = self.run_srt(["compile", *args, path])
            self.assertEqual(0, got.code, got)
            self.assertTrue(got.out.startswith("(version 1)\n(deny default (with message \"srt-lua-"), got)
            self.assertIn("(allow file-write* file-link (subpath \"/private%s\"))" % self.w, got.out)
        plan = json.loads(self.run_srt(["compile", "--json", path]).out)
        self.assertEqual(["/usr/bin/sandbox-exec", "-p", plan["text"]], plan["argv"])
        self.assertIn(plan["tag"], plan["text"])

    def test_a_log_is_read(self):
        """A recorded `log stream`, with lines of other runs and of no run."""
        plan = json.loads(self.run_srt(["compile", "--json", self.policy(POLICY)]).out)
        def line(message, tag):
            return json.dumps({"eventMessage": "Sandbox: " + message + tag, "processID": 0}) + "\n"
        log = ("Filtering the log data using \"sender == Sandbox\"\n" + line("cat(7) deny(1) file-read-data /w/.env\n", plan["tag"])
               + line("cat(7) deny(1) file-read-data /other\n", "srt-lua-0000000000000000")
               + line("a\x1b[2J(8) deny(1) file-write-create /x\n", plan["tag"]) * 20 + "{broken\n")
        got = self.run_srt(["violations", "--seatbelt", plan["tag"], "--json"], stdin=log.encode())
        told = [json.loads(text) for text in got.out.splitlines()]
        self.assertEqual(("read", "/w/.env", "file-read-data", plan["tag"], {"pid": 7, "exe": "cat"}),
                         tuple(told[0][key] for key in ("kind", "target", "rule", "command", "process")))
        self.assertEqual({"write"}, {v["kind"] for v in told[1:]})
        self.assertEqual(20, sum(v.get("count", 1) for v in told[1:]))
        got = self.run_srt(["violations", "--seatbelt", plan["tag"]], stdin=log.encode())
        self.assertIn("read      /w/.env: macOS denied file-read-data", got.out)
        self.assertNotIn("/other", got.out)
        self.assertNotIn("\x1b", got.out)
        self.assertEqual(125, self.run_srt(["violations", "--seatbelt", "x", "--follow"]).code)

    @as_everyone
    def test_a_proxy_with_a_token_hears_nobody_without(self):
        text = (ROOT / "backends/namespaces.lua").read_text()
        self.write("tree/backends/namespaces.lua", text.replace("\nreturn namespaces\n", TOKEN))
        os.chmod(self.path("tree"), 0o755)

        with Origin() as origin:
            policy = "{ network = { allowedDomains = { '%s' } } }" % origin.url[len("http://"):]
            got = self.run_srt(["python3", "-c", CLIENT, origin.url + "/", BINARY], policy,
                               env={"SRT_LUA_PATH": self.path("tree")})
        self.assertEqual(["200 | 407 login-needed | 407 login-needed", "0 HTTP/1.1 200 OK", "1 ", "0 HTTP/1.1 200 OK", "1 "],
                         got.out.splitlines(), got)
        self.assertEqual(["GET"] * 3, [one[0] for one in origin.seen])
        self.assertFalse([name for one in origin.seen for name in one[2] if "authorization" in name.lower()])


if __name__ == "__main__":
    main()
