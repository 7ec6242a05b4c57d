/* A rank is lost in the middle of broadcasts, or with `messages` as the second argument of messages that are begun and
 * waited for: rank 1 kills itself. The others give the world up, with `abort` as the first argument by MPI_Abort, and
 * with any other as the default handler does. */
#include <mpi.h>
#include <signal.h>
#include <string.h>

enum { EACH = 10, RANKS = 16 };

/* Some with each of the others, up to that many, at once. */
static int messages(int rank, int size)
{
    static int in[EACH * RANKS], out[EACH * RANKS];
    MPI_Request requests[2 * EACH * RANKS];
    int n, of, began = 0, failed = 0;
    for (n = 0; n < EACH; n++)
        for (of = 0; of < size && of < RANKS; of++) {
            if (of == rank)
                continue;
            failed |= MPI_Irecv(&in[began / 2], 1, MPI_INT, of, 0, MPI_COMM_WORLD, &requests[began]);
            failed |= MPI_Isend(&out[began / 2], 1, MPI_INT, of, 0, MPI_COMM_WORLD, &requests[began + 1]);
            began += 2;
        }
    return failed | MPI_Waitall(began, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, size, value = 0, failed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "abort") == 0)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0;; i++) {
        if (rank == 1 && i == 1000)
            raise(SIGKILL);
        failed = argc > 2 ? messages(rank, size) : MPI_Bcast(&value, 1, MPI_INT, i % 2, MPI_COMM_WORLD);
        if (failed != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, 42);
    }
}
