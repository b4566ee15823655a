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
assert counters.short_name("void kern::gpu::convolve<float, (int)1, kern::Known<...>>(T4, int)") == "convolve"
assert counters.short_name("kern::gpu::add_parts(int)") == "add_parts"
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "table.txt"
    counters.write_table(file, {"net 1": {"all": ROW, "k": {**ROW, "fma": 3.25}}})
    assert counters.read_table(file) == {"net 1": {"k": {**ROW, "fma": 3.25}, "all": ROW}}
