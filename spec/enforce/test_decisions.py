# SPDX-License-Identifier: Apache-2.0
"""The order of a connection's decision, and what callbacks are told, through the real binary."""
import threading

from lib import Case, as_everyone, main
from server import ADDRESS, Handler, Origin, Server

CURL = "curl -sS --max-time 20 --noproxy '' -o - -w ' %%{http_code}\\n' %s"


class Decisions(Case):
    def decide(self, network, *targets):
        """(body and status by target, standard error)"""
        got = self.run_sh("\n".join("echo '= %s'; %s" % (target, CURL % ("http://%s/" % target)) for target in targets),
                          "return { network = { %s } }" % network)
        parts = [part.partition("\n") for part in got.out.split("= ")[1:]]
        return {target: text.strip() for target, _, text in parts}, got.err

    @as_everyone
    def test_order(self):
        """Denied, then allowed, then strictAllowlist, then decideConnect."""
        with Origin() as origin:
            at = "%s:%d" % (ADDRESS, origin.port)
            lists = """allowedDomains = { "%s", "both.test" }, deniedDomains = { "both.test", "*:22" },
                deniedDomainReasons = { ["both.test"] = "not today", ["*:22"] = "SSH is blocked here" },
                decideConnect = function(conn) srt.log.info("asked for", conn.host, conn.port, conn.protocol)
                  return conn.host == "other.test", "only other.test" end, """ % at
            got, err = self.decide(lists, at, "both.test", "x.test:22", "other.test", "third.test")
            self.assertEqual(got[at], "hello from /\n 200", got)
            self.assertIn("both.test:80 is denied by network.deniedDomains", got["both.test"])
            self.assertIn("not today", got["both.test"])
            self.assertIn("SSH is blocked here", got["x.test:22"])
            self.assertIn("cannot resolve the host of other.test:80", got["other.test"])
            self.assertIn("only other.test", got["third.test"])
            self.assertEqual([line for line in err.splitlines() if "asked for" in line],
                             ["srt-lua: policy: asked for other.test 80 http",
                              "srt-lua: policy: asked for third.test 80 http"])
            got, err = self.decide(lists + "strictAllowlist = true", at, "both.test", "other.test")
            self.assertIn("200", got[at])
            self.assertIn("not today", got["both.test"])
            self.assertIn("network.strictAllowlist is set", got["other.test"])
            self.assertTrue(got["other.test"].endswith("403"))
            self.assertNotIn("asked for", err)

    @as_everyone
    def test_resolved_addresses(self):
        """Lists and callbacks decide about names; the address is judged apart from both."""
        server = Server(("127.0.0.1", 0), Handler)
        server.seen, server.big = [], b""
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        at = "localhost:%d" % port
        got, _ = self.decide('allowedDomains = { "localhost" }', at)
        self.assertTrue(got[at].endswith("200"), got)
        got, _ = self.decide('allowedDomains = { "localhost" }, deniedResolvedAddresses = { "127.0.0.0/8" }', at)
        self.assertTrue(got[at].endswith("403"), got)
        self.assertIn("deniedResolvedAddresses", got[at])
        got, _ = self.decide("decideConnect = function() return true end", at, "127.0.0.1:%d" % port, "127.1:%d" % port,
                             "[::ffff:127.0.0.1]:%d" % port)
        self.assertEqual({text[-3:] for text in got.values()}, {"403"}, got)
        self.assertEqual(len(server.seen), 1)

    @as_everyone
    def test_what_a_callback_is_told(self):
        got, _ = self.decide("""decideConnect = function(conn)
            local known = {}
            for k, v in pairs(conn) do known[#known + 1] = k .. "=" .. tostring(v):sub(1, 5) end
            table.sort(known)
            assert(conn.process.exe:find("^/") and conn.commandId == nil)
            assert(not pcall(function() conn.host = "x" end) and not pcall(function() return conn.hots end))
            return false, table.concat(known, " ") end""", "A.Test.:8080")
        self.assertIn(": command=sh -c host=a.tes port=8080 protocol=http", got["A.Test.:8080"])


if __name__ == "__main__":
    main()
