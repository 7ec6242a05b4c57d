"""Turns the results of `cargo bench -p ringworld-benches --features criterion --bench kernels` into a table.

usage: python3 benches/kernels.py [target directory]

Prints, for each type and operation, bytes per second of the three shapes as ratios to memcpy of the same
size. Medians; with memcpy measured several times during a run, the median of its medians is the measure.
"""

import collections
import json
import pathlib
import statistics
import sys

SHAPES = ["left", "right", "apart"]


def medians(target):
    times = collections.defaultdict(dict)
    for path in pathlib.Path(target, "criterion", "kernels").glob("*/new/benchmark.json"):
        about = json.loads(path.read_text())
        size, dtype, op, shape = about["function_id"].split("/", 3)
        nanoseconds = json.loads(path.with_name("estimates.json").read_text())["median"]["point_estimate"]
        times[size][dtype, op, shape] = about["throughput"]["Bytes"] / nanoseconds
    return times


def main():
    times = medians(sys.argv[1] if len(sys.argv) > 1 else "target")
    sizes = sorted(times)
    copies = {}
    for size in sizes:
        rates = [times[size].pop(row) for row in list(times[size]) if row[0] == "memcpy"]
        copies[size] = statistics.median(rates)
    for size in sizes:
        print(f"memcpy of {size}: {copies[size]:.1f} GB/s")
    print("\n| type | operation |" + "".join(f" {size}: {' '.join(SHAPES)} |" for size in sizes))
    print("|---|---|" + "---|" * len(sizes))
    rows = dict.fromkeys((dtype, op) for size in sizes for dtype, op, _ in times[size])
    for dtype, op in sorted(rows):
        cells = []
        for size in sizes:
            rates = [times[size].get((dtype, op, shape)) for shape in SHAPES]
            ratios = [f"{rate / copies[size]:.2f}" if rate else "-" for rate in rates]
            cells.append(" " + " ".join(ratios) + " |")
        print(f"| {dtype} | {op} |" + "".join(cells))


if __name__ == "__main__":
    main()
