"""From lines of twins to Markdown tables and a CSV file; starts nothing.

A figure of one peer is the median over rounds of what its twin reported, with the lowest and highest
round beside it. A ratio is the fastest peer's time over ours, formed round by round (both then ran
within seconds of each other, under the same disturbances), and the median of those. Above 1: we are faster.
"""

import csv
import math
import platform
import subprocess
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

from measure import Line

OURS = "ringworld"
TITLES = {
    "pingpong": "Ping-pong, half round trip",
    "stream": "Stream, window of 64, time of one message",
    "barrier": "Barrier",
    "bcast": "Broadcast",
    "allreduce": "All-reduce, f32 sum",
    "allgather": "All-gather",
    "reducescatter": "Reduce-scatter, f32 sum",
}


@dataclass
class Sample:
    """One line of one peer's twin in one round."""

    round: int
    peer: str
    ranks: int
    line: Line


@dataclass
class Cell:
    """One peer at one size: its times by round."""

    times: dict
    off_wire: bool

    @property
    def time(self):
        """The median over rounds."""
        return median(self.times.values())

    def text(self, fastest):
        """As it stands in a table."""
        low, high = min(self.times.values()), max(self.times.values())
        unit, scale = unit_of(self.time)
        shown = f"{significant(self.time / scale)} {unit}"
        if len(self.times) > 1:
            shown += f" ({significant(low / scale)}–{significant(high / scale)})"
        if self.off_wire:
            return f"{shown} †"
        return f"**{shown}**" if fastest else shown


def cells(samples, op, ranks):
    """The samples of one table as {bytes: {peer: Cell}}."""
    table = {}
    for sample in samples:
        if sample.line.op == op and sample.ranks == ranks:
            row = table.setdefault(sample.line.bytes, {})
            cell = row.setdefault(sample.peer, Cell({}, False))
            cell.times[sample.round] = sample.line.median_s
            cell.off_wire = cell.off_wire or sample.line.off_wire(ranks)
    return dict(sorted(table.items()))


def ratio(row):
    """(median, lowest, highest) of the fastest peer's time over ours; None without both."""
    rivals = [cell for peer, cell in row.items() if peer != OURS and not cell.off_wire]
    ours = row.get(OURS)
    if ours is None or ours.off_wire or not rivals:
        return None
    fastest = min(rivals, key=lambda cell: cell.time)
    ratios = [fastest.times[r] / ours.times[r] for r in ours.times if r in fastest.times]
    return (median(ratios), min(ratios), max(ratios)) if ratios else None


def markdown(samples, peers, facts, notes):
    """The whole report."""
    parts = ["# ringworld beside its peers, TCP on loopback", ""]
    parts += [f"- {key}: {value}" for key, value in facts.items()]
    parts += ["", "Time: median over rounds (lowest–highest round); the fastest in bold. Ratio: fastest peer's time / ringworld's time "
              "(lowest–highest round); above 1 ringworld is faster."]
    if any(sample.line.off_wire(sample.ranks) for sample in samples):
        parts.append("† Too little crossed the loopback interface: shared memory or the like; left out of the ratio.")
    unchecked = sorted({peers[s.peer].title for s in samples if s.line.wire_bytes is None})
    if unchecked:
        parts.append(f"Whether they used the wire is not checked for: {', '.join(unchecked)}.")
    if notes:
        parts += ["", "**Notes**", ""] + [f"- {note}" for note in notes]
    summary = []
    for ranks in sorted({sample.ranks for sample in samples}):
        for op in TITLES:
            table = cells(samples, op, ranks)
            if table:
                parts += ["", f"## {TITLES[op]}, {ranks} ranks", ""] + op_table(table, peers)
                summary += summary_row(op, ranks, table)
    if summary:
        parts += ["", "## Ratios", "", "| operation | ranks | geometric mean | lowest | at |", "|---|---|---|---|---|"] + summary
    return "\n".join(parts) + "\n"


def op_table(table, peers):
    """The rows of one operation."""
    present = [peer for peer in peers.values() if any(peer.name in row for row in table.values())]
    lines = ["| size | " + " | ".join(peer.title for peer in present) + " | ratio |", "|---" * (len(present) + 2) + "|"]
    for size, row in table.items():
        on_wire = [cell for cell in row.values() if not cell.off_wire]
        fastest = min(on_wire, key=lambda cell: cell.time) if on_wire else None
        texts = [row[peer.name].text(row[peer.name] is fastest) if peer.name in row else "–" for peer in present]
        found = ratio(row)
        texts.append(f"{found[0]:.2f} ({found[1]:.2f}–{found[2]:.2f})" if found else "–")
        lines.append(f"| {size_text(size)} | " + " | ".join(texts) + " |")
    return lines


def summary_row(op, ranks, table):
    """Mean and worst ratio of one table, as a list of no or one row."""
    ratios = {size: found[0] for size, row in table.items() if (found := ratio(row))}
    if not ratios:
        return []
    mean = math.exp(sum(math.log(value) for value in ratios.values()) / len(ratios))
    worst = min(ratios, key=ratios.get)
    return [f"| {op} | {ranks} | {mean:.2f} | {ratios[worst]:.2f} | {size_text(worst)} |"]


def unit_of(seconds):
    """The unit that fits, and what it is in seconds."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return unit, scale
    return "ns", 1e-9


def significant(value):
    """Three significant digits without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def size_text(size):
    """64 MiB for 67108864; a dash for operations without a size."""
    if size == 0:
        return "–"
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale and size % scale == 0:
            return f"{size // scale} {unit}"
    return f"{size} B"


def write_csv(directory, samples, facts, notes):
    """Writes every line of every run, facts and notes as comments on top; returns the path."""
    directory.mkdir(parents=True, exist_ok=True)
    stamp = facts["date"].replace(":", "").replace("-", "")
    path = directory / f"{stamp}-{facts['commit']}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        for key, value in [*facts.items(), *(("note", note) for note in notes)]:
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["round", "peer", "ranks", "op", "bytes", "iterations", "median_s", "min_s", "loopback_bytes",
                         "loopback_packets"])
        for s in samples:
            writer.writerow([s.round, s.peer, s.ranks, s.line.op, s.line.bytes, s.line.iterations, s.line.median_s,
                             s.line.min_s, s.line.wire_bytes, s.line.wire_packets])
    return path


def machine_facts(repository, peers, plan):
    """What a reader needs to judge or repeat the figures."""
    cpuinfo = read("/proc/cpuinfo")
    models = [line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("model name")]
    memory = [line.split()[1] for line in read("/proc/meminfo").splitlines() if line.startswith("MemTotal")]
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit(repository),
        "machine": f"{models[0] if models else platform.machine()}, {len(models)} cores, "
                   f"{int(memory[0]) / (1 << 20) if memory else 0:.0f} GiB",
        "system": f"Linux {platform.release()}, congestion control "
                  f"{read('/proc/sys/net/ipv4/tcp_congestion_control').strip() or 'unknown'}",
        "load at start": " ".join(read("/proc/loadavg").split()[:3]),
        "versions": ", ".join(f"{peer.title} {peer.version}" for peer in peers.values()),
        "plan": plan,
    }


def read(path):
    """A file's text, or nothing when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def commit(repository):
    """Short hash of the commit, with a mark when the work tree differs from it."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True, check=True).stdout.strip()
    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=10", "HEAD") + ("-changed" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
