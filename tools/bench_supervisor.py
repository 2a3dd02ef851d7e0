# SPDX-License-Identifier: Apache-2.0
"""The figures of `tools/bench supervisor`: connections that are led to the proxy, and work under observation."""
import io
import json
import os
import shutil
import statistics
import subprocess
import tarfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONNECTS = 2000
# Nobody may be reached, so the proxy ends each connection at once.
NETWORK = """return { network = { transparent = %s, decideConnect = function() return false, "measured" end } }"""
WORK = 'return { filesystem = { allowWrite = { "." } }%s }'
FILES, FOLDERS = 10000, 100


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def filesystem_of(path):
    done = subprocess.run(["df", "--output=fstype", path], capture_output=True, text=True, check=False)
    return done.stdout.split()[-1] if done.returncode == 0 else "an unknown file system"


def spread(values, unit="", digits=2):
    return "%.*f%s (min %.*f, max %.*f)" % (digits, statistics.median(values), unit, digits, min(values), digits, max(values))


def compile_client(top):
    client = os.path.join(top, "bench_connect")
    done = subprocess.run(["cc", "-O2", "-o", client, os.path.join(TOP, "tools", "bench_connect.c")], check=False)
    return client if done.returncode == 0 else None


def connect_once(argv, env):
    done = subprocess.run(argv, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr.strip()[-200:]
    return float(done.stdout.split()[0]), None


def bench_connect(top, binary, runs):
    """Median of a run's connects each; runs alternate."""
    client = compile_client(top)
    if not client:
        print("connect: not measured: no cc")
        return
    off, on = write(top, "off.lua", NETWORK % "false"), write(top, "on.lua", NETWORK % "true")
    away = [client, str(CONNECTS), "192.0.2.1", "80"]
    commands = {
        "direct": ([binary, "run", off, "--", client, str(CONNECTS)], {}),
        "redirected": ([binary, "run", on, "--", *away], {}),
        "notified": ([binary, "run", on, "--", *away], {"SRT_LUA_FAKE_MISSING": "nftables"}),
    }
    times = {name: [] for name in commands}
    for _ in range(runs):
        for name, (argv, env) in commands.items():
            took, problem = connect_once(argv, env)
            if took is None:
                print(f"connect: not measured: {name}: {problem}")
                return
            times[name].append(took)
    print(f"connect(2), medians of {CONNECTS} in each of {runs} alternating runs:")
    for name, wanted in (("direct", None), ("redirected", 20), ("notified", 100)):
        more = [a - b for a, b in zip(times[name], times["direct"])]
        over = f"; {spread(more, ' us')} over a direct one (wanted: {wanted} at most)" if wanted else ""
        print(f"  {name:<12} {spread(times[name], ' us')}{over}")


def seconds_of(argv, folder, before):
    if before:
        before()
    start = time.perf_counter()
    done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False)
    return time.perf_counter() - start if done.returncode == 0 else None


def alternate(commands, runs):
    """{name: (argv, folder, before)}: seconds of each, first turn left out; None for those that failed."""
    times = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            took = seconds_of(*command) if times[name] is not None else None
            if took is None:
                times[name] = None
            elif turn > 0:
                times[name].append(took)
    return times


def variants(top):
    """Policies of the rows: {name: (path, how it is shown)}."""
    return {name: (write(top, f"{name}.lua", WORK % f', observe = "{name}"'), f'observe = "{name}"')
            for name in ("writes", "none")}


def compare(title, argv, place, policies, wanted, runs):
    """place: (folder, before). The start of a run is taken off, in each turn."""
    binary, rows = policies
    folder, before = place
    commands = {"outside": (argv, folder, before)}
    for name, (policy, _) in rows.items():
        commands[name] = ([binary, "run", policy, "--", *argv], folder, before)
        commands[name + " true"] = ([binary, "run", policy, "--", "true"], folder, None)
    times = alternate(commands, runs)
    if not times["outside"]:
        print(f"{title}: not measured: it fails outside")
        return
    print(f"{title}, {runs} alternating runs; outside {spread([t * 1e3 for t in times['outside']], ' ms', 0)}:")
    for name, (_, shown) in rows.items():
        if times[name] is None or times[name + " true"] is None:
            print(f"  {shown:<20} fails inside")
            continue
        own = [a - b for a, b in zip(times[name], times[name + " true"])]
        ratios = [a / b for a, b in zip(own, times["outside"])]
        print(f"  {shown:<20} {spread([t * 1e3 for t in own], ' ms', 0)}; ratio of medians"
              f" {statistics.median(own) / statistics.median(times['outside']):.3f}, of the least"
              f" {min(own) / min(times['outside']):.3f}, turn by turn {spread(ratios, '', 3)}"
              f" (wanted: {wanted[name]} at most)")


def bench_untar(top, policies, runs):
    work = os.path.join(top, "untar")
    archive = os.path.join(top, "small.tar")
    os.mkdir(work)
    with tarfile.open(archive, "w") as tar:
        for number in range(FILES):
            entry = tarfile.TarInfo(f"d{number % FOLDERS}/f{number}")
            entry.size = 1000
            tar.addfile(entry, io.BytesIO(b"x" * 1000))

    def fresh():
        shutil.rmtree(os.path.join(work, "out"), ignore_errors=True)
        os.mkdir(os.path.join(work, "out"))

    compare(f"untar of {FILES} files on {filesystem_of(work)}", ["tar", "xf", archive, "-C", "out"], (work, fresh), policies,
            {"writes": 1.15, "none": 1.02}, runs)
    shutil.rmtree(work)


def bench_git(top, policies, runs):
    if not shutil.which("git"):
        print("git status: not measured: git is not there")
        return
    tree = os.path.join(top, "tree")
    for number in range(5 * FILES):
        write(tree, f"a{number % 50}/b{number // 50 % 50}/f{number}.c", "int x;\n")
    for argv in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]):
        subprocess.run(["git", *argv], cwd=tree, check=True)
    compare(f"git status of {5 * FILES} files", ["git", "status", "--short"], (tree, None), policies,
            {"writes": 1.02, "none": 1.02}, runs)
    shutil.rmtree(tree)


def make_package(path, name):
    with tarfile.open(path, "w:gz") as tar:
        def add(file, text):
            entry = tarfile.TarInfo("package/" + file)
            entry.size, entry.mode = len(text), 0o644
            tar.addfile(entry, io.BytesIO(text))
        add("package.json", json.dumps({"name": name, "version": "1.0.0"}).encode())
        for number in range(50):
            add(f"lib/{number}.js", b"module.exports = %d;\n" % number * 20)


def bench_npm(top, policies, runs):
    if not shutil.which("npm"):
        print("npm install: not measured: npm is not there")
        return
    work, packages = os.path.join(top, "npm", "work"), os.path.join(top, "npm", "packages")
    os.makedirs(packages)
    names = [f"fixture-{number}" for number in range(40)]
    for name in names:
        make_package(os.path.join(packages, name + ".tgz"), name)
    write(work, "package.json", json.dumps({"name": "work", "version": "1.0.0", "dependencies": {
        name: f"file:../packages/{name}.tgz" for name in names}}))

    def fresh():
        for name in ("node_modules", "cache"):
            shutil.rmtree(os.path.join(work, name), ignore_errors=True)
        lock = os.path.join(work, "package-lock.json")
        if os.path.exists(lock):
            os.unlink(lock)

    argv = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--cache", "cache", "--logs-max", "0"]
    compare(f"npm install of {len(names)} local packages", argv, (work, fresh), policies, {"writes": 1.1, "none": 1.1}, runs)


def main(top, binary, runs):
    plain = write(top, "plain.lua", "return {}")
    if subprocess.run([binary, "run", plain, "--", "true"], cwd=top, check=False).returncode:
        return f"{binary} does not run here"
    bench_connect(top, binary, runs)
    policies = (binary, variants(top))
    bench_untar(top, policies, runs)
    bench_git(top, policies, runs)
    bench_npm(top, policies, runs)
    return None
