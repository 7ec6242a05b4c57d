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
