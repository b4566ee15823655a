#!/usr/bin/env python3
"""Makes the golden files of optimizers and schedules with PyTorch, in float64 on the CPU: optimizers.txt, schedules.txt.

  python3 make_optimizer_golden.py      in an environment with torch and numpy; writes beside this script

make_golden.py says what inputs, parameters and lines are. A net of two linear layers learns 8 samples for 50 steps.
"""
import copy

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.optim import lr_scheduler as lr
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from make_golden import File, S, fill, formula

SCRIPT = "make_optimizer_golden.py"
SAMPLES, STEPS = 8, 50

# Optimizer and options of each case: tests/train/optimizers_test.cpp has the same.
OPTIMIZERS = [
    ("adam", optim.Adam, dict(lr=0.01)),
    ("adam_betas", optim.Adam, dict(lr=0.01, betas=(0.7, 0.95), eps=1e-3)),
    ("adam_weight_decay", optim.Adam, dict(lr=0.01, weight_decay=0.1)),
    ("adam_amsgrad", optim.Adam, dict(lr=0.03, betas=(0.9, 0.8), amsgrad=True)),
    ("adamw", optim.AdamW, dict()),
    ("adamw_weight_decay", optim.AdamW, dict(lr=0.02, weight_decay=0.3)),
    ("adamw_amsgrad", optim.AdamW, dict(lr=0.03, betas=(0.9, 0.8), weight_decay=0.1, amsgrad=True)),
    ("rmsprop", optim.RMSprop, dict()),
    ("rmsprop_alpha", optim.RMSprop, dict(lr=0.002, alpha=0.8, eps=1e-3, weight_decay=0.1)),
    ("rmsprop_momentum", optim.RMSprop, dict(lr=0.002, momentum=0.7)),
    ("rmsprop_centered", optim.RMSprop, dict(lr=0.002, centered=True)),
    ("rmsprop_all", optim.RMSprop, dict(lr=0.001, alpha=0.9, momentum=0.5, weight_decay=0.05, centered=True)),
    ("adagrad", optim.Adagrad, dict()),
    ("adagrad_lr_decay", optim.Adagrad, dict(lr=0.1, lr_decay=0.1)),
    ("adagrad_all", optim.Adagrad, dict(lr=0.1, lr_decay=0.01, initial_accumulator_value=0.1, eps=1e-3, weight_decay=0.1)),
]


def make_net():
    net = S(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 3))
    fill(net)
    return net


def train(net, optimizer, parts=1, clip=lambda parameters: None, after=lambda net: None):
    """-> the loss of each step (of its last part), and what clip() gave."""
    kind = next(net.parameters()).dtype
    x, y = formula(1, (SAMPLES, 6)).to(kind), torch.arange(SAMPLES) * 7 % 3
    losses, clipped = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        for part, labels in zip(x.chunk(parts), y.chunk(parts)):
            loss = F.cross_entropy(net(part), labels)
            (loss / parts).backward()
        clipped.append(clip(list(net.parameters())))
        optimizer.step()
        after(net)
        losses.append(loss.item())
    return losses, clipped


# A data set that is no multiple of its batches, all of it, and parts: tests/train/optimizers_test.cpp has the same.
BATCHES = [(0, 3), (3, 6), (6, 8), (0, 8), (2, 3), (4, 8)]


def train_batches(net, optimizer):
    """-> the loss of each step; its batch is the next of BATCHES."""
    kind = next(net.parameters()).dtype
    x, y = formula(1, (SAMPLES, 6)).to(kind), torch.arange(SAMPLES) * 7 % 3
    losses = []
    for step in range(STEPS):
        first, last = BATCHES[step % len(BATCHES)]
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[first:last]), y[first:last])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def both(run):
    """run(net) in float64 and float32."""
    net = make_net()
    in_float = copy.deepcopy(net).float()
    return run(net), run(in_float), net, in_float


def parameters(out, letter, net, in_float):
    for k, (p, q) in enumerate(zip(net.parameters(), in_float.parameters())):
        out.array(f"{letter}{k}", p, most=12, in_float=q)


def case(out, name, make_optimizer, **how):
    (losses, clipped), (float_losses, float_clipped), net, in_float = both(
        lambda net: train(net, make_optimizer(net), **how))
    out.case(name)
    out.array("losses", losses, most=12, in_float=float_losses)
    parameters(out, "p", net, in_float)
    if clipped[0] is not None:
        out.array("norms", clipped, most=12, in_float=float_clipped)


def optimizers():
    out = File("optimizers.txt", SCRIPT)
    for name, kind, options in OPTIMIZERS:
        case(out, name, lambda net: kind(net.parameters(), **options))

    def momentum(net):
        return optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def norm(max_norm, kind):
        return lambda parameters: clip_grad_norm_(parameters, max_norm, kind).item()

    case(out, "clip_norm", momentum, clip=norm(0.2, 2.0))
    case(out, "clip_norm_1", momentum, clip=norm(1.0, 1.0))
    case(out, "clip_norm_inf", momentum, clip=norm(0.05, float("inf")))
    case(out, "clip_value", momentum, clip=lambda parameters: clip_grad_value_(parameters, 0.02))
    case(out, "accumulate", momentum, parts=4)
    case(out, "accumulate_clip_norm", momentum, parts=2, clip=norm(0.2, 2.0))
    case(out, "groups", lambda net: optim.Adam([
        dict(params=net[0].parameters()),
        dict(params=[net[2].weight], lr=0.1, weight_decay=0.05),
        dict(params=[net[2].bias], betas=(0.5, 0.9)),
    ], lr=0.01))

    def average(net):
        ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9))
        train(net, momentum(net), after=ema.update_parameters)
        return ema.module

    ema, float_ema, net, in_float = both(average)
    out.case("ema")
    parameters(out, "p", net, in_float)
    parameters(out, "average", ema, float_ema)

    losses, float_losses, net, in_float = both(lambda net: train_batches(net, momentum(net)))
    out.case("batch_sizes")
    out.array("losses", losses, most=12, in_float=float_losses)
    parameters(out, "p", net, in_float)
    out.write()


def schedule(out, name, make, optimizer=optim.SGD, **options):
    o = optimizer([torch.nn.Parameter(torch.zeros(1))], lr=0.1, **options)
    s = make(o)
    measured = formula(5, (STEPS,)).tolist()
    lrs, momenta = [], []
    for step in range(STEPS):
        group = o.param_groups[0]
        lrs.append(group["lr"])
        momenta.append(group["betas"][0] if "betas" in group else group["momentum"])
        o.step()
        if isinstance(s, lr.ReduceLROnPlateau):
            s.step(measured[step])
        elif step + 1 < STEPS:
            s.step()
    out.case(name)
    out.array("lr", lrs, most=STEPS)
    if len(set(momenta)) > 1:
        out.array("momentum", momenta, most=STEPS)


def schedules():
    out = File("schedules.txt", SCRIPT)
    schedule(out, "step", lambda o: lr.StepLR(o, 7))
    schedule(out, "step_gamma", lambda o: lr.StepLR(o, 3, gamma=0.7))
    schedule(out, "multi_step", lambda o: lr.MultiStepLR(o, [4, 11, 11, 30]))
    schedule(out, "multi_step_gamma", lambda o: lr.MultiStepLR(o, [1, 2, 40], gamma=0.5))
    schedule(out, "exponential", lambda o: lr.ExponentialLR(o, 0.9))
    schedule(out, "cosine", lambda o: lr.CosineAnnealingLR(o, 50))
    schedule(out, "cosine_eta_min", lambda o: lr.CosineAnnealingLR(o, 15, eta_min=0.02))
    schedule(out, "linear", lambda o: lr.LinearLR(o))
    schedule(out, "linear_all", lambda o: lr.LinearLR(o, start_factor=0.1, end_factor=0.8, total_iters=20))
    schedule(out, "one_cycle", lambda o: lr.OneCycleLR(o, 0.5, total_steps=50), momentum=0.9)
    schedule(out, "one_cycle_linear", lambda o: lr.OneCycleLR(
        o, 0.5, total_steps=50, pct_start=0.45, anneal_strategy="linear", base_momentum=0.7, max_momentum=0.9, div_factor=10,
        final_div_factor=100), momentum=0.9)
    schedule(out, "one_cycle_three_phase", lambda o: lr.OneCycleLR(o, 0.5, epochs=10, steps_per_epoch=5, three_phase=True),
             momentum=0.9)
    schedule(out, "one_cycle_fixed_momentum", lambda o: lr.OneCycleLR(o, 0.5, total_steps=60, cycle_momentum=False))
    schedule(out, "one_cycle_adam", lambda o: lr.OneCycleLR(o, 0.5, total_steps=50), optim.Adam)
    schedule(out, "plateau", lambda o: lr.ReduceLROnPlateau(o, patience=3))
    schedule(out, "plateau_max", lambda o: lr.ReduceLROnPlateau(
        o, "max", factor=0.5, patience=2, threshold=0.05, threshold_mode="abs", cooldown=4, min_lr=0.004))
    schedule(out, "plateau_eps", lambda o: lr.ReduceLROnPlateau(o, factor=0.5, patience=0, eps=0.01))
    out.write()


if __name__ == "__main__":
    optimizers()
    schedules()
