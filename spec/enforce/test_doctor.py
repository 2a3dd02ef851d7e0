# SPDX-License-Identifier: Apache-2.0
"""doctor says what run does: in each world both are asked, and doctor names what is in the way."""
import json
import os
import pathlib
import pty
import shutil

import lib
import restrict
from lib import BINARY, CONTAINER, as_everyone, as_only

shutil.copy(pathlib.Path(__file__).with_name("rootless.py"), lib.PUBLIC)


class Doctor(lib.Case):
    def examined(self, enforced, env=None, preexec=None, around=()):
        """doctor's findings by name; its status must be that of a run in the same place. enforced: None for either."""
        ran = {}
        for what in (["doctor", "--json"], ["run", self.policy("{}"), "--", BINARY, "--version"]):
            ran[what[0]] = self.on_host([*around, BINARY, *what], env, preexec, timeout=60, text=True)
        data = json.loads(ran["doctor"].stdout)
        self.assertEqual("", ran["doctor"].stderr)
        worked = ran["run"].returncode == 0
        enforced = worked if enforced is None else enforced
        self.assertEqual(enforced, worked, ran["run"].stderr)
        self.assertEqual(enforced, data["enforced"], data)
        self.assertEqual(0 if enforced else 1, ran["doctor"].returncode)
        self.assertEqual([], self.leftovers())
        found = {check["name"]: check for check in data["checks"]}
        for check in found.values():
            self.assertIn(check["state"], ("ok", "info", "weak", "bad"), check)
            if check["state"] in ("weak", "bad"):
                self.assertTrue(check.get("means") or check["name"] == "policy", check)
        if not enforced:
            # In the very words of run.
            self.assertIn(found["policy"]["found"].split(";")[0], ran["run"].stderr)
        return found

    def states(self, found, **wanted):
        """No finding is bad where run works all the same, by another backend."""
        for name, state in wanted.items():
            if state == "bad" and found["policy"]["state"] != "bad":
                state = "weak"
            self.assertEqual(state, found[name]["state"], found[name])

    @as_everyone
    def test_here(self):
        found = self.examined(True)
        self.states(found, kernel="ok", namespaces="ok", proc="ok", seccomp="ok", notify="ok", nftables="ok", policy="ok",
                    temporary="ok", clock="ok")
        self.assertIn(os.uname().release, found["kernel"]["found"])

    def test_text(self):
        got = self.run_srt(["doctor"])
        self.assertEqual(0, got.code, got)
        self.assertIn("ok    namespaces", got.out)
        self.assertTrue(got.out.endswith("\nThe default policy can be enforced here.\n"), got)
        self.assertNotIn("\033", got.out)
        for extra, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
            outer, inner = pty.openpty()
            got = self.run_srt(["doctor"], env={"SRT_LUA_FAKE_MISSING": "userns", **extra}, stdout=inner)
            os.close(inner)
            self.assertEqual(1, got.code)
            text = b""
            try:
                while piece := os.read(outer, 65536):
                    text += piece
            except OSError:
                pass
            os.close(outer)
            self.assertIn(b"The default policy can't be enforced here.", text)
            self.assertEqual(coloured, b"\033[31mbad" in text)
        for words in (["--nonsense"], ["--json", "more"]):
            self.assertEqual(125, self.run_srt(["doctor", *words]).code)

    @as_everyone
    def test_missing_features(self):
        for feature in ("userns", "netns", "map", "mount_setattr"):
            with self.subTest(feature):
                found = self.examined(None, {"SRT_LUA_FAKE_MISSING": feature})
                self.states(found, namespaces="bad")
                self.assertTrue(found["namespaces"]["cure"])
        found = self.examined(True, {"SRT_LUA_FAKE_MISSING": "seccomp_notify,nftables", "SRT_LUA_FAKE_LANDLOCK_ABI": "5"})
        self.states(found, notify="weak", nftables="weak", landlock="weak", seccomp="ok", namespaces="ok")
        self.assertIn("signals", found["landlock"]["means"])

    @as_everyone
    def test_like_docker(self):
        found = self.examined(None, {"container": "docker"}, None, [CONTAINER])
        self.states(found, namespaces="bad", proc="info", seccomp="ok", container="info")
        self.assertIn("seccomp filter around this process refuses", found["namespaces"]["means"])
        self.assertIn("--security-opt seccomp=unconfined", found["namespaces"]["cure"][0])
        self.assertIn("a Docker container; a seccomp filter is on all", found["container"]["found"])

    WEAKER = "{ enableWeakerNestedSandbox = true, filesystem = { allowWrite = { '.' } } }"
    # In words of the shell: what is written, what must not be, and what kind of root it is.
    TRIES = "echo in >f; cat f; echo no >../x; mkdir .git .git/hooks; cat /proc/self/uid_map | wc -l; echo done"

    def run_around(self, around, landlock):
        done = self.on_host([*around, BINARY, "run", self.policy(self.WEAKER), "--", "sh", "-c", self.TRIES], timeout=60, text=True)
        self.assertEqual((0, "in\n", "done\n"), (done.returncode, done.stdout[:3], done.stdout[-5:]), done)
        self.assertEqual(landlock, "the backend is landlock" in done.stderr, done)
        self.assertFalse(os.path.exists(self.path("x")))
        self.assertEqual([], self.leftovers())

    def test_privileged(self):
        """docker run --privileged: all capabilities, no filter, a whole /proc, namespaces of its own."""
        lib.need_root("what it does, only root may")
        around = [lib.need("unshare"), "--mount", "--pid", "--fork", "--mount-proc", "--uts", "--ipc", "--net", "--cgroup"]
        self.states(self.examined(True, {"container": "docker"}, None, around), namespaces="ok", proc="ok", seccomp="ok",
                    container="info", policy="ok")
        self.run_around(around, False)

    @as_everyone
    def test_rootless(self):
        """As podman and rootless Docker start it: root of a user namespace, with one id or many, /proc masked or not."""
        for ids in (0, 65535) if self.user == "root" else (0,):
            around = ["/usr/bin/python3", os.path.join(lib.PUBLIC, "rootless.py"), str(ids)]
            self.states(self.examined(True, {"container": "podman"}, None, around + ["0"]), namespaces="ok", proc="ok")
            self.run_around(around + ["0"], False)
            found = self.examined(False, {"container": "podman"}, None, around + ["1"])
            self.states(found, namespaces="ok", proc="bad", container="info")
            self.assertIn("parts of this /proc are covered", found["proc"]["means"])
            self.assertIn("unmask=ALL", found["proc"]["cure"][0])
            self.run_around(around + ["1"], True)

    @as_everyone
    def test_no_filters(self):
        found = self.examined(False, None, restrict.no_filters)
        self.states(found, namespaces="ok", seccomp="bad", notify="weak")

    @as_everyone
    def test_a_limit_of_namespaces(self):
        """Set in a namespace of the test's own: the host's stays."""
        limit = "echo %s >/proc/sys/user/max_%s_namespaces && exec \"$@\""
        for kind in ("user", "net"):
            around = [lib.need("unshare"), "--user", "--map-root-user", "sh", "-c", limit % (0, kind), "sh"]
            found = self.examined(None, None, None, around)
            self.states(found, namespaces="bad")
            self.assertIn("user.max_%s_namespaces is 0" % kind, found["namespaces"]["means"])
            self.assertIn("sudo sysctl -w user.max_%s_namespaces=15000" % kind, found["namespaces"]["cure"][0])

    def test_covered_proc(self):
        """As containers have it: the kernel lets nobody mount another /proc then."""
        lib.need_root("what it does, only root may")
        # Any other one that is mounted anywhere would do instead.
        cover = "mount -t tmpfs none /proc/tty && awk '$3 == \"proc\" && $2 != \"/proc\" { print $2 }' /proc/self/mounts | " \
            "xargs -r umount -l && exec \"$@\""
        around = [lib.need("unshare"), "--mount", "sh", "-c", cover, "sh"]
        for ids in ([], [lib.need("setpriv"), "--reuid", str(lib.ORDINARY), "--clear-groups"]):
            self.user = "user" if ids else "root"
            self.fresh()
            # The user would have given up what mount takes.
            user, self.user = self.user, "root"
            found = self.examined(None, None, None, [*around, *ids])
            self.user = user
            self.states(found, namespaces="ok", proc="bad")
            self.assertIn("/proc/tty", found["proc"]["means"])
            self.assertIn("systempaths=unconfined", found["proc"]["cure"][0])

    @as_only("user")
    def test_inside(self):
        """In a sandbox of our own."""
        inside = [BINARY, "doctor", "--json"]
        got = self.run_srt(inside, "{}")
        found = {check["name"]: check for check in json.loads(got.out)["checks"]}
        self.assertEqual(1 if found["policy"]["state"] == "bad" else 0, got.code, got)
        self.states(found, namespaces="bad")
        self.assertIn("sandbox of srt-lua", found["container"]["found"])
        self.assertIn("allowNestedUserNamespaces", found["namespaces"]["cure"][0])
        got = self.run_srt(inside, "{ allowNestedUserNamespaces = true }")
        self.assertEqual(0, got.code, got)

    @as_everyone
    def test_folders_and_roots(self):
        # Without a home what runs note is in the folder for temporary files, and goes with it.
        found = self.examined(True, {"SSL_CERT_FILE": "/nonexistent", "HOME": "/nonexistent"})
        self.states(found, certificates="weak", state="weak")
        self.assertEqual(["unset SSL_CERT_FILE"], found["certificates"]["cure"])


if __name__ == "__main__":
    lib.main()
