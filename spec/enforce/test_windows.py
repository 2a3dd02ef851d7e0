# SPDX-License-Identifier: Apache-2.0
"""backend = "windows" from the command line, and srt-win.exe as far as it is known without Windows."""

import json
import os
import shutil
import socket
import subprocess

from lib import LONG, Case, main, skip

HELPER = os.environ.get("SRT_WIN", "")
WINE = shutil.which("wine64") or ("/usr/lib/wine/wine64" if os.path.exists("/usr/lib/wine/wine64") else None)


class Windows(Case):
    def test_compile_and_run(self):
        policy = self.policy('{ backend = "windows", filesystem = { allowWrite = { "C:\\\\srt-none\\\\p" } }, '
                             'network = { allowedDomains = { "a.test" } } }')
        done = self.run_srt(["compile", policy])
        self.assertEqual((0, ""), (done.code, done.err))
        plan = json.loads(done.out)
        self.assertEqual("windows", plan["backend"])
        self.assertIn("C:\\srt-none\\p", [item["path"] for item in plan["acl"]])
        self.assertEqual("http://127.0.0.1:60080", plan["environment"]["set"]["HTTP_PROXY"])
        done = self.run_srt(["true"], policy)
        self.assertEqual(125, done.code)
        self.assertIn("enforced on Windows only", done.err)
        done = self.run_srt(["windows-install"])
        self.assertEqual(125, done.code)
        self.assertIn("srt-win.exe", done.err)
        done = self.run_srt(["compile", "--backend", "windows", self.policy("{ filesystem = { disabled = true } }")])
        self.assertEqual((1, ""), (done.code, done.out))
        self.assertIn("filesystem.disabled", done.err)

    def test_helper_is_a_windows_program(self):
        if not os.path.exists(HELPER):
            skip("srt-win.exe was not built: MinGW-w64 is not here")
        with open(HELPER, "rb") as file:
            image = file.read()
        at = int.from_bytes(image[0x3c:0x40], "little")
        self.assertEqual(b"PE\0\0\x64\x86", image[at:at + 6])
        # /DYNAMICBASE, /NXCOMPAT, /HIGHENTROPYVA
        self.assertEqual(0x160, int.from_bytes(image[at + 24 + 70:at + 24 + 72], "little") & 0x160)

    def wine(self, *args):
        environment = dict(os.environ, WINEPREFIX=os.path.join(self.dir, "wine"), WINEDEBUG="-all")
        return subprocess.run([WINE, HELPER, *args], cwd=self.dir, env=environment, capture_output=True, text=True,
                              timeout=600)

    # Wine makes a folder of 700 MB first, which takes a minute.
    def test_under_wine(self):
        if not (LONG and WINE and os.path.exists(HELPER)):
            skip("SRT_LONG=1 runs srt-win.exe, with wine64", allowed=True)
        self.write("plan.json", self.run_srt(["compile", "--backend", "windows", self.policy("{}")]).out)
        done = self.wine("--srt-win", "check", "plan.json")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("account srt-sandbox, ports 60080 to 60089, ", done.stdout)
        runner = ["--runner", "--keep", "14", "--restrict", "13", "--probe"]
        # The second hop: nobody listens on port 1, so the fence seems to be there.
        done = self.wine(*runner, "1", "--", "cmd", "/c", "echo in & exit 7")
        self.assertEqual((7, "in"), (done.returncode, done.stdout.strip()), done.stderr)
        self.assertEqual(127, self.wine(*runner, "1", "--", "nosuch").returncode)
        done = self.wine(*runner, "1", "--ca", "00", "--", "cmd", "/c", "exit 0")
        self.assertEqual(125, done.returncode)
        self.assertIn("does not trust the CA", done.stderr)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            done = self.wine(*runner, str(listener.getsockname()[1]), "--", "cmd", "/c", "exit 0")
        self.assertEqual(125, done.returncode)
        self.assertIn("the fence is not there", done.stderr)


if __name__ == "__main__":
    main()
