"""The first program: rank 0 sends its host's name with tag 6, and the others say what came."""

from mpi4py import MPI

world = MPI.COMM_WORLD
if world.rank == 0:
    for rank in range(1, world.size):
        world.send(MPI.Get_processor_name(), dest=rank, tag=6)
else:
    came = world.recv(source=0, tag=6)
    print(f"rank {world.rank} of {world.size} on {MPI.Get_processor_name()} heard of {came}", flush=True)
