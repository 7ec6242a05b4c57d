/* An operation of the program's communicates, although MPI allows none to. The world ends, by the name of that, and
 * waits for nothing; with `abort` as the argument, and wherever the operation calls MPI_Abort, with the code given. */
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

static const char *way;
static int rank, value, got[2];
static MPI_Request awaited;

static void communicates(void *left, void *right, int *count, MPI_Datatype *datatype)
{
    MPI_Request other = awaited;
    int flag;
    (void)left, (void)right, (void)count, (void)datatype;
    if (strcmp(way, "wait") == 0)
        MPI_Wait(&other, MPI_STATUS_IGNORE);
    else if (strcmp(way, "test") == 0)
        MPI_Test(&other, &flag, MPI_STATUS_IGNORE);
    else if (strcmp(way, "waitall") == 0)
        MPI_Waitall(1, &other, MPI_STATUSES_IGNORE);
    else if (strcmp(way, "receive") == 0)
        MPI_Irecv(&got[1], 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &other);
    else if (strcmp(way, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Abort(MPI_COMM_WORLD, 42);
}

int main(int argc, char **argv)
{
    int flag = 0;
    MPI_Op op;
    MPI_Request reduced;
    MPI_Session session;
    way = argc > 1 ? argv[1] : "abort";
    /* The end of a process that has had sessions does more. */
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Op_create(communicates, 0, &op);
    MPI_Irecv(&got[0], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &awaited);
    MPI_Iallreduce(&rank, &value, 1, MPI_INT, op, MPI_COMM_WORLD, &reduced);
    /* The look at the one makes progress with the other, unless an error has been returned. */
    if (argc > 2)
        MPI_Wait(&reduced, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Test(&awaited, &flag, MPI_STATUS_IGNORE);
    return 0;
}
