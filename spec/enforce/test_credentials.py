# SPDX-License-Identifier: Apache-2.0
"""Credentials: masked ones are sentinels inside, and themselves for their hosts; denied ones are not there."""
import base64
import re

from lib import Case, as_everyone, main, need
from mirror import Mirrored

VALUE = "s3cr3t/Value+with=signs&more"


class Credentials(Case):
    def policy_for(self, origin, entry='{ name = "TOKEN", mode = "mask" }', key="envVars", plain=True, more=""):
        return """return { credentials = { %s = { %s }, allowPlaintextInject = %s },
          network = { allowedDomains = { "%s" } }, %s }""" % (key, entry, str(plain).lower(), origin.at, more)

    def curl(self, script, policy, value=VALUE):
        need("curl")
        got = self.run_sh(script.replace("curl", "curl -s --max-time 20"), policy, env={"TOKEN": value})
        self.assertNotIn(value, got.out + got.err)
        return got

    @as_everyone
    def test_headers_query_path_and_basic(self):
        with Mirrored() as origin:
            got = self.curl('curl -H "X-Token: $TOKEN" -u "user:$TOKEN" "%s/a/$TOKEN?q=$TOKEN"; echo "$TOKEN"'
                            % origin.url, self.policy_for(origin))
            _, path, headers, _ = origin.seen[0]
            quoted = "s3cr3t%2FValue%2Bwith%3Dsigns%26more"
            self.assertEqual("/a/%s?q=%s" % (quoted, quoted), path)
            self.assertEqual(VALUE, headers["X-Token"])
            self.assertEqual("user:" + VALUE, base64.b64decode(headers["Authorization"][6:]).decode())
            sentinel = got.out.splitlines()[-1]
            self.assertRegex(sentinel, "^srtM[A-Za-z0-9]{24}$")
            self.assertIn("X-Token: " + sentinel, got.out)
            self.assertIn("decoded: user:" + sentinel, got.out)
            self.assertNotIn(quoted, got.out)

    @as_everyone
    def test_it_is_not_asked_for_in_parts(self):
        with Mirrored() as origin:
            for where in ('-H "X-Token: $TOKEN"', '-d "t=$TOKEN"', '-d "t=$TOKEN" -H "Transfer-Encoding: chunked"'):
                self.curl("curl -r 0-99 %s %s/" % (where, origin.url), self.policy_for(origin))
                self.assertNotIn("Range", origin.seen[-1][2])
            self.curl("curl -r 0-99 %s/" % origin.url, self.policy_for(origin))
            self.assertEqual("bytes=0-99", origin.seen[-1][2]["Range"])

    @as_everyone
    def test_bodies(self):
        with Mirrored() as origin:
            post = 'curl %s -H "Content-Type: %s" --data-binary "%s" ' + origin.url + "/"
            for kind, more, wanted in (("text/plain", "", True), ("application/json", "", True),
                                       ("application/x-www-form-urlencoded", "", False),
                                       ("text/plain", '-H "Content-Encoding: gzip"', False),
                                       ("text/plain", '-H "Transfer-Encoding: chunked"', True)):
                self.curl(post % (more, kind, "a=$TOKEN&b=$TOKEN"), self.policy_for(origin))
                body = origin.seen[-1][3].decode()
                self.assertEqual(2 if wanted else 0, body.count(VALUE), (kind, more, body))
                self.assertEqual(5 + 2 * len(VALUE), len(body))
            self.curl(post % ("", "application/x-www-form-urlencoded", "a=$TOKEN&b=1"), self.policy_for(origin),
                      "plainvalue0123456789")
            self.assertEqual(b"a=plainvalue0123456789&b=1", origin.seen[-1][3])

    @as_everyone
    def test_a_large_body_by_pieces(self):
        with Mirrored() as origin:
            script = """python3 -c "import os
t = os.environ['TOKEN']
for i in range(20000): print(i %% 7 * 'x' + t)" >f
curl -H Expect: -T f %s/ >g; grep -c "$TOKEN" g; tail -c $(wc -c <f) g | cmp - f && echo same""" % origin.url
            got = self.curl(script, self.policy_for(origin, more='filesystem = { allowWrite = { "." } }'))
            self.assertEqual("20000\nsame\n", got.out)
            self.assertEqual(20000, origin.seen[-1][3].count(VALUE.encode()))
            with open(self.path("w/f")) as file:
                self.assertNotIn(VALUE, file.read())

    @as_everyone
    def test_bodies_that_a_filter_reads_or_writes(self):
        with Mirrored() as origin:
            for size in (10, 200000):
                for answer in ("req:body(1000000); return true", "return srt.allow { setBody = req:body(1000000) }"):
                    policy = self.policy_for(origin).replace("network = {", "network = { filterRequest = function(req) "
                                                             + answer + " end, ")
                    for more in ("", '-H "Transfer-Encoding: chunked"'):
                        self.curl('(head -c %d /dev/zero | tr "\\0" x; echo "$TOKEN") | curl %s -H "Content-Type: t/x" '
                                  '-H Expect: --data-binary @- %s/' % (size, more, origin.url), policy)
                        self.assertEqual(size * b"x" + VALUE.encode() + b"\n", origin.seen[-1][3], (size, answer, more))

    @as_everyone
    def test_answers_in_pieces_of_any_size(self):
        with Mirrored() as origin:
            for size in (1, 2, 3, 11, 27, 28, 29, 200):
                got = self.curl('curl -H "X-Token: $TOKEN" %s/chunks%d; echo "$TOKEN"' % (origin.url, size),
                                self.policy_for(origin))
                sentinel = got.out.splitlines()[-1]
                self.assertIn("X-Token: %s\n" % sentinel, got.out.replace("\r", ""))

    @as_everyone
    def test_only_to_its_hosts_and_only_where_told_over_plain_http(self):
        with Mirrored() as origin:
            for policy in (self.policy_for(origin, '{ name = "TOKEN", mode = "mask", injectHosts = { "a.test" } }'),
                           self.policy_for(origin, plain=False)):
                got = self.curl('curl -H "X-Token: $TOKEN" "%s/?q=$TOKEN"' % origin.url, policy)
                self.assertRegex(origin.seen[-1][2]["X-Token"], "^srtM")
                self.assertRegex(origin.seen[-1][1], "q=srtM")
                self.assertEqual(0, got.code)

    @as_everyone
    def test_a_tunnel_carries_the_sentinel(self):
        with Mirrored() as origin:
            self.curl('curl -p -x "$http_proxy" -H "X-Token: $TOKEN" %s/' % origin.url, self.policy_for(origin))
            self.assertRegex(origin.seen[-1][2]["X-Token"], "^srtM")

    @as_everyone
    def test_files(self):
        self.write("home/token", "\n " + VALUE + "\n", 0o600)
        with Mirrored() as origin:
            policy = self.policy_for(origin, '{ path = "~/token", mode = "mask" }', "files")
            got = self.curl('cat ~/token; curl -H "X-Token: $(tr -d "\\n " <~/token)" %s/' % origin.url, policy)
            self.assertEqual(VALUE, origin.seen[-1][2]["X-Token"])
            self.assertRegex(got.out, "^\n srtM[A-Za-z0-9]{24}\n")
            policy = self.policy_for(origin, '{ path = "~/token", mode = "deny" }', "files",
                                     more='filesystem = { allowRead = { "~/token" } }')
            got = self.curl("cat ~/token; ls -l ~/token", policy)
            self.assertIn("Permission denied", got.err)
        got = self.run_srt(["explain", self.policy(policy), "read", self.path("home/token")])
        self.assertIn("denied credential", got.out)

    @as_everyone
    def test_variables(self):
        with Mirrored() as origin:
            policy = self.policy_for(origin, '{ name = "TOKEN", mode = "deny" }, { name = "NONE", mode = "mask" }')
            got = self.run_sh("env", policy, env={"TOKEN": VALUE, "COPY": VALUE})
            self.assertNotIn(VALUE, got.out)
            self.assertIsNone(re.search("^(TOKEN|NONE)=", got.out, re.M))
            got = self.run_srt(["check", self.policy(policy)], env={"TOKEN": VALUE})
            self.assertIn("variable TOKEN, not visible", got.out)
            self.assertIn("variable NONE, masked, for all allowed hosts", got.out)

    @as_everyone
    def test_each_run_has_another(self):
        with Mirrored() as origin:
            seen = {self.curl("echo $TOKEN", self.policy_for(origin)).out for _ in range(3)}
            self.assertEqual(3, len(seen))

    @as_everyone
    def test_what_can_not_be_masked(self):
        with Mirrored() as origin:
            got = self.run_sh("true", self.policy_for(origin), env={"TOKEN": "short"})
            self.assertEqual(125, got.code)
            self.assertIn("deny it instead", got.err)
            self.assertNotIn("short", got.err)
            got = self.run_sh("true", self.policy_for(origin, '{ name = "TOKEN" }'))
            self.assertIn("it needs a mode", got.err)
            got = self.run_sh("true", self.policy_for(origin, '{ path = "/etc", mode = "mask" }', "files"))
            self.assertEqual(125, got.code, got)
            self.assertIn("credentials.files[1]: /etc can't be masked: it is no plain file", got.err)
            got = self.run_srt(["check", self.path("policy.lua")])
            self.assertEqual(1, got.code, got)

    @as_everyone
    def test_a_json_policy(self):
        with Mirrored() as origin:
            policy = self.write("settings.json", """{ "network": { "allowedDomains": ["%s"] }, "credentials": {
              "envVars": [{ "name": "TOKEN", "mode": "mask" }], "allowPlaintextInject": true } }""" % origin.at)
            self.curl('curl -H "X-Token: $TOKEN" %s/' % origin.url, policy)
            self.assertEqual(VALUE, origin.seen[-1][2]["X-Token"])


main()
