"""The machine that peers.py measures on: what it is, its CPUs, whether it is undisturbed; running and building programs."""
import contextlib
import datetime
import functools
import importlib.metadata
import json
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLAGS = ["-std=c++20", "-O3", "-march=native"]


class Failure(Exception):
    """Ends the program with this one line."""


def note(text):
    print(f"# {text}", file=sys.stderr)


def call(command, what, **options):
    """-> a command's standard output. If it fails: what it was for, and the first error that it tells or its last line."""
    try:
        r = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    except OSError as e:
        raise Failure(f"{what}: cannot run {command[0]}: {e.strerror}") from None
    if r.returncode:
        lines = [line.strip() for line in (r.stdout + r.stderr).splitlines() if line.strip()] or ["no message"]
        error = next((line for line in lines if "error:" in line.lower()), lines[-1])
        raise Failure(f"{what}: {pathlib.Path(command[0]).name} exits with {r.returncode}: {error[:300]}")
    return r.stdout


def cxx():
    return shlex.split(os.environ.get("CXX", "")) or ["g++"]


@functools.cache
def compiler():
    return call([*cxx(), "--version"], "no C++ compiler ($CXX names another)").splitlines()[0]


@functools.cache  # once a run, though the sources may change meanwhile
def build(out, name, *flags):
    exe, source = out / name, HERE / f"{name}.cpp"
    inputs = [source, HERE / "protocol.hpp", *(ROOT / "include").rglob("*.hpp")]
    if not exe.exists() or exe.stat().st_mtime < max(f.stat().st_mtime for f in inputs):
        call([*cxx(), *FLAGS, f"-I{ROOT / 'include'}", source, "-o", exe, "-pthread", *flags], f"cannot build {source.name}")
    return exe


def quantile(v, q):
    v = sorted(v)
    at = q * (len(v) - 1)
    i = int(at)
    return v[i] + (at - i) * (v[min(i + 1, len(v) - 1)] - v[i])


def median(v):
    return quantile(v, 0.5)


def about():
    """What the figures depend on."""
    commit = changed = None
    if (ROOT / ".git").exists():
        with contextlib.suppress(Failure):
            git = ["git", "--no-optional-locks", "-C", ROOT]
            commit = call([*git, "rev-parse", "HEAD"], "commit").strip()
            changed = bool(call([*git, "status", "--porcelain", "--", "include", "bench/peers"], "changes"))

    def version(package):
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return None

    cpu = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        cpu.setdefault(key.strip(), value.strip())
    flags = cpu.get("flags", cpu.get("Features", "")).split()
    return {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "machine": cpu.get("model name", platform.machine()), "cpus": len(os.sched_getaffinity(0)),
            "instruction_sets": [f for f in flags if f.startswith(("sse4", "fma", "f16c", "avx", "amx", "asimd", "sve"))],
            "kern_commit": commit, "kern_changed_since": changed,
            "compiler": compiler(), "flags": FLAGS,
            "python": platform.python_version(), "torch": version("torch"), "onnxruntime": version("onnxruntime")}


def usable_cpus():
    """Those of this process, one of each core first: threads that share a core slow each other down."""
    def siblings(cpu):
        file = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        return file.read_text() if file.exists() else cpu

    cpus = sorted(os.sched_getaffinity(0))
    first = {siblings(c): c for c in reversed(cpus)}.values()
    return sorted(first) + [c for c in cpus if c not in first]


def probe(a, threads):
    exe = build(a.out, "fma", "-mprefer-vector-width=512")
    p = json.loads(call([exe, threads, 40, *a.cpus[:threads]], "cannot probe the machine"))
    a.solo = max(a.solo, p["gflops"] / threads)
    return p


def steady(a, p):
    """Had each of the probe's threads a CPU for itself, all the time, as fast as one alone has been?"""
    return p["stall_pct"] < 5 and p["delivered"] > 0.9 * p["gflops"] and p["gflops"] > 0.85 * p["threads"] * a.solo


def undisturbed(a, threads, tries, run):
    """run() between two steady probes; the last try counts as it is. -> its result, both probes, whether they were steady"""
    for _ in range(0 if a.solo else 3):  # what one thread reaches here
        probe(a, 1)
    for left in reversed(range(tries)):
        until = time.monotonic() + 2
        while not steady(a, before := probe(a, threads)) and time.monotonic() < until:
            time.sleep(0.1)
        if left and not steady(a, before):
            continue  # spared: it would be done again
        result = run()
        time.sleep(0.1)  # its idle threads may spin a little longer
        probes = [before, probe(a, threads)]
        if all(steady(a, p) for p in probes):
            return result, probes, True
    return result, probes, False


def measured(command):
    """-> whether a command succeeds, its wall seconds, peak memory in MB with what it starts. (A process counts what its parent
    had when it was started, so this one must stay small: torch is imported elsewhere.)"""
    begin = time.perf_counter()
    p = subprocess.Popen([str(c) for c in command], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = status
    return status == 0, time.perf_counter() - begin, usage.ru_maxrss / 1024
