#!/usr/bin/env python3
"""Makes the golden file of losses with PyTorch, in float64 on the CPU: losses.txt.

  python3 make_loss_golden.py      in an environment with torch and numpy; writes beside this script

make_golden.py says what inputs, parameters and lines are. `loss` and `dz`: the value and the gradient of 5 samples' outputs z,
8 times array 1. `losses` and `p0` ...: of a net of two linear layers that learns 8 samples for 20 steps.
"""
import copy

import torch
from torch import nn

from make_golden import File, S, fill, formula

SCRIPT = "make_loss_golden.py"
SAMPLES, OUTPUTS, IMAGE = 5, 7, (3, 2, 4)

W = [0.5, 1, 2, 0.25, 0, 3, 1.5]  # of classes or outputs
LABELS = [3, 6, 0, 5, 2]
IGNORED = [3, -100, 0, -100, 2]
IGNORED_1 = [1, 6, 1, 5, 2]

# tests/train/losses_golden_test.cpp has the same.
OF_CLASSES = [
    ("ce", nn.CrossEntropyLoss, dict(), LABELS),
    ("ce_weight", nn.CrossEntropyLoss, dict(weight=W), LABELS),
    ("ce_ignored", nn.CrossEntropyLoss, dict(), IGNORED),
    ("ce_ignore_index", nn.CrossEntropyLoss, dict(ignore_index=1, weight=W), IGNORED_1),
    ("ce_smoothing", nn.CrossEntropyLoss, dict(label_smoothing=0.1), LABELS),
    ("ce_all", nn.CrossEntropyLoss, dict(weight=W, ignore_index=1, label_smoothing=0.3), IGNORED_1),
    ("ce_sum", nn.CrossEntropyLoss, dict(weight=W, label_smoothing=0.3, reduction="sum"), IGNORED),
    ("nll", nn.NLLLoss, dict(), LABELS),
    ("nll_all", nn.NLLLoss, dict(weight=W, ignore_index=1), IGNORED_1),
    ("nll_sum", nn.NLLLoss, dict(weight=W, reduction="sum"), IGNORED),
]
OF_VALUES = [
    ("mse", nn.MSELoss, dict()),
    ("mse_sum", nn.MSELoss, dict(reduction="sum")),
    ("l1", nn.L1Loss, dict()),
    ("l1_sum", nn.L1Loss, dict(reduction="sum")),
    ("huber", nn.HuberLoss, dict()),
    ("huber_delta", nn.HuberLoss, dict(delta=2.5, reduction="sum")),
    ("smooth_l1", nn.SmoothL1Loss, dict()),
    ("smooth_l1_beta", nn.SmoothL1Loss, dict(beta=0.5)),
    ("bce", nn.BCEWithLogitsLoss, dict()),
    ("bce_weight", nn.BCEWithLogitsLoss, dict(weight=W)),
    ("bce_pos_weight", nn.BCEWithLogitsLoss, dict(pos_weight=W)),
    ("bce_all", nn.BCEWithLogitsLoss, dict(weight=W, pos_weight=W[::-1], reduction="sum")),
]


def make(kind, options, dtype):
    tensors = {k: torch.tensor(v, dtype=dtype) for k, v in options.items() if isinstance(v, list)}
    return kind(**(options | tensors))


def targets(kind, shape):
    """Array 2: of probabilities its upper half, where it is positive."""
    return formula(2, shape).clamp(min=0) if kind is nn.BCEWithLogitsLoss else formula(2, shape)


def value_and_gradient(out, name, kind, options, shape, labels):
    def run(dtype):
        z = (8 * formula(1, (SAMPLES, *shape))).to(dtype).requires_grad_()
        y = labels.to(dtype) if labels.is_floating_point() else labels
        scores = z.log_softmax(1) if kind is nn.NLLLoss else z
        loss = make(kind, options, dtype)(scores, y)
        loss.backward()
        return loss, z.grad

    (loss, dz), (in_float, dz_in_float) = run(torch.float64), run(torch.float32)
    out.case(name)
    out.array("loss", loss, in_float=in_float)
    out.array("dz", dz, most=1000, in_float=dz_in_float)


def train(out, name, kind, options, labels):
    def run(net, dtype):
        x, y = formula(1, (8, 6)).to(dtype), labels.to(dtype) if labels.is_floating_point() else labels
        loss_of, o, losses = make(kind, options, dtype), torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), []
        for _ in range(20):
            o.zero_grad()
            loss = loss_of(net(x), y)
            loss.backward()
            o.step()
            losses.append(loss.item())
        return losses, list(net.parameters())

    net = S(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 7))
    fill(net)
    in_float = run(copy.deepcopy(net).float(), torch.float32)
    losses, last = run(net, torch.float64)
    out.case(name)
    out.array("losses", losses, in_float=in_float[0])
    for k, p in enumerate(last):
        out.array(f"p{k}", p, in_float=in_float[1][k])


if __name__ == "__main__":
    out = File("losses.txt", SCRIPT)
    for name, kind, options, labels in OF_CLASSES:
        value_and_gradient(out, name, kind, options, (OUTPUTS,), torch.tensor(labels))
    for name, kind, options in OF_VALUES:
        value_and_gradient(out, name, kind, options, (OUTPUTS,), targets(kind, (SAMPLES, OUTPUTS)))
    value_and_gradient(out, "mse_image", nn.MSELoss, {}, IMAGE, targets(nn.MSELoss, (SAMPLES, *IMAGE)))
    train(out, "train_ce", nn.CrossEntropyLoss, dict(weight=W, ignore_index=6, label_smoothing=0.1), torch.arange(8) * 3 % 7)
    train(out, "train_huber", nn.HuberLoss, dict(delta=0.5), targets(nn.HuberLoss, (8, 7)))
    out.write()
