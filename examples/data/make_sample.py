#!/usr/bin/env python3
"""Cuts the sample that ships with kern out of the full MNIST.

  make_sample.py FOLDER     FOLDER holds MNIST's four files as published, .gz or unpacked; writes beside this script

Takes the first 1,000 training and the first 200 test images of each class, in the files' order, and prints SHA-256 sums.
"""
import gzip
import hashlib
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
PUBLISHED = {  # SHA-256 of the files, unpacked
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def read(folder, name, rank):
    path = folder / name
    data = path.read_bytes() if path.exists() else gzip.decompress((folder / f"{name}.gz").read_bytes())
    got = hashlib.sha256(data).hexdigest()
    if got != PUBLISHED[name]:
        sys.exit(f"{path}: not the published file: expected SHA-256 {PUBLISHED[name]}, got {got}")
    extents = struct.unpack(f">{rank}I", data[4:4 * rank + 4])
    return extents, data[4 * rank + 4:]


def cut(folder, part, per_class):
    (count, height, width), pixels = read(folder, f"{part}-images-idx3-ubyte", 3)
    _, labels = read(folder, f"{part}-labels-idx1-ubyte", 1)
    taken, size = [0] * 10, height * width
    chosen = []
    for i in range(count):
        if taken[labels[i]] < per_class:
            taken[labels[i]] += 1
            chosen.append(i)
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
