#!/usr/bin/env python3
"""kern beside PyTorch, ONNX Runtime and dlib, on this machine and in one run.

  peers.py all      [--out DIR] [--data MNIST_DIR]   everything below; results as JSON in DIR/peers.json
  peers.py parity                                    losses and outputs are the same everywhere: what all, bench and epoch begin
                                                     with, and stop at if they are not
  peers.py bench    [--passes 3] [--rounds 7]        inference and training steps, a table and ratios
  peers.py epoch    --data MNIST_DIR                 an epoch of MNIST from its files, as the PyTorch tutorial writes it
  peers.py start                                     from the program's start to the end of the first training step; memory
  peers.py compile                                   seconds and memory to compile kern's LeNet example and dlib's

Nets: A  28x28x1: conv 16 3x3, relu, conv 32 3x3, relu, maxpool 2, dropout2d .25, linear 128, relu, dropout .5, linear 10,
         log_softmax; SGD lr .01 momentum .5
      B  32x32x3: conv 5x5 pad 2 and maxpool 2 with 32, 32, 64 filters, linear 64, linear 10; SGD lr .01

It makes a virtual environment in DIR with pinned versions, unless this Python has what it needs. $CXX (g++) compiles.
Every cell's programs run one after another, pass after pass; samples of all passes are pooled, medians compared. A run lies
between two probes of fused multiply-adds (fma.cpp): if they find the machine disturbed it is done again, and a row that stays
disturbed is marked. Several threads of a program are pinned to as many CPUs. On a shared machine trust ratios.
"""
import argparse
import contextlib
import functools
import importlib.util
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # no folder of it among the sources

from libraries import NETS, VARIANTS, compared, worker
from machine import (FLAGS, HERE, ROOT, Failure, about, build, call, compiler, cxx, measured, median, note, quantile, undisturbed,
                     usable_cpus)

PINNED = ["torch==2.15.0", "torchvision==0.29.2", "onnxruntime==1.32.0", "onnx==1.23.2", "numpy==2.4.6", "pillow==13.0.0"]
# multiply-adds a sample by the plain definition: forward, and of the first layer, whose input needs no gradient
FIRST = {"A": 26 * 26 * 16 * 9, "B": 32 * 32 * 32 * 75}
FORWARD = {"A": FIRST["A"] + 24 * 24 * 32 * 144 + 4608 * 128 + 1280,
           "B": FIRST["B"] + 16 * 16 * 32 * 800 + 8 * 8 * 64 * 800 + 1024 * 64 + 640}
CELLS = [("A", "infer", 1), ("A", "infer", 64), ("A", "train", 64), ("B", "infer", 1), ("B", "infer", 64), ("B", "train", 64)]


def environment(a):
    """Goes on in a Python that has what this needs."""
    if all(importlib.util.find_spec(m) for m in ("torch", "torchvision", "onnxruntime", "onnx", "numpy", "PIL")):
        return
    venv = a.out / "venv"
    python = venv / "bin" / "python"
    if pathlib.Path(sys.prefix) == venv:
        raise Failure(f"the virtual environment {venv} lacks packages that pip says it installed: remove it")
    if not python.exists():
        note(f"making a virtual environment in {venv} (some 6 GB, some minutes)")
        call([sys.executable, "-m", "venv", venv], f"cannot make a virtual environment in {venv}")
    call([python, "-m", "pip", "install", "--quiet", *PINNED], f"cannot install the other libraries in {venv}")
    os.execv(python, [str(python), *sys.argv])


def program(a, lib, variant, op, threads, net="A", batch=64):
    """-> the command, options of its process, in words how its threads are pinned to CPUs."""
    cpus = a.cpus[:threads]
    env = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    options, pinning = {"env": env}, "none"
    if threads > 1 and not a.unpinned:
        pinning = f"a thread each to CPUs {cpus}"
        if lib == "torch":
            env |= {"OMP_PROC_BIND": "true", "OMP_PLACES": ",".join(f"{{{c}}}" for c in cpus)}
        elif lib == "kern":  # has no such option
            pinning = f"the process to CPUs {cpus}"
            options["preexec_fn"] = functools.partial(os.sched_setaffinity, 0, cpus)
    if lib == "kern":
        command = [build(a.out, "kern_bench")]
    else:
        command = [sys.executable, __file__, "worker", "--lib", lib, "--out", a.out, "--tries", a.tries, "--solo", a.solo,
                   *(["--unpinned"] if a.unpinned else [])]
    command += ["--net", net, "--op", op, "--variant", variant, "--batch", batch, "--threads", threads, "--rounds", a.rounds,
                "--round-ms", a.round_ms, "--data", a.data or ""]
    return [str(c) for c in command], options, pinning


# ---- commands; each returns rows for the JSON file


# By how much they may differ. float rounds values of size 1 by up to u = 2^-24; a sum of k products is off by some sqrt(k) u,
# with k up to 4608 here by 4e-6, and the largest of 640 outputs by some 4 times that. A loss is the mean of 64: their errors are
# independent, the mean's is an eighth; and it is itself rounded near 2.3. The smallest mistake is far more: one pixel of one
# sample left out changes outputs by 1e-3 and losses by 2e-5.
ALLOWED = {"outputs": 2e-5, "losses": 4e-6}


def difference(x, y):
    return max(map(abs, map(float.__sub__, x, y))) if len(x) == len(y) and all(map(math.isfinite, x + y)) else math.inf


def parity(a):
    """From the same parameters and samples, all variants come to the same outputs and to the same losses of 10 steps."""
    theirs, rows = {}, []
    for lib, variant in VARIANTS:
        if lib != "kern":
            command, options, _ = program(a, lib, variant, "parity", 1)
            try:
                values = json.loads(call(command, f"parity of {lib} {variant}", **options).splitlines()[-1])["values"]
            except Failure as e:
                if variant in ("eager", "run"):  # no comparison without these
                    raise
                note(e)
                continue
            for cell, v in zip(compared(lib, variant), values):
                theirs.setdefault(cell, {})[f"{lib} {variant}"] = v
    for variant in ("static", "erased"):
        worst = {}
        for net, op, batch in compared("kern", variant):
            for threads in a.threads:
                command, options, _ = program(a, "kern", variant, op, threads, net, batch)
                ours = [float(v) for v in call(command, f"{op} of kern {variant}", **options).split()]
                by, peer = max((difference(ours, v), peer) for peer, v in theirs[net, op, batch].items())
                if by > ALLOWED[op]:
                    raise Failure(f"parity: net {net} ({NETS[net]}), batch {batch}, T={threads}: {op} of kern {variant} and of "
                                  f"{peer} differ by {by:.1e}, allowed are {ALLOWED[op]:.0e}; nothing is timed")
                worst[net, op] = max(by, worst.get((net, op), 0))
        for net in NETS:
            outputs, losses = worst[net, "outputs"], worst[net, "losses"]
            print(f"parity: {NETS[net]}, kern {variant}: outputs differ by at most {outputs:.1e}, losses of 10 steps by "
                  f"{losses:.1e}")
            rows.append({"what": "parity", "net": net, "variant": variant, "outputs_differ_by": outputs,
                         "losses_differ_by": losses, "from": list(theirs[net, "outputs", 1])})
    return rows


def run_cell(a, lib, variant, cell, threads):
    net, op, batch = cell
    command, options, pinning = program(a, lib, variant, op, threads, net, batch)

    def once():
        return json.loads(call(command, f"{lib} {variant}, net {net} {op} batch {batch} T={threads}", **options).splitlines()[-1])

    if lib == "kern":
        result, probes, ok = undisturbed(a, threads, a.tries, once)
        return {"samples": result["samples"], "probes": probes, "ok": ok, "pinning": pinning}
    try:
        result = once()  # probes by itself: it takes seconds to start
    except Failure as e:
        note(e)
        return None
    a.solo = max(a.solo, result["solo"])
    return {**result, "pinning": pinning}


def mark(row):
    return "" if row["ok"] else " *"


def bench(a):
    runs, rows = {}, []
    for number in range(a.passes):
        for threads in a.threads:
            for cell in CELLS:
                for (lib, variant), ops in VARIANTS.items():
                    result = run_cell(a, lib, variant, cell, threads) if cell[1] in ops else None
                    if result:
                        runs.setdefault((*cell, threads, lib, variant), []).append(result)
        note(f"pass {number + 1} of {a.passes} done")
    for (net, op, batch, threads, lib, variant), results in runs.items():
        ok = any(r["ok"] for r in results)
        results = [r for r in results if r["ok"]] or results
        samples = [s for r in results for s in r["samples"]]
        probes = [p for r in results for p in r["probes"]]
        gflops, delivered, stall = (statistics.mean(p[key] for p in probes) for key in ("gflops", "delivered", "stall_pct"))
        macs = FORWARD[net] if op == "infer" else 3 * FORWARD[net] - FIRST[net]
        per_sample = median(samples) * (1e-6 if op == "infer" else 1e-3 / batch)
        rows.append({"what": "bench", "net": net, "op": op, "batch": batch, "threads": threads, "lib": lib, "variant": variant,
                     "unit": "us/sample" if op == "infer" else "ms/step", "median": median(samples),
                     "p10": quantile(samples, 0.1), "p90": quantile(samples, 0.9), "rounds": len(samples), "ok": ok,
                     "pinning": results[0]["pinning"], "fma_gflops": gflops, "fma_delivered": delivered, "stall_pct": stall,
                     "peak_pct": 100 * 2 * macs / per_sample / 1e9 / gflops})
    groups = [[r for r in rows if (r["net"], r["op"], r["batch"], r["threads"]) == (*cell, threads)]
              for cell in CELLS for threads in a.threads]
    print(f"\n{'net':3} {'op':5} {'batch':>5} {'T':>1} {'library':11} {'variant':13} {'median':>9} {'p10':>9} {'p90':>9} "
          f"{'unit':9} {'% peak':>6} {'kern is':>8}")
    for group in groups:
        ours = next(r for r in group if r["variant"] == "static")
        for r in sorted(group, key=lambda r: r["median"]):
            r["ratio"] = r["median"] / ours["median"]
            print(f"{r['net']:3} {r['op']:5} {r['batch']:5} {r['threads']:1} {r['lib']:11} {r['variant']:13} {r['median']:9.2f} "
                  f"{r['p10']:9.2f} {r['p90']:9.2f} {r['unit']:9} {r['peak_pct']:6.1f} {r['ratio']:7.2f}x{mark(r)}")
        print()
    if not all(r["ok"] for r in rows):
        print("* disturbed: before or after it the probe's threads had not a CPU each, all the time and at full speed\n")
    return rows + [line for group in groups for line in summary(group)]


def summary(group):
    """A cell's ratios in one line: how many times as long as kern's static net the others take."""
    ours = next(r for r in group if r["variant"] == "static")
    rows = []

    def against(name, lib, *variants):
        others = [r for r in group if r["lib"] == lib and (not variants or r["variant"] in variants)]
        if others:
            best = min(others, key=lambda r: r["median"])
            name = name or "best of " + ", ".join(v for l, v in VARIANTS if any(r["variant"] == v for r in others))
            ok = ours["ok"] and all(r["ok"] for r in others)  # undisturbed, another might be the best
            rows.append({"what": "summary", **{k: ours[k] for k in ("net", "op", "batch", "threads")}, "against": name,
                         "variant": best["variant"], "ratio": best["ratio"], "ok": ok})

    against("ONNX Runtime", "onnxruntime")
    against("PyTorch eager", "torch", "eager")
    against("", "torch")
    print("inference" if ours["op"] == "infer" else "training", NETS[ours["net"]], f"batch {ours['batch']}, T={ours['threads']}:",
          ", ".join(f"{r['ratio']:.2f}x {r['against']}{mark(r)}" for r in rows))
    return rows


def epoch(a):
    """kern's epochs and PyTorch's in turn: both programs live all the time, and each waits while the other runs."""
    rows = []
    for threads in a.threads:
        seconds, ok, pinning = {"kern": [], "torch": []}, True, {}
        with contextlib.ExitStack() as stack:
            running = {}
            for lib, variant in (("kern", "static"), ("torch", "eager")):
                command, options, pinning[lib] = program(a, lib, variant, "epoch", threads)
                running[lib] = stack.enter_context(subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE,
                                                                    stdout=subprocess.PIPE, **options))
            for _ in range(a.epochs):
                for lib, p in running.items():
                    def one():
                        with contextlib.suppress(BrokenPipeError):
                            p.stdin.write(b"\n")
                        return p.stdout.readline()

                    line, _, steady_now = undisturbed(a, threads, 1, one)  # too long to be done again
                    if not line:
                        raise Failure(f"epoch: {lib}'s program has ended")
                    seconds[lib].append(float(line))
                    ok = ok and steady_now
        ours, theirs = median(seconds["kern"]), median(seconds["torch"])
        print(f"epoch of MNIST, T={threads}: kern {ours:.2f} s, PyTorch's tutorial {theirs:.2f} s: kern is {theirs / ours:.2f}x"
              f"{mark({'ok': ok})}")
        rows.append({"what": "epoch", "threads": threads, "kern_s": seconds["kern"], "torch_s": seconds["torch"],
                     "ratio": theirs / ours, "ok": ok, "pinning": pinning})
    if not all(r["ok"] for r in rows):
        print("* disturbed before or after an epoch")
    return rows


START = """
import time
begin = time.perf_counter()
import sys
sys.path.insert(0, sys.argv[1])
import libraries
step = libraries.torch_step("A", "eager", 64)
step()
print(time.perf_counter() - begin)
for _ in range(100):
    step()
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def start(a):
    rows = []
    commands = {"kern": [build(a.out, "kern_bench"), "--op", "start"], "torch": [sys.executable, "-B", "-c", START, HERE]}
    for lib, command in commands.items():
        seconds, memory = [], []
        for _ in range(5):
            first, kib = call(command, f"start of {lib}").split()
            seconds.append(float(first))
            memory.append(float(kib) / 1024)
        print(f"start {lib}: first training step done after {median(seconds):.3f} s; training needs {median(memory):.0f} MB")
        rows.append({"what": "start", "lib": lib, "to_first_step_s": median(seconds), "peak_mb": median(memory)})
    return rows


def compile_(a):
    rows = []
    sources = [("kern", ROOT / "examples" / "01_lenet_mnist.cpp", [*FLAGS, f"-I{ROOT / 'include'}"]),
               ("dlib", HERE / "dlib_trainer.cpp", ["-std=c++17", *FLAGS[1:]])]
    for lib, source, flags in sources:
        runs = []
        while len(runs) < 3 and (not runs or runs[-1][0]):
            runs.append(measured([*cxx(), *flags, "-c", source, "-o", os.devnull]))
        if not runs[-1][0]:
            if lib == "kern":
                raise Failure(f"compile: {source.name} does not compile")
            note("dlib does not compile here: libdlib-dev and libopenblas-dev are needed")
            continue
        seconds, memory = median([r[1] for r in runs]), max(r[2] for r in runs)
        print(f"compile {lib}: {seconds:.2f} s, {memory:.0f} MB")
        rows.append({"what": "compile", "lib": lib, "seconds": seconds, "peak_mb": memory})
    if len(rows) == 2:
        print(f"compile: kern takes {rows[0]['seconds'] / rows[1]['seconds']:.2f} of dlib's time")
    return rows


COMMANDS = {"all": (parity, start, compile_, bench, epoch), "parity": (parity,), "bench": (parity, bench),
            "epoch": (parity, epoch), "start": (start,), "compile": (compile_,)}


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"peers.py: {message}; --help says more\n")


def arguments():
    def at_least_one(text):
        if not text.isdecimal() or int(text) < 1:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
        return int(text)

    def counts(text):
        return [at_least_one(t) for t in text.split(",")]

    p = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("command", metavar="COMMAND", help=", ".join(COMMANDS))
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "bench" / "peers", metavar="DIR",
                   help="for programs and results (build/bench/peers)")
    p.add_argument("--data", default=os.environ.get("KERN_DATA"), metavar="MNIST_DIR",
                   help="MNIST's four files, unpacked ($KERN_DATA)")
    p.add_argument("--threads", type=counts, help="1,2 or others (as many of 1 and 2 as there are CPUs)")
    p.add_argument("--passes", type=at_least_one, default=3, help="over all cells (%(default)s)")
    p.add_argument("--rounds", type=at_least_one, default=7, help="a run of a cell: its samples (%(default)s)")
    p.add_argument("--round-ms", type=float, default=40, help="a round takes at least (%(default)s)")
    p.add_argument("--tries", type=at_least_one, default=3, help="to run a cell undisturbed (%(default)s)")
    p.add_argument("--epochs", type=at_least_one, default=3, help="of each library (%(default)s)")
    p.add_argument("--unpinned", action="store_true", help="leave all threads where the system puts them")
    for name in ("lib", "variant", "net", "op"):
        p.add_argument(f"--{name}", help=argparse.SUPPRESS)
    p.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    p.add_argument("--solo", type=float, default=0, help=argparse.SUPPRESS)  # the fastest probe of one thread so far
    a = p.parse_args()
    a.cpus = usable_cpus()
    a.out = a.out.resolve()
    a.threads = a.threads or [t for t in (1, 2) if t <= len(a.cpus)]
    if a.command not in (*COMMANDS, "worker"):
        p.error(f"unknown command '{a.command}': there are {', '.join(COMMANDS)}")
    if max(a.threads) > len(a.cpus):
        p.error(f"--threads {max(a.threads)}: there are {len(a.cpus)} CPUs")
    if a.command == "epoch" and not a.data:
        p.error("epoch needs --data MNIST_DIR")
    if a.data and a.command in ("all", "epoch") and not (pathlib.Path(a.data) / "train-images-idx3-ubyte").is_file():
        p.error(f"--data {a.data}: no train-images-idx3-ubyte there (it must be unpacked)")
    return a


def main():
    sys.stdout.reconfigure(line_buffering=True)
    a = arguments()
    if a.command == "worker":
        return worker(a)
    a.out.mkdir(parents=True, exist_ok=True)
    compiler()  # before a long installation
    if a.command != "compile":
        environment(a)
    facts, rows = about(), []
    file = a.out / ("peers.json" if a.command == "all" else f"{a.command}.json")
    for part in COMMANDS[a.command]:
        if part is epoch and not a.data:
            print("epoch: not measured; --data MNIST_DIR says where MNIST's files are")
            continue
        rows += part(a)
        file.write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")
    print(f"written: {file}")


if __name__ == "__main__":
    try:
        main()
    except (Failure, OSError) as e:
        sys.exit(f"peers: {e}")
    except KeyboardInterrupt:
        sys.exit(130)
