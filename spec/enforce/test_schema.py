# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of settings and srt-lua check say the same of them."""
import json

import lib
from lib import main

GOOD = [
    {},
    {"$schema": "https://x.test/s.json"},
    {"network": {"allowedDomains": ["a.test", "*.b.test:443", "[::1]:443", "127.0.0.1", "db:5432"],
                 "deniedDomains": ["*", "*:22", "x.test"], "deniedDomainReasons": {"*:22": "no"},
                 "deniedResolvedAddresses": ["10.0.0.0/8", "::1"], "allowAllDomains": False, "strictAllowlist": True,
                 "publishPorts": [3000, "8080:3000"], "stripResponseHeaders": ["X-A"], "tlsTerminate": {},
                 "parentProxy": {"http": "", "noProxy": "a"}, "httpProxyPort": 3128, "allowUnixSockets": ["/a"],
                 "ambiguousRequestTarget": "asSpelled"}},
    {"filesystem": {"denyRead": ["~/.ssh", {"path": "/a*b", "literal": True}], "allowWrite": ["."], "denyWrite": [],
                    "protect": [".x"], "newRepositories": "report", "createGuard": "scan"}},
    {"env": {"set": {"A": "1"}, "unset": ["B"], "pass": ["C_1"]}, "mandatoryDenySearchDepth": 5, "observe": "all"},
    {"credentials": {"envVars": [{"name": "T", "mode": "mask", "injectHosts": ["a.test"]}],
                     "files": [{"path": "~/x", "mode": "deny"}]}},
    {"secrets": {"gh": {"env": "T", "hosts": ["a.test:443"]}}, "network": {"allowPlaintextHeaderSet": True}},
    {"limits": {"connections": 5, "loadBytes": 67108864}, "strict": False, "backend": "auto"},
    {"extends": ["workspace", {"network": {"allowedDomains": ["a.test"]}}]},
    {"ripgrep": {"command": "rg"}, "seccomp": 1, "allowPty": True, "windows": {"proxyPortRange": [1, 2]}},
    {"git": {"safeDirectories": ["*"]}, "ignoreViolations": {"*": ["x"]}, "bwrapPath": "/usr/bin/bwrap"},
]

BAD = [
    [], "x", 1,
    {"netwrok": {}}, {"network": {"allowedDomian": []}}, {"network": []}, {"network": {"allowedDomains": "a.test"}},
    {"network": {"allowedDomains": [1]}}, {"network": {"allowedDomains": ["https://a.test"]}},
    {"network": {"allowedDomains": ["*"]}}, {"network": {"allowedDomains": ["a.test/x"]}},
    {"network": {"allowedDomains": ["u@a.test"]}}, {"network": {"allowedDomains": ["a.*.test"]}},
    {"network": {"allowedDomains": ["a.test, b.test"]}}, {"network": {"allowedDomains": [""]}},
    {"network": {"deniedDomains": ["*:port"]}}, {"network": {"deniedResolvedAddresses": ["somewhere"]}},
    {"network": {"allowAllDomains": True}}, {"network": {"httpProxyPort": 0}}, {"network": {"httpProxyPort": "1"}},
    {"network": {"publishPorts": [70000]}}, {"network": {"stripResponseHeaders": ["a b"]}},
    {"network": {"decideConnect": "f"}}, {"network": {"ambiguousRequestTarget": "maybe"}},
    {"network": {"deniedDomainReasons": {"a.test": 1}}},
    {"filesystem": {"denyRead": [""]}}, {"filesystem": {"denyRead": [{"path": "/a"}]}},
    {"filesystem": {"denyRead": [{"path": "/a", "literal": False}]}},
    {"filesystem": {"denyRead": [{"path": "/a", "literal": True, "x": 1}]}}, {"filesystem": {"allowGitConfig": "yes"}},
    {"env": {"set": {"A-B": "1"}}}, {"env": {"set": {"A": 1}}}, {"env": {"unset": ["1A"]}},
    {"mandatoryDenySearchDepth": 0}, {"mandatoryDenySearchDepth": 1.5}, {"observe": "some"},
    {"limits": {"loadBytes": 1}}, {"limits": {"connections": 0}}, {"strict": "no"}, {"extends": "workspace"},
    {"extends": [1]}, {"extends": [{"netwrok": {}}]}, {"secrets": {"a b": {"env": "T", "hosts": ["a.test"]}}},
    {"secrets": {"a": {"env": "T", "host": []}}}, {"ignoreViolations": {"*": "x"}}, {"allowPty": None},
]


class Schema(lib.Case):
    def test_both_ways(self):
        try:
            import jsonschema  # pylint: disable=import-outside-toplevel
        except ImportError:
            lib.skip("there is no jsonschema (python3-jsonschema)")
        got = self.run_srt(["convert", "--schema"])
        self.assertEqual((0, ""), (got.code, got.err), got)
        schema = json.loads(got.out)
        jsonschema.Draft7Validator.check_schema(schema)
        validator = jsonschema.Draft7Validator(schema)
        names = []
        for i, settings in enumerate(GOOD + BAD):
            names.append("s%d.json" % i)
            self.write("w/" + names[-1], json.dumps(settings))
        results = json.loads(self.run_srt(["check", "--json", *names]).out)["policies"]
        self.assertEqual(len(names), len(results))
        for settings, result, good in zip(GOOD + BAD, results, [True] * len(GOOD) + [False] * len(BAD)):
            self.assertEqual(good, result["ok"], (settings, result["errors"], result["unenforced"]))
            self.assertEqual(good, validator.is_valid(settings), (settings, [e.message for e in validator.iter_errors(settings)]))


if __name__ == "__main__":
    main()
