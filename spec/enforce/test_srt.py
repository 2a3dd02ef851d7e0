# SPDX-License-Identifier: Apache-2.0
"""The command line of srt: its options, its settings file and their rules, and how a command is run."""
import json
import os
import subprocess

from lib import BINARY, Case, Result, as_everyone, main

VALID = {"network": {"allowedDomains": [], "deniedDomains": []},
         "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}

# Every key of srt's documentation (0.0.83); what is there for another system has its values.
ALL = """{
  "network": { "allowedDomains": ["github.com", "*.github.com:443", "[::1]:8080"], "deniedDomains": ["malicious.com", "*:22"],
    "deniedDomainReasons": { "*:22": "use https" }, "deniedResolvedAddresses": ["10.0.0.0/8", "fc00::/7"],
    "strictAllowlist": true, "allowUnixSockets": [], "allowAllUnixSockets": false, "allowLocalBinding": false,
    "allowMachLookup": ["com.example"], "parentProxy": { "http": "http://p.test:3128", "https": "http://p.test:3128",
    "noProxy": "a.test" }, "mitmProxy": { "socketPath": "/tmp/m.sock", "domains": ["github.com"] },
    "tlsTerminate": { "excludeDomains": ["github.com:8443"], "extraCaCertPaths": [], "maxTunnels": 5, "handshakeTimeoutMs": 500 },
    "allowPlaintextHeaderSet": false, "stripResponseHeaders": ["set-cookie"], "refuseOpaqueTunnels": false,
    "requireHostMatch": true, "ambiguousRequestTarget": "asSpelled" },
  "filesystem": { "denyRead": ["~/.ssh", { "path": "/work/*.env", "literal": true }], "allowRead": ["."],
    "allowWrite": [".", "../w"], "denyWrite": [".env"], "disabled": false, "allowGitConfig": false },
  "ignoreViolations": { "*": ["/usr/bin", "/System"], "git push": ["/usr/bin/nc"] },
  "credentials": { "envVars": [{ "name": "TOK", "mode": "mask", "injectHosts": ["github.com"] }],
    "files": [{ "path": "~/.netrc", "mode": "deny" }], "allowPlaintextInject": false },
  "enableWeakerNestedSandbox": false, "allowNestedUserNamespaces": false, "enableWeakerNetworkIsolation": false,
  "allowAppleEvents": false, "allowPty": true, "mandatoryDenySearchDepth": 5, "git": { "safeDirectories": ["/src"] },
  "javaAgentJarPath": "/x.jar", "bwrapPath": "/usr/bin/bwrap", "socatPath": "/usr/bin/socat",
  "seccomp": { "applyPath": "/x", "argv0": "y" }, "ripgrep": { "command": "rg", "args": ["-a"] },
  "windows": { "backend": "srt-win", "proxyPortRange": [60080, 60089], "sublayerGuid": "x", "srtWin": { "path": "c" } } }"""


class Srt(Case):
    def srt(self, *words, settings=None, env=None):
        if not os.path.islink(self.path("srt")):
            os.symlink(BINARY, self.path("srt"))
        if settings is not None:
            self.write("home/.srt-settings.json", settings if isinstance(settings, str) else json.dumps(settings))
        done = self.on_host([self.path("srt"), *words], env, stdin=subprocess.DEVNULL, timeout=60)
        return Result(done.returncode, done.stdout, done.stderr)

    @as_everyone
    def test_settings_that_a_command_would_make(self):
        """What is ~/.srt-settings.json after a run decides what the next one may do."""
        other = self.write("other.json", json.dumps({**VALID, "filesystem": {**VALID["filesystem"], "allowWrite": ["~"]}}))
        for settings in (None, VALID):
            got = self.srt("-s", other, "-c", "echo x >~/new && echo home; echo x >~/.srt-settings.json && echo made; "
                           "rm -rf ~/.srt-settings.json && mkdir ~/.srt-settings.json/x; ls -d ~/.srt*/*", settings=settings)
            self.assertEqual("home\n", got.out, got)
            self.assertEqual(settings is not None, os.path.exists(self.path("home/.srt-settings.json")), got)
        # While another run holds its place there are no settings.
        os.remove(self.path("home/.srt-settings.json"))
        os.mkdir(self.path("home/.srt-settings.json"))
        os.chmod(self.path("home/.srt-settings.json"), 0o1555)
        self.own(self.home)
        got = self.srt("echo", "ran")
        self.assertEqual((0, "ran\n"), (got.code, got.out), got)
        # Settings are for many folders: no word about what this one does not have.
        some = {**VALID, "network": {**VALID["network"], "allowUnixSockets": ["/no/such.sock"]},
                "filesystem": {**VALID["filesystem"], "allowWrite": ["src/", "."]}}
        got = self.srt("-s", self.write("some.json", json.dumps(some)), "touch new")
        self.assertEqual((0, ""), (got.code, got.err), got)

    @as_everyone
    def test_commands(self):
        self.write("w/a program", '#!/bin/sh\necho "as it is: $*"\n', 0o755)
        for words, code, out in ((("echo one; echo $((1+1))",), 0, "one\n2\n"), (("echo", "a  b", "$HOME;"), 0, "a  b $HOME;\n"),
                                 (("-c", "printf %s $0; exit 7"), 7, "bash"), (("./a program",), 0, "as it is: \n"),
                                 (("--", "echo", "-n", "x"), 0, "x"), (("-c", "kill -TERM $$"), 143, ""),
                                 (("nosuchprogram",), 127, ""), (("nosuchprogram", "x"), 127, ""),
                                 (("/etc/passwd",), 126, ""), (("-c", ""), 0, ""),
                                 # Nothing is allowed without settings, and who asks is told.
                                 (("-c", "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://a.test/ HTTP/1.0\\r\\n\\r\\n' >&3; "
                                   "grep -a '^Connection b' <&3"), 0, "Connection blocked by network allowlist\n")):
            got = self.srt(*words)
            self.assertEqual(code, got.code, (words, got))
            self.assertEqual(out, got.out.rsplit("/", 1)[-1] if out == "bash" else got.out, words)
            self.assertNotIn("srt-lua: warning", got.err)
        for words, why in (((), "no command given"), (("--",), "no command given"), (("--bogus", "true"), "unknown option"),
                           (("-s",), "needs a value"), (("--control-fd", "2", "true"), "from 3 up"),
                           (("--control-fd", "77", "true"), "not open")):
            got = self.srt(*words)
            self.assertEqual((1, ""), (got.code, got.out), (words, got))
            self.assertIn(why, got.err)
        self.assertIn("usage: srt ", self.srt("--help").out)
        self.assertRegex(self.srt("-V").out, "^srt-lua [0-9.]+\n$")

    @as_everyone
    def test_debug(self):
        for words, env, told in (((), {}, False), ((), {"SRT_DEBUG": ""}, False), ((), {"SRT_DEBUG": "1"}, True),
                                 (("-d",), {}, True), (("--debug",), {}, True)):
            got = self.srt(*words, "echo", "out", env=env)
            self.assertEqual((0, "out\n", told), (got.code, got.out, "debug: " in got.err), (words, env))

    @as_everyone
    def test_without_settings(self):
        """All may be read, nothing written, nothing reached; but what srt lets be written unasked."""
        self.sh("mkdir -p ../home/.npm/_logs")
        got = self.srt("cat /etc/passwd >/dev/null && ! touch here ../home/x && touch ../home/.npm/_logs/x && echo $TMPDIR")
        self.assertEqual(0, got.code, got)
        self.assertTrue(os.path.exists(self.path("home/.npm/_logs/x")))
        # As in srt these are not open where they are hidden.
        hidden = dict(VALID, filesystem={"denyRead": ["~"], "allowWrite": [], "denyWrite": []})
        self.assertNotEqual(0, self.srt("touch ../home/.npm/_logs/y", settings=hidden).code)
        self.assertFalse(os.path.exists(self.path("home/.npm/_logs/y")))

    @as_everyone
    def test_settings_that_are_none(self):
        """An error, not the defaults: these are other rules, not weaker ones."""
        for text, why in (("", "is empty"), (" \n\t", "is empty"), ("{bad", "not valid JSON: line 1"), ("[]", "no JSON object"),
                          ("{}", "network, filesystem"), ('{"network": {}, "filesystem": {}}', "filesystem.denyWrite"),
                          (json.dumps(dict(VALID, allowPty="x")), "allowPty: expected true or false"),
                          (json.dumps(dict(VALID, network={"allowedDomains": ["*.com"], "deniedDomains": []})), "*.com")):
            got = self.srt("touch", "ran", settings=text)
            self.assertEqual((1, ""), (got.code, got.out), (text, got))
            self.assertIn(why, got.err)
        os.remove(self.path("home/.srt-settings.json"))
        for words in (("-s", "gone.json"), ("--settings=gone.json",)):
            got = self.srt(*words, "touch", "ran")
            self.assertEqual(1, got.code, got)
            self.assertIn("gone.json does not exist", got.err)
        os.mkdir(self.path("home/.srt-settings.json"))
        self.assertIn("can't be read", self.srt("touch", "ran").err)
        os.rmdir(self.path("home/.srt-settings.json"))
        os.symlink("nowhere", self.path("home/.srt-settings.json"))
        self.assertIn("does not exist", self.srt("touch", "ran").err)
        self.assertFalse(os.path.exists(self.path("w/ran")))

    @as_everyone
    def test_settings(self):
        got = self.srt("touch here && ! touch ../x", settings=VALID)
        self.assertEqual(0, got.code, got)
        self.assertTrue(os.path.exists(self.path("w/here")))
        # A key that nobody knows drops nothing else, and is told.
        self.write("w/other.conf", json.dumps(dict(VALID, filesystem=dict(VALID["filesystem"], denyReed=["/etc"]), zzz=1)))
        got = self.srt("--settings", "other.conf", "touch there")
        self.assertEqual(0, got.code, got)
        self.assertRegex(got.err, "filesystem.denyReed: unknown key, which is ignored; did you mean filesystem.denyRead")
        self.assertIn("zzz: unknown key", got.err)
        # The settings themselves are not the command's to change.
        self.assertNotEqual(0, self.srt("-s", "other.conf", "echo x >other.conf").code)
        # A policy in Lua, and one that is converted to it, serve as well.
        converted = self.run_srt(["convert", self.path("home/.srt-settings.json"), "-o", self.path("p.lua")])
        self.assertEqual((0, ""), (converted.code, converted.out), converted)
        self.assertEqual(0, self.srt("-s", self.path("p.lua"), "touch lua && ! touch ../x").code)

    @as_everyone
    def test_every_key(self):
        path = self.write("all.json", ALL)
        got = self.srt("-s", path, "echo ran")
        self.assertEqual((0, "ran\n"), (got.code, got.out), got)
        self.assertNotIn("unknown", got.err)
        text = self.run_srt(["convert", path])
        self.assertEqual(0, text.code, text)
        self.assertIn('denyRead = { "~/.ssh", { path = "/work/*.env", literal = true } }', text.out)
        self.assertIn("-- No effect here: only the windows backend reads it.", text.out)
        self.write("all.lua", text.out)
        answers = []
        for name in ("all.json", "all.lua"):
            shown = self.run_srt(["check", "--json", self.path(name)])
            shown = json.loads(shown.out)["policies"][0] if "policies" in json.loads(shown.out) else json.loads(shown.out)
            answers.append(plain(shown))
        self.assertEqual(*answers)

    @as_everyone
    def test_convert_refuses(self):
        self.write("bad.json", '{ "network": { "allowedDomain": [] }, "filesystem": { "denyRead": "x" } }')
        got = self.run_srt(["convert", self.path("bad.json")])
        self.assertEqual((1, ""), (got.code, got.out), got)
        self.assertIn("filesystem.denyRead: expected a list", got.err)
        good = self.write("good.json", json.dumps(VALID))
        there = self.write("w/there.lua", "mine")
        for words, code, why in ((("-o", there), 1, "is there already"), (("-o", "/no/such/x.lua"), 1, "can't be written"),
                                 (("more",), 125, "one file"), (("--bad",), 125, "unknown option")):
            got = self.run_srt(["convert", good, *words])
            self.assertEqual((code, ""), (got.code, got.out), got)
            self.assertIn(why, got.err)
        self.assertEqual("mine", self.read("w/there.lua"))
        self.assertEqual(0, self.run_srt(["convert", good, "-o", there, "--force"]).code)
        self.assertIn("return {", self.read("w/there.lua"))


def plain(value):
    """What check tells, without the places in files."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()
                if key not in ("file", "line", "where", "notes", "warnings", "findings", "origin", "presets")}
    if isinstance(value, list):
        return [plain(one) for one in value if not (isinstance(one, dict) and "policy file" in str(one))]
    return value


if __name__ == "__main__":
    main()
