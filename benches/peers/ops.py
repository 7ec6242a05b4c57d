"""The operations that every twin knows: names, sizes, and what each must at least send.

Pure. The same rules stand in twin.c, in benches/src/schedule.rs and in README.md.
"""

from dataclasses import dataclass
from typing import Callable

SIZES = (8, 64, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20)
WINDOW, SMALLEST_WINDOW, WINDOW_BYTES = 64, 4, 64 << 20
IN_FLIGHT = 32
PER_THREAD = 1024
# Programs that are about calls rather than bytes end at 1 MiB, and many at once at 64 KiB.
UP_TO_MIB, UP_TO_64_KIB = SIZES[:7], SIZES[:5]


def window(size):
    """Messages in flight at once."""
    return max(SMALLEST_WINDOW, min(WINDOW, WINDOW_BYTES // max(size, 1)))


@dataclass(frozen=True)
class Operation:
    """One row of the table below."""

    title: str
    # (ranks, bytes) -> (packets, bytes of payload) that any algorithm sends in one iteration, all ranks together.
    least: Callable
    pairs: bool = False
    sizes: tuple = SIZES


def in_pairs(packets, messages):
    """What one pair sends, times the pairs."""
    return lambda ranks, size: (ranks // 2 * packets, ranks // 2 * messages(size) * size)


def by_threads(threads):
    """What so many threads of each rank send, which may share packets."""
    return lambda ranks, size: (0, ranks // 2 * threads * PER_THREAD * size)


def sum_everywhere(ranks, size):
    """What an all-reduce sends."""
    return 2 * (ranks - 1), 2 * (ranks - 1) * size


OPERATIONS = {
    "pingpong": Operation("Ping-pong, half round trip", in_pairs(2, lambda size: 2), True),
    # Small messages of one window may share a packet.
    "stream": Operation("Stream, window of 64, time of one message", in_pairs(2, window), True),
    "bidir": Operation("Both ways at once, window of 64, time of one message each way",
                       in_pairs(2, lambda size: 2 * window(size)), True),
    "rate": Operation("Message rate, blocking calls, time of one message", in_pairs(2, window), True, SIZES[:3]),
    "barrier": Operation("Barrier", lambda ranks, size: (2 * (ranks - 1), 0), sizes=(0,)),
    "bcast": Operation("Broadcast", lambda ranks, size: (ranks - 1, (ranks - 1) * size)),
    "allreduce": Operation("All-reduce, f32 sum", sum_everywhere),
    "allgather": Operation("All-gather", lambda ranks, size: (ranks, (ranks - 1) * size)),
    "reducescatter": Operation("Reduce-scatter, f32 sum", lambda ranks, size: (ranks, (ranks - 1) * size)),
    "alltoall": Operation("All-to-all", lambda ranks, size: (ranks, (ranks - 1) * size)),
    # Whoever runs ahead may put the small messages of several iterations into one packet.
    "rootedbcast": Operation("Broadcast in a loop, always from rank 0", lambda ranks, size: (0, (ranks - 1) * size), sizes=UP_TO_MIB),
    "reduce": Operation("Reduce in a loop, always to rank 0, f32 sum", lambda ranks, size: (0, (ranks - 1) * size), sizes=UP_TO_MIB),
    "gather": Operation("Gather in a loop, always to rank 0", lambda ranks, size: (0, (ranks - 1) * size // ranks), sizes=UP_TO_MIB),
    "scatter": Operation("Scatter in a loop, always from rank 0", lambda ranks, size: (0, (ranks - 1) * size // ranks), sizes=UP_TO_MIB),
    "communicators": Operation("All-reduce on each of 16 communicators in turn", sum_everywhere, sizes=UP_TO_MIB),
    "pipeline": Operation("Pipeline of ranks, time from one message to the next", lambda ranks, size: (0, (ranks - 1) * size),
                          sizes=UP_TO_MIB),
    "server": Operation("Server with wildcards, time of one request", lambda ranks, size: (2 * (ranks - 1), 2 * (ranks - 1) * size),
                        sizes=UP_TO_MIB),
    # Between two ranks both messages may share a packet.
    "neighbours": Operation("Exchange with both neighbours", lambda ranks, size: (ranks, 2 * ranks * size), sizes=UP_TO_MIB),
    "inflight": Operation("Many all-reduces in flight, f32 maximum, time of one",
                          lambda ranks, size: (2 * (ranks - 1), IN_FLIGHT * 2 * (ranks - 1) * size), sizes=UP_TO_64_KIB),
    "average": Operation("All-reduce, f32 average", sum_everywhere),
    "threads1": Operation("Message rate, blocking calls, by one thread of each rank, time of one message", by_threads(1), True, SIZES[:3]),
    "threads2": Operation("Message rate, blocking calls, by two threads of each rank, time of one message", by_threads(2), True, SIZES[:3]),
    "threads4": Operation("Message rate, blocking calls, by four threads of each rank, time of one message", by_threads(4), True, SIZES[:3]),
}

# Names for several operations at once: those that every contestant has, one fixed root, shapes of whole
# programs, several threads of a rank.
SETS = {
    "plain": tuple(OPERATIONS)[:10],
    "rooted": ("rootedbcast", "reduce", "gather", "scatter"),
    "shapes": ("communicators", "pipeline", "server", "neighbours", "inflight", "average"),
    "threads": ("threads1", "threads2", "threads4"),
}

# What one start of a twin measures in a full run: little enough that peers alternate every few seconds, enough that
# starting them is not what takes the time.
GROUPS = (("pingpong", "stream", "bidir", "rate"), ("barrier", "allreduce", "reducescatter"),
          ("bcast", "allgather", "alltoall"), SETS["rooted"], SETS["shapes"], SETS["threads"])


def sizes(op, smallest, largest):
    """The sizes at which an operation is measured within the bounds; the same multiple of 8 twice asks for that size."""
    of_op = OPERATIONS[op].sizes
    if smallest == largest and smallest > 0 and smallest % 8 == 0 and of_op != (0,):
        return [smallest] if smallest <= of_op[-1] or of_op == SIZES else []
    return [size for size in OPERATIONS[op].sizes if size == 0 or smallest <= size <= largest]


def traffic(op, ranks, size):
    """(packets, bytes of payload) that one iteration sends at least."""
    return OPERATIONS[op].least(ranks, size)
