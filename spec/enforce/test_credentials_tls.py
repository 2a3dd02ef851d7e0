# SPDX-License-Identifier: Apache-2.0
"""Secrets and credentials over TLS that is terminated: to a verified server only, and never back."""
import base64
import os
import shutil
import tempfile

from lib import Case, as_everyone, main, need
from mirror import Mirrored
from server import ADDRESS
from tls_origin import Authority

VALUE = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
FOLDER = tempfile.mkdtemp(prefix="srt-cred-", dir="/tmp")


def setUpModule():
    global ROOT, OTHER, OURS, GOOD, BAD
    os.chmod(FOLDER, 0o755)
    ROOT, OTHER, OURS = (Authority(FOLDER, name) for name in ("root", "other", "ours"))
    os.chmod(OURS.key, 0o644)
    GOOD = ROOT.issue("good", "IP:" + ADDRESS, kind="ec")
    BAD = OTHER.issue("bad", "IP:" + ADDRESS, kind="ec")


def tearDownModule():
    shutil.rmtree(FOLDER)


class OverTls(Case):
    def policy_for(self, origin, keys, more="", tls=""):
        # Named without a port: there is no way there but the proxy.
        return """return { %s, network = { allowedDomains = { "%s" }, %s
          tlsTerminate = { caCertPath = "%s", caKeyPath = "%s", extraCaCertPaths = { "%s" }, %s } } }""" % (
            keys, ADDRESS, more, OURS.cert, OURS.key, ROOT.cert, tls)

    MASKED = 'credentials = { envVars = { { name = "TOKEN", mode = "mask" } } }'

    def curl(self, script, policy):
        need("curl")
        script = script.replace("curl", "curl -s --max-time 20 --cacert %s" % OURS.cert)
        got = self.run_sh(script, policy, env={"TOKEN": VALUE})
        self.assertNotIn(VALUE, got.out + got.err)
        return got

    @as_everyone
    def test_a_masked_variable(self):
        with Mirrored(GOOD) as origin:
            for path in ("/", "/chunks1", "/chunks13", "/head", "/base64"):
                got = self.curl('curl -i -H "X-Token: $TOKEN" -u "u:$TOKEN" -d "a=$TOKEN" "%s%s?q=$TOKEN"; echo "$TOKEN"'
                                % (origin.url, path), self.policy_for(origin, self.MASKED))
                self.assertEqual(1, len(origin.seen), got)
                _, target, headers, body = origin.seen.pop()
                self.assertEqual("%s?q=%s" % (path, VALUE), target)
                self.assertEqual(VALUE, headers["X-Token"])
                self.assertEqual("u:" + VALUE, base64.b64decode(headers["Authorization"][6:]).decode())
                self.assertEqual(b"a=" + VALUE.encode(), body)
                self.assertRegex(got.out, "(?s)200 OK.*ghp_srtM[A-Za-z0-9]{32}\n$")

    @as_everyone
    def test_a_secret(self):
        with Mirrored(GOOD) as origin:
            keys = 'secrets = { github = { env = "TOKEN", hosts = { "%s" } } }' % origin.at
            more = """filterRequest = function(req)
              if req.method ~= "GET" then return false, "this token is read-only" end
              return srt.allow { setHeaders = { Authorization = "Bearer " .. srt.secret.github } }
            end,"""
            policy = self.policy_for(origin, keys, more)
            got = self.curl("env; curl %s/chunks5; curl -X DELETE %s/x" % (origin.url, origin.url), policy)
            self.assertEqual(["Bearer " + VALUE], [seen[2]["Authorization"] for seen in origin.seen])
            self.assertIn("Bearer ghp_srtM", got.out)
            self.assertIn("this token is read-only", got.out)
            self.assertNotIn("\nTOKEN=", got.out)

    @as_everyone
    def test_not_to_a_server_that_is_not_verified(self):
        with Mirrored(BAD) as origin:
            got = self.curl('curl -H "X-Token: $TOKEN" %s/' % origin.url, self.policy_for(origin, self.MASKED))
            self.assertEqual([], origin.seen, got)

    @as_everyone
    def test_a_tunnel_that_stays_closed_carries_the_sentinel(self):
        with Mirrored(GOOD) as origin:
            policy = self.policy_for(origin, self.MASKED, tls='excludeDomains = { "%s" }' % ADDRESS)
            self.curl('curl -k -H "X-Token: $TOKEN" %s/' % origin.url, policy)
            self.assertRegex(origin.seen[0][2]["X-Token"], "^ghp_srtM")

    @as_everyone
    def test_not_over_plain_http_in_a_tunnel(self):
        with Mirrored() as origin:
            self.curl('curl -p -x "$http_proxy" -H "X-Token: $TOKEN" %s/; curl -H "X-Token: $TOKEN" %s/'
                      % (origin.url, origin.url), self.policy_for(origin, self.MASKED))
            for seen in origin.seen:
                self.assertRegex(seen[2]["X-Token"], "^ghp_srtM")
            self.assertEqual(2, len(origin.seen))

    @as_everyone
    def test_a_redirect_does_not_carry_it_away(self):
        with Mirrored(GOOD) as origin, Mirrored() as other:
            keys = 'credentials = { envVars = { { name = "TOKEN", mode = "mask", injectHosts = { "%s" } } } }' % origin.at
            self.curl('curl -L --location-trusted -H "X-Token: $TOKEN" "%s/to/%s?t=$TOKEN"' % (origin.url, other.at),
                      self.policy_for(origin, keys))
            self.assertEqual(VALUE, origin.seen[0][2]["X-Token"])
            self.assertRegex(other.seen[0][2]["X-Token"], "^ghp_srtM")
            self.assertNotIn(VALUE, repr(other.seen))


main()
