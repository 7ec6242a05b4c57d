"""From lines of twins to medians and ratios; starts nothing and formats nothing but figures.

A figure of one peer is the median over rounds of what its twin reported, with the lowest and highest
round beside it. A ratio is the fastest peer's time over ours, formed round by round (both then ran
within seconds of each other, under the same disturbances), and the median of those. Above 1: we are faster.
Where the cores come near one another and go far (distance.py), rounds are counted apart, and so are the tables.
"""

import math
from dataclasses import dataclass
from statistics import median

from measure import Line

OURS = "ringworld"
# ringworld as it was: nobody's rival either.
BEFORE = "before"
# Below this the fixed cost of a message counts for more than its bytes.
LARGE = 1 << 20


@dataclass
class Sample:
    """One line of one peer's twin in one round."""

    round: int
    peer: str
    ranks: int
    line: Line
    # How far the cores were from one another, in a word; empty where nobody asked.
    cores: str = ""

    @property
    def turn(self):
        """What lines that may be compared have in common."""
        return self.cores, self.round


@dataclass
class Whole:
    """One start of a program, from command to exit: a twin with its operations, or an empty world."""

    round: int
    peer: str
    ranks: int
    ops: str
    wall_s: float
    cpu_s: float
    cores: str = ""

    @property
    def turn(self):
        """As of a sample."""
        return self.cores, self.round


@dataclass
class Cell:
    """One peer's figure at one place of a table, by turn."""

    times: dict
    off_wire: bool = False

    @property
    def time(self):
        """The median over rounds."""
        return median(self.times.values())


@dataclass(frozen=True, order=True)
class Setting:
    """What all samples of a table have in common but for the operation."""

    ranks: int
    cores: str = ""

    def __str__(self):
        return f"{self.ranks} ranks, {self.cores} cores" if self.cores else f"{self.ranks} ranks"


def settings(samples):
    """Those that were measured; of cores that come and go, the near ones first."""
    found = {Setting(sample.ranks, sample.cores) for sample in samples}
    return sorted(found, key=lambda setting: (setting.ranks, setting.cores != "near", setting.cores))


def cells(samples, op, setting):
    """The samples of one table as {bytes: {peer: Cell}}."""
    table = {}
    for sample in samples:
        if sample.line.op == op and (sample.ranks, sample.cores) == (setting.ranks, setting.cores):
            row = table.setdefault(sample.line.bytes, {})
            cell = row.setdefault(sample.peer, Cell({}))
            cell.times[sample.turn] = sample.line.median_s
            cell.off_wire = cell.off_wire or sample.line.off_wire(setting.ranks)
    return dict(sorted(table.items()))


def rival(row):
    """The name of the peer with the lowest median that counts; None without one."""
    rivals = {name: cell for name, cell in row.items() if name not in (OURS, BEFORE) and not cell.off_wire}
    return min(rivals, key=lambda name: rivals[name].time) if rivals else None


def against(row, name):
    """(median, lowest, highest) of that peer's figure over ours, round by round; None without both."""
    ours, theirs = row.get(OURS), row.get(name)
    if ours is None or theirs is None or ours.off_wire:
        return None
    ratios = [theirs.times[turn] / ours.times[turn] for turn in ours.times if turn in theirs.times]
    return (median(ratios), min(ratios), max(ratios)) if ratios else None


def ratio(row):
    """(median, lowest, highest) of the fastest peer's figure over ours; None without both."""
    return against(row, rival(row))


def since_before(row):
    """(median, lowest, highest) of what we took before over what we take now; None without both."""
    return against(row, BEFORE)


def geometric_mean(values):
    """Of ratios, so that twice as fast and half as fast make one."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def cpu_rows(samples):
    """Processor seconds per gigabyte of large messages: {(op, ranks): {peer: Cell}}.

    In a round, the geometric mean over the sizes; what did not use the wire moved nothing and is left out.
    """
    found = {}
    for sample in samples:
        if sample.line.bytes >= LARGE and sample.line.cpu_s > 0 and not sample.line.off_wire(sample.ranks):
            rounds = found.setdefault((sample.line.op, sample.ranks), {}).setdefault(sample.peer, {})
            rounds.setdefault(sample.turn, []).append(sample.line.cpu_per_gigabyte(sample.ranks))
    return {key: {peer: Cell({turn: geometric_mean(costs) for turn, costs in rounds.items()})
                  for peer, rounds in row.items()} for key, row in found.items()}


def whole_rows(wholes, field, empty):
    """One figure of whole runs: {ranks: {peer: Cell}}; those of one round are added up."""
    table = {}
    for whole in wholes:
        if (whole.ops == "empty") == empty:
            times = table.setdefault(whole.ranks, {}).setdefault(whole.peer, Cell({})).times
            times[whole.turn] = times.get(whole.turn, 0) + getattr(whole, field)
    return dict(sorted(table.items()))


def seconds_text(cell):
    """A time in the unit that fits, with its spread."""
    unit, scale = unit_of(cell.time)
    return spread_text(cell, scale, f" {unit}")


def spread_text(cell, scale=1.0, unit=""):
    """The median and, of several rounds, lowest and highest."""
    text = f"{significant(cell.time / scale)}{unit}"
    if len(cell.times) > 1:
        text += f" ({significant(min(cell.times.values()) / scale)}–{significant(max(cell.times.values()) / scale)})"
    return text


def ratio_text(found):
    """A ratio with its spread; a dash for none."""
    return f"{found[0]:.2f} ({found[1]:.2f}–{found[2]:.2f})" if found else "–"


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
