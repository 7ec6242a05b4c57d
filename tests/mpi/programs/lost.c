/* A rank is lost in the middle of broadcasts: rank 1 kills itself. The others give the world up, with an argument by
 * MPI_Abort and without one as the default handler does. */
#include <mpi.h>
#include <signal.h>

int main(int argc, char **argv)
{
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0;; i++) {
        if (rank == 1 && i == 1000)
            raise(SIGKILL);
        if (MPI_Bcast(&value, 1, MPI_INT, i % 2, MPI_COMM_WORLD) != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, 42);
    }
}
