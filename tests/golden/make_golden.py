#!/usr/bin/env python3
"""Makes the golden files of the tests with PyTorch, in float64 on the CPU: layers.txt, norms.txt, branches.txt, nets.txt,
sgd.txt.

  python3 make_golden.py      in an environment with torch and numpy; writes beside this script

Inputs and parameters are no data but a formula that the tests compute, too: element i of the array with number s is
(2 u - 1) * scale, u the top 24 bits of number i % 4 of the Philox4x32-10 block with counter (i / 4, 0, 0, 3 << 24) and key
(s, 0), as a fraction. Parameter k of a net is array 100 + k with scale 2^-floor(log2(fan_in) / 2); the input is array 1, the
gradient of the output array 2, both with scale 1; labels are (7 i) mod classes.

A line `array NAME COUNT STRIDE SUM` is followed by every STRIDE-th of COUNT values; SUM is that of all. Where the same was
also computed in float32, `array NAME COUNT STRIDE SUM ERROR` says how far PyTorch's own float32 result is away at most.
"""
import copy
import functools
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def philox(counter, key):
    """Philox4x32-10 of arrays of counters (4 arrays of uint32)."""
    c = [np.asarray(x, dtype=np.uint64) for x in counter]
    k = [np.uint64(key[0]), np.uint64(key[1])]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ k[0], b & low, (a >> np.uint64(32)) ^ c[3] ^ k[1], a & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return c


def known_answers():  # from the authors' Random123 distribution, kat_vectors
    for counter, key, result in [
        ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ]:
        got = " ".join(f"{int(x[0]):08x}" for x in philox([[v] for v in counter], key))
        assert got == result, (got, result)


known_answers()


def formula(number, shape, scale=1.0):
    n = math.prod(shape)
    group = np.arange((n + 3) // 4)
    zero = np.zeros_like(group)
    r = np.stack(philox([group, zero, zero, zero + (3 << 24)], [number, 0]), 1).reshape(-1)[:n]
    u = (r >> np.uint64(8)).astype(np.float64) * 2.0**-24
    return torch.tensor(((2 * u - 1) * scale).reshape(shape))


def fill(net):
    with torch.no_grad():
        k = 0
        for m in net.modules():
            for _, p in m.named_parameters(recurse=False):
                fan_in = 1 if isinstance(m, (nn.LayerNorm, nn.Embedding)) else math.prod(m.weight.shape[1:])
                p.copy_(formula(100 + k, p.shape, 2.0 ** -math.floor(math.log2(fan_in) / 2)))
                k += 1


class File:
    def __init__(self, name, script="make_golden.py"):
        self.lines = [f"# made by {script} with torch {torch.__version__}"]
        self.path = HERE / name

    def case(self, name):
        self.lines.append(f"case {name}")

    def array(self, name, values, most=40, in_float=None):
        v = torch.as_tensor(values).detach().reshape(-1).tolist()
        stride = max(1, -(-len(v) // most))
        stride += stride > 1 and stride % 2 == 0  # odd: not one column of channels again and again
        error = ""
        if in_float is not None:
            w = torch.as_tensor(in_float).detach().reshape(-1).tolist()
            error = f" {max(abs(a - b) for a, b in zip(v, w, strict=True)):.3g}"
        self.lines.append(f"array {name} {len(v)} {stride} {math.fsum(v)!r}{error}")
        self.lines.append(" ".join(repr(x) for x in v[::stride]))

    def write(self):
        self.path.write_text("\n".join(self.lines) + "\n")
        print(self.path.name, self.path.stat().st_size)


def C(i, o, k, s=1, p=0, bias=True, dilation=1, groups=1):
    return nn.Conv2d(i, o, k, s, p, dilation, groups, bias)


class Embed(nn.Embedding):
    """Of indices in place of the formula's numbers: as channels of an image."""

    def samples(self, numbers):
        return ((numbers + 1) / 2 * self.num_embeddings).floor()

    def forward(self, x):
        return super().forward(x.long()).transpose(1, 2).unsqueeze(3)


R, M, S = nn.ReLU, nn.MaxPool2d, nn.Sequential

# name, net, input without the batch, batch: tests/nn/layers_golden_test*.cpp has the same as types
LAYERS = [
    ("conv_1x1", S(C(3, 5, 1)), (3, 4, 5), 2),
    ("conv_3x3", S(C(1, 16, 3)), (1, 9, 9), 3),
    ("conv_3x3_no_bias", S(C(3, 17, 3, bias=False)), (3, 7, 8), 2),
    ("conv_5x5_pad_2", S(C(3, 16, 5, 1, 2)), (3, 9, 7), 2),
    ("conv_rectangle", S(C(5, 3, (3, 5))), (5, 6, 9), 2),
    ("conv_rectangle_pad", S(C(5, 16, (3, 5), 1, (1, 2))), (5, 6, 7), 1),
    ("conv_stride_2", S(C(3, 5, 3, 2)), (3, 9, 10), 2),
    ("conv_stride_2_pad_1", S(C(16, 17, 3, 2, 1)), (16, 7, 8), 2),
    ("conv_stride_2_1", S(C(3, 16, 3, (2, 1), (1, 0))), (3, 8, 6), 5),
    ("conv_wide", S(C(17, 33, 3, 1, 1)), (17, 5, 6), 2),
    ("conv_whole_input", S(C(3, 4, 5)), (3, 5, 5), 3),
    ("conv_relu", S(C(3, 16, 3), R()), (3, 8, 8), 2),
    ("conv_relu_pool", S(C(1, 16, 3), R(), M(2)), (1, 10, 12), 3),
    ("conv_pool_relu", S(C(1, 5, 3), M(2), R()), (1, 10, 12), 3),
    ("conv_pool_leftover", S(C(3, 16, 3), R(), M(2)), (3, 9, 11), 2),
    ("conv_pool_3", S(C(3, 16, 3), M(3)), (3, 12, 11), 2),
    ("conv_pool_1x2", S(C(3, 8, 3), R(), M((1, 2))), (3, 7, 10), 2),
    ("conv_pool_overlap", S(C(3, 8, 3), R(), M(3, 2)), (3, 11, 12), 2),
    ("conv_pool_padded", S(C(3, 8, 3), M(3, 2, 1)), (3, 9, 10), 2),
    ("conv_stride_pool", S(C(3, 8, 3, 2), R(), M(2)), (3, 13, 12), 2),
    ("conv_conv", S(C(1, 16, 3), R(), C(16, 8, 3), R()), (1, 9, 10), 2),
    ("conv_conv_pool", S(C(1, 16, 3), R(), C(16, 32, 3), R(), M(2)), (1, 12, 12), 2),
    ("conv_pad_conv_pad", S(C(3, 8, 3, 1, 1), R(), C(8, 6, 5, 1, 2)), (3, 6, 7), 2),
    ("conv_pool_conv_pool_pad", S(C(3, 32, 5, 1, 2), M(2), C(32, 32, 5, 1, 2), M(2)), (3, 12, 12), 2),
    ("conv_3x3_conv_stride_2", S(C(3, 8, 3), R(), C(8, 8, 3, 2, 1), R()), (3, 9, 9), 2),
    ("conv_7x7_pad_3_stride_2", S(C(3, 16, 7, 2, 3), R(), M(3, 2, 1)), (3, 17, 19), 1),
    ("pool_alone", S(M(2)), (3, 6, 7), 2),
    ("pool_3_stride_1", S(M(3, 1)), (5, 6, 7), 2),
    ("pool_column", S(M((3, 1), 1)), (1, 20, 1), 1),
    ("pool_pool", S(C(1, 4, 3), M(2), M(2)), (1, 14, 14), 2),
    ("relu_alone", S(R()), (3, 4, 5), 2),
    ("relu_conv", S(R(), C(3, 8, 3, 1, 1)), (3, 6, 6), 2),
    ("linear", S(nn.Linear(7, 5)), (7,), 3),
    ("linear_no_bias", S(nn.Linear(33, 17, bias=False)), (33,), 5),
    ("linear_relu_linear", S(nn.Linear(20, 40), R(), nn.Linear(40, 10)), (20,), 4),
    ("flatten_linear", S(nn.Flatten(), nn.Linear(60, 9)), (3, 4, 5), 2),
    ("conv_flatten_linear", S(C(2, 5, 3), R(), M(2), nn.Flatten(), nn.Linear(30, 20), R(), nn.Linear(20, 4)), (2, 6, 8), 3),
    ("log_softmax_flat", S(nn.LogSoftmax(1)), (11,), 3),
    ("log_softmax_channels", S(nn.LogSoftmax(1)), (5, 3, 4), 2),
    ("log_softmax_flattened", S(C(2, 3, 1), nn.Flatten(), nn.LogSoftmax(1)), (2, 3, 4), 2),
    ("linear_log_softmax", S(nn.Linear(20, 10), nn.LogSoftmax(1)), (20,), 4),
    ("log_softmax_conv", S(C(2, 5, 1), nn.LogSoftmax(1), C(5, 4, 3, 1, 1)), (2, 5, 5), 2),
    ("softmax_relu", S(nn.Linear(20, 10), nn.Softmax(1), nn.Linear(10, 3), R()), (20,), 4),
    ("softmax_channels", S(nn.Softmax(1), nn.Tanh()), (5, 3, 4), 2),
    ("from_output", S(C(3, 9, 3), nn.LeakyReLU(0.2), nn.ELU(0.7), M(2), nn.Flatten(), nn.Linear(144, 12), nn.Tanh(),
                      nn.Linear(12, 6), nn.ELU(), nn.LeakyReLU(), nn.Sigmoid()), (3, 10, 10), 2),
    ("from_input", S(C(2, 5, 3, 1, 1), R(), nn.GELU(), nn.AvgPool2d(2), nn.SiLU(), nn.Tanh(), nn.Flatten(),
                     nn.Linear(45, 12), nn.GELU("tanh"), nn.Linear(12, 6), nn.Hardswish()), (2, 6, 6), 3),
    ("all_pointwise", S(nn.Identity(), nn.LeakyReLU(), nn.GELU(), nn.SiLU(), nn.Sigmoid(), nn.Hardswish(), nn.ELU(), nn.Tanh(),
                        nn.GELU("tanh")), (3, 4, 5), 2),
    ("mean_pools", S(nn.AvgPool2d(3, 2, 1), nn.AvgPool2d(2), nn.SiLU()), (3, 13, 14), 2),
    ("mean_pool_inside", S(nn.AvgPool2d((3, 2), (1, 2), (1, 1), count_include_pad=False)), (5, 6, 7), 2),
    ("adaptive_pool", S(nn.AdaptiveAvgPool2d((3, 2)), R(), C(3, 5, 3, 1, 1)), (3, 8, 7), 2),
    ("global_pool", S(R(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(9, 4)), (9, 8, 7), 3),
    ("conv_depthwise", S(C(18, 18, 3, 1, 1, groups=18), R(), C(18, 18, (3, 2), (2, 1), (0, 1), bias=False, groups=18)), (18, 7, 6), 3),
    ("conv_groups", S(C(6, 9, 3, groups=3), R(), C(9, 36, (2, 3), 2, 1, groups=9), M(2), C(36, 34, 1, groups=2)), (6, 9, 9), 3),
    ("conv_dilated", S(C(3, 18, 3, 1, 2, dilation=2), R(), C(18, 5, 3, (1, 2), (1, 3), dilation=(1, 3))), (3, 9, 10), 2),
    ("embedding_mean", S(Embed(11, 18), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(18, 4)), (7,), 5),
    ("embedding_flat", S(Embed(9, 5, padding_idx=-7), nn.Tanh(), nn.Flatten(), nn.Linear(30, 3)), (6,), 4),
    ("embedding_conv", S(Embed(2000, 6), C(6, 8, (3, 1), 1, (1, 0)), R(), M((2, 1)), nn.Flatten(), nn.Linear(32, 3)), (8,), 3),
]


B2, B1 = nn.BatchNorm2d, nn.BatchNorm1d

# The same with batch normalisation: also running statistics after a training pass, and what the net makes of the
# samples then, dropout and statistics off.
NORMS = [
    ("norm_conv", S(C(2, 5, 3), B2(5), R(), M(2), C(5, 6, 2, 1, 1), B2(6, eps=1e-3, momentum=0.3), nn.Flatten(), nn.Linear(54, 9),
                    B1(9), nn.Tanh(), nn.Linear(9, 4)), (2, 6, 7), 5),
    ("norm_first", S(B2(3), R(), nn.Flatten(), B1(60, affine=False), nn.Linear(60, 4)), (3, 4, 5), 7),
    ("norm_pad", S(C(3, 4, 3), R(), B2(4, affine=False), nn.GELU(), C(4, 3, 3, 1, 1, bias=False), B2(3)), (3, 6, 5), 3),
    ("norm_flat", S(B1(6), nn.Linear(6, 5, bias=False), B1(5), nn.SiLU()), (6,), 4),
    ("layer_norm_first", S(nn.LayerNorm((3, 5, 6)), C(3, 5, 3, 1, 1), nn.LayerNorm((5, 5, 6), eps=1e-3, bias=False), R(),
                           C(5, 4, 3, 1, 1), nn.Flatten(), nn.LayerNorm(120), nn.Linear(120, 6)), (3, 5, 6), 5),
    ("layer_norm_flat", S(nn.Linear(20, 30), nn.LayerNorm(30), nn.Tanh(), nn.LayerNorm(30, elementwise_affine=False), nn.GELU(),
                          nn.Linear(30, 7), nn.LayerNorm(7)), (20,), 9),
    ("norm_groups", S(C(4, 8, 3, 1, 1, groups=2), B2(8), R(), C(8, 8, 3, 1, 2, bias=False, dilation=2, groups=8), B2(8)), (4, 6, 5), 3),
]


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class Add(nn.ModuleList):
    def forward(self, x):
        return functools.reduce(torch.add, (branch(x) for branch in self))


class Concat(nn.ModuleList):
    def forward(self, x):
        return torch.cat([branch(x) for branch in self], 1)


I, L, Flat = nn.Identity, nn.Linear, nn.Flatten

# With branches, likewise: tests/nn/branch_golden_test.cpp has the same as types.
BRANCHES = [
    ("resnet", S(C(3, 5, 3, 1, 1), B2(5), R(),
                 Residual(C(5, 5, 3, 1, 1, bias=False), B2(5), R(), C(5, 5, 3, 1, 1, bias=False), B2(5)), R(),
                 Add([S(C(5, 9, 3, 2, 1), B2(9), R(), C(9, 9, 3, 1, 1), B2(9)), S(C(5, 9, 1, 2, bias=False), B2(9))]), R(),
                 nn.AdaptiveAvgPool2d(1), Flat(), L(9, 4)), (3, 6, 7), 5),
    ("concat", S(Concat([C(3, 3, 3, 1, 1), S(C(3, 5, 1), R())]), nn.Tanh(), C(8, 6, 3, 1, 1),
                 Concat([C(6, 3, 1), M(3, 1, 1), I()]), R(), Flat(), L(450, 4)), (3, 5, 6), 4),
    ("nested", S(C(2, 5, 3, 1, 1), Residual(Residual(C(5, 5, 3, 1, 1), R()), B2(5), nn.GELU(),
                                            Add([I(), S(nn.Softmax(1), C(5, 5, 3, 1, 1))])), M(2), Residual(R())), (2, 6, 8), 3),
    ("flat", S(L(6, 9), Residual(L(9, 9), nn.Tanh(), Residual(B1(9), L(9, 9))), R(), Add([L(9, 3), L(9, 3), S(R(), L(9, 3))])),
     (6,), 5),
    ("flattened", S(Concat([S(Flat(), L(60, 7), R()), S(C(3, 2, 3), R(), Flat()), Flat()]), B1(79), nn.SiLU(), L(79, 5)),
     (3, 4, 5), 6),
    ("input", S(Residual(C(3, 3, 3, 1, 1)), Add([S(C(3, 4, (2, 1)), Flat()), S(C(3, 16, (4, 3)), Flat())])), (3, 5, 4), 3),
    ("sums", S(C(3, 12, 3, 1, 1), R(), Residual(C(12, 12, 3, 1, 1, groups=4), R()), Add([C(12, 10, 3, 2, 1), C(12, 10, 1, 2)]), R(),
               Add([S(C(10, 10, 3, 1, 1), B2(10), nn.Tanh()), I()]), M(2), Flat(), L(40, 4)), (3, 9, 8), 4),
]


def norm_pass(net, shape, batch, dtype):
    """All of it, by name; a float pass tells what float's roundings come to: some of these gradients are sums of 0."""
    net = copy.deepcopy(net).to(dtype)
    x = formula(1, (batch, *shape)).to(dtype).requires_grad_()
    y = net.train()(x)
    y.backward(formula(2, y.shape).to(dtype))
    found = {"y": y, "dx": x.grad}
    found |= {f"dp{k}": p.grad for k, p in enumerate(net.parameters())}
    found |= {f"b{k}": b for k, b in enumerate(b for b in net.buffers() if b.ndim)}
    found["eval"] = net.eval()(x)
    return found


def norms(file, cases):
    out = File(file)
    for name, net, shape, batch in cases:
        fill(net)
        exact, in_float = (norm_pass(net, shape, batch, t) for t in (torch.float64, torch.float32))
        out.case(name)
        for key in exact:
            out.array(key, exact[key], in_float=in_float[key])
    out.write()


def layers():
    out = File("layers.txt")
    for name, net, shape, batch in LAYERS:
        fill(net)
        x = formula(1, (batch, *shape)).requires_grad_()
        y = net(net[0].samples(x) if isinstance(net[0], Embed) else x)
        y.backward(formula(2, y.shape))
        out.case(name)
        out.array("y", y)
        if x.grad is not None:
            out.array("dx", x.grad)
        for k, p in enumerate(net.parameters()):
            out.array(f"dp{k}", p.grad)
    out.write()


def lenet():
    return S(C(1, 16, 3), R(), C(16, 32, 3), R(), M(2), nn.Flatten(), nn.Linear(4608, 128), R(), nn.Linear(128, 10),
             nn.LogSoftmax(1))


def cifar():
    return S(C(3, 32, 5, 1, 2), M(2), C(32, 32, 5, 1, 2), M(2), C(32, 64, 5, 1, 2), M(2), nn.Flatten(), nn.Linear(1024, 64),
             nn.Linear(64, 10))


def mask(p, layer, step, seed, batch, channels, pixels, whole_channels):
    """ops/dropout.hpp's masks, from their formula: [batch][channels][pixels]."""
    groups = (channels + 3) // 4
    q = 1 if whole_channels else pixels
    group, sample = np.meshgrid(np.arange(q * groups), np.arange(batch))
    r = np.stack(philox([group, sample, np.full_like(group, step), np.full_like(group, (1 << 24) | layer)], [seed, 0]), -1)
    keep = r.reshape(batch, q, groups * 4)[:, :, :channels] >= np.uint64(int(p * 2**32))
    return torch.tensor(np.broadcast_to(keep.transpose(0, 2, 1) / (1 - p), (batch, channels, pixels)).copy())


class Dropped(nn.Module):
    """conv, relu, pool, Dropout2d 0.25, flatten, linear, relu, Dropout 0.5, linear: layers 0 to 8."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc1, self.fc2 = C(2, 6, 3), nn.Linear(54, 20), nn.Linear(20, 4)
        self.step, self.seed = 0, 77

    def forward(self, x):
        n = len(x)
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        x = x * mask(0.25, 3, self.step, self.seed, n, 6, 9, True).reshape(n, 6, 3, 3).to(x.dtype)
        x = F.relu(self.fc1(x.flatten(1)))
        x = x * mask(0.5, 7, self.step, self.seed, n, 20, 1, False).reshape(n, 20).to(x.dtype)
        self.step += 1
        return self.fc2(x)


def watch_pools(net):
    """-> a list whose one element is the smallest lead of a 2x2 pool's winner over the second that ever was."""
    least = [math.inf]

    def hook(_, inputs, __):
        x = inputs[0]
        n, c, h, w = x.shape
        windows = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(3, 4).reshape(-1, 4).sort(1).values
        lead = windows[:, 3] - windows[:, 2]
        least[0] = min(least[0], lead[windows[:, 3] != windows[:, 2]].min().item())  # equal: the first wins, everywhere

    for m in net.modules():
        if isinstance(m, nn.MaxPool2d):
            m.register_forward_hook(hook)
    return least


def train(out, name, net, shape, batch, classes, steps, input_number=1, **sgd):
    def run(net, x):
        y = torch.arange(batch) * 7 % classes
        o = torch.optim.SGD(net.parameters(), **sgd)
        losses, first = [], []
        for step in range(steps):
            o.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            if step == 0:
                first = [p.grad.clone() for p in net.parameters()]
            o.step()
            losses.append(loss.item())
        return losses, first, list(net.parameters())

    fill(net)
    x = formula(input_number, (batch, *shape))
    in_float = run(copy.deepcopy(net).float(), x.float())
    lead = watch_pools(net)
    losses, first, last = run(net, x)
    # Where another rounding changes which input wins a pool, gradients differ by more than roundings.
    assert lead[0] > 5e-7, f"{name}: two inputs of a pool are {lead[0]} apart: take another input"
    out.case(name)
    for k, g in enumerate(first):
        out.array(f"dp{k}", g, in_float=in_float[1][k])
    out.array("losses", losses, most=1000, in_float=in_float[0])
    for k, p in enumerate(last):
        out.array(f"p{k}", p, in_float=in_float[2][k])


def nets():
    out = File("nets.txt")
    train(out, "lenet", lenet(), (1, 28, 28), 16, 10, 20, lr=0.01, momentum=0.5)
    train(out, "cifar", cifar(), (3, 32, 32), 8, 10, 5, input_number=38, lr=0.01)
    train(out, "dropped", Dropped(), (2, 8, 8), 6, 4, 3, lr=0.05)
    out.write()


def sgd():
    out = File("sgd.txt")
    for name, options in [
        ("plain", dict(lr=0.1)),
        ("momentum", dict(lr=0.1, momentum=0.9)),
        ("dampening", dict(lr=0.1, momentum=0.9, dampening=0.3)),
        ("weight_decay", dict(lr=0.1, weight_decay=0.05)),
        ("momentum_weight_decay", dict(lr=0.1, momentum=0.5, weight_decay=0.05)),
        ("nesterov", dict(lr=0.1, momentum=0.9, nesterov=True)),
        ("nesterov_weight_decay", dict(lr=0.05, momentum=0.7, weight_decay=0.02, nesterov=True)),
    ]:
        train(out, name, S(nn.Linear(6, 9), R(), nn.Linear(9, 3)), (6,), 8, 3, 50, **options)
    out.write()


if __name__ == "__main__":
    layers()
    norms("norms.txt", NORMS)
    norms("branches.txt", BRANCHES)
    nets()
    sgd()
