#!/usr/bin/env python3
"""What `./dev train cifar10` does, in PyTorch, to compare losses and accuracies epoch by epoch.

    cifar10_torch.py FOLDER [--epochs N] [--seed S] [--threads T] [--device cpu]

FOLDER has CIFAR-10's binary version. The same net, initial distributions, steps and sums; other random numbers.
"""
import argparse
import pathlib
import time

import numpy
import torch
from torch import nn

from libraries import torch_net

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--threads", type=int, default=0)
parser.add_argument("--device", default="cpu")
options = parser.parse_args()
torch.manual_seed(options.seed)
if options.threads:
    torch.set_num_threads(options.threads)


def read(*names):
    folder = options.folder / "cifar-10-batches-bin"
    records = numpy.concatenate([numpy.fromfile(folder / name, numpy.uint8) for name in names]).reshape(-1, 3073)
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).astype(numpy.float32) / 255)
    return images.to(options.device), torch.from_numpy(records[:, 0].astype(numpy.int64)).to(options.device)


images, labels = read(*(f"data_batch_{k}.bin" for k in range(1, 6)))
test_images, test_labels = read("test_batch.bin")
net = torch_net("B").to(options.device)
loss_of = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

for epoch in range(1, options.epochs + 1):
    start, total = time.perf_counter(), 0.0
    for picked in torch.randperm(len(images), device=options.device).split(64):
        loss = loss_of(net(images[picked]), labels[picked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(picked)
    seconds = time.perf_counter() - start
    test_loss, right = 0.0, 0
    with torch.no_grad():
        for x, y in zip(test_images.split(64), test_labels.split(64)):
            scores = net(x)
            test_loss += loss_of(scores, y).item()
            right += (scores.argmax(1) == y).sum().item()
    print(f"epoch {epoch}/{options.epochs}  train loss {total / len(images):.4f}  test loss {test_loss:.3f} in total  "
          f"test accuracy {right / len(test_images):.4f}  {seconds:.2f} s  {len(images) / seconds:.0f} images/s", flush=True)
