"""Tests of the comparison program that need no peer: `python3 -m unittest discover benches/peers`.

Twins are played by shell scripts; ids of processes that must be gone are checked by signal 0.
"""

import argparse
import importlib.machinery
import importlib.util
import os
import re
import sys
import tempfile
import time
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import comparison
import distance
import facts
import limits
import links
import measure
import ops
import peers as contestants
import plots
import report
import stats
from measure import Line, RunFailed, parse, run_empty, run_twin
from processes import CommandFailed, adopt_orphans, checked, clean_environment


class Script:
    """A peer whose twin is a shell script."""

    name = title = "script"

    def __init__(self, text):
        self.text = text

    def command(self, ranks, arguments):
        return ["sh", "-c", self.text, "sh", ranks, *arguments]

    def environment(self):
        return clean_environment()


def run(text, timeout=20, names=("bcast",)):
    return run_twin(Script(text), names, 2, 8, 64, 5, timeout)


def sample(turn, peer, seconds, wire=None, size=8, op="bcast", cpu=0.0, ranks=2, cores=""):
    return stats.Sample(turn, peer, ranks, Line(op, size, 10, seconds, seconds, cpu, wire, wire), cores)


PEERS = {name: Script(name) for name in ("ringworld", "mpich", "openmpi")}
for name, peer in PEERS.items():
    peer.name = peer.title = name


def twin(name, text="echo $2 | tr , '\\n' | while read op; do b=8; [ $op = barrier ] && b=0; echo $op,$b,30,2e-6,1e-6,0.5; done"):
    """A contestant whose twin prints one line per operation."""
    peer = Script(text)
    peer.name = peer.title = name
    peer.largest = peer.rounds = None
    peer.ops, peer.starts = tuple(ops.OPERATIONS), True
    return peer


def load_run():
    """The program `run`, which has no ending, as a module."""
    path = str(Path(__file__).resolve().parent / "run")
    loader = importlib.machinery.SourceFileLoader("run_program", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def gone(path):
    """Whether the process whose id stands in the file has ended."""
    pid, deadline = int(Path(path).read_text()), time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        adopt_orphans()

    def test_lines_of_a_twin_are_read_with_and_without_loopback_counters(self):
        done = run("echo $2,8,30,2e-6,1e-6,0.5; echo $2,64,30,2e-6,1e-6,0.5,4000,60")
        self.assertEqual([line.bytes for line in done.lines], [8, 64])
        self.assertEqual([line.wire_packets for line in done.lines], [None, 60])
        self.assertEqual((done.left, done.failure), (0, None))

    def test_several_operations_are_measured_in_one_start(self):
        done = run("echo $2 | tr , '\\n' | while read op; do echo $op,8,30,2e-6,1e-6,0.5; done", names=("bcast", "rate"))
        self.assertEqual([line.op for line in done.lines], ["bcast", "rate"])

    def test_a_line_that_is_no_measurement_fails_the_run(self):
        for text in ("hello", "bcast,8,0,1,1,1", "bcast,8,1,1,2,1", "bcast,8,1,nan,nan,1", "barrier,8,1,1,1,1", "bcast,8,1,1,1,1,1",
                     "bcast,8,1,1,1", "bcast,8,1,1,1,nan", "bcast,8,1,1,1,-1"):
            with self.assertRaisesRegex(RunFailed, "expected `op,bytes.*of bcast"):
                parse(text, ("bcast",))

    def test_a_bad_exit_is_told_with_its_cause_and_keeps_what_came_before(self):
        done = run("echo bcast,8,30,2e-6,1e-6,0.5; echo 'twin: rank 1: wrong sum' >&2; exit 3")
        self.assertRegex(done.failure, "exit code 3: twin: rank 1: wrong sum")
        self.assertEqual(len(done.lines), 1)
        self.assertRegex(run("kill -SEGV $$").failure, "SIGSEGV")
        self.assertRegex(run("true").failure, "no measurement")
        self.assertIsNone(run_empty(Script("test $2 = empty"), 2, 20).failure)

    def test_processor_time_of_a_whole_run_counts_children_and_orphans(self):
        # The kernel ends it after so much processor time, however busy the machine is. It samples that by its clock's
        # ticks: on a busy machine one second was 0.88.
        busy = "sh -c 'ulimit -t 2; while :; do :; done'"
        self.assertGreater(run_empty(Script(f"{busy}; true"), 2, 60).cpu_s, 1.5)
        self.assertGreater(run_empty(Script(f"setsid {busy} >/dev/null 2>&1 &"), 2, 60).cpu_s, 0.15)
        self.assertLess(run_empty(Script("sleep 0.3"), 2, 60).cpu_s, 0.15)

    def test_a_run_ends_at_its_timeout_with_all_its_processes(self):
        with tempfile.TemporaryDirectory() as directory:
            start = time.monotonic()
            # The second ignores TERM and has left the process group.
            done = run(f"sleep 300 & echo $! > {directory}/a; "
                       f"setsid sh -c 'trap \"\" TERM; echo $$ > {directory}/b; sleep 300; sleep 300' & wait", timeout=1)
            self.assertRegex(done.failure, "more than 1 s")
            self.assertLess(time.monotonic() - start, 15)
            self.assertTrue(gone(f"{directory}/a") and gone(f"{directory}/b"))

    def test_a_run_that_has_fallen_silent_is_ended_long_before_its_timeout(self):
        patience, measure.SILENCE_S = measure.SILENCE_S, 1.0
        try:
            done = run("echo bcast,8,30,2e-6,1e-6,0.5; echo possible deadlock >&2; sleep 300", timeout=60)
        finally:
            measure.SILENCE_S = patience
        self.assertRegex(done.failure, "printed nothing for 1 s: possible deadlock")
        self.assertEqual(len(done.lines), 1)

    def test_what_a_launcher_leaves_behind_is_counted_and_ended(self):
        with tempfile.TemporaryDirectory() as directory:
            done = run(f"setsid sleep 300 & echo $! > {directory}/a; echo bcast,8,30,2e-6,1e-6,0.5")
            self.assertEqual((len(done.lines), done.left), (1, 1))
            self.assertTrue(gone(f"{directory}/a"))

    def test_a_missing_tool_is_named(self):
        with self.assertRaisesRegex(CommandFailed, "no-such-tool cannot be started"):
            checked(["no-such-tool"], "building", 5, ".")
        with self.assertRaisesRegex(CommandFailed, "building failed: error: no space"):
            checked(["sh", "-c", "echo warning >&2; echo error: no space >&2; exit 1"], "building", 5, ".")
        with self.assertRaisesRegex(CommandFailed, "building took more than 1 s"):
            checked(["sleep", "60"], "building", 1, ".")


class Figures(unittest.TestCase):
    def test_the_ratio_is_formed_round_by_round_with_the_fastest_peer(self):
        # The second round was disturbed for everybody: the ratio does not move.
        samples = [sample(1, "ringworld", 2e-6), sample(1, "mpich", 4e-6), sample(1, "openmpi", 9e-6),
                   sample(2, "ringworld", 20e-6), sample(2, "mpich", 40e-6), sample(2, "openmpi", 60e-6)]
        row = stats.cells(samples, "bcast", stats.Setting(2))[8]
        self.assertEqual([round(value, 9) for value in stats.ratio(row)], [2.0, 2.0, 2.0])

    def test_a_peer_off_the_wire_is_shown_and_left_out_of_the_ratio(self):
        samples = [sample(1, "ringworld", 2e-6), sample(1, "mpich", 1e-6, wire=0), sample(1, "openmpi", 3e-6, wire=500)]
        row = stats.cells(samples, "bcast", stats.Setting(2))[8]
        self.assertTrue(row["mpich"].off_wire)
        self.assertTrue(report.cell_text(row["mpich"], None, stats.seconds_text).endswith("†"))
        self.assertAlmostEqual(stats.ratio(row)[0], 1.5)

    def test_the_least_traffic_of_an_operation_is_on_the_wire(self):
        def off(op, size, ranks, wire_bytes, packets):
            return Line(op, size, 10, 1, 1, 0, wire_bytes, packets).off_wire(ranks)
        self.assertFalse(off("allreduce", 1000, 2, 20_000, 20))
        self.assertTrue(off("allreduce", 1000, 2, 10_000, 20))
        self.assertTrue(off("barrier", 0, 4, 10_000, 50))
        self.assertFalse(off("alltoall", 1000, 4, 30_000, 40))
        self.assertTrue(off("alltoall", 1000, 4, 20_000, 40))
        # Two pairs, both directions, 64 messages each.
        self.assertFalse(off("bidir", 1000, 4, 2 * 2 * 64 * 10_000, 40))
        self.assertTrue(off("bidir", 1000, 4, 2 * 64 * 10_000, 40))
        self.assertTrue(off("rate", 8, 2, 64 * 80, 10))

    def test_processor_time_is_per_gigabyte_that_had_to_be_sent(self):
        # 10 all-reduces of 50 MB by 2 ranks: 1 GB.
        self.assertAlmostEqual(sample(1, "mpich", 1, op="allreduce", size=50_000_000, cpu=0.7).line.cpu_per_gigabyte(2), 0.7)
        samples = [sample(turn, "mpich", 1, op="allreduce", size=size, cpu=cost * size / 50e6)
                   for turn in (1, 2) for size, cost in ((2 << 20, 0.5), (8 << 20, 2.0), (8, 9.0))]
        row = stats.cpu_rows(samples)["allreduce", 2]
        self.assertEqual([round(value, 6) for value in row["mpich"].times.values()], [1.0, 1.0])
        shared_memory = [sample(1, "mpich", 1, op="allreduce", size=2 << 20, cpu=0.1, wire=0)]
        self.assertEqual(stats.cpu_rows(shared_memory), {})

    def test_groups_of_one_round_add_up_and_empty_worlds_stand_apart(self):
        wholes = [stats.Whole(1, "mpich", 2, "bcast", 1.0, 2.0), stats.Whole(1, "mpich", 2, "rate", 0.5, 1.0),
                  stats.Whole(1, "mpich", 2, "empty", 0.1, 0.2)]
        self.assertEqual(stats.whole_rows(wholes, "cpu_s", empty=False)[2]["mpich"].times, {("", 1): 3.0})
        self.assertEqual(stats.whole_rows(wholes, "wall_s", empty=True)[2]["mpich"].times, {("", 1): 0.1})

    def test_figures_are_written_in_the_unit_that_fits(self):
        self.assertEqual(stats.seconds_text(stats.Cell({1: 5.74e-6, 2: 6.17e-6, 3: 5.72e-6})), "5.74 µs (5.72–6.17)")
        self.assertEqual(stats.ratio_text(None), "–")
        self.assertEqual([stats.size_text(size) for size in (0, 8, 1 << 10, 64 << 20)], ["–", "8 B", "1 KiB", "64 MiB"])

    def test_every_operation_is_in_one_group_and_has_its_sizes(self):
        self.assertEqual(sorted(op for group in ops.GROUPS for op in group), sorted(ops.OPERATIONS))
        self.assertEqual([op for names in ops.SETS.values() for op in names], list(ops.OPERATIONS))
        self.assertEqual(ops.sizes("reduce", 1 << 18, 64 << 20), [1 << 18, 1 << 20])
        self.assertEqual(ops.sizes("inflight", 1 << 16, 64 << 20), [1 << 16])
        self.assertEqual(ops.sizes("reduce", 2 << 20, 2 << 20), [])
        self.assertEqual(ops.sizes("rate", 8, 64 << 20), [8, 64, 1024])
        self.assertEqual(ops.sizes("barrier", 1024, 2048), [0])
        self.assertEqual(ops.sizes("pingpong", 8192, 8192), [8192])
        self.assertEqual(ops.sizes("barrier", 8192, 8192), [0])
        self.assertEqual(ops.sizes("rate", 8192, 8192), [])
        self.assertEqual(ops.sizes("pingpong", 8190, 8190), [])
        self.assertEqual([ops.window(size) for size in (8, 1 << 20, 4 << 20, 64 << 20)], [64, 64, 16, 4])

    def test_all_twins_know_the_same_operations_with_the_same_bounds(self):
        here = Path(__file__).resolve().parent
        c = re.findall(r'^    \{"(\w+)", (true|false), (?:true|false), (?:true|false), ([^,]+),', (here / "twin.c").read_text(), re.MULTILINE)
        bounds = {"SIZE_MAX": ops.SIZES[-1], "0": 0, "1u << 10": 1 << 10, "64u << 10": 64 << 10, "1u << 20": 1 << 20}
        self.assertEqual([(name, pairs == "true", bounds[largest]) for name, pairs, largest in c],
                         [(name, op.pairs, op.sizes[-1]) for name, op in ops.OPERATIONS.items()])
        rust = re.findall(r'^    \("(\w+)", Operation::', (here.parent / "src" / "schedule.rs").read_text(), re.MULTILINE)
        self.assertEqual(rust, list(ops.OPERATIONS))

    def test_names_of_sets_stand_for_their_operations(self):
        read = load_run().listed(list(ops.OPERATIONS), ops.SETS)
        self.assertEqual(read("reduce,rooted,bcast"), ["reduce", "rootedbcast", "gather", "scatter", "bcast"])
        with self.assertRaisesRegex(argparse.ArgumentTypeError, "'rootd' is unknown; expected some of pingpong,.*,rooted,shapes,threads"):
            read("rootd")

    def test_ringworld_as_it_was_is_no_rival_and_what_became_slower_is_named(self):
        samples = [sample(turn, name, seconds * turn, size=size) for turn in (1, 2, 3) for size, times in
                   ((8, {"before": 1e-6, "ringworld": 2e-6, "mpich": 3e-6}), (64, {"before": 6e-6, "ringworld": 3e-6}),
                    (1024, {"before": 0.97e-6, "ringworld": 1e-6}))
                   for name, seconds in times.items()]
        self.assertEqual(stats.rival(stats.cells(samples, "bcast", stats.Setting(2))[8]), "mpich")
        text = "\n".join(report.since_before(samples))
        self.assertIn("| 64 B | 2.00 |", text)
        self.assertIn("| bcast | 2 ranks | 0.99 | 0.50 (0.50–0.50) | 8 B |", text)
        self.assertIn("in every round:\n- bcast, 2 ranks, 8 B: 0.50 (0.50–0.50)", text)
        self.assertNotIn("1 KiB:", text)
        faster = [s for s in samples if s.line.bytes == 64]
        self.assertIn("in every round: none.", "\n".join(report.since_before(faster)))
        self.assertEqual(report.since_before([s for s in samples if s.peer != "before"]), [])

    def test_a_commit_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(CommandFailed, "looking for the commit no-such-commit failed"):
            contestants.Before("no-such-commit").prepare()

    def test_lines_that_were_kept_are_drawn_from_like_new_ones(self):
        lines = [Line("bcast", 8, 5, 1e-6, 9e-7, 0.25, 100, 3), Line("bcast", 64, 5, 2e-6, 1e-6, 0.5)]
        samples = [stats.Sample(2, peer, 4, line, cores) for peer, cores in (("ringworld", "near"), ("openmpi", "")) for line in lines]
        header = ["round", "peer", "ranks", "op", "bytes", "iterations", "median_s", "min_s", "cpu_s", "loopback_bytes", "loopback_packets",
                  "cores"]
        rows = [[s.round, s.peer, s.ranks, *vars(s.line).values(), s.cores] for s in samples]
        with tempfile.TemporaryDirectory() as directory:
            path = facts.write_csv(Path(directory) / "kept.csv", header, rows, {"date": "2026"})
            self.assertEqual(plots.kept(path), samples)
            # As files were before cores were told apart.
            facts.write_csv(path, header[:-1], [row[:-1] for row in rows], {"date": "2026"})
            self.assertEqual([found.cores for found in plots.kept(path)], [""] * 4)

    def test_plots_hold_only_what_used_the_wire_beside_ringworld(self):
        samples = [sample(1, "ringworld", 2e-6), sample(1, "mpich", 1e-6, wire=0), sample(1, "openmpi", 3e-6),
                   sample(1, "openmpi", 3e-6, size=64)]
        self.assertEqual(plots.curves(samples, "bcast", stats.Setting(2)), {"openmpi": [(8, 1.5, 1.5, 1.5)]})


class Links(unittest.TestCase):
    def test_the_limit_is_what_each_host_must_send_over_its_one_cable(self):
        self.assertAlmostEqual(links.least_seconds("allreduce", 4, 1_000_000, 1e6), 1.5)
        self.assertAlmostEqual(links.least_seconds("allgather", 4, 1_000_000, 1e6), 0.75)
        self.assertAlmostEqual(links.LinkSample(1, "1gbit", "mpich", "allgather", 1_000_000, 1.0, 1e6).share, 0.75)

    def test_the_report_shows_parts_of_the_limit_by_rate(self):
        samples = [links.LinkSample(1, rate, peer, "allreduce", 1 << 20, seconds, 1 << 20)
                   for rate, peer, seconds in (("1gbit", "ringworld", 1.6), ("1gbit", "mpich", 3.0), ("200mbit", "ringworld", 1.5))]
        text = "\n".join(links.links_report(samples, PEERS))
        self.assertIn("| allreduce | 1 MiB | 93.8 % | 50.0 % |", text)
        self.assertIn("200mbit, plain sockets 8 Mbit/s:", text)
        self.assertIn("| allreduce | 1 MiB | 100.0 % |", text)
        self.assertEqual(links.links_report([], PEERS), [])

    def test_words_reach_a_program_as_they_are(self):
        words = ["a b", "it's", "$HOME", ""]
        line = " ".join(links.quoted(["printf", "%s\\n", *words]))
        self.assertEqual(checked(["sh", "-c", line], "printing", 5, ".").split("\n")[:-1], words)


def bare(name, *text):
    """Like `twin`, with the limits of plain sockets."""
    made = twin(name, *text)
    made.limits = limits.PlainSockets.limits
    return made


class Beside(unittest.TestCase):
    def test_mapped_memory_is_asked_for_all_sizes_of_a_bar(self):
        def asked(*arguments):
            return [(limit.raw, size >> 10) for limit, size in limits.asked(limits.MappedMemory(), *arguments)]
        every = tuple(ops.OPERATIONS)
        sizes = [64, 256, 1024, 4096, 16384, 65536]
        self.assertEqual(asked(every, 2, 8, 64 << 20), [(op, size) for op in ("pingpong", "allreduce") for size in sizes])
        self.assertEqual(asked(("pingpong",), 2, 8, 16 << 10), [("pingpong", 16)])
        self.assertEqual(asked(every, 4, 8, 64 << 20), [])

    def test_the_limit_of_mapped_memory_is_right_and_ends_its_second_process(self):
        memory = limits.MappedMemory()
        try:
            memory.prepare()
        except CommandFailed as error:
            self.skipTest(f"there is no limit of mapped memory: {error}")
        for op in ("pingpong", "allreduce"):
            run = measure.run_twin(memory, [op], 2, 64 << 10, 256 << 10, 1, 60)
            self.assertIsNone(run.failure)
            self.assertEqual([(line.op, line.bytes) for line in run.lines], [(op, 64 << 10), (op, 256 << 10)])
            self.assertEqual(run.left, 0)

    def test_plain_sockets_are_asked_for_the_size_of_the_bar_or_the_largest_below(self):
        def asked(*arguments):
            return [(limit.raw, size) for limit, size in limits.asked(limits.PlainSockets(), *arguments)]
        every = tuple(ops.OPERATIONS)
        self.assertEqual(asked(every, 2, 8, 64 << 20), [("pingpong", 8), ("stream", 64 << 20), ("exchange", 64 << 20)])
        self.assertEqual(asked(every, 2, 8, 1 << 20), [("pingpong", 8), ("stream", 1 << 20), ("exchange", 1 << 20)])
        self.assertEqual(asked(every, 2, 64, 5 << 20), [("stream", 4 << 20), ("exchange", 4 << 20)])
        self.assertEqual(asked(("allreduce", "barrier"), 2, 8, 64), [("exchange", 64)])
        self.assertEqual(asked(every, 4, 8, 64 << 20), [("doubling", 8)])
        self.assertEqual(asked(every, 8, 8, 64 << 20), [])

    def test_the_ratio_is_ours_over_theirs_round_by_round_with_its_bar(self):
        # The second round was disturbed for both; the third has no plain sockets.
        ours = [sample(turn, "ringworld", seconds, op="pingpong") for turn, seconds in ((1, 6e-6), (2, 60e-6), (3, 1.0))]
        plain = [sample(turn, "raw", seconds, op="pingpong") for turn, seconds in ((1, 5e-6), (2, 50e-6))]
        ours.append(sample(1, "ringworld", 2.0, op="allreduce", size=1 << 20))
        plain.append(sample(1, "raw", 1.0, op="exchange", size=1 << 20))
        ours.append(sample(1, "ringworld", 30e-6, op="allreduce", ranks=4))
        plain.append(sample(1, "raw", 20e-6, op="doubling", ranks=4))
        found = "\n".join(limits.report(limits.PlainSockets(), ours, plain))
        self.assertIn("| **1.20 (1.20–1.20)** | 1.15 |", found)
        # Above the bar, which does not stand at this size.
        self.assertIn("| 1.50 (1.50–1.50) | none |", found)
        self.assertIn("| 1 MiB | 2.00 s | 1.00 s | 2.00 (2.00–2.00) | 1.30, at 64 MiB |", found)
        reached = [sample(1, "ringworld", 5.5e-6, op="pingpong")]
        self.assertIn("| 1.10 (1.10–1.10) | 1.15 |", "\n".join(limits.report(limits.PlainSockets(), reached, plain)))
        self.assertEqual(limits.report(limits.PlainSockets(), ours, []), [])
        self.assertEqual(limits.report(limits.PlainSockets(), [sample(1, "mpich", 1e-6, op="pingpong")], plain), [])
        off_the_wire = [sample(1, "ringworld", 1e-6, op="pingpong", wire=0)]
        self.assertEqual(limits.report(limits.PlainSockets(), off_the_wire, plain), [])

    def test_plain_sockets_are_measured_right_after_ringworld_and_are_no_rival(self):
        options = SimpleNamespace(only=["pingpong", "barrier"], groups=[["pingpong", "barrier"]], ranks=[2, 4], start_ranks=[0], starts=0,
                                  rounds=2, budget=1, min=8, max=8, timeout=20, limit=60, quick=False, scenes=("loopback",),
                                  peers=["ringworld", "mpich"])
        peers = {name: twin(name) for name in ("ringworld", "mpich")}
        plain = bare("raw")
        with tempfile.TemporaryDirectory() as directory:
            order = Path(directory, "order")
            for peer in (*peers.values(), plain):
                peer.text = f"echo {peer.name} $1 $2 >> {order}; " + peer.text
            held = comparison.Comparison(options, peers, plain, [])
            held.progress = SimpleNamespace(step=lambda _: None, say=print, end=lambda _: None)
            self.assertEqual(held.all_rounds(), 2)
            started = order.read_text().split("\n")[:-1]
        self.assertEqual(held.notes, [])
        self.assertEqual(started[:5], ["ringworld 2 pingpong,barrier", "raw 2 pingpong", "mpich 2 pingpong,barrier",
                                       "ringworld 4 pingpong,barrier", "mpich 4 pingpong,barrier"])
        self.assertEqual([(s.round, s.peer, s.line.bytes) for s in held.beside], [(1, "raw", 8), (2, "raw", 8)])
        self.assertEqual({s.peer for s in held.samples}, {"ringworld", "mpich"})
        self.assertEqual(held.missing(), [])

    def test_plain_sockets_that_fail_are_noted_once_and_disturb_nothing(self):
        options = SimpleNamespace(only=["pingpong"], groups=[["pingpong"]], ranks=[2], start_ranks=[0], starts=0, rounds=3, budget=1,
                                  min=8, max=8, timeout=20, limit=60, quick=False, scenes=("loopback",), peers=["ringworld"])
        plain = bare("raw", "echo no port >&2; exit 1")
        held = comparison.Comparison(options, {"ringworld": twin("ringworld")}, plain, [])
        held.progress = SimpleNamespace(step=lambda _: None, say=lambda _: None, end=lambda _: None)
        self.assertEqual(held.all_rounds(), 3)
        self.assertEqual(len(held.notes), 1)
        self.assertRegex(held.notes[0], "raw, pingpong, 2 ranks, is left out from round 1 on: it ended with exit code 1: no port")
        self.assertEqual((len(held.samples), held.beside, held.missing()), (3, [], []))

    @classmethod
    def setUpClass(cls):
        adopt_orphans()


class Played:
    """A distance that is what the test says, one word for each look; then the last for ever."""

    def __init__(self, *words):
        self.words, self.looks = list(words), 0

    def now(self):
        self.looks += 1
        return self.words.pop(0) if len(self.words) > 1 else self.words[0]

    def remark(self):
        return "played"


class Distances(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        adopt_orphans()
        comparison.PAUSE_S = 0.0

    def held(self, *words, rounds=2, limit=60, names=("ringworld", "mpich")):
        """A comparison in shared memory between cores that are played."""
        options = SimpleNamespace(only=["bcast"], groups=[["bcast"]], ranks=[2], start_ranks=[0], starts=0, rounds=rounds, budget=1, min=8,
                                  max=8, timeout=20, limit=limit, quick=False, scenes=["memory"], peers=list(names))
        made = comparison.Comparison(options, {name: twin(name) for name in names}, bare("rawmemory"), [])
        made.progress = SimpleNamespace(step=lambda _: None, say=lambda _: None, end=lambda _: None)
        made.distance = Played(*words)
        return made

    def test_who_has_had_the_fewest_turns_at_a_distance_is_next(self):
        held = self.held("near", "near", "far", "far", "far", "near", "near", "far", "far", "far", "near", "near", "near", "near", "near")
        self.assertEqual(held.measured(), "2 to 2 rounds with near cores, 2 to 2 rounds with far cores")
        turns = [(s.peer, s.cores, s.round) for s in held.samples]
        self.assertEqual(len(turns), len(set(turns)))
        for cores in ("near", "far"):
            self.assertEqual({(peer, turn) for peer, where, turn in turns if where == cores},
                             {(peer, turn) for peer in ("ringworld", "mpich") for turn in (1, 2)})

    def test_a_turn_in_which_the_cores_moved_counts_nowhere(self):
        held = self.held("near", "far", "near", "far", "near", "near", "near", rounds=1, names=("ringworld",))
        self.assertEqual(held.measured(), "1 to 1 rounds with near cores")
        self.assertEqual([(s.peer, s.cores, s.round) for s in held.samples], [("ringworld", "near", 1)])
        self.assertEqual(len(held.wholes), 1)

    def test_cores_that_do_not_come_back_are_waited_for_until_the_time_is_up(self):
        held = self.held("far", "far", "near", rounds=1, limit=2)
        start = time.monotonic()
        self.assertEqual(held.measured(), "0 to 1 rounds with far cores, 1 to 1 rounds with near cores")
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual({(s.peer, s.cores) for s in held.samples}, {("ringworld", "far"), ("ringworld", "near"), ("mpich", "near")})

    def test_like_is_compared_with_like(self):
        # Ours ran while cores were near, twice, and theirs while they were far, but for one turn of each.
        samples = [sample(1, "ringworld", 1e-6, cores="near"), sample(2, "ringworld", 1e-6, cores="near"),
                   sample(1, "ringworld", 4e-6, cores="far"), sample(1, "mpich", 2e-6, cores="near"),
                   sample(1, "mpich", 6e-6, cores="far"), sample(2, "mpich", 6e-6, cores="far")]
        self.assertEqual([str(found) for found in stats.settings(samples)], ["2 ranks, near cores", "2 ranks, far cores"])
        text = report.markdown(samples, [], PEERS, {}, [])
        self.assertIn("| bcast | 2 ranks, near cores | 2.00 | 2.00 (2.00–2.00) | 8 B | mpich |", text)
        self.assertIn("| bcast | 2 ranks, far cores | 1.50 | 1.50 (1.50–1.50) | 8 B | mpich |", text)
        self.assertEqual(plots.curves(samples, "bcast", stats.Setting(2, "far"))["mpich"], [(8, 1.5, 1.5, 1.5)])

    def test_bare_loops_tell_how_far_cores_are(self):
        def told(seconds):
            return distance.Distance(twin("rawmemory", f"echo pingpong,8,30,{seconds},{seconds},0.1")).now()
        self.assertEqual((told(7e-8), told(2e-7)), (distance.NEAR, distance.FAR))
        lame = distance.Distance(twin("rawmemory", "exit 1"))
        self.assertEqual(lame.now(), distance.UNKNOWN)
        self.assertRegex(lame.remark(), "unknown")


class Reports(unittest.TestCase):
    def test_the_report_names_the_lowest_cell_and_the_peer_it_is_lost_to(self):
        samples = [sample(1, "ringworld", 2e-6), sample(1, "mpich", 8e-6), sample(1, "openmpi", 9e-6),
                   sample(1, "ringworld", 4e-6, size=64), sample(1, "openmpi", 2e-6, size=64)]
        text = report.markdown(samples, [stats.Whole(1, "ringworld", 16, "empty", 0.1, 0.1), stats.Whole(1, "mpich", 16, "empty", 0.2, 0.1)],
                               PEERS, {"date": "today"}, ["A note."])
        self.assertIn("| bcast | 2 ranks | 1.41 | 0.50 (0.50–0.50) | 64 B | openmpi |", text)
        self.assertIn("| 64 B | **0.50** |", text)
        self.assertIn("| 16 | **100 ms** | 200 ms | 2.00 (2.00–2.00) |", text)
        self.assertIn("- A note.", text)

    def test_the_summary_replaces_what_stood_between_the_marks(self):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "README.md")
            path.write_text(f"# Title\n{report.BEGIN}\nold\n{report.END}\nrest\n", encoding="utf-8")
            report.into_readme(path, ["new"], "2026-abc", [Path("plots/bcast.svg")])
            text = path.read_text(encoding="utf-8")
            self.assertIn("new", text)
            self.assertIn("[bcast](plots/bcast.svg)", text)
            self.assertNotIn("old", text)
            self.assertTrue(text.startswith("# Title\n") and text.endswith("\nrest\n"))
            path.write_text("no marks", encoding="utf-8")
            with self.assertRaisesRegex(ValueError, "has not both marks"):
                report.into_readme(path, ["new"], "2026-abc", [])


if __name__ == "__main__":
    unittest.main()
