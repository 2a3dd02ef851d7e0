# SPDX-License-Identifier: Apache-2.0
"""Requests signed inside with a masked AWS key reach AWS's stand-in with a signature by the real one."""
import hashlib
import re

from lib import Case, as_everyone, main
from mirror import Mirrored

KEY, SECRET, TOKEN = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "FQoGZXIvYXdzE/token+value=="

# Written apart from ours, for the command inside and for the origin.
SIGNER = '''
import hashlib, hmac, urllib.parse
def canonical(method, target, headers, signed, payload, service):
    path, _, query = target.partition("?")
    path = urllib.parse.quote(urllib.parse.unquote(path), "/-_.~") if service == "s3" else urllib.parse.quote(path, "/-_.~")
    pairs = sorted((urllib.parse.quote(urllib.parse.unquote(a), "-_.~"), urllib.parse.quote(urllib.parse.unquote(b), "-_.~"))
                   for a, _, b in (part.partition("=") for part in query.split("&") if part))
    lines = "".join("%s:%s\\n" % (name, " ".join(headers[name].split())) for name in signed)
    return "\\n".join([method, path, "&".join(a + "=" + b for a, b in pairs), lines, ";".join(signed), payload])
def signature(secret, date, scope, text):
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    what = "AWS4-HMAC-SHA256\\n%s\\n%s\\n%s" % (date, scope, hashlib.sha256(text.encode()).hexdigest())
    return hmac.new(key, what.encode(), "sha256").hexdigest()
'''
exec(SIGNER)  # pylint: disable=exec-used

CLIENT = SIGNER + '''
import http.client, json, os, sys
given = json.loads(sys.argv[1])
key, secret, token = (os.environ.get(given.get(name, name)) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                                                         "AWS_SESSION_TOKEN"))
body = given.get("body", "").replace("SECRET", secret).encode()
date, scope = "20240102T030405Z", "20240102/eu-west-1/%s/aws4_request" % given["service"]
headers = {"host": given["at"], "x-amz-date": date, "x-space": "a  b"}
if token: headers["x-amz-security-token"] = token
payload = hashlib.sha256(body).hexdigest()
if "hash" in given:
    payload = given["hash"] or payload
    headers["x-amz-content-sha256"] = payload
signed = sorted(headers)
text = canonical(given["method"], given["target"], headers, signed, payload, given["service"])
made = signature(given.get("wrong", secret), date, scope, text)
headers["Authorization"] = "%s Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
    given.get("kind", "AWS4-HMAC-SHA256"), key, scope, ";".join(signed), made)
proxy = os.environ["http_proxy"].split("//")[1].split(":")
c = http.client.HTTPConnection(proxy[0], int(proxy[1]), timeout=20)
if given.get("chunked"):
    c.request(given["method"], "http://" + given["at"] + given["target"], iter([body[:3], body[3:]]), headers, encode_chunked=True)
else:
    c.request(given["method"], "http://" + given["at"] + given["target"], body or None, headers)
answer = c.getresponse()
print(answer.status, answer.read().decode())
print(key, secret, token)
'''


class Sigv4(Case):
    def ask(self, origin, service="dynamodb", method="GET", target="/", env=None, more="", **given):
        given = dict(given, service=service, method=method, target=target, at=origin.at)
        self.write("w/client.py", CLIENT)
        names = [name for name in (env or {"AWS_ACCESS_KEY_ID": 1, "AWS_SECRET_ACCESS_KEY": 1, "AWS_SESSION_TOKEN": 1})]
        policy = """return { credentials = { envVars = { %s }, allowPlaintextInject = true, %s },
          network = { allowedDomains = { "%s" } } }""" % (
            ", ".join('{ name = "%s", mode = "mask" }' % name for name in names), more, origin.at)
        env = env or {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": TOKEN}
        got = self.run_srt(["/usr/bin/python3", "client.py", __import__("json").dumps(given)], policy, env=env)
        for value in env.values():
            self.assertNotIn(value, got.out + got.err)
        return got

    def check(self, origin, secret=SECRET, key=KEY, service="dynamodb"):
        """The origin's own look at what came."""
        self.assertEqual(1, len(origin.seen))
        method, target, headers, body = origin.seen.pop()
        headers = {name.lower(): value for name, value in headers.items()}
        match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\S+), SignedHeaders=(\S+), Signature=(\S+)",
                             headers["authorization"])
        self.assertEqual(key, match.group(1))
        payload = headers.get("x-amz-content-sha256", hashlib.sha256(body).hexdigest())
        text = canonical(method, target, headers, match.group(3).split(";"), payload, service)  # noqa: F821
        self.assertEqual(signature(secret, headers["x-amz-date"], match.group(2), text), match.group(4))  # noqa: F821
        return headers, body

    @as_everyone
    def test_signed_anew(self):
        with Mirrored() as origin:
            for given in ({}, {"target": "/a%20b/c?z=1&y=%2F&x"}, {"method": "POST", "body": '{"a": 1}'},
                          {"method": "POST", "body": "x" * 100000}, {"method": "POST", "body": "abcdef", "chunked": True},
                          {"service": "s3", "hash": "UNSIGNED-PAYLOAD", "method": "PUT", "body": "data"},
                          {"service": "s3", "hash": "", "target": "/a%20b//c/../d"},
                          {"service": "s3", "hash": "", "method": "PUT", "body": "data", "target": "/k?uploads"}):
                got = self.ask(origin, **given)
                self.assertIn("200 ", got.out, (given, got))
                headers, _ = self.check(origin, service=given.get("service", "dynamodb"))
                self.assertEqual(TOKEN, headers["x-amz-security-token"])

    @as_everyone
    def test_a_body_is_left_as_it_is(self):
        with Mirrored() as origin:
            self.ask(origin, method="POST", body="my key is SECRET")
            _, body = self.check(origin)
            self.assertRegex(body, b"^my key is srtM[A-Za-z0-9]+$")

    @as_everyone
    def test_other_variables(self):
        with Mirrored() as origin:
            names = {"AWS_ACCESS_KEY_ID": "MY_KEY", "AWS_SECRET_ACCESS_KEY": "MY_SECRET"}
            self.ask(origin, env={"MY_KEY": KEY, "MY_SECRET": SECRET}, **names,
                     more='awsPairs = { { accessKeyIdVar = "MY_KEY", secretAccessKeyVar = "MY_SECRET" } }')
            self.check(origin)
        with Mirrored() as origin:
            got = self.ask(origin, more='awsPairs = { { accessKeyIdVar = "MY_KEY", secretAccessKeyVar = "MY_SECRET" } }')
            self.assertIn("MY_KEY is not masked in credentials.envVars", got.err)

    @as_everyone
    def test_what_can_not_be_signed_is_denied(self):
        with Mirrored() as origin:
            for given, wanted in (({"wrong": "another key than that"}, "not made with the masked secret key"),
                                  ({"kind": "AWS4-ECDSA-P256-SHA256"}, 'the kind "sigv4a"'),
                                  ({"target": "/?X-Amz-Signature=x"}, 'the kind "presigned"'),
                                  ({"service": "s3", "hash": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "method": "PUT"},
                                   'the kind "streaming"')):
                got = self.ask(origin, **given)
                self.assertIn("403 ", got.out, (given, got))
                self.assertIn(wanted, got.out, given)
                self.assertEqual([], origin.seen)
            got = self.ask(origin, target="/?X-Amz-Signature=x", more='sigv4 = { presigned = "passthrough" }')
            self.assertIn("200 ", got.out)


main()
