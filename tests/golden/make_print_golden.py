#!/usr/bin/env python3
"""Makes the golden file of tests/tensor/print_test.cpp with PyTorch: print.txt.

  python3 make_print_golden.py      in an environment with torch; writes beside this script

A case is
  case NAME DTYPE EXTENT...
  N VALUE...                 element i is value i % N
  LINES                      that many lines follow: str() of the tensor, less every "torch."
"""
import math
import pathlib

import torch

HERE = pathlib.Path(__file__).resolve().parent
cases = {}


def case(name, values, shape=None, dtype="float32"):
    values = list(values)
    if shape is None:
        shape = [len(values)]
    count = math.prod(shape)
    kind = getattr(torch, dtype)
    elements = [values[i % len(values)] for i in range(count)]
    tensor = torch.tensor(elements, dtype=kind).reshape(shape)
    number = (lambda v: repr(float(v))) if dtype.startswith("float") else (lambda v: str(int(v)))
    text = str(tensor).replace("torch.", "").split("\n")
    assert name not in cases, name
    cases[name] = "\n".join([f"case {' '.join([name, dtype, *map(str, shape)])}",
                             " ".join([str(len(values)), *map(number, values)]), str(len(text)), *text])


inf, nan = math.inf, math.nan
mixed = [((i * 37) % 101 - 50) / 8 for i in range(101)]  # exact, with few digits
fine = [round(math.sin(i * i + 1), 5) for i in range(97)]

# Whole numbers, fractions, signs.
case("whole", [1, 2, 3])
case("whole_negative", [-1, 2, -30])
case("whole_wide", [0, 10, 99999])
case("fractions", [0.5, 1.25, 100.125])
case("fractions_negative", [-0.5, 1.25, -100.125])
case("one_fraction_among_whole", [1, 2, 2.5])
case("rounding_half", [0.03125, 0.09375, 0.15625, 2.00005, 1.99995])
case("rounds_up_a_digit", [9.99996, 0.5])
case("tutorial", [0.5, -1.0, 1 / 3, 2 / 3], [2, 2])
case("zeros", [0.0], [2, 3])
case("negative_zero", [-0.0, 0.0])
case("negative_zero_among_fractions", [-0.0, 0.5])
case("double", [0.5, 0.1], dtype="float64")
case("double_whole", [1, 2], dtype="float64")
case("float_is_shown_as_its_double", [0.1, 16777216.0, 1e7])

# When numbers are written in scientific notation.
case("ratio_1000", [0.5, 500.0])
case("ratio_above_1000", [0.5, 500.5])
case("whole_ratio_1000", [1, 1000])
case("whole_ratio_above_1000", [1, 1001])
case("largest_1e8", [1e8, 1e8 - 8])
case("largest_above_1e8", [1e8 + 8, 1e8])
case("least_1e-4", [1e-4], dtype="float64")
case("least_1e-4_float", [1e-4])
case("least_below_1e-4", [0.99e-4])
case("denormal", [1e-45, 1e-38])
case("float_limits", [3.4028234663852886e38, 1.1754943508222875e-38])
case("double_limits", [1.7976931348623157e308, -5e-324, 2.2250738585072014e-308], dtype="float64")
case("three_digit_exponents", [1e-100, 1e100, 1.0], dtype="float64")
case("scientific_with_zero_and_nan", [1e-9, 0.0, -1.0, nan])
case("scientific_matrix", [1e-3, -1e5, 12.0, 3.25, 0.0, 7e10], [2, 3])

# What is not finite.
case("nan", [nan])
case("inf", [inf, -inf])
case("nan_and_whole", [nan, 1.0, 2.0])
case("inf_and_whole", [inf, 1.0, -inf])
case("inf_and_fractions", [inf, 1.5, -inf, nan])
case("zeros_and_inf", [0.0, -inf, inf, nan])
case("wide_and_nan", [nan, 123456.0])
case("nan_double", [nan, -nan], dtype="float64")

# No dimension, no elements.
case("scalar", [3.25], [])
case("scalar_whole", [3.0], [])
case("scalar_negative_double", [-3.25], [], "float64")
case("scalar_small", [1e-5], [])
case("scalar_nan", [nan], [])
case("scalar_int64", [-7], [], "int64")
case("scalar_uint8", [255], [], "uint8")
case("scalar_bool", [True], [], "bool")
for dtype in ["float32", "float64", "int64", "int32", "bool"]:
    case(f"empty_{dtype}", [0], [0], dtype)
    case(f"empty_matrix_{dtype}", [0], [0, 3], dtype)
case("empty_within", [0], [2, 0, 4])
case("empty_long", [0], [1000000, 0, 2000000000, 300000000, 1, 1, 1, 1, 1], "int32")

# Integers.
case("int64", [0, -1, 100], dtype="int64")
case("int64_limits", [-2**63, 2**63 - 1], dtype="int64")
case("uint64_limits", [0, 2**64 - 1], dtype="uint64")
case("uint32", [0, 2**32 - 1], dtype="uint32")
case("uint16", [0, 65535], dtype="uint16")
case("int16", [-32768, 5], dtype="int16")
case("int8", [-128, 127, 0], [3, 1], "int8")
case("uint8_image", range(0, 256, 5), [4, 13], "uint8")
case("int32_matrix", [1, -22, 333, 4], [2, 2], "int32")
case("bool", [True, False, True], dtype="bool")
case("bool_matrix", [True, True, False], [2, 2], "bool")

# Lines of at most 80 columns.
case("wraps_1d", mixed, [40])
case("wraps_1d_whole", range(100))
case("fits_exactly", [1.5], [8])
case("wraps_2d", mixed, [3, 30])
case("wraps_3d", mixed, [2, 2, 25])
case("wraps_int64", range(0, 5000, 50), [100], "int64")
case("wider_than_a_line", [1e308] + [0.5] * 3, [2, 2], "float64")
for n in range(5, 10):
    case(f"dtype_at_the_end_of_the_line_{n}", [1.5], [n], "float64")
for n in range(17, 25):
    case(f"dtype_at_the_end_of_the_line_int_{n}", [1], [n], "int32")
for n in range(15, 20):
    case(f"dtype_at_the_end_of_the_last_line_{n}", [1], [2, n], "int32")

# Dimensions.
case("column", mixed, [5, 1])
case("three", mixed, [2, 3, 2])
case("four", mixed, [2, 2, 2, 3])
case("five", [1, 2], [2, 1, 2, 1, 2], "int64")
case("ones_around", [0.5], [1, 1, 1, 1])

# More than 1000 elements: three at each end.
case("thousand", [1], [1000], "uint8")
case("thousand_and_one", fine, [1001])
case("summary_whole", range(97), [2000])
case("summary_int64", range(-100, 3000, 7), [5000], "int64")
case("summary_2d", fine, [100, 20])
case("summary_few_rows", fine, [6, 200])
case("summary_few_columns", fine, [300, 6])
case("summary_seven", fine, [7, 7, 7, 7])
case("summary_batch", [0.0, 0.0, 0.5], [64, 1, 28, 28])
case("summary_weights", fine, [32, 16, 3, 3])
case("summary_double", fine, [40, 50], "float64")
case("summary_uint8", range(256), [2, 28, 28], "uint8")
case("summary_hides_the_large", [1.0] * 500 + [1e20] + [1.5] * 501, [1002])
case("summary_bool", [True, False, False], [50, 50], "bool")

(HERE / "print.txt").write_text(f"# made by make_print_golden.py with torch {torch.__version__}\n" +
                                "\n".join(cases.values()) + "\n")
print(f"{len(cases)} cases")
