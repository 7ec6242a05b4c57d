"""The measuring program of Gloo, which PyTorch brings along: the twin of twin.c, driven from Python.

Same rules (README.md). Gloo has no launcher: `twin_gloo.py --ranks N <arguments>` starts N ranks of itself. Every call goes
through `torch.distributed`, so that small messages time Python as well; the report says so. A group of the collectives'
transport is made for the interface named in GLOO_SOCKET_IFNAME.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from ops import OPERATIONS, SETS, sizes, window

BATCHES, FEWEST_BATCHES, MOST_ITERATIONS = 15, 3, 1 << 22
DATA, ACKNOWLEDGEMENT = 0, 1


class Twin:
    """One rank; `torch` and its distributed package are loaded only here, because that takes seconds."""

    def __init__(self, rank, size, store):
        import torch
        from torch import distributed
        torch.set_num_threads(1)
        self.torch, self.dist, self.rank, self.size = torch, distributed, rank, size
        self.first, self.other = rank % 2 == 0, rank ^ 1
        distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)

    def filled(self, count, value, dtype=None):
        """A vector of its own."""
        return self.torch.full((count,), value, dtype=dtype or self.torch.float32)

    def pingpong(self, size):
        send, recv = (self.filled(size, value, self.torch.uint8) for value in (self.rank + 1, 255))

        def iteration(check):
            if self.first:
                self.dist.send(send, self.other, tag=DATA)
                self.dist.recv(recv, self.other, tag=DATA)
            else:
                self.dist.recv(recv, self.other, tag=DATA)
                self.dist.send(send, self.other, tag=DATA)
            self.verify(check, recv, self.other + 1)
        return iteration

    def buffers(self, size):
        """A window of messages, each in memory of its own."""
        return [self.filled(size, self.rank + 1, self.torch.uint8) for _ in range(window(size))]

    def stream(self, size):
        data = self.buffers(size)

        def iteration(check):
            start = self.dist.isend if self.first else self.dist.irecv
            for work in [start(part, self.other, tag=DATA) for part in data]:
                work.wait()
            if not self.first:
                for part in data:
                    self.verify(check, part, self.other + 1)
            self.acknowledge()
        return iteration

    def bidir(self, size):
        send, recv = self.buffers(size), self.buffers(size)

        def iteration(check):
            works = [self.dist.irecv(part, self.other, tag=DATA) for part in recv]
            works += [self.dist.isend(part, self.other, tag=DATA) for part in send]
            for work in works:
                work.wait()
            for part in recv:
                self.verify(check, part, self.other + 1)
        return iteration

    def rate(self, size):
        data = self.filled(size, self.rank + 1, self.torch.uint8)

        def iteration(check):
            call = self.dist.send if self.first else self.dist.recv
            for _ in range(window(size)):
                call(data, self.other, tag=DATA)
            self.acknowledge()
            self.verify(check and not self.first, data, self.other + 1)
        return iteration

    def acknowledge(self):
        """One byte from the second of a pair to the first."""
        call = self.dist.recv if self.first else self.dist.send
        call(self.filled(1, 1, self.torch.uint8), self.other, tag=ACKNOWLEDGEMENT)

    def barrier(self, _size):
        return lambda _check: self.dist.barrier()

    def bcast(self, size):
        data, turn = self.filled(size, self.rank + 1, self.torch.uint8), 0

        def iteration(check):
            nonlocal turn
            root = turn % self.size
            turn += 1
            self.dist.broadcast(data, root)
            self.verify(check, data, root + 1)
        return iteration

    def allreduce(self, size):
        # Gloo reduces in place only: the copy that keeps the input is part of the operation, as inside the others.
        send, recv = self.filled(size // 4, self.rank + 1), self.filled(size // 4, -1)

        def iteration(check):
            recv.copy_(send)
            self.dist.all_reduce(recv)
            self.verify(check, recv, self.size * (self.size + 1) // 2)
        return iteration

    def block(self, size):
        """Elements of one rank."""
        return -(-(size // 4) // self.size)

    def allgather(self, size):
        block = self.block(size)
        send, recv = self.filled(block, self.rank + 1), self.filled(block * self.size, -1)

        def iteration(check):
            self.dist.all_gather_into_tensor(recv, send)
            self.verify_blocks(check, recv, block)
        return iteration

    def reducescatter(self, size):
        block = self.block(size)
        send, recv = self.filled(block * self.size, self.rank + 1), self.filled(block, -1)

        def iteration(check):
            self.dist.reduce_scatter_tensor(recv, send)
            self.verify(check, recv, self.size * (self.size + 1) // 2)
        return iteration

    def alltoall(self, size):
        block = self.block(size)
        send, recv = self.filled(block * self.size, self.rank + 1), self.filled(block * self.size, -1)

        def iteration(check):
            self.dist.all_to_all_single(recv, send)
            self.verify_blocks(check, recv, block)
        return iteration

    def verify(self, check, data, expected):
        """Compares every element, when asked to."""
        if check and not bool((data == expected).all()):
            raise SystemExit(f"twin: rank {self.rank}: {data[data != expected][0].item()} received, expected {expected}")

    def verify_blocks(self, check, data, block):
        """The same for one block of each rank."""
        for rank in range(self.size if check else 0):
            self.verify(True, data[rank * block:(rank + 1) * block], rank + 1)

    def reduced(self, number, op):
        """A number of all ranks put together, on rank 0."""
        value = self.torch.tensor([number], dtype=self.torch.float64)
        self.dist.reduce(value, 0, op=op)
        return value.item()

    def of_first(self, number):
        """Rank 0's number, on every rank."""
        value = self.torch.tensor([number], dtype=self.torch.int64)
        self.dist.broadcast(value, 0)
        return value.item()

    def batch(self, iteration, times):
        """On rank 0: seconds of the slowest rank for so many iterations."""
        self.dist.barrier()
        start = time.perf_counter()
        for _ in range(times):
            iteration(False)
        return self.reduced(time.perf_counter() - start, self.dist.ReduceOp.MAX)

    def measure(self, op, size, budget):
        """Checks, warms up, times and prints; the steps are numbered in README.md."""
        iteration = getattr(self, op)(size)
        self.dist.barrier()
        iteration(True)
        times = 1
        while self.of_first(self.batch(iteration, times) < budget / 20 and times < MOST_ITERATIONS):
            times *= 2
        fit = budget / max(self.batch(iteration, times) / times, 1e-9)
        batches = self.of_first(max(FEWEST_BATCHES, min(BATCHES, int(fit))))
        times = self.of_first(max(1, min(MOST_ITERATIONS, int(fit / BATCHES))))
        messages = {"pingpong": 2, "stream": window(size), "bidir": window(size), "rate": window(size)}.get(op, 1)
        wire, used = loopback(), time.process_time()
        seconds = sorted(self.batch(iteration, times) / times / messages for _ in range(batches))
        used, after = time.process_time() - used, loopback()
        used = self.reduced(used, self.dist.ReduceOp.SUM)
        if self.rank == 0:
            half = len(seconds) // 2
            median = seconds[half] if len(seconds) % 2 else (seconds[half - 1] + seconds[half]) / 2
            counters = "".join(f",{late - early}" for early, late in zip(wire, after))
            print(f"{op},{size},{batches * times},{median:.9g},{seconds[0]:.9g},{used:.6f}{counters}", flush=True)


def loopback():
    """Bytes and packets that have crossed the loopback interface; nothing where the system does not tell."""
    try:
        return [int(Path(f"/sys/class/net/lo/statistics/tx_{what}").read_text()) for what in ("bytes", "packets")]
    except (OSError, ValueError):
        return []


def rank_main(rank, size, store, arguments):
    """What one rank does."""
    names, smallest, largest, budget_ms = arguments
    unknown = [op for op in names.split(",") if op not in SETS["plain"]]
    if unknown:
        raise SystemExit(f"twin: there is no operation {unknown[0]!r}; there are {', '.join(SETS['plain'])}")
    twin = Twin(rank, size, store)
    for op in names.split(","):
        if OPERATIONS[op].pairs and size % 2 != 0:
            raise SystemExit(f"twin: {op} takes an even number of ranks, not {size}")
        for at in sizes(op, int(smallest), int(largest)):
            twin.measure(op, at, float(budget_ms) / 1e3)
    twin.dist.destroy_process_group()


def launch(ranks, arguments):
    """Starts the ranks and waits for them; the first that fails takes the others along."""
    with tempfile.TemporaryDirectory() as directory:
        processes = [subprocess.Popen([sys.executable, __file__, "--rank", str(rank), str(ranks), f"{directory}/store", *arguments])
                     for rank in range(ranks)]
        try:
            left = list(processes)
            while left:
                time.sleep(0.01)
                codes = [process.poll() for process in left]
                if any(codes):
                    return next(code for code in codes if code)
                left = [process for process, code in zip(left, codes) if code is None]
            return 0
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                process.wait()


if __name__ == "__main__":
    if len(sys.argv) == 7 and sys.argv[1] == "--ranks":
        sys.exit(1 if launch(int(sys.argv[2]), sys.argv[3:]) else 0)
    elif len(sys.argv) == 9 and sys.argv[1] == "--rank":
        rank_main(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:])
    else:
        sys.exit("twin: expected `--ranks N <op,..> <min bytes> <max bytes> <milliseconds per size>`")
