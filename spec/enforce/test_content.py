# SPDX-License-Identifier: Apache-2.0
"""Files of ours in the sandbox: over one of the host's, or in /dev/srt-lua."""
import os
import stat
import subprocess

from lib import ROOT, Case, as_everyone, main
from running import SHELL, Inside, until

SECRET, SHOWN = "the real thing\n", "made\\0up\\n"


class Content(Case):
    def tree(self, files="", masked=()):
        """A copy of two modules that have a plan with these files: {name=, content=} and {path, content}."""
        entries = ", ".join('{ given = "%s", path = "%s", content = "%s", origin = { key = "test" } }'
                            % (path, path, content) for path, content in masked)
        for name, line in (("backends/namespaces.lua", "ctx.files = { %s }" % files),
                           ("lua/srt/decide_path.lua", "profile.filesystem.masked = { %s }" % entries)):
            module = "namespaces" if "namespaces" in name else "decide"
            text = (ROOT / name).read_text().rpartition("return " + module)[0]
            text += """local before = %(m)s.compile
            function %(m)s.compile(profile, rules, ctx)
              %(line)s
              return before(profile, rules, ctx)
            end
            return %(m)s\n""" % {"m": module, "line": line}
            self.write("tree/" + name, text)
        return {"SRT_LUA_PATH": self.path("tree")}

    def masked(self, name="w/f", content=SHOWN):
        return self.tree(masked=[(self.path(name), content)])

    @as_everyone
    def test_a_file_reads_as_ours(self):
        self.write("w/f", SECRET, 0o600)
        got = self.run_sh("cat f; stat -c '%a %u %g %s' f", "{}", env=self.masked())
        owner = os.stat(self.path("w/f"))
        self.assertEqual((0, "made\0up\n600 %d %d 8\n" % (owner.st_uid, owner.st_gid)), (got.code, got.out), repr(got))
        self.assertEqual(SECRET, self.read("w/f"))

    @as_everyone
    def test_it_can_not_be_changed_moved_or_removed(self):
        self.write("w/f", SECRET, 0o644)
        env = self.masked()
        script = "for a in 'echo x >f' 'echo x >>f' 'rm -f f' 'mv f g' 'chmod 777 f' 'ln f g' 'truncate -s0 f' " \
                 "'mv ../w ../v'; do if (eval \"$a\") 2>/dev/null; then echo \"$a\"; fi; done; cat f"
        got = self.run_sh(script, '{ filesystem = { allowWrite = { "." } } }', env=env)
        self.assertEqual("made\0up\n", got.out, repr(got))
        self.assertEqual(SECRET, self.read("w/f"))
        self.assertEqual(["f"], os.listdir(self.w))

    @as_everyone
    def test_the_mount_has_no_devices_no_setuid_and_is_read_only(self):
        self.write("w/f", SECRET)
        env = self.tree('{ name = "ca.pem", content = "x" }', [(self.path("w/f"), SHOWN)])
        got = self.run_sh("grep -E ' /dev/srt-lua | %s ' /proc/self/mountinfo" % self.path("w/f"), "{}", env=env)
        lines = got.out.splitlines()
        self.assertEqual(2, len(lines), repr(got))
        for line in lines:
            for option in ("ro", "nosuid", "nodev", "noexec"):
                self.assertIn(option, line.split()[5].split(","))

    @as_everyone
    def test_through_a_link_and_in_an_unreadable_place(self):
        self.write("out/real", SECRET)
        os.symlink(self.path("out/real"), self.path("w/link"))
        env = self.masked("w/link")
        self.assertEqual("made\0up\n", self.run_sh("cat link", "{}", env=env).out)
        self.assertEqual("made\0up\n", self.run_sh("cat ../out/real", "{}", env=env).out)
        # What is denied as well stays so, and what is allowed again in a denied place is the masked one.
        policy = '{ filesystem = { denyRead = { "../out" } } }'
        self.assertEqual("", self.run_sh("cat ../out/real", policy, env=env).out)
        policy = '{ filesystem = { denyRead = { "../out" }, allowRead = { "../out/real" } } }'
        self.assertEqual("made\0up\n", self.run_sh("cat ../out/real", policy, env=env).out)

    @as_everyone
    def test_files_of_ours(self):
        env = self.tree('{ name = "ca.pem", content = "a\\0b" }, { name = "empty", content = "" }')
        got = self.run_sh("cd /dev/srt-lua; stat -c '%n %a %s' *; cat ca.pem; rm -f ca.pem 2>/dev/null; "
                          "echo >>ca.pem; echo > new; mkdir d; mv ca.pem x; rmdir /dev/srt-lua; mv /dev/srt-lua /dev/x;"
                          "touch /dev/other; cat ca.pem", "{}", env=env)
        self.assertEqual("ca.pem 444 3\nempty 444 0\na\0ba\0b", got.out, repr(got))
        self.assertFalse(os.path.exists("/dev/srt-lua"))

    @as_everyone
    def test_none_where_none_is_asked_for(self):
        self.assertEqual("no\n", self.run_sh("test -e /dev/srt-lua || echo no", "{}").out)

    @as_everyone
    def test_below_a_closed_root(self):
        env = self.tree('{ name = "ca.pem", content = "x" }')
        policy = '{ filesystem = { denyRead = { "/" }, allowRead = { "/usr", "/bin", "/lib", "/lib64", "%s" } } }' \
            % self.w
        self.assertEqual("x", self.run_sh("cat /dev/srt-lua/ca.pem", policy, env=env).out)

    @as_everyone
    def test_no_other_way_leads_there(self):
        self.write("w/f", SECRET)
        env = self.masked()
        got = self.run_sh("find / -xdev -name 'content[0-9]' 2>/dev/null; "
                          "find /proc/1/root/proc /proc/self/root/proc -maxdepth 1 -name 'content[0-9]' 2>/dev/null; "
                          "umount f 2>/dev/null && echo gone; umount -l /proc 2>/dev/null && echo gone; true", "{}",
                          env=env)
        self.assertEqual("", got.out, repr(got))

    @as_everyone
    def test_a_namespace_of_its_own_does_not_uncover_it(self):
        if self.user == "root":
            return
        self.write("w/f", SECRET)
        got = self.run_sh("unshare -Urm sh -c 'echo in; umount f; umount -l f; mount --bind . /mnt; cat /mnt/f; "
                          "mount --rbind . /mnt; cat /mnt/f; umount -l /proc; ls /proc; cat f' 2>/dev/null",
                          "{ allowNestedUserNamespaces = true }", env=self.masked())
        self.assertIn("in\n", got.out)
        self.assertNotIn(SECRET, got.out)
        self.assertNotIn("content0", got.out)

    @as_everyone
    def test_too_much_is_refused(self):
        env = self.tree('{ name = "a", content = ("x"):rep(9 << 20) }, { name = "b", content = ("x"):rep(8 << 20) }')
        got = self.run_srt(["true"], "{}", env=env)
        self.assertEqual(125, got.code, repr(got))
        self.assertIn("content is too large", got.err)
        self.assertNotIn("internal error", got.err)
        self.assertEqual("nothing was left behind\n", self.run_srt(["doctor", "--clean"]).out)
        env = self.tree('{ name = "a", content = ("x"):rep(9 << 20) }, { name = "b", content = ("y"):rep(7 << 20) }')
        got = self.run_sh("cat /dev/srt-lua/* | wc -c", "{}", env=env)
        self.assertEqual("16777216\n", got.out, repr(got))

    @as_everyone
    def test_a_file_that_the_host_replaces(self):
        self.write("w/f", SECRET)
        process = self.start(["sh", "-c", SHELL], '{ filesystem = { allowWrite = { "." } } }', stdin=subprocess.PIPE,
                             env=self.masked())
        inside = Inside(process)
        shows = "tr -d '\\0' <f | grep -qx madeup"
        self.assertTrue(inside.can(shows))
        for _ in range(3):
            self.sh("echo another secret >new; mv new f")
            self.assertTrue(until(lambda: inside.can(shows), 5))
            self.assertFalse(inside.can("echo >f"))
        self.sh("rm f; mkdir f; echo secret >f/k")
        self.assertTrue(until(lambda: not inside.can("cat f/k"), 5))
        process.stdin.close()
        err = process.stderr.read().decode()
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(0, process.wait(20), err)
        self.assertIn("its protection was put back", err)

    @as_everyone
    def test_explain_says_so(self):
        path = self.write("w/f", SECRET)
        policy = self.policy("{}")
        got = self.run_srt(["explain", policy, "read", path], env=self.masked())
        self.assertIn("masked: a command reads another content", got.out)
        got = self.run_srt(["explain", policy, "write", path], env=self.masked())
        self.assertIn("(EROFS)", got.out)
        self.assertTrue(stat.S_ISREG(os.stat(path).st_mode))


main()
