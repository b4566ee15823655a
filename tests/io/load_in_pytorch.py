#!/usr/bin/env python3
"""Loads what safetensors_pytorch_test.cpp saved into PyTorch, and compares the outputs.

  python3 load_in_pytorch.py FOLDER      exit status 77 where torch or safetensors can't be imported

FOLDER has float.safetensors and double.safetensors, a net's parameters, and for each NAME_data.safetensors: x and y, an input
and the net's output. Writes trained.safetensors: the float net after a step of SGD, and trained_data.safetensors.
"""
import collections
import pathlib
import sys

try:
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file
    from torch import nn
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)


def net():
    return nn.Sequential(
        collections.OrderedDict(conv1=nn.Conv2d(1, 4, 3), bn1=nn.BatchNorm2d(4), relu=nn.ReLU(), pool=nn.MaxPool2d(2),
                                flatten=nn.Flatten(),
                                rest=nn.Sequential(nn.Linear(36, 16), nn.ReLU(), nn.Linear(16, 10))))


def main(folder):
    for name, dtype in [("float", torch.float32), ("double", torch.float64)]:
        model = net().to(dtype)
        model.load_state_dict(load_file(folder / f"{name}.safetensors"), strict=True)
        model.eval()
        data = load_file(folder / f"{name}_data.safetensors")
        y = model(data["x"])
        assert y.dtype == data["y"].dtype == dtype
        torch.testing.assert_close(y, data["y"], rtol=1e-5 if dtype == torch.float32 else 1e-13, atol=1e-6)
    with safe_open(folder / "float.safetensors", "pt") as f:
        assert f.metadata() == {"format": "pt"}, f.metadata()

    model = net()
    x = load_file(folder / "float_data.safetensors")["x"]
    nn.functional.cross_entropy(model(x), torch.arange(len(x)) % 10).backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    model.eval()
    save_file(model.state_dict(), folder / "trained.safetensors")
    save_file({"y": model(x).detach()}, folder / "trained_data.safetensors")
    print("loaded")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
