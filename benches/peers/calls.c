/* What a call of MPI's costs, of every kind that programs make often: one line for each, its name and the microseconds that
 * it takes, the median of batches, on the rank that took longest.
 *
 *   calls BYTES [NAME]
 *
 * Started by benches/peers/calls. Nothing is verified here: that the calls are right, tests/mpi says.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 11, WARM = 2, MOST_RANKS = 64, MANY = 4 };

static int rank, size, peer, bytes, counts[MOST_RANKS], places[MOST_RANKS], floats[MOST_RANKS];
static char *given, *got;
static MPI_Comm world = MPI_COMM_WORLD, ring;
static MPI_Datatype vector, types[MOST_RANKS];
static MPI_Request requests[MANY], prepared[2];

static void send(void) { MPI_Send(given, bytes, MPI_BYTE, peer, 0, world); }
static void recv(void) { MPI_Recv(got, bytes, MPI_BYTE, peer, 0, world, MPI_STATUS_IGNORE); }
static void irecv(void) { MPI_Irecv(got, bytes, MPI_BYTE, peer, 0, world, &requests[0]); }
static void isend(void) { MPI_Isend(given, bytes, MPI_BYTE, peer, 0, world, &requests[1]); }
static void wait(int which) { MPI_Wait(&requests[which], MPI_STATUS_IGNORE); }

/* There and back: `out` on one side, then on the other. */
static void there_and_back(void (*out)(void), void (*in)(void))
{
    if (rank % 2 == 0)
        out(), in();
    else
        in(), out();
}

static void ssend(void) { MPI_Ssend(given, bytes, MPI_BYTE, peer, 0, world); }
static void bsend(void) { MPI_Bsend(given, bytes, MPI_BYTE, peer, 0, world); }
static void recv_any(void)
{
    MPI_Recv(got, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
}
static void probe_recv(void)
{
    MPI_Status status;
    int count;
    MPI_Probe(peer, 0, world, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    MPI_Recv(got, count, MPI_BYTE, peer, 0, world, MPI_STATUS_IGNORE);
}
static void iprobe_recv(void)
{
    MPI_Status status;
    int flag = 0;
    while (!flag)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, &status);
    MPI_Recv(got, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, world, MPI_STATUS_IGNORE);
}
static void mprobe_recv(void)
{
    MPI_Message message;
    MPI_Mprobe(peer, 0, world, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(got, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
}
static void send_vector(void) { MPI_Send(given, 1, vector, peer, 0, world); }
static void recv_vector(void) { MPI_Recv(got, 1, vector, peer, 0, world, MPI_STATUS_IGNORE); }

static void run_send_recv(void) { there_and_back(send, recv); }
static void run_ssend(void) { there_and_back(ssend, recv); }
static void run_bsend(void) { there_and_back(bsend, recv); }
static void run_any(void) { there_and_back(send, recv_any); }
static void run_probe(void) { there_and_back(send, probe_recv); }
static void run_iprobe(void) { there_and_back(send, iprobe_recv); }
static void run_mprobe(void) { there_and_back(send, mprobe_recv); }
static void run_vector(void) { there_and_back(send_vector, recv_vector); }

static void run_sendrecv(void)
{
    MPI_Sendrecv(given, bytes, MPI_BYTE, peer, 0, got, bytes, MPI_BYTE, peer, 0, world, MPI_STATUS_IGNORE);
}
static void run_replace(void) { MPI_Sendrecv_replace(given, bytes, MPI_BYTE, peer, 0, peer, 0, world, MPI_STATUS_IGNORE); }
static void run_sendrecv_vector(void)
{
    MPI_Sendrecv(given, 1, vector, peer, 0, got, 1, vector, peer, 0, world, MPI_STATUS_IGNORE);
}
static void run_irecv_isend(void)
{
    irecv(), isend();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
static void run_irecv_send(void) { irecv(), send(), wait(0); }
static void run_isend_recv(void) { isend(), recv(), wait(1); }
static void run_test(void)
{
    int flag = 0;
    irecv(), send();
    while (!flag)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
}
static void run_waitany(void)
{
    int which;
    for (int each = 0; each < MANY; each++)
        MPI_Irecv(got + each * bytes, bytes, MPI_BYTE, peer, each, world, &requests[each]);
    for (int each = 0; each < MANY; each++)
        MPI_Send(given, bytes, MPI_BYTE, peer, each, world);
    for (int each = 0; each < MANY; each++)
        MPI_Waitany(MANY, requests, &which, MPI_STATUS_IGNORE);
}
static void run_start(void)
{
    MPI_Startall(2, prepared);
    MPI_Waitall(2, prepared, MPI_STATUSES_IGNORE);
}

static void run_bcast_vector(void) { MPI_Bcast(given, 1, vector, 0, world); }
static void run_allgatherv(void) { MPI_Allgatherv(given, bytes, MPI_BYTE, got, counts, places, MPI_BYTE, world); }
static void run_allgather_in_place(void)
{
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, bytes, MPI_BYTE, world);
}
static void run_alltoallv(void)
{
    MPI_Alltoallv(given, counts, places, MPI_BYTE, got, counts, places, MPI_BYTE, world);
}
static void run_alltoallw(void) { MPI_Alltoallw(given, counts, places, types, got, counts, places, types, world); }
static void run_gatherv(void) { MPI_Gatherv(given, bytes, MPI_BYTE, got, counts, places, MPI_BYTE, 0, world); }
static void run_scatterv(void) { MPI_Scatterv(given, counts, places, MPI_BYTE, got, bytes, MPI_BYTE, 0, world); }
static void run_reduce_scatter(void) { MPI_Reduce_scatter(given, got, floats, MPI_FLOAT, MPI_SUM, world); }
static void run_scan(void) { MPI_Scan(given, got, bytes / 4, MPI_FLOAT, MPI_SUM, world); }
static void run_exscan(void) { MPI_Exscan(given, got, bytes / 4, MPI_FLOAT, MPI_SUM, world); }
static void run_allreduce_in_place(void) { MPI_Allreduce(MPI_IN_PLACE, got, bytes / 4, MPI_FLOAT, MPI_MAX, world); }
static void run_minloc(void) { MPI_Allreduce(given, got, 1, MPI_DOUBLE_INT, MPI_MINLOC, world); }
static void run_iallreduce(void)
{
    MPI_Iallreduce(given, got, bytes / 4, MPI_FLOAT, MPI_SUM, world, &requests[0]);
    wait(0);
}
static void run_ibcast(void)
{
    MPI_Ibcast(given, bytes, MPI_BYTE, 0, world, &requests[0]);
    wait(0);
}
static void run_ibarrier(void)
{
    MPI_Ibarrier(world, &requests[0]);
    wait(0);
}
static void run_iallgather(void)
{
    MPI_Iallgather(given, bytes, MPI_BYTE, got, bytes, MPI_BYTE, world, &requests[0]);
    wait(0);
}
static void run_neighbor_alltoall(void) { MPI_Neighbor_alltoall(given, bytes, MPI_BYTE, got, bytes, MPI_BYTE, ring); }
static void run_neighbor_allgather(void) { MPI_Neighbor_allgather(given, bytes, MPI_BYTE, got, bytes, MPI_BYTE, ring); }
static void run_dup(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(world, &copy);
    MPI_Comm_free(&copy);
}
static void run_split(void)
{
    MPI_Comm part;
    MPI_Comm_split(world, 0, rank, &part);
    MPI_Comm_free(&part);
}

static const struct {
    const char *name;
    void (*run)(void);
    int times;
} CALLS[] = {
    {"send and recv, there and back", run_send_recv, 5000},
    {"ssend and recv", run_ssend, 2500},
    {"bsend and recv", run_bsend, 2500},
    {"send and recv from any source", run_any, 2500},
    {"send, probe and recv", run_probe, 2500},
    {"send, iprobe and recv", run_iprobe, 2500},
    {"send, mprobe and mrecv", run_mprobe, 2500},
    {"send and recv of a vector", run_vector, 2500},
    {"sendrecv", run_sendrecv, 5000},
    {"sendrecv_replace", run_replace, 5000},
    {"sendrecv of vectors", run_sendrecv_vector, 2500},
    {"irecv, isend and waitall", run_irecv_isend, 5000},
    {"irecv, send and wait", run_irecv_send, 5000},
    {"isend, recv and wait", run_isend_recv, 5000},
    {"irecv, send and test", run_test, 2500},
    {"4 irecv, send and waitany", run_waitany, 1250},
    {"startall and waitall", run_start, 5000},
    {"bcast of a vector", run_bcast_vector, 2500},
    {"allgatherv", run_allgatherv, 5000},
    {"allgather in place", run_allgather_in_place, 5000},
    {"alltoallv", run_alltoallv, 5000},
    {"alltoallw", run_alltoallw, 2500},
    {"gatherv", run_gatherv, 5000},
    {"scatterv", run_scatterv, 5000},
    {"reduce_scatter", run_reduce_scatter, 5000},
    {"scan", run_scan, 5000},
    {"exscan", run_exscan, 5000},
    {"allreduce in place, max", run_allreduce_in_place, 5000},
    {"allreduce, minloc", run_minloc, 5000},
    {"iallreduce and wait", run_iallreduce, 2500},
    {"ibcast and wait", run_ibcast, 2500},
    {"ibarrier and wait", run_ibarrier, 2500},
    {"iallgather and wait", run_iallgather, 2500},
    {"neighbor_alltoall", run_neighbor_alltoall, 2500},
    {"neighbor_allgather", run_neighbor_allgather, 2500},
    {"comm_dup and free", run_dup, 125},
    {"comm_split and free", run_split, 125},
};

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

int main(int argc, char **argv)
{
    static char attached[1 << 20];
    const int periodic = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    bytes = argc > 1 ? atoi(argv[1]) : 0;
    if (bytes < 8 || bytes % 8 || bytes > 65536 || size % 2 || size > MOST_RANKS) {
        if (rank == 0)
            fprintf(stderr, "calls: a multiple of 8 up to 65536 is expected, and an even number of at most %d ranks\n", MOST_RANKS);
        MPI_Abort(world, 2);
    }
    peer = rank ^ 1;
    /* A vector takes twice as much, and a double with its place 16 bytes. */
    size_t room = 4 * (size_t)bytes * (size_t)size + 4096;
    given = calloc(1, room), got = calloc(1, room);
    if (!given || !got)
        MPI_Abort(world, 2);
    for (int other = 0; other < size; other++)
        counts[other] = bytes, places[other] = other * bytes, floats[other] = bytes / 4, types[other] = MPI_BYTE;
    MPI_Type_vector(bytes / 8, 1, 2, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    MPI_Cart_create(world, 1, &size, &periodic, 0, &ring);
    MPI_Recv_init(got, bytes, MPI_BYTE, peer, 0, world, &prepared[0]);
    MPI_Send_init(given, bytes, MPI_BYTE, peer, 0, world, &prepared[1]);
    MPI_Buffer_attach(attached, sizeof attached);
    for (size_t which = 0; which < sizeof CALLS / sizeof *CALLS; which++) {
        double took[BATCHES];
        int times = bytes > 4096 && CALLS[which].times > 500 ? CALLS[which].times / 10 : CALLS[which].times;
        if (argc > 2 && strcmp(argv[2], CALLS[which].name))
            continue;
        for (int batch = -WARM; batch < BATCHES; batch++) {
            MPI_Barrier(world);
            double mine = MPI_Wtime(), longest;
            for (int turn = 0; turn < times; turn++)
                CALLS[which].run();
            mine = (MPI_Wtime() - mine) / times * 1e6;
            MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, world);
            if (batch >= 0)
                took[batch] = longest;
        }
        qsort(took, BATCHES, sizeof *took, ascending);
        if (rank == 0) {
            printf("%s\t%.3f\n", CALLS[which].name, took[BATCHES / 2]);
            fflush(stdout);
        }
    }
    MPI_Finalize();
    return 0;
}
