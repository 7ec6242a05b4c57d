"""How close ringworld comes to what processes get out of the bare thing: plain sockets, or memory that both have mapped.

Invariant: neither is anybody's rival. They have no tags, no headers and no choice, and their figures never reach a
ratio of stats.py; they are the limit of the wire (benches/src/bin/raw.rs) and of the memory (rawmemory.c), beside which
ringworld's figures are put here. Neighbours: `run` measures them right after ringworld, in the same rounds; links.py does
the like on cables.
"""

import shutil
from dataclasses import dataclass
from statistics import median

import stats
from ops import sizes
from peers import BUILD, BUILD_TIMEOUT_S, HERE, REPOSITORY, Peer, built
from processes import CommandFailed, checked, clean_environment

MIB = 1 << 20
MEMORY_SOURCE = HERE / "rawmemory.c"


@dataclass(frozen=True)
class Limit:
    """An operation of the twin, what the bare thing does with the same bytes, and how far apart the two may be."""

    title: str
    ranks: int
    op: str
    raw: str
    # Where the bar stands, from the smallest to the largest size; in a comparison that does not go so far, the largest
    # size measured is shown.
    smallest: int
    largest: int
    # None where the limit only shows what is left to gain.
    bar: float | None


class PlainSockets(Peer):
    """The processes of `raw`; the first starts the others."""

    name, title = "raw", "plain sockets"
    about = ("As many processes that exchange the same bytes over tuned sockets, without tags, headers or sums: no rival, but the limit of the "
             "wire.")
    limits = (
        Limit("Ping-pong, half round trip", 2, "pingpong", "pingpong", 8, 8, 1.15),
        Limit("Stream, one way", 2, "stream", "stream", 64 * MIB, 64 * MIB, 1.15),
        Limit("All-reduce / exchange, both ways at once without a sum", 2, "allreduce", "exchange", 64 * MIB, 64 * MIB, 1.3),
        Limit("All-reduce / exchange with two neighbours in turn without a sum", 4, "allreduce", "doubling", 8, 8, None),
    )

    def __init__(self):
        self.program = None

    def prepare(self):
        """Builds them in release mode."""
        self.program = built(("ringworld-benches", "raw")) / "raw"

    def command(self, ranks, arguments):
        """What to start; the operation says how many processes, so of any other number there is none."""
        known = {limit.raw: limit.ranks for limit in self.limits}
        if known.get(arguments[0]) != ranks:
            raise ValueError(f"{arguments[0]} with {ranks} ranks given; {self.title} have {known}")
        return [self.program, *arguments]

    def environment(self):
        """The caller's, without settings of anybody."""
        return clean_environment()


class MappedMemory(PlainSockets):
    """The two processes of rawmemory.c; the first starts the other one."""

    name, title = "rawmemory", "mapped memory"
    about = ("Two processes that move the same bytes through memory that both have mapped, each bound to a core, without tags or headers and with the "
             "best length of pieces for each size: no rival, but the limit of copying what others own. An all-reduce sums pieces where they lie in the "
             "ring.")
    limits = (
        Limit("Ping-pong, half round trip", 2, "pingpong", "pingpong", 64 << 10, 64 * MIB, 1.3),
        Limit("All-reduce, f32 sum", 2, "allreduce", "allreduce", 64 << 10, 64 * MIB, 1.5),
    )

    def prepare(self):
        """Compiles them for this processor, as a program that copies for a living would be."""
        compiler = next((name for name in ("gcc", "cc") if shutil.which(name)), None)
        if compiler is None:
            raise CommandFailed("no C compiler (gcc or cc) is on PATH; install one (Debian: apt-get install gcc libc6-dev)")
        BUILD.mkdir(exist_ok=True)
        self.program = BUILD / "rawmemory"
        command = [compiler, "-O3", "-march=native", "-std=gnu11", "-Wall", "-Wextra", "-o", self.program, MEMORY_SOURCE]
        checked(command, "compiling rawmemory.c", BUILD_TIMEOUT_S, REPOSITORY)


# What stands beside ringworld in a scene.
BARE = {"loopback": PlainSockets, "memory": MappedMemory}


def asked(bare, names, ranks, smallest, largest):
    """The limits beside these operations, with the sizes of each: those of its bar, or the largest one below them."""
    found = []
    for limit in bare.limits:
        if limit.op not in names or limit.ranks != ranks:
            continue
        within = [size for size in sizes(limit.op, smallest, largest) if size <= limit.largest]
        found += [(limit, size) for size in [size for size in within if size >= limit.smallest] or within[-1:]]
    return found


def rows(bare, samples, beside):
    """Each limit that was measured: (limit, setting, bytes, ringworld's cell, that of the bare thing)."""
    found = []
    for limit in bare.limits:
        for setting in stats.settings([sample for sample in beside if sample.ranks == limit.ranks]):
            ours = stats.cells(samples, limit.op, setting)
            for size, row in stats.cells(beside, limit.raw, setting).items():
                cell, plain = ours.get(size, {}).get(stats.OURS), row[bare.name]
                if cell is not None and not cell.off_wire and cell.times.keys() & plain.times.keys():
                    found.append((limit, setting, size, cell, plain))
    return found


def above(cell, plain):
    """(median, lowest, highest) over rounds of ringworld's time over that of the bare thing."""
    ratios = [cell.times[turn] / plain.times[turn] for turn in cell.times if turn in plain.times]
    return median(ratios), min(ratios), max(ratios)


def report(bare, samples, beside):
    """The table, as lines; none when nothing was measured."""
    lines = []
    for limit, setting, size, cell, plain in rows(bare, samples, beside) if bare else []:
        found = above(cell, plain)
        ratio = stats.ratio_text(found)
        bar = "none" if limit.bar is None else f"{limit.bar:.2f}"
        stands = limit.smallest <= size <= limit.largest
        if limit.bar is not None and not stands:
            bar += f", at {stats.size_text(limit.smallest)}"
        missed = limit.bar is not None and stands and found[0] > limit.bar
        lines.append(f"| {limit.title} | {setting} | {stats.size_text(size)} | {stats.seconds_text(cell)} | {stats.seconds_text(plain)} | "
                     f"{f'**{ratio}**' if missed else ratio} | {bar} |")
    if not lines:
        return []
    return ["", f"### Beside {bare.title}", "",
            f"{bare.about} Ratio: ringworld's time / theirs, round by round; what is above its bar in bold.", "",
            f"| operation | world | size | ringworld | {bare.title} | ratio | bar |", "|---|---|---|---|---|---|---|"] + lines
