"""Tests of the comparison program that need no peer: `python3 -m unittest discover benches/peers`.

Twins are played by shell scripts; ids of processes that must be gone are checked by signal 0.
"""

import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import report
from measure import Line, RunFailed, parse, run_twin
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


def run(text, timeout=20):
    return run_twin(Script(text), "bcast", 2, 8, 64, 5, timeout)


def sample(turn, peer, seconds, wire=None, size=8, op="bcast"):
    return report.Sample(turn, peer, 2, Line(op, size, 10, seconds, seconds, wire, wire))


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
        lines, left = run("echo $2,8,30,2e-6,1e-6; echo $2,64,30,2e-6,1e-6,4000,60")
        self.assertEqual([line.bytes for line in lines], [8, 64])
        self.assertEqual([line.wire_packets for line in lines], [None, 60])
        self.assertEqual(left, 0)

    def test_a_line_that_is_no_measurement_fails_the_run(self):
        for text in ("hello", "bcast,8,0,1,1", "bcast,8,1,1,2", "bcast,8,1,nan,nan", "barrier,8,1,1,1", "bcast,8,1,1,1,1"):
            with self.assertRaisesRegex(RunFailed, "expected `bcast,bytes"):
                parse(text, "bcast")

    def test_a_bad_exit_is_told_with_its_cause(self):
        with self.assertRaisesRegex(RunFailed, "exit code 3: twin: rank 1: wrong sum"):
            run("echo bcast,8,30,2e-6,1e-6; echo 'twin: rank 1: wrong sum' >&2; exit 3")
        with self.assertRaisesRegex(RunFailed, "SIGSEGV"):
            run("kill -SEGV $$")
        with self.assertRaisesRegex(RunFailed, "no measurement"):
            run("true")

    def test_a_run_ends_at_its_timeout_with_all_its_processes(self):
        with tempfile.TemporaryDirectory() as directory:
            start = time.monotonic()
            with self.assertRaisesRegex(RunFailed, "more than 1 s"):
                # The second ignores TERM and has left the process group.
                run(f"sleep 300 & echo $! > {directory}/a; "
                    f"setsid sh -c 'trap \"\" TERM; echo $$ > {directory}/b; sleep 300; sleep 300' & wait", timeout=1)
            self.assertLess(time.monotonic() - start, 15)
            self.assertTrue(gone(f"{directory}/a") and gone(f"{directory}/b"))

    def test_what_a_launcher_leaves_behind_is_counted_and_ended(self):
        with tempfile.TemporaryDirectory() as directory:
            lines, left = run(f"setsid sleep 300 & echo $! > {directory}/a; echo bcast,8,30,2e-6,1e-6")
            self.assertEqual((len(lines), left), (1, 1))
            self.assertTrue(gone(f"{directory}/a"))

    def test_a_missing_tool_is_named(self):
        with self.assertRaisesRegex(CommandFailed, "no-such-tool cannot be started"):
            checked(["no-such-tool"], "building", 5, ".")
        with self.assertRaisesRegex(CommandFailed, "building failed: error: no space"):
            checked(["sh", "-c", "echo warning >&2; echo error: no space >&2; exit 1"], "building", 5, ".")
        with self.assertRaisesRegex(CommandFailed, "building took more than 1 s"):
            checked(["sleep", "60"], "building", 1, ".")


class Reports(unittest.TestCase):
    def test_the_ratio_is_formed_round_by_round_with_the_fastest_peer(self):
        # The second round was disturbed for everybody: the ratio does not move.
        samples = [sample(1, "ringworld", 2e-6), sample(1, "mpich", 4e-6), sample(1, "openmpi", 9e-6),
                   sample(2, "ringworld", 20e-6), sample(2, "mpich", 40e-6), sample(2, "openmpi", 60e-6)]
        row = report.cells(samples, "bcast", 2)[8]
        self.assertEqual([round(value, 9) for value in report.ratio(row)], [2.0, 2.0, 2.0])

    def test_a_peer_off_the_wire_is_shown_and_left_out_of_the_ratio(self):
        samples = [sample(1, "ringworld", 2e-6), sample(1, "mpich", 1e-6, wire=0), sample(1, "openmpi", 3e-6, wire=500)]
        row = report.cells(samples, "bcast", 2)[8]
        self.assertTrue(row["mpich"].off_wire and row["mpich"].text(False).endswith("†"))
        self.assertAlmostEqual(report.ratio(row)[0], 1.5)

    def test_the_least_traffic_of_an_operation_is_on_the_wire(self):
        self.assertFalse(Line("allreduce", 1000, 10, 1, 1, 20_000, 20).off_wire(2))
        self.assertTrue(Line("allreduce", 1000, 10, 1, 1, 10_000, 20).off_wire(2))
        self.assertTrue(Line("barrier", 0, 10, 1, 1, 10_000, 50).off_wire(4))

    def test_figures_are_written_in_the_unit_that_fits(self):
        self.assertEqual(report.Cell({1: 5.74e-6, 2: 6.17e-6, 3: 5.72e-6}, False).text(True), "**5.74 µs (5.72–6.17)**")
        self.assertEqual([report.size_text(size) for size in (0, 8, 1 << 10, 64 << 20)], ["–", "8 B", "1 KiB", "64 MiB"])


if __name__ == "__main__":
    unittest.main()
