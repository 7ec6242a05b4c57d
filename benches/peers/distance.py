"""How far the cores are from one another, which whoever runs virtual machines may change at any moment.

What one core has written takes another 40 ns to see where both have a cache in common, and 130 where they have not; on
hosts with many of them a virtual machine's cores come near and go far within a minute. That moves every latency in
shared memory by two and more, of ringworld and its peers alike, so only turns of the same distance are compared. It is
told by a ping-pong of 8 bytes between two bare loops (rawmemory.c), before and after each turn; a turn in which it has
changed counts nowhere. Neighbours: `run` asks, stats.py keeps the tables apart.
"""

from measure import run_twin

NEAR, FAR, UNKNOWN = "near", "far", ""
# Half a round trip of the bare loops: some 60 to 75 ns between near cores of an EPYC, 170 to 230 between far ones.
BETWEEN_S = 110e-9
SIZE, BUDGET_MS, TIMEOUT_S = 8, 1, 20


class Distance:
    """Asks the bare loops, and remembers what they have said."""

    def __init__(self, memory):
        self.memory, self.seen = memory, {}

    def now(self):
        """`NEAR` or `FAR`; `UNKNOWN` where the loops fail, which makes a table of its own."""
        run = run_twin(self.memory, ["pingpong"], 2, SIZE, SIZE, BUDGET_MS, TIMEOUT_S)
        if run.failure is not None:
            return UNKNOWN
        seconds = run.lines[0].median_s
        cores = NEAR if seconds < BETWEEN_S else FAR
        self.seen.setdefault(cores, []).append(seconds)
        return cores

    def remark(self):
        """What was seen, for the notes."""
        parts = [f"{cores} in {len(self.seen[cores])} ({min(self.seen[cores]) * 1e9:.0f}–{max(self.seen[cores]) * 1e9:.0f} ns)"
                 for cores in (NEAR, FAR) if cores in self.seen]
        return f"Distance of the cores, by half a round trip of 8 B between two bare loops around each turn: {', '.join(parts) or 'unknown'}."
