# SPDX-License-Identifier: Apache-2.0
"""run --prompt: hosts that no rule names are asked about on the terminal, and "always" becomes a line of the policy."""
import os
import stat
import time

from lib import BINARY, ORDINARY, as_everyone, main, need_root
from running import Running

PROMPT = r"Allow\? \[No, once, session, always\] "
POLICY = """-- mine
return {
  network = {
    deniedDomains = { "bad.test" },
    allowedDomains = {
      "listed.test:1", -- kept
    },%s
  },
  filesystem = { allowWrite = { "." } },
}
"""


class Prompt(Running):
    def on_terminal(self, policy, ports, host="a.test"):
        script = "; ".join("curl -sS http://%s:%d/" % (host, port) for port in ports)
        return self.typed("%s run --prompt %s -- sh -c '%s'; echo STATUS=$?" % (BINARY, self.policy(policy), script))

    def answer(self, shown, keys):
        shown.expect(PROMPT)
        # What is typed before the question stands there is dropped.
        time.sleep(0.3)
        shown.send(keys)

    @as_everyone
    def test_answers(self):
        shown = self.on_terminal(POLICY % "", (1, 1, 2, 2, 3, 3, 4))
        reached = "cannot resolve the host of a.test:%d"
        for port, keys, reach, again in ((1, "o\r", True, "SESSION\r"), (2, "s\r", True, None), (3, "n\r", False, None),
                                         (4, "always\r", True, None)):
            shown.expect(r"curl wants to reach a\.test:%d, which no rule of the policy names" % port)
            self.answer(shown, keys)
            self.said(shown, port, reach, reached)
            if again:
                shown.expect(r"curl wants to reach a\.test:%d," % port)
                self.answer(shown, again)
                self.said(shown, port, reach, reached)
            elif port != 4:
                # It is known now: nobody is asked.
                begun = len(shown.seen)
                self.said(shown, port, reach, reached)
                self.assertNotIn(b"wants to reach a.test:%d" % port, shown.seen[begun:])
        shown.expect(r'policy\.lua:7: "a\.test:4" is allowed from now on')
        shown.expect("STATUS=")
        text = self.read("policy.lua")
        self.assertRegex(text, r'      "listed.test:1", -- kept\n      "a.test:4", -- allowed on [\d-]+ \(--prompt\)\n    },')
        lines = [line for line in text.splitlines() if "a.test:4" not in line]
        self.assertEqual(POLICY % "", "\n".join(lines) + "\n")
        self.assertEqual(["policy.lua"], [name for name in os.listdir(self.dir) if "policy" in name])
        # By that line it is allowed, without a question.
        got = self.run_srt(["run", self.path("policy.lua"), "--", "curl", "-sS", "http://a.test:4/"])
        self.assertIn(reached % 4, got.out + got.err)

    def said(self, shown, port, reach, reached):
        shown.expect(reached % port if reach else r"a\.test:%d is not in network.allowedDomains, and the user said no" % port)

    @as_everyone
    def test_rules_come_first(self):
        """Denied hosts are not asked about, nor those that decideConnect decides; that which it passes is."""
        callback = """
    decideConnect = function(conn)
      if conn.port == 1 then return false, "not one" end
      if conn.port == 2 then return true end
      return srt.pass
    end,"""
        shown = self.on_terminal(POLICY % callback, (1, 2, 3))
        shown.expect("not one")
        shown.expect("cannot resolve the host of a.test:2")
        shown.expect(r"reach a\.test:3,")
        self.answer(shown, "\r")
        shown.expect("the user said no")
        shown.expect("STATUS=")
        self.assertEqual(1, shown.seen.count(b"wants to reach"))
        shown = self.on_terminal(POLICY % "", (1,), host="bad.test")
        shown.expect("STATUS=")
        self.assertNotIn(b"wants to reach", shown.seen)
        shown = self.on_terminal("return { network = { strictAllowlist = true, allowedDomains = { 'b.test' } } }", (1,))
        shown.expect("strictAllowlist is set, so --prompt asks nothing")
        shown.expect("STATUS=")
        self.assertNotIn(b"wants to reach", shown.seen)

    @as_everyone
    def test_a_policy_that_cannot_be_changed(self):
        # Behind another entry the call would give one value only.
        text = "return { network = { allowedDomains = { table.unpack { 'b.test', 'c.test' } } } }\n"
        shown = self.on_terminal(text, (1, 1))
        self.answer(shown, "a\r")
        shown.expect("cannot resolve the host of a.test:1")
        # For this run it holds.
        shown.expect("cannot resolve the host of a.test:1")
        shown.expect(r"can't be changed \(its lists would not come to just that more\); to allow it for good, add \"a\.test:1\"")
        shown.expect("STATUS=")
        self.assertEqual(text, self.read("policy.lua"))
        self.assertEqual(["policy.lua"], [name for name in os.listdir(self.dir) if "policy" in name])

    def test_a_policy_of_others(self):
        """One of a group that the user is not in, or another's that he may write, is changed as it stands; no other is."""
        need_root("to give files away")
        self.user = "user"
        self.own(self.dir)
        text = POLICY % ""
        for owner, group, mode, changes in ((ORDINARY, 0, 0o640, True), (0, ORDINARY, 0o664, True), (0, 0, 0o644, False)):
            path = self.policy(text)
            os.chown(path, owner, group)
            os.chmod(path, mode)
            with open(path, "rb") as before:
                shown = self.typed("%s run --prompt %s -- curl -sS http://a.test:1/; echo STATUS=$?" % (BINARY, path))
                self.answer(shown, "a\r")
                shown.expect(r'policy\.lua:7: "a\.test:1" is allowed from now on' if changes else
                             r"can't be changed \(it belongs to others, who let nobody else write it\); to allow it for good, add")
                shown.expect("STATUS=")
                st = os.stat(path)
                self.assertEqual((owner, group, mode, os.fstat(before.fileno()).st_ino),
                                 (st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode), st.st_ino))
            self.assertEqual(text, "".join(line for line in self.read("policy.lua").splitlines(True) if "a.test:1" not in line))
            self.assertEqual(changes, "a.test:1" in self.read("policy.lua"))
            self.assertEqual(["policy.lua"], [name for name in os.listdir(self.dir) if "policy" in name])
            os.remove(path)

    @as_everyone
    def test_without_a_terminal(self):
        policy = self.policy("return {}")
        got = self.run_srt(["run", "--prompt", policy, "--", "sh", "-c", "curl -sS http://a.test:1/; curl -sS http://a.test:2/"],
                           start_new_session=True)
        self.assertIn("a.test:1 is not in network.allowedDomains, and there is no terminal to ask the user on", got.out)
        self.assertEqual(1, got.err.count("--prompt: there is no terminal to ask on, so hosts that no rule names are denied"))
        self.assertEqual("return {}\n", self.read("policy.lua"))


if __name__ == "__main__":
    main()
