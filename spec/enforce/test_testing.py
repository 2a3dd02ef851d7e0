# SPDX-License-Identifier: Apache-2.0
"""srt-lua test: the tests of policies; what they may say, what they find out, and that no sandbox is needed for it."""
import glob
import os
import re
import signal
import subprocess
import time

from lib import BINARY, ROOT, Case, as_everyone, has, main
from running import until

POLICY = """return {
  filesystem = {
    denyRead = { "~/.ssh", "~/.aws" },
    allowWrite = { ".", "~/.cache/tool" },
    denyWrite = { ".github" },
    decideOpen = function(open)
      return open.path:find("known_hosts$") ~= nil
    end,
  },
  secrets = { github = { env = "GITHUB_TOKEN", hosts = { "api.github.com" } } },
  network = {
    allowedDomains = { "api.github.com:443", "*.npmjs.org", "plain.example:80" },
    deniedDomains = { "*:22" },
    deniedDomainReasons = { ["*:22"] = "SSH is blocked here" },
    tlsTerminate = { excludeDomains = { "*.npmjs.org" } },
    decideConnect = function(conn)
      if conn.host == "late.example" then return os.date("!%H") == "12" and srt.now() // 3600 % 24 == 12 end
      if conn.host == "ask.example" then return srt.ask("may it? " .. conn.host) end
      if conn.host == "name.example" then
        srt.sleep(30)
        return srt.resolve("name.example")[1] == "192.0.2.7" and srt.query("localhost:99", "q") == "yes"
      end
      if conn.host == "never.example" then
        return true
      end
      return false, "nobody knows " .. conn.host .. " in " .. srt.env.REGION
    end,
    filterRequest = function(req)
      if req.host == "plain.example" then return srt.pass end
      if req.method == "POST" and req:body():find("bad") then
        srt.log.warn("a bad body")
        return srt.deny { reason = "bad body", status = 422 }
      end
      if not srt.rate("all", 3, 60) then return srt.respond { status = 429, body = "slow" } end
      return srt.allow { setHeaders = { Authorization = "Bearer " .. srt.secret.github },
        removeHeaders = { "Cookie" } }
    end,
    filterResponse = function(res, req)
      if res.status == 500 then return false, "a failure of " .. req.host end
      return srt.allow { setHeaders = { ["X-Seen"] = "yes" } }
    end,
  },
}
"""

SPEC = """local t = require "srt.test"

return {
  now = "2026-11-30T12:30:00Z",
  env = { REGION = "north" },
  resolve = { ["name.example"] = "192.0.2.7" },
  query = { ["localhost:99"] = { q = "yes" } },
  ask = { ["may it?"] = true },
  files = { "notes.txt", ["~/.ssh/config"] = "Host x" },
  rows = {
    { read = "~/.ssh/id_rsa", is = "deny", rule = "filesystem.decideOpen" }, -- { a comment, with a comma
    { read = "~/.ssh/known_hosts", is = "allow", rule = "decideOpen" },
    { write = "src/main.c", is = "allow" },
    { write = "/etc/passwd", is = "deny" },
    { create = ".github/workflows/x.yml", is = "deny", errno = "EROFS" },
    { delete = "a.txt", is = "allow" }, { rename = "b", to = "c", is = "allow" },
    { connect = "x.npmjs.org:443", is = "allow" },
    { connect = "github.com:22", is = "deny", reason = "SSH is blocked" },
    { connect = "late.example:443", is = "allow" },
    { connect = "name.example:443", is = "allow" },
    { connect = "ask.example:443", is = "allow" },
    { connect = "other.example:443", is = "deny", reason = "nobody knows other.example in north" },
    { connect = "x.npmjs.org:443", address = "169.254.169.254", is = "deny", rule = "deniedResolvedAddresses" },
    { request = "GET https://api.github.com/user", is = "allow",
      sets = { authorization = "Bearer <secret.github>" }, removes = { "cookie" } },
    { request = "GET http://plain.example/", is = "allow", rule = "allowedDomains" },
    { request = "POST https://api.github.com/user", body = "a bad one", is = "deny", status = 422, log = "a bad body" },
    { request = "GET https://api.github.com/", response = { status = 500 }, is = "deny", reason = "a failure of" },
    { request = "GET https://api.github.com/", response = { status = 200, headers = { A = "b" } }, is = "allow",
      sets = { ["X-Seen"] = "yes" } },
    { request = "GET https://api.github.com/", is = "respond", status = 429, sends = "slow" },
    { request = "GET https://x.npmjs.org/", is = "allow", rule = "allowedDomains" },
  },

  ["the rate is limited, anew for each function"] = function()
    for _ = 1, 3 do t.check { request = "GET https://api.github.com/", is = "allow" } end
    t.equal(t.request("GET https://api.github.com/").is, "respond")
    t.pass(60)
    t.equal(t.request("GET https://api.github.com/").set.Authorization, "Bearer <secret.github>")
    t.clock("2026-11-30T02:00:00Z")
    t.equal(t.connect("late.example:443").is, "deny")
    t.equal(t.read("~/.ssh/config").is, "deny")
    t.equal(t.write("notes.txt").is, "allow")
    t.equal(t.write("policy.lua").rule, "policy file")
    print("seen", srt.cwd:match("[^/]+$"))
  end,
}
"""

WRONG = """return {
  rowz = {},
  now = "yesterday",
  rows = {
    { read = "x", is = "deny", reasn = "x" },
    { raed = "x", is = "deny" },

    { read = "x" },
    { read = "x", write = "y", is = "deny" },
    { read = "x", headers = {}, is = "deny" },
    { rename = "x", is = "deny" },
    { connect = "x", is = "maybe" },
    { read = "a\\0b", is = "deny" },
  },
  files = { "a\\0b" },
}
"""

FAILING = """local t = require "srt.test"
return {
  rows = {
    { read = "~/.ssh/x", is = "allow" },
    { request = "GET nowhere", is = "deny" },
    { connect = "x.example:443", is = "deny" }, { connect = "x.example:443", is = "deny", fault = true },
  },
  endless = function()
    while true do end
  end,
  outside = function()
    assert(not io and not load and not debug, "there is more")
    t.check { connect = "github.com:22", is = "allow" }
  end,
  misspelt = function() t.check { reed = "x" } end,
}
"""


class Testing(Case):
    def outcome(self, spec, *args, policy=POLICY, **more):
        self.write("w/policy.lua", policy)
        self.write("w/policy_spec.lua", spec)
        return self.run_srt(["test", *args], **more)

    @as_everyone
    def test_all_kinds(self):
        got = self.outcome(SPEC, "--tap", env={"GITHUB_TOKEN": "the-real-one"})
        self.assertEqual(0, got.code, got)
        lines = got.out.splitlines()
        self.assertEqual(["TAP version 13", "1..22"], lines[:2], got)
        self.assertEqual(22, len([line for line in lines if line.startswith("ok ")]), got)
        self.assertIn("ok 1 - policy_spec.lua:11: read ~/.ssh/id_rsa is deny", lines)
        self.assertIn("ok 7 - policy_spec.lua:16: rename b to c is allow", lines)
        self.assertIn("# seen  project", lines)
        # One entry, one branch and no more were left out.
        covered = [line for line in lines if line.startswith("# ")][1:]
        self.assertRegex(covered[0], r"^# covered: 7 of 9 list entries, 4 of 4 callbacks, (\d+) of (\d+) of their lines$")
        self.assertEqual(["# policy.lua:3: filesystem.denyRead \"~/.aws\" decided nothing",
                          "# policy.lua:4: filesystem.allowWrite \"~/.cache/tool\" decided nothing",
                          "# policy.lua:24: never ran (network.decideConnect)"], covered[1:])
        ran, count = map(int, re.search(r"(\d+) of (\d+) of their", covered[0]).groups())
        self.assertEqual(count - 1, ran)
        self.assertNotIn("the-real-one", got.out + got.err)
        # Nothing is left of the world that was made.
        self.assertEqual("", self.sh("find \"$HOME\" -name 'srt-lua-test*'"))

    def test_what_fails(self):
        got = self.outcome(FAILING)
        self.assertEqual(1, got.code, got)
        for text in ("failed: policy_spec.lua:4: read ~/.ssh/x is allow\n    it must be \"allow\", it is \"deny\"\n",
                     "      by:    filesystem.decideOpen (policy.lua:6)\n",
                     "failed: policy_spec.lua:5: request GET nowhere is deny\n    \"nowhere\" is no URL",
                     "failed: policy_spec.lua:6: connect x.example:443 is deny\n    a callback failed",
                     "failed: policy_spec.lua:9: endless\n    budget of",
                     "failed: policy_spec.lua:13: outside\n    connect github.com:22 is allow: it must be \"allow\"",
                     "      by:    network.deniedDomains \"*:22\" (policy.lua:13)\n",
                     "failed: policy_spec.lua:15: misspelt\n    there is no \"reed\"; did you mean \"read\"?",
                     "\n7 tests, 6 failed\n"):
            self.assertIn(text, got.out)

    def test_what_is_no_test(self):
        got = self.outcome(WRONG)
        self.assertEqual(1, got.code, got)
        for text in (":2: there is no key \"rowz\"; did you mean \"rows\"?", ":3: now must be seconds",
                     ":5: rows[1]: there is no \"reasn\"; did you mean \"reason\"?",
                     ":6: rows[2]: there is no \"raed\"; did you mean \"read\"?", ":8: rows[3]: a row must say is =",
                     ":9: rows[4]: a row asks one thing, this one read and write",
                     ":10: rows[5]: headers is for rows with request", ":11: rows[6]: rename takes a second path: to",
                     ":12: rows[7]: is must be",
                     ":13: rows[8]: read has a byte of zero", ":15: files must be a list of paths"):
            self.assertIn("srt-lua: policy_spec.lua" + text, got.out)
        for spec, text in (("return {}", "there is no test in it"), ("return", "must return a table"),
                           ("retur", "policy_spec.lua:1: syntax error"), ("local x = nil + 1", "policy_spec.lua:1: attempt"),
                           ("require('srt.test').read('x')", "policy_spec.lua:1: a policy can be asked in the functions"),
                           ("return { policy = 'none.lua', f = function() end }", "none.lua")):
            got = self.outcome(spec, "policy.lua")
            self.assertEqual((1, True), (got.code, text in got.out), (spec, got))
        got = self.outcome("return { rows = { { read = 'x', is = 'allow' } } }", policy="return { filesistem = {} }")
        self.assertEqual((1, True), (got.code, "policy.lua:1: filesistem" in got.out), got)

    def test_command_line(self):
        one = "return { rows = { { read = '/etc/passwd', is = 'allow' } } }"
        self.write("w/a/settings.json", "{}")
        self.write("w/a/settings_spec.lua", one)
        self.write("w/other_spec.lua", "error('of another test runner')")
        for args, code, text in ((["."], 0, "2 tests, 0 failed"), ([], 0, "a/settings_spec.lua: 1 test\n"),
                                 (["policy_spec.lua", "a"], 0, "2 tests, 0 failed"), (["a/settings.json"], 0, "1 test, 0"),
                                 (["other_spec.lua"], 1, "of another test runner"), (["none"], 125, "none: No such file"),
                                 (["--none"], 125, "unknown option --none"), (["../home"], 125, "../home has no tests"),
                                 (["other.lua"], 125, "other.lua"), (["--help"], 0, "usage: srt-lua test")):
            got = self.outcome(one, *args, policy="return {}")
            self.assertEqual((code, True), (got.code, text in got.out + got.err), (args, got))

    def test_interrupted(self):
        """Ctrl-C ends it, and nothing is left behind."""
        self.write("w/policy.lua", "return {}")
        self.write("w/policy_spec.lua", "local tests = {} for i = 1, 100 do tests['t' .. i] = function() while true do end end end "
                   "return tests")
        process = self.start(["test"])
        self.assertTrue(until(lambda: glob.glob(self.home + "/.cache/srt-lua-test-*/home/project")))
        time.sleep(0.2) # into the first of them
        process.send_signal(signal.SIGINT)
        self.assertEqual((b"", b""), process.communicate(timeout=30))
        self.assertEqual((130, []), (process.returncode, os.listdir(self.home + "/.cache")))

    def test_no_namespaces(self):
        """A kernel that refuses namespaces is good enough."""
        has("unshare")
        self.write("w/policy.lua", POLICY)
        self.write("w/policy_spec.lua", SPEC)
        done = subprocess.run(["unshare", "-Ur", "sh", "-c", "for f in /proc/sys/user/max_*_namespaces; do echo 0 >$f; done; "
                               "! unshare -Ur true 2>/dev/null && exec \"$0\" test", BINARY], cwd=self.w,
                              env=self.environment(), capture_output=True, check=False)
        self.assertEqual((0, True), (done.returncode, b"22 tests, 0 failed" in done.stdout), done)

    def test_ours(self):
        """Those of our own policies, and what the manual shows."""
        got = self.run_srt(["test", str(ROOT / "policies")])
        self.assertEqual(0, got.code, got)
        self.assertIn("of 6 list entries, 1 of 1 callbacks, 3 of 3", got.out)
        text = (ROOT / "docs/testing.md").read_text(encoding="utf-8")
        shown = dict(re.findall(r"`(\w+\.lua)`:\n+```lua\n(.*?)```", text, re.S))
        self.assertEqual({"policy.lua", "policy_spec.lua"}, set(shown))
        got = self.outcome(shown["policy_spec.lua"], policy=shown["policy.lua"])
        self.assertEqual((0, ""), (got.code, got.err), got)
        output = re.search(r"```text\n(.*?)```", text, re.S).group(1)
        self.assertEqual(output, "$ srt-lua test\n" + got.out)


if __name__ == "__main__":
    main()
