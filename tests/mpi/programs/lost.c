/* A rank is lost in the middle of broadcasts, or with `messages` as the second argument of messages that are begun and
 * waited for: rank 1 kills itself. The others give the world up, with `abort` as the first argument by MPI_Abort, and
 * with any other as the default handler does. */
#include <mpi.h>
#include <signal.h>
#include <string.h>

enum { WINDOW = 20 };

/* With all others at once. */
static int messages(int rank, int size)
{
    static int in[WINDOW], out[WINDOW];
    MPI_Request requests[2 * WINDOW];
    int n, place, failed = 0;
    for (n = 0; n < WINDOW; n++) {
        place = (rank + 1 + n % (size - 1)) % size;
        failed |= MPI_Irecv(&in[n], 1, MPI_INT, place, 0, MPI_COMM_WORLD, &requests[n]);
        failed |= MPI_Isend(&out[n], 1, MPI_INT, place, 0, MPI_COMM_WORLD, &requests[WINDOW + n]);
    }
    return failed | MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
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
