#!/usr/bin/env python3
"""Makes data.txt, the golden file of tests/data, with torchvision.

  python3 make_data_golden.py      in an environment with torch and torchvision; writes beside this script

A line `NAME COUNT` is followed by COUNT words: floats by their 32 bits in hexadecimal, indices in decimal.
- unit, normalized: all 256 values of a byte after ToTensor, and after Normalize(0.1307, 0.3081)
- rgb: an image of 5 x 7 pixels whose byte number i, as stored in HWC, is (37 i + 11) mod 256, after ToTensor and
  Normalize with ImageNet's means and deviations, in CHW
- order_SEED_EPOCH: the order of 100 samples: indices sorted by (key, index); key is r[0] << 32 | r[1] of the
  Philox4x32-10 block r with counter (index, 0, epoch, 2 << 24) and key (seed mod 2^32, seed >> 32)
"""
import pathlib
import struct

import numpy as np
import torch
import torchvision
from torchvision import transforms as T

MASK = 0xFFFFFFFF


def philox(c, k):
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


# From the authors' Random123 distribution, kat_vectors.
assert philox([MASK] * 4, [MASK] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
assert philox([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]) == [
    0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def order(n, seed, epoch):
    def key(i):
        r = philox([i, 0, epoch, 2 << 24], [seed & MASK, seed >> 32])
        return r[0] << 32 | r[1], i
    return sorted(range(n), key=key)


def bits(tensor):
    assert tensor.dtype == torch.float32
    return [struct.pack(">f", v).hex() for v in tensor.flatten().tolist()]


def main():
    gray = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    rgb = ((37 * np.arange(5 * 7 * 3) + 11) % 256).astype(np.uint8).reshape(5, 7, 3)
    imagenet = T.Compose([T.ToTensor(), T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
    arrays = {
        "unit": bits(T.ToTensor()(gray)),
        "normalized": bits(T.Compose([T.ToTensor(), T.Normalize((0.1307,), (0.3081,))])(gray)),
        "rgb": bits(imagenet(rgb)),
    }
    for seed, epoch in [(0, 0), (0, 1), (12345678901234567890, 7)]:
        arrays[f"order_{seed}_{epoch}"] = order(100, seed, epoch)
    with open(pathlib.Path(__file__).resolve().parent / "data.txt", "w") as out:
        out.write(f"# made by make_data_golden.py with torch {torch.__version__}, torchvision {torchvision.__version__}\n")
        for name, values in arrays.items():
            out.write(f"{name} {len(values)}\n")
            for i in range(0, len(values), 12):
                out.write(" ".join(map(str, values[i:i + 12])) + "\n")


if __name__ == "__main__":
    main()
