"""Runs benchmarks under `ringworld run`, and says what is wrong with what they print; for tests/mpi/benchmarks.

Benchmarks look at no data: programs/checker.c, preloaded, does, and ends them at the first wrong byte. Of what they
print is looked at whether each benchmark is there, with a line for each length, and whether its numbers can be.
"""

import argparse
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

# Whole elements of 4 bytes; the first lengths go in one message, the last by rendezvous and in segments.
LENGTHS = [0, 4, 64, 1000, 4096, 16384, 65536, 262144, 1048576]
QUICK_LENGTHS = [0, 4, 1000, 65536]
# Below this, IMB-P2P sends messages of its own as MPI_BYTE.
LEAST = 64

IMB_MPI1 = """PingPong PingPongSpecificSource PingPongAnySource PingPing PingPingSpecificSource PingPingAnySource Sendrecv
    Exchange Uniband Biband Bcast Allgather Allgatherv Scatter Scatterv Gather Gatherv Alltoall Alltoallv Reduce
    Reduce_local Reduce_scatter Reduce_scatter_block Allreduce Barrier""".split()
IMB_NBC = """Ibcast Iallgather Iallgatherv Iscatter Iscatterv Igather Igatherv Ialltoall Ialltoallv Ireduce
    Ireduce_scatter Iallreduce Ibarrier""".split()
IMB_P2P = "PingPong PingPing Unirandom Birandom Corandom SendRecv_Replace".split()
# For four ranks and more.
IMB_P2P_GRIDS = ["Stencil2D"]

# For how many ranks a program is.
ANY, PAIR, MORE = range(2, 1000), range(2, 3), range(3, 1000)
# Of OSU's in Python: for two ranks only, and those of which each line is gathered as objects, of which the checker
# knows nothing.
OF_TWO = {"osu_latency", "osu_bw", "osu_bibw"}
OF_OBJECTS = {"osu_multi_lat"}
WITHOUT_DATA = {"osu_barrier"}
# Of OSU's in C: what is asked of one besides, and whose check is wrong. Version 7.4 of the second receives into a buffer
# of its own and looks at another; it fails on MPICH as well.
OSU_OPTIONS = {"osu_latency_mt": ["-t", "2:2"]}
OSU_UNCHECKED = {"osu_allreduce_persistent"}
# They have no arguments, but their functions have: how often, and how much at most.
CALL = """
import importlib, inspect, sys
name, folder, loops, most = sys.argv[1:]
sys.path.insert(0, folder)
function = getattr(importlib.import_module(name), name)
known = inspect.signature(function).parameters
given = {key: int(loops) for key in known if key.startswith("loop")} | {key: 2 for key in known if key.startswith("skip")}
function(**given, MAX_MSG_SIZE=int(most))
"""


def finite(words):
    """The numbers of a line; `None` if it has others, or such as no clock gives."""
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return None
    return numbers if all(math.isfinite(number) and 0 <= number < 1e12 for number in numbers) else None


def judge_imb(text, names, lengths):
    """What is wrong with what IMB has printed."""
    found = {}
    for name, section in re.findall(r"^# Benchmarking (\w+).*\n((?:.*\n)*?)(?=\n|\Z)", text, flags=re.M):
        head, *rows = [line.split() for line in section.splitlines() if not re.match(r"#[ -]", line) and line.strip("# -")]
        if not head or not head[0].startswith("#"):
            return f"{name} prints no heading"
        has_lengths = head[0] == "#bytes"
        for row in rows:
            numbers = finite(row)
            if numbers is None or len(numbers) != len(head):
                return f"{name} prints {' '.join(row)[:200]!r} below {' '.join(head)}"
            values = dict(zip(head, numbers))
            low, high, mean = (values.get(f"t_{which}[usec]") for which in ("min", "max", "avg"))
            if low is not None and not low <= mean <= high:
                return f"{name}: {mean} is no mean of {low} to {high}"
            if has_lengths and values["#bytes"] >= 1000 and values.get("Mbytes/sec") == 0:
                return f"{name}: {row[0]} bytes, and 0 Mbytes/sec"
        found[name] = [int(float(row[0])) for row in rows] if has_lengths else [0] * len(rows)
    for name in names:
        if name not in found:
            return f"{name} is not there"
        wanted = [0] if "barrier" in name.lower() else lengths
        if found[name] != wanted:
            return f"{name} has been measured with {found[name]}, and not with {wanted}"
    return None


def judge_rows(text):
    """What is wrong with lines of lengths and numbers; a barrier has a number alone."""
    rows = [line.split() for line in text.splitlines() if re.match(r"\s*[0-9]", line)]
    if not rows:
        return "no number is printed"
    for row in rows:
        numbers = finite(row[:2])
        if not numbers or numbers[-1] <= 0:
            return f"{' '.join(row)!r} is printed"
    return None


def has_checked(text):
    """Whether the checker has looked at anything."""
    return re.search(r"^checked: .*[1-9]\d* elements", text, flags=re.M) is not None


class Runner:
    """Starts programs and counts how they end."""

    def __init__(self, home, given):
        self.home, self.given, self.failed, self.passed, self.checked = home, given, [], 0, 0

    def one(self, what, ranks, transport, words, judge, settings=None, expected=0):
        """Runs a program; `judge` says what is wrong with what it has printed."""
        environment = os.environ | {"LD_LIBRARY_PATH": str(self.home / "lib"), "RINGWORLD_TRANSPORT": transport}
        options = [option for pair in (settings or {}).items() for option in ("-x", "=".join(pair))]
        command = [self.home / "ringworld", "run", "-n", str(ranks), *options, "--", *map(str, words)]
        begin = time.monotonic()
        with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, errors="replace", start_new_session=True) as process:
            try:
                text = process.communicate(timeout=self.given.limit)[0]
                why = None if process.returncode == expected else f"ended with {process.returncode}"
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGTERM)
                try:
                    text = process.communicate(timeout=10)[0]
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    text = process.communicate()[0]
                why = f"has not ended within {self.given.limit} s"
        why = why or judge(text)
        where = f"{what}, {ranks} ranks, {transport}"
        if why:
            self.failed.append(f"{where}: {why}")
            print(f"FAILED: {self.failed[-1]}")
            print("\n".join(f"    {line[:200]}" for line in text.splitlines()[-12:]))
        else:
            self.passed += 1
            counts = re.search(r"^checked: (\d+) messages, (\d+) collectives, (\d+) elements", text, flags=re.M)
            self.checked += int(counts[1]) + int(counts[2]) if counts else 0
            looked = f"; {counts[0]}" if counts else ""
            print(f"passed: {where} ({time.monotonic() - begin:.1f} s{looked})")
        sys.stdout.flush()

    def checker(self, least=0):
        """The settings with which data is looked at."""
        return {"LD_PRELOAD": str(self.home / "checker.so"), "CHECKER_LEAST": str(least)}

    def imb(self, program, ranks, transport):
        """One of Intel's programs with all its benchmarks."""
        given = self.given
        lengths = QUICK_LENGTHS if given.quick else LENGTHS
        path = self.home / "imb" / "lengths"
        path.write_text("".join(f"{length}\n" for length in lengths))
        names = {"IMB-MPI1": IMB_MPI1, "IMB-NBC": IMB_NBC, "IMB-P2P": IMB_P2P}[program]
        words = [self.home / "imb" / program, "-msglen", path]
        if program == "IMB-P2P":
            names = names + (IMB_P2P_GRIDS if ranks >= 4 else [])
            words += ["-iter", f"{given.iterations},{given.iterations}", *names]
        else:
            names = names + ([] if program == "IMB-MPI1" else [f"{name}_pure" for name in names])
            words += ["-npmin", ranks, "-iter", given.iterations, "-time", 1000, *names]

        def judge(text):
            return judge_imb(text, names, lengths) or (None if has_checked(text) else "no data has been checked")
        self.one(program, ranks, transport, words, judge, self.checker(LEAST if program == "IMB-P2P" else 0))

    def python(self, path, ranks, transport):
        """One of OSU's in mpi4py's version."""
        given, name = self.given, path.stem
        most = max(QUICK_LENGTHS if given.quick else LENGTHS)
        words = [self.home / "venv/bin/python", "-c", CALL, name, path.parent, given.iterations, most]

        def judge(text):
            checked = name in OF_OBJECTS | WITHOUT_DATA or has_checked(text)
            return judge_rows(text) or (None if checked else "no data has been checked")
        self.one(f"{name}.py", ranks, transport, words, judge, {} if name in OF_OBJECTS else self.checker())

    def osu(self, path, ranks, transport):
        """One of OSU's in C, which checks data itself, where it has any."""
        most = max(QUICK_LENGTHS if self.given.quick else LENGTHS)
        has_data = not re.search("barrier|init|hello", path.name)
        words = [path]
        if has_data:
            words += ["-m", f"1:{most}", "-i", self.given.iterations, "-x", 2, *OSU_OPTIONS.get(path.name, [])]
            words += [] if path.name in OSU_UNCHECKED else ["-c"]

        def judge(text):
            if not has_data:
                return None
            rows = [line for line in text.splitlines() if re.match(r"\s*[0-9]+\s", line)]
            unchecked = [row for row in rows if "Pass" not in row and "-c" in words]
            return unchecked[0] if unchecked else judge_rows(text)
        self.one(path.name, ranks, transport, words, judge)


def osu_programs(folder):
    """OSU's programs below a folder, and for how many ranks each is; but not those of windows, nor what wants several
    hosts."""
    for path in sorted(folder.rglob("osu_*")):
        left_out = {"one-sided", "congestion"} & set(path.parts) or re.match("osu_(get|put|acc|cas|fop)", path.name)
        if path.is_file() and os.access(path, os.X_OK) and not left_out:
            pair = "pt2pt" in path.parts and not re.match("osu_(mbw_mr|multi_lat)", path.name)
            # Neighbours on a line of two ranks would be the same rank twice, which OSU refuses.
            yield path, PAIR if pair else MORE if "neighbor" in path.name else ANY


def main():
    """Ends with 1 where something has failed."""
    parser = argparse.ArgumentParser(prog="tests/mpi/benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("home", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("demos", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="few lengths and rounds; each program once, by one transport")
    parser.add_argument("--ranks", default="2 4")
    parser.add_argument("--transports", default="tcp shm")
    parser.add_argument("--iterations", type=int, default=None, help="of each measurement")
    parser.add_argument("--limit", type=int, default=600, help="seconds for each program")
    parser.add_argument("--osu", type=Path, metavar="FOLDER", help="where OSU's programs in C have been built: these alone")
    parser.add_argument("only", nargs="*", metavar="NAME", help="programs, such as IMB-MPI1 or osu_bw")
    given = parser.parse_args()
    given.iterations = given.iterations or (3 if given.quick else 10)
    runner = Runner(given.home, given)
    ranks = [int(word) for word in given.ranks.split()]
    transports = given.transports.split()

    def wanted(name):
        return not given.only or name in given.only

    # What is to be run: a function, its argument, and the numbers of ranks that it is for.
    if given.osu:
        programs = [(runner.osu, path, fit) for path, fit in osu_programs(given.osu) if wanted(path.name)]
    else:
        programs = [(runner.imb, name, ANY) for name in ("IMB-MPI1", "IMB-NBC", "IMB-P2P") if wanted(name)]
        programs += [(runner.python, path, PAIR if path.stem in OF_TWO else ANY)
                     for path in sorted((given.home / given.demos).glob("osu_*.py")) if wanted(path.stem)]
        # A checker that finds nothing would be none.
        spoilt = runner.checker() | {"CHECKER_SPOILS": "1"}
        words = [given.home / "imb/IMB-MPI1", "-iter", 3, "PingPong"]
        runner.one("IMB-MPI1 with spoilt data", 2, transports[0], words,
                   lambda text: None if "checker: MPI_Recv" in text else "nobody has noticed", spoilt, expected=86)
    if not programs:
        sys.exit(f"there are no programs {' '.join(given.only)} in {given.osu or given.home}")
    pairs = [(transport, number) for transport in transports for number in ranks]
    for turn, (run, what, fit) in enumerate(programs):
        for transport, number in [pairs[turn % len(pairs)]] if given.quick else pairs:
            if number in fit or given.quick:
                run(what, min(max(number, fit.start), fit.stop - 1), transport)
    print(f"benchmarks: {runner.passed} passed, {len(runner.failed)} failed; {runner.checked} messages and collectives checked")
    for line in runner.failed:
        print(f"failed: {line}")
    sys.exit(1 if runner.failed else 0)


main()
