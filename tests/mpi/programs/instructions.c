/* What `instructions alone` and `instructions sum-alone` do in Rust (benches/src/bin), by MPI's functions. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "expected two arguments: <alone|sum-alone> <times>\n");
        return 2;
    }
    uint64_t times = strtoull(argv[2], NULL, 10), came = 0;
    int sums = strcmp(argv[1], "sum-alone") == 0;
    MPI_Init(&argc, &argv);
    for (uint64_t time = 0; time < times; time++) {
        if (sums) {
            MPI_Allreduce(&time, &came, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        } else {
            MPI_Send(&time, 1, MPI_UINT64_T, 0, 7, MPI_COMM_WORLD);
            MPI_Recv(&came, 1, MPI_UINT64_T, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (came != time) {
            fprintf(stderr, "%llu came, not %llu\n", (unsigned long long)came, (unsigned long long)time);
            return 1;
        }
    }
    MPI_Finalize();
    return 0;
}
