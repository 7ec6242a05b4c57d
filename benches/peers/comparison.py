"""Everybody in turn, and what came of it: who runs when, what is kept, what is left out from then on.

Over TCP everybody runs once in every round. In shared memory, where the distance of the cores (distance.py) moves every
time by two and more, whoever has run least at the present distance is next. Neighbours: `run` has the command line and
writes the files, measure.py makes one run, stats.py makes figures of what is kept here.
"""

import time
from dataclasses import replace

import distance
import limits
import ops
import stats
import tools
from measure import run_empty, run_twin


def turns(peers, turn):
    """The peers in the order of that round: each round another one begins."""
    names = list(peers)
    first = turn % len(names)
    return [peers[name] for name in names[first:] + names[:first]]


# Between two looks for cores to come to where turns are missing.
PAUSE_S = 1.0


class Comparison:
    """Everybody in turn on loopback; what was measured, and what went wrong."""

    def __init__(self, options, peers, bare, notes):
        self.options, self.peers, self.bare, self.notes = options, peers, bare, notes
        self.over_tcp = "memory" not in options.scenes
        self.distance = distance.Distance(bare) if bare and not self.over_tcp else None
        # What the bare thing does is kept apart: it is nobody's rival.
        self.samples, self.wholes, self.beside, self.failed = [], [], [], set()
        starts = len(options.start_ranks) * min(options.starts, options.rounds) * len(peers)
        groups = sum(1 for ranks in options.ranks for group in options.groups if self.possible(group, ranks))
        twins = groups * sum(len(self.taking_part(turn)) for turn in range(options.rounds))
        besides = options.rounds * sum(len(self.limits(group, ranks)) for ranks in options.ranks for group in options.groups)
        self.progress = tools.Progress(starts + twins + (besides if stats.OURS in peers else 0))

    @staticmethod
    def possible(group, ranks):
        """The operations of a group that a world of this size can do."""
        return [op for op in group if ranks % 2 == 0 or not ops.OPERATIONS[op].pairs]

    def rounds_of(self, peer):
        """How many turns a peer has; slow ones take part in the first rounds only."""
        return self.options.rounds if peer.rounds is None else 1 if self.options.quick else min(peer.rounds, self.options.rounds)

    def taking_part(self, turn):
        """The peers of a round, in its order."""
        return [peer for peer in turns(self.peers, turn) if turn < self.rounds_of(peer)]

    def measured(self):
        """Measures everything, and says how often."""
        if self.distance is None:
            return f"{self.all_rounds()} rounds"
        made = self.all_distances()
        self.note(self.distance.remark())
        return ", ".join(f"{least} to {most} rounds with {cores or 'unknown'} cores" for cores, (least, most) in made.items())

    def all_distances(self):
        """Turns of whoever has had the fewest while the cores are as they are, until all have had theirs wherever any has, or the time is
        up; returns the fewest and the most by distance."""
        begin, longest, tallies = time.monotonic(), 0.0, {}
        for turn in range(self.options.starts):
            self.empties(turn)
        worlds = [(ranks, names) for ranks in self.options.ranks for group in self.options.groups if (names := self.possible(group, ranks))]
        cores = self.distance.now()
        while self.unfinished(tallies, len(worlds)):
            idle = True
            for world, (ranks, names) in enumerate(worlds):
                tally = tallies.setdefault(cores, {}).setdefault(world, dict.fromkeys(self.peers, 0))
                lacks = self.lacks(tally)
                if not lacks:
                    continue
                if longest and time.monotonic() + longest - begin > self.options.limit:
                    self.progress.end(f"time is up after {time.monotonic() - begin:.0f} s")
                    return self.spans(tallies)
                peer, start, kept = lacks[0], time.monotonic(), [len(what) for what in (self.samples, self.wholes, self.beside)]
                self.measure(tally[peer.name], peer, ranks, names, cores)
                if peer.name == stats.OURS:
                    self.bare_thing(tally[peer.name], ranks, names, cores)
                longest, idle, before = max(longest, time.monotonic() - start), False, cores
                cores = self.distance.now()
                if cores == before:
                    tally[peer.name] += 1
                else:
                    for what, length in zip((self.samples, self.wholes, self.beside), kept):
                        del what[length:]
            if idle:
                if time.monotonic() - begin > self.options.limit:
                    break
                time.sleep(PAUSE_S)
                cores = self.distance.now()
        self.progress.end(f"done in {time.monotonic() - begin:.0f} s")
        return self.spans(tallies)

    def unfinished(self, tallies, worlds):
        """Whether there is a world that has had no turn at all, or a distance at which some turns are missing."""
        begun = [(world, tally) for there in tallies.values() for world, tally in there.items() if any(tally.values())]
        return len({world for world, _ in begun}) < worlds or any(self.lacks(tally) for _, tally in begun)

    def lacks(self, tally):
        """The peers that have not had all their turns of such a tally, whoever has had the fewest first."""
        return sorted((peer for peer in turns(self.peers, min(tally.values())) if tally[peer.name] < self.rounds_of(peer)),
                      key=lambda peer: tally[peer.name])

    @staticmethod
    def spans(tallies):
        """{cores: (fewest, most)} turns of anybody, where there were any."""
        counts = {cores: [count for tally in there.values() for count in tally.values()] for cores, there in tallies.items()}
        return {cores: (min(found), max(found)) for cores, found in counts.items() if any(found)}

    def all_rounds(self):
        """Rounds until they are done or the time is up; returns how many were made."""
        begin, longest = time.monotonic(), {}
        for turn in range(self.options.rounds):
            peers = self.taking_part(turn)
            ahead = sum(longest.get(peer.name, 0) for peer in peers)
            if turn and time.monotonic() + ahead - begin > self.options.limit:
                self.progress.end(f"time is up after {turn} of {self.options.rounds} rounds")
                return turn
            if turn < self.options.starts:
                self.empties(turn)
            spent = dict.fromkeys((peer.name for peer in peers), 0.0)
            for ranks in self.options.ranks:
                for group in self.options.groups:
                    for peer in peers:
                        start = time.monotonic()
                        self.measure(turn, peer, ranks, self.possible(group, ranks))
                        if peer.name == stats.OURS:
                            self.bare_thing(turn, ranks, group)
                        spent[peer.name] += time.monotonic() - start
            longest = {name: max(spent.get(name, 0), longest.get(name, 0)) for name in self.peers}
        self.progress.end(f"{self.options.rounds} rounds in {time.monotonic() - begin:.0f} s")
        return self.options.rounds

    def empties(self, turn):
        """Start-up of everybody."""
        for ranks in self.options.start_ranks:
            for peer in turns(self.peers, turn):
                self.progress.step(f"round {turn + 1}/{self.options.rounds}, start-up, {ranks} ranks, {peer.title}")
                if peer.starts and ("empty", ranks, peer.name) not in self.failed:
                    run = run_empty(peer, ranks, self.options.timeout)
                    self.judge(turn, peer, ranks, "empty", run)
                    if run.failure is None:
                        self.whole(turn, peer, ranks, "empty", run)

    def measure(self, turn, peer, ranks, names, cores=""):
        """One peer's operations; one that fails is left out from then on, those after it are run again."""
        if not names:
            return
        self.progress.step(f"round {turn + 1}/{self.options.rounds}, {names[0]}…{names[-1]}, {ranks} ranks, {peer.title}")
        names = [op for op in names if op in peer.ops and (op, ranks, peer.name) not in self.failed]
        while names:
            run = run_twin(peer, names, ranks, self.options.min, self.largest(peer), self.options.budget, self.options.timeout)
            # What crosses the wire says nothing where there is none.
            lines = run.lines if self.over_tcp else [replace(line, wire_bytes=None) for line in run.lines]
            self.samples += [stats.Sample(turn + 1, peer.name, ranks, line, cores) for line in lines]
            done = [op for op in names if self.complete(op, run, self.largest(peer))] if run.failure else names
            failed = names[len(done)] if len(done) < len(names) else names[-1]
            self.judge(turn, peer, ranks, failed, run)
            self.whole(turn, peer, ranks, "+".join(done), run, cores)
            names = names[len(done) + 1:]

    def limits(self, group, ranks):
        """What the bare thing is asked for beside a group of operations: (limit, bytes) of each."""
        if self.bare is None:
            return []
        return limits.asked(self.bare, group, ranks, self.options.min, self.options.max)

    def bare_thing(self, turn, ranks, group, cores=""):
        """The same bytes without a library, within seconds of ringworld's turn."""
        for limit, size in self.limits(group, ranks):
            self.progress.step(f"round {turn + 1}/{self.options.rounds}, {limit.raw}, {self.bare.title}")
            if (limit.raw, ranks, self.bare.name) not in self.failed:
                run = run_twin(self.bare, [limit.raw], ranks, size, size, self.options.budget, self.options.timeout)
                self.beside += [stats.Sample(turn + 1, self.bare.name, ranks, line, cores) for line in run.lines]
                self.judge(turn, self.bare, ranks, limit.raw, run)

    def largest(self, peer):
        """The largest size asked of a peer."""
        return min(self.options.max, peer.largest or self.options.max)

    def complete(self, op, run, largest):
        """Whether all sizes of an operation were measured."""
        return sum(line.op == op for line in run.lines) == len(ops.sizes(op, self.options.min, largest))

    def whole(self, turn, peer, ranks, what, run, cores=""):
        """Keeps the whole run's times; one that measured nothing is none."""
        if what:
            self.wholes.append(stats.Whole(turn + 1, peer.name, ranks, what, run.wall_s, run.cpu_s, cores))

    def judge(self, turn, peer, ranks, what, run):
        """Notes what went wrong."""
        where = f"{peer.title}, {what}, {ranks} ranks"
        if run.failure is not None:
            self.failed.add((what, ranks, peer.name))
            self.note(f"{where}, is left out from round {turn + 1} on: it {run.failure}.")
        if run.left:
            self.note(f"{where}, round {turn + 1}: left {run.left} processes behind (ended).")

    def note(self, text):
        """For the report, and at once for who watches."""
        self.notes.append(text)
        self.progress.say(text)

    def missing(self):
        """What was asked of ringworld and not measured."""
        if stats.OURS not in self.options.peers or self.options.scenes == ["links"]:
            return []
        measured = {(sample.line.op, sample.ranks) for sample in self.samples if sample.peer == stats.OURS}
        wanted = {(op, ranks) for ranks in self.options.ranks for op in self.possible(self.options.only, ranks)}
        failed = {(op, ranks) for op, ranks, name in self.failed if name == stats.OURS}
        return sorted(wanted - measured | failed)
