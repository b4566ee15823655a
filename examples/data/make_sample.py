#!/usr/bin/env python3
"""Cuts the sample that ships with kern out of the full MNIST.

  make_sample.py FOLDER     FOLDER holds MNIST's four files, unpacked; writes beside this script

Takes the first 1,000 training and the first 200 test images of each class, in the files' order, and prints SHA-256 sums.
"""
import hashlib
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent


def read(path, rank):
    data = path.read_bytes()
    magic, *extents = struct.unpack(f">{rank + 1}I", data[: 4 * rank + 4])
    assert magic == 0x800 + rank, (path, hex(magic))
    return extents, data[4 * rank + 4:]


def cut(folder, part, per_class):
    (count, height, width), pixels = read(folder / f"{part}-images-idx3-ubyte", 3)
    _, labels = read(folder / f"{part}-labels-idx1-ubyte", 1)
    taken, size = [0] * 10, height * width
    chosen = []
    for i in range(count):
        if taken[labels[i]] < per_class:
            taken[labels[i]] += 1
            chosen.append(i)
    assert taken == [per_class] * 10, taken
    images = b"".join(pixels[i * size:(i + 1) * size] for i in chosen)
    write(f"{part}-images-idx3-ubyte", struct.pack(">4I", 0x803, len(chosen), height, width) + images)
    write(f"{part}-labels-idx1-ubyte", struct.pack(">2I", 0x801, len(chosen)) + bytes(labels[i] for i in chosen))


def write(name, data):
    (HERE / name).write_bytes(data)
    print(hashlib.sha256(data).hexdigest(), name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cut(pathlib.Path(sys.argv[1]), "train", 1000)
    cut(pathlib.Path(sys.argv[1]), "t10k", 200)
