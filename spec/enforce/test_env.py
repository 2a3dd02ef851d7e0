# SPDX-License-Identifier: Apache-2.0
"""The environment that a command really gets; what each variable must hold is in spec/lua/environment_spec.lua."""
import os

from lib import BINARY, Case, as_everyone, main, need, skip

URL = "http://127.0.0.1:3128"
OPEN = 'network = { allowedDomains = { "a.test" } }'


class Environment(Case):
    def inside(self, policy, env=None):
        got = self.run_srt(["env", "-0"], "{ %s }" % policy, env=env)
        self.assertEqual(0, got.code, got)
        return dict(entry.split("=", 1) for entry in got.out.rstrip("\0").split("\0"))

    @as_everyone
    def test_closed_and_open(self):
        given = {"HTTPS_PROXY": "http://u:secret@corp.test:1", "no_proxy": "corp.test", "npm_config_proxy": "http://corp.test:1",
                 "CLOUDSDK_PROXY_PASSWORD": "secret", "KEPT": "x"}
        closed, opened = self.inside("", given), self.inside(OPEN, given)
        self.assertFalse([name for name in closed if "proxy" in name.lower()], closed)
        for env in (closed, opened):
            self.assertEqual(("1", "x"), (env["SANDBOX_RUNTIME"], env["KEPT"]))
            self.assertFalse([value for value in env.values() if "corp" in value or "secret" in value])
        for name in ("HTTP_PROXY", "https_proxy", "ALL_PROXY", "npm_config_proxy", "CARGO_HTTP_PROXY"):
            self.assertEqual(URL, opened[name])
        self.assertEqual("localhost,127.0.0.1,::1,[::1]", opened["NO_PROXY"])

    @as_everyone
    def test_a_jvm_can_make_temporary_files(self):
        need("java")
        self.write("w/T.java", "public class T { public static void main(String[] a) throws Exception { "
                   "System.out.println(java.io.File.createTempFile(\"aaa\", null).getParent()); } }")
        got = self.run_sh("java -XX:TieredStopAtLevel=1 T.java; echo $TMPDIR", "{}")
        lines = got.out.splitlines()
        self.assertEqual(2, len(lines), got)
        self.assertEqual(lines[1], lines[0])

    @as_everyone
    def test_the_policy_has_the_last_word(self):
        env = self.inside(OPEN + ', env = { set = { HTTP_PROXY = "http://mine" }, unset = { "NO_PROXY" }, pass = { "A" } }',
                          {"A": "1", "B": "2"})
        self.assertEqual(("http://mine", URL, "1"), (env["HTTP_PROXY"], env["http_proxy"], env["A"]))
        self.assertFalse({"NO_PROXY", "B"} & set(env))

    @as_everyone
    def test_git_trusts_what_it_is_told_to(self):
        need("git")
        if self.user != "user" or os.geteuid():
            skip("takes a folder of somebody else's", allowed=True)
        self.sh("git init -q .")
        os.chown(self.w, 0, 0)
        os.chown(self.path("w/.git"), 0, 0)
        got = self.run_srt(["git", "status"], "{}")
        self.assertIn("dubious ownership", got.err, got)
        got = self.run_srt(["git", "status"], '{ git = { safeDirectories = { "." } } }')
        self.assertEqual(0, got.code, got)

    @as_everyone
    def test_ssh_goes_by_this_program_if_it_is_there_inside(self):
        self.assertIn("'%s connect %%h %%p'" % BINARY, self.inside(OPEN)["GIT_SSH_COMMAND"])
        env = self.inside(OPEN + ', filesystem = { denyRead = { "%s" } }' % BINARY)
        self.assertNotIn("GIT_SSH_COMMAND", env)


if __name__ == "__main__":
    main()
