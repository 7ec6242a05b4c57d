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
    char, no_info = 0x243, 0x130
else:
    handle = ctypes.c_int
    world, itself, integer, total, returned, in_place, status_ignore = (
        0x44000000, 0x44000001, 0x4C000405, 0x58000003, 0x54000001, ctypes.c_void_p(-1).value, 1)
    char, no_info = 0x4C000101, 0x1C000000
world, itself, integer, total, returned, char, no_info = (
    handle(number) for number in (world, itself, integer, total, returned, char, no_info))
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

    # A message that is too long is known by its sender and its tag; the other one is well.
    requests, ends = (handle * 2)(), (ctypes.c_int * 16)()
    for tag, count in ((8, 2), (9, 3)):
        well(mpi.MPI_Irecv(came, 2, integer, left, tag, world, ctypes.byref(requests, (tag - 8) * ctypes.sizeof(handle))))
    for tag, count in ((8, 2), (9, 3)):
        well(mpi.MPI_Send(mine, count, integer, right, tag, world))
    assert mpi.MPI_Waitall(2, requests, ends) != 0
    # Where source, tag and error are, of as many numbers.
    source, each = (0, 8) if abi == "abi" else (2, 5)
    assert list(ends[source:source + 3]) == [left, 8, 0], list(ends)
    assert list(ends[each + source:each + source + 2]) == [left, 9] and ends[each + source + 2] != 0, list(ends)

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


def while_it_is_made(rank, size):
    """A duplicate is begun on some before others call it, who first wait for a message of those."""
    if size == 1:
        return
    made, request, token = handle(), handle(), ctypes.c_int(rank)
    if rank == 0:
        well(mpi.MPI_Recv(ctypes.byref(token), 1, integer, size - 1, 2, world, status_ignore))
    well(mpi.MPI_Comm_idup(world, ctypes.byref(made), ctypes.byref(request)))
    if rank == size - 1:
        well(mpi.MPI_Send(ctypes.byref(token), 1, integer, 0, 2, world))
    # Some programs look at it too early.
    well(mpi.MPI_Comm_size(made, ctypes.byref(token)))
    assert token.value == size, token.value
    well(mpi.MPI_Wait(ctypes.byref(request), status_ignore))
    well(mpi.MPI_Barrier(made))
    well(mpi.MPI_Comm_free(ctypes.byref(made)))


def in_another_order(rank, size):
    """Persistent collectives of one communicator, which half of the ranks start the other way round."""
    value, requests = ctypes.c_int(42 if rank == 0 else 0), (handle * 2)()
    well(mpi.MPI_Bcast_init(ctypes.byref(value), 1, integer, 0, world, no_info, ctypes.byref(requests)))
    second = ctypes.byref(requests, ctypes.sizeof(handle))
    well(mpi.MPI_Barrier_init(world, no_info, second))
    for request in (ctypes.byref(requests), second)[::1 if rank % 2 else -1]:
        well(mpi.MPI_Start(request))
    well(mpi.MPI_Waitall(2, requests, status_ignore))
    assert value.value == 42, value.value
    for request in (ctypes.byref(requests), second):
        well(mpi.MPI_Request_free(request))


def with_nobody(rank, size):
    """Without neighbours there is nothing to send, and nowhere to put it."""
    lonely, zero = handle(), (ctypes.c_int * 1)()
    well(mpi.MPI_Dist_graph_create_adjacent(world, 0, zero, zero, 0, zero, zero, no_info, 0, ctypes.byref(lonely)))
    well(mpi.MPI_Neighbor_allgather(None, 1, integer, None, 1, integer, lonely))
    well(mpi.MPI_Comm_free(ctypes.byref(lonely)))


def in_parts(rank, size):
    """Three parts of two numbers into two elements of four: they end elsewhere, and leave room."""
    if size == 1 or rank > 1:
        return
    request, fours = handle(), handle()
    well(mpi.MPI_Type_vector(4, 1, 2, integer, ctypes.byref(fours)))
    well(mpi.MPI_Type_commit(ctypes.byref(fours)))
    numbers, status, count = (ctypes.c_int * 16)(), (ctypes.c_int * 8)(), ctypes.c_int()
    many = ctypes.c_longlong
    if rank == 0:
        numbers[:6] = range(1, 7)
        well(mpi.MPI_Psend_init(numbers, 3, many(2), integer, 1, 3, world, no_info, ctypes.byref(request)))
        well(mpi.MPI_Start(ctypes.byref(request)))
        for part in (2, 0, 1):
            well(mpi.MPI_Pready(part, request))
        well(mpi.MPI_Wait(ctypes.byref(request), status_ignore))
    else:
        # The extent of an element is that of seven numbers.
        well(mpi.MPI_Precv_init(numbers, 2, many(1), fours, 0, 3, world, no_info, ctypes.byref(request)))
        well(mpi.MPI_Start(ctypes.byref(request)))
        well(mpi.MPI_Wait(ctypes.byref(request), status))
        well(mpi.MPI_Get_count(status, integer, ctypes.byref(count)))
        assert count.value == 6, count.value
        assert list(numbers) == [1, 0, 2, 0, 3, 0, 4, 5, 0, 6, 0, 0, 0, 0, 0, 0], list(numbers)
    well(mpi.MPI_Request_free(ctypes.byref(request)))
    well(mpi.MPI_Type_free(ctypes.byref(fours)))


def alone():
    """What takes no other rank: a count of 63 bits, an error of no communicator, functions of MPI-1."""
    status, count = (ctypes.c_int * 8)(), ctypes.c_longlong()
    large = ctypes.c_longlong(0x7654_321F_7123_4567)
    well(mpi.MPI_Status_set_elements_x(status, char, large))
    well(mpi.MPI_Get_elements_x(status, char, ctypes.byref(count)))
    assert count.value == large.value, hex(count.value)
    # Where there is nothing: of a result, of a buffer; and what is both, sent and received.
    assert mpi.MPI_Comm_size(world, None) != 0
    two = (ctypes.c_int * 2)()
    assert "MPI_ERR_BUFFER" in words(mpi.MPI_Send(None, 1, integer, 0, 0, world))
    assert "MPI_ERR_BUFFER" in words(mpi.MPI_Send(in_place, 1, integer, 0, 0, world))
    assert "MPI_ERR_BUFFER" in words(mpi.MPI_Reduce_local(in_place, two, 1, integer, total))
    assert "MPI_ERR_BUFFER" in words(mpi.MPI_Allreduce(two, two, 1, integer, total, world))
    # It goes to the handler of MPI_COMM_WORLD, as before MPI 4.0, when none was set for MPI_COMM_SELF.
    size = ctypes.c_int()
    assert mpi.MPI_Type_size(handle(0), ctypes.byref(size)) != 0
    if abi == "mpich":
        extent = ctypes.c_ssize_t()
        well(mpi.MPI_Type_extent(integer, ctypes.byref(extent)))
        assert extent.value == 4, extent.value
        well(mpi.MPI_Errhandler_set(world, returned))


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
    alone()
    everything(rank, size)
    while_it_is_made(rank, size)
    in_another_order(rank, size)
    with_nobody(rank, size)
    in_parts(rank, size)
    well(mpi.MPI_Finalize())
else:
    disagree(rank)
print(f"{part}: rank {rank} of {size} is done", flush=True)
