"""A data-parallel trainer: least squares by gradients that all ranks sum. `trainer.py STEPS`, for ever with -1.

Ends well only if every rank has the same weights, bit by bit, and they are those that the data were made with.
"""

import hashlib
import sys

import numpy as np
from mpi4py import MPI

steps = int(sys.argv[1])
world = MPI.COMM_WORLD
true = np.random.default_rng(7).normal(size=20_000).reshape(1000, 20)
shard = np.random.default_rng(world.rank)
rows = shard.normal(size=(512, 1000)) / np.sqrt(512 * world.size)
targets = rows @ true
weights = np.zeros_like(true)
world.Bcast(weights, root=0)

step = 0
while step != steps:
    gradient = rows.T @ (rows @ weights - targets)
    world.Allreduce(MPI.IN_PLACE, gradient, op=MPI.SUM)
    weights -= 0.3 * gradient
    step += 1
    if step == 5 and world.rank == 0:
        print("training", flush=True)

error = np.linalg.norm(rows @ weights - targets) / np.linalg.norm(targets)
digests = world.allgather(hashlib.sha256(weights.tobytes()).hexdigest())
assert len(set(digests)) == 1, digests
assert error < 0.05, error
print(f"rank {world.rank} of {world.size}: error {error:.3f}, weights {digests[0][:16]}", flush=True)
