#!/usr/bin/env python3
"""What each kernel of a training step does, counted by a runtime that simulates GPUs, against a table.

    counters.py check TABLE PROGRAM [NET BATCH]   fails where a kernel has become worse than in the table
    counters.py rewrite TABLE PROGRAM DOCUMENT    makes the table anew, there and in the document
    counters.py explained TABLE PROGRAM NET BATCH fails where explain says other launches or bytes than were counted
    counters.py markdown TABLE [DOCUMENT]         the table as Markdown; with DOCUMENT, whether it has that

PROGRAM is that of nets.cu; LD_LIBRARY_PATH leads to the runtime. A kernel's template arguments are left out, and all
its launches of a step are added up."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CASES = [("lenet", 64), ("lenet-set", 64), ("cifar10", 64), ("lenet", 512), ("cifar10", 512)]  # those of 512 take minutes
# sectors: of 32 bytes of global memory, and how many times the least that would do; wavefronts: of shared memory,
# likewise; fma: multiply-adds among all instructions, in percent; read, written: bytes of global memory, each once a
# launch.
COLUMNS = ["launches", "fma", "sectors", "over_least", "wavefronts_over_least", "read", "written"]
TOTAL = "all"


def short_name(kernel):
    """void kern::gpu::convolve<float, ...>(...) -> convolve"""
    before = re.sub(r"^void ", "", kernel).split("<")[0].split("(")[0]
    return before.split("::")[-1]


def kernels_of(program, net, batch, times):
    """-> what the runtime counted, an entry for each kernel and way of starting it."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "counters.json"
        command = [program, net, "train", str(batch), str(times)]
        r = subprocess.run(command, env={**os.environ, "PTXCPU_PROFILE": str(file)}, capture_output=True, text=True)
        if r.returncode:
            sys.exit(f"{' '.join(command)} exits with {r.returncode}: {r.stdout}{r.stderr}")
        if not file.exists():
            sys.exit("the runtime counts nothing: it is none that simulates GPUs")
        return json.loads(file.read_text())["kernels"]


def profile(program, net, batch, times):
    """-> name -> sums of what its launches did."""
    sums = {}
    for k in kernels_of(program, net, batch, times):
        counts = k["thread_instructions"]
        instructions = {c: n for c, n in counts.items() if not c.startswith("mma_flops") and c != "local_bytes"}
        traffic = lambda space, field: sum(k.get(f"{space}_{a}", {}).get(field, 0) for a in ("load", "store", "atomic"))
        one = {
            "launches": k["launches"], "instructions": sum(instructions.values()),
            "fma": sum(n for c, n in instructions.items() if c.endswith("_fma")),
            "sectors": traffic("global", "sectors"), "least_sectors": traffic("global", "ideal"),
            "wavefronts": traffic("shared", "wavefronts"), "least_wavefronts": traffic("shared", "ideal"),
            "read": k["unique_read_bytes"], "written": k["unique_write_bytes"],
        }
        for name in (short_name(k["kernel"]), TOTAL):
            into = sums.setdefault(name, dict.fromkeys(one, 0))
            for field, n in one.items():
                into[field] += n
    return sums


def count(program, net, batch):
    """-> name -> row of COLUMNS, for one step: a run with it less a run without."""
    before, after = profile(program, net, batch, 0), profile(program, net, batch, 1)
    rows = {}
    for name, sums in after.items():
        step = {field: n - before.get(name, {}).get(field, 0) for field, n in sums.items()}
        if not step["launches"]:
            continue
        rows[name] = {
            "launches": step["launches"], "fma": round(100 * step["fma"] / max(step["instructions"], 1), 2),
            "sectors": step["sectors"], "over_least": round(step["sectors"] / max(step["least_sectors"], 1), 3),
            "wavefronts_over_least": round(step["wavefronts"] / max(step["least_wavefronts"], 1), 3),
            "read": step["read"], "written": step["written"],
        }
    return rows


def worse(case, expected, got):
    """-> what is worse in `got` than in the table's rows, a line each."""
    lines = [f"{case} {name}: in the table with {row['launches']} launches, now there are none"
             for name, row in expected.items() if name not in got]
    for name, row in got.items():
        if name not in expected:
            lines.append(f"{case} {name}: {row['launches']} launches, the table has none")
            continue
        for column in COLUMNS:
            want, have = expected[name][column], row[column]
            limit = want if column == "launches" else want * 1.01
            if have < want - 1 if column == "fma" else have > limit:
                lines.append(f"{case} {name}: {column.replace('_', ' ')} should be {want}, is {have}")
    return lines


def misexplained(listed, before, after):
    """-> what explain's list of a step's launches has wrong, a line each; before, after: counted without it and with it."""
    ways, bytes_, lines = {}, {}, []
    for line in listed.splitlines():
        name, read, written, *way = line.split()
        ways[name, *way] = ways.get((name, *way), 0) + 1
        old = bytes_.get(name, (0, 0))
        bytes_[name] = (old[0] + int(read), old[1] + int(written))
    counted = {}
    for sign, kernels in ((-1, before), (1, after)):
        for k in kernels:
            name = short_name(k["kernel"])
            way = (name, *(",".join(map(str, k[d])) for d in ("grid", "block")), str(k["dynamic_shared"]))
            one = counted.setdefault(way, [0, 0, 0])
            for i, field in enumerate(("launches", "unique_read_bytes", "unique_write_bytes")):
                one[i] += sign * k[field]
    counted = {way: n for way, n in counted.items() if n[0]}
    for way in sorted(ways.keys() | counted.keys()):
        want, have = ways.get(way, 0), counted.get(way, [0])[0]
        if want != have:
            lines.append(f"{' '.join(way)}: explain has {want} launches, there were {have}")
    for name, listed_bytes in bytes_.items():
        for i, what in enumerate(("read", "written")):
            have = sum(n[i + 1] for way, n in counted.items() if way[0] == name)
            # A loss also reads what it has just written.
            most = 1.01 * (listed_bytes[i] + (listed_bytes[1] if name == "mean_of_rows" and i == 0 else 0))
            if not .99 * listed_bytes[i] <= have <= most:
                lines.append(f"{name}: explain has {listed_bytes[i]} bytes {what}, there were {have}")
    return lines


def read_table(path):
    """-> case -> name -> row."""
    table = {}
    for line in path.read_text().splitlines()[1:]:
        net, batch, name, *values = line.split()
        numbers = [float(v) if "." in v else int(v) for v in values]
        table.setdefault(f"{net} {batch}", {})[name] = dict(zip(COLUMNS, numbers, strict=True))
    return table


def write_table(path, table):
    cells = [["net", "batch", "kernel", *COLUMNS]]
    for case, rows in table.items():
        for name in sorted(rows, key=lambda n: (n == TOTAL, n)):
            cells.append([*case.split(), name, *(str(rows[name][c]) for c in COLUMNS)])
    width = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    path.write_text("".join("  ".join(c.ljust(w) for c, w in zip(row, width)).rstrip() + "\n" for row in cells))


def markdown(table):
    lines = ["| net, batch | kernel | launches | multiply-adds | sectors over least | wavefronts over least | read, MB | written, MB |",
             "|---|---|---|---|---|---|---|---|"]
    for case, rows in table.items():
        for name, r in rows.items():
            over = [f"{r[c]:.2f}" if r[c] else "" for c in ("over_least", "wavefronts_over_least")]
            cells = [case.replace(" ", ", "), name if name == TOTAL else f"`{name}`", r["launches"], f"{r['fma']:.0f} %",
                     *over, f"{r['read'] / 1e6:.2f}", f"{r['written'] / 1e6:.2f}"]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main(command, table, *rest):
    path = pathlib.Path(table)
    if command == "markdown":
        text = markdown(read_table(path))
        print(text)
        if rest and text not in pathlib.Path(rest[0]).read_text():
            sys.exit(f"{rest[0]} has another table")
    elif command == "rewrite":
        program, document = rest[0], pathlib.Path(rest[1])
        old = markdown(read_table(path))
        write_table(path, {f"{net} {batch}": count(program, net, batch) for net, batch in CASES})
        document.write_text(document.read_text().replace(old, markdown(read_table(path))))
    elif command == "explained":
        program, net, batch = rest
        listed = subprocess.run([program, net, "list", batch, "0"], capture_output=True, text=True, check=True).stdout
        lines = misexplained(listed, *(kernels_of(program, net, batch, times) for times in (0, 1)))
        if lines or not listed:
            sys.exit("\n".join(lines) or f"{program} lists nothing")
    elif command == "check":
        program, *case = rest
        known = read_table(path)
        lines = []
        for net, batch in [case] if case else CASES:
            lines += worse(f"{net} {batch}", known.get(f"{net} {batch}", {}), count(program, net, batch))
        if lines:
            sys.exit("\n".join(lines))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
