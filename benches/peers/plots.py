"""One SVG per operation: every peer's time over ringworld's, by size; above 1 ringworld is faster.

Pure but for the files it reads and writes. Needs matplotlib (tools.py); without it nothing is drawn.

`plots.py CSV.. DIRECTORY` draws what runs have kept.
"""

import csv
import gzip
import sys
from pathlib import Path

import stats
from measure import Line
from ops import OPERATIONS
from stats import size_text

# Tell apart also without colour, and on light and dark ground.
STYLES = [("#1f77b4", "o"), ("#d62728", "s"), ("#2ca02c", "^"), ("#9467bd", "D"), ("#ff7f0e", "v"), ("#8c564b", "P")]


def curves(samples, op, setting):
    """{peer: [(size, median, lowest, highest)]} of peer's time over ours; what is off the wire is left out."""
    found = {}
    for size, row in stats.cells(samples, op, setting).items():
        for peer, cell in row.items():
            against = None if peer == stats.OURS or cell.off_wire else stats.against(row, peer)
            if against:
                found.setdefault(peer, []).append((size, *against))
    return found


def draw(samples, peers, directory):
    """Draws every operation that was measured beside a peer; returns the paths."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("svg")
    # Reproducible files whose text stays text.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "ringworld", "font.size": 9})
    from matplotlib import pyplot
    paths = []
    for op, about in OPERATIONS.items():
        panels = {setting: found for setting in stats.settings(samples) if (found := curves(samples, op, setting))}
        if not panels:
            continue
        figure, axes = pyplot.subplots(1, len(panels), figsize=(4.8 * len(panels), 3.4), sharey=True, squeeze=False)
        for axis, (setting, found) in zip(axes[0], panels.items()):
            panel(axis, found, peers)
            axis.set_title(str(setting))
        axes[0][0].set_ylabel("peer's time / ringworld's time")
        handles = dict(pair for axis in axes[0] for pair in zip(*reversed(axis.get_legend_handles_labels())))
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False)
        figure.suptitle(f"{about.title}: above 1 ringworld is faster")
        figure.set_layout_engine("constrained")
        directory.mkdir(parents=True, exist_ok=True)
        paths.append(directory / f"{op}.svg")
        figure.savefig(paths[-1], metadata={"Date": None})
        pyplot.close(figure)
    return paths


def panel(axis, found, peers):
    """One setting: lines of medians, bands from the lowest to the highest round."""
    sizes = sorted({point[0] for points in found.values() for point in points})
    for (colour, marker), (name, peer) in zip(STYLES, [(n, p) for n, p in peers.items() if n != stats.OURS]):
        points = found.get(name, [])
        if points:
            at = [sizes.index(point[0]) for point in points]
            _, middle, low, high = zip(*points)
            axis.plot(at, middle, color=colour, marker=marker, markersize=4, linewidth=1.2, label=peer.title)
            axis.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
    axis.axhline(1, color="#555555", linewidth=1)
    axis.set_yscale("log", base=2)
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_xticks(range(len(sizes)), [size_text(size) for size in sizes], rotation=45, ha="right")
    axis.grid(axis="y", linewidth=0.4, alpha=0.6)


def kept(path):
    """The samples of a file that `run` has kept."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="utf-8") as file:
        return [sample(row) for row in csv.DictReader(line for line in file if not line.startswith("#"))]


def sample(row):
    whole = lambda name: int(row[name]) if row[name] else None
    figures = [float(row[name]) for name in ("median_s", "min_s", "cpu_s")]
    line = Line(row["op"], int(row["bytes"]), int(row["iterations"]), *figures, whole("loopback_bytes"), whole("loopback_packets"))
    # Runs kept before cores were told apart have no such column.
    return stats.Sample(int(row["round"]), row["peer"], int(row["ranks"]), line, row.get("cores", ""))


def main(arguments):
    from peers import all_peers
    if len(arguments) < 2:
        sys.exit("plots.py: expected CSV.. DIRECTORY")
    *files, directory = map(Path, arguments)
    drawn = draw([found for path in files for found in kept(path)], all_peers(), directory)
    if not drawn:
        sys.exit("plots.py: nothing drawn: matplotlib is missing (benches/peers/.venv/tools has it), or there is nothing to compare")
    print(*drawn, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
