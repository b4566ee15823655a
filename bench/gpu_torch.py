#!/usr/bin/env python3
"""The two nets of gpu.cu in PyTorch on a GPU, eager and as a CUDA graph, fp32 with TF32 off: JSON to stdout, a table to stderr.

    gpu_torch.py [--quick]

A step is what gpu.cu's is: the batch comes from the host's memory, the loss goes there. Without PyTorch, or a GPU that it sees, it
says so and ends with 1."""
import json
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))

try:
    import torch
except ImportError as e:
    sys.exit(f"PyTorch: not compared: {e}")
if not torch.cuda.is_available():
    sys.exit(f"PyTorch {torch.__version__}: not compared: it sees no CUDA")

from libraries import torch_net

QUICK = sys.argv[1:] == ["--quick"]
ROUNDS, STEPS = (1, 1) if QUICK else (7, 50)
BATCHES = (2, 3) if QUICK else (64, 512)


class Case:
    """A net in training at one batch size."""

    def __init__(self, net, batch, graphed):
        shape = (1, 28, 28) if net == "A" else (3, 32, 32)
        self.host = torch.randn(batch, *shape)
        self.labels = torch.arange(batch) * 7 % 10
        self.model = torch_net(net).cuda().train()
        self.loss_of = torch.nn.NLLLoss() if net == "A" else torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=.01, momentum=.9)
        self.x, self.y = self.host.cuda(), self.labels.cuda()
        self.graph = None
        if graphed:
            side = torch.cuda.Stream()  # steps before the capture, as PyTorch's documents have it
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.work()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.loss = self.work()

    def work(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss_of(self.model(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss

    def step(self):
        self.x.copy_(self.host)
        self.y.copy_(self.labels)
        if self.graph is None:
            return self.work().item()
        self.graph.replay()
        return self.loss.item()

    def infer(self):
        with torch.no_grad():
            self.x.copy_(self.host)
            return self.model(self.x).cpu()


def seconds(f):
    f()
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(STEPS):
        f()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) / 1e3 / STEPS


def main():
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    cases = {(net, batch, graphed): Case(net, batch, graphed)
             for net in "AB" for batch in BATCHES for graphed in (False, True)}
    times = {}
    for _ in range(ROUNDS):
        for (net, batch, graphed), case in cases.items():
            name = {"A": "lenet", "B": "cifar10"}[net]
            how = "graph" if graphed else "eager"
            times.setdefault((name, f"step, batch {batch}", how), []).append(seconds(case.step))
            if not graphed:
                case.model.eval()
                times.setdefault((name, f"inference, batch {batch}", how), []).append(seconds(case.infer))
                case.model.train()
    rows = [{"net": n, "what": w, "how": h, "seconds": statistics.median(v), "rounds": v} for (n, w, h), v in times.items()]
    print(json.dumps({"version": torch.__version__, "device": torch.cuda.get_device_name(), "tf32": False,
                      "measured": not QUICK, "rows": rows}))
    for r in rows:
        print(f"PyTorch {r['how']:6} {r['net']:8} {r['what']:22} {r['seconds'] * 1e6:12.1f} us", file=sys.stderr)


if __name__ == "__main__":
    main()
