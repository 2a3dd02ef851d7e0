# SPDX-License-Identifier: Apache-2.0
"""A session for Python, with nothing but its library: python3 agent.py 'echo hello >note; cat note'"""
import json
import socket
import subprocess
import sys


class Session:
    def __init__(self, **policy):
        """policy: lua=, settings= or file=."""
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(["srt-lua", "session", "--fd", str(theirs.fileno())],
                                            pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL)
        self.lines = self.socket.makefile("rwb")
        self.seq = 0
        self.say({"op": "open", **policy})
        self.hear("event", "ready")

    def say(self, message):
        self.lines.write(json.dumps(message).encode() + b"\n")
        self.lines.flush()

    def hear(self, key, value):
        for line in self.lines:
            message = json.loads(line)
            if message.get(key) == value and message.get("ok", True):
                return message
            if "error" in message:
                raise RuntimeError(message["error"])
        raise RuntimeError("the session has ended")

    def __call__(self, op, **fields):
        self.seq += 1
        self.say({"op": op, "seq": self.seq, **fields})
        return self.hear("seq", self.seq)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lines.close()
        self.socket.close()
        self.process.wait()


def main():
    with Session(settings={"network": {"allowedDomains": ["deb.debian.org"]},
                           "filesystem": {"denyRead": ["~/.ssh"], "allowWrite": ["."]}}) as session:
        for command in sys.argv[1:]:
            wrapped = session("wrap", command=command)
            done = subprocess.run(wrapped["argv"], stderr=subprocess.PIPE, check=False)
            found = session("violations", id=wrapped["id"])["violations"]
            print("%s: exit %d, %d denied" % (command, done.returncode, len(found)), flush=True)
            print(session("annotate", id=wrapped["id"], stderr=done.stderr.decode())["stderr"])


if __name__ == "__main__":
    main()
