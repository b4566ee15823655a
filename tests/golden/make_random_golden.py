#!/usr/bin/env python3
"""Makes the golden file of tests/tensor/random_test.cpp: random.txt.

  python3 make_random_golden.py      needs nothing but Python; writes beside this script

The documented mapping of seed and element to number, in whole numbers and fractions: each step of the normal numbers is
exact, then rounded once to double, as IEEE 754 says of +, -, *, / and fma. So the tensors must have these very bits.
They are also held against the logarithm, cosine and sine of Python.

A line `NAME TYPE SEED FIRST` is followed by the elements FIRST, FIRST + 1, ...
"""
import math
import pathlib
import struct
from fractions import Fraction

HERE = pathlib.Path(__file__).resolve().parent
LOW = 0xFFFFFFFF
RAND, RANDN, RAND_DOUBLE = 0, 1, 2


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & LOW, (a >> 32) ^ c[3] ^ k[1], a & LOW]
        k = [(k[0] + 0x9E3779B9) & LOW, (k[1] + 0xBB67AE85) & LOW]
    return c


# From the authors' Random123 distribution, kat_vectors.
assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def block(use, seed, group):
    return philox([group & LOW, 0, group >> 32, 3 << 24 | use], [seed & LOW, seed >> 32])


def fma(a, b, c):
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def log_of_bits(r):
    m, exponent = math.frexp(2 * r + 1)  # m in [1/2, 1)
    m, exponent = 2 * m, exponent - 1
    if m > 1.4142135623730951:
        m, exponent = m / 2, exponent + 1
    s = (m - 1) / (m + 1)
    total = 1 / 23
    for k in range(21, 0, -2):
        total = fma(total, s * s, 1 / k)
    return fma(exponent - 33, 0.6931471805599453, 2 * s * total)


def cos_sin_of_bits(r):
    q, rest = r >> 29, r & (2**29 - 1)
    angle = (2**29 - rest if q % 2 else rest) / 2**29 * 0.7853981633974483
    square, c, s = angle * angle, 1.0, 1.0
    for k in range(17, 0, -2):
        c = fma(-square / (k * (k + 1)), c, 1)
        s = fma(-square / ((k + 1) * (k + 2)), s, 1)
    s *= angle
    x, y = (s, c) if q in (1, 2, 5, 6) else (c, s)
    return (-x if q in (2, 3, 4, 5) else x), (-y if q >= 4 else y)


def rand_float(seed, i):
    return (block(RAND, seed, i // 4)[i % 4] >> 8) / 2**24


def rand_double(seed, i):
    high, low = block(RAND_DOUBLE, seed, i // 2)[2 * (i % 2):][:2]
    return (high * 2**21 + (low >> 11)) / 2**53


def randn_double(seed, i):
    u, v = block(RANDN, seed, i // 4)[i % 4 // 2 * 2:][:2]
    z = math.sqrt(-2 * log_of_bits(u)) * cos_sin_of_bits(v)[i % 2]
    plain = math.sqrt(-2 * math.log((2 * u + 1) / 2**33)) * [math.cos, math.sin][i % 2](2 * math.pi * v / 2**32)
    assert abs(z - plain) < 1e-14, (z, plain)
    return z


def randn_float(seed, i):
    return struct.unpack("f", struct.pack("f", randn_double(seed, i)))[0]


lines = ["# made by make_random_golden.py"]
for name, make in [("rand float", rand_float), ("rand double", rand_double), ("randn float", randn_float),
                   ("randn double", randn_double)]:
    for seed, first, count in [(0, 0, 15), (2**64 - 5, 0, 15), (7, 99985, 15)]:
        lines += [f"{name} {seed} {first}", " ".join(repr(make(seed, first + i)) for i in range(count))]
for i in range(100000, 103000):
    randn_double(1, i)
(HERE / "random.txt").write_text("\n".join(lines) + "\n")
