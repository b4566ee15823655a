#!/usr/bin/env python3
"""kern beside PyTorch, ONNX Runtime and dlib, on this machine and in one run.

  peers.py all      [--out DIR] [--data MNIST_DIR]   everything below; results as JSON in DIR/peers.json
  peers.py parity                                    kern's losses of 10 steps against PyTorch's: checked before all timing
  peers.py bench    [--passes 3] [--rounds 7]        inference and training steps, a table and ratios
  peers.py epoch    --data MNIST_DIR                 an epoch of MNIST from its files, as the PyTorch tutorial writes it
  peers.py start                                     from the program's start to the end of the first training step; memory
  peers.py compile                                   seconds and memory to compile kern's LeNet example and dlib's

Nets: A  28x28x1: conv 16 3x3, relu, conv 32 3x3, relu, maxpool 2, dropout2d .25, linear 128, relu, dropout .5, linear 10,
         log_softmax; SGD lr .01 momentum .5
      B  32x32x3: conv 5x5 pad 2 and maxpool 2 with 32, 32, 64 filters, linear 64, linear 10; SGD lr .01

It makes a virtual environment in DIR with pinned versions, unless this Python has torch, onnxruntime and onnx.
Every cell's programs run one after another, pass after pass, with a probe of fused multiply-adds (fma.cpp) before and after;
samples of all passes are pooled, medians compared. On a shared machine trust ratios, and rows whose probe is steady.
"""
import argparse
import importlib.util
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PINNED = ["torch==2.15.0", "torchvision==0.29.2", "onnxruntime==1.32.0", "onnx==1.23.2", "numpy==2.4.6", "pillow==13.0.0"]
# multiply-adds a sample by the plain definition: forward, and of the first layer, whose input needs no gradient
FIRST = {"A": 26 * 26 * 16 * 9, "B": 32 * 32 * 32 * 75}
FORWARD = {"A": FIRST["A"] + 24 * 24 * 32 * 144 + 4608 * 128 + 1280,
           "B": FIRST["B"] + 16 * 16 * 32 * 800 + 8 * 8 * 64 * 800 + 1024 * 64 + 640}
CELLS = [("A", "infer", 1), ("A", "infer", 64), ("A", "train", 64), ("B", "infer", 1), ("B", "infer", 64), ("B", "train", 64)]
VARIANTS = {  # library, variant -> what it does
    ("kern", "static"): ("infer", "train"), ("kern", "erased"): ("infer", "train"),
    ("torch", "eager"): ("infer", "train"), ("torch", "channels_last"): ("infer", "train"),
    ("torch", "compile"): ("infer", "train"), ("onnxruntime", "run"): ("infer",),
}


def environment(a):
    """Goes on in a Python that has what this needs."""
    if all(importlib.util.find_spec(m) for m in ("torch", "onnxruntime", "onnx")):
        return
    venv = a.out / "venv"
    python = venv / "bin" / "python"
    if not python.exists():
        print(f"peers: making a virtual environment in {venv} (some 6 GB, some minutes)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PINNED], check=True)
    os.execv(python, [str(python), *sys.argv])


def cxx():
    return os.environ.get("CXX", "g++")


def build(a, source, *flags):
    exe = a.out / source.stem
    inputs = [source, HERE / "protocol.hpp", *(ROOT / "include").rglob("*.hpp")]
    if not exe.exists() or exe.stat().st_mtime < max(f.stat().st_mtime for f in inputs):
        subprocess.run([cxx(), "-std=c++20", "-O3", "-march=native", f"-I{ROOT / 'include'}", str(source), "-o", str(exe),
                        "-pthread", *flags], check=True)
    return exe


def probe(a, threads, ms=40):
    out = subprocess.run([str(build(a, HERE / "fma.cpp", "-mprefer-vector-width=512")), str(threads), str(ms)],
                         capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def quantile(v, q):
    v = sorted(v)
    at = q * (len(v) - 1)
    i = int(at)
    return v[i] + (at - i) * (v[min(i + 1, len(v) - 1)] - v[i])


def threads_of(t):
    return {**os.environ, "OMP_NUM_THREADS": str(t), "MKL_NUM_THREADS": str(t)}


# ---- PyTorch and ONNX Runtime: run in a process of their own, as kern is


def torch_net(name):
    from torch import nn
    C, R, M = nn.Conv2d, nn.ReLU, nn.MaxPool2d
    if name == "A":
        return nn.Sequential(C(1, 16, 3), R(), C(16, 32, 3), R(), M(2), nn.Dropout2d(0.25), nn.Flatten(), nn.Linear(4608, 128),
                             R(), nn.Dropout(0.5), nn.Linear(128, 10), nn.LogSoftmax(1))
    return nn.Sequential(C(3, 32, 5, padding=2), M(2), C(32, 32, 5, padding=2), M(2), C(32, 64, 5, padding=2), M(2),
                         nn.Flatten(), nn.Linear(1024, 64), nn.Linear(64, 10))


def shape(net, batch):
    return (batch, 1, 28, 28) if net == "A" else (batch, 3, 32, 32)


def torch_step(net, variant, batch):
    import torch
    import torch.nn.functional as F
    layout = torch.channels_last if variant == "channels_last" else torch.contiguous_format
    model = torch_net(net).to(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5 if net == "A" else 0)
    xs = [torch.rand(shape(net, batch)).to(memory_format=layout) for _ in range(8)]
    y = torch.arange(batch) * 7 % 10

    def loss_of(x):
        return F.cross_entropy(model(x), y)

    f = torch.compile(loss_of, dynamic=False) if variant == "compile" else loss_of
    k = 0

    def step():
        nonlocal k
        optimizer.zero_grad()
        f(xs[k]).backward()
        optimizer.step()
        k = (k + 1) % 8

    return step


def torch_inference(net, variant, batch):
    import torch
    layout = torch.channels_last if variant == "channels_last" else torch.contiguous_format
    model = torch_net(net).eval().to(memory_format=layout)
    x = torch.rand(shape(net, batch)).to(memory_format=layout)
    f = torch.compile(model, dynamic=False) if variant == "compile" else model

    def run():
        with torch.inference_mode(variant != "compile"), torch.no_grad():
            f(x)

    return run


def onnx_inference(net, threads, batch):
    import io

    import numpy as np
    import onnxruntime
    import torch
    file = io.BytesIO()
    model = torch_net(net).eval()
    torch.onnx.export(model, (torch.zeros(shape(net, batch)),), file, input_names=["x"], dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    feed = {"x": np.random.default_rng(2).random(shape(net, batch), dtype=np.float32)}
    return lambda: session.run(None, feed)


def worker(a):
    import torch
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    if a.lib == "onnxruntime":
        f = onnx_inference(a.net, a.threads, a.batch)
    else:
        f = (torch_step if a.op == "train" else torch_inference)(a.net, a.variant, a.batch)
    begin = time.perf_counter()
    for _ in range(3):
        f()
    while time.perf_counter() - begin < 0.3:
        f()
    n, seconds = 1, 0.0
    while seconds * 1e3 < a.round_ms:
        n = max(n + 1, int(n * min(10, 1.15 * a.round_ms / max(1e-9, seconds * 1e3)))) if seconds else n
        begin = time.perf_counter()
        for _ in range(n):
            f()
        seconds = time.perf_counter() - begin
    samples = []
    for _ in range(a.rounds):
        begin = time.perf_counter()
        for _ in range(n):
            f()
        samples.append((time.perf_counter() - begin) / n * (1e6 / a.batch if a.op == "infer" else 1e3))
    print(json.dumps({"samples": samples}))


# ---- commands; each returns rows for the JSON file


def parity(a):
    """kern and PyTorch train the same net from the same parameters to the same losses."""
    import torch
    import torch.nn.functional as F
    sys.path.insert(0, str(ROOT / "tests" / "golden"))
    import make_golden
    rows = []
    for name, net, dims, momentum in (("A", make_golden.lenet(), (1, 28, 28), 0.5), ("B", make_golden.cifar(), (3, 32, 32), 0)):
        make_golden.fill(net)
        net, x, y = net.float(), make_golden.formula(1, (64, *dims)).float(), torch.arange(64) * 7 % 10
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=momentum)
        exe = build(a, HERE / "kern_bench.cpp")
        ours = [float(v) for v in subprocess.run([str(exe), "--net", name, "--op", "parity"], capture_output=True, text=True,
                                                 check=True).stdout.split()]
        worst = 0.0
        for mine in ours:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            worst = max(worst, abs(loss.item() - mine))
        print(f"parity {name}: 10 steps, losses differ by at most {worst:.1e}")
        # losses near 2.3 in float: 2^-22 a rounding, some tens of them
        if not (len(ours) == 10 and worst < 2e-5):
            sys.exit(f"parity {name}: the losses differ; nothing is timed")
        rows.append({"what": "parity", "net": name, "worst": worst})
    return rows


def run_cell(a, lib, variant, cell, threads):
    net, op, batch = cell
    common = ["--net", net, "--op", op, "--batch", str(batch), "--threads", str(threads), "--rounds", str(a.rounds),
              "--round-ms", str(a.round_ms), "--variant", variant]
    command = [str(build(a, HERE / "kern_bench.cpp"))] if lib == "kern" else [sys.executable, __file__, "worker", "--lib", lib]
    r = subprocess.run([*command, *common], capture_output=True, text=True, env=threads_of(threads))
    lines = [line for line in r.stdout.splitlines() if line.startswith("{")]
    if r.returncode or not lines:
        print(f"# {lib} {variant} {cell}: exit {r.returncode}: {r.stderr[-300:]}", file=sys.stderr)
        return []
    return json.loads(lines[-1])["samples"]


def bench(a):
    samples, probes = {}, {}
    for number in range(a.passes):
        for threads in (1, 2):
            for cell in CELLS:
                for (lib, variant), ops in VARIANTS.items():
                    if cell[1] not in ops:
                        continue
                    before = probe(a, threads)
                    key = (*cell, threads, lib, variant)
                    samples.setdefault(key, []).extend(run_cell(a, lib, variant, cell, threads))
                    probes.setdefault(key, []).extend([before, probe(a, threads)])
        print(f"# pass {number + 1} of {a.passes} done", file=sys.stderr)
    rows = []
    for key, v in samples.items():
        if not v:
            continue
        net, op, batch, threads, lib, variant = key
        peak = statistics.mean(p["gflops"] for p in probes[key])
        median = quantile(v, 0.5)
        macs = FORWARD[net] if op == "infer" else 3 * FORWARD[net] - FIRST[net]
        per_sample = median * 1e-6 if op == "infer" else median * 1e-3 / batch
        rows.append({"what": "bench", "net": net, "op": op, "batch": batch, "threads": threads, "lib": lib, "variant": variant,
                     "unit": "us/sample" if op == "infer" else "ms/step", "median": median, "p10": quantile(v, 0.1),
                     "p90": quantile(v, 0.9), "rounds": len(v), "fma_gflops": peak,
                     "stall_pct": statistics.mean(p["stall_pct"] for p in probes[key]),
                     "peak_pct": 100 * 2 * macs / per_sample / 1e9 / peak})
    print(f"\n{'net':3} {'op':5} {'batch':>5} {'T':>1} {'library':11} {'variant':13} {'median':>9} {'p10':>9} {'p90':>9} unit      "
          f"{'% peak':>6} {'kern is':>8}")
    for net, op, batch in CELLS:
        for threads in (1, 2):
            cell = [r for r in rows if (r["net"], r["op"], r["batch"], r["threads"]) == (net, op, batch, threads)]
            ours = next((r["median"] for r in cell if r["variant"] == "static"), math.nan)
            for r in sorted(cell, key=lambda r: r["median"]):
                r["ratio"] = r["median"] / ours
                print(f"{net:3} {op:5} {batch:5} {threads:1} {r['lib']:11} {r['variant']:13} {r['median']:9.2f} {r['p10']:9.2f} "
                      f"{r['p90']:9.2f} {r['unit']:9} {r['peak_pct']:6.1f} {r['ratio']:7.2f}x")
            print()
    return rows


def epoch(a):
    """The tutorial's loop: a Dataset that gives PIL images, ToTensor, Normalize, DataLoader; nll_loss of log_softmax."""
    import numpy as np
    import torch
    import torch.nn.functional as F
    from PIL import Image
    from torchvision import transforms
    folder = pathlib.Path(a.data)
    rows = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        begin = time.perf_counter()
        images = np.frombuffer((folder / "train-images-idx3-ubyte").read_bytes(), np.uint8, offset=16).reshape(-1, 28, 28).copy()
        labels = np.frombuffer((folder / "train-labels-idx1-ubyte").read_bytes(), np.uint8, offset=8)
        to = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])

        class Set(torch.utils.data.Dataset):  # what torchvision.datasets.MNIST does for an item
            def __len__(self):
                return len(images)

            def __getitem__(self, i):
                return to(Image.fromarray(images[i])), int(labels[i])

        loader = torch.utils.data.DataLoader(Set(), batch_size=64, shuffle=True)
        net = torch_net("A")
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.5)
        theirs = []
        for _ in range(a.epochs):
            begin = time.perf_counter()
            for x, y in loader:
                optimizer.zero_grad()
                F.nll_loss(net(x), y).backward()
                optimizer.step()
            theirs.append(time.perf_counter() - begin)
        exe = build(a, HERE / "kern_bench.cpp")
        out = subprocess.run([str(exe), "--op", "epoch", "--data", str(folder), "--threads", str(threads), "--rounds",
                              str(a.epochs)], capture_output=True, text=True, check=True).stdout
        ours = [float(v) for v in out.split()]
        ratio = quantile(theirs, 0.5) / quantile(ours, 0.5)
        print(f"epoch of {len(images)} images, T={threads}: kern {quantile(ours, 0.5):.2f} s, PyTorch's tutorial "
              f"{quantile(theirs, 0.5):.2f} s: kern is {ratio:.2f}x")
        rows.append({"what": "epoch", "threads": threads, "images": len(images), "kern_s": ours, "torch_s": theirs, "ratio": ratio})
    return rows


START = """
import time
begin = time.perf_counter()
import sys
sys.path.insert(0, sys.argv[1])
import peers
step = peers.torch_step("A", "eager", 64)
step()
print(time.perf_counter() - begin)
for _ in range(100):
    step()
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def measured(command):
    """-> wall seconds, peak memory in MB of a command and what it starts. (A process counts what its parent had when it
    was started, so this one must stay small: torch is imported elsewhere.)"""
    begin = time.perf_counter()
    p = subprocess.Popen(command)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = status
    if status:
        raise subprocess.CalledProcessError(status, command)
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def start(a):
    rows = []
    exe = build(a, HERE / "kern_bench.cpp")
    for lib, command in (
            ("kern", [str(exe), "--op", "start"]),
            ("torch", [sys.executable, "-c", START, str(HERE)])):
        seconds, memory = [], []
        for _ in range(5):
            first, kib = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            seconds.append(float(first))
            memory.append(float(kib) / 1024)
        print(f"start {lib}: first training step done after {quantile(seconds, 0.5):.3f} s; training needs "
              f"{quantile(memory, 0.5):.0f} MB")
        rows.append({"what": "start", "lib": lib, "to_first_step_s": quantile(seconds, 0.5), "peak_mb": quantile(memory, 0.5)})
    return rows


def compile_(a):
    rows = []
    sources = [("kern", ROOT / "examples" / "01_lenet_mnist.cpp", ["-std=c++20", f"-I{ROOT / 'include'}"]),
               ("dlib", HERE / "dlib_trainer.cpp", ["-std=c++17"])]
    for lib, source, flags in sources:
        seconds, memory = [], []
        for _ in range(3):
            try:
                s, mb = measured([cxx(), *flags, "-O3", "-march=native", "-c", str(source), "-o", os.devnull])
            except subprocess.CalledProcessError:
                print(f"# {lib}: does not compile here (dlib: libdlib-dev and libopenblas-dev are needed)", file=sys.stderr)
                break
            seconds.append(s)
            memory.append(mb)
        if seconds:
            print(f"compile {lib}: {quantile(seconds, 0.5):.2f} s, {max(memory):.0f} MB")
            rows.append({"what": "compile", "lib": lib, "seconds": quantile(seconds, 0.5), "peak_mb": max(memory)})
    if len(rows) == 2:
        print(f"compile: kern takes {rows[0]['seconds'] / rows[1]['seconds']:.2f} of dlib's time")
    return rows


def all_(a):
    def apart(command):  # in a process of its own: see measured()
        subprocess.run([sys.executable, __file__, command, "--out", str(a.out)], check=True)
        return json.loads((a.out / f"{command}.json").read_text())["rows"]

    rows = apart("parity") + start(a) + compile_(a) + bench(a)
    if a.data:
        rows += epoch(a)
    else:
        print("epoch: not measured; --data MNIST_DIR says where MNIST's files are")
    return rows


def main():
    commands = {"all": all_, "parity": parity, "bench": bench, "epoch": epoch, "start": start, "compile": compile_, "worker": worker}
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("command", choices=[c for c in commands if c != "worker"] if len(sys.argv) < 2 or sys.argv[1] != "worker"
                   else ["worker"])
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "bench" / "peers")
    p.add_argument("--data", default=os.environ.get("KERN_DATA"), help="MNIST's four files, unpacked (default: $KERN_DATA)")
    p.add_argument("--passes", type=int, default=3)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--round-ms", type=float, default=40)
    p.add_argument("--epochs", type=int, default=3)
    for name in ("lib", "variant", "net", "op"):
        p.add_argument(f"--{name}", help=argparse.SUPPRESS)
    for name in ("batch", "threads"):
        p.add_argument(f"--{name}", type=int, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.command == "epoch" and not a.data:
        p.error("epoch needs --data MNIST_DIR")
    a.out = a.out.resolve()
    a.out.mkdir(parents=True, exist_ok=True)
    if a.command == "worker":
        return worker(a)
    if a.command != "compile":
        environment(a)
    rows = commands[a.command](a)
    file = a.out / ("peers.json" if a.command == "all" else f"{a.command}.json")
    machine = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    file.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    print(f"written: {file}")


if __name__ == "__main__":
    main()
