"""Runs one twin and reads its lines; knows nothing of tables or of how a peer is installed.

Invariant: a run never outlives its timeout, and no process of it outlives the run.
"""

import os
import resource
import selectors
import subprocess
import time
from dataclasses import dataclass, field

import ops
from processes import end_descendants, gist, leftovers, reap, status


class RunFailed(Exception):
    """A run that gave no usable answer; the text says what happened."""


@dataclass
class Line:
    """One line of a twin; at its end, if the twin could tell, what crossed loopback while it was measured."""

    op: str
    bytes: int
    iterations: int
    median_s: float
    min_s: float
    cpu_s: float
    wire_bytes: int | None = None
    wire_packets: int | None = None

    def off_wire(self, ranks):
        """Whether so little crossed the interface that the peer must have used another way.

        What is tested is the least that any algorithm must send, less a tenth: whatever else uses the
        interface can hide a cheat but never accuse anybody.
        """
        if self.wire_bytes is None:
            return False
        packets, payload = ops.traffic(self.op, ranks, self.bytes)
        return (self.wire_packets < 0.9 * packets * self.iterations
                or self.wire_bytes < 0.9 * payload * self.iterations)

    def cpu_per_gigabyte(self, ranks):
        """Processor seconds of all ranks for 1e9 bytes that had to be sent."""
        return self.cpu_s / (ops.traffic(self.op, ranks, self.bytes)[1] * self.iterations / 1e9)


@dataclass
class Run:
    """One start of a twin, from command to exit."""

    lines: list = field(default_factory=list)
    wall_s: float = 0.0
    # User and system time of every process of the run that was waited for, launcher included.
    cpu_s: float = 0.0
    # Processes that its launcher left behind; they have been ended.
    left: int = 0
    # What went wrong, in words that follow "it"; None when nothing did.
    failure: str | None = None


def parse(text, names):
    """Reads one line of a twin; anything else that a launcher prints is a failure, not noise."""
    fields = text.split(",")
    try:
        line = Line(fields[0], int(fields[1]), int(fields[2]), *(float(number) for number in fields[3:6]),
                    *(int(number) for number in fields[6:8]))
    except (IndexError, TypeError, ValueError):
        line = None
    if (line is None or len(fields) not in (6, 8) or line.op not in names or line.iterations < 1 or not 0 <= line.cpu_s < 1e9
            or not 0 < line.min_s <= line.median_s < float("inf")):
        raise RunFailed(f"printed {text!r}, expected `op,bytes,iterations,median_s,min_s,cpu_s[,loopback_bytes,"
                        f"loopback_packets]` of {','.join(names)}")
    return line


# The slowest cell of the slowest peer takes a few seconds; a library that has lost a message says nothing any more.
SILENCE_S = 25.0


def run_twin(peer, names, ranks, smallest, largest, budget_ms, timeout):
    """Runs operations of one peer over all sizes, in one start. The lines that came before a failure are kept."""
    run = timed(peer, ranks, [",".join(names), smallest, largest, budget_ms], names, timeout)
    if run.failure is None and not run.lines:
        run.failure = "printed no measurement"
    return run


def run_empty(peer, ranks, timeout):
    """Runs a world that meets in one barrier and ends."""
    return timed(peer, ranks, ["empty"], (), timeout)


def timed(peer, ranks, arguments, names, timeout):
    """One start of a twin."""
    run, before, start = Run(), used_by_children(), time.monotonic()
    try:
        execute(run, [str(part) for part in peer.command(ranks, arguments)], peer.environment(), names, start, timeout)
    except RunFailed as error:
        run.failure = str(error)
    finally:
        end_descendants()
        reap()
    # Everything has been waited for, so the kernel has added its time to that of our children.
    run.cpu_s = used_by_children() - before
    return run


def execute(run, command, environment, names, start, timeout):
    """Starts the command, reads all it says and fills in `run`; `RunFailed` says what went wrong."""
    try:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        raise RunFailed(f"{command[0]} cannot be started: {error.strerror}") from error
    try:
        complete, errors = collect(process, names, start + timeout, run.lines)
        run.wall_s = time.monotonic() - start
        if not complete:
            raise RunFailed(f"took more than {timeout:.0f} s{quoted(errors)}")
        if process.returncode != 0:
            raise RunFailed(f"ended with {status(process.returncode)}{quoted(errors)}")
        run.left = leftovers()
    finally:
        end_descendants()
        # Popen first: it must find its own child before everything else is reaped.
        process.wait()
        process.stdout.close()
        process.stderr.close()


def used_by_children():
    """User and system seconds of all descendants that have been waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def collect(process, names, deadline, lines):
    """Reads until both streams end, into `lines`; (False, errors) when the deadline passes first."""
    pending, errors, heard = b"", b"", time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(0.2)
            if time.monotonic() >= deadline:
                return False, errors
            if time.monotonic() - heard >= SILENCE_S:
                raise RunFailed(f"printed nothing for {SILENCE_S:.0f} s{quoted(errors)}")
            if not ready and process.poll() is not None:
                break  # the launcher is gone; something it left behind holds the streams open
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    errors = (errors + chunk)[-65536:]
                else:
                    heard = time.monotonic()
                    *complete, pending = (pending + chunk).split(b"\n")
                    for text in complete:
                        lines.append(parse(text.decode(errors="replace").strip(), names))
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False, errors
    return True, errors


def quoted(errors):
    """The line of the error output that tells most, ready to be appended to a sentence."""
    text = gist(errors.decode(errors="replace"))
    return f": {text}" if text else ""
