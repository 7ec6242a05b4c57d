/* One rank of benches/elastic/run over Open MPI: all-reduces without end, which go on without those that die, by what
 * the library has of ULFM: revoke, shrink. Says what happens on the monotonic clock, in the lines of
 * benches/src/bin/recover.rs. */

#include <mpi.h>
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST 1048576

static double vector[MOST];

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void say(const char *event, MPI_Comm world) {
    int rank, size;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    printf("%s rank=%d size=%d pid=%d at=%lld\n", event, rank, size, getpid(), now());
    fflush(stdout);
}

int main(int argc, char **argv) {
    int elements = argc > 1 ? atoi(argv[1]) : 1024;
    if (elements < 1 || elements > MOST) {
        fprintf(stderr, "ulfm: expected 1 to %d elements\n", MOST);
        return 2;
    }
    MPI_Comm world;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    const char *next_event = "begun";
    for (;;) {
        int size;
        MPI_Comm_size(world, &size);
        for (int i = 0; i < elements; i++) {
            vector[i] = 1;
        }
        if (MPI_Allreduce(MPI_IN_PLACE, vector, elements, MPI_DOUBLE, MPI_SUM, world) == MPI_SUCCESS) {
            if (vector[0] != size || vector[elements - 1] != size) {
                say("wrong", world);
                return 1;
            }
            if (next_event) {
                say(next_event, world);
                next_event = NULL;
            }
            continue;
        }
        say("failed", world);
        MPI_Comm shrunk;
        MPIX_Comm_revoke(world);
        if (MPIX_Comm_shrink(world, &shrunk) != MPI_SUCCESS) {
            say("lost", world);
            return 1;
        }
        MPI_Comm_free(&world);
        world = shrunk;
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
        next_event = "again";
    }
}
