# SPDX-License-Identifier: Apache-2.0
"""srt-lua explain: what it says to people and to programs. That it is right, property_files.py looks at."""
import json
import os

from lib import Case, as_everyone, main, need_root

POLICY = """return { filesystem = {
  allowWrite = { "." },
  denyWrite = {
    "keep",
    "sub/deep/f",
    "missing",
  },
  denyRead = { "../out" },
  allowRead = { "../out/pub" },
} }"""

NETWORK = """return {
  secrets = { github = { env = "GITHUB_TOKEN", hosts = { "api.github.com" } } },
  credentials = { envVars = { { name = "MASKED", mode = "mask", injectHosts = { "api.github.com" } } } },
  network = {
    allowedDomains = { "api.github.com:443", "plain.example", "*.unread.example" },
    deniedDomains = { "*:22" },
    tlsTerminate = { excludeDomains = { "x.unread.example" } }, parentProxy = { http = "http://u:the-real@up.example:3128" },
    decideConnect = function(conn)
      srt.sleep(0.01)
      if conn.host == "broken.example" then error("broken") end
      return conn.protocol == "socks5" and conn.command == "make", "not " .. conn.protocol
    end,
    filterRequest = function(req)
      srt.log.info("body", #req:body(), req:header("x-a"))
      if req.method == "PUT" then return srt.respond { status = 418, body = "no\\27", headers = { A = "b" } } end
      if req.method ~= "GET" then return false, "only GET" end
      if req.host ~= "api.github.com" then return srt.pass end
      return srt.allow { setHeaders = { Authorization = "Bearer " .. srt.secret.github }, removeHeaders = { "Cookie" },
        setTarget = "/other?x" }
    end,
    filterResponse = function(res, req)
      if res:body():find("virus") then return false, "no " .. req.path end
      return srt.allow { status = 203, setHeaders = { ["X-Seen"] = res:header("a") } }
    end,
  },
}
"""


class Explain(Case):
    def net(self, *args, code, **more):
        got = self.run_srt(["explain", self.policy(NETWORK), *args, "--json"], env={
            "GITHUB_TOKEN": "the-real-secret", "MASKED": "the-real-masked-one"}, **more)
        self.assertEqual((code, 1), (got.code, got.out.count("\n")), got)
        self.assertNotIn("the-real", got.out + got.err)
        return json.loads(got.out)

    @as_everyone
    def test_connections(self):
        for words, decision, text, line in (
                ("api.github.com:443", "allow", "network.allowedDomains \"api.github.com:443\"", 5),
                ("x.example:22", "deny", "network.deniedDomains \"*:22\"", 6), ("x.example:443", "deny", "network.decideConnect", 8),
                ("x.example:443 --protocol socks5 --command-text make", "allow", "network.decideConnect", 8)):
            got = self.net("connect", *words.split(), code=0 if decision == "allow" else 1)
            self.assertEqual((decision, text, line, words.split()[0]),
                             (got["decision"], got["rule"]["text"], got["rule"]["line"], got["connect"]), got)
        got = self.net("connect", "broken.example:1", code=1)
        self.assertIn("policy.lua:10: broken", got["reason"])
        self.assertIn("traceback", got["trace"])
        self.assertEqual(True, got["fault"])

    @as_everyone
    def test_requests(self):
        url, body = "https://api.github.com/a?b", self.write("w/body", "ab\0c")
        got = self.net("request", "GET", url, "-H", "X-A: 1", "--data", "@" + body, "--response", "200",
                       "--response-header", "A: seen", "--response-data", "fine", code=0)
        self.assertEqual(("allow", "GET " + url, 13, {"Authorization": "Bearer <secret.github>"}, "/other?x", ["MASKED"]),
                         (got["decision"], got["request"], got["rule"]["line"], got["set"], got["target"], got["puts"]))
        self.assertIn("Cookie", got["remove"])
        self.assertEqual(["body 4 1"], got["log"])
        self.assertEqual(["network.filterRequest (%s:13)" % self.path("policy.lua")], got["asked"])
        self.assertEqual(("allow", 203, {"X-Seen": "seen"}), tuple(got["response"][x] for x in ("decision", "status", "set")))
        got = self.net("request", "GET", url, "--response", "200", "--response-data", "a virus", code=1)
        self.assertEqual(("allow", "deny", 21), (got["decision"], got["response"]["decision"], got["response"]["rule"]["line"]))
        got = self.net("request", "PUT", url, code=1)
        self.assertEqual(("respond", 418, "no\x1b", {"A": "b"}), tuple(got[x] for x in ("decision", "status", "body", "headers")))
        got = self.net("request", "GET", "https://x.unread.example/", code=0)
        self.assertIn("filterRequest is not asked", got["note"])
        self.assertNotIn("asked", got)
        got = self.net("request", "POST", "http://plain.example", code=1)
        self.assertIn("only GET", got["reason"])
        got = self.net("request", "GET", "http://plain.example", code=0)
        self.assertEqual("http://up.example:3128", got["via"])

    def test_network_for_people(self):
        policy = self.policy(NETWORK)
        got = self.run_srt(["explain", policy, "request", "PUT", "https://api.github.com/", "-H", "x-a: \x1b"],
                           env={"GITHUB_TOKEN": "the-real-secret"})
        self.assertEqual((1, """answered by the policy: request PUT https://api.github.com/ (418)
  by:    network.filterRequest (%s:13)
  sends: A: b
  body:  no\\x1b
  asked: network.filterRequest (%s:13)
  log:   body 0 \\x1b
""" % (policy, policy), ""), (got.code, got.out, got.err))
        for args in ("request GET", "request GET nowhere", "request A{B http://a", "request GET http://a -H x", "connect",
                     "request GET http://a --response 999", "request GET http://a --response-data x", "read x --data x",
                     "request GET http://a --data @none", "connect a", "connect a:1 --data x", "request GET http://a -H"):
            got = self.run_srt(["explain", policy, *args.split()])
            self.assertEqual((125, True, ""), (got.code, got.err.startswith("srt-lua: explain: "), got.out), (args, got))

    def explain(self, *args, policy=POLICY, **more):
        return self.run_srt(["explain", self.policy(policy), *args], **more)

    def one(self, *args, **more):
        """The answer to one question."""
        got = self.explain(*args, "--json", **more)
        lines = got.out.splitlines()
        self.assertEqual(1, len(lines), got)
        answer = json.loads(lines[0])
        self.assertEqual(got.code, 0 if answer["decision"] == "allow" else 1, got)
        return answer

    def tree(self):
        for name in ("w/keep", "w/sub/deep/f", "w/open", "out/secret", "out/pub/f"):
            self.write(name, "x")
        self.sh("ln -s ../out/secret link; ln -s link link2")

    @as_everyone
    def test_decisions_errnos_and_lines(self):
        self.tree()
        for question, decision, errno, line in (
                ("write open", "allow", None, 2), ("write keep", "deny", "EROFS", 4), ("delete keep", "deny", "EBUSY", 4),
                ("rename sub sub2", "deny", "EBUSY", 5), ("rename open x", "allow", None, 2), ("create missing", "deny", "EEXIST", 6),
                ("create new", "allow", None, 2), ("mkdir missing/x", "deny", "EROFS", 6), ("link keep x", "deny", "EXDEV", 4),
                ("read ../out/secret", "deny", "ENOENT", 8), ("list ../out", "deny", "EACCES", 8), ("read ../out/pub/f", "allow", None, 9),
                ("write ../out/pub/f", "deny", "EROFS", None), ("read link2", "deny", "ENOENT", 8), ("read open", "allow", None, None),
                ("write nothing/x", "allow", "ENOENT", 2), ("read open/x", "allow", "ENOTDIR", None)):
            answer = self.one(*question.split())
            self.assertEqual((decision, errno, line), (answer["decision"], answer.get("errno"), answer["rule"].get("line")),
                             (question, answer))
            self.assertTrue("builtin" in answer["rule"] or answer["rule"]["file"].endswith("policy.lua"), answer)

    @as_everyone
    def test_who_is_asked(self):
        """decideOpen is named where an open would be asked about, and not run."""
        self.tree()
        policy = POLICY.replace("denyWrite", "decideOpen = function(open)\n error(\"run\") end,\n  denyWrite")
        for question, line in (("read ../out/secret", 3), ("write keep", 3), ("append sub/deep/f", 3), ("write open", None),
                               ("create keep/x", None), ("chmod keep", None), ("read ../out", None)):
            answer = self.one(*question.split(), policy=policy)
            self.assertEqual(line, answer.get("asks", {}).get("line"), (question, answer))
        self.assertIn("  asks:  filesystem.decideOpen (", self.explain("write", "keep", policy=policy).out)
        self.assertNotIn("asks", self.one("write", "keep"))

    @as_everyone
    def test_the_real_path_and_the_links_on_the_way(self):
        self.tree()
        answer = self.one("read", "sub/../link2", policy="{}")
        self.assertEqual(os.path.realpath(self.path("out/secret")), answer["real"])
        self.assertEqual([[self.path("w/link2"), "link"], [self.path("w/link"), "../out/secret"]],
                         [[link["path"], link["target"]] for link in answer["links"]])

    @as_everyone
    def test_for_people(self):
        self.tree()
        got = self.explain("write", "keep", "open")
        self.assertEqual((1, ""), (got.code, got.err), got)
        for text in ("denied: write keep (EROFS)", 'policy.lua:4: filesystem.denyWrite[1]: "keep"', "allowed: write open"):
            self.assertIn(text, got.out)
        got = self.explain("write", "open")
        self.assertEqual(0, got.code, got)
        self.assertIn("nothing is writable", self.explain("write", "open", policy="{}").out)

    @as_everyone
    def test_names_that_would_draw_on_the_screen(self):
        got = self.explain("read", "a\x1b[2Jb\nc")
        self.assertNotIn("\x1b", got.out)
        self.assertEqual(self.path("w/a\x1b[2Jb\nc"), self.one("read", "a\x1b[2Jb\nc")["real"])

    @as_everyone
    def test_the_policy_itself(self):
        answer = self.one("write", "../policy.lua", policy='{ filesystem = { allowWrite = { ".." } } }')
        self.assertEqual(("deny", "EROFS"), (answer["decision"], answer["errno"]))
        self.assertIn("policy", answer["rule"]["builtin"])

    @as_everyone
    def test_questions_on_standard_input(self):
        self.tree()
        got = self.explain("--stdin", stdin=b"write\0keep\0rename\0open\0a\nb\0read\0\xff\0")
        answers = [json.loads(line) for line in got.out.splitlines()]
        self.assertEqual(["write", "rename", "read"], [answer["action"] for answer in answers], got)
        self.assertEqual(["deny", "allow", "allow"], [answer["decision"] for answer in answers], got)
        self.assertEqual((1, "a\nb"), (got.code, answers[1]["to"]))

    @as_everyone
    def test_nothing_runs_and_nothing_is_left(self):
        self.tree()
        before = sorted(os.listdir(self.w))
        self.one("create", "missing")
        self.assertEqual((before, []), (sorted(os.listdir(self.w)), self.leftovers()))

    @as_everyone
    def test_a_fifo_in_a_protected_folder(self):
        """No mount keeps writers from it: it is covered, and that is said."""
        self.sh("mkdir -p d/e; mkfifo d/e/p")
        policy = '{ filesystem = { allowWrite = { "." }, denyWrite = { "d" } } }'
        answer = self.one("write", "d/e/p", policy=policy)
        self.assertEqual(("deny", "EACCES"), (answer["decision"], answer["errno"]), answer)
        fd = os.open(self.path("w/d/e/p"), os.O_RDONLY | os.O_NONBLOCK)
        self.assertEqual({"wopen d/e/p": "EACCES"}, self.probe("wopen d/e/p", policy))
        os.close(fd)

    @as_everyone
    def test_a_fifo_that_nothing_holds(self):
        """Said where it is so, instead of an errno that does not come."""
        self.sh("mkdir d; mkfifo d/p; cd d; seq 20001 | xargs touch")
        policy = '{ filesystem = { allowWrite = { "." }, denyWrite = { "d" } } }'
        answer = self.one("write", "d/p", policy=policy)
        self.assertEqual(("deny", True), (answer["decision"], answer["unheld"]), answer)
        self.assertIn("FIFO", answer["why"])
        fd = os.open(self.path("w/d/p"), os.O_RDONLY | os.O_NONBLOCK)
        self.assertEqual({"wopen d/p": "ok"}, self.probe("wopen d/p", policy))
        os.close(fd)

    @as_everyone
    def test_wrong_usage_and_wrong_policies(self):
        for args, word in (((), "no action"), (("write",), "no path"), (("wirte", "x"), "did you mean write"), (("rename", "a"), "pairs"),
                           (("write", ""), "empty"), (("--what",), "unknown option"), (("write", "x", "--stdin"), "standard input")):
            got = self.explain(*args, stdin=b"")
            self.assertEqual(125, got.code, (args, got))
            self.assertIn(word, got.err, args)
        self.assertEqual(125, self.explain("write", "x", policy="{ bogus = 1 }").code)
        self.assertEqual(125, self.run_srt(["explain", self.path("gone.lua"), "read", "x"]).code)
        self.assertEqual(0, self.run_srt(["explain", "--help"]).code)

    def test_the_hosts_read_only_mounts(self):
        need_root("what it does, only root may")
        import subprocess
        from lib import BINARY
        self.write("w/ro/f", "x")
        script = "mount --bind ro ro; mount -o remount,bind,ro ro; exec '%s' explain '%s' write ro/f --json" % (
            BINARY, self.policy('{ filesystem = { allowWrite = { "." } } }'))
        done = subprocess.run(["unshare", "-m", "sh", "-ec", script], cwd=self.w, env=self.environment(), capture_output=True)
        answer = json.loads(done.stdout)
        self.assertEqual(("allow", "EROFS"), (answer["decision"], answer["errno"]))
        self.assertIn("host's own mount", answer["why"])


if __name__ == "__main__":
    main()
