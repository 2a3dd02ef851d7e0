# SPDX-License-Identifier: Apache-2.0
"""Runs inside: connects Unix sockets, each answer a line; and races for them."""
import ctypes
import errno
import os
import socket
import sys
import threading

LIBC = ctypes.CDLL(None, use_errno=True)


def address(path):
    return b"\0" + os.fsencode(path[1:]) if path.startswith("@") else path


def ask(path, kind=socket.SOCK_STREAM):
    """What the server says, or the errno's name."""
    try:
        with socket.socket(socket.AF_UNIX, kind) as client:
            client.connect(address(path))
            return client.recv(100).decode() or "nothing"
    except OSError as error:
        return errno.errorcode[error.errno]


def raw(client, data, size=None):
    """connect(2) with these very bytes as the address."""
    data = ctypes.create_string_buffer(data, max(len(data), 1))
    result = LIBC.connect(client.fileno(), data, ctypes.c_int(len(data) if size is None else size))
    return "ok" if result == 0 else errno.errorcode[ctypes.get_errno()]


def family(path):
    return socket.AF_UNIX.to_bytes(2, sys.byteorder) + path


def said(client):
    client.settimeout(5)
    try:
        return client.recv(1)
    except OSError:
        return b""


def race_address(number, good, bad):
    """Two paths of one length, exchanged in the caller's memory."""
    buffer = ctypes.create_string_buffer(family(os.fsencode(good)) + b"\0")
    paths, stop = (os.fsencode(good), os.fsencode(bad)), []
    assert len(paths[0]) == len(paths[1])

    def rewrite():
        while not stop:
            ctypes.memmove(ctypes.addressof(buffer) + 2, paths[1], len(paths[1]))
            ctypes.memmove(ctypes.addressof(buffer) + 2, paths[0], len(paths[0]))
    thread = threading.Thread(target=rewrite)
    thread.start()
    yield from count(number, lambda client: LIBC.connect(client.fileno(), buffer, len(buffer)))
    stop.append(1)
    thread.join()


def race_link(number, good, bad):
    """A link that leads now here, now there; and a folder that is exchanged."""
    os.mkdir("one"), os.mkdir("two")
    os.symlink(good, "one/s"), os.symlink(bad, "two/s")
    stop = []

    def swap():
        while not stop:
            LIBC.renameat2(-100, b"one", -100, b"two", 2)
    thread = threading.Thread(target=swap)
    thread.start()
    buffer = ctypes.create_string_buffer(family(b"one/s") + b"\0")
    yield from count(number, lambda client: LIBC.connect(client.fileno(), buffer, len(buffer)))
    stop.append(1)
    thread.join()


def race_name(number, _, bad):
    """A socket of our own and one of the host in one folder, exchanged all the time."""
    server = socket.socket(socket.AF_UNIX)
    server.bind("own.s")
    server.listen(128)

    def serve():
        while True:
            try:
                peer = server.accept()[0]
                peer.sendall(b"A")
                peer.close()
            except OSError:
                return
    stop = []

    def swap():
        name = os.fsencode(bad)
        while not stop:
            LIBC.renameat2(-100, b"own.s", -100, name, 2)
    threads = [threading.Thread(target=serve, daemon=True), threading.Thread(target=swap)]
    [thread.start() for thread in threads]
    buffer = ctypes.create_string_buffer(family(b"own.s") + b"\0")
    yield from count(number, lambda client: LIBC.connect(client.fileno(), buffer, len(buffer)))
    stop.append(1)
    threads[1].join()


def race_number(number, good, _):
    """The descriptor's number leads to another socket at each moment."""
    buffer = ctypes.create_string_buffer(family(os.fsencode(good)) + b"\0")
    stop, files = [], [socket.socket(socket.AF_UNIX), socket.socket(), open("/dev/null")]
    held = os.dup(files[0].fileno())

    def swap():
        while not stop:
            try:
                for file in files:
                    os.dup2(file.fileno(), held)
                os.close(held)
                os.dup2(files[0].fileno(), held)
            except OSError:
                pass
    thread = threading.Thread(target=swap)
    thread.start()
    answers = set()
    for _ in range(number):
        error = LIBC.connect(held, buffer, len(buffer)) and errno.errorcode[ctypes.get_errno()]
        answers.add(error or "ok")
        if error in (0, "EISCONN"):
            files[0] = socket.socket(socket.AF_UNIX)
    stop.append(1)
    thread.join()
    yield sorted(answers)


def count(number, connect):
    """How often it was granted, refused, and led to the wrong server."""
    granted = refused = wrong = 0
    sys.setswitchinterval(1e-5)
    for _ in range(number):
        with socket.socket(socket.AF_UNIX) as client:
            if connect(client):
                refused += 1
            elif said(client) == b"A":
                granted += 1
            else:
                wrong += 1
    yield {"granted": granted > 0, "refused": refused > 0, "wrong": wrong}


def waiting(path, number=1):
    """Sockets that fill a server's queue."""
    clients = []
    for _ in range(number):
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        try:
            client.connect(path)
        except BlockingIOError:
            return clients
        clients.append(client)
    return clients


def many(path, threads):
    answers, lock = {}, threading.Lock()

    def one():
        answer = ask(path)
        with lock:
            answers[answer] = answers.get(answer, 0) + 1
    started = [threading.Thread(target=one) for _ in range(threads)]
    [thread.start() for thread in started]
    [thread.join() for thread in started]
    return answers


def main():
    what, *rest = sys.argv[1:]
    if what == "ask":
        for path in rest:
            print("%s: %s" % (path, ask(path)))
    elif what == "many":
        print(many(rest[0], int(rest[1])))
    else:
        for line in globals()["race_" + what](int(rest[0]), *rest[1:]):
            print(line)


if __name__ == "__main__":
    main()
