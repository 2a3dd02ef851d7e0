# SPDX-License-Identifier: Apache-2.0
"""Secrets: values that a policy puts into requests to their hosts, and that are nowhere else."""
import json
import os

from lib import Case, as_everyone, main, need
from mirror import Mirrored

VALUE = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


class Secrets(Case):
    def policy_for(self, origin, answer, secret='env = "GITHUB_TOKEN"', hosts=None, plain=True, more=""):
        return """return { secrets = { github = { %s, hosts = { "%s" } } },
          network = { allowedDomains = { "%s" }, allowPlaintextHeaderSet = %s,
            filterRequest = function(req) %s end }, %s }""" % (
            secret, hosts or origin.at, origin.at, str(plain).lower(), answer, more)

    def ask(self, policy, origin, path="/", env=None, options=()):
        need("curl")
        env = {"GITHUB_TOKEN": VALUE} if env is None else env
        got = self.run_sh("curl -s --max-time 20 %s%s" % (origin.url, path), policy, env=env, options=options)
        for text in (got.out, got.err):
            self.assertNotIn(VALUE, text)
        return got

    BEARER = 'return srt.allow { setHeaders = { Authorization = "Bearer " .. srt.secret.github } }'

    @as_everyone
    def test_it_goes_to_its_host_and_does_not_come_back(self):
        with Mirrored() as origin:
            for path in ("/", "/chunks1", "/chunks7", "/head", "/base64"):
                got = self.ask(self.policy_for(origin, self.BEARER), origin, path)
                self.assertEqual(0, got.code, got)
                self.assertEqual("Bearer " + VALUE, origin.seen[-1][2]["Authorization"])
                if path.startswith("/chunks"):
                    self.assertIn("Bearer ghp_srtM", got.out)

    @as_everyone
    def test_it_is_not_asked_for_in_parts(self):
        """Of "ghp_16C7" and the rest, in two answers, neither would be known."""
        with Mirrored() as origin:
            policies = (self.BEARER, 'return srt.allow { setTarget = "/?t=" .. srt.secret.github }',
                        'return srt.allow { setBody = "t=" .. srt.secret.github }')
            for answer in policies:
                self.ask(self.policy_for(origin, answer), origin, " -r 0-99")
                self.assertNotIn("Range", origin.seen[-1][2])
            self.ask(self.policy_for(origin, "return true"), origin, " -r 0-99")
            self.assertEqual("bytes=0-99", origin.seen[-1][2]["Range"])

    @as_everyone
    def test_from_files_and_commands(self):
        path = self.write("home/token", VALUE + "\n", 0o600)
        for source in ('file = "~/token"', 'command = { "cat", "%s" }' % path, 'command = "cat %s | cat"' % path):
            with Mirrored() as origin:
                self.ask(self.policy_for(origin, self.BEARER, source), origin)
                self.assertEqual("Bearer " + VALUE, origin.seen[-1][2]["Authorization"])

    @as_everyone
    def test_made_into_something_else(self):
        cases = {
            '"Basic " .. srt.base64.encode("x-access-token:" .. srt.secret.github)':
                "Basic eC1hY2Nlc3MtdG9rZW46Z2hwXzE2QzdlNDJGMjkyYzY5MTJFNzcxMGM4MzgzNDdBZTE3OEI0YQ==",
            "srt.sha256(srt.secret.github)": __import__("hashlib").sha256(VALUE.encode()).hexdigest(),
            'srt.hmac(srt.secret.github, "text")':
                __import__("hmac").new(VALUE.encode(), b"text", "sha256").hexdigest(),
            'srt.hmac("key", "a" .. srt.secret.github .. 1)':
                __import__("hmac").new(b"key", b"a" + VALUE.encode() + b"1", "sha256").hexdigest(),
        }
        for code, wanted in cases.items():
            with Mirrored() as origin:
                got = self.ask(self.policy_for(origin, "return srt.allow { setHeaders = { [\"X-Made\"] = %s } }" % code),
                               origin)
                self.assertEqual(1, len(origin.seen), got)
                self.assertEqual(wanted, origin.seen[-1][2]["X-Made"])

    @as_everyone
    def test_in_the_target_and_in_the_body(self):
        with Mirrored() as origin:
            self.ask(self.policy_for(origin, 'return srt.allow { setTarget = "/a?t=" .. srt.secret.github .. "&x=1" }'),
                     origin)
            self.assertEqual("/a?t=%s&x=1" % VALUE, origin.seen[-1][1])
            self.ask(self.policy_for(origin, 'return srt.allow { setBody = "token=" .. srt.secret.github }'), origin)
            self.assertEqual(b"token=" + VALUE.encode(), origin.seen[-1][3])
            path = self.write("home/odd", "a/b c&d=e%f")
            self.run_sh("curl -s %s/" % origin.url, self.policy_for(
                origin, 'return srt.allow { setTarget = "/" .. srt.secret.github }', 'file = "%s"' % path))
            self.assertEqual("/a%2Fb%20c%26d%3De%25f", origin.seen[-1][1])

    @as_everyone
    def test_it_does_not_follow_to_another_host(self):
        with Mirrored() as origin, Mirrored() as other:
            for edits in ('setTarget = "%s/", setHeaders = { X = srt.secret.github, Y = "y" }',
                          'setTarget = "%s/?" .. srt.secret.github', 'setTarget = "%s/", setBody = srt.secret.github',
                          'setTarget = "http://" .. srt.secret.github .. "/%.0s"',
                          'setTarget = "%s/" .. srt.sha256(srt.secret.github)'):
                policy = self.policy_for(origin, "return srt.allow { %s }" % (edits % other.url))
                self.ask(policy.replace("allowedDomains = {", 'allowedDomains = { "%s", ' % other.at), origin)
            self.assertEqual([], origin.seen)
            self.assertEqual(["y"], [seen[2]["Y"] for seen in other.seen])
            self.assertNotIn(VALUE, repr(other.seen))
            self.assertNotIn("X", other.seen[0][2])

    @as_everyone
    def test_a_filter_of_responses_does_not_see_it_either(self):
        with Mirrored() as origin:
            rest = """, filterResponse = function(res)
              local body = res:body(100000)
              return srt.respond { status = 200, headers = { Echo = res.headers["x-echo"] },
                body = body .. "#" .. #body }
            end"""
            policy = self.policy_for(origin, self.BEARER).replace("end }, ", "end" + rest + " }, ")
            for path in ("/", "/chunks3", "/head"):
                got = self.run_sh("curl -si --max-time 20 %s%s" % (origin.url, path), policy, env={"GITHUB_TOKEN": VALUE})
                self.assertNotIn(VALUE, got.out)
                self.assertIn("Bearer ghp_srtM", got.out, got)
            rest = ", filterResponse = function(res) res:body(100000) return true end"
            policy = self.policy_for(origin, self.BEARER).replace("end }, ", "end" + rest + " }, ")
            for path in ("/", "/chunks3"):
                got = self.ask(policy, origin, path)
                self.assertIn("Bearer ghp_srtM", got.out)
                self.assertEqual(1, got.out.count("Authorization"))

    @as_everyone
    def test_what_would_tell_it_is_an_error_and_denies(self):
        for code in ('print(srt.secret.github)', 'srt.log.info("x", srt.secret.github)', "tostring(srt.secret.github)",
                     "srt.json.encode(srt.secret.github)", "srt.json.encode { srt.secret.github }",
                     'local _ = #srt.secret.github', "local _ = srt.secret.github == srt.secret.github",
                     "local _ = srt.secret.github < srt.secret.github", "string.rep(srt.secret.github, 2)",
                     "local s = srt.secret.github; return s:sub(1, 1)", 'string.format("%s", srt.secret.github)',
                     "table.concat { srt.secret.github }", "error(srt.secret.github)",
                     "return false, srt.secret.github", "return srt.secret.github",
                     "return srt.deny { reason = srt.secret.github }",
                     "return srt.deny { reason = 'x', headers = { X = srt.secret.github } }",
                     "return srt.respond { status = 200, body = srt.secret.github }",
                     "return srt.respond { status = 200, headers = { X = srt.secret.github }, body = '' }",
                     "return srt.allow { removeHeaders = { srt.secret.github } }",
                     "return srt.allow { setHeaders = srt.secret.github }",
                     "return srt.allow { onResponse = srt.secret.github }",
                     "return srt.allow { setHeaders = { [srt.secret.github] = 'x' } }",
                     "return srt.allow { setHeaders = { X = srt.secret.gihub } }",
                     "return srt.allow { setHeaders = { X = srt.secret.github + 1 } }",
                     "return srt.allow { setHeaders = { X = srt.base64.decode(srt.secret.github) } }",
                     "local s = srt.secret.github; for _ = 1, 40 do s = s .. s end; "
                     "return srt.allow { setHeaders = { X = s } }"):
            with Mirrored() as origin:
                got = self.ask(self.policy_for(origin, code + " return true" if "return" not in code else code), origin,
                               options=("--debug",))
                self.assertEqual([], origin.seen, "%s\n%r" % (code, got))
                self.assertNotIn(VALUE[4:], got.out + got.err)

    @as_everyone
    def test_not_to_other_hosts(self):
        with Mirrored() as origin:
            got = self.ask(self.policy_for(origin, self.BEARER, hosts="api.github.com:443"), origin)
            self.assertIn("may not go to " + origin.at, got.out)
            self.assertEqual([], origin.seen)

    @as_everyone
    def test_not_over_plain_http_unless_told_so(self):
        with Mirrored() as origin:
            answer = self.BEARER.replace("Authorization", "X")
            got = self.ask(self.policy_for(origin, answer, plain=False), origin)
            self.assertIn("may not go over plain HTTP", got.out)
            self.assertEqual([], origin.seen)

    @as_everyone
    def test_neither_variable_nor_file_is_inside(self):
        path = self.write("w/token", VALUE + "\n")
        policy = """return { secrets = { a = { env = "TOKEN", hosts = { "a.test" } },
          b = { file = "token", hosts = { "a.test" } } }, filesystem = { allowRead = { "." }, allowWrite = { "." } } }"""
        got = self.run_sh("env; cat token; cp token x; ls -l token; tr '\\0' '\\n' </proc/1/environ", policy,
                          env={"TOKEN": VALUE, "URL": "https://x:%s@a.test/" % VALUE})
        self.assertNotIn(VALUE, got.out + got.err)
        self.assertNotIn("\nTOKEN=", got.out)
        self.assertIn("URL=https://x:ghp_srtM", got.out)
        self.assertEqual(VALUE + "\n", self.read("w/token"))
        got = self.run_srt(["explain", self.policy(policy), "read", path], env={"TOKEN": VALUE})
        self.assertIn("file of a secret", got.out)

    @as_everyone
    def test_a_policy_does_not_see_the_variable(self):
        with Mirrored() as origin:
            answer = 'return srt.deny("it is " .. tostring(srt.env.GITHUB_TOKEN))'
            self.assertIn("it is nil", self.ask(self.policy_for(origin, answer), origin).out)

    @as_everyone
    def test_nothing_prints_it(self):
        policy = self.policy("""return { secrets = { a = { env = "TOKEN", hosts = { "a.test" } },
          c = { command = "echo never; touch %s", hosts = { "a.test" } } } }""" % self.path("w/ran"))
        env = {"TOKEN": VALUE, "OTHER": "x" + VALUE}
        for args in (["check", policy], ["check", policy, "--json"], ["compile", policy], ["compile", policy, "--json"],
                     ["explain", policy, "read", "/etc/passwd"]):
            got = self.run_srt(args, env=env)
            self.assertNotIn(VALUE, got.out + got.err, args)
            self.assertIn(got.code, (0, 1), got)
        self.assertFalse(os.path.exists(self.path("w/ran")), "a command ran though nothing was run")
        got = self.run_srt(["check", policy], env=env)
        self.assertIn("secret a, from the variable TOKEN, for a.test", got.out)
        self.assertIn("secret c, from the command /bin/sh", got.out)
        got = self.run_srt(["check", policy, "--json"], env=env)
        self.assertEqual(2, len(json.loads(got.out)["policies"][0]["profile"]["credentials"]))

    @as_everyone
    def test_values_that_can_not_be_had(self):
        cases = {
            'env = "TOKEN"': "policy.lua:1: secrets.x: the variable TOKEN is not set",
            'file = "none"': "none can't be read",
            'file = "/"': "can't be read",
            'command = "exit 3"': "/bin/sh ended with status 3",
            'command = "kill -9 $$"': "was ended by signal 9",
            'command = { "no-such-program" }': "cannot run no-such-program",
            'command = "printf short"': "less than 8 bytes",
            'command = "head -c 100000 /dev/zero"': "prints too much",
            'command = "printf \'12345678\\\\0\'"': "a NUL byte",
            'env = "A", file = "b"': "takes one of env, file and command",
            "command = 3": "command takes a string, or a list of words",
        }
        for source, wanted in cases.items():
            got = self.run_srt(["true"], 'return { secrets = { x = { %s, hosts = { "a.test" } } } }' % source)
            self.assertEqual(125, got.code, (source, got))
            self.assertIn(wanted, got.err)
        got = self.run_srt(["true"], 'return { secrets = { x = { env = "A" } } }')
        self.assertIn("a secret needs hosts", got.err)

    def test_a_command_that_does_not_end(self):
        got = self.run_srt(["true"], 'return { secrets = { x = { command = "exec sleep 60", hosts = { "a.test" } } } }')
        self.assertEqual(125, got.code)
        self.assertIn("did not end within 10000 ms", got.err)

    @as_everyone
    def test_a_compressed_answer_is_refused(self):
        with Mirrored() as origin:
            got = self.ask(self.policy_for(origin, self.BEARER), origin, "/gzip")
            twice = self.ask(self.policy_for(origin, self.BEARER), origin, "/twice")
            self.assertIn("compressed", twice.out)
            self.assertIn("compressed", got.out)
            self.assertEqual("identity", origin.seen[-1][2]["Accept-Encoding"])


main()
