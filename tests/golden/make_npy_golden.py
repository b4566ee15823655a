#!/usr/bin/env python3
"""Makes the files in npy/ and npz/ with NumPy.

  python3 make_npy_golden.py      in an environment with numpy; writes beside this script

Element i of each, in row-major order, is i (of bool: whether i is odd).
"""
import pathlib

import numpy as np

OUT = pathlib.Path(__file__).resolve().parent / "npy"


def count(shape, dtype):
    n = np.arange(int(np.prod(shape))).reshape(shape)
    return (n % 2 == 1) if dtype == "?" else n.astype(dtype)


def main():
    OUT.mkdir(exist_ok=True)
    for dtype in ["?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8", ">i2", ">u4", ">i8", ">f4", ">f8"]:
        order = "big_" if dtype[0] == ">" else ""
        np.save(OUT / f"{order}{np.dtype(dtype).name}.npy", count((2, 3), dtype))
    for version in [(1, 0), (2, 0), (3, 0)]:
        with open(OUT / f"version{version[0]}.npy", "wb") as f:
            np.lib.format.write_array(f, count((2, 3), "<f4"), version=version)
    np.save(OUT / "fortran.npy", np.asfortranarray(count((2, 3, 4), "<i4")))
    np.save(OUT / "fortran_big.npy", np.asfortranarray(count((5, 2), ">f8")))
    np.save(OUT / "scalar.npy", np.float64(2.5))
    np.save(OUT / "empty.npy", count((0, 3), "<f4"))
    np.save(OUT / "long.npy", count((1000,), "<i2"))
    np.save(OUT / "five.npy", count((1, 2, 1, 3, 1), "<f4"))
    np.save(OUT / "float16.npy", count((2, 3), "<f2"))
    np.save(OUT / "complex64.npy", count((2, 3), "<c8"))
    np.save(OUT / "text.npy", np.array(["a", "bc"]))
    np.save(OUT / "fields.npy", np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")]))
    with open(OUT / "fields_utf8.npy", "wb") as f:
        np.lib.format.write_array(f, np.array([(1,)], dtype=[("größe", "<i4")]), version=(3, 0))
    np.save(OUT / "object.npy", np.array([None]), allow_pickle=True)

    npz = OUT.parent / "npz"
    npz.mkdir(exist_ok=True)
    arrays = {"weights": count((2, 3), "<f4"), "labels": count((5,), "<i8"), "größe": count((2, 2), ">f8"),
              "fortran": np.asfortranarray(count((3, 2), "<f4"))}
    np.savez(npz / "stored.npz", **arrays)
    np.savez_compressed(npz / "deflated.npz", **arrays, zeros=np.zeros((100, 100), "<f4"))
    np.savez(npz / "positional.npz", count((3,), "<f4"))
    np.savez(npz / "none.npz")
    print(sum(f.stat().st_size for f in OUT.iterdir()), "bytes")


if __name__ == "__main__":
    main()
