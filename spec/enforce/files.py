# SPDX-License-Identifier: Apache-2.0
"""What the tests of files share: a policy, operations, and the answers they should get."""
import subprocess

from lib import BINARY, Case, need


class Files(Case):
    def check(self, policy, want, **more):
        """want: {"op path": answer}; a tuple where several answers are right."""
        got = self.probe(" ".join(want), policy, **more)
        for what, answer in want.items():
            answers = answer if isinstance(answer, tuple) else (answer,)
            self.assertIn(got.get(what), answers, "%s as %s: %s" % (what, self.user, got))

    def with_mounts(self, mounts, policy, script):
        """Runs a script inside, from a mount namespace with mounts of the test's own."""
        return subprocess.run([need("unshare"), "-m", "sh", "-ec", mounts + '; exec "$@"', "sh", BINARY, "run", policy,
                               "--", "sh", "-c", script], cwd=self.w, env=self.environment(), capture_output=True, text=True)
