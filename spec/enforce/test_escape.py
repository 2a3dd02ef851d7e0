# SPDX-License-Identifier: Apache-2.0
"""Known tricks to get a write or a read out. Each uses files of its own."""
import os

from lib import Case, as_everyone, main, need_root

WRITABLE = '{ filesystem = { allowWrite = { "." } } }'


class Paths(Case):
    @as_everyone
    def test_by_proc(self):
        self.write("out/f", "host's")
        target = self.path("out/f")
        got = self.run_sh("""for p in /proc/self/root /proc/1/root /proc/thread-self/root /proc/$$/root /proc/self/cwd/..; do
            (echo stolen >$p%s) 2>/dev/null; (echo stolen >$p/out/f) 2>/dev/null; done
            for p in /proc/[0-9]*; do (echo stolen >$p/root%s) 2>/dev/null; ls $p/cwd/ >/dev/null 2>&1; done; echo end""" % (
                target, target), WRITABLE)
        self.assertEqual(("end\n", "host's"), (got.out, self.read("out/f")), got)

    @as_everyone
    def test_kernel_hooks(self):
        marker = self.path("out")
        got = self.run_sh("""for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/hotplug \
              /sys/kernel/uevent_helper /proc/sys/fs/binfmt_misc/register /proc/sysrq-trigger; do
            [ -e $f ] && v=$(cat $f 2>/dev/null) && (printf '%s\\n' "$v" >$f) 2>/dev/null && echo "wrote $f"; done
            for f in $(find /sys/fs/cgroup -name release_agent -o -name notify_on_release -o -name cgroup.procs 2>/dev/null | head -50); do
            ( : >>$f ) 2>/dev/null && echo "opened $f"; done; echo end""", WRITABLE)
        self.assertEqual("end\n", got.out, got)
        self.assertFalse(os.path.exists(marker))

    @as_everyone
    def test_cover_can_not_be_taken_off(self):
        self.write("w/sec/k", "secret")
        policy = '{ filesystem = { allowWrite = { "." }, denyRead = { "sec" } } }'
        got = self.run_sh("""umount sec; umount -l sec; mount --bind . sec; rmdir sec; mv sec x; rm -rf sec
            unshare -Urm sh -c 'umount sec; cat sec/k'; chmod 777 sec; cat sec/k; ls sec""", policy)
        self.assertNotIn("secret", got.out + got.err)
        self.assertEqual("secret", self.read("w/sec/k"))

    @as_everyone
    def test_hard_link_of_a_denied_file(self):
        self.write("w/k", "secret")
        policy = '{ filesystem = { allowWrite = { "." }, denyRead = { "k" }, denyWrite = { "k" } } }'
        answers = self.probe("link k alias rename k other read alias exchange k fresh", policy)
        self.assertIn(answers["link k alias"], ("EXDEV", "EPERM"))
        self.assertEqual("ENOENT", answers["read alias"])

    @as_everyone
    def test_the_root_of_other_processes(self):
        """A process inside that is the caller's own leads nowhere else either."""
        self.write("out/f", "host's")
        got = self.run_sh("""sleep 5 & for link in root cwd exe fd/0 fd/1; do for p in self $! 1; do
            (echo stolen >/proc/$p/$link%s) 2>/dev/null; (echo stolen >/proc/$p/$link/../out/f) 2>/dev/null; done; done
            kill $!; ln -s /proc/self/root%s here; (echo stolen >here) 2>/dev/null; chmod 777 /proc/self/root%s 2>/dev/null; echo end""" % (
                (self.path("out/f"),) * 3), WRITABLE)
        self.assertEqual(("end\n", "host's"), (got.out, self.read("out/f")), got)
        self.assertEqual(0o644, os.stat(self.path("out/f")).st_mode & 0o777)

    @as_everyone
    def test_a_mount_is_carried_away_by_none_of_its_parents(self):
        self.write("w/a/b/c/f", "host's")
        policy = '{ filesystem = { allowWrite = { "." }, denyWrite = { "a/b/c/f" }, denyRead = { "a/b/k" } } }'
        self.write("w/a/b/k", "secret")
        got = self.run_sh("""mkdir x; for d in a a/b a/b/c; do mv $d x/; mv $d q; done
            mkdir -p a/b/c; echo stolen >a/b/c/f; rm -rf a; cp -r a copy; cat copy/b/k; cat a/b/k; tar cf t.tar a; tar xOf t.tar""",
                          policy)
        self.assertNotIn("secret", got.out)
        self.assertEqual(("host's", "secret"), (self.read("w/a/b/c/f"), self.read("w/a/b/k")), got)

    def test_raw_devices_of_root(self):
        need_root("what it does, only root may")
        got = self.run_sh("find / -xdev -type b 2>/dev/null | head; mknod d b 259 0; mknod c c 1 3; ls", WRITABLE)
        self.assertEqual("", got.out, got)


class Found(Case):
    """What an attack on an earlier version found."""

    @as_everyone
    def test_temporary_directory_in_dev(self):
        name = "/dev/shm/srt-enforce-%d" % os.getpid()
        with open(name, "w") as file:
            file.write("host's")
        os.chmod(name, 0o666)
        try:
            for base in ("/dev/shm", "/dev", "/proc/self"):
                got = self.run_sh("echo stolen >%s; echo x >/dev/null; touch /dev/made; ls /dev/shm; echo $TMPDIR" % name, "{}",
                                  env={"TMPDIR": base})
                self.assertEqual(0, got.code, got)
                self.assertIn("\n/tmp/srt-lua-", "\n" + got.out)
                with open(name) as file:
                    self.assertEqual("host's", file.read())
        finally:
            os.unlink(name)
        self.assertFalse(os.path.exists("/dev/made"))

    @as_everyone
    def test_allowed_folder_swapped_for_a_link_while_a_run_starts(self):
        self.write("victim/keep", "x")
        self.sh("mkdir out")
        policy = self.policy('{ filesystem = { allowWrite = { ".", "out" } } }')
        swapper = self.start(["/usr/bin/python3", "-c", """import os
while not os.path.exists("stop"):
    try:
        os.rename("out", "x"); os.symlink("../victim", "out"); os.unlink("out"); os.rename("x", "out")
    except OSError:
        pass"""], self.policy(WRITABLE, "swapper.lua"))
        for number in range(40):
            self.run_sh("echo x >../victim/pwned-%d" % number, policy)
        self.write("w/stop")
        swapper.communicate(timeout=20)
        self.assertEqual(["keep"], os.listdir(self.path("victim")))

    @as_everyone
    def test_links_to_the_way_there(self):
        """A root named through a link is compared by where it really is."""
        self.write("data/proj/out/f", "x")
        self.write("victim/f", "x")
        self.sh("ln -s ../data link; rm -r ../data/proj/out; ln -s ../../victim ../data/proj/out")
        top = self.path("w/link/proj")
        got = self.run_sh("echo stolen >%s/out/f" % top, '{ filesystem = { allowWrite = { "%s", "%s/out" } } }' % (top, top),
                          cwd="/")
        self.assertEqual("x", self.read("victim/f"), got)

    @as_everyone
    def test_a_path_too_long_to_look_at(self):
        name = "d" * 200
        made = os.open(self.w, os.O_PATH)
        for _ in range(21):
            os.mkdir(name, dir_fd=made)
            inner = os.open(name, os.O_PATH, dir_fd=made)
            os.close(made)
            made = inner
        os.close(made)
        self.own(self.w)
        got = self.run_srt(["true"], '{ filesystem = { denyRead = { "%s/secret" } } }' % "/".join([name] * 21))
        self.assertEqual(125, got.code, got)
        self.assertIn("can't be protected", got.err)

    @as_everyone
    def test_the_callers_group_keeps_its_priority(self):
        code = "import os; print(os.getpriority(os.PRIO_PROCESS, 0)); os.setpriority(os.PRIO_PGRP, 0, 15)"
        got = self.run_srt(["/usr/bin/python3", "-c", code], "{}")
        self.assertIn("PermissionError", got.err)

    @as_everyone
    def test_nested_namespaces_are_warned_of(self):
        if self.user == "root":
            return
        got = self.run_srt(["true"], '{ allowNestedUserNamespaces = true, filesystem = { allowWrite = { "." } } }')
        self.assertIn("allowNestedUserNamespaces", got.err)


if __name__ == "__main__":
    main()
