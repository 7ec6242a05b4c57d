"""How close ringworld comes to what two or four processes get out of plain TCP sockets (benches/src/bin/raw.rs).

Invariant: plain sockets are nobody's rival. They have no tags, no headers and no sum, and their figures never
reach a ratio of stats.py; they are the limit of the wire, beside which ringworld's figures are put here.
Neighbours: `run` measures them right after ringworld, in the same rounds; links.py does the like on cables.
"""

from dataclasses import dataclass
from statistics import median

import stats
from ops import sizes
from peers import Peer, built
from processes import clean_environment

@dataclass(frozen=True)
class Limit:
    """An operation of the twin, what plain sockets do with the same bytes, and how far apart the two may be."""

    title: str
    ranks: int
    op: str
    raw: str
    # Where the bar stands; in a comparison that does not go so far, the largest size measured is shown.
    size: int
    # None where the limit only shows what is left to gain.
    bar: float | None


LIMITS = (
    Limit("Ping-pong, half round trip", 2, "pingpong", "pingpong", 8, 1.15),
    Limit("Stream, one way", 2, "stream", "stream", 64 << 20, 1.15),
    Limit("All-reduce / exchange, both ways at once without a sum", 2, "allreduce", "exchange", 64 << 20, 1.3),
    Limit("All-reduce / exchange with two neighbours in turn without a sum", 4, "allreduce", "doubling", 8, None),
)


class PlainSockets(Peer):
    """The processes of `raw`; the first starts the others."""

    name, title = "raw", "plain sockets"

    def __init__(self):
        self.binaries = None

    def prepare(self):
        """Builds them in release mode."""
        self.binaries = built(("ringworld-benches", "raw"))

    def command(self, ranks, arguments):
        """What to start; the operation says how many processes, so of any other number there is none."""
        known = {limit.raw: limit.ranks for limit in LIMITS}
        if known.get(arguments[0]) != ranks:
            raise ValueError(f"{arguments[0]} with {ranks} ranks given; plain sockets have {known}")
        return [self.binaries / "raw", *arguments]

    def environment(self):
        """The caller's, without settings of anybody."""
        return clean_environment()


def asked(names, ranks, smallest, largest):
    """The limits beside these operations, with the size of each: that of its bar, or the largest below it."""
    found = []
    for limit in LIMITS:
        within = [size for size in sizes(limit.op, smallest, largest) if size <= limit.size]
        if limit.op in names and limit.ranks == ranks and within:
            found.append((limit, within[-1]))
    return found


def rows(samples, beside):
    """Each limit that was measured: (limit, bytes, ringworld's cell, that of plain sockets)."""
    found = []
    for limit in LIMITS:
        ours = stats.cells(samples, limit.op, limit.ranks)
        for size, row in stats.cells(beside, limit.raw, limit.ranks).items():
            cell, plain = ours.get(size, {}).get(stats.OURS), row[PlainSockets.name]
            if cell is not None and not cell.off_wire and cell.times.keys() & plain.times.keys():
                found.append((limit, size, cell, plain))
    return found


def above(cell, plain):
    """(median, lowest, highest) over rounds of ringworld's time over that of plain sockets."""
    ratios = [cell.times[turn] / plain.times[turn] for turn in cell.times if turn in plain.times]
    return median(ratios), min(ratios), max(ratios)


def report(samples, beside):
    """The table, as lines; none when nothing was measured."""
    lines = []
    for limit, size, cell, plain in rows(samples, beside):
        found = above(cell, plain)
        ratio = stats.ratio_text(found)
        bar = "none" if limit.bar is None else f"{limit.bar:.2f}"
        if limit.bar is not None and size != limit.size:
            bar += f", at {stats.size_text(limit.size)}"
        missed = limit.bar is not None and size == limit.size and found[0] > limit.bar
        lines.append(f"| {limit.title} | {limit.ranks} | {stats.size_text(size)} | {stats.seconds_text(cell)} | {stats.seconds_text(plain)} | "
                     f"{f'**{ratio}**' if missed else ratio} | {bar} |")
    if not lines:
        return []
    return ["", "### Beside plain sockets", "",
            "As many processes that exchange the same bytes over tuned sockets, without tags, headers or sums: no rival, but the limit of the wire. "
            "Ratio: ringworld's time / theirs, round by round; what is above its bar in bold.", "",
            "| operation | ranks | size | ringworld | plain sockets | ratio | bar |", "|---|---|---|---|---|---|---|"] + lines
