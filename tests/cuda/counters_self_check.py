#!/usr/bin/env python3
"""counters.py finds whatever has become worse, and nothing else; a table is read as it was written."""
import pathlib
import tempfile

import counters

ROW = {"launches": 2, "fma": 40.0, "sectors": 1000, "over_least": 1.5, "wavefronts_over_least": 1.2, "read": 5000,
       "written": 700}
# how a column may just still be, and how it may not
LIMITS = {"launches": (2, 3), "fma": (39.0, 38.9), "sectors": (1010, 1011), "over_least": (1.515, 1.52),
          "wavefronts_over_least": (1.212, 1.22), "read": (5050, 5051), "written": (707, 708)}


def complaints(table, got):
    return counters.worse("net 1", table, got)


assert set(LIMITS) == set(counters.COLUMNS)
for column, (good, bad) in LIMITS.items():
    assert complaints({"k": ROW}, {"k": {**ROW, column: good}}) == [], column
    found = complaints({"k": ROW, "l": ROW}, {"k": ROW, "l": {**ROW, column: bad}})
    assert found == [f"net 1 l: {column.replace('_', ' ')} should be {ROW[column]}, is {bad}"], found
assert complaints({"k": ROW}, {"k": {**ROW, "fma": 90.0, "sectors": 1, "launches": 1}}) == []
assert complaints({}, {"k": ROW}) == ["net 1 k: 2 launches, the table has none"]
assert complaints({"k": ROW}, {}) == ["net 1 k: in the table with 2 launches, now there are none"]
assert counters.short_name("void kern::gpu::convolve<float, (int)1, kern::stage::Known<...>>(T4, int)") == "convolve"
assert counters.short_name("kern::gpu::add_parts(int)") == "add_parts"
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "table.txt"
    counters.write_table(file, {"net 1": {"all": ROW, "k": {**ROW, "fma": 3.25}}})
    assert counters.read_table(file) == {"net 1": {"k": {**ROW, "fma": 3.25}, "all": ROW}}

# What explain lists, against what was counted: launches as they are started, and bytes.
LISTED = "mean_of_rows 100 50 1,1,1 256,1,1 0\nk 1000 500 2,1,1 64,1,1 16\nk 1000 500 2,1,1 64,1,1 16\n"


def counted(name, launches, read, written, grid=(2, 1, 1), block=(64, 1, 1), shared=16):
    return {"kernel": f"void kern::gpu::{name}<float>(int)", "grid": grid, "block": block, "dynamic_shared": shared,
            "launches": launches, "unique_read_bytes": read, "unique_write_bytes": written}


LOSS = counted("mean_of_rows", 1, 150, 50, (1, 1, 1), (256, 1, 1), 0)
SETUP = counted("fill", 3, 0, 900)


def explained(*kernels):
    return counters.misexplained(LISTED, [SETUP], [SETUP, *kernels])


assert explained(LOSS, counted("k", 2, 2000, 1000)) == []
assert explained(LOSS, counted("k", 2, 2020, 990)) == []
assert explained(LOSS, counted("k", 2, 2021, 989)) == ["k: explain has 2000 bytes read, there were 2021",
                                                       "k: explain has 1000 bytes written, there were 989"]
assert explained(LOSS, counted("k", 1, 2000, 1000)) == ["k 2,1,1 64,1,1 16: explain has 2 launches, there were 1"]
for wrong in ({"grid": (1, 2, 1)}, {"block": (32, 1, 1)}, {"shared": 0}):
    assert len(explained(LOSS, counted("k", 2, 2000, 1000, **wrong))) == 2, wrong
assert len(explained(LOSS, counted("k", 2, 2000, 1000), counted("l", 1, 0, 0))) == 1
assert len(explained(counted("k", 2, 2000, 1000))) == 3
