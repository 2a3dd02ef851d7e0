# SPDX-License-Identifier: Apache-2.0
"""/proc, /sys, ids and capabilities: what a caller, root above all, could reach through them."""
import os
import subprocess

from lib import BINARY, Case, as_everyone, main, need, need_root

WRITES = r"""
import errno, os, stat, sys
tops = sys.argv[1:]
checked = 0
for top in tops:
    for folder, folders, files in os.walk(top):
        if folder == "/proc":
            folders[:] = [f for f in folders if not f.isdigit() and f not in ("self", "thread-self")]
        for name in files:
            path = os.path.join(folder, name)
            try:
                if not stat.S_ISREG(os.lstat(path).st_mode):
                    continue
                fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
                # Nothing is written: a file that takes no writes says so (EIO),
                # though root's DAC_OVERRIDE opens it.
                os.write(fd, b"")
                print("WRITABLE", path)
            except OSError as error:
                if error.errno not in (errno.EROFS, errno.EACCES, errno.ENOENT, errno.EPERM, errno.EIO, errno.EINVAL,
                                       errno.ENODEV, errno.ENXIO, errno.EBUSY):
                    print("ODD", path, error)
            checked += 1
print("checked", checked)
"""


class Proc(Case):
    @as_everyone
    def test_nothing_there_can_be_written(self):
        for policy in ("{}", '{ filesystem = { allowWrite = { "/" } } }'):
            if self.user == "user" and "allowWrite" in policy:
                policy = '{ filesystem = { allowWrite = { "." } } }'
            got = self.run_srt(["/usr/bin/python3", "-c", WRITES, "/proc", "/sys"], policy, timeout=120)
            self.assertEqual(0, got.code, got)
            writable = [line for line in got.out.splitlines() if line.startswith("WRITABLE")]
            if self.user == "user":
                # Open to every ordinary user outside as well, and harmless.
                writable = [line for line in writable if "/proc/pressure/" not in line and "ns_last_pid" not in line]
            self.assertEqual([], writable, self.user)
            self.assertNotIn("ODD", got.out)
            self.assertGreater(int(got.out.split()[-1]), 500)

    def test_other_mounts_of_kernel_file_systems(self):
        """A second procfs would be the host's; a second sysfs is as read-only as the first."""
        need_root("what it does, only root may")
        mounts = {"p": "proc", "t": "devpts", "q": "mqueue", "s": "sysfs", "c": "cgroup2"}
        self.sh("mkdir " + " ".join(mounts))
        script = "".join("mount -t %s none %s; " % (kind, name) for name, kind in mounts.items())
        code = """import os
for name in "ptq":
    try:
        print("listed", name, os.listdir(name))
    except PermissionError:
        pass
for top in "sc":
    for folder, folders, files in os.walk(top):
        for name in files:
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_NONBLOCK))
                print("opened", folder, name)
            except OSError:
                pass
        if folder.count("/") > 2:
            folders.clear()
print(len(os.listdir("s")) > 3, len(os.listdir("c")) > 3)"""
        policy = self.policy('{ filesystem = { allowWrite = { "/" } } }')
        done = subprocess.run([need("unshare"), "-m", "sh", "-ec", script + 'exec "$@"', "sh", BINARY, "run", policy, "--",
                               "/usr/bin/python3", "-c", code], cwd=self.w, env=self.environment(), capture_output=True, text=True)
        self.assertEqual("True True\n", done.stdout, done)

    @as_everyone
    def test_umask_and_limits_are_the_callers(self):
        import resource

        def limit():
            os.umask(0o027)
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
        got = self.run_sh("umask; ulimit -Sn; ulimit -Hn; touch f; mkdir d; stat -c %a f d",
                          '{ filesystem = { allowWrite = { "." } } }', preexec=limit)
        self.assertEqual("0027\n100\n200\n640\n750\n", got.out, got)

    @as_everyone
    def test_a_umask_that_takes_from_the_owner(self):
        """It is the command's; what srt-lua makes for itself it can read and remove."""
        for mask in (0o777, 0o277, 0o477):
            got = self.run_sh("umask; mktemp -d >/dev/null; exit 3", "{}", preexec=lambda mask=mask: os.umask(mask))
            self.assertEqual((3, "%04o\n" % mask, ""), (got.code, got.out, got.err))
        self.assertEqual([], self.leftovers())
        self.assertEqual([], [name for _, _, names in os.walk(self.home) for name in names if name.endswith(".run")])

    @as_everyone
    def test_own_process_can_be_tuned(self):
        got = self.run_sh("echo name >/proc/self/comm && echo 500 >/proc/self/oom_score_adj && cat /proc/self/oom_score_adj", "{}")
        self.assertEqual("500\n", got.out, got)

    @as_everyone
    def test_sysctl_with_the_value_it_has(self):
        script = """for k in kernel/core_pattern kernel/hostname vm/swappiness fs/file-max net/ipv4/ip_forward; do
          v=$(cat /proc/sys/$k) || continue; (echo "$v" >/proc/sys/$k) 2>/dev/null && echo "wrote $k"; done; echo end"""
        got = self.run_sh(script, "{}")
        self.assertEqual("end\n", got.out, got)

    @as_everyone
    def test_only_inner_processes(self):
        got = self.run_sh("ls /proc | grep -c '^[0-9]'; readlink /proc/self/ns/pid; cat /proc/1/comm", "{}")
        lines = got.out.splitlines()
        self.assertLess(int(lines[0]), 8, got)
        self.assertNotEqual(os.readlink("/proc/self/ns/pid"), lines[1])
        self.assertEqual("sandbox-init", lines[2])

    @as_everyone
    def test_seven_namespaces_of_its_own(self):
        got = self.run_sh("for n in user mnt pid net ipc uts cgroup; do readlink /proc/self/ns/$n; done", "{}")
        for line in got.out.splitlines():
            name = line.split(":")[0]
            self.assertNotEqual(os.readlink("/proc/self/ns/" + name), line)
        self.assertEqual(7, len(got.out.splitlines()), got)

    @as_everyone
    def test_pid_1_is_closed(self):
        answers = self.probe("read /proc/1/environ read /proc/1/maps read /proc/1/mem list /proc/1/fd list /proc/1/root/ "
                             "list /proc/1/cwd/ list /proc/1/map_files ptrace 1 vmread 1 kill 1 9 read /proc/1/syscall", "{}")
        for what, answer in answers.items():
            if what == "list /proc/1/fd" and answer == "ok":
                got = self.run_sh("for f in /proc/1/fd/*; do cat $f & readlink $f; done 2>/dev/null | head -c 10; true", "{}")
                self.assertEqual("", got.out)
                continue
            self.assertIn(answer, ("EACCES", "EPERM", "ESRCH"), (self.user, what))

    @as_everyone
    def test_ids_and_capabilities(self):
        got = self.run_sh("id -u; id -g; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; touch f; stat -c %u f",
                          '{ filesystem = { allowWrite = { "." } } }')
        lines = got.out.split("\n")
        uid = os.stat(self.w).st_uid
        self.assertEqual([str(uid), str(uid)], lines[:2])
        self.assertEqual(str(uid), lines[-2])
        status = dict(line.split(":\t") for line in lines[2:-2])
        want = "000000000000001b" if self.user == "root" else "0000000000000000"
        for name in ("CapPrm", "CapEff", "CapBnd"):
            self.assertEqual(want, status[name], name)
        for name in ("CapInh", "CapAmb"):
            self.assertEqual("0" * 16, status[name], name)
        self.assertEqual(("1", "2"), (status["NoNewPrivs"], status["Seccomp"]))
        self.assertEqual(uid, os.stat(self.path("w/f")).st_uid)

    @as_everyone
    def test_setuid_programs_gain_nothing(self):
        got = self.run_sh("for p in /usr/bin/su /usr/bin/passwd /usr/bin/mount; do [ -u $p ] && echo setuid; done; "
                          "grep -c nosuid /proc/self/mountinfo; wc -l </proc/self/mountinfo", "{}")
        counts = got.out.split()[-2:]
        self.assertEqual(counts[0], counts[1], got)

    def test_root_reads_what_root_reads(self):
        need_root("what it does, only root may")
        answers = self.probe("read /etc/shadow", "{}")
        self.assertEqual("ok", answers["read /etc/shadow"])
        answers = self.probe("read /etc/shadow", '{ extends = { "no-system-secrets" } }')
        self.assertEqual("EACCES", answers["read /etc/shadow"])


if __name__ == "__main__":
    main()
