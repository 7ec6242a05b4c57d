"""Runs one twin and reads its lines; knows nothing of tables or of how a peer is installed.

Invariant: a run never outlives its timeout, and no process of it outlives the run.
"""

import os
import selectors
import subprocess
import time
from dataclasses import dataclass

from processes import end_descendants, gist, leftovers, reap, status

STREAM_WINDOW = 64
STREAM_MIN_WINDOW = 4
STREAM_BYTES = 256 << 20


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
    wire_bytes: int | None = None
    wire_packets: int | None = None

    def off_wire(self, ranks):
        """Whether so little crossed the interface that the peer must have used another way.

        What is tested is the least that any algorithm must send, less a tenth: whatever else uses the
        interface can hide a cheat but never accuse anybody.
        """
        if self.wire_bytes is None:
            return False
        others = ranks - 1
        window = max(STREAM_MIN_WINDOW, min(STREAM_WINDOW, STREAM_BYTES // max(self.bytes, 1)))
        messages, payload = {
            "pingpong": (2, 2 * self.bytes),
            # Small messages of one window may share a packet.
            "stream": (1, window * self.bytes),
            "barrier": (2 * others, 0),
            "bcast": (others, others * self.bytes),
            "allreduce": (2 * others, 2 * others * self.bytes),
            "allgather": (ranks, others * self.bytes),
            "reducescatter": (ranks, others * self.bytes),
        }[self.op]
        return (self.wire_packets < 0.9 * messages * self.iterations
                or self.wire_bytes < 0.9 * payload * self.iterations)


def parse(text, op):
    """Reads one line of a twin; anything else that a launcher prints is a failure, not noise."""
    fields = text.split(",")
    try:
        line = Line(fields[0], int(fields[1]), int(fields[2]), float(fields[3]), float(fields[4]),
                    *(int(field) for field in fields[5:7]))
    except (IndexError, ValueError):
        line = None
    if (line is None or len(fields) not in (5, 7) or line.op != op or line.iterations < 1
            or not 0 < line.min_s <= line.median_s < float("inf")):
        raise RunFailed(f"printed {text!r}, expected `{op},bytes,iterations,median_s,min_s[,loopback_bytes,loopback_packets]`")
    return line


def run_twin(peer, op, ranks, smallest, largest, budget_ms, timeout):
    """Runs one operation of one peer over all sizes.

    Returns its lines and the number of processes that its launcher left behind (they are ended here).
    Raises `RunFailed` on a bad exit, a bad line, no line, or when the timeout passes.
    """
    command = [str(part) for part in peer.command(ranks, [op, smallest, largest, budget_ms])]
    try:
        process = subprocess.Popen(command, env=peer.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        raise RunFailed(f"{command[0]} cannot be started: {error.strerror}") from error
    try:
        lines, errors = collect(process, op, time.monotonic() + timeout)
        if lines is None:
            raise RunFailed(f"took more than {timeout:.0f} s{quoted(errors)}")
        if process.returncode != 0:
            raise RunFailed(f"ended with {status(process.returncode)}{quoted(errors)}")
        if not lines:
            raise RunFailed(f"printed no measurement{quoted(errors)}")
        return lines, leftovers()
    finally:
        end_descendants()
        # Popen first: it must find its own child before everything else is reaped.
        process.wait()
        reap()
        process.stdout.close()
        process.stderr.close()


def collect(process, op, deadline):
    """Reads until both streams end; (None, errors) when the deadline passes first."""
    lines, pending, errors = [], b"", b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(0.2)
            if time.monotonic() >= deadline:
                return None, errors
            if not ready and process.poll() is not None:
                break  # the launcher is gone; something it left behind holds the streams open
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    errors = (errors + chunk)[-65536:]
                else:
                    *complete, pending = (pending + chunk).split(b"\n")
                    lines += [parse(text.decode(errors="replace").strip(), op) for text in complete]
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None, errors
    return lines, errors


def quoted(errors):
    """The line of the error output that tells most, ready to be appended to a sentence."""
    text = gist(errors.decode(errors="replace"))
    return f": {text}" if text else ""
