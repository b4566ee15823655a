#!/usr/bin/env python3
"""Makes data.txt, the golden file of tests/data, with torchvision.

  python3 make_data_golden.py      in an environment with torch and torchvision; writes beside this script

A line `NAME COUNT` is followed by COUNT words: floats by their 32 bits in hexadecimal, indices in decimal.
- unit, normalized: all 256 values of a byte after ToTensor, and after Normalize(0.1307, 0.3081)
- rgb: an image of 5 x 7 pixels whose byte number i, as stored in HWC, is (37 i + 11) mod 256, after ToTensor and
  Normalize with ImageNet's means and deviations, in CHW
- crop_TOP_LEFT_HEIGHT_WIDTH, hflip, vflip, center_HEIGHT_WIDTH: the bytes of that image, in HWC, after
  functional.pad(2, fill=9) and functional.crop, and so on
- erase: the same image's bytes as floats, in CHW, after functional.erase(1, 2, 3, 4, v=7)
- erasing: of 100,000 rectangles of RandomErasing's default in 32 x 32 pixels, the means of height, width, area, top
  and left, in thousandths
- order_SEED_EPOCH: the order of 100 samples: indices sorted by (key, index); key is r[0] << 32 | r[1] of the
  Philox4x32-10 block r with counter (index, 0, epoch, 2 << 24) and key (seed mod 2^32, seed >> 32)
"""
import pathlib
import struct

import numpy as np
import torch
import torchvision
from PIL import Image
from torchvision import transforms as T
from torchvision.transforms import functional as F

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
    picture = Image.fromarray(rgb)
    def add(name, changed):
        arrays[name] = np.asarray(changed).flatten().tolist()
    for place in [(0, 0, 5, 7), (4, 4, 5, 7), (1, 3, 5, 7), (3, 1, 5, 7), (2, 2, 5, 7), (0, 8, 3, 3), (6, 0, 3, 3),
                  (3, 4, 2, 3), (0, 0, 5, 1)]:
        add("crop_" + "_".join(map(str, place)), F.crop(F.pad(picture, 2, fill=9), *place))
    add("hflip", F.hflip(picture))
    add("vflip", F.vflip(picture))
    for size in [(4, 4), (2, 2), (5, 3), (1, 6)]:
        add(f"center_{size[0]}_{size[1]}", F.center_crop(picture, size))
    add("erase", F.erase(torch.from_numpy(rgb).permute(2, 0, 1).float(), 1, 2, 3, 4, v=torch.tensor(7.0)).int())
    torch.manual_seed(0)
    default, black = T.RandomErasing(), torch.zeros(1, 32, 32)
    boxes = np.array([default.get_params(black, default.scale, default.ratio, [0.0])[:4] for _ in range(100_000)])
    i, j, h, w = boxes.T
    arrays["erasing"] = [round(1000 * float(np.mean(x))) for x in (h, w, h * w, i, j)]
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
