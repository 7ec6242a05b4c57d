/* What the programs here check by: each says which of its lines was not so, and of which rank. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

static int rank = -1, size;

#define CHECK(what)                                                                                                   \
    do {                                                                                                              \
        if (!(what)) {                                                                                                \
            fprintf(stderr, "%s:%d: rank %d of %d: not so: %s\n", __FILE__, __LINE__, rank, size, #what);             \
            exit(3);                                                                                                  \
        }                                                                                                             \
    } while (0)
#define WELL(call) CHECK((call) == MPI_SUCCESS)

/* This rank's place, and its neighbours in a ring of all. */
static inline void find_place(int *next, int *before)
{
    WELL(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    WELL(MPI_Comm_size(MPI_COMM_WORLD, &size));
    *next = (rank + 1) % size;
    *before = (rank + size - 1) % size;
}

/* Says that all was right. */
static inline int finish(void)
{
    WELL(MPI_Finalize());
    printf("rank %d of %d is done\n", rank, size);
    return 0;
}
