# SPDX-License-Identifier: Apache-2.0
"""init writes a policy that check has nothing against and that runs; it overwrites nothing unasked."""
import json

import lib
from lib import as_everyone, main


class Init(lib.Case):
    @as_everyone
    def test_a_project(self):
        self.sh("mkdir -p p/.git p/.github/workflows home; cd p; echo S=1 >.env; echo {} >package.json; touch Dockerfile;"
                "printf '[remote \"origin\"]\\n\\turl = https://github.com/a/b\\n' >.git/config; echo x >.github/workflows/ci")
        env = {"HOME": self.path("w/home"), "SSH_AUTH_SOCK": ""}
        got = self.run_srt(["init", "p"], env=env)
        self.assertEqual((0, ""), (got.code, got.err), got)
        for part in ('github-readonly', 'npm', 'docker-client', '.env', '.github/workflows', 'srt-lua run policy.lua',
                     'mkdir -p ~/.npm '):
            self.assertIn(part, got.out)
        first = self.read("w/p/policy.lua")
        self.assertIn("runtime.version", json.loads(self.read("w/p/.luarc.json")))
        cwd = self.path("w/p")
        got = self.run_srt(["check", "--fail-on", "warning", "policy.lua"], env=env, cwd=cwd)
        self.assertEqual((0, ""), (got.code, got.err), got)
        self.assertNotIn("warning:", got.out)
        # A starter's resolution fits a screen.
        self.assertLess(len(got.out.splitlines()), 50)
        got = self.run_srt(["test", "policy.lua"], env=env, cwd=cwd)
        self.assertEqual((0, ""), (got.code, got.err), got)
        self.assertIn("5 tests, 0 failed", got.out)
        got = self.run_srt(["run", "policy.lua", "--report", "none", "--", "sh", "-c",
                            "echo y >new; cat new; cat .env; echo z >.github/workflows/ci"], env=env, cwd=cwd)
        self.assertEqual("y\n", got.out, got)
        self.assertEqual("x\n", self.read("w/p/.github/workflows/ci"))
        # It is there now.
        self.write("w/p/policy.lua", first + "-- mine\n")
        self.write("w/p/.luarc.json", "{}")
        self.write("w/p/policy_spec.lua", "return {}")
        got = self.run_srt(["init", "p"], env=env)
        self.assertEqual(1, got.code)
        self.assertIn("is there already; overwrite it with --force", got.err)
        self.assertEqual(first + "-- mine\n", self.read("w/p/policy.lua"))
        got = self.run_srt(["init", "--force", "p"], env=env)
        self.assertEqual((0, first), (got.code, self.read("w/p/policy.lua")))
        self.assertEqual(("{}", "return {}"), (self.read("w/p/.luarc.json"), self.read("w/p/policy_spec.lua")))
        for where, why in ((self.path("w/home"), "is no project"), ("/", "is no project"), ("none", "No such file"),
                           ("p/.env", "is no directory")):
            got = self.run_srt(["init", where], env=env)
            self.assertEqual(1, got.code)
            self.assertIn(why, got.err)


if __name__ == "__main__":
    main()
