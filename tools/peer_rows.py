# SPDX-License-Identifier: Apache-2.0
"""Rows of tools/compare-peer that are one command each: what is inherited, what is seen inside, how it ends."""
import json
import re

# The variables that clients use, by who has which: values without what each run chooses anew.
NETWORKS = {"none": {}, "domains": {"allowedDomains": ["example.com"]},
            "terminated": {"allowedDomains": ["example.com"], "tlsTerminate": {}},
            "unix sockets": {"allowAllUnixSockets": True}}
HOST = {"BASH_ENV": "/nonexistent", "AWS_SECRET_ACCESS_KEY": "k", "SSH_AUTH_SOCK": "/tmp/agent",
    "HTTP_PROXY": "http://h.test:1",
        "NO_PROXY": "h.test", "GIT_CONFIG_PARAMETERS": "'user.x=y'", "JAVA_TOOL_OPTIONS": "-Dh=1", "LD_PRELOAD": "",
        "CUDA_VISIBLE_DEVICES": "0", "TMPDIR": "$D/tmp", "NODE_OPTIONS": "--no-warnings", "GIT_CONFIG_COUNT": "0"}


def variables(text):
    out = []
    for line in sorted(text.split("\0")):
        line = re.sub(r"//[^@/]*@", "//", line)
        line = re.sub(r"^(CLAUDE_CODE_HOST_\w+|CLOUDSDK_PROXY_(?:USERNAME|PASSWORD))=.*", r"\1=…", line)
        line = re.sub(r"proxyauth=\S+'", "proxyauth=…'", line)
        if line and not re.match("(_|SHLVL|PWD|OLDPWD)=", line):
            out.append(line)
    return "\n".join(out)


def lines_of(text):
    return "\n".join(sorted(text.split("\n")))


def env_rows():
    for name, network in NETWORKS.items():
        yield {"name": "env, " + name, "command": "env -0", "settings": {"network": network}, "read": variables}
    yield {"name": "env, no file rules", "command": "env -0", "settings": {"filesystem": {"disabled": True}}, "read": variables}
    yield {"name": "env, the host's", "command": "env -0", "env": HOST, "read": variables}
    yield {"name": "env, git", "command": "env -0 | grep -z GIT_CONFIG", "read": variables,
           "settings": {"git": {"safeDirectories": ["$W", "$D/out"]}}}
    yield {"name": "env, credentials", "command": "env -0 | grep -z TOK_", "read": lambda t: re.sub("=.{9,}", "=MASK",
        variables(t)),
           "env": {"TOK_A": "aaaa", "TOK_B": "bbbb", "TOK_C": "cccc"},
           "settings": {"network": {"allowedDomains": ["a.test"], "tlsTerminate": {}}, "credentials": {"envVars": [
               {"name": "TOK_A", "mode": "deny"}, {"name": "TOK_B", "mode": "mask", "injectHosts": ["a.test"]}]}}}


# name: a command, or (command, more of the row)
COMMANDS = {
    "status 255": "exit 255", "status 0": "true", "segfault": "kill -SEGV $$", "abort": "kill -ABRT $$",
    "pipe": "kill -PIPE $$",
    "hup": "kill -HUP $$", "usr1": "kill -USR1 $$", "not found": "nosuchprogram", "not executable": "/etc/passwd",
    "pipefail": "set -o pipefail; yes | head -1; echo $?", "stdin": ("cat; echo end", {"stdin": "given\n"}),
    "zero": "basename $0; echo $#", "shell": "echo $- ${BASH_VERSION%%.*}", "umask": "umask", "cwd": "pwd | sed s,.*/,,",
    "nice": "nice", "nofile": "ulimit -n", "stack": "ulimit -s", "nproc": "ulimit -u", "core": "ulimit -c",
    "memlock": "ulimit -l",
    "descriptors": "ls /proc/self/fd | wc -l", "tty": "tty; test -t 0; echo $?; echo x >/dev/tty",
    "large output": "head -c 3000000 /dev/zero | md5sum; head -c 3000000 /dev/zero | wc -c",
    "stderr goes through": "echo to err >&2; echo out", "stderr on stdout": "{ echo e >&2; } 2>&1",
    "user": "id -u; id -g; id -G; whoami", "capabilities": "grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status",
    "files of others": "stat -c %U:%G /etc/passwd / /root", "new files": ("touch f; stat -c %u:%g:%a f",
    {"after": "stat -c %u:%g:%a f"}),
    "dev": ("ls /dev", {"read": lines_of}),
    "dev nodes": "for d in null zero full random urandom tty; do stat -c '%n %F %a' /dev/$d; done",
    "dev write": "echo >/dev/null && head -c 1 /dev/urandom | wc -c; touch /dev/x; echo $?; touch /dev/shm/x; echo $?",
    "stdio names": "echo a >/dev/stdout; echo b | cat /dev/stdin; ls -ld /dev/fd >/dev/null; echo $?; cat <(echo sub)",
    "hostname": "test $(hostname) = $(cat /proc/sys/kernel/hostname); echo $?", "processes": "ps -e | wc -l | sed 's/./n/g'",
    "pid 1": "test -r /proc/1/environ && cat /proc/1/environ >/dev/null; echo $?",
    "sysctl": "for k in kernel/hostname vm/swappiness; do v=$(cat /proc/sys/$k); echo $v >/proc/sys/$k; echo $?; done",
    "proc and sys": "ls /proc/sys >/dev/null; echo $?; ls /sys/class/net; cat /proc/net/dev | tail -n +3 | cut -d: -f1; test "
                    "-w /sys/power; echo $?",
    "interfaces": "python3 -c 'import socket; print(socket.if_nameindex())'; ip -br link | cut -c1-20; ip route",
    "link add": "ip link add d type dummy; echo $?", "ping": "ping -c1 -W1 127.0.0.1 >/dev/null; echo $?",
    "local server": "python3 -c 'import http.server as h; "
                    "h.HTTPServer((\"127.0.0.1\",3333),h.SimpleHTTPRequestHandler).handle_request()' 2>/dev/null & "
                    "sleep 1; curl -sI http://127.0.0.1:3333/ | head -1",
    "local server by name": "python3 -c 'import http.server as h; "
                            "h.HTTPServer((\"127.0.0.1\",3334),h.SimpleHTTPRequestHandler).handle_request()' "
                            "2>/dev/null & sleep 1; curl -sI http://localhost:3334/ | head -1",
    "names": "getent hosts localhost | wc -l; getent hosts no.test; echo $?; getent hosts example.com; echo $?",
    "direct connection": "timeout 5 bash -c 'echo >/dev/tcp/1.1.1.1/80'; echo $?",
    "denied host": "curl -s -m 9 http://no.test/ -o /dev/null -w '%{http_code}'",
    "denied host, TLS": "curl -s -m 9 https://no.test/; echo $?",
    "unix sockets": "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'; echo $?; python3 -c 'import socket; "
                    "socket.socketpair()'; echo $?",
    "unix sockets allowed": ("python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.bind(\"s\")'; echo $?",
                             {"settings": {"network": {"allowAllUnixSockets": True}}}),
    "kinds of sockets": "python3 -c 'import socket as s\nfor f, t in ((2,1),(2,2),(10,1),(16,3),(17,3),(40,1),(38,5),(2,3)):\n"
                        "  try: s.socket(f,t); print(f,t,\"ok\")\n  except OSError as e: print(f,t,e.errno)'",
    "namespaces": "for f in -U -m -n -p -u -i -C; do unshare $f true 2>/dev/null; echo $f $?; done",
    "bwrap inside": "bwrap --ro-bind / / true 2>/dev/null; echo $?",
    "mount": "mount -t tmpfs x /mnt; mount --bind /tmp $W; umount /proc; chroot / true; echo $?",
    "ptrace": "strace -o /dev/null true; echo $?; gdb --version >/dev/null; echo $?",
    "clock and reboot": "date -s @0 2>/dev/null >/dev/null; echo $?; dmesg >/dev/null 2>&1; echo $?",
    "shadow": "cat /etc/shadow >/dev/null; echo $?",
    "setuid": "find /usr/bin/su -perm -4000 | wc -l; su -c id </dev/null 2>/dev/null; echo $?",
    "nosuid": "grep -c nosuid /proc/self/mountinfo | sed 's/[0-9].*/n/'",
    "threads and shm": "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs,[-1,2]))'",
    "node": "node -e 'console.log(Object.keys(os.networkInterfaces()), os.userInfo().uid)'",
    "left behind": ("(sleep 4; echo late >late) & echo started", {"after": "sleep 4.5; ls"}),
    "left behind with setsid": ("setsid nohup sh -c 'sleep 4; echo late >late' >/dev/null 2>&1 & echo started",
    {"after": "sleep 4.5; ls"}),
    "zombies": "for i in $(seq 50); do (sleep 0.1 &); done; sleep 1; ps -eo stat | grep -c Z",
    "git": ("git init -q . && touch f && git add f && git -c user.name=a -c user.email=a@b commit -qm m; echo $?; git status "
            "-s", {"after": "git log --oneline | wc -l"}),
    "git in a repository": ("touch f; git add f; git -c user.name=a -c user.email=a@b commit -qm m; echo $?; git config x.y "
                            "1; echo $?; git checkout -qb n; echo $?; "
                            "git stash list; git gc -q; echo $?; git branch -d n; git clone -q . c; echo $?",
                            {"setup": "git init -q ."}),
    "git worktree": ("echo 1 >f; git add f; git -c user.name=a -c user.email=a@b commit -qm x; echo $?", {
        "setup": "git init -q ../m; git -C ../m -c user.name=a -c user.email=a@b commit -q --allow-empty -m i; rmdir ../w; "
                 "git -C ../m worktree add -q ../w"}),
    "temporary files": "mktemp >/dev/null; echo $?; cat <<<here; python3 -c 'import tempfile; tempfile.TemporaryFile()'; echo "
                       "$?; touch /tmp/x; echo $?",
    "home": "echo x >~/x; echo $?; touch ~/.cache; echo $?; echo ~ | sed s,.*/,,",
    "rename between": ("mkdir a b; echo 1 >a/t; mv a/t b/t; : >b/t; echo $?; ln b/t b/u; echo $?", {}),
    "one file allowed": ("echo 2 >cfg; echo $?; echo 3 >n; mv n cfg; echo $?; echo 4 >../out/n; sed -i s/2/5/ cfg; echo $?; "
                         "cat cfg", {
        "setup": "echo 1 >cfg", "settings": {"filesystem": {"allowWrite": ["$W/cfg"]}}}),
    "times": "python3 -c 'import time; t=time.time(); time.sleep(0.1); print(time.time()>t)'; cat /proc/uptime >/dev/null; "
             "echo $?",
    # io_uring, bpf, userfaultfd, perf_event_open
    "io_uring, bpf, keys": "probe call 425 call 426 call 427 call 321 call 323 call 298 keyctl",
    "chmod and chown": "touch f; chmod 4755 f; echo $?; chown 12:12 f; echo $?; setfattr -n user.a -v 1 f; echo $?; chattr +i "
                       "f; echo $?",
    "mknod": "mknod n p; echo $?; mknod c c 1 3; echo $?",
    "terminal": ("test -t 0; echo $?; test -t 1; echo $?; stty size; echo >/dev/tty; echo $?", {"terminal": True}),
    "terminal, keys pushed": ("python3 -c 'import fcntl,termios\nfcntl.ioctl(0, termios.TIOCSTI, b\"x\")' 2>&1 | tail -1",
                              {"terminal": True}),
    "folder of another user": ("touch f; echo $?", {"setup": "chown 65123 . || true"}),
    "java": "printf 'class G { public static void main(String[] a) throws Exception { System.out.println(((java.net."
            "HttpURLConnection) new java.net.URL(\"http://no.test/\").openConnection()).getResponseCode()); } }' >G.java; "
            "java G.java",
    "zsh": "zsh -c 'cat <<<x'; echo $?",
    "node fetch": "node -e \"fetch('http://no.test/').then(r => console.log(r.status)).catch(e => console.log(e.cause.code))\"",
}

# The words as they are, without -c.
WORDS = {
    "words": ["printf", "%s\\n", "a b", "$HOME", "*", ""], "word with quotes": ["echo", "it's", '"x"', "a;b"],
    "one word": ["true"], "program": ["/bin/echo", "x"], "no program": ["nosuchprogram", "x"], "dashes": ["--", "echo", "-n",
    "x"],
    "double dash in the words": ["echo", "--", "x"], "options of the command": ["ls", "-d", "/"], "status": ["sh", "-c",
    "exit 7"],
    "variable before": ["X=1", "env"], "builtin": ["type", "cd"], "pipe in a word": ["echo a | cat"], "empty": [""],
}


def command_rows():
    for name, row in COMMANDS.items():
        command, more = row if isinstance(row, tuple) else (row, {})
        yield {"name": "command, " + name, "command": command, **more}
    for name, words in WORDS.items():
        yield {"name": "words, " + name, "words": words}
    yield {"name": "options, settings in the home directory", "options": ["-d"], "command": "cat ~/sec; echo $?; touch f; echo $?",
           "setup": "echo k >~/sec; echo '%s' >~/.srt-settings.json" % json.dumps({
               **VALID, "filesystem": {**VALID["filesystem"], "denyRead": ["~/sec"]}})}
    for name, options in (("--debug", ["--debug"]), ("no settings", [])):
        yield {"name": "options, " + name, "words": ["echo", "ran"], "options": options or ["-s", "$D/none"]}


VALID = {"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": {"denyRead": [], "allowWrite": [],
    "denyWrite": []}}
NETWORK = ({"allowedDomains": ["*"]}, {"allowedDomains": ["com"]}, {"allowedDomains": ["*.com"]}, {"allowedDomains": ["a..b"]},
           {"allowedDomains": ["http://a.test"]}, {"allowedDomains": ["a.test/x"]}, {"allowedDomains": ["a.test:0"]},
           {"allowedDomains": ["a.test:99999"]}, {"allowedDomains": ["[::1]:80"]}, {"allowedDomains": ["::1"]},
           {"allowedDomains": ["1.2.3.4/8"]},
           {"allowedDomains": ["*.a.test:443"]}, {"allowedDomains": [" a.test"]}, {"allowedDomains": ["A.Test"]},
           {"allowedDomains": ["a.test."]},
           {"allowedDomains": [""]}, {"allowedDomains": ["m\u00fcnchen.de"]}, {"allowedDomains": ["localhost"]},
           {"allowedDomains": ["db:5432"]},
           {"allowedDomains": ["a.*.test"]}, {"allowedDomains": "a.test"}, {"allowedDomains": None}, {"allowedDomains": [5]},
           {"deniedDomains": ["*"]}, {"deniedDomains": ["*:22"]}, {"deniedDomains": ["*.com"]}, {"deniedDomains": ["com"]},
           {"deniedResolvedAddresses": ["10.0.0.0/8", "::1"]}, {"deniedResolvedAddresses": ["10.0.0.0/99"]},
           {"deniedResolvedAddresses": ["x"]},
           {"httpProxyPort": 0}, {"httpProxyPort": 70000}, {"httpProxyPort": "1"}, {"socksProxyPort": 1.5},
           {"parentProxy": {}}, {"parentProxy": {"http": "p.test:1"}}, {"parentProxy": {"http": "socks5://p.test:1"}},
           {"parentProxy": {"http": "x"}},
           {"mitmProxy": {"socketPath": "/x", "domains": ["a.test"]}}, {"mitmProxy": {"socketPath": "/x", "domains": []}},
           {"mitmProxy": {"domains": ["a.test"]}}, {"tlsTerminate": {"caCertPath": "/x"}}, {"tlsTerminate": True},
           {"tlsTerminate": {"maxTunnels": 0}},
           {"tlsTerminate": {"handshakeTimeoutMs": -1}}, {"tlsTerminate": {"excludeDomains": ["*"]}},
           {"stripResponseHeaders": ["a b"]},
           {"stripResponseHeaders": ["content-length"]}, {"stripResponseHeaders": ["set-cookie"]},
           {"ambiguousRequestTarget": "maybe"},
           {"requireHostMatch": "yes"}, {"strictAllowlist": 1}, {"allowUnixSockets": "x"},
           {"deniedDomainReasons": {"x.test": 5}},
           {"deniedDomainReasons": {"x.test": "not listed"}}, {"bogus": 1})
TOP = ({"bogus": 1}, {"mandatoryDenySearchDepth": 0}, {"mandatoryDenySearchDepth": 11}, {"mandatoryDenySearchDepth": "3"},
    {"ignoreViolations": {"*": "x"}},
       {"git": {"safeDirectories": "x"}}, {"git": {"safeDirectories": ["rel"]}}, {"git": {}}, {"credentials": {}},
       {"allowPty": "yes"},
       {"credentials": {"envVars": [{"name": "A B", "mode": "deny"}]}}, {"credentials": {"envVars": [{"name": "A",
       "mode": "x"}]}},
       {"credentials": {"envVars": [{"name": "A", "mode": "mask"}]}}, {"credentials": {"files": [{"path": "~/x",
       "mode": "deny"}]}},
       {"ripgrep": {}}, {"ripgrep": {"command": "rg"}}, {"seccomp": {}}, {"bwrapPath": "/nonexistent"}, {"windows": {}},
       {"enableWeakerNestedSandbox": True}, {"allowNestedUserNamespaces": True}, {"network": {}}, {"filesystem": {}},
       {"network": None}, {"filesystem": []})
FILES = ({"denyRead": "x"}, {"denyRead": [5]}, {"denyRead": [{"path": "x"}]}, {"denyRead": [{"path": "x", "literal": True}]},
    {"denyRead": ["$HOME/x"]},
         {"denyRead": ["~nobody/x"]}, {"denyRead": ["/**/*.pem"]}, {"denyRead": ["a\u0000b"]}, {"allowWrite": ["*"]},
         {"allowWrite": ["/"]}, {"allowWrite": ["nothere"]},
         {"allowWrite": ["nothere/"]}, {"denyWrite": ["nothere/x/y"]}, {"allowRead": ["."]}, {"disabled": "yes"},
         {"allowGitConfig": 1}, {"allowRead": [""]},
         {"denyRead": ["[z"]}, {"denyRead": ["/etc/{passwd,group}"]}, {"denyRead": ["../x"]}, {"allowWrite": ["/proc"]},
         {"allowWrite": ["/dev"]})
TEXTS = ("", "  ", "{}", "[]", "null", "x", "{", '{"network":', '{"a":1}{"b":2}', "\ufeff{}", '{"network":{},"network":{}}',
    "// c\n{}", '{"a":1,}')


def settings_rows():
    """Does a command run with such settings at all?"""
    for label, keys in (("network", NETWORK), ("filesystem", FILES)):
        for part in keys:
            yield {"name": "settings, %s %s" % (label, ascii(part)), "command": "echo ran", "settings": {label: part}}
    for part in TOP:
        yield {"name": "settings, %s" % part, "command": "echo ran", "settings": json.dumps({**VALID, **part})}
    for text in TEXTS:
        yield {"name": "settings, text %s" % ascii(text), "command": "echo ran", "settings": text}


def field(command, setup="", after="", cwd="", **files):
    return {"command": command, "setup": setup, "after": after, "cwd": cwd, "settings": {"filesystem": files}}


# What users of such tools run into, of the case table of that name: those that are one command.
FIELD = {
    "R01": field("echo hi; echo y >>.bashrc; touch hooks/a; ln -sfn /tmp hooks; echo >/dev/null",
    "mkdir ../real.d; echo x >../real.f; "
                 "ln -s ../real.f .bashrc; ln -s ../real.d hooks; ln -s /dev/null nul",
                 "cat ../real.f; ls ../real.d; readlink hooks",
                 denyWrite=["hooks", "nul"]),
    "R02": field("echo ok; cat link/sub/.env; cat ../real/sub/.env; ls ro/doc 2>&1 | head -1",
    "mkdir -p ../real/sub; echo k >../real/sub/.env; "
                 "ln -s ../real link; ln -s /usr/share ro", denyRead=["link/sub/.env", "ro/doc"]),
    "R04": field("git -C wt status -sb | head -1; git -C a/sub rev-parse --show-toplevel; ls -A . a/.git",
                 "git init -q a; git -C a -c user.name=a -c user.email=a@b commit -q --allow-empty -m i; git -C a config "
                 "extensions.worktreeConfig true; git -C a worktree add -q ../wt; mkdir -p a/sub",
                 "ls -A . a/.git; git -C a config x.y 1; echo $?"),
    "R05": field("echo ok; mkdir -p .tool/commands; touch .tool/commands/a; echo $?", ": >f", "ls -A",
    denyWrite=[".tool/commands", "f/x"]),
    "R07": field("echo x >>~/.bashrc; echo $?", "echo o >~/.bashrc", allowWrite=["~"]),
    "R08": field("cat a/.env; cat a/b/.env; echo z >>a/x.key; echo $?; echo z >a/new.key; echo $?",
                 "mkdir -p a/b; echo k >a/.env; echo k >a/b/.env; echo k >a/x.key", allowWrite=["a"], denyRead=["**/.env"],
                 denyWrite=["**/*.key"]),
    "R10": field("echo a >~/.ssh/f; echo $?; ls ~/.ssh; echo $?", "mkdir ~/.ssh; echo k >~/.ssh/k", "ls ../home/.ssh",
    denyRead=["~/.ssh"]),
    "R11": field("cat secret.txt; echo $?", "echo s >secret.txt", allowRead=["."], denyRead=["secret.txt"]),
    "R13": field("pwd | sed s,.*/,,; ls; echo $?", "mkdir a", cwd="/a", denyRead=[".."]),
    "R13, /tmp": field("pwd | sed s,.*/,,; curl -s -m 5 http://no.test/ -o /dev/null -w '%{http_code}'", denyRead=["/tmp"]),
    "R32": {**field("/bin/touch x; echo ran"), "env": {"PATH": "/nonexistent"}},
    "R17": field("git init -q n; echo $?; git clone -q src c; echo $?; git -C src checkout -q -b x; git -C src push -q -u "
                 "origin x; echo $?; "
                 "echo x >src/.git/hooks/pre-commit; echo $?; git -C src branch --unset-upstream; echo $?",
                 "git init -q --bare o.git; git clone -q o.git src; git -C src -c user.name=a -c user.email=a@b commit -q "
                 "--allow-empty -m i"),
    "R19": field("echo 1 >a/t; mv a/t b/t; echo $?; : >b/t; echo $?; python3 -c 'import os; open(\"a/u\",\"w\"); "
                 "os.rename(\"a/u\",\"b/u\")'; "
                 "echo $?", "mkdir a b", allowWrite=["a", "b"]),
    "R28": field("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"$D/out/s\")'; echo $?",
                 "python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.bind(\"$D/out/s\"); s.listen()'"),
    "R58": field("rm -rf .git; echo $?; git log --oneline | wc -l; ls -A",
    "git init -q .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m i"),
}


# How the table of files says what our probe is to try: an operation, the words that it takes, what they become.
SPACES = {"user": "0x10000000", "mnt": "0x20000", "net": "0x40000000", "pid": "0x20000000", "uts": "0x4000000",
          "ipc": "0x8000000", "plain": "0"}
# Families, types and protocols: Unix, IPv4 and 6, ICMP, netlink (route, audit, uevent), packet, vsock, alg, bluetooth,
# xdp, tipc, can, key, MPTCP, SCTP, qipcrtr, rds, smc.
SOCKETS = ("1 1 0", "1 2 0", "2 1 0", "2 2 0", "2 3 1", "2 2 1", "10 1 0", "16 3 0", "16 3 9", "16 3 15", "17 3 0", "40 1 0",
           "38 5 0", "31 3 0", "44 3 0", "30 1 0", "29 3 1", "15 3 2", "2 1 262", "2 1 132", "42 2 0", "21 5 0", "43 1 0")
TRIES = {"read": (1, "show %s"), "ls": (1, "show %s"), "stat": (1, "stat %s"), "unshare": (1, "unshare %s"),
         "clone": (1, "clone %s"), "pivot": (0, "pivot ."), "fsopen": (0, "call 430"), "opentree": (0, "call 428"),
         "mountbind": (2, "bindmount %s %s"), "ptrace_child": (0, ""), "kill0": (1, "kill %s 0"),
         "iouring": (0, "call 425 call 426 call 427"), "socketpair": (0, "socketpair 1"), "clone3": (0, "clone3"),
         "sockets": (0, " ".join("socket " + words for words in SOCKETS))}
TWO = ("rename", "exchange", "link", "symlink")


def probed(command):
    """A command of the table, for our probe."""
    def words(match):
        given, out = match[1].split(), []
        while given:
            name = given.pop(0)
            count, text = TRIES.get(name) or ((2, name + " %s %s") if name in TWO else (1, name + " %s"))
            taken = [SPACES.get(word, word) for word in given[:count]]
            given = given[count:]
            out.append(text % tuple(taken))
        return "probe " + " ".join(out) + " "
    return re.sub(r"\bprobe ((?:(?!;|\||&&|\n).)*)", words, command)


def field_rows():
    for name, row in FIELD.items():
        yield {"name": "field, " + name, **row}


GROUPS = {"env": list(env_rows()), "field": list(field_rows()), "commands": list(command_rows()),
    "settings": list(settings_rows())}
