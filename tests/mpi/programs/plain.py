"""Calls of MPI by address and number, as a compiled program makes them: `plain.py abi|mpich LIBRARY all|disagree`.

Needs nothing but Python. The numbers are those of MPI 5.0, chapter 20, and of MPICH's mpi.h.
"""

import ctypes
import sys

abi, path, part = sys.argv[1:]
mpi = ctypes.CDLL(path)
if abi == "abi":
    handle = ctypes.c_void_p
    world, itself, integer, total, returned, in_place, status_ignore = 0x101, 0x102, 0x209, 0x21, 0x143, 1, 0
else:
    handle = ctypes.c_int
    world, itself, integer, total, returned, in_place, status_ignore = (
        0x44000000, 0x44000001, 0x4C000405, 0x58000003, 0x54000001, ctypes.c_void_p(-1).value, 1)
world, itself, integer, total, returned = (handle(it) for it in (world, itself, integer, total, returned))
in_place, status_ignore = ctypes.c_void_p(in_place), ctypes.c_void_p(status_ignore)


def well(code):
    assert code == 0, words(code)


def words(code):
    text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
    assert mpi.MPI_Error_string(code, text, ctypes.byref(length)) == 0
    return text.value.decode()


def number(call):
    out = ctypes.c_int(-1)
    well(call(world, ctypes.byref(out)))
    return out.value


def everything(rank, size):
    one = ctypes.c_int(rank + 1)
    well(mpi.MPI_Allreduce(in_place, ctypes.byref(one), 1, integer, total, world))
    assert one.value == size * (size + 1) // 2, one.value

    mine, came = (ctypes.c_int * 3)(rank, 7, -rank), (ctypes.c_int * 3)()
    right, left = (rank + 1) % size, (rank - 1) % size
    well(mpi.MPI_Sendrecv(mine, 3, integer, right, 6, came, 3, integer, left, 6, world, status_ignore))
    assert list(came) == [left, 7, -left], list(came)

    shared = ctypes.c_int(42 if rank == size - 1 else 0)
    well(mpi.PMPI_Bcast(ctypes.byref(shared), 1, integer, size - 1, world))
    assert shared.value == 42, shared.value

    requests, got = (handle * 2)(), ctypes.c_int()
    well(mpi.MPI_Irecv(ctypes.byref(got), 1, integer, left, 1, world, ctypes.byref(requests, 0)))
    well(mpi.MPI_Isend(ctypes.byref(shared), 1, integer, right, 1, world,
                       ctypes.byref(requests, ctypes.sizeof(handle))))
    statuses = ctypes.c_void_p(status_ignore.value)
    well(mpi.MPI_Waitall(2, requests, statuses))
    assert got.value == 42, got.value

    # The longest key comes back as far as programs have room for it, which is MPI_MAX_INFO_KEY.
    info, key, value = handle(), b"k" * 255, b"v"
    well(mpi.MPI_Info_create(ctypes.byref(info)))
    well(mpi.MPI_Info_set(info, key, value))
    # Errors of what belongs to no communicator go to this one.
    well(mpi.MPI_Comm_set_errhandler(itself, returned))
    room, back = (256 if abi == "abi" else 255), ctypes.create_string_buffer(b"#" * 300)
    well(mpi.MPI_Info_get_nthkey(info, 0, back))
    assert back.raw[:257] == key[:room - 1] + b"\0" + b"#" * (257 - room), back.raw
    code = mpi.MPI_Info_set(info, b"k" * 256, value)
    assert code != 0 and "256 bytes" in words(code), words(code)
    well(mpi.MPI_Info_free(ctypes.byref(info)))

    # A root that there is not.
    code = mpi.MPI_Bcast(ctypes.byref(shared), 1, integer, size, world)
    assert code != 0 and str(size) in words(code), words(code)
    well(mpi.MPI_Barrier(world))


def disagree(rank):
    """The first rank broadcasts where the others reduce."""
    one, out = ctypes.c_int(1), ctypes.c_int()
    if rank == 0:
        code = mpi.MPI_Bcast(ctypes.byref(one), 1, integer, 0, world) or mpi.MPI_Barrier(world)
    else:
        code = mpi.MPI_Reduce(ctypes.byref(one), ctypes.byref(out), 1, integer, total, 0, world)
        code = code or mpi.MPI_Barrier(world)
    assert code != 0, "ranks that disagree were given no error"
    said = words(code)
    # Which two calls meet first is a matter of time; both are named.
    assert "MPI_Bcast" in said and ("MPI_Reduce" in said or "MPI_Barrier" in said), said
    assert "calls/" not in said, said


well(mpi.MPI_Init(None, None))
well(mpi.MPI_Comm_set_errhandler(world, returned))
rank, size = number(mpi.MPI_Comm_rank), number(mpi.MPI_Comm_size)
if part == "all":
    everything(rank, size)
    well(mpi.MPI_Finalize())
else:
    disagree(rank)
print(f"{part}: rank {rank} of {size} is done", flush=True)
