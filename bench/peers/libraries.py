"""PyTorch and ONNX Runtime with the nets of peers.py: each cell runs in a process of its own (`peers.py worker`), as kern's does."""
import contextlib
import json
import os
import pathlib
import sys
import time

from machine import ROOT, undisturbed

NETS = {"A": "LeNet", "B": "CIFAR-10 net"}
VARIANTS = {  # library, variant -> what it does
    ("kern", "static"): ("infer", "train"), ("kern", "erased"): ("infer", "train"),
    ("torch", "eager"): ("infer", "train"), ("torch", "channels_last"): ("infer", "train"),
    ("torch", "compile"): ("infer", "train"),
    ("onnxruntime", "run"): ("infer",), ("onnxruntime", "io_binding"): ("infer",),
}


def compared(lib, variant):
    """What parity asks of a variant: net, op, batch."""
    ops = [("outputs", 1), ("outputs", 64)] + [("losses", 64)] * ("train" in VARIANTS[lib, variant])
    return [(net, op, batch) for net in NETS for op, batch in ops]


def torch_net(name):
    from torch import nn
    C, R, M = nn.Conv2d, nn.ReLU, nn.MaxPool2d
    if name == "A":
        return nn.Sequential(C(1, 16, 3), R(), C(16, 32, 3), R(), M(2), nn.Dropout2d(0.25), nn.Flatten(), nn.Linear(4608, 128),
                             R(), nn.Dropout(0.5), nn.Linear(128, 10), nn.LogSoftmax(1))
    return nn.Sequential(C(3, 32, 5, padding=2), M(2), C(32, 32, 5, padding=2), M(2), C(32, 64, 5, padding=2), M(2),
                         nn.Flatten(), nn.Linear(1024, 64), nn.Linear(64, 10))


def golden():
    """make_golden.py, whose formula gives every library the same parameters and samples."""
    import torch
    threads = torch.get_num_threads()
    sys.path.insert(0, str(ROOT / "tests" / "golden"))
    import make_golden
    torch.set_default_dtype(torch.float32)  # it has changed both
    torch.set_num_threads(threads)
    return make_golden


def net_and_samples(net, variant, batch, count, known):
    """`known`: by the formula, dropout off."""
    import torch
    layout = torch.channels_last if variant == "channels_last" else torch.contiguous_format
    shape = (batch, 1, 28, 28) if net == "A" else (batch, 3, 32, 32)
    model = torch_net(net)
    if known:
        golden().fill(model)
        xs = [golden().formula(1, shape).float()] * count
    else:
        xs = [torch.rand(shape) for _ in range(count)]
    return model.train(not known).to(memory_format=layout), [x.to(memory_format=layout) for x in xs]


def torch_step(net, variant, batch, known=False):
    import torch
    import torch.nn.functional as F
    model, xs = net_and_samples(net, variant, batch, 8, known)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5 if net == "A" else 0)
    y = torch.arange(batch) * 7 % 10

    def loss_of(x):
        return F.cross_entropy(model(x), y)

    f = torch.compile(loss_of, dynamic=False) if variant == "compile" else loss_of
    k = 0

    def step():
        nonlocal k
        optimizer.zero_grad()
        loss = f(xs[k])
        loss.backward()
        optimizer.step()
        k = (k + 1) % 8
        return loss

    return step


def torch_inference(net, variant, batch, known=False):
    import torch
    model, (x,) = net_and_samples(net, variant, batch, 1, known)
    model.eval()
    f = torch.compile(model, dynamic=False) if variant == "compile" else model
    return lambda: f(x)


def onnx_inference(net, variant, batch, cpus, pin, known=False):
    import io

    import numpy as np
    import onnxruntime
    import torch
    file = io.BytesIO()
    model, (x,) = net_and_samples(net, variant, batch, 1, known)
    torch.onnx.export(model.eval(), (x,), file, input_names=["x"], output_names=["y"], dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = len(cpus), 1
    if pin:  # its own threads, counting CPUs from 1; the calling thread is ours
        options.add_session_config_entry("session.intra_op_thread_affinities", ";".join(str(c + 1) for c in cpus[1:]))
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    if pin:
        os.sched_setaffinity(0, cpus[:1])
    if variant == "run":
        feed = {"x": x.numpy()}
        return lambda: session.run(None, feed)[0]
    binding = session.io_binding()
    y = onnxruntime.OrtValue.ortvalue_from_shape_and_type([batch, 10], np.float32)
    binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(x.numpy()))
    binding.bind_ortvalue_output("y", y)

    def run():
        session.run_with_iobinding(binding)
        return y

    return run


def torch_epochs(a):
    """The tutorial's loop: a Dataset that gives PIL images, ToTensor, Normalize, DataLoader; nll_loss of log_softmax. An epoch
    for each line of standard input; prints its seconds."""
    import numpy as np
    import torch
    import torch.nn.functional as F
    from PIL import Image
    from torchvision import transforms

    folder = pathlib.Path(a.data)
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
    for _ in sys.stdin:
        begin = time.perf_counter()
        for x, y in loader:
            optimizer.zero_grad()
            F.nll_loss(net(x), y).backward()
            optimizer.step()
        print(time.perf_counter() - begin, flush=True)


def measure(a, f):
    """Seconds a call, one value a round; protocol.hpp does the same."""
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
        samples.append((time.perf_counter() - begin) / n)
    return samples


def worker(a):
    import torch
    threads, = a.threads
    torch.set_num_threads(1 if a.lib == "onnxruntime" else threads)  # there it only makes the model
    torch.manual_seed(1)
    if a.op == "epoch":
        return torch_epochs(a)

    def make(net, op, batch, known):
        if a.lib == "onnxruntime":
            return onnx_inference(net, a.variant, batch, a.cpus[:threads], threads > 1 and not a.unpinned, known)
        return (torch_step if op in ("train", "losses") else torch_inference)(net, a.variant, batch, known)

    def numbers(y):  # an array, or a tensor that has one
        return getattr(y, "numpy", lambda: y)().ravel().tolist()

    def without_gradients(op):
        if op in ("train", "losses"):
            return contextlib.nullcontext()
        return torch.no_grad() if a.variant == "compile" else torch.inference_mode()

    if a.op == "parity":
        values = []
        for net, op, batch in compared(a.lib, a.variant):
            f = make(net, op, batch, True)
            with without_gradients(op):
                values.append([f().item() for _ in range(10)] if op == "losses" else numbers(f()))
        print(json.dumps({"values": values}))
        return
    f = make(a.net, a.op, a.batch, False)
    with without_gradients(a.op):
        seconds, probes, ok = undisturbed(a, threads, a.tries, lambda: measure(a, f))
    scale = 1e6 / a.batch if a.op == "infer" else 1e3
    print(json.dumps({"samples": [s * scale for s in seconds], "probes": probes, "ok": ok, "solo": a.solo}))
